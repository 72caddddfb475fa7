//! A snapshot becomes the index.

use sync_core::graph::{Context, FileFacts, Skipped};
use sync_core::operation::Operation;
use sync_core::rung::{BindingSource, Rung};
use sync_store::{CallSiteFilter, PathState, Store, StoreError, Swap};
use sync_tests::facts::SnapshotFacts;
use sync_tests::{Canary, NOW, TestDatabase, TwoOrganizations, facts, with_database};
use time::Duration;

const C1: &str = "1111111111111111111111111111111111111111";
const C2: &str = "2222222222222222222222222222222222222222";

/// Two files with call sites, one without.
fn first() -> SnapshotFacts {
    facts::snapshot(
        C1,
        vec![facts::client("2025-05-28.basil")],
        vec![
            facts::file("src/billing.ts", vec![facts::call("charge", 6), facts::call("refund", 20)]),
            facts::file("src/web/checkout.ts", vec![facts::call("checkout", 3)]),
            facts::file("src/stripe.ts", vec![]),
        ],
    )
}

async fn swap_at(store: &Store, who: &Canary, snapshot: &SnapshotFacts, seconds: i64) -> Swap {
    let mut tx = store.begin_write(&who.principal).await.unwrap();
    let swap = facts::swap(&mut tx, who.repository, "trunk", snapshot, NOW + Duration::seconds(seconds)).await.unwrap();
    tx.commit().await.unwrap();
    swap
}

#[test]
fn the_first_swap_stores_everything_and_answers_by_path_and_line() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let swap = swap_at(&database.store, &alpha, &first(), 0).await;
        assert_eq!((swap.changed_files, swap.removed_files, swap.confirmed), (3, 0, false));

        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let index = tx.current_index(alpha.repository, "trunk").await.unwrap().unwrap();
        assert_eq!(index, swap.index);
        assert_eq!(index.commit.as_deref(), Some(C1));
        assert!(index.current);
        let counts = index.counts;
        assert_eq!((counts.files, counts.skipped, counts.symbols, counts.call_sites), (3, 1, 3, 3));
        assert_eq!(tx.current_index(alpha.repository, "gone").await.unwrap(), None);
        assert_eq!(tx.index_by_commit(alpha.repository, C1).await.unwrap(), Some(index.clone()));
        let refs: Vec<String> =
            tx.current_indexes(alpha.repository).await.unwrap().into_iter().map(|index| index.ref_name).collect();
        assert_eq!(refs, ["main", "trunk"]);

        assert_eq!(tx.file(&index, "src/billing.ts").await.unwrap(), Some(first().files[0].clone()));
        assert_eq!(tx.file(&index, "src/gone.ts").await.unwrap(), None);
        let at: Vec<String> =
            tx.call_sites_at(&index, "src/billing.ts", 20).await.unwrap().into_iter().map(|c| c.symbol).collect();
        assert_eq!(at, ["refund"]);
        assert_eq!(tx.call_sites_at(&index, "src/billing.ts", 7).await.unwrap(), []);
        let near: Vec<u32> =
            tx.nearest_call_sites(&index, "src/billing.ts", 18, 3).await.unwrap().iter().map(|c| c.line).collect();
        assert_eq!(near, [20, 6]);
        let row = &tx.call_sites_of(&index, "src/web/checkout.ts").await.unwrap()[0];
        assert_eq!((row.path.as_str(), row.ordinal, row.line, row.column), ("src/web/checkout.ts", 0, 3, 3));
        assert_eq!(row.operation, Some(Operation::from_text("POST /v1/charges")));
        assert_eq!((row.binding_source, row.context), (BindingSource::Rung(Rung::Static), Context::Code));
        assert_eq!(tx.clients(&index).await.unwrap(), [facts::client("2025-05-28.basil")]);
        assert_eq!(tx.client(&index, &facts::client("x").id).await.unwrap(), Some(facts::client("2025-05-28.basil")));
        assert_eq!(tx.client(&index, "none").await.unwrap(), None);
        let lines = tx
            .symbol_lines(
                &index,
                &["src/billing.ts#refund#0", "src/stripe.ts##0", "src/billing.ts#gone#0", "nonsense"]
                    .map(str::to_owned),
            )
            .await
            .unwrap();
        let lines: Vec<(&str, u32)> = lines.iter().map(|line| (line.path.as_str(), line.line)).collect();
        assert_eq!(lines, [("src/billing.ts", 20), ("src/stripe.ts", 1)]);
    });
}

