-- What an organization says of itself. Its short name is in routing.organizations and stays: claims of tokens name it, so
-- that an organization that took another name could be taken for another.
CREATE TABLE sync.organization_profiles (
    organization_id uuid NOT NULL DEFAULT sync.current_organization() REFERENCES routing.organizations (id),
    display_name text CHECK (length(display_name) BETWEEN 1 AND 100),
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id)
);
SELECT sync.fence('sync.organization_profiles');
GRANT SELECT, INSERT, UPDATE (display_name, changed_at) ON sync.organization_profiles TO sync_app;
