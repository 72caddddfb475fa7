-- When the remote heads of a source are compared with what is indexed next; NULL: at the next round.
ALTER TABLE sync.repositories ADD COLUMN sweep_at timestamptz;
GRANT UPDATE (sweep_at) ON sync.repositories TO sync_app;
CREATE INDEX repositories_sweep ON sync.repositories (organization_id, sweep_at);
