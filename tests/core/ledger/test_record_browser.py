"""Pages of judgments: each judgment once, and a page deep in the list costs what the first one
costs.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator

import pytest

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.ledger import record_browser as browse
from adjudge.core.ledger.codec import flag_bit
from adjudge.core.ledger.figures import figures_of
from adjudge.core.ledger.file import FILE, connect, make_tables, write_meta
from adjudge.core.ledger.record_browser import Filters, JudgmentPage, judges_in, page_of
from adjudge.core.ledger.rows import insert, with_checksum
from adjudge.errors import SetupError
from adjudge.runs.folder import reading

ROWS = 3_000
SCORES = (0.0, 0.1, 0.25, 1 / 3, 1.0)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    folder, choice = tmp_path_factory.mktemp("run"), random.Random(0)
    with connect(folder / FILE) as made:
        make_tables(made, folder / FILE)
        write_meta(made, {"configuration": {"judges": {}}})
        made.execute("BEGIN")
        made.executemany(insert("judgments"), [judgment(choice, number) for number in range(ROWS)])
        made.execute("COMMIT")
    with reading(folder) as found:
        yield found


def judgment(choice: random.Random, number: int) -> tuple[object, ...]:
    status = choice.choice(("failed", "abstained", *("scored",) * 8))
    score = choice.choice(SCORES) if status == "scored" and choice.random() < 0.9 else None
    said = "low" if (score or 0) < 0.3 else "high"
    text = f'{{"response": "текст {number}"}}'
    flags = flag_bit("tie") if number == 2_900 else 0
    return with_checksum(
        "judge", number, None, text, b"", status, score, "criterion", said, flags, "{}"
    )


def every_page(
    ledger: sqlite3.Connection, filters: Filters, size: int = 50
) -> Iterator[JudgmentPage]:
    after: str | None = ""
    while after is not None:
        page = page_of(ledger, filters, after, size=size)
        yield page
        after = page.next


@pytest.mark.parametrize("sort", browse.SORTS)
@pytest.mark.parametrize("size", [7, 50, 5_000])
def test_every_judgment_is_on_exactly_one_page(
    ledger: sqlite3.Connection, sort: browse.Sort, size: int
) -> None:
    rows = [
        line.row
        for page in every_page(ledger, Filters(judge="judge", sort=sort), size)
        for line in page.lines
    ]
    assert sorted(rows) == list(range(1, ROWS + 1))
    assert sort in ("worst", "best") or rows == sorted(rows, reverse=sort == "last")


def test_the_worst_are_those_without_a_score_then_the_lowest(ledger: sqlite3.Connection) -> None:
    lines = [line for page in every_page(ledger, Filters(judge="judge")) for line in page.lines]
    order = [
        (
            ("failed", "abstained", "scored").index(line.status),
            line.score is not None,
            line.score or 0,
            line.row,
        )
        for line in lines
    ]
    assert order == sorted(order)


MEASURES = ("ended", "errors", "steps")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """100 rows with a share, two counts, and no score for some."""
    folder, choice = tmp_path_factory.mktemp("run"), random.Random(1)
    kept: list[JsonValue] = [
        {"name": name, "higher_is_better": name == "ended", "options": []} for name in MEASURES
    ]
    with connect(folder / FILE) as made:
        make_tables(made, folder / FILE)
        write_meta(made, {"configuration": {"judges": {"agent": {"criteria": kept}}}})
        made.execute("BEGIN")
        for number in range(300):
            measure = MEASURES[number % 3]
            score = {
                "ended": choice.choice((0.0, 1.0)),
                "errors": float(choice.choice((0, 0, 1, 2))),
                "steps": float(choice.choice((0, 9, 40))),
            }[measure]
            status = choice.choice(("failed", *("scored",) * 9))
            kept_score = score if status == "scored" else None
            row = ("agent", number, None, "{}", b"", status, kept_score, measure, None, 0, "{}")
            made.execute(insert("judgments"), with_checksum(*row))
        made.execute("COMMIT")
    with reading(folder) as found:
        yield found


@pytest.mark.parametrize("size", [7, 500])
@pytest.mark.parametrize("sort", ["worst", "best"])
def test_of_counts_the_highest_are_the_worst(
    counted: sqlite3.Connection, sort: browse.Sort, size: int
) -> None:
    pages = every_page(counted, Filters(judge="agent", sort=sort), size)
    lines = [line for page in pages for line in page.lines]
    assert len({line.row for line in lines}) == len(lines) == 300
    scored = [(line.criterion, line.score) for line in lines if line.score is not None]
    shares = [score for name, score in scored if name == "ended"]
    assert shares == sorted(shares, reverse=sort == "best")
    assert [name for name, _ in scored[: len(shares)]] == ["ended"] * len(shares)
    counts = scored[len(shares) :] if sort == "worst" else scored[len(shares) :][::-1]
    zeros = [score for _, score in counts].count(0.0)
    assert zeros and all(score == 0 for _, score in counts[-zeros:])
    for measure in ("errors", "steps"):
        own = [score for name, score in counts if name == measure]
        assert own == sorted(own, reverse=True)


@pytest.mark.parametrize("sort", browse.SORTS)
def test_a_deep_page_costs_what_the_first_one_costs(
    ledger: sqlite3.Connection, sort: browse.Sort
) -> None:
    """Counted in steps of SQLite's machine, not in time."""
    filters, steps = Filters(judge="judge", sort=sort), []
    pages = list(every_page(ledger, filters))
    for page in (pages[0], pages[len(pages) // 2], pages[-3]):
        counted = [0]

        def count(counted: list[int] = counted) -> None:
            counted[0] += 1

        ledger.set_progress_handler(count, 10)
        page_of(ledger, filters, page.next or "")
        ledger.set_progress_handler(None, 0)
        steps.append(counted[0])
    assert max(steps) < 2 * min(steps)


@pytest.mark.parametrize("status", [None, "scored", "failed"])
def test_the_best_are_the_highest_and_those_without_a_score_come_last(
    ledger: sqlite3.Connection, status: str | None
) -> None:
    filters = Filters(judge="judge", sort="best", status=status)
    lines = [line for page in every_page(ledger, filters) for line in page.lines]
    known = [line.score for line in lines if line.score is not None]
    assert known == sorted(known, reverse=True)
    assert all(line.score is None for line in lines[len(known) :])


def test_filters_hold_together(ledger: sqlite3.Connection) -> None:
    filters = Filters(
        judge="judge", status="scored", verdict="low", least=0.1, most=0.25, words="ТЕКСТ 1"
    )
    found = [line for page in every_page(ledger, filters) for line in page.lines]
    assert found
    assert all(
        line.score in (0.1, 0.25) and line.verdict == "low" and line.begins.startswith("текст 1")
        for line in found
    )


def test_what_is_rare_is_looked_for_in_parts(
    ledger: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "LOOKED_AT", 500)
    pages = list(every_page(ledger, Filters(judge="judge", flag="tie", sort="row")))
    assert [len(page.lines) for page in pages] == [
        0,
        0,
        0,
        0,
        0,
        1,
        *([0] if len(pages) == 7 else []),
    ]
    assert [page.looked_at for page in pages[:5]] == [500] * 5


def test_figures_count_what_is_there(ledger: sqlite3.Connection) -> None:
    figures = figures_of(ledger, "judge", JudgeConfiguration())
    assert sum(figures.statuses.values()) == ROWS
    scored = ledger.execute("SELECT count(score) FROM judgments").fetchone()[0]
    assert sum(count for *_, count in figures.histogram) == scored
    assert judges_in(ledger) == ["judge"]


@pytest.mark.parametrize("after", ["x", "1_2", "a_b_c", "0__"])
def test_a_place_that_nobody_gave_is_refused(ledger: sqlite3.Connection, after: str) -> None:
    with pytest.raises(SetupError, match="not a valid position in a list"):
        page_of(ledger, Filters(judge="judge"), after)


def test_the_mean_is_that_of_the_scores_and_bars_reach_from_end_to_end(
    ledger: sqlite3.Connection,
) -> None:
    figures = figures_of(ledger, "judge", JudgeConfiguration())
    mean, statuses = ledger.execute(
        "SELECT avg(score), count(*) FROM judgments WHERE status = 'scored'"
    ).fetchone()
    assert figures.mean
    assert figures.mean.value == pytest.approx(mean)
    assert figures.mean.interval
    assert figures.mean.interval.lower < mean < figures.mean.interval.upper
    assert figures.statuses["scored"] == statuses
    for low, high, count in figures.histogram:
        last = "<=" if high == pytest.approx(1) else "<"
        query = (
            "SELECT count(*) FROM judgments WHERE status = 'scored' AND score >= ? - 1e-9 AND "
            f"score {last} ? - 1e-9 + ?"
        )
        assert (
            ledger.execute(query, (low, high, 1e-6 if last == "<=" else 0)).fetchone()[0] == count
        )
