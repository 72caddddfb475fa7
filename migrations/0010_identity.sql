-- What a member is in its organization: the most that any credential of theirs can do.
--
-- Nobody loses or gains anything by the upgrade: whoever holds a token that administers becomes an owner, everybody
-- else the least role that allows what their tokens are for. The default is what an older service, which does not know
-- of roles and runs until it is replaced, makes of whom an identity provider brings.
ALTER TABLE sync.principals ADD COLUMN role text NOT NULL DEFAULT 'member'
    CHECK (role IN ('owner', 'admin', 'member', 'auditor', 'ingest'));

-- Lifting FORCE lets the owner see every organization's rows, in this transaction only.
ALTER TABLE sync.principals NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sync.tokens NO FORCE ROW LEVEL SECURITY;
WITH given AS (
    SELECT p.organization_id, p.id, coalesce(array_agg(DISTINCT s.scope) FILTER (WHERE s.scope IS NOT NULL), '{}') AS scopes
    FROM sync.principals p
    LEFT JOIN sync.tokens t ON t.organization_id = p.organization_id AND t.principal_id = p.id
        AND t.revoked_at IS NULL
    LEFT JOIN LATERAL unnest(t.scopes) AS s (scope) ON true
    GROUP BY p.organization_id, p.id
)
UPDATE sync.principals p
SET role = CASE
    WHEN 'admin' = ANY (given.scopes) THEN 'owner'
    WHEN given.scopes <@ ARRAY['graph:read', 'graph:propose', 'sources:write'] THEN 'member'
    WHEN given.scopes <@ ARRAY['audit:read'] THEN 'auditor'
    WHEN given.scopes <@ ARRAY['sources:write', 'telemetry:write'] THEN 'ingest'
    ELSE 'admin'
END
FROM given
WHERE given.organization_id = p.organization_id AND given.id = p.id;
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM sync.tokens t
        JOIN sync.principals p ON p.organization_id = t.organization_id AND p.id = t.principal_id
        WHERE 'admin' = ANY (t.scopes) AND t.revoked_at IS NULL AND p.role <> 'owner'
    ) THEN
        RAISE EXCEPTION 'a principal with a token that administers did not become an owner';
    END IF;
END
$$;
ALTER TABLE sync.tokens FORCE ROW LEVEL SECURITY;
ALTER TABLE sync.principals FORCE ROW LEVEL SECURITY;
GRANT UPDATE (role) ON sync.principals TO sync_app;
