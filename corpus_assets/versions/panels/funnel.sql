-- Records dropped, by stage and reason
-- A stage has what the stages before it left.
SELECT stage, reason, count(*) AS records
FROM decisions
WHERE NOT kept
GROUP BY ALL
ORDER BY ALL
