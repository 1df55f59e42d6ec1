"""The program that compares results: what is the same, what is not, and what cannot be told."""

from __future__ import annotations

import sqlite3
from base64 import b64encode
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from adjudge.features.sql import worker
from adjudge.features.sql.findings import sentence
from adjudge.features.sql.reference import ReferenceQuery, literals_of

SHOP = """
CREATE TABLE customer(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, age INTEGER);
CREATE TABLE orders(
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer(id),
    total REAL NOT NULL);
INSERT INTO customer VALUES
    (1, 'Ann', 'France', 30), (2, 'Bob', 'Spain', 20), (3, 'Cy', 'France', 41),
    (4, 'Di', NULL, 25), (5, 'Ed', 'Italy', 33);
INSERT INTO orders VALUES
    (1, 1, 10.5), (2, 1, 20.0), (3, 2, 5.25), (4, 3, 99.0), (5, 5, 1.0), (6, 5, 12.0);
"""
FRENCH = "SELECT name FROM customer WHERE country = 'France' AND age > 30"
FOREVER = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT {} FROM r"


def compare(response: str, reference: str, script: str = SHOP, **more: Any) -> dict[str, Any]:
    """What the program says of a query, with the sentence for people."""
    job = {
        "script": script,
        "reference": ReferenceQuery.of(reference).to_json(),
        "response": response,
        "literals": literals_of(reference, response),
        "copies": 8,
        "seed": "0",
        "tolerance": 1e-6,
        "seconds": 0.5,
        "build_seconds": 10.0,
        "most_rows": 1000,
        **more,
    }
    found = worker.compare(job, lambda part: None)
    return {**found, "text": str(sentence(found))}


@pytest.mark.parametrize(
    ("response", "reference"),
    [
        (FRENCH, FRENCH),
        ("SELECT c.name AS who FROM customer c WHERE c.country = 'France' AND c.age >= 31", FRENCH),
        (
            "SELECT c.name, sum(o.total) FROM customer c JOIN orders o ON o.customer_id = c.id "
            "GROUP BY c.id ORDER BY 2 DESC, 1",
            "SELECT name, total(total) AS spent FROM orders JOIN customer ON customer.id = "
            "customer_id GROUP BY customer.id ORDER BY spent DESC, name",
        ),
        # Without ORDER BY in the reference, the order does not count.
        ("SELECT name FROM customer ORDER BY age DESC", "SELECT name FROM customer"),
        # One float is written as an integer, and another misses the last digits.
        ("SELECT 2, 0.1 + 0.2 FROM customer", "SELECT 2.0, 0.3 FROM customer"),
    ],
)
def test_equal_results_pass_everywhere(response: str, reference: str) -> None:
    found = compare(response, reference)
    assert (found["verdict"], found["copies"], found["skipped"]) == ("pass", 8, 0), found


@pytest.mark.parametrize(
    ("response", "reference", "text"),
    [
        ("SELECT name FROM customer", FRENCH, "5 rows instead of 1; 4 too many, such as ('Ann')"),
        ("SELECT name, age FROM customer", FRENCH, "2 columns instead of 1"),
        (
            "SELECT DISTINCT country FROM customer",
            "SELECT country FROM customer",
            "4 rows instead of 5; 1 missing, such as ('France')",
        ),
        (
            "SELECT name FROM customer ORDER BY age",
            "SELECT name FROM customer ORDER BY age DESC",
            "the same rows, but not in the reference's order",
        ),
        ("SELECT '30' FROM customer", "SELECT 30 FROM customer", "other rows; 5 missing"),
        ("SELECT nope FROM customer", FRENCH, "SQLite: no such column: nope"),
        ("", FRENCH, "not a query that returns rows"),
        ("SELECT 1; DROP TABLE customer", FRENCH, "more than one statement"),
        ("SELECT name FROM customer WHERE id = ?", FRENCH, "bindings"),
        ("SELECT random() FROM customer", FRENCH, "uses random numbers"),
        ("SELECT '\ud800'", FRENCH, "surrogates not allowed"),
        ("SELECT '\0'", FRENCH, "null character"),
    ],
)
def test_other_results_fail_with_the_reason(response: str, reference: str, text: str) -> None:
    found = compare(response, reference)
    assert found["verdict"] == "fail"
    assert text in found["text"]


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("DELETE FROM customer", "it does more than reading: DELETE customer"),
        ("INSERT INTO customer VALUES (9, 'x', 'y', 1) RETURNING id", "INSERT customer"),
        ("UPDATE customer SET age = 1 RETURNING name", "UPDATE customer"),
        ("DROP TABLE customer", "more than read"),
        ("CREATE TABLE stolen AS SELECT * FROM customer", "more than read"),
        ("ATTACH '/etc/passwd' AS x", "ATTACH /etc/passwd"),
        ("VACUUM INTO '/tmp/copy.db'", "ATTACH /tmp/copy.db"),
        ("PRAGMA journal_mode = WAL", "PRAGMA journal_mode"),
        ("SELECT name FROM pragma_table_info('customer')", "more than read"),
        ("SELECT load_extension('/tmp/evil.so')", "loads an extension"),
        ("SELECT readfile('/etc/passwd')", "no such function: readfile"),
        (FOREVER.format("count(*)"), "longer than 0.5 s"),
        (FOREVER.format("n"), "more than 1,000 rows"),
        ("SELECT zeroblob(100000000)", "too much memory"),
    ],
)
def test_a_query_that_does_more_than_read_fails(response: str, text: str) -> None:
    found = compare(response, FRENCH)
    assert found["verdict"] == "fail"
    assert text in found["text"]


