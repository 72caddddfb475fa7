//! Finds what was changed below a head, row by row.

use std::collections::HashMap;
use std::fmt;

use super::{Hash, Head, Record, RecordKey, Row, RowKind, tree};
use crate::ids::EventId;
use crate::text::shown;

/// As many characters of a key's id are printed as an id has: it stands in the database, where anybody may have put it.
const KEY_ID_CHARS: usize = 16;

/// One thing that is not as it was sealed. `number` is the seal's, `position` the row's in it, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A row is not the one that was sealed.
    RowEdited {
        /// Which seal.
        number: u64,
        /// Where in it.
        position: u64,
        /// Which table.
        kind: RowKind,
        /// Which row.
        event_id: EventId,
    },
    /// A row that was sealed is gone.
    RowMissing {
        /// Which seal.
        number: u64,
        /// Where in it.
        position: u64,
        /// Which table.
        kind: RowKind,
        /// Which row.
        event_id: EventId,
    },
    /// A row stands among sealed ones that was not there when they were sealed.
    RowInserted {
        /// Which seal.
        number: u64,
        /// Which table.
        kind: RowKind,
        /// Which row.
        event_id: EventId,
    },
    /// The row at a position is gone, and so is the record of which one it was.
    RowErased {
        /// Which seal.
        number: u64,
        /// Where in it.
        position: u64,
        /// The row before it, where that is known.
        after: Option<EventId>,
    },
    /// The rows are as they were sealed, but the record of one of them is not.
    RecordEdited {
        /// Which seal.
        number: u64,
        /// Where in it.
        position: u64,
    },
    /// The rows do not give the head's root, and what the records say does not tell why.
    RootDiffers {
        /// Which seal.
        number: u64,
    },
    /// A seal is gone.
    SealMissing {
        /// Which one.
        number: u64,
    },
    /// A seal is not the one that was signed.
    SealEdited {
        /// Which one.
        number: u64,
        /// What does not fit.
        why: &'static str,
    },
    /// Seals name a key that was not given, so that nothing tells whether they were signed: a key is missing, or somebody
    /// else made them.
    KeyNotGiven {
        /// The first of these seals.
        from: u64,
        /// The last of them.
        to: u64,
        /// The key that they name, as it stands there.
        key_id: String,
    },
    /// The same of the statement that rows were kept long enough.
    PruningKeyNotGiven {
        /// Up to which seal they are said to be removed.
        through: u64,
        /// The key that it names, as it stands there.
        key_id: String,
    },
    /// That rows were removed in time is said by a statement that is not signed as it has to be.
    PruningEdited {
        /// Up to which seal they are said to be.
        through: u64,
        /// What does not fit.
        why: &'static str,
    },
}

