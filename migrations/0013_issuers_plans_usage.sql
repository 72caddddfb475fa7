-- Issuers of JSON Web Tokens that an organization trusts, what its plan allows, and what it used.

CREATE TABLE sync.issuers (
    organization_id uuid NOT NULL DEFAULT sync.current_organization() REFERENCES routing.organizations (id),
    id uuid NOT NULL,
    -- The `iss` claim, byte for byte.
    issuer text NOT NULL CHECK (length(issuer) BETWEEN 1 AND 512),
    -- An audience accepted beside the service's own addresses.
    audience text,
    algorithms text[] NOT NULL CHECK (cardinality(algorithms) > 0),
    -- Where its keys are; absent: as its OpenID configuration says.
    jwks_url text,
    -- The claim that has to name this organization; absent: every token of the issuer is this organization's.
    organization_claim text,
    -- What a principal becomes at first sight. Nobody is made an administrator by somebody else's word.
    default_role text NOT NULL CHECK (default_role IN ('member', 'auditor', 'ingest')),
    reads_all boolean NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT issuer_known UNIQUE (organization_id, issuer)
);
SELECT sync.fence('sync.issuers');
GRANT SELECT, INSERT, DELETE ON sync.issuers TO sync_app;

-- From a token that is not believed yet to the one organization whose issuer it may be: digests of (issuer) or of
-- (issuer, claim, value), which say nothing of anyone.
CREATE TABLE routing.issuer_routes (
    route bytea NOT NULL CONSTRAINT issuer_routed PRIMARY KEY CHECK (length(route) = 32),
    organization_id uuid NOT NULL REFERENCES routing.organizations (id),
    issuer_id uuid NOT NULL,
    -- Every token of the issuer: this route goes before those by a claim.
    whole boolean NOT NULL
);
CREATE INDEX issuer_routes_of ON routing.issuer_routes (organization_id, issuer_id);
GRANT SELECT, INSERT, DELETE ON routing.issuer_routes TO sync_app;

-- Issuers that the operator wants clients to be told about before it is known who they are.
CREATE TABLE routing.advertised_issuers (
    issuer text PRIMARY KEY
);
GRANT SELECT, INSERT, DELETE ON routing.advertised_issuers TO sync_app;

-- What an organization may use; without a row, the plan `default`. NULL: no limit.
CREATE TABLE sync.plans (
    organization_id uuid NOT NULL DEFAULT sync.current_organization() REFERENCES routing.organizations (id),
    name text NOT NULL,
    sources bigint CHECK (sources >= 0),
    call_sites bigint CHECK (call_sites >= 0),
    spans_per_second bigint CHECK (spans_per_second >= 0),
    requests_per_minute bigint CHECK (requests_per_minute >= 0),
    -- Names of the tools that may be called.
    tools text[],
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id)
);
SELECT sync.fence('sync.plans');
GRANT SELECT, INSERT, UPDATE (name, sources, call_sites, spans_per_second, requests_per_minute, tools, changed_at)
    ON sync.plans TO sync_app;

-- What was used in a month, counted in each process and added every few seconds: one row a month and kind.
CREATE TABLE sync.usage (
    organization_id uuid NOT NULL DEFAULT sync.current_organization() REFERENCES routing.organizations (id),
    month date NOT NULL CHECK (extract(day FROM month) = 1),
    what text COLLATE "C" NOT NULL,
    count bigint NOT NULL CHECK (count >= 0),
    PRIMARY KEY (organization_id, month, what)
);
SELECT sync.fence('sync.usage');
GRANT SELECT, INSERT, UPDATE (count) ON sync.usage TO sync_app;

-- A token's successor: the same name, principal and scopes. At most two of a name live at a time.
ALTER TABLE sync.tokens ADD COLUMN replaces uuid;
-- Rotation ends the old token's life when the overlap ends.
GRANT UPDATE (expires_at) ON sync.tokens TO sync_app;
CREATE INDEX tokens_of ON sync.tokens (organization_id, principal_id, name);

GRANT DELETE ON sync.grants TO sync_app;
CREATE INDEX grants_to ON sync.grants (organization_id, repository_id, principal_id);
