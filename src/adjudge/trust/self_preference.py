"""Measure whether a judge prefers texts of its own model family, if the run says who wrote what.

With labels: how much more often a good answer is upheld if the judge's own family wrote it. Without
labels: which of two answers it picks that other judges of the run find equally good; a fair judge
picks its own in half of them.
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
from adjudge.trust.labelled_judges import configurations
from adjudge.trust.labels.queue import verdict_of
from adjudge.trust.labels.scales import JudgedScale, label_scales
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.measure import measure_of

# Models that the same people made under several names.
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


def family(model: str) -> str:
    """Return the model family: "openai/gpt-4o-mini" and "gpt-3.5-turbo" are both "gpt"."""
    name = re.split(r"[/:#]", model.strip().casefold())[-1]
    match = re.match(r"[^\W\d_]+", name)
    prefix = match[0] if match else name
    return _FAMILIES.get(prefix, prefix)


@dataclass(frozen=True)
class _Case:
    """A judged row, and the model families that wrote its texts."""

    identity: str
    said: str
    """The option, or the place of the better response."""
    writers: tuple[str, ...]
    """The family behind each response."""


def self_preference_text(folder: str | Path, judge: str) -> str:
    """Say how much the judge prefers its own family, or why that cannot be measured."""
    families = {family(model) for model in run_info(folder).judge_configurations[judge].models}
    for scale in label_scales(folder):
        if judge not in scale.judges:
            continue
        cases = [
            _Case(record.identity, said, writers)
            for record in records_of(folder, judge=judge)
            if (said := verdict_of(record, scale.scale.name))
            and (writers := _writers(record, scale.scale))
        ]
        if cases:
            return _measure(folder, judge, scale, cases, families)
    return Message(
        "not measured: that needs a column generator, or model_a and model_b, with the model "
        "that wrote each text"
    )


def _measure(
    folder: str | Path, judge: str, scale: JudgedScale, cases: list[_Case], families: set[str]
) -> str:
    theirs = sum(bool(families & {*case.writers}) for case in cases)
    if not theirs or all({*case.writers} <= families for case in cases):
        return Message(
            "not measured: {theirs} of {cases} rows contain a text by {own}, its own family",
            theirs=theirs,
            cases=len(cases),
            own=", ".join(sorted(families)),
        )
    truth = _truth(folder, judge, scale.name)
    if any(case.identity in truth for case in cases):
        return _by_labels(cases, truth, scale.scale, families)
    if not scale.scale.compares:
        return Message("not measured: for single answers that needs people's labels")
    return _among_equals(cases, _level_pairs(folder, judge, scale), families)


def _by_labels(
    cases: list[_Case], truth: Mapping[str, str], scale: LabelScale, families: set[str]
) -> str:
    values = measure_of(scale).values
    good = None if scale.compares else max(values, key=values.__getitem__)
    upheld: dict[bool, list[bool]] = {True: [], False: []}
    for case in cases:
        best = truth.get(case.identity)
        if best is None or (best not in (good, None) if good else not best.isdecimal()):
            continue
        writer = case.writers[0 if good else int(best)]
        upheld[writer in families].append(case.said == best)
    preference = self_preference(upheld[True], upheld[False])
    return preference.say(
        Message(
            "a good answer is upheld {value:+.3f} more often if its own family wrote it ({limits})"
        ),
        Message("{lower:+.3f} to {upper:+.3f}; {count} rows"),
    )


def _among_equals(cases: list[_Case], level: set[str], families: set[str]) -> str:
    picked = [
        case.writers[int(case.said)] in families
        for case in cases
        if case.identity in level
        and case.said.isdecimal()
        and len(families & {*case.writers}) == 1
        and len({*case.writers}) > 1
    ]
    preference = preference_among_equals(picked)
    if preference.value is None:
        return Message(
            "not measured: that needs people's labels, or judges of other families in the run "
            "({reason})",
            reason=preference.reason,
        )
    return preference.say(
        Message(
            "of pairs that other judges call level, its own family's is picked {value:+.3f} more "
            "often than half ({limits})"
        ),
        Message("{lower:+.3f} to {upper:+.3f}; {count} pairs"),
    )


def _writers(record: JudgmentRecord, scale: LabelScale) -> tuple[str, ...]:
    """Return the model family that wrote each response; empty if the row does not say."""
    # columns that import formats and users give to the writers of texts
    columns = ("model_a", "model_b") if scale.compares else ("generator",)
    try:
        return tuple(family(str(record.cell(column))) for column in columns)
    except SetupError:
        return tuple(map(family, record.systems)) if scale.compares else ()


def _truth(folder: str | Path, judge: str, criteria: str) -> dict[str, str]:
    """Return row → the answer of most people.

    Rows without a majority, and rows that the judge learned from, are left out.
    """
    learned = configurations(folder)[judge].learned_rows
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    for label in LabelStore(folder).current(criteria):
        if label.is_by_person and label.row not in learned:
            answers[label.row][str(label.answer)] += 1
    best = {row: counts.most_common(2) for row, counts in answers.items()}
    return {row: top[0][0] for row, top in best.items() if len(top) == 1 or top[0][1] > top[1][1]}


def _level_pairs(folder: str | Path, judge: str, scale: JudgedScale) -> set[str]:
    """Return pairs that most votes of the run's other judges call a tie, or on which they are
    evenly split.
    """
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    other_judges = {*scale.judges} - {judge}
    for record in records_of(folder):
        if record.judge in other_judges and (verdict := verdict_of(record, scale.name)):
            verdicts[record.identity][verdict] += 1
    return {
        row
        for row, counts in verdicts.items()
        if counts[TIE] * 2 > counts.total() or counts["0"] == counts["1"]
    }
