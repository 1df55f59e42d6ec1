"""A model that cannot work ends the run at once; one that keeps failing is left
alone for a while.
"""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path

import pytest

from adjudge import AspectCritic, Outcome, SetupError, Status, open_model
from adjudge.core.gateway.layers import retry
from adjudge.core.gateway.layers.budget import Budget, calling
from adjudge.core.gateway.layers.retry import Circuit
from adjudge.errors import ModelError, ModelPaused, ModelUnusable, Unavailable, Unreachable
from adjudge.runs.results.run_report import report_of_run
from support.asking import ask, ask_all, critic, marked, open_at, truth
from support.fake_provider import (
    CUT_EARLY,
    KEY,
    FakeProvider,
    Fault,
    Raw,
    Rejects,
    always,
    at_first,
)
from support.fake_provider import Status as Code

pytestmark = pytest.mark.usefixtures("fast_retries")

# -- nothing can work ------------------------------------------------------------------


@pytest.mark.parametrize("run", [True, False], ids=["kept", "not kept"])
@pytest.mark.parametrize("code", [401, 402, 403, 404])
def test_a_wrong_key_costs_three_requests_at_most_and_one_error(
    provider: FakeProvider, tmp_path: Path, code: int, run: bool
) -> None:
    """Seen: 500 requests and 500 equal lines."""
    provider.faults = always(Code(code, "no"))
    for _ in range(2):
        provider.requests.clear()
        with pytest.raises(ModelUnusable, match=rf"^openai/gpt-4o-mini: {code}: no \("):
            critic(open_at(provider, max_retries=6)).evaluate(
                marked(500), run=tmp_path if run else None
            )
        assert 1 <= len(provider.requests) <= 3


QUOTA = (
    b'{"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota", '
    b'"code": "insufficient_quota"}}'
)
BALANCE = (
    b'{"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit '
    b'balance is too low."}}'
)


@pytest.mark.parametrize(
    ("status", "body"), [(429, QUOTA), (400, BALANCE)], ids=["OpenAI's 429", "Anthropic's 400"]
)
def test_an_account_without_credit_ends_the_run_whatever_status_says_so(
    provider: FakeProvider, tmp_path: Path, status: int, body: bytes
) -> None:
    """Seen: a spent quota was waited for and asked again, as a rate limit."""
    provider.faults = always(Raw(body, status=status))
    with pytest.raises(
        ModelUnusable, match=rf"^openai/gpt-4o-mini: {status}: You.* \(the account has no credit\)"
    ):
        critic(open_at(provider, max_retries=6)).evaluate(marked(500), run=tmp_path)
    assert 1 <= len(provider.requests) <= 3


def test_a_judged_text_about_quotas_in_an_error_says_nothing_of_the_account(
    provider: FakeProvider,
) -> None:
    provider.faults = always(Code(400, 'invalid text: {"code": "insufficient_quota"}'))
    (result,) = critic(open_at(provider)).evaluate(["REC-00001-Y"])
    assert result.votes[0].outcome is Outcome.MODEL_ERROR


def test_a_server_that_cannot_be_reached_ends_the_run_after_three_tries(tmp_path: Path) -> None:
    model = open_model("http://127.0.0.1:1/v1#gone", max_retries=6)
    with pytest.raises(ModelUnusable, match="the connection failed"):
        critic(model).evaluate(marked(500), run=tmp_path, budget=Budget(max_calls=500))
    with pytest.raises(ModelUnusable, match="the connection failed"):
        critic(open_model("http://127.0.0.1:1/v1#gone", max_retries=6)).evaluate("REC-00001-Y")


def test_one_wrong_key_in_a_panel_ends_the_run_since_a_panel_was_asked_for(
    provider: FakeProvider, tmp_path: Path
) -> None:
    with FakeProvider() as other:
        other.faults = always(Code(401, "no"))
        with pytest.raises(ModelUnusable, match=r"mistral/mistral-small-latest: 401"):
            critic([open_at(provider), open_at(other, "mistral")]).evaluate(
                marked(500), run=tmp_path
            )
        assert len(other.requests) <= 3
    assert len(provider.requests) < 250, "the rest was not sent"


def test_what_was_answered_before_is_kept_and_the_run_goes_on_with_the_right_key(
    provider: FakeProvider, tmp_path: Path
) -> None:
    critic(open_at(provider)).evaluate(marked(5), run=tmp_path)
    with pytest.raises(ModelUnusable):
        critic(open_at(provider, api_key="sk-wrong")).evaluate(marked(9), run=tmp_path)
    results = critic(open_at(provider)).evaluate(marked(9), run=tmp_path)
    assert [result.verdict for result in results] == [truth(text) for text in marked(9)]
    assert (
        sum(KEY in request.headers.get("Authorization", "") for request in provider.requests) == 9
    )


