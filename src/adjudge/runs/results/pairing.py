"""How many rows of two runs were paired, and how, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.core.domain.pairing import Pairing, Way
from adjudge.messages import Message, join
from adjudge.runs.counts import grouped

_WAYS: Mapping[Way, Message] = {
    "id": Message("by id"),
    "fields": Message("by the fields that are not judged"),
    "text": Message("by their text"),
    "place": Message("by place"),
}


def pairing_message(found: Pairing) -> Message:
    """ "240 of 300 rows paired, by id; 60 before and 60 now have no counterpart": the first run is
    before, the second one now.
    """
    (before, now), (first, second) = map(grouped, found.rows), map(grouped, found.alone)
    paired = grouped(found.paired)
    said = (
        Message("{paired} of {now} rows paired", paired=paired, now=now)
        if before == now
        else Message(
            "{paired} rows paired of {before} before and {now} now",
            paired=paired,
            before=before,
            now=now,
        )
    )
    if len(found.ways) == 1:
        said = join(", ", (said, _WAYS[next(iter(found.ways))]))
    elif found.ways:
        each = (
            Message("{count} {way}", count=grouped(count), way=_WAYS[way])
            for way, count in found.ways.items()
        )
        said = Message("{said} ({ways})", said=said, ways=join(", ", each))
    more = []
    if any(found.alone):
        more.append(
            Message(
                "{first} before and {second} now have no counterpart", first=first, second=second
            )
        )
    if found.shared:
        shared = grouped(found.shared)
        more.append(Message("{shared} rows share their id with others", shared=shared))
    if found.other_questions:
        more.append(
            Message(
                "{pairs} pairs have another question in either run",
                pairs=grouped(found.other_questions),
            )
        )
    return join("; ", (said, *more))
