"""The judges of the ``unitxt`` package (extra ``adjudge[unitxt]``): its prompts and its two steps, our models, votes and pooling."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from time import perf_counter
from typing import Any, Protocol, TypeVar

from adjudge.catalog.entry import pairwise_options
from adjudge.domain.ballot import Ballot
from adjudge.domain.criteria import Criteria, CriteriaOption
from adjudge.domain.frozen import FrozenDict
from adjudge.domain.message import Capabilities, Message, Prompt, Reply, Request, Usage
from adjudge.domain.vote import Outcome, Verdict, Vote
from adjudge.errors import ModelError, Refused, SetupError
from adjudge.gateway.open import ModelLike, OpenModel, open_model, open_panel
from adjudge.judges.base import seed_for, temperature_for
from adjudge.judges.base_direct import BaseDirectJudge
from adjudge.judges.base_pairwise import BasePairwiseJudge
from adjudge.judges.case import Case, Judge
from adjudge.prompts.render import shown_fields
from adjudge.verdicts.read import read

T = TypeVar("T")
_THREAD = "adjudge unitxt"
_IMAGE = re.compile(r"<(?=unitxt-img)", re.IGNORECASE)
"""What makes unitxt take a judged text for a picture."""


class UnitxtEngine(Protocol):
    """A ready inference engine of unitxt's."""

    use_cache: bool

    def infer(self, dataset: list[dict[str, Any]], return_meta_data: bool = False) -> Sequence[Any]:
        """The model's text for each instance."""
        ...

    def get_engine_id(self) -> str:
        """What unitxt calls it."""
        ...


EngineLike = ModelLike | UnitxtEngine


# -- criteria ------------------------------------------------------------------------


def to_unitxt(criteria: Criteria, *, pairwise: bool = False) -> Any:
    """The same criteria as unitxt's ``CriteriaWithOptions``, or as its ``Criteria`` where responses are compared.

    Examples and ``higher_is_better`` have no place there. Scores become the ``option_map``: of all options, or of none.
    """
    kinds, fields = _unitxt().constants, criteria.context_fields
    shared = {
        "name": criteria.name,
        "description": criteria.description,
        "prediction_field": criteria.to_evaluate_field,
        "context_fields": None if fields is None else list(fields),
    }
    if pairwise:
        return kinds.Criteria(**shared)
    options = [kinds.CriteriaOption(name=one.name, description=one.description) for one in criteria.options]
    return kinds.CriteriaWithOptions(**shared, options=options, option_map=_option_map(criteria))


def from_unitxt(criteria: Any) -> Criteria:
    """A ``Criteria`` or ``CriteriaWithOptions`` of unitxt's as ours. One without options compares responses."""
    scores = getattr(criteria, "option_map", None) or {}
    options = [
        CriteriaOption(one.name, one.description, None if scores.get(one.name) is None else float(scores[one.name]))
        for one in getattr(criteria, "options", ())
    ]
    return Criteria(
        name=criteria.name,
        description=criteria.description,
        options=options or pairwise_options(2, "en"),
        to_evaluate_field=criteria.prediction_field or "response",
        context_fields=_context_names(criteria.context_fields),
    )


def _option_map(criteria: Criteria) -> dict[str, float] | None:
    points = {option.name: option.points for option in criteria.options}
    known = {name: score for name, score in points.items() if score is not None}
    if known and len(known) < len(points):
        missing = ", ".join(name for name in points if name not in known)
        raise SetupError(f"criteria {criteria.name!r} has no score for {missing}: unitxt needs one for every option, or none")
    return known or None


def _context_names(fields: str | Sequence[str] | Mapping[str, str] | None) -> list[str] | None:
    """Names of fields; of a mapping {shown name: field} its fields."""
    if fields is None or isinstance(fields, str):
        return None if fields is None else [fields]
    return list(fields.values() if isinstance(fields, Mapping) else fields)


# -- judges --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitxtVote(Vote):
    """A vote with what unitxt asked for it."""

    prompt: str | None = None


