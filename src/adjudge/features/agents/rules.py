"""Rules over a trajectory: deterministic, without a model and without cost.

Each returns a number with its parts, or a reason if there is nothing to measure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Literal

from adjudge.core.checks.words import short
from adjudge.core.domain.json_types import JsonObject, JsonValue, object_in
from adjudge.core.domain.numbers import number_of
from adjudge.core.reading.patterns import CannotMatch
from adjudge.core.reading.values import Place
from adjudge.errors import AdjudgeError, SetupError
from adjudge.features.agents.alignment import assign_best, match_in_order, match_most
from adjudge.features.agents.expectation import Expectations, ExpectedCall
from adjudge.features.agents.matchers import Is, Matcher, keys_of, read_matcher
from adjudge.features.agents.schemas import SchemaProblem, problem_with
from adjudge.features.agents.trajectory import Step, ToolCall, ToolDefinition, Trajectory
from adjudge.messages import Message, join

PartKind = Literal[
    "missing",
    "extra",
    "wrong",
    "out of order",
    "forbidden",
    "too early",
    "repeated",
    "looped",
    "failed",
    "unknown",
    "invalid",
    "different",
]
Amount = Literal["truth", "share", "count"]
_MOST_COMPARISONS = 1_000_000
"""Of calls with matchers; two lists of a thousand calls each."""
_MOST_PAIRS = 4_000_000
_MOST_EXCHANGES = 5_000_000
_LONGEST_PATTERN = 4
_LEAST_TIMES = 3
_LINE = 200


@dataclass(frozen=True, slots=True)
class RulePart:
    """One call or place that contributes to a measure."""

    kind: PartKind
    what: str
    """The call, or the path in a state."""
    step: int | None = None
    """The number of its step; None for a missing call."""
    other: int | None = None
    """The step it repeats, or the last step of a loop."""
    detail: str | None = None

    @property
    def sentence(self) -> Message:
        """The problem in one line."""
        what = {"call": self.what, "path": self.what}
        text = Message(_SENTENCES[self.kind], step=self.step, other=self.other, **what)
        return join(": ", (text, self.detail)) if self.detail else text


_SENTENCES: Mapping[PartKind, Message] = {
    "missing": Message("missing: {call}"),
    "extra": Message("step {step} was not expected: {call}"),
    "out of order": Message("step {step} is out of order: {call}"),
    "wrong": Message("step {step} has different arguments: {call}"),
    "forbidden": Message("step {step} is forbidden: {call}"),
    "too early": Message("step {step} comes too early: {call}"),
    "repeated": Message("step {step} repeats step {other}: {call}"),
    "looped": Message("steps {step} to {other} are a loop of {call}"),
    "failed": Message("step {step} failed: {call}"),
    "unknown": Message("step {step} calls a tool that is not defined: {call}"),
    "invalid": Message("step {step} has arguments that its tool does not take: {call}"),
    "different": Message("{path} differs"),
}


@dataclass(frozen=True, slots=True)
class RuleResult:
    value: float | bool | None
    """None: there was nothing to measure."""
    reason: Message | None = None
    """Why there is no value; None if there is one."""
    parts: tuple[RulePart, ...] = ()
    untold: bool = False
    """True if there is a value but it cannot be known: gates do not ignore such rows."""


class Unmeasurable(AdjudgeError):
    """There is no value: nothing to measure, or it cannot be decided (``Untold``)."""


class Untold(Unmeasurable):
    """A value exists but cannot be determined: it may be a violation."""


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A recorded call and its step."""

    step: Step
    call: ToolCall

    @property
    def line(self) -> str:
        try:
            return short(self.call.line, _LINE)
        except RecursionError:
            return f"{self.call.name}(…)"

    def part(
        self, kind: PartKind, *, other: int | None = None, detail: str | None = None
    ) -> RulePart:
        return RulePart(kind, self.line, self.step.number, other, detail)