@pytest.mark.parametrize(
    ("response", "reference"),
    [
        ("SELECT name FROM customer WHERE age >= 41", FRENCH),
        ("SELECT name FROM customer WHERE id = 3", FRENCH),
        ("SELECT 'Cy'", FRENCH),
        # > and >= differ only on a boundary that no row has: copies get the queries' constants.
        (
            "SELECT name FROM customer WHERE age >= 31",
            "SELECT name FROM customer WHERE age > 31",
        ),
        # A row without orders exists, and a duplicate does not.
        (
            "SELECT count(DISTINCT total) FROM orders",
            "SELECT count(total) FROM orders",
        ),
    ],
)
def test_a_query_that_is_right_by_accident_is_found(response: str, reference: str) -> None:
    alone = compare(response, reference, copies=0)
    assert alone["verdict"] == "pass"
    found = compare(response, reference)
    assert found["verdict"] == "fail"
    assert "by accident; on changed copy" in found["text"]


def test_copies_are_seeded_and_keep_what_the_database_declares() -> None:
    first, second = compare("SELECT 'Cy'", FRENCH), compare("SELECT 'Cy'", FRENCH)
    assert first == second
    # True of every database with these keys and constraints, and of no others.
    orphans = "SELECT count(*) FROM orders WHERE customer_id NOT IN (SELECT id FROM customer)"
    nulls = "SELECT count(*) - count(name) FROM customer"
    twice = "SELECT count(*) - count(DISTINCT id) FROM customer"
    for query in (orphans, nulls, twice):
        assert compare("SELECT 0", query, copies=16)["code"] == "blank"  # on all copies


def test_ties_in_the_order_of_the_reference_may_be_in_any_order() -> None:
    script = "CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'x'), (2, 'x'), (3, 'w')"
    reference = "SELECT a, b FROM t ORDER BY b"
    assert compare("SELECT a, b FROM t ORDER BY b, a DESC", reference, script)["verdict"] == "pass"
    assert compare("SELECT a, b FROM t ORDER BY a", reference, script)["code"] == "order"
    # The term is not among the columns.
    hidden = "SELECT a FROM t ORDER BY b"
    assert compare("SELECT a FROM t ORDER BY b, a DESC", hidden, script)["verdict"] == "pass"
    assert compare("SELECT a FROM t ORDER BY a", hidden, script)["code"] == "order"
    # It cannot be added to a DISTINCT: nothing is said.
    distinct = "SELECT DISTINCT a FROM t ORDER BY b"
    assert compare("SELECT a FROM t ORDER BY b, a DESC", distinct, script)["verdict"] == "open"


def test_a_limit_that_cuts_through_ties_decides_nothing() -> None:
    script = "CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 5), (2, 5), (3, 1)"
    oldest = "SELECT a FROM t ORDER BY b DESC LIMIT 1"
    found = compare("SELECT a FROM t ORDER BY b DESC, a DESC LIMIT 1", oldest, script)
    assert (found["verdict"], found["code"]) == ("open", "ties")
    everyone = "SELECT a FROM t WHERE b = (SELECT max(b) FROM t)"
    assert compare(everyone, oldest, script)["verdict"] == "open"
    assert compare("SELECT a FROM t WHERE b = 1 AND a = 9", oldest, script)["verdict"] == "fail"
    any_two = "SELECT a FROM t LIMIT 2"
    assert compare("SELECT a FROM t ORDER BY a DESC LIMIT 2", any_two, script)["verdict"] == "open"


