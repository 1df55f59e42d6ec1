"""The same weights behind HTTP: a real server for the OpenAI-compatible provider."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adjudge import AspectCritic, ModelError, Outcome, Request, open_model
from adjudge.core.aio import event_loop
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import ChatMessage, Prompt

KEY = "a-key-for-this-test"


@contextmanager
def on_one_core() -> Iterator[None]:
    """What is started inside: threads that wait for each other's turn do so busily where other
    tests keep the cores.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    yield
    os.sched_setaffinity(0, cores)


@pytest.fixture(scope="module")
def url(weights: Path) -> Iterator[str]:
    command = [
        sys.executable,
        "-m",
        "adjudge",
        "serve-model",
        "--port",
        "0",
        "--api-key",
        KEY,
        "--max-tokens",
        "8",
    ]
    with on_one_core():
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    with server, server.stdout:
        yield server.stdout.readline().strip()
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=300) == 0


def test_it_is_on_loopback_and_named_after_the_weights(url: str) -> None:
    assert url.startswith("http://127.0.0.1:")
    assert url.endswith("/v1#smollm2-135m")


def test_what_it_writes_is_held_to_the_schema(url: str) -> None:
    short: JsonObject = {"type": "string", "minLength": 1, "maxLength": 12}
    properties: JsonObject = {
        "explanation": short,
        "selected_option": {"type": "string", "enum": ["PASS", "FAIL"]},
    }
    schema: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    prompt = Prompt((ChatMessage("user", "Does 'built in 1889' contain a year? Answer in JSON."),))
    reply = event_loop.run(
        open_model(url, api_key=KEY).complete(
            Request(prompt, schema=schema, temperature=0, max_tokens=250)
        )
    )
    assert reply.ignored == ()
    assert json.loads(reply.text)["selected_option"] in ("PASS", "FAIL")
    assert reply.usage.prompt_tokens > 10


def test_an_answer_without_an_end_is_cut_off(url: str) -> None:
    prompt = Prompt((ChatMessage("user", "Count from 1 to 10000, all numbers."),))
    reply = event_loop.run(open_model(url, api_key=KEY).complete(Request(prompt, temperature=0)))
    assert reply.usage.completion_tokens <= 8


def test_likelihood_is_read_from_a_server_that_gives_log_probabilities(url: str) -> None:
    over_http = AspectCritic(
        "It contains a year.", open_model(url, api_key=KEY), mode="likelihood"
    ).evaluate("Built in 1889.")
    (vote,) = over_http.votes
    assert vote.outcome is Outcome.OK
    assert set(vote.distribution or ()) == {"PASS", "FAIL"}


def test_the_same_seed_gives_the_same_text(url: str) -> None:
    model = open_model(url, api_key=KEY)
    prompt = Prompt((ChatMessage("user", "Say something about rivers."),))
    # The first one reads the prompt, the others find it in memory: only these are asked in exactly
    # the same way.
    _, *replies = [
        event_loop.run(model.complete(Request(prompt, temperature=1.0, seed=seed, max_tokens=6)))
        for seed in (5, 5, 5, 6)
    ]
    assert replies[0].text == replies[1].text != replies[2].text
    assert replies[0].finish == "length"


def test_who_has_no_key_is_not_let_in(url: str) -> None:
    model = open_model(url, api_key="another-key", max_retries=0)
    with pytest.raises(ModelError, match="401"):
        event_loop.run(
            model.complete(Request(Prompt((ChatMessage("user", "Hello"),)), max_tokens=1))
        )
    event_loop.run(open_model(url, api_key=KEY).probe())