Found = tuple[float | bool, Sequence[RulePart]]


class RuleCase:
    """A trajectory to apply rules to, with its expectations."""

    def __init__(
        self, trajectory: Trajectory, expectations: Expectations, columns: JsonObject
    ) -> None:
        self.trajectory = trajectory
        self.expectations = expectations
        self.comparison = expectations.comparison
        self.columns = columns
        self.made = tuple(
            MadeCall(step, step.call) for step in trajectory.steps if step.call is not None
        )

    @cached_property
    def expected(self) -> tuple[ExpectedCall, ...]:
        try:
            expected = self.expectations.of(self.columns)
        except SetupError as error:
            raise Unmeasurable(
                "the expected calls cannot be read: {reason}", reason=error
            ) from error
        if expected is None:
            raise Unmeasurable(
                "the row has no expected calls (expect, or the column reference_calls)"
            )
        return tuple(self._with_names(call) for call in expected)

    def _with_names(self, call: ExpectedCall) -> ExpectedCall:
        """Name a call's positional arguments after its tool's schema; raise Unmeasurable if
        that fails.
        """
        if not call.unnamed:
            return call
        schemas = (tool.schema for tool in self.trajectory.tools if tool.name == call.name)
        properties = object_in(object_in(next(schemas, None)).get("properties"))
        try:
            return call.with_names([*properties])
        except ValueError as error:
            raise Unmeasurable(
                "{call} is expected with unnamed arguments, and no schema in the trace names them",
                call=short(call.line, _LINE),
            ) from error

    @cached_property
    def keys(self) -> tuple[Hashable, ...]:
        """One key per call that was made, equal for the same tool with the same arguments."""
        return tuple(self.key_of(made_call.call) for made_call in self.made)

    def key_of(self, call: ToolCall) -> Hashable:
        if isinstance(call.arguments, str):
            return (call.name, "unparsed", call.arguments)
        return (call.name, self.comparison.normal(call.arguments))

    @cached_property
    def options(self) -> list[list[int]]:
        """For each expected call, the indices of the calls that match it, in ascending order."""
        # Equal calls are compared once, by one of them.
        alike: dict[Hashable, list[int]] = {}
        for place, key in enumerate(self.keys):
            alike.setdefault(key, []).append(place)
        by_name: dict[str, list[list[int]]] = {}
        for places in alike.values():
            by_name.setdefault(self.made[places[0]].call.name, []).append(places)
        keys = [self._literal_key(expected) for expected in self.expected]
        candidates = [
            by_name.get(expected.name, []) if key is None else []
            for expected, key in zip(self.expected, keys, strict=True)
        ]
        if sum(map(len, candidates)) > _MOST_COMPARISONS:
            raise _too_many(len(self.expected), len(self.made))
        options_by_call = [
            self._fitting(expected, groups) if key is None else alike.get(key, [])
            for expected, key, groups in zip(self.expected, keys, candidates, strict=True)
        ]
        if sum(map(len, options_by_call)) > _MOST_PAIRS:
            raise _too_many(len(self.expected), len(self.made))
        return options_by_call

    def _fitting(self, expected: ExpectedCall, groups: Iterable[Sequence[int]]) -> list[int]:
        fitting = (places for places in groups if self.is_call(expected, self.made[places[0]].call))
        return sorted(place for places in fitting for place in places)

    def _literal_key(self, expected: ExpectedCall) -> Hashable | None:
        """Return the key of an expected call; None if it has matchers or accepts any arguments."""
        if expected.arguments is None:
            return None
        literal: dict[str, JsonValue] = {}
        for name, matcher in expected.arguments.items():
            if not isinstance(matcher, Is):
                return None
            literal[name] = matcher.value
        return (expected.name, self.comparison.normal(literal))

    def is_call(self, expected: ExpectedCall, call: ToolCall) -> bool:
        """Return True if a call is the expected one, with all its arguments and no others.

        Any arguments are accepted if ``expected.arguments`` is None.
        """
        if expected.name != call.name:
            return False
        if expected.arguments is None:
            return True
        return not isinstance(call.arguments, str) and self.comparison.same_keys(
            expected.arguments, call.arguments
        )

    def fits(self, pattern: ExpectedCall, call: ToolCall) -> bool:
        """Return True if a call matches a required or forbidden one.

        Arguments that the pattern does not name may have any value. If it names any, a call with
        unparsed arguments does not match.
        """
        if not fnmatchcase(call.name, pattern.name):
            return False
        if not pattern.arguments:
            return True
        return not isinstance(call.arguments, str) and self.comparison.has_keys(
            pattern.arguments, call.arguments
        )

    @cached_property
    def matching(self) -> list[int | None]:
        """For each expected call, the index of the call matched with it, or None."""
        return match_most(self.options, len(self.made))

    @property
    def matched(self) -> int:
        return sum(place is not None for place in self.matching)

    def unmatched(
        self, places: Sequence[int | None], *kinds: Literal["missing", "extra"]
    ) -> tuple[RulePart, ...]:
        """Return the unmatched calls of the given ``kinds``: expected but missing, or made but
        extra.
        """
        taken = {place for place in places if place is not None}
        missing = (
            RulePart("missing", short(expected.line, _LINE))
            for expected, place in zip(self.expected, places, strict=True)
            if place is None and "missing" in kinds
        )
        extra = (
            made_call.part("extra")
            for place, made_call in enumerate(self.made)
            if place not in taken and "extra" in kinds
        )
        return (*missing, *extra)


