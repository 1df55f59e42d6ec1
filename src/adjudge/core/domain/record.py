"""One judgment as everything behind the ledger reads it: made just now, or kept in a run folder.

What ``--json`` and exports show is ``to_dict``; the fields of a ``detail`` are its keys there, and
one whose default is None is left out while it is None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
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
_STEPS = re.compile(r"([^.\[\]]+)|\[(-?\d+)\]")
"""What a path into a row begins with."""
KIND = "kind"
"""Key of a kind's tag in ledgers. Exports leave out the tags of built-in kinds: the keys tell."""
UNKNOWN_KIND = "unknown_kind"
"""Key of all that is stored of a judgment whose kind no installed package brings."""
FLAGS: tuple[Flag, ...] = get_args(Flag)
"""What a reader of a list may look for."""
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


@light_dataclass(frozen=True, kw_only=True)
class OrderCheck:
    """What showing options or responses in the other order changed."""

    detected: bool | None
    flip_rate: float | None
    noise_rate: float | None


class Detail:
    """What one kind of result says beside what all of them say."""

    kind: ClassVar[str]
    """Tells the kinds apart where a record is kept."""
    sections: ClassVar[tuple[str, ...]] = ()
    """The sections of a report that tally such records, besides the counts that all have."""
    is_comparison: ClassVar[bool] = False
    """True if responses are compared: the verdict names one of them."""
    is_option: ClassVar[bool] = False
    """True if the verdict is an option of the criterion, which says how good it is."""

    @property
    def chosen(self) -> str | None:
        """What was decided, in a word; None of a kind whose outcome has no name."""
        return None

    @property
    def choice(self) -> Selection | str | None:
        """The same, but of compared responses the index of the better one, or "tie"."""
        return self.chosen

    @property
    def bounds(self) -> tuple[float, float]:
        """What a missing score could be, at least and at most."""
        return 0.0, 1.0

    @property
    def is_count(self) -> bool:
        """Whether the score is a count: 0 is the good end, and there is no other."""
        return False

    @property
    def is_shortened(self) -> bool:
        """Whether the judge was shown less than there is."""
        return False

    @property
    def system_names(self) -> tuple[str, ...]:
        """Names of the compared responses; empty if there is one response."""
        return ()

    @property
    def named_systems(self) -> tuple[str, ...]:
        """What the row calls the compared responses; empty if there is one response."""
        return ()

    @property
    def winner_share(self) -> float | None:
        """Share of the valid votes that agree with the outcome of a comparison."""
        return None

    def reordered(self, systems: Sequence[str]) -> Detail:  # noqa: ARG002
        """Return it with the compared responses in another order, which names each of them."""
        return self

    @property
    def system_results(self) -> tuple[SystemResult, ...]:
        """How each of the compared responses fared; empty if there is one response."""
        return ()

    @property
    def order_check(self) -> OrderCheck | None:
        """What showing options or responses in the other order changed, if that was asked."""
        return None

    @property
    def lists_excluded(self) -> bool:
        """Return True if the models that did not count are listed even if there are none."""
        return False

    @property
    def rating_range(self) -> tuple[float, float] | None:
        """The lowest and the highest number that was allowed; None if no number was asked for."""
        return None

    @property
    def has_own_options(self) -> bool:
        """Return True if the options are those of the criterion, not pass and fail."""
        return False

    @property
    def dimension_scores(self) -> Mapping[str, int | None] | None:
        """Dimension → score; None of a judgment that has no dimensions."""
        return None

    @property
    def blamed_step(self) -> int | None:
        """The step of a trajectory that is blamed for its failure, if one is."""
        return None

    def possible_scores(
        self, record: JudgmentRecord, scale: tuple[float, float]
    ) -> tuple[float, float] | None:
        """Return the least and the most that the score of ``record`` would be with the votes that
        its panel lost; None if they could not change it. ``scale``: of the criterion.
        """
        if record.score is None or not record.left_out or math.isinf(self.bounds[1]):
            return None
        low, high = scale
        return min(low, record.score), max(high, record.score)

    def possible_win_rates(
        self,
        record: JudgmentRecord,  # noqa: ARG002
    ) -> tuple[tuple[float, float], ...]:
        """Likewise of each compared response; empty if lost votes could not change any of them."""
        return ()

    def columns(self) -> JsonDict:
        """Return it as a table has it, one level deep."""
        return self.to_dict()

    def shown_to(self, criteria: Criteria, instance: Instance, language: str) -> Instance:  # noqa: ARG002
        """Return what the question about a criterion showed of the row; ``language``: of the
        prompt.
        """
        return instance

    def label_criteria(self, judge: JudgeConfiguration) -> Criteria | None:  # noqa: ARG002
        """Return what people are asked about a row if the judge's configuration names no
        criterion.
        """
        return None

    def to_dict(self) -> JsonDict:
        """As ``--json`` and exports have it."""
        return _members(self) if is_dataclass(self) else {}

    def stored(self, outcome: JsonDict) -> JsonDict:
        """Return the outcome of a judgment as a ledger keeps it, with the tag of its kind."""
        return {**outcome, KIND: self.kind}


