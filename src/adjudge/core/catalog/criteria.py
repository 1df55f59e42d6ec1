"""The ready-made criteria, and the files of those who write their own."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from adjudge.core.catalog.criteria_file import parse_entries, read_entries
from adjudge.core.catalog.entry import CatalogEntry, Kind
from adjudge.core.catalog.packages import PACKAGED, packaged_entry
from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from adjudge.errors import SetupError
from adjudge.messages import Message, join

_DATA = Path(__file__).parent / "data" / "criteria"
_SUFFIX = ".yaml"


def criteria(name: str, language: str = "en") -> Criteria:
    """The ready-made criteria ``name``."""
    return entry(name, language).criteria


def ready_made(name: str, kind: Kind, language: str = "en") -> Criteria:
    """The ready-made criteria ``name`` for a judge of this kind."""
    found = entry(name, language)
    if found.kind == kind:
        return found.criteria
    does, wanted = (
        (Message("judge one text"), Message("compares responses"))
        if kind == "pairwise"
        else (Message("compare responses"), Message("judges one text"))
    )
    twin = f"pairwise_{name}" if kind == "pairwise" else name.removeprefix("pairwise_")
    instead = (
        Message("use {name!r}", name=twin)
        if twin in all_names(language)
        else Message("`adjudge criteria --kind {kind}` lists those that fit", kind=kind)
    )
    raise SetupError(
        "the ready-made criteria {name!r} {does}, and this judge {wanted}: {instead}, or "
        "write the question out",
        name=name,
        does=does,
        wanted=wanted,
        instead=instead,
    )


def criteria_of(text: str, kind: Kind = "direct", language: str = "en") -> Criteria:
    """What a text means as criteria: the ready-made ones that it names; else a question with the
    answers Yes and No.
    """
    name = ready_made_name(text)
    if name is None:
        refuse_misspelt(text, all_names(language))
    return ready_made(name, kind, language) if name else yes_no_criteria(text)


def refuse_misspelt(text: str, known: Iterable[str]) -> None:
    """A word by itself that is nearly the name of something ready-made is hardly a question."""
    word = text.strip(" \t\n?!.").casefold()
    near = get_close_matches(word, list(known), n=1, cutoff=0.8) if word.isidentifier() else ()
    if near and near[0] != word:
        raise SetupError(
            "no ready-made criterion is called {text!r}; did you mean {near!r}? A question of your "
            "own is a sentence",
            text=text,
            near=near[0],
        )


def ready_made_name(text: str) -> str | None:
    """The name of the ready-made criteria that a text means, however it is spelt; None where it
    means none.
    """
    name = "_".join(text.casefold().replace("-", " ").split())
    return name if languages_of(name) else None


def is_risk(name: str) -> bool:
    """Whether the ready-made criteria ``name``, where there are such, are about something of which
    less is better.
    """
    return name in all_names() and not entry(name).criteria.higher_is_better


def criteria_names(kind: Kind = "direct", language: str = "en") -> list[str]:
    """What there is of a kind, by the alphabet."""
    return [name for name in all_names(language) if entry(name, language).kind == kind]


def read_criteria(path: str | Path, kind: Kind = "direct") -> list[Criteria]:
    """The criteria in a YAML or JSON file: one, or a list of them. Only for ``kind="pairwise"`` may
    options be left out.
    """
    return [found.criteria for found in read_entries(path, kind)]


@cache
def entry(name: str, language: str = "en") -> CatalogEntry:
    """The ready-made criteria ``name`` with its kind."""
    if PACKAGED.fullmatch(name):
        return packaged_entry(name, language)
    (found,) = parse_entries(source(name, language), name + _SUFFIX, language)
    return found


def source(name: str, language: str = "en") -> str:
    """The file of the ready-made criteria ``name``, to start one's own from."""
    known = all_names(language)
    if name not in known:
        raise SetupError(
            "no ready-made criterion is called {name!r} in language {language!r}; {near}",
            name=name,
            language=language,
            near=_near(name, known),
        )
    return (_DATA / language / (name + _SUFFIX)).read_text(encoding="utf-8")


@cache
def all_names(language: str = "en") -> tuple[str, ...]:
    """What there is of both kinds, by the alphabet."""
    if language not in languages():
        raise SetupError(
            "there are no ready-made criteria in language {language!r}; there are some in "
            "{languages}",
            language=language,
            languages=", ".join(languages()),
        )
    found = (_DATA / language).iterdir()
    return tuple(
        sorted(file.name.removesuffix(_SUFFIX) for file in found if file.name.endswith(_SUFFIX))
    )


@cache
def languages() -> tuple[str, ...]:
    """The languages that ready-made criteria are written in."""
    return tuple(sorted(folder.name for folder in _DATA.iterdir() if folder.is_dir()))


def languages_of(name: str) -> list[str]:
    """The languages that the ready-made criteria ``name`` is written in."""
    return [language for language in languages() if name in all_names(language)]


def _near(name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    return (
        Message("did you mean {near}?", near=join(Message(" or "), near))
        if near
        else Message("`adjudge criteria` lists them")
    )
