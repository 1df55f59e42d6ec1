from __future__ import annotations

import pytest

from adjudge.features.sql.reference import ReferenceQuery, literals_of


@pytest.mark.parametrize(
    ("sql", "terms"),
    [
        ("SELECT a FROM t ORDER BY a", ("a",)),
        (
            "SELECT a FROM t ORDER BY b DESC, lower(a, 'x,y') ASC NULLS LAST;",
            ("b", "lower(a, 'x,y')"),
        ),
        ("select a from t -- ORDER BY a\n order /* x */ by 1 limit 3", ("1",)),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a)", ()),
        ("SELECT row_number() OVER (ORDER BY a) FROM t", ()),
        ("SELECT 'x ORDER BY y' FROM t", ()),
        ('SELECT "order by" FROM t', ()),
        (
            "WITH x AS (SELECT a FROM t LIMIT 2) SELECT a FROM x ORDER BY a COLLATE NOCASE",
            ("a COLLATE NOCASE",),
        ),
    ],
)
def test_only_the_order_of_the_whole_result_counts(sql: str, terms: tuple[str, ...]) -> None:
    query = ReferenceQuery.of(sql)
    assert (query.terms, query.ordered) == (terms, bool(terms))


@pytest.mark.parametrize(
    ("sql", "limit", "nested"),
    [
        ("SELECT a FROM t", None, False),
        ("SELECT a FROM t LIMIT 3", (3, 0), False),
        ("SELECT a FROM t LIMIT 3 OFFSET 2", (3, 2), False),
        ("SELECT a FROM t LIMIT 2, 3", (3, 2), False),
        ("SELECT a FROM t LIMIT 1 + 1", (None, 0), False),
        ("SELECT a FROM t WHERE b = (SELECT b FROM t LIMIT 1)", None, True),
    ],
)
def test_limits_are_read(sql: str, limit: tuple[int | None, int] | None, nested: bool) -> None:
    query = ReferenceQuery.of(sql)
    assert (query.limit, query.nested_limit) == (limit, nested)


def test_a_column_can_be_added_only_to_a_plain_select() -> None:
    query = ReferenceQuery.of("SELECT a FROM t ORDER BY b LIMIT 2")
    assert query.insert_at is not None
    at = query.insert_at
    assert f"{query.unlimited[:at]}, b {query.unlimited[at:]}" == "SELECT a , b FROM t ORDER BY b "
    for sql in ("SELECT DISTINCT a FROM t", "SELECT a FROM t UNION SELECT a FROM u", "VALUES (1)"):
        assert ReferenceQuery.of(sql).insert_at is None


def test_literals_are_numbers_and_texts() -> None:
    found = literals_of("SELECT a1 FROM t WHERE b > 30 AND c = 'it''s' AND d < 2.5 -- 99")
    assert found == [30, "it's", 2.5]


def test_what_follows_the_query_is_no_part_of_it() -> None:
    query = ReferenceQuery.of("SELECT a FROM t ORDER BY b LIMIT 3; -- the first three\n;")
    assert (query.sql, query.limit) == ("SELECT a FROM t ORDER BY b LIMIT 3", (3, 0))
