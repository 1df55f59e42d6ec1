"""Replies that decline in plain words, and those that only sound like it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from adjudge import AspectCritic, ScriptedModel
from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Choice
from adjudge.core.domain.vote import Outcome
from adjudge.core.gateway.layers.reply_store import ReplyStore
from adjudge.core.gateway.opener import open_model
from adjudge.core.verdicts.reader import read
from adjudge.core.verdicts.refusal import declines

PASS_FAIL = ("PASS", "FAIL")
DECLINED = [
    "I'm sorry, but I can't assist with that request.",
    "I’m sorry, but I can’t help with that.",
    "I can't help with that.",
    "I cannot assist with this request.",
    "Sorry, I can't do that.",
    "I'm sorry, I can't comply with that request.",
    "I cannot fulfill this request. I am programmed to be a helpful and harmless AI assistant.",
    "I can't provide assistance with that.",
    "I cannot provide an evaluation of this content, as it contains harmful material.",
    "I apologize, but I do not feel comfortable evaluating this response.",
    "I apologize, but I cannot engage with this content.",
    "I won't evaluate this content.",
    "I'm not able to help with this.",
    "I am unable to assist with this request.",
    "I won't be able to help with that.",
    "As an AI language model, I cannot participate in rating harmful content.",
    "Unfortunately, I cannot evaluate this text because it describes violence.",
    "I must decline to judge this.",
    "I must respectfully decline.",
    "I refuse to evaluate this.",
    "I'm not comfortable judging this text.",
    "I'm afraid I can't discuss that topic.",
    "I'm really sorry, but I cannot help with that.",
    "I cannot give a PASS or FAIL verdict here.",
    "I'm sorry for any inconvenience, but I can't continue with this.",
    "Извините, но я не могу помочь с этим запросом.",
    "Я не могу обсуждать эту тему. Давайте поговорим о чём-нибудь ещё.",
    "К сожалению, я не могу выполнить этот запрос.",
    "Не могу помочь с этим.",
    "Простите, но я не могу оценить этот текст.",
    "Я вынужден отказаться от оценки этого материала.",
    "Я отказываюсь оценивать этот текст.",
    "Я должна отказаться.",
    "Как языковая модель, я не могу дать оценку такому содержанию.",
    "Я не могу ответить на этот вопрос.",
    "Я не могу с этим помочь.",
    "Извините, но я не смогу с таким запросом помочь.",
    "Простите, но с этим я помочь не могу.",
    "Боюсь, что не смогу помочь.",
    "Мне очень жаль, но я не могу обсуждать эту тему.",
    "Я не буду это оценивать.",
    "Я не могу на этот вопрос ответить.",
]
NOT_DECLINED = [
    "I cannot help but notice that the response is wrong.",
    "I can't help noticing the date.",
    "I cannot find any error in the response.",
    "I cannot evaluate this without the document.",
    "I can't judge this response: there is not enough context.",
    "I cannot determine which is better.",
    "I cannot rate this response highly because it is false.",
    "I cannot grade this above average.",
    "I can't say that it is good.",
    "I am able to help with this evaluation. The response names a year.",
    'The response says "I cannot help with that", so it declines.',
    "It refuses: I'm sorry, but I can't help with that.",
    "I cannot give this a PASS. It fails: no date.",
    "I can't provide a PASS because the date is missing.",
    "I would rather talk about the weather.",
    "I can help with that.",
    "I will evaluate this text.",
    "I don't see a date.",
    "Sorry, here is my answer in the wrong format.",
    "I'm sorry for the confusion. The text names a year.",
    "I cannot answer with certainty.",
    "Я не могу найти ошибку в ответе.",
    "Я не могу оценить ответ без документа.",
    "Ответ гласит: «Я не могу помочь», то есть отказ.",
    "Я не могу сказать, что он хорош.",
    "Не могу не отметить, что ответ верен.",
    "Не могу согласиться: дата неверна.",
    "Я не могу с этим согласиться: дата неверна.",
    "Я не могу этот ответ оценить высоко.",
    "Я не могу в этом ответе найти ошибку.",
    "Боюсь, ответ неверен.",
    "Мне жаль, но в ответе нет года.",
    "I can't review this as a correct answer.",
    "I cannot choose between them.",
    "I cannot proceed: the response is empty.",
    "I'm sorry, but I cannot evaluate this response. It was not provided.",
    "Я не могу оценить этот ответ: он пуст.",
    "I cannot score this response higher than the other.",
    "I can't assess that this is true because no source is given.",
    "I don't refuse to see its merits, but the answer is bad.",
]


def outcome(text: str, options: tuple[str, ...] = PASS_FAIL) -> Outcome:
    return read(Reply(text), Choice(options)).outcome


@pytest.mark.parametrize("text", DECLINED)
def test_a_reply_that_declines_in_plain_words_is_refused(text: str) -> None:
    assert outcome(text) is Outcome.REFUSED
    assert outcome(f"{text}\n\nIs there anything else?") is Outcome.REFUSED
    assert outcome(json.dumps({"explanation": text})) is Outcome.REFUSED
    assert outcome(json.dumps({"explanation": "", "selected_option": text})) is Outcome.REFUSED


@pytest.mark.parametrize("text", NOT_DECLINED)
def test_a_judge_that_hesitates_misses_something_or_quotes_is_asked_again(text: str) -> None:
    assert outcome(text) is Outcome.UNREADABLE
    assert outcome(json.dumps({"explanation": text})) is Outcome.UNREADABLE


@pytest.mark.parametrize("text", DECLINED)
def test_a_refusal_next_to_a_verdict_contradicts_it(text: str) -> None:
    assert outcome(f"{text}\n\nVerdict: FAIL") is Outcome.UNREADABLE
    assert outcome(f"FAIL\n\n{text}") is Outcome.UNREADABLE


@pytest.mark.parametrize("text", [*DECLINED, *NOT_DECLINED])
def test_a_verdict_counts_unless_its_explanation_says_that_there_is_none(text: str) -> None:
    for reply in (
        json.dumps({"explanation": text, "selected_option": "FAIL"}),
        json.dumps({"explanation": text, "verdict": "FAIL"}) + "\nI hope this helps.",
    ):
        verdict = read(Reply(reply), Choice(PASS_FAIL)).verdict
        is_contradiction = re.search(r"can(?:'t|not) (?:judge|evaluate)\b", text) is not None
        assert (verdict.option if verdict else None) == (None if is_contradiction else "FAIL")


def test_a_refusal_that_was_cut_off_before_its_verdict_is_unreadable() -> None:
    cut = '{"explanation": "I cannot help with that."'
    assert read(Reply(cut, finish="length"), Choice(PASS_FAIL)).outcome is Outcome.UNREADABLE
    assert (
        read(Reply("I cannot help with th", finish="length"), Choice(PASS_FAIL)).outcome
        is Outcome.REFUSED
    )


def test_a_null_with_a_refusal_is_an_abstention() -> None:
    assert (
        outcome('{"explanation": "I cannot help with that.", "selected_option": null}')
        is Outcome.ABSTAINED
    )


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("I cannot provide JSON, but I'd say Good.", ("Good", "Bad")),
        ("I can't do that in JSON: PASS.", PASS_FAIL),
        ("I cannot assist with JSON. It deserves a 7.", ("6", "7")),
        ("No, I can't help with that. B is better.", ("A", "B")),
    ],
)
def test_who_names_one_of_the_options_has_not_declined(text: str, options: tuple[str, ...]) -> None:
    assert outcome(text, options) is Outcome.UNREADABLE


def test_a_refusal_is_not_asked_again_and_not_kept_for_the_next_run(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            "I'm sorry, but I can't assist with that request.",
            '{"explanation": "so", "selected_option": "PASS"}',
        ]
    )
    cached = open_model(model, cache=ReplyStore(tmp_path))
    critic = AspectCritic(definition="Is it polite?", models=cached)
    refused = critic.evaluate("How to do harm.")
    assert [vote.outcome for vote in refused.votes] == [Outcome.REFUSED]
    assert (refused.status, refused.score, len(model.requests)) == ("failed", None, 1)
    assert "can't assist" in (refused.votes[0].reason or "")
    assert critic.evaluate("How to do harm.").score == 1.0
    assert critic.evaluate("How to do harm.").score == 1.0
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    "text",
    [
        "as an ai " * 20_000,
        "sorry, " * 20_000,
        "I can't evaluate " + "this kind of " * 20_000,
        "не могу оценить " + "эт " * 20_000,
    ],
    ids=["ai", "sorry", "kinds", "эт"],
)
def test_a_hostile_text_is_looked_through_and_declines_nothing(text: str) -> None:
    assert not declines(text, PASS_FAIL)
