"""Traces: an event for each judgment and a span for each call, by the SDK's own exporters and over
OTLP to a real socket.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import UUID

import pytest

from adjudge import AspectCritic, Instance, PairwiseJudge, ScriptedModel
from adjudge.features.integrations import otel_names as names
from support.commands import adjudge
from support.fake_provider import KEY, FakeProvider

pytest.importorskip(
    "opentelemetry.sdk", reason="the extra otel is not installed: make test-neighbours tries it"
)
pytest.importorskip(
    "opentelemetry.exporter.otlp.proto.http", reason="the extra otel is not installed"
)
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes

from adjudge.features.integrations.otel import Traces

PINNED = json.loads(
    (Path(__file__).parents[2] / "samples" / "otel_evaluation_result.json").read_text(
        encoding="utf-8"
    )
)
TYPES = {"string": str, "double": float, "int": int, "string[]": tuple}
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"


class Kept:
    """Providers whose exports stay in memory."""

    def __init__(self) -> None:
        self.spans, self.logs = InMemorySpanExporter(), InMemoryLogRecordExporter()
        self.tracers, self.loggers = TracerProvider(), LoggerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self.logs))

    def traces(self) -> Traces:
        return Traces(
            tracers=self.tracers, loggers=self.loggers, run="runs/x", locks={"dates": "abc"}
        )

    @property
    def events(self) -> list[tuple[int, int, dict[str, object]]]:
        """(trace, span, attributes) of each event."""
        records = [one.log_record for one in self.logs.get_finished_logs()]
        assert {one.event_name for one in records} <= {PINNED["event"]}
        return [(one.trace_id, one.span_id, dict(one.attributes)) for one in records]

    @property
    def chats(self) -> list[ReadableSpan]:
        return [one for one in self.spans.get_finished_spans() if one.name.startswith("chat ")]


@pytest.fixture
def kept() -> Kept:
    return Kept()


def judged(
    kept: Kept, text: str = "PASS", metadata: Mapping[str, object] | None = None
) -> dict[str, object]:
    """The attributes of the event of one judgment."""
    critic = AspectCritic("Names a date.", ScriptedModel([text]), name="dates", max_repairs=0)
    with kept.traces() as traces:
        traces.emit(
            critic.evaluate(Instance({"response": "May 1"}, id="r1", metadata=metadata or {})),
            judge="dates",
        )
    return kept.events[-1][2]


def conform(attributes: Mapping[str, object], table: Mapping[str, Mapping[str, str]]) -> None:
    for name, value in attributes.items():
        if not name.startswith("adjudge."):
            assert isinstance(value, TYPES[table[name]["type"]]), (name, value)
    assert {name for name, one in table.items() if one["level"] == "required"} <= attributes.keys()


def test_the_names_are_those_of_the_pinned_convention() -> None:
    ours = {
        value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)
    }
    known = {
        names.EVENT,
        names.CHAT,
        names.CAPTURE_CONTENT,
        *PINNED["attributes"],
        *PINNED["chat_span"]["attributes"],
    }
    assert {one for one in ours if not one.startswith("adjudge.")} == known
    assert PINNED["event"] == names.EVENT


def test_the_pinned_names_are_those_of_opentelemetrys_own_package() -> None:
    """Of opentelemetry-semantic-conventions; it names attributes and providers, and knows neither
    types nor levels.
    """
    known = {
        value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")
    } | {error_attributes.ERROR_TYPE}
    assert {*PINNED["attributes"], *PINNED["chat_span"]["attributes"]} <= known
    assert {one for one in known if "evaluation" in one} <= PINNED["attributes"].keys()
    providers = {one.value for one in gen_ai_attributes.GenAiProviderNameValues}
    assert set(names.PROVIDERS.values()) | {"openai", "anthropic", "groq"} <= providers
    assert names.CHAT in {one.value for one in gen_ai_attributes.GenAiOperationNameValues}


def test_a_scored_judgment_is_an_event_with_score_label_and_explanation(kept: Kept) -> None:
    attributes = judged(
        kept,
        '{"explanation": "It does.", "selected_option": "PASS"}',
        {"response_id": "chatcmpl-1"},
    )
    conform(attributes, PINNED["attributes"])
    assert {
        name: value for name, value in attributes.items() if name.startswith(("gen_ai", "error"))
    } == {
        "gen_ai.evaluation.name": "dates",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.evaluation.score.label": "PASS",
        "gen_ai.evaluation.explanation": "It does.",
        "gen_ai.response.id": "chatcmpl-1",
    }
    assert (attributes["adjudge.run"], attributes["adjudge.lock"], attributes["adjudge.row"]) == (
        "runs/x",
        "abc",
        "r1",
    )
    assert (attributes["adjudge.votes_valid"], attributes["adjudge.status"]) == (1, "scored")
    assert len(str(attributes["adjudge.criteria.hash"])) == 64


def test_a_failed_judgment_has_an_error_and_no_score(kept: Kept) -> None:
    attributes = judged(kept, "no idea, sorry to say")
    conform(attributes, PINNED["attributes"])
    assert attributes["error.type"] == "unreadable"
    assert (
        not {"gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"} & attributes.keys()
    )


def test_a_comparison_has_a_label_and_no_score(kept: Kept) -> None:
    judge = PairwiseJudge(ScriptedModel(["A"]))
    with kept.traces() as traces:
        traces.emit_all(judge.evaluate([["one", "two"]], "Which is better?"))
    attributes = kept.events[0][2]
    assert attributes["gen_ai.evaluation.score.label"] == "response 1"
    assert "gen_ai.evaluation.score.value" not in attributes


@pytest.mark.parametrize(
    "cells",
    [
        {"traceparent": PARENT},
        {"row": {"Trace ID": TRACE, "span id": SPAN}},
        {
            "trace_id": str(UUID(TRACE)).upper(),
            "span_id": SPAN,
        },
    ],
    ids=["traceparent", "columns", "uuid"],
)
def test_an_event_is_parented_to_the_span_that_the_row_names(
    kept: Kept, cells: Mapping[str, object]
) -> None:
    judged(kept, metadata=cells)
    assert kept.events[0][:2] == (int(TRACE, 16), int(SPAN, 16))


def test_a_row_without_a_span_has_its_event_in_the_runs_trace(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    judged(kept)
    judged(kept, metadata={"traceparent": "broken"})
    spans = {
        one.context.span_id for one in kept.spans.get_finished_spans() if one.name == "adjudge run"
    }
    assert {span for _, span, _ in kept.events} == spans
    assert "'broken' is not W3C trace context" in caplog.text


# -- calls ---------------------------------------------------------------------------


class Collector:
    """A real OTLP receiver on a socket of its own."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.events: list[LogRecord] = []
        self.refuses = False
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(400 if collector.refuses else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                if self.path == "/v1/traces":
                    scopes = [
                        one
                        for each in ExportTraceServiceRequest.FromString(body).resource_spans
                        for one in each.scope_spans
                    ]
                    collector.spans += [span for scope in scopes for span in scope.spans]
                if self.path == "/v1/logs":
                    logs = [
                        one
                        for each in ExportLogsServiceRequest.FromString(body).resource_logs
                        for one in each.scope_logs
                    ]
                    collector.events += [record for scope in logs for record in scope.log_records]

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def attributes_of(record: Span | LogRecord) -> dict[str, object]:
    found = {}
    for one in record.attributes:
        kind = one.value.WhichOneof("value")
        value = getattr(one.value, kind)
        found[one.key] = (
            tuple(item.string_value for item in value.values) if kind == "array_value" else value
        )
    return found


@pytest.fixture
def folder(tmp_path: Path, provider: FakeProvider) -> Path:
    rows = ["id,answer,traceparent", f"a,REC-00001-Y,{PARENT}", "b,REC-00002-N,"]
    (tmp_path / "rows.csv").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "eval.yaml").write_text(
        f"data: rows.csv\nmodels: {{model: openai/gpt-4o-mini, base_url: "
        f"'{provider.base_url('openai')}'}}\n"
        "judges: [{kind: aspect, name: ends, criteria: 'Does it end in Y?'}]\n",
        encoding="utf-8",
    )
    return tmp_path


