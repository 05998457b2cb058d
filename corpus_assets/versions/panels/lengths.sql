-- Lengths of kept documents
-- Documents by their tokens, the mark of their end included.
WITH documents AS (SELECT sum(length) AS tokens FROM raw.spans GROUP BY doc_id)
SELECT 1::BIGINT << floor(log2(tokens))::INT AS at_least, count(*) AS documents
FROM documents
GROUP BY ALL
ORDER BY ALL
