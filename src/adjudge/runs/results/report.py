"""The report of a run, for every page and table: a section per criterion, its gates, reasons for
missing scores, and the worst rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Self

from adjudge.core.data.columns import fold_name
from adjudge.core.data.dataset import BadRow, BlankRows
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import FrozenDict, nonempty, some_of
from adjudge.core.domain.html_repr import HtmlRepr
from adjudge.core.domain.instance import STEPS
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.domain.judge_configuration import OptionScores, criteria_from_json
from adjudge.core.domain.judge_criterion import JudgeCriterion, of_system
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage, UsageSum
from adjudge.core.domain.record import Detail, JudgmentRecord, VoteRecord
from adjudge.core.domain.repetition import REPEAT, TRIAL, Unit, unit_of
from adjudge.core.domain.results import Result
from adjudge.core.domain.vote import PAID_WITH
from adjudge.core.gateway.prices import TARGET
from adjudge.core.ledger.alike import AlikeGroup, AlikeRow, VoteFormat
from adjudge.errors import NOT_ASKED
from adjudge.messages import Message, abridge, join, plural
from adjudge.runs.counts import count_parts, rows_without_group
from adjudge.runs.report_facts import KEPT
from adjudge.runs.results.cascades import CascadeSummary, CascadeTally
from adjudge.runs.results.cost import Cost, cost_of
from adjudge.runs.results.gate import Bar, GateResult, Measure, limits_or, mean_gate, most_gate
from adjudge.runs.results.notes import answering_notes, format_notes, opinion_notes
from adjudge.runs.results.option_order import OptionOrder, OptionOrderTally
from adjudge.runs.results.repeats import Repeats, RepeatTally
from adjudge.runs.results.setup import FigureChange, NamedFigure, ReportedJudge, Setup
from adjudge.runs.results.summary import GateConfidence, Summary, Tally, UnreadRows
from adjudge.runs.sections import SectionPart, SectionTally, section_kind

if TYPE_CHECKING:
    from adjudge.runs.results.contests import ContestSummary, ContestTally, SystemSummary
    from adjudge.runs.results.score_slices import ScoreSlices
    from adjudge.runs.results.systems import SystemDifference, SystemsTally
    from adjudge.stats.intervals import Interval
    from adjudge.trust.calibration import Calibration
    from adjudge.trust.comparison import RunComparison

_MOST_REASONS = 3
"""Reasons why rows have no value, of each measure."""
ENTRIES = 500
"""The number of judgments that pages for people list, the worst first. Tables have all of them."""
_MOST_NAMED = 10
"""Skipped rows that are named one by one."""


_NOT_ASKED = f"{NOT_ASKED}: "
SectionKey = tuple[str, str, str]
"""Judge, criterion, system."""


@light_dataclass(frozen=True)
class Section(JudgeCriterion):
    """The results of one judge by one criterion. If several targets answered, each has its own
    section.
    """

    summary: Summary
    parts: Mapping[str, SectionPart] = FrozenDict()
    """Kind of result (a name of the extension point ``sections``) → its numbers."""
    contests: ContestSummary | None = None
    cascade: CascadeSummary | None = None
    repeats: tuple[Repeats, ...] = ()
    system: str = ""
    """The system whose answers these are, if several systems answered the rows."""
    option_order: OptionOrder | None = None
    """None if the options were shown in one order only."""

    @property
    def name(self) -> str:
        return of_system(super().name, self.system)

    @property
    def title(self) -> str:
        """The section's name without the judge."""
        return of_system(self.criteria or self.judge, self.system)

    @property
    def lead(self) -> SectionPart | None:
        """The part that replaces the criterion's usual line, if any."""
        return next((part for part in self.parts.values() if part.leads), None)

    def figure_named(self, name: str) -> tuple[float | None, Interval | None]:
        """Return a figure with its interval: a system's win rate, a part's figure, or else the
        criterion's mean.

        If rows have bounds instead of a score, there is no mean of all rows, only an interval.
        """
        systems = self.contests.systems if self.contests else ()
        for system in systems:
            if system.name == name:
                return system.winrate, system.interval
        summary = self.part_figure(name) or self.summary
        return None if summary.between else summary.mean, summary.interval

    def part_figure(self, name: str) -> Summary | None:
        """Return the figure of this name from a part, if any has it."""
        figures = (part.named(name) for part in self.parts.values())
        return next((figure for figure in figures if figure is not None), None)

    def figures(self) -> Iterator[NamedFigure]:
        """Yield the figures that can be compared with another run."""
        if self.contests:
            yield from (
                NamedFigure(system.name, system.name, system.winrate)
                for system in self.contests.systems
                if system.winrate is not None
            )
        elif self.summary.mean is not None and not self.summary.between:
            yield NamedFigure(self.title, self.title, self.summary.mean)
        for part in self.parts.values():
            for key, name, value in part.figures():
                yield NamedFigure(of_system(key, self.system), of_system(name, self.system), value)

    def to_dict(self) -> JsonDict:
        content: JsonDict = {
            "judge": self.judge,
            "criteria": self.criteria,
            **nonempty(system=self.system),
            **self.summary.to_dict(),
        }
        lead = self.lead
        content |= lead.to_dict() if lead else {}
        if self.contests:
            order, systems = self.contests.order, self.contests.systems
            content |= {
                "systems": [system.to_dict() for system in systems],
                "positional_bias": order.to_dict() if order else None,
            }
        content |= nonempty(
            cascade=self.cascade.to_dict() if self.cascade else None,
            repeats=[repeats.to_dict() for repeats in self.repeats],
        )
        for part in self.parts.values():
            content |= part.to_dict() if part is not lead else {}
        return content


