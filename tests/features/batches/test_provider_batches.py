"""Runs through providers' batch APIs: the same results, half the price, nothing lost and nothing
paid twice.

``ADJUDGE_BATCH_ROWS`` says over how many rows exports are compared (``make test-scale``: 20,000).
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from math import inf
from pathlib import Path
from typing import Any, cast

import pytest

from adjudge import open_model
from adjudge.core.domain.message import ChatMessage
from adjudge.core.domain.vote import Outcome
from adjudge.core.engine import ask
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger.file import FILE
from adjudge.core.ledger.pending import BATCHES, BatchState
from adjudge.core.ledger.rows import CHECKSUM_SQL, COLUMNS, checksum
from adjudge.core.prompts.renderer import render
from adjudge.errors import (
    BatchesOpen,
    BudgetSpent,
    ModelUnusable,
    RunError,
    SetupError,
    Unavailable,
    Unreachable,
)
from adjudge.features.batches import backend, transfer
from adjudge.features.batches import collector as collect
from adjudge.features.batches import sender as send
from adjudge.features.batches.providers import shell as command
from adjudge.features.batches.providers.api import Phase
from adjudge.features.batches.providers.lookup import batch_api
from adjudge.features.batches.providers.openai import AzureBatches, GroqBatches, OpenAIBatches
from adjudge.runs.execute import estimate
from adjudge.runs.folder import run_info, spent_in
from adjudge.runs.results.cost import cost_of
from adjudge.runs.results.run_report import report_of_run
from support.asking import marked, truth
from support.batching import MODELS, QUICK, eval_run, exported, judged, news, results
from support.fake_batches import BatchProvider, CutsAfterCreating, FakeBatch
from support.fake_provider import KEY, Status

ROWS = int(os.environ.get("ADJUDGE_BATCH_ROWS", "6"))
ALL_IN_BATCHES = replace(QUICK, live_below=0)
DETACHED = replace(QUICK, detach=True)
ROTATED = "sk-MARKED-of-the-same-account"


def sizes(provider: BatchProvider) -> list[int]:
    return [len(batch.lines) for batch in provider.batches]


def is_right(folder: Path, rows: int = 6) -> bool:
    _, records = exported(folder)
    return [row["verdict"] for row in records] == [truth(text) for text in marked(rows)]


# -- the same as one by one --------------------------------------------------------


@pytest.mark.parametrize("api", MODELS)
def test_a_batch_gives_what_asking_one_by_one_gives(
    tmp_path: Path, batches: BatchProvider, api: str
) -> None:
    """Results come out of order; the exports are the same, byte for byte."""
    rows = ROWS if api == "openai" else 6
    judged(eval_run(tmp_path, batches, api, votes=3, run="live", rows=rows), None)
    asked = len(batches.requests)
    settings = replace(QUICK, api="azure") if api == "azure" else QUICK
    seen = judged(eval_run(tmp_path, batches, api, votes=3, rows=rows), settings)
    assert len(batches.requests) == asked == 3 * rows
    assert sum(sizes(batches)) == 3 * rows
    assert exported(tmp_path / "run") == exported(tmp_path / "live")
    assert [one.row for one in results(seen)] == list(range(rows))
    assert {"sent", "collected"} <= set(news(seen))
    assert not any((tmp_path / "run" / BATCHES).iterdir())


def test_lines_name_the_endpoint_as_each_provider_wants_it(
    tmp_path: Path, batches: BatchProvider
) -> None:
    wanted = {
        "openai": "/v1/chat/completions",
        "azure": "/chat/completions",
        "together": None,
        "mistral": None,
    }
    for api, url in wanted.items():
        judged(
            eval_run(tmp_path / api, batches, api, rows=1),
            replace(QUICK, api="azure") if api == "azure" else QUICK,
        )
        assert batches.batches[-1].lines[0].get("url") == url


def test_many_rows_go_in_several_batches(tmp_path: Path, batches: BatchProvider) -> None:
    judged(eval_run(tmp_path, batches, rows=25), replace(QUICK, most_requests=10))
    assert sizes(batches) == [10, 10, 5]
    assert is_right(tmp_path / "run", 25)


def test_a_panel_has_a_batch_for_each_provider(tmp_path: Path, batches: BatchProvider) -> None:
    both = ", ".join(
        f"{{model: {MODELS[api]}, base_url: {batches.batch_url(api)}}}"
        for api in ("openai", "anthropic")
    )
    run = eval_run(tmp_path, batches, models=f"{both}, scripted")
    judged(run)
    assert sorted(batch.api for batch in batches.batches) == ["anthropic", "openai"]
    _, rows = exported(tmp_path / "run")
    assert all(len(row["votes"]) == 3 for row in rows)


def test_two_judges_send_their_batches_together(tmp_path: Path, batches: BatchProvider) -> None:
    batches.looks_until_end = 2
    run = eval_run(
        tmp_path,
        batches,
        other_judge="{kind: aspect, name: other, criteria: The mark ends in a letter.}",
    )
    judged(run)
    assert sizes(batches) == [12]
    assert run_info(tmp_path / "run").rows == 12


def test_equal_rows_are_asked_once(tmp_path: Path, batches: BatchProvider) -> None:
    run = eval_run(tmp_path, batches, rows=2)
    (tmp_path / "rows.jsonl").write_text('{"answer": "REC-00001-Y"}\n' * 3)
    judged(run)
    assert sizes(batches) == [1]
    assert run_info(tmp_path / "run").rows == 3


def test_what_the_cache_knows_is_not_sent(tmp_path: Path, batches: BatchProvider) -> None:
    judged(eval_run(tmp_path, batches, run="first", cache=True))
    judged(eval_run(tmp_path, batches, run="second", cache=True))
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "second")


# -- lines that bring nothing --------------------------------------------------------


@pytest.mark.parametrize("api", ["openai", "anthropic", "openrouter", "google"])
@pytest.mark.parametrize("outcome", ["missing", "expired", Status(500), Status(429)], ids=str)
def test_a_line_without_an_answer_goes_into_the_next_batch(
    tmp_path: Path, batches: BatchProvider, api: str, outcome: Any
) -> None:
    batches.outcome = lambda record, attempt: outcome if record % 2 and attempt == 0 else "ok"
    judged(eval_run(tmp_path, batches, api), ALL_IN_BATCHES)
    assert sizes(batches) == [6, 3]
    assert all(id.endswith("-a2") for id in batches.batches[1].ids)
    assert is_right(tmp_path / "run")
    assert not batches.requests


def test_a_few_lines_without_an_answer_are_asked_one_by_one(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.outcome = lambda record, attempt: "expired" if record < 2 else "ok"
    batches.ends_as = "expired"
    seen = judged(eval_run(tmp_path, batches))
    assert sizes(batches) == [6]
    assert len(batches.requests) == 2
    assert "live" in news(seen)
    assert is_right(tmp_path / "run")


def test_what_no_batch_answers_is_asked_alone_in_the_end(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.outcome = lambda record, attempt: "missing" if record == 3 else "ok"
    judged(eval_run(tmp_path, batches), ALL_IN_BATCHES)
    assert sizes(batches) == [6, 1, 1]
    assert [request.record for request in batches.requests] == [3]
    assert is_right(tmp_path / "run")


def test_with_batches_only_it_fails_in_the_end(tmp_path: Path, batches: BatchProvider) -> None:
    batches.outcome = lambda record, attempt: "missing" if record == 3 else "ok"
    seen = judged(eval_run(tmp_path, batches), replace(QUICK, batch_only=True))
    assert sizes(batches) == [6, 1, 1, 1]
    assert not batches.requests
    (failed,) = [one.result for one in results(seen) if one.result.score is None]
    assert "the batch returned no answer" in str(failed.votes[0].reason)


@pytest.mark.parametrize("api", ["openai", "anthropic", "openrouter"])
def test_a_bad_line_fails_as_a_bad_request_does(
    tmp_path: Path, batches: BatchProvider, api: str
) -> None:
    refused = Status(400, "this text is not taken")
    batches.faults = lambda record, attempt: refused if record == 2 else None
    judged(eval_run(tmp_path, batches, api, run="live"), None)
    batches.outcome = lambda record, attempt: refused if record == 2 else "ok"
    seen = judged(eval_run(tmp_path, batches, api))
    assert sizes(batches) == [6]
    (vote,) = results(seen)[2].result.votes
    assert vote.outcome is Outcome.MODEL_ERROR
    assert exported(tmp_path / "run")[0] == exported(tmp_path / "live")[0]


def test_calls_that_failed_are_asked_again_by_the_next_resume(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.outcome = lambda record, attempt: (
        Status(400, "no") if record == 2 and attempt == 0 else "ok"
    )
    judged(eval_run(tmp_path, batches))
    judged(eval_run(tmp_path, batches))
    assert sizes(batches) == [6, 1]
    assert is_right(tmp_path / "run")


def test_a_part_that_the_model_does_not_take_is_left_out_of_the_next_batch(
    tmp_path: Path, batches: BatchProvider
) -> None:
    wrong = Status(400, "Unsupported parameter: 'temperature' is not supported with this model.")
    batches.outcome = lambda record, attempt: wrong if len(batches.batches) == 1 else "ok"
    judged(eval_run(tmp_path, batches))
    assert sizes(batches) == [6, 6]
    assert ["temperature" in batch.lines[0]["body"] for batch in batches.batches] == [True, False]
    assert is_right(tmp_path / "run")


# -- repairs and rounds --------------------------------------------------------------


def test_an_unreadable_reply_is_repaired_one_by_one(tmp_path: Path, batches: BatchProvider) -> None:
    batches.outcome = lambda record, attempt: "prose" if record == 4 else "ok"
    seen = judged(eval_run(tmp_path, batches))
    assert sizes(batches) == [6]
    assert [request.record for request in batches.requests] == [4]
    (vote,) = results(seen)[4].result.votes
    assert vote.outcome is Outcome.REPAIRED
    assert vote.usage.calls == 2
    assert 0 < vote.usage.batch_prompt_tokens < vote.usage.prompt_tokens


def test_with_batches_only_repairs_wait_for_one_too(tmp_path: Path, batches: BatchProvider) -> None:
    batches.outcome = lambda record, attempt: (
        "prose" if record == 4 and len(batches.batches) == 1 else "ok"
    )
    seen = judged(eval_run(tmp_path, batches), replace(QUICK, batch_only=True))
    assert sizes(batches) == [6, 1]
    assert not batches.requests
    (vote,) = results(seen)[4].result.votes
    assert vote.outcome is Outcome.REPAIRED


def test_early_stop_goes_in_rounds(tmp_path: Path, batches: BatchProvider) -> None:
    run = eval_run(tmp_path, batches, votes=3, judge=", early_stop: true")
    assert estimate(run).rounds == 2
    judged(run)
    assert sizes(batches) == [12]
    assert is_right(tmp_path / "run")


# -- sending -------------------------------------------------------------------------


@pytest.mark.parametrize("status", [409, 429])
def test_a_batch_that_is_not_taken_is_sent_again(
    tmp_path: Path, batches: BatchProvider, status: int
) -> None:
    batches.create_faults = [Status(status, "later", {"Retry-After": "0"} if status == 429 else {})]
    judged(eval_run(tmp_path, batches))
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


@pytest.mark.parametrize("api", MODELS)
def test_a_batch_that_arrived_is_not_sent_again_when_the_answer_was_lost(
    tmp_path: Path, batches: BatchProvider, api: str
) -> None:
    batches.create_faults = [CutsAfterCreating()]
    judged(
        eval_run(tmp_path, batches, api), replace(QUICK, api="azure") if api == "azure" else QUICK
    )
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


def test_a_wrong_key_ends_the_run_and_leaves_no_batch_behind(
    tmp_path: Path, batches: BatchProvider
) -> None:
    with pytest.raises(ModelUnusable, match="Incorrect API key"):
        judged(eval_run(tmp_path, batches, key="sk-wrong"))
    judged(eval_run(tmp_path, batches))
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


def test_a_batch_that_is_rejected_ends_the_run(tmp_path: Path, batches: BatchProvider) -> None:
    batches.rejects_with = ["invalid_json_line"]
    with pytest.raises(ModelUnusable, match="the batch was rejected: The batch was not valid"):
        judged(eval_run(tmp_path, batches))
    assert [batch.state for batch in run_info(tmp_path / "run").batches] == [BatchState.REJECTED]
    judged(eval_run(tmp_path, batches))
    assert is_right(tmp_path / "run")


def test_where_too_much_waits_the_next_batches_are_smaller(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.rejects_with = ["token_limit_exceeded"]
    judged(eval_run(tmp_path, batches), replace(QUICK, most_requests=6))
    assert sizes(batches) == [6, 3, 3]
    assert is_right(tmp_path / "run")


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_batch_that_is_too_large_is_sent_in_two(
    tmp_path: Path, batches: BatchProvider, api: str
) -> None:
    batches.create_faults = [Status(413, "Request exceeds the maximum size")]
    judged(eval_run(tmp_path, batches, api, rows=7))
    assert sizes(batches) == [4, 3]
    assert is_right(tmp_path / "run", 7)
    told = run_info(tmp_path / "run").batches[0]
    assert told.state is BatchState.REJECTED
    assert str(told.more["said"]).startswith(
        f"{api} rejected a batch of 7 requests and 0.0 MB: sending it again with at most 4"
    )


def test_google_says_otherwise_that_a_batch_is_too_large(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.create_faults = [Status(400, "Request payload size exceeds the limit: 20971520 bytes.")]
    judged(eval_run(tmp_path, batches, "google"))
    assert sizes(batches) == [3, 3]


def test_a_request_that_is_too_large_by_itself_fails_alone(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.create_faults = [Status(413, "too large")]
    seen = judged(eval_run(tmp_path, batches, "anthropic", rows=3), replace(QUICK, most_requests=1))
    assert sizes(batches) == [1, 1]
    assert [one.result.score is None for one in results(seen)] == [True, False, False]
    assert "413: too large (the text is too long for this model)" in str(
        results(seen)[0].result.votes[0].reason
    )
    assert [batch.state for batch in run_info(tmp_path / "run").batches].count(
        BatchState.REJECTED
    ) == 1


def test_azure_is_known_by_its_host() -> None:
    at = "https://somewhere.openai.azure.com/openai/v1"
    assert isinstance(
        batch_api(open_model("openai/my-deployment", base_url=at, api_key=KEY)), AzureBatches
    )
    assert batch_api(open_model("http://127.0.0.1:1/v1#m")) is None
    assert isinstance(batch_api(open_model("http://127.0.0.1:1/v1#m"), "groq"), GroqBatches)


def test_a_model_without_a_batch_api_is_refused(tmp_path: Path, batches: BatchProvider) -> None:
    run = eval_run(tmp_path, batches, models="scripted")
    with pytest.raises(SetupError, match="no batch API of scripted"):
        judged(run)
    assert not (tmp_path / "run").exists()  # so that the folder is free for the next try


# -- results ---------------------------------------------------------------------------


@pytest.mark.parametrize("ranges", [True, False], ids=["by bytes", "from the start"])
def test_results_that_were_cut_are_fetched_on(
    tmp_path: Path, batches: BatchProvider, monkeypatch: pytest.MonkeyPatch, ranges: bool
) -> None:
    monkeypatch.setattr(transfer, "_OVERLAP", 100)
    batches.cut_at, batches.takes_ranges = [700, 900], ranges
    judged(eval_run(tmp_path, batches))
    assert is_right(tmp_path / "run")
    assert not batches.requests
    assert batches.ranges[:2] == ["", "bytes=600-"]
    assert ("bytes=1400-" in batches.ranges) is ranges


def test_results_that_are_written_otherwise_each_time_are_not_put_together(
    tmp_path: Path, batches: BatchProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: a line of two halves, the id of one row with the verdict of another."""
    monkeypatch.setattr(transfer, "_OVERLAP", 240)
    monkeypatch.setattr(transfer, "_WAIT", 0)
    outcomes, turns = batches._outcomes, count()

    def turned(batch: FakeBatch) -> Iterator[Any]:
        found = list(outcomes(batch))
        return iter(found[:: -1 if next(turns) % 2 else 1])

    monkeypatch.setattr(batches, "_outcomes", turned)
    batches.cut_at = [250]
    judged(eval_run(tmp_path, batches, "anthropic"))
    assert is_right(tmp_path / "run")
    assert sizes(batches) == [6] and not batches.requests


