"""A progress bar of results, redrawn in a notebook's cell or on a terminal's line; elsewhere one
line at the end.
"""

from __future__ import annotations

import sys
import time
from typing import Protocol

from adjudge.core.domain.results import Result, Status

_SECONDS_BETWEEN = 0.1
_WIDTH = 24


class _Drawn(Protocol):
    """IPython's handle of a displayed object."""

    def update(self, shown: object) -> None: ...


class ProgressBar:
    """The bar of ``judge.evaluate(..., progress=True)``.

    Results come in any order, from any thread.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = self.failed = 0
        self._started = self._drawn_at = time.monotonic()
        self._cell = self._draw_cell()
        self._on_terminal = self._cell is None and sys.stderr.isatty()

    def __call__(self, result: Result) -> None:
        self.done += 1
        self.failed += result.status is not Status.SCORED
        now, is_last = time.monotonic(), self.done == self.total
        if not is_last and now - self._drawn_at < _SECONDS_BETWEEN:
            return
        self._drawn_at = now
        if self._cell is not None:
            self._cell.update(self)
        elif self._on_terminal:
            filled = _WIDTH * self.done // self.total
            end = "\n" if is_last else ""
            sys.stderr.write(f"\r\x1b[2K[{'#' * filled:-<{_WIDTH}}] {self}{end}")
            sys.stderr.flush()
        elif is_last:
            sys.stderr.write(f"{self}\n")

    def __str__(self) -> str:
        seconds = max(time.monotonic() - self._started, 1e-6)
        rate = self.done / seconds
        parts = [
            f"{self.done} of {self.total} judged",
            f"{rate:.3g}/s" if self.done else "",
            f"{self.failed} without a score" if self.failed else "",
            f"{(self.total - self.done) / rate:.0f} s left" if 0 < self.done < self.total else "",
        ]
        return ", ".join(filter(None, parts))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        bar = f'<progress max="{self.total}" value="{self.done}" style="width: 20em"></progress>'
        return f"{bar} {escape(str(self))}"

    def _draw_cell(self) -> _Drawn | None:
        """Show the bar in the current cell; return None outside a notebook."""
        shell = sys.modules.get("IPython")
        notebook = shell.get_ipython() if shell is not None else None
        if notebook is None or not hasattr(notebook, "kernel"):
            return None
        from IPython.display import display

        handle: _Drawn | None = display(self, display_id=True)
        return handle
