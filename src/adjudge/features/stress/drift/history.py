"""The history of anchors: what each look found, and whether the judge has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from statistics import fmean

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.ledger.file import holds_run
from adjudge.errors import RunError
from adjudge.features.stress.drift.anchors import AnchorSet, answer_of, models_in, question_names
from adjudge.runs.extra_samples import asked_again
from adjudge.runs.folder import records_of, run_info
from adjudge.runs.plan import Plan
from adjudge.stats import FEWEST
from adjudge.stats.change import AnchorAnswer, change_evidence

FACT = "drift"
"""Under which a run folder keeps that it is a look at anchors."""
_RISK = 0.05
"""Of calling any question drifted that did not."""


class DriftOutcome(StrEnum):
    """What the history of one question says."""

    CHANGED = "changed"
    NOISE = "noise"
    CANNOT_TELL = "cannot tell"


@light_dataclass(frozen=True, kw_only=True)
class AnchorLook:
    """The anchors judged once."""

    number: int
    at: float
    said: Mapping[str, Mapping[str, AnchorAnswer]]
    """Question → anchor, by its hash → answer."""
    identities: Mapping[str, str]
    models: Mapping[str, str]


@light_dataclass(frozen=True, kw_only=True)
class QuestionDrift:
    """One question at all looks."""

    question: str
    outcome: DriftOutcome
    evidence: tuple[float, ...]
    """After each look but the first, of the judge that was looked at; 20 is a risk of 5%."""
    most: float
    """The largest evidence of the judge of the last look; if that reaches no bar and the judge that
    the anchors are from does, of that one.
    """
    since: int | None
    """The look at which this evidence reached the bar first."""
    only_first_changed: bool
    """True if the judge that the anchors are from changed, and the last look is at another one, of
    which no change is shown.
    """
    other_judge: tuple[int, ...]
    """Looks at another judge than the one that the anchors are from."""
    bar: float
    """From which on the judge is said to have changed."""
    compared: int
    """Anchors that have a verdict at first and at the last look."""
    differ: int
    """Those of them whose verdict is another one."""
    means: tuple[float | None, ...]
    """Of the anchors' scores, from 0 to 1, at each look."""
    first: Mapping[str, int]
    """Option → anchors, at first."""
    last: Mapping[str, int]
    reconfigured: bool
    """Whether the judge has another identity than the one that the anchors are from."""
    itself: int | None
    """The first look at which the judge that the anchors are from is said to have changed, whoever
    was looked at since.
    """

    def options_at(self, look: AnchorLook) -> Counter[str]:
        """Option → anchors, at a look."""
        return Counter(str(each.option) for each in look.said.get(self.question, {}).values())

    def to_dict(self) -> JsonDict:
        return {
            "criteria": self.question,
            "outcome": self.outcome.value,
            **some_of(self, "evidence", "bar", "since", "compared", "differ"),
            **some_of(self, "means", "first", "last", "reconfigured", "other_judge"),
        }


@light_dataclass(frozen=True, kw_only=True)
class DriftReport:
    anchors: int
    edited: tuple[str, ...]
    """Anchors whose text is not the one that was judged: they are left out."""
    looks: tuple[AnchorLook, ...]
    """The first is what the anchors were chosen with."""
    questions: tuple[QuestionDrift, ...]
    renamed: tuple[tuple[str, str, str], ...]
    """(model, what its replies named at first, what they name now), where that differs."""
    unscored: int
    """Anchors without a verdict at the last look, over all questions."""

    @property
    def changed(self) -> bool:
        return any(one.outcome is DriftOutcome.CHANGED for one in self.questions)

    def changes(self, anchors: AnchorSet) -> dict[str, float]:
        """Identity of a judge that changed, and is set up as it was → when that was found."""
        found: dict[str, float] = {}
        for one in self.questions:
            identity = anchors.identities.get(one.question)
            if one.itself is not None and identity is not None:
                found[identity] = max(self.looks[one.itself].at, found.get(identity, 0.0))
        return found

    @property
    def cannot_tell(self) -> bool:
        return not self.questions or any(
            one.outcome is DriftOutcome.CANNOT_TELL for one in self.questions
        )


def looks_of(anchors: Path) -> Path:
    """The folder of the looks at anchors."""
    return anchors.with_name(f"{anchors.stem}-looks")


def anchors_of(look: Path) -> Path | None:
    """The file of anchors that a run is a look at, where it lies beside the looks."""
    name, ending, _ = look.absolute().parent.name.rpartition("-looks")
    path = look.absolute().parent.with_name(f"{name}.jsonl")
    return path if ending and path.is_file() else None


def look_folder(looks: Path, number: int) -> Path:
    return looks / f"{number:03}"


def next_look(looks: Path) -> int:
    """The number of the look that comes next, or is under way."""
    return next(number for number in range(1, 100_000) if not _is_whole(look_folder(looks, number)))


def _is_whole(folder: Path) -> bool:
    return holds_run(folder) and run_info(folder).facts.get("ended") == "complete"


def look_plan(plan: Plan, anchors: AnchorSet, number: int) -> Plan:
    """Return ``plan`` over the anchors that are intact, asked as a further sample each time."""
    rows = tuple(one.instance for one in anchors.anchors if one.is_intact)
    if not rows:
        raise RunError("no anchor is the row that was judged: make new anchors")
    judges = tuple(
        replace(asked_again(one, number), name=one.name, label=one.label) for one in plan.judges
    )
    return replace(
        plan.over(replace(plan.file, rows=rows)),
        judges=judges,
        facts={**plan.facts, FACT: {"look": number}},
    )


