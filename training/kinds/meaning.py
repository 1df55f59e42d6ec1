"""Whether a text says a certain thing: asked in one language, of a text in the other."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.domain.criteria import yes_no_criteria
from training.kinds.base import Case, Draw, Kind
from training.parallel import sentences
from training.texts import joined
from training.wordings import ask

_SAYS = {
    "en": ("say: “{}”", "say the same as “{}”", "contain a sentence that means “{}”", "tell the reader this: “{}”"),
    "ru": ("говорит: «{}»", "сообщает вот что: «{}»", "говорит то же, что и фраза «{}»", "содержит мысль «{}»"),
}


def kinds() -> Iterator[Kind]:
    """Any sentence of the banks may be asked for: what the words of one language mean in the other."""
    yield Kind("says_a_thing", _says, weight=45)


def _says(draw: Draw) -> Case | None:
    """The text has the sentence among others, or has not."""
    words, known, here = draw.wording or draw.rng, sentences(draw.fresh), int(draw.language == "ru")
    wanted = words.choice(known)
    asked = ask(words, [phrase.format(wanted[here].rstrip(".")) for phrase in _SAYS[draw.language]], draw.language)
    parts, holds = draw.rng.sample(known, draw.rng.choice((1, 1, 2, 3))), draw.rng.random() < 0.5
    if holds:
        parts[0] = wanted
    elif any(part[0] == wanted[0] or part[1] == wanted[1] for part in parts):
        return None
    text = joined(draw.rng, [part[1 - here] for part in parts])
    return Case(yes_no_criteria(asked.text), {"response": text}, "Yes" if holds == asked.positive else "No")
