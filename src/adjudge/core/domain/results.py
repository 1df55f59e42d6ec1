"""Results: the votes on one instance by one criterion, pooled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from adjudge.core.domain.criteria import Criteria, winner
from adjudge.core.domain.frozen_mapping import NOTHING, FrozenDict
from adjudge.core.domain.html_repr import HtmlRepr
from adjudge.core.domain.instance import Instance, Metadata
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage
from adjudge.core.domain.record import (
    AspectDetail,
    CascadeStepRecord,
    Detail,
    DirectDetail,
    JudgmentRecord,
    OrderCheck,
    OtherDetail,
    PairwiseDetail,
    SystemResult,
    spare_models,
)
from adjudge.core.domain.verdict import TIE, Chosen, Selection, Verdict
from adjudge.core.domain.vote import Vote, count_answering_models, usage_by_model
from adjudge.core.domain.vote_counts import count_agreeing, vote_count
from adjudge.errors import SetupError
from adjudge.messages import Message

# Characters of an explanation in ``str(result)``.
_LONGEST_SHOWN = 120


class Status(StrEnum):
    """The status of a judgment: scored, abstained or failed."""

    SCORED = "scored"
    ABSTAINED = "abstained"
    FAILED = "failed"
    SKIPPED = "skipped"
    """Not judged, since its precondition did not hold."""


@light_dataclass(frozen=True, kw_only=True)
class StepTaken:
    """One step of a cascade that was asked."""

    step: str
    """The model that was asked."""
    verdict: str | None
    confidence: float | None
    """None if its votes do not say how sure it is."""
    needed: float | None
    """The confidence from which on it is accepted; None: never."""
    accepted: bool
    """True if its verdict is the result."""
    usage: Usage = Usage()

    def record(self) -> CascadeStepRecord:
        """Return the step as a part of a judgment's record."""
        return CascadeStepRecord(
            step=self.step,
            verdict=self.verdict,
            confidence=self.confidence,
            needed=self.needed,
            accepted=self.accepted,
            calls=self.usage.calls,
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
        )


_UNSURE = Message("no step of the cascade was confident enough")


