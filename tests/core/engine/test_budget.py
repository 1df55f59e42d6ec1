"""Limits hold: over any number of resumes, with every kind of fault, and at any number of requests
at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge import (
    AspectCritic,
    DirectJudge,
    Outcome,
    Reply,
    Request,
    ScriptedModel,
    SetupError,
    Status,
)
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.layers.account import (
    LONGEST_ANSWER,
    Account,
    Spent,
    expected_tokens,
    most_tokens,
)
from adjudge.core.gateway.layers.budget import Budget, OpenBudget
from adjudge.core.gateway.opener import open_model
from adjudge.core.gateway.prices import Price, PriceTable
from adjudge.core.ledger.file import FILE
from adjudge.errors import BudgetSpent, ModelUnusable, Unavailable
from adjudge.runs.folder import run_info
from support.asking import a_request, critic, marked, open_at
from support.fake_provider import (
    CUT_EARLY,
    CUT_LATE,
    EMPTY,
    FILTERED,
    HTML,
    MALFORMED,
    NULL,
    PROSE,
    REFUSES,
    Bills,
    FakeProvider,
    Fault,
    Rejects,
    always,
    at_first,
)
from support.fake_provider import Status as Code

RESUMES = int(os.environ.get("ADJUDGE_RESUMES", "4"))
FAULTS: dict[str, Fault | None] = {
    "none": None,
    "500": Code(500),
    "429": Code(429),
    "400": Code(400),
    "401": Code(401),
    "filtered by status": Code(400, "content_filter"),
    "cut early": CUT_EARLY,
    "cut late": CUT_LATE,
    "html": HTML,
    "empty": EMPTY,
    "null": NULL,
    "prose": PROSE,
    "malformed": MALFORMED,
    "refuses": REFUSES,
    "filtered": FILTERED,
    "no usage": Bills(None),
    "temperature rejected": Rejects("temperature"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.usefixtures("fast_retries")
def test_a_limit_on_calls_holds_over_resumes_whatever_goes_wrong(
    provider: FakeProvider, tmp_path: Path, fault: Fault
) -> None:
    """Seen: an always-500 server and --max-calls 12, four times: 48 requests;
    refusals 20, 40, 60.
    """
    provider.faults = always(fault)
    for _ in range(RESUMES):
        with suppress(BudgetSpent, ModelUnusable):
            critic(open_at(provider, max_retries=6, max_concurrency=5), strictness=2).evaluate(
                marked(30), run=tmp_path, budget=Budget(max_calls=12)
            )
        assert len(provider.requests) <= 12
    if fault is None:
        assert len(provider.requests) == 12
        assert run_info(tmp_path).votes == 12


def test_refusals_cost_their_tokens_after_a_resume_too(
    provider: FakeProvider, tmp_path: Path
) -> None:
    provider.faults = always(REFUSES)
    spent = 0
    for _ in range(4):
        with pytest.raises(BudgetSpent, match="max_tokens"):
            critic(open_at(provider, max_concurrency=3)).evaluate(
                marked(200), run=tmp_path, budget=Budget(max_tokens=5000)
            )
        spent = spent or len(provider.requests)
    assert 1 < spent == len(provider.requests)


def test_a_reply_that_was_paid_for_is_taken_up_by_the_resumed_run(
    provider: FakeProvider, tmp_path: Path
) -> None:
    """Seen: the unreadable reply of a row that the budget cut off was thrown away, and asked for
    anew.
    """
    provider.faults = lambda record, attempt: PROSE if attempt < 2 else None
    with pytest.raises(BudgetSpent):
        critic(open_at(provider)).evaluate(marked(1), run=tmp_path, budget=Budget(max_calls=1))
    with pytest.raises(BudgetSpent):
        critic(open_at(provider)).evaluate(marked(1), run=tmp_path, budget=Budget(max_calls=2))
    with pytest.raises(BudgetSpent):  # nothing is asked, and nothing is lost
        critic(open_at(provider)).evaluate(marked(1), run=tmp_path, budget=Budget(max_calls=2))
    (result,) = critic(open_at(provider)).evaluate(marked(1), run=tmp_path)
    assert len(provider.requests) == 3
    assert (result.votes[0].outcome, result.votes[0].repairs) == (Outcome.REPAIRED, 2)
    assert "the weather" in json.dumps(provider.bodies[1:2])
    assert "the weather" in json.dumps(provider.bodies[2:3])
    assert sum(usage.calls for usage in run_info(tmp_path).usage.values()) == 3, (
        "no call is in two votes"
    )


@pytest.mark.parametrize("budget", [Budget(max_tokens=60_000), Budget(max_usd=0.01)])
def test_a_server_that_adds_to_every_prompt_is_found_out_by_its_first_request(
    provider: FakeProvider, tmp_path: Path, budget: Budget
) -> None:
    """Seen: 150,000 tokens under a limit of 60,000, by the three requests that went first side by
    side.
    """
    provider.faults = always(Bills({"prompt_tokens": 50_000, "completion_tokens": 10}))
    provider.latency = 0.05
    with pytest.raises(BudgetSpent):
        critic(open_at(provider, max_concurrency=200)).evaluate(
            marked(40), run=tmp_path, budget=budget
        )
    assert len(provider.requests) == 1


@pytest.mark.parametrize("value", [-1, float("nan"), "5"])
def test_a_limit_that_is_no_number_is_said_before_anything_is_asked(value: Any) -> None:
    with pytest.raises(SetupError, match="max_calls must be a number"):
        Budget(max_calls=value)


def test_a_reply_whose_repair_failed_is_gone_on_from_when_resumed(
    provider: FakeProvider, tmp_path: Path
) -> None:
    """Seen: the reply was paid for and thrown away, and the question asked from its beginning."""
    provider.faults = at_first(PROSE, Code(500), PROSE, Code(500), NULL)
    for _ in range(3):
        (result,) = critic(open_at(provider)).evaluate(["REC-00001-Y"], run=tmp_path)
    assert result.votes[0].outcome is Outcome.REPAIRED
    lengths = [len(body["messages"]) for body in provider.bodies]
    assert lengths == [lengths[0], *[lengths[1]] * 5], "the question itself was asked once"
    assert lengths[1] > lengths[0]
    info = run_info(tmp_path)
    assert (sum(usage.calls for usage in info.usage.values()), info.failed_calls) == (4, 2)


def test_a_reply_that_is_in_the_ledger_is_not_written_into_it_at_every_resume(
    provider: FakeProvider, tmp_path: Path
) -> None:
    """Seen in a run that its budget stopped again and again: the same unreadable reply, once more
    for every resume.
    """
    provider.faults = always(PROSE)
    for _ in range(3):
        with pytest.raises(BudgetSpent):
            critic(open_at(provider)).evaluate(marked(1), run=tmp_path, budget=Budget(max_calls=1))
    with closing(sqlite3.connect(tmp_path / FILE)) as ledger:
        (kept,) = ledger.execute("SELECT count(*) FROM votes").fetchone()
    assert (kept, len(provider.requests)) == (1, 1)


def test_an_unfinished_row_is_asked_on_without_a_budget_and_only_once(
    provider: FakeProvider, tmp_path: Path
) -> None:
    provider.faults = always(PROSE)
    with pytest.raises(BudgetSpent):
        critic(open_at(provider)).evaluate(marked(1), run=tmp_path, budget=Budget(max_calls=2))
    for _ in range(2):
        (result,) = critic(open_at(provider)).evaluate(marked(1), run=tmp_path)
        assert (result.status, result.votes[0].repairs) == (Status.FAILED, 3)
        assert len(provider.requests) == 4


def test_a_run_that_lost_its_account_is_counted_by_its_votes(tmp_path: Path) -> None:
    said: list[str | Reply | Exception] = [
        "PASS",
        Reply("no", finish="refusal", usage=Usage(1, 50, 5)),
        "PASS",
    ]
    AspectCritic("c", ScriptedModel(said)).evaluate(["a", "b", "c"], run=tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute("DELETE FROM meta WHERE name = 'spending'")
        connection.commit()
    model = ScriptedModel()
    with pytest.raises(BudgetSpent):
        AspectCritic("c", model).evaluate(
            ["a", "b", "c", *"defgh"], run=tmp_path, budget=Budget(max_calls=5)
        )
    assert len(model.requests) == 2


# -- the account -----------------------------------------------------------------------


def kept_by(disk: list[JsonDict]) -> Any:
    async def keep(account: Any) -> None:
        await asyncio.sleep(0)
        disk.append(json.loads(json.dumps(account)))

    return keep


STEPS = st.lists(
    st.tuples(st.integers(1, 40), st.booleans(), st.integers(0, 60)), min_size=1, max_size=6
)


@given(limit=st.integers(0, 60), steps=STEPS, budgeted=st.booleans())
def test_killed_at_any_moment_no_more_is_sent_than_the_disk_knows(
    limit: int, steps: list[tuple[int, bool, int]], budgeted: bool
) -> None:
    """Processes that live for so many turns of the loop and are then killed; each begins with what
    is on the disk.
    """
    disk: list[JsonDict] = []
    sent = 0

    async def process(at_once: int, answers: bool, turns: int) -> None:
        nonlocal sent
        account = Account.of(disk[-1]) if disk else Account()
        account.write_off()
        open_budget = OpenBudget(
            Budget(max_calls=limit if budgeted else None), PriceTable({}), account, kept_by(disk)
        )

        async def server() -> Reply:
            nonlocal sent
            sent += 1
            assert Account.of(disk[-1]).leased >= sent
            await asyncio.sleep(0)
            if not answers:
                raise Unavailable("down")
            return Reply("PASS", usage=Usage(1, 10, 10))

        async def request() -> None:
            with suppress(BudgetSpent):
                while sent < 500:
                    with suppress(Unavailable):
                        await open_budget.send("m", a_request(), server)

        tasks = [asyncio.create_task(request()) for _ in range(at_once)]
        for _ in range(turns):
            await asyncio.sleep(0)
        assert sent <= Account.of(disk[-1]).leased if disk else sent == 0
        kept = list(disk)  # what was written before the kill; the rest never happens
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        disk[:] = kept

    for at_once, answers, turns in steps:
        asyncio.run(process(at_once, answers, turns))
        if budgeted:
            assert sent <= limit


def test_a_clean_end_gives_back_what_was_leased_and_a_kill_costs_little(tmp_path: Path) -> None:
    account = Account()
    open_budget = OpenBudget(Budget(max_calls=1000), PriceTable({}), account, kept_by([]))

    async def server() -> Reply:
        return Reply("PASS", usage=Usage(1, 10, 10))

    async def some() -> None:
        for _ in range(10):
            await open_budget.send("m", a_request(), server)

    asyncio.run(some())
    assert 10 < account.leased <= 10 + 1000 // 16
    killed = Account.of(json.loads(json.dumps(account.to_dict())))
    killed.write_off()
    assert killed.settled_calls == account.leased
    ended = Account.of(json.loads(json.dumps(open_budget.close())))
    ended.write_off()
    assert (ended.settled_calls, ended.lost) == (10, Spent())


@pytest.mark.parametrize("end", ["stopped", "cancelled"])
def test_whoever_was_let_in_and_sent_nothing_gives_its_place_back(end: str) -> None:
    """A run that stops while many wait for the disk: none of them was sent, so none counts after a
    resume.
    """
    written = asyncio.Event()
    sent = 0

    async def keep(account: Any) -> None:
        await written.wait()

    async def server() -> Reply:
        nonlocal sent
        sent += 1
        return Reply("PASS", usage=Usage(1, 10, 10))

    async def stop_before_anything_is_sent() -> Account:
        open_budget = OpenBudget(None, PriceTable({}), Account(), keep)
        waiting = [
            asyncio.create_task(open_budget.send("m", a_request(), server)) for _ in range(5)
        ]
        await asyncio.sleep(0)
        written.set()
        lease = open_budget.lease
        assert lease is not None
        while not lease.entering:  # the moment between being let in and being sent
            await asyncio.sleep(0)
        if end == "stopped":
            open_budget.stop("by somebody")
        else:
            for task in waiting:
                task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return Account.of(json.loads(json.dumps(open_budget.close())))

    ended = asyncio.run(stop_before_anything_is_sent())
    ended.write_off()
    assert (sent, ended.settled_calls, ended.lost.calls) == (0, 0, 0)


def test_the_largest_request_of_a_model_is_what_the_next_is_expected_to_take() -> None:
    """A small answer behind a large one does not make the model a small one."""
    open_budget = OpenBudget(Budget(max_tokens=1_000_000), PriceTable({}))
    open_budget.sizes.learn("m", a_request(), Usage(1, 10_000, 3_000))
    large = open_budget.set_aside("m", a_request())
    open_budget.sizes.learn("m", a_request(), Usage(1, 10, 1))
    after_a_small_one = open_budget.set_aside("m", a_request())
    assert large is not None
    assert after_a_small_one == large
    assert large.tokens >= 12_900


@pytest.mark.parametrize(
    ("text", "expected", "most"),
    [("a" * 1000, 251, 550), ("д" * 1000, 501, 1050), ("", 1, 50)],
    ids=["latin", "cyrillic", "empty"],
)
def test_a_prompt_is_expected_at_four_bytes_a_token_and_set_aside_at_two(
    text: str, expected: int, most: int
) -> None:
    request = a_request(text, system=None)
    assert (expected_tokens(request)[0], most_tokens(request)[0]) == (expected, most)


def test_what_was_under_way_at_a_kill_counts_with_what_it_was_expected_to_take() -> None:
    account = Account({"m": Usage(2, 20, 20)}, failed=1, leased=8, each=Spent(1, 300, 0.5))
    account.write_off()
    open_budget = OpenBudget(None, PriceTable({}), account)
    assert open_budget.spent == Spent(8, 40 + 5 * 300, 2.5, 2)


def test_a_request_that_is_given_up_counts_with_what_it_takes_at_most() -> None:
    """Seen: candidates that nobody waited for any more cost nothing, and $2 became $3.26."""
    open_budget = OpenBudget(Budget(max_usd=1.0), PriceTable({"m": Price(1000.0, 1000.0)}))

    async def give_up() -> None:
        async with asyncio.timeout(0.01):
            await open_budget.send("m", a_request(), asyncio.Event().wait)  # type: ignore[arg-type]

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert open_budget.spent == open_budget.cost("m", open_budget.sizes.most("m", a_request()))
    assert open_budget.spent.usd > 0


def test_a_cost_that_is_no_number_is_over_every_limit() -> None:
    assert Budget(max_usd=1.0).exceeded_limit(Spent(1, 1, float("nan"))) == "max_usd=1.0"


# -- money and tokens --------------------------------------------------------------------


class Priced:
    """A priced model that takes a while, and uses as much of what it may as ``sizes`` says."""

    def __init__(self, sizes: list[float]) -> None:
        self.name, self.sizes, self.inside, self.most_inside = "openai/gpt-4o-mini", sizes, 0, 0
        self.usages: list[Usage] = []
        self.limits: set[int | None] = set()

    async def complete(self, request: Request) -> Reply:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        await asyncio.sleep(0.001)
        self.inside -= 1
        self.limits.add(request.max_tokens)
        prompt, answer = most_tokens(request)
        size = self.sizes[len(self.usages) % len(self.sizes)]
        self.usages.append(Usage(1, round(prompt * size), round(answer * size)))
        return Reply("PASS", usage=self.usages[-1])


def overshoot(model: Priced, budget: Budget, rows: int = 600) -> tuple[float, float]:
    """By how much the limit was passed, and what the dearest request took."""
    with suppress(BudgetSpent):
        texts = [f"text {number}" for number in range(rows)]
        AspectCritic("c", open_model(cast(Any, model), max_concurrency=200)).evaluate(
            texts, budget=budget
        )
    open_budget = OpenBudget(budget)
    costs = [open_budget.cost(model.name, usage) for usage in model.usages]
    if budget.max_usd is not None:
        return sum(cost.usd for cost in costs) - budget.max_usd, max(
            (cost.usd for cost in costs), default=0.0
        )
    assert budget.max_tokens is not None
    return sum(cost.tokens for cost in costs) - budget.max_tokens, max(
        (cost.tokens for cost in costs), default=0
    )


def test_the_first_wave_does_not_overspend(tmp_path: Path) -> None:
    """Seen: $1.0 became $5.95 at 200 requests at once."""
    model = Priced([1.0])
    over, dearest = overshoot(model, Budget(max_usd=1.0))
    assert over <= 0
    assert -over <= dearest, "and it is used up"
    assert model.most_inside > 10
    assert model.limits == {LONGEST_ANSWER}


@settings(max_examples=15)
@given(sizes=st.lists(st.floats(0.001, 1.0), min_size=1, max_size=9), requests=st.floats(0.2, 60))
def test_a_limit_is_passed_by_less_than_one_request(sizes: list[float], requests: float) -> None:
    for budget in (Budget(max_usd=requests * 0.0026), Budget(max_tokens=round(requests * 4400))):
        over, dearest = overshoot(Priced(sizes), budget, rows=100)
        assert over < dearest or over <= 0


def test_a_budget_for_a_few_requests_sends_a_few() -> None:
    model = Priced([0.03])
    over, dearest = overshoot(model, Budget(max_tokens=1000))
    assert len(model.usages) > 3
    assert over < dearest


def test_without_a_limit_on_money_or_tokens_answers_are_not_limited() -> None:
    model = Priced([0.1])
    AspectCritic("c", open_model(cast(Any, model))).evaluate(["a", "b"], budget=Budget(max_calls=5))
    assert model.limits == {None}


def test_a_server_that_takes_no_limit_on_answers_is_asked_without(
    provider: FakeProvider, tmp_path: Path
) -> None:
    tight = Code(
        400, "'max_tokens' is too large: 4096. This model's maximum context length is 2048 tokens"
    )
    provider.faults = lambda record, attempt: tight if (record, attempt) == (0, 0) else None
    results = critic(open_at(provider)).evaluate(marked(3), run=tmp_path, budget=Budget(max_usd=1))
    assert all(result.status is Status.SCORED for result in results)
    assert "max_completion_tokens" in provider.bodies[0]
    assert "max_completion_tokens" not in provider.bodies[-1]


def test_a_failure_behind_the_last_request_is_no_verdict(tmp_path: Path) -> None:
    model = open_model(ScriptedModel([Unavailable("down")]), max_retries=0)
    (result,) = AspectCritic("c", model).evaluate(["x"], run=tmp_path, budget=Budget(max_calls=1))
    assert result.status is Status.FAILED
    with pytest.raises(BudgetSpent):
        AspectCritic("c", model).evaluate(["x"], run=tmp_path, budget=Budget(max_calls=1))


def test_a_bare_number_is_no_budget() -> None:
    wrong: Any = 5
    with pytest.raises(SetupError, match=r"such as adjudge.Budget\(max_calls=100\), not 5"):
        DirectJudge("scripted").evaluate(["a text"], "Is it short?", budget=wrong)


def test_what_is_counted_while_somebody_adds_up_is_in_the_next_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A page asks what was spent while replies come in."""
    open_budget = OpenBudget(prices=PriceTable({}))
    open_budget.collect("one", Usage(1, 10, 10))
    cost = open_budget.cost

    def overtaken(model: str, usage: Usage) -> Spent:
        monkeypatch.setattr(open_budget, "cost", cost)
        open_budget.collect("two", Usage(1, 10, 10))
        return cost(model, usage)

    monkeypatch.setattr(open_budget, "cost", overtaken)
    assert open_budget.spent.calls == 1
    assert open_budget.spent.calls == 2
