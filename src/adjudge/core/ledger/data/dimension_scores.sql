-- How often each dimension got each score, made-up scores left out.
SELECT own.key, own.value, count(*), avg(worth.value)
FROM judgments, json_each(result, '$.scores') AS own
JOIN json_each(result, '$.normalized') AS worth ON worth.key = own.key
WHERE judge = ? AND own.type = 'integer' AND (
    json_extract(result, '$.fallback') IS NULL OR EXISTS (
        SELECT 1 FROM json_each(result, '$.agreements') AS sure
        WHERE sure.key = own.key AND sure.value IS NOT NULL
    )
)
GROUP BY own.key, own.value
ORDER BY own.key, own.value
LIMIT ?