def test_a_model_that_has_answered_is_not_given_up_for_one_row(provider: FakeProvider) -> None:
    provider.faults = lambda record, attempt: Code(404) if record == 7 else None
    results = critic(open_at(provider, max_concurrency=2)).evaluate(marked(20))
    assert [
        number for number, result in enumerate(results) if result.status is not Status.SCORED
    ] == [7]


def test_moderation_of_the_first_row_says_nothing_of_the_key(provider: FakeProvider) -> None:
    flagged = Code(403, "Your input was flagged by moderation")
    provider.faults = lambda record, attempt: flagged if record == 0 else None
    results = critic(open_at(provider)).evaluate(marked(5))
    assert [result.votes[0].outcome for result in results] == [Outcome.REFUSED, *[Outcome.OK] * 4]


def test_a_cut_connection_is_no_unreachable_server(provider: FakeProvider) -> None:
    provider.faults = at_first(CUT_EARLY, CUT_EARLY, CUT_EARLY, CUT_EARLY)
    assert ask(open_at(provider, max_retries=6)).text


def test_until_it_has_answered_three_are_asked_at_once_and_then_all(provider: FakeProvider) -> None:
    provider.latency = 0.05
    model = open_at(provider, max_concurrency=16)
    provider.faults = always(Code(500))
    ask_all(model, marked(9))
    assert provider.most_at_once == 3
    provider.faults = at_first()
    model = open_at(provider, max_concurrency=16)
    ask(model)
    provider.together = 16
    ask_all(model, marked(40))
    assert provider.most_at_once == 16


def test_who_was_answered_before_is_let_in_with_all_requests_at_once(
    provider: FakeProvider,
) -> None:
    ask(open_at(provider))
    provider.together = 16
    ask_all(open_at(provider, max_concurrency=16), marked(16))
    assert provider.most_at_once == 16


def test_another_key_is_tried_with_three_requests_and_one_that_is_refused_ends_the_run(
    provider: FakeProvider,
) -> None:
    ask(open_at(provider))
    provider.faults = always(Code(401, "no"))
    provider.requests.clear()
    with pytest.raises(ModelUnusable, match="401: no"):
        critic(open_at(provider, api_key="sk-another", max_concurrency=16)).evaluate(marked(500))
    assert len(provider.requests) <= 3
    provider.requests.clear()
    with pytest.raises(ModelUnusable, match="401: no"):
        critic(open_at(provider, max_concurrency=16)).evaluate(marked(500))
    assert len(provider.requests) <= 16


# -- it fails again and again ------------------------------------------------------------


def test_a_model_that_dies_later_is_paused_and_its_rows_say_so(
    provider: FakeProvider,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seen: seven requests for each of its rows."""
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 0.02)
    monkeypatch.setattr(retry, "_LONGEST_PAUSE", 600.0)
    provider.faults = lambda record, attempt: Code(503) if record >= 20 else None
    with caplog.at_level(logging.WARNING, "adjudge.gateway"):
        results = critic(open_at(provider, max_concurrency=4, max_retries=6)).evaluate(
            marked(400), run=tmp_path
        )
    assert all(result.status is Status.SCORED for result in results[:20])
    reasons = [result.votes[0].reason or "" for result in results[20:]]
    assert (
        sum(
            "not asked: the model is paused after 10 failures in a row (503" in reason
            for reason in reasons
        )
        >= 360
    )
    assert len(provider.requests) <= 20 + 7 * (10 + 4)
    assert len([record for record in caplog.records if "is paused" in record.message]) == 1
    assert sum(result.votes[0].usage.calls for result in results[20:]) <= 14, (
        "what was not asked is not a call"
    )


def test_after_a_while_one_request_shows_whether_it_is_back(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 0.0)
    model = open_at(provider, max_retries=2)
    ask(model)
    provider.faults = always(Code(500))
    ask_all(model, marked(10))
    asked = len(provider.requests)
    with pytest.raises(Unavailable):
        ask(model)
    assert len(provider.requests) == asked + 1, "a single try"
    provider.faults = at_first()
    assert ask(model).text
    assert (
        len([reply for reply in ask_all(model, marked(10)) if not isinstance(reply, BaseException)])
        == 10
    )


def test_while_one_tries_the_others_stay_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(retry, "monotonic", lambda: clock[0])
    state = Circuit("who asks")

    def is_let_through() -> bool:
        try:
            asyncio.run(state.let_through("m"))
        except ModelPaused:
            return False
        return True

    for _ in range(3):
        state.record_failure("m", Unavailable("down"))
    assert not is_let_through()
    clock[0] = 5.0
    assert is_let_through()
    assert not is_let_through()
    state.record_failure("m", Unavailable("down"))
    clock[0] = 14.0
    assert not is_let_through()
    clock[0] = 15.0
    assert is_let_through()
    state.record_success()
    assert is_let_through() and is_let_through()


def test_the_next_judge_is_asked_although_the_last_rows_of_the_one_before_failed(
    provider: FakeProvider,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Seen: one judge's failing tail, and all 700 rows of the next judge went unasked."""
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 600.0)
    monkeypatch.setattr(retry, "_WAITED_FOR", 0)
    provider.faults = lambda record, attempt: Code(503) if 20 <= record < 100 else None
    model = open_at(provider, max_concurrency=4)
    first = critic(model).evaluate(marked(40), run=tmp_path / "first")
    other = AspectCritic("The mark must end in the letter Y.", model)
    assert sum(result.status is Status.FAILED for result in first) == 20
    assert "is paused after 10 failures" in caplog.text
    results = other.evaluate(marked(700)[100:], run=tmp_path / "second")
    assert all(result.status is Status.SCORED for result in results)


