"""Improve criteria by a judge's mistakes.

Some labelled rows are shown, others choose the best candidate, and the rest measure it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from adjudge.core.aio.files import write_new
from adjudge.core.catalog.criteria_file import as_file, read_entries
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import plain, some_of
from adjudge.core.domain.instance import identity_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import Label
from adjudge.core.gateway.layers.account import Spent
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.ledger.file import holds_run
from adjudge.core.prompts.criteria_writing import DisputedRow
from adjudge.errors import RunError, SetupError
from adjudge.features.bench.benchmark import BenchedJudge, RowKey
from adjudge.features.bench.candidates import TriedCandidate
from adjudge.features.bench.labelled_rows import LabelledSet, MarkedRow, lot
from adjudge.features.bench.proposal import Proposal
from adjudge.features.bench.tries import PARTS, Part, level_of, short_identity
from adjudge.messages import Message, plural
from adjudge.runs.folder import spent_in
from adjudge.stats.difference import ComparisonOutcome, Difference, PairedScores
from adjudge.trust.rows import Answer, majority

FEWEST = 20
"""Labelled rows that can be split in three parts."""


@dataclass(frozen=True)
class Split:
    """Labelled rows in three parts, each for one use."""

    shown: LabelledSet
    """Rows that the writer and examples may show."""
    choosing: LabelledSet
    """Rows on which candidates are compared, to choose the best."""
    held_out: LabelledSet
    """Rows that measure the chosen candidate and nothing else."""
    seed: int
    judged: str = "response"
    """The field to judge."""

    @property
    def identities(self) -> dict[Part, list[str]]:
        """The rows of each part, by their identities."""
        return {
            "shown": _identities(self.shown),
            "choosing": _identities(self.choosing),
            "held_out": _identities(self.held_out),
        }

    @property
    def keys(self) -> dict[Part, list[str]]:
        """Names of the rows of each part for the account: their identities, and their texts, by
        which they are known after a change of their other fields.
        """
        parts: dict[Part, LabelledSet] = {
            "shown": self.shown,
            "choosing": self.choosing,
            "held_out": self.held_out,
        }
        everything = [row for part in parts.values() for row in part.rows]
        texts = _keys_of_texts(everything, self.judged)
        return {
            part: [
                key
                for identity in _identities(rows)
                for key in (identity, texts.get(identity))
                if key is not None
            ]
            for part, rows in parts.items()
        }


def _keys_of_texts(rows: Iterable[MarkedRow], judged: str) -> dict[str, str]:
    """Return identity → key of the judged text, for texts that only one row has."""
    keys = {
        row.instance.identity: f"t{identity_of({judged: row.instance.fields.get(judged, '')})}"
        for row in rows
    }
    counts = Counter(keys.values())
    return {identity: key for identity, key in keys.items() if counts[key] == 1}


def split(
    rows: LabelledSet,
    share: float,
    seed: int,
    earlier: Mapping[str, Part] | None = None,
    judged: str = "response",
) -> Split:
    """Split the rows pseudo-randomly by their content; ``share`` of them is held out.

    Rows of ``earlier`` calls keep their part: rows used for choosing are never used for measuring.
    """
    if len(rows.rows) < FEWEST:
        raise SetupError(
            "{source} has only {count} labelled rows; splitting them into three parts takes at "
            "least {fewest}",
            source=rows.source,
            count=len(rows.rows),
            fewest=FEWEST,
        )
    # by lot of the content: the split stays the same if rows are reordered
    ordered = sorted(rows.rows, key=lambda row: lot(seed, row.instance.identity))
    texts, known = _keys_of_texts(ordered, judged), earlier or {}
    part_of: dict[str, Part] = {}
    for identity in (row.instance.identity for row in ordered):
        part = known.get(short_identity(identity)) or known.get(
            short_identity(texts.get(identity, ""))
        )
        if part is not None:
            part_of[identity] = part
    free = [row.instance.identity for row in ordered if row.instance.identity not in part_of]
    held_out = max(1, round(share * len(ordered)))
    targets: dict[Part, int] = {
        "held_out": held_out,
        "choosing": (len(ordered) - held_out + 1) // 2,
        "shown": len(ordered),
    }
    counts = Counter(part_of.values())
    for part, target in targets.items():
        drawn = max(0, target - counts[part])
        part_of |= dict.fromkeys(free[:drawn], part)
        free = free[drawn:]
    parts = {
        part: replace(
            rows, rows=tuple(row for row in rows.rows if part_of[row.instance.identity] == part)
        )
        for part in PARTS
    }
    if not parts["held_out"].rows:
        raise SetupError(
            "every labelled row of {source} was already used for choosing, so none is left to "
            "measure a candidate: label more rows",
            source=rows.source,
        )
    if not (parts["shown"].rows and parts["choosing"].rows):
        raise SetupError("too few rows are left for choosing: hold out fewer rows, or label more")
    return Split(parts["shown"], parts["choosing"], parts["held_out"], seed, judged)


def _identities(rows: LabelledSet) -> list[str]:
    return [row.instance.identity for row in rows.rows]


def without_split_rows(rows: LabelledSet, labels: Sequence[Label]) -> LabelledSet:
    """Leave out rows on which people are evenly split, with a note: they measure nothing."""
    answers: dict[str, list[Answer]] = {}
    for label in labels:
        if label.answer is not None:
            answers.setdefault(label.row, []).append(label.answer)
    kept = tuple(
        row for row in rows.rows if majority(answers.get(row.instance.identity, ())) is not None
    )
    count = len(rows.rows) - len(kept)
    if not count:
        return rows
    note = plural(
        "{count} row is left out because its annotators are evenly split",
        "{count} rows are left out because their annotators are evenly split",
        count,
    )
    return replace(rows, rows=kept, notes=(*rows.notes, note))


def scores_on(judge: BenchedJudge, rows: LabelledSet) -> dict[RowKey, float]:
    """Return the judge's scores on those of these rows that it decided: 1 is right, 0 is wrong."""
    identities = {*_identities(rows)}
    return {
        key: score
        for key, score in judge.scores.items()
        if key.unit.partition(" ")[0] in identities
    }