@light_dataclass(frozen=True, kw_only=True)
class DirectDetail(Detail):
    """One text judged by one criterion."""

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
        if record.has_safe_majority and self._decides_whatever_was_lost(record):
            return None
        return super().possible_scores(record, scale)

    def _decides_whatever_was_lost(self, record: JudgmentRecord) -> bool:
        """Return True if the votes in the listed order are a majority, too: they alone decide. How
        many of them were lost is only known if whole models were, which lack both orders.
        """
        if self.positional_bias is None:
            return True
        models, left_out = {*record.model_scores, *record.left_out}, record.left_out
        lost = record.votes_requested - record.votes_valid
        is_even = lost * len(models) == record.votes_requested * len(left_out)
        return record.agreement == 1 and is_even


@light_dataclass(frozen=True, kw_only=True)
class AspectDetail(Detail):
    """Pass or fail on one aspect."""

    kind: ClassVar[str] = "aspect"

    verdict: str | None
    model_scores: Mapping[str, float]
    weights: Annotated[Mapping[str, float] | None, "of a weighted panel: its models' weights"] = (
        None
    )

    @property
    def chosen(self) -> str | None:
        return self.verdict

    def possible_scores(
        self, record: JudgmentRecord, scale: tuple[float, float]
    ) -> tuple[float, float] | None:
        if record.score is None or not record.left_out:
            return None
        scores, weights = self.model_scores, self.weights or {}
        counted = {model: weights.get(model, 1.0) for model in scores}
        mean = math.fsum(counted[model] * score for model, score in scores.items())
        whole = math.fsum(counted.values())
        if not whole or not math.isclose(mean / whole, record.score, abs_tol=1e-9):
            return super().possible_scores(record, scale)  # weighted, and stored without weights
        lost = math.fsum(weights.get(model, 1.0) for model in record.left_out)
        low, high = ((mean + lost * end) / (whole + lost) for end in scale)
        return (low, high) if lost else None

    @property
    def lists_excluded(self) -> bool:
        return True


@light_dataclass(frozen=True, kw_only=True)
class SystemResult:
    """How one of the compared responses fared.

    The lists have an entry for each other response, in the order given.
    """

    contest_results: tuple[float | None, ...]
    """1.0 won, 0.0 lost, 0.5 tied, None: no valid vote."""
    compared_to: tuple[int, ...]
    """Which response each contest was against."""
    explanations: tuple[str | None, ...]
    positional_bias: tuple[bool | None, ...]
    """Whether the contest came out otherwise in the other order; None where that was not asked."""
    certainty: tuple[float | None, ...]
    """Share of the valid votes, both orders included, that agree with the contest's outcome."""
    winrate: float | None
    """Mean over its contests; None unless each has an outcome."""
    ranking: int | None
    """1 is best; equal win rates share a rank."""
    selections: tuple[str | None, ...]
    """Who won each contest: an index, "tie", or None."""


