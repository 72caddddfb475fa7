//! The kept feed.

use sqlx::{Connection as _, Executor as _};
use sync_core::change::{Axis, ChangeKind, Confidence, FEED_FORMAT, FeedVersion, Severity, VendorChange, VendorFeed};
use sync_core::ids::ChangeId;
use sync_core::operation::Operation;
use sync_store::{Adoption, FeedSource, Since, Store, StoreError, VerifiedFeed};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::macros::date;
use time::{Date, Duration};

pub(super) fn change(name: &str, group: &str, ordinal: Option<u32>, published_at: Option<Date>) -> VendorChange {
    VendorChange {
        change_id: ChangeId::of(&["stripe", name]),
        vendor: "stripe".to_owned(),
        operation: Some(Operation::from_text("POST /v1/charges")),
        change_kind: ChangeKind::ParamRemoved,
        location: "request.body".to_owned(),
        field: name.to_owned(),
        path_ptr: None,
        value: None,
        old: None,
        new: None,
        severity: Severity::Breaking,
        axis: ordinal.map(|_| Axis::Api),
        package: None,
        chain: None,
        from_version: None,
        to_version: ordinal.map(|n| format!("v{n}")),
        introduced_ordinal: ordinal,
        sunset: None,
        published_at,
        replacement: None,
        confidence: Confidence::Declared,
        group_id: group.to_owned(),
        changelog_url: None,
    }
}

pub(super) fn feed(changes: Vec<VendorChange>) -> VendorFeed {
    let version = |ordinal: u32| FeedVersion {
        axis: Axis::Api,
        package: None,
        label: format!("v{ordinal}"),
        ordinal,
        published_at: None,
        default_api: None,
    };
    VendorFeed {
        format: FEED_FORMAT,
        vendor: "stripe".to_owned(),
        license: "CC-BY-4.0".to_owned(),
        versions: (1..4).map(version).collect(),
        changes,
    }
}

fn source(version: u64) -> FeedSource {
    FeedSource { name: "dev".to_owned(), root_version: 1, version, expires_at: NOW + Duration::WEEK, checked_at: NOW }
}

pub(super) async fn adopt(store: &Store, version: u64, feed: &VendorFeed) -> Result<Adoption, StoreError> {
    let sha256 = hex_of(feed);
    let mut system = store.system("test").await?;
    system.record_feed_check(&source(version)).await?;
    let adoption = system.adopt_feed("dev", &VerifiedFeed { version, sha256: &sha256, feed }, NOW).await?;
    system.commit().await?;
    Ok(adoption)
}

/// A stand-in for the hash of the signed file: the same for the same content only.
fn hex_of(feed: &VendorFeed) -> String {
    let id = ChangeId::of(&[&serde_json::to_string(feed).unwrap()]).to_string();
    id["chg_".len()..].repeat(2)
}

fn changes() -> Vec<VendorChange> {
    vec![
        change("d", "g3", Some(3), Some(date!(2026 - 10 - 01))),
        change("c", "g2", Some(2), Some(date!(2026 - 09 - 01))),
        change("b", "g2", Some(2), Some(date!(2026 - 09 - 01))),
        change("a", "g1", Some(1), None),
    ]
}

#[test]
fn an_adopted_feed_reads_back_whole_and_pages_by_group() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let content = feed(changes());
        assert_eq!(adopt(&database.store, 5, &content).await.unwrap(), Adoption::Adopted);
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let kept = tx.feed("stripe").await.unwrap().unwrap();
        assert_eq!((kept.version, kept.fetched_at, kept.expires_at), (5, NOW, NOW + Duration::WEEK));
        assert_eq!((kept.changes, kept.groups, kept.source.as_str()), (4, 3, "dev"));
        assert_eq!(tx.feeds().await.unwrap(), [kept]);
        assert_eq!(tx.feed("github").await.unwrap(), None);
        let joined = tx.vendor_feeds(&["github".to_owned(), "stripe".to_owned()]).await.unwrap();
        assert_eq!(joined.len(), 1);
        assert_eq!((joined[0].0.version, &joined[0].1), (5, &content));
        assert_eq!(tx.feed_versions("stripe", "v2").await.unwrap(), [content.versions[1].clone()]);
        assert_eq!(tx.feed_versions("stripe", "v9").await.unwrap(), []);

        let page = tx.changes("stripe", None, None, 2).await.unwrap();
        let rows: Vec<(&str, u32, u32)> =
            page.rows.iter().map(|r| (r.change.field.as_str(), r.position, r.group_size)).collect();
        assert_eq!((rows, page.total), (vec![("d", 0, 1), ("c", 1, 2)], 3));
        let next = tx.changes("stripe", None, Some(1), 2).await.unwrap();
        assert_eq!((next.rows.len(), next.rows[0].change.field.as_str(), next.total), (1, "a", 3));
        let row = tx.change(&changes()[2].change_id).await.unwrap().unwrap();
        assert_eq!((row.position, row.group_size, &row.change), (2, 2, &changes()[2]));
        assert_eq!(tx.change(&ChangeId::of(&["none"])).await.unwrap(), None);
    });
}

