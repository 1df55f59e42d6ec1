"""What is likely to go wrong with criteria, found before a model is asked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from operator import itemgetter
from pathlib import Path
from string import ascii_uppercase
from typing import Literal

from adjudge.catalog.criteria_file import parse_entry, raw_entries, repeated_names
from adjudge.catalog.double_barrelled import double_barrelled
from adjudge.catalog.entry import CatalogEntry
from adjudge.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.domain.verdict import TIE
from adjudge.reading.values import Place, WrongValue, nearest

Severity = Literal["error", "warning"]
_Remark = tuple[Severity, str, str]
"""Severity, field, message."""
_WORD = re.compile(r"[-−–+<>≤≥]?\d+(?:[.,]\d+)*%?|\w+(?:[-+]+(?!\w))?")
"""A word with the sign that gives it its meaning: "-1" is not "1", and "A-" is not "A"."""
_WIDE_STEP = 1.9
"""How many times the narrowest step leaves room for an option between two."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or may be."""

    severity: Severity
    criteria: str
    field: str
    message: str


def lint(criteria: Criteria, fields: Collection[str] | None = None) -> list[Finding]:
    """Everything found in ``criteria``, errors first. ``fields``: those that the rows to be judged have."""
    checks = (_question, _overlaps, _unreachable, _scale, _examples)
    remarks = [remark for check in checks for remark in check(criteria)]
    if fields is not None:
        remarks += _unknown_fields(criteria, fields)
    found = [Finding(severity, criteria.name, field, message) for severity, field, message in remarks]
    return sorted(found, key=lambda finding: finding.severity)


def lint_file(path: str | Path, fields: Collection[str] | None = None) -> list[Finding]:
    """Everything found in a criteria file: an entry that cannot be read does not hide what is wrong with the others."""
    read: list[tuple[Place, CatalogEntry]] = []
    unread: list[WrongValue] = []
    for place, value in raw_entries(path):
        try:
            read.append((place, parse_entry(value, place)))
        except WrongValue as wrong:
            unread.append(wrong)
    refused = [*unread, *repeated_names(read)]
    found = [Finding("error", wrong.place.entry, wrong.place.field, wrong.message) for wrong in refused]
    return found + [finding for _, entry in read for finding in lint(entry.criteria, fields)]


def _question(criteria: Criteria) -> Iterator[_Remark]:
    pair = double_barrelled(criteria.definition)
    if pair:
        yield "warning", "description", f"seems to ask two things at once ({pair!r}): make two criteria of it"


def _overlaps(criteria: Criteria) -> Iterator[_Remark]:
    for one, other in combinations(criteria.options, 2):
        if _words(one.name) == _words(other.name):
            yield "error", "options", f"{one.name!r} and {other.name!r} differ only in case or punctuation"
        elif _contained(one.name, other.name):
            yield "warning", "options", f"{one.name!r} and {other.name!r} are easily confused: one name contains the other"
        if one.description.strip() and _words(one.description) == _words(other.description):
            yield "error", "options", f"{one.name!r} and {other.name!r} have the same description"


def _unreachable(criteria: Criteria) -> Iterator[_Remark]:
    options = criteria.options
    if len(options) == 1:
        yield "error", "options", f"{options[0].name!r} is the only option: there is nothing to decide"
    silent = [option for option in options if not option.description.strip()]
    if len(silent) < len(options):
        for option in silent:
            yield "warning", "options", f"{option.name!r} has no description, others have one: a judge will seldom choose it"
    yield from _indistinct(silent)
    yield from _wide_steps(options, silent)


def _indistinct(silent: list[CriteriaOption]) -> Iterator[_Remark]:
    for one, other in combinations(silent, 2):
        if _score(one) is not None and _score(one) == _score(other):
            yield "warning", "options", f"{one.name!r} and {other.name!r} have one score and no description to tell them apart"