def _too_many(expected: int, made: int) -> Untold:
    return Untold(
        "too many calls to compare: {expected} expected, {made} made", expected=expected, made=made
    )


def _calls(case: RuleCase) -> Found:
    match case.expectations.order:
        case "any_order":
            return _verdict(case.unmatched(case.matching, "missing"))
        case "only":
            return _verdict(case.unmatched(case.matching, "extra"))
        case "in_order":
            return _verdict(_out_of_order(case, "missing"))
        case "exact":
            return _verdict(_out_of_order(case, "missing", "extra"))


def _verdict(parts: Sequence[RulePart]) -> Found:
    return not parts, parts


def _out_of_order(case: RuleCase, *kinds: Literal["missing", "extra"]) -> tuple[RulePart, ...]:
    """Return the differences between the expected calls and the calls made, in order.

    A call that was made in another position is out of order, neither missing nor extra.
    """
    in_order = match_in_order(case.options)
    parts = case.unmatched(in_order, *kinds)
    if not parts:
        return ()
    free = set(range(len(case.made))).difference(in_order)
    lost = [number for number, place in enumerate(in_order) if place is None]
    options = [[place for place in case.options[number] if place in free] for number in lost]
    elsewhere = dict(zip(lost, match_most(options, len(case.made)), strict=True))
    taken = {place for place in elsewhere.values() if place is not None}
    places = [elsewhere.get(number, place) for number, place in enumerate(in_order)]
    moved = (case.made[place].part("out of order") for place in sorted(taken))
    return (*case.unmatched(places, *kinds), *moved)


def _precision(case: RuleCase) -> Found:
    parts = case.unmatched(case.matching, "extra")
    if not case.made:
        raise Unmeasurable("no tool was called")
    return case.matched / len(case.made), parts


def _recall(case: RuleCase) -> Found:
    if not case.expected:
        raise Unmeasurable("no call is expected")
    return case.matched / len(case.expected), case.unmatched(case.matching, "missing")


def _f1(case: RuleCase) -> Found:
    total = len(case.expected) + len(case.made)
    if not total:
        raise Unmeasurable("no call is expected, and none was made")
    return 2 * case.matched / total, case.unmatched(case.matching, "missing", "extra")


