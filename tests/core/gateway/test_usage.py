"""What a reply took: a provider that does not say, or says nonsense, costs something all the same,
and breaks nothing.
"""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import Outcome, Status
from adjudge.core.domain.message import Reply, Usage
from adjudge.core.engine.schedule import _answer_all
from adjudge.core.gateway.layers.account import NO_COUNT, token_count, with_counts
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import BudgetSpent
from adjudge.runs.folder import run_info
from support.asking import a_request, ask, critic, marked, open_at
from support.fake_provider import Bills, FakeProvider, always
from support.fake_provider import Status as Code
from support.summaries import summarise

NONSENSE: dict[str, Any] = {
    "missing": None,
    "empty": {},
    "a list": [1, 2],
    "a text": "many",
    "zeros": {"prompt_tokens": 0, "completion_tokens": 0},
    "negative": {"prompt_tokens": -5, "completion_tokens": -7},
    "not a number": {"prompt_tokens": math.nan, "completion_tokens": math.inf},
    "texts": {"prompt_tokens": "12", "completion_tokens": "7"},
    "booleans": {"prompt_tokens": True, "completion_tokens": True},
    "a hundred digits": {"prompt_tokens": 10**100, "completion_tokens": 10**100},
    "details that are none": {
        "prompt_tokens": -1,
        "completion_tokens": 3,
        "prompt_tokens_details": [4],
    },
    "fractions": {"prompt_tokens": 1.5, "completion_tokens": 1.5},
    "one token for a long prompt": {"prompt_tokens": 1, "completion_tokens": 1},
    "more cached than the prompt has": {
        "prompt_tokens": 300,
        "completion_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 10**8},
    },
    "fewer cached than none": {
        "prompt_tokens": 300,
        "completion_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": -300},
    },
    "more cached than there is": {
        "prompt_tokens": None,
        "prompt_tokens_details": {"cached_tokens": 10**9},
    },
}


@pytest.mark.parametrize("usage", NONSENSE.values(), ids=NONSENSE)
def test_a_usage_that_is_missing_or_makes_no_sense_is_estimated_and_marked(
    provider: FakeProvider, usage: object
) -> None:
    provider.faults = always(Bills(usage))
    reply = ask(open_at(provider), "REC-00001-Y " * 100)
    assert reply.usage.estimated == 1
    assert 200 < reply.usage.prompt_tokens < 600
    assert 1 < reply.usage.completion_tokens < 60
    assert reply.usage.cached_tokens == 0


@pytest.mark.parametrize("name", ["anthropic", "google", "mistral"])
@pytest.mark.parametrize("value", [None, -1, "12", True, 10**100, math.nan, [1], {}], ids=repr)
def test_no_provider_falls_over_a_count(provider: FakeProvider, name: str, value: object) -> None:
    fields = (
        "prompt_tokens",
        "input_tokens",
        "cache_read_input_tokens",
        "promptTokenCount",
        "thoughtsTokenCount",
    )
    provider.faults = always(Bills(dict.fromkeys(fields, value)))
    assert ask(open_at(provider, name)).usage.estimated == 1
    assert len(provider.requests) == 1


@pytest.mark.parametrize("usage", NONSENSE.values(), ids=NONSENSE)
def test_a_run_is_scored_whatever_the_usage_says(
    provider: FakeProvider, tmp_path: Path, usage: object
) -> None:
    provider.faults = always(Bills(usage))
    results = critic(open_at(provider), strictness=2).evaluate(marked(4), run=tmp_path)
    assert [result.status for result in results] == [Status.SCORED] * 4
    assert summarise(results).to_dict()["calls_with_estimated_tokens"] == 8
    assert all(vote.to_dict()["tokens_estimated"] for result in results for vote in result.votes)
    again = critic(open_at(provider), strictness=2).evaluate(marked(4), run=tmp_path)
    assert summarise(again).usage == summarise(results).usage, (
        "the ledger knows that it is an estimate"
    )
    assert run_info(tmp_path).state == "complete"


