"""What a user types is spelt out: ``help()`` explains it, and a misspelt argument is named."""

from __future__ import annotations

import asyncio
import inspect
import pydoc
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

import adjudge
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.multi_criteria import MultiCriteria
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.core.judges.aspect import AspectCritic
from adjudge.core.judges.direct import BaseDirectJudge, DirectJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.judges.pairwise import PairwiseJudge
from adjudge.features.compat import judges
from adjudge.features.compat.judges import base
from adjudge.features.compat.prometheus import MPrometheusDirectJudge
from adjudge.features.generate.qualitative import QualitativeCriteria
from adjudge.features.rag.judge import RagEvaluator

PUBLIC = [
    kind
    for name in adjudge.__all__
    if isinstance(kind := getattr(adjudge, name), type) and issubclass(kind, Judge)
] + [RagEvaluator]
EVALUATING = (
    "__call__",
    "evaluate",
    "aevaluate",
    "evaluate_multi_criteria",
    "aevaluate_multi_criteria",
    "judge_items",
)
CALLS = (*EVALUATING, "prepare", "harmlessness")


@dataclass(kw_only=True, eq=False)
class Lexicon(BaseDirectJudge):
    """Looks for a word.

    Parameters:
        word: what is rude.
        seed: has no effect here.
    """

    word: str = "fool"


def calls(kind: type, names: Sequence[str]) -> list[Callable[..., object]]:
    """Those of them that this kind of judge has."""
    return [
        getattr(kind, name) for name in names if any(name in one.__dict__ for one in kind.__mro__)
    ]


def unexplained(kind: type) -> list[str]:
    """The constructor's parameters without a line of their own in ``help()``."""
    text = pydoc.plain(pydoc.render_doc(kind)).partition("Method resolution order")[0]
    return [
        name
        for name in inspect.signature(kind).parameters
        if not re.search(rf"^ \|\s+{name}: \S", text, re.MULTILINE)
    ]


@pytest.mark.parametrize("kind", [*PUBLIC, Lexicon])
def test_help_explains_every_parameter_of_a_judge(kind: type) -> None:
    assert unexplained(kind) == []


def test_a_parameter_that_nobody_explains_is_noticed() -> None:
    @dataclass(kw_only=True, eq=False)
    class Silent(BaseDirectJudge):
        """Says nothing of its word."""

        word: str = "fool"

    assert unexplained(Silent) == ["word"]


def test_a_judge_of_ones_own_has_the_last_word_on_a_parameter() -> None:
    doc = Lexicon.__doc__ or ""
    assert doc.startswith("Looks for a word.\n\nParameters:\n")
    assert doc.count("    seed: ") == 1
    assert "    seed: has no effect here." in doc
    assert "    self_consistency: " in doc


@pytest.mark.parametrize("kind", PUBLIC)
def test_no_call_of_a_judge_takes_arguments_that_it_does_not_name(kind: type) -> None:
    for call in calls(kind, CALLS):
        assert all(
            one.kind is not one.VAR_KEYWORD for one in inspect.signature(call).parameters.values()
        ), call


@pytest.mark.parametrize("kind", PUBLIC)
def test_every_evaluation_can_be_kept_limited_and_watched(kind: type) -> None:
    for call in calls(kind, EVALUATING):
        assert {"run", "budget", "progress"} <= set(inspect.signature(call).parameters), call


MISSPELT: dict[str, Callable[..., Any]] = {
    "DirectJudge": lambda **s: DirectJudge("scripted", **s),
    "DirectJudge()": lambda **s: DirectJudge("scripted")(["a"], "Is it kind?", **s),
    "DirectJudge.evaluate": lambda **s: DirectJudge("scripted").evaluate(["a"], "Is it kind?", **s),
    "DirectJudge.aevaluate": lambda **s: asyncio.run(
        DirectJudge("scripted").aevaluate(["a"], "Is it kind?", **s)
    ),
    "several criteria": lambda **s: DirectJudge("scripted").evaluate_multi_criteria(
        ["a"], ["Is it kind?"], **s
    ),
    "PairwiseJudge.evaluate": lambda **s: PairwiseJudge("scripted").evaluate(
        [["a", "b"]], "Which is kind?", **s
    ),
    "compared by several": lambda **s: PairwiseJudge("scripted").evaluate_multi_criteria(
        [["a", "b"]], ["Kind?"], **s
    ),
    "MPrometheusDirectJudge": lambda **s: MPrometheusDirectJudge("scripted").evaluate(
        ["a"], "Is it kind?", **s
    ),
    "a judge of one's own": lambda **s: Lexicon().evaluate(["a"], "Is it kind?", **s),
    "AspectCritic": lambda **s: AspectCritic("It is kind.", "scripted", **s),
    "AspectCritic.evaluate": lambda **s: AspectCritic("It is kind.", "scripted").evaluate("a", **s),
    "AspectCritic.aevaluate": lambda **s: asyncio.run(
        AspectCritic("It is kind.", "scripted").aevaluate("a", **s)
    ),
    "AspectCritic.coherence": lambda **s: AspectCritic.coherence("scripted", **s),
    "RagEvaluator.evaluate": lambda **s: RagEvaluator("scripted").evaluate(
        [{"response": "a"}], **s
    ),
    "QualitativeCriteria": lambda **s: asyncio.run(
        QualitativeCriteria("It is short.", "scripted").evaluate("a = 1", **s)
    ),
}


@pytest.mark.parametrize("call", MISSPELT.values(), ids=MISSPELT)
def test_a_misspelt_argument_is_pythons_own_error_and_named(call: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'budgett'"):
        call(budgett=1)


def test_help_of_a_ready_made_aspect_shows_its_settings() -> None:
    shown = list(inspect.signature(AspectCritic.coherence).parameters)
    assert shown[:2] == ["models", "votes"]
    assert set(shown) == set(inspect.signature(AspectCritic).parameters) - {"definition", "name"}
    assert "Logically ordered." in pydoc.plain(pydoc.render_doc(AspectCritic.coherence))


def test_a_ready_made_aspect_takes_its_settings() -> None:
    made = AspectCritic.conciseness(
        ScriptedModel(), 3, language="ru", min_valid=2, early_stop=True, seed=7
    )
    assert (made.name, made.strictness, made.language) == ("conciseness", 3, "ru")
    assert (made.min_valid, made.early_stop, made.seed) == (2, True, 7)
    assert (
        made.definition
        == adjudge.AspectCritic("conciseness", ScriptedModel(), language="ru").definition
    )


def test_a_multi_criteria_is_made_of_bare_criteria_and_texts() -> None:
    made = MultiCriteria(items=[Criteria("kind", "Is it kind?"), "Is it short?"])
    assert [(item.criterion.name, item.weight) for item in made.items] == [
        ("kind", 0.5),
        ("Is it short?", 0.5),
    ]


def test_one_instance_by_itself_is_judged_too() -> None:
    judge = DirectJudge(ScriptedModel())
    result = judge(Instance({"response": "a"}), "Is it kind?")
    assert (result.option, result.verdict) == ("Yes", "Yes")
    assert judge.evaluate("a", "Is it kind?").verdict == "Yes"
    assert [one.verdict for one in judge.evaluate(["a"], "Is it kind?")] == ["Yes"]
    assert judge.evaluate_multi_criteria("a", ["Is it kind?"]).score == 1


def test_the_base_classes_are_where_evalassist_has_them() -> None:
    assert [getattr(base, name) for name in base.__all__] == [
        getattr(judges, name) for name in base.__all__
    ]
    assert base.__all__ == ["BaseDirectJudge", "BaseJudge", "BasePairwiseJudge", "Judge"]