@light_dataclass(frozen=True, kw_only=True)
class PairwiseDetail(Detail):
    """Responses compared with each other."""

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
        """The index of the winner, or "tie"."""
        return self.selected_option

    @property
    def system_names(self) -> tuple[str, ...]:
        """What the responses are called, one name each: by their place where a ledger has other
        names than responses.
        """
        count = len(self.per_system_results)
        return self.systems if len(self.systems) == count else place_names(count)

    @property
    def named_systems(self) -> tuple[str, ...]:
        return self.systems

    @property
    def winner_share(self) -> float | None:
        return self.certainty

    def reordered(self, systems: Sequence[str]) -> PairwiseDetail:
        chosen, order = self.selected_option, list(systems)
        winner = order.index(self.systems[chosen]) if isinstance(chosen, int) else chosen
        return replace(self, systems=tuple(order), selected_option=winner)

    @property
    def system_results(self) -> tuple[SystemResult, ...]:
        return self.per_system_results

    @property
    def order_check(self) -> OrderCheck | None:
        return self.positional_bias

    def possible_win_rates(self, record: JudgmentRecord) -> tuple[tuple[float, float], ...]:
        if not record.scored or not record.left_out:
            return ()
        found = tuple(
            _possible_win_rate(one, record.votes_valid, record.votes_requested)
            for one in self.per_system_results
        )
        return found if any(low < high for low, high in found) else ()


def _possible_win_rate(system: SystemResult, valid: int, requested: int) -> tuple[float, float]:
    """Return the least and the most of a win rate. Lost votes are taken to be spread evenly over
    the contests, as those of a model that never answered are.
    """
    ends = [
        (value, value)
        if value is not None and share is not None and (2 * share - 1) * valid > requested - valid
        else (0.0, 1.0)
        for value, share in zip(system.contest_results, system.certainty, strict=True)
    ]
    count = len(ends) or 1
    return sum(low for low, _ in ends) / count, sum(high for _, high in ends) / count


@light_dataclass(frozen=True, kw_only=True)
class OtherDetail(Detail):
    """What a kind of result that is not ours says."""

    kind: ClassVar[str] = "other"

    values: JsonObject

    @property
    def chosen(self) -> str | None:
        """The first of the keys that name one."""
        named = (
            self.values.get(name) for name in ("winner", "verdict", "option", "selected_option")
        )
        return next((one for one in named if isinstance(one, str) and one), None)

    @property
    def choice(self) -> str | int | None:
        """The same; an index where that is all there is."""
        named = (self.values.get(name) for name in ("verdict", "option", "selected_option"))
        return next((one for one in named if isinstance(one, str | int)), None)

    @property
    def has_own_options(self) -> bool:
        return True

    def to_dict(self) -> JsonDict:
        return dict(self.values)


@light_dataclass(frozen=True, kw_only=True)
class UnknownDetail(Detail):
    """A judgment of a kind that no installed package brings.

    It has no verdict and no score: what its numbers mean, only the package knows. All that is
    stored of it is kept, so that copies and exports lose nothing.
    """

    kind: ClassVar[str] = UNKNOWN_KIND

    contents: JsonObject
    """The judgment's tag, status, score, reason and the keys of its kind."""

    def to_dict(self) -> JsonDict:
        return {UNKNOWN_KIND: dict(self.contents)}

    def stored(self, outcome: JsonDict) -> JsonDict:
        del outcome[UNKNOWN_KIND]
        return {**outcome, **self.contents}


@light_dataclass(frozen=True, kw_only=True)
class VoteRecord:
    """One answer of one model."""

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
    """Of an agent's trajectory: steps with quotes."""
    place: KeptPlace | None = None
    """Where in it something happened."""
    score: float | None = None
    """The judge's own, where it gave one beside its option."""
    answered_by: str | None = None
    """The model that answered, as its reply names it."""
    answered_before: str | None = None
    """What earlier replies of the same model named, where that is another."""
    fingerprint: str | None = None
    """What the provider says its system was."""
    persona: str | None = None
    """Who the model was told to be."""
    repairs: int = 0
    """Further calls it took to get a readable reply."""
    metadata: JsonObject = NOTHING
    """What a judge of one's own has to say beside its verdict."""
    prompt: str | None = None
    """The SHA-256 of the prompt that was last sent."""
    unfinished: bool = False
    """Whether the run ended before the model could be asked again for a readable reply."""
    at: float | None = None
    """When it was cast, as the clock counts; None of one that is in no ledger."""

    @property
    def details(self) -> Details:
        """What its verdict has beside the option and the explanation."""
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
        """Of what it says, where log-probabilities were read."""
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
                name: json_ready(found)
                for name, found in (
                    ("evidence", self.evidence),
                    ("each", self.each),
                    ("cited", self.cited),
                    ("place", self.place),
                )
                if found is not None
            },
        }