@light_dataclass(frozen=True)
class Skipped:
    """Rows that were not judged."""

    rows: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    first: tuple[str, ...] = ()
    """The first of them, each with its place."""
    blank: int = 0
    blank_places: str = ""

    def to_dict(self) -> JsonDict:
        return some_of(self, "rows", "reasons", "first", "blank", "blank_places")

    def kept(self) -> JsonDict:
        """Return the data to store in a run folder. Unlike in ``to_dict``, reasons stay
        translatable.
        """
        return {**self.to_dict(), "reasons": [[why, rows] for why, rows in self.reasons.items()]}

    @classmethod
    def of(cls, kept: object) -> Skipped:
        """Read the output of ``kept``; invalid data counts as nothing skipped."""
        match kept:
            case {
                "rows": int(rows),
                "reasons": list(why),
                "first": list(first),
                "blank": int(blank),
                "blank_places": str(at),
            }:
                return cls(rows, dict(_read_reasons(why)), tuple(map(str, first)), blank, at)
        return cls()


def skipped_rows(facts: JsonObject) -> Skipped:
    """Read a run's skipped rows from its facts."""
    return Skipped.of(object_in(facts.get(KEPT)).get("skipped"))


def unread_rows(facts: JsonObject) -> int:
    """Return how many rows of a run's data could not be read, according to its facts."""
    return skipped_rows(facts).rows


def _read_reasons(kept: Iterable[object]) -> Iterator[tuple[str, int]]:
    for pair in kept:
        match pair:
            case [str(reason), int(rows)]:
                yield reason, rows


