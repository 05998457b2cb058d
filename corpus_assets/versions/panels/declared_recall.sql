-- What pages declare and their text has
-- By type of schema.org: lines that pages declare of themselves in JSON-LD (ingredients, steps, bodies, answers, posts), and the share that the extracted text has. Not all of it need be shown on the page; readers' comments are left out on purpose.
SELECT
    type,
    count(*) AS documents,
    sum(lines)::BIGINT AS lines_declared,
    sum(found) / sum(lines) AS share_of_lines,
    avg((2 * found < lines)::INT) AS share_under_half
FROM (SELECT unnest(declared_recall, recursive := true) FROM raw.documents)
GROUP BY type
ORDER BY documents DESC, type
