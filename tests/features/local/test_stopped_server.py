"""``adjudge serve-model`` that is stopped as soon as it has said where it listens."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from adjudge.features.local import serve_command as serve


def test_a_server_that_is_stopped_right_after_its_first_line_ends_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = click.echo

    def echo(line: str) -> None:
        said(line)
        if line != "stopped":
            signal.raise_signal(signal.SIGTERM)

    def end(code: int) -> None:
        raise SystemExit(code)

    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr(serve, "weights_of", lambda model: (model, None))
    monkeypatch.setattr(
        serve, "load", lambda *_: SimpleNamespace(listening_address="http://127.0.0.1:1")
    )
    monkeypatch.setattr(click, "echo", echo)
    monkeypatch.setattr(os, "_exit", end)
    try:
        ended = CliRunner().invoke(serve.serve_model, ["local/some"])
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert (ended.exit_code, ended.output) == (0, "http://127.0.0.1:1/v1#some\nstopped\n")
