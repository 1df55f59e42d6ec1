"""Whether a text says a certain thing: asked in one language, of a text in the other."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.core.domain.criteria import yes_no_criteria
from training.kinds.base import Case, Draw, Kind
from training.parallel import sentences
from training.texts import bank, joined
from training.wordings import ask


def kinds() -> Iterator[Kind]:
    """Any sentence of the banks may be asked for: what the words of one
    language mean in the other.
    """
    yield Kind("says_a_thing", _says, weight=45)


def _says(draw: Draw) -> Case | None:
    """The text has the sentence among others, or has not."""
    words, known, here = draw.wording or draw.rng, sentences(draw.fresh), int(draw.language == "ru")
    wanted = words.choice(known)
    phrases = [
        phrase.format(wanted[here].rstrip("."))
        for phrase in bank("questions")["says"][draw.language]
    ]
    asked = ask(words, phrases, draw.language)
    parts, holds = draw.rng.sample(known, draw.rng.choice((1, 1, 2, 3))), draw.rng.random() < 0.5
    if holds:
        parts[0] = wanted
    elif any(part[0] == wanted[0] or part[1] == wanted[1] for part in parts):
        return None
    text = joined(draw.rng, [part[1 - here] for part in parts])
    return Case(
        yes_no_criteria(asked.text), {"response": text}, "Yes" if holds == asked.positive else "No"
    )
