-- The audit log is sealed, kept as long as is wanted, and no longer.

-- The worker's role for that and for nothing else. It owns nothing and cannot bypass row security; it reads the log and
-- writes seals, changes no row of either, and removes rows only through the functions below.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'sync_maintainer') THEN
        CREATE ROLE sync_maintainer LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOINHERIT;
    END IF;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;
GRANT USAGE ON SCHEMA sync, routing TO sync_maintainer;
GRANT SELECT ON _sqlx_migrations, routing.organizations, sync.audit_events, sync.audit_outcomes TO sync_maintainer;
-- The outcome `timeout` of a call that never ended.
GRANT INSERT (event_id, time, outcome, code, rows, duration_us) ON sync.audit_outcomes TO sync_maintainer;

-- Seals read the log by transaction.
CREATE INDEX audit_events_xid ON sync.audit_events (organization_id, xid);
CREATE INDEX audit_outcomes_xid ON sync.audit_outcomes (organization_id, xid);
-- Calls with outside effects. An outcome has its event's time, so that there is at most one and it is found by its key.
CREATE INDEX audit_events_ahead ON sync.audit_events (organization_id, time) WHERE outcome IS NULL;

-- Signed heads. A seal covers the rows of the transactions from from_xid until before to_xid.
CREATE TABLE sync.audit_seals (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    number bigint NOT NULL CHECK (number > 0),
    from_xid xid8 NOT NULL,
    to_xid xid8 NOT NULL,
    rows bigint NOT NULL CHECK (rows >= 0),
    root bytea NOT NULL CHECK (length(root) = 32),
    previous bytea NOT NULL CHECK (length(previous) = 32),
    sealed_at timestamptz NOT NULL,
    key_id text NOT NULL,
    signature bytea NOT NULL CHECK (length(signature) = 64),
    PRIMARY KEY (organization_id, number),
    CONSTRAINT audit_seal_range_taken UNIQUE (organization_id, to_xid)
);
SELECT sync.fence('sync.audit_seals');

-- One keyed record a leaf, so that the row that was changed can be named. Removed with the rows.
CREATE TABLE sync.audit_seal_records (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    number bigint NOT NULL,
    records bytea NOT NULL,
    PRIMARY KEY (organization_id, number)
);
-- MACs do not compress.
ALTER TABLE sync.audit_seal_records ALTER COLUMN records SET STORAGE EXTERNAL;
SELECT sync.fence('sync.audit_seal_records');

-- Signed statements that the rows of the seals up to a number were removed.
CREATE TABLE sync.audit_prunings (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    through bigint NOT NULL,
    pruned_at timestamptz NOT NULL,
    key_id text NOT NULL,
    signature bytea NOT NULL CHECK (length(signature) = 64),
    PRIMARY KEY (organization_id, through)
);
SELECT sync.fence('sync.audit_prunings');

-- Up to which number heads have left the database, and for where.
CREATE TABLE sync.audit_head_deliveries (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    destination text NOT NULL CHECK (destination IN ('file', 'webhook')),
    through bigint NOT NULL,
    delivered_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, destination)
);
SELECT sync.fence('sync.audit_head_deliveries');

GRANT SELECT, INSERT ON sync.audit_seals, sync.audit_seal_records, sync.audit_prunings TO sync_maintainer;
GRANT SELECT, INSERT, UPDATE (through, delivered_at) ON sync.audit_head_deliveries TO sync_maintainer;
GRANT SELECT ON sync.audit_seals, sync.audit_seal_records, sync.audit_prunings, sync.audit_head_deliveries TO sync_app;

GRANT EXECUTE ON FUNCTION sync.ensure_audit_partitions(date, integer) TO sync_maintainer;

-- Removes the rows of an organization's seals up to one of them, for which a signed pruning is written already; the
-- seals stay. Gives the number of rows.
CREATE FUNCTION sync.prune_audit(last bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    ours constant uuid := sync.current_organization();
    below xid8;
    events bigint;
    outcomes bigint;
BEGIN
    SELECT s.to_xid INTO below
    FROM sync.audit_seals s
    JOIN sync.audit_prunings p ON p.organization_id = s.organization_id AND p.through = s.number
    WHERE s.organization_id = ours AND s.number = last;
    IF below IS NULL THEN
        RAISE EXCEPTION 'no pruning through seal % is written', last
            USING ERRCODE = 'check_violation', CONSTRAINT = 'audit_pruning_is_signed', TABLE = 'audit_prunings';
    END IF;
    DELETE FROM sync.audit_events WHERE organization_id = ours AND xid < below;
    GET DIAGNOSTICS events = ROW_COUNT;
    DELETE FROM sync.audit_outcomes WHERE organization_id = ours AND xid < below;
    GET DIAGNOSTICS outcomes = ROW_COUNT;
    DELETE FROM sync.audit_seal_records WHERE organization_id = ours AND number <= last;
    RETURN events + outcomes;
END
$$;
REVOKE ALL ON FUNCTION sync.prune_audit(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sync.prune_audit(bigint) TO sync_maintainer;

-- Drops the partitions of months that ended before a day and hold no row of anybody any more. Gives the number dropped.
CREATE FUNCTION sync.drop_audit_partitions(before date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    partition regclass;
    holds boolean;
    dropped integer := 0;
BEGIN
    FOR partition IN
        SELECT i.inhrelid::regclass
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent IN ('sync.audit_events'::regclass, 'sync.audit_outcomes'::regclass)
          AND c.relname ~ '_[0-9]{4}_[0-9]{2}$'
          AND to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= before
        ORDER BY c.relname
    LOOP
        -- Under FORCE the owner too sees one organization's rows only: lifted while nobody else can look.
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', partition);
        EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', partition);
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', partition) INTO holds;
        IF holds THEN
            EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', partition);
        ELSE
            EXECUTE format('DROP TABLE %s', partition);
            dropped := dropped + 1;
        END IF;
    END LOOP;
    RETURN dropped;
END
$$;
REVOKE ALL ON FUNCTION sync.drop_audit_partitions(date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sync.drop_audit_partitions(date) TO sync_maintainer;
