"""Read spans from Langfuse, Phoenix and LangSmith by their public HTTP APIs."""

from __future__ import annotations

import base64
import http.client
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

from adjudge.core.domain.frozen_mapping import nonempty
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.core.reading.foreign_values import inner, inner_object, objects, text_at
from adjudge.errors import SetupError, WrongData
from adjudge.features.traffic.source import SourceAway, TrafficBatch, TrafficEvent
from adjudge.messages import Message, reason_of

_PATIENCE = 30.0
_LARGEST = 256 << 20
_PAGE = 100
_OVERLAP = timedelta(minutes=30)
"""Time before the newest span that is read again, since spans are sent late, when they end."""


@dataclass(frozen=True)
class Service:
    """One service's API: its addresses, and how to read its answers."""

    name: str
    """The service, and the format of its traces."""
    address: str
    """The environment variable with its address; by default its usual address."""
    usual: str
    keys: tuple[str, ...]
    headers: Callable[[Sequence[str]], Mapping[str, str]]
    ask: Callable[[str, str, str], tuple[str, JsonObject | None]]
    """(project, since, page) → (path, body or None)."""
    rows: str
    """The key in its answer that contains the spans."""
    next_page: Callable[[JsonObject], JsonValue]
    event: Callable[[JsonObject], TrafficEvent]
    scores: str
    """The path that takes scores of traces."""
    scores_at_once: bool = False
    """True if it takes many scores at once, under "data"."""


def basic_headers(keys: Sequence[str]) -> Mapping[str, str]:
    """Return the header of HTTP basic authentication."""
    return {"Authorization": "Basic " + base64.b64encode(":".join(keys).encode()).decode()}


def _langfuse(project: str, since: str, page: str) -> tuple[str, None]:  # noqa: ARG001
    query = {"fromStartTime": since, "limit": _PAGE, "fields": "core,basic,io,usage,trace_context"}
    return f"/api/public/v2/observations?{urlencode(_with_page(query, page))}", None


def _phoenix(project: str, since: str, page: str) -> tuple[str, None]:
    query = _with_page({"start_time": since, "limit": _PAGE}, page)
    return f"/v1/projects/{quote(project or 'default', safe='')}/spans?{urlencode(query)}", None


def _langsmith(project: str, since: str, page: str) -> tuple[str, JsonObject]:
    query: JsonDict = {"session": [project], "start_time": since, "limit": _PAGE}
    return "/api/v1/runs/query", {**query, **nonempty(cursor=page)}


def _with_page(query: Mapping[str, object], page: str) -> Mapping[str, object]:
    return {**query, **nonempty(cursor=page)}


def _span_reader(
    format: str, id: str, trace: str, start: str, end: str, parent: str
) -> Callable[[JsonObject], TrafficEvent]:
    """Return a function that reads a service's spans as events, given its key names."""

    def read(span: JsonObject) -> TrafficEvent:
        # Phoenix has some of the keys in ``context``.
        values = {**inner_object(span, "context"), **span}
        is_root = not span.get(parent) and bool(span.get(end))
        return TrafficEvent(
            _text(values, id), span, _text(span, start), _text(values, trace), is_root, format
        )

    return read


def _text(values: JsonObject, name: str) -> str:
    text = text_at(values, name)
    if not text:
        raise WrongData("has no {column}", column=name)
    return text


SERVICES = {
    service.name: service
    for service in (
        Service(
            "langfuse",
            "LANGFUSE_HOST",
            "https://cloud.langfuse.com",
            ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"),
            basic_headers,
            _langfuse,
            "data",
            lambda answer: inner(answer, "meta", "cursor"),
            _span_reader(
                "langfuse", "id", "traceId", "startTime", "endTime", "parentObservationId"
            ),
            "/api/public/scores",
        ),
        Service(
            "phoenix",
            "PHOENIX_HOST",
            "http://localhost:6006",
            ("PHOENIX_API_KEY",),
            lambda keys: {"Authorization": f"Bearer {keys[0]}"},
            _phoenix,
            "data",
            lambda answer: answer.get("next_cursor"),
            _span_reader("phoenix", "span_id", "trace_id", "start_time", "end_time", "parent_id"),
            "/v1/trace_annotations",
            scores_at_once=True,
        ),
        Service(
            "langsmith",
            "LANGSMITH_ENDPOINT",
            "https://api.smith.langchain.com",
            ("LANGSMITH_API_KEY",),
            lambda keys: {"x-api-key": keys[0]},
            _langsmith,
            "runs",
            lambda answer: inner(answer, "cursors", "next"),
            _span_reader("langsmith", "id", "trace_id", "start_time", "end_time", "parent_run_id"),
            "/api/v1/feedback",
        ),
    )
}
_WITHOUT_KEY = ("phoenix", "mlflow")
"""Services that may run on one's own machine without a key."""


