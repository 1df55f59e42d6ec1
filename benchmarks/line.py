"""CPU per judgment along the whole line, beside a bare HTTP loop, in one run.

    python benchmarks/line.py [--records 1000] [--rounds 5]

Rows: "floor" posts the same bodies, made beforehand, and parses the replies with the client alone;
"line" is AspectCritic.evaluate, "ledger" the same with a run folder. The line runs once with the
client we ship (aiohttp) and once with pyreqwest behind the same function. Wall is against the
physical limit of a slower server: records × its latency ÷ in flight. Compare rows of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pyreqwest.client
from server import running

from adjudge import AspectCritic, Instance, open_model
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.question import Choice
from adjudge.core.gateway import http
from adjudge.core.gateway import redaction as redact
from adjudge.core.prompts.renderer import render

IN_FLIGHT = 100
LATENCY, _SLOW = 20, 200
"""Milliseconds: so short that the work shows, and as short as a real model's reply gets."""
DEFINITION = "The response answers the question directly and stays on the topic of the question."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    instances = records(args.records)
    with running(LATENCY) as url:
        cpu(url, instances, args.rounds)
    wall(instances, args.rounds)


def wall(instances: list[Instance], rounds: int) -> dict[str, float]:
    """How often the physical limit each takes."""
    with running(_SLOW) as url:
        return _wall(url, instances, rounds)


def _wall(url: str, instances: list[Instance], rounds: int) -> dict[str, float]:
    limit = len(instances) * _SLOW / 1000 / IN_FLIGHT
    bodies = _bodies(url, instances)
    jobs: dict[str, Callable[[], None]] = {
        "floor aiohttp": lambda: asyncio.run(_floor_aiohttp(url, bodies)),
        "line aiohttp": lambda: _line(url, instances, http._exchange),
        "ledger aiohttp": lambda: _kept_line(url, instances),
    }
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            taken[name].append(time.perf_counter() - start)
    print(f"wall, replies after {_SLOW} ms, limit {limit:.2f} s")
    for name, figures in taken.items():
        middle = statistics.median(figures)
        print(f"{name:16} {middle:6.3f} s  ({middle / limit:.2f} x limit)")
    return {name: statistics.median(figures) / limit for name, figures in taken.items()}


def cpu(url: str, instances: list[Instance], rounds: int) -> dict[str, float]:
    """Milliseconds a judgment."""
    ours, bodies = http._exchange, _bodies(url, instances)
    jobs: dict[str, Callable[[], None]] = {
        "floor aiohttp": lambda: asyncio.run(_floor_aiohttp(url, bodies)),
        "floor pyreqwest": lambda: asyncio.run(_floor_pyreqwest(url, bodies)),
        "line aiohttp": lambda: _line(url, instances, ours),
        "line pyreqwest": lambda: _line(url, instances, _exchange_pyreqwest),
        "ledger aiohttp": lambda: _kept_line(url, instances),
    }
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for round_ in range(rounds + 1):  # the first one warms up
        for name, job in jobs.items():
            start = time.process_time()
            job()
            if round_:
                taken[name].append((time.process_time() - start) * 1000 / len(instances))
    floor = statistics.median(taken["floor aiohttp"])
    print(f"{len(instances)} judgments, {IN_FLIGHT} in flight, median of {rounds} rounds")
    for name, figures in taken.items():
        middle = statistics.median(figures)
        print(f"{name:16} {middle:6.3f} ms CPU a judgment  ({middle / floor:.2f} x floor aiohttp)")
    return {name: statistics.median(figures) for name, figures in taken.items()}


def _line(url: str, instances: list[Instance], exchange: object) -> None:
    ours = http._exchange
    http._exchange = exchange  # type: ignore[assignment]
    try:
        _judge(url, instances, None)
    finally:
        http._exchange = ours


def _kept_line(url: str, instances: list[Instance]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _judge(url, instances, Path(folder) / "run")


def _judge(url: str, instances: list[Instance], run: Path | None) -> None:
    critic = AspectCritic(DEFINITION, open_model(f"{url}#bench", max_concurrency=IN_FLIGHT))
    results = critic.evaluate(instances, run=run)
    assert all(
        (result.score == 1.0) == ("-Y]" in str(result.instance.fields["response"]))
        for result in results
    )


def records(count: int) -> list[Instance]:
    answer = (
        "The main idea is that a small number of simple rules explain a wide range of observations."
    )
    question = "Can you explain the main idea of plate tectonics in two sentences, for a student?"
    return [
        Instance(
            fields={
                "user_input": question,
                "response": f"[REC-{i:05d}-{'Y' if i * 7919 % 10 < 6 else 'N'}] {answer}",
            }
        )
        for i in range(count)
    ]


def _bodies(url: str, instances: list[Instance]) -> list[dict[str, object]]:
    critic = AspectCritic(DEFINITION, f"{url}#bench")
    prompts = [render(critic.plan(instance, [])[0]) for instance in instances]
    schema = {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": Choice(("PASS", "FAIL")).schema()},
    }
    return [
        {
            "model": "bench",
            "messages": [
                {"role": message.role, "content": message.content} for message in prompt.messages
            ],
            "response_format": schema,
        }
        for prompt in prompts
    ]


async def _floor_aiohttp(url: str, bodies: list[dict[str, object]]) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:

        async def one(body: dict[str, object]) -> None:
            async with session.post(f"{url}/chat/completions", json=body) as response:
                json.loads((await response.json())["choices"][0]["message"]["content"])

        await _drive(bodies, one)


async def _floor_pyreqwest(url: str, bodies: list[dict[str, object]]) -> None:
    async with pyreqwest.client.ClientBuilder().build() as client:

        async def one(body: dict[str, object]) -> None:
            response = await client.post(f"{url}/chat/completions").body_json(body).build().send()
            json.loads((await response.json())["choices"][0]["message"]["content"])

        await _drive(bodies, one)


async def _drive(bodies: list[dict[str, object]], one: Callable[..., object]) -> None:
    todo = iter(bodies)

    async def worker() -> None:
        for body in todo:
            await one(body)  # type: ignore[misc]

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))


_client: list[pyreqwest.client.Client] = []


async def _exchange_pyreqwest(
    method: str,
    endpoint: http.Endpoint,
    body: Callable[[], str | bytes] | None,
    *,
    reuses: bool = False,
) -> JsonDict:
    if not _client:
        _client.append(pyreqwest.client.ClientBuilder().build())
    content = body() if body else b""
    data = content.encode() if isinstance(content, str) else content
    request = (
        _client[0]
        .request(method, endpoint.url)
        .body_bytes(data)
        .headers(dict(endpoint.headers))
        .build()
    )
    response = await request.send()
    raw = redact.strike_out(bytes(await response.bytes()), endpoint.secrets)
    if response.status != 200:
        raise http.error_for(endpoint, response.status, None, raw)
    return http._object(endpoint, raw)


if __name__ == "__main__":
    main()