def test_two_results_without_rows_decide_nothing() -> None:
    nobody = "SELECT name FROM customer WHERE age > 1000"
    found = compare("SELECT name FROM customer WHERE age > 2000", nobody)
    assert found["verdict"] == "open" and "any query that finds nothing" in found["text"]


@pytest.mark.parametrize(
    ("script", "reference", "text"),
    [
        ("CREATE TABL customer(a)", FRENCH, 'database cannot be built: SQLite: near "TABL"'),
        ("", FRENCH, "the database cannot be built: it has no tables"),
        ("ATTACH '/tmp/x.db' AS x; CREATE TABLE x.t(a)", FRENCH, "built: it does more than read"),
        ("PRAGMA writable_schema = ON", FRENCH, "built: it does more than read"),
        (SHOP, "SELECT nope FROM customer", "reference query cannot be used: SQLite: no such"),
        (SHOP, "DELETE FROM customer", "reference query cannot be used: it does more than read"),
        (SHOP, FOREVER.format("n"), "reference query cannot be used: it returns more than 1,000"),
        (SHOP, "SELECT random() FROM customer", "reference query cannot be used: it uses random"),
    ],
)
def test_what_cannot_be_judged_is_an_error(script: str, reference: str, text: str) -> None:
    found = compare(FRENCH, reference, script)
    assert found["verdict"] == "error"
    assert text in found["text"]


def test_a_database_file_is_read_also_after_a_write_ahead_log(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(SHOP)
    connection.close()
    file = b64encode((tmp_path / "shop.db").read_bytes()).decode()
    assert compare(FRENCH, FRENCH, file=file)["verdict"] == "pass"
    broken = b64encode(b"SQLite format 3\0" + b"x" * 500).decode()
    found = compare(FRENCH, FRENCH, file=broken)
    assert found["verdict"] == "error" and "database cannot be built" in found["text"]


def test_triggers_of_the_database_do_not_run_in_copies() -> None:
    trigger = (
        "CREATE TABLE log(a); CREATE TRIGGER spy AFTER DELETE ON customer BEGIN INSERT INTO log "
        "VALUES (1); END;"
    )
    found = compare("SELECT 1", "SELECT 1 + count(*) FROM log", SHOP + trigger)
    assert found["verdict"] == "pass"


def test_rows_that_differ_in_floats_find_their_counterparts() -> None:
    near = [(index % 3, index + 1e-9) for index in range(300)]
    exact = [(index % 3, float(index)) for index in reversed(range(300))]
    assert worker._unmatched(exact, near, 1e-6) == ([], [])
    missing, extra = worker._unmatched([*exact, (0, 7.5)], [*near, (1, 7.5)], 1e-6)
    assert (missing, extra) == ([(0, 7.5)], [(1, 7.5)])


BEST = "SELECT name FROM customer WHERE id = (SELECT id FROM customer ORDER BY {} LIMIT 1)"


@pytest.mark.parametrize(
    ("reference", "response"),
    [
        (BEST.format("country = 'France' DESC"), BEST.format("country = 'France' DESC, id DESC")),
        (
            "SELECT name FROM (SELECT name, row_number() OVER (ORDER BY country IS NULL) AS place "
            "FROM customer) WHERE place = 1",
            "SELECT name FROM customer WHERE name = 'Ed'",
        ),
        (
            "SELECT group_concat(name) FROM customer",
            "SELECT group_concat(name) FROM (SELECT name FROM customer ORDER BY id DESC)",
        ),
    ],
)
def test_ties_inside_the_reference_decide_nothing(reference: str, response: str) -> None:
    found = compare(response, reference)
    assert (found["verdict"], found["code"]) == ("open", "storage")
    view = f"{SHOP} create view w as {reference};"
    assert compare(response, "SELECT * FROM w", view)["code"] == "storage"


def test_a_limit_in_a_subquery_without_ties_decides() -> None:
    oldest = BEST.format("age DESC, id")
    assert compare("SELECT name FROM customer WHERE id = 1", oldest)["verdict"] == "fail"
    assert compare("SELECT 'Cy'", oldest)["verdict"] == "fail"  # on a copy


def test_tables_without_row_numbers_change_in_copies() -> None:
    """They stayed as they were, and a constant passed on all of the copies."""
    table = "CREATE TABLE {}; INSERT INTO w(k, v) VALUES ('a', 1), ('b', 2), ('c', 3), ('d', 4);"
    for columns in ("w(k TEXT PRIMARY KEY, v) WITHOUT ROWID", "w(rowid, k TEXT, v)"):
        script = table.format(columns)
        found = compare("SELECT 3", "SELECT v FROM w WHERE k = 'c'", script, copies=32)
        assert found["verdict"] == "fail"
        assert "on changed copy" in found["text"]


def test_a_copy_without_a_change_is_not_counted() -> None:
    script = "CREATE TABLE w(k INTEGER PRIMARY KEY); INSERT INTO w VALUES (1);"
    found = compare("SELECT 1", "SELECT k FROM w", script, copies=1)
    assert found["text"] == "the same row; 1 copy could not be compared"


def test_functions_that_return_tables_may_be_read() -> None:
    script = "CREATE TABLE t(id INTEGER PRIMARY KEY, tags TEXT);"
    script += """INSERT INTO t(tags) VALUES ('["a"]'), ('["b"]'), ('["a", "b"]'), ('["c"]');"""
    response = "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM json_each(tags) WHERE value = 'b')"
    found = compare(response, "SELECT id FROM t WHERE tags LIKE '%b%'", script)
    assert found["verdict"] == "pass"
    write = "UPDATE sqlite_master SET sql = 'x' RETURNING name"
    assert compare(write, "SELECT id FROM t", script)["verdict"] == "fail"


def test_copies_keep_full_text_indexes_whole() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE d(id INTEGER PRIMARY KEY, body TEXT);"
        "CREATE VIRTUAL TABLE f USING fts5(body, content='d', content_rowid='id');"
        "CREATE TRIGGER i AFTER INSERT ON d BEGIN INSERT INTO f(rowid, body) VALUES "
        "(new.id, new.body); END;"
        "INSERT INTO d(body) VALUES ('red one'), ('blue one'), ('red two'), ('green three');"
    )
    connection.commit()
    file = b64encode(connection.serialize()).decode()
    reference = "SELECT count(*) FROM f WHERE f MATCH 'red'"
    response = "SELECT count(*) FROM d WHERE body LIKE 'red %'"
    assert compare(response, reference, file=file)["verdict"] == "pass"
    assert compare("SELECT 2", reference, file=file)["verdict"] == "fail"


