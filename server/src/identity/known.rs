//! Tokens that were read lately: asking the store who asks is a transaction of its own before each answer.
//!
//! What was read holds for ten seconds: within that, a token that is revoked by another process is accepted no more. What
//! is changed through this process is forgotten at once. A row is only who a secret would stand for: the secret is compared,
//! and the token's end looked at, on every request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sync_core::ids::{OrganizationId, TokenId};
use sync_store::TokenRow;
use time::{Duration, OffsetDateTime};

/// For how long a row that was read holds.
const HOLDS: Duration = Duration::seconds(10);

/// The most rows that are kept. Only tokens that exist have one.
const MOST: usize = 10_000;

/// Rows of tokens that were read lately.
#[derive(Default)]
pub(super) struct KnownTokens(Mutex<Known>);

#[derive(Default)]
struct Known {
    rows: HashMap<(OrganizationId, TokenId), (Arc<TokenRow>, OffsetDateTime)>,
    /// How often something was forgotten.
    forgotten: u64,
}

/// That a row is being read, and since when.
#[derive(Clone, Copy)]
pub(super) struct ReadSince(u64);

impl KnownTokens {
    /// The row of a token, where it was read lately.
    pub(super) fn get(&self, organization: OrganizationId, id: TokenId, now: OffsetDateTime) -> Option<Arc<TokenRow>> {
        let known = self.lock();
        // A clock that was put back makes nothing last.
        known.rows.get(&(organization, id)).filter(|(_, at)| (now - *at).abs() < HOLDS).map(|(row, _)| row.clone())
    }

    /// Before a row is read: what is forgotten meanwhile was perhaps read as it was before.
    pub(super) fn reads(&self) -> ReadSince {
        ReadSince(self.lock().forgotten)
    }

    /// Keeps a row that was read since then.
    pub(super) fn keep(
        &self,
        since: ReadSince,
        organization: OrganizationId,
        row: &Arc<TokenRow>,
        now: OffsetDateTime,
    ) {
        let mut known = self.lock();
        if known.forgotten != since.0 {
            return;
        }
        if known.rows.len() >= MOST {
            known.rows.retain(|_, (_, at)| (now - *at).abs() < HOLDS);
        }
        if known.rows.len() < MOST {
            known.rows.insert((organization, row.id), (row.clone(), now));
        }
    }

    /// Forgets the tokens of an organization in which something was changed.
    pub(super) fn forget(&self, organization: OrganizationId) {
        let mut known = self.lock();
        known.rows.retain(|(of, _), _| *of != organization);
        known.forgotten += 1;
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sync_core::ids::PrincipalId;
    use sync_core::principal::{PrincipalKind, Readable, Role};
    use sync_store::Member;

    use super::*;

    const START: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

    /// The same for the same number: ids that are made of an instant differ each time.
    fn organization(n: u128) -> OrganizationId {
        OrganizationId::from_uuid(uuid::Uuid::from_u128(n))
    }

    fn row(n: i64) -> Arc<TokenRow> {
        let at = START + Duration::milliseconds(n);
        Arc::new(TokenRow {
            id: TokenId::at(at),
            member: Member {
                id: PrincipalId::at(at),
                name: "ada".to_owned(),
                kind: PrincipalKind::User,
                role: Role::Member,
                readable: Readable::All,
                disabled_at: None,
            },
            name: "laptop".to_owned(),
            secret_hash: [7; 32],
            scopes: BTreeSet::new(),
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            organization_active: true,
        })
    }

    #[test]
    fn a_row_holds_for_ten_seconds() {
        let (known, row) = (KnownTokens::default(), row(1));
        known.keep(known.reads(), organization(1), &row, START);
        assert_eq!(known.get(organization(1), row.id, START + HOLDS - Duration::NANOSECOND), Some(row.clone()));
        assert_eq!(known.get(organization(1), row.id, START + HOLDS), None);
        assert_eq!(known.get(organization(2), row.id, START), None, "the same id elsewhere is another token");
    }

    #[test]
    fn what_is_forgotten_while_it_is_read_is_not_kept() {
        let (known, row) = (KnownTokens::default(), row(1));
        known.keep(known.reads(), organization(1), &row, START);
        let since = known.reads();
        known.forget(organization(1));
        assert_eq!(known.get(organization(1), row.id, START), None);
        known.keep(since, organization(1), &row, START);
        assert_eq!(known.get(organization(1), row.id, START), None);
    }

    #[test]
    fn however_many_tokens_ask_no_more_than_the_most_are_kept() {
        let known = KnownTokens::default();
        for n in 0..20_000 {
            known.keep(known.reads(), organization(1), &row(n), START);
        }
        assert_eq!(known.lock().rows.len(), MOST);
        known.keep(known.reads(), organization(1), &row(30_000), START + HOLDS);
        assert_eq!(known.lock().rows.len(), 1);
    }
}