def test_lines_that_stand_twice_do_not_hide_those_that_are_missing(
    tmp_path: Path, batches: BatchProvider
) -> None:
    """Seen: a result file with one line twice and another one missing passed for whole, and the
    missing one was asked again.
    """
    download = batches._download

    async def repeated(request: Any, data: bytes) -> Any:
        first, _, *rest = data.splitlines(keepends=True)
        return await download(request, data if batches.ranges else b"".join((first, first, *rest)))

    batches._download = repeated  # type: ignore[method-assign]
    seen = judged(eval_run(tmp_path, batches), ALL_IN_BATCHES)
    assert (sizes(batches), len(batches.ranges)) == ([6], 2)
    assert "twice" not in news(seen)
    assert is_right(tmp_path / "run")


def test_a_request_with_two_different_replies_is_asked_again(
    tmp_path: Path, batches: BatchProvider
) -> None:
    """The first of the two counted, whichever it was."""
    download = batches._download

    async def mixed(request: Any, data: bytes) -> Any:
        lines = [json.loads(line) for line in data.splitlines()]
        if len(batches.batches) == 1:
            # the replies to the first and to the last row, once more under each other's id
            ends = lines[0], lines[-1]
            swapped = [
                {**line, "custom_id": other["custom_id"]} for line, other in (ends, reversed(ends))
            ]
            lines = [*swapped, *lines]
        return await download(
            request, b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        )

    batches._download = mixed  # type: ignore[method-assign]
    judged(eval_run(tmp_path, batches), ALL_IN_BATCHES)
    assert sizes(batches) == [6, 2]
    assert is_right(tmp_path / "run")


