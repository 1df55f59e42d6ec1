"""The decisions and savings of a cascade's steps, and the calibrations that judges use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in, objects_in
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage
from adjudge.core.domain.numbers import number_of
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.judges.learnt_settings import day_of
from adjudge.messages import Message, join, plural
from adjudge.runs.counts import count_calls, count_labels
from adjudge.runs.numbers import figure


class StepDecidedShape(TypedDict):
    """The decisions of one step of a cascade."""

    step: str
    decided: Annotated[int, "rows whose verdict is its own"]
    asked: Annotated[int, "rows that it was asked about"]


class CascadeShape(TypedDict):
    """The decisions of a cascade's steps, and the savings."""

    steps: Sequence[StepDecidedShape]
    undecided: int
    calls_saved: Annotated[
        int | None, "calls of the last step that were not needed, without repeats: one per vote"
    ]
    cost_usd: Annotated[float | None, "null where a price is not known"]
    cost_of_last_step_alone_usd: float | None


@light_dataclass(frozen=True)
class CascadeSummary:
    """How many rows each step of a cascade decided, for one criterion."""

    steps: tuple[str, ...]
    """The models in the order they are asked, those that were never asked included."""
    rows: int
    decided: Mapping[str, int]
    """Step → rows that it decided."""
    asked: Mapping[str, int]
    """Step → rows that it was asked about."""
    usage: Mapping[str, Usage]
    prices: PriceTable
    calls_per_row: int | None = None
    """The calls that the last step takes for a row without repeats; None if it was never called.

    The rows that reach it are hard ones, whose replies are often asked for again.
    """

    @property
    def undecided(self) -> int:
        """The number of rows that no step decided."""
        return self.rows - sum(self.decided.values())

    @property
    def spared(self) -> int:
        """The number of rows for which the last step was not asked."""
        return self.rows - self.asked.get(self.steps[-1], 0)

    @property
    def calls_saved(self) -> int | None:
        """Estimated number of calls to the last step that were saved, without repeats; None if it
        was never called.
        """
        return None if self.calls_per_row is None else self.calls_per_row * self.spared

    @property
    def costs(self) -> tuple[float, float] | None:
        """The actual cost and the estimated cost of the last step alone, in dollars; None if
        unknown.
        """
        last = self.steps[-1]
        cost_by_step = {step: self.prices.cost(step, used) for step, used in self.usage.items()}
        known_costs = [cost for cost in cost_by_step.values() if cost is not None]
        if (
            last not in cost_by_step
            or len(known_costs) < len(cost_by_step)
            or self.calls_per_row is None
        ):
            return None
        per_call = (cost_by_step[last] or 0.0) / self.usage[last].calls
        return sum(known_costs), per_call * self.calls_per_row * self.rows

    def sentence(self, name: str) -> Message:
        shares: list[str] = [f"{step} {self.decided.get(step, 0)}" for step in self.steps]
        if self.undecided:
            shares.append(Message("no step {rows}", rows=self.undecided))
        parts = [
            plural(
                "{judge}: decided by {steps}; {last} was not asked about {spared} of {count} row",
                "{judge}: decided by {steps}; {last} was not asked about {spared} of {count} rows",
                self.rows,
                judge=name,
                steps=join(", ", shares),
                last=self.steps[-1],
                spared=self.spared,
            )
        ]
        if self.calls_saved:
            parts.append(Message("about {calls} to it saved", calls=count_calls(self.calls_saved)))
        if self.costs and self.costs[1]:
            spent, dear = self.costs
            parts.append(
                Message(
                    "${spent:.4f} (the last model alone would have cost about ${dear:.4f})",
                    spent=spent,
                    dear=dear,
                )
            )
        return join("; ", parts)

    def to_dict(self) -> JsonDict:
        spent, dear = self.costs or (None, None)
        steps = [
            fill(
                StepDecidedShape,
                step=step,
                decided=self.decided.get(step, 0),
                asked=self.asked.get(step, 0),
            )
            for step in self.steps
        ]
        return fill(
            CascadeShape, self, steps=steps, cost_usd=spent, cost_of_last_step_alone_usd=dear
        )


class CascadeTally:
    """Adds up a cascade's judgments as they come."""

    def __init__(self, prices: PriceTable) -> None:
        self._prices = prices
        self._rows = 0
        self._decided: Counter[str] = Counter()
        self._asked: Counter[str] = Counter()
        self._usage: dict[str, Usage] = {}
        self._fewest_calls: dict[str, int] = {}
        """Step → its calls on the row where it took the fewest."""
        self._fewest_votes: dict[tuple[str, ...], int] = {}
        """Steps that were asked → the votes on the row where they cast the fewest."""

    def add(self, record: JudgmentRecord) -> None:
        """Count a judgment. Judgments without steps are ignored."""
        if not record.steps:
            return
        self._rows += 1
        asked = tuple(step.step for step in record.steps)
        votes = record.votes_requested
        self._fewest_votes[asked] = min(votes, self._fewest_votes.get(asked, votes))
        for step in record.steps:
            self._asked[step.step] += 1
            self._decided[step.step] += step.accepted
            used = Usage(step.calls, step.prompt_tokens, step.completion_tokens)
            self._usage[step.step] = self._usage.get(step.step, Usage()) + used
            if step.calls:
                fewest = self._fewest_calls.get(step.step, step.calls)
                self._fewest_calls[step.step] = min(fewest, step.calls)

    def summary(self, steps: tuple[str, ...]) -> CascadeSummary | None:
        """Return the summary so far; None if no judgment had steps."""
        if not self._rows:
            return None
        steps = steps or tuple(self._asked)
        return CascadeSummary(
            steps,
            self._rows,
            self._decided,
            self._asked,
            self._usage,
            self._prices,
            self._calls_per_row(steps),
        )

    def _calls_per_row(self, steps: tuple[str, ...]) -> int | None:
        """Return how many calls the last step takes for a row without repeats.

        That is one call per vote. Rows that did not reach it show how many votes belong to it.
        """
        calls = self._fewest_calls.get(steps[-1])
        votes, earlier_votes = map(self._fewest_votes.get, (steps, steps[:-1]))
        if calls is None or votes is None or earlier_votes is None or votes <= earlier_votes:
            return calls
        return min(calls, votes - earlier_votes)


