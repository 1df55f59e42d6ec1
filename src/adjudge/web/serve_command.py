"""``adjudge serve``: judging for other programs, over HTTP."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.gateway.registry import EMBEDDED, EMBEDDED_TEXT_FIRST
from adjudge.errors import SetupError
from adjudge.runs.builder import open_entry
from adjudge.runs.cli.model_choice import model_entries, price_table
from adjudge.runs.cli.options import (
    FROM_ONE,
    LANGUAGE,
    PATH,
    at_once,
    command,
    max_calls,
    max_tokens,
    max_usd,
    models,
    no_cache,
    option,
    options,
    positional,
    prices,
    server,
    shared,
)
from adjudge.runs.project import ServerEntry
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.service.deciding import DecisionService
from adjudge.runs.service.judging import JudgingService
from adjudge.runs.service.known_questions import KnownQuestions, known_questions
from adjudge.runs.service.run_index import RunIndex
from adjudge.runs.trusted_folders import open_eval

if TYPE_CHECKING:
    from adjudge.core.gateway.opener import OpenModel

KEY_VARIABLE = "ADJUDGE_API_KEY"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SHORTEST_KEY = 16


@light_dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Options of ``adjudge serve``."""

    folder: Path = positional("Folder whose runs can be read.", type=PATH, default=Path())
    model: tuple[str, ...] = shared(models)
    at: ServerEntry = shared(server)
    max_usd: float | None = shared(max_usd)
    max_calls: int | None = shared(max_calls)
    max_tokens: int | None = shared(max_tokens)
    prices: Path | None = shared(prices)
    no_cache: bool = shared(no_cache)
    max_concurrency: int | None = shared(at_once)
    port: int = option(
        "--port",
        type=click.IntRange(0, 65535),
        default=8765,
        help="Port to listen on; 0 picks a free one.",
    )
    host: str = option(
        "--host",
        default="127.0.0.1",
        help="Address to listen on; any address other than localhost needs your own key.",
    )
    name: tuple[str, ...] = option(
        "--name",
        multiple=True,
        help="Another host name that clients use for this server; repeatable.",
    )
    judgments_at_once: int = option(
        "--judgments-at-once",
        type=FROM_ONE,
        default=32,
        help="Maximum concurrent judgments; further requests get 429.",
    )
    decide_by: Path | None = option(
        "--decide-by",
        type=PATH,
        help="Answer typed questions with the judges (and cascades) of this eval file; other "
        "questions are answered, but not accepted.",
    )
    text_first: bool = option(
        "--text-first",
        is_flag=True,
        help="Put typed questions after the text, so that they share its prefix: many questions "
        "become cheaper, but the embedded model is slightly less accurate.",
    )
    language: str = option(
        "--language",
        type=LANGUAGE,
        default="en",
        help="Language of prompts, explanations and criteria.",
    )
    show_openapi: bool = option(
        "--openapi", is_flag=True, help="Print the OpenAPI 3.1 description of the API, then exit."
    )


@command("serve")
@options(ServeOptions)
def serve(options: ServeOptions) -> int:
    """Serve judging, comparing, typed questions, criteria and runs as JSON, for programs in any
    language. Ctrl-C ends it.

    The key is read from ADJUDGE_API_KEY; if that is not set, a key is created and printed. The
    limits apply to all requests together.
    """
    if missing := [module for module in ("starlette", "uvicorn") if find_spec(module) is None]:
        raise SetupError(
            "the API needs {missing}: pip install 'adjudge[ui]'", missing=" and ".join(missing)
        )
    if options.show_openapi:
        from adjudge.web.api import openapi

        click.echo(json.dumps(openapi(), ensure_ascii=False, indent=2))
        return ExitCode.OK
    _serve(options)
    return ExitCode.OK


def _serve(options: ServeOptions) -> None:
    from adjudge.web.api import api_application
    from adjudge.web.api_guard import ApiAccess, host_names
    from adjudge.web.loopback import Listening

    prices, cache = price_table(options.prices), not options.no_cache
    key = _key(options.host)
    service = JudgingService(
        model_entries(options.model, options.at, options.max_concurrency),
        budget=Budget(options.max_usd, options.max_calls, options.max_tokens),
        prices=prices,
        cache=cache,
        language=options.language,
    )
    index = RunIndex(options.folder)
    questions = (
        _open_known_questions(options.decide_by, prices, cache=cache)
        if options.decide_by
        else KnownQuestions()
    )
    deciding = DecisionService(
        text_first_models(service, prices, cache=cache) if options.text_first else service.models,
        service.open_budget,
        options.language,
        options.text_first,
        questions,
    )
    host, names = options.host, options.name
    listening = Listening(options.port, host)
    further_names = host_names(names if host in _LOOPBACK else (host, *names))
    access = (
        ApiAccess(listening.port, key, further_names)
        if key
        else ApiAccess(listening.port, names=further_names)
    )

    def tell() -> None:
        click.echo(f"http://{f'[{host}]' if ':' in host else host}:{listening.port}")
        if not key:
            click.echo(f"key: {access.token}")

    with suppress(KeyboardInterrupt):  # that is how it ends
        listening.serve(
            api_application(service, index, access, options.judgments_at_once, deciding), tell
        )


def text_first_models(
    service: JudgingService, prices: PriceTable, *, cache: bool
) -> list[OpenModel]:
    """Return the service's models, giving the embedded one its adapter for text-first prompts."""
    return [
        open_entry(replace(entry, model=EMBEDDED_TEXT_FIRST), cache=cache, prices=prices)
        if entry.model == EMBEDDED
        else model
        for entry, model in service.opened.items()
    ]


def _open_known_questions(path: Path, prices: PriceTable, *, cache: bool) -> KnownQuestions:
    return known_questions(open_eval(path), partial(open_entry, cache=cache, prices=prices), prices)


def _key(host: str) -> str:
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if host not in _LOOPBACK and not key:
        raise SetupError(
            "other machines could reach {host}: set {key_variable} to a secret key, or leave "
            "--host out",
            host=host,
            key_variable=KEY_VARIABLE,
        )
    if key and len(key) < _SHORTEST_KEY:
        raise SetupError(
            "the key in {key_variable} has {count} characters, but needs at least {least}",
            key_variable=KEY_VARIABLE,
            count=len(key),
            least=_SHORTEST_KEY,
        )
    return key
