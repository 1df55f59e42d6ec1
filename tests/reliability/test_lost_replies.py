"""Replies that are produced and paid for, and do not arrive: a limit counts them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from adjudge import AspectCritic, open_model
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.layers.account import Account
from adjudge.core.gateway.prices import PriceTable
from adjudge.errors import BudgetSpent
from adjudge.runs import Budget
from adjudge.runs.folder import run_info, spent_in
from support.asking import marked, wait_until
from support.wire import (
    ANSWER_TOKENS,
    PROMPT_TOKENS,
    Exchange,
    Sender,
    WireServer,
    chat_completion,
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


WAYS = (reset, cut_in_the_body, cut_in_the_head, say_nothing, answer_as_a_gateway)


def lose(times: int, way: Callable[[Exchange], Awaitable[None]]) -> Sender:
    """Lose the first replies of each record."""

    async def send(exchange: Exchange) -> None:
        if exchange.attempt < times:
            await way(exchange)
        else:
            await exchange.send(exchange.reply)

    return send


class Bill:
    """What the provider charges: for every reply, whether or not it arrives."""

    def __init__(self) -> None:
        self.usd = 0.0

    def body(self, number: int, text: str) -> dict[str, object]:
        """Replies of different lengths."""
        answer = ANSWER_TOKENS + number * 37 % 100
        self.usd += price_of(answer)
        usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": answer}
        return {**chat_completion(number, text), "usage": usage}


def price_of(answer_tokens: int) -> float:
    usd = PriceTable.load().cost(MODEL, Usage(1, PROMPT_TOKENS, answer_tokens))
    assert usd is not None
    return usd


LARGEST = price_of(ANSWER_TOKENS + 100)


ALL = os.environ.get("ADJUDGE_REPLIES") == "all"
"""One, two and four lost replies per row with one and four connections; else two with four."""


@pytest.mark.usefixtures("fast_retries")
@pytest.mark.parametrize("connections", [1, 4] if ALL else [4])
@pytest.mark.parametrize("times", [1, 2, 4] if ALL else [2])
@pytest.mark.parametrize("way", WAYS)
def test_a_limit_holds_if_replies_are_lost(
    tmp_path: Path, way: Sender, times: int, connections: int
) -> None:
    limit, bill = 60 * LARGEST, Bill()
    with WireServer(lose(times, way), bill.body) as server:
        model = open_model(
            MODEL,
            base_url=server.url,
            api_key="k",
            max_concurrency=connections,
            timeout=0.1 if way is say_nothing else 10,
        )
        critic = AspectCritic("The mark must end in Y.", model)
        with pytest.raises(BudgetSpent):
            critic.evaluate(marked(100), run=tmp_path, budget=Budget(max_usd=limit))
    assert bill.usd <= limit + connections * LARGEST
    assert bill.usd >= limit / 2, "the limit is not far from being used"
    assert spent_in(tmp_path).calls == server.replies


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
    limit, bill = 60 * LARGEST, Bill()
    with WireServer(lose(2, reset), bill.body, latency=0.01) as server:
        command = [sys.executable, "-c", CHILD, server.url, str(tmp_path / "run"), str(limit)]
        for kills in range(3):
            before = server.replies
            child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            if kills < 2:
                wait_until(lambda: server.replies > before + 8)  # noqa: B023 - it ends in the loop
                child.kill()
            child.wait(120)
    assert bill.usd <= limit + 4 * LARGEST
    assert bill.usd >= limit / 2


def judge_with_losses(folder: Path, *options: str) -> tuple[str, str]:
    """What ``adjudge judge`` prints if the first reply to each row is lost."""
    rows = folder / "rows.csv"
    rows.write_text("\n".join(["response", *marked(6)]))
    with WireServer(lose(1, reset)) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}
        command = [
            sys.executable,
            "-m",
            "adjudge",
            "judge",
            "--file",
            str(rows),
            "-m",
            MODEL,
            *options,
        ]
        done = subprocess.run(
            [*command, "--criterion", "Does the mark end in Y?"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_report_says_what_is_counted_for_lost_replies(tmp_path: Path) -> None:
    run = tmp_path / "run"
    told = "may be charged for replies that did not"
    assert told in "".join(judge_with_losses(tmp_path))
    assert told in "".join(judge_with_losses(tmp_path, "--run", str(run), "--no-cache"))
    show = [sys.executable, "-m", "adjudge", "runs", "show", str(run)]
    shown = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    assert told in shown
    lost = Account.of(run_info(run).facts["spending"]).lost
    assert lost.usd == pytest.approx(6 * price_of(ANSWER_TOKENS), rel=0.01)