def test_money_is_limited_although_the_server_sends_no_usage(
    provider: FakeProvider, tmp_path: Path
) -> None:
    """Seen: a run under --max-usd 0.02 sent everything."""
    provider.faults = always(Bills(None))
    with pytest.raises(BudgetSpent, match="max_usd"):
        critic(open_at(provider)).evaluate(marked(300), run=tmp_path, budget=Budget(max_usd=0.002))
    assert len(provider.requests) < 60


LONG = [f"{text} {'and so on ' * 1200}" for text in marked(300)]
"""About $0.18 at the list price of the model below."""


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 1.5, "completion_tokens": 0.5},
        {
            "prompt_tokens": 3800,
            "completion_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": 10**8},
        },
        {
            "prompt_tokens": 3800,
            "completion_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": -(10**8)},
        },
        {"prompt_tokens": 2, "completion_tokens": 1},
    ],
    ids=["fractions", "more cached than asked", "fewer cached than none", "hardly any"],
)
def test_two_cents_are_two_cents_whatever_the_server_says_of_usage(
    provider: FakeProvider, tmp_path: Path, usage: object
) -> None:
    """Seen: 300 requests went through --max-usd 0.02."""
    provider.faults = always(Bills(usage))
    with pytest.raises(BudgetSpent, match="max_usd"):
        critic(open_at(provider)).evaluate(LONG, run=tmp_path, budget=Budget(max_usd=0.02))
    assert 20 < len(provider.requests) < 45


def test_whole_numbers_that_are_written_as_fractions_are_taken_as_they_are(
    provider: FakeProvider,
) -> None:
    provider.faults = always(Bills({"prompt_tokens": 123.0, "completion_tokens": 45.0}))
    assert ask(open_at(provider)).usage == Usage(1, 123, 45, 0)


def test_a_usage_that_was_sent_is_taken_as_it_is(provider: FakeProvider) -> None:
    sent = {
        "prompt_tokens": 123,
        "completion_tokens": 45,
        "prompt_tokens_details": {"cached_tokens": 100},
    }
    provider.faults = always(Bills(sent))
    assert ask(open_at(provider)).usage == Usage(1, 123, 45, 100)


def test_the_error_behind_a_failed_vote_is_not_hidden_by_votes_under_way() -> None:
    """Seen: InvalidStateError from schedule.py, in the place of what went wrong."""

    class Answers:
        async def answer(self, ballot: str) -> str:
            if ballot == "fails":
                raise OSError("the disk is full")
            await asyncio.sleep(60)
            return ballot

    with pytest.raises(OSError, match="the disk is full"):
        asyncio.run(_answer_all(Answers(), ["hangs", "fails"]))  # type: ignore[arg-type,list-item]


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.just(10**100),
    st.lists(st.integers()),
)


@given(ANYTHING)
def test_a_count_is_a_whole_number_that_a_ledger_can_hold(value: Any) -> None:
    assert type(token_count(value)) is int
    assert NO_COUNT <= token_count(value) < 2**31


@given(ANYTHING, ANYTHING, ANYTHING, ANYTHING)
def test_a_measured_reply_can_be_added_up(
    calls: Any, prompt: Any, completion: Any, cached: Any
) -> None:
    usage = with_counts(
        "m", a_request(), Reply("PASS", usage=Usage(calls, prompt, completion, cached))
    ).usage
    assert all(
        type(value) is int and 0 <= value < 2**31
        for value in (usage.calls, usage.prompt_tokens, usage.completion_tokens)
    )
    assert 0 <= usage.cached_tokens <= usage.prompt_tokens


def test_a_call_that_failed_has_an_outcome_and_no_tokens(provider: FakeProvider) -> None:
    provider.faults = always(Code(400))
    (vote,) = critic(open_at(provider)).evaluate("REC-00001-Y").votes
    assert vote.outcome is Outcome.MODEL_ERROR
    assert vote.usage == Usage(), (
        "a call is counted where it brought a reply; failed calls are the run's to count"
    )
