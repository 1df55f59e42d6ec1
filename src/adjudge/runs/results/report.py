"""What a run comes to, for every page and table: a section per criteria, its gates, why rows have
no score, the worst rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import OptionScores, criteria_from_json
from adjudge.core.domain.judge_criterion import JudgeCriterion, of_system
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage, UsageSum
from adjudge.core.domain.record import Detail, JudgmentRecord, VoteRecord
from adjudge.core.domain.repetition import TRIAL
from adjudge.core.domain.results import Result
from adjudge.core.domain.vote import PAID_WITH
from adjudge.core.gateway.prices import TARGET
from adjudge.errors import NOT_ASKED
from adjudge.messages import Message, abridge, join, plural
from adjudge.runs.counts import rows_without_group
from adjudge.runs.results.cascades import CascadeSummary, CascadeTally
from adjudge.runs.results.cost import Cost, cost_of
from adjudge.runs.results.gate import Bar, GateResult, Measure, limits_or, mean_gate, most_gate
from adjudge.runs.results.notes import answering_notes, format_notes
from adjudge.runs.results.option_order import OptionOrder, OptionOrderTally
from adjudge.runs.results.repeats import REPEAT, Repeats, RepeatTally
from adjudge.runs.results.setup import FigureChange, NamedFigure, ReportedJudge, Setup
from adjudge.runs.results.summary import GateConfidence, Summary, Tally
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
"""How many judgments the pages for people list, the worst first; the tables have them all."""
_MOST_NAMED = 10
"""Skipped rows that are named one by one."""


_NOT_ASKED = f"{NOT_ASKED}: "
SectionKey = tuple[str, str, str]
"""Judge, criterion, system."""


@light_dataclass(frozen=True)
class Section(JudgeCriterion):
    """What one judge says by one criterion; of targets that are several, of each by itself."""

    summary: Summary
    parts: Mapping[str, SectionPart] = FrozenDict()
    """Kind of result (a name of the extension point ``sections``) → its numbers."""
    contests: ContestSummary | None = None
    cascade: CascadeSummary | None = None
    repeats: tuple[Repeats, ...] = ()
    system: str = ""
    """Whose answers they are, where several systems answered the rows."""
    option_order: OptionOrder | None = None
    """None unless the options were shown in both orders."""

    @property
    def name(self) -> str:
        return of_system(super().name, self.system)

    @property
    def title(self) -> str:
        """The same without the judge."""
        return of_system(self.criteria or self.judge, self.system)

    @property
    def lead(self) -> SectionPart | None:
        """The part that is shown in place of the line that a criterion has."""
        return next((part for part in self.parts.values() if part.leads), None)

    def figure_named(self, name: str) -> tuple[float | None, Interval | None]:
        """The figure of this name with its interval: the win rate of a compared system, a figure of
        a part, otherwise the mean of the criterion. Figures of parts come without an interval.
        """
        systems = self.contests.systems if self.contests else ()
        for one in systems:
            if one.name == name:
                return one.winrate, one.interval
        summary = self.part_figure(name) or self.summary
        return summary.mean, summary.interval

    def part_figure(self, name: str) -> Summary | None:
        """The figure of this name that a part has, if one does."""
        figures = (part.named(name) for part in self.parts.values())
        return next((one for one in figures if one is not None), None)

    def figures(self) -> Iterator[NamedFigure]:
        """What can be compared with another run."""
        if self.contests:
            yield from (
                NamedFigure(one.name, one.name, one.winrate)
                for one in self.contests.systems
                if one.winrate is not None
            )
        elif self.summary.mean is not None:
            yield NamedFigure(self.title, self.title, self.summary.mean)
        for part in self.parts.values():
            for key, name, value in part.figures():
                yield NamedFigure(of_system(key, self.system), of_system(name, self.system), value)

    def to_dict(self) -> JsonDict:
        found: JsonDict = {
            "judge": self.judge,
            "criteria": self.criteria,
            **nonempty(system=self.system),
            **self.summary.to_dict(),
        }
        lead = self.lead
        found |= lead.to_dict() if lead else {}
        if self.contests:
            order, systems = self.contests.order, self.contests.systems
            found |= {
                "systems": [one.to_dict() for one in systems],
                "positional_bias": order.to_dict() if order else None,
            }
        found |= nonempty(
            cascade=self.cascade.to_dict() if self.cascade else None,
            repeats=[one.to_dict() for one in self.repeats],
        )
        for part in self.parts.values():
            found |= part.to_dict() if part is not lead else {}
        return found


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
        """The same for a run folder, where a reason can be read in any language."""
        return {**self.to_dict(), "reasons": [[why, rows] for why, rows in self.reasons.items()]}

    @classmethod
    def of(cls, kept: object) -> Skipped:
        """As a run folder keeps it."""
        match kept:
            case {
                "rows": int(rows),
                "reasons": list(why),
                "first": list(first),
                "blank": int(blank),
                "blank_places": str(at),
            }:
                return cls(rows, dict(_counted(why)), tuple(map(str, first)), blank, at)
        return cls()


def _counted(kept: Iterable[object]) -> Iterator[tuple[str, int]]:
    for one in kept:
        match one:
            case [str(reason), int(rows)]:
                yield reason, rows


@light_dataclass(frozen=True, kw_only=True)
class Report(HtmlRepr):
    """A run, or what there is of it so far."""

    setup: Setup
    sections: tuple[Section, ...]
    gates: tuple[GateResult, ...] = ()
    skipped: Skipped = Skipped()
    notes: tuple[str, ...] = ()
    """What a reader must know of the models, of the judgments and of the data; each once."""
    entries: tuple[JudgmentRecord, ...] = ()
    total: int = 0
    used: Mapping[str, Usage] = field(default_factory=dict)
    failed_calls: int = 0
    """Requests that brought no reply, tries that were repeated included; they are in no usage."""
    reused: int = 0
    """Answers that cost nothing: they came from the cache, or from an earlier run."""
    unanswered: int = 0
    """Votes for which every call failed."""
    counts: str = ""
    """Of a run folder: judgments, votes and failed calls."""
    made: datetime = field(default_factory=datetime.now)
    differences: tuple[SystemDifference, ...] = ()
    """Every two systems that answered the same rows, where several did."""
    compared: tuple[RunComparison, ...] = ()
    """How it compares with its baseline, row by row, where that can be read."""
    calibrations: tuple[Calibration, ...] = ()
    """What people's labels say of the numbers, where there are labels."""
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
        """The same of a run that has not come to its end: no gate is decided."""
        return replace(
            self,
            gates=tuple(replace(one, stopped=True) for one in self.gates),
            is_unfinished=self.setup.state != "imported",
        )

    def counting_requests_once(self, repeated: Mapping[tuple[str, str], Usage]) -> Self:
        """The same, less what rows with the same content count again; ``repeated``: by judge and
        criterion. Answers of several systems stay as they are.
        """
        sections = tuple(
            replace(one, summary=one.summary.less(repeated[one.judge, one.criteria]))
            if not one.system and (one.judge, one.criteria) in repeated
            else one
            for one in self.sections
        )
        return replace(self, sections=sections)

    @property
    def counts_requests_again(self) -> bool:
        """Return True if the criteria count more calls than the run took."""
        return sum(one.summary.usage.calls for one in self.sections) > self.usage.calls

    @property
    def standing(self) -> str | None:
        """The worst verdict of the gates, and undecided if no row was judged; else None without
        gates.
        """
        verdicts = {gate.verdict for gate in self.gates}
        verdicts |= {"inconclusive"} if self.decided_nothing else set()
        return next((one for one in ("failed", "inconclusive", "holds") if one in verdicts), None)

    @property
    def decided_nothing(self) -> bool:
        """Return True if every judgment was skipped, so that there is no result at all."""
        return bool(self.sections) and not any(one.summary.attempted for one in self.sections)

    @property
    def usage(self) -> Usage:
        return sum(self.used.values(), Usage())

    @cached_property
    def cost(self) -> Cost:
        """What it cost in dollars."""
        return cost_of(self.used, self.setup.prices)

    @cached_property
    def criteria(self) -> list[JudgeCriterion]:
        """What was judged by, each once, whoever answered."""
        return list(dict.fromkeys(JudgeCriterion(one.judge, one.criteria) for one in self.sections))

    @property
    def judged(self) -> int:
        """Judgments that were made; skipped rows have none."""
        return self.total - sum(one.summary.skipped for one in self.sections)

    def section_of(self, one: JudgmentRecord) -> Section | None:
        """The section that a judgment is counted in."""
        found = self._by_key.get((one.judge, one.criterion, ""))
        return found or self._by_key.get((one.judge, one.criterion, one.answered_by))

    def contest_title(self, section: Section) -> str:
        """Return what the comparisons of a section are called: by their criterion, and by the judge
        if several judges compared by it.
        """
        alike = [one for one in self.sections if one.contests and one.criteria == section.criteria]
        return section.name if len(alike) > 1 else section.criteria

    @cached_property
    def several_contests(self) -> bool:
        """Return True if responses were compared by several judges or criteria."""
        return sum(bool(one.contests) for one in self.sections) > 1

    @cached_property
    def _by_key(self) -> dict[SectionKey, Section]:
        return {(one.judge, one.criteria, one.system): one for one in self.sections}

    def good_answer(self, one: Section) -> str | None:
        """The option with the higher score, if there are two; None of other criteria, of
        comparisons, and if it is PASS, which needs no explanation.
        """
        if one.contests or not one.summary.options:
            return None
        criterion = self._criterion_of(one)
        good = criterion.good_answer if criterion else None
        return None if good == "PASS" else good

    def _criterion_of(self, one: Section) -> Criteria | None:
        judge = self.setup.judges.get(one.judge)
        asked = judge.criteria if judge else ()
        kept = (criteria_from_json(each) for each in asked if each.get("name") == one.criteria)
        return next(kept, None)

    @property
    def good_answer_lines(self) -> list[Message]:
        """Say which of two options counts as good: without names only if it is the same for all
        criteria.
        """
        answers = [(one, good) for one in self.sections if (good := self.good_answer(one))]
        goods = {good for _, good in answers}
        if len(goods) == 1 and len(answers) == len(self.sections):
            return [Message("{answer} counts as good.", answer=goods.pop())]
        titles = Counter(one.title for one in self.sections)
        return [
            Message(
                "{name}: {answer} counts as good.",
                name=one.title if titles[one.title] == 1 else one.name,
                answer=good,
            )
            for one, good in answers
        ]

    @property
    def retries(self) -> int:
        """Calls that failed and were repeated."""
        return max(0, self.failed_calls - self.unanswered)

    @property
    def remarks(self) -> list[str]:
        """What cascades decided and saved, what parts of sections remark, and what judges use that
        was learnt from labels.
        """
        said = [
            sentence
            for one in self.sections
            for part in (one.cascade, *one.parts.values())
            if part and (sentence := part.sentence(one.name))
        ]
        repeated = [
            each.sentence(replace(one, system="").name)
            for one in self.sections
            for each in one.repeats
        ]
        skipped = [
            plural(
                "{name}: {count} row was not judged, since its checks do not pass",
                "{name}: {count} rows were not judged, since their checks do not pass",
                one.summary.skipped - sum(one.summary.unmeasured.values()),
                name=one.name,
            )
            for one in self.sections
            if one.summary.skipped > sum(one.summary.unmeasured.values())
        ]
        skipped += [
            plural(
                "{name}: {count} row has no value: {reason}",
                "{name}: {count} rows have no value: {reason}",
                count,
                name=one.name,
                reason=reason,
            )
            for one in self.sections
            for reason, count in islice(one.summary.unmeasured.items(), _MOST_REASONS)
        ]
        skipped += [
            plural(
                "{name}: {count} more row has no value, for another reason",
                "{name}: {count} more rows have no value, for other reasons",
                left,
                name=one.name,
            )
            for one in self.sections
            if (left := sum(list(one.summary.unmeasured.values())[_MOST_REASONS:]))
        ]
        tied = [
            plural(
                "{name}: the votes are tied on {tied} of {count} row",
                "{name}: the votes are tied on {tied} of {count} rows",
                one.summary.scored,
                name=one.name,
                tied=one.summary.tied,
            )
            for one in self.sections
            if one.summary.tied
        ]
        steady = [
            join(": ", (one.name, one.option_order.sentence()))
            for one in self.sections
            if one.option_order and not one.option_order.is_worth_a_warning
        ]
        compared = (one.sentence for one in self.differences)
        incomparable = [
            Message(
                "{name}: not compared with {run}: {reason}",
                name=one.name,
                run=self.setup.baseline.run,
                reason=reason,
            )
            for one in self.sections
            if not self.compared and (reason := self._no_baseline_because(one))
        ]
        return [
            *skipped,
            *tied,
            *said,
            *repeated,
            *steady,
            *compared,
            *incomparable,
            *self.setup.learnt,
        ]

    @property
    def compared_told(self) -> list[str]:
        """How it compares with its baseline, in lines; those below the first of a criterion begin
        with a blank.
        """
        if not self.compared:
            return []
        from adjudge.runs.results.comparison_words import (
            comparison_lines,
        )  # not loaded where nothing is compared

        return [line for one in self.compared for line in comparison_lines(one, self.setup.title)]

    @property
    def reasons(self) -> dict[str, int]:
        """Why judgments have no score, over all sections, the most frequent first."""
        found: Counter[str] = Counter()
        for one in self.sections:
            found.update(one.summary.reasons)
        return dict(found.most_common())

    def badness_of(self, one: JudgmentRecord) -> tuple[int, float, int]:
        """A key that sorts the worst judgments first."""
        section = self.section_of(one)
        if section is None:
            return badness(one, (), 1.0, 0.0)
        best, largest = section.summary.best_score, section.summary.largest
        return badness(one, section.parts.values(), best, largest)

    def parts_of(self, one: JudgmentRecord) -> Collection[SectionPart]:
        """The parts of the section that a judgment is counted in."""
        section = self.section_of(one)
        return section.parts.values() if section else ()

    @cached_property
    def parameters(self) -> dict[str, str]:
        """How the scores were made."""
        votes, more, judges = "votes per model", dict[str, list[str]](), set[str]()
        for one in self.sections:
            if one.judge in judges:  # of several systems, each has a section
                continue
            judges.add(one.judge)
            for part in one.parts.values():
                votes = part.vote_parameter or votes
                for name, value in part.parameters().items():
                    more.setdefault(name, []).append(value)
        return self.setup.parameters(
            votes, {name: ", ".join(filter(None, values)) for name, values in more.items()}
        )

    def summary(self) -> JsonDict:
        """The counts of all sections and what they cost; a mean only where there is one, since that
        of several is none.
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
        every = [one.summary for one in self.sections]
        names = ("attempted", "scored", "abstained", "failed", "without_number")
        counts: JsonDict = {name: sum(getattr(one, name) for one in every) for name in names}
        return {**counts, **used}

    def to_dict(self) -> JsonDict:
        """Everything but the judgments, as a JSON-ready dict."""
        return {
            "criteria": [
                {
                    **one.to_dict(),
                    **nonempty(good_answer=self.good_answer(one)),
                    **self._baseline(one),
                }
                for one in self.sections
            ],
            "gates": [one.to_dict() for one in self.gates],
            "reasons": self.reasons,
            "skipped": self.skipped.to_dict(),
            "notes": list(self.notes),
            **nonempty(
                remarks=self.remarks,
                differences=[one.to_dict() for one in self.differences],
                comparisons=[one.to_dict() for one in self.compared],
                calibrations=[one.to_dict() for one in self.calibrations],
            ),
        }

    def changes(self, one: Section) -> list[FigureChange]:
        """What a section has come to since the run that this one is compared with."""
        before = self.setup.baseline
        if not before.figures or self._no_baseline_because(one):
            return []
        return before.changes(one.judge, one.figures())

    def option_scores(self, one: Section) -> OptionScores:
        """What the options score that the mean of a section is made of; nothing of an imported
        run, which need not hold every option.
        """
        judge = self.setup.judges.get(one.judge)
        if judge is None or one.contests or self.setup.state == "imported":
            return {}
        return judge.option_scores(one.criteria)

    def _no_baseline_because(self, one: Section) -> Message | None:
        compared = (
            Message("{reason}", reason=each.shown.reason)
            for each in self.compared
            if not each.is_comparable
            and (each.judges[1], each.criteria) == (one.judge, one.criteria)
        )
        scores = self.option_scores(one)
        return next(compared, None) or self.setup.baseline.incomparable_because(
            one.judge, one.title, scores
        )

    def _baseline(self, one: Section) -> JsonDict:
        changes = self.changes(one)
        return nonempty(baseline=[each.to_dict() for each in changes])


_MOST_COUNTED = 20_000
"""Votes whose format is looked at, so that a long run takes no more memory."""


class _SectionTally:
    def __init__(self, key: SectionKey, first: JudgmentRecord, setup: Setup) -> None:
        self.judge, self.criteria, self.system = key
        sureness = GateConfidence(setup.confidence, setup.cluster, setup.sequential)
        self._sureness = sureness
        self._steps = setup.steps.get(first.judge, ())
        self._cascade = CascadeTally(setup.prices) if self._steps else None
        judge = setup.judges.get(first.judge)
        scale = judge.score_range(first.criterion) if judge else (0.0, 1.0)
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

    def add(self, one: JudgmentRecord) -> None:
        self._tally.add(one)
        parts = self._parts_of.get(type(one.detail))
        if parts is None:
            parts = self._parts_of[type(one.detail)] = self._begin(one.detail.sections)
        if STEPS in one.fields:  # the section of this name shows them, whatever judges the row
            self._begin((STEPS,))
        if self._repeats is None and (REPEAT in one.input or TRIAL in one.input):
            self._repeats = RepeatTally(self._sureness)
        if self._repeats:
            self._repeats.add(one)
        if one.status == "skipped":
            return
        for more in (self._contests, self._cascade, self._option_order):
            if more:
                more.add(one)
        for part in parts:
            part.add(one)

    def _begin(self, sections: Collection[str]) -> list[SectionTally]:
        for name in sections:
            if name not in self._parts and (kind := section_kind(name)):
                self._parts[name] = kind.begin(self._setup, self.judge, self._sureness)
        return [self._parts[name] for name in sections if name in self._parts]

    @property
    def ends(self) -> tuple[Collection[SectionTally], float, float]:
        """What ``badness`` asks for besides a judgment."""
        return self._parts.values(), self._tally.best_score, self._tally.largest

    def section(self) -> Section:
        parts = {name: part for name, one in self._parts.items() if (part := one.summary())}
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
    """Takes judgments one by one; memory grows by a few bytes for each, beside the worst that are
    shown.
    """

    def __init__(self, setup: Setup, shown: int = ENTRIES) -> None:
        self.setup = setup
        self.shown = shown
        self._sections: dict[SectionKey, _SectionTally] = {}
        self._systems: SystemsTally | None = None
        self._first_rows: dict[SectionKey, int] = {}
        """The systems in the order of the file, whoever answered first."""
        self._worst: list[JudgmentRecord] = []
        self._notes: dict[str, None] = {}
        self._reasons: Counter[str] = Counter()
        self._first: list[str] = []
        self._blank: BlankRows | None = None
        self.total = 0
        self._named: Counter[tuple[str, str]] = Counter()
        self._without_group: set[int] = set()
        """Rows with nothing in the column that says which rows belong together."""
        self._not_asked = 0
        """Judgments without a score because a model was paused."""
        self._missed_formats: dict[str, tuple[int, int]] = {}
        self._counted_votes: set[int] = set()
        self._used: defaultdict[str, UsageSum] = defaultdict(UsageSum)
        self.failed_calls = self._reused = self._unanswered = 0
        self._targets_failed: Counter[tuple[str, str]] = Counter()
        """Answers that a target failed to give, as each criterion met with them."""
        self.kept = Skipped()
        """What an earlier process said of skipped rows."""

    def without_judgments(self) -> ReportTally:
        """A tally with the same setup and the same skipped rows, but no judgments."""
        made = ReportTally(self.setup, self.shown)
        made._reasons, made._first, made._blank = self._reasons, self._first, self._blank
        made.kept = self.kept
        return made

    def add(self, one: JudgmentRecord) -> None:
        key = one.judge, one.criterion, one.answered_by
        if key not in self._sections:
            self._sections[key] = _SectionTally(key, one, self.setup)
            self._first_rows[key] = one.row
        self._sections[key].add(one)
        self._first_rows[key] = min(one.row, self._first_rows[key])
        if one.answered_by and one.detail.kind != "pairwise":
            self._add_system(one)
        if self.setup.cluster and one.group(self.setup.cluster) is None:
            self._without_group.add(one.row)
        self.total += 1
        self._not_asked += _NOT_ASKED in (one.reason or "")
        if one.named:
            self._named.update(one.named)
        for model, usage in one.used.items():
            self._used[model].add(usage)
        for vote in one.votes or ():
            failed = vote.outcome == "model_error"
            if failed and vote.model.startswith(TARGET):
                self._targets_failed[one.judge, one.criterion] += 1
            else:
                self._unanswered += failed
            self._count_format(vote)
            was_paid = vote.usage.calls or vote.metadata.get(PAID_WITH)
            self._reused += vote.text is not None and not failed and not was_paid
        if one.notes:
            self._notes.update(dict.fromkeys(one.notes))
        self._worst += [one] if one.status != "skipped" else []
        if len(self._worst) > 2 * self.shown:
            self._worst = self._shown()

    def _count_format(self, vote: VoteRecord) -> None:
        """Count a vote once: rows with the same content share it."""
        if vote.text is None or len(self._counted_votes) >= _MOST_COUNTED:
            return
        key = hash((vote.model, vote.sample, vote.prompt, vote.at))
        if vote.at is None or key not in self._counted_votes:
            self._counted_votes.add(key)
            repeated, votes = self._missed_formats.get(vote.model, (0, 0))
            is_missed = vote.repairs > 0 or vote.outcome == "unreadable"
            self._missed_formats[vote.model] = repeated + is_missed, votes + 1

    def _add_system(self, one: JudgmentRecord) -> None:
        if self._systems is None:
            from adjudge.runs.results.systems import SystemsTally  # not loaded for one system

            self._systems = SystemsTally()
        self._systems.add(one)

    def skip(self, row: BadRow) -> None:
        """One more row that cannot be judged."""
        self._reasons[abridge(row.reason)] += 1
        self._first += [str(row)] if len(self._first) < _MOST_NAMED else []

    def skip_blank(self, rows: BlankRows) -> None:
        self._blank = rows

    @property
    def skipped(self) -> Skipped:
        """The rows that were not judged."""
        if not self._reasons and not self._blank:
            return self.kept
        blank = (self._blank.count, self._blank.places) if self._blank else (0, "")
        return Skipped(
            self._reasons.total(), dict(self._reasons.most_common()), tuple(self._first), *blank
        )

    def report(self) -> Report:
        """What they come to so far."""
        sections, skipped = tuple(self._in_order()), self.skipped
        blank = [_blank_rows(skipped)] if skipped.blank else []
        return Report(
            setup=self.setup,
            sections=sections,
            gates=tuple(_gates(self.setup, sections)),
            skipped=skipped,
            notes=(
                *dict.fromkeys((*self.setup.notes, *self._notes)),
                *blank,
                *rows_without_group(len(self._without_group), self.setup.cluster),
                *self._paused(),
                *answering_notes(self._named),
                *format_notes(self._missed_formats),
                *_order_notes(sections),
            ),
            entries=tuple(self._shown()),
            total=self.total,
            used={model: one.usage for model, one in self._used.items()},
            failed_calls=self.failed_calls,
            reused=self._reused,
            unanswered=self._unanswered + max(self._targets_failed.values(), default=0),
            differences=self._systems.summary() if self._systems else (),
        )

    def _paused(self) -> Iterator[Message]:
        if self._not_asked:
            yield Message(
                "not asked, since a model was paused after many failures in a row: {number} of "
                "{total} judgments; resume the run to ask them",
                number=self._not_asked,
                total=self.total,
            )

    def _in_order(self) -> list[Section]:
        """The sections in the order in which judges and criteria were given, wherever the judgments
        come from; a system that answers alone need not be named.
        """
        places = {judge: place for place, judge in enumerate(self.setup.judges)}
        found = [one.section() for one in self._sections.values()]
        if len({one.system for one in found}) < 2:
            found = [replace(one, system="") for one in found]
        given = [
            (judge, str(each.get("name")))
            for judge, one in self.setup.judges.items()
            for each in one.criteria
        ]
        criteria = list(dict.fromkeys([*given, *((one.judge, one.criteria) for one in found)]))
        return sorted(
            found,
            key=lambda one: (
                places.get(one.judge, len(places)),
                criteria.index((one.judge, one.criteria)),
                self._first_rows.get((one.judge, one.criteria, one.system), 0),
            ),
        )

    def _shown(self) -> list[JudgmentRecord]:
        ends = {key: own.ends for key, own in self._sections.items()}

        def rank(one: JudgmentRecord) -> tuple[int, float, int]:
            return badness(one, *ends[one.judge, one.criterion, one.answered_by])

        return sorted(self._worst, key=rank)[: self.shown]


def badness(
    one: JudgmentRecord,
    parts: Iterable[SectionPart | SectionTally],
    best: float,
    largest: float,
) -> tuple[int, float, int]:
    """A key that sorts the worst first: scores below ``best``, the lowest first; then rows without
    a score, then counts, the highest first, then the rest. A part of the section may rank them
    otherwise.

    Counts are ranked by their share of ``largest``, the largest count of the criterion: otherwise
    40 steps would hide 4 errors.
    """
    for part in parts:
        if (rank := part.rank(one)) is not None:
            return (*rank, one.row)
    if not one.scored:
        return 1, 0.0, one.row
    if one.detail.is_count:
        return 2, -(one.score or 0.0) / (largest or 1.0), one.row
    if one.score is None:
        return 2, 0.0, one.row
    return 0 if one.score < best else 2, one.score, one.row


def report_of(
    judge: ReportedJudge, results: Iterable[Result], *, source: str = "", shown: int = ENTRIES
) -> Report:
    """The report of what ``judge`` said; ``source``: where the rows came from."""
    tally = ReportTally(Setup.of_judge(judge, source), shown)
    for one in judgments_of(judge, results):
        tally.add(one)
    return tally.report()


def judgments_of(judge: ReportedJudge, results: Iterable[Result]) -> list[JudgmentRecord]:
    """``results`` as reports read them."""
    return [result.record(type(judge).__name__, index) for index, result in enumerate(results)]


def _gates(setup: Setup, sections: Sequence[Section]) -> Iterable[GateResult]:
    held: list[GateResult] = []
    for bar in setup.bars:
        own = [one for one in sections if one.judge == bar.judge]
        nothing = mean_gate(
            bar.judge, bar.name, Tally().summary(), bar.least, confidence=setup.confidence
        )
        held += _held_to(bar, own, setup) if own else [nothing]
    sequential = setup.sequential
    yield from (
        replace(one, cluster=setup.cluster, among=len(held), sequential=sequential) for one in held
    )
    for one in sections if setup.max_failed is not None else ():
        summary = one.summary
        yield GateResult(
            judge=one.judge,
            name=one.criteria,
            system=one.system,
            measure="missing",
            value=summary.unscored / summary.attempted if summary.attempted else None,
            bar=setup.max_failed or 0.0,
            lower=0.0,
            upper=1.0,
            rows=summary.attempted,
            missing=summary.unscored,
        )


def _held_to(bar: Bar, sections: Sequence[Section], setup: Setup) -> Iterable[GateResult]:
    named = {other.name for other in setup.bars if other.judge == bar.judge and other.name}
    for one in sections:
        if bar.most:
            if bar.name == one.criteria:
                gate = most_gate(one.judge, one.criteria, one.summary, bar.least)
                yield replace(gate, ignores_confidence=setup.confidence is not None)
        elif one.contests:
            system = _called(bar.name, one.contests.systems)
            gate = _win_rate(one.judge, bar, system, setup.confidence)
            yield _open_one_order(gate, system) if system else gate
        elif bar.name in ("", one.criteria, one.judge, one.system) and not (
            bar.name == "" and named & {one.criteria, one.judge, one.system}
        ):
            kind: Measure = one.lead.gate_measure if one.lead else "mean"
            gate = mean_gate(
                one.judge, one.criteria, one.summary, bar.least, kind, setup.confidence
            )
            yield replace(gate, system=one.system)
        elif figure := one.part_figure(bar.name):
            gate = mean_gate(one.judge, bar.name, figure, bar.least, confidence=setup.confidence)
            yield replace(gate, system=one.system)


def _open_one_order(gate: GateResult, system: SystemSummary) -> GateResult:
    """Return the gate on a win rate with every row that stands on one order lost in the lower
    limit and won in the upper one: the other order could have decided it.
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


def _called(name: str, systems: Sequence[SystemSummary]) -> SystemSummary | None:
    """The system of that name; a column that was typed in another case is found, so it is here."""
    exact = (one for one in systems if one.name == name)
    return next(exact, None) or next(
        (one for one in systems if fold_name(one.name) == fold_name(name)), None
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


def _order_notes(sections: Sequence[Section]) -> Iterator[Message]:
    """Say which verdicts changed with the order, or were given in one order only."""
    for one in sections:
        message: Message | None = None
        if one.contests and one.contests.one_order:
            from adjudge.runs.results.contests import one_order_message

            message = one_order_message(one.contests)
        elif one.option_order and one.option_order.is_worth_a_warning:
            message = one.option_order.sentence()
        if message:
            yield join(": ", (one.name, message)) if len(sections) > 1 else message


def _blank_rows(skipped: Skipped) -> Message:
    """That blank rows were skipped, and where the first of them stand."""
    return plural(
        "{count} blank row was skipped: {places}.",
        "{count} blank rows were skipped: {places}.",
        skipped.blank,
        places=skipped.blank_places,
    )
