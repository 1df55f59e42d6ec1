"""Texts of known quality from the banks of scenes: passages with questions, instructions with
responses, dangers.

Levels are as in ``graded``: 2 good, 1 middling, 0 bad; None where a scene has no such text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from training.kinds.base import Draw, Made
from training.texts import bank, expand, for_validation

_Scene = Mapping[str, Any]
_TWO = 0.35
"""How often two questions are asked at once."""
_MORE = 0.3
"""How often another passage stands beside the one that matters; Russian ones would be too long."""


def scene(draw: Draw, name: str) -> _Scene:
    """One scene of a bank, in the language that is drawn for; validation has some to itself."""
    names = [one for one in bank(name) if for_validation(one) == draw.fresh]
    found: _Scene = bank(name)[draw.rng.choice(names)][draw.language]
    return found


def _one(draw: Draw, *texts: Sequence[str]) -> str:
    """Any of the texts."""
    return expand(draw.rng, draw.rng.choice([one for some in texts for one in some]))


def _passage(draw: Draw, found: _Scene) -> str | list[str]:
    """What the documents say, whole, in fragments or numbered."""
    told = [expand(draw.rng, one) for one in found["told"]]
    while draw.language == "en" and draw.rng.random() < _MORE:
        others = [expand(draw.rng, one) for one in scene(draw, "passages")["told"]]
        told = told + others if draw.rng.random() < 0.5 else others + told
    form = draw.rng.random()
    if form < 0.25:
        return told
    if form < 0.45:
        return "\n".join(f"{number}. {one}" for number, one in enumerate(told, 1))
    return " ".join(told)


# -- passages ------------------------------------------------------------------


def grounded(draw: Draw, level: int) -> Made | None:
    """2 says what the passage says, 1 partly, 0 contradicts it or adds to it."""
    found = scene(draw, "passages")
    passage, two = _passage(draw, found), draw.rng.random() < _TWO
    if two or level == 1:
        return _two_answers(draw, found, passage, level)
    place = draw.rng.randrange(3)
    chosen, nothing = found["asked"][place], found["asked"][2]["right"] if place < 2 else ()
    fields = {"user_input": expand(draw.rng, chosen["ask"])} if draw.rng.random() < 0.8 else {}
    bad = (
        nothing
        if nothing and fields and draw.rng.random() < 0.15
        else [*chosen["wrong"], *chosen["unsupported"]]
    )
    return Made(
        {**fields, "contexts": passage, "response": _one(draw, chosen["right"] if level else bad)}
    )


def _two_answers(draw: Draw, found: _Scene, passage: str | list[str], level: int) -> Made:
    """To two questions: both supported, one of them, neither."""
    chosen = draw.rng.sample(found["asked"][:2], 2)
    asked = " ".join(expand(draw.rng, one["ask"]) for one in chosen)
    right = {
        2: (True, True),
        1: draw.rng.choice(((True, False), (False, True))),
        0: (False, False),
    }[level]
    sorts = [
        one["right"][-1:] if good else [one["wrong"][0], *one["unsupported"]]
        for one, good in zip(chosen, right, strict=True)
    ]
    return Made(
        {
            "user_input": asked,
            "contexts": passage,
            "response": " ".join(_one(draw, one) for one in sorts),
        }
    )


def contradicting(draw: Draw, level: int) -> Made | None:
    """2 agrees with the passage, 0 contradicts it."""
    found = scene(draw, "passages")
    chosen = draw.rng.choice(found["asked"][:2])
    fields = {"user_input": expand(draw.rng, chosen["ask"]), "contexts": _passage(draw, found)}
    return Made({**fields, "response": _one(draw, chosen["right" if level else "wrong"])})


def relevant(draw: Draw, level: int) -> Made | None:
    """2 answers the question, right or wrong; 1 is on the subject only; 0 is
    about something else.
    """
    found, elsewhere = scene(draw, "passages"), scene(draw, "passages")
    chosen, other = draw.rng.sample(found["asked"], 2)
    asked = expand(draw.rng, chosen["ask"])
    if level == 2:
        answer = _one(draw, chosen["right"][-1:], chosen["wrong"], chosen["unsupported"])
    elif level == 1:
        answer = _one(draw, other["right"][-1:], found["told"])
    else:
        answer = _one(draw, elsewhere["asked"][0]["right"][-1:], elsewhere["told"])
    return (
        None
        if level == 0 and elsewhere is found
        else Made({"user_input": asked, "response": answer})
    )


def complete(draw: Draw, level: int) -> Made | None:
    """2 answers both questions, 1 one of them, 0 neither."""
    found, elsewhere = scene(draw, "passages"), scene(draw, "passages")
    both, none = found["both"], [*found["asked"][2]["right"][-1:], elsewhere["told"][0]]
    fields = {"contexts": _passage(draw, found)} if draw.rng.random() < 0.6 else {}
    asked = expand(draw.rng, both["ask"])
    return Made(
        {
            "user_input": asked,
            **fields,
            "response": _one(draw, (none, [both["part"]], [both["full"]])[level]),
        }
    )


def summed_up(draw: Draw, level: int) -> Made | None:
    """2 sums the passage up truly, 1 with something false in it, 0 sums up another one."""
    found, other = scene(draw, "passages"), scene(draw, "passages")
    source = " ".join(expand(draw.rng, one) for one in found["told"])
    text = (other["summary"]["good"], found["summary"]["bad"], found["summary"]["good"])[level]
    return (
        None
        if level == 0 and other is found
        else Made({"source": source, "response": expand(draw.rng, text)})
    )


def answerable(draw: Draw, level: int) -> Made | None:
    """2: the passage holds the answer, 0: it does not."""
    found = scene(draw, "passages")
    chosen = draw.rng.choice(found["asked"][:2]) if level == 2 else found["asked"][2]
    if level == 0 and draw.rng.random() < 0.4:
        chosen = scene(draw, "passages")["asked"][2]
    return (
        None
        if level == 1
        else Made(
            {"user_input": expand(draw.rng, chosen["ask"]), "contexts": _passage(draw, found)}
        )
    )


def referred(draw: Draw, level: int) -> Made | None:
    """2 agrees with the reference, 0 contradicts it."""
    chosen = draw.rng.choice(scene(draw, "passages")["asked"][:2])
    short, whole = (expand(draw.rng, one) for one in chosen["right"][:2])
    asked = expand(draw.rng, chosen["ask"])
    answer = short if level else _one(draw, chosen["wrong"])
    return (
        None if level == 1 else Made({"user_input": asked, "reference": whole, "response": answer})
    )


# -- follow-ups ----------------------------------------------------------------


def _talk(draw: Draw, found: _Scene) -> dict[str, str | list[str]]:
    """A short question, what was said before it, and mostly the documents."""
    user, assistant = (
        ("User", "Assistant") if draw.language == "en" else ("Пользователь", "Помощник")
    )
    earlier = (
        f"{user}: {_one(draw, found['first'])}\n{assistant}: {expand(draw.rng, found['reply'])}"
    )
    fields: dict[str, str | list[str]] = {
        "user_input": _one(draw, found["ask"]),
        "history": earlier,
    }
    return fields | ({"contexts": _passage(draw, found)} if draw.rng.random() < 0.8 else {})


def followed_up(draw: Draw, level: int) -> Made | None:
    """2 answers the follow-up, right or wrong; 1 says something else on the subject; 0 is about
    something else.
    """
    found, elsewhere = scene(draw, "followups"), scene(draw, "followups")
    fields = _talk(draw, found)
    answers = (
        [elsewhere["reply"]],
        found["off"],
        [*found["right"], *found["right"], *found["wrong"]],
    )[level]
    return (
        None
        if level == 0 and elsewhere is found
        else Made({**fields, "response": _one(draw, answers)})
    )


def followed_up_in_part(draw: Draw, level: int) -> Made | None:
    """2 answers the follow-up, 1 a half of it, 0 not at all."""
    found = scene(draw, "followups")
    fields = _talk(draw, found)
    return Made(
        {**fields, "response": _one(draw, (found["off"], [found["part"]], found["right"])[level])}
    )


def followed_up_truly(draw: Draw, level: int) -> Made | None:
    """2 says what the documents say, 0 contradicts them."""
    found = scene(draw, "followups")
    fields = {**_talk(draw, found), "contexts": _passage(draw, found)}
    return (
        None
        if level == 1
        else Made({**fields, "response": _one(draw, found["right" if level else "wrong"])})
    )


def followed_up_briefly(draw: Draw, level: int) -> Made | None:
    """2 nothing needless, 1 one needless sentence, 0 mostly padding."""
    found = scene(draw, "followups")
    fields, answer = _talk(draw, found), _one(draw, found["right"])
    before, *after = draw.rng.sample(
        [expand(draw.rng, one) for one in bank("padding")[draw.language]], 3
    )
    lines = ([before, answer, *after], [answer, before], [answer])[level]
    return Made({**fields, "response": " ".join(lines)})


# -- dangers ---------------------------------------------------------------------


def endangering(draw: Draw, level: int) -> Made | None:
    """2 hurts nobody, be it right or wrong, 0 puts somebody at risk."""
    found = scene(draw, "dangers")
    fields = {"contexts": _passage(draw, found)} if draw.rng.random() < 0.7 else {}
    asked = _one(draw, found["ask"])
    answers = (
        (found["right"], found["right"], found["wrong"], found["beside"])
        if level
        else (found["danger"],)
    )
    return (
        None
        if level == 1
        else Made({"user_input": asked, **fields, "response": _one(draw, *answers)})
    )


def sound(draw: Draw, level: int) -> Made | None:
    """2 agrees with the documents, 0 contradicts them, be it dangerous or not."""
    return None if level == 1 else _advised(draw, ("right",) if level else ("wrong", "danger"))


def three_ways(draw: Draw, place: int) -> Made:
    """0 right, 1 wrong, 2 dangerous."""
    return _advised(draw, (("right", "wrong", "danger")[place],))


def _advised(draw: Draw, sorts: Sequence[str]) -> Made:
    found = scene(draw, "dangers")
    fields = {"user_input": _one(draw, found["ask"]), "contexts": _passage(draw, found)}
    return Made({**fields, "response": _one(draw, found[draw.rng.choice(sorts)])})


# -- instructions ----------------------------------------------------------------


def followed(draw: Draw, level: int) -> Made | None:
    """2 does what was asked, 1 nearly, 0 something else."""
    found = scene(draw, "instructions")
    asked = _one(draw, found["ask"])
    return Made(
        {"user_input": asked, "response": _one(draw, found[("poor", "near", "good")[level]])}
    )


def followed_or_not(draw: Draw, level: int) -> Made | None:
    """2 does what was asked, 0 nearly or something else."""
    found = scene(draw, "instructions")
    asked = _one(draw, found["ask"])
    answers = [found["good"]] if level else [found["near"], found["near"], found["poor"]]
    return Made({"user_input": asked, "response": _one(draw, *answers)})
