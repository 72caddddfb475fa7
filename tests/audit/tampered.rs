//! Attacks on the log: as the roles that have a right to it, and as the owner of its tables.

use sqlx::{Connection as _, Executor as _, PgConnection};
use sync_core::ids::EventId;
use sync_core::seal::SignedHead;
use sync_server::audit::seal_key::SealKeys;
use sync_server::audit::verify::verify;
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

use super::{Log, said};

/// Every way to change what is written, as the service and as the worker's role: refused by the database itself.
#[test]
fn nobody_but_the_owner_can_change_a_row() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        log.write(3, NOW).await;
        log.seal(NOW).await;
        let insert = "INSERT INTO sync.audit_seals VALUES (sync.current_organization(), 9, '1', '2', 0, '', '', '2026-01-01', '', '')";
        let both = [
            "UPDATE sync.audit_events SET action = 'x'",
            "UPDATE sync.audit_outcomes SET code = 'x'",
            "DELETE FROM sync.audit_events",
            "DELETE FROM sync.audit_outcomes",
            "TRUNCATE sync.audit_events",
            "TRUNCATE sync.audit_events_2026_11",
            "DELETE FROM sync.audit_events_2026_11",
            "SELECT * FROM sync.audit_events_2026_11",
            "DROP TABLE sync.audit_events_2026_11",
            "ALTER TABLE sync.audit_events DISABLE ROW LEVEL SECURITY",
            "ALTER TABLE sync.audit_events DETACH PARTITION sync.audit_events_2026_11",
            "UPDATE sync.audit_seals SET rows = 0",
            "DELETE FROM sync.audit_seals",
            "DELETE FROM sync.audit_seal_records",
            "UPDATE sync.audit_seal_records SET records = ''",
            "DELETE FROM sync.audit_prunings",
            "DROP TABLE sync.audit_seals",
            "SELECT sync.fence('sync.audit_events')",
        ];
        let service = [
            insert,
            "INSERT INTO sync.audit_seal_records (number, records) VALUES (9, '')",
            "INSERT INTO sync.audit_prunings (through, pruned_at, key_id, signature) VALUES (1, '2026-01-01', '', '')",
            "INSERT INTO sync.audit_events (xid) VALUES ('1')",
            "INSERT INTO sync.audit_events (organization_id) VALUES (NULL)",
            "SELECT sync.prune_audit(1)",
            "SELECT sync.drop_audit_partitions('2030-01-01')",
            "SELECT sync.ensure_audit_partitions('2030-01-01', 1)",
            "SET ROLE sync_maintainer",
        ];
        let maintainer = [
            "INSERT INTO sync.audit_events (event_id) VALUES (NULL)",
            "INSERT INTO sync.audit_outcomes (xid) VALUES ('1')",
            "SELECT * FROM sync.tokens",
            "SELECT * FROM sync.principals",
            "SET ROLE sync_app",
        ];
        for (url, own) in [(&database.app_url, &service[..]), (&database.maintenance_url, &maintainer[..])] {
            let mut connection = PgConnection::connect(url).await.unwrap();
            let organization = format!("SET sync.organization = '{}'", log.organization().uuid());
            connection.execute(sqlx::AssertSqlSafe(organization)).await.unwrap();
            for statement in both.iter().chain(own) {
                let error = connection.execute(*statement).await.unwrap_err();
                let code = error.as_database_error().unwrap().code().unwrap_or_default().into_owned();
                assert_eq!(code, "42501", "{statement}: {error}");
            }
            connection.close().await.unwrap();
        }
        // Removing rows wants a statement that is written first, and its signature is checked by whoever verifies.
        let mut connection = PgConnection::connect(&database.maintenance_url).await.unwrap();
        let organization = format!("SET sync.organization = '{}'", log.organization().uuid());
        connection.execute(sqlx::AssertSqlSafe(organization)).await.unwrap();
        let error = connection.execute("SELECT sync.prune_audit(1)").await.unwrap_err();
        assert!(error.to_string().contains("no pruning through seal 1 is written"), "{error}");
        let report = log.verify().await;
        assert!(report.is_whole() && report.rows == 3, "{}", said(&report));
    });
}

