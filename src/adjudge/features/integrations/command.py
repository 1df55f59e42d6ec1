"""``adjudge mcp``: judging for assistants, over standard input and output."""

from __future__ import annotations

import signal
from importlib.util import find_spec
from pathlib import Path

import click

from adjudge.errors import SetupError
from adjudge.runs.cli.model_choice import model_entries
from adjudge.runs.cli.options import (
    LANGUAGE,
    PATH,
    argument,
    command,
    models,
    no_cache,
    prices,
    server,
)
from adjudge.runs.cli.services import judging_service
from adjudge.runs.project import ServerEntry
from adjudge.runs.results.exit_code import ExitCode


@command("mcp")
@argument("folder", "Folder whose runs can be read.", type=PATH, default=Path())
@models
@server
@click.option(
    "--allow-spend",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Also ask models that cost money, up to this amount.",
)
@prices
@no_cache
@click.option(
    "--language",
    type=LANGUAGE,
    default="en",
    help="Language of prompts, explanations and criteria.",
)
def serve_mcp(
    folder: Path,
    model: tuple[str, ...],
    at: ServerEntry,
    allow_spend: float | None,
    prices: Path | None,
    no_cache: bool,
    language: str,
) -> int:
    """Serve judging, criteria and runs as tools of the Model Context Protocol, on standard input
    and output.

    Without --allow-spend only models that cost nothing are asked: the embedded one, or those of
    Ollama.
    """
    if find_spec("mcp") is None:
        raise SetupError("the MCP server needs mcp: pip install 'adjudge[mcp]'")
    entries = model_entries(model, at)
    service = judging_service(entries, allow_spend, prices, cache=not no_cache, language=language)
    from adjudge.features.integrations.mcp_server import server_of

    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # the thread that waits for standard input would outlast an orderly end
    server_of(service, folder).run("stdio")
    return ExitCode.OK
