"""MLflow: judgments as feedback on its traces, people's labels likewise, and a judge as a scorer of
``mlflow.genai.evaluate``.

A judgment without a verdict is feedback with an error and without a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import mlflow
from mlflow.entities import AssessmentError, AssessmentSource, Feedback
from mlflow.genai.scorers import Scorer, scorer

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.label import Label
from adjudge.core.domain.results import Result
from adjudge.features.integrations.adapters import Asked, TextJudge, Verdict, id_in, text_of

_TRACES = ("mlflow.trace_id", "mlflow_trace_id", "trace_id", "request_id")
_SPANS = ("mlflow.span_id", "mlflow_span_id", "span_id")


def log_results(results: Iterable[Result], trace_ids: Sequence[str] | None = None) -> int:
    """Log each result as feedback on its trace and return how many were logged.

    `trace_ids` has one id per result; without it the column ``trace_id`` of each row is used, and
    rows without one are left out.
    """
    count = 0
    for place, result in enumerate(results):
        if trace_id := id_in(result, trace_ids, place, *_TRACES):
            feedback = feedback_of(Verdict(result))
            feedback.span_id = id_in(result, None, place, *_SPANS)
            mlflow.log_assessment(trace_id, feedback)
            count += 1
    return count


def log_labels(labels: Iterable[Label], trace_ids: Mapping[str, str]) -> int:
    """Log labels as feedback and return how many were logged.

    `trace_ids` maps a label's row id, or the row's identity, to its trace. Labels without a trace
    or an answer are left out.
    """
    count = 0
    for label in labels:
        trace_id = trace_ids.get(label.id or "") or trace_ids.get(label.row)
        if trace_id is None or label.answer is None:
            continue
        source = AssessmentSource(
            "LLM_JUDGE" if label.kind == "model" else "HUMAN", label.annotator
        )
        mlflow.log_feedback(
            trace_id=trace_id,
            name=label.criteria,
            value=label.answer,
            source=source,
            rationale=label.note or None,
        )
        count += 1
    return count


def adjudge_scorer(
    judge: TextJudge, criteria: str | Criteria | None = None, name: str | None = None
) -> Scorer:
    """Return a scorer that asks ``judge``; a DirectJudge needs ``criteria``.

    Inputs and expectations are matched by name.
    """
    judge_with_criteria = Asked(judge, criteria)

    def score(
        inputs: object = None, outputs: object = None, expectations: object = None
    ) -> Feedback:
        cells = {**_cells(inputs, "user_input"), **_cells(expectations, "reference")}
        return feedback_of(judge_with_criteria.verdict({**cells, "response": text_of(outputs)}))

    mlflow_scorer: Scorer = scorer(score, name=name or judge_with_criteria.name)
    return mlflow_scorer


def feedback_of(verdict: Verdict) -> Feedback:
    """Return a judgment as MLflow's feedback.

    The value is yes or no for PASS and FAIL, else a score from 0 to 1, else the option. Without a
    verdict, the feedback has an error instead.
    """
    source = AssessmentSource("LLM_JUDGE", verdict.models)
    if not verdict.is_scored:
        error = AssessmentError(
            error_code=verdict.error_code.upper(), error_message=verdict.error_message
        )
        return Feedback(name=verdict.name, error=error, source=source, metadata=verdict.facts)
    value: str | float | None = {"PASS": "yes", "FAIL": "no"}.get(verdict.label or "")
    value = value or (verdict.label if verdict.score is None else verdict.score)
    return Feedback(
        name=verdict.name,
        value=value,
        rationale=verdict.result.explanation,
        source=source,
        metadata=verdict.facts,
    )


def _cells(values: object, default_name: str) -> dict[str, object]:
    """Return named values by name; any other value under `default_name`."""
    return (
        {str(name): value for name, value in values.items()}
        if isinstance(values, Mapping)
        else {default_name: text_of(values)}
    )
