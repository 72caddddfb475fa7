//! The commands as they are typed.

use std::path::Path;

use clap::Parser;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};

use crate::feed::cli::{FeedArgs, run};

const NOW: OffsetDateTime = datetime!(2026-11-30 12:00 UTC);

#[derive(Debug, Parser)]
struct Typed {
    #[command(flatten)]
    feed: FeedArgs,
}

/// Runs `feed …` in a folder; what it says, or its error.
fn typed(dir: &Path, line: &str, now: OffsetDateTime) -> Result<String, String> {
    let dir = dir.to_str().unwrap();
    let words = line.split(' ').map(|word| word.replace("DIR", dir));
    let typed = Typed::try_parse_from(std::iter::once("feed".to_owned()).chain(words)).unwrap();
    run(typed.feed, now).map_err(|error| format!("{error:#}"))
}

#[test]
fn publish_and_verify_say_what_they_did_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("records")).unwrap();
    let record =
        r#"[{"vendor":"acme","operation":"GET /a","change_kind":"operation_removed","to_version":"2026-01-01"}]"#;
    std::fs::write(dir.path().join("records/acme.json"), record).unwrap();
    let publish = "publish DIR/records --out DIR/public --keys DIR/keys";
    let verify = "verify DIR/public --root DIR/keys/1.root.json";

    let said = typed(dir.path(), publish, NOW).unwrap();
    assert!(said.contains("made new keys") && said.contains("version 1: 1 changes of 1 vendors (acme)"), "{said}");
    assert!(said.contains("publish again before 2026-12-14T12:00:00.000Z"), "{said}");
    let said = typed(dir.path(), publish, NOW).unwrap();
    assert!(!said.contains("made new keys") && said.contains("version 2"), "{said}");

    let said = typed(dir.path(), verify, NOW).unwrap();
    assert!(said.contains("version 2 is verified") && said.contains("acme: 1 changes, 1 versions"), "{said}");
    assert!(typed(dir.path(), &format!("{verify} --at-least 2"), NOW).is_ok());
    for at_least in ["3", "4"] {
        let error = typed(dir.path(), &format!("{verify} --at-least {at_least}"), NOW).unwrap_err();
        assert!(error.contains("version 2 was served") || error.contains("its version fell"), "{error}");
    }
    let error = typed(dir.path(), verify, NOW + Duration::days(15)).unwrap_err();
    assert!(error.contains("its timestamp expired") && error.contains("next:"), "{error}");
    let error = typed(dir.path(), "verify DIR/public --root DIR/nothing", NOW).unwrap_err();
    assert!(error.contains("next: give the publisher's root"), "{error}");
    let error = typed(dir.path(), &format!("{publish} --feed-version 2"), NOW).unwrap_err();
    assert!(error.contains("version 2 is not above the published version 2"), "{error}");
    let error = typed(dir.path(), "publish DIR/nothing --out DIR/other --keys DIR/new-keys", NOW).unwrap_err();
    assert!(error.contains("next:") && !dir.path().join("new-keys").exists(), "{error}");
}