def _arguments(case: RuleCase) -> Found:
    by_name: dict[str, tuple[list[Mapping[str, Matcher]], list[MadeCall]]] = {}
    for expected in case.expected:
        by_name.setdefault(expected.name, ([], []))[0].append(expected.arguments or {})
    for made_call in case.made:
        if made_call.call.name in by_name:
            by_name[made_call.call.name][1].append(made_call)
    right = total = 0
    parts: list[RulePart] = []
    for expected_arguments, calls in by_name.values():
        for arguments, call in _pair_best(case, expected_arguments, calls):
            names = case.comparison.keys_that_count(arguments)
            wrong = _wrong_arguments(case, arguments, call.call)
            right, total = right + len(names) - len(wrong), total + len(names)
            if wrong:
                parts.append(call.part("wrong", detail=", ".join(wrong)))
    if not total:
        raise Unmeasurable("no expected call with arguments has a matching call of the same tool")
    return right / total, sorted(parts, key=lambda part: part.step or 0)


def _wrong_arguments(case: RuleCase, arguments: Mapping[str, Matcher], call: ToolCall) -> list[str]:
    names = case.comparison.keys_that_count(arguments)
    made_arguments = call.arguments
    if isinstance(made_arguments, str):
        return names
    return [name for name in names if not case.comparison.has_key(arguments, name, made_arguments)]


def _pair_best(
    case: RuleCase, expected: Sequence[Mapping[str, Matcher]], calls: Sequence[MadeCall]
) -> Iterator[tuple[Mapping[str, Matcher], MadeCall]]:
    """Yield the best pairs of expected arguments and calls: as many pairs as possible, with the
    most correct arguments, then the fewest wrong ones.
    """
    if len(expected) * len(calls) > _MOST_COMPARISONS:
        raise _too_many(len(expected), len(calls))
    counts = [len(case.comparison.keys_that_count(arguments)) for arguments in expected]
    # one right argument outweighs any number of wrong ones
    most = sum(counts) + 1
    columns: dict[tuple[int, ...], list[int]] = {}
    for place, made_call in enumerate(calls):
        worth = tuple(
            (count - len(_wrong_arguments(case, arguments, made_call.call))) * most - count
            for arguments, count in zip(expected, counts, strict=True)
        )
        columns.setdefault(worth, []).append(place)
    # of calls with equal worth, more than there are expected calls are never needed
    columns_kept = [
        (worth, place) for worth, places in columns.items() for place in places[: len(expected)]
    ]
    small, large = sorted((len(expected), len(columns_kept)))
    if small * small * large > _MOST_EXCHANGES:
        raise _too_many(len(expected), len(calls))
    table = [[worth[row] for worth, _ in columns_kept] for row in range(len(expected))]
    for arguments, column in zip(expected, assign_best(table), strict=True):
        if column is not None:
            yield arguments, calls[columns_kept[column][1]]


def _required(case: RuleCase) -> Found:
    patterns = case.expectations.required
    if not patterns:
        raise Unmeasurable("no call is required")
    return _verdict(
        [
            RulePart("missing", short(pattern.line, _LINE))
            for pattern in patterns
            if not any(case.fits(pattern, made_call.call) for made_call in case.made)
        ]
    )


def _forbidden(case: RuleCase) -> Found:
    patterns = case.expectations.forbidden
    if not patterns:
        raise Unmeasurable("no call is forbidden")
    parts = [
        made_call.part("forbidden")
        for made_call in case.made
        if any(case.fits(pattern, made_call.call) for pattern in patterns)
    ]
    if not parts:
        for pattern in patterns:
            _check_readable(case.made, pattern)
    return _verdict(parts)


def _check_readable(calls: Iterable[MadeCall], pattern: ExpectedCall) -> None:
    """Raise Untold if a call with unparsed arguments could be a forbidden one."""
    for made_call in calls:
        may_be = pattern.arguments and fnmatchcase(made_call.call.name, pattern.name)
        if may_be and made_call.call.unparsed:
            raise Untold(
                "the arguments of step {step} cannot be read, so it is unknown whether it is "
                "{call}",
                step=made_call.step.number,
                call=short(pattern.line, _LINE),
            )


