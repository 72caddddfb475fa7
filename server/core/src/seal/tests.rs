//! Whatever is done to sealed rows is found, at the row.

use proptest::prelude::*;
use proptest::sample::Index;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use super::*;
use crate::ids::{EventId, PrincipalId, RequestId};

const START: OffsetDateTime = datetime!(2026-11-30 12:00:00 UTC);

fn organization() -> OrganizationId {
    OrganizationId::from_uuid(Uuid::from_u128(7))
}

fn key() -> RecordKey {
    RecordKey::new([9; 32])
}

fn row(n: u64, kind: RowKind) -> Row {
    let event = kind == RowKind::Event;
    Row {
        kind,
        event_id: EventId::from_uuid(Uuid::from_u128(1000 + u128::from(n))),
        organization: organization(),
        time: START + Duration::microseconds(i64::try_from(n).unwrap()),
        // Several rows a transaction.
        xid: 700 + n / 3,
        principal_id: event.then(|| PrincipalId::from_uuid(Uuid::from_u128(3))),
        principal: event.then(|| "Ada \"é\" \u{1}".to_owned()),
        principal_kind: event.then(|| "user".to_owned()),
        credential_id: event.then(|| "tok_1".to_owned()),
        protocol: event.then(|| "mcp".to_owned()),
        action: event.then(|| "mcp.tools/call:sync_whats_at_risk".to_owned()),
        repository_id: None,
        repository_name: None,
        arguments_digest: event.then(|| vec![5; 32]),
        outcome: Some("ok".to_owned()),
        code: None,
        rows: Some(3),
        duration_us: Some(1500),
        request_id: event.then(|| RequestId::from_uuid(Uuid::from_u128(u128::from(n)))),
        client_ip: event.then(|| "192.0.2.1/32".to_owned()),
    }
}

fn rows(count: u64) -> Vec<Row> {
    (0..count).map(|n| row(n, if n % 4 == 3 { RowKind::Outcome } else { RowKind::Event })).collect()
}

/// Seals rows that stand in their order.
fn seal(number: u64, previous: Hash, (from_xid, to_xid): (u64, u64), rows: &[Row]) -> (Head, Vec<Option<Record>>) {
    let leaves: Vec<Hash> = rows.iter().map(Row::leaf).collect();
    let head = Head {
        format: FORMAT,
        from_xid,
        key_id: "k".to_owned(),
        kind: HeadKind::AuditSeal,
        number,
        organization: organization(),
        previous,
        root: tree::root(&leaves),
        rows: rows.len() as u64,
        time: START,
        to_xid,
    };
    let mut bytes = Vec::new();
    for (position, (row, leaf)) in rows.iter().zip(&leaves).enumerate() {
        key().record(organization(), number, position as u64, (row.kind, row.event_id), *leaf).write(&mut bytes);
    }
    (head, Record::read_all(&bytes))
}

fn sorted(count: u64) -> Vec<Row> {
    let mut rows = rows(count);
    rows.sort_by_key(Row::key);
    rows
}

/// Every way to edit one field of a row.
fn edits() -> Vec<fn(&mut Row)> {
    vec![
        |row| row.time += Duration::microseconds(1),
        |row| row.xid += 1,
        |row| row.principal_id = Some(PrincipalId::from_uuid(Uuid::from_u128(4))),
        |row| row.principal = Some("Eve".to_owned()),
        |row| row.principal_kind = Some("service".to_owned()),
        |row| row.credential_id = None,
        |row| row.protocol = Some("rest".to_owned()),
        |row| row.action = Some("mcp.ping".to_owned()),
        |row| row.repository_name = Some(String::new()),
        |row| row.repository_id = Some(crate::ids::RepositoryId::from_uuid(Uuid::nil())),
        |row| row.arguments_digest = Some(vec![6; 32]),
        |row| row.outcome = None,
        |row| row.code = Some("forbidden".to_owned()),
        |row| row.rows = Some(i64::MAX - 1),
        |row| row.rows = Some(i64::MAX),
        |row| row.duration_us = None,
        |row| row.request_id = Some(RequestId::from_uuid(Uuid::nil())),
        |row| row.client_ip = Some("192.0.2.1/24".to_owned()),
        |row| row.organization = OrganizationId::from_uuid(Uuid::nil()),
    ]
}

#[test]
fn canonical_rows_are_as_the_library_that_sorts_writes_them() {
    for row in [row(0, RowKind::Event), row(1, RowKind::Outcome)] {
        let parsed: serde_json::Value = serde_json::from_slice(&row.canonical()).unwrap();
        assert_eq!(serde_json_canonicalizer::to_vec(&parsed).unwrap(), row.canonical());
    }
    let text = String::from_utf8(row(1, RowKind::Outcome).canonical()).unwrap();
    assert_eq!(
        text,
        r#"{"duration_us":"1500","event_id":"evt_000000000000000000000000000003e9","format":1,"kind":"outcome","organization":"org_00000000000000000000000000000007","outcome":"ok","rows":"3","time":"2026-11-30T12:00:00.000001Z","xid":"700"}"#
    );
}

