//! What holds for any path, any files and any calls.

use proptest::prelude::*;
use proptest::sample::{Index as Pick, select};

use super::*;

/// Few names, so that ends are common and cases meet.
fn path(segments: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(select(vec!["a", "b", "A", "src", "x.ts", "index.ts"]), segments)
        .prop_map(|segments| segments.join("/"))
}

fn reported() -> impl Strategy<Value = String> {
    let start = select(vec!["", "/", "/app/", "C:\\", "file:///", "webpack://x/./", "./", "../"]);
    (start, path(1..5)).prop_map(|(start, path)| format!("{start}{path}"))
}

fn files() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec((path(1..5), select(vec!["1", "2", "3"]).prop_map(str::to_owned)), 0..8)
}

fn operation() -> impl Strategy<Value = &'static str> {
    select(vec!["GET /a/{id}", "GET /a/{name}", "POST /graphql (x)", "POST /graphql", "(x)"])
}

fn site() -> impl Strategy<Value = Site> {
    let lines = (1_u32..6, 0_u32..4, 0_u32..4);
    (lines, 1_u32..6, 1_u32..6, select(vec!["f", "g"]), 0_u32..2, select(vec!["h", "k"]), prop::option::of(operation()))
        .prop_map(|((line, more, callee), column, callee_column, symbol, symbol_ordinal, call_hash, operation)| Site {
            callee_line: line + callee.min(more),
            symbol_ordinal,
            call_hash: call_hash.to_owned(),
            ..call((line, line + more), (column, callee_column), symbol, operation)
        })
}

fn sites() -> impl Strategy<Value = Vec<Site>> {
    prop::collection::vec(site(), 0..5)
}

/// Every file has the calls.
fn indexed(files: &[(String, String)], sites: &[Site]) -> Memory {
    let sites = files.iter().map(|(path, _)| (path.clone(), sites.to_vec())).collect();
    Memory { files: Files::new(files.iter().map(|(path, hash)| (path, hash))), sites }
}

