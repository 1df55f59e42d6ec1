"""Second opinions of a writing model, with reasons, about the rows of a run that failed or are
uncertain.

They change no verdict and no number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import STEPS, Instance, names_only
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.label import LabelScale
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import Because, JudgmentRecord, SecondOpinionRecord
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.vote import Vote
from adjudge.core.engine.estimate import CostEstimate, Known
from adjudge.core.engine.identity import judge_identity, step_identities
from adjudge.core.engine.session import EnclosingRun, OpenedSession, OpenRun, session
from adjudge.core.gateway.model import Model
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.judges.case import Case
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.learnt_settings import Learnt
from adjudge.core.ledger.file import OPINIONS, read_judges
from adjudge.core.ledger.records import records
from adjudge.errors import SetupError
from adjudge.runs.folder import reading
from adjudge.runs.project import DEFAULT_BELOW
from adjudge.runs.ready_judge import ReadyJudge
from adjudge.stats.temperature import at_temperature
from adjudge.trust.labels.scales import judge_scales, scales_of

_ASSUMED = "x" * 800
"""Stands for an answer that a target has yet to give, in estimates."""


def check_writer(model: Model) -> None:
    """Raise a SetupError if a model gives no reasons."""
    if model.capabilities.exact_logprobs or model.capabilities.decisions:
        raise SetupError(
            "{name} can judge but not write: name a model that can, such as openai/gpt-4o-mini",
            name=model.name,
        )


class ChosenJudgment(NamedTuple):
    """A judgment that another model is asked about."""

    record: JudgmentRecord
    criteria: Criteria
    because: Because
    probability: float | None
    is_calibrated: bool

    @property
    def case(self) -> Case:
        """The row with its question."""
        return Case(Instance(dict(self.record.fields), self.record.id), self.criteria)


Temperatures = Mapping[str, float]
"""Model → learned temperature of its probabilities under one criterion."""


@dataclass
class OpinionSelection:
    """Chooses the judgments to ask about, and counts the others."""

    judge: DirectJudge
    """Gives the opinions."""
    scales: Mapping[tuple[str, str], LabelScale]
    """(judge, criterion) → its question."""
    below: float = DEFAULT_BELOW
    temperatures: Mapping[tuple[str, str], Temperatures] = field(default_factory=dict)
    asked_of: Collection[str] = ()
    """Judges that asked the same model: it gave its reasons already."""
    good: int = 0
    left_out: int = 0
    skipped: int = 0

    @classmethod
    def of_run(
        cls, judge: DirectJudge, run: Path, below: float, learnt: Learnt | None, writer: str = ""
    ) -> OpinionSelection:
        """Return the selection for a run's judges, except those that asked ``writer``."""
        with reading(run) as ledger:
            judges = read_judges(ledger)
        scales = {(judge, scale.name): scale for judge, scale, _ in judge_scales(run)}
        return cls(
            judge,
            scales,
            below,
            temperatures_of(judges, scales, learnt) if learnt else {},
            {name for name, asked in judges.items() if writer in models_of(asked)},
        )

    def choose(self, record: JudgmentRecord) -> ChosenJudgment | None:
        """Return the judgment with the reason to ask about it; None if it is not asked about."""
        key = record.judge, record.criterion
        scale = self.scales.get(key)
        if record.status == "skipped":
            self.skipped += 1
            return None
        if scale is None or record.judge in self.asked_of or not _can_be_asked(record, scale):
            self.left_out += 1
            return None
        probability, is_calibrated = _probability(record, self.temperatures.get(key, {}))
        because = _because(record, scale, probability, self.below)
        if because is None:
            self.good += 1
            return None
        chosen = ChosenJudgment(record, scale.criteria, because, probability, is_calibrated)
        if not _fits(self.judge, chosen.case):
            self.left_out += 1
            return None
        return chosen


