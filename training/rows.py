"""Cases of every kind as prompts, each with the split it belongs to.

Seeded: the same seed gives the same rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adjudge.core.domain.frozen_mapping import content_hash
from training.kinds import bank, claims, criteria, facts, forms, meaning, relations, tagged, words
from training.kinds.base import Case, Draw, Kind, Language, russian
from training.prompts import FORMS, Form, Shown, neutral, shown
from training.texts import World

RUSSIAN = 0.46
"""Share of the Russian examples."""
HELD_OUT = Path(__file__).parent / "held_out.txt"
_TRIES = 30
_WORDINGS = {"validation": (1, 1), "tuning": (8, 4), "held_out": (6, 4)}
"""Wordings a kind is measured in, English and Russian."""
_TEXTS = {"validation": 8, "tuning": 14, "held_out": 14}
"""Texts a wording."""


@dataclass(frozen=True)
class Made:
    """A case with where it belongs."""

    kind: str
    split: str
    case: Case
    language: Language
    """Of the template."""


@dataclass(frozen=True)
class Row:
    """One prompt of the data."""

    made: Made
    shown: Shown
    criterion: str
    item: int


def all_kinds() -> list[Kind]:
    """Every kind there is."""
    homes = (bank, claims, facts, forms, relations, criteria, tagged, words, meaning)
    return [kind for home in homes for kind in home.kinds()]


def held_out_names() -> list[str]:
    """The kinds that were set aside before the first training."""
    lines = HELD_OUT.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def rows(
    world: World, examples: int, seed: int, form: Form = "direct", *, mixed: bool = False
) -> list[Row]:
    """All prompts: for training one a case, for measuring all that a vote takes and those of the
    prior.

    ``mixed``: half of those for training have the other form.
    """
    known = all_kinds()
    unit = examples / sum(kind.weight for kind in known if kind.role == "train")
    found: list[Row] = []
    seen: set[str] = set()
    for kind in known:
        if kind.role == "train":
            forms = FORMS if mixed else (form,)
            found += _trained(world, kind, round(unit * kind.weight), seed, seen, forms)
            found += _measured(world, kind, "validation", seed, len(found), form)
        else:
            found += _measured(world, kind, kind.role, seed, len(found), form)
    return [row for row in found if row.made.split == "train" or _text(row.shown) not in seen]


def _trained(
    world: World, kind: Kind, count: int, seed: int, seen: set[str], forms: Sequence[Form]
) -> Iterator[Row]:
    rng, forming = random.Random(f"{seed} {kind.name}"), random.Random(f"{seed} {kind.name} form")
    made = 0
    for _ in range(_TRIES * count):
        if made == count:
            return
        language = _language(rng, kind)
        case = kind.make(Draw(world, rng, language, fresh=False))
        if case is None:
            continue
        template = _template(rng, case, language)
        one = rng.choice(shown(case, template, forming.choice(forms)))
        if _text(one) not in seen:
            seen.add(_text(one))
            made += 1
            yield Row(Made(kind.name, "train", case, template), one, "", 0)


def _measured(
    world: World, kind: Kind, split: str, seed: int, first: int, form: Form
) -> Iterator[Row]:
    rng = random.Random(f"{seed} {kind.name} {split}")
    item, priors = first, set()
    for language in kind.languages:
        for wording in range(_WORDINGS[split][language == "ru"]):
            cases = _alike(
                world,
                kind,
                rng,
                language,
                f"{seed} {kind.name} {language} {wording}",
                _TEXTS[split],
            )
            for case in cases:
                template = _template(random.Random(f"{kind.name} {wording}"), case, language)
                made, item = Made(kind.name, split, case, template), item + 1
                prompts = shown(case, template, form)
                criterion = content_hash(case.criteria, template, list(case.fields), case.offered)
                yield from (Row(made, one, criterion, item) for one in prompts)
                if criterion not in priors:
                    priors.add(criterion)
                    yield from (
                        Row(made, one, criterion, 0) for one in neutral(case, template, form)
                    )


def _alike(
    world: World, kind: Kind, rng: random.Random, language: Language, words: str, count: int
) -> list[Case]:
    """Cases in the same words."""
    found: list[Case] = []
    for _ in range(_TRIES * count):
        case = kind.make(Draw(world, rng, language, fresh=True, wording=random.Random(words)))
        if case is not None:
            found.append(case)
        if len(found) == count:
            break
    return found


def _language(rng: random.Random, kind: Kind) -> Language:
    if len(kind.languages) == 1:
        return kind.languages[0]
    return "ru" if rng.random() < RUSSIAN else "en"


def _template(rng: random.Random, case: Case, language: Language) -> Language:
    """Of the template: mostly that of the question. Russian is often asked in the English frame,
    which is the default.
    """
    if case.offered or not russian(case.criteria):
        return language if case.offered else "en"
    return "ru" if rng.random() < 0.6 else "en"


def _text(one: Shown) -> str:
    return one.prompt.text
