-- Yield by page type and language
-- Documents of each page type and language, and what became of them.
WITH noted AS (SELECT doc_id, snapshot, part, "offset", page_type FROM raw.documents)
SELECT
    page_type,
    language,
    coalesce(stage, 'kept') AS outcome,
    reason,
    count(*) AS records
FROM raw.decisions
LEFT JOIN noted USING (doc_id, snapshot, part, "offset")
WHERE stage IS DISTINCT FROM 'documents'
GROUP BY ALL
ORDER BY ALL
