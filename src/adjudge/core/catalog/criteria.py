"""Ready-made criteria, and criteria in users' files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
NAMES_ELSEWHERE: Mapping[str, str] = {
    "faithfulness": "groundedness",
    "faithful": "groundedness",
    "grounding": "groundedness",
    "context_faithfulness": "groundedness",
    "factual_consistency": "groundedness",
    "hallucinations": "hallucination",
    "answer_relevancy": "answer_relevance",
    "response_relevancy": "answer_relevance",
    "relevancy": "answer_relevance",
    "relevance": "answer_relevance",
    "answer_correctness": "factual_correctness",
    "correctness": "factual_correctness",
    "factuality": "factual_correctness",
    "qa_correctness": "factual_correctness",
    "contextual_relevancy": "context_relevance",
    "context_relevancy": "context_relevance",
    "summarization": "summary_quality",
    "bias": "social_bias",
    "pii": "privacy_leak",
    "pii_leakage": "privacy_leak",
    "humor": "humour",
    "task_completion": "goal_completion",
}
"""Name in other tools → the ready-made criterion that means the same, or comes nearest."""
_OWN_WORDS = ("g_eval", "geval", "llm_rubric", "rubric", "custom")
"""Names of other tools for a question in the user's words."""


def criteria(name: str, language: str = "en") -> Criteria:
    """Return the ready-made criterion ``name``."""
    return entry(name, language).criteria


def ready_made(name: str, kind: Kind, language: str = "en") -> Criteria:
    """Return the ready-made criteria ``name``; raise SetupError if they are not for this kind of
    judge.
    """
    match = entry(name, language)
    if match.kind == kind:
        return match.criteria
    does, needed = (
        (Message("judge one text"), Message("compares responses"))
        if kind == "pairwise"
        else (Message("compare responses"), Message("judges one text"))
    )
    twin = f"pairwise_{name}" if kind == "pairwise" else name.removeprefix("pairwise_")
    instead = (
        Message("use {name!r}", name=twin)
        if twin in all_names(language)
        else Message("`adjudge criteria --kind {kind}` lists the suitable ones", kind=kind)
    )
    raise SetupError(
        "the ready-made criteria {name!r} {does}, but this judge {wanted}: {instead}, or write "
        "your own question",
        name=name,
        does=does,
        wanted=needed,
        instead=instead,
    )


def criteria_of(text: str, kind: Kind = "direct", language: str = "en") -> Criteria:
    """Interpret a string as the name of ready-made criteria, otherwise as a question with the
    answers Yes and No.
    """
    name = ready_made_name(text)
    if name is None:
        _refuse_file(text)
        refuse_misspelt(text, all_names(language))
    return ready_made(name, kind, language) if name else yes_no_criteria(text)


def _refuse_file(text: str) -> None:
    """Raise SetupError if a text is the name of a file of criteria.

    Asked as a question, it would get verdicts that mean nothing.
    """
    if text.strip().casefold().endswith((".yaml", ".yml", ".json")) and " " not in text.strip():
        raise SetupError(
            "{text!r} is the name of a file, not a question: read its criteria with "
            "adjudge.read_criteria({text!r})",
            text=text.strip(),
        )


def refuse_misspelt(text: str, known: Iterable[str]) -> None:
    """Raise SetupError for a name from another tool, or a single word that is nearly a ready-made
    name.

    Such a word is hardly a question.
    """
    word = text.strip(" \t\n?!.").casefold()
    known = list(known)
    if (elsewhere := _name_here(word)) in known and elsewhere != word:
        raise SetupError(
            "there is no ready-made criterion named {text!r}: adjudge calls it {near!r}. To ask "
            "your own question, write a sentence",
            text=text,
            near=elsewhere,
        )
    near = get_close_matches(word, known, n=1, cutoff=0.8) if word.isidentifier() else ()
    if near and near[0] != word:
        raise SetupError(
            "there is no ready-made criterion named {text!r}; did you mean {near!r}? To ask your "
            "own question, write a sentence",
            text=text,
            near=near[0],
        )


def ready_made_name(text: str) -> str | None:
    """Return the ready-made name that a text means, in any spelling, or None."""
    name = "_".join(text.casefold().replace("-", " ").split())
    return name if languages_of(name) else None


def is_risk(name: str) -> bool:
    """Return True for ready-made criteria that name a risk, where less is better."""
    return name in all_names() and not entry(name).criteria.higher_is_better


def criteria_names(kind: Kind = "direct", language: str = "en") -> list[str]:
    """Return the names of a kind, sorted."""
    return [name for name in all_names(language) if entry(name, language).kind == kind]


def read_criteria(path: str | Path, kind: Kind = "direct") -> list[Criteria]:
    """Read the criteria in a YAML or JSON file: one, or a list. Options may only be left out with
    ``kind="pairwise"``.
    """
    return [file_entry.criteria for file_entry in read_entries(path, kind)]


@cache
def entry(name: str, language: str = "en") -> CatalogEntry:
    """Return the ready-made criteria ``name`` with its kind."""
    if PACKAGED.fullmatch(name):
        return packaged_entry(name, language)
    (parsed_entry,) = parse_entries(source(name, language), name + _SUFFIX, language)
    return parsed_entry


def source(name: str, language: str = "en") -> str:
    """Return the text of the file with the ready-made criteria ``name``, as a start for custom
    ones.
    """
    names = all_names(language)
    if name not in names:
        raise SetupError(
            "there is no ready-made criterion named {name!r} in language {language!r}; {near}",
            name=name,
            language=language,
            near=_near(name, names),
        )
    return (_DATA / language / (name + _SUFFIX)).read_text(encoding="utf-8")


@cache
def all_names(language: str = "en") -> tuple[str, ...]:
    """Return the names of both kinds, sorted; raise SetupError for a language without any."""
    if language not in languages():
        raise SetupError(
            "there are no ready-made criteria in language {language!r}, only in {languages}",
            language=language,
            languages=", ".join(languages()),
        )
    files = (_DATA / language).iterdir()
    return tuple(
        sorted(file.name.removesuffix(_SUFFIX) for file in files if file.name.endswith(_SUFFIX))
    )


@cache
def languages() -> tuple[str, ...]:
    """Return the languages of ready-made criteria."""
    return tuple(sorted(folder.name for folder in _DATA.iterdir() if folder.is_dir()))


def languages_of(name: str) -> list[str]:
    """Return the languages of the ready-made criteria ``name``."""
    return [language for language in languages() if name in all_names(language)]


def _name_here(name: str) -> str | None:
    """Return the ready-made criterion for a name of another tool, in any spelling; None if
    unknown.
    """
    return NAMES_ELSEWHERE.get(_folded(name))


def _folded(name: str) -> str:
    return "_".join(name.casefold().replace("-", " ").replace("_", " ").split())


def _near(name: str, known: tuple[str, ...]) -> str:
    elsewhere = _name_here(name)
    if elsewhere in known:
        return Message("adjudge calls it {near}", near=elsewhere)
    if _folded(name) in _OWN_WORDS:
        return Message("write your own question with --criterion, or criteria in a file")
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    return (
        Message("did you mean {near}?", near=join(Message(" or "), near))
        if near
        else Message("`adjudge criteria` lists them")
    )
