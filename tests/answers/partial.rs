//! What could not be read is told where the index is: in the snapshot, in the answer, and by the command.

use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _};
use sync_server::jobs::index_child::{self, IndexRequest};

use super::world::World;
use crate::ingest::repository::Repository;
use crate::ingest::run_index;

/// A folder with something wrong of many kinds, and a sound file.
fn damaged() -> Repository {
    let folder = Repository::with(&[
        ("a.ts", "export const a = 1;\n"),
        ("package.json", "[".repeat(200).as_str()),
        ("package-lock.json", "{"),
        ("tsconfig.json", r#"{"extends":"./tsconfig.json"}"#),
        ("node_modules/x.js", ""),
    ]);
    for name in ["big1.ts", "big2.ts", "big3.ts", "big4.ts"] {
        folder.write(name, &vec![b'x'; (512 << 10) + 1]);
    }
    folder.write("deep.ts", "[".repeat(500_000).as_bytes());
    folder.write("latin.ts", b"export const a = '\xe9';\n");
    folder.write("name.ts", format!("export const {} = 1;\n", "n".repeat(200_000)).as_bytes());
    folder.write("ignoring/.gitignore", "x\n".repeat(8_001).as_bytes());
    folder.write("large/package.json", &vec![b' '; (1 << 20) + 1]);
    let versions: Vec<_> = (0..=200_000).map(|at| format!(r#""{at}/node_modules/stripe":{{}}"#)).collect();
    folder.write("many/package-lock.json", format!(r#"{{"packages":{{{}}}}}"#, versions.join(",")).as_bytes());
    folder.write("steps.ts", format!("let a;\n{}", "a = 'b';\nfetch(a);\n".repeat(2_500)).as_bytes());
    folder
}

/// Reason, count, files and limit, as everything that tells of them must have them.
fn expected() -> Value {
    json!([
        ["analysis_cut", 1, ["steps.ts"], "2000000 steps a file, 500000000 together"],
        ["ignore_file_too_large", 1, ["ignoring/.gitignore"], "256 KiB a file, 8000 patterns in a folder"],
        [
            "lockfile_cut",
            1,
            ["many/package-lock.json"],
            "200000 versions of vendors' packages, workspaces and importers together"
        ],
        ["lockfile_unreadable", 1, ["package-lock.json"], null],
        [
            "manifest_cut",
            1,
            ["tsconfig.json"],
            "32 configurations that extend each other, 500 entries a list, 32 an entry"
        ],
        ["manifest_too_large", 1, ["large/package.json"], "1 MiB a manifest, 32 MiB a lockfile, 128 MiB together"],
        ["manifest_unreadable", 1, ["package.json"], null],
        ["name_too_long", 1, ["name.ts"], "1024 bytes a name"],
        ["parse_error", 1, ["latin.ts"], null],
        ["parse_overflow", 1, ["deep.ts"], "256 MiB of stack"],
        ["too_large", 4, ["big1.ts", "big2.ts", "big3.ts", "big4.ts"], "512 KiB a source"],
    ])
}

#[tokio::test]
async fn each_reason_is_in_the_snapshot_in_the_answer_and_in_what_the_command_says() {
    let folder = damaged();
    let request = IndexRequest {
        executable: env!("CARGO_BIN_EXE_syncd-under-test").into(),
        path: folder.path().to_owned(),
        rev: None,
        ref_name: None,
        cache: None,
        gate: "on",
        known: None,
        spool: std::env::temp_dir(),
    };
    let snapshot = sync_tests::facts::whole(index_child::run(&request).await.unwrap().unwrap());
    let reasons = &snapshot.header.partial_reasons;
    let found: Vec<_> = reasons.iter().map(|r| json!([r.reason, r.count, r.files, r.limit])).collect();
    assert_eq!(Value::Array(found), expected());

    let world = World::empty().await;
    let repository = world.register("acme/damaged", 1).await;
    world.index(repository, "main", &snapshot).await;
    let answer = world.call(&world.asker(), "sync_repositories", json!({"limit": 50})).await.unwrap();
    let row = &answer["repositories"][0];
    let list = expected();
    for (at, reason) in list.as_array().unwrap().iter().enumerate() {
        assert_eq!(row["partial_reasons"][at], format!("{}: {}", reason[0].as_str().unwrap(), reason[1]));
        let detail = &row["partial_details"][at];
        assert_eq!((&detail["reason"], &detail["count"], &detail["limit"]), (&reason[0], &reason[1], &reason[3]));
        let files = reason[2].as_array().unwrap();
        assert_eq!(detail["files"], json!(files[..files.len().min(3)]));
        assert!(detail["next_step"].as_str().is_some_and(|next| !next.is_empty()), "{detail}");
    }
    // What is not whole of one repository is not whole of the answer.
    assert_eq!((&answer["partial"], &answer["partial_reasons"][0]), (&json!(true), &json!("analysis_cut: 1")));
    assert_eq!(answer["partial_reasons"].as_array().unwrap().len(), 6);
    // Every other answer says the counts alone; those of an index that an older service stored are read out of the whole.
    let risk = async || world.call(&world.asker(), "sync_whats_at_risk", json!({})).await.unwrap();
    let said = risk().await;
    assert_eq!((&said["partial"], &said["partial_reasons"]), (&json!(true), &answer["partial_reasons"]));
    let mut superuser = world.database.superuser().await;
    superuser.execute("UPDATE sync.indexes SET reason_counts = NULL").await.unwrap();
    superuser.close().await.unwrap();
    assert_eq!(risk().await, said);
    world.register("acme/whole", 2).await;
    let whole = world.call(&world.asker(), "sync_repositories", json!({"repository": "acme/whole"})).await.unwrap();
    assert_eq!((&whole["partial"], &whole["partial_reasons"]), (&json!(false), &json!([])));
    // At the default size some details may not fit; the reasons themselves are all there.
    let answer = world.call(&world.asker(), "sync_repositories", json!({})).await.unwrap();
    assert_eq!(answer["repositories"][0]["partial_reasons"], row["partial_reasons"]);
    assert!(!answer["repositories"][0]["partial_details"].as_array().unwrap().is_empty());
    world.end().await;

    let output = run_index(folder.path(), &[]);
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("partial: ")).collect();
    assert_eq!(lines.len(), list.as_array().unwrap().len(), "{said}");
    for (line, reason) in lines.iter().zip(list.as_array().unwrap()) {
        assert!(line.starts_with(&format!("partial: {} × {}", reason[1], reason[0].as_str().unwrap())), "{line}");
        assert!(line.contains(&format!("`{}`", reason[2][0].as_str().unwrap())), "{line}");
        assert!(line.contains("; next: "), "{line}");
        if let Some(limit) = reason[3].as_str() {
            assert!(line.contains(&format!("(limit: {limit})")), "{line}");
        }
    }
}
