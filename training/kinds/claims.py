"""A sentence and the fragments it is looked up in: supported, contradicted or not found there, as
``EvidenceJudge`` asks.

What is told of made-up scenes and things, in other words, with another number, with something else
said, or of something else.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from adjudge.features.evidence.pool import support_criteria
from adjudge.features.evidence.support import CONTRADICTED, NOT_FOUND, SUPPORTED
from training.kinds.base import Case, Draw, Kind
from training.kinds.facts import Fact, Thing, some, thing
from training.kinds.scenes import scene
from training.texts import bank, expand

_NUMBER = re.compile(r"\b\d+\b")
_THINGS, _FOLLOWUPS = 0.2, 0.3
"""Shares of the cases that are about made-up things, and about scenes with follow-up questions."""
_MORE = {"en": 0.45, "ru": 0.1}
"""How often one more passage stands beside those that are there; Russian ones are soon too long for
the model.
"""
_ASKED = 0.4
"""How often the question is shown."""


@dataclass(frozen=True)
class _Claim:
    """What a sentence of known support was made of."""

    told: Sequence[str]
    sentence: str
    question: str = ""


def kinds() -> Iterator[Kind]:
    """One that asks as the package does, and one that asks for Yes or No in other words."""
    yield Kind("claim_support", support_case, weight=220)
    yield Kind("claim_stated", _yes_no, weight=80)


def support_case(draw: Draw) -> Case | None:
    """The package's own question."""
    truth = draw.rng.choices((SUPPORTED, CONTRADICTED, NOT_FOUND), (9, 5, 6))[0]
    return _case(draw, support_criteria(draw.language), truth, truth)


def _yes_no(draw: Draw) -> Case | None:
    """Whether the fragments say it, or do not."""
    words, truth = (
        draw.wording or draw.rng,
        draw.rng.choices((SUPPORTED, CONTRADICTED, NOT_FOUND), (2, 1, 1))[0],
    )
    positive = words.random() < 0.6
    asked = words.choice(
        bank("questions")["claims"][draw.language]["stated" if positive else "unstated"]
    )
    criteria = replace(yes_no_criteria(asked), to_evaluate_field="sentence")
    return _case(draw, criteria, truth, "Yes" if (truth == SUPPORTED) == positive else "No")


def _case(draw: Draw, criteria: Criteria, truth: str, answer: str) -> Case | None:
    made = _claim(draw, truth)
    if made is None:
        return None
    asked = {"user_input": made.question} if made.question and draw.rng.random() < _ASKED else {}
    return Case(
        criteria,
        {"contexts": _fragments(draw, made.told), **asked, "sentence": made.sentence},
        answer,
    )


def _fragments(draw: Draw, told: Sequence[str]) -> list[str]:
    """The passage among others, cut into fragments."""
    passages = [list(told)]
    while draw.rng.random() < _MORE[draw.language]:
        others = [
            expand(draw.rng, one)
            for one in scene(draw, draw.rng.choice(("passages", "followups")))["told"]
        ]
        passages.insert(draw.rng.randrange(len(passages) + 1), others)
    if draw.rng.random() < 0.3:
        return [sentence for passage in passages for sentence in passage]
    found = [" ".join(passage) for passage in passages]
    return [" ".join(found)] if draw.rng.random() < 0.4 else found


# -- sentences -----------------------------------------------------------------


def _claim(draw: Draw, truth: str) -> _Claim | None:
    where = draw.rng.random()
    if where < _THINGS:
        return _of_thing(draw, truth)
    if where < _THINGS + _FOLLOWUPS:
        return _of_followup(draw, truth)
    return _of_passage(draw, truth)


def _of_passage(draw: Draw, truth: str) -> _Claim:
    found = scene(draw, "passages")
    told = [expand(draw.rng, one) for one in found["told"]]
    answered, open_ = draw.rng.choice(found["asked"][:2]), found["asked"][2]
    if truth == SUPPORTED:
        said = [answered["right"][-1]] * 3 + [
            found["both"]["full"],
            found["both"]["part"],
            found["summary"]["good"],
        ]
        sentence = draw.rng.choice([*said, *told])
    elif truth == CONTRADICTED:
        sentence = draw.rng.choice(
            [
                answered["wrong"][0],
                *answered["wrong"],
                found["summary"]["bad"],
                *_miscounted(draw.rng, told),
            ]
        )
    else:
        answered = open_
        sentence = draw.rng.choice(
            [*open_["wrong"], *open_["unsupported"], *_elsewhere(draw, told)]
        )
    return _Claim(told, expand(draw.rng, sentence), expand(draw.rng, answered["ask"]))


def _of_followup(draw: Draw, truth: str) -> _Claim | None:
    found = scene(draw, "followups")
    told = [expand(draw.rng, one) for one in found["told"]]
    if truth == SUPPORTED:
        sentence = draw.rng.choice([found["right"][-1], found["right"][-1], *told])
    elif truth == CONTRADICTED:
        sentence = draw.rng.choice(
            [found["wrong"][-1], found["wrong"][-1], *_miscounted(draw.rng, told)]
        )
    else:
        sentence = draw.rng.choice(_elsewhere(draw, told) or [""])
    return (
        _Claim(told, expand(draw.rng, sentence), expand(draw.rng, found["whole"]))
        if sentence
        else None
    )


def _of_thing(draw: Draw, truth: str) -> _Claim | None:
    found = thing(draw)
    facts = some(draw, found, draw.rng.randint(2, 4))
    said, told = facts[0], facts[1:] if truth == NOT_FOUND else facts
    value = (
        said.value(draw.rng, draw.language, not_=found.values[said.name])
        if truth == CONTRADICTED
        else None
    )
    if not told:
        return None
    return _Claim(_told(draw, found, told), found.tell(said, 0, value), found.ask(said))


def _told(draw: Draw, found: Thing, facts: Sequence[Fact]) -> list[str]:
    """The facts in any order, the first with the thing's name."""
    order = list(facts)
    draw.rng.shuffle(order)
    return [
        found.tell(fact, 0 if place == 0 else draw.rng.randrange(2))
        for place, fact in enumerate(order)
    ]


def _miscounted(rng: random.Random, told: Sequence[str]) -> list[str]:
    """Sentences of the passage with another number in them."""
    return [
        _NUMBER.sub(lambda match: _other(rng, match.group()), one)
        for one in told
        if _NUMBER.search(one)
    ]


def _other(rng: random.Random, number: str) -> str:
    value = int(number)
    near = [value + step for step in (-2, -1, 1, 2, 10) if value + step > 0] + [value * 2 or 2]
    return str(rng.choice(near))


def _elsewhere(draw: Draw, told: Sequence[str]) -> list[str]:
    """Sentences of another scene."""
    other = scene(draw, "passages")
    said = [expand(draw.rng, one) for one in [*other["told"], other["asked"][0]["right"][-1]]]
    return [] if set(said) & set(told) else said
