"""``--dry-run``: estimate what judging would take, before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

from adjudge.core.domain.json_document import Count, fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.engine.estimate import CostEstimate, ExpectedSaving, ReplacementCost
from adjudge.core.gateway.prices import PriceTable, dollars
from adjudge.messages import Message, join, plural
from adjudge.runs.cli.execute import RunDisplay, skipped_rows
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.output import echo
from adjudge.runs.counts import count_votes, grouped
from adjudge.runs.execute import estimate
from adjudge.runs.numbers import figure
from adjudge.runs.results.outcome import RunOutcome

_MOST_REFUSED = 5


def estimated(
    outcome: RunOutcome,
    *,
    fork_of: Path | None = None,
    retry_failed: bool = False,
    retry_reason: str | None = None,
) -> CostEstimate:
    """Estimate a run. Rows that cannot be judged are reported, as in a real run."""
    cost_estimate = estimate(
        outcome.plan,
        RunDisplay(outcome, quiet=True).show,
        fork_of=fork_of,
        retry_failed=retry_failed,
        retry_reason=retry_reason,
    )
    if outcome.skipped:
        echo(skipped_rows(outcome), err=True)
    return cost_estimate


def show_estimate(
    found: CostEstimate,
    *,
    as_json: bool,
    in_batches: bool = False,
    of_candidates: bool = False,
) -> None:
    """Print ranges of calls, tokens and money, and what is unknown."""
    if as_json:
        print_results(
            "estimate",
            {"judgments": found.rows},
            (_json(found) | (_batch_json(found) if in_batches else {}),),
        )
        return
    rows = grouped(found.rows)
    echo(
        Message("candidates: {count}", count=rows)
        if of_candidates
        else Message("judgments: {count}", count=rows)
    )
    if found.answered:
        echo(Message("answered already: {votes}", votes=count_votes(found.answered)))
    if found.in_batches:
        echo(
            Message(
                "already asked in batches under way, not counted below: {votes}",
                votes=count_votes(found.in_batches),
            )
        )
    for reason, votes in list(found.refused.items())[:_MOST_REFUSED]:
        echo(Message("will fail: {votes}: {reason}", votes=count_votes(votes), reason=reason))
    if len(found.refused) > _MOST_REFUSED:
        other_votes = sum(list(found.refused.values())[_MOST_REFUSED:])
        echo(Message("will also fail: {votes}", votes=count_votes(other_votes)))
    echo(Message("calls: {span}", span=_span(*found.calls)))
    echo(Message("tokens: {span}", span=_span(*found.tokens)))
    echo(Message("cost: {cost}", cost=_cost(found)))
    for saving in found.savings:
        _show_saving(saving)
    for replacement in found.replacements:
        _show_replacement(replacement)
    if in_batches and found.rounds:
        _show_batches(found)
    echo(
        Message(
            "Tokens and cost are estimates: models split texts differently. The lower end counts "
            "the first text of every candidate; the upper end counts every attempt, with long "
            "texts and all samples."
        )
        if of_candidates
        else Message(
            "Tokens and cost are estimates: models split texts differently. The lower end counts "
            "only necessary requests, with one-word answers; the upper end counts every vote "
            "with a long answer, and one in ten asked again."
        )
    )


def _show_saving(saving: ExpectedSaving) -> None:
    """Print how many rows a learned first step is expected to decide, and at what risk."""
    echo(
        plural(
            "cascade: {step} is expected to decide about {spared} of {count} row without {last} "
            "({share:.0%} of the {set_by} rows that set its threshold); the upper bounds ignore "
            "this saving",
            "cascade: {step} is expected to decide about {spared} of {count} rows without {last} "
            "({share:.0%} of the {set_by} rows that set its threshold); the upper bounds ignore "
            "this saving",
            saving.rows,
            step=saving.step,
            spared=saving.spared,
            last=saving.last,
            share=saving.share,
            set_by=saving.set_by,
        )
    )
    for line in saving.promise[1:]:
        echo(line)


def _show_replacement(replacement: ReplacementCost) -> None:
    """Print the most that a replacement may add, if a member fails on every row."""
    usd = replacement.usd
    echo(
        Message(
            "replacement: {model} may add up to {calls} calls ({cost}) if a model fails on every "
            "row; the figures above do not include them",
            model=replacement.model,
            calls=grouped(replacement.calls),
            cost=Message("price unknown") if usd is None else dollars(usd),
        )
    )


def _show_batches(found: CostEstimate) -> None:
    """Print the possible number of batch rounds, and what batches cost and save.

    Repairs are not asked in batches, but there are few.
    """
    echo(Message("rounds of batches: {span}", span=_span(1, found.rounds)))
    if found.usd[1]:
        low, high = found.batch_usd
        echo(
            Message(
                "in batches: ${low} to ${high}, up to ${saved} less",
                low=figure(low, 4),
                high=figure(high, 4),
                saved=figure(found.usd[1] - high, 4),
            )
        )


def _batch_json(found: CostEstimate) -> JsonDict:
    return {
        "batch": fill(
            BatchEstimateShape,
            cost_usd=_ends(found.batch_usd),
            saved_usd=found.usd[1] - found.batch_usd[1],
            rounds=_ends((min(1, found.rounds), found.rounds)),
        )
    }


class EndsShape(TypedDict):
    """The certain cost, and the possible cost."""

    lower: float
    upper: float


class ExpectedSavingShape(TypedDict):
    """The rows that a learned first step of a cascade is expected to decide."""

    step: str
    last: Annotated[str, "the model that is not asked about them"]
    rows: int
    share: Annotated[float, "of the rows that set the step's threshold"]
    spared: int
    set_by: Annotated[int, "rows that set the threshold"]
    promise: Annotated[Sequence[str], "what it risks"]


class ReplacementShape(TypedDict):
    """The most that a replacement of a panel's member may add."""

    model: str
    calls: int
    usd: Annotated[float | None, "null: no price known"]


