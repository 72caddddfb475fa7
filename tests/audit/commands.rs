//! `syncd audit …` and `syncd migrate` as a person runs them.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use sqlx::{Connection as _, Executor as _};
use sync_core::principal::Principal;
use sync_server::audit::heads::Heads;
use sync_server::audit::maintain::Maintainer;
use sync_server::audit::seal_key::SealKeys;
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

use super::Log;

const SEAL_KEY: &str = "a seal key of the tests, long enough for one";

fn syncd(database: &TestDatabase, heads: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_syncd-under-test"))
        .args(args)
        .env("SYNC_DATABASE_URL", &database.app_url)
        .env("SYNC_SECRET_KEY", "a key of the tests, long enough for one")
        .env("SYNC_SEAL_KEY", SEAL_KEY)
        .env("SYNC_AUDIT_HEADS_FILE", heads)
        .output()
        .unwrap()
}

/// What it says on stdout, and whether it went well.
fn said(output: &Output) -> (String, Option<i32>) {
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

async fn sealing<'a>(database: &'a TestDatabase, principal: &Principal, heads: &Path) -> (Log<'a>, Maintainer) {
    let mut log = Log::of(database, principal).await;
    log.keys = SealKeys::derive(SEAL_KEY.as_bytes(), []).unwrap();
    let clock = std::sync::Arc::new(sync_core::clock::MockClock::at(NOW + Duration::MINUTE));
    let heads = Heads::new(Some(heads.to_owned()), None).unwrap();
    let maintainer = Maintainer::new(log.maintenance.clone(), log.keys.clone(), heads, None, clock);
    (log, maintainer)
}

/// What left the database says which organizations there are, and not the names that the database has for them now.
#[test]
fn an_organization_that_was_renamed_or_forgotten_is_found_by_its_heads() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let heads = folder.path().join("heads.ndjson");
        let (log, mut maintainer) = sealing(database, &two.alpha.principal, &heads).await;
        log.write(3, NOW).await;
        Log::of(database, &two.beta.principal).await.write(2, NOW).await;
        log.settle().await;
        maintainer.round().await;
        let alpha = log.organization().to_string();
        let text = std::fs::read_to_string(&heads).unwrap();
        let of_alpha: String = text.split_inclusive('\n').filter(|line| line.contains(&alpha)).collect();
        let kept = folder.path().join("alpha.ndjson");
        std::fs::write(&kept, of_alpha).unwrap();
        let nowhere = folder.path().join("nowhere");
        let against = ["--against", kept.to_str().unwrap()];
        let verify = |args: &[&str]| said(&syncd(database, &nowhere, &[&["audit", "verify"], args, &against].concat()));
        assert_eq!(verify(&["--organization", "alpha"]).1, Some(0));
        assert_eq!(verify(&[]).1, Some(0));

        let mut superuser = database.superuser().await;
        let mut rename = async |from: &str, to: &str| {
            let rename = sqlx::query("UPDATE routing.organizations SET slug = $2 WHERE slug = $1");
            rename.bind(from).bind(to).execute(&mut superuser).await.unwrap();
        };
        for (from, to) in [("alpha", "other"), ("beta", "alpha"), ("other", "beta")] {
            rename(from, to).await;
        }
        let (text, code) = verify(&["--organization", "alpha"]);
        assert!(code == Some(1) && text.contains("alpha: NOT PROVEN"), "{text}");

        let forget = "SET session_replication_role = replica; DELETE FROM routing.organizations WHERE slug = 'beta'";
        superuser.execute(forget).await.unwrap();
        let (text, code) = verify(&[]);
        assert!(code == Some(1) && text.contains(&format!("{alpha}: NOT WHOLE: heads of it left")), "{text}");
        superuser.close().await.unwrap();
    });
}

