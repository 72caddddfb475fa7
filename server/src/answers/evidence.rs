//! The steps that led to a binding, with the lines they stand on now.

use schemars::JsonSchema;
use serde::Serialize;

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
