-- Call sites of a file, counted: answers say how many there are below a path, of a vendor or of a whole index, and
-- that is a sum over these few narrow rows. Written with the call sites and removed with them.
CREATE TABLE sync.call_counts (
    organization_id uuid NOT NULL DEFAULT sync.current_organization(),
    file_key bigint NOT NULL,
    -- Only tells the rows of a file apart.
    ordinal integer NOT NULL,
    vendor text COLLATE "C" NOT NULL,
    binding_source text NOT NULL
        CONSTRAINT no_unestablished_rung CHECK (binding_source IN ('static', 'unattributed')),
    context text NOT NULL CHECK (context IN ('code', 'test')),
    call_sites integer NOT NULL CHECK (call_sites > 0),
    -- Those whose operation is known.
    mapped integer NOT NULL CHECK (mapped BETWEEN 0 AND call_sites),
    PRIMARY KEY (organization_id, file_key, ordinal)
);

-- What is indexed already. Lifting FORCE lets the owner see every organization's rows, in this transaction only.
ALTER TABLE sync.call_sites NO FORCE ROW LEVEL SECURITY;
INSERT INTO sync.call_counts
    (organization_id, file_key, ordinal, vendor, binding_source, context, call_sites, mapped)
SELECT organization_id, file_key,
       row_number() OVER (PARTITION BY organization_id, file_key ORDER BY vendor, binding_source, context) - 1,
       vendor, binding_source, context, count(*), count(operation)
FROM sync.call_sites
GROUP BY organization_id, file_key, vendor, binding_source, context;
DO $$
BEGIN
    IF (SELECT count(*) FROM sync.call_sites) <> (SELECT coalesce(sum(call_sites), 0) FROM sync.call_counts) THEN
        RAISE EXCEPTION 'call sites were counted that are not there, or left out';
    END IF;
END
$$;
ALTER TABLE sync.call_sites FORCE ROW LEVEL SECURITY;

SELECT sync.fence('sync.call_counts');
GRANT SELECT, INSERT, DELETE ON sync.call_counts TO sync_app;

-- Which operations of one vendor are called: its call sites in a file, and no other's.
CREATE INDEX call_sites_vendor ON sync.call_sites (organization_id, file_key, vendor);

-- Counted refusals are kept for a while and not for ever.
GRANT DELETE ON routing.refusals TO sync_app;
