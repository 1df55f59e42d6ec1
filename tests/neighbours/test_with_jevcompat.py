"""Decision models at the reference server of the conformance suite, with each of its faults: a vote
is right or has failed, and never has another number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from adjudge import Budget, Criteria, CriteriaOption, DirectJudge, open_model
from adjudge.errors import BudgetSpent

mock_server: Any = pytest.importorskip(
    "jevcompat.mock", reason="jevcompat is not installed: make test-decisions tries it"
)
FAULTS: list[str] = sorted(mock_server.FAULTS)

TEXTS = ["It opens at nine.", "Das Haus ist alt.", "Привет, мир."]
TONE = Criteria(
    "tone",
    "Which tone has it?",
    [
        CriteriaOption("Warm", "It is friendly.", 1.0),
        CriteriaOption("Zoë's tone", 0.0),
        CriteriaOption("flat", 0.0),
    ],
)
DEPTH = Criteria(
    "depth",
    "How deep is it?",
    [CriteriaOption(name, float(score)) for score, name in enumerate("abcde")],
)
CRITERIA: list[str | Criteria] = ["Is it polite?", "Is it long?", TONE, DEPTH]
LEAKS = ("id-leaks", "batch-leaks", "order-leaks")
"""Faults of the model itself: its probabilities depend on what they should not depend on."""


@contextmanager
def mock(*faults: str, **settings: Any) -> Iterator[str]:
    config = mock_server.MockConfig(faults=frozenset(faults), **settings)
    with mock_server.Running(config) as running:
        yield running.url


def distributions(url: str, **settings: Any) -> list[dict[str, Any]]:
    """One entry per text: criterion → what its vote says."""
    model = open_model(f"systemone:{url}/v1#jev-latest", **{"max_retries": 0, **settings})
    results = DirectJudge(model).evaluate_multi_criteria(TEXTS, CRITERIA)
    return [{one.criteria.name: one for one in result.by_criterion} for result in results]


@pytest.fixture(scope="module")
def right() -> list[dict[str, Any]]:
    with mock() as url:
        return distributions(url)


def test_all_of_a_clean_server_is_read(right: list[dict[str, Any]]) -> None:
    assert all(one.status == "scored" for row in right for one in row.values())


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_gives_no_other_number(fault: str, right: list[dict[str, Any]]) -> None:
    with mock(fault) as url:
        try:
            rows = distributions(url)
        except Exception as error:  # noqa: BLE001 - the server refuses all, so that the run ends
            assert fault in ("wrong-route", "auth-rejects-header", "reject-jev-latest"), error
            return
    failed = 0
    for row, expected in zip(rows, right, strict=True):
        for name, result in row.items():
            (vote,) = result.votes
            if vote.distribution is None:
                failed += 1
                assert (result.status, result.score) == ("failed", None)
                assert vote.reason
            elif fault in LEAKS:
                assert sum(vote.distribution.values()) == pytest.approx(1)
            else:
                assert vote.distribution == pytest.approx(expected[name].votes[0].distribution)
                assert result.option == expected[name].option
    assert failed == FAILED.get(fault, 0) * len(TEXTS)


FAILED = {
    "xssi-200": 4,
    "first-question-only": 3,
    "extra-answer": 4,
    "boolean-type": 2,
    "noul-range": 2,
    "nfd-keys": 1,
    "no-null-description": 4,
    "choice-key-case": 1,
    "choice-sum": 1,
    "legend-1-based": 1,
    "score-keys-1-based": 1,
    "score-sum": 1,
}
"""Fault → how many of the four questions have no verdict; every other fault leaves them right."""


def test_a_busy_server_is_waited_for(right: list[dict[str, Any]]) -> None:
    with mock(busy_every=2) as url:
        rows = distributions(url, max_retries=6)
    assert [{name: one.option for name, one in row.items()} for row in rows] == [
        {name: one.option for name, one in row.items()} for row in right
    ]


def test_the_key_is_read_as_bearer() -> None:
    with mock(key="secret") as url:
        rows = distributions(url, api_key="secret")
    assert all(one.status == "scored" for row in rows for one in row.values())


def test_a_wrong_key_ends_the_run() -> None:
    with mock(key="secret") as url, pytest.raises(Exception, match="401"):
        distributions(url, api_key="other")


def test_budgets_are_exact() -> None:
    with mock() as url:
        judge = DirectJudge(open_model(f"systemone:{url}/v1#jev-latest", max_concurrency=1))
        with pytest.raises(BudgetSpent) as spent:
            judge.evaluate_multi_criteria(
                [f"text {number}" for number in range(9)], CRITERIA, budget=Budget(max_calls=4)
            )
    assert len(spent.value.results) == 4 * len(CRITERIA)