@light_dataclass(frozen=True, kw_only=True)
class Report(HtmlRepr):
    """A run, or the part of it that is done."""

    setup: Setup
    sections: tuple[Section, ...]
    gates: tuple[GateResult, ...] = ()
    skipped: Skipped = Skipped()
    notes: tuple[str, ...] = ()
    """Notes about the models, the judgments and the data, each once."""
    entries: tuple[JudgmentRecord, ...] = ()
    total: int = 0
    used: Mapping[str, Usage] = field(default_factory=dict)
    failed_calls: int = 0
    """Requests that brought no reply, tries that were repeated included; they are in no usage."""
    reused: int = 0
    """Answers that cost nothing: they came from the cache, or from an earlier run."""
    unanswered: int = 0
    """Votes for which every call failed."""
    refused: int = 0
    """Votes whose call failed because the provider refused the text."""
    counts: str = ""
    """For a run folder: its judgments, votes and failed calls in words."""
    made: datetime = field(default_factory=datetime.now)
    differences: tuple[SystemDifference, ...] = ()
    """Every pair of systems that answered the same rows, if there are several."""
    compared: tuple[RunComparison, ...] = ()
    """The comparison with the baseline, row by row, if the baseline can be read."""
    calibrations: tuple[Calibration, ...] = ()
    """The numbers corrected by labels, if there are labels."""
    slices: tuple[ScoreSlices, ...] = ()
    """Scores apart for each value of a column, if a reader asked for that, of criteria without
    labels.
    """

    is_unfinished: bool = False
    """True if the run stopped early, or is under way."""
    told_in: str | None = None
    """The language that a reader asked for; by default the judges'."""

    @property
    def language(self) -> str:
        return self.told_in or self.setup.language

    def unfinished(self) -> Self:
        """Return the report of a run that has not ended, with all gates undecided."""
        return replace(
            self,
            gates=tuple(replace(gate, stopped=True) for gate in self.gates),
            is_unfinished=self.setup.state != "imported",
        )

    def counting_requests_once(self, repeated: Mapping[tuple[str, str], Usage]) -> Self:
        """Subtract usage that was counted again for rows with equal content. Sections of several
        systems keep theirs.

        ``repeated``: the usage to subtract, by judge and criterion.
        """
        sections = tuple(
            replace(
                section, summary=section.summary.less(repeated[section.judge, section.criteria])
            )
            if not section.system and (section.judge, section.criteria) in repeated
            else section
            for section in self.sections
        )
        return replace(self, sections=sections)

    @property
    def counts_requests_again(self) -> bool:
        """Return True if the criteria together count more calls than the run made."""
        return sum(section.summary.usage.calls for section in self.sections) > self.usage.calls

    @property
    def standing(self) -> str | None:
        """The worst verdict of all gates, or "inconclusive" if no row was judged; None without
        either.
        """
        verdicts = {gate.verdict for gate in self.gates}
        verdicts |= {"inconclusive"} if self.decided_nothing else set()
        return next(
            (verdict for verdict in ("failed", "inconclusive", "holds") if verdict in verdicts),
            None,
        )

    @property
    def decided_nothing(self) -> bool:
        """Return True if every judgment was skipped, so there is no result at all."""
        return bool(self.sections) and not any(
            section.summary.attempted for section in self.sections
        )

    @property
    def usage(self) -> Usage:
        return sum(self.used.values(), Usage())

    @cached_property
    def cost(self) -> Cost:
        """The cost in dollars."""
        return cost_of(self.used, self.setup.prices)

    @cached_property
    def criteria(self) -> list[JudgeCriterion]:
        """The judges and criteria, each once even if several systems answered."""
        return list(
            dict.fromkeys(
                JudgeCriterion(section.judge, section.criteria) for section in self.sections
            )
        )

    @property
    def judged(self) -> int:
        """The number of judgments that were made, without skipped rows."""
        return self.total - sum(section.summary.skipped for section in self.sections)

    def section_of(self, record: JudgmentRecord) -> Section | None:
        """Return the section that includes a judgment."""
        section = self._by_key.get((record.judge, record.criterion, ""))
        return section or self._by_key.get((record.judge, record.criterion, record.answered_by))

    def contest_title(self, section: Section) -> str:
        """Return the title of a section's comparisons: the criterion, plus the judge if several
        judges use it.
        """
        alike = [
            section_of_criterion
            for section_of_criterion in self.sections
            if section_of_criterion.contests and section_of_criterion.criteria == section.criteria
        ]
        return section.name if len(alike) > 1 else section.criteria

    @cached_property
    def several_contests(self) -> bool:
        """Return True if several judges or criteria compared responses."""
        return sum(bool(section.contests) for section in self.sections) > 1

    @cached_property
    def _by_key(self) -> dict[SectionKey, Section]:
        return {
            (section.judge, section.criteria, section.system): section for section in self.sections
        }

    def good_answer(self, section: Section) -> str | None:
        """Return the better of two options. None for other criteria, comparisons, and PASS, which
        is self-explanatory.
        """
        if section.contests or not section.summary.options:
            return None
        criterion = self._criterion_of(section)
        good = criterion.good_answer if criterion else None
        return None if good == "PASS" else good

    def _criterion_of(self, section: Section) -> Criteria | None:
        judge = self.setup.judges.get(section.judge)
        definitions = judge.criteria if judge else ()
        criteria = (
            criteria_from_json(definition)
            for definition in definitions
            if definition.get("name") == section.criteria
        )
        return next(criteria, None)

    @property
    def good_answer_lines(self) -> list[Message]:
        """Lines that say which option counts as good. One line without a name if it is the same
        everywhere.
        """
        answers = [
            (section, good) for section in self.sections if (good := self.good_answer(section))
        ]
        goods = {good for _, good in answers}
        if len(goods) == 1 and len(answers) == len(self.sections):
            return [Message("{answer} counts as good.", answer=goods.pop())]
        titles = Counter(section.title for section in self.sections)
        return [
            Message(
                "{name}: {answer} counts as good.",
                name=section.title if titles[section.title] == 1 else section.name,
                answer=good,
            )
            for section, good in answers
        ]

    @property
    def retries(self) -> int:
        """The number of failed calls that were repeated."""
        return max(0, self.failed_calls - self.unanswered - self.refused)

    @property
    def remarks(self) -> list[str]:
        """Remarks on skipped rows, ties, parts of sections, repeats, option order, systems,
        baseline and labels.
        """
        sentences = [
            sentence
            for section in self.sections
            for part in (section.cascade, *section.parts.values())
            if part and (sentence := part.sentence(section.name))
        ]
        repeated = [
            repeats.sentence(replace(section, system="").name)
            for section in self.sections
            for repeats in section.repeats
        ]
        tied = [
            plural(
                "{name}: the votes are tied on {tied} of {count} row",
                "{name}: the votes are tied on {tied} of {count} rows",
                section.summary.scored,
                name=section.name,
                tied=section.summary.tied,
            )
            for section in self.sections
            if section.summary.tied
        ]
        steady = [
            join(": ", (section.name, section.option_order.sentence()))
            for section in self.sections
            if section.option_order and not section.option_order.is_worth_a_warning
        ]
        differences = (section.sentence for section in self.differences)
        incomparable = [
            Message(
                "{name}: not compared with {run}: {reason}",
                name=section.name,
                run=self.setup.baseline.run,
                reason=reason,
            )
            for section in self.sections
            if not self.compared and (reason := self._no_baseline_because(section))
        ]
        return [
            *self._skipped_remarks,
            *tied,
            *sentences,
            *repeated,
            *steady,
            *differences,
            *incomparable,
            *self.setup.learnt,
        ]

    @property
    def _skipped_remarks(self) -> list[Message]:
        """Remarks on rows that were not judged, and on those without a value, with reasons."""
        skipped = [
            plural(
                "{name}: {count} row was not judged, because its checks fail, it lacks the field "
                "of rows_with, or its conversation has fewer parts",
                "{name}: {count} rows were not judged, because their checks fail, they lack the "
                "field of rows_with, or their conversations have fewer parts",
                section.summary.skipped - sum(section.summary.unmeasured.values()),
                name=section.name,
            )
            for section in self.sections
            if section.summary.skipped > sum(section.summary.unmeasured.values())
        ]
        skipped += [
            plural(
                "{name}: {count} row has no value: {reason}",
                "{name}: {count} rows have no value: {reason}",
                count,
                name=section.name,
                reason=reason,
            )
            for section in self.sections
            for reason, count in islice(section.summary.unmeasured.items(), _MOST_REASONS)
        ]
        skipped += [
            plural(
                "{name}: {count} more row has no value, for another reason",
                "{name}: {count} more rows have no value, for other reasons",
                other_rows,
                name=section.name,
            )
            for section in self.sections
            if (other_rows := sum(list(section.summary.unmeasured.values())[_MOST_REASONS:]))
        ]
        return skipped

    @property
    def compared_told(self) -> list[str]:
        """Lines that compare the run with its baseline. All but the first of a criterion are
        indented.
        """
        if not self.compared:
            return []
        from adjudge.runs.results.comparison_words import (
            comparison_lines,
        )  # not loaded where nothing is compared

        return [
            line
            for comparison in self.compared
            for line in comparison_lines(comparison, self.setup.title)
        ]

    @property
    def reasons(self) -> dict[str, int]:
        """The reasons why judgments have no score, over all sections, the most frequent first."""
        counts: Counter[str] = Counter()
        for section in self.sections:
            counts.update(section.summary.reasons)
        return dict(counts.most_common())

    def badness_of(self, record: JudgmentRecord) -> tuple[int, float, int]:
        """Return a key that sorts the worst judgments first."""
        section = self.section_of(record)
        if section is None:
            return badness(record, (), 1.0, 0.0)
        best, largest = section.summary.best_score, section.summary.largest
        return badness(record, section.parts.values(), best, largest)

    def parts_of(self, record: JudgmentRecord) -> Collection[SectionPart]:
        """Return the parts of the section that includes a judgment."""
        section = self.section_of(record)
        return section.parts.values() if section else ()

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The parameters of the scores, for the table."""
        votes, more, judges = "votes per model", dict[str, list[str]](), set[str]()
        for section in self.sections:
            if section.judge in judges:  # of several systems, each has a section
                continue
            judges.add(section.judge)
            for part in section.parts.values():
                votes = part.vote_parameter or votes
                for name, value in part.parameters().items():
                    more.setdefault(name, []).append(value)
        return self.setup.parameters(
            votes, {name: ", ".join(filter(None, values)) for name, values in more.items()}
        )

    def summary(self) -> JsonDict:
        """Return the counts over all sections and the cost. A mean is only included for a single
        section.
        """
        return {**self._figures(), **self.cost.to_dict()}

    def _figures(self) -> JsonDict:
        usage = self.usage
        used = {
            "calls": usage.calls,
            "failed_calls": self.failed_calls,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "calls_with_estimated_tokens": usage.estimated,
        }
        if len(self.sections) == 1:
            return {**self.sections[0].summary.to_dict(), **used}
        every = [section.summary for section in self.sections]
        names = ("attempted", "scored", "abstained", "failed", "without_number")
        counts: JsonDict = {
            name: sum(getattr(summary, name) for summary in every) for name in names
        }
        return {**counts, **used}

    def to_dict(self) -> JsonDict:
        """Return everything but the judgments as a JSON-ready dict."""
        return {
            "criteria": [
                {
                    **part.to_dict(),
                    **nonempty(good_answer=self.good_answer(part)),
                    **self._baseline(part),
                }
                for part in self.sections
            ],
            "gates": [part.to_dict() for part in self.gates],
            "reasons": self.reasons,
            "skipped": self.skipped.to_dict(),
            "notes": list(self.notes),
            **nonempty(
                remarks=self.remarks,
                differences=[part.to_dict() for part in self.differences],
                comparisons=[part.to_dict() for part in self.compared],
                calibrations=[part.to_dict() for part in self.calibrations],
            ),
        }

    def changes(self, section: Section) -> list[FigureChange]:
        """Return the changes of a section's figures since the baseline."""
        baseline = self.setup.baseline
        if not baseline.figures or self._no_baseline_because(section):
            return []
        return baseline.changes(section.judge, section.figures())

    def option_scores(self, section: Section) -> OptionScores:
        """Return the option scores that a section's mean is based on.

        Empty for comparisons, unknown judges, and imported runs, which may lack options.
        """
        judge = self.setup.judges.get(section.judge)
        if judge is None or section.contests or self.setup.state == "imported":
            return {}
        return judge.option_scores(section.criteria)

    def _no_baseline_because(self, section: Section) -> Message | None:
        reasons = (
            Message("{reason}", reason=comparison.shown.reason)
            for comparison in self.compared
            if not comparison.is_comparable
            and (comparison.judges[1], comparison.criteria) == (section.judge, section.criteria)
        )
        scores = self.option_scores(section)
        return next(reasons, None) or self.setup.baseline.incomparable_because(
            section.judge, section.title, scores
        )

    def _baseline(self, section: Section) -> JsonDict:
        changes = self.changes(section)
        return nonempty(baseline=[change.to_dict() for change in changes])


