"""Gates: a measured value against a bar, the verdict in words, and the exit code."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypedDict

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.pairing import Pairing, PairingShape
from adjudge.errors import SetupError
from adjudge.messages import Message, Values, capitalize, join, plural
from adjudge.runs.eval_file import FailUnder
from adjudge.runs.numbers import figure, level_text, mean_text
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.pairing import pairing_message
from adjudge.runs.results.summary import Summary
from adjudge.stats import FEWEST
from adjudge.stats.rounding import above, equal

if TYPE_CHECKING:
    from adjudge.stats.intervals import Interval

Measure = Literal["mean", "composite", "win rate", "missing", "difference", "most"]
Verdict = Literal["holds", "failed", "inconclusive"]
_MOST_DECIMALS = 6
_CODES: Mapping[Verdict, ExitCode] = {
    "holds": ExitCode.OK,
    "failed": ExitCode.GATE_FAILED,
    "inconclusive": ExitCode.GATE_INCONCLUSIVE,
}


@light_dataclass(frozen=True)
class Bar:
    judge: str
    least: float
    name: str = ""
    """The criteria, or the compared system; empty: every criterion of the judge."""
    most: bool = False
    """True if the mean may not be above the bar, instead of not below."""


class GateShape(TypedDict):
    """A bar, and whether it was reached."""

    judge: str
    name: Annotated[str, "the criteria, or the compared system"]
    measure: str
    value: float | None
    lower: Annotated[float | None, "None: there is no least, since counts are missing"]
    upper: Annotated[float | None, "None: there is no most"]
    bar: float
    margin: Annotated[float | None, "by how much the bar was reached; below 0 where it was missed"]
    needed: int
    verdict: Literal["holds", "failed", "inconclusive"]
    rows: int
    missing: Annotated[int, "rows without a score; of two runs also those without a counterpart"]
    unread: NotRequired[
        Annotated[int, "rows of the data that could not be read; they are among the missing"]
    ]
    confidence: Annotated[float | None, "None: the value itself is held against the bar"]
    against: NotRequired[Annotated[str, "the run that must not be better"]]
    cluster: NotRequired[Annotated[str, "the column whose equal values belong together"]]
    sequential: NotRequired[Annotated[bool, "true: the limits hold at every look"]]
    unjudged: NotRequired[
        Annotated[int, "rows that neither run judged, where the run is held to another one"]
    ]
    rows_with_lost_votes: NotRequired[Annotated[int, "rows whose score lost votes could change"]]
    labels: NotRequired[
        Annotated[int, "rows labelled in both runs, if they correct the difference"]
    ]
    not_corrected_because: NotRequired[Annotated[str, "why labels of both runs do not correct it"]]
    rows_added_since_draw: NotRequired[
        Annotated[int, "rows that were added after these labels were drawn; they may be anything"]
    ]
    rows_skipped: NotRequired[
        Annotated[int, "drawn rows that were skipped or marked unsure; they may be anything"]
    ]
    not_compared: NotRequired[
        Annotated[Sequence[str], "criteria of this run that the other one does not have"]
    ]
    pairing: NotRequired[Annotated[PairingShape, "where the run is held to another one"]]
    system: NotRequired[
        Annotated[
            str, "of compared responses, where the run is held to another one: whose win rate it is"
        ]
    ]
    message: str


@light_dataclass(frozen=True, kw_only=True)
class GateResult:
    """A bar, and whether it was reached."""

    judge: str
    name: str
    """The criteria, or the compared system."""
    measure: Measure
    value: float | None
    bar: float
    lower: float
    """The value if every row without a score were the worst it can be."""
    upper: float
    """The value if every one of them were the best."""
    rows: int
    missing: int
    """Rows without a score. For a comparison of runs, rows without a score in both."""
    confidence: float | None = None
    """The confidence of the gate: ``lower`` and ``upper`` are then limits at this confidence. None:
    the mean is compared.
    """
    sure: bool = False
    """True if there are enough rows for such limits."""
    sequential: bool = False
    """True if the limits hold at every look while rows are added."""
    against: str = ""
    """For a comparison of runs: the run that must not be better. ``bar`` is then the allowed loss,
    below 0.
    """
    among: int = 1
    """Criteria that have such a gate. Where two runs are compared, ``upper`` is a limit for all of
    them together (Holm); a bar is held by each criterion by itself.
    """
    cluster: str = ""
    """The column whose equal values form groups, if rows are not independent."""
    same_judge: bool = True
    """For a comparison of runs: True if both have exactly the same judge."""
    same_texts: bool = False
    """For a comparison of runs: True if both judged the same texts."""
    judge_changes: tuple[str, ...] = ()
    """For a comparison of runs: notes on changes of the judge that were found between them."""
    pairing: Pairing | None = None
    """For a comparison of runs: the pairing of rows. Rows without a counterpart are among the
    ``missing``.
    """
    system: str = ""
    """The system whose answers these are, if several systems answered the rows. For a comparison of
    runs that compare responses, the system whose win rate must not be lower.
    """
    of_wins: bool = False
    """True if the gate is about that win rate."""
    contest: str = ""
    """For a win rate: the criterion, if the judge has several."""
    reason: str = ""
    """For a comparison of runs: the reason why they cannot be compared."""
    unjudged: int = 0
    """Rows that neither of two compared runs judged; they are not among ``rows``."""
    unchanged: bool = False
    """True if two runs are compared and hold the same answers, judged alike."""
    rows_to_decide: int | None = None
    """About how many rows would decide, if two runs are compared and their difference stays what it
    is; None if that cannot be said.
    """
    labels: int = 0
    """Rows that people labelled in both of two compared runs, if their labels correct the
    difference.
    """
    uncorrected_because: str = ""
    """The reason why labels of both runs do not correct it."""
    added: int = 0
    """Rows that were added after the labels were drawn, if these correct the difference. ``lower``
    and ``upper`` hold whatever they are.
    """
    skipped: int = 0
    """Like ``added``, but rows that were drawn, and skipped or marked unsure."""
    one_order: int = 0
    """For a win rate: rows with a verdict in only one of two orders. ``lower`` and ``upper`` count
    them as lost and as won.
    """
    open_votes: int = 0
    """Rows whose score lost votes could change. ``lower`` and ``upper`` hold
    whatever these votes are.
    """
    stopped: bool = False
    """True if the run has not ended: rows that were not asked about yet could change the
    verdict.
    """
    baseline_stopped: bool = False
    """True if two runs are compared and the other one has not come to its end."""
    is_baseline_gone: bool = False
    """True if two runs should be compared and the other one can no longer be read."""
    not_compared: tuple[str, ...] = ()
    """Criteria of this run that the other one does not have, if two runs are compared."""
    ignores_confidence: bool = False
    """True if a confidence was asked for that counts have no limits for."""
    in_points: bool = True
    """For a comparison of runs: False if the scores do not run from 0 to 1, so that 100 times the
    difference is not in percentage points.
    """
    unread: int = 0
    """Rows of the data that could not be read. They are among the ``missing``."""
    between: tuple[float, float] | None = None
    """The range of the mean over all rows, if rows have bounds instead of a score; ``value`` is
    then that of the scored rows.
    """
    largest_change: float = 0.0
    """If counts of two runs are compared: the change of a row that ``lower`` and ``upper`` reckon
    with, since counts have no most. 0: none.
    """

    def with_unread(self, count: int, scale: tuple[float, float] = (0.0, 1.0)) -> GateResult:
        """Count rows that could not be read as rows without a score, which may be anything.

        Limits of a mean at a confidence must already allow for them. ``scale``: the least and the
        most that a row can score or, for a comparison of runs, change.
        """
        if not count:
            return self
        rows, missing = self.rows + count, self.missing + count
        gate = replace(
            self, rows=rows, missing=missing, unread=count, unchanged=False, rows_to_decide=None
        )
        if self.measure == "missing":
            return replace(gate, value=missing / rows)
        if self.sure and self.measure != "difference":
            return gate
        low, high = scale
        return replace(
            gate,
            lower=(self.lower * self.rows + low * count) / rows,
            upper=math.inf
            if self.measure == "most"
            else (self.upper * self.rows + high * count) / rows,
        )

    @property
    def verdict(self) -> Verdict:
        """The verdict. It is decided only if the open rows cannot change it."""
        counts_no_row = self.measure == "missing" and not self.rows
        if self.stopped or self.baseline_stopped or counts_no_row:
            return "inconclusive"
        if self.measure == "missing":
            return "failed" if self.missing > self.allowed else "holds"
        if self.measure == "most":
            return self._verdict_at_most
        if (self.confidence is not None and not self.sure) or self.may_be_of_judges:
            return "inconclusive"
        if above(self.bar, self.upper):
            return "failed"
        return "inconclusive" if above(self.bar, self.lower) else "holds"

    @property
    def may_be_of_judges(self) -> bool:
        """True if two runs are compared and their judges, not the answers, may make the
        difference.
        """
        return not (self.same_judge or self.labels or self.unchanged)

    @property
    def _verdict_at_most(self) -> Verdict:
        """The verdict on a maximum. Missing counts are at least 0, so they can only raise the
        mean.
        """
        if above(self.lower, self.bar):
            return "failed"
        return "inconclusive" if self.value is None or self.missing else "holds"

    @property
    def code(self) -> ExitCode:
        return _CODES[self.verdict]

    @property
    def allowed(self) -> int:
        """The number of rows that may lack a score, e.g. 29 of 100 at 0.29."""
        share = self.bar * self.rows
        # 0.29 * 100 is 28.999999999999996
        return round(share) if equal(share, round(share)) else math.floor(share)

    @property
    def margin(self) -> float | None:
        """The value minus the bar, negative if the bar was missed; None without a value."""
        return None if self.value is None else self.value - self.bar

    @property
    def needed(self) -> int:
        """The number of rows that would have to change from the worst score to the best, or still
        need a score.
        """
        if self.measure == "missing":
            return max(0, self.missing - self.allowed)
        if math.isinf(self.upper):  # rows without a count could have any
            return 0
        # 1e-9 absorbs rounding errors, which would ask for one row too many
        return max(0, math.ceil((self.bar - self.upper) * self.rows - 1e-9))

    def sentence(self) -> Message:
        """Describe the verdict: the value, the bar, what is missing, and caveats."""
        sentences = [self._outcome(), *self._open_rows()]
        if self.pairing and self.pairing.paired:
            sentences.append(
                Message("{pairing}.", pairing=capitalize(pairing_message(self.pairing)))
            )
        if self.missing and self.sure and not self.stopped:
            sentences.append(self._lost_rows())
        if self.unread:
            sentences.append(
                plural(
                    "{count} row of the data could not be read and counts as a row without a "
                    "score.",
                    "{count} rows of the data could not be read and count as rows without a score.",
                    self.unread,
                )
            )
        sentences += self._labels_used()
        if self.unjudged:
            sentences.append(
                plural(
                    "{count} row was judged in neither run (skipped) and does not count.",
                    "{count} rows were judged in neither run (skipped) and do not count.",
                    self.unjudged,
                )
            )
        if self.may_be_of_judges and self.sure and self.same_texts:
            sentences.append(Message("Judge both runs with the same judge."))
        elif self.may_be_of_judges and self.sure:
            sentences.append(
                Message(
                    "That run had another judge (criteria, model or settings), which may explain "
                    "the difference: judge both runs with the same one, or label rows of both."
                )
            )
        elif not self.same_judge:
            sentences.append(
                Message(
                    "That run had another judge (criteria, model or settings), which may explain "
                    "part of the difference."
                )
            )
        sentences += [Message("{note}.", note=capitalize(note)) for note in self.judge_changes]
        sentences += [
            Message(
                "{name}: not compared, because {against} does not have it.",
                name=name,
                against=self.against,
            )
            for name in self.not_compared
        ]
        if self.ignores_confidence:
            sentences.append(
                Message(
                    "The confidence is not applied, because counts have no limits, only a mean."
                )
            )
        if self.largest_change and self.sure:
            sentences.append(
                Message(
                    "Counts have no maximum: the bounds hold if no row changes by more than "
                    "{largest:g}.",
                    largest=self.largest_change,
                )
            )
        return join(" ", sentences)

    def _open_rows(self) -> Iterator[Message]:
        """Yield how many rows were judged in one order only or lack votes, unless the gate
        passed.
        """
        if self.open_votes and not self.stopped and self.verdict != "holds":
            yield plural(
                "{open_votes} of {count} row lacks votes that could change it.",
                "{open_votes} of {count} rows lack votes that could change them.",
                self.rows,
                open_votes=self.open_votes,
            )
            if self.missing and not self.sure and not self.one_order:
                yield Message("Rows without a score: {missing}.", missing=self.missing)
        if self.one_order and not self.stopped and self.verdict != "holds":
            yield plural(
                "{one_order} of {count} row was judged in one order only, so a better response "
                "cannot be told from a better position there.",
                "{one_order} of {count} rows were judged in one order only, so a better response "
                "cannot be told from a better position there.",
                self.rows - self.missing,  # as in the note of the report
                one_order=self.one_order,
            )
            if self.missing:
                yield Message("Rows without a score: {missing}.", missing=self.missing)

    def _labels_used(self) -> Iterator[Message]:
        """Yield whether labels correct the difference, and which rows remain open."""
        if self.uncorrected_because:
            yield Message("{reason}.", reason=capitalize(self.uncorrected_because))
        if self.labels:
            yield plural(
                "The change is corrected by labels of {count} row.",
                "The change is corrected by labels of {count} rows.",
                self.labels,
            )
        if self.added:
            yield plural(
                "{count} row was added after the labels were drawn and could have any value.",
                "{count} rows were added after the labels were drawn and could have any value.",
                self.added,
            )
        if self.skipped:
            yield plural(
                "{count} drawn row was skipped or marked unsure and could have any value.",
                "{count} drawn rows were skipped or marked unsure and could have any value.",
                self.skipped,
            )

    def _lost_rows(self) -> Message:
        if self.measure == "difference":
            return plural(
                "{count} of {rows} rows has no score in one of the runs and could have any value.",
                "{count} of {rows} rows have no score in one of the runs and could have any value.",
                self.missing,
                rows=self.rows,
            )
        if self.between is not None and not self.unread:
            return plural(
                "{count} of {rows} rows has bounds instead of a score.",
                "{count} of {rows} rows have bounds instead of a score.",
                self.missing,
                rows=self.rows,
            )
        return plural(
            "{count} of {rows} rows has no score and could have any value.",
            "{count} of {rows} rows have no score and could have any value.",
            self.missing,
            rows=self.rows,
        )

    def _outcome(self) -> Message:
        if self.stopped or self.baseline_stopped:
            return self._stopped_outcome()
        if self.measure == "difference" and (self.pairing is None or not self.pairing.paired):
            return self._unpaired_outcome()
        if self.measure == "missing":
            return self._missing_outcome()
        if self.measure == "most":
            return self._most_outcome()
        if self.confidence is not None and self.rows:
            return self._difference_outcome() if self.measure == "difference" else self._sure()
        return self._plain_outcome()

    def _stopped_outcome(self) -> Message:
        if self.stopped:
            return Message(
                "Gate undecided: the run is not finished (rows of {of} so far: {so_far}).",
                of=self._of,
                so_far=self.pairing.rows[1] if self.pairing else self.rows,
            )
        return Message(
            "Gate undecided: {against} is not finished, so {of} cannot be compared with it.",
            against=self.against,
            of=self._of,
        )

    def _unpaired_outcome(self) -> Message:
        if self.is_baseline_gone:
            return Message(
                "Gate undecided: {against} no longer exists, so this run cannot be compared with "
                "it.",
                against=self.against,
            )
        old_rows, new_rows = self.pairing.rows if self.pairing else (0, 0)
        if self.pairing:
            return Message(
                "Gate undecided: no row of {of} has a counterpart in {against} ({before} rows "
                "there, {now} here): give rows an id (--id COLUMN, or id under data of an eval "
                "file).",
                of=self._of,
                against=self.against,
                before=old_rows,
                now=new_rows,
            )
        if self.judge:
            return Message(
                "Gate undecided: {of} is in {against}, but not in this run.",
                of=self._of,
                against=self.against,
            )
        return Message(
            "Gate undecided: this run and {against} share no judge and criterion: there is "
            "nothing to compare.",
            against=self.against,
        )

    def _missing_outcome(self) -> Message:
        values = {
            "of": self._of,
            **some_of(self, "missing", "rows", "allowed", "needed"),
        }
        if not self.rows:
            return Message("Gate undecided: no row was judged by {of}.", of=self._of)
        if self.verdict == "failed":
            return Message(
                "Gate failed: {missing} of {rows} judgments of {of} have no score; {allowed} may "
                "be without one, so {needed} more need a score.",
                **values,
            )
        if not self.missing:
            return Message("Gate passed: all {rows} judgments of {of} have a score.", **values)
        return Message(
            "Gate passed: {missing} of {rows} judgments of {of} have no score; {allowed} may be "
            "without one.",
            **values,
        )

    def _most_outcome(self) -> Message:
        values = {
            **self._figures(),
            "bar": float(self.bar),
            "of": self._of,
            **some_of(self, "missing", "rows"),
        }
        if self.verdict == "failed" and self.missing:
            return Message(
                "Gate failed: the mean of {of} is at least {lower}, but at most {bar:g} is "
                "allowed. {missing} of {rows} rows have no value.",
                **values,
            )
        if self.verdict == "failed":
            return Message(
                "Gate failed: the mean of {of} is {value}, but at most {bar:g} is allowed.",
                **values,
            )
        if self.verdict == "holds":
            return Message(
                "Gate passed: the mean of {of} is {value}, at most {bar:g} is allowed.",
                **values,
            )
        if not self.rows:
            return Message(
                "Gate undecided: no row has a value for {of}; at most {bar:g} is allowed.", **values
            )
        return Message(
            "Gate undecided: {missing} of {rows} rows have no value for {of}; at most {bar:g} is "
            "allowed.",
            **values,
        )

    def _difference_outcome(self) -> Message:
        values = {
            **self._figures(signed=True),
            "of": self._of,
            "against": self.against,
            "reason": self.reason,
            "drop": figure(-self.bar, self.decimals),
        }
        if not self.sure or self.value is None:
            return Message(
                "Gate undecided: {of} cannot be compared with {against}: {reason}.", **values
            )
        if self.verdict == "holds" and self.unchanged:
            return plural(
                "Gate passed: nothing changed for {of}: the {count} judged answer is the same as "
                "in {against}, with the same result.",
                "Gate passed: nothing changed for {of}: all {count} judged answers are the same as "
                "in {against}, with the same results.",
                self.rows,
                **values,
            )
        if self.verdict == "holds":
            return Message(
                "Gate passed: {of} is not worse than in {against}: change {value} "
                "({level} lower bound {lower}; a drop of {drop} is allowed).",
                **values,
            )
        if self.verdict == "failed":
            return Message(
                "Gate failed: {of} is worse than in {against}: change {value} "
                "({level} upper bound {upper}; a drop of {drop} is allowed).",
                **values,
            )
        undecided = Message(
            "Gate undecided: cannot tell whether {of} is worse than in {against}: change "
            "{value} (between {lower} and {upper} at {level}; a drop of "
            "{drop} is allowed).",
            **values,
        )
        return join(" ", (undecided, *self._ways_to_decide()))

    def _ways_to_decide(self) -> Iterator[Message]:
        """Yield how an undecided comparison could be decided: with which margin, or with how many
        rows.

        The margin is named only if the change is within the allowed drop.
        """
        if self.may_be_of_judges:
            return
        # rounded up, so that the margin as printed is enough
        margin = math.ceil(-self.lower * 1000) / 1000
        if margin < 1 and not above(self.bar, self.value or 0.0):
            yield Message("It would pass with a margin of {margin}.", margin=figure(margin, 3))
        if self.rows_to_decide is not None:
            yield Message(
                "About {rows} rows would decide it, if the change stays at {value}.",
                rows=self.rows_to_decide,
                value=self._figures(signed=True)["value"],
            )

    def _sure(self) -> Message:
        """Return the outcome of a gate with confidence limits."""
        values = {**self._figures(), "what": self._what}
        if not self.sure or self.value is None:
            return self._without_limits(values)
        if self.between is not None:
            return self._sure_of_range(values)
        if self.verdict == "holds":
            return Message(
                "Gate passed: {what} is {value}, at least {lower} at {level}, the bar is {bar}.",
                **values,
            )
        if self.verdict == "failed":
            return Message(
                "Gate failed: {what} is {value}, at most {upper} at {level}, the bar is {bar}.",
                **values,
            )
        sentence = Message(
            "Gate undecided: {what} is {value}, between {lower} and {upper} at "
            "{level}, the bar is {bar}.",
            **values,
        )
        if self.enough is None:
            return sentence
        more = Message(
            "About {rows} rows would decide it, if {what} stays at {value}.",
            rows=self.enough,
            what=self._what,
            value=values["value"],
        )
        return join(" ", (sentence, more))

    def _without_limits(self, values: Values) -> Message:
        """Return why there are no confidence limits."""
        scored = self.rows - self.missing
        if scored < FEWEST:
            return Message(
                "Gate undecided: {what} is based on {scored} rows; at {level} at least 8 are "
                "needed. The bar is {bar}.",
                scored=scored,
                **values,
            )
        return Message(
            "Gate undecided: {what} is based on {scored} rows, and has no interval at {level}. "
            "Either the rows are fewer than 8 groups of rows that belong together, or scores "
            "are not limited to 0 to 1, and their limits are not known before the first row. "
            "The bar is {bar}.",
            scored=scored,
            **values,
        )

    def _sure_of_range(self, values: Values) -> Message:
        """Like ``_sure``, if rows have bounds instead of a score."""
        scored = self.rows - self.missing
        mean = mean_text(self.value, 3, between=self.between, scored=scored)
        if self.verdict == "holds":
            return Message(
                "Gate passed: {what} is {mean}, at least {lower} at {level}, the bar is {bar}.",
                mean=mean,
                **values,
            )
        if self.verdict == "failed":
            return Message(
                "Gate failed: {what} is {mean}, at most {upper} at {level}, the bar is {bar}.",
                mean=mean,
                **values,
            )
        return Message(
            "Gate undecided: {what} is {mean}; at {level} it may be between {lower} and "
            "{upper}, the bar is {bar}.",
            mean=mean,
            **values,
        )

    def _plain_outcome(self) -> Message:
        values = {
            **self._figures(),
            "what": self._what,
            **some_of(self, "rows", "missing", "needed"),
            "margin": figure(abs(self.margin or 0.0), self.decimals),
        }
        verdict = self.verdict
        if verdict == "inconclusive":
            return self._plain_undecided(values)
        is_known = self.value is not None and self.between is None
        clear = is_known and (not above(self.bar, self.value or 0.0)) == (verdict == "holds")
        if verdict == "holds":
            if clear:
                return Message(
                    "Gate passed: {what} is {value}, the bar is {bar}: reached with "
                    "{margin} to spare.",
                    **values,
                )
            return Message("Gate passed: {what} is at least {lower}, the bar is {bar}.", **values)
        return self._plain_failed(values, clear=clear)

    def _plain_undecided(self, values: Values) -> Message:
        if not self.rows and self.measure == "win rate":
            return Message("Gate undecided: there is no system named {of}.", of=self._of)
        if not self.rows:
            return Message(
                "Gate undecided: {what} is unknown, because no row was judged.", **values
            )
        if self.one_order or self.open_votes:
            return Message(
                "Gate undecided: {what} is between {lower} and {upper}, the bar is {bar}.",
                **values,
            )
        return Message(
            "Gate undecided: {what} is between {lower} and {upper}, the bar is "
            "{bar}. {missing} of {rows} rows have no score, and would decide it.",
            **values,
        )

    def _plain_failed(self, values: Values, *, clear: bool) -> Message:
        """Return the outcome of a failed gate on a mean. ``clear``: the value itself is below the
        bar.
        """
        if clear and (self.one_order or self.open_votes):
            return Message(
                "Gate failed: {what} is {value}, the bar is {bar}: missed by {margin}.",
                **values,
            )
        if clear and self.missing:
            return plural(
                "Gate failed: {what} is {value}, the bar is {bar}: missed by {margin}. "
                "Even if every row without a score ({missing}) passed, {needed} more of the "
                "{count} row would have to.",
                "Gate failed: {what} is {value}, the bar is {bar}: missed by {margin}. "
                "Even if every row without a score ({missing}) passed, {needed} more of the "
                "{count} rows would have to.",
                self.rows,
                **values,
            )
        if clear:
            return plural(
                "Gate failed: {what} is {value}, the bar is {bar}: missed by "
                "{margin}. {needed} more of the {count} row would have to pass.",
                "Gate failed: {what} is {value}, the bar is {bar}: missed by "
                "{margin}. {needed} more of the {count} rows would have to pass.",
                self.rows,
                **values,
            )
        return Message("Gate failed: {what} is at most {upper}, the bar is {bar}.", **values)

    @property
    def decimals(self) -> int:
        """The number of decimals that distinguish the figures from the bar."""
        figures = [value for value in (self.value, self.lower, self.upper) if value is not None]
        others = [value for value in figures if not equal(value, self.bar)]
        for decimals in range(3, _MOST_DECIMALS):
            if f"{self.bar:.{decimals}f}" not in [f"{value:.{decimals}f}" for value in others]:
                return decimals
        return _MOST_DECIMALS

    def _figures(self, *, signed: bool = False) -> Values:
        """Return the value, its limits and the bar as texts. ``signed``: with plus signs."""
        sign = "+" if signed else ""
        figures = {"value": self.value, "lower": self.lower, "upper": self.upper}
        texts = {
            name: Message(f"{{value:{sign}.{self.decimals}f}}", value=float(value or 0.0))
            for name, value in figures.items()
        }
        return {**texts, "bar": figure(self.bar, self.decimals), "level": self._level()}

    @property
    def _of(self) -> str:
        """The criterion, followed by its judge if that is named differently."""
        name: str = self.name or self.judge
        if self.of_wins:
            name = Message("win rate of {system} by {name}", system=self.system, name=self.name)
        elif self.contest:
            name = Message("{system} by {criteria}", system=name, criteria=self.contest)
        elif self.system:
            name = f"{name} [{self.system}]"
        if self.name in (self.judge, "") and not isinstance(name, Message):
            return name
        return Message("{name} (judge {judge})", name=name, judge=self.judge)

    @property
    def _what(self) -> Message:
        if self.measure == "composite":
            return Message("mean composite of {of}", of=self._of)
        if self.measure == "win rate":
            return Message("win rate of {of}", of=self._of)
        return Message("mean score of {of}", of=self._of)

    def _level(self) -> Message:
        """Return the confidence level, with the criteria and groups that it covers."""
        parts = [level_text(self.confidence or 0.0)]
        if self.sequential:
            parts.append(Message("at every look"))
        if self.among != 1 and self.verdict != "holds":
            parts.append(
                Message("over all {among} criteria", among=self.among)
                if self.measure == "difference"
                else Message("(each of {among} criteria separately)", among=self.among)
            )
        if self.cluster:
            parts.append(Message("with rows of one {cluster} taken together", cluster=self.cluster))
        return join(" ", parts)

    @property
    def enough(self) -> int | None:
        """The number of rows that would decide the gate if the value stays the same; None if
        unknown.
        """
        if not self.sure or self.missing or self.one_order or self.open_votes or not self.margin:
            return None
        from adjudge.stats.intervals import Interval  # not loaded for gates that are decided
        from adjudge.stats.rows_to_decide import rows_to_decide

        limits = Interval(self.lower, self.upper, self.confidence or 0.0)
        return rows_to_decide(
            self.value or 0.0, self.rows, limits, self.bar, sequential=self.sequential
        )

    def to_dict(self) -> JsonDict:
        return fill(
            GateShape,
            self,
            lower=None if math.isinf(self.lower) else self.lower,
            upper=None if math.isinf(self.upper) else self.upper,
            rows_with_lost_votes=self.open_votes,
            not_corrected_because=self.uncorrected_because,
            rows_added_since_draw=self.added,
            rows_skipped=self.skipped,
            message=self.sentence(),
        )


def bars_of(fail_under: FailUnder | None) -> dict[str, float]:
    """Return name → bar. The empty name stands for every criterion without its own bar."""
    if fail_under is None:
        return {}
    return {"": fail_under} if isinstance(fail_under, int | float) else dict(fail_under)


def limits_or(bounds: tuple[float, float], limits: Interval | None) -> tuple[float, float]:
    """Return the limits that a gate uses: ``limits`` if there are any, else ``bounds`` of the
    value.
    """
    return bounds if limits is None else (limits.lower, limits.upper)


def mean_gate(
    judge: str,
    name: str,
    summary: Summary,
    bar: float,
    measure: Measure = "mean",
    confidence: float | None = None,
) -> GateResult:
    """Compare a mean score with a bar."""
    rows = summary.attempted - summary.without_number
    lower, upper = limits_or((summary.lower, summary.upper), summary.confident)
    return GateResult(
        judge=judge,
        name=name,
        measure=measure,
        value=summary.mean,
        bar=bar,
        lower=lower,
        upper=upper,
        rows=rows,
        missing=summary.unscored,
        open_votes=summary.open_rows,
        between=summary.between,
        confidence=confidence,
        sure=summary.confident is not None,
    )


def most_gate(judge: str, name: str, summary: Summary, most: float) -> GateResult:
    """Compare the mean of a count with its allowed maximum."""
    rows = summary.attempted - summary.without_number
    return GateResult(
        judge=judge,
        name=name,
        measure="most",
        value=summary.mean,
        bar=most,
        lower=summary.lower,
        upper=math.inf if summary.unscored else summary.mean or 0.0,
        rows=rows,
        missing=summary.unscored,
    )


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the most severe exit code: a failed gate, then an undecided one, then a missing
    score.
    """
    order = (ExitCode.GATE_FAILED, ExitCode.GATE_INCONCLUSIVE, ExitCode.UNSCORED)
    known_codes = set(codes)
    return next((code for code in order if code in known_codes), ExitCode.OK)