def test_rows_wait_for_a_server_that_comes_back(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: all rows of a few seconds went unasked at once."""
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 0.2)
    failed = [0]

    def fault(record: int, attempt: int) -> Fault | None:
        failed[0] += record >= 5
        return Code(503) if record >= 5 and failed[0] <= 12 else None

    provider.faults = fault
    results = critic(open_at(provider, max_concurrency=1)).evaluate(marked(200))
    assert 10 <= sum(result.status is Status.FAILED for result in results) <= 13
    assert not any("not asked" in (result.votes[0].reason or "") for result in results)


def test_a_server_that_is_gone_is_gone_for_every_judge(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 600.0)
    monkeypatch.setattr(retry, "_WAITED_FOR", 0)
    state = Circuit()
    for _ in range(10):
        state.record_failure("m", Unreachable("no connection"))
    with calling(judge=lambda: 1):
        assert state.open
    other = Circuit()
    for _ in range(10):
        other.record_failure("m", Unavailable("503"))
    with calling(judge=lambda: 1):
        assert not other.open


def test_rows_that_were_not_asked_are_said_in_the_report(
    provider: FakeProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 0.01)
    provider.faults = lambda record, attempt: Code(503) if record >= 20 else None
    critic(open_at(provider, max_concurrency=2)).evaluate(marked(300), run=tmp_path / "run")
    (note,) = report_of_run(tmp_path / "run").notes
    assert re.fullmatch(
        r"not asked, because a model was paused after many failures in a row: \d+ of 300 "
        r"judgments; resume the run to ask for them",
        note,
    )
    provider.faults = at_first()
    critic(open_at(provider)).evaluate(marked(300), run=tmp_path / "run")
    assert not report_of_run(tmp_path / "run").notes


def test_what_a_request_is_to_blame_for_does_not_pause_the_model(provider: FakeProvider) -> None:
    provider.faults = lambda record, attempt: Code(413) if record else None
    model = open_at(provider)
    results = critic(model).evaluate(marked(40))
    assert len(provider.requests) == 40
    assert all("413" in (result.votes[0].reason or "") for result in results[1:])


@pytest.mark.parametrize("fault", [Code(500), Code(429), CUT_EARLY], ids=["500", "429", "cut"])
def test_a_server_that_never_answered_is_paused_after_three_rows(
    provider: FakeProvider, fault: Fault
) -> None:
    provider.faults = always(fault)
    results = critic(open_at(provider, max_retries=6)).evaluate(marked(200))
    assert all(result.status is Status.FAILED for result in results)
    assert len(provider.requests) <= 7 * 5


# -- every request passes the whole chain --------------------------------------------------


def test_a_second_try_without_an_optional_part_is_a_request_like_any_other(
    provider: FakeProvider, tmp_path: Path
) -> None:
    """Seen: three requests a vote where one was counted, 60 for max_calls=20."""
    rejections = [Rejects("temperature"), Rejects("response_format")]
    provider.faults = lambda record, attempt: rejections[attempt] if attempt < 2 else None
    for limit in (7, 20, 33):
        with pytest.raises(ModelError, match=f"max_calls={limit}"):
            critic(open_at(provider)).evaluate(
                marked(60), run=tmp_path, budget=Budget(max_calls=limit)
            )
        assert len(provider.requests) == limit


def test_a_second_try_keeps_the_pace_and_the_number_at_once(provider: FakeProvider) -> None:
    provider.faults = lambda record, attempt: Rejects("temperature")
    provider.latency = 0.02
    model = open_at(provider, max_concurrency=2)
    ask_all(model, marked(8), temperature=0.0)
    assert provider.most_at_once == 2


def test_a_setup_error_is_still_one_before_any_call() -> None:
    with pytest.raises(SetupError):
        open_model("openai/gpt-4o-mini", api_key="")