/// Six rows in two seals, an attack as the owner, and what it is found to be. `$0` to `$5` are the rows' ids.
fn found(attack: &str, expected: &str) {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        let mut ids = log.write(3, NOW).await;
        log.seal(NOW + Duration::MINUTE).await;
        ids.extend(log.write(3, NOW + Duration::MINUTE).await);
        log.seal(NOW + Duration::MINUTE * 2).await;
        assert!(log.verify().await.is_whole());
        let mut sql = attack.to_owned();
        let mut wanted = expected.to_owned();
        for (at, id) in ids.iter().enumerate() {
            sql = sql.replace(&format!("${at}"), &format!("'{}'", id.uuid()));
            wanted = wanted.replace(&format!("${at}"), &id.to_string());
        }
        log.as_owner(&sql).await;
        let report = log.verify().await;
        assert_eq!(said(&report), wanted, "{attack}");
        // What was done to one organization's log says nothing of another's.
        let other = Log::of(database, &two.beta.principal).await;
        assert!(other.verify().await.is_whole());
    });
}

#[test]
fn an_edit_by_the_owner_is_found_at_the_row() {
    found(
        "UPDATE sync.audit_events SET outcome = 'refused' WHERE event_id = $1",
        "event $1 was edited (seal 1, position 1)",
    );
    found(
        "UPDATE sync.audit_events SET client_ip = '192.0.2.7/31' WHERE event_id = $5",
        "event $5 was edited (seal 2, position 2)",
    );
    found(
        "UPDATE sync.audit_events SET time = time + interval '1 microsecond' WHERE event_id IN ($0, $4)",
        "event $0 was edited (seal 1, position 0)\nevent $4 was edited (seal 2, position 1)",
    );
}

#[test]
fn a_deletion_and_a_truncation_by_the_owner_are_found_at_each_row() {
    found("DELETE FROM sync.audit_events WHERE event_id = $3", "event $3 was deleted (seal 2, position 0)");
    let all = "event $0 was deleted (seal 1, position 0)\nevent $1 was deleted (seal 1, position 1)\n\
               event $2 was deleted (seal 1, position 2)\nevent $3 was deleted (seal 2, position 0)\n\
               event $4 was deleted (seal 2, position 1)\nevent $5 was deleted (seal 2, position 2)";
    found("TRUNCATE sync.audit_events", all);
    found("DROP TABLE sync.audit_events_2026_11", all);
    found("ALTER TABLE sync.audit_events DETACH PARTITION sync.audit_events_2026_11", all);
}

#[test]
fn a_reorder_by_the_owner_is_found_at_each_row() {
    found(
        "UPDATE sync.audit_events e SET time = o.time, xid = o.xid FROM sync.audit_events o
         WHERE (e.event_id, o.event_id) IN (($0, $2), ($2, $0))",
        "event $0 was edited (seal 1, position 0)\nevent $2 was edited (seal 1, position 2)",
    );
    // Into another seal: it is missing where it was, and did not stand where it is now.
    found(
        "UPDATE sync.audit_events SET xid = (SELECT xid FROM sync.audit_events WHERE event_id = $5) WHERE event_id = $1",
        "event $1 was deleted (seal 1, position 1)\nevent $1 was inserted after seal 2 was made",
    );
}

#[test]
fn a_row_inserted_among_sealed_ones_is_found() {
    let copy = "INSERT INTO sync.audit_events (event_id, time, xid, protocol, action, outcome, request_id)
                SELECT '00000000-0000-7000-8000-000000000001', time, xid, protocol, action, outcome, request_id
                FROM sync.audit_events WHERE event_id = $2";
    found(copy, "event evt_00000000000070008000000000000001 was inserted after seal 1 was made");
    let outcome = "INSERT INTO sync.audit_outcomes (event_id, time, xid, outcome, duration_us)
                   SELECT event_id, time, xid, 'error', 1 FROM sync.audit_events WHERE event_id = $4";
    found(outcome, "outcome $4 was inserted after seal 2 was made");
}

