"""Records of judgments, as everything after the ledger reads them: just made, or read from a run
folder.

``to_dict`` gives the form of ``--json`` and exports. The fields of a ``detail`` are its keys there;
a field with the default None is left out while it is None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, fields, is_dataclass, replace
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, cast, get_args

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.instance import GivenFields, identity_of
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage
from adjudge.core.domain.verdict import (
    Details,
    KeptCitation,
    KeptPlace,
    KeptQuote,
    KeptSupport,
    Ranking,
    Selection,
)
from adjudge.core.domain.vote_counts import count_agreeing, vote_count
from adjudge.errors import SetupError
from adjudge.messages import Message

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from adjudge.core.domain.criteria import Criteria
    from adjudge.core.domain.instance import Instance
    from adjudge.core.domain.judge_configuration import JudgeConfiguration

StatusName = Literal["scored", "abstained", "failed", "skipped"]
OutcomeName = Literal["ok", "repaired", "abstained", "unreadable", "refused", "model_error"]
Flag = Literal["tie", "bias", "low", "split", "disagree", "repaired", "shortened"]
# One step of a path into a row: a name, or an index in brackets.
_STEPS = re.compile(r"([^.\[\]]+)|\[(-?\d+)\]")
KIND = "kind"
"""Key of a kind's tag in ledgers. Exports leave out the tags of built-in kinds: the keys tell."""
UNKNOWN_KIND = "unknown_kind"
"""Key of all that is stored of a judgment whose kind no installed package brings."""
FLAGS: tuple[Flag, ...] = get_args(Flag)
"""The flags by which a reader may filter a list."""
Fields = Mapping[str, str | tuple[str, ...]]


@light_dataclass(frozen=True, kw_only=True)
class CascadeStepRecord:
    """One step of a cascade that was asked about a row."""

    step: Annotated[str, "its model"]
    verdict: str | None
    confidence: float | None
    needed: Annotated[float | None, "the confidence from which on it is accepted; null: never"]
    accepted: bool
    calls: int
    prompt_tokens: int
    completion_tokens: int


Because = Literal["no verdict", "not the best verdict", "uncertain"]


@light_dataclass(frozen=True, kw_only=True)
class SecondOpinionRecord:
    """Another model's opinion of a row. It changes no verdict and no number."""

    model: str
    because: Annotated[Because, "why it was asked"]
    verdict: Annotated[str | None, "its own; null if it gave none"]
    explanation: str | None
    reason: Annotated[str | None, "why there is no opinion"]
    probability: Annotated[
        float | None, "of the run's verdict, by which the row was chosen; null if it has none"
    ]
    calibrated: Annotated[bool, "the probability is at a learned temperature"] = False

    def agrees_with(self, verdict: str | None) -> bool | None:
        """Return True if both verdicts are the same; None if there are not two."""
        return None if verdict is None or self.verdict is None else verdict == self.verdict


@light_dataclass(frozen=True, kw_only=True)
class OrderCheck:
    """The effect of showing options or responses in the other order."""

    detected: bool | None
    flip_rate: float | None
    noise_rate: float | None