impl Finding {
    /// Whether it says no more than that a key is missing.
    pub const fn lacks_key(&self) -> bool {
        matches!(self, Self::KeyNotGiven { .. } | Self::PruningKeyNotGiven { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RowEdited { number, position, kind, event_id } => {
                write!(f, "{} {event_id} was edited (seal {number}, position {position})", kind.as_str())
            }
            Self::RowMissing { number, position, kind, event_id } => {
                write!(f, "{} {event_id} was deleted (seal {number}, position {position})", kind.as_str())
            }
            Self::RowInserted { number, kind, event_id } => {
                write!(f, "{} {event_id} was inserted after seal {number} was made", kind.as_str())
            }
            Self::RowErased { number, position, after } => {
                write!(f, "the row at position {position} of seal {number} was deleted together with its record")?;
                match after {
                    Some(after) => write!(f, "; it stood after {after}"),
                    None => Ok(()),
                }
            }
            Self::RecordEdited { number, position } => {
                write!(f, "the record of position {position} of seal {number} was edited; the row itself is whole")
            }
            Self::RootDiffers { number } => write!(f, "the rows of seal {number} are not those that were sealed"),
            Self::SealMissing { number } => write!(f, "seal {number} was removed"),
            Self::SealEdited { number, why } => write!(f, "seal {number} was edited: {why}"),
            Self::KeyNotGiven { from, to, key_id } => {
                let key = shown(key_id, KEY_ID_CHARS);
                if from == to {
                    write!(f, "seal {from} names the key {key}, which is not among those given")
                } else {
                    write!(f, "seals {from} to {to} name the key {key}, which is not among those given")
                }
            }
            Self::PruningKeyNotGiven { through, key_id } => write!(
                f,
                "that rows up to seal {through} were kept long enough and removed is signed with the key {}, which is not \
                 among those given",
                shown(key_id, KEY_ID_CHARS)
            ),
            Self::PruningEdited { through, why } => {
                write!(
                    f,
                    "that rows up to seal {through} were kept long enough and removed is not to be believed: {why}"
                )
            }
        }
    }
}

/// Compares the rows of a head's transactions with what was sealed. `rows` are all of them, in any order; `records` are
/// what the seal kept of its leaves.
///
/// Nothing found means that the rows are, one by one, those under the head's root. Whether the head itself is to be
/// believed (its signature, its place in the chain) is not decided here.
pub fn examine(head: &Head, records: &[Option<Record>], rows: &[Row], key: &RecordKey) -> Vec<Finding> {
    let mut leaves: Vec<(&Row, Hash)> = rows.iter().map(|row| (row, row.leaf())).collect();
    leaves.sort_by_key(|(row, _)| row.key());
    let hashes: Vec<Hash> = leaves.iter().map(|(_, leaf)| *leaf).collect();
    let whole = leaves.len() as u64 == head.rows && tree::root(&hashes) == head.root;
    let mut found = if whole {
        altered_records(head, records, &leaves, key)
    } else {
        Comparison::new(head, &leaves, key).run(records)
    };
    if !whole && found.is_empty() {
        found.push(Finding::RootDiffers { number: head.number });
    }
    found
}

/// Checks that heads, in the order of their numbers, are one history after the one `before` them, each naming the one
/// before it; from the first on where there is none before.
pub fn examine_chain<'a>(mut before: Option<&'a Head>, heads: &'a [Head]) -> Vec<Finding> {
    let mut found = Vec::new();
    for head in heads {
        let next = before.map_or(1, |before| before.number + 1);
        found.extend((next..head.number).map(|number| Finding::SealMissing { number }));
        let edited = |why| Finding::SealEdited { number: head.number, why };
        let (previous, from_xid) = before.map_or((Hash::ZERO, 0), |before| (before.hash(), before.to_xid));
        if head.number < next {
            found.push(edited("there are two of this number"));
        } else if head.number == next && head.previous != previous {
            found.push(edited("it does not follow from the seal before it"));
        } else if head.number == next && head.from_xid != from_xid || head.to_xid < head.from_xid {
            found.push(edited("its transactions do not begin where those of the seal before it end"));
        }
        before = Some(head);
    }
    found
}

/// How far before its place a record is looked for: further than anybody inserts records, and near enough that a log
/// of which every row was edited is examined in seconds.
const LOOK_BACK: u64 = 64;

fn altered_records(head: &Head, records: &[Option<Record>], leaves: &[(&Row, Hash)], key: &RecordKey) -> Vec<Finding> {
    let good = |position: usize, (row, leaf): &(&Row, Hash)| {
        records.get(position).and_then(Option::as_ref).is_some_and(|record| {
            (record.kind, record.event_id) == (row.kind, row.event_id)
                && key.made(record, head.organization, head.number, position as u64, *leaf)
        })
    };
    let edited = |position: usize| Finding::RecordEdited { number: head.number, position: position as u64 };
    let mut found: Vec<Finding> = leaves
        .iter()
        .enumerate()
        .filter(|(position, leaf)| !good(*position, leaf))
        .map(|(position, _)| edited(position))
        .collect();
    if records.len() > leaves.len() {
        found.push(edited(leaves.len()));
    }
    found
}

