//! Findings of the current index.

use sync_core::change::Severity;
use sync_core::graph::Context;
use sync_core::ids::FindingId;
use sync_core::join::{Finding, Window};
use sync_core::rung::{BindingSource, Rung};
use sync_store::{FindingFilter, FindingRow, JoinedFeed, Since, StoreError};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, facts, with_database};
use time::macros::date;

use super::feed::{adopt, change, feed};

fn finding(name: &str, path: &str, line: u32, severity: Severity) -> Finding {
    let change = change(name, "g", None, None);
    Finding {
        finding_id: FindingId::of(&[name, path]),
        change_id: change.change_id,
        path: path.to_owned(),
        line,
        symbol: "charge".to_owned(),
        chain: "stripe.charges.create".to_owned(),
        vendor: "stripe".to_owned(),
        operation: change.operation,
        change_kind: change.change_kind,
        severity,
        window: Window::OnUpgrade,
        reason: None,
        sunset: None,
        binding_source: BindingSource::Rung(Rung::Static),
        context: Context::Code,
    }
}

fn all() -> Vec<Finding> {
    let mut dated = finding("b", "src/web/b.ts", 2, Severity::Breaking);
    dated.window = Window::Dated(date!(2026 - 12 - 31));
    dated.sunset = Some(date!(2026 - 12 - 31));
    dated.reason = Some("args_not_visible".to_owned());
    let mut test = finding("c", "src/c.test.ts", 1, Severity::Breaking);
    test.context = Context::Test;
    let mut other = finding("d", "src/a.ts", 9, Severity::NonBreaking);
    "github".clone_into(&mut other.vendor);
    other.operation = None;
    vec![finding("a", "src/a.ts", 9, Severity::PotentiallyBreaking), dated, test, other]
}

fn stripe(version: u64) -> Vec<JoinedFeed> {
    vec![JoinedFeed { vendor: "stripe".to_owned(), version }]
}

fn ids(rows: &[FindingRow]) -> Vec<FindingId> {
    rows.iter().map(|row| row.finding.finding_id.clone()).collect()
}

#[test]
fn findings_page_in_order_and_are_counted_over_all_pages() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let index = &alpha.swap.index;
        let mut tx = database.store.begin_write(&alpha.principal).await.unwrap();
        tx.lock_repository(alpha.repository).await.unwrap();
        tx.replace_findings(index, &all(), &stripe(3), NOW).await.unwrap();
        tx.commit().await.unwrap();

        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let everything = FindingFilter { include_tests: true, ..FindingFilter::default() };
        let [a, b, c, d] = all().try_into().unwrap();
        let rows = tx.findings(index, &everything, None, 50).await.unwrap();
        let read: Vec<Finding> = rows.iter().map(|row| row.finding.clone()).collect();
        assert_eq!(read, [c.clone(), b.clone(), a.clone(), d.clone()]);
        let mut after = None;
        let mut paged = Vec::new();
        loop {
            let page = tx.findings(index, &everything, after.as_ref(), 1).await.unwrap();
            let Some(row) = page.into_iter().next() else { break };
            after = Some(row.position());
            paged.push(row.finding);
        }
        assert_eq!(paged, read);

        let summary = tx.summarize_findings(index, &FindingFilter::default()).await.unwrap();
        let counted: Vec<(&str, Severity, Window, u64)> =
            summary.iter().map(|row| (row.vendor.as_str(), row.severity, row.window, row.findings)).collect();
        assert_eq!(
            counted,
            [
                ("github", Severity::NonBreaking, Window::OnUpgrade, 1),
                ("stripe", Severity::Breaking, Window::Dated(date!(2026 - 12 - 31)), 1),
                ("stripe", Severity::PotentiallyBreaking, Window::OnUpgrade, 1),
            ]
        );
        assert_eq!(tx.joined_feeds(index).await.unwrap(), stripe(3));
        assert_eq!(tx.finding(index, &b.finding_id).await.unwrap().map(|row| row.finding), Some(b));
        assert_eq!(tx.finding(index, &FindingId::of(&["none"])).await.unwrap(), None);
        let at: Vec<_> = tx.findings_at(index, "src/a.ts", 9).await.unwrap();
        let at: Vec<_> = at.into_iter().map(|(row, _)| row).collect();
        assert_eq!(ids(&at), [a.finding_id, d.finding_id]);
        assert_eq!(tx.finding_ids(index).await.unwrap().len(), 4);
    });
}

