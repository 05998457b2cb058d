-- Tokens by language
-- Of kept documents.
SELECT
    coalesce(language, 'unknown') AS language,
    count(DISTINCT doc_id) AS documents,
    sum(length)::BIGINT AS tokens
FROM raw.spans
JOIN raw.final_text USING (doc_id)
GROUP BY ALL
ORDER BY tokens DESC, language
