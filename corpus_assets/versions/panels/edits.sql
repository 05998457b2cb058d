-- Edits in kept documents
-- Repeated lines and sentences that were removed, and personal data that was replaced, by kind.
SELECT 'boilerplate_lines' AS edit, coalesce(sum(boilerplate_lines), 0)::BIGINT AS number
FROM raw.final_text
UNION ALL
SELECT kind.key, sum(kind.value)::BIGINT
FROM (SELECT unnest(map_entries(scrubbed)) AS kind FROM raw.final_text)
GROUP BY ALL
UNION ALL
SELECT 'cut_sentences', count(*)
FROM (SELECT unnest(edits) AS edit FROM raw.final_text)
WHERE starts_with(edit.kind, 'sentence:')
HAVING count(*) > 0
ORDER BY ALL