#[test]
fn each_filter_narrows_rows_and_counts_alike() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let index = &alpha.swap.index;
        let [a, b, _, d] = <[Finding; 4]>::try_from(all()).unwrap();
        let changes = vec![
            change("b", "g", Some(2), Some(date!(2026 - 09 - 01))),
            change("a", "g", Some(1), Some(date!(2026 - 08 - 01))),
        ];
        adopt(&database.store, 1, &feed(changes)).await.unwrap();
        let mut tx = database.store.begin_write(&alpha.principal).await.unwrap();
        tx.replace_findings(index, &all(), &stripe(1), NOW).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let none = FindingFilter::default;
        for (filter, expected) in [
            (none(), vec![&b, &a, &d]),
            (FindingFilter { path: Some("src/web".to_owned()), ..none() }, vec![&b]),
            (FindingFilter { path: Some("src/a.ts".to_owned()), ..none() }, vec![&a, &d]),
            (FindingFilter { path: Some("src/a".to_owned()), ..none() }, vec![]),
            (FindingFilter { vendor: Some("github".to_owned()), ..none() }, vec![&d]),
            (FindingFilter { severity: Some(Severity::PotentiallyBreaking), ..none() }, vec![&b, &a]),
            (FindingFilter { since: Some(Since::Date(date!(2026 - 08 - 01))), ..none() }, vec![&b]),
            (
                FindingFilter { since: Some(Since::Change { vendor: "stripe".to_owned(), position: 1 }), ..none() },
                vec![&b],
            ),
            (FindingFilter { absent_from: Some(vec![b.finding_id.clone()]), ..none() }, vec![&a, &d]),
            (FindingFilter { absent_from: Some(vec![]), ..none() }, vec![&b, &a, &d]),
        ] {
            let rows = tx.findings(index, &filter, None, 50).await.unwrap();
            let expected: Vec<FindingId> = expected.iter().map(|finding| finding.finding_id.clone()).collect();
            assert_eq!(ids(&rows), expected, "{filter:?}");
            let counted: u64 =
                tx.summarize_findings(index, &filter).await.unwrap().iter().map(|row| row.findings).sum();
            assert_eq!(counted, expected.len() as u64, "{filter:?}");
        }
    });
}

#[test]
fn findings_belong_to_one_ref_and_one_organization_and_are_replaced_whole() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let alpha = &two.alpha;
        let mut tx = database.store.begin_write(&alpha.principal).await.unwrap();
        let snapshot = facts::snapshot(&"c".repeat(40), vec![], vec![]);
        let branch = facts::swap(&mut tx, alpha.repository, "branch", &snapshot, NOW).await.unwrap().index;
        tx.replace_findings(&alpha.swap.index, &all(), &stripe(1), NOW).await.unwrap();
        tx.replace_findings(&branch, &all()[..1], &[], NOW).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = database.store.begin_write(&alpha.principal).await.unwrap();
        assert_eq!(tx.finding_ids(&branch).await.unwrap().len(), 1);
        tx.replace_findings(&alpha.swap.index, &all()[1..2], &stripe(2), NOW).await.unwrap();
        assert_eq!(tx.finding_ids(&alpha.swap.index).await.unwrap().len(), 1);
        assert_eq!(tx.joined_feeds(&alpha.swap.index).await.unwrap(), stripe(2));
        assert_eq!(tx.finding_ids(&branch).await.unwrap().len(), 1);
        tx.commit().await.unwrap();
        let mut foreign = database.store.begin(&two.beta.principal).await.unwrap();
        assert_eq!(foreign.finding_ids(&alpha.swap.index).await.unwrap(), []);
        assert_eq!(foreign.joined_feeds(&alpha.swap.index).await.unwrap(), []);
    });
}

#[test]
fn a_rung_that_nothing_established_is_refused_here_too_and_history_passes() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let index = &alpha.swap.index;
        for source in
            [BindingSource::Rung(Rung::Observed), BindingSource::Rung(Rung::Resolved), BindingSource::Unattributed]
        {
            let mut claimed = finding("a", "src/a.ts", 1, Severity::Breaking);
            claimed.binding_source = source;
            let mut tx = database.store.begin_write(&alpha.principal).await.unwrap();
            let error = tx.replace_findings(index, &[claimed], &[], NOW).await.unwrap_err();
            assert!(matches!(error, StoreError::Refused(_)), "{error}");
        }
        let mut tx = database.store.begin_write(&alpha.principal).await.unwrap();
        tx.replace_findings(index, &all(), &[], NOW).await.unwrap();
        tx.commit().await.unwrap();
        let mut owner = database.owner_in(alpha.principal.organization).await;
        let error =
            sqlx::query("UPDATE sync.findings SET binding_source = 'observed'").execute(&mut owner).await.unwrap_err();
        assert_eq!(error.as_database_error().unwrap().constraint(), Some("no_unestablished_rung"));
        sqlx::query("UPDATE sync.findings SET binding_source = 'unattributed'").execute(&mut owner).await.unwrap();
        let mut tx = database.store.begin(&alpha.principal).await.unwrap();
        let rows = tx.findings(index, &FindingFilter::default(), None, 50).await.unwrap();
        assert!(rows.iter().all(|row| row.finding.binding_source == BindingSource::Unattributed));
    });
}