_MOST_COUNTED = 20_000
"""Votes whose format is looked at, so that a long run takes no more memory."""


_MOST_LISTED = 10_000
"""Different records of which the listed rows are counted."""


class _WithoutGroup:
    """Counts the rows without a value in the grouping column, each as one whatever it is judged by.

    Turns of a conversation, trials of a task and answers to one row count as one.
    """

    def __init__(self, column: str) -> None:
        self._column = column
        self._alone: Counter[tuple[str, str]] = Counter()
        self._units: defaultdict[tuple[str, str], set[Unit]] = defaultdict(set)

    def add(self, record: JudgmentRecord) -> None:
        if not self._column or record.group(self._column) is not None:
            return
        key = record.judge, record.criterion
        if unit := unit_of(record, self._column):
            self._units[key].add(unit)
        else:
            self._alone[key] += 1

    @property
    def count(self) -> int:
        """The most of any judge and criterion: some may skip rows."""
        keys = {*self._alone, *self._units}
        return max((self._alone[key] + len(self._units.get(key, ())) for key in keys), default=0)


class _SectionTally:
    def __init__(
        self, key: SectionKey, first: JudgmentRecord, setup: Setup, unread: UnreadRows
    ) -> None:
        self.judge, self.criteria, self.system = key
        sureness = GateConfidence(setup.confidence, setup.cluster, setup.sequential, unread)
        self._sureness = sureness
        self._steps = setup.steps.get(first.judge, ())
        self._cascade = CascadeTally(setup.prices) if self._steps else None
        judge = setup.judges.get(first.judge)
        scale = judge.score_range(first.criterion) if judge else (0.0, 1.0)
        self._may_be_better = judge is None or scale[1] > 1.0
        self._tally = Tally(sureness, scale)
        self._setup = setup
        self._parts: dict[str, SectionTally] = {}
        self._parts_of: dict[type[Detail], list[SectionTally]] = {}
        """Kind of record → the parts that tally it."""
        self._repeats: RepeatTally | None = None
        self._contests: ContestTally | None = None
        self._option_order = OptionOrderTally() if first.detail.kind == "direct" else None
        if first.detail.kind == "pairwise":
            from adjudge.runs.results.contests import (
                ContestTally,
            )  # not loaded where nothing is compared

            self._contests = ContestTally(sureness)

    def add(self, record: JudgmentRecord) -> None:
        self._tally.add(record)
        parts = self._parts_of.get(type(record.detail))
        if parts is None:
            parts = self._parts_of[type(record.detail)] = self._begin(record.detail.sections)
        if STEPS in record.fields:  # the section of this name shows them, whatever judges the row
            self._begin((STEPS,))
        if self._repeats is None and (REPEAT in record.input or TRIAL in record.input):
            self._repeats = RepeatTally(self._sureness)
        if self._repeats:
            self._repeats.add(record)
        if record.status == "skipped":
            return
        for tally in (self._contests, self._cascade, self._option_order):
            if tally:
                tally.add(record)
        for part in parts:
            part.add(record)

    @property
    def only_counts(self) -> bool:
        """Return True if so far nothing but the counts of ``Tally`` is needed from each row."""
        return not (self._parts or self._repeats or self._contests or self._cascade)

    def add_alike(self, records: Sequence[JudgmentRecord], usage: Iterable[Usage]) -> None:
        """Add the records of rows that are alike; see ``Tally.add_alike``."""
        self._tally.add_alike(records, usage)
        if self._option_order:
            for record in records:
                self._option_order.add(record)

    def _begin(self, sections: Collection[str]) -> list[SectionTally]:
        for name in sections:
            if name not in self._parts and (kind := section_kind(name)):
                self._parts[name] = kind.begin(self._setup, self.judge, self._sureness)
        return [self._parts[name] for name in sections if name in self._parts]

    @property
    def may_turn(self) -> bool:
        """Return True if later rows may change the ranking: a better row may make the best rows so
        far look bad, or a larger count may shrink the share of the others.
        """
        return self._may_be_better or self._tally.is_count

    @property
    def ends(self) -> tuple[Collection[SectionTally], float, float]:
        """The arguments of ``badness`` except the judgment."""
        return self._parts.values(), self._tally.best_score, self._tally.largest

    def section(self) -> Section:
        parts = {name: part for name, tally in self._parts.items() if (part := tally.summary())}
        contests = self._contests.summary() if self._contests else None
        cascade = self._cascade.summary(self._steps) if self._cascade else None
        return Section(
            self.judge,
            self.criteria,
            self._tally.summary(),
            parts,
            contests,
            cascade,
            self._repeats.summary() if self._repeats else (),
            self.system,
            self._option_order.summary() if self._option_order else None,
        )


