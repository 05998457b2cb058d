-- Duplicates by kind and by where the kept copy is
-- Documents that gave way to a copy, by what ties them.
WITH gone AS (
    SELECT kind, snapshot, kept_doc_id FROM raw.cluster_members WHERE NOT kept
), places AS (
    SELECT DISTINCT doc_id, snapshot AS kept_in
    FROM raw.records
    WHERE reason IS NULL AND doc_id IN (SELECT kept_doc_id FROM gone)
)
SELECT kind, snapshot, kept_in, count(*) AS documents
FROM gone
LEFT JOIN places ON doc_id = kept_doc_id
GROUP BY ALL
ORDER BY ALL