def _wide_steps(options: Collection[CriteriaOption], silent: list[CriteriaOption]) -> Iterator[_Remark]:
    scored = [(score, option) for option in options if (score := _score(option)) is not None]
    steps = list(pairwise(sorted(scored, key=itemgetter(0))))
    narrowest = min((above - below for (below, _), (above, _) in steps if above > below), default=0.0)
    for (below, one), (above, other) in steps:
        if above - below > _WIDE_STEP * narrowest and one in silent and other in silent:
            yield "warning", "options", f"nothing lies between {one.name!r} and {other.name!r}, and no description says why"


def _scale(criteria: Criteria) -> Iterator[_Remark]:
    given = [_score(option) for option in criteria.options]
    scores = [score for score in given if score is not None]
    if not scores:
        return
    if len(scores) < len(given):
        yield "warning", "options", "some have a score and some have none: those without leave no number behind"
    if sorted(scores) not in (scores, scores[::-1]):
        yield "warning", "options", "the scores go up and down: list the options from best to worst, or from worst to best"
    if all(option.score is None for option in criteria.options):
        return  # numbers as names are a scale of their own
    yield from _range(min(scores), max(scores))


def _range(worst: float, best: float) -> Iterator[_Remark]:
    if worst < 0 or best > 1:
        yield (
            "warning",
            "options",
            f"the scores reach from {worst:g} to {best:g}: 0 is the bad end everywhere else, 1 the good one",
        )
    elif worst >= 0.5 or best <= 0.5:
        above = f"all scores lie above the middle ({worst:g} to {best:g}): what is the other end?"
        below = f"all scores lie below the middle ({worst:g} to {best:g}): what is the other end?"
        yield "warning", "options", above if worst >= 0.5 else below
    else:
        if best != 1:
            yield "warning", "options", f"the best score is {best:g}, not 1"
        if worst != 0:
            yield "warning", "options", f"the worst score is {worst:g}, not 0"


def _examples(criteria: Criteria) -> Iterator[_Remark]:
    chosen = {example.option for example in criteria.examples}
    for number, example in enumerate(criteria.examples, 1):
        if example.option not in criteria.option_names and not (example.option == TIE and _compares(criteria)):
            offered = ", ".join(criteria.option_names)
            yield "error", f"examples[{number}].option", f"{example.option!r} is not an option; there are {offered}"
        for field in _unshown(criteria, example):
            yield (
                "error",
                f"examples[{number}].fields",
                f"the criteria reads {field!r}, the example has only {_listed(example.fields)}",
            )
    if len(criteria.examples) > 1 and len(chosen) == 1:
        yield "warning", "examples", f"all of them are {chosen.pop()!r}: a judge learns to say nothing else"


def _unshown(criteria: Criteria, example: CriteriaExample) -> list[str]:
    """An example of one field is judged on that field, as every instance is."""
    return [] if len(example.fields) == 1 else [field for field in _read(criteria) if field not in example.fields]


def _unknown_fields(criteria: Criteria, fields: Collection[str]) -> Iterator[_Remark]:
    for field in _read(criteria):
        if field not in fields:
            key = "to_evaluate_field" if field == criteria.to_evaluate_field else "context_fields"
            yield "error", key, f"no row has {field!r}; {nearest(field, sorted(fields))}"


def _read(criteria: Criteria) -> list[str]:
    """The fields that must be there."""
    return list(dict.fromkeys((criteria.to_evaluate_field, *(criteria.context_fields or ()))))


def _compares(criteria: Criteria) -> bool:
    """Whether the options are labels of responses."""
    return criteria.option_names == tuple(ascii_uppercase[: len(criteria.options)])


def _score(option: CriteriaOption) -> float | None:
    """As in results: a number as the name counts as the score."""
    if option.score is not None:
        return option.score
    try:
        return float(option.name)
    except ValueError:
        return None


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold())) or (text,)


def _contained(one: str, other: str) -> bool:
    short, long = sorted((_words(one), _words(other)), key=len)
    return any(long[start : start + len(short)] == short for start in range(len(long) - len(short) + 1))


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names))