def test_replies_that_stay_missing_are_asked_again_and_that_is_said(
    tmp_path: Path, batches: BatchProvider
) -> None:
    download = batches._download

    async def short(request: Any, data: bytes) -> Any:
        return await download(
            request,
            data if len(batches.batches) > 1 else b"".join(data.splitlines(keepends=True)[1:]),
        )

    batches._download = short  # type: ignore[method-assign]
    seen = judged(eval_run(tmp_path, batches), ALL_IN_BATCHES)
    assert sizes(batches) == [6, 1]
    assert news(seen).count("twice") == 1
    assert run_info(tmp_path / "run").batches[0].paid_twice == 1


def test_a_usage_that_cannot_be_true_is_estimated_in_batches_too(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.usage_of_answers = {"prompt_tokens": 0.5, "completion_tokens": 0.5}
    seen = results(judged(eval_run(tmp_path, batches)))
    assert all(vote.usage.estimated == 1 for one in seen for vote in one.result.votes)
    taken = sum(
        vote.usage.prompt_tokens + vote.usage.completion_tokens
        for one in seen
        for vote in one.result.votes
    )
    spent = seen[-1].spent
    assert spent is not None and 0.8 * taken < spent.tokens < 3 * taken


def test_lines_that_stand_twice_are_counted_once(tmp_path: Path, batches: BatchProvider) -> None:
    batches.repeats = 2
    seen = judged(eval_run(tmp_path, batches))
    spent = results(seen)[-1].spent
    assert spent is not None and spent.calls == 6


def test_a_provider_that_counts_more_replies_than_it_was_asked_for_raises_no_alarm(
    tmp_path: Path, batches: BatchProvider
) -> None:
    """18 requests "may have been paid twice" of nine: it had counted lines."""
    batches.repeats = 3
    seen = judged(eval_run(tmp_path, batches))
    assert "twice" not in news(seen)
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


def test_collecting_twice_does_no_harm(
    tmp_path: Path, batches: BatchProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends when a part of the results is kept; the next one reads them all again."""
    monkeypatch.setattr(collect, "COMMIT_EVERY", 2)
    commit = collect.Collector._commit
    ended = Counter[str]()

    async def ends(self: collect.Collector, waiting: Any) -> None:
        await commit(self, waiting)
        ended["commits"] += 1
        if ended["commits"] == 2:
            raise RunError("ended here")

    monkeypatch.setattr(collect.Collector, "_commit", ends)
    with pytest.raises(RunError, match="ended here"):
        judged(eval_run(tmp_path, batches))
    seen = judged(eval_run(tmp_path, batches))
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")
    spent = results(seen)[-1].spent
    assert spent is not None and spent.calls == 6


@pytest.mark.parametrize("api", ("openai", "anthropic", "openrouter", "google"))
@pytest.mark.parametrize("body", (b"", b"<html>502 Bad Gateway</html>", b"{}"))
def test_results_that_are_none_are_fetched_again(
    tmp_path: Path, batches: BatchProvider, api: str, body: bytes
) -> None:
    batches.other_results = [body, body]
    assert len(results(judged(eval_run(tmp_path, batches, api)))) == 6
    assert len(batches.batches) == 1 and not batches.requests


def test_a_reply_under_a_name_that_is_not_ours_is_missing_and_fetched_again(
    tmp_path: Path, batches: BatchProvider
) -> None:
    download = batches._download

    async def changed(request: Any, data: bytes) -> Any:
        id = json.loads(data.splitlines()[0])["custom_id"].encode()
        return await download(request, data if batches.ranges else data.replace(id, b"somebody"))

    batches._download = changed  # type: ignore[method-assign]
    judged(eval_run(tmp_path, batches), ALL_IN_BATCHES)
    assert (sizes(batches), len(batches.ranges)) == ([6], 2)
    assert is_right(tmp_path / "run")


def test_where_no_reply_can_be_read_the_user_decides_whether_to_pay_again(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.other_results = [b"<html>"] * 3
    with pytest.raises(
        RunError,
        match=r"6 requests of the batch batch_\d are answered, but its results contain no reply",
    ):
        judged(eval_run(tmp_path, batches))
    assert len(batches.batches) == 1 and not batches.requests
    batches.other_results = [b"<html>"]
    assert "twice" in news(judged(eval_run(tmp_path, batches), replace(QUICK, orphans="resubmit")))


def test_one_404_does_not_mean_that_a_batch_is_gone(tmp_path: Path, batches: BatchProvider) -> None:
    batches.look_faults = [404, 404]
    assert len(results(judged(eval_run(tmp_path, batches)))) == 6
    assert len(batches.batches) == 1 and not batches.requests


@pytest.mark.parametrize("status", (401, 403, 404))
def test_a_batch_that_may_have_arrived_is_not_given_up_when_batches_are_not_listed(
    tmp_path: Path, batches: BatchProvider, status: int
) -> None:
    batches.create_faults, batches.list_faults = [CutsAfterCreating()], [status]
    with pytest.raises(RunError, match="its list of batches is refused"):
        judged(eval_run(tmp_path, batches))
    assert len(results(judged(eval_run(tmp_path, batches)))) == 6
    assert len(batches.batches) == 1


def test_where_batches_are_never_listed_it_can_be_sent_again(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.create_faults, batches.list_faults = [CutsAfterCreating()], [403, 403]
    with pytest.raises(RunError, match="its list of batches is refused"):
        judged(eval_run(tmp_path, batches))
    assert "twice" in news(judged(eval_run(tmp_path, batches), replace(QUICK, orphans="resubmit")))
    assert len(batches.batches) == 2


def test_a_batch_that_is_gone_is_asked_again(tmp_path: Path, batches: BatchProvider) -> None:
    detached(tmp_path, batches, "openai")
    batches.batches.clear()
    judged(eval_run(tmp_path, batches), ALL_IN_BATCHES)
    assert is_right(tmp_path / "run")


# -- leaving and coming back -----------------------------------------------------------


def test_a_detached_run_is_collected_later(tmp_path: Path, batches: BatchProvider) -> None:
    batches.looks_until_end = 4
    with pytest.raises(BatchesOpen, match="batches under way: 1, with 6 requests"):
        judged(eval_run(tmp_path, batches), DETACHED)
    info = run_info(tmp_path / "run")
    assert info.state.startswith("batches under way")
    assert [(batch.state, batch.requests) for batch in info.batches] == [(BatchState.OPEN, 6)]
    with pytest.raises(BatchesOpen):
        judged(eval_run(tmp_path, batches), DETACHED)
    judged(eval_run(tmp_path, batches), DETACHED)
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")
    assert run_info(tmp_path / "run").state == "complete"


def test_a_dry_run_does_not_count_what_open_batches_have_asked(
    tmp_path: Path, batches: BatchProvider
) -> None:
    detached(tmp_path, batches, "openai")
    found = estimate(eval_run(tmp_path, batches))
    assert (found.in_batches, found.calls, found.tokens, found.usd, found.rounds) == (
        6,
        (0, 0),
        (0, 0),
        (0.0, 0.0),
        0,
    )
    found = estimate(eval_run(tmp_path, batches, rows=8))
    assert (found.in_batches, found.calls, found.rounds) == (6, (2, 2), 1)
    judged(eval_run(tmp_path, batches))
    assert estimate(eval_run(tmp_path, batches)).in_batches == 0


def test_batches_are_read_only_by_who_sent_them(tmp_path: Path, batches: BatchProvider) -> None:
    batches.looks_until_end = 9
    with pytest.raises(BatchesOpen):
        judged(eval_run(tmp_path, batches), DETACHED)
    batches.keys.add("sk-another")
    with pytest.raises(
        RunError, match=r"with another key or command, and the current one cannot read it"
    ) as told:
        judged(eval_run(tmp_path, batches, key="sk-another"), DETACHED)
    assert "--batch adopt" in str(told.value) and "delete" not in str(told.value)
    ledger = (tmp_path / "run" / FILE).read_bytes()
    assert KEY.encode() not in ledger


@pytest.mark.parametrize("api", ["openai", "anthropic", "mistral", "google", "openrouter"])
def test_a_key_that_was_rotated_collects_what_the_old_one_sent(
    tmp_path: Path, batches: BatchProvider, api: str
) -> None:
    """Seen: the run was stranded, with the advice to delete its folder."""
    detached(tmp_path, batches, api)
    batches.keys, batches.accounts = {ROTATED}, {KEY: "ours", ROTATED: "ours"}
    for batch in batches.batches:
        batch.account = "ours"
    seen = judged(eval_run(tmp_path, batches, api, key=ROTATED))
    assert sizes(batches) == [6]
    assert "twice" not in news(seen)
    assert is_right(tmp_path / "run")


@pytest.mark.parametrize("told", ["listed", "in a header", "by the user"])
def test_what_may_have_been_sent_with_a_rotated_key_is_found(
    tmp_path: Path, batches: BatchProvider, told: str
) -> None:
    api = "openai" if told == "listed" else "anthropic"
    batches.accounts, batches.tells_accounts = {KEY: "ours", ROTATED: "ours"}, told == "in a header"
    detached(tmp_path, batches, api)
    as_killed_before_the_answer(tmp_path / "run")
    batches.keys = {ROTATED}
    settings = replace(QUICK, orphans="adopt") if told == "by the user" else QUICK
    assert "twice" not in news(judged(eval_run(tmp_path, batches, api, key=ROTATED), settings))
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


def test_where_nobody_can_say_whose_key_it_is_the_user_vouches_or_pays_again(
    tmp_path: Path, batches: BatchProvider
) -> None:
    detached(tmp_path, batches, "openai")
    batches.keys = {"sk-of-another"}
    with pytest.raises(RunError, match="cannot read it"):
        judged(eval_run(tmp_path, batches, key="sk-of-another"))
    assert sizes(batches) == [6] and not batches.requests
    seen = judged(
        eval_run(tmp_path, batches, key="sk-of-another"),
        replace(ALL_IN_BATCHES, orphans="resubmit"),
    )
    assert news(seen).count("twice") == 1
    assert sizes(batches) == [6, 6]
    assert is_right(tmp_path / "run")


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize("known", [True, False], ids=["under way", "killed before the answer"])
def test_vouching_for_the_wrong_key_pays_for_nothing(
    tmp_path: Path, batches: BatchProvider, api: str, known: bool
) -> None:
    """It sent everything again, as if that had been asked for."""
    detached(tmp_path, batches, api)
    if not known:
        as_killed_before_the_answer(tmp_path / "run")
    batches.keys = {KEY, "sk-of-another"}
    adopting = replace(ALL_IN_BATCHES, orphans="adopt")
    for _ in range(4):
        with pytest.raises(RunError, match=r"is not visible to the current one.*--batch resubmit"):
            judged(eval_run(tmp_path, batches, api, key="sk-of-another"), adopting)
    assert sizes(batches) == [6] and not batches.requests
    assert "twice" not in news(judged(eval_run(tmp_path, batches, api)))
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


def test_what_was_never_sent_may_be_sent_with_any_key(
    tmp_path: Path, batches: BatchProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches.on["upload"] = lambda: monkeypatch.setattr(send, "_TRIES", 1)
    with monkeypatch.context() as now:
        now.setattr(OpenAIBatches, "upload", _broken)
        with pytest.raises(RunError, match="could not be sent"):
            judged(eval_run(tmp_path, batches))
    batches.keys = {ROTATED}
    assert "twice" not in news(judged(eval_run(tmp_path, batches, key=ROTATED)))
    assert sizes(batches) == [6]


async def _broken(self: OpenAIBatches, path: Path) -> str:
    raise Unavailable("the connection failed")


def test_rows_may_be_added_between(tmp_path: Path, batches: BatchProvider) -> None:
    batches.looks_until_end = 4
    with pytest.raises(BatchesOpen):
        judged(eval_run(tmp_path, batches, rows=4), DETACHED)
    judged(eval_run(tmp_path, batches, rows=6))
    assert sizes(batches) == [4, 2]
    assert is_right(tmp_path / "run")


def test_what_an_older_version_sent_is_not_asked_again_in_other_words(
    tmp_path: Path, batches: BatchProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    detached(tmp_path, batches, "openai")
    monkeypatch.setattr(
        ask,
        "render",
        lambda ballot, *_: render(ballot).followed_by(ChatMessage("user", "Other words.")),
    )
    monkeypatch.setattr(backend, "__version__", "of tomorrow")
    judged(eval_run(tmp_path, batches))
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


# -- after a kill: what may have been sent ---------------------------------------------


def as_killed_before_the_answer(folder: Path) -> None:
    """The ledger as it is when the process ended between sending a batch and hearing of it."""
    with_batches(folder, "state = 'intended', remote_id = NULL")


def with_batches(folder: Path, change: str) -> None:
    """The ledger with its batches changed so, checksums and all."""
    with closing(sqlite3.connect(folder / FILE)) as ledger:
        ledger.create_function(CHECKSUM_SQL, -1, checksum, deterministic=True)
        ledger.execute(f"UPDATE batches SET {change}")
        ledger.execute(
            f"UPDATE batches SET checksum = {CHECKSUM_SQL}({', '.join(COLUMNS['batches'])})"
        )
        ledger.commit()


def detached(folder: Path, provider: BatchProvider, api: str) -> None:
    provider.looks_until_end = 3
    with pytest.raises(BatchesOpen):
        judged(eval_run(folder, provider, api), DETACHED)


@pytest.mark.parametrize(
    "api", ["openai", "anthropic", "openrouter", "google", "mistral", "together"]
)
def test_a_batch_that_was_sent_before_a_kill_is_found(
    tmp_path: Path, batches: BatchProvider, api: str
) -> None:
    detached(tmp_path, batches, api)
    as_killed_before_the_answer(tmp_path / "run")
    judged(eval_run(tmp_path, batches, api))
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_batch_that_was_not_sent_before_a_kill_is_sent(
    tmp_path: Path, batches: BatchProvider, api: str
) -> None:
    detached(tmp_path, batches, api)
    as_killed_before_the_answer(tmp_path / "run")
    sent = batches.batches.pop()
    judged(eval_run(tmp_path, batches, api))
    assert batches.batches[0].lines == sent.lines
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


@pytest.mark.parametrize(
    "api", ["openai", "anthropic", "openrouter", "google", "mistral", "together"]
)
@pytest.mark.parametrize("how", ["killed", "answer lost"])
def test_a_list_that_is_late_does_not_have_a_batch_paid_twice(
    tmp_path: Path, batches: BatchProvider, api: str, how: str
) -> None:
    """Seen: 600 paid for 300, exit code 0, and nothing said."""
    batches.list_lag = 2
    if how == "killed":
        detached(tmp_path, batches, api)
        as_killed_before_the_answer(tmp_path / "run")
    else:
        batches.create_faults = [CutsAfterCreating()]
    seen = judged(eval_run(tmp_path, batches, api), replace(QUICK, search=60))
    assert sizes(batches) == [6]
    assert "searching" in news(seen) and "twice" not in news(seen)
    assert is_right(tmp_path / "run")


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_list_that_is_later_than_anybody_waits_is_said_to_have_cost_money(
    tmp_path: Path, batches: BatchProvider, api: str
) -> None:
    batches.list_lag, batches.create_faults = inf, [CutsAfterCreating()]
    seen = judged(eval_run(tmp_path, batches, api))
    assert sizes(batches) == [6, 6]
    assert news(seen).count("twice") == 1
    assert (
        report_of_run(tmp_path / "run")
        .notes[-1]
        .startswith(f"requests to {api} that may have been paid twice: 6;")
    )


def test_what_may_have_been_paid_twice_counts_against_the_limit(
    tmp_path: Path, batches: BatchProvider
) -> None:
    """Both times, as if the first had been paid; where the second does not fit, nothing is sent,
    and a resume that may spend more goes on.
    """
    batches.list_lag, batches.create_faults = inf, [CutsAfterCreating()]
    for _ in range(2):
        with pytest.raises(BudgetSpent, match="max_calls=11"):
            judged(eval_run(tmp_path, batches), budget=Budget(max_calls=11))
    assert sizes(batches) == [6]
    seen = judged(eval_run(tmp_path, batches), budget=Budget(max_calls=12))
    assert sizes(batches) == [6, 6] and len(results(seen)) == 6
    assert spent_in(tmp_path / "run").calls == 12
    with pytest.raises(BudgetSpent, match="max_calls=12"):
        judged(eval_run(tmp_path, batches, rows=7), budget=Budget(max_calls=12))


def test_nobody_waits_for_a_list_that_has_had_its_time(
    tmp_path: Path, batches: BatchProvider
) -> None:
    detached(tmp_path, batches, "openai")
    as_killed_before_the_answer(tmp_path / "run")
    with_batches(tmp_path / "run", "more = json_set(more, '$.asked', created - 3600)")
    batches.batches.clear()
    seen = judged(eval_run(tmp_path, batches), replace(QUICK, search=600))
    assert "searching" not in news(seen) and news(seen).count("twice") == 1


def test_a_server_that_cannot_be_reached_has_taken_nothing(
    tmp_path: Path, batches: BatchProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, tries = OpenAIBatches.create, [0]

    async def unreachable(self: OpenAIBatches, mark: str, path: Path, uploaded: str) -> Any:
        tries[0] += 1
        if tries[0] == 1:
            raise Unreachable("no connection")
        return await create(self, mark, path, uploaded)

    monkeypatch.setattr(OpenAIBatches, "create", unreachable)
    seen = judged(eval_run(tmp_path, batches), replace(QUICK, search=600))
    assert not {"searching", "twice"} & set(news(seen))
    assert sizes(batches) == [6]


def two_that_may_be_it(folder: Path, provider: BatchProvider) -> None:
    """Somebody else's batch of the same size beside ours."""
    detached(folder, provider, "anthropic")
    judged(eval_run(folder / "other", provider, "anthropic"), QUICK)
    as_killed_before_the_answer(folder / "run")


def make_theirs(batch: FakeBatch) -> None:
    """Have its requests be those of somebody else."""
    batch.lines[:] = [
        {**line, "custom_id": f"theirs-{number}"} for number, line in enumerate(batch.lines)
    ]
    batch.attempts = dict.fromkeys(batch.ids, 0)


def test_where_two_may_be_it_the_user_is_asked(tmp_path: Path, batches: BatchProvider) -> None:
    two_that_may_be_it(tmp_path, batches)
    with pytest.raises(
        RunError, match=r"2 batches at anthropic may be the one .*adjudge resume RUN --batch adopt"
    ):
        judged(eval_run(tmp_path, batches, "anthropic"))
    assert len(batches.batches) == 2


def test_adopting_takes_the_one_whose_results_fit(tmp_path: Path, batches: BatchProvider) -> None:
    two_that_may_be_it(tmp_path, batches)
    make_theirs(batches.batches[1])
    seen = judged(eval_run(tmp_path, batches, "anthropic"), replace(QUICK, orphans="adopt"))
    assert len(batches.batches) == 2
    assert "twice" not in news(seen)
    assert is_right(tmp_path / "run")
    assert run_info(tmp_path / "run").batches[0].remote_id == batches.batches[0].id


def test_what_was_fetched_of_ours_is_not_taken_for_the_beginning_of_theirs(
    tmp_path: Path, batches: BatchProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: theirs was fetched on behind half of ours, taken for it, and never found whole."""
    judged(eval_run(tmp_path / "other", batches, "anthropic"))
    detached(tmp_path, batches, "anthropic")
    as_killed_before_the_answer(tmp_path / "run")
    make_theirs(batches.batches[0])
    batches.looks_until_end, batches.cut_at = 0, [1200, *[0] * 5]
    monkeypatch.setattr(transfer, "_WAIT", 0)
    judged(eval_run(tmp_path, batches, "anthropic"), replace(QUICK, orphans="adopt"))
    assert run_info(tmp_path / "run").batches[0].remote_id == batches.batches[1].id
    assert sizes(batches) == [6, 6]
    assert not batches.requests
    assert is_right(tmp_path / "run")


def test_what_only_looked_like_ours_is_sent_after_all(
    tmp_path: Path, batches: BatchProvider
) -> None:
    two_that_may_be_it(tmp_path, batches)
    del batches.batches[0]
    make_theirs(*batches.batches)
    judged(eval_run(tmp_path, batches, "anthropic"))
    assert sizes(batches) == [6, 6]
    assert is_right(tmp_path / "run")


def test_sending_again_is_said(tmp_path: Path, batches: BatchProvider) -> None:
    two_that_may_be_it(tmp_path, batches)
    seen = judged(eval_run(tmp_path, batches, "anthropic"), replace(QUICK, orphans="resubmit"))
    assert len(batches.batches) == 3
    assert news(seen).count("twice") == 1
    assert run_info(tmp_path / "run").batches[0].more["twice"] == [
        batches.batches[1].id,
        batches.batches[0].id,
    ]
    assert is_right(tmp_path / "run")


@pytest.mark.parametrize("trouble", ["its state", "its results"])
def test_where_the_one_that_may_be_it_cannot_be_read_the_user_is_asked(
    tmp_path: Path, batches: BatchProvider, trouble: str
) -> None:
    detached(tmp_path, batches, "anthropic")
    as_killed_before_the_answer(tmp_path / "run")
    batches.looks_until_end = 1
    batches.look_faults, batches.other_results = (
        ([404] * 9, []) if trouble == "its state" else ([], [b"<html>"] * 9)
    )
    with pytest.raises(
        RunError,
        match=r"cannot tell whether msgbatch_1 at anthropic is the batch .* --batch resubmit",
    ):
        judged(eval_run(tmp_path, batches, "anthropic"))
    assert sizes(batches) == [6]
    batches.look_faults, batches.other_results = [], []
    seen = judged(eval_run(tmp_path, batches, "anthropic"), replace(QUICK, orphans="resubmit"))
    assert news(seen).count("twice") == 1
    assert sizes(batches) == [6, 6]
    assert is_right(tmp_path / "run")


def test_what_cannot_be_read_for_a_while_is_waited_for(
    tmp_path: Path, batches: BatchProvider
) -> None:
    detached(tmp_path, batches, "anthropic")
    as_killed_before_the_answer(tmp_path / "run")
    batches.look_faults = [404, 500, 404, 404]
    assert "twice" not in news(judged(eval_run(tmp_path, batches, "anthropic")))
    assert sizes(batches) == [6]


@pytest.mark.parametrize("hours", [-1.0, 1.0])
def test_a_provider_whose_clock_is_wrong_has_the_batch_all_the_same(
    tmp_path: Path, batches: BatchProvider, hours: float
) -> None:
    batches.clock_ahead = 3600 * hours
    detached(tmp_path, batches, "anthropic")
    as_killed_before_the_answer(tmp_path / "run")
    judged(eval_run(tmp_path, batches, "anthropic"))
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


def test_an_older_batch_of_somebody_else_is_not_taken_for_ours_by_a_clock_that_is_ahead(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.clock_ahead = 3600
    two_that_may_be_it(tmp_path, batches)
    batches.batches[1].created -= 1800
    judged(eval_run(tmp_path, batches, "anthropic"))
    assert sizes(batches) == [6, 6]
    assert is_right(tmp_path / "run")


def test_requests_that_are_gone_are_planned_again(tmp_path: Path, batches: BatchProvider) -> None:
    detached(tmp_path, batches, "openai")
    as_killed_before_the_answer(tmp_path / "run")
    batches.batches.clear()
    for path in (tmp_path / "run" / BATCHES).glob("*.jsonl"):
        path.write_text("something else")
    judged(eval_run(tmp_path, batches))
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
@pytest.mark.parametrize("what", ["requests", "results"])
def test_a_full_disk_is_said_and_the_run_can_be_resumed(
    tmp_path: Path, batches: BatchProvider, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    opened, ending = Path.open, ".jsonl" if what == "requests" else ".part"

    def full(path: Path, mode: str = "r", *more: Any, **named: Any) -> Any:
        is_it = path.parent.name == BATCHES if what == "requests" else path.name.endswith(ending)
        return opened(
            Path("/dev/full") if is_it and mode in ("wb", "ab") else path, mode, *more, **named
        )

    with monkeypatch.context() as now:
        now.setattr(Path, "open", full)
        with pytest.raises(RunError, match=rf"{ending} cannot be written: No space left"):
            judged(eval_run(tmp_path, batches))
    judged(eval_run(tmp_path, batches))
    assert sizes(batches) == [6]
    assert is_right(tmp_path / "run")


def test_files_of_others_are_left_alone(tmp_path: Path, batches: BatchProvider) -> None:
    own = tmp_path / "run" / BATCHES / "notes.txt"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    judged(eval_run(tmp_path, batches))
    assert own.read_text() == "mine"


def test_a_link_to_elsewhere_is_refused(tmp_path: Path, batches: BatchProvider) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run" / BATCHES).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="is a symbolic link"):
        judged(eval_run(tmp_path, batches))
    assert not batches.batches


def test_a_name_that_is_none_of_ours_is_refused(tmp_path: Path, batches: BatchProvider) -> None:
    """Files are named after batches, and a ledger may come from anybody."""
    detached(tmp_path, batches, "openai")
    with_batches(tmp_path / "run", "id = '../../../elsewhere'")
    with pytest.raises(RunError, match="a batch that adjudge did not create"):
        judged(eval_run(tmp_path, batches))


# -- money -----------------------------------------------------------------------------


def test_batches_cost_half(tmp_path: Path, batches: BatchProvider) -> None:
    live = results(judged(eval_run(tmp_path, batches, run="live"), None))[-1].spent
    half = results(judged(eval_run(tmp_path, batches)))[-1].spent
    assert live is not None and half is not None
    assert half.calls == live.calls == 6
    usages = [run_info(tmp_path / name).usage for name in ("run", "live")]
    cheap, full = (cost_of(usage, PriceTable.load()).cost_usd for usage in usages)
    assert cheap is not None and full is not None
    assert full * 0.5 <= cheap < full * 0.7  # what the provider's cache had is counted in full
    assert half.usd == pytest.approx(cheap)


def test_a_limit_holds_when_batches_are_planned(tmp_path: Path, batches: BatchProvider) -> None:
    with pytest.raises(BudgetSpent, match="max_calls=4"):
        judged(eval_run(tmp_path, batches), budget=Budget(max_calls=4))
    assert sizes(batches) == [4]
    assert run_info(tmp_path / "run").rows == 4
    judged(eval_run(tmp_path, batches), budget=Budget(max_calls=6))
    assert sizes(batches) == [4, 2]
    assert is_right(tmp_path / "run")


def test_a_request_that_failed_in_a_batch_counts_like_any_other(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.outcome = lambda record, attempt: (
        "expired" if record == 0 else Status(429) if record == 1 else "ok"
    )
    with pytest.raises(BudgetSpent, match="max_calls=6"):
        judged(eval_run(tmp_path, batches), budget=Budget(max_calls=6))
    assert sizes(batches) == [6]
    assert len(batches.requests) == 1  # no server has seen the one that expired
    assert run_info(tmp_path / "run").failed_calls == 1


def test_a_repair_that_the_budget_does_not_allow_holds_up_no_other_row(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.outcome = lambda record, attempt: "prose" if record < 2 else "ok"
    batches.answer = lambda body: (
        "Rather not." if len(batches.requests) == 1 else None
    )  # the first repair needs another
    with pytest.raises(BudgetSpent, match="max_calls=31"):
        judged(eval_run(tmp_path, batches, rows=30), budget=Budget(max_calls=31))
    seen = run_info(tmp_path / "run")
    assert (seen.rows, seen.usage[MODELS["openai"]].calls) == (
        28,
        31,
    )  # the replies of the rows that wait count, too
    judged(eval_run(tmp_path, batches, rows=30))
    assert (sizes(batches), len(batches.requests)) == ([30], 3)
    assert is_right(tmp_path / "run", 30)


def test_a_limit_in_dollars_is_not_passed_by_a_batch(
    tmp_path: Path, batches: BatchProvider
) -> None:
    each = 458 * 0.15e-6 + 16 * 0.6e-6
    with pytest.raises(BudgetSpent):
        judged(eval_run(tmp_path, batches, rows=40), budget=Budget(max_usd=20 * each))
    info = run_info(tmp_path / "run")
    spent = cost_of(info.usage, info.prices).cost_usd
    assert spent is not None and 10 * each < spent <= 20 * each


def test_what_a_batch_may_take_stays_set_aside_after_a_resume(
    tmp_path: Path, batches: BatchProvider
) -> None:
    batches.looks_until_end = 5
    with pytest.raises(BatchesOpen):
        judged(eval_run(tmp_path, batches, rows=4), DETACHED, Budget(max_calls=5))
    with pytest.raises(BatchesOpen):
        judged(eval_run(tmp_path, batches, rows=6), DETACHED, Budget(max_calls=5))
    assert sizes(batches) == [4, 1]


def test_a_spent_budget_cancels_what_is_open_and_keeps_what_is_done(
    tmp_path: Path, batches: BatchProvider
) -> None:
    settings = replace(QUICK, most_requests=5)
    batches.looks_until_end = 1
    ends = {0: 1, 1: 1000}

    def state(batch: Any) -> str:
        number = batches.batches.index(batch)
        return (
            "cancelled"
            if batch.cancelled
            else "completed"
            if batch.looks >= ends[number]
            else "in_progress"
        )

    batches._state = state  # type: ignore[method-assign]
    batches.tokens_of_answers = 20_000  # the server does not keep to the limit that it was sent
    batches.outcome = lambda record, attempt: "expired" if record >= 8 else "ok"
    with pytest.raises(BudgetSpent, match="max_tokens"):
        judged(eval_run(tmp_path, batches, rows=10), settings, Budget(max_tokens=60_000))
    assert [batch.cancelled for batch in batches.batches] == [False, True]
    assert (
        run_info(tmp_path / "run").votes == 8
    )  # what came is read, and counted; nothing more is asked
    judged(eval_run(tmp_path, batches, rows=10), settings, Budget(max_tokens=1_000_000))
    assert is_right(tmp_path / "run", 10)
    assert len(batches.batches) == 2


# -- on this machine -------------------------------------------------------------------

ANSWERS = """
import json, re, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
with open(sys.argv[2], "w") as out:
    for line in reversed(lines):
        record, truth = re.findall(r"REC-(\\d+)-([YN])", json.dumps(line))[-1]
        option = "PASS" if truth == "Y" else "FAIL"
        said = {"explanation": f"REC-{record}-{truth} says so.", "selected_option": option}
        message = {"role": "assistant", "content": json.dumps(said)}
        choice = {"message": message, "finish_reason": "stop"}
        body = {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}
        response = {"status_code": 200, "body": body}
        answer = {"custom_id": line["custom_id"], "response": response, "error": None}
        print(json.dumps(answer), file=out)
"""


def test_a_command_on_this_machine_answers_batches(tmp_path: Path, batches: BatchProvider) -> None:
    script = tmp_path / "answers.py"
    script.write_text(ANSWERS)
    command = f"{sys.executable} {script} {{input}} {{output}}"
    judged(eval_run(tmp_path, batches), replace(QUICK, command=command))
    assert is_right(tmp_path / "run")
    assert not batches.batches and not batches.requests


def test_where_a_command_answers_nothing_is_asked_one_by_one(
    tmp_path: Path, batches: BatchProvider
) -> None:
    script, other = tmp_path / "answers.py", tmp_path / "twice.py"
    script.write_text(ANSWERS)
    other.write_text(
        "import pathlib, subprocess, sys\n"
        "first = pathlib.Path(__file__).with_name('first')\n"
        "subprocess.run([sys.executable, sys.argv[1], *sys.argv[2:]], check=True)\n"
        "if not first.exists():\n"
        "    first.touch()\n"
        "    out = pathlib.Path(sys.argv[3])\n"
        "    out.write_text(out.read_text().partition('\\n')[2])\n"
    )
    command = f"{sys.executable} {other} {script} {{input}} {{output}}"
    judged(eval_run(tmp_path, batches), replace(QUICK, command=command))
    assert is_right(tmp_path / "run")
    assert (tmp_path / "first").exists() and not batches.requests


def test_a_command_that_fails_says_so(tmp_path: Path, batches: BatchProvider) -> None:
    command = f"{sys.executable} -c 'import sys; sys.exit(\"no such model\")' {{input}} {{output}}"
    with pytest.raises(ModelUnusable, match="the batch was rejected: no such model"):
        judged(eval_run(tmp_path, batches), replace(QUICK, command=command))


def test_a_command_names_both_its_files(tmp_path: Path, batches: BatchProvider) -> None:
    with pytest.raises(SetupError, match="must contain"):
        judged(eval_run(tmp_path, batches), replace(QUICK, command="vllm run-batch -i {input}"))


def test_a_batch_command_that_fails_while_it_is_looked_at_is_said_to_have_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "batch.jsonl"
    path.with_suffix(".log").write_text("no such model\n")

    def overtaken(_: Path) -> bool:
        path.with_suffix(".exit").write_text("1")
        return False

    monkeypatch.setattr(command, "_alive", overtaken)
    found = asyncio.run(
        command.CommandBatches.look(cast("command.CommandBatches", None), str(path))
    )
    assert (found.phase, found.reason) == (Phase.REJECTED, "no such model")
