"""Rows without an answer: a target answers them first, then a judge reads the answer.

This is a plan like any other: the first ballot asks the target, the next ones are the judge's. So
the ledger stores answers before a judge needs them, the budget counts them, and a resumed run asks
no target twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from adjudge.core.data.columns import columns_for
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import text_hash
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.question import Choice
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.ask import ask_with
from adjudge.core.engine.run import RecordedVotes
from adjudge.core.engine.session import session
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.gateway.targets.answer import TargetAnswer
from adjudge.core.judges.settings import ModelPanel
from adjudge.core.ledger.key import key_of
from adjudge.core.prompts.target import FIELD, PROMPT, ROW, asks_target, render_target
from adjudge.core.reading.places import Row
from adjudge.core.verdicts.reader import read_written
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.judge_wrapper import JudgeAround, without_verdict
from adjudge.runs.ready_judge import ReadyJudge

_RESPONSE, _CONTEXTS = "response", "contexts"
_ASSUMED = "x" * 800
"""Used for a missing answer when its cost is estimated."""


@dataclass(frozen=True)
class PromptFile:
    """A user's prompt, with placeholders for columns."""

    name: str
    text: str


@dataclass(frozen=True)
class Variant:
    """One way to get an answer: a model, a prompt, and the number of the repetition."""

    system: str
    """The name of the system in reports."""
    model: OpenModel = field(repr=False)
    needs: tuple[str, ...] = ()
    """The columns that it cannot do without."""
    prompt: PromptFile | None = None
    sample: int = 0

    @cached_property
    def criteria(self) -> Criteria:
        """The prompt as a criterion. Together with the row, it determines the request."""
        if self.prompt is None:
            return Criteria("answer", "The row is shown as JSON.")
        return Criteria(self.prompt.name, self.prompt.text)

    def ballot(self, row: Row, language: str) -> Ballot:
        """Return the request for an answer. With a prompt, only the columns that it uses are
        sent.
        """
        columns = {name: row[name] for name in self.needs} if self.prompt else dict(row)
        return Ballot(
            self.criteria,
            Instance({FIELD: json.dumps(columns, ensure_ascii=False)}),
            Choice(()),
            PROMPT if self.prompt else ROW,
            self.model.name,
            language,
            sample=self.sample,
            temperature=self.model.temperature or 0.0,
            seed=self.model.seed_for(self.sample),
        )

    def answer_in(self, vote: Vote) -> TargetAnswer:
        """Return the answer in a vote."""
        text = vote.text or ""
        return TargetAnswer(text) if self.prompt else TargetAnswer.of_json(text)

    def describe(self) -> JsonDict:
        """Return everything that affects the answers, for the record of a run."""
        return {
            "system": self.system,
            "identity": self.model.identity,
            "temperature": self.model.temperature,
            "prompt": text_hash(self.prompt.text) if self.prompt else None,
        }


class SharedAnswers:
    """Answers shared by all judges of a run. Each is requested once, and a failure applies to all
    judges.
    """

    def __init__(self) -> None:
        self._votes: dict[str, asyncio.Task[Vote]] = {}

    async def ask(
        self, ballot: Ballot, asking: Callable[[], Coroutine[object, object, Vote]]
    ) -> Vote:
        """Return the vote on a ballot. ``asking`` is called unless the ballot is already under
        way.
        """
        task = self._votes.get(ballot.id)
        if task is None:
            task = self._votes[ballot.id] = asyncio.ensure_future(asking())
        try:
            # a cancelled judge must not cancel an answer that others wait for
            vote = await asyncio.shield(task)
        except BaseException:
            self._votes.pop(ballot.id, None)
            if task.done():
                raise
            task.cancel()
            raise
        if vote.valid and isinstance(session().votes, RecordedVotes):
            self._votes.pop(ballot.id, None)  # the ledger has it
        return vote


def ask_target(ballot: Ballot, model: OpenModel) -> Coroutine[object, object, Vote]:
    """Ask a target for one answer."""
    return ask_with(ballot, model, render_target(ballot), read_written)


@dataclass(frozen=True)
class UnansweredRow:
    """A row without an answer, and which of the judge's results for it is meant."""

    instance: Instance
    variants: tuple[Variant, ...]
    """All variants of a comparison, else one."""
    place: int

    @property
    def id(self) -> str | None:
        return self.instance.id

    @cached_property
    def asked_row(self) -> str:
        """A key shared by all answers to this row. Based on the position, since ids may repeat."""
        place = self.instance.metadata.get("place") or self.id
        return str(place or text_hash(json.dumps(dict(self.row), ensure_ascii=False)))

    @cached_property
    def row(self) -> Row:
        """The columns that targets see: all except the expected answer and the response."""
        columns = self.instance.input
        columns_and_fields = {**self.instance.fields, **columns}
        expected_fields = (_RESPONSE, "reference")
        hidden = {
            *expected_fields,
            *(column for name in expected_fields for column in columns_for(name, columns)),
        }
        return {name: value for name, value in columns_and_fields.items() if name not in hidden}


