"""A sentence about the pairing of two runs' rows."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.core.domain.pairing import Pairing, Way
from adjudge.messages import Message, join
from adjudge.runs.counts import grouped

_WAYS: Mapping[Way, Message] = {
    "id": Message("by id"),
    "fields": Message("by the fields that are not judged"),
    "text": Message("by their text"),
    "place": Message("by position"),
}


def pairing_message(pairing: Pairing) -> Message:
    """Describe a pairing, e.g. "240 of 300 rows paired, by id; 60 before and 60 now have no
    counterpart".

    "before" is the first run, "now" the second.
    """
    (old_rows, new_rows), (alone_in_old, alone_in_new) = (
        map(grouped, pairing.rows),
        map(grouped, pairing.alone),
    )
    paired = grouped(pairing.paired)
    sentence = (
        Message("{paired} of {now} rows paired", paired=paired, now=new_rows)
        if old_rows == new_rows
        else Message(
            "{paired} rows paired ({before} before, {now} now)",
            paired=paired,
            before=old_rows,
            now=new_rows,
        )
    )
    if len(pairing.ways) == 1:
        sentence = join(", ", (sentence, _WAYS[next(iter(pairing.ways))]))
    elif pairing.ways:
        counts_by_way = (
            Message("{count} {way}", count=grouped(count), way=_WAYS[way])
            for way, count in pairing.ways.items()
        )
        sentence = Message("{said} ({ways})", said=sentence, ways=join(", ", counts_by_way))
    remarks = []
    if any(pairing.alone):
        remarks.append(
            Message(
                "{first} before and {second} now have no counterpart",
                first=alone_in_old,
                second=alone_in_new,
            )
        )
    if any(pairing.topics_alone):
        remarks.append(
            Message(
                "{first} topics before and {second} now have other messages than any topic of the "
                "other run",
                first=grouped(pairing.topics_alone[0]),
                second=grouped(pairing.topics_alone[1]),
            )
        )
    if pairing.shared:
        shared = grouped(pairing.shared)
        remarks.append(Message("{shared} rows share an id with other rows", shared=shared))
    if pairing.other_questions:
        remarks.append(
            Message(
                "{pairs} pairs have different questions in the two runs",
                pairs=grouped(pairing.other_questions),
            )
        )
    return join("; ", (sentence, *remarks))
