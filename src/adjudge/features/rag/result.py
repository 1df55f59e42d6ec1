"""The result of one answer: its dimensions, measures and evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.results import DirectInstanceResult, Result, Status
from adjudge.core.pooling.majority import majority
from adjudge.features.evidence.result import EvidenceResult
from adjudge.features.rag.blame import Blame
from adjudge.features.rag.composite_rule import composite
from adjudge.features.rag.dimensions import Dimension
from adjudge.features.rag.measure_questions import Answered
from adjudge.features.rag.measure_result import Measured
from adjudge.features.rag.record import Composite, LostVotes, RagDetail
from adjudge.features.rag.standalone_question import JudgedQuestion

GROUNDEDNESS = "groundedness"
"""The dimension that is decided by sentences, if they are looked up."""


@light_dataclass(frozen=True, kw_only=True)
class RagResult(Result):
    """The scores of one answer on every dimension. ``score`` is the composite's value.

    Example: ``result.scores["groundedness"]``, ``result.explanations["clarity"]``,
    ``result.composite.rule``.
    """

    composite: Composite
    dimensions: tuple[Dimension, ...]
    judged: Mapping[str, DirectInstanceResult] = field(default_factory=FrozenDict)
    """Each dimension's own result, with its votes."""
    evidence: EvidenceResult | None = None
    """The answer sentence by sentence, if ``evidence`` was set."""
    question: JudgedQuestion | None = None
    """The question that relevance was judged by, if follow-up questions were rewritten and there is
    a conversation.
    """
    measured: Mapping[str, Measured] = field(default_factory=FrozenDict)
    """The measures of the row besides its dimensions, if any were asked for."""
    parts: tuple[Answered, ...] = ()
    """The answers about each fragment and sentence, which the measures are computed from."""
    blame: Blame | None = None
    """The side to blame, retriever or generator; None if nothing was measured."""
    own_composites: Mapping[str, float] = field(default_factory=FrozenDict)
    """For a panel whose measures have weights: the composite by each model's own votes."""

    @property
    def reason(self) -> str | None:
        """Why there is no score: from a vote, else from a weighted measure."""
        weighing = (
            measure.reason
            for measure in self.measured.values()
            if measure.measure.weight and measure.value is None
        )
        return None if self.status is Status.SCORED else super().reason or next(weighing, None)

    @property
    def measures(self) -> dict[str, float | None]:
        """The values of measures; None for one without a value, whose reason is in ``measured``."""
        return {name: measure.value for name, measure in self.measured.items()}

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value that the composite can have, given the scores."""
        return super().bounds if self.fallback else (self.composite.lower, self.composite.upper)

    @property
    def component_results(self) -> tuple[Result, ...]:
        return tuple(self.judged.values())

    @property
    def verdict(self) -> str | None:
        """The scores as text, since the composite is one number for all of them."""
        return ", ".join(
            f"{name} {'–' if score is None else score}" for name, score in self.scores.items()
        )

    def cells(self) -> JsonDict:
        """Return the row of this result in a table."""
        return {
            "status": self.status.value,
            "composite": self.score,
            **self.scores,
            **self.measures,
        }

    @property
    def scores(self) -> dict[str, int | None]:
        """The chosen scores, from 0 to each dimension's maximum; None without a verdict."""
        return {
            name: None if result.score is None else int(result.score)
            for name, result in self.judged.items()
        }

    @property
    def normalized(self) -> dict[str, float | None]:
        """The scores as shares of their maximum."""
        scores = self.scores
        return {
            dimension.name: None
            if (score := scores[dimension.name]) is None
            else dimension.normalized(score)
            for dimension in self.dimensions
        }

    @property
    def explanations(self) -> dict[str, str | None]:
        """The explanation of each score: the model's words, else the score's probability, else the
        error.
        """
        return {name: _explanation(result) for name, result in self.judged.items()}

    @property
    def fired(self) -> str | None:
        """The gate that made the composite, if one fired."""
        rules = {gate.rule for dimension in self.dimensions for gate in dimension.gates}
        return self.composite.rule if self.composite.rule in rules else None

    def detail(self) -> RagDetail:
        """Return what a record stores about this kind of result."""
        other_votes = len(self.votes) - sum(len(result.votes) for result in self.judged.values())
        return RagDetail(
            composite=self.composite,
            scores=self.scores,
            normalized=self.normalized,
            explanations=self.explanations,
            agreements={name: result.agreement for name, result in self.judged.items()},
            model_scores=self.model_scores if len(self._models) > 1 else None,
            evidence=self.evidence.evidence() if self.evidence else None,
            judged_question=self.question.record() if self.question else None,
            measures={name: result.record() for name, result in self.measured.items()}
            if self.measured
            else None,
            parts=tuple(result.record() for result in self.parts) if self.measured else None,
            blame=self.blame.record() if self.measured and self.blame else None,
            votes_on_measures=other_votes if self.measured or self.question else None,
            lost_votes=self.lost_votes,
        )

    @property
    def lost_votes(self) -> LostVotes | None:
        """The effect that lost votes could have; None if none were lost.

        Without a panel, only those of dimensions with several votes count.
        """
        if self.votes_valid == self.votes_requested:
            return None
        is_panel = len(self._models) > 1
        counted = [part for result in self.judged.values() for part in result.votes]
        # votes are compared by identity: two models may say the same
        about_dimensions = {id(vote) for vote in counted}
        is_beside = any(not part.valid for part in self.votes if id(part) not in about_dimensions)
        scores = self.scores
        dimensions = tuple(
            name
            for name, part in self.judged.items()
            if scores[name] is not None and _could_change(part)
        )
        measures = tuple(
            name
            for name, part in self.measured.items()
            if is_beside and is_panel and part.value is not None and part.measure.checks
        )
        if not is_panel and not dimensions:
            return None
        certain = {name: None if name in dimensions else score for name, score in scores.items()}
        measured = [
            replace(part, value=None) if name in measures else part
            for name, part in self.measured.items()
        ]
        combined = composite(certain, self.dimensions, measured)
        return LostVotes(
            lower=combined.lower, upper=combined.upper, dimensions=dimensions, measures=measures
        )

    @property
    def model_scores(self) -> dict[str, float]:
        """For a panel: each model's composite by its own votes. Models with a decisive score
        missing are left out.
        """
        if self.own_composites:
            return dict(self.own_composites)
        composites = {
            model: composite(self._scores_of(model), self.dimensions).value
            for model in self._models
        }
        return {model: value for model, value in composites.items() if value is not None}

    @property
    def _models(self) -> list[str]:
        return list(dict.fromkeys(vote.model for vote in self.votes))

    def _scores_of(self, model: str) -> dict[str, int | None]:
        options_by_dimension = {
            name: [
                vote.verdict.option for vote in result.votes if vote.model == model and vote.verdict
            ]
            for name, result in self.judged.items()
        }
        by_sentence = (
            self.evidence.model_scales
            if self.evidence and self.evidence.method in ("each", "joint")
            else {}
        )
        majorities = {
            name: majority(options, self.judged[name].criteria)
            for name, options in options_by_dimension.items()
            if not (by_sentence and name == GROUNDEDNESS)
        }
        scores = {
            name: int(result.option) if result else None for name, result in majorities.items()
        }
        return (
            {**scores, GROUNDEDNESS: by_sentence.get(model)}
            if by_sentence and GROUNDEDNESS in self.judged
            else scores
        )


def _could_change(result: DirectInstanceResult) -> bool:
    """Return True if votes without a verdict could turn the majority.

    This is also the case if sentences decide, so that no option has a majority.
    """
    lost = sum(not vote.valid for vote in result.votes)
    options = [vote.verdict.option for vote in result.votes if vote.verdict]
    agreeing = options.count(result.option or "")
    # the lost votes could all go to the runner-up
    return lost > 0 and 2 * agreeing - len(options) <= lost


def _explanation(result: DirectInstanceResult) -> str | None:
    if result.status is not Status.SCORED:
        return next((vote.reason for vote in result.votes if vote.reason), None)
    agreeing = [
        vote for vote in result.votes if vote.verdict and vote.verdict.option == result.option
    ]
    return result.explanation or next((vote.how_sure for vote in agreeing), None)