class Detail:
    """The part of a judgment that only its kind of result has.

    A plugin adds a kind by a subclass: its fields are the keys in exports.
    """

    kind: ClassVar[str]
    """Distinguishes the kinds in stored records."""
    sections: ClassVar[tuple[str, ...]] = ()
    """The sections of a report that tally such records, besides the counts that all have."""
    is_comparison: ClassVar[bool] = False
    """True if responses are compared: the verdict names one of them."""
    is_option: ClassVar[bool] = False
    """True if the verdict is an option of the criterion, which says how good it is."""
    has_bounds: ClassVar[bool] = False
    """True if a missing score is told by its ``bounds``, so that a mean over the scored rows alone
    is no figure of the whole.
    """
    unit: ClassVar[Literal["row", "task", "conversation"]] = "row"
    """Name of a row in reports that count repeats and compare systems."""
    counts_skip_reasons: ClassVar[bool] = False
    """True if reports say how often each reason for a skipped row occurred."""

    @property
    def chosen(self) -> str | None:
        """The decision in a word; None for a kind whose outcome has no name."""
        return None

    @property
    def choice(self) -> Selection | str | None:
        """Like ``chosen``, but the index of the better one of compared responses, or "tie"."""
        return self.chosen

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value that a missing score could have."""
        return 0.0, 1.0

    @property
    def limits(self) -> tuple[float, float] | None:
        """The lowest and the highest score that the row could have had before it was judged; None
        if that is the scale of its criterion, or unknown.
        """
        return None

    @property
    def is_count(self) -> bool:
        """Return True if the score is a count: 0 is the good end, and there is no other."""
        return False

    def passes_or_fails(self, score: float | None) -> bool:
        """Return True if the score can only mean that the row passed or failed."""
        return score in (0.0, 1.0)

    @property
    def is_shortened(self) -> bool:
        """Return True if the judge saw only a part of the text."""
        return False

    @property
    def system_names(self) -> tuple[str, ...]:
        """Names of the compared responses; empty if there is one response."""
        return ()

    @property
    def named_systems(self) -> tuple[str, ...]:
        """The row's own names of the compared responses; empty if there is one response."""
        return ()

    @property
    def winner_share(self) -> float | None:
        """Share of the valid votes that agree with the outcome of a comparison; None for other
        kinds.
        """
        return None

    def reorder(self, systems: Sequence[str]) -> Detail:  # noqa: ARG002
        """Return the detail with its compared responses in a new order, given by their names."""
        return self

    @property
    def system_results(self) -> tuple[SystemResult, ...]:
        """The result of each compared response; empty if there is one response."""
        return ()

    @property
    def order_check(self) -> OrderCheck | None:
        """The effect of the other order of options or responses, if it was asked."""
        return None

    @property
    def lists_excluded(self) -> bool:
        """Return True if exports list the models that did not count even if there are none."""
        return False

    @property
    def rating_range(self) -> tuple[float, float] | None:
        """The lowest and the highest number that was allowed; None if no number was asked for."""
        return None

    @property
    def has_own_options(self) -> bool:
        """Return True if the options come from the criterion, and are not pass and fail."""
        return False

    @property
    def dimension_scores(self) -> Mapping[str, int | None] | None:
        """Dimension → score; None for a judgment without dimensions."""
        return None

    @property
    def blamed_step(self) -> int | None:
        """The step of a trajectory that is blamed for its failure, if one is."""
        return None

    def possible_scores(
        self, record: JudgmentRecord, scale: tuple[float, float]
    ) -> tuple[float, float] | None:
        """Return the lowest and the highest score that ``record`` could have with the votes that
        were lost; None if they could not change it.

        ``scale``: the scale of the criterion.
        """
        if record.score is None or not record.lost_models:
            return None
        return self._any_score(record.score, scale)

    def _any_score(self, score: float, scale: tuple[float, float]) -> tuple[float, float] | None:
        """Return the limits of the scale, for a score that lost votes could change in any way."""
        if math.isinf(self.bounds[1]):
            return None
        low, high = self.limits or scale
        return min(low, score), max(high, score)

    def possible_win_rates(
        self,
        record: JudgmentRecord,  # noqa: ARG002
    ) -> tuple[tuple[float, float], ...]:
        """Like ``possible_scores``, for the win rate of each compared response; empty if lost votes
        could not change any of them.
        """
        return ()

    def columns(self) -> JsonDict:
        """Return the detail as table cells, one level deep."""
        return self.to_dict()

    def shown_to(self, criteria: Criteria, instance: Instance, language: str) -> Instance:  # noqa: ARG002
        """Return the part of the row that the prompt for a criterion showed.

        ``language``: the prompt's language.
        """
        return instance

    def label_criteria(self, judge: JudgeConfiguration) -> Criteria | None:  # noqa: ARG002
        """Return the criterion that people label if the judge's configuration names none."""
        return None

    def to_dict(self) -> JsonDict:
        """Return the detail in the form of ``--json`` and exports."""
        return _members(self) if is_dataclass(self) else {}

    def to_stored(self, outcome: JsonDict) -> JsonDict:
        """Return a judgment's outcome in its ledger form, tagged with its kind."""
        return {**outcome, KIND: self.kind}


