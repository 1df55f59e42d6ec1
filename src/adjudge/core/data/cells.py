"""Cells of CSV files that are safe to open in a spreadsheet, and the texts behind them."""

from __future__ import annotations

import json

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What makes a spreadsheet run a cell; the wide ones do so in East Asian editions."""


def cell(value: object) -> str:
    """A value as a spreadsheet may show it: what it would run as a formula begins with an
    apostrophe.
    """
    if value is None or value == []:
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if _runs(text) else text


def text_of(cell: str) -> str:
    """The text that ``cell`` made this of."""
    return cell[1:] if cell.startswith("'") and _runs(cell) else cell


def _runs(text: str) -> bool:
    """Apostrophes in front count as well, or one of the text's own could not be told from ours."""
    return text.lstrip("'").startswith(_FORMULA)


def with_line_breaks(text: str) -> str:
    r"""Exports that write \n for a line break are read with one, unless the text has line breaks of
    its own.
    """
    return text if "\n" in text else text.replace("\\r\\n", "\n").replace("\\n", "\n")
