"""Numbers with their nouns: "1 call", "2 calls"."""

from __future__ import annotations

from adjudge.core.domain.message import Usage
from adjudge.messages import Message, plural


def grouped(count: int) -> Message:
    return Message("{count:,}", count=count)


def count_batches(count: int) -> Message:
    return plural("{count:,} batch", "{count:,} batches", count)


def count_calls(count: int) -> Message:
    return plural("{count:,} call", "{count:,} calls", count)


def count_failed_calls(count: int) -> Message:
    return plural("{count:,} failed call", "{count:,} failed calls", count)


def count_judgments(count: int) -> Message:
    return plural("{count:,} judgment", "{count:,} judgments", count)


def count_labels(count: int) -> Message:
    return plural("{count:,} label", "{count:,} labels", count)


def count_replies(count: int) -> Message:
    return plural("{count:,} reply", "{count:,} replies", count)


def count_requests(count: int) -> Message:
    return plural("{count:,} request", "{count:,} requests", count)


def count_retries(count: int) -> Message:
    return plural("{count:,} retry", "{count:,} retries", count)


def count_rows(count: int) -> Message:
    return plural("{count:,} row", "{count:,} rows", count)


def count_tasks(count: int) -> Message:
    return plural("{count:,} task", "{count:,} tasks", count)


def count_tokens(count: int) -> Message:
    return plural("{count:,} token", "{count:,} tokens", count)


def count_used_tokens(usage: Usage) -> Message:
    """Return the number of used tokens, marked if some of them are estimated."""
    tokens = count_tokens(usage.tokens)
    return Message("{tokens} (estimated)", tokens=tokens) if usage.estimated else tokens


def count_votes(count: int) -> Message:
    return plural("{count:,} vote", "{count:,} votes", count)


def rows_without_group(count: int, column: str) -> list[Message]:
    """Report rows that have nothing in the grouping column."""
    if not count:
        return []
    return [
        plural(
            "{count:,} row has no value in the column {column!r} and counts as a separate group",
            "{count:,} rows have no value in the column {column!r}; each counts as a separate "
            "group",
            count,
            column=column,
        )
    ]


def count_parts(rows: int, conversations: int, *, are_topics: bool) -> Message:
    """Return e.g. "30 topics of 10 conversations": the rows of a judge of parts."""
    parts = (
        plural("{count:,} topic", "{count:,} topics", rows)
        if are_topics
        else plural("{count:,} turn", "{count:,} turns", rows)
    )
    return plural(
        "{parts} of {count:,} conversation",
        "{parts} of {count:,} conversations",
        conversations,
        parts=parts,
    )


def exclusion(model: str, lost: int, rows: int) -> Message:
    """Report on how many rows a panel model did not count."""
    return plural(
        "without {model} on {lost} of {count} row",
        "without {model} on {lost} of {count} rows",
        rows,
        model=model,
        lost=lost,
    )


def count_unread(count: int) -> Message:
    return plural(
        "{count:,} row of the data could not be read",
        "{count:,} rows of the data could not be read",
        count,
    )