@light_dataclass(frozen=True, kw_only=True)
class JudgmentRecord:
    """What one judge said of one row by one criterion."""

    judge: str
    index: int
    """Its place among the judge's judgments, from 0."""
    id: str | None
    fields: Fields
    input: Annotated[JsonObject, "the row by its own columns"] = NOTHING
    """Empty where a program made the row."""
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
    detail: Detail
    votes: tuple[VoteRecord, ...] | None = None
    """None where they were not read."""
    judge_identity: str | None = None
    """Of a judgment that was imported: which judge it was there."""
    used: Mapping[str, Usage] = field(default=NOTHING, compare=False)
    """Model → what it took; empty where the votes were not read."""
    named: Mapping[tuple[str, str], int] = field(default_factory=dict, compare=False)
    """The model that was asked, and the one that its reply names → how many votes; empty as
    ``used`` is.
    """

    @property
    def row(self) -> int:
        """Its place among the judge's judgments, from 1, as people count."""
        return self.index + 1

    @property
    def scored(self) -> bool:
        """Whether there is a verdict."""
        return self.status == "scored"

    @property
    def verdict(self) -> str | None:
        """What was decided, in a word: the option, PASS or FAIL, or the name of the better
        response.
        """
        return self.detail.chosen

    @property
    def choice(self) -> Selection | str | None:
        """The same, but of compared responses the index of the better one, or "tie"."""
        return self.detail.choice

    @property
    def vote_count(self) -> Message:
        """How many votes there are, and how many of them are for the verdict."""
        return vote_count(
            self.verdict, self.votes_valid, self.votes_requested, self.agreement, tie=self.tie
        )

    @property
    def answered_by(self) -> str:
        """The target whose answer was judged; empty where a row has one answer alone, whatever
        columns it has.
        """
        return str(self.input.get("system", "")) if "answered_row" in self.input else ""

    @property
    def systems(self) -> tuple[str, ...]:
        """What compared responses are called; nothing where there is one response."""
        return self.detail.system_names

    @property
    def positional_bias(self) -> OrderCheck | None:
        """What the other order changed, where that was asked."""
        return self.detail.order_check

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What is unusual about it. Whether a reply had to be asked for again, its votes tell."""
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
        """Of a cascade: the step whose verdict this is; None where none was accepted."""
        return next((one.step for one in self.steps if one.accepted), None)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Of a panel: the models that did not count."""
        if not self.excluded_models:
            return ()
        is_single = (
            self.detail.lists_excluded and len({*self.model_scores, *self.excluded_models}) < 2
        )
        return () if self.steps or is_single else tuple(self.excluded_models)

    @property
    def model_scores(self) -> Mapping[str, float]:
        """Of a panel: each model by itself."""
        return getattr(self.detail, "model_scores", None) or NOTHING

    @property
    def has_safe_majority(self) -> bool:
        """Return True if the verdict stays what it is whatever the lost votes would have been."""
        if self.agreement is None:
            return False
        agreeing = count_agreeing(self.votes_valid, self.agreement)
        return 2 * agreeing - self.votes_valid > self.votes_requested - self.votes_valid

    def possible_scores(
        self, scale: tuple[float, float] = (0.0, 1.0)
    ) -> tuple[float, float] | None:
        """Return the least and the most that the score would be with the votes of a panel that were
        lost; None if they could not change it. ``scale``: of the criterion.
        """
        return self.detail.possible_scores(self, scale)

    @property
    def possible_win_rates(self) -> tuple[tuple[float, float], ...]:
        """Likewise of each compared response; empty if lost votes could not change any of them."""
        return self.detail.possible_win_rates(self)

    @property
    def usage(self) -> Usage:
        """What it took, where that is known."""
        first, *others = self.used.values() or (Usage(),)
        return sum(others, first)

    @property
    def bounds(self) -> tuple[float, float]:
        """What the score of a judgment without one could be, at least and at most."""
        return (0.0, 1.0) if self.fallback else self.detail.bounds

    @property
    def identity(self) -> str:
        """Of what was judged: rows with the same content share it."""
        return identity_of(self.fields)

    @property
    def name(self) -> str:
        return self.id or str(self.row)

    def group(self, column: str) -> str | None:
        """Return what the row shares with others in a column, without blanks around it; None if the
        cell is empty.
        """
        value = column_of(self.fields, self.input, column)
        return None if value is None else str(value).strip() or None

    def cell(self, column: str) -> str | int | float:
        """What the row holds in one of its own columns, or fields, whatever the case of the
        name; a SetupError where there is none.
        """
        return cell_of_column(self.name, self.fields, self.input, column)

    def to_dict(self) -> JsonDict:
        """As ``--json`` and exports have it, nested."""
        given: JsonDict = {"fields": json_ready(self.fields)}
        given |= {"input": dict(self.input)} if self.input else {}
        votes = {} if self.votes is None else {"votes": [vote.to_dict() for vote in self.votes]}
        identity = {} if self.judge_identity is None else {"judge_identity": self.judge_identity}
        return {
            "judge": self.judge,
            "row": self.row,
            "id": self.id,
            **given,
            **self.outcome(),
            **identity,
            **votes,
        }

    def outcome(self) -> JsonDict:
        """The same without where the judgment stands, what was judged, and the votes."""
        return self._outcome(self.detail.to_dict())

    def columns(self) -> JsonDict:
        """Like ``outcome``, but one level deep, as a table has it."""
        return self._outcome(self.detail.columns())

    def _outcome(self, detail: JsonDict) -> JsonDict:
        found: JsonDict = {
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
            found["excluded_models"] = dict(self.excluded_models)
        if self.steps:
            found |= {"decided_by": self.decided_by, "steps": json_ready(self.steps)}
        found |= detail
        if self.detail.lists_excluded:
            found["excluded_models"] = dict(self.excluded_models)
        return found


def place_names(count: int) -> tuple[str, ...]:
    """What responses are called that nobody named."""
    return tuple(f"response {place}" for place in range(1, count + 1))


def column_of(fields: GivenFields, row: JsonObject, column: str) -> object:
    """Return what a row holds in a column or a field, or at a path into one (``meta.user``,
    ``turns[0].id``); None if there is nothing. A name that is written exactly like that goes
    first, then one that differs in case.
    """
    held = {**fields, **row}
    if column in held:
        return held[column]
    for name, value in held.items():
        if name.casefold() == column.casefold():
            return value
    found: object = held
    for key, place in _STEPS.findall(column):
        if key and isinstance(found, Mapping):
            found = found.get(key)
        elif place and isinstance(found, Sequence) and not isinstance(found, str):
            inside = -len(found) <= int(place) < len(found)
            found = found[int(place)] if inside else None
        else:
            return None
    return found


def cell_of_column(
    name: str, fields: GivenFields, row: JsonObject, column: str
) -> str | int | float:
    """The same; a SetupError where the row, called ``name``, has no such column."""
    held = {**fields, **row}
    value = column_of(fields, row, column)
    if value is None and column.casefold() not in map(str.casefold, held):
        raise SetupError(
            "row {name} has no column {column!r}; it has {held}",
            name=name,
            column=column,
            held=", ".join(held),
        )
    return value if isinstance(value, str | int | float) else str(value)


def json_ready(value: object) -> JsonValue:
    """A record, or a part of one, as JSON has it; a field that may be left out is, while it is
    None.
    """
    if type(value) in _SCALARS:
        return cast(JsonValue, value)
    if isinstance(value, Mapping):
        return {
            name: one if type(one) in _SCALARS else json_ready(one) for name, one in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [one if type(one) in _SCALARS else json_ready(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _members(value)
    return cast(JsonValue, value)


_SCALARS = frozenset({str, int, float, bool, type(None)})


def _members(record: DataclassInstance) -> JsonDict:
    found: JsonDict = {}
    for name, may_be_left_out in _keys(type(record)):
        value = getattr(record, name)
        if value is not None or not may_be_left_out:
            found[name] = json_ready(value)
    return found


@cache
def _keys(record: type[DataclassInstance]) -> tuple[tuple[str, bool], ...]:
    return tuple((one.name, one.default is None) for one in fields(record))