@light_dataclass(frozen=True, kw_only=True)
class Result(HtmlRepr):
    """Base of all results: status, votes, score, explanation and agreement.

    Example: ``result.score if result.status == "scored" else result.reason``
    """

    # A custom judge may return a result without both; they are added later.
    instance: Instance = None  # type: ignore[assignment]
    criteria: Criteria = None  # type: ignore[assignment]
    status: Status = Status.SCORED
    votes: tuple[Vote, ...] = ()
    score: float | None = None
    """None unless scored: a failure is never a number."""
    explanation: str | None = None
    """The explanation of the first vote that agrees with the outcome."""
    agreement: float | None = None
    """Share of the valid votes, both orders included, that agree with the outcome."""
    tie: bool = False
    """True if a tie was broken."""
    fallback: str | None = None
    """The stand-in the caller asked for, if one was used; aggregates skip it."""
    notes: tuple[str, ...] = ()
    """Notes for readers: requests that could not be met, and limits of the numbers."""
    steps: tuple[StepTaken, ...] = ()
    """The steps of a cascade that were asked, in their order."""
    made_by: tuple[Vote, ...] = ()
    """Votes of a target that wrote the judged text, if their cost belongs to this result."""
    replaced: Mapping[str, str] = NOTHING
    """Model of a panel without a verdict → the model that was asked in its place."""

    @property
    def decided_by(self) -> str | None:
        """The step of a cascade that gave the verdict; None if none was accepted."""
        return next((step.step for step in self.steps if step.accepted), None)

    def __str__(self) -> str:
        """Return one line with the instance, the criterion, the outcome, the votes and the start of
        the explanation.
        """
        names = [
            self.instance.id or "" if self.instance else "",
            self.criteria.name if self.criteria else "",
        ]
        why = self.explanation if self.status is Status.SCORED else self.reason
        parts = [
            self._in_words,
            self.vote_count,
            _beginning(why or ""),
        ]
        return ": ".join([*filter(None, names), "; ".join(filter(None, parts))])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def cells(self) -> JsonDict:
        """Return the cells of this result in a table, the longest text last."""
        why = self.explanation if self.status is Status.SCORED else self.reason
        return {
            "criterion": _beginning(self.criteria.name, 40) if self.criteria else None,
            "verdict": self.verdict or self.status.value,
            "score": self.score,
            "votes": f"{count_agreeing(self.votes_valid, self.agreement)}/{self.votes_requested}",
            "explanation": why or "",
        }

    @property
    def _in_words(self) -> str:
        """The verdict and the score in a few words; without a verdict, the status."""
        if self.status is not Status.SCORED:
            return (
                f"{self.status.value}, fallback {self.fallback}"
                if self.fallback
                else self.status.value
            )
        verdict, score = (
            self.verdict,
            None if self.score is None else f"score {self.score:.3g}",
        )
        return ", ".join(filter(None, (verdict, score))) or self.status.value

    @property
    def verdict(self) -> str | None:
        """The option, winner, PASS or FAIL; None if there is none, or if the outcome is a
        number.
        """
        return None

    @property
    def component_results(self) -> tuple[Result, ...]:
        """The results that this one consists of; empty for most kinds."""
        return ()

    @property
    def rating_range(self) -> tuple[float, float] | None:
        """The lowest and the highest number that was allowed; None if no number was asked for."""
        return None

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value that a missing score could have."""
        return 0.0, 1.0

    @property
    def votes_requested(self) -> int:
        """The number of votes that were asked for: of a member of a panel that was replaced and of
        its replacement, those of one.
        """
        spare = spare_models(self.replaced, self._excluded_by_model()) if self.replaced else ()
        return sum(vote.model not in spare for vote in self.votes) if spare else len(self.votes)

    @property
    def votes_valid(self) -> int:
        """The number of votes with a verdict."""
        return sum(vote.verdict is not None for vote in self.votes)

    @property
    def vote_count(self) -> Message:
        """The number of votes, and how many of them are for the verdict, in words."""
        return vote_count(
            self.verdict, self.votes_valid, self.votes_requested, self.agreement, tie=self.tie
        )

    @property
    def reason(self) -> str | None:
        """The reason why there is no score; None if there is one.

        It is the reason of the first vote without a verdict, or that no step of a cascade was sure
        enough. If the row was skipped, or no model was asked, it is the explanation.
        """
        if self.status is Status.SCORED:
            return None
        if self.status is Status.SKIPPED:
            return self.explanation
        if self.steps and self.status is Status.ABSTAINED and self.steps[-1].verdict is not None:
            return _UNSURE
        vote_reason = next((vote.reason for vote in self.votes if vote.reason), None)
        return vote_reason or (None if self.votes else self.explanation)

    @property
    def low_confidence(self) -> bool:
        """Return True if a vote is hardly more than a guess, or a tie of equally likely options."""
        return any(vote.low_confidence for vote in self.votes)

    @property
    def usage(self) -> Usage:
        """The usage of this judgment's votes."""
        return sum((vote.usage for vote in self.votes), Usage())

    @property
    def left_out(self) -> Mapping[str, str]:
        """The models of a panel without any valid vote, with the reason. Steps of a cascade do not
        count.
        """
        if self.steps:
            return {}
        cast = [(vote.ballot.model, vote) for vote in self.votes]
        if len({model for model, _ in cast}) < 2:
            return {}
        counted = {model for model, vote in cast if vote.verdict is not None}
        return {model: vote.failure for model, vote in cast if model not in counted}

    def to_dict(self, *, votes: bool = True) -> JsonDict:
        """Return this result as a JSON-ready dict, with or without its votes; with
        ``excluded_models`` if a panel lost some.
        """
        outcome = {"id": self.instance.id, **self.record().outcome()}
        return {**outcome, "votes": [vote.to_dict() for vote in self.votes]} if votes else outcome

    def record(self, judge: str = "", index: int = 0, *, votes: bool = False) -> JudgmentRecord:
        """Return the judgment record that everything after judging reads; ``index`` counts the
        judge's judgments from 0.
        """
        return JudgmentRecord(
            judge=judge,
            index=index,
            id=self.instance.id,
            # an Instance holds its lists as tuples
            fields=self.instance.fields,  # type: ignore[arg-type]
            input=self.instance.input,
            criterion=self.criteria.name,
            status=self.status.value,
            score=self.score,
            explanation=self.explanation,
            reason=self.reason,
            agreement=self.agreement,
            tie=self.tie,
            fallback=self.fallback,
            low_confidence=self.low_confidence,
            votes_requested=self.votes_requested,
            votes_valid=self.votes_valid,
            notes=tuple(self.notes),
            excluded_models=self._excluded_by_model(),
            steps=tuple(step.record() for step in self.steps),
            replaced_models=self.replaced,
            detail=self.detail(),
            votes=tuple(vote.record() for vote in self.votes) if votes else None,
            used=usage_by_model((*self.made_by, *self.votes)),
            named=count_answering_models(self.votes),
        )

    def detail(self) -> Detail:
        """Return the part of the record that only this kind of result has."""
        return OtherDetail(values=NOTHING)

    def answers_by_order(self) -> list[list[list[str]]]:
        """Return the answers per question (a model and the responses it compared), and per order
        shown.

        ``adjudge.stats.bias`` uses them to test, over many results, whether the order decides.
        """
        answers: dict[object, dict[object, list[str]]] = {}
        for vote in self.votes:
            if vote.verdict:
                orders = answers.setdefault(
                    (vote.model, vote.ballot.question.compared_responses), {}
                )
                orders.setdefault(vote.order, []).append(vote.verdict.option)
        return [list(orders.values()) for orders in answers.values()]

    def _excluded_by_model(self) -> Mapping[str, str]:
        return self.left_out


