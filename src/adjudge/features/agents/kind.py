"""The kind ``agent`` of judges in eval files: its settings, and how a judge is made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from adjudge.core.data.dataset import OddRows
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.reading.types import (
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
from adjudge.runs.build import JudgeKind, Models, common_settings, ready_judge
from adjudge.runs.eval_file import EvalFile, FieldsRead, JudgeEntry
from adjudge.runs.ready_judge import ReadyJudge


@dataclass(frozen=True, kw_only=True)
class ArgumentsEntry:
    """When two arguments of calls are the same."""

    types: Literal["strict", "loose"] = key(
        Word(("strict", "loose")), "loose: the text 1 is the number 1.", "strict"
    )
    text: Literal["exact", "folded"] = key(
        Word(("exact", "folded")), "folded: case and white space are put aside.", "exact"
    )


@dataclass(frozen=True, kw_only=True)
class AgentEntry(JudgeEntry):
    """What an agent did: rules without a model, and questions with evidence."""

    measures: tuple[str, ...] = key(
        Many(Text()), "What to measure, such as calls_f1, errors or goal.", ()
    )
    policy: str | None = key(
        Text(),
        "A file with the rules that policy judges by, relative to this file; left out: the "
        "system prompt.",
        None,
    )
    expect: str | None = key(
        Text(),
        "A file with the expected calls by task, relative to this file; or the column "
        "reference_calls.",
        None,
    )
    order: Literal["exact", "in_order", "any_order", "only"] = key(
        Word(("exact", "in_order", "any_order", "only")),
        "Of expected calls: exactly these, these with others between, in any order, or no others.",
        "in_order",
    )
    required: JsonValue = key(Json(), "Calls that must be made, by name or with arguments.", ())
    forbidden: JsonValue = key(Json(), "Calls that must not be made.", ())
    before: JsonValue = key(
        Json(), "Pairs of calls, such as [confirm, pay]: no pay before a confirm.", ()
    )
    ignore: tuple[str, ...] = key(
        Many(Text()), "Arguments that do not count, such as request_id or *.timestamp.", ()
    )
    arguments: ArgumentsEntry = key(
        Record(ArgumentsEntry), "When two arguments are the same.", ArgumentsEntry()
    )
    steps_tokens: int | None = key(
        WholeNumber(least=100),
        "How many tokens of steps a model is shown; what does not fit is shortened. Left out: "
        "what the models take.",
        None,
    )
    steps: str | None = key(
        Text(), "With per: step: which, such as errors, last 3 or calls of pay.", None
    )
    only: tuple[tuple[str, JsonValue], ...] = key(
        JsonNames(), "Measure: option. Judge only where it says so, as goal: Not reached.", ()
    )
    derive: bool = key(
        Flag(), "Have a model write the checklist of a task, where a row has none.", False
    )
    blame: Literal["at once", "step by step", "halves"] = key(
        Word(("at once", "step by step", "halves")),
        "How the first mistake is looked for.",
        "at once",
    )
    compare: Literal["systems"] | None = key(
        Word[Literal["systems"]](("systems",)),
        "systems: put the runs of the same tasks by several systems side by side; with the measure "
        "better a model says which of two is better.",
        None,
    )
    kinds: tuple[str, ...] = key(
        Many(Text()), "Kinds of mistakes that blame chooses from, instead of the eleven.", ()
    )

    @property
    def asks_no_model(self) -> bool:
        from adjudge.features.agents.measures import BETTER, JUDGED

        # without measures, policy: measures the policy
        named = self.measures or (("policy",) if self.policy else ())
        return not any(name in (*JUDGED, BETTER) for name in (*named, *dict(self.only)))

    @property
    def reads_traces(self) -> bool:
        return True

    def read_traces(
        self, file: EvalFile, tell: Callable[[OddRows], None], limit: int | None
    ) -> Iterator[Instance]:
        from adjudge.features.agents.rows import read_trajectories

        return read_trajectories(file, tell, limit, compares_systems=_compares_systems(file))

    def fields_read(self, file: EvalFile) -> FieldsRead:  # noqa: ARG002
        return FieldsRead()

    def named_files(self) -> Iterator[tuple[str, str]]:
        for name, path in (("policy", self.policy), ("expect", self.expect)):
            if path:
                yield name, path

    def check_per(self) -> None:
        """Every part of a trajectory can be judged; ``_make`` refuses conversations."""


def _compares_systems(file: EvalFile) -> bool:
    """Return True if the runs of a task are put side by side. Then nothing else can be judged."""
    compared = [isinstance(one, AgentEntry) and one.compare is not None for one in file.judges]
    other = next((one for one in file.judges if not isinstance(one, AgentEntry)), None)
    if any(compared) and other is not None:
        raise Place(str(file.path), line=other.line).wrong(
            "where compare: systems puts runs side by side, all judges are of kind agent: use a "
            "file for each"
        )
    return any(compared)


def _make(file: EvalFile, entry: AgentEntry, models: Models) -> list[ReadyJudge]:
    from adjudge.features.agents.evaluator import AgentEvaluator
    from adjudge.features.agents.measures import BETTER, DEFAULT, measures_with_rules

    if entry.per == "conversation":
        raise SetupError("an agent is judged per trajectory, per turn or per step")
    if entry.compare and BETTER in entry.measures:
        rest = measures_with_rules(
            tuple(name for name in entry.measures if name != BETTER), dict(entry.only), vars(entry)
        )
        contest = _contest(file, entry, models)
        return [*(_make(file, replace(entry, measures=rest), models) if rest else []), contest]
    judge = AgentEvaluator(
        models,
        measures=entry.measures or DEFAULT,
        policy=file.beside(entry.policy) if entry.policy else None,
        expect=file.beside(entry.expect) if entry.expect else None,
        order=entry.order,
        required=entry.required,
        forbidden=entry.forbidden,
        before=entry.before,
        ignore=entry.ignore,
        types=entry.arguments.types,
        text=entry.arguments.text,
        steps_tokens=entry.steps_tokens,
        steps=entry.steps,
        only=dict(entry.only),
        per="trajectory" if entry.per == "row" else entry.per,
        derive=entry.derive,
        blame=entry.blame,
        kinds=entry.kinds,
        strictness=entry.strictness,
        **common_settings(file, entry),
    )
    ready = ready_judge(file, entry, entry.name or "agent", judge)
    return [replace(ready, criteria=judge.criteria, each_row=judge.rows, per="row")]


def _contest(file: EvalFile, entry: AgentEntry, models: Models) -> ReadyJudge:
    """Which of two runs of a task is better."""
    from adjudge.features.agents.contest import RunContest
    from adjudge.features.agents.measures import BETTER

    judge = RunContest(
        models,
        steps_tokens=entry.steps_tokens,
        self_consistency=entry.strictness,
        **common_settings(file, entry),
    )
    name = f"{entry.name}: {BETTER}" if entry.name else BETTER
    ready = ready_judge(file, replace(entry, per="row"), name, judge)
    return replace(ready, criteria=(judge.criterion,), each_row=judge.rows, compares=True)


AGENT = JudgeKind(AgentEntry, _make)