#[test]
fn edits_of_seals_are_found_and_hide_no_row() {
    // Whoever edits a row can make every plain hash fit, but not the signature, and not the record.
    found(
        "UPDATE sync.audit_events SET outcome = 'refused' WHERE event_id = $1;
         UPDATE sync.audit_seals SET root = sha256('recomputed') WHERE number = 1",
        "seal 1 was edited: its signature is not good\nevent $1 was edited (seal 1, position 1)\n\
         seal 2 was edited: it does not follow from the seal before it",
    );
    found(
        "UPDATE sync.audit_seals SET rows = rows WHERE number = 1; DELETE FROM sync.audit_seals WHERE number = 1",
        "seal 1 was removed",
    );
    found(
        "UPDATE sync.audit_seals SET signature = decode(repeat('00', 64), 'hex') WHERE number = 2",
        "seal 2 was edited: its signature is not good",
    );
    found(
        "UPDATE sync.audit_seal_records SET records = overlay(records PLACING '\\x00'::bytea FROM 20) WHERE number = 1",
        "the record of position 0 of seal 1 was edited; the row itself is whole",
    );
    // A record of 33 bytes a row: the middle one goes, with its row.
    found(
        "DELETE FROM sync.audit_events WHERE event_id = $1;
         UPDATE sync.audit_seal_records SET records = substring(records FOR 33) || substring(records FROM 67) WHERE number = 1",
        "the row at position 1 of seal 1 was deleted together with its record; it stood after $0",
    );
    found(
        "DELETE FROM sync.audit_events WHERE event_id IN ($0, $1, $2);
         INSERT INTO sync.audit_prunings (through, pruned_at, key_id, signature)
         SELECT 1, sealed_at, key_id, signature FROM sync.audit_seals WHERE number = 1",
        "that rows up to seal 1 were kept long enough and removed is not to be believed: its signature is not good\n\
         event $0 was deleted (seal 1, position 0)\nevent $1 was deleted (seal 1, position 1)\n\
         event $2 was deleted (seal 1, position 2)",
    );
}

#[test]
fn what_left_the_database_shows_that_the_newest_seals_are_gone() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        log.write(3, NOW).await;
        log.seal(NOW + Duration::MINUTE).await;
        log.write(2, NOW + Duration::MINUTE).await;
        log.seal(NOW + Duration::MINUTE * 2).await;
        let against = async |heads: &[SignedHead]| {
            verify(&database.store, &log.keys, log.organization(), heads).await.map(|report| said(&report))
        };
        let mut tx = database.store.begin(&log.principal).await.unwrap();
        let heads = tx.seals_after(0, 9).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(against(&heads).await.unwrap(), "");
        assert_eq!(against(&heads[1..]).await.unwrap(), "");

        // The seal alone: the database looks whole to itself, but not to who has its head; the rows are still there.
        log.as_owner(
            "DELETE FROM sync.audit_seals WHERE number = 2; DELETE FROM sync.audit_seal_records WHERE number = 2",
        )
        .await;
        assert_eq!(against(&[]).await.unwrap(), "");
        assert_eq!(against(&heads).await.unwrap(), "seal 2 was removed");
        // Then its rows, and a history that fits what is left.
        log.as_owner("DELETE FROM sync.audit_events WHERE time >= '2026-11-30 12:01:00Z'").await;
        let gone = "seal 2 was removed\nthe rows of seal 2 are not those that were sealed";
        assert_eq!(against(&heads).await.unwrap(), gone);
        assert!(log.verify().await.is_whole(), "nothing in the database tells");
        // Sealed anew with the same key, over other rows: two heads of one number.
        log.write(1, NOW + Duration::MINUTE).await;
        log.seal(NOW + Duration::MINUTE * 3).await;
        let said = against(&heads).await.unwrap();
        assert!(said.starts_with("seal 2 was edited: it is not the head that left the database"), "{said}");

        // A head that nobody signed is not believed.
        let mut forged = heads[1].clone();
        forged.head.rows = 1;
        let refused = against(&[forged]).await.unwrap_err().to_string();
        assert!(refused.contains("its signature is not good") && refused.contains("; next: "), "{refused}");
        let foreign = SealKeys::derive(b"another key", []).unwrap();
        let refused = verify(&database.store, &foreign, log.organization(), &heads).await.unwrap_err().to_string();
        let keys = format!(
            "is signed with the key {}, which is not among those given ({}); next: give the secret of that key",
            log.keys.current().id(),
            foreign.current().id()
        );
        assert!(refused.contains(&keys), "{refused}");
    });
}

#[test]
fn a_row_that_says_it_is_old_is_doubted() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        log.write(2, NOW).await;
        log.seal(NOW + Duration::MINUTE).await;
        // Written now, by whoever may write, for a call that is said to be of an hour ago: then it is sealed like any.
        let backdated: Vec<EventId> = log.write(1, NOW - Duration::HOUR).await;
        log.write(1, NOW + Duration::MINUTE).await;
        log.seal(NOW + Duration::MINUTE * 2).await;
        let report = log.verify().await;
        assert!(report.is_whole(), "{}", said(&report));
        let doubtful: Vec<_> = report.doubtful.iter().map(|row| (row.event_id, row.number)).collect();
        assert_eq!(doubtful, [(backdated[0], 2)]);
    });
}
