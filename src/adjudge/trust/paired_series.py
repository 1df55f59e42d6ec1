"""The rows of two runs side by side, with what people say of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adjudge.domain.judge_configuration import JudgeConfiguration
from adjudge.domain.label import Label
from adjudge.domain.verdict import TIE
from adjudge.engine.identity import judge_identity
from adjudge.errors import RunError
from adjudge.labels.scales import label_scales
from adjudge.labels.store import LabelStore
from adjudge.messages import Message
from adjudge.runs.diff import JudgmentSummary, LoneRow, Pair
from adjudge.runs.folder import run_facts
from adjudge.stats.difference import PairedScores
from adjudge.trust.labelled_judges import found_changed
from adjudge.trust.labels_used import labels_used
from adjudge.trust.measure import Measure, measure_of
from adjudge.trust.rows import agreed_value, by_row
from adjudge.trust.vote_values import MOST_ROWS


@dataclass(frozen=True)
class ComparedRun:
    """What a comparison needs of a run beside its rows."""

    folder: Path
    measures: dict[str, Measure]
    """Criteria → how its options are worth what."""
    judges: dict[str, JudgeConfiguration]
    started: float | None = None

    @classmethod
    def of(cls, folder: str | Path) -> ComparedRun:
        info = run_facts(folder)
        started = info.facts.get("started")
        try:
            scales = label_scales(folder)
        except RunError:
            # a judge of one's own need not say what it asks: its scores are compared as they are
            scales = []
        plain = {
            one.name: measure_of(one.scale)
            for one in scales
            if not (one.scale.compares or one.scale.by_parts)
        }
        return cls(
            Path(folder),
            plain,
            dict(info.judge_configurations),
            float(started) if isinstance(started, int | float) else None,
        )

    def _judge(self, name: str) -> JudgeConfiguration:
        return self.judges.get(name, JudgeConfiguration())

    def lock(self, judge: str, criteria: str) -> str:
        return judge_identity(self._judge(judge), criteria)

    def counts(self, judge: str, criteria: str) -> bool:
        """Whether the score is a count: the fewer the better, and there is no most."""
        known = self._judge(judge).criteria
        own = next((one for one in known if one.get("name") == criteria), {})
        return own.get("higher_is_better") is False and not own.get("options")

    def one_order(self, judge: str) -> bool:
        """Whether responses were compared as they stand alone."""
        settings = self._judge(judge).settings
        return bool(settings) and not (
            settings.get("check_positional_bias") or settings.get("rotations")
        )

    def changed(self, judge: str) -> float | None:
        """When the judge was last found changed; of one that is called otherwise here, any."""
        own = [self.judges[judge]] if judge in self.judges else self.judges.values()
        found = (found_changed(self.folder, one) for one in own)
        return max((one for one in found if one is not None), default=None)

    def labels(self, judge: str, criteria: str) -> tuple[dict[str, float], Message | None]:
        """Row → what people say of it, of rows that were drawn among all; from 0 to 1. And what is
        said of labels that are older than a change of the judge, which are left out.
        """
        measure = self.measures.get(criteria)
        if measure is None:
            return {}, None
        known = LabelStore(self.folder).of_each_copy(criteria)
        used = labels_used(known, None, since=self.changed(judge))
        drawn = {
            row: own
            for row, own in by_row(used.labels).items()
            if any(one.design == "random" for one in own)
        }
        answers = {
            row: [said for one in own if (said := _answer(one, measure)) is not None]
            for row, own in drawn.items()
        }
        values = {row: agreed_value(own, measure) for row, own in answers.items() if own}
        return values, used.older


def _answer(label: Label, measure: Measure) -> str | float | None:
    """What a label says, where it can be said by this criteria."""
    if measure.is_number:
        return label.score
    return label.option if label.option in measure.values else None


@dataclass
class PairedSeries:
    """What a comparison keeps of the rows of both runs: sums, and where there are labels what may
    correct it.
    """

    low: float
    high: float
    labels: Sequence[Mapping[str, float]]
    """Of either run: row → what people say of it, from 0 to 1; nothing where one of the runs has
    none.
    """
    is_count: bool = False
    """Whether fewer is better: then how many fewer there are is compared."""
    scores: PairedScores = field(default_factory=PairedScores)
    """Of the second run and the first."""
    missing: int = 0
    """Pairs of which one row has no number, or both have none although a judge was asked."""
    alone: int = 0
    """Rows without a counterpart that a judge was asked about."""
    unjudged: int = 0
    """Pairs that both runs skipped."""
    changed: int = 0
    other_texts: int = 0
    judges: tuple[str, str] = ("", "")
    places: list[tuple[int, int]] = field(default_factory=list)
    """Of some rows, by which votes are found."""
    labelled: array[float] = field(default_factory=lambda: array("d"))
    """What people say of the difference, of each row that is labelled in both runs."""
    judged: array[float] = field(default_factory=lambda: array("d"))
    """What the judge says of it there, and (``rest``) of the other rows."""
    rest: array[float] = field(default_factory=lambda: array("d"))
    groups: tuple[array[int], array[int]] = field(default_factory=lambda: (array("q"), array("q")))
    """The unit of each labelled row, and of each of the others."""

    def add(self, unit: Iterable[Pair | LoneRow]) -> None:
        """Add rows that belong together."""
        self.scores.add(self._numbers(unit))

    def _numbers(self, unit: Iterable[Pair | LoneRow]) -> Iterator[tuple[float, float] | None]:
        for pair in unit:
            if isinstance(pair, LoneRow):
                self.alone += 1
                yield None
                continue
            self.judges = (pair.before.judge, pair.after.judge)
            one, two = number_of(pair.before.summary), number_of(pair.after.summary)
            if one is None or two is None:
                skipped = pair.before.summary.was_skipped and pair.after.summary.was_skipped
                self.unjudged += skipped
                self.missing += not skipped
                if not skipped:
                    yield None
                continue
            self.changed += one != two
            self.other_texts += pair.identities[0] != pair.identities[1]
            if len(self.places) < MOST_ROWS:
                self.places.append((pair.before.row, pair.after.row))
            if self.labels:
                self._keep(pair.identities, (two - one) / (self.high - self.low))
            yield (-two, -one) if self.is_count else (two, one)

    def _keep(self, identities: tuple[str, str], said: float) -> None:
        before, after = (own.get(row) for own, row in zip(self.labels, identities, strict=True))
        labelled = before is not None and after is not None
        self.groups[not labelled].append(self.scores.units)
        if before is not None and after is not None:
            self.labelled.append(after - before)
            self.judged.append(said)
        else:
            self.rest.append(said)


def number_of(summary: JudgmentSummary) -> float | None:
    """The score; of two compared responses 1 where the first won and a half for a tie."""
    if summary.status != "scored":
        return None
    if summary.score is not None:
        return summary.score
    if summary.chosen == TIE:
        return 0.5
    return float(summary.chosen == 0) if isinstance(summary.chosen, int) else None
