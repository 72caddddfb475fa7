-- The last good public feeds. Public data: the same for every organization, so no row security.

-- A place that feeds come from. Versions never fall, here too, so that a lost datastore does not let a replay in.
CREATE TABLE feed.sources (
    name text PRIMARY KEY,
    root_version bigint NOT NULL,
    version bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    checked_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON feed.sources TO sync_app;

CREATE TABLE feed.vendors (
    vendor text COLLATE "C" PRIMARY KEY,
    source text NOT NULL REFERENCES feed.sources (name),
    version bigint NOT NULL,
    sha256 bytea NOT NULL CHECK (length(sha256) = 32),
    format integer NOT NULL,
    license text NOT NULL,
    adopted_at timestamptz NOT NULL,
    changes bigint NOT NULL,
    groups bigint NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON feed.vendors TO sync_app;

CREATE TABLE feed.versions (
    vendor text COLLATE "C" NOT NULL REFERENCES feed.vendors (vendor),
    -- Place in the feed's list.
    position integer NOT NULL,
    label text NOT NULL,
    body json NOT NULL,
    PRIMARY KEY (vendor, position)
);
GRANT SELECT, INSERT, DELETE ON feed.versions TO sync_app;

CREATE TABLE feed.changes (
    vendor text COLLATE "C" NOT NULL REFERENCES feed.vendors (vendor),
    -- Place in the feed, newest first.
    position integer NOT NULL,
    change_id text COLLATE "C" NOT NULL UNIQUE,
    group_id text COLLATE "C" NOT NULL,
    axis text,
    package text,
    introduced_ordinal integer,
    published_at date,
    body json NOT NULL,
    PRIMARY KEY (vendor, position)
);
GRANT SELECT, INSERT, DELETE ON feed.changes TO sync_app;
