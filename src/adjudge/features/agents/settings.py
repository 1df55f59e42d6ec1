"""Settings of an evaluation of agents, and the files they name."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.options import match_option
from adjudge.core.domain.vote import Mode
from adjudge.core.gateway.opener import ModelLike
from adjudge.core.judges.settings import (
    AskSettings,
    OnFailure,
    alias,
    at_least,
    check_votes,
    one_of,
)
from adjudge.core.reading.values import Place, text_in
from adjudge.errors import SetupError
from adjudge.features.agents.expectation import (
    ORDERS,
    Expectations,
    Order,
    read_calls,
    read_expectations,
    read_pairs,
    read_patterns,
)
from adjudge.features.agents.matchers import TEXTS, TYPES, Texts, Types, ValueComparison
from adjudge.features.agents.measures import (
    BLAME_METHODS,
    CHECKLIST,
    DEFAULT,
    JUDGED,
    REPORTED,
    BlameMethod,
    check_measures,
    measure_criteria,
    measures_with_rules,
)
from adjudge.features.agents.result import MeasureResult
from adjudge.features.agents.rules import RULES
from adjudge.features.agents.scope import Per, StepSelection, read_step_selection
from adjudge.messages import Message

_COMPARED = re.compile(r"\s*(<=|>=|<|>|=)?\s*(-?\d+(?:\.\d+)?)\s*")
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}


@dataclass(frozen=True, slots=True)
class MeasureCondition:
    """A required result of a measure."""

    measure: str
    options: tuple[str, ...] = ()
    compare: str = "="
    number: float = 0.0

    def holds(self, result: MeasureResult) -> bool:
        """Return True if the result meets the condition; a result without a value does not."""
        if self.options:
            return result.option in self.options
        score = result.score
        return score is not None and _COMPARE[self.compare](score, self.number)


def read_conditions(
    conditions: Mapping[str, JsonValue], language: str
) -> tuple[MeasureCondition, ...]:
    """Read conditions such as ``{goal: Not reached}``, ``{errors: ">0"}``, ``{calls: false}``."""
    check_measures(list(conditions))
    return tuple(
        _condition(name, requirement, language) for name, requirement in conditions.items()
    )


def _condition(name: str, requirement: JsonValue, language: str) -> MeasureCondition:
    if name not in RULES and name not in (CHECKLIST, REPORTED):
        offered = measure_criteria(name, language).option_names
        names = (
            [requirement]
            if not isinstance(requirement, Sequence) or isinstance(requirement, str)
            else requirement
        )
        options = [match_option(name_of_option, offered) for name_of_option in names]
        if None in options or not options:
            raise SetupError(
                "only: {name} must be one of {options}, not {said!r}",
                name=name,
                options=", ".join(offered),
                said=requirement,
            )
        return MeasureCondition(
            name, tuple(name_of_option for name_of_option in options if name_of_option)
        )
    text = (
        str(float(requirement))
        if isinstance(requirement, bool)
        else _TRUTHS.get(str(requirement), str(requirement))
    )
    match = _COMPARED.fullmatch(text)
    if match is None:
        raise SetupError(
            'only: {name} must be compared with a number, such as ">0" or false, not {said!r}',
            name=name,
            said=requirement,
        )
    return MeasureCondition(name, (), match[1] or "=", float(match[2]))


_TRUTHS = {"true": "1", "false": "0"}


Expected = str | Path | Mapping[str, Sequence[str | Mapping[str, JsonValue]]]


@dataclass(frozen=True)
class AgentSettings(AskSettings):
    """Settings of an agent evaluation: measures, expectations and models.

    Parameters:
        models: one model or a panel: ids, model objects or functions ``prompt -> text``; None is
            the embedded model. Rules alone need none.
        model: another name of ``models``.
        measures: what to measure, by name, such as "calls_f1" or "goal"; by default rules that need
            nothing but the trajectory, and what ``expect`` and ``policy`` are for, if they are
            given. ``required``, ``forbidden`` and ``before`` are always measured if they are given.
        policy: the rules that "policy" judges by, as a text, or a Path; None: the system prompt.
        expect: the expected calls by task: a file, or a mapping; a row may have them in the column
            ``reference_calls``.
        order: how strictly expected calls are compared: "exact", "in_order", "any_order" or "only".
        required: calls that must be made, by name or with arguments.
        forbidden: calls that must not be made.
        before: pairs of calls, of which the first must come before the second.
        ignore: arguments that do not count, such as "request_id" or "*.timestamp".
        types: comparison of arguments: "strict", or "loose": the text "1" equals the number 1.
        text: comparison of texts in arguments: "exact", or "folded": ignore case and white space.
        steps_tokens: how many tokens of steps a model is shown; what does not fit is shortened.
            None: what the models' windows take.
        only: measure → option: judge a row only if that measure has this option.
        per: "trajectory", each "turn" of a conversation, or each "step" that ``steps`` picks.
        steps: which steps to judge with per="step": "errors", "last 3", "calls of pay".
        derive: have a model write a checklist once per task, if a row has none.
        blame: "at once" (two votes, step by step if they differ), "step by step", or "halves".
        kinds: kinds of mistakes that blame chooses from; the default has eleven.
        votes: votes per model and question.
        strictness: another name of ``votes``.
        language: of prompts and explanations: "en" or "ru".
        temperature: by default the model's own setting, else 0 for one vote and 1 for several.
        seed: of the first vote, the next one has the next number; None: the model's own, if it has
            one.
        mode: "generate": the model writes a verdict with its evidence; "likelihood": the options
            are compared by their log-probability, without evidence.
        max_repairs: how often a model is asked again after a reply that cannot be read.
        on_failure: what a measure without a verdict becomes: "abstain", "raise" or "random".
    """

    models: ModelLike | Sequence[ModelLike] | None = field(default=None, hash=False)
    _: KW_ONLY
    measures: Sequence[str] = DEFAULT
    policy: str | Path | None = None
    expect: Expected | None = field(default=None, hash=False)
    order: Order = "in_order"
    required: JsonValue = field(default=(), hash=False)
    forbidden: JsonValue = field(default=(), hash=False)
    before: JsonValue = field(default=(), hash=False)
    ignore: Sequence[str] = ()
    types: Types = "strict"
    text: Texts = "exact"
    steps_tokens: int | None = None
    only: Mapping[str, JsonValue] = field(default_factory=dict, hash=False)
    per: Per = "trajectory"
    steps: str | None = None
    derive: bool = False
    blame: BlameMethod = "at once"
    kinds: Sequence[str] = ()
    votes: int = 1
    model: ModelLike | Sequence[ModelLike] | None = alias("models")
    strictness: int | None = alias("votes")
    mode: Mode | None = None
    on_failure: OnFailure = "abstain"

    def take_names(self) -> None:
        """Turn lists of names into tuples, and add the measures of the rules that are set."""
        measures = (self.measures,) if isinstance(self.measures, str) else tuple(self.measures)
        measures = measures_with_rules(measures, self.only, vars(self))
        object.__setattr__(self, "measures", measures)
        for name in ("ignore", "kinds"):
            names = getattr(self, name)
            object.__setattr__(self, name, (names,) if isinstance(names, str) else tuple(names))

    def check_agent_settings(self) -> None:
        """Raise a SetupError if the settings do not fit together, or a file cannot be read."""
        check_votes("votes", self.votes)
        if self.steps_tokens is not None:
            at_least("steps_tokens", self.steps_tokens, 100)
        one_of("order", self.order, ORDERS)
        one_of("types", self.types, TYPES)
        one_of("text", self.text, TEXTS)
        one_of("blame", self.blame, BLAME_METHODS)
        if not self.measures:
            raise SetupError("name at least one measure, such as goal or calls_f1")
        check_measures(self.measures)
        if (self.per == "step") != (self.steps is not None):
            raise SetupError("per: step needs steps, such as errors, last 3 or calls of pay")
        _ = self.expectations, self.policy_text, self.conditions, self.picked

    @property
    def asks(self) -> bool:
        """True if any measure or condition needs a model."""
        return any(name in JUDGED for name in (*self.measures, *self.only))

    @cached_property
    def expectations(self) -> Expectations:
        place = Place(Message("the evaluator"))
        expect = self.expect
        if isinstance(expect, str | Path):
            calls = read_expectations(Path(expect))
        else:
            calls = {
                task: read_calls(list(task_calls), place.at(task))
                for task, task_calls in (expect or {}).items()
            }
        return Expectations(
            calls,
            self.order,
            read_patterns(self.required, place.at("required")) if self.required else (),
            read_patterns(self.forbidden, place.at("forbidden")) if self.forbidden else (),
            read_pairs(self.before, place.at("before")) if self.before else (),
            ValueComparison(self.types, self.text, tuple(self.ignore)),
        )

    @cached_property
    def policy_text(self) -> str | None:
        """The policy, read from its file; None: the system prompt is the policy."""
        return text_in(self.policy) if isinstance(self.policy, Path) else self.policy

    @cached_property
    def conditions(self) -> tuple[MeasureCondition, ...]:
        """The conditions that a row must meet to be judged."""
        return read_conditions(self.only, self.language)

    @cached_property
    def picked(self) -> StepSelection | None:
        """The steps that are judged one by one; None if whole trajectories or turns are judged."""
        return None if self.steps is None else read_step_selection(self.steps)

    @cached_property
    def criteria(self) -> tuple[Criteria, ...]:
        """The criteria of each measure, in order."""
        return tuple(measure_criteria(name, self.language, self.kinds) for name in self.measures)
