-- Indexes: what was true of a repository at a commit. Facts are stored once by their hash and shared by refs and
-- commits; a push writes only what differs. Documents are json, not jsonb: nothing searches inside them, and jsonb
-- refuses a NUL that a hostile file may have in a name.
CREATE TABLE sync.refs (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    ref_key bigint GENERATED ALWAYS AS IDENTITY,
    repository_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    current_index uuid,
    -- Grows by one with each swap; rows of sync.ref_paths are valid from a number to a number.
    seq bigint NOT NULL DEFAULT 0,
    commit_id text,
    indexed_at timestamptz,
    head_commit text,
    PRIMARY KEY (organization_id, ref_key),
    UNIQUE (organization_id, repository_id, name),
    FOREIGN KEY (organization_id, repository_id) REFERENCES sync.repositories (organization_id, id),
    CHECK ((current_index IS NULL) = (indexed_at IS NULL))
);
SELECT sync.fence('sync.refs');
GRANT SELECT, INSERT, UPDATE (current_index, seq, commit_id, indexed_at, head_commit) ON sync.refs TO sync_app;

CREATE TABLE sync.indexes (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    id uuid NOT NULL,
    repository_id uuid NOT NULL,
    ref_key bigint NOT NULL,
    seq bigint NOT NULL,
    -- Hash over everything but repository, ref and commit: equal means that only the commit moved.
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    analyzer text NOT NULL,
    catalog text NOT NULL,
    gate text NOT NULL,
    partial boolean NOT NULL,
    partial_reasons json NOT NULL,
    files bigint NOT NULL,
    skipped bigint NOT NULL,
    symbols bigint NOT NULL,
    edges bigint NOT NULL,
    unresolved bigint NOT NULL,
    call_sites bigint NOT NULL,
    PRIMARY KEY (organization_id, id),
    UNIQUE (organization_id, ref_key, seq),
    FOREIGN KEY (organization_id, ref_key) REFERENCES sync.refs (organization_id, ref_key)
);
SELECT sync.fence('sync.indexes');
GRANT SELECT, INSERT, DELETE ON sync.indexes TO sync_app;

-- The last 50 commits of a ref, and the index that holds each.
CREATE TABLE sync.indexed_commits (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    ref_key bigint NOT NULL,
    commit_id text NOT NULL,
    index_id uuid NOT NULL,
    indexed_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, ref_key, commit_id),
    FOREIGN KEY (organization_id, index_id) REFERENCES sync.indexes (organization_id, id)
);
SELECT sync.fence('sync.indexed_commits');
GRANT SELECT, INSERT, DELETE, UPDATE (index_id, indexed_at) ON sync.indexed_commits TO sync_app;

-- Vendor clients. They stand here and not at the call sites, so that a moved pin changes one row.
CREATE TABLE sync.clients (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    index_id uuid NOT NULL,
    client_id text NOT NULL,
    body json NOT NULL,
    PRIMARY KEY (organization_id, index_id, client_id)
);
SELECT sync.fence('sync.clients');
GRANT SELECT, INSERT, DELETE ON sync.clients TO sync_app;

-- A snapshot's line of one file, compressed. Removed when no ref and no kept commit refers to it.
CREATE TABLE sync.facts (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    file_key bigint GENERATED ALWAYS AS IDENTITY,
    repository_id uuid NOT NULL,
    facts_hash bytea NOT NULL CHECK (length(facts_hash) = 32),
    body bytea NOT NULL,
    PRIMARY KEY (organization_id, file_key),
    UNIQUE (organization_id, repository_id, facts_hash)
);
SELECT sync.fence('sync.facts');
GRANT SELECT, INSERT, DELETE ON sync.facts TO sync_app;

-- The paths of a ref, and between which sequence numbers each was so: a file with facts, or a path that was skipped.
-- A row that still holds ends at the greatest bigint, so that one comparison serves current and past indexes.
CREATE TABLE sync.ref_paths (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    ref_key bigint NOT NULL,
    path text COLLATE "C" NOT NULL,
    from_seq bigint NOT NULL,
    to_seq bigint NOT NULL DEFAULT 9223372036854775807,
    file_key bigint,
    facts_hash bytea,
    skipped text,
    language text,
    bytes bigint NOT NULL,
    lines integer NOT NULL,
    call_sites integer NOT NULL,
    PRIMARY KEY (organization_id, ref_key, path, from_seq),
    CHECK ((file_key IS NULL) <> (skipped IS NULL)),
    CHECK (from_seq < to_seq)
);
SELECT sync.fence('sync.ref_paths');
GRANT SELECT, INSERT, DELETE, UPDATE (to_seq) ON sync.ref_paths TO sync_app;
-- Walks over the call sites of an index start from the few files that have any.
CREATE INDEX ref_paths_calling ON sync.ref_paths (organization_id, ref_key, to_seq, path) WHERE call_sites > 0;
-- Whether facts are still referred to.
CREATE INDEX ref_paths_facts ON sync.ref_paths (organization_id, file_key);

-- What SQL searches of a call site; the rest is in the facts of its file, at the same ordinal.
CREATE TABLE sync.call_sites (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    file_key bigint NOT NULL,
    ordinal integer NOT NULL,
    line integer NOT NULL,
    end_line integer NOT NULL,
    start_column integer NOT NULL,
    symbol text NOT NULL,
    chain text NOT NULL,
    vendor text COLLATE "C" NOT NULL,
    operation text,
    operation_erased text COLLATE "C",
    binding_source text NOT NULL
        -- Nothing establishes `resolved` or `observed` yet, so no row may say so. `unattributed` is history.
        CONSTRAINT no_unestablished_rung CHECK (binding_source IN ('static', 'unattributed')),
    context text NOT NULL CHECK (context IN ('code', 'test')),
    PRIMARY KEY (organization_id, file_key, ordinal),
    CHECK ((operation IS NULL) = (operation_erased IS NULL))
);
SELECT sync.fence('sync.call_sites');
GRANT SELECT, INSERT, DELETE ON sync.call_sites TO sync_app;
