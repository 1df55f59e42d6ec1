"""Read traces from MLflow's public HTTP API, and write verdicts back as assessments."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from adjudge.core.domain.frozen_mapping import nonempty
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.core.reading.foreign_values import inner_object, objects, text_at
from adjudge.errors import SetupError
from adjudge.features.agents.traces.formats.otlp import attributes_of
from adjudge.features.traffic.services import Service, ServiceSpans, basic_headers
from adjudge.features.traffic.source import TrafficEvent

_API = "/api/3.0/mlflow/traces"
_PAGE = 50
_TOKEN = "MLFLOW_TRACKING_TOKEN"  # noqa: S105 - the name of a variable
_KEY = "adjudge.key"
_CHANGED = "feedback,rationale,metadata"
_OVER = ("OK", "ERROR")


def _search(project: str, since: str, page: str) -> tuple[str, JsonObject]:
    begin = int(datetime.fromisoformat(since).astimezone(UTC).timestamp() * 1000)
    place: JsonDict = {
        "type": "MLFLOW_EXPERIMENT",
        "mlflow_experiment": {"experiment_id": project},
    }
    query: JsonDict = {
        "locations": [place],
        "filter": f"trace.timestamp_ms >= {begin}",
        "order_by": ["timestamp_ms ASC"],
        "max_results": _PAGE,
    }
    return f"{_API}/search", {**query, **nonempty(page_token=page)}


def _event(trace: JsonObject) -> TrafficEvent:
    """Return a trace as one event."""
    info = inner_object(trace, "info")
    id, at = text_at(info, "trace_id"), text_at(info, "request_time")
    # A trace that has not ended yet comes again later.
    return TrafficEvent(id, trace, at, id, info.get("state") in _OVER, "mlflow")


MLFLOW = Service(
    "mlflow",
    "MLFLOW_TRACKING_URI",
    "http://localhost:5000",
    ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"),
    basic_headers,
    _search,
    "traces",
    lambda answer: answer.get("next_page_token"),
    _event,
    f"{_API}/",
)


class MlflowTraces(ServiceSpans):
    """The traces of an experiment: they are listed first, then their spans are requested."""

    def _ask(self, since: str, page: str) -> JsonObject:
        if not self.project.isdigit():
            raise SetupError("mlflow needs a numeric experiment ID, such as --from mlflow:12")
        listed = inner_object(self._exchange(*self.service.ask(self.project, since, page)))
        infos = {
            id: info for info in objects(listed, "traces") if (id := text_at(info, "trace_id"))
        }
        if not infos:
            # MLflow leaves an empty list out of its answers.
            return {**listed, "traces": []}
        query = urlencode({"trace_ids": list(infos)}, doseq=True)
        answer = self._exchange(f"{_API}/batchGet?{query}", None)
        traces = [_trace(trace, infos) for trace in objects(answer, "traces")]
        return {**listed, "traces": traces}

    def send(self, scores: Sequence[JsonObject]) -> None:
        """Write each verdict as an assessment of its trace, or update the existing one."""
        for score in scores:
            place = f"{_API}/{quote(str(score.get('trace_id')), safe='')}"
            assessments = self._assessments(place)
            # MLflow has no key for assessments, so adjudge's key is in their metadata.
            existing = next(
                (assessment for assessment in assessments if _key(assessment) == _key(score)), None
            )
            if existing is None:
                self._exchange(f"{place}/assessments", {"assessment": score})
                continue
            id = quote(str(existing.get("assessment_id")), safe="")
            body: JsonDict = {"assessment": score, "update_mask": _CHANGED}
            self._exchange(f"{place}/assessments/{id}", body, "PATCH")

    def _assessments(self, place: str) -> Sequence[JsonObject]:
        return objects(self._exchange(place, None), "trace", "trace_info", "assessments")

    def _headers(self) -> Mapping[str, str]:
        token = os.environ.get(_TOKEN, "").strip()
        return {"Authorization": f"Bearer {token}"} if token else super()._headers()


def _key(assessment: JsonObject) -> JsonValue:
    return inner_object(assessment, "metadata").get(_KEY)


def _trace(trace: JsonObject, infos: Mapping[str, JsonObject]) -> JsonObject:
    """Return a trace as MLflow writes it to a file."""
    info = inner_object(trace, "trace_info")
    listed = infos.get(text_at(info, "trace_id"), info)
    spans = [
        {**span, "attributes": _attributes(span.get("attributes"))}
        for span in objects(trace, "spans")
    ]
    return {"info": {**listed, "assessments": []}, "data": {"spans": spans}}


def _attributes(attributes: JsonValue) -> JsonObject:
    """Return attributes as a mapping, also those in OTLP's list form."""
    if isinstance(attributes, dict):
        return attributes
    return {
        # MLflow's files hold every value that is not text as JSON.
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in attributes_of(attributes).items()
    }