#[test]
fn statements_are_canonical_and_come_back() {
    let (head, _) = seal(1, Hash::ZERO, (0, 800), &sorted(5));
    let parsed: serde_json::Value = serde_json::from_slice(&head.statement()).unwrap();
    assert_eq!(serde_json_canonicalizer::to_vec(&parsed).unwrap(), head.statement());
    assert_eq!(serde_json::from_value::<Head>(parsed).unwrap(), head);
    let pruning = Pruning {
        format: FORMAT,
        key_id: "k".to_owned(),
        kind: PruningKind::AuditPruning,
        organization: organization(),
        through: 3,
        time: START,
    };
    let parsed: serde_json::Value = serde_json::from_slice(&pruning.statement()).unwrap();
    assert_eq!(serde_json_canonicalizer::to_vec(&parsed).unwrap(), pruning.statement());
    // What is signed as one is never read as the other.
    assert!(serde_json::from_value::<Head>(parsed).is_err());
}

#[test]
fn each_field_of_a_row_is_sealed() {
    let sealed = sorted(9);
    let (head, records) = seal(1, Hash::ZERO, (0, 800), &sealed);
    assert_eq!(examine(&head, &records, &sealed, &key()), []);
    for (which, edit) in edits().into_iter().enumerate() {
        let mut rows = sealed.clone();
        edit(&mut rows[4]);
        let expected = Finding::RowEdited { number: 1, position: 4, kind: rows[4].kind, event_id: rows[4].event_id };
        assert_eq!(examine(&head, &records, &rows, &key()), [expected], "edit {which}");
    }
}

#[test]
fn two_rows_that_change_places_are_both_named() {
    let sealed = sorted(12);
    let (head, records) = seal(1, Hash::ZERO, (0, 800), &sealed);
    let mut rows = sealed.clone();
    let (a, b) = (rows[2].clone(), rows[9].clone());
    (rows[2].xid, rows[2].time, rows[9].xid, rows[9].time) = (b.xid, b.time, a.xid, a.time);
    let named: Vec<_> = [2, 9]
        .map(|position: u64| {
            let row = &sealed[usize::try_from(position).unwrap()];
            Finding::RowEdited { number: 1, position, kind: row.kind, event_id: row.event_id }
        })
        .into();
    assert_eq!(examine(&head, &records, &rows, &key()), named);
}

#[test]
fn a_record_that_is_edited_or_erased_hides_nothing() {
    let sealed = sorted(10);
    let (head, records) = seal(1, Hash::ZERO, (0, 800), &sealed);
    // Of another key, as an owner who recomputes would make it.
    let forged = |position: u64, row: &Row| {
        let key = RecordKey::new([0; 32]);
        Some(key.record(organization(), 1, position, (row.kind, row.event_id), row.leaf()))
    };
    let mut alone = records.clone();
    alone[3] = forged(3, &sealed[3]);
    assert_eq!(examine(&head, &alone, &sealed, &key()), [Finding::RecordEdited { number: 1, position: 3 }]);
    assert_eq!(
        examine(&head, &records[..9], &sealed, &key()),
        [Finding::RecordEdited { number: 1, position: 9 }],
        "the last one erased"
    );
    let longer: Vec<_> = records.iter().cloned().chain([None]).collect();
    assert_eq!(examine(&head, &longer, &sealed, &key()), [Finding::RecordEdited { number: 1, position: 10 }]);

    let mut rows = sealed.clone();
    rows[3].outcome = Some("error".to_owned());
    let mut both = records.clone();
    both[3] = forged(3, &rows[3]);
    let named = Finding::RowEdited { number: 1, position: 3, kind: rows[3].kind, event_id: rows[3].event_id };
    assert_eq!(examine(&head, &both, &rows, &key()), [named]);

    // A row deleted together with its record is named by its place.
    let (mut rows, mut records) = (sealed.clone(), records);
    rows.remove(5);
    records.remove(5);
    let named = Finding::RowErased { number: 1, position: 5, after: Some(sealed[4].event_id) };
    assert_eq!(examine(&head, &records, &rows, &key()), [named]);
    // And another one inserted in its place, with a record.
    let mut other = row(77, RowKind::Event);
    (other.xid, other.time) = (sealed[5].xid, sealed[5].time);
    let (mut rows, mut records) = (rows, records);
    records.insert(5, forged(5, &other));
    let named = Finding::RowEdited { number: 1, position: 5, kind: other.kind, event_id: other.event_id };
    rows.insert(5, other);
    assert_eq!(examine(&head, &records, &rows, &key()), [named]);
}

