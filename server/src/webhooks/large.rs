//! Deliveries of more than a megabyte: few are held at a time, and of one endpoint one, so that who sends them takes no
//! more memory than that, and who does not even know an endpoint takes none.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::EndpointAddress;
use crate::gates::{self, Gates};

/// How many there are at a time.
const PLACES: usize = 8;

/// The large deliveries of a service.
pub struct Large {
    own: Gates<EndpointAddress>,
    all: Arc<Semaphore>,
}

impl Default for Large {
    fn default() -> Self {
        Self { own: Gates::default(), all: Arc::new(Semaphore::new(PLACES)) }
    }
}

/// A place for one of them.
pub struct Place {
    _all: OwnedSemaphorePermit,
    _own: gates::Turn,
}

impl Large {
    /// Waits for a place for a delivery to an endpoint that there is.
    pub async fn place(&self, of: EndpointAddress) -> Option<Place> {
        let own = self.own.turn(of).await;
        // It is never closed.
        let all = self.all.clone().acquire_owned().await.ok()?;
        Some(Place { _all: all, _own: own })
    }

    /// How many are held.
    pub fn held(&self) -> usize {
        PLACES - self.all.available_permits()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use sync_core::ids::{OrganizationId, WebhookId};
    use time::OffsetDateTime;

    use super::*;

    #[test]
    fn an_endpoint_has_one_place_and_all_have_eight() {
        let large = Large::default();
        let (organization, now) = (OrganizationId::at(OffsetDateTime::UNIX_EPOCH), OffsetDateTime::UNIX_EPOCH);
        let endpoints = [(); 9].map(|()| EndpointAddress { organization, id: WebhookId::at(now) });
        let mut places = Vec::new();
        for endpoint in &endpoints[..8] {
            places.push(large.place(*endpoint).now_or_never().flatten().unwrap());
            assert!(large.place(*endpoint).now_or_never().is_none(), "its second waits");
        }
        assert!(large.place(endpoints[8]).now_or_never().is_none(), "a ninth waits");
        assert_eq!(large.held(), 8);
        places.clear();
        assert!(large.place(endpoints[8]).now_or_never().flatten().is_some());
    }
}
