"""What is measured beside the dimensions: which questions are asked, what their answers come to,
what is not defined.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adjudge import Instance, SetupError, Status
from adjudge.core.domain.message import Request
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.errors import ModelError
from adjudge.features.rag import RagEvaluator, RagResult
from adjudge.features.rag.measures import check_criteria, known_measures
from support.rag import gives, shown_fields
from support.tower import ASKED, ROW, check_of, knows, says


def judge(
    row: Mapping[str, Any] = ROW,
    measures: tuple[str, ...] = ASKED,
    model: Any = None,
    **settings: Any,
) -> RagResult:
    return RagEvaluator(
        model or says(knows), dimensions="none", measures=measures, **settings
    ).evaluate(dict(row))


def test_every_measure_of_a_row_by_hand() -> None:
    found = judge().measures
    assert found == {
        "context_precision": 1.0,
        "context_noise": pytest.approx(2 / 3),
        "context_recall": 1.0,
        "correctness": 0.5,
        "correctness_precision": 0.5,
        "correctness_recall": 0.5,
        "fragment_use": 1.0,
        "fragment_agreement": None,
        "citations": 0.5,
    }
    assert (
        judge().measured["fragment_agreement"].reason
        == "there are fewer than two fragments to compare"
    )


def test_measures_of_ids_need_no_model_at_all() -> None:
    result = RagEvaluator(
        dimensions="none", measures=["hit@1", "mrr", "nDCG@3", "recall"]
    ).evaluate(dict(ROW))
    assert result.measures == {
        "hit@1": 1.0,
        "mrr": 1.0,
        "ndcg@3": pytest.approx(2 / (2 + 1 / 1.584962500721156)),
        "recall": 0.5,
    }
    assert (result.votes, result.status) == ((), Status.SCORED)
    assert result.score == pytest.approx(sum(value or 0 for value in result.measures.values()) / 4)


def test_ids_of_a_file_may_stand_in_any_usual_form(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('Fragment IDs,gold_ids\na;b,"{""b"": 1}"\n"[""a"", ""b""]",a\n,a\na,\n')
    results = RagEvaluator(dimensions="none", measures=["mrr"]).evaluate(path)
    assert [one.measures["mrr"] for one in results] == [0.5, 1.0, None, None]
    assert [one.reason for one in results] == [
        None,
        None,
        "the row has no retrieved_ids",
        "the row has no relevant_ids",
    ]
    assert [one.status for one in results] == [
        Status.SCORED,
        Status.SCORED,
        Status.FAILED,
        Status.FAILED,
    ]


@pytest.mark.parametrize(
    ("field", "value", "undefined"),
    [
        (
            "contexts",
            [],
            {
                "context_precision",
                "context_noise",
                "context_recall",
                "fragment_use",
                "fragment_agreement",
                "citations",
            },
        ),
        (
            "reference",
            "",
            {
                "context_recall",
                "correctness",
                "correctness_precision",
                "correctness_recall",
                "fragment_agreement",
            },
        ),
        (
            "reference",
            "Hello!",
            {"context_recall", "correctness", "correctness_recall", "fragment_agreement"},
        ),
        ("response", "Tall.", {"citations", "fragment_agreement"}),
    ],
)
def test_what_is_not_defined_has_a_reason_and_no_number(
    field: str, value: object, undefined: set[str]
) -> None:
    result = judge({**ROW, field: value})
    assert {name for name, one in result.measured.items() if one.value is None} == undefined
    assert all(result.measured[name].reason for name in undefined)


def test_a_check_that_fails_leaves_its_measures_without_a_number() -> None:
    def unreadable(check: str, shown: Mapping[str, str]) -> bool | None:
        return None if "France" in shown.get("fragment", "") else knows(check, shown)

    result = judge(model=says(unreadable), max_repairs=0)
    assert (
        result.measures["context_precision"] is None and result.measured["context_precision"].reason
    )
    assert result.measures["fragment_use"] is None, "which fragments are relevant is not known"
    assert result.measures["context_recall"] == 1.0
    assert result.status is Status.FAILED and (result.composite.lower, result.composite.upper) != (
        0.0,
        1.0,
    )


def test_a_model_that_is_down_gives_no_number() -> None:
    def down(request: Request) -> ModelError:
        return ModelError("no such model")

    result = judge(measures=("context_recall",), model=ScriptedModel(down))
    assert (result.measures["context_recall"], result.status) == (None, Status.FAILED)
    assert "no such model" in result.measured["context_recall"].reason


def test_only_what_is_needed_is_asked_and_equal_questions_once() -> None:
    model = says(knows)
    twice = {**ROW, "contexts": ["The tower is 330 m tall.", "The tower is 330 m tall.", "x"]}
    result = judge(twice, ("context_precision", "context_noise"), model)
    assert len(model.requests) == 2
    assert result.measures == {"context_precision": 1.0, "context_noise": pytest.approx(1 / 3)}


def test_use_and_agreement_are_asked_of_relevant_fragments_only() -> None:
    model = says(knows)
    judge(measures=("context_precision", "fragment_agreement", "fragment_use"), model=model)
    assert {check_of(one) for one in model.requests} == {"fragment_relevance"}, (
        "the one relevant fragment is cited"
    )
    every = says(knows)
    result = judge(measures=("fragment_agreement", "fragment_use"), model=every)
    assert [check_of(one) for one in every.requests].count("fragments_disagree") == 3
    assert result.measures == {"fragment_agreement": 1.0, "fragment_use": pytest.approx(2 / 3)}, (
        "1 and 2 are cited"
    )


def test_a_sentence_is_held_against_all_that_it_cites() -> None:
    model = says(knows)
    row = {
        **ROW,
        "response": "The tower is 330 m tall and opened in 1889 [1][2]. It is made of iron [9].",
    }
    result = judge(row, ("citations",), model)
    assert result.measures == {"citations": 0.5}
    assert [shown_fields(one) for one in model.requests] == [
        {
            "source 1": "The tower is 330 m tall.",
            "source 2": "It opened in 1889.",
            "statement": "The tower is 330 m tall and opened in 1889.",
        }
    ]
    assert [
        (one.part.mark, one.yes, one.reason) for one in result.parts if not one.part.others
    ] == [("[9]", False, "the citation points to no fragment")]


def test_prompts_of_a_row_share_their_beginning() -> None:
    """So that a server has to read the fragments once."""
    model = says(knows)
    judge(measures=("context_recall",), model=model)
    first, second = (one.prompt.messages[-1].content for one in model.requests)
    shared = next(
        place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other
    )
    without_code = re.sub(r"data-\w+", "data", first)
    assert (
        without_code.index('field="statement"') > without_code.index('field="contexts 3"')
        and shared > 0
    )
    assert model.requests[0].prompt.messages[0] == model.requests[1].prompt.messages[0]


@pytest.mark.parametrize("language", ["en", "ru"])
def test_both_languages_know_the_same_measures_and_checks(language: str) -> None:
    assert list(known_measures(language)) == list(known_measures("en"))
    assert list(check_criteria(language)) == list(check_criteria("en"))
    for one in known_measures(language).values():
        assert one.title and one.description and set(one.checks) <= set(check_criteria(language))
    result = judge(language=language)
    assert result.measures["context_precision"] == 1.0


def test_the_composite_of_the_seed_knows_no_measure() -> None:
    plain = RagEvaluator(gives()).evaluate(
        {name: ROW[name] for name in ("user_input", "contexts", "response")}
    )
    beside = RagEvaluator(gives(), measures=["mrr"]).evaluate(dict(ROW))
    assert (plain.composite, plain.scores) == (beside.composite, beside.scores)
    assert "measures" not in plain.to_dict() and beside.measures == {"mrr": 1.0}


def test_a_measure_with_a_weight_has_its_part_in_a_composite_of_ones_own() -> None:
    result = RagEvaluator(gives(), measures=["recall", "mrr"], weights={"recall": 6.0}).evaluate(
        dict(ROW)
    )
    assert result.score == pytest.approx((6 + 6 * 0.5) / 12)
    row = {**ROW, "relevant_ids": ""}
    missing = RagEvaluator(gives(), measures=["recall"], weights={"recall": 6.0}).evaluate(row)
    assert (missing.score, missing.composite.missing) == (None, ("recall",))
    assert (missing.composite.lower, missing.composite.upper) == (0.5, 1.0)
    harmful = RagEvaluator(
        gives(harmfulness=0), measures=["recall"], weights={"recall": 6.0}
    ).evaluate(row)
    assert (harmful.score, harmful.fired) == (0.0, "harmful")


def test_less_noise_is_better_in_a_composite() -> None:
    assert judge(measures=("context_noise",)).score == pytest.approx(1 / 3)


def test_a_panel_votes_on_every_part() -> None:
    def stubborn(check: str, shown: Mapping[str, str]) -> bool:
        return True

    models = [says(knows, "a"), says(knows, "b"), says(stubborn, "c")]
    result = judge(measures=("context_noise",), model=models)
    assert result.measures["context_noise"] == pytest.approx(2 / 3)
    assert result.model_scores == {"a": pytest.approx(1 / 3), "b": pytest.approx(1 / 3), "c": 1.0}
    assert (
        judge(
            measures=("context_noise",), model=says(knows), strictness=3, early_stop=True
        ).votes_requested
        == 6
    )


def test_a_run_is_resumed_without_asking_anything_again(tmp_path: Path) -> None:
    def evaluator(model: ScriptedModel) -> RagEvaluator:
        return RagEvaluator(model, dimensions=["clarity"], measures=ASKED)

    first = says(knows)
    evaluator(first).evaluate(dict(ROW), run=tmp_path / "run")
    again = says(knows)
    result = evaluator(again).evaluate(dict(ROW), run=tmp_path / "run")
    assert (len(again.requests), result.measures["citations"]) == (0, 0.5)


def test_an_estimate_knows_what_answers_may_lead_to() -> None:
    row = Instance({**ROW, "relevant_ids": "a"})
    model = says(knows)
    found = RagEvaluator(
        model, dimensions="none", measures=["context_precision", "fragment_agreement"]
    ).estimate([row])
    assert found.calls[0] == 3 and found.calls[1] >= 6
    assert RagEvaluator(dimensions="none", measures=["mrr"]).estimate([row]).calls == (0, 0)
    limited = RagEvaluator(model, dimensions="none", measures=["context_precision"])
    with pytest.raises(Exception, match="calls"):
        limited.evaluate(row, budget=Budget(max_calls=1))


def test_a_slip_of_the_pen_names_what_there_is() -> None:
    with pytest.raises(SetupError, match="context_recall"):
        RagEvaluator(gives(), measures=["contxt_recall"])
    with pytest.raises(SetupError, match="there is no composite"):
        RagEvaluator(gives(), dimensions="none")
    with pytest.raises(SetupError, match="cannot be weighted; known: answer_relevance"):
        RagEvaluator(gives(), measures=["mrr"], weights={"recall": 1.0})


@pytest.mark.parametrize(
    ("row", "groundedness", "who"),
    [
        ({}, 2, "neither"),
        ({}, 0, "generator"),
        ({"reference": "It has a lift."}, 2, "retriever"),
        ({"reference": "It has a lift."}, 1, "both"),
    ],
)
def test_who_is_to_blame_follows_the_rule(
    row: Mapping[str, Any], groundedness: int, who: str
) -> None:
    def lift(check: str, shown: Mapping[str, str]) -> bool:
        return "lift" not in shown["statement"] and knows(check, shown)

    model = says(lift, scores={"groundedness": groundedness})
    result = RagEvaluator(model, dimensions=["groundedness"], measures=["context_recall"]).evaluate(
        {**ROW, **row}
    )
    assert result.blame and result.blame.who == who


def test_an_answer_that_leaves_out_what_was_found_is_the_generators() -> None:
    row = {**ROW, "response": "The tower is 330 m tall."}
    found = judge(row, ("context_recall", "correctness_recall")).blame
    assert found and (found.who, dict(found.because)) == ("generator", {"correctness_recall": 0.5})
    nothing = judge(
        {**ROW, "user_input": "What is the weather?", "contexts": ["x", "y"]},
        ("context_precision",),
    ).blame
    assert nothing and (nothing.who, dict(nothing.because)) == (
        "retriever",
        {"fragment_relevance": 0.0},
    )
    unknown = judge(measures=("mrr",)).blame
    assert unknown and unknown.who == "unknown"
