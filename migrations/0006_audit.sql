-- The audit log: insert only for the service, one partition a month. `xid` orders rows by transaction for the seals,
-- which cover every row whose transaction is below a horizon and are never written into a row.
CREATE TABLE sync.audit_events (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    event_id uuid NOT NULL,
    time timestamptz NOT NULL,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    principal_id uuid,
    principal text,
    principal_kind text CHECK (principal_kind IN ('user', 'service')),
    credential_id text,
    protocol text NOT NULL CHECK (protocol IN ('mcp', 'rest', 'otlp', 'webhook', 'cli')),
    action text NOT NULL,
    repository_id uuid,
    repository_name text,
    arguments_digest bytea CHECK (length(arguments_digest) = 32),
    -- NULL only where the call has outside effects: its outcome is then a row of audit_outcomes.
    outcome text CHECK (outcome IN ('ok', 'refused', 'error', 'timeout')),
    code text,
    rows bigint,
    duration_us bigint,
    request_id uuid NOT NULL,
    client_ip inet,
    PRIMARY KEY (organization_id, time, event_id),
    CHECK (outcome IS DISTINCT FROM 'ok' OR code IS NULL),
    CHECK ((repository_id IS NULL) = (repository_name IS NULL))
) PARTITION BY RANGE (time);

CREATE TABLE sync.audit_outcomes (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    event_id uuid NOT NULL,
    time timestamptz NOT NULL,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    outcome text NOT NULL CHECK (outcome IN ('ok', 'refused', 'error', 'timeout')),
    code text,
    rows bigint,
    duration_us bigint NOT NULL,
    PRIMARY KEY (organization_id, time, event_id)
) PARTITION BY RANGE (time);

-- The fence stands on each partition too, and the service has rights on none: a partition is no way around.
CREATE TABLE sync.audit_events_default PARTITION OF sync.audit_events DEFAULT;
CREATE TABLE sync.audit_outcomes_default PARTITION OF sync.audit_outcomes DEFAULT;
SELECT sync.fence('sync.audit_events'), sync.fence('sync.audit_events_default'),
       sync.fence('sync.audit_outcomes'), sync.fence('sync.audit_outcomes_default');
GRANT SELECT, INSERT ON sync.audit_events, sync.audit_outcomes TO sync_app;

-- Makes the partitions of `months` months from that of `first` on; those that exist stay. A month whose rows already
-- went to the DEFAULT partition stays there: correct, only larger. Gives the number made.
CREATE FUNCTION sync.ensure_audit_partitions(first date, months integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    parent text;
    partition text;
    starts date;
    made integer := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['audit_events', 'audit_outcomes'] LOOP
        FOR ahead IN 0 .. months - 1 LOOP
            starts := (date_trunc('month', first) + make_interval(months => ahead))::date;
            partition := parent || to_char(starts, '_YYYY_MM');
            CONTINUE WHEN to_regclass('sync.' || partition) IS NOT NULL;
            BEGIN
                EXECUTE format(
                    'CREATE TABLE sync.%I PARTITION OF sync.%I FOR VALUES FROM (%L) TO (%L)',
                    partition, parent,
                    starts || ' 00:00:00+00', (starts + interval '1 month')::date || ' 00:00:00+00'
                );
                PERFORM sync.fence(format('sync.%I', partition)::regclass);
                made := made + 1;
            EXCEPTION
                WHEN check_violation THEN NULL;
            END;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;
REVOKE ALL ON FUNCTION sync.ensure_audit_partitions(date, integer) FROM PUBLIC;
