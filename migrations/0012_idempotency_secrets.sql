-- What a change answered to the holder of an Idempotency-Key, for a day: written in the change's own transaction, so
-- that there is one exactly where the change happened.
CREATE TABLE sync.idempotency_keys (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    -- Of the principal and its key: a key is its caller's alone.
    key_hash bytea NOT NULL CHECK (length(key_hash) = 32),
    -- Keyed digest of the operation and its arguments, by which another request under the same key is found out.
    request_digest bytea NOT NULL CHECK (length(request_digest) = 32),
    created_at timestamptz NOT NULL,
    status smallint NOT NULL CHECK (status BETWEEN 200 AND 299),
    -- NULL where there was none, or where it held a secret: then created_id says what was made.
    body bytea,
    created_id text,
    PRIMARY KEY (organization_id, key_hash),
    CHECK (body IS NULL OR created_id IS NULL)
);
SELECT sync.fence('sync.idempotency_keys');
-- Rows that are forgotten are locked first, passing over those that another does; that needs a right to change.
GRANT SELECT, INSERT, DELETE, UPDATE (created_at) ON sync.idempotency_keys TO sync_app;
-- Those that may be forgotten.
CREATE INDEX idempotency_keys_age ON sync.idempotency_keys (organization_id, created_at);

-- Secrets that Sync has to present or check itself (credentials of repositories, secrets of webhooks), encrypted with a
-- key that is not in the database. The organization, the purpose and the name are authenticated with the ciphertext, so
-- that a row moved elsewhere does not open.
CREATE TABLE sync.secrets (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    purpose text COLLATE "C" NOT NULL CHECK (purpose IN ('repository_credential', 'webhook_secret')),
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    -- Which key of the ring it is encrypted with.
    key_id text COLLATE "C" NOT NULL CHECK (key_id ~ '^[0-9a-f]{16}$'),
    nonce bytea NOT NULL CHECK (length(nonce) = 12),
    -- With the tag of 16 bytes.
    ciphertext bytea NOT NULL CHECK (length(ciphertext) BETWEEN 17 AND 65552),
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, purpose, name)
);
SELECT sync.fence('sync.secrets');
GRANT SELECT, INSERT, DELETE, UPDATE (key_id, nonce, ciphertext, changed_at) ON sync.secrets TO sync_app;
-- Those that still wait for the key that is in force.
CREATE INDEX secrets_key ON sync.secrets (organization_id, key_id);
