//! How many uploads there are at a time, so that none of them, and no organization, keeps the others out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use sync_core::ids::OrganizationId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;
use crate::gates::{self, Gates};

/// How many bodies of uploads are there at a time: what they may take of the disk is this many times
/// [`super::spool::MAX_BYTES`].
const PLACES: usize = 16;

/// How many of them are one organization's.
const PLACES_EACH: usize = 2;

/// How many uploads are stored at a time: each has a connection to the database, of which there are few, and reads a line
/// of up to 16 MiB. Of each organization it is one.
const STORED: usize = 2;

/// The uploads of a service.
pub struct Uploads {
    taken: Arc<Taken>,
    own: Gates<OrganizationId>,
    stored: Arc<Semaphore>,
}

type Taken = Mutex<BTreeMap<OrganizationId, usize>>;

impl Default for Uploads {
    fn default() -> Self {
        Self { taken: Arc::default(), own: Gates::default(), stored: Arc::new(Semaphore::new(STORED)) }
    }
}

/// A place among the bodies that are there.
pub struct Place {
    taken: Arc<Taken>,
    organization: OrganizationId,
}

/// A turn to be stored.
pub struct Turn {
    _stored: OwnedSemaphorePermit,
    _own: gates::Turn,
}

impl Uploads {
    /// A place for a body of that organization, where there is one.
    pub fn place(&self, organization: OrganizationId) -> Result<Place, Problem> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.get(&organization).copied().unwrap_or_default();
        if own >= PLACES_EACH || taken.values().sum::<usize>() >= PLACES {
            return Err(busy());
        }
        taken.insert(organization, own + 1);
        Ok(Place { taken: self.taken.clone(), organization })
    }

    /// How many bodies of that organization are there.
    pub fn of(&self, organization: OrganizationId) -> usize {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.get(&organization).copied().unwrap_or_default()
    }

    /// Waits for a turn to be stored: first among the organization's own, which are stored one after the other, then among
    /// those of others. Nothing where the service ends.
    pub async fn turn(&self, organization: OrganizationId) -> Option<Turn> {
        let own = self.own.turn(organization).await;
        let stored = self.stored.clone().acquire_owned().await.ok()?;
        Some(Turn { _stored: stored, _own: own })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.organization) {
            Some(own) if *own > 1 => *own -= 1,
            _ => {
                taken.remove(&self.organization);
            }
        }
    }
}

/// As many are under way as may be.
pub fn busy() -> Problem {
    Problem {
        retry_after_s: Some(10),
        ..Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "Other uploads are under way, as many as are taken at a time.",
            "Try again in 10 seconds; the same upload may be sent any number of times.",
        )
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use time::OffsetDateTime;

    use super::*;

    fn organizations() -> impl Iterator<Item = OrganizationId> {
        std::iter::repeat_with(|| OrganizationId::at(OffsetDateTime::UNIX_EPOCH))
    }

    #[test]
    fn an_organization_has_two_places_and_all_have_sixteen() {
        let uploads = Uploads::default();
        let mut places = Vec::new();
        for organization in organizations().take(8) {
            places.extend((0..2).map(|_| uploads.place(organization).unwrap_or_else(|_| panic!("a place"))));
            assert!(uploads.place(organization).is_err(), "a third");
            assert_eq!(uploads.of(organization), 2);
        }
        let another = organizations().next().unwrap();
        assert!(uploads.place(another).is_err(), "a seventeenth");
        places.pop();
        assert!(uploads.place(another).is_ok());
        places.clear();
        assert_eq!(*uploads.taken.lock().unwrap(), BTreeMap::new());
    }

    #[test]
    fn one_upload_of_an_organization_is_stored_at_a_time_and_two_of_all() {
        let uploads = Uploads::default();
        let [one, two, three] = [(); 3].map(|()| organizations().next().unwrap());
        let first = uploads.turn(one).now_or_never().flatten().unwrap();
        assert!(uploads.turn(one).now_or_never().is_none(), "its own second waits");
        let second = uploads.turn(two).now_or_never().flatten().unwrap();
        assert!(uploads.turn(three).now_or_never().is_none(), "a third of all waits");
        drop(first);
        let third = uploads.turn(three).now_or_never().flatten().unwrap();
        drop((second, third));
        assert!(uploads.turn(one).now_or_never().flatten().is_some());
    }
}
