-- Members of an organization, its repositories, tokens, and which repositories a member may read.
--
-- organization_id has the transaction's organization as its default everywhere: a statement cannot name a wrong one
-- by mistake, and without an organization the row is refused as NULL.
CREATE TABLE sync.principals (
    organization_id uuid NOT NULL DEFAULT sync.current_organization() REFERENCES routing.organizations (id),
    id uuid NOT NULL,
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('user', 'service')),
    issuer text,
    subject text,
    reads_all boolean NOT NULL,
    created_at timestamptz NOT NULL,
    disabled_at timestamptz,
    PRIMARY KEY (organization_id, id),
    UNIQUE (organization_id, issuer, subject),
    CHECK ((issuer IS NULL) = (subject IS NULL))
);
-- Without an identity elsewhere the name is the identity.
CREATE UNIQUE INDEX principals_local_name ON sync.principals (organization_id, name) WHERE issuer IS NULL;
SELECT sync.fence('sync.principals');
GRANT SELECT, INSERT, UPDATE (name, reads_all, disabled_at) ON sync.principals TO sync_app;

CREATE TABLE sync.tokens (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    id uuid NOT NULL,
    principal_id uuid NOT NULL,
    name text NOT NULL,
    secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, principal_id) REFERENCES sync.principals (organization_id, id)
);
SELECT sync.fence('sync.tokens');
GRANT SELECT, INSERT, UPDATE (revoked_at, last_used_at) ON sync.tokens TO sync_app;

CREATE TABLE sync.repositories (
    organization_id uuid NOT NULL DEFAULT sync.current_organization() REFERENCES routing.organizations (id),
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL CONSTRAINT repository_name_form
        CHECK (length(name) <= 100 AND name ~ '^[a-z0-9._-]+(/[a-z0-9._-]+)*$'),
    provider text,
    clone_url text,
    default_branch text NOT NULL,
    state text NOT NULL CHECK (state IN ('registered', 'indexing', 'indexed', 'gated', 'failed')),
    state_reason text,
    state_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT repository_name_taken UNIQUE (organization_id, name)
);
SELECT sync.fence('sync.repositories');
GRANT SELECT, INSERT, UPDATE (default_branch, state, state_reason, state_at) ON sync.repositories TO sync_app;

CREATE TABLE sync.grants (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    principal_id uuid NOT NULL,
    repository_id uuid NOT NULL,
    granted_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, principal_id, repository_id),
    FOREIGN KEY (organization_id, principal_id) REFERENCES sync.principals (organization_id, id),
    FOREIGN KEY (organization_id, repository_id) REFERENCES sync.repositories (organization_id, id)
);
SELECT sync.fence('sync.grants');
GRANT SELECT, INSERT ON sync.grants TO sync_app;
