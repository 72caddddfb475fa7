//! From recorded lines to vendor files, exactly. Recording itself needs Node: `tests/recording/run.sh`.

use semver::Version;

use super::lines::Recording;
use super::merge::{Merged, merge};

/// What `walk.mjs` writes down of `tests/recording/acme`.
const LINES: &str = include_str!("../../../../tests/recording/acme.jsonl");

fn merged(package: &str, version: &str, lines: &str, existing: Option<&str>) -> Result<Merged, String> {
    let (recording, _) = Recording::read(lines).unwrap();
    merge("acme", package, &Version::parse(version).unwrap(), &recording, existing)
}

#[test]
fn a_new_file_has_what_was_recorded_and_says_what_a_maintainer_has_to_look_at() {
    let made = merged("acme", "2.1.0", LINES, None).unwrap();
    assert_eq!(made.text, include_str!("../../../../tests/recording/acme.json"));
    assert_eq!((made.chains, made.new), (8, 8));
    assert_eq!(made.notes, ["servers are those that were recorded: see that they are the vendor's"]);
}

const BY_HAND: &str = r#"{
 "format": 1,
 "vendor": "acme",
 "servers": [{"host": "api.acme.com", "base": "/v1"}, {"host": "upload.acme.com", "named_only": true}],
 "enum_keys": {"POST /things": ["kind"]},
 "recording": {
  "packages": {"acme": [{"file": "old.json"}]},
  "rules": {"parameter_case": "snake", "parameters": {"arg0": "thing"}},
  "drop": ["debug", "*WithInfo", "*.inner.*"],
  "replace": {"files.upload": "POST upload.acme.com/files"}
 },
 "packages": [
  {
   "name": "acme",
   "editions": [{"version": "1.4.0", "envelope": "data"}, {"version": "3.0.0"}],
   "modules": [{"specifiers": ["acme"], "exports": {"Acme": "made"}}],
   "shapes": {"made": {"new": "client"}, "client": {"client": ""}},
   "added": {"POST /things": ["things.make"]},
   "operations": {
    "GET /things/{thing_id}": ["things.fetch @1", "things.get @3"],
    "POST /things": ["things.create", "things.make"]
   }
  }
 ]
}
"#;

#[test]
fn a_version_between_two_becomes_an_edition_and_what_was_written_by_hand_stays() {
    let lines = r#"{"chain":"things.create","method":"POST","host":"api.acme.com","path":"/v1/things","keys":0}
{"chain":"things.make","method":"POST","host":"api.acme.com","path":"/v1/other","keys":0}
{"chain":"things.get","method":"GET","host":"api.acme.com","path":"/v1/things/{thingID}","keys":1}
{"chain":"things.move","method":"PUT","host":"api.acme.com","path":"/v1/things/{arg0}/to/{toShelf}","keys":0}
{"chain":"files.upload","method":"GET","host":"api.acme.com","path":"/v1/nonsense","keys":0}
{"chain":"debug","method":"GET","host":"api.acme.com","path":"/v1/debug","keys":0}
{"chain":"things.getWithInfo","method":"GET","host":"api.acme.com","path":"/v1/debug","keys":0}
{"chain":"things.inner.get","method":"GET","host":"api.acme.com","path":"/v1/debug","keys":0}
{"chain":"elsewhere","method":"GET","host":"acme.net","path":"/status","keys":0}
{"end":"complete","methods":7}
"#;
    let made = merged("acme", "2.1.0", lines, Some(BY_HAND)).unwrap();
    let expected = r#"{
 "format": 1,
 "vendor": "acme",
 "servers": [{"host": "api.acme.com", "base": "/v1"}, {"host": "upload.acme.com", "named_only": true}],
 "enum_keys": {
  "POST /things": ["kind"]
 },
 "recording": {
  "rules": {"parameter_case": "snake", "parameters": {"arg0": "thing"}},
  "drop": ["debug", "*WithInfo", "*.inner.*"],
  "replace": {"files.upload": "POST upload.acme.com/files"}
 },
 "packages": [
  {
   "name": "acme",
   "editions": [{"version": "1.4.0", "envelope": "data"}, {"version": "2.1.0", "envelope": "data"}, {"version": "3.0.0"}],
   "modules": [{"specifiers": ["acme"], "exports": {"Acme": "made"}}],
   "shapes": {"made": {"new": "client"}, "client": {"client": ""}},
   "added": {"POST /things": ["things.make"]},
   "chain_arguments": {"things.move": {"at": 0}},
   "operations": {
    "GET /status": ["elsewhere @2"],
    "POST /things": ["things.create", "things.make @1,3"],
    "GET /things/{thing_id}": ["things.fetch @1", "things.get @2,3"],
    "PUT /things/{thing}/to/{to_shelf}": ["things.move @2"],
    "POST upload.acme.com/files": ["files.upload @2"]
   }
  }
 ]
}
"#;
    assert_eq!(made.text.lines().collect::<Vec<_>>(), expected.lines().collect::<Vec<_>>());
    assert_eq!((made.chains, made.new), (5, 3));
    assert_eq!(made.notes, ["1 chains request `acme.net`, which is none of the servers"]);
    let again = merged("acme", "2.1.0", lines, Some(&made.text)).unwrap();
    assert_eq!((again.text, again.new), (made.text, 0), "the same recording changes nothing more");
}

#[test]
fn a_recording_of_the_same_major_takes_the_place_of_the_one_before() {
    let lines = r#"{"chain":"things.get","method":"GET","host":"api.acme.com","path":"/v1/things/{id}","keys":1}
{"end":"complete","methods":1}
"#;
    let made = merged("acme", "3.2.0", lines, Some(BY_HAND)).unwrap();
    assert!(made.text.contains(r#"[{"version": "1.4.0", "envelope": "data"}, {"version": "3.2.0"}]"#), "{}", made.text);
    assert!(made.text.contains(r#""GET /things/{thing_id}": ["things.fetch @1", "things.get @3"]"#), "{}", made.text);
    assert!(made.text.contains(r#""POST /things": ["things.create @1", "things.make @1"]"#), "{}", made.text);
}

#[test]
fn a_file_of_another_vendor_or_of_none_is_refused() {
    let refused = |existing: &str| merged("acme", "1.0.0", LINES, Some(existing)).unwrap_err();
    assert_eq!(refused(r#"{"format": 1, "vendor": "other"}"#), "it is not of vendor `acme`");
    assert!(refused("<html>").starts_with("it is no vendor file: "));
}
