"""OpenTelemetry: an event per judgment, a span per model call, and one around the whole run.

An event is parented to the span whose answer was judged, if the row names it: in a column
``traceparent``, or in ``trace_id`` and ``span_id``. Spans of judging stay in the run's own trace
and are linked to it, so that judging adds nothing to its cost.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeVar

from adjudge.core.data.columns import column_in
from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.results import Result, Status
from adjudge.core.engine.identity import judge_identity
from adjudge.core.engine.session import Call
from adjudge.errors import SetupError
from adjudge.features.integrations import otel_names as names
from adjudge.runs.execute import Called, Event, JudgmentDone
from adjudge.runs.plan import Plan
from adjudge.version import __version__

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, TracerProvider

_LOG = logging.getLogger("adjudge.otel")
_RESPONSE_IDS = ("gen_ai.response.id", "response_id", "completion_id")
_PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
Value = str | bool | int | float | tuple[str, ...]
Attributes = dict[str, Value]


class _Ending(Protocol):
    """A sender of spans or events that must be shut down."""

    def __init__(self, *, resource: object) -> None: ...

    def shutdown(self) -> None:
        """Flush pending data and stop."""
        ...


E = TypeVar("E", bound=_Ending)


class Traces:
    """Events and spans of judgments.

    Example: ``with Traces() as traces: traces.emit_all(results)``

    ``tracers`` and ``loggers`` are OpenTelemetry's providers: by default those of the process, else
    new ones that send to the OTLP endpoint of the environment. ``run`` is the folder, and ``locks``
    maps a judge to the identity that decides its verdicts.
    """

    def __init__(
        self,
        *,
        tracers: TracerProvider | None = None,
        loggers: LoggerProvider | None = None,
        run: str = "",
        locks: Mapping[str, str] | None = None,
    ) -> None:
        _check_installed()
        self._closing: list[_Ending] = []
        self._tracers = tracers or self._own_tracers()
        self._loggers = loggers or self._own_loggers()
        self._tracer = self._tracers.get_tracer("adjudge", __version__)
        self._logger = self._loggers.get_logger("adjudge", __version__)
        self._run = run
        self._locks = dict(locks or {})
        self._span: Span | None = None
        self._parents = _Parents()

    def __enter__(self) -> Traces:
        self._span = self._tracer.start_span(
            "adjudge run", attributes={names.RUN: self._run} if self._run else None
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._span is not None:
            if kind is not None:
                self._span.set_attribute(names.ERROR_TYPE, kind.__name__)
            self._span.end()
        for provider in self._closing:
            provider.shutdown()

    def on_event(self, event: Event) -> None:
        """Emit a run's judgments and calls; ignore its other events."""
        if isinstance(event, JudgmentDone):
            self.emit(event.result, judge=event.judge)
        elif isinstance(event, Called):
            self.on_call(event.call)

    def emit_all(self, results: Iterable[Result]) -> None:
        """Emit events for the results that a judge returned."""
        for result in results:
            self.emit(result)

    def emit(self, result: Result, judge: str = "") -> None:
        """Emit an event for a result; for RAG rows, one per dimension and one for the composite."""
        from opentelemetry._logs import SeverityNumber

        context = self._parents.context_of(result.instance) or self._own_context()
        for part in _parts(result):
            attributes = {**_evaluation(part), **self._provenance(part, judge)}
            self._logger.emit(
                event_name=names.EVENT,
                severity_number=SeverityNumber.INFO,
                context=context,
                attributes=attributes,
            )

    def on_call(self, call: Call) -> None:
        """Emit a client span for a model call."""
        from opentelemetry.trace import Link, SpanKind, StatusCode, get_current_span

        judged_context = self._parents.context_of(call.ballot.instance) if call.ballot else None
        span = self._tracer.start_span(
            f"{names.CHAT} {_request_model(call.model)}",
            context=self._own_context(),
            kind=SpanKind.CLIENT,
            attributes=_call_attributes(call),
            links=[Link(get_current_span(judged_context).get_span_context())]
            if judged_context
            else (),
            start_time=call.started,
        )
        if call.error is not None:
            span.set_status(StatusCode.ERROR, str(call.error))
        span.end(call.ended)

    def _own_context(self) -> Context | None:
        from opentelemetry.trace import set_span_in_context

        return set_span_in_context(self._span) if self._span is not None else None

    def _provenance(self, result: Result, judge: str) -> Attributes:
        lock = self._locks.get(judge)
        return {
            **({names.RUN: self._run} if self._run else {}),
            **({names.LOCK: lock} if lock else {}),
            **_ours(result),
        }

    def _own_tracers(self) -> TracerProvider:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider

        def send(made: TracerProvider) -> None:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.trace.export import BatchSpanProcessor

            made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))

        return self._own(TracerProvider, trace.get_tracer_provider(), send)

    def _own_loggers(self) -> LoggerProvider:
        from opentelemetry import _logs
        from opentelemetry.sdk._logs import LoggerProvider

        def send(made: LoggerProvider) -> None:
            from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
            from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

            made.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))

        return self._own(LoggerProvider, _logs.get_logger_provider(), send)

    def _own(self, kind: type[E], current: object, send: Callable[[E], None]) -> E:
        """Return the process's provider if it is of this kind.

        Else return a new one that sends to the OTLP endpoint.
        """
        if isinstance(current, kind):
            return current
        provider = kind(resource=_resource())
        send(provider)
        self._closing.append(provider)
        return provider