@light_dataclass(frozen=True, kw_only=True)
class DirectDetail(Detail):
    """The detail of one text judged by one criterion."""

    kind: ClassVar[str] = "direct"
    is_option: ClassVar[bool] = True

    option: str | None
    mean_score: float | None
    feedback: str | None
    positional_bias: OrderCheck | None
    model_scores: Annotated[Mapping[str, float] | None, "of a panel: each model by itself"] = None

    @property
    def chosen(self) -> str | None:
        return self.option

    @property
    def order_check(self) -> OrderCheck | None:
        return self.positional_bias

    @property
    def has_own_options(self) -> bool:
        return True

    def possible_scores(
        self, record: JudgmentRecord, scale: tuple[float, float]
    ) -> tuple[float, float] | None:
        if record.score is None or not record.lost_votes or self._is_settled(record):
            return None
        return self._any_score(record.score, scale)

    def _is_settled(self, record: JudgmentRecord) -> bool:
        """Return True if the lost votes could not turn the majority."""
        if self.positional_bias is None:
            return record.has_safe_majority
        # The listed order alone decides. How many of its votes were lost is only known of models
        # that lost all votes, and if the other order lost all: otherwise it may be all the rest.
        each, lost = record.votes_requested // 2, record.lost_votes
        both_orders = record.lost_votes_of_models // 2
        listed = lost - (each if self.positional_bias.detected is None else both_orders)
        against = record.votes_valid - count_agreeing(record.votes_valid, record.agreement or 0.0)
        return each > 2 * (listed + against)


@light_dataclass(frozen=True, kw_only=True)
class AspectDetail(Detail):
    """The detail of pass or fail on one aspect."""

    kind: ClassVar[str] = "aspect"

    verdict: str | None
    model_scores: Mapping[str, float]
    weights: Annotated[Mapping[str, float] | None, "of a weighted panel: its models' weights"] = (
        None
    )
    open_models: Annotated[
        tuple[str, ...] | None, "models that lost votes which could turn their own verdict"
    ] = None
    """None if no vote was lost; also in runs of earlier versions."""

    @property
    def chosen(self) -> str | None:
        return self.verdict

    def possible_scores(
        self, record: JudgmentRecord, scale: tuple[float, float]
    ) -> tuple[float, float] | None:
        if record.score is None or not record.lost_votes:
            return None
        scores, weights = self.model_scores, self.weights or {}
        unsure = self._unsure_models(record)
        if not unsure and not record.lost_models:
            return None
        counted = {model: weights.get(model, 1.0) for model in scores}
        total = math.fsum(counted[model] * score for model, score in scores.items())
        weight_sum = math.fsum(counted.values())
        if not weight_sum or not math.isclose(total / weight_sum, record.score, abs_tol=1e-9):
            # weighted, and stored without weights
            return self._any_score(record.score, scale)
        sure = math.fsum(
            counted[model] * score for model, score in scores.items() if model not in unsure
        )
        gone = math.fsum(weights.get(model, 1.0) for model in record.lost_models)
        lost = gone + math.fsum(counted[model] for model in unsure)
        low, high = ((sure + lost * end) / (weight_sum + gone) for end in scale)
        return (low, high) if lost else None

    def _unsure_models(self, record: JudgmentRecord) -> Collection[str]:
        """Return the models whose own verdict lost votes could turn."""
        if self.open_models is not None:
            return self.open_models
        # an earlier version stored none: any model may have lost these votes
        return self.model_scores if record.lost_votes > record.lost_votes_of_models else ()

    @property
    def lists_excluded(self) -> bool:
        return True


