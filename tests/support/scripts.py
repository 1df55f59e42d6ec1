"""Programs run as a user runs them: in a process of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

from support.fake_provider import KEY, FakeProvider

_HEAD = """
import asyncio, os, signal, sys, threading, time
from adjudge import AspectCritic, open_model
from adjudge.core.aio import event_loop

def model(**options):
    return open_model("openai/gpt-4o-mini", **{"max_retries": 0, "timeout": 120, **options})

def critic(models, **settings):
    return AspectCritic("The mark must end in Y.", models, **settings)

"""

_WARNINGS = ("-W", "default", "-W", "ignore:This process:DeprecationWarning")
"""All but the one that newer Pythons give at a fork."""


def start(source: str, provider: FakeProvider) -> subprocess.Popen[str]:
    """``source`` with ``model()`` and ``critic(models)`` at hand, asking ``provider``; every
    warning is shown.
    """
    environment = {
        **os.environ,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": provider.base_url("openai"),
        "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }
    return subprocess.Popen(
        [sys.executable, *_WARNINGS, "-c", _HEAD + textwrap.dedent(source)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str], seconds: float = 300) -> tuple[int, str, str]:
    """Its exit code, output and complaints."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(
            process.pid, signal.SIGKILL
        )  # its children too, or they would keep its output open
        out, err = process.communicate()
        raise AssertionError(f"it did not end within {seconds} s\n{out}\n{err}") from None
    return process.returncode, out, err


def run(source: str, provider: FakeProvider) -> tuple[int, str, str]:
    """Start it and wait for its end."""
    return finish(start(source, provider))