def traces_of_plan(plan: Plan) -> Traces:
    """Return the traces for a run that is about to start."""
    locks = {
        ready.name: judge_identity(JudgeConfiguration.of(plan.configuration[ready.label]))
        for ready in plan.judges
    }
    return Traces(run=str(plan.folder or ""), locks=locks)


class _Parents:
    """Finds the spans whose answers were judged."""

    def __init__(self) -> None:
        self._warned = False

    def context_of(self, instance: Instance) -> Context | None:
        """Return the context of the row's span; None if the row names none, or an invalid one."""
        cell = _cells(instance)
        traceparent = cell("traceparent") or _traceparent(cell("trace_id"), cell("span_id"))
        if not traceparent:
            return None
        from opentelemetry.trace import get_current_span
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        context = TraceContextTextMapPropagator().extract(
            {"traceparent": traceparent, "tracestate": cell("tracestate")}
        )
        if get_current_span(context).get_span_context().is_valid:
            return context
        if not self._warned:
            self._warned = True
            _LOG.warning(
                "row %s names no span: %r is not W3C trace context; its event stands in the "
                "run's own trace",
                instance.metadata.get("place") or instance.id,
                traceparent,
            )
        return None


def _traceparent(trace: str, span: str) -> str:
    """Return a trace and a span as a traceparent."""
    # UUIDs contain dashes, and some tools drop leading zeros.
    hexadecimal = trace.replace("-", "").lower().rjust(32, "0"), span.lower().rjust(16, "0")
    return f"00-{hexadecimal[0]}-{hexadecimal[1]}-01" if trace and span else ""


def _cells(instance: Instance) -> Callable[..., str]:
    """Return a function that reads the row's cells by column name."""
    row = instance.metadata.get("row")
    cells: Mapping[str, object] = {
        **instance.fields,
        **instance.metadata,
        **(row if isinstance(row, Mapping) else {}),
    }

    def cell(*columns: str) -> str:
        column = column_in(cells, *columns)
        return "" if column is None or cells[column] is None else str(cells[column]).strip()

    return cell


def _parts(result: Result) -> Iterator[Result]:
    yield from result.component_results
    yield result


