"""Run a command of adjudge for the page, in a separate process: ``python -m adjudge.web.worker run
eval.yaml …``

It stops gently as soon as the page closes its standard input: because the user stopped it, or
because the page is gone.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading

_INPUT = 0


def _stop_with_page() -> None:
    """Wait until the page closes standard input, then interrupt this process like Ctrl-C."""
    while os.read(_INPUT, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    """Run the command and exit with its code."""
    threading.Thread(target=_stop_with_page, daemon=True).start()
    sys.argv[0] = "adjudge"
    runpy.run_module("adjudge", run_name="__main__", alter_sys=False)


if __name__ == "__main__":
    main()
