//! The steps that led to a binding, with the lines they stand on now.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sync_core::graph::EvidenceStep;
use sync_store::Index;

use super::error::AnswerError;
use super::page::{self, clip, clip_path};
use crate::audit::Reading;

/// One step of the reasoning behind a binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// In words, never source text.
    pub step: String,
    /// File of the step.
    pub file: Option<String>,
    /// Line of the step in this index; null where the step has none, or its symbol is gone.
    pub line: Option<u32>,
}

/// Looks up where the steps of a call site in `path` stand. Steps in other files are stored by symbol, so that a line
/// inserted there changes nothing here; their lines are those of this very index.
pub async fn resolve(
    reading: &mut Reading,
    index: &Index,
    path: &str,
    steps: &[EvidenceStep],
) -> Result<Vec<Evidence>, AnswerError> {
    let targets: Vec<String> = steps.iter().filter_map(|step| step.target.clone()).collect();
    let mut lines = BTreeMap::new();
    if !targets.is_empty() {
        for found in reading.tx.symbol_lines(index, &targets).await? {
            lines.insert(found.target, (found.path, found.line));
        }
    }
    Ok(steps
        .iter()
        .map(|step| {
            let (file, line) = match &step.target {
                None => (path, step.line),
                Some(target) => match lines.get(target) {
                    Some((path, line)) => (path.as_str(), Some(*line)),
                    // The path stands before the first `#`; it is shown even where the symbol is gone.
                    None => (target.split_once('#').map_or(target.as_str(), |(path, _)| path), None),
                },
            };
            Evidence { step: clip(&step.step, page::LONG), file: Some(clip_path(file)), line }
        })
        .collect())
}
