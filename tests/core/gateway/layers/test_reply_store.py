"""The user's cache of replies: the same request is paid for once, by whichever process, and a
broken cache breaks nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adjudge import Reply, ScriptedModel, open_model
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.layers.cache import Cached
from adjudge.core.gateway.layers.reply_store import ReplyStore
from support.asking import a_request, ask, critic, marked, open_at
from support.fake_provider import EMPTY, REFUSES, TRUNCATED, FakeProvider, Says, always, at_first


def reply(text: str = "PASS", **parts: object) -> Reply:
    return Reply(text, usage=Usage(1, 10, 2), **parts)  # type: ignore[arg-type]


def test_a_reply_comes_back_without_its_cost(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path)
    store.put("m@url", a_request("a"), reply(logprobs=({"Yes": -0.5},)))
    found = store.get("m@url", a_request("a"))
    assert found is not None
    assert (found.text, found.logprobs, found.usage) == ("PASS", ({"Yes": -0.5},), Usage())


@pytest.mark.parametrize(
    ("model", "text", "parts"),
    [
        ("other@url", "a", {}),
        ("m@elsewhere", "a", {}),
        ("m@url", "b", {}),
        ("m@url", "a", {"sample": 1}),
        ("m@url", "a", {"seed": 1}),
        ("m@url", "a", {"temperature": 1.0}),
        ("m@url", "a", {"max_tokens": 5}),
        ("m@url", "a", {"schema": {"type": "object"}}),
        ("m@url", "a", {"labels": ("Yes", "No")}),
    ],
)
def test_another_request_is_another_reply(
    tmp_path: Path, model: str, text: str, parts: dict[str, Any]
) -> None:
    store = ReplyStore(tmp_path)
    store.put("m@url", a_request("a"), reply())
    assert store.get(model, a_request(text, **parts)) is None


def test_across_models_opened_anew_nothing_is_asked_again(
    provider: FakeProvider, tmp_path: Path
) -> None:
    store = ReplyStore(tmp_path)
    for _ in range(3):
        critic(open_at(provider, cache=store), strictness=2, seed=1).evaluate(marked(10))
    assert len(provider.requests) == 20


def test_the_same_model_at_another_server_is_asked(provider: FakeProvider, tmp_path: Path) -> None:
    store = ReplyStore(tmp_path)
    with FakeProvider() as other:
        ask(open_at(provider, cache=store))
        ask(open_at(other, cache=store))
        assert (len(provider.requests), len(other.requests)) == (1, 1)


@pytest.mark.parametrize("bad", [EMPTY, TRUNCATED, REFUSES, Says(lambda right: None)])
def test_only_good_replies_are_kept(provider: FakeProvider, tmp_path: Path, bad: Says) -> None:
    provider.faults = at_first(bad)
    model = open_at(provider, cache=ReplyStore(tmp_path))
    try:
        ask(model)
    except Exception as error:  # noqa: BLE001 - a refusal may be raised
        assert "Refused" in type(error).__name__
    ask(model)
    assert len(provider.requests) == 2


def test_a_script_or_a_function_is_never_answered_from_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path))
    assert not isinstance(open_model(ScriptedModel(), cache=True).inner, Cached)
    assert not isinstance(open_model(lambda prompt: "PASS", cache=True).inner, Cached)


def test_the_oldest_go_when_there_is_no_more_room(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path, max_mb=1)
    for number in range(1502):
        store.put("m", a_request(f"{number}"), reply("x" * 2000))
    count, size = store.size()
    assert size < 2_200_000
    assert 0 < count < 1502
    assert store.get("m", a_request("0")) is None
    assert store.get("m", a_request("1501")) is not None
    store.clear()
    assert store.size()[0] == 0


CHILD = """
import sys
from pathlib import Path
from adjudge.core.domain.message import ChatMessage, Prompt, Reply, Request
from adjudge.core.gateway.layers.reply_store import ReplyStore
store = ReplyStore(Path(sys.argv[1]))
for number in range(200):
    request = Request(Prompt((ChatMessage("user", str(number)),)))
    store.put("m", request, Reply(f"said {number}"))
    assert store.get("m", request).text == f"said {number}"
"""


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    assert [(writer.communicate(timeout=300)[1], writer.returncode) for writer in writers] == [
        (b"", 0)
    ] * 3
    assert ReplyStore(tmp_path).size()[0] == 200


@pytest.mark.parametrize("harm", ["deleted", "overwritten"])
def test_a_cache_that_is_harmed_in_a_run_costs_nothing(
    provider: FakeProvider, tmp_path: Path, harm: str
) -> None:
    store = ReplyStore(tmp_path)
    model = open_at(provider, cache=store)
    critic(model).evaluate(marked(5))
    for file in tmp_path.iterdir():
        file.unlink() if harm == "deleted" else file.write_bytes(b"no database " * 1000)
    results = critic(model).evaluate(marked(10))
    assert all(result.score is not None for result in results)


def test_a_damaged_cache_is_put_aside_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "replies.sqlite").write_bytes(b"no database at all " * 500)
    store = ReplyStore(tmp_path)
    assert store.get("m", a_request("a")) is None
    store.put("m", a_request("a"), reply())
    assert "continuing without it" in caplog.text
    assert (tmp_path / "replies.damaged").exists()
    fresh = ReplyStore(tmp_path)
    fresh.put("m", a_request("a"), reply())
    assert fresh.get("m", a_request("a")) is not None


HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_cache_that_another_program_holds_is_used_again_when_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("adjudge.core.gateway.layers.reply_store._PATIENCE", 0.01)
    store = ReplyStore(tmp_path)
    store.put("m", a_request("a"), reply())
    words = [sys.executable, "-c", HOLDER, str(store.path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        store.put("m", a_request("b"), reply())
        holder.communicate(b"\n")
    assert store.get("m", a_request("a")) is not None, "what was there is found again"
    assert store.get("m", a_request("b")) is None, "what came while it was held is done without"
    store.put("m", a_request("c"), reply())
    assert store.get("m", a_request("c")) is not None, "and it is written to again"
    assert not caplog.records
    assert not (tmp_path / "replies.damaged").exists()


def test_a_folder_that_cannot_be_written_is_done_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    store = ReplyStore(tmp_path / "file")
    store.put("m", a_request("a"), reply())
    assert store.get("m", a_request("a")) is None
    assert "continuing without it" in caplog.text


def test_keys_are_not_in_the_cache(provider: FakeProvider, tmp_path: Path) -> None:
    from support.fake_provider import KEY

    provider.faults = always(Says(lambda right: right))
    ask(open_at(provider, cache=ReplyStore(tmp_path)))
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())
    assert json.dumps(KEY) not in str(list(tmp_path.iterdir()))
