"""Langfuse: judgments as scores of its traces.

A judgment without a verdict becomes an event that says why, not a score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langfuse import Langfuse

from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.results import Result
from adjudge.features.integrations.adapters import Verdict, id_in

_TRACES = ("langfuse.trace_id", "langfuse_trace_id", "trace_id")
_OBSERVATIONS = ("langfuse.observation_id", "observation_id", "span_id")


def send_scores(
    results: Iterable[Result], client: Langfuse, trace_ids: Sequence[str] | None = None
) -> int:
    """Send a score for each result with a verdict and return how many were sent.

    Sending a score again overwrites the earlier one. A result without a verdict is sent as an error
    event. `trace_ids` has one id per result; without it the column ``trace_id`` of each row is
    used, and rows without one are left out. Scores are from 0 to 1; criteria whose options have no
    scores become categories.
    """
    count = 0
    for place, result in enumerate(results):
        trace_id = id_in(result, trace_ids, place, *_TRACES)
        if trace_id is None:
            continue
        verdict, observation = Verdict(result), id_in(result, None, place, *_OBSERVATIONS)
        if verdict.is_scored:
            _send(client, verdict, trace_id, observation)
            count += 1
        else:
            _tell(client, verdict, trace_id, observation)
    client.flush()
    return count


def _send(client: Langfuse, verdict: Verdict, trace_id: str, observation: str | None) -> None:
    score = verdict.score
    ballot_ids = sorted(vote.ballot.id for vote in verdict.result.votes)
    client.create_score(
        trace_id=trace_id,
        observation_id=observation,
        name=verdict.name,
        value=str(verdict.label) if score is None else score,
        data_type="CATEGORICAL" if score is None else "NUMERIC",
        comment=verdict.result.explanation,
        # The same question gives the same id, so that a score that is sent again replaces itself.
        score_id=content_hash(trace_id, verdict.name, ballot_ids)[:32],
        metadata=verdict.facts,
    )


def _tell(client: Langfuse, verdict: Verdict, trace_id: str, observation: str | None) -> None:
    within = {"trace_id": trace_id, **({"parent_span_id": observation} if observation else {})}
    client.create_event(
        trace_context=within,
        name=f"{verdict.name}: no verdict",
        level="ERROR",
        status_message=f"{verdict.error_code}: {verdict.error_message}",
        metadata=verdict.facts,
    )