def test_aggregates_of_nothing_decide_nothing() -> None:
    """Any condition that no row meets would count 0, too."""
    count = "SELECT count(*), max(age) FROM customer WHERE name = {}"
    found = compare(count.format("'Zoe'"), count.format("'Yan'"))
    assert (found["verdict"], found["code"]) == ("open", "blank")


def test_many_rows_of_other_floats_are_compared_quickly() -> None:
    expected = [(number * 0.37,) for number in range(20_000)]
    other = [(number * 0.41,) for number in range(20_000)]
    started = process_time()
    missing, extra = worker._unmatched(expected, other, 1e-6)
    assert process_time() - started < 5
    assert len(missing) == len(extra) > 10_000


def test_keys_that_cannot_be_checked_do_not_prevent_copies() -> None:
    """Data sets such as Spider have many; no copy was compared, and a constant passed."""
    script = "CREATE TABLE p(id INT, n INT); CREATE TABLE c(pid INT REFERENCES p(id), v INT);"
    for number in range(6):
        script += f"INSERT INTO p VALUES ({number}, {number * 3});"
        script += f"INSERT INTO c VALUES ({number}, {number * 7});"
    reference = "SELECT sum(v) FROM c JOIN p ON p.id = c.pid WHERE n > 3"
    assert compare("SELECT 98", reference, script)["verdict"] == "fail"
    found = compare("SELECT sum(v) FROM c, p WHERE pid = id AND n > 3", reference, script)
    assert (found["verdict"], found["copies"] > 0) == ("pass", True)


def test_a_large_table_is_said_to_be_changed_in_part() -> None:
    script = (
        "CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER); WITH RECURSIVE r(n) AS "
        "(SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {}) INSERT INTO t SELECT n, n % 7 FROM r"
    )
    query = "SELECT b, count(*) FROM t GROUP BY b"
    large = compare(query, query, script.format(1334), copies=1)
    assert large["text"].endswith(
        "the copies change at most 400 of up to 1334 rows of a table, so a difference in few rows "
        "may be missed"
    )
    assert "at most" not in compare(query, query, script.format(1333), copies=1)["text"]