def _beginning(text: str, most: int = _LONGEST_SHOWN) -> str:
    """Return the text on one line, cut to ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


@light_dataclass(frozen=True)
class PositionalBias:
    """The effect of the reversed order of options or responses on one result."""

    detected: bool | None
    """True if the two orders' pooled options differ; None if an order has no verdict.

    One result does not prove a bias: see adjudge.stats.
    """
    result: Result | None = None
    """The whole judgment in the other order."""
    flip_rate: float | None = None
    """Share of the votes that change with the order."""
    noise_rate: float | None = None
    """Share of the votes that differ within one order: noise, not bias. None with one vote per
    order.
    """

    def record(self) -> OrderCheck:
        """Return the check as a part of a judgment's record."""
        return OrderCheck(
            detected=self.detected, flip_rate=self.flip_rate, noise_rate=self.noise_rate
        )


@light_dataclass(frozen=True, kw_only=True)
class _DirectFields(Result):
    """Fields of a DirectInstanceResult."""

    option: str | None = None
    mean_score: float | None = None
    """Mean over the valid votes, both orders included."""
    feedback: str | None = None
    """Advice, if it was asked for and the best option was not chosen."""
    positional_bias: PositionalBias | None = None
    metadata: Metadata = field(default_factory=FrozenDict)
    """The prompt of the judge, or the data that a custom judge returned."""


@light_dataclass(frozen=True, kw_only=True, init=False)
class DirectInstanceResult(_DirectFields):
    """One text judged by one criterion.

    Example: ``DirectInstanceResult(option="Yes", explanation="It names the source.")``
    """

    def __init__(
        self,
        *,
        option: str | None = None,
        selected_option: str | None = None,
        instance: Instance = None,  # type: ignore[assignment]
        criteria: Criteria = None,  # type: ignore[assignment]
        status: Status = Status.SCORED,
        votes: tuple[Vote, ...] = (),
        score: float | None = None,
        explanation: str | None = None,
        agreement: float | None = None,
        tie: bool = False,
        fallback: str | None = None,
        notes: tuple[str, ...] = (),
        steps: tuple[StepTaken, ...] = (),
        made_by: tuple[Vote, ...] = (),
        replaced: Mapping[str, str] = NOTHING,
        mean_score: float | None = None,
        feedback: str | None = None,
        positional_bias: PositionalBias | None = None,
        metadata: Metadata = NOTHING,
    ) -> None:
        """Make a result; ``selected_option`` is a second name for ``option``."""
        if None not in (option, selected_option) and option != selected_option:
            raise SetupError(
                "a result has one option, but both {option!r} and {selected_option!r} were given",
                option=option,
                selected_option=selected_option,
            )
        super().__init__(
            option=selected_option if option is None else option,
            instance=instance,
            criteria=criteria,
            status=status,
            votes=votes,
            score=score,
            explanation=explanation,
            agreement=agreement,
            tie=tie,
            fallback=fallback,
            notes=notes,
            steps=steps,
            made_by=made_by,
            replaced=replaced,
            mean_score=mean_score,
            feedback=feedback,
            positional_bias=positional_bias,
            metadata=metadata,
        )

    @property
    def selected_option(self) -> str | None:
        """EvalAssist's name for ``option``."""
        return self.option

    @property
    def verdict(self) -> str | None:
        return self.option

    @property
    def model_scores(self) -> dict[str, float]:
        """The score of each model's own verdict, pooled as a judge of that model alone would.

        Models without a valid vote, or whose verdict has no score, are left out.
        """
        # With both orders, the listed one alone decides.
        is_both_orders = self.positional_bias is not None
        by_model: dict[str, list[Verdict]] = {}
        for vote in self.votes:
            is_counted = vote.order is None or not is_both_orders
            if is_counted and vote.verdict and vote.verdict.option in self.criteria.points_of:
                by_model.setdefault(vote.model, []).append(vote.verdict)
        scores = {model: self._score_of(verdicts) for model, verdicts in by_model.items()}
        return {model: score for model, score in scores.items() if score is not None}

    def _score_of(self, verdicts: Sequence[Verdict]) -> float | None:
        won = winner(Counter(verdict.option for verdict in verdicts), self.criteria)
        return mean_of(
            [score_of(verdict, self.criteria) for verdict in verdicts if verdict.option == won]
        )

    def detail(self) -> DirectDetail:
        """Return the part of the record that only this kind of result has."""
        is_panel = len({vote.model for vote in self.votes}) > 1 and not self.steps
        return DirectDetail(
            option=self.option,
            mean_score=self.mean_score,
            feedback=self.feedback,
            positional_bias=self.positional_bias.record() if self.positional_bias else None,
            model_scores=self.model_scores if is_panel else None,
        )


