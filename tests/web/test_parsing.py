"""Threads that read Python at once, as requests do whose templates are compiled."""

from __future__ import annotations

import ast
import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adjudge.web.parsing import parse_one_at_a_time

_SOURCE = Path(__file__).read_text(encoding="utf-8")


def _let_others_run(*_: object) -> None:
    time.sleep(0)


@pytest.fixture
def _collector_that_yields() -> Iterator[None]:
    """Python code that runs within the parser is what lets another thread in."""
    before = gc.get_threshold()
    gc.callbacks.append(_let_others_run)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(_let_others_run)


@pytest.mark.usefixtures("_collector_that_yields")
def test_threads_that_parse_at_once_do_not_disturb_each_other() -> None:
    parse_one_at_a_time()
    with ThreadPoolExecutor(4) as threads:
        parsed = list(threads.map(lambda _: ast.parse(_SOURCE), range(40)))
    assert len({ast.dump(one) for one in parsed}) == 1
