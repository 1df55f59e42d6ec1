"""What ``adjudge rank`` says of sweeps, of a baseline that is always listed first, and of judges
that state probabilities.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge import PairwiseInstance, PairwiseJudge
from adjudge.features.importers.importing import import_file
from adjudge.runs.results.leaderboard import Leaderboard, RankingSettings, leaderboards
from adjudge.stats.bootstrap import Draws
from adjudge.stats.ranking import NamedContest, rank
from adjudge.trust.calibration import CalibrationSettings, calibrate_run
from support.commands import adjudge
from support.labels import model

FEW = Draws(100, 1)


def alpaca(
    preferences: list[float], model: str = "new", *, turned: bool = False
) -> list[dict[str, Any]]:
    """Rows as AlpacaEval writes them, a baseline against a model; ``turned``: every other one with
    the model first.
    """
    rows = []
    for place, preference in enumerate(preferences):
        names = ("old", model) if not turned or place % 2 else (model, "old")
        texts = {f"output_{at}": f"{name} {place}" for at, name in enumerate(names, 1)}
        generators = {f"generator_{at}": name for at, name in enumerate(names, 1)}
        said = preference if names[1] == model else 3 - preference
        rows.append(
            {
                "instruction": f"q{place}",
                **texts,
                **generators,
                "annotator": "gpt",
                "preference": said,
                "dataset": "own",
            }
        )
    return rows


def board(tmp_path: Path, rows: list[dict[str, Any]]) -> Leaderboard:
    (tmp_path / "annotations.json").write_text(json.dumps(rows))
    import_file(tmp_path / "annotations.json", tmp_path / "run")
    (found,) = leaderboards(tmp_path / "run", RankingSettings(draws=FEW))
    return found


def test_a_preference_of_1_6_is_six_tenths_of_a_win_and_no_whole_one(tmp_path: Path) -> None:
    found = board(tmp_path, alpaca([1.6, 1.7, 1.6, 1.1, 2.0, 1.0] * 5))
    rates = {one.name: one.win_rate for one in found.ranking.places}
    assert rates == pytest.approx({"new": 0.5, "old": 0.5})
    assert {one.name: one.rating for one in found.ranking.places} == pytest.approx(
        {"new": 1000, "old": 1000}, abs=0.01
    )
    assert [
        (one.name, one.wins, one.losses) for one in found.ranking.places if one.name == "new"
    ] == [("new", 20, 10)]


def test_the_uncorrected_number_of_calibrate_is_the_stated_win_rate(tmp_path: Path) -> None:
    rows = alpaca([1.6, 1.7, 1.6, 1.1, 2.0, 1.0] * 5)
    people = [{**one, "annotator": "human", "preference": 2} for one in rows]
    (tmp_path / "annotations.json").write_text(json.dumps([*rows, *people]))
    import_file(tmp_path / "annotations.json", tmp_path / "run")
    (found,) = calibrate_run(tmp_path / "run", settings=CalibrationSettings(agreement=None))
    assert found.naive.value == pytest.approx(0.5)


def test_a_run_shows_the_stated_win_rate(tmp_path: Path) -> None:
    board(tmp_path, alpaca([1.25] * 10))
    shown = json.loads(adjudge("runs", "show", "run", "--json", cwd=tmp_path).stdout)
    rates = {one["system"]: one["win_rate"] for one in shown["criteria"][0]["systems"]}
    assert rates == pytest.approx({"old": 0.75, "new": 0.25})


def test_a_sweep_has_no_limits_and_says_why() -> None:
    found = rank([NamedContest("a", "b", "a")] * 20, draws=FEW)
    assert [(one.name, one.lower, one.upper) for one in found.places] == [
        ("a", None, None),
        ("b", None, None),
    ]
    assert [(one.best_rank, one.worst_rank) for one in found.places] == [
        (1, 1),
        (2, 2),
    ]  # 20 of 20 is not a chance


def test_a_sweep_of_three_contests_settles_no_rank() -> None:
    found = rank([NamedContest("a", "b", "a")] * 3, draws=FEW)
    assert [(one.best_rank, one.worst_rank) for one in found.places] == [(1, 2), (1, 2)]


def test_three_contests_of_one_prompt_are_one_sweep() -> None:
    found = rank([NamedContest("a", "b", "a")] * 20, prompts=["p"] * 20, draws=FEW)
    assert [(one.best_rank, one.worst_rank) for one in found.places] == [(1, 2), (1, 2)]


def test_who_lost_once_of_many_has_no_upper_limit_made_of_padding() -> None:
    """In a third of the draws it lost none: then nothing but the padding says how strong it is."""
    found = rank([NamedContest("a", "b", "a")] * 40 + [NamedContest("a", "b", "b")], draws=FEW)
    assert not found.padded
    assert [(one.lower, one.upper) for one in found.places] == [(None, None)] * 2


def test_beside_somebody_who_never_won_nobody_has_limits() -> None:
    """Ratings are about their mean, and nothing but padding says how weak the third one is."""
    even = [NamedContest("a", "b", "a"), NamedContest("a", "b", "b")] * 20
    weak = [NamedContest(name, "c", name) for name in "ab"] * 20
    limits = {one.name: (one.lower, one.upper) for one in rank([*even, *weak], draws=FEW).places}
    assert {*limits.values()} == {(None, None)}


def test_contests_about_one_prompt_have_no_limits_instead_of_limits_without_a_width(
    tmp_path: Path,
) -> None:
    rows = [
        {**one, "instruction": "the only one"} for one in alpaca([1.0, 2.0, 2.0] * 10, turned=True)
    ]
    found = board(tmp_path, rows)
    assert {(one.lower, one.upper) for one in found.ranking.places} == {(None, None)}
    assert "no limits: all contests are about 1 prompt; at least 30 are needed" in found.notes


def test_the_page_and_the_terminal_show_a_dash_for_limits_that_are_not_known(
    tmp_path: Path,
) -> None:
    found = board(tmp_path, alpaca([2.0] * 20, turned=True))
    assert "no limits: all contests are about 20 prompts; at least 30 are needed" in found.notes
    done = adjudge("rank", "run", "-o", "board.html", cwd=tmp_path)
    assert done.returncode == 0
    assert "–" in next(
        line for line in done.stdout.splitlines() if line.startswith("1 ") and "new" in line
    )
    assert (tmp_path / "board.html").read_text()


def test_a_baseline_that_is_always_listed_first_is_named(tmp_path: Path) -> None:
    found = board(tmp_path, alpaca([1.0, 2.0] * 20))
    assert found.notes == [
        (
            "always listed first and asked in one order: old; a bias towards the first position "
            "cannot be told from strength"
        )
    ]


def test_a_baseline_that_always_loses_is_no_leaning_towards_the_second_place(
    tmp_path: Path,
) -> None:
    found = board(tmp_path, alpaca([2.0] * 38 + [1.0, 1.0]))
    assert not any("ask in both orders" in note for note in found.notes)


def test_where_the_places_are_mixed_the_order_is_measured(tmp_path: Path) -> None:
    mixed = alpaca([1.0, 2.0] * 20, turned=True)  # the first place always wins
    found = board(tmp_path, [{**one, "preference": 1.0} for one in mixed])
    assert found.notes == [
        "the response listed first wins 100% of the contests that were asked in one order: ask in "
        "both orders"
    ]


@pytest.mark.parametrize("both_orders", [True, False])
def test_a_judge_asked_in_both_orders_that_never_turns_has_no_leaning(
    tmp_path: Path, both_orders: bool
) -> None:
    """The better system is listed first in most rows; asked in one order that may be the place."""
    rows = []
    for number in range(60):
        names = ["old", "new"] if number % 6 == 0 else ["new", "old"]
        texts = {"user_input": f"question {number}", "response": [f"by {one}" for one in names]}
        rows.append(PairwiseInstance(texts, metadata={"systems": names}))

    def says(prompt: str) -> str:
        new, old = prompt.rfind("by new"), prompt.rfind("by old")
        return "A" if new < old else "B"

    judge = PairwiseJudge(model(says), check_positional_bias=both_orders)
    judge.evaluate(rows, "Which is better?", run=tmp_path / "run")
    (found,) = leaderboards(tmp_path / "run", RankingSettings(draws=FEW))
    assert found.contests == 60
    assert found.first.count == (0 if both_orders else 60)
    assert any("ask in both orders" in note for note in found.notes) is not both_orders
