"""Rows and the same rows under attack."""

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
    """What the agent did; None of a row that is no agent's."""
    found = instance.metadata.get(TRAJECTORY)
    return found if isinstance(found, Trajectory) else None


def channels_of(run: Trajectory) -> list[str]:
    """The channels that a trajectory has."""
    return [name for name, find in _STEPS.items() if find(run) is not None]


def attack_through(instance: Instance, channel: str, change: Change) -> Instance:
    """The row with the text of a channel changed, in its steps and in its fields."""
    run = trajectory_of(instance)
    found = None if run is None else _STEPS[channel](run)
    if run is None or found is None:
        return instance
    attacked = _changed(found, change)
    steps = tuple(attacked if one is found else one for one in run.steps)
    made = replace(run, steps=steps)
    if channel == ANSWER:
        made = replace(made, answer=attacked.text)
    if channel == USER and run.goal == found.text:
        made = replace(made, goal=attacked.text)
    return replace(
        instance,
        fields={**instance.fields, **made.fields},
        metadata={**instance.metadata, TRAJECTORY: made},
    )


def _changed(step: Step, change: Change) -> Step:
    call = step.call
    if call is None:
        return replace(step, text=change(step.text))
    return replace(step, call=replace(call, result=change(call.result or "")))


def _last(run: Trajectory, fits: Callable[[Step], object]) -> Step | None:
    return next((one for one in reversed(run.steps) if fits(one)), None)


def _answer(run: Trajectory) -> Step | None:
    return _last(run, lambda one: one.call is None and one.text and one.text == run.answer)


def _result(run: Trajectory) -> Step | None:
    return _last(run, lambda one: one.call is not None and one.call.result)


def _user(run: Trajectory) -> Step | None:
    return _last(run, lambda one: one.actor == "user" and one.call is None and one.text)


_STEPS: Mapping[str, Callable[[Trajectory], Step | None]] = {
    ANSWER: _answer,
    RESULT: _result,
    USER: _user,
}


_KEY = "adjudge.attack"
"""Where a row keeps what was done to it."""


@light_dataclass(frozen=True, kw_only=True)
class AttackMark:
    """What was done to a row: nothing where ``family`` is empty."""

    of: int
    """The place of the row among those that are attacked, from 0."""
    family: str = ""
    text: int = 0
    """Which attack of the family."""
    field: str = ""

    def on(self, instance: Instance) -> Instance:
        """``instance`` with this mark, which no model is shown."""
        kept: JsonDict = {
            **instance.input,
            _KEY: some_of(self, "of", "family", "text", "field"),
        }
        return replace(instance, metadata={**instance.metadata, "row": kept})


def mark_in(row: JsonObject) -> AttackMark | None:
    """The mark of a row by its columns; None of a row that is no part of an attack."""
    match object_in(row.get(_KEY)):
        case {"of": int(of), "family": str(family), "text": int(text), "field": str(field)}:
            return AttackMark(of=of, family=family, text=text, field=field)
    return None


def is_attacked(instance: Instance) -> bool:
    mark = mark_in(instance.input)
    return mark is not None and bool(mark.family)


def draw_rows(rows: Iterable[Instance], most: int, seed: int) -> list[Instance]:
    """At most so many rows by chance, in their order; copies of one row are one."""
    unique = list({one.identity: one for one in rows}.values())
    drawn = sorted(unique, key=lambda one: content_hash((seed, one.identity)))[:most]
    chosen = {one.identity for one in drawn}
    return [one for one in unique if one.identity in chosen]


