"""Rows, each as it is and under attack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import content_hash, some_of
from adjudge.core.domain.instance import TRAJECTORY, Instance
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.prompts.renderer import judged_field
from adjudge.errors import SetupError
from adjudge.features.agents.judge import AgentEvaluator
from adjudge.features.agents.rules import RULES
from adjudge.features.agents.trajectory import Step, Trajectory
from adjudge.features.stress.attacks.families import Family
from adjudge.messages import Message, render
from adjudge.runs.ready_judge import ReadyJudge

ANSWER, RESULT, USER = "answer", "tool result", "user"
Change = Callable[[str], str]


def trajectory_of(instance: Instance) -> Trajectory | None:
    """Return the agent's trajectory; None for a row that is not an agent's."""
    trajectory = instance.metadata.get(TRAJECTORY)
    return trajectory if isinstance(trajectory, Trajectory) else None


def channels_of(run: Trajectory) -> list[str]:
    """Return the channels that a trajectory has."""
    return [name for name in _FITS if _last_step(run, name) is not None]


def attack_through(instance: Instance, channel: str, change: Change) -> Instance:
    """Change the text of a channel, in the steps of the row and in its fields.

    A row without the channel is unchanged.
    """
    run = trajectory_of(instance)
    step = None if run is None else _last_step(run, channel)
    if run is None or step is None:
        return instance
    attacked = _change_step(step, change)
    steps = tuple(attacked if candidate is step else candidate for candidate in run.steps)
    attacked_run = replace(run, steps=steps)
    if channel == ANSWER:
        attacked_run = replace(attacked_run, answer=attacked.text)
    if channel == USER and run.goal == step.text:
        attacked_run = replace(attacked_run, goal=attacked.text)
    return replace(
        instance,
        fields={**instance.fields, **attacked_run.fields},
        metadata={**instance.metadata, TRAJECTORY: attacked_run},
    )


def _change_step(step: Step, change: Change) -> Step:
    call = step.call
    if call is None:
        return replace(step, text=change(step.text))
    return replace(step, call=replace(call, result=change(call.result or "")))


def _last_step(run: Trajectory, channel: str) -> Step | None:
    """Return the last step of the trajectory that belongs to the channel."""
    return next((step for step in reversed(run.steps) if _FITS[channel](run, step)), None)


# Channel → whether a step belongs to it.
_FITS: Mapping[str, Callable[[Trajectory, Step], object]] = {
    ANSWER: lambda run, step: step.call is None and step.text and step.text == run.answer,
    RESULT: lambda _, step: step.call is not None and step.call.result,
    USER: lambda _, step: step.actor == "user" and step.call is None and step.text,
}


# The column in which a row keeps its attack.
_KEY = "adjudge.attack"


@light_dataclass(frozen=True, kw_only=True)
class AttackMark:
    """The attack on a row; no attack if ``family`` is empty."""

    of: int
    """The place of the row among those that are attacked, from 0."""
    family: str = ""
    text: int = 0
    """Number of the text within the family."""
    field: str = ""

    def on(self, instance: Instance) -> Instance:
        """Return ``instance`` with this mark, which no model sees."""
        row: JsonDict = {
            **instance.input,
            _KEY: some_of(self, "of", "family", "text", "field"),
        }
        return replace(instance, metadata={**instance.metadata, "row": row})


def mark_in(row: JsonObject) -> AttackMark | None:
    """Read the mark of a row from its columns; None if the row is not part of an attack."""
    match object_in(row.get(_KEY)):
        case {"of": int(of), "family": str(family), "text": int(text), "field": str(field)}:
            return AttackMark(of=of, family=family, text=text, field=field)
    return None


def is_attacked(instance: Instance) -> bool:
    mark = mark_in(instance.input)
    return mark is not None and bool(mark.family)


def draw_rows(rows: Iterable[Instance], most: int, seed: int) -> list[Instance]:
    """Draw at most ``most`` different rows, and keep their order."""
    # copies of a row would count as independent evidence
    unique = list({row.identity: row for row in rows}.values())
    drawn = sorted(unique, key=lambda row: content_hash((seed, row.identity)))[:most]
    identities = {row.identity for row in drawn}
    return [row for row in unique if row.identity in identities]


@light_dataclass(frozen=True, kw_only=True)
class Attacker:
    """Applies families of attacks to rows."""

    families: Sequence[Family]
    language: str
    best: str
    """The verdict that the texts ask for."""
    judged_name: str
    """The field to judge."""
    context_fields: Sequence[str] | None = None
    """The fields that the judges may read besides the judged one; None for all."""
    texts: int = 1
    """Attacks of each family on each row; which ones changes from row to row."""

    def rows(self, rows: Sequence[Instance]) -> Iterator[Instance]:
        """Yield each row as it is, then under attack."""
        for place, instance in enumerate(rows):
            name = instance.id or str(place + 1)
            yield AttackMark(of=place).on(replace(instance, id=name))
            for family in self.families:
                for mark in self._marks(family, place, instance):
                    attacked = self._attack(family, mark, instance)
                    yield mark.on(replace(attacked, id=f"{name} · {family.name} {mark.text + 1}"))

    def _marks(self, family: Family, place: int, instance: Instance) -> Iterator[AttackMark]:
        fields = self._fields(family, instance)
        count = family.count(self.language)
        # begins elsewhere in each row, so that all texts of a family take part
        start = int(content_hash((family.name, instance.identity))[:8], 16)
        for turn in range(start, start + min(self.texts, count) if fields else start):
            field = fields[turn // count % len(fields)]
            yield AttackMark(of=place, family=family.name, text=turn % count, field=field)

    def _fields(self, family: Family, instance: Instance) -> list[str]:
        # texts reach an agent's judge through steps, not through fields
        if run := trajectory_of(instance):
            return _channels(family, run)
        judged_name = self._judged_field(instance)
        if not family.is_for_context:
            return [judged_name]
        context_names = instance.fields if self.context_fields is None else self.context_fields
        return [name for name in context_names if name != judged_name and instance.fields.get(name)]

    def _judged_field(self, instance: Instance) -> str:
        return judged_field(
            Criteria("judged", "judged", to_evaluate_field=self.judged_name), instance
        )

    def _attack(self, family: Family, mark: AttackMark, instance: Instance) -> Instance:
        def change(text: str) -> str:
            return family.apply(mark.text, text, self.best, self.language)

        if trajectory_of(instance):
            return attack_through(instance, mark.field, change)
        value = instance.fields[mark.field]
        texts = [value] if isinstance(value, str) else value
        # of several texts, such as fragments or compared responses, the last is attacked
        last = change(texts[-1])
        changed = last if isinstance(value, str) else [*texts[:-1], last]
        return replace(instance, fields={**instance.fields, mark.field: changed})


def _channels(family: Family, run: Trajectory) -> list[str]:
    """Return the channels that a family uses.

    Instructions and controls may come through any, attacks on the context through any but the
    answer, and an impression only through the answer.
    """
    available = channels_of(run)
    if family.is_for_context:
        return [name for name in available if name != ANSWER]
    return available if family.instructs or family.control else [ANSWER] * (ANSWER in available)


def attacker_for(
    judges: Sequence[ReadyJudge], families: Sequence[Family], language: str, texts: int
) -> Attacker:
    """Return the attacker for the rows of these judges: it asks for the verdict that is best for
    all of them.

    Raises a SetupError if they judge different fields.
    """
    criteria = [criterion for ready in judges for criterion in criteria_of(ready)]
    texts_of = [
        criterion for ready in judges if not _is_agent(ready) for criterion in criteria_of(ready)
    ]
    judged_fields = {criterion.to_evaluate_field for criterion in texts_of} or {"response"}
    if len(judged_fields) > 1:
        raise SetupError(
            "the criteria judge different fields ({fields}): attack them one by one",
            fields=", ".join(sorted(judged_fields)),
        )
    contexts = [criterion.context_fields for criterion in texts_of]
    context_fields = (
        None
        if None in contexts or not contexts
        else tuple(dict.fromkeys(name for criterion in contexts for name in criterion or ()))
    )
    return Attacker(
        families=families,
        language=language,
        best=best_verdict(judges, criteria, language),
        judged_name=judged_fields.pop(),
        context_fields=context_fields,
        texts=texts,
    )


def best_verdict(judges: Sequence[ReadyJudge], criteria: Sequence[Criteria], language: str) -> str:
    """Return the verdict that an attacking text asks for."""
    if any(ready.compares for ready in judges):
        return render(Message("this response"), language)
    best_options = {criterion.best_options[:1] for criterion in criteria}
    if len(best_options) == 1 and (only := best_options.pop()):
        return only[0]
    return render(Message("the best option"), language)


def criteria_of(ready: ReadyJudge) -> Sequence[Criteria]:
    """Return the criteria that a judge asks models about; empty if it has dimensions."""
    if ready.criteria:
        return [
            criterion
            for criterion in ready.criteria
            if not _is_agent(ready) or criterion.name not in RULES
        ]
    judge = ready.first_step or ready.judge
    row_criteria = judge.row_criteria()
    return () if row_criteria is None else (row_criteria,)


def _is_agent(ready: ReadyJudge) -> bool:
    return isinstance(ready.judge, AgentEvaluator)


def check_attackable(ready: ReadyJudge) -> None:
    """Raise a SetupError for a judge with several results per row, or one that asks no model."""
    judge = ready.judge
    of_parts = isinstance(judge, AgentEvaluator) and judge.per != "trajectory"
    if ready.per != "row" or of_parts:
        raise SetupError("attacks change single rows: remove per from the eval file")
    if isinstance(judge, AgentEvaluator) and not judge.asks:
        raise SetupError(
            "{name!r} is computed by rules, which texts cannot influence: add a measure that a "
            "model judges, such as goal",
            name=ready.name,
        )
