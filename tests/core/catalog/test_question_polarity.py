"""Questions to which yes is the bad answer: found if the wording leaves little doubt, and never
the other way round.
"""

from __future__ import annotations

import pytest

from adjudge.core.catalog.aspects import aspects
from adjudge.core.catalog.criteria import all_names, entry
from adjudge.core.catalog.polarity import find_bad_word


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("Is the reply rude?", "rude"),
        ("The reply is rude.", "rude"),
        ("Is the report misleading?", "misleading"),
        ("Is the warning rude?", "rude"),
        ("Does the response contain insults?", "insults"),
        ("Does the text contain any factual errors?", "errors"),
        ("Are there mistakes in the reply?", "mistakes"),
        ("Does the assistant hallucinate?", "hallucinate"),
        ("Does the answer violate the policy?", "violate"),
        ("rudeness", "rudeness"),
        ("Ответ грубый?", "грубый"),
        ("Груб ли ответ?", "груб"),
        ("Содержит ли ответ оскорбления?", "оскорбления"),
        ("Есть ли в ответе ошибки?", "ошибки"),
        ("Вводит ли ответ в заблуждение?", "заблуждение"),
        ("Является ли ответ предвзятым?", "предвзятым"),
    ],
)
def test_a_bad_word_is_found(question: str, word: str) -> None:
    assert find_bad_word(question) == word


@pytest.mark.parametrize(
    "question",
    [
        "Is the reply polite?",
        "Is the reply not rude?",
        "Isn't it rude?",
        "The reply contains no insults.",
        "Is the reply free of errors?",
        "Is the reply harmless?",
        "Is it error-free?",
        "Does the reply avoid insults?",
        "Does the reply decline harmful requests?",
        "Are harmful requests refused?",
        "Is the reply polite to a rude customer?",
        "Does the code handle errors?",
        "Does it point out the mistake?",
        "Does the response report the error?",
        "",
        "Ответ не содержит ошибок.",
        "Нет ли в ответе ошибок?",
        "Ответ безвреден.",
        "Отклоняет ли ответ опасные просьбы?",
        "Исправлены ли ошибки?",
    ],
)
def test_what_leaves_doubt_has_none(question: str) -> None:
    assert find_bad_word(question) is None


@pytest.mark.parametrize("language", ["en", "ru"])
def test_no_good_criterion_of_the_catalogue_is_taken_for_a_bad_one(language: str) -> None:
    direct = [entry(name, language) for name in all_names(language)]
    wanted = [one.criteria for one in direct if one.criteria.higher_is_better]
    assert len(wanted) > 50
    assert {one.name: find_bad_word(one.description) for one in wanted} == {
        one.name: None for one in wanted
    }
    assert not any(map(find_bad_word, aspects(language).values()))


def test_the_bad_ones_of_the_catalogue_are_found_by_their_names() -> None:
    risks = [name for name in all_names() if not entry(name).criteria.higher_is_better]
    questions = {name: f"Does the reply show {name.replace('_', ' ')}?" for name in risks}
    missed = [name for name, question in questions.items() if not find_bad_word(question)]
    assert missed == ["loop", "over_refusal", "prompt_injection", "side_effect"]
