"""The judge kind ``agent`` of eval files: its settings, and the judges made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from adjudge.core.data.dataset import OddRows
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.reading.types import (
    FilePath,
    Flag,
    Json,
    JsonNames,
    Many,
    Record,
    Text,
    WholeNumber,
    Word,
    key,
)
from adjudge.core.reading.values import Place
from adjudge.errors import SetupError
from adjudge.features.agents.contest import RunContest
from adjudge.features.agents.expectation import ORDERS, Order
from adjudge.features.agents.judge import AgentEvaluator
from adjudge.features.agents.matchers import TEXTS, TYPES, Texts, Types
from adjudge.features.agents.measures import (
    BETTER,
    BLAME_METHODS,
    DEFAULT,
    JUDGED,
    BlameMethod,
    measures_with_rules,
)
from adjudge.features.agents.rows import read_trajectories
from adjudge.runs.builder import JudgeKind, Models, common_settings, kind_settings, ready_judge
from adjudge.runs.eval_file import EvalFile, FieldsRead, JudgeEntry
from adjudge.runs.ready_judge import ReadyJudge


@dataclass(frozen=True, kw_only=True)
class ArgumentsEntry:
    """Rules for treating two arguments of calls as equal."""

    types: Types = key(
        Word[Types](TYPES),
        'How to compare two arguments; loose: the string "1" equals the number 1.',
        "strict",
    )
    text: Texts = key(
        Word[Texts](TEXTS),
        "How to compare strings in arguments; folded: ignore case and white space.",
        "exact",
    )


@dataclass(frozen=True, kw_only=True)
class AgentEntry(JudgeEntry):
    """Measures of an agent's actions: rules without a model, and questions with evidence."""

    measures: tuple[str, ...] = key(
        Many(Text(), commas=True),
        "What to measure, such as calls_f1, errors or goal. Default: rules that need no model, and "
        "what expect and policy are for, if they are given; required, forbidden and before are "
        "always measured if given.",
        (),
        option="--measure",
    )
    policy: str | None = key(
        FilePath(),
        "A file with the rules for the measure policy. Default: the system prompt.",
        None,
    )
    expect: str | None = key(
        FilePath(),
        "A file with the expected calls per task. Default: the column reference_calls.",
        None,
    )
    order: Order = key(
        Word[Order](ORDERS),
        "How to match the expected calls: exactly these, with others in between, in any order, "
        "or no others.",
        "in_order",
    )
    required: JsonValue = key(
        Json(), "Calls that must be made, by name; in eval files also with arguments.", ()
    )
    forbidden: JsonValue = key(Json(), "Calls that must not be made.", ())
    before: JsonValue = key(
        Json(), "Pairs of calls, such as [confirm, pay]: no pay before a confirm.", ()
    )
    ignore: tuple[str, ...] = key(
        Many(Text()), "Arguments that do not count, such as request_id or *.timestamp.", ()
    )
    arguments: ArgumentsEntry = key(
        Record(ArgumentsEntry), "How to compare two arguments.", ArgumentsEntry()
    )
    steps_tokens: int | None = key(
        WholeNumber(least=100),
        "Maximum tokens of steps shown to a model; longer traces are shortened. Default: the "
        "models' context window.",
        None,
    )
    steps: str | None = key(
        Text(),
        "With per step: the steps to judge, such as errors, 'last 3' or 'calls of pay'.",
        None,
    )
    only: tuple[tuple[str, JsonValue], ...] = key(
        JsonNames(),
        "Measure: option. Judge only rows with this result, such as goal: Not reached.",
        (),
    )
    derive: bool = key(
        Flag(), "Have a model write the task's checklist for rows without one.", False
    )
    blame: BlameMethod = key(
        Word[BlameMethod](BLAME_METHODS),
        "Method that the measure blame uses to find the first mistake.",
        "at once",
    )
    compare: Literal["systems"] | None = key(
        Word[Literal["systems"]](("systems",)),
        "Compare systems that did the same tasks, named by the column system_name or by one file "
        "or folder per system. With the measure better, a model says which of two runs is better.",
        None,
    )
    kinds: tuple[str, ...] = key(
        Many(Text()), "Kinds of mistakes that blame chooses from, instead of the eleven.", ()
    )
    votes: int = key(
        WholeNumber(least=1), "Votes per model and question.", 1, aliases=("strictness",)
    )

    @property
    def asks_no_model(self) -> bool:
        # without measures, policy: measures the policy
        measures = self.measures or (("policy",) if self.policy else ())
        return not any(name in (*JUDGED, BETTER) for name in (*measures, *dict(self.only)))

    @property
    def reads_traces(self) -> bool:
        return True

    def read_traces(
        self, file: EvalFile, tell: Callable[[OddRows], None], limit: int | None
    ) -> Iterator[Instance]:
        return read_trajectories(file, tell, limit, compares_systems=_compares_systems(file))

    def fields_read(self, file: EvalFile) -> FieldsRead:  # noqa: ARG002
        return FieldsRead()

    def check_per(self) -> None:
        """Accept any part of a trajectory; ``_make`` refuses conversations."""


def _compares_systems(file: EvalFile) -> bool:
    """Return True if the file compares systems; raise an error if it also has other judges."""
    agents = [entry for entry in file.judges if isinstance(entry, AgentEntry)]
    other_judges = [entry for entry in file.judges if entry not in agents]
    compares = any(entry.compare is not None for entry in agents)
    if compares and other_judges:
        raise Place(str(file.path), line=other_judges[0].line).wrong(
            "compare: systems works only with judges of kind agent: put the others into another "
            "file"
        )
    return compares


def _make(file: EvalFile, entry: AgentEntry, models: Models) -> list[ReadyJudge]:
    if entry.per in ("conversation", "topic"):
        raise SetupError("agents can be judged per trajectory, per turn or per step")
    if entry.compare and BETTER in entry.measures:
        other_measures = measures_with_rules(
            tuple(name for name in entry.measures if name != BETTER), dict(entry.only), vars(entry)
        )
        contest = _contest(file, entry, models)
        return [
            *(
                _make(file, replace(entry, measures=other_measures), models)
                if other_measures
                else []
            ),
            contest,
        ]
    settings = kind_settings(file, entry, but=("arguments", "compare"))
    judge = AgentEvaluator(
        models,
        **{
            **settings,
            "measures": entry.measures or DEFAULT,
            "types": entry.arguments.types,
            "text": entry.arguments.text,
            "only": dict(entry.only),
            "per": "trajectory" if entry.per == "row" else entry.per,
        },
    )
    ready = ready_judge(file, entry, entry.name or "agent", judge)
    return [replace(ready, criteria=judge.criteria, each_row=judge.rows, per="row")]


def _contest(file: EvalFile, entry: AgentEntry, models: Models) -> ReadyJudge:
    """Build the judge that compares two runs of a task."""
    judge = RunContest(
        models,
        steps_tokens=entry.steps_tokens,
        votes=entry.votes,
        **common_settings(file, entry),
    )
    name = f"{entry.name}: {BETTER}" if entry.name else BETTER
    ready = ready_judge(file, replace(entry, per="row"), name, judge)
    return replace(ready, criteria=(judge.criterion,), each_row=judge.rows, compares=True)


AGENT = JudgeKind(AgentEntry, _make)
