"""Labels of people correct the pass rate and whose fault the conversations are."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from benchmarks.conversations import labelled_study
from click.testing import CliRunner

from adjudge.core.domain.label import Label
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.conversations.command import conversations
from adjudge.features.conversations.rates import LabelledFault, labelled_faults
from adjudge.features.conversations.record import ATTRIBUTION, OUTCOME, ConversationDetail
from adjudge.runs.folder import records_of
from adjudge.trust.labels.store import LabelStore
from features.conversations.bot_script import run_eval

DUMPS = Path(__file__).parent / "dumps"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "eval.yaml"
    data = DUMPS / "scenario.events.jsonl"
    path.write_text(f"data: {data}\njudges: [{{kind: conversation}}]\n")
    run_eval(path, tmp_path / "run")
    return tmp_path / "run"


def outcomes(run: Path) -> list[JudgmentRecord]:
    return [
        record
        for record in records_of(run)
        if isinstance(record.detail, ConversationDetail) and record.detail.measure == OUTCOME
    ]


def label(run: Path, criterion: str, options: list[str], annotator: str = "ann") -> None:
    LabelStore(run).add(
        *(
            Label(
                row=record.identity,
                id=record.id,
                criteria=criterion,
                annotator=annotator,
                option=option,
                design="random",
            )
            for record, option in zip(outcomes(run), options, strict=False)
        )
    )


def correct(run: Path) -> tuple[int, str]:
    result = CliRunner().invoke(conversations, ["correct", str(run)], standalone_mode=False)
    return result.return_value, result.output


def test_labels_correct_the_verdict_and_the_attribution(run: Path) -> None:
    label(run, OUTCOME, ["passed", "passed", "failed", "failed", "passed", "failed"])
    label(run, ATTRIBUTION, ["nobody", "user", "agent", "agent", "environment", "agent"])
    code, output = correct(run)
    assert code == 0
    assert "by 6 labels of 6 conversations: 50%" in output
    assert "the simulated user's fault: 17%" in output
    assert "the agent's fault: 50%" in output


def test_labels_of_the_attribution_alone(run: Path) -> None:
    label(run, ATTRIBUTION, ["nobody", "user", "agent", "agent", "environment", "agent"])
    code, output = correct(run)
    assert code == 0
    assert "pass rate" not in output


def test_people_who_disagree_are_no_label(run: Path) -> None:
    label(run, OUTCOME, ["passed"] * 6)
    label(run, OUTCOME, ["failed"], annotator="bob")
    code, output = correct(run)
    assert code == 0
    assert "by 5 labels of 6 conversations" in output
    assert "1 conversation of the sample has no label or a tie" in output


def test_a_label_is_about_its_own_conversation(run: Path) -> None:
    # "polite" and "undecided" say the same words in the same scenario
    label(run, OUTCOME, ["passed", "passed", "failed", "passed", "passed", "passed"])
    assert "by 6 labels of 6 conversations: 83%" in correct(run)[1]


def test_parties_are_weighted_by_outcome_and_attribution() -> None:
    rows = [LabelledFault(f"a{n}", False, "user", "user" if n < 4 else None) for n in range(20)]
    rows += [
        LabelledFault(f"b{n}", False, "agent", ("user" if n < 5 else "agent") if n < 10 else None)
        for n in range(30)
    ]
    rows += [LabelledFault(f"c{n}", True, "nobody", "nobody") for n in range(50)]
    shares = labelled_faults(rows, ["user", "agent", "nobody"])
    assert shares["user"].value == pytest.approx((20 + 15) / 100)
    assert shares["agent"].value == pytest.approx(0.15)
    assert shares["nobody"].value == pytest.approx(0.5)


def test_intervals_by_labels_hold_the_true_values() -> None:
    """The short form of ``python benchmarks/conversations.py``, which holds 500 studies."""
    chance = random.Random(5)
    results = [labelled_study(chance, 50, 6, 80) for _ in range(30)]
    assert sum(study[0] for study in results) >= 27
    assert sum(study[1] for study in results) >= 27
    # the checks alone are wrong by more
    assert sum(study[2] for study in results) < 27
