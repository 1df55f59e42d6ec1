"""Second opinions about a run's rows, by a model that writes reasons.

They are a run of their own. The verdicts of the first run, and everything computed from them, stay
as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import STEPS, Instance, names_only
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import LabelScale
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.results import Result, Status
from adjudge.core.engine.run import RunSettings
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.model import Model
from adjudge.core.gateway.opener import open_model
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.learnt_settings import Learnt
from adjudge.errors import SetupError
from adjudge.runs.folder import records_of
from adjudge.runs.trusted_folders import own_folder
from adjudge.stats.temperature import at_temperature
from adjudge.trust.labels.scales import judge_scales

BELOW = 0.8
"""Verdicts with a smaller probability are uncertain."""
Why = Literal["no verdict", "not the best verdict", "uncertain"]


class OpinionShape(TypedDict):
    """A second opinion, in JSON."""

    judge: str
    criteria: str
    row: int
    id: str | None
    because: Why
    verdict: Annotated[str | None, "of the run; it stays as it is"]
    probability: Annotated[
        float | None, "of that verdict, calibrated if asked for; null if the run has none"
    ]
    second_opinion: Annotated[str | None, "of the other model; null if it gave none"]
    agrees: Annotated[bool | None, "null if one of them has no verdict"]
    explanation: str | None
    reason: Annotated[str | None, "why there is no second opinion"]


@dataclass(frozen=True)
class SecondOpinion:
    """Another model's opinion of a row. It does not change the run's verdict."""

    record: JudgmentRecord
    because: Why
    probability: float | None
    option: str | None
    explanation: str | None
    reason: str | None

    @property
    def agrees(self) -> bool | None:
        """Return True if both verdicts are the same; None if there are not two."""
        verdict = self.record.verdict if self.record.scored else None
        return None if verdict is None or self.option is None else verdict == self.option

    def to_dict(self) -> JsonDict:
        """Return it in the shape of ``OpinionShape``."""
        record = self.record
        return {
            "judge": record.judge,
            "criteria": record.criterion,
            "row": record.row,
            "id": record.id,
            "because": self.because,
            "verdict": record.verdict if record.scored else None,
            "probability": self.probability,
            "second_opinion": self.option,
            "agrees": self.agrees,
            "explanation": self.explanation,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Opinions:
    """The second opinions about a run."""

    run: Path
    folder: Path
    """The run in which they are kept, with their cost."""
    model: str
    opinions: tuple[SecondOpinion, ...]
    good: int
    """Judgments that were not asked about: the best verdict, and certain."""
    left_out: int
    """Judgments that cannot be asked about: comparisons, numbers, and those that no question
    describes.
    """
    skipped: int
    """Rows that the run itself skipped."""
    is_calibrated: bool
    """True if a learnt temperature was applied to the probabilities."""

    @property
    def agreement(self) -> Counter[bool | None]:
        """The number of opinions that agree, differ, or cannot be compared (None)."""
        return Counter(opinion.agrees for opinion in self.opinions)


@dataclass
class _Selection:
    rows: list[tuple[JudgmentRecord, Criteria, Why, float | None]] = field(default_factory=list)
    good: int = 0
    left_out: int = 0
    skipped: int = 0


def explain_run(
    run: str | Path,
    model: str | Model,
    *,
    below: float = BELOW,
    calibration: str | Path | None = None,
    folder: str | Path | None = None,
    budget: Budget | None = None,
    language: str = "en",
) -> Opinions:
    """Ask a model that writes about the rows of a run that have no verdict, not the best one, or
    one with a probability smaller than ``below``.

    ``calibration``: a file of ``adjudge calibrate --probabilities -o FILE``, whose temperatures are
    applied to the run's probabilities; refused for a judge that it was not learnt for. It moves
    no verdict.

    The model does not see the run's verdicts. Its answers are kept in ``folder``, by default next
    to the run, and are not asked for again.

    >>> explain_run("runs/eval", "openai/gpt-4o-mini").agreement  # doctest: +SKIP
    Counter({True: 9, False: 2})
    """
    run, learnt = Path(run), Learnt.read(calibration) if calibration else None
    selection = _select(run, below, learnt)
    # a link is not followed: the folder is next to what was named
    place = run if run.name not in ("", "..") else run.resolve()
    folder = (
        Path(folder)
        if folder
        else own_folder(place.with_name(f"{place.name}-explained"), place.parent)
    )
    if folder.resolve() == run.resolve():
        raise SetupError("{folder} is the run itself: name another folder", folder=folder)
    writer = open_model(model) if isinstance(model, str) else model
    if writer.capabilities.exact_logprobs or writer.capabilities.decisions:
        raise SetupError(
            "{name} judges and cannot write: name a model that can, such as openai/gpt-4o-mini",
            name=writer.name,
        )
    results = _ask(selection, writer, folder, budget, language, run)
    opinions = (
        _opinion(record, why, probability, result)
        for (record, _, why, probability), result in zip(selection.rows, results, strict=True)
    )
    return Opinions(
        run,
        folder,
        writer.name,
        tuple(opinions),
        selection.good,
        selection.left_out,
        selection.skipped,
        learnt is not None,
    )


def _ask(
    selection: _Selection,
    writer: Model,
    folder: Path,
    budget: Budget | None,
    language: str,
    run: Path,
) -> Sequence[Result]:
    if not selection.rows:
        return []
    return DirectJudge(writer, language=language).evaluate(
        [Instance(dict(record.fields), record.id) for record, *_ in selection.rows],
        [_marked(criteria) for _, criteria, *_ in selection.rows],
        run=RunSettings(folder, facts={"second_opinion_of": str(run.resolve())}),
        budget=budget,
    )


def _marked(criteria: Criteria) -> Criteria:
    """Name the criterion so that its figures, of chosen rows only, are not taken for the run's."""
    return replace(criteria, name=f"{criteria.name} (second opinion)")


