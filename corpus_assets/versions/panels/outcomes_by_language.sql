-- By language, of documents
-- What became of the documents of each language.
SELECT
    coalesce(language, 'unknown') AS name,
    coalesce(stage, 'kept') AS outcome,
    reason,
    count(*) AS records
FROM decisions
WHERE stage IS DISTINCT FROM 'documents'
GROUP BY ALL
ORDER BY ALL
