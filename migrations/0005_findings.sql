-- Findings of a ref's current index: vendor changes that meet a call site. Replaced whole when the index or a feed
-- moves. change_id has no foreign key: the feed is public and changes on its own.
CREATE TABLE sync.findings (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    ref_key bigint NOT NULL,
    finding_id text COLLATE "C" NOT NULL,
    change_id text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    line integer NOT NULL,
    symbol text NOT NULL,
    chain text NOT NULL,
    vendor text COLLATE "C" NOT NULL,
    operation text,
    change_kind text NOT NULL,
    -- 0 non_breaking, 1 potentially_breaking, 2 breaking.
    severity smallint NOT NULL CHECK (severity BETWEEN 0 AND 2),
    -- Not the word of the day: that is made of this and the clock when an answer is made.
    window_kind text NOT NULL CHECK (window_kind IN ('now', 'on_upgrade', 'unknown', 'dated')),
    window_date date,
    reason text,
    sunset date,
    binding_source text NOT NULL
        CONSTRAINT no_unestablished_rung CHECK (binding_source IN ('static', 'unattributed')),
    context text NOT NULL CHECK (context IN ('code', 'test')),
    PRIMARY KEY (organization_id, ref_key, finding_id),
    CHECK ((window_kind = 'dated') = (window_date IS NOT NULL))
);
SELECT sync.fence('sync.findings');
GRANT SELECT, INSERT, DELETE ON sync.findings TO sync_app;
-- The order of pages.
CREATE INDEX findings_page ON sync.findings (organization_id, ref_key, severity DESC, path, line, finding_id);
-- One file or folder.
CREATE INDEX findings_path ON sync.findings (organization_id, ref_key, path);

-- Which version of each vendor's feed the findings were made with: the version that an answer reports.
CREATE TABLE sync.joined_feeds (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    ref_key bigint NOT NULL,
    vendor text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    joined_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, ref_key, vendor)
);
SELECT sync.fence('sync.joined_feeds');
GRANT SELECT, INSERT, DELETE ON sync.joined_feeds TO sync_app;
