//! Work on one thing at a time, whose turns come in the order in which they were asked for, while others wait for nothing.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

/// From how many things on those are looked for that nobody waits at.
const MANY: usize = 1_000;

/// A turn, which ends with it.
pub type Turn = OwnedMutexGuard<()>;

type Gate = tokio::sync::Mutex<()>;

/// The gates of things that are worked on.
pub struct Gates<K>(Mutex<HashMap<K, Weak<Gate>>>);

impl<K> Default for Gates<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Gates<K> {
    /// Waits for the turn at a thing, first come first served.
    pub async fn turn(&self, at: K) -> Turn {
        self.of(at).lock_owned().await
    }

    fn of(&self, at: K) -> Arc<Gate> {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(&at).and_then(Weak::upgrade) {
            return gate;
        }
        if gates.len() >= MANY {
            gates.retain(|_, gate| gate.strong_count() > 0);
        }
        let gate = Arc::new(Gate::default());
        gates.insert(at, Arc::downgrade(&gate));
        gate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_has_the_turn_at_a_thing_and_others_are_not_concerned() {
        let gates = Gates::default();
        let first = gates.turn("one").await;
        assert!(gates.of("one").try_lock().is_err());
        drop(gates.turn("another").await);
        drop(first);
        assert!(gates.of("one").try_lock().is_ok());
    }

    #[test]
    fn gates_that_nobody_waits_at_are_forgotten() {
        let gates = Gates::default();
        for thing in 0..3 * MANY {
            gates.of(thing);
        }
        assert!(gates.0.lock().unwrap().len() <= MANY);
    }
}
