-- Two rules that so far only the service's own code kept, whatever it is made to run.

-- The seals order rows by the transaction that wrote them: which one that was is not for the writer to say, nor whose
-- organization's row it is.
REVOKE INSERT ON sync.audit_events, sync.audit_outcomes FROM sync_app;
GRANT INSERT (event_id, time, principal_id, principal, principal_kind, credential_id, protocol, action, repository_id,
              repository_name, arguments_digest, outcome, code, rows, duration_us, request_id, client_ip)
    ON sync.audit_events TO sync_app;
GRANT INSERT (event_id, time, outcome, code, rows, duration_us) ON sync.audit_outcomes TO sync_app;

-- A feed's version never falls, or a replay would get in once the datastore of files is lost.
CREATE FUNCTION feed.keep_versions() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    IF NEW.version < OLD.version OR NEW.root_version < OLD.root_version THEN
        RAISE EXCEPTION 'the version of the feed % would fall', OLD.name
            USING ERRCODE = 'check_violation', CONSTRAINT = 'feed_version_never_falls', TABLE = 'sources';
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION feed.keep_versions() FROM PUBLIC;
CREATE TRIGGER keep_versions BEFORE UPDATE ON feed.sources FOR EACH ROW EXECUTE FUNCTION feed.keep_versions();
