"""``adjudge serve``: judging, comparing, criteria and runs as JSON for programs of any kind.
``openapi.yaml`` describes it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from adjudge.core.catalog import criteria as catalog
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.catalog.lint import Finding, lint
from adjudge.core.domain.frozen_mapping import plain, some_of
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.domain.results import Result
from adjudge.core.reading.values import (
    Place,
    flag,
    list_of,
    mapping,
    number,
    one_of,
    plain_yaml,
    text,
    texts,
    what,
)
from adjudge.errors import AdjudgeError, BudgetSpent, ModelError, ModelUnusable, RunStopped
from adjudge.runs.exporters.json_schema import openapi_schemas
from adjudge.runs.folder import NoSuchRun
from adjudge.runs.service.deciding import DecisionService
from adjudge.runs.service.judging import CriteriaLike, Fields, JudgingService
from adjudge.runs.service.run_index import RunIndex
from adjudge.version import __version__
from adjudge.web.api_guard import ApiAccess, ApiGuard, problem
from adjudge.web.body import body_of
from adjudge.web.decisions import decide, models
from adjudge.web.json_bytes import json_bytes

LARGEST = 1 << 20
"""Bytes of a request's body."""
MOST_AT_ONCE = 32
"""Judgments under way; who asks for more is told to wait."""
_PLACE = Place("request")
_KINDS = {404: "no_such_address", 408: "too_slow", 413: "too_large", 415: "content_encoding"}
_STATUSES: Mapping[type[AdjudgeError], tuple[int, str]] = {
    NoSuchRun: (404, "no_such_run"),
    BudgetSpent: (402, "budget_spent"),
    ModelUnusable: (502, "model_unusable"),
    RunStopped: (503, "stopped"),
    ModelError: (502, "model"),
}


@dataclass(frozen=True)
class Api:
    """The state shared by all routes."""

    service: JudgingService
    index: RunIndex
    room: threading.Semaphore
    deciding: DecisionService


def api_application(
    service: JudgingService,
    index: RunIndex,
    access: ApiAccess,
    at_once: int = MOST_AT_ONCE,
    deciding: DecisionService | None = None,
) -> ASGIApp:
    """Build the API behind its guard. ``deciding``: by default uses the models of ``service``."""
    app = Starlette(
        routes=[
            Route("/v1/openapi.json", _openapi),
            Route("/v1/status", _status),
            Route("/v1/judge", _judge, methods=["POST"]),
            Route("/v1/compare", _compare, methods=["POST"]),
            Route("/v1/systemone", _decide, methods=["POST"]),
            Route("/v1/decisions", _decide, methods=["POST"]),
            Route("/v1/models", _models),
            Route("/v1/criteria", _criteria),
            Route("/v1/criteria/lint", _lint, methods=["POST"]),
            Route("/v1/criteria/{name}", _one_criteria),
            Route("/v1/runs", _runs),
            Route("/v1/runs/{name:path}/rows", _rows),
            Route("/v1/runs/{name:path}/calibration", _calibration),
            Route("/v1/runs/{name:path}", _run),
        ],
        exception_handlers={AdjudgeError: _explain, HTTPException: _refuse},
    )
    decisions = deciding or DecisionService(service.models, service.open_budget, service.language)
    app.state.api = Api(service, index, threading.Semaphore(at_once), decisions)
    return ApiGuard(app, access, largest=LARGEST)


@cache
def openapi() -> JsonObject:
    """Return the OpenAPI 3.1 description of the API."""
    description = plain_yaml(Path(__file__).with_name("openapi.yaml"))
    description["info"]["version"] = __version__
    description["components"]["schemas"] |= openapi_schemas()
    return cast("JsonObject", description)


# -- judging -------------------------------------------------------------------------


async def _judge(request: Request) -> Response:
    body = await _body(
        request, ("criteria", "response", "fields", "votes"), ("criteria", "response")
    )
    response = text(body["response"], _PLACE.at("response"))
    service = _api(request).service
    return await _answer_judgment(
        request, lambda: service.judge(_read_criteria(body), response, _fields(body), _votes(body))
    )


async def _compare(request: Request) -> Response:
    body = await _body(
        request,
        ("criteria", "responses", "fields", "votes", "both_orders"),
        ("criteria", "responses"),
    )
    responses = texts(body["responses"], _PLACE.at("responses"))
    both = flag(body.get("both_orders", True), _PLACE.at("both_orders"))
    service = _api(request).service
    return await _answer_judgment(
        request,
        lambda: service.compare(
            _read_criteria(body), responses, _fields(body), _votes(body), both_orders=both
        ),
    )


async def _answer_judgment(request: Request, ask: Callable[[], Result]) -> Response:
    """Respond with a judgment, or with 429 if too many are under way.

    A failed judgment is a normal response: its status says so, and it has no score.
    """
    api = _api(request)
    # refused at once instead of queued: a waiting request would hold a thread
    if not api.room.acquire(blocking=False):
        return _busy()
    try:
        result = await run_in_threadpool(ask)
    finally:
        api.room.release()
    return _json({**result.to_dict(votes=False), "models": api.service.model_names})