@light_dataclass(frozen=True, kw_only=True)
class Attacker:
    """Puts families of attacks to rows."""

    families: Sequence[Family]
    language: str
    best: str
    """The verdict that the texts ask for."""
    judged: str
    """The field that is judged."""
    beside: Sequence[str] | None = None
    """The fields that the judges may read beside it; None: all that a row has."""
    texts: int = 1
    """Attacks of each family on each row; which ones changes from row to row."""

    def rows(self, rows: Sequence[Instance]) -> Iterator[Instance]:
        """Each row as it is, then under attack."""
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
        first = int(content_hash((family.name, instance.identity))[:8], 16)
        for turn in range(first, first + min(self.texts, count) if fields else first):
            field = fields[turn // count % len(fields)]
            yield AttackMark(of=place, family=family.name, text=turn % count, field=field)

    def _fields(self, family: Family, instance: Instance) -> list[str]:
        if run := trajectory_of(instance):
            return _channels(family, run)
        judged = self._judged(instance)
        if not family.beside:
            return [judged]
        known = instance.fields if self.beside is None else self.beside
        return [name for name in known if name != judged and instance.fields.get(name)]

    def _judged(self, instance: Instance) -> str:
        return judged_field(Criteria("judged", "judged", to_evaluate_field=self.judged), instance)

    def _attack(self, family: Family, mark: AttackMark, instance: Instance) -> Instance:
        def change(text: str) -> str:
            return family.apply(mark.text, text, self.best, self.language)

        if trajectory_of(instance):
            return attack_through(instance, mark.field, change)
        value = instance.fields[mark.field]
        before = [value] if isinstance(value, str) else value
        last = change(before[-1])
        changed = last if isinstance(value, str) else [*before[:-1], last]
        return replace(instance, fields={**instance.fields, mark.field: changed})


def _channels(family: Family, run: Trajectory) -> list[str]:
    """Orders come through every channel; an impression is made by what the agent says."""
    known = channels_of(run)
    if family.beside:
        return [name for name in known if name != ANSWER]
    return known if family.instructs or family.control else [ANSWER] * (ANSWER in known)


def attacker_for(
    judges: Sequence[ReadyJudge], families: Sequence[Family], language: str, texts: int
) -> Attacker:
    """Who attacks the rows of these judges: one field is judged, and what is asked for is the best
    verdict of all of them.
    """
    criteria = [one for ready in judges for one in criteria_of(ready)]
    texts_of = [one for ready in judges if not _is_agent(ready) for one in criteria_of(ready)]
    judged = {one.to_evaluate_field for one in texts_of} or {"response"}
    if len(judged) > 1:
        raise SetupError(
            "the criteria judge different fields ({fields}): attack them one by one",
            fields=", ".join(sorted(judged)),
        )
    contexts = [one.context_fields for one in texts_of]
    beside = (
        None
        if None in contexts or not contexts
        else tuple(dict.fromkeys(name for one in contexts for name in one or ()))
    )
    return Attacker(
        families=families,
        language=language,
        best=best_verdict(judges, criteria, language),
        judged=judged.pop(),
        beside=beside,
        texts=texts,
    )


def best_verdict(judges: Sequence[ReadyJudge], criteria: Sequence[Criteria], language: str) -> str:
    """What a text asks for that wants the best for itself."""
    if any(one.compares for one in judges):
        return render(Message("this response"), language)
    best = {one.best_options[:1] for one in criteria}
    if len(best) == 1 and (only := best.pop()):
        return only[0]
    return render(Message("the best option"), language)


def criteria_of(ready: ReadyJudge) -> Sequence[Criteria]:
    """What a judge asks models; nothing of one that has dimensions."""
    if ready.criteria:
        return [one for one in ready.criteria if not _is_agent(ready) or one.name not in RULES]
    judge = ready.first_step or ready.judge
    own = judge.row_criteria()
    return () if own is None else (own,)


def _is_agent(ready: ReadyJudge) -> bool:
    return isinstance(ready.judge, AgentEvaluator)


def check_attackable(ready: ReadyJudge) -> None:
    """Refuse a judge that has several results for each row, or asks no model."""
    judge = ready.judge
    of_parts = isinstance(judge, AgentEvaluator) and judge.per != "trajectory"
    if ready.per != "row" or of_parts:
        raise SetupError("attacks are put to rows: leave per out of the eval file")
    if isinstance(judge, AgentEvaluator) and not judge.asks:
        raise SetupError(
            "{name!r} measures by rules, which no text can talk round: add a measure that a model "
            "judges, such as goal",
            name=ready.name,
        )
