"""Replies that are produced and paid for, and do not arrive: a limit counts them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adjudge import AspectCritic, open_model
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.layers.account import LONGEST_ANSWER, Account
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.errors import BudgetSpent
from adjudge.runs import Budget
from adjudge.runs.folder import run_info, spent_in
from support.asking import marked, wait_until
from support.commands import adjudge
from support.wire import (
    ANSWER_TOKENS,
    PROMPT_TOKENS,
    Exchange,
    Sender,
    WireServer,
    chat_completion,
    plain,
)

MODEL = "openai/gpt-4o-mini"


async def reset(exchange: Exchange) -> None:
    exchange.cut()


async def cut_in_the_body(exchange: Exchange) -> None:
    await exchange.send(exchange.reply[:-20])
    exchange.writer.close()


async def cut_in_the_head(exchange: Exchange) -> None:
    await exchange.send(exchange.reply[:40])
    exchange.writer.close()


async def say_nothing(exchange: Exchange) -> None:
    """Until the client's time is up."""
    await asyncio.sleep(60)


async def answer_as_a_gateway(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n")


async def answer_with_an_error(exchange: Exchange) -> None:
    """A gateway's error under the status 200, which it sent when the model began."""
    await exchange.send(plain(b'{"error": {"message": "upstream timeout", "code": 504}}'))


WAYS = (
    reset,
    cut_in_the_body,
    cut_in_the_head,
    say_nothing,
    answer_as_a_gateway,
    answer_with_an_error,
)


class Bill:
    """What the provider charges: for every reply, whether or not it arrives."""

    def __init__(self, times: int, way: Sender, *, lost_tokens: int = ANSWER_TOKENS) -> None:
        """Lose the first replies of each record, or a single reply if ``times`` is 0."""
        self.usd = 0.0
        self._times, self._way, self._lost_tokens = times, way, lost_tokens

    def body(self, number: int, text: str) -> dict[str, object]:
        """Replies of different lengths."""
        usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": answer_tokens(number)}
        return {**chat_completion(number, text), "usage": usage}

    async def send(self, exchange: Exchange) -> None:
        is_lost = exchange.attempt < self._times or exchange.number == (0 if self._times else 10)
        self.usd += price_of(self._lost_tokens if is_lost else answer_tokens(exchange.number))
        if is_lost:
            await self._way(exchange)
        else:
            await exchange.send(exchange.reply)


def answer_tokens(number: int) -> int:
    return ANSWER_TOKENS + number * 37 % 100


def price_of(answer_tokens: int) -> float:
    usd = PriceTable.load().cost(MODEL, Usage(1, PROMPT_TOKENS, answer_tokens))
    assert usd is not None
    return usd


LARGEST, LONGEST = price_of(ANSWER_TOKENS + 100), price_of(LONGEST_ANSWER)


ALL = os.environ.get("ADJUDGE_REPLIES") == "all"
"""One, two and four lost replies per row with one and four connections; else two with four."""


@pytest.mark.usefixtures("fast_retries")
@pytest.mark.parametrize("lost_tokens", [ANSWER_TOKENS, LONGEST_ANSWER])
@pytest.mark.parametrize("connections", [1, 4] if ALL else [4])
@pytest.mark.parametrize("times", [1, 2, 4] if ALL else [2])
@pytest.mark.parametrize("way", WAYS)
def test_a_limit_holds_if_replies_are_lost(
    tmp_path: Path, way: Sender, times: int, connections: int, lost_tokens: int
) -> None:
    """Seen: four to ten times the limit if lost replies were longer than those that arrived."""
    limit, bill = 10 * LONGEST, Bill(times, way, lost_tokens=lost_tokens)
    with WireServer(bill.send, bill.body) as server:
        critic = AspectCritic("The mark must end in Y.", opened(server, way, connections))
        with pytest.raises(BudgetSpent, match=r"replies that did not arrive count for \$0\.\d+"):
            critic.evaluate(marked(100), run=tmp_path, budget=Budget(max_usd=limit))
    assert bill.usd <= limit + LONGEST
    if lost_tokens == LONGEST_ANSWER:
        assert bill.usd >= limit / 2, "the limit is not far from being used"
    assert spent_in(tmp_path).calls == server.replies


@pytest.mark.usefixtures("fast_retries")
@pytest.mark.parametrize("way", WAYS if ALL else [reset])
def test_a_single_lost_reply_costs_no_more_than_its_longest(tmp_path: Path, way: Sender) -> None:
    limit, bill = 60 * LARGEST, Bill(0, way)
    with WireServer(bill.send, bill.body) as server:
        # A busy machine may take longer than a tenth of a second for a reply that is not lost.
        model = opened(server, way, 4, patience=3)
        critic = AspectCritic("The mark must end in Y.", model)
        with pytest.raises(BudgetSpent, match="replies that did not arrive"):
            critic.evaluate(marked(100), run=tmp_path, budget=Budget(max_usd=limit))
    assert limit - 1.2 * LONGEST <= bill.usd <= limit + LARGEST


def opened(
    server: WireServer, way: Sender, connections: int, *, patience: float = 0.1
) -> OpenModel:
    return open_model(
        MODEL,
        base_url=server.url,
        api_key="k",
        max_concurrency=connections,
        timeout=patience if way is say_nothing else 10,
    )


@pytest.mark.parametrize(
    ("body", "may_have_cost"),
    [
        ({"error": {"message": "upstream timeout", "code": 504}}, True),
        ({"error": {"message": "upstream timeout"}}, True),
        ({"error": "it broke off"}, True),
        ({"error": {"code": 500}, "usage": {"completion_tokens": 12}}, True),
        ({"error": {"code": 500}, "choices": [{"message": {"content": "The"}}]}, True),
        ({"error": {"message": "slow down", "code": 429}}, False),
        ({"error": {"message": "no such model", "code": "404"}}, False),
    ],
)
def test_an_error_with_a_good_status_counts_if_the_model_may_have_answered(
    tmp_path: Path,
    body: dict[str, object],
    may_have_cost: bool,
) -> None:
    with WireServer(body=lambda number, text: body) as server:
        model = open_model(MODEL, base_url=server.url, api_key="k", max_retries=0)
        AspectCritic("The mark must end in Y.", model).evaluate(
            marked(1), run=tmp_path, budget=Budget(max_usd=1)
        )
    assert (spent_in(tmp_path).usd > 0) is may_have_cost


CHILD = f"""
import sys
from adjudge import AspectCritic, open_model
from adjudge.runs import Budget
url, folder, limit = sys.argv[1:]
texts = [f"REC-{{number:05}}-Y" for number in range(100)]
model = open_model({MODEL!r}, base_url=url, api_key="k", max_concurrency=4)
critic = AspectCritic("The mark must end in Y.", model)
critic.evaluate(texts, run=folder, budget=Budget(max_usd=float(limit)))
"""


def test_what_was_lost_before_a_kill_counts_when_the_run_is_resumed(tmp_path: Path) -> None:
    limit, bill = 40 * LONGEST, Bill(2, reset, lost_tokens=LONGEST_ANSWER)
    with WireServer(bill.send, bill.body, latency=0.01) as server:
        command = [sys.executable, "-c", CHILD, server.url, str(tmp_path / "run"), str(limit)]
        for kills in range(3):
            before = server.replies
            child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            if kills < 2:
                wait_until(lambda: server.replies > before + 8)  # noqa: B023 - it ends in the loop
                child.kill()
            child.wait(120)
    assert limit / 2 <= bill.usd <= limit + LONGEST


def judge_with_losses(folder: Path, *options: str) -> tuple[str, str]:
    """What ``adjudge judge`` prints if the first reply to each row is lost."""
    rows = folder / "rows.csv"
    rows.write_text("\n".join(["response", *marked(6)]))
    with WireServer(Bill(1, reset).send) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}
        done = adjudge(
            *("judge", "--file", str(rows), "-m", MODEL, *options),
            *("--criterion", "Does the mark end in Y?"),
            environment=environment,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_report_says_what_is_counted_for_lost_replies(tmp_path: Path) -> None:
    run = tmp_path / "run"
    told = "may be charged for replies that did not"
    assert told in "".join(judge_with_losses(tmp_path))
    assert told in "".join(judge_with_losses(tmp_path, "--run", str(run), "--no-cache"))
    shown = adjudge("runs", "show", run).stdout
    assert told in shown
    lost = Account.of(run_info(run).facts["spending"]).lost
    assert lost.usd == pytest.approx(6 * price_of(ANSWER_TOKENS), rel=0.01)
