-- The frame: who may do what, and how a private table is fenced.
--
-- Run by the owner, which is not a superuser. The application role owns nothing and cannot bypass row security.
-- Roles belong to the cluster, so another database of it may be creating the same one at this moment.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'sync_app') THEN
        CREATE ROLE sync_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOINHERIT;
    END IF;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;

-- Private rows: every table fenced by organization.
CREATE SCHEMA sync;
-- What must be known before an organization is: no private values, no row security.
CREATE SCHEMA routing;
-- Public vendor data: no private values, no row security.
CREATE SCHEMA feed;

GRANT USAGE ON SCHEMA sync, routing, feed TO sync_app;
-- The service refuses to start on a schema that it was not made for.
GRANT SELECT ON _sqlx_migrations TO sync_app;

-- The organization of the transaction. A transaction-local setting that ended is '' and not NULL.
CREATE FUNCTION sync.current_organization() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('sync.organization', true), '')::uuid $$;

-- Fences a private table. FORCE, because an owner without it skips its own policies.
CREATE FUNCTION sync.fence(fenced regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', fenced);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', fenced);
    EXECUTE format(
        'CREATE POLICY organization ON %s USING '
        '(organization_id = nullif(current_setting(''sync.organization'', true), '''')::uuid)',
        fenced
    );
END
$$;
REVOKE ALL ON FUNCTION sync.fence(regclass) FROM PUBLIC;

CREATE TABLE routing.organizations (
    id uuid PRIMARY KEY,
    slug text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    state text NOT NULL CHECK (state IN ('active', 'suspended')),
    created_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE (state) ON routing.organizations TO sync_app;

-- Requests without an organization, counted by minute and address prefix.
CREATE TABLE routing.refusals (
    minute timestamptz NOT NULL,
    address_prefix text NOT NULL,
    protocol text NOT NULL,
    code text NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (minute, address_prefix, protocol, code)
);
GRANT SELECT, INSERT, UPDATE (count) ON routing.refusals TO sync_app;
