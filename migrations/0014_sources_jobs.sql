-- Sources that keep themselves fresh: which refs are followed, who allowed it, and the jobs that do it.

ALTER TABLE sync.repositories
    -- Patterns of further refs that are kept beside the default branch: `release/*`.
    ADD COLUMN tracked_refs text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tracked_refs) <= 20),
    ADD COLUMN gate text NOT NULL DEFAULT 'auto' CHECK (gate IN ('auto', 'on', 'off')),
    -- Since when code may be fetched from where it lies, and by whose word. The name stays when the member goes.
    ADD COLUMN egress_consent_at timestamptz,
    ADD COLUMN egress_consent_by text,
    ADD CONSTRAINT repository_consent_is_somebodys CHECK ((egress_consent_at IS NULL) = (egress_consent_by IS NULL)),
    DROP CONSTRAINT repositories_state_check,
    ADD CONSTRAINT repositories_state_check
        CHECK (state IN ('registered', 'indexing', 'indexed', 'gated', 'failed', 'deleting'));
-- Moving a repository changes its address; nothing moves its name, which answers go by.
GRANT UPDATE (provider, clone_url, tracked_refs, gate, egress_consent_at, egress_consent_by), DELETE
    ON sync.repositories TO sync_app;

ALTER TABLE sync.refs
    -- Why it is kept. Requested ones expire.
    ADD COLUMN origin text NOT NULL DEFAULT 'default' CHECK (origin IN ('default', 'tracked', 'requested', 'uploaded')),
    ADD COLUMN expires_at timestamptz,
    -- When the indexed commit was made, as it says itself.
    ADD COLUMN committed_at timestamptz;
GRANT UPDATE (origin, expires_at, committed_at), DELETE ON sync.refs TO sync_app;

-- What people see of a job. It refers to its repository by nothing but the id, so that the job that erased one can
-- still be asked about.
CREATE TABLE sync.jobs (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    id uuid NOT NULL,
    repository_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('reindex', 'erase')),
    ref_name text COLLATE "C",
    cause text NOT NULL CHECK (cause IN ('person', 'registration', 'webhook', 'sweep')),
    -- How often it was asked for: a request replaces the one that waits.
    requests integer NOT NULL DEFAULT 1,
    payload json NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'running', 'done', 'dead', 'cancelled')),
    -- Runs that were begun.
    attempts integer NOT NULL DEFAULT 0,
    -- Why the last run did not end well, and what to do about it.
    reason text,
    next_step text,
    enqueued_at timestamptz NOT NULL,
    -- When it runs next, where it waits.
    run_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    -- Milliseconds of the last run, by phase.
    timings json,
    result json,
    PRIMARY KEY (organization_id, id),
    CHECK ((ended_at IS NULL) = (state IN ('queued', 'running'))),
    CHECK (reason IS NOT NULL OR state <> 'dead')
);
SELECT sync.fence('sync.jobs');
GRANT SELECT, INSERT, DELETE,
    UPDATE (cause, requests, payload, state, attempts, reason, next_step, run_at, started_at, ended_at, timings, result)
    ON sync.jobs TO sync_app;
CREATE INDEX jobs_of ON sync.jobs (organization_id, repository_id, enqueued_at);
-- Those that may be forgotten.
CREATE INDEX jobs_ended ON sync.jobs (organization_id, ended_at) WHERE ended_at IS NOT NULL;

-- The queue that workers of all organizations take from. Private is none of it: both keys are hashes that only who knows
-- the repository's id could make.
CREATE TABLE routing.job_tickets (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL DEFAULT sync.current_organization() REFERENCES routing.organizations (id),
    kind text NOT NULL CHECK (kind IN ('reindex', 'erase')),
    -- The smallest goes first.
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    run_at timestamptz NOT NULL,
    state text NOT NULL CHECK (state IN ('waiting', 'leased')),
    -- Of one lease and not of a worker: what a run that lost its lease still writes is refused, also where the same
    -- worker took the ticket anew.
    holder uuid,
    lease_until timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    serial_key bytea NOT NULL CHECK (length(serial_key) = 32),
    dedupe_key bytea NOT NULL CHECK (length(dedupe_key) = 32),
    enqueued_at timestamptz NOT NULL,
    CHECK ((state = 'leased') = (holder IS NOT NULL) AND (holder IS NULL) = (lease_until IS NULL))
);
-- One waits; a run that has begun does not swallow a request that came after it.
CREATE UNIQUE INDEX job_ticket_waits ON routing.job_tickets (dedupe_key) WHERE state = 'waiting';
-- One runs.
CREATE UNIQUE INDEX job_ticket_runs ON routing.job_tickets (serial_key) WHERE state = 'leased';
CREATE INDEX job_tickets_next ON routing.job_tickets (priority, run_at);
CREATE INDEX job_tickets_held ON routing.job_tickets (holder) WHERE state = 'leased';
GRANT SELECT, INSERT, DELETE, UPDATE (priority, run_at, state, holder, lease_until, attempts)
    ON routing.job_tickets TO sync_app;

-- Whose turn it is: the organization that was served longest ago goes first.
CREATE TABLE routing.job_turns (
    organization_id uuid PRIMARY KEY REFERENCES routing.organizations (id),
    turn bigint NOT NULL
);
GRANT SELECT, INSERT, UPDATE (turn) ON routing.job_turns TO sync_app;

-- Where forges send word of a push. The secrets are in sync.secrets, under the endpoint's id.
CREATE TABLE sync.webhook_endpoints (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    id uuid NOT NULL,
    repository_id uuid NOT NULL,
    provider text NOT NULL CHECK (provider IN ('github', 'gitlab', 'gitea', 'forgejo', 'bitbucket')),
    created_at timestamptz NOT NULL,
    -- Until when the secret before the present one is taken too.
    previous_until timestamptz,
    last_delivery_at timestamptz,
    last_event text,
    last_problem text,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT webhook_endpoint_known UNIQUE (organization_id, repository_id),
    FOREIGN KEY (organization_id, repository_id) REFERENCES sync.repositories (organization_id, id)
);
SELECT sync.fence('sync.webhook_endpoints');
GRANT SELECT, INSERT, DELETE, UPDATE (provider, previous_until, last_delivery_at, last_event, last_problem)
    ON sync.webhook_endpoints TO sync_app;

-- Deliveries that queued a job, so that one that comes again finds it: written with the job, kept for seven days.
CREATE TABLE sync.webhook_deliveries (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    endpoint_id uuid NOT NULL,
    delivery_key bytea NOT NULL CHECK (length(delivery_key) = 32),
    job_id uuid NOT NULL,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, endpoint_id, delivery_key),
    FOREIGN KEY (organization_id, endpoint_id) REFERENCES sync.webhook_endpoints (organization_id, id)
);
SELECT sync.fence('sync.webhook_deliveries');
GRANT SELECT, INSERT, DELETE ON sync.webhook_deliveries TO sync_app;
CREATE INDEX webhook_deliveries_age ON sync.webhook_deliveries (organization_id, received_at);
