"""``adjudge serve-model``: serve local weights as an OpenAI-compatible server on loopback."""

from __future__ import annotations

import os
import signal
import time

import click

from adjudge.core.gateway.model import OtherForm
from adjudge.core.gateway.registry import EMBEDDED
from adjudge.features.local.llama import LoadOptions, load
from adjudge.features.local.provider import weights_of
from adjudge.features.local.weights.adapters import FOR_TEXT_FIRST
from adjudge.runs.cli.options import FROM_ONE, argument, command


@command()
@argument(
    "model",
    "local/NAME or local/PATH.gguf, optionally followed by +ADAPTER.gguf.",
    default=EMBEDDED,
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    help="Port to listen on; 0 picks a free one.",
)
@click.option("--api-key", envvar="ADJUDGE_SERVE_KEY", help="Require this API key.")
@click.option(
    "--context", type=click.IntRange(min=256), default=4096, help="Maximum tokens per prompt."
)
@click.option(
    "--max-tokens",
    type=FROM_ONE,
    default=512,
    help="Maximum tokens per answer, if the request sets no limit.",
)
def serve_model(model: str, port: int, api_key: str | None, context: int, max_tokens: int) -> int:
    """Serve the same weights that judge in process: /v1/chat/completions with JSON schema,
    log-probabilities and seeds.

    Only this machine can reach it. Ctrl-C stops it.
    """
    if model.endswith(FOR_TEXT_FIRST):
        raise OtherForm(model)
    path, adapter = weights_of(model)
    options = LoadOptions(context, port, api_key, model.removeprefix("local/"), max_tokens)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)  # a shell may have left it ignored
    server = load(path, adapter, options)
    try:
        click.echo(f"{server.listening_address}/v1#{options.alias}")
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        click.echo("stopped")
        os._exit(
            0
            # the server's own end waits for requests in flight, some of which never end; nothing
            # here
            # needs saving
        )


def _stop(*_: object) -> None:
    raise KeyboardInterrupt
