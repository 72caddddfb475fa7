-- The operation of a change in the form in which operations compare, so that the changes of one are found.
ALTER TABLE feed.changes ADD COLUMN operation_erased text COLLATE "C";
CREATE INDEX changes_operation ON feed.changes (vendor, operation_erased, position) WHERE operation_erased IS NOT NULL;
CREATE INDEX changes_group ON feed.changes (vendor, group_id);
