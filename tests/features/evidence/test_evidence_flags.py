"""What the embedded model points at: flags, never "supported", with what the sources lack."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge import EvidenceJudge, Reply, Request, SetupError, Status
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.message import Capabilities, LogprobCalibration
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.core.judges.settings import ModelPanel
from adjudge.features.evidence.flags import stretches
from adjudge.features.evidence.marked_text import evidence_html, evidence_markdown
from adjudge.features.evidence.report import EvidenceTally

ROW = {
    "contexts": ["The lamp costs 40 euros. It is sold in Rome.", "It was made by Anna Bell."],
    "user_input": "What about the lamp?",
    "response": "The lamp costs 40 euros. It was sold to Peter Stone. It is made of steel.",
}


class Embedded(ScriptedModel):
    """Reads log-odds by what the sentence says."""

    capabilities = Capabilities(
        logprobs=True,
        exact_logprobs=True,
        calibration=FrozenDict({"yes_no": LogprobCalibration(2.0, 0.0, 0.7)}),
    )


def said(**odds: float) -> Any:
    """Word of a sentence → log-odds of Yes."""

    def script(request: Request) -> Reply:
        sentence = request.prompt.text.rsplit("sentence:", 1)[-1]
        found = next((value for word, value in odds.items() if word in sentence), 0.0)
        return Reply("Yes", logprobs=(FrozenDict({"Yes": found - 5, "No": -5.0}),))

    return script


def flagged(model: ScriptedModel, **row: Any) -> Any:
    (result,) = EvidenceJudge(model, method="flags").evaluate([{**ROW, **row}])
    return result


def test_a_sentence_is_unsupported_or_to_be_looked_at_or_nothing_is_found_against_it() -> None:
    model = Embedded(said(costs=3.0, Peter=2.0, steel=-6.0))
    result = flagged(model)
    flags = [(one.flag, one.support) for one in result.claims]
    assert flags == [
        ("nothing found against it", None),
        ("look here", None),
        ("unsupported", "not found"),
    ]
    assert [fact.text for fact in result.claims[1].unseen] == ["Peter", "Stone"]
    assert result.claims[1].evidence[0].by == "program"
    assert result.status is Status.SCORED and result.score == pytest.approx(2 / 3)
    assert (result.count("supported"), result.evidence().unanswered) == (0, 0)
    assert all("What about the lamp" not in one.prompt.text for one in model.requests)


def test_doubt_is_a_reason_to_look() -> None:
    assert flagged(Embedded(said(costs=-1.0))).claims[0].flag == "look here"


def test_of_russian_sentences_only_those_that_lack_something_are_surely_unsupported() -> None:
    model = Embedded(said(пятьсот=-6.0, апреля=-6.0, км=2.0, Москве=2.0))
    result = flagged(
        model,
        contexts=["Тариф стоит 500 рублей и действует с 1 марта в Москве на 330 метров."],
        response="Тариф стоит пятьсот рублей. Он действует с 5 апреля. До него 330 км. "
        "Он действует в Москве.",
    )
    assert [(one.flag, [fact.text for fact in one.unseen]) for one in result.claims] == [
        ("look here", []),
        ("unsupported", ["5 апреля"]),
        ("look here", ["330 км"]),
        ("nothing found against it", []),
    ]


def test_the_stretch_that_says_it_counts() -> None:
    long = ["word " * 400, "The lamp costs 40 euros."]

    def script(request: Request) -> Reply:
        odds = 3.0 if "40 euros.\n" in request.prompt.text.split("sentence:")[0] else -6.0
        return Reply("Yes", logprobs=(FrozenDict({"Yes": odds - 8, "No": -8.0}),))

    model = Embedded(script)
    result = flagged(model, contexts=long, response="The lamp costs 40 euros.")
    assert result.claims[0].flag == "nothing found against it"
    assert len(model.requests) == 2


def test_fragments_are_shown_together_up_to_280_words() -> None:
    found = stretches(["a " * 100, "b " * 100, "c " * 100, "d " * 600])
    assert [sum(len(one.split()) for one in group) for group in found] == [200, 100, 280, 280, 40]
    assert stretches([]) == []


def test_a_reading_that_failed_leaves_its_sentence_without_a_flag() -> None:
    result = flagged(Embedded(lambda _: Reply("?", logprobs=(FrozenDict({"x": -1.0}),))))
    assert [one.flag for one in result.claims] == [None] * 3
    assert result.score is None and result.evidence().unanswered == 3


def test_only_the_embedded_model_has_thresholds() -> None:
    with pytest.raises(SetupError, match="fitted to sentences and the embedded model"):
        EvidenceJudge(ScriptedModel(lambda _: "Yes"), method="flags")


@pytest.mark.parametrize(
    ("language", "shown"), [("en", "unsupported (sure)"), ("ru", "не подтверждено (уверенно)")]
)
def test_pages_count_flags_and_never_say_supported(language: str, shown: str) -> None:
    result = flagged(Embedded(said(costs=3.0, Peter=2.0, steel=-6.0)))
    record = result.record()
    for page in (evidence_markdown(record, language), str(evidence_html(record, language))):
        assert shown in page and "✓" not in page and "Peter" in page


def supporter() -> ScriptedModel:
    """Finds everything it is asked about."""
    return ScriptedModel(
        lambda _: '{"verdict": "supported", "evidence": [{"fragment": 1, "quote": "40 euros"}]}'
    )


SPARED = {
    "contexts": ["The lamp costs 40 euros."],
    "response": "The lamp costs 40 euros. Napoleon was born in Corsica in 1769.",
}


def test_a_dearer_model_is_asked_only_about_what_is_not_surely_unsupported() -> None:
    dear = supporter()
    judge = EvidenceJudge(dear, method="flags-first")
    (result,) = judge.evaluate([SPARED])
    assert [(one.flag, one.support) for one in result.claims] == [
        (None, "supported"),
        ("unsupported", "not found"),
    ]
    (asked,) = dear.requests
    assert "Napoleon was born" not in asked.prompt.text.rsplit("sentence", 1)[-1]
    assert (result.status, result.score) == (Status.SCORED, 0.5)
    assert len(judge.plan_all(result.instance)) == 4
    tally = EvidenceTally()
    tally.add(result.record())
    found = tally.summary()
    assert found and (found.spared, found.not_found, found.flags) == (1, 1, {})
    assert "clearly unsupported, no model was asked 1" in str(found.sentence("all"))


def test_a_sentence_that_could_not_be_read_is_asked_about() -> None:
    unread = Embedded(lambda _: Reply("?", logprobs=(FrozenDict({"x": -1.0}),)))
    dear = supporter()
    judge = EvidenceJudge(dear, method="flags-first")
    first, *named = judge.panel
    (model,) = ModelPanel.of(unread).values()
    panel = ModelPanel({first: model} | {name: judge.panel[name] for name in named})
    object.__setattr__(judge, "panel", panel)
    (result,) = judge.evaluate([SPARED])
    assert [one.support for one in result.claims] == ["supported", "supported"]
    assert len(dear.requests) == 2


@pytest.mark.parametrize(
    ("models", "settings", "said"),
    [
        ("local/smollm2-135m", {}, "name another model"),
        (None, {}, "name another model"),
        (supporter(), {"split": "claims"}, "fitted to sentences"),
    ],
)
def test_flags_come_first_only_before_others_and_of_sentences(
    models: Any, settings: Any, said: str
) -> None:
    with pytest.raises(SetupError, match=said):
        EvidenceJudge(models, method="flags-first", **settings)
