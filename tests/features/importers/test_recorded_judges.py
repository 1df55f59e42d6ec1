"""Files as benchmarks publish them: each verdict is the judge's final one, in
the row's own order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adjudge.stats.agreement import Missing
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementSettings
from adjudge.trust.both_orders import OrderAgreement
from adjudge.trust.calibration import Calibration, CalibrationSettings, calibrate_run
from support.importing import imported


def calibrated(folder: Path, missing: Missing = "drop") -> Calibration:
    settings = CalibrationSettings(
        agreement=AgreementSettings(missing=missing, draws=Draws(count=2))
    )
    (found,) = calibrate_run(folder, settings=settings)
    return found


def both_orders(folder: Path, missing: Missing = "drop") -> OrderAgreement:
    report = calibrated(folder, missing).agreement
    assert report is not None
    return report.orders[""]


def _judgebench(place: int, label: str, *decisions: str | None) -> dict[str, Any]:
    judgments = [
        {
            "judgment": {"judge_model": "tester", "prompt": "Which?", "response": "So."},
            "decision": one,
        }
        for one in decisions
    ]
    pair = {
        "question": f"Question {place}?",
        "response_A": f"yes {place}",
        "response_B": f"no {place}",
    }
    return {
        "pair_id": f"p{place}",
        "source": "own",
        **pair,
        "label": label,
        "judge_name": "arena_hard",
        "judgments": judgments,
    }


def test_a_judgebench_judge_that_says_the_same_in_both_orders_is_not_called_undecided(
    tmp_path: Path,
) -> None:
    rows = [
        _judgebench(place, "A>B", "A>B", "B>A") for place in range(4)
    ]  # what is shown as B is response A
    found = imported(tmp_path, rows, lines=True)
    assert found.verdicts == [0, 0, 0, 0]
    assert found.rows[0]["positional_bias"]["detected"] is False
    assert both_orders(found.folder).right == (1.0, 1.0)


def test_judgebench_counts_a_pair_as_right_where_more_votes_are_right_than_wrong(
    tmp_path: Path,
) -> None:
    decisions = [
        ("A>B", "B>A"),
        ("A>B", "A=B"),
        ("A>B", "A>B"),
        ("A=B", "A=B"),
        (None, "B>A"),
        ("B>A", "A>B"),
    ]
    rows = [_judgebench(place, "A>B", *one) for place, one in enumerate(decisions)]
    found = imported(tmp_path, rows, lines=True)
    assert (
        both_orders(found.folder, "wrong").mostly == 3 / 6
    )  # the first two, and the one whose other vote failed
    assert both_orders(found.folder, "drop").mostly == 2 / 5


def _stage(first: str | None, second: str | None) -> dict[str, Any]:
    said = {"swap = False": first, "swap = True": second}
    return {
        order: {"completion": [f"The better one is {winner}.", "stop"], "winner": winner}
        for order, winner in said.items()
    }


def _llmbar(place: int, *results: object) -> dict[str, Any]:
    return {
        "input": f"Do {place}.",
        "output_1": f"done {place}",
        "output_2": f"no {place}",
        "label": 1,
        "results": list(results),
    }


def test_the_draft_of_llmbars_swap_strategy_is_no_vote(tmp_path: Path) -> None:
    """Where both orders disagree, the judge is shown what it said and asked again: that answer
    counts, and alone.
    """
    rows = [
        _llmbar(1, _stage("1", "1")),
        _llmbar(2, _stage("1", "2"), _stage("1", "1")),
        _llmbar(3, _stage("2", "1"), _stage("2", "2")),
    ]
    found = imported(tmp_path, rows, name="evaluators/GPT-4/Swap/result.json")
    assert (found.outcomes, found.verdicts) == ({"ok": 6}, [0, 0, 1])
    orders = both_orders(found.folder)
    assert (orders.right, orders.alike, orders.both) == ((2 / 3, 2 / 3), 1.0, 2 / 3)
    assert found.rows[1]["votes"][0]["metadata"]["draft"] == _stage("1", "2")


def test_what_llmbar_asked_before_its_verdict_is_no_vote_either(tmp_path: Path) -> None:
    """Metrics or a reference answer that the judge wrote first."""
    found = imported(
        tmp_path, [_llmbar(1, ["1. Is it done?", "stop"], ["Done.", "stop"], _stage("1", None))]
    )
    assert found.outcomes == {"ok": 1, "unreadable": 1}
    assert both_orders(found.folder, "wrong").right == (1.0, 0.0)


def test_a_judge_below_chance_has_no_agreement_beyond_it(tmp_path: Path) -> None:
    """Two responses and no tie, neither offered nor given: AC1 of 6 right in 13 is below 0."""
    names = ("A>B", "B>A")
    rows = [
        _judgebench(place, names[place % 2], names[(place + (place < 7)) % 2])
        for place in range(13)
    ]
    found = calibrated(imported(tmp_path, rows, lines=True).folder)
    assert found.agreement is not None
    value = found.agreement.figures["AC1"].value
    assert value is not None and value < 0


def test_pairs_that_people_labelled_and_nobody_judged_can_be_looked_at(tmp_path: Path) -> None:
    """Calibrating them ended in an error of the program."""
    rows = [
        {"input": f"Do {place}.", "output_1": "done", "output_2": "no", "label": 1 + place % 2}
        for place in range(10)
    ]
    found = imported(tmp_path, rows)
    assert found.rows[0]["reason"] == "no verdict is recorded for this row"
    one = calibrated(found.folder)
    assert one.refusal is not None and one.labels_only.value == 0.5


def test_unreadable_replies_of_every_judge_of_a_row_count_as_wrong(tmp_path: Path) -> None:
    """Only the first judge of a row was counted so: the others had no label beside them."""
    row = {
        "instruction": "Do it.",
        "response1": "done",
        "response2": "no",
        "human_votes": [1, 1, 2],
        "judges": {"one": {"verdict": "?"}, "two": {"verdict": "?"}},
    }
    found = imported(tmp_path, [row], lines=True, unreadable="wrong")
    assert found.verdicts == [1, 1]
    assert (len(found.labels), found.report.tally.recounted) == (3, 2)