#[test]
fn a_path_is_a_file_a_folder_skipped_or_absent() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let mut snapshot = first();
        snapshot.skipped.push(Skipped { path: "src/big.ts".to_owned(), reason: "too_large".to_owned() });
        let index = swap_at(&database.store, &alpha, &snapshot, 0).await.index;
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let PathState::File(row) = tx.path_state(&index, "src/billing.ts").await.unwrap() else { panic!() };
        assert_eq!((row.bytes, row.lines, row.call_sites, row.language.as_str()), (4000, 100, 2, "typescript"));
        let skipped =
            |path: &str, reason: &str| PathState::Skipped { path: path.to_owned(), reason: reason.to_owned() };
        for (path, expected) in [
            ("src", PathState::Folder { files: 3, call_sites: 3 }),
            ("src/", PathState::Folder { files: 3, call_sites: 3 }),
            ("", PathState::Folder { files: 3, call_sites: 3 }),
            ("src/web", PathState::Folder { files: 1, call_sites: 1 }),
            ("src/we", PathState::Absent),
            ("src/gone.ts", PathState::Absent),
            ("src/big.ts", skipped("src/big.ts", "too_large")),
            ("node_modules", skipped("node_modules/", "vendored")),
            ("node_modules/stripe/index.js", skipped("node_modules/", "vendored")),
        ] {
            assert_eq!(tx.path_state(&index, path).await.unwrap(), expected, "{path}");
        }
        let rows = tx.file_rows(&index, &["src/big.ts", "src/stripe.ts", "x"].map(str::to_owned)).await.unwrap();
        assert_eq!(rows.iter().map(|row| row.path.as_str()).collect::<Vec<_>>(), ["src/stripe.ts"]);
    });
}

#[test]
fn call_sites_are_counted_by_path_vendor_rung_and_context() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let mut snapshot = first();
        let mut unmapped = facts::call("mail", 4);
        unmapped.vendor = "resend".to_owned();
        unmapped.operation = None;
        let mut test = facts::call("tested", 9);
        test.context = Context::Test;
        snapshot.files.push(facts::file("src/web/mail.ts", vec![unmapped, test]));
        let index = swap_at(&database.store, &alpha, &snapshot, 0).await.index;
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let all = tx.count_call_sites(&index, &CallSiteFilter::default()).await.unwrap();
        assert_eq!((all.call_sites, all.mapped), (4, 3));
        assert_eq!(all.by_binding_source, [(BindingSource::Rung(Rung::Static), 4)]);
        assert_eq!(all.by_vendor, [("resend".to_owned(), 1), ("stripe".to_owned(), 3)]);
        for (path, vendor, include_tests, expected) in [
            (Some("src/web"), None, false, 2),
            (Some("src/web"), None, true, 3),
            (Some("src/web/mail.ts"), Some("stripe"), true, 1),
            (Some("src/w"), None, true, 0),
            (None, Some("stripe"), false, 3),
            (Some(""), None, true, 5),
        ] {
            let filter =
                CallSiteFilter { path: path.map(str::to_owned), vendor: vendor.map(str::to_owned), include_tests };
            assert_eq!(tx.count_call_sites(&index, &filter).await.unwrap().call_sites, expected, "{filter:?}");
        }
        let used = tx.operations_used(&index, "stripe").await.unwrap();
        assert_eq!(used.len(), 1);
        assert_eq!((used[0].operation_erased.as_str(), used[0].call_sites), ("post /v1/charges", 3));
        assert_eq!(tx.operations_used(&index, "resend").await.unwrap(), []);
        let calling = tx.calling_paths(&index, "src/w", 50).await.unwrap();
        assert_eq!(calling, ["src/web/checkout.ts", "src/web/mail.ts"]);
        assert_eq!(tx.calling_paths(&index, "src/stripe", 50).await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn the_same_content_again_moves_only_indexed_at_and_another_commit_only_that_too() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let stored = swap_at(&database.store, &alpha, &first(), 0).await;
        let before = rows(database).await;
        let again = swap_at(&database.store, &alpha, &first(), 60).await;
        assert!(again.confirmed);
        assert_eq!((again.changed_files, again.removed_files), (0, 0));
        let mut expected = stored.index.clone();
        expected.indexed_at = NOW + Duration::seconds(60);
        assert_eq!(again.index, expected);
        assert_eq!(rows(database).await, before);

        let mut moved = first();
        moved.header.commit = Some(C2.to_owned());
        let again = swap_at(&database.store, &alpha, &moved, 120).await;
        assert!(again.confirmed);
        expected.indexed_at = NOW + Duration::seconds(120);
        expected.commit = Some(C2.to_owned());
        assert_eq!(again.index, expected);
        assert_eq!(rows(database).await, before);
        // The older commit still answers, as the same index.
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let older = tx.index_by_commit(alpha.repository, C1).await.unwrap().unwrap();
        assert_eq!((older.id, older.commit.as_deref(), older.current), (expected.id, Some(C1), true));
    });
}