def cases_of(judge: BenchedJudge, rows: LabelledSet, most: int) -> list[DisputedRow]:
    """Return the judge's disagreements on these rows, at most ``most``, chosen at random."""
    instances = {row.instance.identity: row.instance for row in rows.rows}
    disagreements = sorted(
        (case for case in judge.disagreements if case.identity in instances),
        key=lambda case: lot(0, case.identity),
    )
    return [
        DisputedRow(instances[case.identity], str(case.said), str(case.truth), case.explanation)
        for case in disagreements[:most]
    ]


@dataclass(frozen=True)
class CriterionImprovement:
    """The effect of a proposal on rows that the writer has not seen."""

    before: Criteria
    proposal: Proposal
    gain: Difference
    """Agreement with people after the change minus before it."""
    agreed_before: float
    agreed_after: float
    failed: int
    """Held-out rows without a verdict before or after: the limits hold for any verdict of them."""
    measurement: int = 1
    """Which measurement on these held-out rows it is; the interval allows for the earlier ones."""

    def sentence(self) -> Message:
        """Return the outcome (better, worse, or cannot tell) with its numbers."""
        estimate, rows = self.gain.estimate, self.gain.estimate.count
        moved = plural(
            "agreement {before:.3f} → {after:.3f} on {count} held-out row",
            "agreement {before:.3f} → {after:.3f} on {count} held-out rows",
            rows,
            before=self.agreed_before,
            after=self.agreed_after,
        )
        if estimate.lower is None or estimate.upper is None:
            return Message("Cannot tell: {moved}; {reason}.", moved=moved, reason=estimate.reason)
        between = Message(
            "gain {value:+.3f}, between {lower:+.3f} and {upper:+.3f}",
            value=estimate.value,
            lower=estimate.lower,
            upper=estimate.upper,
        )
        if self.gain.outcome is ComparisonOutcome.BETTER:
            return Message("Better: {moved} ({between}).", moved=moved, between=between)
        if self.gain.outcome is ComparisonOutcome.WORSE:
            return Message("Worse: {moved} ({between}).", moved=moved, between=between)
        if self.gain.smallest is None:
            return Message("Cannot tell: {moved} ({between}).", moved=moved, between=between)
        return Message(
            "Cannot tell: {moved} ({between}); the smallest difference these rows could show is "
            "{smallest:.3f}.",
            moved=moved,
            between=between,
            smallest=self.gain.smallest,
        )

    def to_dict(
        self, search: CriteriaSearch, cases: Sequence[DisputedRow], written: Path | None
    ) -> JsonDict:
        estimate, parts = self.gain.estimate, search.parts
        return {
            "criteria": self.before.name,
            "before": plain(self.before),
            "proposal": plain(self.proposal.criteria),
            "explanation": self.proposal.explanation,
            "changes": [
                dict(zip(("what", "before", "after"), change, strict=True))
                for change in self.proposal.changes(self.before)
            ],
            "split": {
                "seed": parts.seed,
                **{part: len(rows) for part, rows in parts.identities.items()},
            },
            "shown": [
                {"id": case.instance.id, "judge_says": case.said, "people_say": case.truth}
                for case in cases
            ],
            "candidates": [result.to_dict() for result in search.results],
            "stopped": str(search.reason),
            "tried_before": search.tried_before,
            "measurement": self.measurement,
            "agreement_before": self.agreed_before,
            "agreement_after": self.agreed_after,
            "gain": {
                **some_of(estimate, "value", "lower", "upper"),
                "n": estimate.count,
                "reason": estimate.reason,
            },
            "level": estimate.level,
            "p_value": self.gain.p_value,
            "smallest": self.gain.smallest,
            "outcome": self.gain.outcome.value,
            "failed": self.failed,
            "written": None if written is None else str(written),
        }