/// Walks the records beside the positions that the head says there are. A record that fits a row at a position pins
/// both; what lies between two pinned positions was edited, deleted, erased or inserted.
struct Comparison<'a> {
    head: &'a Head,
    leaves: &'a [(&'a Row, Hash)],
    by_id: HashMap<(RowKind, EventId), Vec<usize>>,
    used: Vec<bool>,
    key: &'a RecordKey,
    found: Vec<Finding>,
    /// The first position that is not accounted for.
    next: u64,
    /// The last row that is known to stand where it was sealed.
    last: Option<EventId>,
}

impl<'a> Comparison<'a> {
    fn new(head: &'a Head, leaves: &'a [(&'a Row, Hash)], key: &'a RecordKey) -> Self {
        let mut by_id: HashMap<_, Vec<usize>> = HashMap::new();
        for (at, (row, _)) in leaves.iter().enumerate() {
            by_id.entry((row.kind, row.event_id)).or_default().push(at);
        }
        let used = vec![false; leaves.len()];
        Self { head, leaves, by_id, used, key, found: Vec::new(), next: 0, last: None }
    }

    fn run(mut self, records: &[Option<Record>]) -> Vec<Finding> {
        let mut erased = self.head.rows.saturating_sub(records.len() as u64);
        let mut pending: Vec<&Option<Record>> = Vec::new();
        for record in records {
            let latest = self.next + pending.len() as u64 + erased;
            match record.as_ref().and_then(|record| self.pin(record, pending.len() as u64, latest)) {
                Some((position, row)) => {
                    let gone = (position - self.next).saturating_sub(pending.len() as u64);
                    erased -= gone.min(erased);
                    self.account(&mut pending, position);
                    self.used[row] = true;
                    self.next = position + 1;
                    self.last = Some(self.leaves[row].0.event_id);
                }
                None => pending.push(record),
            }
        }
        self.account(&mut pending, self.head.rows);
        for (at, (row, _)) in self.leaves.iter().enumerate() {
            if !self.used[at] {
                let (number, kind, event_id) = (self.head.number, row.kind, row.event_id);
                self.found.push(Finding::RowInserted { number, kind, event_id });
            }
        }
        self.found
    }

    /// The position up to `latest` at which the record fits a row, tried first where it would stand if nothing was
    /// erased, and the row.
    fn pin(&self, record: &Record, pending: u64, latest: u64) -> Option<(u64, usize)> {
        let rows = self.by_id.get(&(record.kind, record.event_id))?;
        let expected = self.next + pending;
        let earliest = self.next.max(expected.saturating_sub(LOOK_BACK));
        let positions = std::iter::once(expected).chain((earliest..=latest).filter(|at| *at != expected));
        positions.filter(|position| *position < self.head.rows).find_map(|position| {
            let fits = |row: &&usize| {
                let (organization, number) = (self.head.organization, self.head.number);
                !self.used[**row] && self.key.made(record, organization, number, position, self.leaves[**row].1)
            };
            rows.iter().find(fits).map(|row| (position, *row))
        })
    }

    /// Accounts for the positions from the next one to `end`, to which the pending records belong.
    fn account(&mut self, pending: &mut Vec<&Option<Record>>, end: u64) {
        let number = self.head.number;
        for record in pending.drain(..) {
            let position = self.next;
            let Some(record) = record else {
                if position < end {
                    self.found.push(Finding::RowErased { number, position, after: self.last });
                    self.next += 1;
                }
                continue;
            };
            let (kind, event_id) = (record.kind, record.event_id);
            let row = self.by_id.get(&(kind, event_id)).and_then(|rows| rows.iter().find(|row| !self.used[**row]));
            match row.copied() {
                // There is no place for it: it is found to be inserted, as no record of it is good.
                _ if position >= end => continue,
                Some(row) => {
                    self.used[row] = true;
                    self.found.push(Finding::RowEdited { number, position, kind, event_id });
                }
                None => self.found.push(Finding::RowMissing { number, position, kind, event_id }),
            }
            self.next += 1;
        }
        for position in self.next..end {
            self.found.push(Finding::RowErased { number, position, after: self.last });
        }
        self.next = end.max(self.next);
    }
}