#[test]
fn only_what_differs_is_written_and_the_older_commit_still_answers() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        swap_at(&database.store, &alpha, &first(), 0).await;
        let before = rows(database).await;

        // Only the exporter's file changed; the importer's facts differ because its binding does.
        let mut second = first();
        second.header.commit = Some(C2.to_owned());
        let mut call = facts::call("checkout", 3);
        call.client = Some("00000000000000c2".to_owned());
        second.files = vec![
            first().files[0].clone(),
            facts::file("src/stripe.ts", vec![facts::call("make", 1)]),
            facts::file("src/web/checkout.ts", vec![call]),
        ];
        second.skipped = vec![Skipped { path: "node_modules/".to_owned(), reason: "ignored".to_owned() }];
        let swap = swap_at(&database.store, &alpha, &second, 60).await;
        assert_eq!((swap.changed_files, swap.removed_files, swap.confirmed), (2, 0, false));
        // Two files' facts and call sites, three rows of paths (one of them skipped), one index, its one client.
        let after = rows(database).await;
        assert_eq!(after, [before[0] + 2, before[1] + 2, before[2] + 3, before[3] + 1, before[4] + 1]);

        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let older = tx.index_by_commit(alpha.repository, C1).await.unwrap().unwrap();
        assert!(!older.current);
        assert_eq!(tx.call_sites_of(&older, "src/stripe.ts").await.unwrap(), []);
        assert_eq!(tx.call_sites_of(&swap.index, "src/stripe.ts").await.unwrap().len(), 1);
        let client = |facts: Option<FileFacts>| facts.unwrap().call_sites[0].client.clone().unwrap();
        assert_eq!(client(tx.file(&older, "src/web/checkout.ts").await.unwrap()), facts::client("x").id);
        assert_eq!(client(tx.file(&swap.index, "src/web/checkout.ts").await.unwrap()), "00000000000000c2");
        assert_eq!(
            tx.path_state(&older, "node_modules/x").await.unwrap(),
            PathState::Skipped { path: "node_modules/".to_owned(), reason: "vendored".to_owned() }
        );
        let sites = tx.indexed_sites(&older).await.unwrap();
        assert_eq!(sites.len(), 3);
        assert!(sites.iter().all(|site| site.client == Some(facts::client("2025-05-28.basil"))));
        let sites = tx.indexed_sites(&swap.index).await.unwrap();
        let known: Vec<bool> = sites.iter().map(|site| site.client.is_some()).collect();
        assert_eq!(known, [true, true, true, false]);

        // Back to the first: its facts are still there and are used again.
        drop(tx);
        let back = swap_at(&database.store, &alpha, &first(), 120).await;
        assert_eq!((back.changed_files, back.confirmed), (2, false));
        assert_eq!(rows(database).await[0], after[0]);
    });
}

#[test]
fn a_moved_pin_alone_makes_a_new_index_without_new_facts() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let stored = swap_at(&database.store, &alpha, &first(), 0).await;
        let before = rows(database).await;
        let mut moved = first();
        moved.header.clients = vec![facts::client("2026-01-28.clover")];
        let swap = swap_at(&database.store, &alpha, &moved, 60).await;
        assert_eq!((swap.changed_files, swap.removed_files, swap.confirmed), (0, 0, false));
        assert_ne!(swap.index.id, stored.index.id);
        let after = rows(database).await;
        assert_eq!(after[..3], before[..3]);
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let sites = tx.indexed_sites(&swap.index).await.unwrap();
        assert!(sites.iter().all(|site| site.client == Some(facts::client("2026-01-28.clover"))));
    });
}

