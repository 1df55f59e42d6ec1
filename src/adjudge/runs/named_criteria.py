"""Criteria that a command names: ready-made ones, files, and questions."""

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
    """A criterion with a unique name for rankings, since two wordings may share a name."""

    name: str
    criteria: Criteria


def criteria_to_try(
    named: Sequence[str], questions: Sequence[str], kind: Kind, language: str
) -> list[NamedCriteria]:
    """Return the questions, ready-made criteria and those from files.

    If several share a name, those from files are followed by their file.
    """
    criteria_with_files = [(criteria_of(question, kind, language), "") for question in questions]
    for name in named:
        if Path(name).suffix:
            criteria_with_files += [(criterion, name) for criterion in read_criteria(name, kind)]
        else:
            criteria_with_files.append((ready_made(name, kind, language), ""))
    counts = Counter(criteria.name for criteria, _ in criteria_with_files)
    short = _short_names({file for _, file in criteria_with_files if file})
    named_criteria = [
        NamedCriteria(
            f"{criterion.name} ({short[file]})"
            if counts[criterion.name] > 1 and file
            else criterion.name,
            criterion,
        )
        for criterion, file in criteria_with_files
    ]
    return list({criterion.name: criterion for criterion in named_criteria}.values())


def kinds_of(named: Sequence[str]) -> set[Kind]:
    """Return the kinds (direct or pairwise) of these criteria."""
    files = [name for name in named if Path(name).suffix]
    return {file_entry.kind for name in files for file_entry in read_entries(name)} | {
        entry(name).kind for name in named if name not in files
    }


def _short_names(files: Iterable[str]) -> dict[str, str]:
    """Return file → shortest distinct end of its path, independent of the working folder."""
    parts = {file: Path(file).absolute().parts for file in files}
    short_names = {}
    for file, path_parts in parts.items():
        other_paths = [other_parts for other_parts in parts.values() if other_parts != path_parts]
        length = 1
        while any(other_parts[-length:] == path_parts[-length:] for other_parts in other_paths):
            length += 1
        short_names[file] = "/".join(path_parts[-length:])
    return short_names
