-- Hosts
-- The 20 with most kept documents. Bars are their kept documents, of the records that they have.
WITH measured AS (
    SELECT doc_id, snapshot, part, min(n_chars) AS n_chars FROM raw.signals GROUP BY ALL
)
SELECT
    host,
    count(*) AS records,
    count(*) FILTER (d.kept) AS kept,
    count(*) FILTER (d.kept) / count(*) AS share_kept,
    coalesce(sum(n_chars) FILTER (d.kept), 0)::BIGINT AS chars,
    count(*) OVER () AS hosts
FROM raw.decisions AS d
JOIN raw.records AS r USING (doc_id, snapshot, part, "offset")
LEFT JOIN measured USING (doc_id, snapshot, part)
WHERE host IS NOT NULL AND d.reason IS DISTINCT FROM 'suppressed'
GROUP BY host
HAVING count(*) FILTER (d.kept) > 0
ORDER BY kept DESC, host
LIMIT 20
