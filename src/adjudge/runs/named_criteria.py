"""Criteria that a command is told: ready-made ones, those of files, and questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from adjudge.core.catalog.criteria import criteria_of, entry, read_criteria, ready_made
from adjudge.core.catalog.criteria_file import read_entries
from adjudge.core.catalog.entry import Kind
from adjudge.core.domain.criteria import Criteria


@dataclass(frozen=True)
class NamedCriteria:
    """Criteria, and what the ranking calls them: two wordings may have one name."""

    name: str
    criteria: Criteria


def criteria_to_try(
    named: Sequence[str], questions: Sequence[str], kind: Kind, language: str
) -> list[NamedCriteria]:
    """Ready-made ones, those of files, and questions; where two have one name, each with the file
    that it is from.
    """
    found = [(criteria_of(question, kind, language), "") for question in questions]
    for name in named:
        if Path(name).suffix:
            found += [(one, name) for one in read_criteria(name, kind)]
        else:
            found.append((ready_made(name, kind, language), ""))
    counts = Counter(criteria.name for criteria, _ in found)
    short = _short_names({file for _, file in found if file})
    several = [
        NamedCriteria(
            f"{one.name} ({short[file]})" if counts[one.name] > 1 and file else one.name, one
        )
        for one, file in found
    ]
    return list({one.name: one for one in several}.values())


def kinds_of(named: Sequence[str]) -> set[Kind]:
    """Whether criteria that are named judge one text, or compare, as far as
    they say so themselves.
    """
    files = [name for name in named if Path(name).suffix]
    return {one.kind for name in files for one in read_entries(name)} | {
        entry(name).kind for name in named if name not in files
    }


def _short_names(files: Iterable[str]) -> dict[str, str]:
    """File → the end of its path that no other has: the same from wherever it is named."""
    parts = {file: Path(file).absolute().parts for file in files}
    found = {}
    for file, own in parts.items():
        others = [each for each in parts.values() if each != own]
        length = 1
        while any(each[-length:] == own[-length:] for each in others):
            length += 1
        found[file] = "/".join(own[-length:])
    return found
