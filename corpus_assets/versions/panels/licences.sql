-- Licences, of records
-- As pages and sources state them.
SELECT
    source,
    coalesce(licence, 'unknown') AS name,
    coalesce(stage, 'kept') AS outcome,
    d.reason,
    count(*) AS records
FROM raw.decisions AS d
JOIN raw.records AS r USING (doc_id, snapshot, part, "offset")
WHERE d.reason IS DISTINCT FROM 'suppressed'
GROUP BY ALL
ORDER BY ALL
