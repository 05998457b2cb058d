-- Opt-outs, of records
-- What pages and sites say about training, where the recipe listens.
SELECT
    source,
    coalesce(preference, 'unknown') AS name,
    coalesce(stage, 'kept') AS outcome,
    d.reason,
    count(*) AS records
FROM raw.decisions AS d
JOIN raw.records AS r USING (doc_id, snapshot, part, "offset")
WHERE d.reason IS DISTINCT FROM 'suppressed'
GROUP BY ALL
ORDER BY ALL
