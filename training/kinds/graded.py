"""Texts whose quality is known by construction: 2 good, 1 middling, 0 bad. One function a quality.

They serve the aspects, the catalogue, the dimensions of RAG, and pairs alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import wraps

from training.kinds import scenes
from training.kinds.bank import plain, tags
from training.kinds.base import Draw, Made
from training.kinds.facts import Fact, Thing, context, some, thing
from training.kinds.forms import scrambled, typos
from training.texts import bank, expand, joined, sentences

Graded = Callable[[Draw, int], Made | None]
_SCENES = 0.45
"""Share of the texts that come from scenes where there are fitting ones."""


def or_scene(*others: Graded) -> Callable[[Graded], Graded]:
    """Texts of a rule, or now and then of scenes that have the same grades."""

    def mixed(rule: Graded) -> Graded:
        @wraps(rule)
        def make(draw: Draw, level: int) -> Made | None:
            found = draw.rng.choice(others)(draw, level) if draw.rng.random() < _SCENES else None
            return found or rule(draw, level)

        return make

    return mixed


def said(draw: Draw, *names: str, count: int = 1) -> str:
    """Sentences of one of the tags."""
    tag = tags()[draw.rng.choice(names)]
    return " ".join(tag.sentence(draw, draw.language) for _ in range(count))


def _and(draw: Draw, questions: list[str]) -> str:
    """Several questions as one request."""
    if draw.language == "en":
        return (
            " ".join(questions)
            if draw.rng.random() < 0.5
            else "Please tell me: " + " ".join(questions)
        )
    return " ".join(questions)


def _real(draw: Draw) -> bool:
    return draw.language == "en" and draw.rng.random() < 0.45


# -- about the question ----------------------------------------------------------


@or_scene(scenes.relevant, scenes.followed_up)
def relevance(draw: Draw, level: int) -> Made | None:
    """2 answers, 1 answers a part or stays on the topic, 0 is about something else."""
    if level != 1 and _real(draw):
        pairs = draw.world.of(draw.fresh).pairs
        pair, other = draw.rng.sample(pairs, 2)
        if pair.request == other.request:
            return None
        return Made(
            {"user_input": pair.request, "response": pair.response if level else other.response},
            "pandalm",
        )
    found = thing(draw)
    first, second, *rest = draw.rng.sample(list(found.facts), min(3, len(found.facts)))
    way = draw.rng.randrange(2)
    if level == 2:
        extra = [found.tell(second)] if draw.rng.random() < 0.3 else []
        return Made(
            {"user_input": found.ask(first), "response": " ".join([found.tell(first, way), *extra])}
        )
    if level == 1:
        if draw.rng.random() < 0.5:
            return Made(
                {
                    "user_input": _and(draw, [found.ask(first), found.ask(second)]),
                    "response": found.tell(first, way),
                }
            )
        return Made(
            {
                "user_input": found.ask(first),
                "response": " ".join(found.tell(fact) for fact in [second, *rest[:1]]),
            }
        )
    other_thing = thing(draw, not_=found.sort)
    told = [
        other_thing.tell(fact, draw.rng.randrange(2))
        for fact in some(draw, other_thing, draw.rng.choice((1, 2)))
    ]
    return Made(
        {
            "user_input": found.ask(first),
            "response": " ".join(told) if draw.rng.random() < 0.7 else plain(draw, draw.language),
        }
    )


def relevance_four(draw: Draw, level: int) -> Made | None:
    """3 answers, 2 answers a part, 1 is on the topic only, 0 is about something else."""
    if level in (0, 3):
        return relevance(draw, 2 if level else 0)
    found = thing(draw)
    first, second, third = draw.rng.sample(list(found.facts), 3)
    if level == 2:
        return Made(
            {
                "user_input": _and(draw, [found.ask(first), found.ask(second)]),
                "response": found.tell(first, draw.rng.randrange(2)),
            }
        )
    return Made(
        {
            "user_input": found.ask(first),
            "response": " ".join(
                found.tell(fact, draw.rng.randrange(2)) for fact in (second, third)
            ),
        }
    )


@or_scene(scenes.complete, scenes.followed_up_in_part)
def completeness(draw: Draw, level: int) -> Made | None:
    """2 covers all that was asked, 1 a part, 0 nothing of it."""
    found = thing(draw)
    asked = some(draw, found, draw.rng.choice((2, 2, 3)))
    left = [fact for fact in found.facts if fact not in asked]
    fields: dict[str, str | list[str]] = {
        "user_input": _and(draw, [found.ask(fact) for fact in asked])
    }
    if draw.rng.random() < 0.4:
        fields["contexts"] = context(draw, found, found.facts)
    way = draw.rng.randrange(2)
    told = (
        asked
        if level == 2
        else asked[: draw.rng.randint(1, len(asked) - 1)]
        if level == 1
        else left[:2]
    )
    answer = " ".join(found.tell(fact, way) for fact in told) or plain(draw, draw.language)
    if level == 0 and draw.rng.random() < 0.3:
        answer = said(draw, "ignorance", "refusal", "thanks_reply", "advertisement")
    return Made({**fields, "response": answer})


def helpfulness(draw: Draw, level: int) -> Made | None:
    """2 answers, 1 points elsewhere, 0 is of no use."""
    if level == 1:
        found = thing(draw)
        return Made(
            {
                "user_input": found.ask(draw.rng.choice(found.facts)),
                "response": said(draw, "professional", "hedge", "context_missing", "link_given"),
            }
        )
    return relevance(draw, level)


@or_scene(scenes.followed)
def instructed(draw: Draw, level: int) -> Made | None:
    """2 does what was asked, 1 a part of it or nearly, 0 something else."""
    return relevance(draw, level)


# -- about the context -------------------------------------------------------------


@or_scene(scenes.grounded, scenes.grounded, scenes.followed_up_truly)
def groundedness(draw: Draw, level: int) -> Made | None:
    """2 says what the context says, 1 only in part, 0 something else."""
    found = thing(draw)
    known = some(draw, found, draw.rng.choice((2, 3, 4)))
    count, way, asked = draw.rng.choice((1, 2)), draw.rng.randrange(2), draw.rng.random() < 0.6
    told = known[: 2 if level == 1 else count]
    fields: dict[str, str | list[str]] = {"user_input": found.ask(told[0])} if asked else {}
    fields["contexts"] = context(draw, found, known, 1 - way if draw.rng.random() < 0.7 else way)
    lines = [found.tell(fact, way) for fact in told]
    missing = [fact for fact in found.facts if fact not in known]
    if level < 2:
        lines[-1] = _swapped(draw, found, told[-1], known, way)
    if level == 0:
        lines = [_swapped(draw, found, fact, known, way) for fact in told]
    if level == 2 and missing and draw.rng.random() < 0.1:
        fields, lines = (
            {"user_input": found.ask(missing[0]), **fields},
            [said(draw, "context_missing")],
        )
    return Made({**fields, "response": " ".join(lines)})


def _swapped(draw: Draw, found: Thing, fact: Fact, known: Sequence[Fact], way: int) -> str:
    """The fact with another value, or a fact that the context does not mention."""
    missing = [one for one in found.facts if one not in known]
    if missing and draw.rng.random() < 0.3:
        return found.tell(draw.rng.choice(missing), way)
    return found.tell(fact, way, fact.value(draw.rng, draw.language, not_=found.values[fact.name]))


@or_scene(scenes.contradicting)
def contradiction(draw: Draw, level: int) -> Made | None:
    """2 agrees with the context, 0 contradicts it."""
    found = thing(draw)
    known = some(draw, found, draw.rng.choice((2, 3)))
    fact, way = known[0], draw.rng.randrange(2)
    value = None if level else fact.value(draw.rng, draw.language, not_=found.values[fact.name])
    return Made({"contexts": context(draw, found, known), "response": found.tell(fact, way, value)})


@or_scene(scenes.answerable)
def answerable(draw: Draw, level: int) -> Made | None:
    """2: the context holds the answer, 1: a part of it, 0: nothing of it."""
    found = thing(draw)
    known = some(draw, found, draw.rng.choice((2, 3)))
    missing = [fact for fact in found.facts if fact not in known]
    asked = known[:1] if level == 2 else [known[0], *missing[:1]] if level == 1 else missing[:1]
    other = thing(draw, not_=found.sort)
    passage = context(draw, found, known)
    if level == 0 and draw.rng.random() < 0.5:
        passage = context(draw, other, some(draw, other, 3))
    if not asked or (level == 1 and len(asked) < 2):
        return None
    return Made(
        {"user_input": _and(draw, [found.ask(fact) for fact in asked]), "contexts": passage}
    )


@or_scene(scenes.referred)
def reference(draw: Draw, level: int) -> Made | None:
    """2 agrees with the reference, 1 in part, 0 contradicts it."""
    found = thing(draw)
    facts = some(draw, found, 2)
    way = draw.rng.randrange(2)
    wrong = [
        found.tell(fact, way, fact.value(draw.rng, draw.language, not_=found.values[fact.name]))
        for fact in facts
    ]
    right = [found.tell(fact, way) for fact in facts]
    answer = right if level == 2 else [right[0], wrong[1]] if level == 1 else wrong
    if level != 1 and draw.rng.random() < 0.5:
        facts, answer = facts[:1], answer[:1]
    told = " ".join(found.tell(fact, 1 - way) for fact in facts)
    return Made(
        {
            "user_input": _and(draw, [found.ask(fact) for fact in facts]),
            "reference": told,
            "response": " ".join(answer),
        }
    )


@or_scene(scenes.summed_up)
def summary(draw: Draw, level: int) -> Made | None:
    """2 says what the source says, 1 changes a detail, 0 distorts it."""
    found = thing(draw)
    told = some(draw, found, 3)
    source = " ".join(found.tell(fact) for fact in told) + " " + plain(draw, draw.language)
    lines = [found.tell(fact, 1) for fact in told[:2]]
    if level == 1:
        lines[1] = _swapped(draw, found, told[1], told, 1)
    if level == 0:
        lines = [_swapped(draw, found, fact, told, 1) for fact in told[:2]]
    return Made({"source": source, "response": " ".join(lines)})


def coverage(draw: Draw, level: int) -> Made | None:
    """2 mentions all main points of the source, 1 some, 0 hardly any."""
    found = thing(draw)
    told = some(draw, found, 4)
    kept = told if level == 2 else told[:2] if level == 1 else []
    answer = " ".join(found.tell(fact, 1) for fact in kept) or plain(draw, draw.language)
    return Made(
        {"source": joined(draw.rng, [found.tell(fact) for fact in told]), "response": answer}
    )


def cited(draw: Draw, level: int) -> Made | None:
    """2: the cited source says it, 0: it does not."""
    found = thing(draw)
    facts = some(draw, found, 3)
    sources = [found.tell(fact) for fact in facts]
    place = draw.rng.randrange(3)
    number = place if level else draw.rng.choice([one for one in range(3) if one != place])
    listed = [f"{n}. {text}" for n, text in enumerate(sources, 1)]
    return Made(
        {"contexts": "\n".join(listed), "response": f"{found.tell(facts[place], 1)} [{number + 1}]"}
    )


def sourced(draw: Draw, level: int) -> Made | None:
    """2: every claim with a source, 1: one of two, 0: none."""
    found = thing(draw)
    facts = some(draw, found, 2)
    marks = [
        draw.rng.choice(
            (
                f"[{n}]",
                f"({draw.rng.choice(bank('slots')['surname'])}, {draw.rng.randrange(1980, 2025)})",
            )
        )
        for n in (1, 2)
    ]
    shown = marks if level == 2 else [marks[0], ""] if level == 1 else ["", ""]
    lines = [
        f"{found.tell(fact).rstrip('.')} {mark}".rstrip() + "."
        for fact, mark in zip(facts, shown, strict=True)
    ]
    return Made({"response": joined(draw.rng, lines)})


def history(draw: Draw, level: int) -> Made | None:
    """2 fits what was said earlier, 0 contradicts it."""
    found = thing(draw)
    facts = some(draw, found, 2)
    value = (
        None if level else facts[0].value(draw.rng, draw.language, not_=found.values[facts[0].name])
    )
    names = ("User", "Assistant") if draw.language == "en" else ("Пользователь", "Помощник")
    told = f"{names[0]}: {found.ask(facts[0])}\n{names[1]}: {found.tell(facts[0])}"
    return Made(
        {
            "history": told,
            "response": " ".join([found.tell(facts[0], 1, value), found.tell(facts[1], 1)]),
        }
    )


# -- about the wording -------------------------------------------------------------


def passage(draw: Draw, count: int) -> list[str]:
    """Sentences that belong together."""
    if draw.language == "en" and draw.rng.random() < 0.4:
        pair = draw.rng.choice(draw.world.of(draw.fresh).pairs)
        found = sentences(pair.response)
        if len(found) >= count:
            return found[: count + 2]
    found_thing = thing(draw)
    return [
        found_thing.tell(fact, place and draw.rng.randrange(2))
        for place, fact in enumerate(some(draw, found_thing, count))
    ]


def _padding(draw: Draw, count: int) -> list[str]:
    return [expand(draw.rng, one) for one in draw.rng.sample(bank("padding")[draw.language], count)]


@or_scene(scenes.followed_up_briefly)
def conciseness(draw: Draw, level: int) -> Made | None:
    """2 nothing needless, 1 one needless sentence, 0 mostly padding and repetition."""
    found = thing(draw)
    facts = some(draw, found, draw.rng.choice((1, 1, 2, 2, 3)))
    asked = _and(draw, [found.ask(fact) for fact in facts])
    lines = [found.tell(fact, draw.rng.randrange(2)) for fact in facts]
    if level == 1:
        lines.insert(draw.rng.randrange(len(lines) + 1), _padding(draw, 1)[0])
    if level == 0:
        lines = [
            *_padding(draw, 1),
            *lines,
            *_padding(draw, draw.rng.choice((1, 2))),
            draw.rng.choice(lines),
        ]
    return Made({"user_input": asked, "response": " ".join(lines)})


def coherence(draw: Draw, level: int) -> Made | None:
    """2 belongs together, 1 with a sentence from elsewhere, 0 is thrown together or contradicts
    itself.
    """
    lines = passage(draw, draw.rng.choice((2, 3)))
    if level == 1:
        other = thing(draw)
        lines.insert(
            draw.rng.randrange(1, len(lines) + 1), other.tell(draw.rng.choice(other.facts))
        )
    if level == 0:
        if draw.rng.random() < 0.4:
            found = thing(draw)
            fact = draw.rng.choice(found.facts)
            lines = [
                found.tell(fact),
                found.tell(
                    fact, 1, fact.value(draw.rng, draw.language, not_=found.values[fact.name])
                ),
            ]
        else:
            others = [thing(draw) for _ in range(draw.rng.choice((3, 4)))]
            lines = [one.tell(draw.rng.choice(one.facts), 1) for one in others]
    return Made({"response": " ".join(lines)})


def fluency(draw: Draw, level: int) -> Made | None:
    """2 as it should be, 1 with mistakes, 0 words thrown about."""
    text = " ".join(passage(draw, draw.rng.choice((1, 2, 3))))
    made = (
        text
        if level == 2
        else typos(draw.rng, text, 0.3)
        if level == 1
        else _broken(draw.rng, text)
    )
    return Made({"response": made})


def clarity_five(draw: Draw, level: int) -> Made | None:
    """4 clear … 0 cannot be understood."""
    found = thing(draw)
    facts = some(draw, found, draw.rng.choice((2, 3)))
    lines = [found.tell(fact, 0 if place == 0 else 1) for place, fact in enumerate(facts)]
    text, rng = " ".join(lines), draw.rng
    made = {
        4: text,
        3: typos(rng, text, 0.12),
        2: typos(rng, text, 0.55),
        1: " ".join(scrambled(rng, line) if rng.random() < 0.7 else line for line in lines),
        0: typos(rng, scrambled(rng, text), 0.6),
    }[level]
    return Made({"user_input": _and(draw, [found.ask(fact) for fact in facts]), "response": made})


def _broken(rng: random.Random, text: str) -> str:
    return typos(rng, scrambled(rng, text), 0.4) if rng.random() < 0.5 else scrambled(rng, text)
