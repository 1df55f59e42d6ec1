"""A hundred records through servers that fail in every way: each ends scored or explicitly failed,
none wrong, none lost.

Faults are a pure function of (record, attempt), so that every run meets the same ones, in whatever
order it asks. ``ADJUDGE_RECORDS`` says how many records (``make test-reliability``: 2,000).
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping

import pytest

from adjudge import AspectResult, Outcome, Status
from support.asking import critic, marked, open_at, truth
from support.fake_provider import (
    CUT_EARLY,
    CUT_LATE,
    EMPTY,
    EMPTY_BODY,
    ERROR_IN_200,
    HANGS,
    HTML,
    JSON_LIST,
    MALFORMED,
    NO_CHOICES,
    NO_HTTP,
    NULL,
    PROSE,
    STALLS,
    TRUNCATED,
    EchoesKey,
    FakeProvider,
    Fault,
    Faults,
    Says,
    always,
)
from support.fake_provider import Status as Code

pytestmark = pytest.mark.usefixtures("fast_retries")

RECORDS = marked(int(os.environ.get("ADJUDGE_RECORDS", "100")))
LIMIT = Code(429, "slow down", {"Retry-After": "0.01"})
FENCED = Says(lambda right: f"Sure! Here it is:\n```json\n{right}\n```\nAnything else?")
MIXES: dict[str, Mapping[Fault, int]] = {
    "none": {},
    "rate limits": {LIMIT: 30},
    "server errors": {Code(500): 20, Code(502): 5, Code(503): 5, Code(408): 5, Code(409): 5},
    "connections": {CUT_EARLY: 10, CUT_LATE: 10, NO_HTTP: 10},
    "bodies": {EMPTY_BODY: 8, HTML: 8, JSON_LIST: 8, NO_CHOICES: 8, ERROR_IN_200: 8},
    "replies": {EMPTY: 8, NULL: 5, TRUNCATED: 8, MALFORMED: 8, PROSE: 8, FENCED: 8},
    "everything": {
        LIMIT: 8,
        Code(500): 8,
        CUT_EARLY: 3,
        CUT_LATE: 3,
        EMPTY_BODY: 2,
        HTML: 2,
        EMPTY: 3,
        NULL: 2,
        TRUNCATED: 4,
        MALFORMED: 4,
        PROSE: 3,
        FENCED: 3,
    },
}
"""Percent of the attempts that meet each fault."""


BAD_REPLIES = (EMPTY, NULL, TRUNCATED, MALFORMED, PROSE)
"""A repair helps against these, a retry against the others."""


def mixed(percents: Mapping[Fault, int], seed: int = 7) -> Faults:
    """Each attempt of each record has its own throw of the dice, the same in every run."""

    def fault(record: int, attempt: int) -> Fault | None:
        thrown = random.Random(f"{seed}:{record}:{attempt}").uniform(0, 100)
        for one, percent in percents.items():
            if thrown < percent:
                return one
            thrown -= percent
        return None

    return fault


def expected(
    faults: Faults, record: int, max_retries: int = 6, max_repairs: int = 3
) -> tuple[Outcome, int]:
    """How a record must end, and after how many attempts: the rules of retrying and repairing, once
    more and simply.
    """
    attempts = 0
    for repairs in range(max_repairs + 1):
        for _ in range(max_retries + 1):
            met = faults(record, attempts)
            attempts += 1
            if met in (None, FENCED):
                return (Outcome.REPAIRED if repairs else Outcome.OK), attempts
            if met in BAD_REPLIES:
                break
        else:
            return Outcome.MODEL_ERROR, attempts
    return Outcome.UNREADABLE, attempts


def assert_none_wrong_and_none_lost(results: list[AspectResult]) -> None:
    texts = RECORDS[: len(results)]
    assert [result.instance.fields["response"] for result in results] == texts
    for text, result in zip(texts, results, strict=True):
        if result.status is Status.SCORED:
            assert result.verdict == truth(text)
            assert result.score == (1.0 if truth(text) == "PASS" else 0.0)
        else:
            assert_explicitly_failed(result)


def assert_explicitly_failed(result: AspectResult) -> None:
    assert result.status is Status.FAILED
    assert (result.verdict, result.score, result.fallback, result.model_scores) == (
        None,
        None,
        None,
        {},
    )
    assert result.excluded_models
    assert all(vote.reason and vote.verdict is None for vote in result.votes)


def ends(provider: FakeProvider, results: list[AspectResult]) -> list[tuple[Outcome, int]]:
    """How each record ended, and after how many attempts."""
    return [
        (result.votes[0].outcome, provider.attempts(number))
        for number, result in enumerate(results)
    ]


def failed(results: list[AspectResult]) -> list[int]:
    return [number for number, result in enumerate(results) if result.status is not Status.SCORED]


@pytest.mark.parametrize("mix", MIXES)
def test_under_any_mix_of_faults_every_record_ends_as_it_must(
    provider: FakeProvider, mix: str
) -> None:
    provider.faults = mixed(MIXES[mix])
    results = critic(open_at(provider, timeout=20, max_retries=6, max_concurrency=64)).evaluate(
        RECORDS
    )
    assert_none_wrong_and_none_lost(results)
    assert ends(provider, results) == [
        expected(provider.faults, record) for record in range(len(RECORDS))
    ]


def test_under_hangs_and_everything_else_every_record_is_judged_rightly(
    provider: FakeProvider,
) -> None:
    provider.faults = mixed({HANGS: 1, STALLS: 1, **MIXES["everything"]})
    results = critic(open_at(provider, timeout=1.5, max_retries=6, max_concurrency=32)).evaluate(
        RECORDS
    )
    assert_none_wrong_and_none_lost(results)
    assert failed(results) == []
    assert {request.record for request in provider.requests} == set(range(len(RECORDS)))


@pytest.mark.parametrize("name", ["anthropic", "google", "ollama", "mistral", "watsonx"])
def test_under_everything_at_once_every_provider_ends_as_it_must(
    provider: FakeProvider, name: str
) -> None:
    provider.faults = mixed(MIXES["everything"], seed=11)
    results = critic(open_at(provider, name, timeout=20, max_retries=6)).evaluate(RECORDS[:80])
    assert_none_wrong_and_none_lost(results)
    assert ends(provider, results) == [expected(provider.faults, record) for record in range(80)]


def test_with_no_retries_and_no_repairs_nothing_is_wrong_or_lost_either(
    provider: FakeProvider,
) -> None:
    provider.faults = mixed(MIXES["everything"])
    results = critic(open_at(provider, timeout=20, max_retries=0), max_repairs=0).evaluate(RECORDS)
    assert_none_wrong_and_none_lost(results)
    assert ends(provider, results) == [
        expected(provider.faults, record, 0, 0) for record in range(len(RECORDS))
    ]
    assert 0.2 < len(failed(results)) / len(RECORDS) < 0.6


@pytest.mark.parametrize(
    ("fault", "outcome", "attempts"),
    [
        (Code(500), Outcome.MODEL_ERROR, 3),
        (LIMIT, Outcome.MODEL_ERROR, 3),
        (CUT_EARLY, Outcome.MODEL_ERROR, 3),
        (HANGS, Outcome.MODEL_ERROR, 3),
        (HTML, Outcome.MODEL_ERROR, 3),
        (EchoesKey(401), Outcome.MODEL_ERROR, 1),
        (Code(400, "content_filter"), Outcome.REFUSED, 1),
        (Says(lambda right: "No.", "refusal"), Outcome.REFUSED, 1),
        (EMPTY, Outcome.UNREADABLE, 4),
        (PROSE, Outcome.UNREADABLE, 4),
        (MALFORMED, Outcome.UNREADABLE, 4),
    ],
    ids=[
        "500",
        "429",
        "cut",
        "hangs",
        "html",
        "401",
        "filter",
        "refusal",
        "empty",
        "prose",
        "malformed",
    ],
)
def test_a_record_that_always_fails_ends_failed_and_harms_no_other(
    provider: FakeProvider, fault: Fault, outcome: Outcome, attempts: int
) -> None:
    provider.faults = lambda record, attempt: fault if record in (17, 41) else None
    patience = 0.7 if fault is HANGS else 20
    results = critic(open_at(provider, timeout=patience, max_retries=2)).evaluate(RECORDS[:60])
    assert_none_wrong_and_none_lost(results)
    assert failed(results) == [17, 41]
    assert [ends(provider, results)[number] for number in (17, 41)] == [(outcome, attempts)] * 2


def test_a_model_that_always_fails_is_excluded_and_the_others_decide(
    provider: FakeProvider,
) -> None:
    good = open_at(provider)
    with FakeProvider() as broken:
        broken.faults = always(Code(500))
        gone = open_at(broken, "mistral")
        results = critic([good, gone], strictness=2).evaluate(RECORDS[:50])
        assert len(broken.requests) <= 9, "it was paused"
    for text, result in zip(RECORDS, results, strict=False):
        assert result.verdict == truth(text)
        assert list(result.model_scores) == [good.name]
        assert list(result.excluded_models) == [gone.name]


def test_votes_of_one_record_fail_one_by_one(provider: FakeProvider) -> None:
    provider.faults = lambda record, attempt: Code(400) if attempt == 0 else None
    results = critic(open_at(provider), strictness=3).evaluate(RECORDS[:60])
    assert_none_wrong_and_none_lost(results)
    assert {(result.votes_requested, result.votes_valid) for result in results} == {(3, 2)}