#[test]
fn since_is_exclusive_on_each_scale() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        adopt(&database.store, 1, &feed(changes())).await.unwrap();
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let version = |ordinal, axis| Since::Version { vendor: "stripe".to_owned(), axis, package: None, ordinal };
        let newer_than = |position| Since::Change { vendor: "stripe".to_owned(), position };
        for (since, expected) in [
            (version(1, Axis::Api), vec!["d", "c"]),
            (version(3, Axis::Api), vec![]),
            (version(1, Axis::Sdk), vec![]),
            (Since::Date(date!(2026 - 09 - 01)), vec!["d"]),
            (Since::Date(date!(2026 - 08 - 31)), vec!["d", "c"]),
            (newer_than(2), vec!["d", "c"]),
            (newer_than(0), vec![]),
        ] {
            let page = tx.changes("stripe", Some(&since), None, 50).await.unwrap();
            let fields: Vec<&str> = page.rows.iter().map(|r| r.change.field.as_str()).collect();
            assert_eq!(fields, expected, "{since:?}");
            assert_eq!(page.total, expected.len() as u64);
        }
    });
}

#[test]
fn no_version_falls_and_the_last_good_feed_serves_on() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let store = &database.store;
        adopt(store, 5, &feed(changes())).await.unwrap();
        assert_eq!(adopt(store, 6, &feed(changes())).await.unwrap(), Adoption::Unchanged);
        assert_eq!(adopt(store, 6, &feed(changes())).await.unwrap(), Adoption::Unchanged);
        for (version, content) in [(5, feed(changes())), (4, feed(vec![])), (6, feed(vec![]))] {
            let error = adopt(store, version, &content).await.unwrap_err();
            assert!(matches!(error, StoreError::Refused(_)), "{version}: {error}");
        }
        let mut system = store.system("test").await.unwrap();
        let older_root = FeedSource { root_version: 0, ..source(9) };
        assert!(matches!(system.record_feed_check(&older_root).await.unwrap_err(), StoreError::Refused(_)));
        drop(system);
        // A clock that went back does not make the check older.
        let mut system = store.system("test").await.unwrap();
        let earlier = FeedSource { checked_at: NOW - Duration::DAY, ..source(7) };
        system.record_feed_check(&earlier).await.unwrap();
        assert_eq!(system.feed_source("dev").await.unwrap(), Some(source(7)));
        assert_eq!(system.feed_source("other").await.unwrap(), None);
        system.commit().await.unwrap();
        let mut tx = store.begin(&alpha.principal).await.unwrap();
        let kept = tx.feed("stripe").await.unwrap().unwrap();
        assert_eq!((kept.version, kept.changes), (6, 4));
        drop(tx);
        // Nor does the database let one fall, whatever the service is made to say.
        let mut service = sqlx::PgConnection::connect(&database.app_url).await.unwrap();
        for falling in ["UPDATE feed.sources SET version = 6", "UPDATE feed.sources SET root_version = 0"] {
            let refused = service.execute(falling).await.unwrap_err();
            assert_eq!(
                refused.as_database_error().unwrap().constraint(),
                Some("feed_version_never_falls"),
                "{falling}"
            );
        }
        assert_eq!(adopt(store, 8, &feed(vec![])).await.unwrap(), Adoption::Adopted);
        let mut tx = store.begin(&alpha.principal).await.unwrap();
        assert_eq!(tx.changes("stripe", None, None, 50).await.unwrap().total, 0);
    });
}

#[test]
fn changes_are_found_by_id_operation_and_group() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        adopt(&database.store, 1, &feed(changes())).await.unwrap();
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let [d, c, _, a] = <[VendorChange; 4]>::try_from(changes()).unwrap();
        let found = tx.changes_by_id(&[a.change_id.clone(), ChangeId::of(&["none"])]).await.unwrap();
        assert_eq!(found, [a]);
        let (newest, total) = tx.changes_of_operation("stripe", "post /v1/charges", 2).await.unwrap();
        assert_eq!((newest, total), (vec![d, c], 4));
        assert_eq!(tx.changes_of_operation("stripe", "get /v1/charges", 2).await.unwrap(), (vec![], 0));
        let operations = tx.operations_of_groups("stripe", &["g2".to_owned(), "none".to_owned()]).await.unwrap();
        assert_eq!(operations, [("g2".to_owned(), "post /v1/charges".to_owned())]);
    });
}
