"""MLflow, asked for its traces by its public HTTP API; verdicts become assessments of them."""

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
    wanted: JsonDict = {
        "locations": [place],
        "filter": f"trace.timestamp_ms >= {begin}",
        "order_by": ["timestamp_ms ASC"],
        "max_results": _PAGE,
    }
    return f"{_API}/search", {**wanted, **nonempty(page_token=page)}


def _event(one: JsonObject) -> TrafficEvent:
    """A trace is one event: it has ended, or it comes again."""
    info = inner_object(one, "info")
    id, at = text_at(info, "trace_id"), text_at(info, "request_time")
    return TrafficEvent(id, one, at, id, info.get("state") in _OVER, "mlflow")


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
    """The traces of an experiment: they are listed first, then their spans are asked for. A list
    that is empty is left out of MLflow's answers.
    """

    def _ask(self, since: str, page: str) -> JsonObject:
        if not self.project.isdigit():
            raise SetupError("mlflow needs the number of an experiment: --from mlflow:12")
        listed = inner_object(self._exchange(*self.service.ask(self.project, since, page)))
        known = {
            id: info for info in objects(listed, "traces") if (id := text_at(info, "trace_id"))
        }
        if not known:
            return {**listed, "traces": []}
        query = urlencode({"trace_ids": list(known)}, doseq=True)
        found = self._exchange(f"{_API}/batchGet?{query}", None)
        traces = [_trace(one, known) for one in objects(found, "traces")]
        return {**listed, "traces": traces}

    def send(self, scores: Sequence[JsonObject]) -> None:
        """Make each verdict an assessment of its trace, or change the one that is there: MLflow
        has no key for them, so ours stands in their metadata.
        """
        for one in scores:
            place = f"{_API}/{quote(str(one.get('trace_id')), safe='')}"
            kept = self._assessments(place)
            own = next((each for each in kept if _key(each) == _key(one)), None)
            if own is None:
                self._exchange(f"{place}/assessments", {"assessment": one})
                continue
            id = quote(str(own.get("assessment_id")), safe="")
            body: JsonDict = {"assessment": one, "update_mask": _CHANGED}
            self._exchange(f"{place}/assessments/{id}", body, "PATCH")

    def _assessments(self, place: str) -> Sequence[JsonObject]:
        return objects(self._exchange(place, None), "trace", "trace_info", "assessments")

    def _headers(self) -> Mapping[str, str]:
        token = os.environ.get(_TOKEN, "").strip()
        return {"Authorization": f"Bearer {token}"} if token else super()._headers()


def _key(assessment: JsonObject) -> JsonValue:
    return inner_object(assessment, "metadata").get(_KEY)


def _trace(one: JsonObject, known: Mapping[str, JsonObject]) -> JsonObject:
    """As MLflow writes a trace to a file."""
    info = inner_object(one, "trace_info")
    listed = known.get(text_at(info, "trace_id"), info)
    spans = [
        {**span, "attributes": _attributes(span.get("attributes"))}
        for span in objects(one, "spans")
    ]
    return {"info": {**listed, "assessments": []}, "data": {"spans": spans}}


def _attributes(given: JsonValue) -> JsonObject:
    """Name → value, where it is a list of both as in OTLP; what is no text is a text of JSON, as
    in MLflow's files.
    """
    if isinstance(given, dict):
        return given
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in attributes_of(given).items()
    }