@dataclass(frozen=True)
class ServiceSpans:
    """The spans of a project, read page by page."""

    service: Service
    project: str
    since: timedelta
    """The time before now at which the first look begins."""

    @property
    def name(self) -> str:
        return f"{self.service.name}:{self.project}@{self._address}"

    @property
    def _address(self) -> str:
        address = os.environ.get(self.service.address, "").strip() or self.service.usual
        if urlsplit(address).scheme not in ("http", "https"):
            raise SetupError(
                "{variable} is not an address: {found!r}",
                variable=self.service.address,
                found=address,
            )
        return address.rstrip("/")

    def read(self, cursor: JsonObject) -> TrafficBatch:
        """Return the next page. Spans may come twice, since time ranges overlap."""
        since = text_at(cursor, "since") or _format_time(datetime.now(UTC) - self.since)
        newest = text_at(cursor, "newest") or since
        answer = self._ask(since, text_at(cursor, "page"))
        events: list[TrafficEvent] = []
        bad: list[str] = []
        for span in objects(answer, self.service.rows):
            try:
                events.append(self.service.event(span))
            except ValueError as error:
                bad.append(Message("{name}: a span {error}", name=self.service.name, error=error))
        newest = max([newest, *(event.at for event in events)], key=_moment)
        page = self.service.next_page(answer)
        if isinstance(page, str) and page and events:
            next_cursor: JsonDict = {"since": since, "newest": newest, "page": page}
            return TrafficBatch(events, next_cursor, bad, more=True)
        newest = min(newest, _format_time(datetime.now(UTC)), key=_moment)
        begin = max(_moment(since), min(_moment(newest), datetime.now(UTC)) - _OVERLAP)
        return TrafficBatch(events, {"since": _format_time(begin), "newest": newest}, bad)

    def send(self, scores: Sequence[JsonObject]) -> None:
        """Send scores of traces; sending a score again overwrites the earlier one."""
        if self.service.scores_at_once:
            self._exchange(self.service.scores, {"data": list(scores)})
            return
        for score in scores:
            self._exchange(self.service.scores, score)

    def _exchange(self, path: str, body: JsonObject | None, method: str | None = None) -> JsonValue:
        request = Request(  # noqa: S310 - http or https, as checked above
            self._address + path,
            None if body is None else json.dumps(body).encode(),
            {"Accept": "application/json", "Content-Type": "application/json", **self._headers()},
            method=method,
        )
        try:
            with urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
                content: JsonValue = json.loads(answer.read(_LARGEST) or b"null")
        except (HTTPError, URLError, OSError, ValueError, http.client.HTTPException) as error:
            raise SourceAway(
                "{name} does not respond at {path}: {reason}",
                name=self.service.name,
                path=path.partition("?")[0],
                reason=_why(error),
            ) from error
        return content

    def _ask(self, since: str, page: str) -> JsonObject:
        answer = self._exchange(*self.service.ask(self.project, since, page))
        if not isinstance(answer, dict) or not isinstance(answer.get(self.service.rows), list):
            raise SourceAway(
                "{name} did not return its spans: {reason}",
                name=self.service.name,
                reason=Message("the response has no list {key!r}", key=self.service.rows),
            )
        return answer

    def _headers(self) -> Mapping[str, str]:
        keys = [os.environ.get(name, "").strip() for name in self.service.keys]
        if all(keys):
            return self.service.headers(keys)
        if self.service.name in _WITHOUT_KEY:
            return {}
        raise SetupError(
            "{name} needs an API key: set {variables}",
            name=self.service.name,
            variables=", ".join(self.service.keys),
        )


def _why(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"{error.code} {error.reason}"
    return reason_of(error) if isinstance(error, OSError) else str(error)[:200]


def _moment(text: str) -> datetime:
    """Parse a time; an invalid value counts as long ago."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