#[test]
fn a_removed_file_is_gone_and_the_fifty_first_commit_takes_the_first_with_it() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let before = rows(database).await;
        for n in 0..52_u32 {
            let mut call = facts::call("charge", 6);
            call.call_ordinal = n;
            let snapshot =
                facts::snapshot(&format!("{n:040}"), vec![], vec![facts::file("src/billing.ts", vec![call])]);
            swap_at(&database.store, &alpha, &snapshot, i64::from(n)).await;
        }
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        for (n, kept) in [(0, false), (1, false), (2, true), (51, true)] {
            let index = tx.index_by_commit(alpha.repository, &format!("{n:040}")).await.unwrap();
            assert_eq!(index.is_some(), kept, "{n}");
        }
        drop(tx);
        // 50 versions of one file, and the skipped folder once; no clients.
        let after = rows(database).await;
        assert_eq!(after, [before[0] + 50, before[1] + 50, before[2] + 51, before[3] + 50, before[4]]);

        let swap = swap_at(&database.store, &alpha, &facts::snapshot(C2, vec![], vec![]), 100).await;
        assert_eq!((swap.changed_files, swap.removed_files), (0, 1));
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        assert_eq!(tx.path_state(&swap.index, "src/billing.ts").await.unwrap(), PathState::Absent);
    });
}

#[test]
fn a_reader_between_two_statements_sees_one_index() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let old = swap_at(&database.store, &alpha, &first(), 0).await.index;
        let mut reader = database.store.begin(&alpha.principal).await.unwrap();
        let seen = reader.current_index(alpha.repository, "trunk").await.unwrap().unwrap();
        assert_eq!(seen, old);

        let mut second = first();
        second.files = vec![facts::file("src/other.ts", vec![])];
        let mut writer = database.store.begin_write(&alpha.principal).await.unwrap();
        let new = facts::swap(&mut writer, alpha.repository, "trunk", &second, NOW).await.unwrap().index;
        // Written, not committed: nobody sees it.
        let mut early = database.store.begin(&alpha.principal).await.unwrap();
        assert_eq!(early.current_index(alpha.repository, "trunk").await.unwrap(), Some(old.clone()));
        writer.commit().await.unwrap();

        assert_eq!(reader.current_index(alpha.repository, "trunk").await.unwrap(), Some(old.clone()));
        assert_eq!(reader.indexed_sites(&seen).await.unwrap().len(), 3);
        assert_eq!(reader.clients(&seen).await.unwrap().len(), 1);
        assert_eq!(reader.path_state(&seen, "src/other.ts").await.unwrap(), PathState::Absent);
        let mut late = database.store.begin(&alpha.principal).await.unwrap();
        assert_eq!(late.current_index(alpha.repository, "trunk").await.unwrap(), Some(new));
    });
}

#[test]
fn swaps_of_one_repository_happen_one_after_the_other() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let mut tasks = Vec::new();
        for n in 0..8_u32 {
            let (store, alpha) = (database.store.clone(), alpha.clone());
            tasks.push(tokio::spawn(async move {
                let path = format!("src/file{n}.ts");
                let snapshot = facts::snapshot(
                    &format!("{n:040}"),
                    vec![],
                    vec![facts::file(&path, vec![facts::call("f", n + 1)])],
                );
                swap_at(&store, &alpha, &snapshot, 0).await
            }));
        }
        let mut ids = Vec::new();
        for task in tasks {
            let swap = task.await.unwrap();
            assert!(!swap.confirmed);
            ids.push(swap.index.id);
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 8);
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let index = tx.current_index(alpha.repository, "trunk").await.unwrap().unwrap();
        assert_eq!(tx.path_state(&index, "").await.unwrap(), PathState::Folder { files: 1, call_sites: 1 });
    });
}

#[test]
fn a_known_head_is_told_until_it_is_indexed() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        swap_at(&database.store, &alpha, &first(), 0).await;
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        tx.set_head_commit(alpha.repository, "trunk", C2).await.unwrap();
        tx.set_head_commit(alpha.repository, "never-indexed", C2).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let index = tx.current_index(alpha.repository, "trunk").await.unwrap().unwrap();
        assert_eq!(index.head_commit.as_deref(), Some(C2));
        assert_eq!(tx.current_index(alpha.repository, "never-indexed").await.unwrap(), None);
        drop(tx);
        let mut moved = first();
        moved.header.commit = Some(C2.to_owned());
        assert_eq!(swap_at(&database.store, &alpha, &moved, 1).await.index.head_commit, None);
    });
}