def learnt_by(name: str, configuration: JudgeConfiguration) -> Iterator[Message]:
    """Yield what a judge learned from labels, and their source; or a line that says that its
    cascade is not calibrated yet.
    """
    settings, steps = configuration.settings, configuration.step_names
    learnt = settings.get("calibration")
    if len(configuration.learned_rows):
        yield plural(
            "{judge}: learned from {count} row; it is left out of all figures based on labels",
            "{judge}: learned from {count} rows; they are left out of all figures based on labels",
            len(configuration.learned_rows),
            judge=name,
        )
        for lesson in configuration.learned_from:
            yield from _lessons(name, lesson)
    promised = number_of(settings.get("promised"))
    if steps and "promised" in settings:
        yield _promised(name, steps, promised, object_in(settings.get("promise")))
    elif steps and not learnt:
        yield Message(
            "{judge}: the cascade has no calibration: every step is asked about every row, and "
            "{last} decides; label rows, then 'adjudge calibrate RUN --cascade -o FILE'",
            judge=name,
            last=steps[-1],
        )
    for calibration in objects_in(learnt) if steps else ():
        yield _thresholds(calibration, settings.get("otherwise"))
    source, weights = settings.get("weights_from"), settings.get("weights")
    if isinstance(source, Mapping) and isinstance(weights, Mapping):
        yield Message(
            "{judge}: weights {weights}, learned from {labels} of {date} (judge identity "
            "{identity})",
            judge=name,
            weights=", ".join(f"{model} {weight:g}" for model, weight in weights.items()),
            labels=count_labels(int(number_of(source.get("labels")) or 0)),
            date=day_of(source.get("date")),
            identity=source.get("identity"),
        )


def _lessons(judge: str, source: JsonObject) -> Iterator[Message]:
    """Say whose labels or votes a learned model learned from."""
    labels, votes = (int(number_of(source.get(key)) or 0) for key in ("labels", "votes"))
    people = source.get("annotators")
    if labels and isinstance(people, list) and people:
        yield Message(
            "{judge}: learned from {labels} of {people}, the last of {date}",
            judge=judge,
            labels=count_labels(labels),
            people=", ".join(map(str, people)),
            date=day_of(source.get("until")),
        )
    if votes:
        yield plural(
            "{judge}: learned from {count} vote of {model}, with its systematic errors",
            "{judge}: learned from {count} votes of {model}, with their systematic errors",
            votes,
            judge=judge,
            model=source.get("votes_of"),
        )


def _promised(
    judge: str, steps: Sequence[str], confidence: float | None, promise: JsonObject
) -> Message:
    """State the minimum confidence of a learned first step, and the risk."""
    if confidence is None:
        return Message(
            "{judge}: {step} is never accepted: its labels did not justify it",
            judge=judge,
            step=steps[0],
        )
    decides = Message(
        "{judge}: {step} decides if its confidence is at least {confidence:.3f}, as it learned",
        judge=judge,
        step=steps[0],
        confidence=confidence,
    )
    risk, delta = number_of(promise.get("risk")), number_of(promise.get("delta"))
    if risk is None:
        return decides
    if delta is None:
        risked = Message("the risk of that is not proven")
    elif promise.get("reference"):
        risked = Message(
            "at most {risk:.1%} more errors than {reference} alone, except with probability "
            "{delta:g}",
            risk=risk,
            reference=promise.get("reference"),
            delta=delta,
        )
    else:
        risked = Message(
            "at most {risk:.1%} errors per row, except with probability {delta:g}",
            risk=risk,
            delta=delta,
        )
    return join("; ", (decides, risked))


def _thresholds(calibration: JsonObject, otherwise: JsonValue) -> Message:
    steps = [
        Message(
            "{step} {least}",
            step=step.get("step"),
            least=figure(number_of(step.get("confidence")), 3),
        )
        for step in objects_in(calibration.get("steps"))
    ]
    return Message(
        "{judge}: minimum confidence for accepting: {steps}; at most {risk:.1%} of accepted "
        "verdicts are wrong, except with probability {delta:g}; learned from {labels} of {date}; "
        "{otherwise}",
        judge=calibration.get("criteria"),
        steps=join(", ", steps),
        risk=calibration.get("risk"),
        delta=calibration.get("delta"),
        labels=count_labels(int(number_of(calibration.get("labels")) or 0)),
        date=calibration.get("date"),
        otherwise=Message("the last step decides the rest, without that promise")
        if otherwise == "last"
        else Message("the judge abstains on the rest"),
    )
