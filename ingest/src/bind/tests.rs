//! Small repositories with exact expected call sites: each idiom with what looks like it and is not.

mod bounds;
mod clients;
mod edges;
mod http;
mod negatives;
mod reexports;
mod sites;

use sync_core::graph::{self, CallSite, Client, FileFacts};

use crate::analyze::{Before, Line, Project, Source, analyze};
use crate::catalog::Catalog;
use crate::language::Language;
use crate::manifests::Manifests;
use crate::parse::parse;
use crate::pins::Pins;
use crate::walk::SourceEntry;

/// What a snapshot says of a repository.
#[derive(Debug, PartialEq)]
pub(super) struct Analysis {
    pub(super) files: Vec<FileFacts>,
    pub(super) clients: Vec<Client>,
    /// Files of which not everything was looked at.
    pub(super) cut: Vec<String>,
    /// What each file took to look at.
    pub(super) spent: Vec<usize>,
}

/// Analyses a repository given as paths and texts; manifests are told by their names.
pub(super) fn analysed(files: &[(&str, &str)]) -> Analysis {
    let mut sources = Vec::new();
    let mut manifests = Manifests::default();
    let mut files = files.to_vec();
    files.sort_unstable();
    for (path, text) in files {
        match Language::of_path(path) {
            Some(language) => {
                let parsed = parse(path, language, text.as_bytes()).unwrap();
                let entry = SourceEntry {
                    path: path.to_owned(),
                    language,
                    content_hash: "0".repeat(40),
                    bytes: text.len() as u64,
                };
                sources.push(Source::parsed(entry, Box::new(parsed)));
            }
            None => {
                manifests.files.insert(path.to_owned(), text.as_bytes().to_vec());
            }
        }
    }
    let catalog = Catalog::embedded().unwrap();
    let (pins, _) = Pins::of(&manifests, catalog);
    let project = Project::new(&sources, &manifests, &pins, catalog);
    let found = analyze(&project, Before::default()).unwrap();
    let all = || sources.iter().zip(&found.files);
    let cut =
        all().filter(|(_, found)| found.analyzed.bound.cut).map(|(source, _)| source.entry.path.clone()).collect();
    let spent = found.files.iter().map(|found| found.analyzed.survey.spent + found.analyzed.bound.spent).collect();
    let facts = all().map(|(_, found)| {
        let Line::New(line) = &found.line else { panic!("a line") };
        let Ok(graph::Line::File(facts)) = serde_json::from_slice(&line.bytes) else { panic!("facts") };
        *facts
    });
    Analysis { files: facts.collect(), clients: found.clients, cut, spent }
}

fn sites(analysis: &Analysis) -> Vec<(&str, &CallSite)> {
    analysis.files.iter().flat_map(|file| file.call_sites.iter().map(|site| (file.path.as_str(), site))).collect()
}

/// `line chain operation` of every call site.
fn bound(files: &[(&str, &str)]) -> Vec<String> {
    let analysis = analysed(files);
    let described = |(path, site): (&str, &CallSite)| {
        let operation = site.operation.as_ref().map_or("-", |operation| operation.as_str());
        format!("{path}:{} {} {operation}", site.line, site.chain)
    };
    sites(&analysis).into_iter().map(described).collect()
}

/// The same for one file.
fn bound_in(text: &str) -> Vec<String> {
    bound(&[("a.ts", text)]).into_iter().map(|row| row.trim_start_matches("a.ts:").to_owned()).collect()
}

fn file<'a>(analysis: &'a Analysis, path: &str) -> &'a FileFacts {
    analysis.files.iter().find(|file| file.path == path).unwrap()
}

fn only(text: &str) -> CallSite {
    let analysis = analysed(&[("a.ts", text)]);
    let sites = sites(&analysis);
    assert_eq!(sites.len(), 1, "{sites:?}");
    sites[0].1.clone()
}

const CREATE: &str = "POST /v1/charges";
