"""Differences between two files of criteria, in lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from textwrap import wrap

from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.domain.criteria import CriteriaExample
from adjudge.messages import Message, join


def criteria_diff(old: Sequence[CatalogEntry], new: Sequence[CatalogEntry]) -> Iterator[str]:
    """Yield in lines which criteria were added, removed, changed or kept, with the differences.

    A warning follows if verdicts by the two wordings are not comparable.
    """
    old_entries, new_entries = (
        {file_entry.criteria.name: file_entry for file_entry in entries} for entries in (old, new)
    )
    for name in dict.fromkeys([*old_entries, *new_entries]):
        if name not in new_entries:
            yield Message("{name}: removed", name=name)
        elif name not in old_entries:
            yield Message("{name}: added", name=name)
        else:
            yield from _diff_entry(old_entries[name], new_entries[name])


def _diff_entry(old: CatalogEntry, new: CatalogEntry) -> Iterator[str]:
    name = new.criteria.name
    wording = list(_lines(_shown_lines(old), _shown_lines(new)))
    golden = list(_lines(_cases("golden", old.golden), _cases("golden", new.golden)))
    versions = (
        join(" → ", (file_entry.version or Message("no version") for file_entry in (old, new)))
        if old.version != new.version
        else new.version
    )
    title = join("", (name, " (", versions, ")")) if versions else name
    yield join(": ", (title, Message("changed") if wording or golden else Message("the same")))
    yield from (*wording, *golden)
    if wording and (old.version or new.version) and old.version == new.version:
        yield Message(
            "{name}: the question changed, but the version is still {version}; change the "
            "version, too",
            name=name,
            version=new.version,
        )
    if wording:
        yield Message(
            "{name}: verdicts of the two versions are not comparable; judge the rows again "
            "before you compare runs",
            name=name,
        )


def _shown_lines(entry: CatalogEntry) -> list[str]:
    """Return everything that a judge is shown, in lines."""
    criteria = entry.criteria
    context = (
        "all" if criteria.context_fields is None else ", ".join(criteria.context_fields) or "none"
    )
    options = [
        f"option {option.name} ({option.score}): {option.description}"
        for option in criteria.options
    ]
    head = [
        f"kind: {entry.kind}",
        *(f"description: {line}" for line in wrap(criteria.description, 100)),
    ]
    return [
        *head,
        f"judged: {criteria.to_evaluate_field}, context: {context}",
        *options,
        *_cases("example", criteria.examples),
    ]


def _cases(kind: str, examples: Sequence[CriteriaExample]) -> list[str]:
    return [
        f"{kind} {example.option}: {dict(example.fields)} {example.explanation}".rstrip()
        for example in examples
    ]


def _lines(old: list[str], new: list[str]) -> Iterator[str]:
    for line in unified_diff(old, new, lineterm="", n=0):
        if not line.startswith(("---", "+++", "@@")):
            yield f"  {line}"
