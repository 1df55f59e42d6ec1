"""``adjudge serve-model``: local weights as an OpenAI-compatible server on loopback."""

from __future__ import annotations

import os
import signal
import time
from typing import Annotated, Any

import typer

from adjudge.gateway.providers.local import weights_of
from adjudge.gateway.registry import EMBEDDED
from adjudge.local.llama import LoadOptions, load


def serve_model(
    model: Annotated[
        str, typer.Argument(help="local/NAME or local/PATH.gguf, with +ADAPTER.gguf behind it if you like.")
    ] = EMBEDDED,
    port: Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)] = 8080,
    api_key: Annotated[str | None, typer.Option(envvar="ADJUDGE_SERVE_KEY", help="Let in only who sends this key.")] = None,
    context: Annotated[int, typer.Option(help="Tokens a prompt may have.", min=256)] = 4096,
    max_tokens: Annotated[int, typer.Option(help="Tokens an answer may have when the request sets no limit.", min=1)] = 512,
) -> int:
    """Serve the same weights that judge in process: /v1/chat/completions with JSON schema, log-probabilities and seeds.

    Only this machine can reach it. Ctrl-C stops it.
    """
    path, adapter = weights_of(model)
    options = LoadOptions(context, port, api_key, model.removeprefix("local/"), max_tokens)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)  # a shell may have left it ignored
    server = load(path, adapter, options)
    typer.echo(f"{server.listening_address}/v1#{options.alias}")
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        typer.echo("stopped")
        os._exit(0)  # the server's own end waits for requests in flight, some of which never end; nothing here needs saving


def _stop(*_: Any) -> None:
    raise KeyboardInterrupt