def _before(case: RuleCase) -> Found:
    pairs = case.expectations.before
    if not pairs:
        raise Unmeasurable("no call has to come before another")
    early = [
        (required_call, later_call, list(_until(case, required_call)))
        for required_call, later_call in pairs
    ]
    parts = [
        made_call.part(
            "too early",
            detail=Message("{call} must come first", call=short(required_call.line, _LINE)),
        )
        for required_call, later_call, calls in early
        for made_call in calls
        if case.fits(later_call, made_call.call)
    ]
    if not parts:
        for _, later_call, calls in early:
            _check_readable(calls, later_call)
    return _verdict(parts)


def _until(case: RuleCase, required_call: ExpectedCall) -> Iterator[MadeCall]:
    """Yield the calls up to the first successful ``required_call``; all calls if there is none."""
    for made_call in case.made:
        yield made_call
        if made_call.call.error is None and case.fits(required_call, made_call.call):
            return


def _repeats(case: RuleCase) -> Found:
    times = Counter(case.keys)
    first_steps: dict[Hashable, int] = {}
    parts = []
    for key, made_call in zip(case.keys, case.made, strict=True):
        if times[key] > 1 and not _has_outcome(made_call.call):
            raise Untold(
                "a call was made twice, but its results are not all recorded, so it is unknown "
                "whether it is a repetition"
            )
        # asking again after another result is not a repetition
        call_and_outcome = (key, made_call.call.result, made_call.call.error)
        if call_and_outcome in first_steps:
            parts.append(made_call.part("repeated", other=first_steps[call_and_outcome]))
        else:
            first_steps[call_and_outcome] = made_call.step.number
    return float(len(parts)), parts


def _has_outcome(call: ToolCall) -> bool:
    """Return True if the trace records the outcome of a call."""
    return call.result is not None or call.error is not None


def _loops(case: RuleCase) -> Found:
    numbers: dict[Hashable, int] = {}
    ids = [numbers.setdefault(key, len(numbers)) for key in case.keys]
    longest = (0, 0, 0)
    """The length, the pattern and where the loop starts."""
    for pattern in range(1, _LONGEST_PATTERN + 1):
        for length, start in _repetitions(ids, pattern):
            if length > longest[0]:
                longest = (length, pattern, start)
    length, pattern, start = longest
    if not case.made:
        raise Unmeasurable("no tool was called")
    if not length:
        return 0.0, ()
    run = case.made[start : start + length]
    call = ", ".join(made_call.line for made_call in run[:pattern])
    part = RulePart("looped", call, run[0].step.number, run[-1].step.number)
    return float(length), [part]


def _repetitions(ids: Sequence[int], pattern: int) -> Iterator[tuple[int, int]]:
    """Yield (length, start) of each stretch that repeats a pattern of this length often enough.

    Only whole repetitions count.
    """
    same = 0
    for place in range(pattern, len(ids) + 1):
        if place < len(ids) and ids[place] == ids[place - pattern]:
            same += 1
            continue
        # "same" counts the repeated places; the pattern itself is one more time
        times = same // pattern + 1
        if times >= _LEAST_TIMES:
            yield times * pattern, place - same - pattern
        same = 0


def _errors(case: RuleCase) -> Found:
    parts = [_failure(made_call) for made_call in case.made if made_call.call.error is not None]
    return float(len(parts)), parts


def _unrecovered(case: RuleCase) -> Found:
    parts: list[RulePart] = []
    succeeded: set[str] = set()
    unknown: dict[str, int] = {}
    """Tool → a later step without a recorded result: it may have failed as well."""
    for made_call in reversed(case.made):
        name = made_call.call.name
        if made_call.call.error is not None:
            if name not in succeeded:
                parts.append(_failure(made_call, unknown.get(name)))
        elif _has_outcome(made_call.call):
            succeeded.add(name)
        else:
            unknown[name] = made_call.step.number
    return float(len(parts)), parts[::-1]


