"""The history of anchors: the verdicts at each look, and whether the judge has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.json_document import Count, fill
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
"""The fact of a run folder that marks it as a look at anchors."""
# Risk that any question is called drifted although the judge did not change.
_RISK = 0.05


class DriftOutcome(StrEnum):
    """The conclusion about one question."""

    CHANGED = "changed"
    NOISE = "noise"
    CANNOT_TELL = "cannot tell"


@light_dataclass(frozen=True, kw_only=True)
class AnchorLook:
    """The anchors, judged once."""

    number: int
    at: float
    answers: Mapping[str, Mapping[str, AnchorAnswer]]
    """Question → anchor, by its hash → answer."""
    identities: Mapping[str, str]
    models: Mapping[str, str]


class QuestionDriftShape(TypedDict):
    """One question at all looks."""

    criteria: str
    outcome: Literal["changed", "noise", "cannot tell"]
    evidence: Annotated[
        Sequence[float], "after each look but the first, of the judge looked at: 20 is a risk of 5%"
    ]
    bar: Annotated[float, "from which on the judge is said to have changed"]
    since: Annotated[int | None, "the look at which the bar was reached first"]
    compared: Annotated[int, "anchors with a verdict at first and at the last look"]
    differ: Annotated[int, "those of them whose verdict is another one"]
    means: Annotated[Sequence[float | None], "of the scores, from 0 to 1, at each look"]
    first: Annotated[Count, "option: anchors, at first"]
    last: Count
    reconfigured: Annotated[bool, "whether the judge is set up otherwise than at first"]
    other_judge: Annotated[Sequence[int], "looks at another judge than that of the anchors"]


@light_dataclass(frozen=True, kw_only=True)
class QuestionDrift:
    """The history of one question over all looks."""

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
    """Compared anchors whose verdict differs."""
    means: tuple[float | None, ...]
    """Mean of the anchors' scores, from 0 to 1, at each look."""
    first: Mapping[str, int]
    """Option → anchors, at first."""
    last: Mapping[str, int]
    reconfigured: bool
    """True if the judge's identity is not the one that the anchors are from."""
    itself: int | None
    """The first look at which the judge that the anchors are from is said to have changed, whoever
    was looked at since.
    """

    def options_at(self, look: AnchorLook) -> Counter[str]:
        """Count the anchors of each option at a look."""
        return Counter(
            str(answer.option) for answer in look.answers.get(self.question, {}).values()
        )

    def to_dict(self) -> JsonDict:
        return fill(QuestionDriftShape, self, criteria=self.question)


@light_dataclass(frozen=True, kw_only=True)
class DriftReport:
    anchors: int
    edited: tuple[str, ...]
    """Anchors whose text is not the one that was judged: they are left out."""
    looks: tuple[AnchorLook, ...]
    """The first is what the anchors were chosen with."""
    questions: tuple[QuestionDrift, ...]
    renamed: tuple[tuple[str, str, str], ...]
    """(model, the name in its first replies, the name now), if they differ."""
    unscored: int
    """Anchors without a verdict at the last look, over all questions."""

    @property
    def changed(self) -> bool:
        return any(question.outcome is DriftOutcome.CHANGED for question in self.questions)

    def changes(self, anchors: AnchorSet) -> dict[str, float]:
        """Map each judge that changed while its setup stayed the same to when that was found.

        The keys are the judges' identities.
        """
        times: dict[str, float] = {}
        for question in self.questions:
            identity = anchors.identities.get(question.question)
            if question.itself is not None and identity is not None:
                times[identity] = max(self.looks[question.itself].at, times.get(identity, 0.0))
        return times

    @property
    def cannot_tell(self) -> bool:
        return not self.questions or any(
            question.outcome is DriftOutcome.CANNOT_TELL for question in self.questions
        )


def looks_of(anchors: Path) -> Path:
    """Return the folder with the looks at the anchors."""
    return anchors.with_name(f"{anchors.stem}-looks")


def anchors_of(look: Path) -> Path | None:
    """Return the anchor file that a run is a look at, if it is next to the folder of looks."""
    name, ending, _ = look.absolute().parent.name.rpartition("-looks")
    path = look.absolute().parent.with_name(f"{name}.jsonl")
    return path if ending and path.is_file() else None


def look_folder(looks: Path, number: int) -> Path:
    return looks / f"{number:03}"


def next_look(looks: Path) -> int:
    """Return the number of the next look, or of the one that is under way."""
    # a look that was broken off is resumed under its number
    return next(number for number in range(1, 100_000) if not _is_whole(look_folder(looks, number)))


def _is_whole(folder: Path) -> bool:
    return holds_run(folder) and run_info(folder).facts.get("ended") == "complete"


def look_plan(plan: Plan, anchors: AnchorSet, number: int) -> Plan:
    """Return ``plan`` over the intact anchors."""
    rows = tuple(candidate.instance for candidate in anchors.anchors if candidate.is_intact)
    if not rows:
        raise RunError("no anchor still matches the row that was judged: create new anchors")
    judges = tuple(
        # a further sample each time, so that no answer comes from an earlier look
        replace(asked_again(candidate, number), name=candidate.name, label=candidate.label)
        for candidate in plan.judges
    )
    return replace(
        plan.over(replace(plan.file, rows=rows)),
        judges=judges,
        facts={**plan.facts, FACT: {"look": number}},
    )


