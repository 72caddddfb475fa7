//! Proves the audit log of an organization whole, or names what is not.

use std::collections::BTreeMap;

use sync_core::ids::{EventId, OrganizationId};
use sync_core::principal::Principal;
use sync_core::seal::{
    Finding, Hash, Head, Record, Row, RowKind, SignedHead, SignedPruning, examine, examine_chain, tree,
};
use sync_core::text::shown;
use sync_store::{Store, StoreError, Tx, Unsealed};
use time::{Duration, OffsetDateTime};

use super::seal_key::{NotSigned, SealKeys};

/// Seals looked at between two questions for more.
const PAGE: u32 = 200;

/// The most findings that are named; the rest is counted.
const MOST_NAMED: usize = 200;

/// A row is written within seconds of the time it names. One that was written so much after a seal that is younger than
/// that time is doubtful; a transaction elsewhere that stayed open for minutes makes the same picture, so it is no more.
const DOUBTFUL_AFTER: Duration = Duration::minutes(10);

/// What was found.
#[derive(Debug, Clone)]
pub struct Report {
    /// Whose log.
    pub organization: OrganizationId,
    /// How many seals there are.
    pub seals: u64,
    /// Rows that stand as they were sealed, where nothing is found.
    pub rows: u64,
    /// The last seal: what is at or before it is proven.
    pub last: Option<SignedHead>,
    /// What was removed because it was kept as long as was wanted.
    pub pruned: Option<Pruned>,
    /// What is newer than the last seal, and so unproven.
    pub unsealed: Unsealed,
    /// What is not as it was sealed.
    pub findings: Vec<Finding>,
    /// More findings than are named.
    pub more_findings: u64,
    /// Rows that say they are older than they can well be.
    pub doubtful: Vec<Doubtful>,
}

/// Rows that were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// Number of the last seal without rows.
    pub through: u64,
    /// How many rows its seals and those before it had.
    pub rows: u64,
    /// When.
    pub at: OffsetDateTime,
}

/// A row that says it is from before a seal that was made without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubtful {
    /// Which row.
    pub event_id: EventId,
    /// When it says its call began.
    pub time: OffsetDateTime,
    /// The seal that it is in.
    pub number: u64,
}

impl Report {
    /// Whether everything at or before the last seal, and at or before every given head, is as it was.
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty()
    }

    /// Whether all that is found is that keys are missing: nothing is known to be edited, and nothing is proven.
    pub fn lacks_only_keys(&self) -> bool {
        !self.is_whole() && self.more_findings == 0 && self.findings.iter().all(Finding::lacks_key)
    }
}

/// What to do where a key is missing.
pub const KEY_WANTED: &str = "give the secret of that key: in SYNC_SEAL_KEY, or in SYNC_PREVIOUS_SEAL_KEYS where another \
    seals now (`syncd audit key` names those given); if none of yours ever had that id, somebody else signed";

/// What is wrong with what names a given key, but is not signed with it.
const NOT_GOOD: &str = "its signature is not good";

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum Unverifiable {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A given head is not as it was signed.
    #[error(
        "the given head {number} of {organization} is none: its signature is not good; next: give heads as they were \
         written to audit_heads_file"
    )]
    Head {
        /// Its number.
        number: u64,
        /// Whose it says it is.
        organization: OrganizationId,
    },
    /// A given head names a key that was not given.
    #[error(
        "the given head {number} of {organization} is signed with the key {key_id}, which is not among those given \
         ({given}); next: {KEY_WANTED}"
    )]
    HeadOfOtherKey {
        /// Its number.
        number: u64,
        /// Whose it says it is.
        organization: OrganizationId,
        /// The key that it names.
        key_id: String,
        /// The keys that were given, with commas between them.
        given: String,
    },
}

/// Examines every seal of an organization, the rows below each, and whether they lead to every head `against` of that
/// organization.
pub async fn verify(
    store: &Store,
    keys: &SealKeys,
    organization: OrganizationId,
    against: &[SignedHead],
) -> Result<Report, Unverifiable> {
    let mut expected = BTreeMap::new();
    let mut findings = Vec::new();
    for head in against.iter().filter(|signed| signed.head.organization == organization) {
        let number = head.head.number;
        keys.check_head(head).map_err(|why| match why {
            NotSigned::Bad => Unverifiable::Head { number, organization },
            NotSigned::UnknownKey => Unverifiable::HeadOfOtherKey {
                number,
                organization,
                key_id: shown(&head.head.key_id, 16),
                given: keys.ids(),
            },
        })?;
        if expected.insert(number, head.clone()).is_some_and(|other| other.head != head.head) {
            // Both are signed: somebody sealed the same rows twice, differently.
            findings.push(Finding::SealEdited { number, why: "two different heads of this number left the database" });
        }
    }
    let tx = store.begin(&Principal::service(organization, "audit verify")).await?;
    let report = Report {
        organization,
        seals: 0,
        rows: 0,
        last: None,
        pruned: None,
        unsealed: Unsealed { rows: 0, oldest: None, newest: None },
        findings: Vec::new(),
        more_findings: 0,
        doubtful: Vec::new(),
    };
    let mut verification = Verification { tx, keys, expected, report, pruned: None };
    verification.found(findings);
    verification.run().await?;
    verification.tx.commit().await?;
    Ok(verification.report)
}

struct Verification<'a> {
    tx: Tx,
    keys: &'a SealKeys,
    /// Heads that left the database, by number; those met are removed.
    expected: BTreeMap<u64, SignedHead>,
    report: Report,
    /// The statement that rows were removed, where it is good.
    pruned: Option<SignedPruning>,
}