class ReportTally:
    """Adds up judgments one by one. Apart from the worst ones, which are shown, each takes a few
    bytes.
    """

    def __init__(self, setup: Setup, shown: int = ENTRIES) -> None:
        self.setup = setup
        self.shown = shown
        self._sections: dict[SectionKey, _SectionTally] = {}
        self._systems: SystemsTally | None = None
        self._first_rows: dict[SectionKey, int] = {}
        """The first row of each section: it sorts systems as in the file, not as they answered."""
        self._worst: list[JudgmentRecord | AlikeRow] = []
        self._kept = shown
        """How many of them stayed when the rest was last dropped."""
        self._listed: dict[int, tuple[JudgmentRecord, int]] = {}
        """Record that alike rows share, by its identity → how many of them were among the worst."""
        self._notes: dict[str, None] = {}
        self._reasons: Counter[str] = Counter()
        self._first: list[str] = []
        self._blank: BlankRows | None = None
        self._unread = UnreadRows()
        self.total = 0
        self._named: Counter[tuple[str, str]] = Counter()
        self._without_group = _WithoutGroup(setup.cluster)
        """Rows with nothing in the column that says which rows belong together."""
        self._not_asked = 0
        """Judgments without a score because a model was paused."""
        self._missed_formats: dict[str, tuple[int, int]] = {}
        self._counted_votes: set[int] = set()
        self._used: defaultdict[str, UsageSum] = defaultdict(UsageSum)
        self._opinions: Counter[tuple[str, bool | None]] = Counter()
        """(model, agrees) → second opinions; None: one of the two has no verdict."""
        self.failed_calls = self._reused = self._unanswered = self._refused = 0
        self._targets_failed: Counter[tuple[str, str]] = Counter()
        """Answers that a target failed to give, as each criterion met with them."""
        self.kept = Skipped()
        """The skipped rows of an earlier process."""

    def without_judgments(self) -> ReportTally:
        """Return a tally with the same setup and skipped rows, but no judgments."""
        tally = ReportTally(self.setup, self.shown)
        tally._reasons, tally._first, tally._blank = self._reasons, self._first, self._blank
        tally.kept = self.kept
        return tally

    def add(self, record: JudgmentRecord, *, is_stored: bool = True) -> None:
        """Count a judgment. ``is_stored``: False if votes that rows with equal content share were
        cast, or are to count, for each of these rows.
        """
        key = record.judge, record.criterion, record.answered_by
        section = self._sections.get(key)
        if section is None:
            section = self._sections[key] = _SectionTally(key, record, self.setup, self._unread)
            self._first_rows[key] = record.row
        section.add(record)
        self._first_rows[key] = min(record.row, self._first_rows[key])
        if key[2] and record.detail.kind != "pairwise":
            self._add_system(record)
        self._without_group.add(record)
        self.total += 1
        if record.reason:
            self._not_asked += _NOT_ASKED in record.reason
        if record.named:
            self._named.update(record.named)
        for model, usage in record.used.items():
            self._used[model].add(usage)
        if record.votes:
            self._add_votes(record, record.votes, is_stored=is_stored)
        if opinion := record.second_opinion:
            agrees = opinion.agrees_with(record.verdict if record.scored else None)
            self._opinions[opinion.model, agrees] += 1
        if record.notes:
            self._notes.update(dict.fromkeys(record.notes))
        if record.status != "skipped":
            self._worst.append(record)
        self._drop_best()

    def add_stored(self, judgments: Iterable[JudgmentRecord | AlikeGroup]) -> None:
        """Count judgments of a run folder, in their order."""
        for judgment in judgments:
            if isinstance(judgment, AlikeGroup):
                self._add_group(judgment)
            else:
                self.add(judgment)

    def _add_group(self, group: AlikeGroup) -> None:
        """Count rows of one section as ``add`` would."""
        judge, criterion = group.likes[0].judge, group.likes[0].criterion
        if (judge, criterion, "") not in self._sections:
            first, *_ = group
            self.add(first.record)
            group = group.rest()
        section = self._sections[judge, criterion, ""]
        if not group.likes:
            return
        if self.setup.cluster or not section.only_counts:
            for row in group:
                self.add(row.record)
            return
        votes = group.count_votes()
        section.add_alike(group.likes, votes.usage.values())
        self.total += len(group.likes)
        self._named.update(votes.named)
        for model, usage in votes.usage.items():
            self._used[model].add(usage)
        self._reused += votes.reused
        if len(self._counted_votes) < _MOST_COUNTED:
            for vote in group.formats():
                self._count_stored_format(vote)
        self._list(group)
        self._drop_best()

    def _list(self, group: AlikeGroup) -> None:
        """Add rows to the worst ones. Of rows that are alike, the first ones are worse."""
        if len(self._listed) > _MOST_LISTED:
            self._listed.clear()  # then some more are sorted
        listed = {key: self._listed.get(key, (None, 0))[1] for key in {*map(id, group.likes)}}
        if min(listed.values()) >= self.shown:
            return
        for row in group:
            key = id(row.like)
            if listed[key] < self.shown:
                listed[key] += 1
                self._listed[key] = row.like, listed[key]
                self._worst.append(row)

    def _add_votes(
        self, record: JudgmentRecord, votes: Sequence[VoteRecord], *, is_stored: bool
    ) -> None:
        for vote in votes:
            failed = vote.outcome == "model_error"
            if failed and vote.model.startswith(TARGET):
                self._targets_failed[record.judge, record.criterion] += 1
            else:
                self._unanswered += failed
            self._refused += vote.outcome == "refused" and not vote.usage.calls
            self._count_format(vote, is_stored=is_stored)
            was_paid = vote.usage.calls or vote.metadata.get(PAID_WITH)
            self._reused += not was_paid and vote.text is not None and not failed

    def _count_format(self, vote: VoteRecord, *, is_stored: bool) -> None:
        """Count a vote's format. A vote that is shared by rows with equal content counts once.
        Applications have no format to miss.
        """
        if vote.text is None or vote.model.startswith(TARGET):
            return
        if len(self._counted_votes) >= _MOST_COUNTED:
            return
        key = hash((vote.model, vote.sample, vote.prompt, vote.at))
        if not is_stored or vote.at is None or key not in self._counted_votes:
            is_missed = vote.repairs > 0 or vote.outcome == "unreadable"
            self._add_format(key, vote.model, is_missed=is_missed)

    def _count_stored_format(self, vote: VoteFormat) -> None:
        key = hash(vote.key)
        if len(self._counted_votes) < _MOST_COUNTED and key not in self._counted_votes:
            self._add_format(key, vote.model, is_missed=vote.is_mended)

    def _add_format(self, key: int, model: str, *, is_missed: bool) -> None:
        self._counted_votes.add(key)
        repeated, votes = self._missed_formats.get(model, (0, 0))
        self._missed_formats[model] = repeated + is_missed, votes + 1

    def _add_system(self, record: JudgmentRecord) -> None:
        if self._systems is None:
            from adjudge.runs.results.systems import SystemsTally  # not loaded for one system

            self._systems = SystemsTally()
        self._systems.add(record)

    def skip(self, row: BadRow) -> None:
        """Count a row that cannot be judged."""
        self._reasons[abridge(row.reason)] += 1
        self._first += [str(row)] if len(self._first) < _MOST_NAMED else []

    def skip_blank(self, rows: BlankRows) -> None:
        self._blank = rows

    @property
    def skipped(self) -> Skipped:
        """The rows that were not judged, here or else in an earlier process."""
        if not self._reasons and not self._blank:
            return self.kept
        blank = (self._blank.count, self._blank.places) if self._blank else (0, "")
        return Skipped(
            self._reasons.total(), dict(self._reasons.most_common()), tuple(self._first), *blank
        )

    def report(self) -> Report:
        """Return the report of all judgments so far."""
        skipped = self.skipped
        self._unread.count = skipped.rows  # limits allow for them
        sections = tuple(self._in_order())
        blank = [_blank_rows(skipped)] if skipped.blank else []
        return Report(
            setup=self.setup,
            sections=sections,
            gates=tuple(_gates(self.setup, sections, skipped.rows)),
            skipped=skipped,
            notes=(
                *dict.fromkeys((*self.setup.notes, *self._notes)),
                *blank,
                *rows_without_group(self._without_group.count, self.setup.cluster),
                *self._pause_note(),
                *answering_notes(self._named),
                *format_notes(self._missed_formats),
                *_order_notes(sections),
                *_part_notes(sections),
                *opinion_notes(self._opinions),
            ),
            entries=tuple(
                entry.record if isinstance(entry, AlikeRow) else entry
                for entry in self._worst_first()
            ),
            total=self.total,
            used={model: usage_sum.usage for model, usage_sum in self._used.items()},
            failed_calls=self.failed_calls,
            reused=self._reused,
            unanswered=self._unanswered + max(self._targets_failed.values(), default=0),
            refused=self._refused,
            differences=self._systems.summary() if self._systems else (),
        )

    def _pause_note(self) -> Iterator[Message]:
        if self._not_asked:
            yield Message(
                "not asked, because a model was paused after many failures in a row: {number} of "
                "{total} judgments; resume the run to ask for them",
                number=self._not_asked,
                total=self.total,
            )

    def _in_order(self) -> list[Section]:
        """Return the sections in the order of the configured judges and criteria.

        If there is only one system, its name is removed.
        """
        places = {judge: place for place, judge in enumerate(self.setup.judges)}
        sections = [section.section() for section in self._sections.values()]
        if len({section.system for section in sections}) < 2:
            sections = [replace(section, system="") for section in sections]
        listed_criteria = [
            (judge, str(criterion.get("name")))
            for judge, section in self.setup.judges.items()
            for criterion in section.criteria
        ]
        criteria = list(
            dict.fromkeys(
                [*listed_criteria, *((section.judge, section.criteria) for section in sections)]
            )
        )
        return sorted(
            sections,
            key=lambda section: (
                places.get(section.judge, len(places)),
                criteria.index((section.judge, section.criteria)),
                self._first_rows.get((section.judge, section.criteria, section.system), 0),
            ),
        )

    def _worst_first(self) -> list[JudgmentRecord | AlikeRow]:
        return sorted(self._worst, key=self._ranking())[: self.shown]

    def _drop_best(self) -> None:
        """Drop rows that cannot be among the worst ones, whichever rows come."""
        if len(self._worst) <= 2 * self._kept:
            return  # sorting at twice the size keeps both memory and time small
        rank, waiting = self._ranking(), Counter[SectionKey]()
        ranked = sorted(self._worst, key=rank)
        self._worst = ranked[: self.shown]
        for entry in ranked[self.shown :]:
            record = entry.like if isinstance(entry, AlikeRow) else entry
            key = record.judge, record.criterion, "" if entry is not record else record.answered_by
            if rank(entry)[0] == _BEST and self._sections[key].may_turn:
                waiting[key] += 1
                if waiting[key] <= self.shown:
                    self._worst.append(entry)
        self._kept = max(self.shown, len(self._worst))

    def _ranking(self) -> Callable[[JudgmentRecord | AlikeRow], tuple[int, float, int]]:
        ends = {key: tally.ends for key, tally in self._sections.items()}

        def rank(entry: JudgmentRecord | AlikeRow) -> tuple[int, float, int]:
            if isinstance(entry, AlikeRow):
                record = entry.like
                parts, best, largest = ends[record.judge, record.criterion, ""]
                place, score, _ = badness(entry.record if parts else record, parts, best, largest)
                return place, score, entry.place + 1
            return badness(entry, *ends[entry.judge, entry.criterion, entry.answered_by])

        return rank