def temperatures_of(
    judges: Mapping[str, JudgeConfiguration],
    scales: Iterable[tuple[str, str]],
    learnt: Learnt,
) -> dict[tuple[str, str], Temperatures]:
    """Return the learned temperatures by judge and criterion; a judge that none was learned for is
    left out.

    Raise a SetupError if all temperatures of a criterion belong to other judges, or if no criterion
    has one.
    """
    temperatures: dict[tuple[str, str], Temperatures] = {}
    identities: dict[str, str] = {}
    for judge, criterion in scales:
        configuration = judges[judge]
        identities[criterion] = judge_identity(configuration, criterion)
        fitted = (
            learnt.step_temperatures(criterion, step_identities(configuration, criterion))
            if configuration.steps
            else learnt.own_temperature(criterion, identities[criterion])
        )
        if fitted:
            temperatures[judge, criterion] = fitted
    used = {criterion for _, criterion in temperatures}
    known = {temperature.criteria for temperature in learnt.temperatures}
    # those that it knows come first: their message says why they cannot be used
    for criterion, identity in sorted(identities.items(), key=lambda entry: entry[0] not in known):
        if criterion not in used and (criterion in known or not temperatures):
            learnt.temperature_for(criterion).check(identity)
    return temperatures


def models_of(judge: JudgeConfiguration) -> set[str]:
    """Return the names of a judge's models, including those of a cascade's steps."""
    return {*judge.models, *(model for step in judge.steps for model in step.models)}


def _can_be_asked(record: JudgmentRecord, scale: LabelScale) -> bool:
    if record.detail.kind == "check":
        return False  # decided by a program, not by a judge
    # steps of an agent need an agent's judge, and names of texts hold no text
    has_texts = STEPS not in record.fields and not names_only(record.input)
    return is_askable(scale) and not record.systems and has_texts


def _fits(judge: DirectJudge, case: Case) -> bool:
    """Return False if the row lacks what the question reads."""
    try:
        judge.check(case)
    except SetupError:
        return False
    return True


def is_askable(scale: LabelScale) -> bool:
    """Return True for a choice among options about one text."""
    is_plain = not (scale.compares or scale.range or scale.by_parts)
    return is_plain and len(scale.criteria.options) > 1


def _because(
    record: JudgmentRecord, scale: LabelScale, probability: float | None, below: float
) -> Because | None:
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


def _probability(record: JudgmentRecord, temperatures: Temperatures) -> tuple[float | None, bool]:
    """Return the mean probability of the verdict, else the share of several votes for it, and
    whether a temperature was applied.

    A temperature is applied to the mean, as it was fitted. Of a cascade, only the step that
    decided counts.
    """
    verdict, step = record.verdict, record.decided_by
    votes = [
        vote
        for vote in record.votes or ()
        if vote.option is not None and (step is None or vote.model == step)
    ]
    if verdict is None or not votes:
        return None, False
    shares = [vote.distribution for vote in votes if vote.distribution]
    if len(shares) < len(votes):
        return (record.agreement if len(votes) > 1 and step is None else None), False
    mean = {name: fmean(share.get(name, 0.0) for share in shares) for name in shares[0]}
    temperature = temperatures.get(step or "")
    if temperature is None:
        return mean.get(verdict), False
    return at_temperature(mean, temperature).get(verdict), True


def opinion_of(chosen: ChosenJudgment, model: str, result: Result) -> SecondOpinionRecord:
    """Return the other model's answer about a judgment."""
    scored = result.status is Status.SCORED
    return SecondOpinionRecord(
        model=model,
        because=chosen.because,
        verdict=result.verdict if scored else None,
        explanation=(result.explanation or None) if scored else None,
        reason=None if scored else result.reason or result.status.value,
        probability=chosen.probability,
        calibrated=chosen.is_calibrated,
    )


# -- in a run of an eval file -----------------------------------------------------------------


