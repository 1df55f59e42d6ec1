"""Pictures of a run beyond its figures: over time, by slice, how it went. They show what the JSON
says, and the JSON what the run holds.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest

from adjudge import AspectCritic, Instance
from adjudge.core.ledger.file import FILE
from adjudge.trust.labels.store import LabelStore
from support.agent_runs import agent_run
from support.commands import adjudge
from support.labels import label, model
from support.page import Page, served

TOPICS = ("shoes", "hats", "<b>coats</b>")


def _run(folder: Path, passes: int) -> None:
    """60 rows of three topics; of each ten the first ``passes`` pass, and row 7 cannot be read."""

    def verdict(prompt: str) -> str:
        number = int(prompt[prompt.rindex("text ") + 5 :].split(maxsplit=1)[0])
        return "" if number == 7 else "PASS" if number % 10 < passes else "FAIL"

    AspectCritic("It is kind.", model(verdict), name="kind", max_repairs=0).evaluate(
        [
            Instance({"response": f"text {number} .", "topic": TOPICS[number % 3]}, f"r{number}")
            for number in range(60)
        ],
        run=folder,
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for name, passes in (("first", 3), ("second", 8), ("third", 5)):
        _run(root / name, passes)
    ledger = sqlite3.connect(root / "third" / FILE)
    (first,) = ledger.execute("SELECT min(at) FROM votes").fetchone()
    with ledger:  # one vote each ten seconds
        ledger.execute("UPDATE votes SET at = ? + 10 * number", (first,))
    ledger.close()
    return root


@pytest.fixture(scope="module")
def page(root: Path) -> Iterator[Page]:
    with served(root) as found:
        yield found


def test_the_same_question_is_followed_over_the_runs_that_ask_it(page: Page) -> None:
    (trend,) = page.data(f"{page.run('second')}/pictures")["trends"]
    means = {one["name"]: one["judges"][0]["means"][""] for one in page.data("/")["runs"]}
    assert [one["name"] for one in trend["moments"]] == ["first", "second", "third"]
    for one in trend["moments"]:
        assert {key: one[key] for key in means[one["name"]]} == means[one["name"]]
        assert one["same_judge"]
        assert one["is_this"] == (one["name"] == "second")
    shown = page.get(f"{page.run('second')}/pictures?part=1").text
    told = [f'aria-label="{one["name"]}: {one["value"]:.3f} (' for one in trend["moments"]]
    assert all(one in shown for one in told)
    heights = [float(one) for one in re.findall(r'cy="([\d.]+)" r="4"', shown)][:3]
    by_value = sorted(range(3), key=lambda place: trend["moments"][place]["value"])
    assert sorted(range(3), key=lambda place: -heights[place]) == by_value


def test_scores_are_told_apart_by_a_column(page: Page) -> None:
    run = page.run("third")
    found = page.data(f"{run}/pictures")
    assert found["columns"] == ["topic"]
    (one,) = found["slices"]
    for each in one["slices"]:
        numbers = [n for n in range(60) if TOPICS[n % 3] == each["name"] and n != 7]
        assert each["value"] == pytest.approx(fmean(n % 10 < 5 for n in numbers))
        assert (each["rows"], each["scores"]) == (20, len(numbers))
        assert 0 <= each["lower"] < each["value"] < each["upper"] <= 1
    shown = page.get(f"{run}/pictures").text
    assert "&lt;b&gt;coats&lt;/b&gt;" in shown
    assert "<b>coats" not in shown
    assert f"{one['slices'][0]['value']:.3f} ({one['slices'][0]['lower']:.3f}–" in shown
    assert page.get(f"{run}/pictures?by=nothing").status == 400


def test_scores_by_two_columns_say_which_system_is_lower_in_which_slice(tmp_path: Path) -> None:
    def verdict(prompt: str) -> str:
        number = int(prompt[prompt.rindex("text ") + 5 :].split(maxsplit=1)[0])
        return "" if number == 3 else "FAIL" if number % 4 == 3 else "PASS"

    rows = [
        {
            "response": f"text {number} .",
            "category": "billing" if number % 4 > 1 else "returns",
            "system": "5.0" if number % 2 else "4.2",
        }
        for number in range(80)
    ]
    AspectCritic("It is kind.", model(verdict), name="kind", max_repairs=0).evaluate(
        [Instance(row, f"r{number}") for number, row in enumerate(rows)], run=tmp_path / "two"
    )
    with served(tmp_path) as page:
        address = f"{page.run('two')}/pictures?by=category"
        (crossed,) = page.data(address)["crossed"]
        shown = page.get(address).text
        assert page.data(f"{address}&across=")["crossed"] == []
    assert crossed["across"] == ["4.2", "5.0"]
    slices = {one["name"]: one for one in crossed["slices"]}
    figures = {
        name: [(cell["rows"], cell["scores"], cell["value"]) for cell in one["cells"]]
        for name, one in slices.items()
    }
    assert figures == {
        "billing": [(20, 20, 1.0), (20, 19, 0.0)],
        "returns": [(20, 20, 1.0), (20, 20, 1.0)],
    }
    assert {name: one["lower"] for name, one in slices.items()} == {
        "billing": ["5.0"],
        "returns": [],
    }
    assert crossed["each"] == pytest.approx(1 - 0.05 / 4)
    assert '0.000 <span class="soft nowrap">0.00–' in shown
    assert ' <div class="soft">(19 of 20)</div>' in shown


def test_slices_of_a_comparison_have_win_rates(tmp_path: Path) -> None:
    """All rows of it were shown as not scored."""
    lines = "".join(f"{n},{'kettle' if n < 12 else 'lamp'},a,b\n" for n in range(24))
    (tmp_path / "pairs.csv").write_text(f"question,product,new,old\n{lines}")
    replies = ",".join(["A,B"] * 15 + ["B,A"] * 9)
    compare = ("compare", "-f", "pairs.csv", "--column", "new", "--column", "old", "-j", "1")
    question = ("--criterion", "Which?", "-m", f"scripted/{replies}", "--no-cache")
    adjudge(*compare, *question, "--run", "pairs", cwd=tmp_path)
    with served(tmp_path) as page:
        address = f"{page.run('pairs')}/pictures?by=product"
        (found,) = page.data(address)["slices"]
        shown = page.get(address).text
    slices = {one["name"]: (one["rows"], one["scores"], one["value"]) for one in found["slices"]}
    assert slices == {"kettle": (12, 12, 1.0), "lamp": (12, 12, 0.25)}
    assert found["system"] == "new"
    assert "Win rate and interval" in shown
    assert "win rate of new by product: simultaneous 95% intervals over all slices" in shown


def test_intervals_of_slices_hold_together_for_each_criterion(page: Page) -> None:
    shown = page.get(f"{page.run('third')}/pictures").text
    promise = (
        "simultaneous 95% intervals over all slices, for this judge and criterion (each at 98.33%)"
    )
    assert promise in shown


def test_how_a_run_went_is_what_its_votes_say(page: Page, root: Path) -> None:
    course = page.data(f"{page.run('third')}/pictures")["course"]
    ledger = sqlite3.connect(root / "third" / FILE)
    votes, tokens, seconds = ledger.execute(
        "SELECT count(*), sum(prompt_tokens + completion_tokens), sum(latency) FROM votes"
    ).fetchone()
    ledger.close()
    assert sum(one["votes"] for one in course) == votes == 60
    assert sum(one["failed"] for one in course) == 1
    assert sum(one["tokens"] for one in course) == tokens
    spent = sum(one["votes"] * one["latency"] for one in course if one["votes"])
    assert spent == pytest.approx(seconds)
    assert [one["from"] for one in course] == pytest.approx([n * 590 / 24 for n in range(24)])
    shown = page.get(f"{page.run('third')}/pictures").text
    place = next(place for place, one in enumerate(course) if one["failed"])
    minutes, rest = divmod(int(course[place]["from"]), 60)
    assert f'aria-label="{minutes}:{rest:02}: 1"' in shown


def test_counts_of_peoples_stands_follow_the_other_filters(root: Path) -> None:
    rows = [
        Instance({"response": f"text {n} .", "topic": TOPICS[n % 3]}).identity for n in range(9)
    ]
    LabelStore(root / "first").add(
        *(label(option="PASS", criteria="kind", row=one, design="chosen") for one in rows)
    )
    with served(root) as page:
        run = page.run("first")
        assert page.data(run)["people"] == {"agree": 3, "differ": 5, "open": 1}
        assert page.data(f"{run}?verdict=FAIL")["people"] == {"differ": 5}
        assert page.data(f"{run}?verdict=FAIL&people=agree")["people"] == {"differ": 5}
        assert page.data(f"{run}?rows=1-4&people=agree")["people"] == {"agree": 3, "differ": 1}
        listed = page.data(f"{run}?rows=1-4&people=agree")["rows"]
        assert len(listed) == 3


def test_runs_of_agents_have_pictures_and_no_slice_for_each_trajectory(tmp_path: Path) -> None:
    agent_run(tmp_path / "agents", measures=("errors", "goal"))
    with served(tmp_path) as page:
        address = f"{page.run('agents')}/pictures"
        found = page.data(address)
        assert "trajectory" not in found["columns"]
        assert {one["criterion"] for one in found["slices"]} == {"errors", "goal"}
        every = page.data(f"{address}?by=trajectory")["slices"]
        assert 0 < len(every) <= 2, "a criterion whose rows lack the column is left out"
        assert page.get(f"{address}?by=nothing").status == 400
