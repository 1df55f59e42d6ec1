"""The findings of the program in the sandbox, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adjudge.messages import Message, join, plural

Found = Mapping[str, Any]
_KINDS = {
    "dropped": Message("rows dropped"),
    "duplicated": Message("rows duplicated"),
    "changed": Message("values changed"),
    "mixed": Message("rows dropped, duplicated and changed"),
}


def sentence(found: Found) -> str:
    """Return the finding as a sentence."""
    reason = _REASONS.get(str(found["code"]), _error)(found)
    part = found.get("part", "response")
    if part == "database":
        reason = Message("the database cannot be built: {reason}", reason=reason)
    elif part == "reference":
        reason = Message("the reference query cannot be used: {reason}", reason=reason)
    if "copy" not in found:
        return reason
    return Message(
        "right on the database only by accident; on changed copy {number} ({kind}): {reason}",
        number=int(found["copy"]),
        kind=_KINDS[str(found["kind"])],
        reason=reason,
    )


def _same(found: Found) -> str:
    parts = [plural("the same row", "the same {count} rows", int(found["rows"]))]
    copies, skipped = int(found["copies"]), int(found["skipped"])
    if copies:
        parts.append(plural("also on 1 changed copy", "also on {count} changed copies", copies))
    if skipped:
        parts.append(
            plural("1 copy could not be compared", "{count} copies could not be compared", skipped)
        )
    if most := found.get("most_changed"):
        parts.append(
            Message(
                "the copies change at most {most} of up to {rows} rows of a table, so a "
                "difference in few rows may be missed",
                most=int(most),
                rows=int(found["largest"]),
            )
        )
    return join("; ", parts)


def _empty(found: Found) -> str:
    return Message(
        "neither query returns a row on the database or on {copies} changed copies, as any query "
        "that finds nothing would",
        copies=int(found["copies"]),
    )


def _blank(found: Found) -> str:
    return Message(
        "both queries return only 0 or NULL on the database and on {copies} changed copies, as "
        "any query that finds nothing would",
        copies=int(found["copies"]),
    )


def _storage(_: Found) -> str:
    return Message(
        "the rows differ, but the reference's rows are not well defined: they depend on storage "
        "order, as with ties before a LIMIT in a subquery"
    )


def _ties(_: Found) -> str:
    return Message(
        "the rows differ, but the rows that the reference's LIMIT keeps are not well defined: "
        "there are ties, or no ORDER BY"
    )


def _order_unknown(_: Found) -> str:
    return Message("the same rows in another order; ties in the reference's ORDER BY are unknown")


def _columns(found: Found) -> str:
    return plural(
        "{count} column instead of {wanted}",
        "{count} columns instead of {wanted}",
        int(found["got"]),
        wanted=int(found["wanted"]),
    )


def _other_rows(found: Found) -> str:
    got, wanted = int(found["got"]), int(found["wanted"])
    parts: list[str] = [
        Message("other rows")
        if got == wanted
        else plural(
            "{count} row instead of {wanted}",
            "{count} rows instead of {wanted}",
            got,
            wanted=wanted,
        )
    ]
    if found["missing"]:
        parts.append(
            Message(
                "{number} missing, such as {row}",
                number=int(found["missing"]),
                row=str(found["first_missing"]),
            )
        )
    if found["extra"]:
        parts.append(
            Message(
                "{number} too many, such as {row}",
                number=int(found["extra"]),
                row=str(found["first_extra"]),
            )
        )
    return join("; ", parts)


def _order(_: Found) -> str:
    return Message("the same rows, but not in the reference's order")


def _denied(found: Found) -> str:
    if found["action"] == "load_extension":
        return Message("it loads an extension")
    action, name = str(found["action"]), str(found["name"])
    return Message("it does more than reading: {action} {name}", action=action, name=name)


def _slow(found: Found) -> str:
    return Message("it took longer than {seconds:g} s", seconds=float(found["seconds"]))


def _rows(found: Found) -> str:
    return Message("it returns more than {most:,} rows", most=int(found["most"]))


def _size(found: Found) -> str:
    return Message("it returns more than {most} MB", most=int(found["most"]))


def _crashed(found: Found) -> str:
    return Message("it stopped the sandbox ({error})", error=str(found["text"]))


def _error(found: Found) -> str:
    return Message("SQLite: {error}", error=str(found["text"]))


_REASONS: Mapping[str, Callable[[Found], str]] = {
    "same": _same,
    "empty": _empty,
    "blank": _blank,
    "ties": _ties,
    "storage": _storage,
    "order_unknown": _order_unknown,
    "columns": _columns,
    "other_rows": _other_rows,
    "order": _order,
    "denied": _denied,
    "slow": _slow,
    "rows": _rows,
    "size": _size,
    "crashed": _crashed,
    "memory": lambda _: Message("it needs too much memory"),
    "several": lambda _: Message("it is more than one statement"),
    "no_query": lambda _: Message("it is not a query that returns rows"),
    "no_tables": lambda _: Message("it has no tables"),
    "random": lambda _: Message("it uses random numbers"),
}