def score_of(verdict: Verdict, criteria: Criteria) -> float | None:
    """Return the judge's own score if it gave one, else the option's."""
    judge_score = verdict.score if isinstance(verdict, Chosen) else None
    return criteria.points_of[verdict.option] if judge_score is None else judge_score


def mean_of(scores: Sequence[float | None]) -> float | None:
    """Return the mean; None if there are no scores or one is missing."""
    numbers = [score for score in scores if score is not None]
    if not numbers or len(numbers) < len(scores):
        return None
    # Summing equal floats may be off in the last digit; the mean of equal scores is that score.
    return numbers[0] if len(set(numbers)) == 1 else sum(numbers) / len(numbers)


@light_dataclass(frozen=True, kw_only=True)
class PairwiseInstanceResult(Result):
    """Responses compared with each other.

    Example: ``result.winner``, ``result.per_system_results[0].winrate``
    """

    selected_option: Selection | None = None
    """The index of the best response, or "tie"."""
    per_system_results: tuple[SystemResult, ...] = ()
    certainty: float | None = None
    """Share of the valid votes, both orders included, that agree with the selection."""
    positional_bias: PositionalBias | None = None
    metadata: Metadata = field(default_factory=FrozenDict)

    @property
    def verdict(self) -> str | None:
        return self.winner

    @property
    def ranking(self) -> tuple[int | None, ...]:
        """The rank of each response; None for all of them if one has no win rate."""
        return tuple(system.ranking for system in self.per_system_results)

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the responses: by their columns, else by position."""
        names = self.instance.metadata.get("systems")
        count = len(self.per_system_results)
        if isinstance(names, list | tuple) and len(names) == count:
            return tuple(map(str, names))
        return tuple(f"response {place}" for place in range(1, count + 1))

    @property
    def winner(self) -> str | None:
        """The name of the best response, or "tie"; None without a verdict.

        A system that is itself called "tie" gets its position.
        """
        if not isinstance(self.selected_option, int):
            return self.selected_option
        name = self.systems[self.selected_option]
        return name if name.casefold() != TIE else f"{name} (response {self.selected_option + 1})"

    def detail(self) -> PairwiseDetail:
        """Return the part of the record that only this kind of result has."""
        return PairwiseDetail(
            selected_option=self.selected_option,
            winner=self.winner,
            systems=self.systems,
            certainty=self.certainty,
            per_system_results=self.per_system_results,
            positional_bias=self.positional_bias.record() if self.positional_bias else None,
        )


@light_dataclass(frozen=True)
class ModelVerdict:
    """The pooled verdict of one model of a panel."""

    model: str
    option: str
    score: float
    agreement: float
    tie: bool
    votes_valid: int
    votes_requested: int

    @property
    def is_safe(self) -> bool:
        """Return True if the model's lost votes could not have changed its option."""
        agreeing = count_agreeing(self.votes_valid, self.agreement)
        return 2 * agreeing > self.votes_requested


@light_dataclass(frozen=True, kw_only=True)
class AspectResult(Result):
    """Pass or fail on one aspect, over a panel of models.

    Example: ``result.verdict``, ``result.score``, ``result.panel[0].option``
    """

    verdict: str | None = None
    """"PASS", "FAIL", or None if there is no score."""
    panel: tuple[ModelVerdict, ...] = ()
    """The models that count, in the order they were given."""
    excluded_models: Mapping[str, str] = field(default_factory=FrozenDict)
    """The models that do not count, each with its reason."""
    weights: Mapping[str, float] | None = None
    """The weight of each model of the panel; None if all count the same."""

    @property
    def left_out(self) -> Mapping[str, str]:
        """The models of a panel that do not count, with the reason."""
        return (
            self.excluded_models
            if len({vote.model for vote in self.votes}) > 1 and not self.steps
            else {}
        )

    @property
    def model_scores(self) -> dict[str, float]:
        """1.0 or 0.0 for each model that counts."""
        return {entry.model: entry.score for entry in self.panel}

    def detail(self) -> AspectDetail:
        """Return the part of the record that only this kind of result has."""
        if self.steps or self.votes_valid == self.votes_requested:
            return AspectDetail(verdict=self.verdict, model_scores=self.model_scores)
        return AspectDetail(
            verdict=self.verdict,
            model_scores=self.model_scores,
            weights=self.weights,
            open_models=tuple(entry.model for entry in self.panel if not entry.is_safe),
        )

    def _excluded_by_model(self) -> Mapping[str, str]:
        return self.excluded_models
