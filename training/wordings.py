"""One phrase → many ways to ask for it: question and statement, both polarities, English and
Russian.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

_SUBJECTS = {
    "en": ("text", "response", "answer", "message", "reply", "passage"),
    "ru": ("текст", "ответ", "отрывок", "комментарий"),
}
_VERB = {
    True: (
        ("The {s} {is_}.", 5),
        ("{Does} the {s} {do}?", 6),
        ("Is it true that the {s} {is_}?", 1),
        ("{Is_}.", 1),
        ("The {s} should {do}.", 1),
        ("Check that the {s} {is_}.", 1),
        ("Pass only if the {s} {is_}.", 1),
        ("Whether the {s} {is_}", 1),
        ("Can one say that the {s} {is_}?", 1),
        ("I want to know whether the {s} {is_}.", 1),
        ("A good {s} must {do}.", 1),
    ),
    False: (
        ("The {s} {isnt}.", 5),
        ("Is it true that the {s} {isnt}?", 2),
        ("It is not the case that the {s} {is_}.", 1),
        ("The {s} must not {do}.", 2),
        ("Check that the {s} {isnt}.", 1),
        ("{Isnt}.", 1),
        ("The {s} should not {do}.", 1),
        ("Nowhere {does} the {s} {do}.", 1),
    ),
}
_RUSSIAN = {
    True: (
        ("{S} {p}.", 5),
        ("{V} ли {s}{rest}?", 5),
        ("Верно ли, что {s} {p}?", 2),
        ("Проверьте, что {s} {p}.", 1),
        ("Правда ли, что {s} {p}?", 1),
        ("Убедитесь, что {s} {p}.", 1),
        ("Действительно ли {s} {p}?", 1),
        ("Можно ли сказать, что {s} {p}?", 1),
        ("{P}.", 1),
    ),
    False: (
        ("{S} не {p}.", 5),
        ("Верно ли, что {s} не {p}?", 2),
        ("Неверно, что {s} {p}.", 1),
        ("Проверьте, что {s} не {p}.", 1),
        ("Убедитесь, что {s} не {p}.", 1),
        ("Нельзя сказать, что {s} {p}.", 1),
        ("Не {p}.", 1),
    ),
}
_TAILS = {
    "en": (
        "Nothing else matters.",
        "Judge only this.",
        "Style and length do not matter.",
        "Whether it is true does not matter here.",
    ),
    "ru": ("Остальное не важно.", "Судите только об этом.", "Стиль и длина не важны."),
}
_TAIL_SHARE = 0.1


@dataclass(frozen=True)
class Asked:
    """A criterion in words, and whether Yes means that the phrase holds."""

    text: str
    positive: bool


def ask(
    rng: random.Random, phrases: Sequence[str], language: str, subjects: Sequence[str] = ()
) -> Asked:
    """Some wording of one of the phrases."""
    positive = rng.random() < 0.62
    phrase, subject = rng.choice(phrases), rng.choice(subjects or _SUBJECTS[language])
    make = _english if language == "en" else _russian
    text = make(rng, phrase, subject, positive)
    if rng.random() < _TAIL_SHARE:
        text = (
            f"{text.rstrip('.') + '.' if text[-1] not in '?.' else text} "
            f"{rng.choice(_TAILS[language])}"
        )
    return Asked(text, positive)


def asked_alike(
    rng: random.Random, in_english: Sequence[str], in_russian: Sequence[str]
) -> tuple[str, str]:
    """The same thing asked for in English and in Russian."""
    english, russian = third(rng.choice(in_english)), rng.choice(in_russian)
    return rng.choice(
        (
            (f"The text {english}.", f"Текст {russian}."),
            (f"Is it true that the answer {english}?", f"Верно ли, что ответ {russian}?"),
            (f"Check that the text {english}.", f"Проверьте, что текст {russian}."),
            (f"Which answer {english}?", f"Какой ответ {russian}?"),
        )
    )


def third(phrase: str) -> str:
    """ "mention a price" → "mentions a price"."""
    verb, _, rest = phrase.partition(" ")
    special = {"be": "is", "have": "has", "do": "does"}
    if verb in special:
        verb = special[verb]
    elif re.search(r"(s|x|z|ch|sh|o)$", verb):
        verb += "es"
    elif re.search(r"[^aeiou]y$", verb):
        verb = verb[:-1] + "ies"
    else:
        verb += "s"
    return f"{verb} {rest}".strip()


def _english(rng: random.Random, phrase: str, subject: str, positive: bool) -> str:
    being = phrase.startswith("be ")
    rest, is_ = phrase.removeprefix("be "), third(phrase)
    isnt = f"is not {rest}" if being else f"does not {phrase}"
    pattern = _pick(rng, _VERB[positive])
    does, do = ("is", rest) if being and "{does}" in pattern.lower() else ("does", phrase)
    return pattern.format(
        s=subject,
        is_=is_,
        Is_=_capital(is_),
        isnt=isnt,
        Isnt=_capital(isnt),
        does=does,
        Does=_capital(does),
        do=do,
    )


def _russian(rng: random.Random, phrase: str, subject: str, positive: bool) -> str:
    verb, gap, rest = phrase.partition(" ")
    comma = "," if verb.endswith(",") else ""
    return _pick(rng, _RUSSIAN[positive]).format(
        s=subject,
        S=_capital(subject),
        p=phrase,
        P=_capital(phrase),
        V=_capital(verb.rstrip(",")),
        rest=comma + gap + rest,
    )


def _pick(rng: random.Random, weighted: Sequence[tuple[str, int]]) -> str:
    return rng.choices([text for text, _ in weighted], [weight for _, weight in weighted])[0]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