def drift_report(anchors: AnchorSet, looks: Path) -> DriftReport:
    """What all looks that are whole say."""
    intact = {one.hash: one for one in anchors.anchors if one.is_intact}
    names = list(dict.fromkeys(name for one in anchors.anchors for name in one.said))
    first = AnchorLook(
        number=0,
        at=anchors.made,
        said={
            name: {hash: one.said[name] for hash, one in intact.items() if name in one.said}
            for name in names
        },
        identities=anchors.identities,
        models=anchors.models,
    )
    history = [first, *_looks(anchors, looks)]
    last = history[-1]
    questions = [_question(name, history, len(names) / _RISK) for name in names]
    return DriftReport(
        anchors=len(anchors.anchors),
        edited=tuple(one.instance.id or one.hash for one in anchors.anchors if not one.is_intact),
        looks=tuple(history),
        questions=tuple(questions),
        renamed=tuple(
            (model, before, now)
            for model, now in last.models.items()
            if (before := first.models.get(model)) and before != now
        ),
        unscored=sum(
            hash not in last.said[name]
            for name, each in first.said.items()
            if name in last.said
            for hash in each
        ),
    )


def _looks(anchors: AnchorSet, looks: Path) -> Iterator[AnchorLook]:
    known = {one.hash for one in anchors.anchors if one.is_intact}
    for number in range(1, next_look(looks)):
        folder = look_folder(looks, number)
        info = run_info(folder)
        records = list(records_of(folder, votes=True))
        names = question_names((one.judge, one.criterion) for one in records)
        said: dict[str, dict[str, AnchorAnswer]] = {name: {} for name in names.values()}
        models: dict[str, str] = {}
        for record in records:
            name = names[record.judge, record.criterion]
            answer = answer_of(record, anchors.scales.get(name, (0.0, 1.0)))
            models |= models_in(record)
            if answer is not None and record.identity in known:
                said[name][record.identity] = answer
        started = info.facts.get("started")
        yield AnchorLook(
            number=number,
            at=float(started) if isinstance(started, int | float) else 0.0,
            said=said,
            identities={
                name: info.identities[judge]
                for (judge, _), name in names.items()
                if judge in info.identities
            },
            models=models,
        )


def _question(name: str, history: Sequence[AnchorLook], bar: float) -> QuestionDrift:
    answers = [one.said.get(name, {}) for one in history]
    first, last = answers[0], answers[-1]
    both = [hash for hash in first if hash in last] if len(history) > 1 else []
    before, now = history[0].identities.get(name), history[-1].identities.get(name)
    judges = [one.identities.get(name, before) for one in history[1:]]
    by_judge = {
        judge: change_evidence(_answers_by(judge, name, history), bar)
        for judge in (before, *judges)
    }
    evidence = [by_judge[judge][place] for place, judge in enumerate(judges)]
    itself = _reached(by_judge[before], bar)
    own = by_judge[now or before]
    since = _reached(own, bar)
    only_first_changed = since is None and itself is not None
    if only_first_changed:  # a look at another judge does not undo a change
        own, since = by_judge[before], itself
    differ = sum(first[hash].option != last[hash].option for hash in both)
    reconfigured = before is not None and now is not None and before != now
    outcome = _outcome(own, bar, len(both))
    if outcome is DriftOutcome.NOISE and reconfigured and differ:
        # how much this judge wavers is unknown: the first answers are another judge's
        outcome = DriftOutcome.CANNOT_TELL
    return QuestionDrift(
        question=name,
        outcome=outcome,
        evidence=tuple(evidence),
        most=max(own, default=1.0),
        since=since,
        other_judge=tuple(look for look, judge in enumerate(judges, 1) if judge != before),
        only_first_changed=only_first_changed,
        bar=bar,
        compared=len(both),
        differ=differ,
        means=tuple(map(_mean, answers)),
        first=Counter(str(one.option) for one in first.values()),
        last=Counter(str(one.option) for one in last.values()),
        reconfigured=reconfigured,
        itself=itself,
    )


def _answers_by(
    identity: str | None, name: str, history: Sequence[AnchorLook]
) -> list[Mapping[str, AnchorAnswer]]:
    """What was said at first and by the judge with that identity: another judge that somebody
    looked at in between says nothing of whether this one has changed.
    """
    own = [one.identities.get(name, identity) == identity for one in history[1:]]
    return [
        one.said.get(name, {}) if is_own else {}
        for one, is_own in zip(history, [True, *own], strict=True)
    ]


def _reached(evidence: Sequence[float], bar: float) -> int | None:
    """The first look with such evidence."""
    return next((at for at, one in enumerate(evidence, 1) if one >= bar), None)


def _outcome(evidence: Sequence[float], bar: float, compared: int) -> DriftOutcome:
    if any(one >= bar for one in evidence):
        return DriftOutcome.CHANGED
    return DriftOutcome.NOISE if compared >= FEWEST else DriftOutcome.CANNOT_TELL


def _mean(answers: Mapping[str, AnchorAnswer]) -> float | None:
    known = [one.score for one in answers.values() if one.score is not None]
    return fmean(known) if known else None