class BatchEstimateShape(TypedDict):
    """The estimated cost if batches are used."""

    cost_usd: EndsShape
    saved_usd: Annotated[float, "less than without batches, at the upper end"]
    rounds: EndsShape


class EstimateShape(TypedDict):
    """The estimated cost of judging. Candidates of ``generate`` count as judgments."""

    judgments: int
    answered: Annotated[int, "votes that the run holds already"]
    in_batches: Annotated[
        int, "votes that the run's open batches were asked for; not in what follows"
    ]
    refused: NotRequired[
        Annotated[
            Count,
            "why votes will fail before any model is asked, as too long for it, and how many",
        ]
    ]
    calls: EndsShape
    tokens: EndsShape
    cost_usd: EndsShape
    unpriced_models: Annotated[Sequence[str], "not in the cost"]
    expected_savings: NotRequired[
        Annotated[Sequence[ExpectedSavingShape], "of cascades; the upper ends are without them"]
    ]
    replacements: NotRequired[
        Annotated[
            Sequence[ReplacementShape],
            "if a model fails on every row; not in calls, tokens and cost_usd",
        ]
    ]
    batch: NotRequired[BatchEstimateShape]


def _json(found: CostEstimate) -> JsonDict:
    return fill(
        EstimateShape,
        found,
        judgments=found.rows,
        calls=_ends(found.calls),
        tokens=_ends(found.tokens),
        cost_usd=_ends(found.usd),
        unpriced_models=found.unpriced,
        expected_savings=[fill(ExpectedSavingShape, saving) for saving in found.savings],
        replacements=[fill(ReplacementShape, cost) for cost in found.replacements],
    )


def _ends(span: tuple[float, float]) -> JsonDict:
    return fill(EndsShape, lower=span[0], upper=span[1])


def _cost(found: CostEstimate) -> Message:
    low, high = found.usd
    if not high and not found.calls[1]:
        if found.in_batches:
            return Message("$0 (every answer is stored, or asked in batches)")
        if found.answered:
            return Message("$0 (every answer is already stored)")
        return Message("$0 (nothing to ask)")
    names = ", ".join(map(repr, found.unpriced))
    unknown = [Message("no price for model {names}", names=names)] if names else []
    if not high:
        return unknown[0] if unknown else Message("$0 (the models run on this machine)")
    cost_range = Message(
        "${low} to ${high} (prices of {dated}, or your own)",
        low=figure(low, 4),
        high=figure(high, 4),
        dated=PriceTable.load_shipped().dated,
    )
    return join("; ", (cost_range, *unknown))


def _span(low: int, high: int) -> str:
    ends = grouped(low), grouped(high)
    return ends[0] if low == high else Message("{low} to {high}", low=ends[0], high=ends[1])