_BEST = 2
"""Place of the best rows and of counts in the order of ``badness``."""


def badness(
    record: JudgmentRecord,
    parts: Iterable[SectionPart | SectionTally],
    best: float,
    largest: float,
) -> tuple[int, float, int]:
    """Return a sort key that puts the worst judgments first.

    Scores below ``best`` come first, the lowest first; then rows without a score; then counts, the
    highest first; then the rest. A part of the section may override this. Counts are compared by
    their share of ``largest``, the criterion's largest count; otherwise 40 steps would hide 4
    errors.
    """
    for part in parts:
        if (rank := part.rank(record)) is not None:
            return (*rank, record.row)
    if not record.scored:
        return 1, 0.0, record.row
    if record.detail.is_count:
        return 2, -(record.score or 0.0) / (largest or 1.0), record.row
    if record.score is None:
        return 2, 0.0, record.row
    return 0 if record.score < best else 2, record.score, record.row


def report_of(
    judge: ReportedJudge, results: Iterable[Result], *, source: str = "", shown: int = ENTRIES
) -> Report:
    """Return a report on a judge's results. ``source``: where the rows come from."""
    tally = ReportTally(Setup.of_judge(judge, source), shown)
    for record in judgments_of(judge, results):
        tally.add(record)
    return tally.report()