impl Verification<'_> {
    async fn run(&mut self) -> Result<(), StoreError> {
        self.read_pruning().await?;
        let mut last: Option<SignedHead> = None;
        loop {
            let after = last.as_ref().map_or(0, |last| last.head.number);
            let page = self.tx.seals_after(after, PAGE).await?;
            if page.is_empty() {
                break;
            }
            for seal in page {
                let before = last.as_ref().map(|last| &last.head);
                self.found(examine_chain(before, std::slice::from_ref(&seal.head)));
                self.seal(&seal, before).await?;
                self.report.seals += 1;
                last = Some(seal);
            }
        }
        // Heads that left and have no seal any more; in the middle the chain has named them already.
        let newest = last.as_ref().map_or(0, |last| last.head.number);
        for (number, head) in std::mem::take(&mut self.expected) {
            if number > newest {
                self.found([Finding::SealMissing { number }]);
            }
            self.rows_without_seal(&head.head).await?;
        }
        self.report.unsealed = self.tx.unsealed(last.as_ref().map_or(0, |last| last.head.to_xid)).await?;
        self.report.last = last;
        Ok(())
    }

    async fn read_pruning(&mut self) -> Result<(), StoreError> {
        let Some(signed) = self.tx.last_pruning().await? else { return Ok(()) };
        let through = signed.pruning.through;
        if let Err(why) = self.keys.check_pruning(&signed) {
            self.found([match why {
                NotSigned::Bad => Finding::PruningEdited { through, why: NOT_GOOD },
                NotSigned::UnknownKey => Finding::PruningKeyNotGiven { through, key_id: signed.pruning.key_id },
            }]);
            return Ok(());
        }
        self.report.pruned = Some(Pruned { through, rows: 0, at: signed.pruning.time });
        self.pruned = Some(signed);
        Ok(())
    }

    /// Examines one seal and the rows below it.
    async fn seal(&mut self, stored: &SignedHead, before: Option<&Head>) -> Result<(), StoreError> {
        let number = stored.head.number;
        let signed = self.keys.check_head(stored);
        match signed {
            Ok(()) => {}
            Err(NotSigned::Bad) => self.found([Finding::SealEdited { number, why: NOT_GOOD }]),
            Err(NotSigned::UnknownKey) => self.key_not_given(number, &stored.head.key_id),
        }
        // What left the database is to be believed rather than what is in it.
        let left = self.expected.remove(&number);
        let head = match &left {
            Some(left) if left.head != stored.head => {
                if signed.is_ok() {
                    let why = "it is not the head that left the database";
                    self.found([Finding::SealEdited { number, why }]);
                }
                &left.head
            }
            _ => &stored.head,
        };
        let rows = self.tx.sealed_rows(head.from_xid, head.to_xid).await?;
        if let Some(pruned) = &mut self.report.pruned
            && number <= pruned.through
        {
            pruned.rows += head.rows;
            let inserted: Vec<Finding> = rows.iter().map(|row| inserted(number, row)).collect();
            self.found(inserted);
            return Ok(());
        }
        let records = self.tx.seal_records(number).await?.unwrap_or_default();
        let Some(key) = self.keys.find(&head.key_id) else {
            // Without the key rows cannot be named, but that they are not those of the root can be told.
            self.found(root_differs(head, &rows));
            return Ok(());
        };
        let found = examine(head, &Record::read_all(&records), &rows, key.records());
        if found.is_empty() {
            self.report.rows += head.rows;
        }
        // Of a head that is not signed the root says nothing; where every record is good, the rows are too.
        let head_is_good = left.is_some() || signed.is_ok();
        self.found(found.into_iter().filter(|found| head_is_good || !matches!(found, Finding::RootDiffers { .. })));
        if let Some(before) = before {
            self.doubt(&rows, before, number);
        }
        Ok(())
    }

    /// A head that left the database but has no seal there any more still says which rows there were.
    async fn rows_without_seal(&mut self, head: &Head) -> Result<(), StoreError> {
        if self.pruned.as_ref().is_some_and(|pruned| head.number <= pruned.pruning.through) {
            return Ok(());
        }
        let rows = self.tx.sealed_rows(head.from_xid, head.to_xid).await?;
        self.found(root_differs(head, &rows));
        Ok(())
    }

    fn doubt(&mut self, rows: &[Row], before: &Head, number: u64) {
        let late = rows.iter().filter(|row| row.kind == RowKind::Event && row.time + DOUBTFUL_AFTER < before.time);
        let room = MOST_NAMED.saturating_sub(self.report.doubtful.len());
        let late = late.take(room).map(|row| Doubtful { event_id: row.event_id, time: row.time, number });
        self.report.doubtful.extend(late);
    }

    /// Seals in a row that name the same key are one finding: where the key is missing, it is so of all of them.
    fn key_not_given(&mut self, number: u64, named: &str) {
        if let Some(Finding::KeyNotGiven { to, key_id, .. }) = self.report.findings.last_mut()
            && *to + 1 == number
            && key_id == named
        {
            *to = number;
        } else {
            self.found([Finding::KeyNotGiven { from: number, to: number, key_id: named.to_owned() }]);
        }
    }

    fn found(&mut self, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            if self.report.findings.len() < MOST_NAMED {
                self.report.findings.push(finding);
            } else {
                self.report.more_findings += 1;
            }
        }
    }
}

fn inserted(number: u64, row: &Row) -> Finding {
    Finding::RowInserted { number, kind: row.kind, event_id: row.event_id }
}

fn root_differs(head: &Head, rows: &[Row]) -> Option<Finding> {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| row.key());
    let leaves: Vec<Hash> = sorted.iter().map(|row| row.leaf()).collect();
    let whole = leaves.len() as u64 == head.rows && tree::root(&leaves) == head.root;
    (!whole).then_some(Finding::RootDiffers { number: head.number })
}
