-- By LABEL, of documents
-- What became of the documents of each label.
WITH labelled AS (
    SELECT doc_id, snapshot, part, min(CAST("LABEL" AS VARCHAR)) AS label FROM raw.signals GROUP BY ALL
)
SELECT
    coalesce(label, 'unknown') AS name,
    coalesce(stage, 'kept') AS outcome,
    reason,
    count(*) AS records
FROM raw.decisions
JOIN labelled USING (doc_id, snapshot, part)
WHERE stage IS DISTINCT FROM 'documents'
GROUP BY ALL
ORDER BY ALL