#[test]
fn what_may_not_be_stored_is_refused_and_changes_nothing() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let before = rows(database).await;
        for rung in [Rung::Observed, Rung::Resolved] {
            let mut call = facts::call("charge", 6);
            call.binding_source = rung;
            let claimed = facts::snapshot(C1, vec![], vec![facts::file("src/billing.ts", vec![call])]);
            let error = refused(&database.store, &alpha, &claimed).await;
            assert!(error.contains("src/billing.ts:6") && error.contains(rung.as_str()), "{error}");
        }
        let mut unsealed = first();
        unsealed.files[0].facts_hash = String::new();
        assert!(refused(&database.store, &alpha, &unsealed).await.contains("not sealed"));
        let long = facts::snapshot(C1, vec![], vec![facts::file(&"x".repeat(1025), vec![])]);
        assert!(refused(&database.store, &alpha, &long).await.contains("1025 bytes"));
        assert_eq!(rows(database).await, before);

        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let error = facts::swap(&mut tx, alpha.repository, "trunk", &first(), NOW).await.unwrap_err();
        assert!(matches!(error, StoreError::Bug(_)), "{error}");
    });
}

#[test]
fn hostile_names_are_stored_without_harm() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let mut call = facts::call("a\0b", 6);
        call.chain = "'; DROP TABLE sync.facts; --\u{202e}".to_owned();
        let mut client = facts::client("2025\0");
        client.constructed_at = "\u{1}".to_owned();
        let path = "src/%_\\'\"\u{10ffff}.ts";
        let snapshot = facts::snapshot(C1, vec![client.clone()], vec![facts::file(path, vec![call.clone()])]);
        let index = swap_at(&database.store, &alpha, &snapshot, 0).await.index;
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        assert_eq!(tx.call_sites_of(&index, path).await.unwrap()[0].symbol, "a\u{fffd}b");
        assert_eq!(tx.file(&index, path).await.unwrap().unwrap().call_sites, [call]);
        assert_eq!(tx.clients(&index).await.unwrap(), [client]);
    });
}

#[test]
fn the_database_itself_refuses_a_rung_that_nothing_established() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let mut owner = database.owner_in(alpha.principal.organization).await;
        for rung in ["observed", "resolved"] {
            for claim in
                ["UPDATE sync.call_sites SET binding_source = $1", "UPDATE sync.call_counts SET binding_source = $1"]
            {
                let error = sqlx::query(claim).bind(rung).execute(&mut owner).await.unwrap_err();
                assert_eq!(error.as_database_error().unwrap().constraint(), Some("no_unestablished_rung"));
            }
        }
        // A historic row passes through verbatim.
        for passed in [
            "UPDATE sync.call_sites SET binding_source = 'unattributed'",
            "UPDATE sync.call_counts SET binding_source = 'unattributed'",
        ] {
            sqlx::query(passed).execute(&mut owner).await.unwrap();
        }
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let sites = tx.indexed_sites(&alpha.swap.index).await.unwrap();
        assert_eq!(sites[0].binding_source, BindingSource::Unattributed);
        let counts = tx.count_call_sites(&alpha.swap.index, &CallSiteFilter::default()).await.unwrap();
        assert_eq!(counts.by_binding_source, [(BindingSource::Unattributed, 1)]);
    });
}

async fn refused(store: &Store, who: &Canary, snapshot: &SnapshotFacts) -> String {
    let mut tx = store.begin_write(&who.principal).await.unwrap();
    match facts::swap(&mut tx, who.repository, "trunk", snapshot, NOW).await.unwrap_err() {
        StoreError::Refused(why) => why,
        other => panic!("{other}"),
    }
}

/// Rows of facts, call sites, paths, indexes and clients, of every organization.
async fn rows(database: &TestDatabase) -> [i64; 5] {
    let row: (i64, i64, i64, i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM sync.facts), (SELECT count(*) FROM sync.call_sites),
                (SELECT count(*) FROM sync.ref_paths), (SELECT count(*) FROM sync.indexes),
                (SELECT count(*) FROM sync.clients)",
    )
    .fetch_one(&mut database.superuser().await)
    .await
    .unwrap();
    row.into()
}