def check_gate(judge: str, criteria: Sequence[Criteria], *, compares: bool = False) -> None:
    """Raise if a gate can never hold: on an option without a score from 0 to 1, or on comparisons,
    which have no score.
    """
    if compares:
        raise SetupError(
            "fail_under cannot be used for {judge!r}: it compares responses, which gives no "
            "score; name the system whose win rate must reach it, such as --fail-under new=0.5 "
            "or fail_under: {{new: 0.5}}",
            judge=judge,
        )
    for criterion in criteria:
        for option in criterion.options:
            if option.points is None:
                raise _no_gate(
                    judge,
                    Message(
                        "the option {option!r} of criteria {name!r} has no score",
                        option=option.name,
                        name=criterion.name,
                    ),
                )
            if not 0 <= option.points <= 1:
                raise _no_gate(
                    judge,
                    Message(
                        "the option {option!r} of criteria {name!r} scores {points:g}",
                        option=option.name,
                        name=criterion.name,
                        points=option.points,
                    ),
                )


def exit_code(summary: Summary, fail_under: float | None = None) -> ExitCode:
    """Return the code of the gate unless that is OK; else 3 if a score is missing.

    A panel model without a verdict on any row also counts as a missing score.
    """
    gate = ExitCode.OK if fail_under is None else mean_gate("", "", summary, fail_under).code
    missing = summary.scored < summary.attempted or summary.lost
    return gate if gate is not ExitCode.OK else ExitCode.UNSCORED if missing else ExitCode.OK


def _no_gate(judge: str, why: Message) -> SetupError:
    return SetupError(
        "fail_under cannot be used for {judge!r}: {why}; a gate needs scores from 0 to 1, so "
        "leave fail_under out",
        judge=judge,
        why=why,
    )