def _evaluation(result: Result) -> Attributes:
    """Return the attributes that the convention defines."""
    attributes: Attributes = {names.EVALUATION_NAME: result.criteria.name}
    # Without a verdict there is no score: a failure has its kind, an abstention has neither.
    if result.status is Status.SCORED:
        label = None if result.component_results else result.verdict or None
        attributes |= {names.SCORE_VALUE: result.score} if result.score is not None else {}
        attributes |= {names.SCORE_LABEL: label} if label is not None else {}
    elif result.status is Status.FAILED:
        attributes[names.ERROR_TYPE] = next(
            (vote.outcome.value for vote in result.votes if vote.verdict is None), "failed"
        )
    if explanation := result.explanation or result.reason:
        attributes[names.EXPLANATION] = explanation
    if answered := _cells(result.instance)(*_RESPONSE_IDS):
        attributes[names.RESPONSE_ID] = answered
    return attributes


def _ours(result: Result) -> Attributes:
    agreement: Attributes = {} if result.agreement is None else {names.AGREEMENT: result.agreement}
    row: Attributes = {names.ROW: result.instance.id} if result.instance.id else {}
    return {
        names.STATUS: result.status.value,
        names.VOTES_VALID: result.votes_valid,
        names.VOTES_REQUESTED: result.votes_requested,
        names.CRITERIA_HASH: content_hash(result.criteria),
        **agreement,
        **row,
    }


def _call_attributes(call: Call) -> Attributes:
    request, reply = call.request, call.reply
    attributes: dict[str, Value | None] = {
        names.OPERATION: names.CHAT,
        names.PROVIDER: _provider(call.model),
        names.REQUEST_MODEL: _request_model(call.model),
        names.REQUEST_SEED: request.seed,
        names.REQUEST_TEMPERATURE: request.temperature,
        names.ERROR_TYPE: type(call.error).__name__ if call.error else None,
    }
    if reply is not None:
        attributes |= {
            names.RESPONSE_MODEL: reply.details.get("model") or None,
            names.RESPONSE_ID: reply.details.get("id") or None,
            names.INPUT_TOKENS: reply.usage.prompt_tokens,
            names.OUTPUT_TOKENS: reply.usage.completion_tokens,
            names.FINISH_REASONS: (reply.finish,),
        }
    return {name: value for name, value in attributes.items() if value is not None} | _content(call)


def _content(call: Call) -> Attributes:
    """Return the prompt and reply if the user allows them to be sent, else nothing."""
    if os.environ.get(names.CAPTURE_CONTENT, "").strip().lower() != "true":
        return {}
    messages = [_message(message.role, message.content) for message in call.request.prompt.messages]
    answer = (
        []
        if call.reply is None
        else [{**_message("assistant", call.reply.text), "finish_reason": call.reply.finish}]
    )
    return {
        names.INPUT_MESSAGES: json.dumps(messages, ensure_ascii=False),
        names.OUTPUT_MESSAGES: json.dumps(answer, ensure_ascii=False),
    }


def _message(role: str, content: str) -> JsonDict:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def _provider(model: str) -> str:
    """Return the provider's name in the OpenTelemetry convention."""
    # A server at a custom address speaks OpenAI's protocol.
    head = "openai" if "://" in model else model.partition("/")[0]
    return names.PROVIDERS.get(head, head)


def _request_model(model: str) -> str:
    """Return the provider's name for the model."""
    return model.partition("#")[2] if "://" in model else model.partition("/")[2] or model


def _resource() -> object:
    from opentelemetry.sdk.resources import Resource

    attributes = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "adjudge"}
    return Resource.create(attributes)


def _check_installed() -> None:
    try:
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk  # noqa: F401
    except ModuleNotFoundError as error:
        raise SetupError("traces need OpenTelemetry: pip install 'adjudge[otel]'") from error
    protocol = os.environ.get(_PROTOCOL, "").strip()
    if protocol not in ("", "http/protobuf"):
        raise SetupError(
            "{variable} is {protocol!r}, but adjudge sends traces with http/protobuf: unset it, "
            "or set it to http/protobuf",
            variable=_PROTOCOL,
            protocol=protocol,
        )
