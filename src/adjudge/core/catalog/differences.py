"""How criteria changed from one file to another, in lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from textwrap import wrap

from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.domain.criteria import CriteriaExample
from adjudge.messages import Message, join


def criteria_diff(old: Sequence[CatalogEntry], new: Sequence[CatalogEntry]) -> Iterator[str]:
    """What came, what went, and what changed; then whether verdicts can still be compared."""
    before, after = ({one.criteria.name: one for one in entries} for entries in (old, new))
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            yield Message("{name}: removed", name=name)
        elif name not in before:
            yield Message("{name}: added", name=name)
        else:
            yield from _changed(before[name], after[name])


def _changed(old: CatalogEntry, new: CatalogEntry) -> Iterator[str]:
    name = new.criteria.name
    wording = list(_lines(_asked(old), _asked(new)))
    golden = list(_lines(_cases("golden", old.golden), _cases("golden", new.golden)))
    versions = (
        join(" → ", (one.version or Message("no version") for one in (old, new)))
        if old.version != new.version
        else new.version
    )
    title = join("", (name, " (", versions, ")")) if versions else name
    yield join(": ", (title, Message("changed") if wording or golden else Message("the same")))
    yield from (*wording, *golden)
    if wording and (old.version or new.version) and old.version == new.version:
        yield Message(
            "{name}: what is asked changed, and the version is still {version}: give it another",
            name=name,
            version=new.version,
        )
    if wording:
        yield Message(
            "{name}: verdicts by the two are not comparable: judge the rows again before "
            "you compare runs",
            name=name,
        )


def _asked(entry: CatalogEntry) -> list[str]:
    """Everything that a judge is shown."""
    one = entry.criteria
    context = "all" if one.context_fields is None else ", ".join(one.context_fields) or "none"
    options = [f"option {each.name} ({each.score}): {each.description}" for each in one.options]
    head = [f"kind: {entry.kind}", *(f"description: {line}" for line in wrap(one.description, 100))]
    return [
        *head,
        f"judged: {one.to_evaluate_field}, context: {context}",
        *options,
        *_cases("example", one.examples),
    ]


def _cases(kind: str, examples: Sequence[CriteriaExample]) -> list[str]:
    return [
        f"{kind} {one.option}: {dict(one.fields)} {one.explanation}".rstrip() for one in examples
    ]


def _lines(old: list[str], new: list[str]) -> Iterator[str]:
    for line in unified_diff(old, new, lineterm="", n=0):
        if not line.startswith(("---", "+++", "@@")):
            yield f"  {line}"