def run(
    folder: Path, collector: Collector, *words: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    own = {
        **os.environ,
        "OPENAI_API_KEY": KEY,
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        **variables,
    }
    return adjudge("run", "eval.yaml", "--run", "runs/x", "-q", *words, cwd=folder, environment=own)


def test_a_run_sends_events_and_spans_to_a_collector(folder: Path, collector: Collector) -> None:
    done = run(folder, collector, "--otel", "--no-cache")
    assert done.returncode == 0, done.stderr
    events = {attributes_of(one)["adjudge.row"]: one for one in collector.events}
    assert events["a"].event_name == PINNED["event"]
    assert (events["a"].trace_id.hex(), events["a"].span_id.hex()) == (TRACE, SPAN)
    assert attributes_of(events["b"])["gen_ai.evaluation.score.value"] == 0.0
    for event in events.values():
        conform(attributes_of(event), PINNED["attributes"])
    spans = {one.name: one for one in collector.spans}
    assert spans.keys() == {"adjudge run", "chat gpt-4o-mini"}
    chat = spans["chat gpt-4o-mini"]
    assert chat.parent_span_id == spans["adjudge run"].span_id == events["b"].span_id
    linked = [link.trace_id.hex() for one in collector.spans for link in one.links]
    assert linked == [TRACE]
    found = attributes_of(chat)
    conform(found, PINNED["chat_span"]["attributes"])
    assert (found["gen_ai.provider.name"], found["gen_ai.request.model"]) == (
        "openai",
        "gpt-4o-mini",
    )
    assert found["gen_ai.usage.input_tokens"] and found["gen_ai.response.model"]
    assert not {"gen_ai.input.messages", "gen_ai.output.messages"} & found.keys()
    assert KEY not in str(collector.spans) + str(collector.events)


def test_what_is_in_the_ledger_is_no_call_and_prompts_are_sent_on_request(
    folder: Path, collector: Collector
) -> None:
    run(
        folder,
        collector,
        "--otel",
        "--no-cache",
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true",
    )
    asked = [attributes_of(one) for one in collector.spans if one.name.startswith("chat")]
    assert len(asked) == 2
    assert "REC-00001-Y" in str(asked)
    conform(asked[0], PINNED["chat_span"]["attributes"])
    run(folder, collector, "--otel", "--no-cache")
    assert len([one for one in collector.spans if one.name.startswith("chat")]) == 2
    assert len(collector.events) == 4


def test_a_collector_that_refuses_costs_no_verdict(folder: Path, collector: Collector) -> None:
    collector.refuses = True
    done = run(folder, collector, "--otel", "--no-cache", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["summary"]["scored"] == 2
    assert "400" in done.stderr


def test_another_protocol_is_refused_before_anything_is_asked(
    folder: Path, collector: Collector, provider: FakeProvider
) -> None:
    done = run(folder, collector, "--otel", OTEL_EXPORTER_OTLP_PROTOCOL="grpc")
    assert (done.returncode, len(provider.requests)) == (1, 0)
    assert "http/protobuf" in done.stderr


def test_nothing_of_opentelemetry_is_loaded_otherwise() -> None:
    code = (
        "import sys, adjudge.runs.cli.run, adjudge.runs.cli.judge\n"
        "print(*(one for one in sys.modules if 'opentelemetry' in one))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
