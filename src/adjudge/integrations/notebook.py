"""Progress in a notebook: a bar that is drawn anew in its cell as results come; elsewhere a line at
the end.
"""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Protocol

from adjudge.domain.results import Result, Status

_SECONDS_BETWEEN = 0.1


class _Drawn(Protocol):
    """What IPython gives for something that it drew."""

    def update(self, shown: object) -> None: ...


class NotebookProgress:
    """``judge.evaluate(rows, ..., progress=NotebookProgress(len(rows)))``.

    Results come in any order, from any thread.
    """

    def __init__(self, total: int | None = None) -> None:
        """``total``: how many results there will be, where that is known."""
        self.total = total
        self.done = self.failed = 0
        self._started = self._drawn_at = time.monotonic()
        self._drawn = self._draw_first()

    def __call__(self, result: Result) -> None:
        self.done += 1
        self.failed += result.status is not Status.SCORED
        now, is_last = time.monotonic(), self.done == self.total
        if self._drawn is None:
            if is_last:
                sys.stderr.write(f"{self}\n")
        elif is_last or now - self._drawn_at >= _SECONDS_BETWEEN:
            self._drawn_at = now
            self._drawn.update(self)

    def __str__(self) -> str:
        seconds = max(time.monotonic() - self._started, 1e-6)
        rate = self.done / seconds
        counted = f"{self.done} of {self.total}" if self.total is not None else str(self.done)
        parts = [f"{counted} judged", f"{rate:.3g}/s" if self.done else ""]
        if self.failed:
            parts.append(f"{self.failed} without a score")
        if self.total is not None and 0 < self.done < self.total:
            parts.append(f"{(self.total - self.done) / rate:.0f} s left")
        return ", ".join(filter(None, parts))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        known = f' max="{self.total}" value="{self.done}"' if self.total else ""
        return f'<progress{known} style="width: 20em"></progress> {escape(str(self))}'

    def _draw_first(self) -> _Drawn | None:
        """In the cell that made this; None where there is no notebook."""
        shell = sys.modules.get("IPython")
        if shell is None or shell.get_ipython() is None:
            return None
        from IPython.display import display

        drawn: _Drawn | None = display(self, display_id=True)
        return drawn
