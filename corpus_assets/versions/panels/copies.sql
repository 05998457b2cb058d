-- Kept documents by the copies that gave way to them
-- How many kept documents stand for each number of dropped ones.
WITH clusters AS (
    SELECT count(*) AS dropped FROM raw.cluster_members WHERE NOT kept GROUP BY kept_doc_id
)
SELECT dropped, count(*) AS kept
FROM clusters
GROUP BY ALL
ORDER BY ALL