@light_dataclass(frozen=True, kw_only=True)
class SystemResult:
    """The contests of one of the compared responses.

    The lists have an entry for each other response, in the order given.
    """

    contest_results: tuple[float | None, ...]
    """1.0 won, 0.0 lost, 0.5 tied, None: no valid vote."""
    compared_to: tuple[int, ...]
    """The index of the other response of each contest."""
    explanations: tuple[str | None, ...]
    positional_bias: tuple[bool | None, ...]
    """True if the contest had another outcome in the other order; None if that was not asked."""
    certainty: tuple[float | None, ...]
    """Share of the valid votes, both orders included, that agree with the contest's outcome."""
    winrate: float | None
    """Mean over its contests; None unless each has an outcome."""
    ranking: int | None
    """1 is best; equal win rates share a rank."""
    selections: tuple[str | None, ...]
    """The winner of each contest: an index, "tie", or None."""


@light_dataclass(frozen=True, kw_only=True)
class PairwiseDetail(Detail):
    """The detail of responses compared with each other."""

    kind: ClassVar[str] = "pairwise"
    is_comparison: ClassVar[bool] = True

    selected_option: Annotated[Selection | None, "the index of the best response, or tie"]
    winner: Annotated[str | None, "comparisons: the name of the better system, or tie"]
    systems: tuple[str, ...]
    certainty: float | None
    per_system_results: tuple[SystemResult, ...]
    positional_bias: OrderCheck | None

    @property
    def chosen(self) -> str | None:
        return self.winner

    @property
    def choice(self) -> Selection | None:
        """The index of the winner, or "tie"; None without a verdict."""
        return self.selected_option

    @property
    def system_names(self) -> tuple[str, ...]:
        """The names of the responses, one each: by position if a ledger has another number of
        names.
        """
        count = len(self.per_system_results)
        return self.systems if len(self.systems) == count else place_names(count)

    @property
    def named_systems(self) -> tuple[str, ...]:
        return self.systems

    @property
    def winner_share(self) -> float | None:
        return self.certainty

    def reorder(self, systems: Sequence[str]) -> PairwiseDetail:
        selected, order = self.selected_option, list(systems)
        winner = order.index(self.systems[selected]) if isinstance(selected, int) else selected
        return replace(self, systems=tuple(order), selected_option=winner)

    @property
    def system_results(self) -> tuple[SystemResult, ...]:
        return self.per_system_results

    @property
    def order_check(self) -> OrderCheck | None:
        return self.positional_bias

    def possible_win_rates(self, record: JudgmentRecord) -> tuple[tuple[float, float], ...]:
        if not record.scored or not record.lost_votes:
            return ()
        count = len(self.per_system_results)
        contests = max(1, count * (count - 1) // 2)
        # Those of a model that never answered are spread evenly over the contests. All others may
        # be votes of the same contest.
        whole = record.lost_votes_of_models
        requested = record.votes_requested / contests
        lost = min(requested, whole / contests + record.lost_votes - whole)
        ranges = tuple(
            _possible_win_rate(system, requested - lost, lost) for system in self.per_system_results
        )
        return ranges if any(low < high for low, high in ranges) else ()


def _possible_win_rate(system: SystemResult, valid: float, lost: float) -> tuple[float, float]:
    """Return the lowest and the highest win rate that one response could have.

    ``valid``, ``lost``: votes per contest.
    """
    ends = [
        (value, value)
        if value is not None and share is not None and (2 * share - 1) * valid > lost
        else (0.0, 1.0)
        for value, share in zip(system.contest_results, system.certainty, strict=True)
    ]
    count = len(ends) or 1
    return sum(low for low, _ in ends) / count, sum(high for _, high in ends) / count


@light_dataclass(frozen=True, kw_only=True)
class OtherDetail(Detail):
    """The detail of a result kind that a plugin defines without its own Detail class."""

    kind: ClassVar[str] = "other"

    values: JsonObject

    @property
    def chosen(self) -> str | None:
        """The text under the first key that names an outcome; None if there is none."""
        values = (
            self.values.get(name) for name in ("winner", "verdict", "option", "selected_option")
        )
        return next((value for value in values if isinstance(value, str) and value), None)

    @property
    def choice(self) -> str | int | None:
        """Like ``chosen``, but also an index."""
        values = (self.values.get(name) for name in ("verdict", "option", "selected_option"))
        return next((value for value in values if isinstance(value, str | int)), None)

    @property
    def has_own_options(self) -> bool:
        return True

    def to_dict(self) -> JsonDict:
        return dict(self.values)


@light_dataclass(frozen=True, kw_only=True)
class UnknownDetail(Detail):
    """A judgment of a kind that no installed package defines.

    It has no verdict and no score: only the package knows what its numbers mean. Everything stored
    is kept, so copies and exports lose nothing.
    """

    kind: ClassVar[str] = UNKNOWN_KIND

    contents: JsonObject
    """The judgment's tag, status, score, reason and the keys of its kind."""

    def to_dict(self) -> JsonDict:
        return {UNKNOWN_KIND: dict(self.contents)}

    def to_stored(self, outcome: JsonDict) -> JsonDict:
        del outcome[UNKNOWN_KIND]
        return {**outcome, **self.contents}


@light_dataclass(frozen=True, kw_only=True)
class VoteRecord:
    """One answer of one model.

    Example: ``record.votes[0].option``, ``record.votes[0].explanation``
    """

    model: str
    sample: int
    order: Annotated[tuple[int, ...] | None, "in which options or responses were shown"]
    outcome: OutcomeName
    option: Annotated[str | None, "the verdict in writing"]
    number: float | None
    explanation: str | None
    feedback: str | None
    ranking: Ranking | None
    reason: str | None
    text: str | None
    usage: Usage
    latency: float
    distribution: Mapping[str, float] | None
    low_confidence: bool
    evidence: tuple[KeptQuote, ...] | None = None
    each: tuple[KeptSupport, ...] | None = None
    cited: tuple[KeptCitation, ...] | None = None
    """Steps of an agent's trajectory with quotes."""
    place: KeptPlace | None = None
    """The place in the trajectory where something happened."""
    score: float | None = None
    """The judge's own score, if it gave one with its option."""
    answered_by: str | None = None
    """The model that answered, as its reply names it."""
    answered_before: str | None = None
    """The model that earlier replies of the same model named, if it differs."""
    fingerprint: str | None = None
    """The provider's fingerprint of its system."""
    persona: str | None = None
    """The role that the model was given."""
    repairs: int = 0
    """Further calls it took to get a readable reply."""
    metadata: JsonObject = NOTHING
    """Data that a custom judge adds to its verdict."""
    prompt: str | None = None
    """The SHA-256 of the prompt that was last sent."""
    unfinished: bool = False
    """True if the run ended before the model could be asked again for a readable reply."""
    at: float | None = None
    """The time of the vote, in seconds since 1970; None if it is not in a ledger."""

    @property
    def details(self) -> Details:
        """The parts of the verdict other than the option and the explanation."""
        return {
            "feedback": self.feedback,
            "score": self.score,
            "ranking": self.ranking,
            "number": self.number,
            "evidence": self.evidence,
            "each": self.each,
            "cited": self.cited,
            "place": self.place,
        }

    @property
    def probability(self) -> float | None:
        """Probability of the chosen option, if log-probabilities are available."""
        return None if self.option is None else (self.distribution or {}).get(self.option)

    def to_dict(self) -> JsonDict:
        usage = self.usage
        return {
            "model": self.model,
            "sample": self.sample,
            "order": list(self.order) if self.order else None,
            "outcome": self.outcome,
            "option": self.option,
            "number": self.number,
            "explanation": self.explanation,
            "feedback": self.feedback,
            "ranking": json_ready(self.ranking),
            "reason": self.reason,
            "text": self.text,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "calls": usage.calls,
            "tokens_estimated": usage.estimated > 0,
            "latency": round(self.latency, 4),
            "distribution": json_ready(self.distribution) if self.distribution else None,
            "low_confidence": self.low_confidence,
            **({"answered_by": self.answered_by} if self.answered_by else {}),
            **{
                name: json_ready(value)
                for name, value in (
                    ("evidence", self.evidence),
                    ("each", self.each),
                    ("cited", self.cited),
                    ("place", self.place),
                )
                if value is not None
            },
        }


@light_dataclass(frozen=True, kw_only=True)
class JudgmentRecord:
    """The judgment of one judge on one row by one criterion.

    Example: ``[record.score for record in run.records() if record.scored]``
    """

    judge: str
    index: int
    """Its place among the judge's judgments, from 0."""
    id: str | None
    fields: Fields
    input: Annotated[JsonObject, "the row by its own columns"] = NOTHING
    """Empty if a program made the row."""
    criterion: str
    status: StatusName
    score: float | None
    explanation: str | None
    reason: Annotated[str | None, "why there is no score"]
    agreement: float | None
    tie: bool
    fallback: Annotated[str | None, "the stand-in that the caller asked for, where one was used"]
    low_confidence: bool
    votes_requested: int
    votes_valid: int
    notes: tuple[str, ...] = ()
    excluded_models: Annotated[Mapping[str, str], "model that did not count: why"] = NOTHING
    steps: Annotated[tuple[CascadeStepRecord, ...], "cascades: the steps that were asked"] = ()
    replaced_models: Annotated[
        Mapping[str, str], "model of a panel without a verdict: the model asked in its place"
    ] = NOTHING
    second_opinion: Annotated[
        SecondOpinionRecord | None, "of the model that `explain` names, which changes nothing"
    ] = None
    detail: Detail
    votes: tuple[VoteRecord, ...] | None = None
    """None if they were not read."""
    judge_identity: str | None = None
    """The original judge of an imported judgment."""
    used: Mapping[str, Usage] = field(default=NOTHING, compare=False)
    """Model → its usage; empty if the votes were not read."""
    named: Mapping[tuple[str, str], int] = field(default_factory=dict, compare=False)
    """The model that was asked and the one that its reply names → number of votes; empty if
    ``used`` is.
    """

    @property
    def row(self) -> int:
        """The row's position among the judge's judgments, counted from 1."""
        return self.index + 1

    @property
    def scored(self) -> bool:
        """Return True if there is a verdict."""
        return self.status == "scored"

    @property
    def verdict(self) -> str | None:
        """The decision in a word: the option, PASS or FAIL, or the name of the better response.

        It is None without a verdict, or if the outcome has no name.
        """
        return self.detail.chosen

    @property
    def choice(self) -> Selection | str | None:
        """Like ``verdict``, but the index of the better one of compared responses, or "tie"."""
        return self.detail.choice

    @property
    def vote_count(self) -> Message:
        """The number of votes, and how many of them are for the verdict, in words."""
        return vote_count(
            self.verdict, self.votes_valid, self.votes_requested, self.agreement, tie=self.tie
        )

    @property
    def answered_by(self) -> str:
        """The target whose answer was judged; empty if the row has a single answer."""
        # A user's own column may be called system, too: only rows of targets also have
        # answered_row.
        return str(self.input.get("system", "")) if "answered_row" in self.input else ""

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of compared responses; empty if there is one response."""
        return self.detail.system_names

    @property
    def positional_bias(self) -> OrderCheck | None:
        """The effect of the other order, if it was asked."""
        return self.detail.order_check

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The unusual traits of the judgment, in the order of FLAGS."""
        bias = self.positional_bias
        is_set = (
            self.tie,
            bias is not None and bool(bias.detected),
            self.low_confidence,
            self.agreement is not None and self.agreement < 1,
            len(set(self.model_scores.values())) > 1,
            any(vote.repairs for vote in self.votes or ()),
            self.detail.is_shortened,
        )
        return tuple(compress(FLAGS, is_set))

    @property
    def decided_by(self) -> str | None:
        """The step of a cascade that gave the verdict; None if none was accepted."""
        return next((step.step for step in self.steps if step.accepted), None)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The models of a panel that did not count; empty for cascades and single models."""
        if not self.excluded_models:
            return ()
        is_single = (
            self.detail.lists_excluded and len({*self.model_scores, *self.excluded_models}) < 2
        )
        return () if self.steps or is_single else tuple(self.excluded_models)

    @property
    def lost_models(self) -> tuple[str, ...]:
        """The models in ``left_out`` whose votes are missing: at most one of a replaced model and
        its replacement.
        """
        if not self.replaced_models:
            return self.left_out
        spare = spare_models(self.replaced_models, self.excluded_models)
        return tuple(model for model in self.left_out if model not in spare)

    @property
    def model_scores(self) -> Mapping[str, float]:
        """The score of each model of a panel."""
        return getattr(self.detail, "model_scores", None) or NOTHING

    @property
    def lost_votes(self) -> int:
        """The number of votes without a verdict. Those of a cascade's steps do not count."""
        return 0 if self.steps else self.votes_requested - self.votes_valid

    @property
    def lost_votes_of_models(self) -> int:
        """The number of lost votes of models that lost all of theirs."""
        lost_models = self.lost_models
        if not lost_models:
            return 0
        models = len({*self.model_scores, *lost_models})
        return min(self.lost_votes, self.votes_requested * len(lost_models) // models)

    @property
    def has_safe_majority(self) -> bool:
        """Return True if the lost votes could not have changed the verdict."""
        if self.agreement is None:
            return False
        agreeing = count_agreeing(self.votes_valid, self.agreement)
        return 2 * agreeing - self.votes_valid > self.lost_votes

    def possible_scores(
        self, scale: tuple[float, float] = (0.0, 1.0)
    ) -> tuple[float, float] | None:
        """Return the lowest and the highest score with the votes that were lost; None if they
        could not change it.

        ``scale``: the scale of the criterion.
        """
        return self.detail.possible_scores(self, scale)

    def missing_score(self, scale: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
        """Return the lowest and the highest score that a row without one could have.

        ``scale``: the scale of the criterion.
        """
        if not self.detail.has_bounds:
            # 0 to 1 is what every result says that does not know its scale
            return scale if self.bounds == (0.0, 1.0) else self.bounds
        low, high = self.detail.bounds
        if not self.lost_models:
            return low, high
        least, most = self.detail.limits or scale
        return min(low, least), max(high, most)

    @property
    def possible_win_rates(self) -> tuple[tuple[float, float], ...]:
        """Like ``possible_scores``, for the win rate of each compared response; empty if lost votes
        could not change any of them.
        """
        return self.detail.possible_win_rates(self)

    @property
    def usage(self) -> Usage:
        """The usage of all models together; zero if it is unknown."""
        total, *further_usages = self.used.values() or (Usage(),)
        return sum(further_usages, total)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value that a missing score could have."""
        return (0.0, 1.0) if self.fallback else self.detail.bounds

    @property
    def identity(self) -> str:
        """Identity of the judged content: rows with the same content share it."""
        return identity_of(self.fields)

    @property
    def name(self) -> str:
        return self.id or str(self.row)

    def group(self, column: str) -> str | None:
        """Return the row's value in ``column``, or at a path, without surrounding whitespace; None
        if it is missing or empty.
        """
        value = column_of(self.fields, self.input, column)
        return None if value is None else str(value).strip() or None

    def cell(self, column: str) -> str | int | float:
        """Return the cell of a column or field, whatever the case of its name; raise a SetupError
        if there is none.
        """
        return cell_of_column(self.name, self.fields, self.input, column)

    def to_dict(self) -> JsonDict:
        """Return the judgment in the form of ``--json`` and exports, nested."""
        content: JsonDict = {"fields": json_ready(self.fields)}
        content |= {"input": dict(self.input)} if self.input else {}
        votes = {} if self.votes is None else {"votes": [vote.to_dict() for vote in self.votes]}
        identity = {} if self.judge_identity is None else {"judge_identity": self.judge_identity}
        return {
            "judge": self.judge,
            "row": self.row,
            "id": self.id,
            **content,
            **self.outcome(),
            **identity,
            **votes,
        }

    def outcome(self) -> JsonDict:
        """Return the judgment without its position, the judged content and the votes."""
        return self._outcome(self.detail.to_dict())

    def columns(self) -> JsonDict:
        """Like ``outcome``, but one level deep, for tables."""
        outcome = self._outcome(self.detail.columns())
        if opinion := self.second_opinion:
            outcome |= {
                "second_opinion": opinion.verdict,
                "second_opinion_by": opinion.model,
                "second_opinion_explanation": opinion.explanation or opinion.reason,
            }
        return outcome

    def _outcome(self, detail: JsonDict) -> JsonDict:
        outcome: JsonDict = {
            "criteria": self.criterion,
            "status": self.status,
            "score": self.score,
            "explanation": self.explanation,
            "reason": self.reason,
            "agreement": self.agreement,
            "tie": self.tie,
            "fallback": self.fallback,
            "low_confidence": self.low_confidence,
            "votes_requested": self.votes_requested,
            "votes_valid": self.votes_valid,
            "notes": list(self.notes),
        }
        if self.left_out:
            outcome["excluded_models"] = dict(self.excluded_models)
        if self.replaced_models:
            outcome["replaced_models"] = dict(self.replaced_models)
        if self.steps:
            outcome |= {"decided_by": self.decided_by, "steps": json_ready(self.steps)}
        if self.second_opinion:
            outcome["second_opinion"] = json_ready(self.second_opinion)
        outcome |= detail
        if self.detail.lists_excluded:
            outcome["excluded_models"] = dict(self.excluded_models)
        return outcome


def spare_models(replaced: Mapping[str, str], excluded: Collection[str]) -> frozenset[str]:
    """Return for each replaced model either it or its replacement: the one whose votes do not count
    as missing.

    The replacement stands for the model; if it has no verdict either, the model's own failure
    counts.
    """
    return frozenset(
        replacement if replacement in excluded else model for model, replacement in replaced.items()
    )


def place_names(count: int) -> tuple[str, ...]:
    """Return names by position for responses without a name."""
    return tuple(map(place_name, range(count)))


def place_name(place: int) -> str:
    """Return the default name of the response at this position (from 0)."""
    return f"response {place + 1}"


def column_of(fields: GivenFields, row: JsonObject, column: str) -> object:
    """Return the value in a column or field, or at a path into one (``meta.user``,
    ``turns[0].id``); None if there is none.

    An exact name goes first, then one that differs in case, then a path.
    """
    cells = {**fields, **row}
    if column in cells:
        return cells[column]
    for name, value in cells.items():
        if name.casefold() == column.casefold():
            return value
    current: object = cells
    for key, place in _STEPS.findall(column):
        if key and isinstance(current, Mapping):
            current = current.get(key)
        elif place and isinstance(current, Sequence) and not isinstance(current, str):
            inside = -len(current) <= int(place) < len(current)
            current = current[int(place)] if inside else None
        else:
            return None
    return current


def cell_of_column(
    name: str, fields: GivenFields, row: JsonObject, column: str
) -> str | int | float:
    """Like ``column_of``, but raise a SetupError if the row, called ``name``, has no such
    column.
    """
    cells = {**fields, **row}
    value = column_of(fields, row, column)
    if value is None and column.casefold() not in map(str.casefold, cells):
        raise SetupError(
            "row {name} has no column {column!r}; it has {held}",
            name=name,
            column=column,
            held=", ".join(cells),
        )
    return value if isinstance(value, str | int | float) else str(value)


def json_ready(value: object) -> JsonValue:
    """Return a record or a part of one as JSON-ready data, without optional fields that are
    None.
    """
    if type(value) in _SCALARS:
        return cast(JsonValue, value)
    if isinstance(value, Mapping):
        return {
            name: member if type(member) in _SCALARS else json_ready(member)
            for name, member in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [member if type(member) in _SCALARS else json_ready(member) for member in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _members(value)
    return cast(JsonValue, value)


_SCALARS = frozenset({str, int, float, bool, type(None)})


def _members(record: DataclassInstance) -> JsonDict:
    members: JsonDict = {}
    for name, may_be_left_out in _keys(type(record)):
        value = getattr(record, name)
        if value is not None or not may_be_left_out:
            members[name] = json_ready(value)
    return members


@cache
def _keys(record: type[DataclassInstance]) -> tuple[tuple[str, bool], ...]:
    return tuple((entry.name, entry.default is None) for entry in fields(record))
