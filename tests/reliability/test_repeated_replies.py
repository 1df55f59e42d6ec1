"""A server that sends replies twice: no row gets the reply to another one, and nothing is asked
forever.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from adjudge import AspectCritic, open_model
from adjudge.core.gateway.http import close_session
from adjudge.core.gateway.targets.answer import AnswerPaths
from adjudge.core.gateway.targets.targets import HttpCall, HttpTarget
from adjudge.runs.folder import spent_in
from support.asking import a_request, marked, truth
from support.wire import Body, Exchange, Sender, WireServer, chat_completion, chunked, plain

ROWS = 60


async def copy_later(exchange: Exchange) -> None:
    await exchange.send(exchange.reply)
    exchange.send_later(exchange.reply, 0.03)


async def copy_in_one_packet(exchange: Exchange) -> None:
    await exchange.send(exchange.reply * 2)


async def copy_every_third(exchange: Exchange) -> None:
    await exchange.send(exchange.reply)
    if exchange.number % 3 == 0:
        exchange.send_later(exchange.reply, 0.03)


async def copy_in_pieces(exchange: Exchange) -> None:
    await exchange.send(exchange.reply)
    for place, start in enumerate(range(0, len(exchange.reply), 50)):
        exchange.send_later(exchange.reply[start : start + 50], 0.01 + 0.002 * place)


async def copy_half_in_one_packet(exchange: Exchange) -> None:
    await exchange.send(exchange.reply + exchange.reply[:30])
    exchange.send_later(exchange.reply[30:], 0.02)


async def copy_after_next_request(exchange: Exchange) -> None:
    """The client cannot tell it by its time: it comes when an answer is due."""
    await exchange.send(exchange.reply)
    exchange.late.append(exchange.reply)


async def cut_copy_after_next_request(exchange: Exchange) -> None:
    """The beginning of the next reply becomes the end of the copy."""
    await exchange.send(exchange.reply)
    exchange.late.append(exchange.reply[:-20])


def with_new_id(reply: bytes) -> bytes:
    """A copy that cannot be told by its id, as a proxy sends it that makes up ids."""
    return reply.replace(b"chatcmpl-", b"repeated-")


async def renumber_copy_after_next_request(exchange: Exchange) -> None:
    await exchange.send(exchange.reply)
    exchange.late.append(with_new_id(exchange.reply))


async def renumber_copy_later(exchange: Exchange) -> None:
    """The copy comes while the next request is answered, or while nothing is asked."""
    await exchange.send(exchange.reply)
    exchange.send_later(with_new_id(exchange.reply), 0.01)


class GluedCopies:
    """Sends a copy of the earlier reply and the right one in one packet."""

    def __init__(self) -> None:
        self.earlier: dict[object, bytes] = {}

    async def __call__(self, exchange: Exchange) -> None:
        earlier = self.earlier.get(exchange.writer, b"")
        await exchange.send(earlier + exchange.reply)
        self.earlier[exchange.writer] = with_new_id(exchange.reply)


RENUMBERING = (renumber_copy_after_next_request, renumber_copy_later, GluedCopies())


def without_id(number: int, text: str) -> dict[str, object]:
    return {name: value for name, value in chat_completion(number, text).items() if name != "id"}


def same_id(number: int, text: str) -> dict[str, object]:
    return chat_completion(123, text)


def with_few_ids(number: int, text: str) -> dict[str, object]:
    """As a server does that draws its ids at random from a thousand."""
    return chat_completion(number * 7 % 5, text)


def with_request_id(body: bytes) -> bytes:
    """A reply whose id is in its headers, as those of embeddings have it."""
    return plain(body, f"x-request-id: {hash(body)}\r\n")


SENDERS = (
    copy_later,
    copy_in_one_packet,
    copy_every_third,
    copy_in_pieces,
    copy_half_in_one_packet,
    copy_after_next_request,
    cut_copy_after_next_request,
)


ALL = os.environ.get("ADJUDGE_REPLIES") == "all"
"""Every shape of a reply with one and four connections; else three shapes with one."""
SHAPES = [
    (chat_completion, plain),
    (chat_completion, chunked),
    (without_id, plain),
    (without_id, with_request_id),
    (same_id, chunked),
    (with_few_ids, plain),
]


@pytest.mark.usefixtures("fast_retries")
@pytest.mark.parametrize("connections", [1, 4] if ALL else [1])
@pytest.mark.parametrize(("body", "frame"), SHAPES if ALL else SHAPES[:3])
@pytest.mark.parametrize("sender", SENDERS)
def test_no_row_gets_the_reply_to_another(
    tmp_path: Path,
    sender: Sender,
    body: Body,
    frame: Callable[[bytes], bytes],
    connections: int,
) -> None:
    check_replies(WireServer(sender, body, frame, latency=0.002), tmp_path, connections)


@pytest.mark.usefixtures("fast_retries")
@pytest.mark.parametrize("connections", [1, 4])
@pytest.mark.parametrize("latency", [0, 0.02] if ALL else [0.02])
@pytest.mark.parametrize("sender", RENUMBERING)
def test_no_row_gets_a_copy_with_a_new_id(
    tmp_path: Path, sender: Sender, latency: float, connections: int
) -> None:
    """Seen: every row got the reply to the row before it."""
    check_replies(WireServer(sender, latency=latency), tmp_path, connections)


def check_replies(wire: WireServer, folder: Path, connections: int) -> None:
    """Judge marked rows, and check that each has its own reply."""
    texts = marked(ROWS)
    with wire as server:
        model = open_model(f"{server.url}#m", max_concurrency=connections, max_retries=3)
        results = AspectCritic("The mark must end in Y.", model).evaluate(texts, run=folder)
    wrong = [
        text
        for text, result in zip(texts, results, strict=True)
        if result.verdict != truth(text) or text[:9] not in str(result.explanation)
    ]
    assert not wrong
    assert spent_in(folder).calls == server.replies, "a request that is repeated counts, too"
    assert server.replies <= ROWS + connections, "it is asked again only until the server is known"


@pytest.mark.parametrize("connections", [1, 4])
def test_the_connections_of_a_good_server_are_used_again(connections: int) -> None:
    with WireServer(latency=0.002) as server:
        model = open_model(f"{server.url}#m", max_concurrency=connections)
        critic = AspectCritic("The mark must end in Y.", model)
        critic.evaluate(marked(ROWS))  # the first replies show that it sends nothing else
        before = server.connections
        critic.evaluate([f"{text} again" for text in marked(ROWS)])
    assert server.replies == 2 * ROWS
    assert server.connections - before <= 2 * connections


@pytest.mark.usefixtures("fast_retries")
@pytest.mark.parametrize("mixes", [True, False])
def test_a_server_that_mixes_up_replies_is_warned_of(
    caplog: pytest.LogCaptureFixture,
    mixes: bool,
) -> None:
    """A proxy gives every fourth request the reply to another one, on a connection of its own."""
    bodies: list[dict[str, object]] = []

    def mix_up(number: int, text: str) -> dict[str, object]:
        bodies.append(chat_completion(number, text))
        return bodies[-2 if mixes and number % 4 == 0 else -1]

    with WireServer(body=mix_up) as server:
        model = open_model(f"{server.url}#m", max_concurrency=1, max_retries=3)
        AspectCritic("The mark must end in Y.", model).evaluate(marked(ROWS))
    warnings = [text for text in caplog.messages if "is mixing up replies" in text]
    assert len(warnings) == mixes


@pytest.mark.usefixtures("fast_retries")
def test_a_proxy_that_repeats_replies_to_equal_requests_is_believed(tmp_path: Path) -> None:
    """A caching proxy gives an answer with its old id. It is asked a second time at most once."""
    kept: dict[str, int] = {}

    def cached(number: int, text: str) -> dict[str, object]:
        return chat_completion(kept.setdefault(text, number), text)

    texts = marked(10) * 3
    with WireServer(body=cached) as server:
        model = open_model(f"{server.url}#m", max_concurrency=1, max_retries=3)
        results = AspectCritic("The mark must end in Y.", model).evaluate(texts, run=tmp_path)
    assert [result.verdict for result in results] == [truth(text) for text in texts]
    assert server.replies <= len(texts) + 1
    assert spent_in(tmp_path).calls == server.replies


def test_a_server_that_always_sends_the_same_bytes_is_asked_once_per_row() -> None:
    """Mock servers do so, and nothing tells their replies apart."""

    def constant(number: int, text: str) -> dict[str, object]:
        return same_id(number, '{"explanation": "so", "selected_option": "PASS"}')

    with WireServer(body=constant) as server:
        model = open_model(f"{server.url}#m", max_concurrency=2, max_retries=0)
        results = AspectCritic("The mark must end in Y.", model).evaluate(marked(ROWS))
    assert {result.verdict for result in results} == {"PASS"}
    assert server.replies == ROWS


def test_no_row_gets_the_answer_of_an_application_to_another() -> None:
    """An application's ids may be anything, so that each request gets a connection of its own."""

    def answer(number: int, text: str) -> dict[str, object]:
        return {"id": number, "answer": text}

    texts = marked(20)
    with WireServer(copy_after_next_request, answer) as server:
        target = HttpTarget(
            HttpCall(url=f"{server.url}/app", headers={}), name="app", paths=AnswerPaths()
        )

        async def ask_in_turn() -> list[str]:
            rows = [json.dumps({"text": text}) for text in texts]
            requests = [a_request(row, system=None) for row in rows]
            answers = [(await target.complete(request)).text for request in requests]
            await close_session()
            return answers

        answers = asyncio.run(ask_in_turn())
    assert all(text[:9] in answer for text, answer in zip(texts, answers, strict=True))
    assert server.replies == len(texts)
