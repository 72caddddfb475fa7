-- The next ticket of an organization is found without looking at the others that wait.
CREATE INDEX job_tickets_order ON routing.job_tickets (organization_id, priority, run_at, id);
DROP INDEX routing.job_tickets_next;