def _failure(made_call: MadeCall, unknown: int | None = None) -> RulePart:
    reasons = [short(made_call.call.error or "", _LINE)]
    if unknown is not None:
        reasons.append(Message("the result of step {step} is not recorded", step=unknown))
    return made_call.part(
        "failed", detail=join("; ", [reason for reason in reasons if reason]) or None
    )


def _unknown_tools(case: RuleCase) -> Found:
    names = {tool.name for tool in _tools(case)}
    parts = [
        made_call.part("unknown") for made_call in case.made if made_call.call.name not in names
    ]
    return float(len(parts)), parts


def _invalid_arguments(case: RuleCase) -> Found:
    schemas = {tool.name: tool.schema for tool in _tools(case) if tool.schema is not None}
    if not schemas:
        raise Unmeasurable("the trace has no schemas of its tools")
    checked = [made_call for made_call in case.made if made_call.call.name in schemas]
    if case.made and not checked:
        raise Unmeasurable("no tool that was called has a schema")
    parts = []
    for made_call in checked:
        try:
            problem = problem_with(made_call.call.arguments, schemas[made_call.call.name])
        except SchemaProblem as error:
            raise Untold(
                "the schema of {tool}: {reason}", tool=made_call.call.name, reason=error.message
            ) from error
        if problem is not None:
            parts.append(made_call.part("invalid", detail=problem))
    return float(len(parts)), parts


def _tools(case: RuleCase) -> Sequence[ToolDefinition]:
    if not case.trajectory.tools:
        raise Unmeasurable("the trace does not list the available tools")
    return case.trajectory.tools


def _steps(case: RuleCase) -> Found:
    return float(len(case.trajectory.steps)), ()


def _model_calls(case: RuleCase) -> Found:
    run = case.trajectory
    usages = [step.usage for step in run.steps if step.usage]
    total = run.usage.calls if run.usage else 0
    return _recorded_total(
        case, "model_calls", [usage.calls or 1 for usage in usages], total or None
    )


def _tokens(case: RuleCase) -> Found:
    run = case.trajectory
    counts = [step.usage.tokens for step in run.steps if step.usage]
    total = run.usage.tokens if run.usage else 0
    # every call takes tokens, so 0 means that they were not counted
    return _recorded_total(case, "tokens", [count for count in counts if count], total or None)


def _usd(case: RuleCase) -> Found:
    run = case.trajectory
    return _recorded_total(
        case, "usd", [step.usd for step in run.steps if step.usd is not None], run.usd
    )


def _seconds(case: RuleCase) -> Found:
    run = case.trajectory
    lasted = list(_times(run.steps)) if run.seconds is None else [run.seconds]
    return _recorded_total(case, "seconds", lasted, None)


def _times(steps: Iterable[Step]) -> Iterator[float]:
    """Yield the duration of each timed step, without the nested steps that it includes."""
    within: int | None = None
    for step in steps:
        if within is not None and step.depth > within:
            continue
        within = None
        if step.seconds is not None:
            within = step.depth
            yield step.seconds


def _recorded_total(
    case: RuleCase, column: str, values: Sequence[float], total: float | None
) -> Found:
    """Return the row's column, else the sum over the steps, else the trace's total.

    Raise Untold if none of them is recorded.
    """
    cell = number_of(case.columns.get(column))
    if cell is not None:
        return cell, ()
    if values:
        return float(sum(values)), ()
    if total is not None:
        return float(total), ()
    raise Untold("the trace does not record the state, and there is no column {name}", name=column)


def _ended(case: RuleCase) -> Found:
    return bool(case.trajectory.answer and case.trajectory.answer.strip()), ()


