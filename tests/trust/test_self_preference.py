"""Whether a judge prefers what its own family wrote, where a run says who wrote what."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge import AspectCritic, Instance, PairwiseInstance, PairwiseJudge
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.label import Label
from adjudge.stats.bias import preference_among_equals
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.self_preference import family, self_preference_text
from support.labels import model


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("openai/gpt-4o-mini", "gpt"),
        ("gpt-3.5-turbo", "gpt"),
        ("ChatGPT", "gpt"),
        ("o3-mini", "gpt"),
        ("anthropic/claude-3-5-haiku", "claude"),
        ("http://host:1/v1#Qwen2.5-7B", "qwen"),
        ("mistral/ministral-8b", "mistral"),
    ],
)
def test_models_of_one_maker_are_one_family(name: str, wanted: str) -> None:
    assert family(name) == wanted


def test_of_equal_pairs_a_fair_judge_picks_its_own_in_half() -> None:
    fair, vain = (
        preference_among_equals([True, False] * 20),
        preference_among_equals([True] * 36 + [False] * 4),
    )
    assert fair.value == 0 and fair.lower is not None and fair.lower < 0
    assert vain.value == pytest.approx(0.4) and vain.lower is not None and vain.lower > 0.2
    assert preference_among_equals([]).value is None


def test_with_labels_good_answers_of_its_own_family_and_of_others_are_compared(
    tmp_path: Path,
) -> None:
    """A judge that passes all of its own, and half of the others' good answers."""
    writers = ["gpt-4" if n % 2 else "claude-3" for n in range(80)]
    rows = [
        Instance({"response": f"row {n} end", "generator": writer}, f"r{n}")
        for n, writer in enumerate(writers)
    ]

    def says(prompt: str) -> str:
        number = int(prompt.rsplit("row ", maxsplit=1)[-1].split(maxsplit=1)[0])
        return "PASS" if number % 2 or number % 4 == 0 else "FAIL"

    AspectCritic("Good.", model(says, "gpt-4o"), name="good", max_repairs=0).evaluate(
        rows, run=tmp_path / "run"
    )
    before = self_preference_text(tmp_path / "run", "AspectCritic")
    assert before == "not measured: for single answers that needs people's labels"
    LabelStore(tmp_path / "run").add(
        *(
            Label(
                row=row.identity, criteria="good", annotator="ann", option="PASS", design="random"
            )
            for row in rows
        )
    )
    assert self_preference_text(tmp_path / "run", "AspectCritic").startswith(
        "a good answer is upheld +0.500 more often"
    )


def test_comparisons_are_told_by_the_systems_that_people_prefer(tmp_path: Path) -> None:
    rows = [
        PairwiseInstance(
            {"response": [f"one {n}", f"two {n}"], "model_a": "gpt-4", "model_b": "claude-3"},
            f"r{n}",
        )
        for n in range(40)
    ]
    judge = PairwiseJudge(model(lambda _: "A", "gpt-4o"))
    judge.evaluate(rows, Criteria("better", "Which is better?"), run=tmp_path / "run")
    name = "PairwiseJudge"
    assert "judges of other families in the run" in self_preference_text(tmp_path / "run", name)
    LabelStore(tmp_path / "run").add(
        *(
            Label(
                row=row.identity, criteria="better", annotator="ann", winner=n % 2, design="random"
            )
            for n, row in enumerate(rows)
        )
    )
    assert self_preference_text(tmp_path / "run", name).startswith(
        "a good answer is upheld +1.000 more often"
    )


def test_a_run_that_does_not_say_who_wrote_what_says_what_it_takes(tmp_path: Path) -> None:
    AspectCritic("Good.", model(lambda _: "PASS"), name="good").evaluate(
        ["a text"], run=tmp_path / "run"
    )
    assert "that needs a column generator" in self_preference_text(tmp_path / "run", "AspectCritic")