#[test]
fn verify_names_the_row_and_fails_and_what_left_the_database_counts() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let heads = folder.path().join("heads.ndjson");
        let (log, mut maintainer) = sealing(database, &two.alpha.principal, &heads).await;
        let ids = log.write(3, NOW).await;
        log.settle().await;
        maintainer.round().await;
        let verify = |args: &[&str]| said(&syncd(database, &heads, &[&["audit", "verify"], args].concat()));

        let (text, code) = verify(&["--organization", "alpha"]);
        assert!(
            text.starts_with("alpha: whole: 3 rows in 1 seal, proven up to seal 1 of 2026-11-30T12:01:00.000Z (root "),
            "{text}"
        );
        assert_eq!((text.lines().count(), code), (1, Some(0)), "{text}");
        let (text, code) = verify(&[]);
        assert!(text.contains("beta: nothing is sealed yet") && code == Some(0), "{text}");

        log.as_owner(&format!("UPDATE sync.audit_events SET principal = 'Eve' WHERE event_id = '{}'", ids[1].uuid()))
            .await;
        let (text, code) = verify(&["--organization", "alpha"]);
        let expected = format!("alpha: NOT WHOLE: 1 found\n  event {} was edited (seal 1, position 1)\n", ids[1]);
        assert_eq!((text, code), (expected, Some(1)));

        // The whole log goes, seals too: the database says that nothing is sealed, and the file that it was.
        log.as_owner(
            "DELETE FROM sync.audit_events; DELETE FROM sync.audit_seals; DELETE FROM sync.audit_seal_records",
        )
        .await;
        let (text, code) = verify(&["--organization", "alpha"]);
        let gone =
            "alpha: NOT WHOLE: 2 found\n  seal 1 was removed\n  the rows of seal 1 are not those that were sealed\n";
        assert_eq!((text.as_str(), code), (gone, Some(1)));
        // The same by --against, where that file is elsewhere: as a file, as text, from nowhere.
        let kept = folder.path().join("kept");
        std::fs::rename(&heads, &kept).unwrap();
        assert_eq!(verify(&["--organization", "alpha"]).1, Some(0), "nothing is known any more");
        let text = std::fs::read_to_string(&kept).unwrap();
        for given in [kept.to_str().unwrap(), text.trim()] {
            assert_eq!(verify(&["--organization", "alpha", "--against", given]), (gone.to_owned(), Some(1)));
        }
        // Nothing is proven against nothing.
        let empty = folder.path().join("empty");
        std::fs::write(&empty, "\n").unwrap();
        let empty = ["--against", empty.to_str().unwrap()];
        for wrong in [&["--against", "/nowhere"][..], &["--against", "{}"], &empty, &["--organization", "nobody"]] {
            let output = syncd(database, &heads, &[&["audit", "verify"], wrong].concat());
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(error.starts_with("error: ") && error.contains("; next: "), "{wrong:?}: {error}");
            assert_eq!(output.status.code(), Some(1), "{wrong:?}");
        }
    });
}

/// What another key signed is not said to be edited: which key signed, which were given, what to do. And never whole.
#[test]
fn verify_without_the_right_key_names_the_keys() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let heads = folder.path().join("heads.ndjson");
        let (log, mut maintainer) = sealing(database, &two.alpha.principal, &heads).await;
        for _ in 0..2 {
            log.write(1, NOW).await;
            log.settle().await;
            maintainer.round().await;
        }
        let kept = folder.path().join("kept");
        std::fs::rename(&heads, &kept).unwrap();
        let other = "another key of the tests, long enough for one";
        let verify = |against: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_syncd-under-test"));
            command.args(["audit", "verify", "--organization", "alpha"]).args(against);
            command.env("SYNC_DATABASE_URL", &database.app_url).env("SYNC_SEAL_KEY", other).output().unwrap()
        };
        let signed = log.keys.current().id().to_owned();
        let given = SealKeys::derive(other.as_bytes(), []).unwrap().ids();
        let next = "next: give the secret of that key: in SYNC_SEAL_KEY, or in SYNC_PREVIOUS_SEAL_KEYS where another \
                    seals now (`syncd audit key` names those given); if none of yours ever had that id, somebody else \
                    signed";
        let expected = format!(
            "alpha: NOT PROVEN: a key is missing, without which nothing can be said of what it signed
  seals 1 to 2 name the key {signed}, which is not among those given
  keys given: {given}; {next}\n"
        );
        assert_eq!(said(&verify(&[])), (expected, Some(1)));
        let refused = verify(&["--against", kept.to_str().unwrap()]);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(error.contains(&format!("signed with the key {signed}")) && error.contains(next), "{error}");
        assert_eq!(refused.status.code(), Some(1));

        // A row that is edited under such a seal is named beside it, and is more than a missing key.
        log.as_owner("UPDATE sync.audit_events SET principal = 'Eve' WHERE rows = 3 AND xid = (SELECT max(xid) FROM sync.audit_events)").await;
        let (text, _) = said(&verify(&[]));
        assert!(text.starts_with("alpha: NOT WHOLE: 2 found\n"), "{text}");
        assert!(text.contains("the rows of seal 2 are not those that were sealed") && text.contains(next), "{text}");
    });
}