def _select(run: Path, below: float, learnt: Learnt | None) -> _Selection:
    judges = judge_scales(run)
    scales: dict[tuple[str, str], LabelScale] = {}
    temperatures: dict[tuple[str, str], float] = {}
    for judge, judged_scale, identity in judges:
        key = judge, judged_scale.name
        scales[key] = judged_scale
        if learnt is not None:
            fitted = learnt.temperature_for(judged_scale.name)
            fitted.check(identity)
            temperatures[key] = fitted.temperature
    selection = _Selection()
    for record in records_of(run, votes=True):
        scale = scales.get((record.judge, record.criterion))
        if record.status == "skipped":
            selection.skipped += 1
        elif scale is None or not _can_be_asked(record, scale):
            selection.left_out += 1
        else:
            temperature = temperatures.get((record.judge, record.criterion))
            probability = _probability(record, temperature)
            if why := _why(record, scale, probability, below):
                selection.rows.append((record, scale.criteria, why, probability))
            else:
                selection.good += 1
    return selection


def _can_be_asked(record: JudgmentRecord, scale: LabelScale) -> bool:
    is_plain = not (scale.compares or scale.range or scale.by_parts or record.systems)
    # steps of an agent need an agent's judge, and names of texts hold no text
    has_texts = STEPS not in record.fields and not names_only(record.input)
    return is_plain and has_texts and len(scale.criteria.options) > 1


def _why(
    record: JudgmentRecord, scale: LabelScale, probability: float | None, below: float
) -> Why | None:
    if not record.scored or record.verdict is None:
        return "no verdict"
    points = _points(scale)
    if points and points.get(record.verdict) != max(points.values()):
        return "not the best verdict"
    return "uncertain" if probability is not None and probability < below else None


def _points(scale: LabelScale) -> Mapping[str, float]:
    """Return option → points; empty if an option has none, because then no option is the best."""
    points = {option.name: option.points for option in scale.criteria.options}
    known = {name: value for name, value in points.items() if value is not None}
    return known if len(known) == len(points) else {}


def _probability(record: JudgmentRecord, temperature: float | None) -> float | None:
    """Return the mean probability of the verdict, else the share of several votes for it.

    A temperature is applied to the mean, as it was fitted.
    """
    verdict = record.verdict
    votes = [vote for vote in record.votes or () if vote.option is not None]
    if verdict is None or not votes:
        return None
    shares = [vote.distribution for vote in votes if vote.distribution]
    if len(shares) < len(votes):
        return record.agreement if len(votes) > 1 and temperature is None else None
    mean = {name: fmean(share.get(name, 0.0) for share in shares) for name in shares[0]}
    calibrated = mean if temperature is None else at_temperature(mean, temperature)
    return calibrated.get(verdict)


def _opinion(
    record: JudgmentRecord, why: Why, probability: float | None, result: Result
) -> SecondOpinion:
    scored = result.status is Status.SCORED
    return SecondOpinion(
        record,
        why,
        probability,
        result.verdict if scored else None,
        (result.explanation or None) if scored else None,
        None if scored else result.reason or result.status.value,
    )
