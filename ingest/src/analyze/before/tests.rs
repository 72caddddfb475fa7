//! What is kept of an earlier index is what a new one would find, its cost too: at a limit that decides what is found.

use std::num::NonZeroUsize;

use super::*;
use crate::analyze::{Analysis, Declared, Line, Source, analyze};
use crate::catalog::Catalog;
use crate::manifests::Manifests;
use crate::parse::parse;
use crate::pins::Pins;

/// Paths and texts.
type Files<'t> = [(&'t str, String)];

/// Tells one text from another.
fn hash(text: &str) -> String {
    let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, text.as_bytes());
    id.unwrap().to_hex().to_string()
}

fn source((path, text): &(&str, String)) -> Source {
    let language = Language::of_path(path).unwrap();
    let entry = SourceEntry { path: (*path).to_owned(), language, content_hash: hash(text), bytes: text.len() as u64 };
    Source::parsed(entry, Box::new(parse(path, language, text.as_bytes()).unwrap()))
}

/// Analyses files with what was kept of others, whose facts are still there.
fn analysed<R>(
    files: &Files<'_>,
    (kept, then): (Vec<Kept<'_>>, &Files<'_>),
    look: impl FnOnce(&[Source], &Analysis<'_>) -> R,
) -> R {
    let sources: Vec<_> = files.iter().map(source).collect();
    let (manifests, pins) = (Manifests::default(), Pins::default());
    let recall = |entry: &SourceEntry| {
        let (_, text) = then.iter().find(|(_, text)| hash(text) == entry.content_hash)?;
        parse(&entry.path, entry.language, text.as_bytes()).ok().map(Box::new)
    };
    let before = Before::new(kept, sources.iter().map(|source| &source.entry));
    let project = Project::with_recall(
        &sources,
        Declared::Read(&manifests, &pins),
        Catalog::embedded().unwrap(),
        &recall,
        NonZeroUsize::MIN,
    );
    let analysis = analyze(&project, before).unwrap();
    assert!(project.is_whole());
    look(&sources, &analysis)
}

/// What each file cost to survey and to bind, and whether it was kept.
fn costs(analysis: &Analysis<'_>) -> (Vec<[usize; 2]>, Vec<bool>) {
    let costs = |it: &Analyzed<'_>| [it.survey.spent, it.bound.spent];
    let files = analysis.files.iter();
    files.map(|found| (costs(&found.analyzed), found.kept)).unzip()
}

/// Which files are kept from one version to the next; that costs what it would cost anew.
fn kept(then: &Files<'_>, now: &Files<'_>) -> Vec<bool> {
    let nothing = || (Vec::new(), &[][..]);
    let (anew, _) = analysed(now, nothing(), |_, analysis| costs(analysis));
    analysed(then, nothing(), |sources, analysis| {
        let all = sources.iter().zip(&analysis.files).map(|(source, found)| {
            let Line::New(line) = &found.line else { panic!("a line") };
            Kept {
                path: &source.entry.path,
                language: source.entry.language,
                content_hash: &source.entry.content_hash,
                bytes: source.entry.bytes,
                analyzed: found.analyzed.clone(),
                line: Some(Place { offset: 0, length: 1, counts: line.counts }),
            }
        });
        let (costs, kept) = analysed(now, (all.collect(), then), |_, analysis| costs(analysis));
        assert_eq!(costs, anew);
        kept
    })
}

/// `count` names of a prefix, exported by one statement each.
fn names(prefix: &str, count: usize) -> String {
    let lines: Vec<_> = (0..count).map(|at| format!("export const {prefix}{at} = {at};\n")).collect();
    lines.concat()
}

#[test]
fn who_takes_a_name_from_a_barrel_pays_for_the_barrel_as_it_is() {
    let files = |more: usize| {
        [
            ("a.ts", "import { x0, missing } from './barrel';\nx0.send(missing);\n".to_owned()),
            ("barrel.ts", "export * from './x';\nexport * from './y';\n".to_owned()),
            ("x.ts", names("x", 40)),
            ("y.ts", names("y", more)),
        ]
    };
    // 40 + 20 names and their three files are less than 64, the next one is too.
    assert_eq!(kept(&files(20), &files(20)), [true; 4]);
    assert_eq!(kept(&files(19), &files(20)), [true, true, true, false]);
    // Where the barrel becomes twice as large, whoever searches it is bound again.
    assert_eq!(kept(&files(19), &files(30)), [false, true, true, false]);
    assert_eq!(kept(&files(30), &files(2)), [false, true, true, false]);
}

#[test]
fn who_takes_a_package_through_a_module_does_not_pay_for_what_else_that_exports() {
    let files = |more: usize| {
        [
            (
                "a.ts",
                "import { Stripe } from './lib';\nconst stripe = new Stripe('k');\nstripe.charges.create({});\n"
                    .to_owned(),
            ),
            ("lib.ts", format!("export * from 'stripe';\n{}", names("y", more))),
        ]
    };
    assert_eq!(kept(&files(150), &files(150)), [true; 2]);
    assert_eq!(kept(&files(150), &files(200)), [true, false]);
}