@light_dataclass(frozen=True)
class Explaining:
    """The key ``explain`` of an eval file, ready to run: it asks after the verdicts are in."""

    model: OpenModel
    language: str
    below: float = DEFAULT_BELOW
    learnt: Learnt | None = None

    def check(self, judges: Sequence[ReadyJudge]) -> None:
        """Raise a SetupError before anything is asked, if nothing could be explained or the
        calibration is of other judges.
        """
        check_writer(self.model)
        configurations = {
            ready.label: JudgeConfiguration.of(ready.configuration) for ready in judges
        }
        scales = {
            (ready.label, scale.name): scale
            for ready in judges
            for scale in _scales(ready, configurations[ready.label])
        }
        if self.learnt:
            temperatures_of(configurations, scales, self.learnt)
        asked = [models for judge in configurations.values() if (models := models_of(judge))]
        if asked and all(self.model.name in models for models in asked):
            raise SetupError(
                "explain: {model} is the judge itself and cannot give a second opinion: name "
                "another model",
                model=self.model.name,
            )

    @property
    def judge(self) -> DirectJudge:
        """The judge that gives the opinions."""
        return DirectJudge(self.model, language=self.language)

    async def ask(
        self,
        run: OpenRun,
        folder: Path,
        on_begin: Callable[[], None],
        on_vote: Callable[[Vote], None],
    ) -> None:
        """Ask about the rows of a run whose verdicts are in, and store the opinions with their
        judgments. What was answered is not asked again.

        ``on_begin``: called before the first row that has no opinion yet.
        """
        await run.ledger.flush()
        judge = self.judge
        selection = OpinionSelection.of_run(judge, folder, self.below, self.learnt, self.model.name)
        pending: dict[int, ChosenJudgment] = {}
        has_begun = False
        keys: list[bytes] = []
        ballots: set[str] = set()
        facts: JsonDict = {}

        def store(number: int, result: Result) -> None:
            chosen = pending.pop(number)
            ballots.update(vote.ballot.id for vote in result.votes)
            keys.clear()  # the judgments name their own votes alone
            opinion = opinion_of(chosen, self.model.name, result)
            if chosen.record.second_opinion != opinion:
                run.ledger.keep_opinion(chosen.record.judge, chosen.record.index, opinion)

        with reading(folder) as ledger:
            chosen_rows = filter(None, map(selection.choose, records(ledger, votes=True)))

            def cases() -> Iterator[Case]:
                for number, chosen in enumerate(chosen_rows):
                    nonlocal has_begun
                    if not has_begun and not self._has_asked(chosen.record):
                        has_begun = True
                        on_begin()
                    pending[number] = chosen
                    yield chosen.case

            try:
                with OpenedSession(replace(session(), run=EnclosingRun(run, keys), backend=None)):
                    await judge.judge_stream(cases(), store, on_vote=on_vote)
                facts["left_out"] = selection.left_out  # known if all judgments were looked at
            finally:
                await run.ledger.note(OPINIONS, {**facts, "votes": len(ballots)})
        await run.ledger.flush()

    def _has_asked(self, record: JudgmentRecord) -> bool:
        opinion = record.second_opinion
        return opinion is not None and opinion.model == self.model.name

    def estimate(
        self,
        rows: Iterable[tuple[ReadyJudge, Iterable[object]]],
        known: Known | None,
        prices: PriceTable,
    ) -> CostEstimate:
        """Estimate the opinions: from none to one for each judgment that can have one."""
        judge = self.judge
        cases = chain.from_iterable(self._cases(ready, items) for ready, items in rows)
        cost = judge.estimate((case for case in cases if _fits(judge, case)), known, prices)
        return replace(
            cost,
            rows=0,  # they are no judgments
            calls=(0, cost.calls[1]),
            tokens=(0, cost.tokens[1]),
            usd=(0.0, cost.usd[1]),
            batch_usd=(0.0, cost.usd[1]),
            rounds=0,
        )

    def _cases(self, ready: ReadyJudge, items: Iterable[object]) -> Iterator[Case]:
        configuration = JudgeConfiguration.of(ready.configuration)
        scales = [scale for scale in _scales(ready, configuration) if is_askable(scale)]
        asked = models_of(configuration)
        if not asked or self.model.name in asked or not scales:  # checks ask no model
            return
        for item in items:
            judged = _inside(item)
            if isinstance(judged, Case):
                yield Case(_answered(judged.instance, judged.criteria), judged.criteria)
            elif isinstance(judged, Instance):
                for scale in scales:
                    yield Case(_answered(judged, scale.criteria), scale.criteria)


def _scales(ready: ReadyJudge, configuration: JudgeConfiguration) -> Iterator[LabelScale]:
    return scales_of(configuration, compares=ready.compares)


def _inside(item: object) -> object:
    """Return what a judge around others was given: a case or an instance."""
    if isinstance(item, Case | Instance):
        return item
    inner = getattr(item, "item", None) or getattr(item, "instance", None)
    return inner if inner is None else _inside(inner)


def _answered(instance: Instance, criteria: Criteria) -> Instance:
    """Return the instance, with an assumed text if a target has yet to answer."""
    field_name = criteria.to_evaluate_field
    if instance.fields.get(field_name):
        return instance
    return Instance({**instance.fields, field_name: _ASSUMED}, instance.id)