#[test]
fn tail_and_export_print_rows_and_are_in_the_log() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let heads = folder.path().join("heads.ndjson");
        let (log, mut maintainer) = sealing(database, &two.alpha.principal, &heads).await;
        let ids = log.write(3, NOW).await;
        log.settle().await;
        maintainer.round().await;
        let (text, code) =
            said(&syncd(database, &heads, &["audit", "tail", "--organization", "alpha", "--lines", "2"]));
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let shown: Vec<_> = lines.iter().map(|line| line["event_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!((shown, code), (vec![ids[1].to_string(), ids[2].to_string()], Some(0)), "{text}");
        log.settle().await;
        let to = ["--to", "2026-11-30T12:30:00Z"];
        let (text, code) =
            said(&syncd(database, &heads, &[&["audit", "export", "--organization", "alpha"][..], &to].concat()));
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((lines.len(), code), (4, Some(0)), "{text}");
        assert_eq!((&lines[3]["end"]["rows"], &lines[3]["end"]["head"]["number"]), (&3.into(), &1.into()));
        let read: Vec<(String, String, Option<String>, Option<i64>)> = sqlx::query_as(
            "SELECT e.action, e.protocol, coalesce(e.outcome, o.outcome), coalesce(e.rows, o.rows)
             FROM sync.audit_events e LEFT JOIN sync.audit_outcomes o USING (organization_id, time, event_id)
             WHERE e.protocol = 'cli' ORDER BY e.xid",
        )
        .fetch_all(&mut database.superuser().await)
        .await
        .unwrap();
        let row = |action: &str, rows| (action.to_owned(), "cli".to_owned(), Some("ok".to_owned()), Some(rows));
        assert_eq!(read, [row("cli.audit_tail", 2), row("cli.audit_export", 3)]);

        let (text, code) = said(&syncd(database, &heads, &["audit", "key"]));
        let key = log.keys.current();
        let expected = format!("{} ed25519 {} seals now\n", key.id(), hex::encode(key.public_key()));
        assert_eq!((text, code), (expected, Some(0)));
    });
}

/// Following prints each row once, as it is written, and is itself written down with how many they were.
#[test]
fn a_log_that_is_followed_prints_each_row_once() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        let mut expected: Vec<String> = log.write(2, NOW).await.iter().map(ToString::to_string).collect();
        log.settle().await;
        let mut process = Command::new(env!("CARGO_BIN_EXE_syncd-under-test"))
            .args(["audit", "tail", "--organization", "alpha", "--follow"])
            .env("SYNC_DATABASE_URL", &database.app_url)
            .env("SYNC_SECRET_KEY", "a key of the tests, long enough for one")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut next = || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
        let id = |row: &serde_json::Value| row["event_id"].as_str().unwrap().to_owned();
        let mut printed: Vec<String> = (0..2).map(|_| id(&next())).collect();
        // The look itself, and the call that follows, which has not ended.
        let (look, following) = (next(), next());
        assert_eq!((&look["action"], &look["outcome"]), (&"cli.audit_tail".into(), &"ok".into()));
        assert_eq!((&following["action"], &following["outcome"]), (&"cli.audit_tail".into(), &serde_json::Value::Null));
        for _ in 0..2 {
            let written: Vec<String> = log.write(2, NOW).await.iter().map(ToString::to_string).collect();
            printed.extend((0..2).map(|_| id(&next())));
            expected.extend(written);
        }
        expected.sort();
        printed.sort();
        assert_eq!(printed, expected);
        let pid = nix::unistd::Pid::from_raw(process.id().try_into().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        assert!(lines.next().is_none(), "nothing is printed twice");
        assert_eq!(process.wait().unwrap().code(), Some(0));
        let counted: Option<i64> = sqlx::query_scalar("SELECT rows FROM sync.audit_outcomes")
            .fetch_one(&mut database.superuser().await)
            .await
            .unwrap();
        assert_eq!(counted, Some(6));
    });
}
