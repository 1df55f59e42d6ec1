"""Notes for readers of a run: models that answered for others, double payments, and criteria that
may be scored upside down.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from adjudge.core.domain.json_types import JsonObject, object_in
from adjudge.core.domain.numbers import number_of
from adjudge.core.gateway.layers.account import Spent
from adjudge.core.gateway.prices import dollars
from adjudge.core.ledger.file import OPINIONS, READERS
from adjudge.messages import Message, plural
from adjudge.runs.counts import count_tokens
from adjudge.runs.numbers import percent

if TYPE_CHECKING:
    from adjudge.core.ledger.pending import Batch

_VERSION = re.compile(r"(?:[-@:_](?:\d{2,8}|v\d+|preview|exp|beta|free))*")
"""Suffixes of a model's name that do not make it another model."""
_SEVERAL = 2
_OFTEN, _OFTEN_SHARE = 3, 0.1
"""Votes and share of votes in an unknown shape from which a report says so."""
_NUMBERED = re.compile(r" \d+$")
"""The suffix by which a panel tells models of the same name apart."""


def answering_notes(named: Mapping[tuple[str, str], int]) -> Iterator[Message]:
    """Yield a note for each model whose replies name another model, or several.

    ``named``: (model asked, model named) → votes.
    """
    by_model: dict[str, dict[str, int]] = {}
    for (model, name), votes in named.items():
        by_model.setdefault(model, {})[name] = votes
    for model, names in by_model.items():
        if len(names) > 1:
            most = sorted(
                names.items(), key=lambda name_and_votes: (-name_and_votes[1], name_and_votes[0])
            )
            names_with_votes = ", ".join(f"{name} ({votes})" for name, votes in most)
            yield Message(
                "{model} was asked, but its replies name several models, so rows may not be "
                "comparable: {names}",
                model=model,
                names=names_with_votes,
            )
        elif is_other(model, name := next(iter(names))):
            yield Message(
                "{model} was asked, but its replies name another model: {name}",
                model=model,
                name=name,
            )


def opinion_notes(opinions: Mapping[tuple[str, bool | None], int]) -> Iterator[Message]:
    """Yield a note for each model that gave second opinions.

    ``opinions``: (model, agrees with the verdict) → count; None: one of the two has no verdict.
    """
    for model in dict.fromkeys(model for model, _ in opinions):
        counts = {agrees: opinions.get((model, agrees), 0) for agrees in (True, False, None)}
        yield Message(
            "second opinions of {model} on {asked} judgments: {agrees} agree, {differs} differ, "
            "{incomparable} cannot be compared; they change no verdict, number or gate",
            model=model,
            asked=sum(counts.values()),
            agrees=counts[True],
            differs=counts[False],
            incomparable=counts[None],
        )


def left_out_notes(facts: JsonObject) -> Iterator[Message]:
    """Yield how many judgments of a run could not be asked about for a second opinion."""
    count = number_of(object_in(facts.get(OPINIONS)).get("left_out"))
    if count:
        yield plural(
            "{count:,} judgment could not be asked about for a second opinion, such as a number, a "
            "comparison, a check or a verdict of the same model",
            "{count:,} judgments could not be asked about for a second opinion, such as numbers, "
            "comparisons, checks and verdicts of the same model",
            int(count),
        )


def is_other(asked: str, named: str) -> bool:
    """Return True if a reply names a different model, not only a version of the one asked."""
    asked_name, named_name = (_own_name(_NUMBERED.sub("", id)) for id in (asked, named))
    shorter, longer = sorted((asked_name, named_name), key=len)
    return not longer.startswith(shorter) or not _VERSION.fullmatch(longer[len(shorter) :])


def _own_name(id: str) -> str:
    """Return a model's name without provider, address, vendor and "latest"."""
    return (
        id.rpartition("#")[2]
        .rpartition("/")[2]
        .casefold()
        .removesuffix("-latest")
        .removesuffix(":latest")
    )


def payment_notes(batches: Iterable[Batch]) -> tuple[Message, ...]:
    """Return a note per provider that may have charged twice for the same requests."""
    twice: Counter[str] = Counter()
    for batch in batches:
        twice[batch.provider] += batch.paid_twice
    return tuple(
        Message(
            "requests to {provider} that may have been paid twice: {requests}; the first batch "
            "could not be found or read",
            provider=provider,
            requests=requests,
        )
        for provider, requests in twice.items()
        if requests
    )


def lost_reply_notes(lost: Spent) -> tuple[Message, ...]:
    """Return a note if limits include requests whose replies never arrived."""
    if not lost.tokens:
        return ()
    if lost.unpriced and not lost.usd:  # an unknown price is not zero
        return (
            Message(
                "{tokens} more may be charged for replies that did not arrive, at an unknown "
                "price. Limits count them; the cost of the run does not include them",
                tokens=count_tokens(lost.tokens),
            ),
        )
    return (
        Message(
            "Up to about {cost} more ({tokens}) may be charged for replies that did not arrive. "
            "Limits count it; the cost of the run does not include it",
            cost=dollars(lost.usd),
            tokens=count_tokens(lost.tokens),
        ),
    )


def lost_in(facts: JsonObject) -> Spent:
    """Return the estimated spending on replies that never arrived, from a run's facts."""
    match facts.get("spending"):
        case {"lost": [int(calls), int(tokens), int() | float() as usd, int(unpriced)]}:
            return Spent(calls, tokens, usd, unpriced)
    return Spent()


def reader_notes(facts: JsonObject) -> tuple[Message, ...]:
    """Return a note if the run's replies were parsed by several versions of the reader."""
    readers = facts.get(READERS)
    if not isinstance(readers, list) or len(readers) < _SEVERAL:
        return ()
    return (
        Message(
            "replies of this run were read by {count} versions of the reader, so rows may not be "
            "comparable: run it again in a new folder to read all of them with one version "
            "(stored answers cost nothing)",
            count=len(readers),
        ),
    )


def format_notes(missed: Mapping[str, tuple[int, int]]) -> Iterator[Message]:
    """Yield a note for each model that often misses the reply format.

    ``missed``: model → (votes with a malformed reply, votes cast). Copies of a row share their
    votes, which count once.
    """
    for model, (repeated, votes) in missed.items():
        if repeated >= _OFTEN and repeated / votes > _OFTEN_SHARE:
            yield Message(
                "{model} often misses the reply format: because of that, {share} of its votes "
                "were asked again or have no verdict. Each repeat costs a call; a model that "
                "supports JSON schemas avoids this",
                model=model,
                share=percent(repeated / votes),
            )
