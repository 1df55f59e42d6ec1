"""HTML tables of objects in notebooks, with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

_MOST_ROWS = 50
_LONGEST = 500


class HtmlRepr:
    """Base of objects that a notebook shows as a table of ``to_dict``."""

    __slots__ = ()

    def to_dict(self) -> Mapping[str, object]:
        """Return the object as a JSON-ready dict."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html_of(self.to_dict())


def html_of(value: object) -> str:
    """Return a mapping as a table of names and values, a list of mappings as a table with one row
    each, and anything else as text.

    Empty members of a mapping are left out. Long texts and tables are cut.
    """
    if isinstance(value, Mapping):
        entries = [
            (name, member) for name, member in value.items() if member not in (None, "", [], {})
        ]
        return _table(
            f"<tr><th>{_text(name)}</th><td>{html_of(member)}</td></tr>"
            for name, member in entries[:_MOST_ROWS]
        ) + _more(entries)
    if isinstance(value, list | tuple):
        return (
            _rows(value)
            if value and all(isinstance(member, Mapping) for member in value)
            else ", ".join(html_of(member) for member in value[:_MOST_ROWS]) + _more(value)
        )
    return _text(f"{value:.4g}" if isinstance(value, float) else value)


def _rows(rows: Sequence[Mapping[str, object]]) -> str:
    first_rows = rows[:_MOST_ROWS]
    filled_columns = (
        name for row in first_rows for name, cell in row.items() if cell not in (None, "", [], {})
    )
    names = list(dict.fromkeys(filled_columns))[:_MOST_ROWS]
    head = "".join(f"<th>{_text(name)}</th>" for name in names)
    body = (
        "".join(f"<td>{'' if row.get(name) is None else html_of(row[name])}</td>" for name in names)
        for row in first_rows
    )
    return _table([f"<tr>{head}</tr>", *(f"<tr>{cells}</tr>" for cells in body)]) + _more(rows)


def _more(values: Sequence[object]) -> str:
    return f"<p>and {len(values) - _MOST_ROWS} more</p>" if len(values) > _MOST_ROWS else ""


def _table(rows: Iterable[str]) -> str:
    return f"<table>{''.join(rows)}</table>"


def _text(value: object) -> str:
    from html import escape  # loads its table of entities only when something is shown

    text = str(value)
    return escape(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
