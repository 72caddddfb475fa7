-- Why an index is partial as every answer says it: the reasons and their counts, without the files, which are up to twenty
-- long paths a reason. Reading those for each answer costs more than the rest of what it reads. An index that an older
-- service stores has none, and is answered from partial_reasons.
ALTER TABLE sync.indexes ADD COLUMN reason_counts json;