def drift_report(anchors: AnchorSet, looks: Path) -> DriftReport:
    """Compare all finished looks."""
    # an edited row was never judged as it is now
    intact = {anchor.hash: anchor for anchor in anchors.anchors if anchor.is_intact}
    names = list(dict.fromkeys(name for anchor in anchors.anchors for name in anchor.answers))
    original = AnchorLook(
        number=0,
        at=anchors.made,
        answers={
            name: {
                hash: anchor.answers[name]
                for hash, anchor in intact.items()
                if name in anchor.answers
            }
            for name in names
        },
        identities=anchors.identities,
        models=anchors.models,
    )
    history = [original, *_looks(anchors, looks)]
    last = history[-1]
    # a bar of 1 / risk for each question, raised by their number: the risk holds for all together
    questions = [_question(name, history, len(names) / _RISK) for name in names]
    return DriftReport(
        anchors=len(anchors.anchors),
        edited=tuple(
            anchor.instance.id or anchor.hash for anchor in anchors.anchors if not anchor.is_intact
        ),
        looks=tuple(history),
        questions=tuple(questions),
        renamed=tuple(
            (model, model_then, now)
            for model, now in last.models.items()
            if (model_then := original.models.get(model)) and model_then != now
        ),
        unscored=sum(
            hash not in last.answers[name]
            for name, answers in original.answers.items()
            if name in last.answers
            for hash in answers
        ),
    )


def _looks(anchors: AnchorSet, looks: Path) -> Iterator[AnchorLook]:
    hashes = {anchor.hash for anchor in anchors.anchors if anchor.is_intact}
    for number in range(1, next_look(looks)):
        folder = look_folder(looks, number)
        info = run_info(folder)
        records = list(records_of(folder, votes=True))
        names = question_names((record.judge, record.criterion) for record in records)
        answers: dict[str, dict[str, AnchorAnswer]] = {name: {} for name in names.values()}
        models: dict[str, str] = {}
        for record in records:
            name = names[record.judge, record.criterion]
            answer = answer_of(record, anchors.scales.get(name, (0.0, 1.0)))
            models |= models_in(record)
            if answer is not None and record.identity in hashes:
                answers[name][record.identity] = answer
        started = info.facts.get("started")
        yield AnchorLook(
            number=number,
            at=float(started) if isinstance(started, int | float) else 0.0,
            answers=answers,
            identities={
                name: info.identities[judge]
                for (judge, _), name in names.items()
                if judge in info.identities
            },
            models=models,
        )


def _question(name: str, history: Sequence[AnchorLook], bar: float) -> QuestionDrift:
    answers = [past.answers.get(name, {}) for past in history]
    original, latest = answers[0], answers[-1]
    compared = [hash for hash in original if hash in latest] if len(history) > 1 else []
    identity_then, identity_now = history[0].identities.get(name), history[-1].identities.get(name)
    judges = [past.identities.get(name, identity_then) for past in history[1:]]
    by_judge = {
        judge: change_evidence(_answers_by(judge, name, history), bar)
        for judge in (identity_then, *judges)
    }
    evidence = [by_judge[judge][place] for place, judge in enumerate(judges)]
    original_changed = _find_first_reaching(by_judge[identity_then], bar)
    relevant = by_judge[identity_now or identity_then]
    since = _find_first_reaching(relevant, bar)
    only_first_changed = since is None and original_changed is not None
    if only_first_changed:  # a look at another judge does not undo a change
        relevant, since = by_judge[identity_then], original_changed
    differ = sum(original[hash].option != latest[hash].option for hash in compared)
    reconfigured = (
        identity_then is not None and identity_now is not None and identity_then != identity_now
    )
    outcome = _outcome(relevant, bar, len(compared))
    if outcome is DriftOutcome.NOISE and reconfigured and differ:
        # how much this judge wavers is unknown: the first answers are another judge's
        outcome = DriftOutcome.CANNOT_TELL
    return QuestionDrift(
        question=name,
        outcome=outcome,
        evidence=tuple(evidence),
        most=max(relevant, default=1.0),
        since=since,
        other_judge=tuple(look for look, judge in enumerate(judges, 1) if judge != identity_then),
        only_first_changed=only_first_changed,
        bar=bar,
        compared=len(compared),
        differ=differ,
        means=tuple(map(_mean, answers)),
        first=Counter(str(answer.option) for answer in original.values()),
        last=Counter(str(answer.option) for answer in latest.values()),
        reconfigured=reconfigured,
        itself=original_changed,
    )


def _answers_by(
    identity: str | None, name: str, history: Sequence[AnchorLook]
) -> list[Mapping[str, AnchorAnswer]]:
    """Return the original answers, and those of each look at the judge with that identity.

    A look at another judge has no answers.
    """
    # a look at another judge in between says nothing about a change of this one
    same_judge = [look.identities.get(name, identity) == identity for look in history[1:]]
    return [
        look.answers.get(name, {}) if is_same else {}
        for look, is_same in zip(history, [True, *same_judge], strict=True)
    ]


def _find_first_reaching(evidence: Sequence[float], bar: float) -> int | None:
    """Return the first look whose evidence reaches the bar."""
    return next((at for at, value in enumerate(evidence, 1) if value >= bar), None)


def _outcome(evidence: Sequence[float], bar: float, compared: int) -> DriftOutcome:
    if any(value >= bar for value in evidence):
        return DriftOutcome.CHANGED
    return DriftOutcome.NOISE if compared >= FEWEST else DriftOutcome.CANNOT_TELL


def _mean(answers: Mapping[str, AnchorAnswer]) -> float | None:
    scores = [answer.score for answer in answers.values() if answer.score is not None]
    return fmean(scores) if scores else None
