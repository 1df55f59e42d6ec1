"""Judging for other programs: one text or one comparison at a time, all of them under one
budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.catalog.criteria import criteria_of, ready_made
from adjudge.core.catalog.criteria_file import parse_entry
from adjudge.core.catalog.entry import Kind
from adjudge.core.catalog.packages import PACKAGED
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance, PairwiseInstance
from adjudge.core.domain.results import Result
from adjudge.core.engine.run import check_prices
from adjudge.core.gateway.layers.budget import Budget, OpenBudget, calling
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.reading.values import Place
from adjudge.errors import ModelUnusable, SetupError
from adjudge.runs.builder import open_entry
from adjudge.runs.criteria_entry import CriteriaEntry
from adjudge.runs.eval_file import (
    DataEntry,
    DirectEntry,
    EvalFile,
    JudgeEntry,
    Order,
    PairwiseEntry,
)
from adjudge.runs.execute import JudgmentDone, execute
from adjudge.runs.plan import resolve
from adjudge.runs.project import ModelEntry

MOST_VOTES = 15
MOST_RESPONSES = 20
LONGEST = 200_000
"""Characters of all texts of one question together."""
Fields = Mapping[str, str | Sequence[str]]
CriteriaLike = str | Mapping[str, object]
"""A question, the name of ready-made criteria, or criteria written out as in a file of criteria.

Never a path.
"""


class JudgingService:
    """Asks the same models on behalf of all clients, within a shared budget. Thread-safe."""

    def __init__(
        self,
        models: Sequence[ModelEntry],
        *,
        budget: Budget | None = None,
        prices: PriceTable | None = None,
        cache: bool = True,
        language: str = "en",
    ) -> None:
        """``budget``: for the lifetime of the service; None means no limit."""
        self.language = language
        self.opened = {entry: open_entry(entry, cache=cache, prices=prices) for entry in models}
        """The model of each entry."""
        self._models = tuple(models)
        self.open_budget = OpenBudget(budget, prices)
        """The budget of all clients together, with their spending."""
        self.open_budget.puts_off = True  # a smaller question may fit
        check_prices(
            budget,
            self.open_budget.prices,
            {"models": {model.name: None for model in self.opened.values()}},
        )

    @property
    def models(self) -> list[OpenModel]:
        """The models that are asked."""
        return list(self.opened.values())

    @property
    def model_names(self) -> list[str]:
        return [model.name for model in self.opened.values()]

    def judge(
        self, criteria: CriteriaLike, response: str, fields: Fields | None = None, votes: int = 1
    ) -> Result:
        """Judge one text by one criterion.

        Failures are returned as results. Raises a SetupError if the question is invalid.
        """
        criterion = self.criteria(criteria, "direct")
        row = Instance({**_beside(fields, criterion), criterion.to_evaluate_field: response})
        return self._ask(
            DirectEntry(
                kind="direct",
                criteria=(CriteriaEntry(criterion),),
                votes=_votes(votes),
                early_stop=votes > 1,
            ),
            row,
        )

    def compare(
        self,
        criteria: CriteriaLike,
        responses: Sequence[str],
        fields: Fields | None = None,
        votes: int = 1,
        *,
        both_orders: bool = True,
    ) -> Result:
        """Compare responses. ``both_orders``: ask again with the responses reversed."""
        if not 2 <= len(responses) <= MOST_RESPONSES:
            raise SetupError(
                "a comparison needs 2 to {most_responses} responses, but {count} were given",
                most_responses=MOST_RESPONSES,
                count=len(responses),
            )
        criterion = self.criteria(criteria, "pairwise")
        row = PairwiseInstance(
            {**_beside(fields, criterion), criterion.to_evaluate_field: list(responses)}
        )
        entries = (CriteriaEntry(criterion),)
        order: Order = "both" if both_orders else "one"
        return self._ask(
            PairwiseEntry(kind="pairwise", criteria=entries, votes=_votes(votes), order=order),
            row,
        )

    def criteria(self, said: CriteriaLike, kind: Kind) -> Criteria:
        """Look up a criterion. No file is ever read, whatever the name."""
        _check_length([said])
        if isinstance(said, Mapping):
            entry = parse_entry(dict(said), Place("criteria"), self.language, kind)
            if entry.kind != kind:
                raise SetupError(
                    "criteria {name!r} are {kind}, but {kind2} criteria are needed here",
                    name=entry.criteria.name,
                    kind=entry.kind,
                    kind2=kind,
                )
            return entry.criteria
        if not said.strip():
            raise SetupError("criteria is empty: it must be a question, a name or an object")
        if len(said.split()) == 1 or PACKAGED.fullmatch(said):
            return ready_made(said, kind, self.language)
        return criteria_of(said, kind, self.language)

    def _ask(self, entry: JudgeEntry, row: Instance) -> Result:
        _check_length(row.fields.values())
        file = EvalFile(
            data=DataEntry(path=""),
            judges=(entry,),
            language=self.language,
            models=self._models,
            rows=(row,),
        )
        open_budget = self.open_budget
        plan = resolve(file, opened=self.opened.__getitem__, prices=open_budget.prices)
        plan = replace(plan, folder=None)  # an answer is not kept
        try:
            with calling(open_budget), execute(plan) as events:
                (result,) = [event.result for event in events if isinstance(event, JudgmentDone)]
        except ModelUnusable:
            open_budget.go_on()
            raise
        return result


def paid_for(models: Sequence[ModelEntry], prices: PriceTable) -> list[str]:
    """Return the models that cost money or whose price is unknown."""
    priced_models = [
        (name, prices.of(name)) for name in (open_entry(entry).name for entry in models)
    ]
    return [name for name, price in priced_models if price is None or price.input or price.output]


def _beside(fields: Fields | None, criterion: Criteria) -> Fields:
    """Return the additional fields. Raises a SetupError if they include the judged field."""
    if fields and criterion.to_evaluate_field in fields:
        raise SetupError(
            "fields also contains the judged field {to_evaluate_field!r}: pass it only once",
            to_evaluate_field=criterion.to_evaluate_field,
        )
    return fields or {}


def _votes(wanted: int) -> int:
    if not 1 <= wanted <= MOST_VOTES:
        raise SetupError(
            "votes must be from 1 to {most_votes}, not {wanted}",
            most_votes=MOST_VOTES,
            wanted=wanted,
        )
    return wanted


def _check_length(values: Iterable[object]) -> None:
    length = sum(len(text) for text in _texts(values))
    if length > LONGEST:
        raise SetupError(
            "the texts have {length} characters together; at most {longest} are accepted",
            length=length,
            longest=LONGEST,
        )


def _texts(values: Iterable[object]) -> Iterator[str]:
    """Yield every text in nested values, including keys."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, Sequence):
            waiting += value
