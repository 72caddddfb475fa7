-- What is asked of queues, refs and sources all the time is answered by an index, however many of them there are.

-- Whose turn it is, and what it holds, without looking at those who wait.
CREATE INDEX job_turns_last ON routing.job_turns (turn);
CREATE INDEX job_tickets_leased ON routing.job_tickets (organization_id, lease_until) WHERE state = 'leased';

-- The source that was looked at longest ago, those never looked at first. What has no address is never among them.
CREATE INDEX repositories_sweep_next
    ON sync.repositories (organization_id, (CASE WHEN sweep_at IS NULL THEN '-infinity'::timestamptz ELSE sweep_at END), id)
    WHERE clone_url IS NOT NULL AND state <> 'deleting';
DROP INDEX sync.repositories_sweep;

-- Refs whose time is over.
CREATE INDEX refs_expire ON sync.refs (organization_id, expires_at, ref_key) WHERE expires_at IS NOT NULL;

-- Paths as they were: with each commit that is forgotten, those that no other one sees are looked for.
CREATE INDEX ref_paths_ended ON sync.ref_paths (organization_id, ref_key, to_seq) WHERE to_seq < 9223372036854775807;

-- Facts are compressed already.
ALTER TABLE sync.facts ALTER COLUMN body SET STORAGE EXTERNAL;

-- A fifth of a table of everybody's rows is too much to be dead, or unknown to the planner; and the queue is small and never still.
ALTER TABLE sync.facts SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE sync.ref_paths SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE sync.call_sites SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE routing.job_tickets SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
