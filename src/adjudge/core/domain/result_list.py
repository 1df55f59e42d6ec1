"""A list of results that shows itself as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, SupportsIndex, TypeVar, overload

from adjudge.core.domain.html_repr import html_of
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict

_MOST_SHOWN = 20
_WIDTH = 100
_GAP = "  "


class Tabular(Protocol):
    """A result that is one line of a table."""

    @property
    def instance(self) -> Instance: ...

    def cells(self) -> JsonDict:
        """Return the cells of a table, the longest text last."""
        ...


T = TypeVar("T", bound=Tabular)


class ResultList(list[T]):
    """Results in the order of their items: an ordinary list that notebooks and the Python prompt
    show as a table.
    """

    @overload
    def __getitem__(self, place: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> ResultList[T]: ...
    def __getitem__(self, place: Any) -> Any:
        results = super().__getitem__(place)
        return ResultList(results) if isinstance(place, slice) else results

    def __repr__(self) -> str:
        if not self:
            return "[]"
        rows = [{name: _text(cell) for name, cell in row.items()} for row in self._rows()]
        more = len(self) - len(rows)
        lines = [*_lines(rows), *([f"… and {more} more"] if more else [])]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        more = len(self) - _MOST_SHOWN
        return html_of(list(self._rows())) + (f"<p>and {more} more</p>" if more > 0 else "")

    def _rows(self) -> Iterator[Mapping[str, object]]:
        for number, result in enumerate(list.__iter__(self), 1):
            if number > _MOST_SHOWN:
                return
            yield {
                "row": result.instance.id or number if result.instance else number,
                **result.cells(),
            }


def _lines(rows: list[dict[str, str]]) -> Iterator[str]:
    """Lay columns out side by side; the last one gets the remaining width."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    widths = [max(len(name), *(len(row.get(name, "")) for row in rows)) for name in names[:-1]]
    for row in (dict(zip(names, names, strict=True)), *rows):
        cells = [row.get(name, "").ljust(width) for name, width in zip(names, widths, strict=False)]
        line = _GAP.join([*cells, row.get(names[-1], "")]).rstrip()
        yield line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _text(cell: object) -> str:
    if cell is None:
        return "–"
    return " ".join((f"{cell:.3g}" if isinstance(cell, float) else str(cell)).split())
