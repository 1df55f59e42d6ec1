"""The tags of the banks asked for in other ways than by yes or no: how far a text has one, which of
two texts has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from adjudge.core.catalog.entry import pairwise_options
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from training.kinds.bank import Tag, TagTexts, plain, tags
from training.kinds.base import Case, Draw, Kind, Role
from training.kinds.pairs import compared
from training.texts import bank, joined
from training.wordings import third

_WEIGHTS: dict[Role, float] = {"train": 16, "tuning": 1, "held_out": 1}


def kinds() -> Iterator[Kind]:
    """One of each way for the tags that are trained, for those that tune and for those that
    measure.
    """
    for role, weight in _WEIGHTS.items():
        yield Kind(f"how_far_{role}", _HowFar(role), role, weight)
        yield Kind(f"which_of_two_{role}", _WhichOfTwo(role), role, weight)


@dataclass(frozen=True)
class _Asked:
    """A tag, and one of its phrases as it stands behind "does" and in the third person."""

    tag: Tag
    do: str
    does: str


def _ask(draw: Draw, role: Role) -> _Asked:
    """Some tag; where the wording is given, the one that goes with it."""
    words = draw.wording or draw.rng
    tag = words.choice(list(tags(role).values()))
    phrase = words.choice(tag.phrases.en if draw.language == "en" else tag.phrases.ru)
    return _Asked(tag, phrase, third(phrase) if draw.language == "en" else phrase)


@dataclass(frozen=True)
class _HowFar:
    """0 nowhere, 1 in part, 2 throughout."""

    role: Role

    def __call__(self, draw: Draw) -> Case | None:
        asked = _ask(draw, self.role)
        scale = (draw.wording or draw.rng).choice(bank("questions")["scales"][draw.language])
        levels = [text.format(does=asked.does, do=asked.do) for text in scale["levels"]]
        options = [CriteriaOption(str(level), text) for level, text in enumerate(levels)]
        criteria = Criteria("scale", scale["ask"].format(does=asked.does, do=asked.do), options)
        level = draw.rng.choice((0, 1, 2) if asked.tag.scope == "any" else (0, 2))
        text = self._text(draw, asked.tag, level)
        return Case(criteria, {"response": text}, str(level)) if text else None

    def _text(self, draw: Draw, tag: Tag, level: int) -> str | None:
        if level == 0:
            made = TagTexts(tag)(draw, False)
            return str(made.fields["response"]) if made else None
        whole = [tag.sentence(draw, draw.language) for _ in range(draw.rng.choice((1, 2, 2, 3)))]
        if level == 1:
            rest = [
                TagTexts(tag).other(draw) or plain(draw, draw.language)
                for _ in range(draw.rng.choice((1, 2)))
            ]
            whole = [whole[0], *rest]
        return joined(draw.rng, whole)


@dataclass(frozen=True)
class _WhichOfTwo:
    """One response has the tag, the other has not."""

    role: Role

    def __call__(self, draw: Draw) -> Case | None:
        asked = _ask(draw, self.role)
        question = (
            (draw.wording or draw.rng)
            .choice(bank("questions")["which_of_two"][draw.language])
            .format(does=asked.does)
        )
        quiet = replace(draw, wording=None)
        with_it, without = TagTexts(asked.tag)(quiet, True), TagTexts(asked.tag)(quiet, False)
        if with_it is None or without is None:
            return None
        texts = str(with_it.fields["response"]), str(without.fields["response"])
        return compared(
            draw,
            Criteria("which", question, pairwise_options(2, draw.language)),
            {},
            texts,
            1,
            "bank",
        )
