-- Kept by snapshot
-- Documents in shards, of the records of the snapshot.
SELECT snapshot, count(*) FILTER (kept) AS kept, count(*) AS records
FROM decisions
GROUP BY ALL
ORDER BY ALL
