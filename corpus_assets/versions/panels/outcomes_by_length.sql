-- By length, of documents, in characters as extracted
-- What became of the documents of each length; a group is twice as long as the one before it.
WITH measured AS (
    SELECT doc_id, snapshot, part, min(n_chars) AS n_chars FROM raw.signals GROUP BY ALL
), powers AS (
    SELECT doc_id, snapshot, part, floor(log2(greatest(n_chars, 1)))::INT AS power FROM measured
)
SELECT
    CASE
        WHEN power < 7 THEN 'under 128'
        WHEN power >= 20 THEN '1,048,576 and more'
        ELSE format('{:,} to {:,}', 1 << power, (2 << power) - 1)
    END AS name,
    coalesce(stage, 'kept') AS outcome,
    reason,
    count(*) AS records
FROM raw.decisions
JOIN powers USING (doc_id, snapshot, part)
WHERE stage IS DISTINCT FROM 'documents'
GROUP BY ALL
ORDER BY ALL