def _final_state(case: RuleCase) -> Found:
    state, reference = (_state(case, name) for name in ("state", "reference_state"))
    try:
        expected_state = read_matcher(
            reference, Place(Message("the column {name}", name="reference_state"))
        )
    except SetupError as error:
        raise Unmeasurable(error.message) from error
    if case.comparison.matches(expected_state, state):
        return True, ()
    return False, list(_differences(case, expected_state, state))


def _state(case: RuleCase, column: str) -> JsonValue:
    cell = case.columns.get(column)
    if cell is None:
        raise Unmeasurable("there is no column {name}", name=column)
    if isinstance(cell, str):
        try:
            read: JsonValue = json.loads(cell)
        except ValueError:
            return cell
        return read
    return cell


def _differences(case: RuleCase, expected_state: Matcher, state: JsonValue) -> Iterator[RulePart]:
    """Yield the state's keys that differ; the whole state if it cannot be compared key by key."""
    keys = keys_of(expected_state)
    if not keys or not isinstance(state, Mapping):
        yield RulePart("different", Message("the state"))
        return
    counted = case.comparison.keys_that_count
    for name in dict.fromkeys((*counted(keys), *counted(state))):
        if name not in keys or not case.comparison.has_key(keys, name, state):
            yield RulePart("different", name)


@dataclass(frozen=True, slots=True)
class Rule:
    """A measure that needs no model."""

    title: Message
    amount: Amount
    """For counts, less is better."""
    find: Callable[[RuleCase], Found]


RULES: Mapping[str, Rule] = {
    "calls": Rule(Message("the expected calls were made"), "truth", _calls),
    "calls_precision": Rule(Message("calls made that were expected"), "share", _precision),
    "calls_recall": Rule(Message("expected calls that were made"), "share", _recall),
    "calls_f1": Rule(Message("calls made and expected, F1"), "share", _f1),
    "arguments": Rule(Message("expected arguments that are correct"), "share", _arguments),
    "required": Rule(Message("every required call was made"), "truth", _required),
    "forbidden": Rule(Message("no forbidden call was made"), "truth", _forbidden),
    "before": Rule(Message("no call came too early"), "truth", _before),
    "repeats": Rule(Message("repeated calls"), "count", _repeats),
    "loops": Rule(Message("calls in the longest loop"), "count", _loops),
    "errors": Rule(Message("failed calls"), "count", _errors),
    "unrecovered": Rule(
        Message("failed calls whose tool never succeeded later"), "count", _unrecovered
    ),
    "unknown_tools": Rule(Message("calls of tools that are not defined"), "count", _unknown_tools),
    "invalid_arguments": Rule(
        Message("calls with arguments that the tool does not take"),
        "count",
        _invalid_arguments,
    ),
    "steps": Rule(Message("steps"), "count", _steps),
    "model_calls": Rule(Message("calls of models"), "count", _model_calls),
    "tokens": Rule(Message("tokens"), "count", _tokens),
    "usd": Rule(Message("cost in US dollars"), "count", _usd),
    "seconds": Rule(Message("seconds"), "count", _seconds),
    "ended": Rule(Message("ended with an answer"), "truth", _ended),
    "final_state": Rule(Message("the final state is as expected"), "truth", _final_state),
}
"""By the names that users write under ``measures``."""


def measure(
    name: str, trajectory: Trajectory, expectations: Expectations, columns: JsonObject
) -> RuleResult:
    """Apply one rule to one trajectory. The result has a reason if there is no value.

    ``columns``: the row's columns, such as ``task_id`` or ``id``, ``reference_calls``, ``state``,
    ``reference_state`` and ``usd``.
    """
    try:
        value, parts = RULES[name].find(RuleCase(trajectory, expectations, columns))
    except (Unmeasurable, CannotMatch) as error:
        return RuleResult(None, error.message, untold=isinstance(error, Untold | CannotMatch))
    except RecursionError:
        too_deep = Message("the arguments are nested too deeply to be compared")
        return RuleResult(None, too_deep, untold=True)
    return RuleResult(value, None, tuple(parts))
