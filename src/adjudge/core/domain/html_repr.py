"""How notebooks show our things: tables of what they say, with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

_MOST_ROWS = 50
_LONGEST = 500


class HtmlRepr:
    """Something that a notebook shows as a table of what ``to_dict`` says."""

    __slots__ = ()

    def to_dict(self) -> Mapping[str, object]:
        """This as a JSON-ready dict."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html_of(self.to_dict())


def html_of(value: object) -> str:
    """A mapping as a table of names and values, several mappings as one of columns and rows,
    anything else as text.
    """
    if isinstance(value, Mapping):
        told = [(name, one) for name, one in value.items() if one not in (None, "", [], {})]
        return _table(
            f"<tr><th>{_text(name)}</th><td>{html_of(one)}</td></tr>"
            for name, one in told[:_MOST_ROWS]
        ) + _more(told)
    if isinstance(value, list | tuple):
        return (
            _rows(value)
            if value and all(isinstance(one, Mapping) for one in value)
            else _items(value)
        )
    return _text(f"{value:.4g}" if isinstance(value, float) else value)


def _rows(rows: Sequence[Mapping[str, object]]) -> str:
    shown = rows[:_MOST_ROWS]
    told = (name for row in shown for name, one in row.items() if one not in (None, "", [], {}))
    names = list(dict.fromkeys(told))[:_MOST_ROWS]
    head = "".join(f"<th>{_text(name)}</th>" for name in names)
    body = (
        "".join(f"<td>{'' if row.get(name) is None else html_of(row[name])}</td>" for name in names)
        for row in shown
    )
    return _table([f"<tr>{head}</tr>", *(f"<tr>{cells}</tr>" for cells in body)]) + _more(rows)


def _items(values: Sequence[object]) -> str:
    return ", ".join(html_of(one) for one in values[:_MOST_ROWS]) + _more(values)


def _more(values: Sequence[object]) -> str:
    return f"<p>and {len(values) - _MOST_ROWS} more</p>" if len(values) > _MOST_ROWS else ""


def _table(rows: Iterable[str]) -> str:
    return f"<table>{''.join(rows)}</table>"


def _text(value: object) -> str:
    from html import escape  # its entities are not loaded by those who show nothing

    said = str(value)
    return escape(said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…")