proptest! {
    #[test]
    fn no_text_is_too_strange_to_be_read(text in "\\PC{0,60}", scheme in select(vec!["", "file://", "webpack://", "/", "\\\\?\\", "C:"])) {
        let text = format!("{scheme}{text}");
        if let Ok(read) = SpanPath::read(&text) {
            prop_assert!(read.as_str().split('/').all(|segment| !matches!(segment, "" | "." | "..")));
            // What was read is read as itself, as the absolute path that it is below some root.
            let again = SpanPath::read(&format!("/{}", read.as_str())).map(|again| again.as_str().to_owned());
            prop_assert_eq!(again.as_deref(), Ok(read.as_str()));
            read.looks_generated();
        }
        RepositoryUrl::read(&text);
        Reason::of(&text);
    }

    #[test]
    fn an_address_is_read_as_itself(text in "(https?://|ssh://|git@|)[a-zA-Z.:@/_-]{0,30}(\\.git)?/?") {
        if let Some(read) = RepositoryUrl::read(&text) {
            let again = RepositoryUrl::read(&format!("https://{}", read.as_str()));
            prop_assert_eq!(again.as_ref(), Some(&read), "{}", read.as_str());
        }
    }

    /// The files by their definition: looking at each of them.
    #[test]
    fn a_file_is_what_looking_at_all_of_them_finds(files in files(), reported in reported()) {
        let Ok(path) = SpanPath::read(&reported) else { return Ok(()) };
        let wanted: Vec<&str> = path.as_str().split('/').collect();
        let mut paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        paths.sort_unstable();
        paths.dedup();
        let common = |file: &str| file.rsplit('/').zip(wanted.iter().rev()).take_while(|(a, b)| a == *b).count();
        let full: Vec<&str> = paths.iter().copied().filter(|file| common(file) == file.split('/').count()).collect();
        let best = paths.iter().map(|file| common(file)).max().unwrap_or(0);
        let longest: Vec<&str> = paths.iter().copied().filter(|file| common(file) == best).collect();
        let enough = best >= 2 || (best == 1 && !path.is_anchored() && wanted.len() == 1);
        let expected = match (full.as_slice(), longest.as_slice()) {
            ([file], _) => Ok((*file, Match::Full)),
            ([_, _, ..], _) => Err(Reason::AmbiguousFile),
            ([], [file]) if enough => Ok((*file, Match::Partial)),
            ([], [_, _, ..]) if enough => Err(Reason::AmbiguousFile),
            _ => Err(Reason::FileNotIndexed),
        };
        let table = Files::new(files.iter().map(|(path, hash)| (path, hash)));
        let found = table.locate(&path, &Prefixes::default()).map(|found| (found.path, found.by));
        prop_assert_eq!(found, expected);
        for file in paths {
            prop_assert_eq!(table.get(file), Some(file));
        }
    }

    /// A file more can only be meant itself, or make the answer uncertain: it never speaks for another one.
    #[test]
    fn a_file_more_never_makes_another_one_meant(files in files(), more in path(1..5), reported in reported()) {
        let Ok(path) = SpanPath::read(&reported) else { return Ok(()) };
        let before = Files::new(files.iter().map(|(path, _)| (path, "")));
        let after = Files::new(files.iter().map(|(path, _)| path).chain([&more]).map(|path| (path, "")));
        let meant = |files: &Files| files.locate(&path, &Prefixes::default()).map(|found| found.path.to_owned());
        if let Ok(after) = meant(&after) {
            prop_assert!(after == more || meant(&before) == Ok(after.clone()), "{after} instead of {:?}", meant(&before));
        }
    }

    /// The same of calls, with every column.
    #[test]
    fn a_call_more_never_makes_another_one_meant(sites in sites(), more in site(), line in 1_u32..9, column in prop::option::of(1_u32..6)) {
        let before = choose(&sites, line, column).cloned();
        let mut with = sites.clone();
        with.push(more.clone());
        if let Ok(after) = choose(&with, line, column) {
            prop_assert!(*after == more || before.as_ref() == Ok(after), "{after:?} instead of {before:?}");
        }
    }

    /// The same of a call in the current index, and the one that is found has to be written alike.
    #[test]
    fn a_call_more_never_carries_to_another_one(then in sites(), now in sites(), more in site(), same in any::<bool>()) {
        let Some(chosen) = then.first() else { return Ok(()) };
        let before = carry::site(chosen, &then, same, &now).cloned();
        if let Some(found) = &before {
            prop_assert_eq!((&found.call_hash, &found.symbol), (&chosen.call_hash, &chosen.symbol));
        }
        let mut with = now.clone();
        with.push(more.clone());
        if let Some(after) = carry::site(chosen, &then, same, &with) {
            prop_assert!(*after == more || before.as_ref() == Some(after));
        }
    }

    /// Nothing is promoted but a call of the current index that covers the line in the span's own commit, in a file
    /// with the name that was reported, and that reaches what the span reached.
    #[test]
    fn what_is_promoted_agrees_in_all(
        old in files(), (new, now, moved) in (files(), sites(), any::<bool>()), then in sites(), (reported, pick) in (reported(), prop::option::of(any::<Pick>())),
        line in 1_u32..9, column in prop::option::of(1_u32..6), performed in operation(), vendor in select(vec!["stripe", "stripe", "github"]),
    ) {
        // Half of the time about a call that there is.
        let about = |pick: Option<Pick>| Some((pick.filter(|_| !old.is_empty())?.get(&old), pick.filter(|_| !then.is_empty())?.get(&then)));
        let (reported, line, performed) = match about(pick) {
            Some(((path, _), site)) => {
                let known = site.operation.as_ref().map_or(performed, Operation::as_str);
                (format!("/app/{path}"), site.line, known.to_owned())
            }
            None => (reported, line, performed.to_owned()),
        };
        // Half of the time the same code with something added, so that much is promoted.
        let (new, now) = if moved { (new, now) } else { ([old.clone(), new].concat(), [then.clone(), now].concat()) };
        let (then_index, now_index) = (indexed(&old, &then), indexed(&new, &now));
        let operation = Operation::from_text(performed);
        let asked = Asked {
            location: Location { path: &reported, line, column },
            performed: Performed { vendor, operation: &operation },
        };
        let prefixes = Prefixes::default();
        let decision = correlate(&asked, Revision::Kept(&then_index), &now_index, &prefixes);
        let files = needed(&reported, Revision::Kept(&then_index), &now_index, &prefixes);
        if let Decision::Exact { place, .. } = decision {
            let files = files.expect("two files are needed for it");
            prop_assert_eq!(files.now, Some(place.path));
            let read = SpanPath::read(&reported).unwrap();
            prop_assert_eq!(files.then.rsplit('/').next(), read.as_str().rsplit('/').next());
            prop_assert!(now.contains(place.site));
            prop_assert_eq!(agrees(place.site, asked.performed), Ok(()));
            prop_assert!(then.iter().any(|site| site.line <= line && line <= site.end_line && site.call_hash == place.site.call_hash));
        }
        for revision in [Revision::NotKept, Revision::NotSent] {
            let decision = correlate(&asked, revision, &now_index, &prefixes);
            let refused = matches!(decision, Decision::Refused { place: None, .. });
            prop_assert!(refused, "{decision:?}");
        }
    }
}
