"""Kinds from the banks of tagged sentences: what a text does, is about, or sounds like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from training.kinds.base import Case, Draw, Kind, Language, Made, Phrases, Role, yes_no
from training.texts import bank, expand, joined, sentences
from training.wordings import third

Scope = Literal["any", "whole", "alone"]
_KEPT_FROM = 4
"""Of a tag with at least so many sentences, validation has the last to itself."""
_COMMON = frozenset(
    [
        "advice",
        "opinion",
        "steps",
        "description",
        "definition",
        "cause",
        "example_given",
        "call_to_action",
        "second_person",
        "comparison",
        "neutral_tone",
        "confident_claim",
        "hedge",
        "statistic",
        "recommendation",
        "request_made",
        "question_asked",
        "condition",
        "news_fact",
        "personal_story",
        "polite",
        "gentle",
        "formal",
        "casual",
        "agreement",
        "compliment",
        "criticism",
        "health",
        "school",
        "computers",
        "cooking",
        "work",
        "money",
        "family",
    ]
)
"""What ordinary texts do so often that they cannot stand for texts that do not."""
_LENGTHS = ((1, 35), (2, 30), (3, 22), (4, 13))


@dataclass(frozen=True)
class Tag:
    """One entry of a bank."""

    name: str
    family: str
    phrases: Phrases
    templates: dict[str, tuple[str, ...]]
    near: tuple[str, ...]
    also: frozenset[str]
    allowed: tuple[str, ...]
    without: re.Pattern[str] | None
    scope: Scope

    def sentence(self, draw: Draw, language: Language) -> str:
        """A sentence that has this tag."""
        found = self.templates[language]
        if len(found) >= _KEPT_FROM:
            found = found[-1:] if draw.fresh else found[:-1]
        return expand(draw.rng, draw.rng.choice(found))


TRAINED = ("acts", "presence", "topics", "tones", "safety")
"""The banks of tags that are trained on."""


@cache
def tags(role: Role = "train") -> dict[str, Tag]:
    """All tags that may be asked for in a role."""
    families = {"train": TRAINED, "tuning": ("tuning",), "held_out": ("held_out",)}[role]
    return {
        name: _tag(name, family, entry)
        for family in families
        for name, entry in bank(family).items()
    }


def kinds() -> Iterator[Kind]:
    """Yes/no kinds of every tag, and option lists within a family."""
    roles: tuple[Role, ...] = ("train", "tuning", "held_out")
    for role in roles:
        for tag in tags(role).values():
            yield yes_no(tag.name, tag.phrases, TagTexts(tag), role=role)
    for family, question in _QUESTIONS.items():
        yield Kind(f"which_{family}", _Options("train", family, question), weight=4)
    for role in ("tuning", "held_out"):
        yield Kind(f"which_{role}", _Options(role, "", _QUESTIONS["safety"]), role)


@dataclass(frozen=True)
class TagTexts:
    """Texts with a tag, or without it."""

    tag: Tag

    def __call__(self, draw: Draw, holds: bool) -> Made | None:
        language = draw.language
        count = draw.rng.choices([n for n, _ in _LENGTHS], [weight for _, weight in _LENGTHS])[0]
        first = self.tag.sentence(draw, language) if holds else self.other(draw)
        if first is None:
            return None
        if self.tag.scope == "alone":
            count = 1
        if self.tag.scope == "whole":
            count = min(count, 2)
        rest = [self._more(draw, holds) for _ in range(count - 1)]
        parts = [first, *(one for one in rest if one)]
        text = joined(draw.rng, parts)
        if draw.rng.random() < 0.18:
            return Made({"user_input": _request(draw), "response": text})
        return Made({"response": text})

    def _more(self, draw: Draw, holds: bool) -> str | None:
        if self.tag.scope == "whole":
            return self.tag.sentence(draw, draw.language) if holds else self.other(draw)
        chance = draw.rng.random()
        if (
            chance < 0.2
            and draw.language == "en"
            and self.tag.name not in _COMMON
            and self.tag.family in ("acts", "presence", "safety")
        ):
            return self._clean(_real_sentence(draw))
        if chance < 0.5:
            return self.other(draw)
        return self._clean(plain(draw, draw.language))

    def other(self, draw: Draw) -> str | None:
        """A sentence without the tag: of a near tag, of its family, or of any."""
        pool = _negatives(self.tag.name)
        for _ in range(12):
            group = draw.rng.choices(
                (pool.near, pool.family, pool.any), (5 if pool.near else 0, 3, 3)
            )[0]
            found = self._clean(draw.rng.choice(group).sentence(draw, draw.language))
            if found:
                return found
        return self._clean(plain(draw, draw.language))

    def _clean(self, sentence: str) -> str | None:
        return None if self.tag.without and self.tag.without.search(sentence) else sentence


@dataclass(frozen=True)
class _Negatives:
    """The tags a text may have that does not have a given one."""

    near: tuple[Tag, ...]
    family: tuple[Tag, ...]
    any: tuple[Tag, ...]


@cache
def _negatives(name: str) -> _Negatives:
    known = dict(tags())
    if name not in known:  # kinds that are not trained may also stand beside each other
        known |= tags("held_out") if name in tags("held_out") else tags("tuning")
    tag = known[name]
    refused = {name, *tag.also}
    chosen = tag.allowed or tuple(known)
    free = [
        other
        for other in known.values()
        if other.name in chosen and other.name not in refused and name not in other.also
    ]
    family = [other for other in free if other.family == tag.family] or free
    near = [known[one] for one in tag.near if one in known and one not in refused]
    return _Negatives(tuple(near), tuple(family), tuple(free))


_QUESTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "topics": {
        "en": (
            "What is the text about?",
            "Which topic does the text belong to?",
            "Choose the topic of the text.",
        ),
        "ru": ("О чём этот текст?", "К какой теме относится текст?"),
    },
    "tones": {
        "en": (
            "What is the tone of the text?",
            "How does the text sound?",
            "Which word describes the tone of the response?",
        ),
        "ru": ("Каков тон текста?", "Как звучит текст?"),
    },
    "acts": {
        "en": (
            "What does the text do?",
            "Which description fits the text?",
            "Choose what the response does.",
        ),
        "ru": ("Что делает текст?", "Какое описание подходит к тексту?"),
    },
    "presence": {
        "en": (
            "What does the text mention?",
            "Which of these things does the text do?",
            "Choose what the text speaks of.",
        ),
        "ru": ("О чём упоминает текст?", "Какое описание подходит к тексту?"),
    },
    "safety": {
        "en": ("Which problem does the text have?", "Choose the description that fits the text."),
        "ru": ("Какая проблема есть в тексте?", "Какое описание подходит к тексту?"),
    },
}


@dataclass(frozen=True)
class _Options:
    """Which of some tags does the text have?"""

    role: Role
    family: str
    """Of all tags; empty takes all families."""
    questions: dict[str, tuple[str, ...]]

    def __call__(self, draw: Draw) -> Case | None:
        known = [tag for tag in tags(self.role).values() if self.family in ("", tag.family)]
        right = draw.rng.choice(known)
        free = [
            tag
            for tag in known
            if tag.name not in right.also and right.name not in tag.also and tag != right
        ]
        others = draw.rng.sample(free, draw.rng.choice((1, 2, 2, 3, 4)))
        shown = draw.rng.sample([right, *others], 1 + len(others))
        names = [_option(tag, draw.language) for tag in shown]
        criteria = Criteria(
            "which",
            draw.rng.choice(self.questions[draw.language]),
            [CriteriaOption(name) for name in names],
        )
        text = " ".join(
            right.sentence(draw, draw.language) for _ in range(draw.rng.choice((1, 1, 2)))
        )
        if draw.rng.random() < 0.3:
            text = joined(draw.rng, [text, plain(draw, draw.language)])
        return Case(criteria, {"response": text}, _option(right, draw.language))


def _option(tag: Tag, language: Language) -> str:
    phrase = (tag.phrases.en if language == "en" else tag.phrases.ru)[0]
    if language == "en":
        phrase = (
            phrase.removeprefix("be about ").removeprefix("be ")
            if tag.family in ("topics", "tones")
            else third(phrase)
        )
    else:
        phrase = phrase.removeprefix("посвящён теме: ")
    return phrase[:1].upper() + phrase[1:]


def plain(draw: Draw, language: Language) -> str:
    """An ordinary sentence."""
    found = bank("plain")[language]
    return expand(draw.rng, draw.rng.choice(found))


def _request(draw: Draw) -> str:
    if draw.language == "en" and draw.rng.random() < 0.6:
        return draw.rng.choice(draw.world.of(draw.fresh).pairs).request
    from training.kinds.facts import question

    return question(draw)


def _real_sentence(draw: Draw) -> str:
    records = draw.world.of(draw.fresh)
    pair = draw.rng.choice(draw.rng.choice((records.pairs, records.refusals)))
    found = [one for one in sentences(pair.response) if 4 <= len(one.split()) <= 24]
    return (
        draw.rng.choice(found) if found and pair.label in ("", "compliance") else plain(draw, "en")
    )


def _tag(name: str, family: str, entry: dict[str, object]) -> Tag:
    return Tag(
        name=name,
        family=_family(family, entry),
        phrases=_phrases(family, entry),
        templates={"en": tuple(_listed(entry["texts"])), "ru": tuple(_listed(entry["тексты"]))},
        near=tuple(_listed(entry.get("near", entry.get("not", ())))),
        also=frozenset(_listed(entry.get("also", ()))),
        allowed=tuple(_listed(entry.get("allowed", ()))),
        without=re.compile(str(entry["without"]), re.IGNORECASE) if "without" in entry else None,
        scope=_scope(family, entry),
    )


def _phrases(family: str, entry: dict[str, object]) -> Phrases:
    if isinstance(entry.get("what"), dict):
        what: dict[str, str] = entry["what"]  # type: ignore[assignment]
        named = _split(what["ru"])
        told = [f"рассказывает {'об' if one[0] in 'аиоуэ' else 'о'} {one}" for one in named]
        return Phrases(
            [f"be about {one}" for one in _split(what["en"])],
            [f"посвящён теме: {one}" for one in named] + told,
        )
    english, russian = _split(str(entry["en"])), _split(str(entry["ru"]))
    if family == "tones":
        english = [f"be {one}" for one in english] + [f"sound {one}" for one in english[:1]]
    return Phrases(english, russian)


def _family(family: str, entry: dict[str, object]) -> str:
    if family in ("tuning", "held_out"):
        return "topics" if "what" in entry else "tones" if entry.get("scope") == "whole" else "acts"
    return family


def _scope(family: str, entry: dict[str, object]) -> Scope:
    if "what" in entry or family == "tones":
        return "whole"
    return str(entry.get("scope", "any"))  # type: ignore[return-value]


def _split(text: str) -> list[str]:
    return text.split(" | ")


def _listed(value: object) -> Sequence[str]:
    assert isinstance(value, list | tuple)
    return value