@dataclass(kw_only=True, eq=False)
class _Unitxt:
    """The models a unitxt judge asks."""

    inference_engine: EngineLike | Sequence[EngineLike] | None = field(default=None, kw_only=False)
    """One model or a panel, each an engine of unitxt's or whatever else is a model; None is the embedded model."""
    temperature: float | None = None
    _panel: Mapping[str, OpenModel] = field(init=False, repr=False)

    @property
    def panel(self) -> Mapping[str, OpenModel]:
        """The models by the names on the ballots."""
        return self._panel

    def metadata(self, votes: Sequence[Vote]) -> Mapping[str, object]:
        """The prompt of the first vote that has one."""
        prompts = (vote.prompt for vote in votes if isinstance(vote, UnitxtVote) and vote.prompt)
        return FrozenDict({"prompt": text} if (text := next(prompts, None)) else None)


@dataclass(kw_only=True, eq=False)
class UnitxtDirectJudge(_Unitxt, BaseDirectJudge):
    """unitxt's ``LLMJudgeDirect``: the model assesses the text, then chooses an option by its own assessment."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._panel = _open(self.inference_engine, self.samples)

    async def ask(self, ballot: Ballot) -> Vote:
        """One judgment, two calls of the model."""
        *context, judged = shown_fields(ballot.criteria, ballot.instance)
        shown = replace(ballot.criteria, options=[ballot.criteria.option(name) for name in ballot.options])
        text = _text(ballot.instance.fields[judged])
        case = _UnitxtCase("LLMJudgeDirect", _asked(shown, context, False), text, _values(ballot, context))
        return await _judged(ballot, self._panel[ballot.model], self, case, ballot.options)


@dataclass(kw_only=True, eq=False)
class UnitxtPairwiseJudge(_Unitxt, BasePairwiseJudge):
    """unitxt's ``LLMJudgePairwise``: every two responses are a contest, and the model is offered no tie. Responses are
    equal where their contests are: then ``tie_enabled`` says whether the result is a tie."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.contests = "pairs"
        self._panel = _open(self.inference_engine, self.samples)

    def offered(self, count: int) -> tuple[str, ...]:
        """The labels alone."""
        return tuple(label for label in super().offered(count) if label != "tie")

    async def ask(self, ballot: Ballot) -> Vote:
        """One contest, two calls of the model."""
        name, order = ballot.criteria.to_evaluate_field, ballot.order or (0, 1)
        context = [other for other in shown_fields(ballot.criteria, ballot.instance) if other != name]
        texts = [_text(ballot.instance.fields[name][place]) for place in order]
        case = _UnitxtCase("LLMJudgePairwise", _asked(ballot.criteria, context, True), texts, _values(ballot, context))
        vote = await _judged(ballot, self._panel[ballot.model], self, case, ("Response 1", "Response 2", "1", "2"))
        if vote.verdict is None:
            return vote
        return replace(vote, verdict=replace(vote.verdict, option=str(order[int(vote.verdict.option[-1]) - 1])))


def _open(engines: EngineLike | Sequence[EngineLike] | None, samples: int) -> dict[str, OpenModel]:
    kind = _unitxt().engine
    several: list[Any] = list(engines) if isinstance(engines, list | tuple) else [engines]
    for one in several:
        if isinstance(one, kind) and one.use_cache and samples > 1:
            raise SetupError(
                f"{type(one).__name__} keeps its replies, so that {samples} votes would be one: make it with use_cache=False"
            )
    opened = [open_model(EngineModel(one), max_concurrency=1) if isinstance(one, kind) else one for one in several]
    return open_panel(None if engines is None else opened)


def _asked(criteria: Criteria, context: Sequence[str], pairwise: bool) -> Any:
    """What unitxt is given. Scores stay here; fields get plain keys, since unitxt takes a name with a slash for a path."""
    bare = [replace(option, score=None) for option in criteria.options]
    asked = to_unitxt(criteria, pairwise=True) if pairwise else _without_scores(replace(criteria, options=bare))
    asked.context_fields = {name: f"field_{place}" for place, name in enumerate(context)}
    return asked


def _without_scores(criteria: Criteria) -> Any:
    kinds = _unitxt().constants
    options = [kinds.CriteriaOption(name=one.name, description=one.description) for one in criteria.options]
    return kinds.CriteriaWithOptions(name="judged", description=criteria.description, options=options)


def _values(ballot: Ballot, context: Sequence[str]) -> dict[str, str]:
    return {f"field_{place}": _text(ballot.instance.fields[name]) for place, name in enumerate(context)}


def _text(value: str | Sequence[str]) -> str:
    return _IMAGE.sub("< ", value if isinstance(value, str) else "\n".join(value))
