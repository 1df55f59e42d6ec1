"""Whether a judge prefers what its own family of models wrote, where the run says who wrote what.

With labels: how much oftener the better answer is picked where the judge's own family wrote it.
Without: which it picks of pairs that other judges of the run find equally good; a fair judge picks
its own in half of them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adjudge.core.domain.label import LabelScale
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.verdict import TIE
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.folder import records_of, run_info
from adjudge.stats.bias import preference_among_equals, self_preference
from adjudge.trust.labels.queue import verdict_of
from adjudge.trust.labels.scales import JudgedScale, label_scales
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.measure import measure_of

_FAMILIES: Mapping[str, str] = {
    "chatgpt": "gpt",
    "davinci": "gpt",
    "text": "gpt",
    "o": "gpt",
    "codex": "gpt",
    "mixtral": "mistral",
    "ministral": "mistral",
    "codestral": "mistral",
    "magistral": "mistral",
    "meta": "llama",
    "gemma": "gemini",
}
"""Models that the same people made under several names."""


def family(model: str) -> str:
    """What a model belongs to: "openai/gpt-4o-mini" and "gpt-3.5-turbo" are both "gpt"."""
    name = re.split(r"[/:#]", model.strip().casefold())[-1]
    first = re.match(r"[^\W\d_]+", name)
    found = first[0] if first else name
    return _FAMILIES.get(found, found)


@dataclass(frozen=True)
class _Case:
    """A judged row, and who wrote what."""

    identity: str
    said: str
    """The option, or the place of the better response."""
    writers: tuple[str, ...]
    """The family behind each response."""


def self_preference_text(folder: str | Path, judge: str) -> str:
    """What the run shows of it, in words."""
    own = {family(one) for one in run_info(folder).judge_configurations[judge].models}
    for judged in label_scales(folder):
        if judge in judged.judges and (cases := _cases(folder, judge, judged.scale)):
            return _measured(folder, judge, judged, cases, own)
    return Message(
        "not measured: it takes a column generator, or model_a and model_b, that says which "
        "model wrote what"
    )


def _measured(
    folder: str | Path, judge: str, judged: JudgedScale, cases: list[_Case], own: set[str]
) -> str:
    theirs = sum(bool(own & {*one.writers}) for one in cases)
    if not theirs or all({*one.writers} <= own for one in cases):
        return Message(
            "not measured: {theirs} of {cases} rows hold a text by {own}, its own family",
            theirs=theirs,
            cases=len(cases),
            own=", ".join(sorted(own)),
        )
    truth = _truth(folder, judged.name)
    if any(one.identity in truth for one in cases):
        return _by_labels(cases, truth, judged.scale, own)
    if not judged.scale.compares:
        return Message("not measured: of single answers it takes people's labels")
    return _among_equals(cases, _level_pairs(folder, judge, judged), own)


def _by_labels(
    cases: list[_Case], truth: Mapping[str, str], scale: LabelScale, own: set[str]
) -> str:
    values = measure_of(scale).values
    good = None if scale.compares else max(values, key=values.__getitem__)
    upheld: dict[bool, list[bool]] = {True: [], False: []}
    for one in cases:
        best = truth.get(one.identity)
        if best is None or (best not in (good, None) if good else not best.isdecimal()):
            continue
        writer = one.writers[0 if good else int(best)]
        upheld[writer in own].append(one.said == best)
    found = self_preference(upheld[True], upheld[False])
    return found.say(
        Message(
            "a good answer is upheld {value:+.3f} more often where its own family wrote it "
            "({limits})"
        ),
        Message("{lower:+.3f} to {upper:+.3f}; {count} rows"),
    )


def _among_equals(cases: list[_Case], level: set[str], own: set[str]) -> str:
    picked = [
        one.writers[int(one.said)] in own
        for one in cases
        if one.identity in level
        and one.said.isdecimal()
        and len(own & {*one.writers}) == 1
        and len({*one.writers}) > 1
    ]
    found = preference_among_equals(picked)
    if found.value is None:
        return Message(
            "not measured: it takes people's labels, or judges of other families in the run "
            "({reason})",
            reason=found.reason,
        )
    return found.say(
        Message(
            "of pairs that other judges call level, its own family's is picked {value:+.3f} more "
            "often than half ({limits})"
        ),
        Message("{lower:+.3f} to {upper:+.3f}; {count} pairs"),
    )


def _cases(folder: str | Path, judge: str, scale: LabelScale) -> list[_Case]:
    return [
        _Case(record.identity, said, writers)
        for record in records_of(folder, judge=judge)
        if (said := verdict_of(record, scale.name)) and (writers := _writers(record, scale))
    ]


def _writers(record: JudgmentRecord, scale: LabelScale) -> tuple[str, ...]:
    """The family behind each response; nothing where the row does not say."""
    columns = ("model_a", "model_b") if scale.compares else ("generator",)
    try:
        return tuple(family(str(record.cell(column))) for column in columns)
    except SetupError:
        return tuple(map(family, record.systems)) if scale.compares else ()


def _truth(folder: str | Path, criteria: str) -> dict[str, str]:
    """Row → what most people say of it."""
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for label in LabelStore(folder).current(criteria):
        if label.is_by_person:
            said[label.row][str(label.answer)] += 1
    best = {row: counts.most_common(2) for row, counts in said.items()}
    return {row: top[0][0] for row, top in best.items() if len(top) == 1 or top[0][1] > top[1][1]}


def _level_pairs(folder: str | Path, judge: str, judged: JudgedScale) -> set[str]:
    """Pairs that the other judges of the run call a tie, or are evenly split on."""
    said: dict[str, Counter[str]] = defaultdict(Counter)
    others = {*judged.judges} - {judge}
    for record in records_of(folder):
        if record.judge in others and (verdict := verdict_of(record, judged.name)):
            said[record.identity][verdict] += 1
    return {
        row
        for row, counts in said.items()
        if counts[TIE] * 2 > counts.total() or counts["0"] == counts["1"]
    }