#[test]
fn a_row_that_is_inserted_with_a_record_is_named_alone() {
    let sealed = sorted(8);
    let (head, mut records) = seal(1, Hash::ZERO, (0, 800), &sealed);
    let mut rows = sealed;
    let other = row(99, RowKind::Event);
    records.insert(
        2,
        Some(RecordKey::new([0; 32]).record(organization(), 1, 2, (other.kind, other.event_id), other.leaf())),
    );
    let named = Finding::RowInserted { number: 1, kind: other.kind, event_id: other.event_id };
    rows.push(other);
    assert_eq!(examine(&head, &records, &rows, &key()), [named]);
}

#[test]
fn a_chain_is_whole_or_says_where_it_is_not() {
    let mut heads: Vec<Head> = Vec::new();
    for number in 1..=4 {
        let (previous, from) = heads.last().map_or((Hash::ZERO, 0), |head: &Head| (head.hash(), head.to_xid));
        heads.push(seal(number, previous, (from, number * 100), &sorted(3)).0);
    }
    assert_eq!(examine_chain(None, &heads), []);
    assert_eq!(examine_chain(None, &heads[..2]), [], "what is newer is not known here");
    let without: Vec<Head> = heads.iter().filter(|head| head.number != 2).cloned().collect();
    assert_eq!(examine_chain(None, &without), [Finding::SealMissing { number: 2 }]);
    assert_eq!(examine_chain(Some(&heads[1]), &heads[2..]), []);
    assert_eq!(examine_chain(Some(&heads[0]), &heads[2..]), [Finding::SealMissing { number: 2 }]);
    assert_eq!(examine_chain(None, &heads[1..]), [Finding::SealMissing { number: 1 }]);
    let mut edited = heads.clone();
    edited[1].root = Hash::of(b"another");
    let why = "it does not follow from the seal before it";
    assert_eq!(examine_chain(None, &edited), [Finding::SealEdited { number: 3, why }]);
    let mut widened = heads.clone();
    widened[3].from_xid -= 1;
    let why = "its transactions do not begin where those of the seal before it end";
    assert_eq!(examine_chain(None, &widened), [Finding::SealEdited { number: 4, why }]);
    let twice: Vec<Head> = heads[..2].iter().chain(&heads[1..2]).cloned().collect();
    let why = "there are two of this number";
    assert_eq!(examine_chain(None, &twice), [Finding::SealEdited { number: 2, why }]);
}

#[derive(Debug, Clone)]
enum Tampering {
    Edit(Index, Index),
    Delete(Index),
    Truncate(Index),
    Insert(u64),
}

fn tampering() -> impl Strategy<Value = Tampering> {
    prop_oneof![
        (any::<Index>(), any::<Index>()).prop_map(|(row, edit)| Tampering::Edit(row, edit)),
        any::<Index>().prop_map(Tampering::Delete),
        any::<Index>().prop_map(Tampering::Truncate),
        (0..60_u64).prop_map(Tampering::Insert),
    ]
}

proptest! {
    #[test]
    fn whatever_is_done_to_rows_is_named_exactly(count in 1..50_u64, done in tampering(), order in any::<Index>()) {
        let sealed = sorted(count);
        let (head, records) = seal(3, Hash::ZERO, (0, 800), &sealed);
        let mut rows = sealed.clone();
        let name = |position: usize| (position as u64, sealed[position].kind, sealed[position].event_id);
        let missing = |position: usize| {
            let (position, kind, event_id) = name(position);
            Finding::RowMissing { number: 3, position, kind, event_id }
        };
        let expected: Vec<Finding> = match done {
            Tampering::Edit(row, edit) => {
                let position = row.index(rows.len());
                let before = rows[position].clone();
                edit.get(&edits())(&mut rows[position]);
                let (position, kind, event_id) = name(position);
                if rows[usize::try_from(position).unwrap()] == before {
                    vec![]
                } else {
                    vec![Finding::RowEdited { number: 3, position, kind, event_id }]
                }
            }
            Tampering::Delete(row) => {
                let position = row.index(rows.len());
                rows.remove(position);
                vec![missing(position)]
            }
            Tampering::Truncate(row) => {
                let position = row.index(rows.len());
                rows.truncate(position);
                (position..sealed.len()).map(missing).collect()
            }
            Tampering::Insert(xid) => {
                let mut other = row(5000, RowKind::Event);
                other.xid = 690 + xid;
                let named = Finding::RowInserted { number: 3, kind: other.kind, event_id: other.event_id };
                rows.push(other);
                vec![named]
            }
        };
        // In whatever order the database gives them.
        if !rows.is_empty() {
            let at = order.index(rows.len());
            rows.rotate_left(at);
        }
        prop_assert_eq!(examine(&head, &records, &rows, &key()), expected);
    }
}
