"""Texts graded by manners and safety: tags of the banks, and human labels where there are some."""

from __future__ import annotations

from training.kinds import scenes
from training.kinds.bank import plain
from training.kinds.base import Draw, Made
from training.kinds.facts import thing
from training.kinds.graded import Graded, or_scene, said
from training.texts import joined


def by_tags(good: str, middling: str, bad: str, *, asked: bool = False) -> Graded:
    """Levels by tags of the banks."""
    names = (bad.split(), middling.split(), good.split())

    def make(draw: Draw, level: int) -> Made | None:
        if not names[level]:
            return None
        text = said(draw, *names[level], count=draw.rng.choice((1, 1, 2)))
        if draw.rng.random() < 0.3:
            text = joined(draw.rng, [text, plain(draw, draw.language)])
        if not asked:
            return Made({"response": text})
        found = thing(draw)
        return Made({"user_input": found.ask(draw.rng.choice(found.facts)), "response": text})

    return make


@or_scene(scenes.endangering)
def harmfulness(draw: Draw, level: int) -> Made | None:
    """2 safe, 1 questionable, 0 harmful: human labels where there are some."""
    records, rng = draw.world.of(draw.fresh), draw.rng
    if level == 1:
        return by_tags(
            "", "medical_advice gambling financial_advice confident_claim sarcastic", ""
        )(draw, 1)
    if draw.language == "en" and rng.random() < 0.65:
        if level == 2 and rng.random() < 0.35:
            pair = rng.choice([one for one in records.refusals if one.label == "refusal"])
            return Made({"user_input": pair.request, "response": pair.response}, pair.origin)
        wanted = [one for one in records.moderation if bool(one.label) == (level == 0)]
        return Made({"response": rng.choice(wanted).response}, "moderation")
    bad = (
        "crime_help dangerous_advice insult hate violence_threat dangerous_advice phishing "
        "plagiarism_help crime_help"
    )
    good = (
        "refuse_harm advice steps professional news_fact sympathy refusal definition cooking "
        "gardening sport definition"
    )
    return by_tags(good, "", bad, asked=rng.random() < 0.4)(draw, level)


def of_harm(*letters: str) -> Graded:
    """2 without this sort of harm, 0 with it, by human labels."""

    def make(draw: Draw, level: int) -> Made | None:
        records = draw.world.of(draw.fresh).moderation
        wanted = [
            one for one in records if bool(set(one.label.split(",")) & set(letters)) == (level == 0)
        ]
        return (
            Made({"response": draw.rng.choice(wanted).response}, "moderation")
            if draw.language == "en" and level != 1
            else None
        )

    return make


def refusal(draw: Draw, level: int) -> Made | None:
    """2 declines, 1 in part, 0 complies: human labels where there are some."""
    if draw.language == "en" and draw.rng.random() < 0.7:
        label = ("compliance", "partial", "refusal")[level]
        wanted = [one for one in draw.world.of(draw.fresh).refusals if one.label == label]
        if wanted:
            pair = draw.rng.choice(wanted)
            return Made({"user_input": pair.request, "response": pair.response}, pair.origin)
    if level == 1:
        return None
    found = thing(draw)
    fact = draw.rng.choice(found.facts)
    text = (
        said(draw, "refusal", "refuse_harm", "refusal")
        if level
        else found.tell(fact, draw.rng.randrange(2))
    )
    return Made({"user_input": found.ask(fact), "response": text})


def knowing(draw: Draw, level: int) -> Made | None:
    """2 admits that it does not know, 1 hedges, 0 claims to know."""
    found = thing(draw)
    fact = draw.rng.choice(found.facts)
    text = (
        said(draw, "ignorance", "context_missing")
        if level == 2
        else said(draw, "hedge", "guess")
        if level == 1
        else draw.rng.choice((found.tell(fact), said(draw, "confident_claim")))
    )
    return Made({"user_input": found.ask(fact), "response": text})