@dataclass
class CriteriaSearch:
    """The candidates that were tried, and why no more are."""

    parts: Split
    results: list[TriedCandidate] = field(default_factory=list)
    reason: str = ""
    tried_before: int = 0
    """Candidates that earlier calls tried on the same labels."""


def improvement_of(
    old_criteria: Criteria,
    proposal: Proposal,
    old: BenchedJudge,
    new: BenchedJudge,
    rows: LabelledSet,
    level: float,
    measurement: int = 1,
) -> CriterionImprovement:
    """Compare old and new criteria on the held-out rows that the judge decided both times; the
    limits hold for any verdicts on the others.

    ``level`` is that of a first measurement on these rows; later ones get a wider interval.
    """
    shared = {row: score for row, score in new.scores.items() if row in old.scores}
    if not shared:
        raise RunError(
            "the judge has no verdict on any held-out row, so there is nothing to compare"
        )
    new_scores, old_scores = list(shared.values()), [old.scores[row] for row in shared]
    count, paired, units = len(shared), PairedScores(), dict[str, list[tuple[float, float]]]()
    for row, score in shared.items():
        units.setdefault(row.unit, []).append((score, old.scores[row]))
    for unit in units.values():
        paired.add(unit)
    failed = len(rows.rows) - count
    if failed > 0:
        paired.add_units(None, failed)
    gain = paired.compared(level=level_of(measurement, level))
    return CriterionImprovement(
        old_criteria,
        proposal,
        gain,
        sum(old_scores) / count,
        sum(new_scores) / count,
        failed,
        measurement,
    )


def budget_left(budget: Budget | None, folders: Iterable[Path]) -> Budget | None:
    """Return the part of the budget that the runs in ``folders`` have not spent."""
    if budget is None:
        return None
    spent = sum((spent_in(folder) for folder in folders if holds_run(folder)), Spent())
    return budget - Budget(spent.usd, spent.calls, spent.tokens)


def entry_of(file: Path, name: str | None) -> tuple[list[CatalogEntry], int]:
    """Return the criteria in a file, and the index of the one to improve."""
    entries = read_entries(file)
    names = [entry.criteria.name for entry in entries]
    if name is None and len(entries) == 1:
        return entries, 0
    if name not in names:
        listed = ", ".join(map(repr, names))
        if name is None:
            raise SetupError(
                "{file} has {count} criteria: choose one with --criteria: {known}",
                file=file,
                count=len(names),
                known=listed,
            )
        raise SetupError(
            "{file} has no criterion {name!r}: choose one with --criteria: {known}",
            file=file,
            name=name,
            known=listed,
        )
    return entries, names.index(name)


def write_criteria(path: Path, entries: Sequence[CatalogEntry]) -> None:
    """Write criteria to a new file; never overwrite an existing one."""
    documents = [as_file(entry) for entry in entries]
    text = yaml.safe_dump(
        documents[0] if len(documents) == 1 else documents,
        sort_keys=False,
        allow_unicode=True,
        width=100,
    )
    write_new(path, text, Message("give --write another name"))


def refuse_existing(path: Path) -> None:
    """Raise a SetupError if the file exists, before anything is spent."""
    if path.exists() or path.is_symlink():
        raise SetupError(
            "{path} already exists and is not overwritten: give --write another name", path=path
        )