def judgments_of(judge: ReportedJudge, results: Iterable[Result]) -> list[JudgmentRecord]:
    """Convert a judge's results to the records that reports use."""
    return [result.record(type(judge).__name__, index) for index, result in enumerate(results)]


def _gates(setup: Setup, sections: Sequence[Section], unread: int) -> Iterable[GateResult]:
    """Yield the gates of a report. ``unread``: the number of rows that could not be read."""
    results: list[GateResult] = []
    for bar in setup.bars:
        sections_of_judge = [item for item in sections if item.judge == bar.judge]
        empty_gate = mean_gate(
            bar.judge, bar.name, Tally().summary(), bar.least, confidence=setup.confidence
        )
        gates = _gates_of_bar(bar, sections_of_judge, setup) if sections_of_judge else [empty_gate]
        results += (gate.with_unread(unread, _scale_of(gate, setup)) for gate in gates)
    sequential = setup.sequential
    yield from (
        replace(item, cluster=setup.cluster, among=len(results), sequential=sequential)
        for item in results
    )
    for item in sections if setup.max_failed is not None else ():
        summary = item.summary
        yield GateResult(
            judge=item.judge,
            name=item.criteria,
            system=item.system,
            measure="missing",
            value=summary.unscored / summary.attempted if summary.attempted else None,
            bar=setup.max_failed or 0.0,
            lower=0.0,
            upper=1.0,
            rows=summary.attempted,
            missing=summary.unscored,
        ).with_unread(unread)


