"""Cells of CSV files that are safe to open in a spreadsheet, and back to the texts."""

from __future__ import annotations

from json import JSONEncoder

# Starts of cells that a spreadsheet runs; the wide ones in East Asian editions.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

# First characters of such cells, and of those with apostrophes in front.
_OPENS = frozenset("'" + "".join(_FORMULA))
_NUMBERS = (bool, int, float)
_encode = JSONEncoder(ensure_ascii=False).encode


def cell(value: object) -> str:
    """Return a value as a cell that no spreadsheet runs: a formula gets an apostrophe in front.

    >>> cell("=1+1")
    "'=1+1"
    """
    if isinstance(value, str):
        return f"'{value}" if _runs(value) else value
    if value is None or value == []:
        return ""
    return str(value) if isinstance(value, _NUMBERS) else cell(_encode(value))


def text_of(cell: str) -> str:
    """Return the text of a cell that ``cell`` wrote."""
    return cell[1:] if cell.startswith("'") and _runs(cell) else cell


def _runs(text: str) -> bool:
    """Return True if the text is a formula, perhaps after apostrophes.

    Leading apostrophes count, so that an apostrophe of the text differs from an added one.
    """
    return text[:1] in _OPENS and text.lstrip("'").startswith(_FORMULA)


def with_line_breaks(text: str) -> str:
    """Turn written line breaks (a backslash and an n) into real ones, unless the text has real
    ones.
    """
    return text if "\n" in text else text.replace("\\r\\n", "\n").replace("\\n", "\n")