@dataclass(frozen=True)
class AnsweredJudge(JudgeAround[UnansweredRow]):
    """A judge whose rows are first answered by a target."""

    variants: tuple[Variant, ...]
    counts: bool = True
    """True if the usage of the target is counted with this judge: the first judge of a run."""
    answers: SharedAnswers = field(default_factory=SharedAnswers, repr=False, compare=False)
    prices: PriceTable = field(repr=False, compare=False, kw_only=True)

    @property
    def max_in_flight(self) -> int:
        return max(self.panel.max_in_flight, 1)

    def open_models(self) -> ModelPanel:
        return ModelPanel({**self._targets, **self.judge.panel})

    @cached_property
    def _targets(self) -> Mapping[str, OpenModel]:
        return {variant.model.name: variant.model for variant in self.variants}

    @cached_property
    def _by_criteria(self) -> Mapping[tuple[str, str], Variant]:
        return {
            (variant.model.name, variant.criteria.identity): variant for variant in self.variants
        }

    def rows(self, instance: Instance) -> list[UnansweredRow]:
        """Return the items to judge: each variant's answer, by each criterion.

        A judge that compares gets all variants of one repetition together.
        """
        times = dict.fromkeys(variant.sample for variant in self.variants)
        groups = (
            [
                tuple(variant for variant in self.variants if variant.sample == time)
                for time in times
            ]
            if self.ready.compares
            else [(variant,) for variant in self.variants]
        )
        count = len(self.ready.criteria) or 1
        return [UnansweredRow(instance, group, place) for group in groups for place in range(count)]

    def check(self, item: UnansweredRow) -> None:
        """Raise if the row lacks a column that its target needs."""
        for variant in item.variants:
            missing = [name for name in variant.needs if name not in item.row]
            if missing:
                raise SetupError(
                    "{system} needs the column {name!r}; the row has: {names}",
                    system=variant.system,
                    name=missing[0],
                    names=", ".join(item.row),
                )

    def plan(self, item: UnansweredRow, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the target's ballots first; once answered, the judge's ballots on the answers."""
        answers, judge_votes = _split_votes(votes)
        if not answers:
            return [variant.ballot(item.row, self.language) for variant in item.variants]
        answered = self._judge_item(item, answers)
        return () if isinstance(answered, str) else self.judge.plan(answered, judge_votes)

    def plan_all(self, item: UnansweredRow) -> Sequence[Ballot]:
        """Plan with an assumed text of typical length instead of the answers."""
        target_ballots = [variant.ballot(item.row, self.language) for variant in item.variants]
        answers = [
            TargetAnswer(f"{_ASSUMED} {variant.system} {variant.sample} {item.id}")
            for variant in item.variants
        ]
        inner = self.ready.items(self._instance(item, answers, {}))[item.place]
        return [*target_ballots, *self.judge.plan_if_allowed(inner)]

    def pool(self, item: UnansweredRow, votes: Sequence[Vote]) -> Result:
        answers, judge_votes = _split_votes(votes)
        paid = tuple(answers) if self.counts and item.place == 0 else ()
        answered = self._judge_item(item, answers)
        if isinstance(answered, str):
            return replace(self._unanswered_result(item, answers, answered), made_by=paid)
        result: Result = self.judge.pool(answered, judge_votes)
        return replace(result, made_by=paid)

    def _judge_item(self, item: UnansweredRow, votes: Sequence[Vote]) -> Any:
        """Return the item for the judge, or the reason why there is none."""
        for vote in votes:
            if not vote.valid:
                return vote.reason or Message("the target gave no answer")
        try:
            answers = [
                variant.answer_in(vote) for variant, vote in zip(item.variants, votes, strict=True)
            ]
            instance = self._instance(item, answers, self._cost_columns(item, votes))
            inner = self.ready.items(instance)[item.place]
            self.judge.check(inner)
        except SetupError as error:
            return error.message
        return inner

    def _instance(
        self, item: UnansweredRow, answers: Sequence[TargetAnswer], took: JsonObject
    ) -> Instance:
        """Return the row with its answer, or with the answers to compare."""
        instance, metadata = item.instance, dict(item.instance.metadata)
        took = {**self._origin_columns(item), **took}
        row = {**instance.input, **took}
        if self.ready.compares:
            texts: dict[str, str | Sequence[str]] = {_RESPONSE: [answer.text for answer in answers]}
            metadata["systems"] = [variant.system for variant in item.variants]
        else:
            texts = {_RESPONSE: answers[0].text}
            if answers[0].contexts:
                texts[_CONTEXTS] = answers[0].contexts
            if answers[0].tool_calls:
                texts["tool_call"] = answers[0].tool_calls
        return Instance(
            {**instance.fields, **texts}, self._name(item), {**metadata, **took, FIELD: row}
        )

    def _cost_columns(self, item: UnansweredRow, votes: Sequence[Vote]) -> JsonDict:
        """Return the answer's latency and, if known, cost as extra columns; empty for
        comparisons.
        """
        if self.ready.compares:
            return {}
        (variant,), (vote,) = item.variants, votes
        asks_model = variant.prompt is not None  # what an application costs nobody knows
        cost = self.prices.cost(variant.model.name, vote.usage) if asks_model else None
        return {"latency": round(vote.latency, 4), **({} if cost is None else {"cost": cost})}

    def _origin_columns(self, item: UnansweredRow) -> JsonDict:
        """Return the answer's system, prompt, repetition and row as extra columns."""
        columns: JsonDict = {}
        if not self.ready.compares:
            (variant,) = item.variants
            columns["system"] = variant.system
            if variant.prompt:
                columns["prompt_file"] = variant.prompt.name
        if self._repeats:
            columns["repeat"] = item.variants[0].sample + 1
        if len(item.variants) < len(self.variants):
            columns["answered_row"] = item.asked_row
        return columns

    @cached_property
    def _repeats(self) -> bool:
        return any(variant.sample for variant in self.variants)

    def _name(self, item: UnansweredRow) -> str | None:
        """Return the id of an answered row: the row's id, plus system and repetition if there are
        several.
        """
        if item.id is None:
            return None
        parts = [item.id]
        if not self.ready.compares and len({variant.system for variant in self.variants}) > 1:
            parts.append(f"[{item.variants[0].system}]")
        if self._repeats:
            parts.append(f"#{item.variants[0].sample + 1}")
        return " ".join(parts)

    def _unanswered_result(self, item: UnansweredRow, votes: Sequence[Vote], reason: str) -> Result:
        """Return a failed result with the reason. An old answer in the file must not replace the
        missing one.
        """
        empty_instance = self._instance(item, [TargetAnswer("")] * len(item.variants), {})
        inner = self.ready.items(empty_instance)[item.place]
        result: Result = self.judge.pool(inner, ())
        row = {name: value for name, value in empty_instance.input.items() if name != _RESPONSE}
        unjudged = Instance(
            {name: value for name, value in empty_instance.fields.items() if name != _RESPONSE}
            or {FIELD: json.dumps(dict(item.row), ensure_ascii=False)},
            empty_instance.id,
            {**empty_instance.metadata, FIELD: row},
        )
        failed = [vote for vote in votes if not vote.valid] or [
            replace(vote, verdict=None, reason=reason) for vote in votes[:1]
        ]
        return replace(
            without_verdict(result, Status.FAILED), instance=unjudged, votes=tuple(failed)
        )

    async def ask(self, ballot: Ballot) -> Vote:
        """Ask for one answer, or for one vote of the judge."""
        if not asks_target(ballot):
            return await self.judge.ask(ballot)
        variant = self._by_criteria[ballot.model, ballot.criteria.identity]
        return await self.answers.ask(ballot, partial(ask_target, ballot, variant.model))

    def vote_keys(self) -> Callable[[Ballot, Mapping[str, str]], bytes]:
        judge_key = self.judge.vote_keys()
        targets = {name: model.identity for name, model in self._targets.items()}

        def key(ballot: Ballot, wordings: Mapping[str, str]) -> bytes:
            if not asks_target(ballot):
                return judge_key(ballot, wordings)
            return key_of(ballot, targets[ballot.model], wordings)

        return key

    def ballots_of_result(self, ballots: Sequence[Ballot]) -> Sequence[Ballot]:
        """Return the ballots without the targets', since an answer is not a vote on itself."""
        return [ballot for ballot in ballots if not asks_target(ballot)]

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return the judge's configuration, plus its targets."""
        inner_settings = self.judge.configuration(criteria)
        return {**inner_settings, "target": [variant.describe() for variant in self.variants]}


def _split_votes(votes: Sequence[Vote]) -> tuple[list[Vote], list[Vote]]:
    """Return the targets' answers, and the judge's votes on them."""
    answers = [vote for vote in votes if asks_target(vote.ballot)]
    return answers, [vote for vote in votes if not asks_target(vote.ballot)]


def answered_first(
    ready: ReadyJudge,
    variants: Sequence[Variant],
    answers: SharedAnswers,
    prices: PriceTable,
    *,
    first: bool,
) -> ReadyJudge:
    """Wrap a judge so that targets answer its rows first. Raises a SetupError for a judge with
    ``per``.
    """
    if ready.per != "row":
        raise SetupError("answers of a target are judged row by row: leave per out")
    judge = AnsweredJudge(
        ready, variants=tuple(variants), counts=first, answers=answers, prices=prices
    )
    times = len({variant.sample for variant in variants})
    systems = tuple(dict.fromkeys(variant.system for variant in variants))
    return replace(
        ready,
        judge=judge,
        first_step=None,
        columns=None,
        each_row=judge.rows,
        systems=systems if len(systems) > 1 else (),
        results_per_row=times if ready.compares else len(variants),
    )
