"""Cells of CSV files that are safe to open in a spreadsheet, and the texts behind them."""

from __future__ import annotations

from json import JSONEncoder

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What makes a spreadsheet run a cell; the wide ones do so in East Asian editions."""

_OPENS = frozenset("'" + "".join(_FORMULA))
"""What such a cell begins with, or apostrophes before it."""
_NUMBERS = (bool, int, float)
_written = JSONEncoder(ensure_ascii=False).encode


def cell(value: object) -> str:
    """A value as a spreadsheet may show it: what it would run as a formula begins with an
    apostrophe.
    """
    if isinstance(value, str):
        return f"'{value}" if _runs(value) else value
    if value is None or value == []:
        return ""
    return str(value) if isinstance(value, _NUMBERS) else cell(_written(value))


def text_of(cell: str) -> str:
    """The text that ``cell`` made this of."""
    return cell[1:] if cell.startswith("'") and _runs(cell) else cell


def _runs(text: str) -> bool:
    """Apostrophes in front count as well, or one of the text's own could not be told from ours."""
    return text[:1] in _OPENS and text.lstrip("'").startswith(_FORMULA)


def with_line_breaks(text: str) -> str:
    r"""Exports that write \n for a line break are read with one, unless the text has line breaks of
    its own.
    """
    return text if "\n" in text else text.replace("\\r\\n", "\n").replace("\\n", "\n")
