"""The search for better criteria: chance alone claims nothing, and all tries are counted."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.prompts.criteria_writing import DisputedRow
from adjudge.errors import SetupError
from adjudge.features.bench.benchmark import RowKey, compare_rows
from adjudge.features.bench.candidates import (
    CriteriaCandidate,
    place_of_best,
    result_of,
    rule_candidates,
)
from adjudge.features.bench.improvement import split
from adjudge.features.bench.labelled_rows import LabelledSet, MarkedRow, without_copies
from adjudge.features.bench.proposal import Proposal
from adjudge.features.bench.tries import Part, TriesAccount, level_of
from adjudge.features.importers.record import Mark
from adjudge.stats.difference import ComparisonOutcome

CRITERIA = Criteria("good", "Is it good?", [CriteriaOption("Yes", 1.0), CriteriaOption("No", 0.0)])
CANDIDATE = CriteriaCandidate("order", Proposal(CRITERIA, ""))
CHOOSING = [RowKey(f"c{number}") for number in range(80)]
HELD_OUT = [RowKey(f"h{number}") for number in range(80)]
Scores = dict[RowKey, float]


def scores(draw: random.Random, rows: list[RowKey], right: float) -> Scores:
    return {row: float(draw.random() < right) for row in rows}


def changed(draw: random.Random, before: Scores, right: float) -> Scores:
    """Judge three rows of ten anew."""
    return {
        row: float(draw.random() < right) if draw.random() < 0.3 else score
        for row, score in before.items()
    }


def search(draw: random.Random, candidates: list[float]) -> tuple[float, Scores, Scores]:
    """Choose among candidates; return the chosen one's gain on the rows that chose it, and the
    scores on held-out rows before and after.
    """
    before = scores(draw, CHOOSING, 0.7)
    results = [
        result_of(CANDIDATE, 1, before, changed(draw, before, right)) for right in candidates
    ]
    best = place_of_best(results)
    held_out = scores(draw, HELD_OUT, 0.7)
    if best is None:
        return 0.0, held_out, held_out
    gain = results[best].agreement - results[best].agreement_before
    return gain, held_out, changed(draw, held_out, candidates[best])


def is_better(before: Scores, after: Scores, number: int = 1) -> bool:
    """Say if the ``number``-th measurement on the held-out rows is called better."""
    if sum(after.values()) <= sum(before.values()):
        return False  # compare_rows takes longer
    gain = compare_rows(after, before, level=level_of(number, 0.95))
    return gain.outcome is ComparisonOutcome.BETTER


def test_equal_candidates_are_seldom_called_better() -> None:
    draw = random.Random(56)
    found = [search(draw, [0.7] * 8) for _ in range(200)]
    assert sum(is_better(before, after) for _, before, after in found) <= 10  # 5 %
    curse = sum(gain for gain, _, _ in found) / 200
    honest = sum(sum(after.values()) - sum(before.values()) for _, before, after in found) / 16_000
    assert curse > 0.05  # on the rows that chose
    assert abs(honest) < 0.015


def test_any_of_five_calls_on_the_same_labels_seldom_claims_a_gain() -> None:
    draw, claimed = random.Random(56), 0
    for _ in range(60):
        before = scores(draw, HELD_OUT, 0.7)
        claimed += any(
            is_better(before, changed(draw, before, 0.7), number) for number in range(1, 6)
        )
    assert claimed <= 3  # 5 %
    assert level_of(1, 0.95) == pytest.approx(0.95)
    assert sum((1 - level_of(number, 0.95)) / 2 for number in range(1, 10_000)) <= 0.05


def test_a_planted_better_candidate_is_found() -> None:
    draw = random.Random(56)
    found = [search(draw, [0.7] * 5 + [1.0]) for _ in range(40)]
    assert sum(is_better(before, after) for _, before, after in found) >= 24


def test_a_failure_never_helps_a_candidate() -> None:
    before = dict.fromkeys(CHOOSING, 0.5)
    after = dict.fromkeys(CHOOSING[:20], 1.0)
    result = result_of(CANDIDATE, 1, before, after)
    assert (result.agreement, result.failed) == (0.25, 60)
    assert place_of_best([result]) is None


def rows(count: int) -> LabelledSet:
    instances = [Instance({"response": f"row {number}"}) for number in range(count)]
    return LabelledSet("rows.csv", tuple(MarkedRow(instance, ()) for instance in instances))


def test_rows_that_chose_never_measure_later(tmp_path: Path) -> None:
    account = TriesAccount.beside(tmp_path / "rows.csv", "good")
    first = split(rows(40), 0.5, 0).identities
    account.keep_parts(first)
    again = split(rows(60), 0.5, 7, account.parts()).identities
    assert {part: len(found) for part, found in again.items()} == {
        "shown": 15,
        "choosing": 15,
        "held_out": 30,
    }
    assert all(set(first[part]) <= set(again[part]) for part in first)
    everything: dict[Part, list[str]] = {
        "shown": [row.instance.identity for row in rows(30).rows],
        "choosing": [],
        "held_out": [],
    }
    other = TriesAccount.beside(tmp_path / "rows.csv", "other")
    other.keep_parts(everything)
    with pytest.raises(SetupError, match="already used for choosing"):
        split(rows(30), 0.5, 0, other.parts())


def test_rows_with_another_column_keep_their_part(tmp_path: Path) -> None:
    """A new column changes what a row is, but not that its text chose before."""
    account = TriesAccount.beside(tmp_path / "rows.csv", "good")
    first = split(rows(40), 0.5, 0)
    account.keep_parts(first.keys)
    assert account.keep_measured("a", first.keys["held_out"]) == 1
    longer = replace(
        rows(40),
        rows=tuple(
            MarkedRow(Instance({**row.instance.fields, "context": "new"}), ())
            for row in rows(40).rows
        ),
    )
    again = split(longer, 0.5, 7, account.parts())
    texts = [
        {str(row.instance.value("response")) for row in parts.held_out.rows}
        for parts in (first, again)
    ]
    assert texts[0] == texts[1]
    assert not {*first.identities["held_out"]} & {*again.identities["held_out"]}
    assert account.keep_measured("b", again.keys["held_out"]) == 2


def test_measurements_are_counted_once_each_and_per_criterion(tmp_path: Path) -> None:
    account = TriesAccount.beside(tmp_path / "rows.csv", "good")
    assert account.keep_measured("a", ["r1", "r2"]) == 1
    assert account.keep_measured("b", ["r2", "r3"]) == 2
    assert account.keep_measured("a", ["r2", "r1"]) == 1  # resumed
    assert account.keep_measured("c", ["r9"]) == 1  # other rows
    assert TriesAccount.beside(tmp_path / "rows.csv", "other").keep_measured("b", ["r1"]) == 1
    account.keep_tried(["x", "y"])
    account.keep_tried(["y", "z"])
    assert account.tried_before(["z"]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv.tries.jsonl"]


@pytest.mark.parametrize(
    "text", ["", "{}\n", '{"format": "adjudge tries 1"}\n{"stage": "rows"}\n', "[" * 9999]
)
def test_a_damaged_account_is_refused(tmp_path: Path, text: str) -> None:
    account = TriesAccount.beside(tmp_path / "rows.csv", "good")
    account.path.write_text(text)
    with pytest.raises(SetupError, match="how often these labels were used"):
        account.parts()


def test_rules_make_candidates_without_a_model() -> None:
    answered = [
        DisputedRow(Instance({"response": f"row {number}"}), "", "Yes" if number % 3 else "No")
        for number in range(9)
    ]
    found = list(rule_candidates(CRITERIA, answered[:2], answered, "all", compares=False))
    assert [one.source for one in found] == ["order", "examples", "examples"]
    assert found[0].proposal.criteria.option_names == ("No", "Yes")
    assert [example.option for example in found[1].proposal.criteria.examples] == ["Yes", "No"]
    assert [example.option for example in found[2].proposal.criteria.examples] == [
        "Yes",
        "No",
        "Yes",
        "No",
    ]
    assert not list(rule_candidates(CRITERIA, answered, answered, "all", compares=True))
    shown = CriteriaExample({"response": "x" * 3000}, "Yes")
    long = [DisputedRow(Instance(shown.fields), "", "Yes")]
    assert not list(rule_candidates(CRITERIA, long, long, "examples", compares=False))


def test_copies_of_what_the_judge_sees_are_on_one_side() -> None:
    """A copy of an example would be easy to judge: it would measure nothing."""
    texts = [f"{'Row' if number % 2 else 'row  '} {number % 30}" for number in range(60)]
    labelled = LabelledSet(
        "rows.csv",
        tuple(
            MarkedRow(
                Instance({"user_input": f"ask {number}", "response": text}),
                (Mark(answer="Yes" if number != 40 else "No", annotator="ann", design="random"),),
            )
            for number, text in enumerate(texts)
        ),
    )
    merged = without_copies(labelled, replace(CRITERIA, context_fields=[]))
    assert {str(row.instance.value("response")).split()[-1] for row in merged.rows} == {
        str(number) for number in range(30) if number != 10
    }
    assert all([*row.instance.fields] == ["response"] for row in merged.rows)
    assert [len(row.marks) for row in merged.rows] == [1] * 29
    assert [str(note) for note in merged.notes] == [
        "30 rows show the judge the same texts as others; copies count as one",
        "1 row is left out because its copies have conflicting labels by one person",
    ]
    assert without_copies(labelled, CRITERIA) == labelled  # the question is shown, too