def _scale_of(gate: GateResult, setup: Setup) -> tuple[float, float]:
    """Return the least and the most that a row can score; 0 and 1 for anything but a criterion."""
    judge = setup.judges.get(gate.judge)
    is_mean = judge is not None and gate.measure == "mean"
    return judge.score_range(gate.name) if judge and is_mean else (0.0, 1.0)


def _gates_of_bar(bar: Bar, sections: Sequence[Section], setup: Setup) -> Iterable[GateResult]:
    bar_names = {
        other_bar.name
        for other_bar in setup.bars
        if other_bar.judge == bar.judge and other_bar.name
    }
    for section in sections:
        if bar.most:
            if bar.name == section.criteria:
                gate = most_gate(section.judge, section.criteria, section.summary, bar.least)
                yield replace(gate, ignores_confidence=setup.confidence is not None)
        elif section.contests:
            system = _find_system(bar.name, section.contests.systems)
            gate = _win_rate(section.judge, bar, system, setup.confidence)
            if system and len(sections) > 1:
                gate = replace(gate, contest=section.criteria)
            yield _open_one_order(gate, system) if system else gate
        elif bar.name in ("", section.criteria, section.judge, section.system) and not (
            bar.name == "" and bar_names & {section.criteria, section.judge, section.system}
        ):
            kind: Measure = section.lead.gate_measure if section.lead else "mean"
            gate = mean_gate(
                section.judge, section.criteria, section.summary, bar.least, kind, setup.confidence
            )
            yield replace(gate, system=section.system)
        elif figure := section.part_figure(bar.name):
            gate = mean_gate(
                section.judge, bar.name, figure, bar.least, confidence=setup.confidence
            )
            yield replace(gate, system=section.system)


def _open_one_order(gate: GateResult, system: SystemSummary) -> GateResult:
    """Widen the limits of a win-rate gate for rows judged in one order only.

    These count as lost in the lower limit and as won in the upper one, since the other order could
    have decided them.
    """
    rows = system.rows + system.missing
    if not system.one_order:
        return gate
    return replace(
        gate,
        lower=gate.lower - system.one_order_wins / rows,
        upper=gate.upper + (system.one_order - system.one_order_wins) / rows,
        one_order=system.one_order,
    )


def _find_system(name: str, systems: Sequence[SystemSummary]) -> SystemSummary | None:
    """Return the system of this name, ignoring case if there is no exact match; None if there is
    none.
    """
    exact = (system for system in systems if system.name == name)
    return next(exact, None) or next(
        (system for system in systems if fold_name(system.name) == fold_name(name)), None
    )


def _win_rate(
    judge: str, bar: Bar, system: SystemSummary | None, confidence: float | None
) -> GateResult:
    sure = system.confident if system else None
    lower, upper = limits_or(system.bounds if system else (0.0, 1.0), sure)
    return GateResult(
        judge=judge,
        name=system.name if system else bar.name,
        measure="win rate",
        value=system.winrate if system else None,
        bar=bar.least,
        lower=lower,
        upper=upper,
        rows=system.rows + system.missing if system else 0,
        missing=system.missing if system else 0,
        open_votes=system.opened.rows if system else 0,
        confidence=confidence,
        sure=sure is not None,
    )


def _part_notes(sections: Sequence[Section]) -> Iterator[Message]:
    """Yield a note for each section whose rows are turns or topics: they are fewer independent
    rows than they look.
    """
    for section in sections:
        summary = section.summary
        if summary.conversations:
            yield Message(
                "{name}: {parts}; in intervals, each conversation counts as one",
                name=section.name,
                parts=count_parts(
                    summary.scored, summary.conversations, are_topics=summary.are_topics
                ),
            )


def _order_notes(sections: Sequence[Section]) -> Iterator[Message]:
    """Yield which verdicts depend on the order, or were given in one order only."""
    for section in sections:
        message: Message | None = None
        if section.contests and section.contests.one_order:
            from adjudge.runs.results.contests import one_order_message

            message = one_order_message(section.contests)
        elif section.option_order and section.option_order.is_worth_a_warning:
            message = section.option_order.sentence()
        if message:
            yield join(": ", (section.name, message)) if len(sections) > 1 else message


def _blank_rows(skipped: Skipped) -> Message:
    """Return a note on skipped blank rows that locates the first ones."""
    return plural(
        "{count} blank row was skipped: {places}.",
        "{count} blank rows were skipped: {places}.",
        skipped.blank,
        places=skipped.blank_places,
    )