def _read_criteria(body: JsonObject) -> CriteriaLike:
    criteria, place = body["criteria"], _PLACE.at("criteria")
    return mapping(criteria, place) if isinstance(criteria, dict) else text(criteria, place)


def _fields(body: JsonObject) -> Fields:
    raw_fields = body.get("fields")
    fields = mapping({} if raw_fields is None else raw_fields, _PLACE.at("fields"))
    return {name: _field(value, _PLACE.at(f"fields.{name}")) for name, value in fields.items()}


def _field(value: object, place: Place) -> str | list[str]:
    return (
        [text(part, at) for at, part in list_of(value, place)]
        if isinstance(value, list)
        else text(value, place)
    )


def _votes(body: JsonObject) -> int:
    return _whole(body.get("votes", 1), _PLACE.at("votes"))


def _whole(value: object, place: Place) -> int:
    parsed = number(value, place)
    if not parsed.is_integer():
        raise place.wrong("must be a whole number, not {what}", what=what(value))
    return int(parsed)


async def _body(request: Request, valid: tuple[str, ...], required: tuple[str, ...]) -> JsonObject:
    body = await body_of(request, LARGEST)
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _PLACE.wrong("is not JSON: {error}", error=error) from error
    return mapping(parsed, _PLACE, valid, required)


async def _decide(request: Request) -> Response:
    api = _api(request)
    if not api.room.acquire(blocking=False):
        return _busy()
    try:
        return await decide(request, api.deciding, LARGEST)
    finally:
        api.room.release()


async def _models(request: Request) -> Response:
    return _json(models(_api(request).deciding))


def _busy() -> Response:
    return problem(429, "busy", "too many judgments are under way: ask again", {"retry-after": "1"})


# -- criteria ------------------------------------------------------------------------


async def _criteria(request: Request) -> Response:
    language, kind = request.query_params.get("language", "en"), request.query_params.get("kind")
    if kind is not None:
        one_of(kind, ("direct", "pairwise"), _PLACE.at("kind"))
    entries = [catalog.entry(name, language) for name in catalog.all_names(language)]
    return _json({"criteria": [_entry(entry) for entry in entries if kind in (None, entry.kind)]})


async def _one_criteria(request: Request) -> Response:
    language = request.query_params.get("language", "en")
    return _json(_entry(catalog.entry(request.path_params["name"], language)))


async def _lint(request: Request) -> Response:
    body = await _body(request, ("criteria",), ("criteria",))
    return _json(
        {
            "findings": plain(
                await run_in_threadpool(_findings, _api(request).service, _read_criteria(body))
            )
        }
    )


def _findings(service: JudgingService, criteria: CriteriaLike) -> list[Finding]:
    pairwise = isinstance(criteria, Mapping) and criteria.get("kind") == "pairwise"
    return lint(service.criteria(criteria, "pairwise" if pairwise else "direct"))


def _entry(entry: CatalogEntry) -> JsonDict:
    return {**some_of(entry, "kind", "language"), **object_in(plain(entry.criteria))}


# -- runs ----------------------------------------------------------------------------


def _runs(request: Request) -> Response:
    return _json({"runs": _api(request).index.runs()})


def _run(request: Request) -> Response:
    return _json(_api(request).index.run(request.path_params["name"]))


def _rows(request: Request) -> Response:
    query = request.query_params
    page = _api(request).index.rows(
        request.path_params["name"],
        judge=query.get("judge"),
        status=query.get("status"),
        verdict=query.get("verdict"),
        words=query.get("words", ""),
        sort=query.get("sort", "worst"),
        limit=_whole(query.get("limit", 20), _PLACE.at("limit")),
        after=query.get("after", ""),
    )
    return _json(page.to_dict())


def _calibration(request: Request) -> Response:
    calibrations = _api(request).index.calibration(request.path_params["name"])
    return _json({"calibrations": calibrations})


# -- the rest ------------------------------------------------------------------------


async def _openapi(request: Request) -> Response:  # noqa: ARG001 - the same for all
    return _json(openapi())


async def _status(request: Request) -> Response:
    service = _api(request).service
    spent, budget = service.open_budget.spent, service.open_budget.budget
    return _json(
        {
            "version": __version__,
            "models": service.model_names,
            "language": service.language,
            "spent": {
                **some_of(spent, "usd", "calls", "tokens"),
                "unpriced_calls": spent.unpriced,
            },
            "limits": some_of(budget, "max_usd", "max_calls", "max_tokens"),
        }
    )


def _api(request: Request) -> Api:
    api: Api = request.app.state.api
    return api


def _json(data: object, status: int = 200) -> Response:
    return Response(json_bytes(data), status, media_type="application/json")


# as handlers are called
def _explain(request: Request, error: Exception) -> Response:  # noqa: ARG001
    # the first class that fits counts, so subclasses come before their parents
    status, kind = next(
        (answer for error_type, answer in _STATUSES.items() if isinstance(error, error_type)),
        (400, "request"),
    )
    return problem(status, kind, str(error))


# as handlers are called
def _refuse(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, HTTPException)
    return problem(error.status_code, _KINDS.get(error.status_code, "method"), str(error.detail))
