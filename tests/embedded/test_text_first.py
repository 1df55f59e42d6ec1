"""The adapter for prompts that show the text first: whose it is, what it says, and what many
questions about one text cost with it.
"""

from __future__ import annotations

import os

import pytest

from adjudge import AspectCritic, Request, SetupError, open_model
from adjudge.core.aio import event_loop
from adjudge.core.domain.decision import DecisionQuestion, DecisionReply, DecisionRequest
from adjudge.core.domain.message import ChatMessage, Prompt
from adjudge.core.gateway.layers.budget import OpenBudget
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.gateway.registry import EMBEDDED, EMBEDDED_TEXT_FIRST
from adjudge.features.local.provider import LocalModel, weights_of
from adjudge.features.local.weights.adapters import adapter_for, calibration_for
from adjudge.runs.project import ModelEntry
from adjudge.runs.service.deciding import DecisionService
from adjudge.runs.service.judging import JudgingService
from adjudge.web.serve_command import text_first_models

PLAIN = {
    "en": {
        "The text names a price.": ("The lamp costs 40 euros.", "The lamp is beside the sofa."),
        "The text names a colour.": ("She painted the door green.", "She closed the door."),
    },
    "ru": {
        "Текст называет цену.": ("Лампа стоит 40 евро.", "Лампа стоит у дивана."),
        "Текст называет цвет.": ("Она покрасила дверь в зелёный цвет.", "Она закрыла дверь."),
    },
}
"""Criterion → a text that meets it, one that does not: held-out kinds, as in test_trained."""
LONG = (
    "On {day} our new lamp came in a large box. It is blue, it has three arms, and the switch is "
    "on the cable, so that nobody has to stand up. The instructions are short and clear, the "
    "screws are in a small bag, and the driver who brought it was friendly and waited until we "
    "had looked at everything. We put it beside the sofa, where my mother reads every evening."
)
ASKED = ("a price", "a colour", "an animal", "a room", "a day")


@pytest.fixture
def short_prior(request: pytest.FixtureRequest) -> None:
    """The prior of one text; of all eight under ``make test-embedded``."""
    if "ADJUDGE_LOCAL_JUDGMENTS" not in os.environ:
        request.getfixturevalue("one_neutral_text")


def _read(
    text: str, criteria: tuple[str, ...], model: str = EMBEDDED_TEXT_FIRST, language: str = "en"
) -> DecisionReply:
    service = DecisionService([open_model(model)], OpenBudget(None, None), language, True)
    questions = tuple(DecisionQuestion(one, "predicate", one) for one in criteria)
    return service.decide(DecisionRequest(text, questions)).reply


def _chance(reply: DecisionReply) -> float:
    (answer,) = reply.answers
    assert answer.probabilities is not None
    return answer.probabilities[0]


def test_it_is_another_model_on_the_same_weights() -> None:
    first, other = LocalModel(EMBEDDED_TEXT_FIRST), LocalModel(EMBEDDED)
    assert weights_of(EMBEDDED_TEXT_FIRST) == weights_of(EMBEDDED)
    assert first._adapter == adapter_for("smollm2-135m-text-first") != other._adapter
    assert first.identity.partition("@")[2] != other.identity.partition("@")[2]
    assert first.capabilities.calibration == calibration_for("smollm2-135m-text-first")
    assert first.capabilities.calibration != other.capabilities.calibration
    assert first._adapter is not None and first._adapter.stat().st_size < 10_000_000


@pytest.mark.usefixtures("short_prior")
@pytest.mark.parametrize("language", PLAIN)
def test_plain_texts_are_read_right(language: str) -> None:
    for criterion, (met, unmet) in PLAIN[language].items():
        assert _chance(_read(met, (criterion,), language=language)) > 0.5, criterion
        assert _chance(_read(unmet, (criterion,), language=language)) < 0.5, criterion


@pytest.mark.usefixtures("short_prior")
def test_the_margin_is_wider_than_with_the_adapter_for_criteria_first() -> None:
    (criterion, (met, unmet)), *_ = PLAIN["en"].items()
    chances = {
        model: [_chance(_read(text, (criterion,), model)) for text in (met, unmet)]
        for model in (EMBEDDED, EMBEDDED_TEXT_FIRST)
    }
    margins = {model: yes - no for model, (yes, no) in chances.items()}
    assert margins[EMBEDDED_TEXT_FIRST] > margins[EMBEDDED] + 0.2


@pytest.mark.usefixtures("short_prior")
def test_questions_about_one_text_share_it() -> None:
    criteria = tuple(f"The text names {one}." for one in ASKED)
    together = _read(LONG.format(day="July 1"), criteria).usage.prompt_tokens
    alone = [
        _read(LONG.format(day=f"May {day}"), (criterion,)).usage.prompt_tokens
        for day, criterion in enumerate(criteria, start=1)
    ]
    assert together < 0.4 * sum(alone)


def test_it_reads_no_other_form() -> None:
    refused = pytest.raises(SetupError, match="text-first only accepts prompts with the text first")
    with refused:
        AspectCritic("It is polite.", EMBEDDED_TEXT_FIRST).evaluate(["Thank you."])
    with refused:
        DecisionService([open_model(EMBEDDED_TEXT_FIRST)], OpenBudget(None, None)).decide(
            DecisionRequest("Thank you.", (DecisionQuestion("q", "predicate", "It is polite."),))
        )
    with refused:
        event_loop.run(
            LocalModel(EMBEDDED_TEXT_FIRST).complete(
                Request(Prompt((ChatMessage("user", "Write a line."),)))
            )
        )


def test_a_server_that_shows_the_text_first_asks_it_and_judges_as_before() -> None:
    entries = [ModelEntry(model=EMBEDDED), ModelEntry(model="scripted/Yes")]
    service = JudgingService(entries, cache=False)
    asked = text_first_models(service, PriceTable.load(), cache=False)
    assert [model.name for model in asked] == [EMBEDDED_TEXT_FIRST, "scripted/Yes"]
    assert service.model_names == [EMBEDDED, "scripted/Yes"]
