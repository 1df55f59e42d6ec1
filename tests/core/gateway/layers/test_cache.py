"""What was answered is kept, found again, and replayed."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge import ScriptedModel
from adjudge.core.domain.message import Capabilities, Reply, Request, Usage
from adjudge.core.gateway.layers import cache as layers_cache
from adjudge.core.gateway.layers.cache import Cached, JsonlCache, read_replies
from adjudge.core.gateway.opener import open_model
from adjudge.errors import ModelError, SetupError
from support.asking import a_request, ask, critic, marked, open_at
from support.fake_provider import EMPTY, REFUSES, TRUNCATED, FakeProvider, Fault, Status, at_first


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.jsonl"


def said(text: str = "PASS", **parts: object) -> Reply:
    return Reply(text, **parts)  # type: ignore[arg-type]


# -- keeping -------------------------------------------------------------------------


def test_what_was_answered_is_not_asked_again(provider: FakeProvider, path: Path) -> None:
    model = open_at(provider, cache=path)
    first, second = ask(model), ask(model)
    again = ask(open_at(provider, cache=str(path)))
    assert first.text == second.text == again.text
    assert len(provider.requests) == 1


def test_what_is_being_asked_is_waited_for(provider: FakeProvider, path: Path) -> None:
    """Equal rows, or two clients of one server at the same moment."""
    provider.latency = 0.05
    results = critic(open_at(provider, cache=path)).evaluate(["REC-00001-Y"] * 8)
    assert [one.verdict for one in results] == ["PASS"] * 8
    assert provider.attempts(1) == 1


def test_who_waited_in_vain_asks_by_itself(provider: FakeProvider, path: Path) -> None:
    provider.latency = 0.05
    provider.faults = at_first(REFUSES)
    results = critic(open_at(provider, cache=path)).evaluate(["REC-00001-Y"] * 3)
    assert sorted(one.status.value for one in results) == ["failed", "scored", "scored"]


def test_what_another_event_loop_asked_is_not_waited_for(path: Path) -> None:
    """As in a forked process, where nobody goes on with what the parent had under way."""

    class Slow:
        name, capabilities = "slow", Capabilities()
        asked = 0

        async def complete(self, request: Request) -> Reply:
            self.asked += 1
            if self.asked == 1:
                await asyncio.sleep(3600)
            return said()

    model = Cached(Slow(), JsonlCache(path))
    left = asyncio.new_event_loop()
    waiting = left.create_task(model.complete(a_request()))
    left.run_until_complete(asyncio.sleep(0))
    assert asyncio.run(asyncio.wait_for(model.complete(a_request()), 10)).text == "PASS"
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        left.run_until_complete(waiting)
    left.close()


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"temperature": 0.1}, {"sample": 1}, {"max_tokens": 9}, {"system": "Another."}],
)
def test_another_question_is_asked(
    provider: FakeProvider, path: Path, change: dict[str, Any]
) -> None:
    model = open_at(provider, cache=path)
    ask(model)
    ask(model, **change)
    assert len(provider.requests) == 2


def test_another_model_is_asked(provider: FakeProvider, path: Path) -> None:
    ask(open_at(provider, cache=path))
    ask(open_at(provider, "mistral", cache=path))
    assert len(provider.requests) == 2


@pytest.mark.parametrize("fault", [EMPTY, TRUNCATED, REFUSES, Status(400), Status(500)])
def test_what_is_no_good_answer_is_not_kept(
    provider: FakeProvider, path: Path, fault: Fault
) -> None:
    provider.faults = lambda record, attempt: fault if attempt == 0 else None
    model = open_at(provider, cache=path)
    with suppress(ModelError):
        ask(model)
    assert path.read_text() == ""
    assert "PASS" in ask(model).text


def test_a_kept_reply_cost_nothing_this_time(provider: FakeProvider, path: Path) -> None:
    model = open_at(provider, cache=path)
    first, second = ask(model), ask(model)
    third = ask(open_at(provider, cache=path))
    assert first.usage.calls == 1
    assert second.usage == third.usage == Usage()
    assert second.details == third.details == {"from": "cache"}


def test_everything_a_reply_says_is_kept(provider: FakeProvider, path: Path) -> None:
    first = ask(open_at(provider, cache=path), logprobs=2)
    again = ask(open_at(provider, cache=path), logprobs=2)
    assert first.logprobs
    assert (again.text, again.logprobs) == (first.text, first.logprobs)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec=None), min_size=1))
def test_any_text_comes_back_as_it_was(tmp_path: Path, text: str) -> None:
    path = tmp_path / "replies.jsonl"
    path.unlink(missing_ok=True)
    JsonlCache(path).put("m", a_request(), said(text))
    kept = JsonlCache(path).get("m", a_request())
    assert kept is not None
    assert kept.text == text


@pytest.mark.parametrize(
    "text", ["a\u2028b", "a\x85b", "a\x0bb", "a\r\nb", "\ud800", "да", "\U0001f600"]
)
def test_no_character_in_a_reply_ends_its_line(path: Path, text: str) -> None:
    cache = JsonlCache(path)
    cache.put("m", a_request("one"), said(text))
    cache.put("m", a_request("two"), said("PASS"))
    assert [reply.text for _, _, reply in read_replies(path)] == [text, "PASS"]


def test_the_file_can_be_read_by_people(path: Path) -> None:
    JsonlCache(path).put("m", a_request(), said("да"))
    assert "да" in path.read_text(encoding="utf-8")


def test_any_object_with_get_and_put_is_a_cache() -> None:
    kept: dict[str, Reply] = {}

    class Shelf:
        def get(self, model: str, request: Request) -> Reply | None:
            return kept.get(request.key)

        def put(self, model: str, request: Request, reply: Reply) -> None:
            kept[request.key] = reply

    scripted = ScriptedModel(["PASS", "FAIL"])
    model = open_model(scripted, cache=Shelf())
    assert [ask(model).text for _ in range(3)] == ["PASS"] * 3
    assert len(scripted.requests) == len(kept) == 1


# -- files that are not as they should be ----------------------------------------------


def test_a_last_line_that_a_crash_cut_off_is_left_out_and_written_over(path: Path) -> None:
    cache = JsonlCache(path)
    for text in ("one", "two"):
        cache.put("m", a_request(text), said("да"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    reopened = JsonlCache(path)
    assert reopened.get("m", a_request("one"))
    assert reopened.get("m", a_request("two")) is None
    reopened.put("m", a_request("two"), said("да"))
    assert path.read_bytes() == whole


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_wherever_a_crash_cut_the_file_it_can_be_replayed_and_continued(
    path: Path, cut: int
) -> None:
    JsonlCache(path).put("m", a_request("one"), said("да"))
    line = path.read_bytes()
    path.write_bytes(line + line[:-cut])
    assert [reply.text for _, _, reply in read_replies(path)][:1] == ["да"]
    JsonlCache(path).put("m", a_request("two"), said("нет"))
    assert [reply.text for _, _, reply in read_replies(path)][-1] == "нет"


def test_a_whole_last_line_without_its_end_is_kept(path: Path) -> None:
    JsonlCache(path).put("m", a_request("one"), said())
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    JsonlCache(path).put("m", a_request("two"), said())
    assert len(read_replies(path)) == 2


def test_blank_lines_do_no_harm(path: Path) -> None:
    JsonlCache(path).put("m", a_request(), said())
    path.write_text("\n\n" + path.read_text() + "\r\n\n")
    assert len(read_replies(path)) == 1


@pytest.mark.parametrize(
    "bad", ["nonsense", "[1]", "null", "{}", '{"model": "m", "request": "k"}', '{"model": "m"']
)
def test_a_bad_line_is_a_setup_error_with_its_number(path: Path, bad: str) -> None:
    cache = JsonlCache(path)
    cache.put("m", a_request(), said())
    path.write_text(path.read_text() + bad + "\n" + path.read_text())
    openings: list[Callable[[], object]] = [
        lambda: open_model("scripted", cache=path),
        lambda: open_model(f"replay/{path}"),
    ]
    for opening in openings:
        with pytest.raises(SetupError, match=f"{path}, line 2 is not a recorded reply"):
            opening()


@pytest.mark.parametrize("where", [".", "no/such/folder/replies.jsonl"])
def test_a_file_that_cannot_be_written_is_a_setup_error_before_any_call(
    tmp_path: Path, where: str
) -> None:
    with pytest.raises(SetupError, match=r"cannot be (stored|read)"):
        open_model("scripted", cache=tmp_path / where)


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"a,b\n1,2",
        b'{"a": 1}',
        b'{"model": "m"}',
        b'{"text": "PA',
        b"\x00\xff",
        b'["model"',
    ],
)
def test_a_file_that_is_no_recording_is_refused_and_left_as_it_is(
    path: Path, content: bytes
) -> None:
    path.write_bytes(content)
    with pytest.raises(SetupError, match="is not a recorded reply"):
        open_model("scripted", cache=path)
    assert path.read_bytes() == content


# -- replay --------------------------------------------------------------------------


def test_a_recording_is_replayed_without_key_or_network(provider: FakeProvider, path: Path) -> None:
    texts = marked(12)
    recorded = critic(open_at(provider, cache=path), strictness=2).evaluate(texts)
    asked = len(provider.requests)
    replayed = critic(f"replay/{path}", strictness=2).evaluate(texts)
    assert [result.verdict for result in replayed] == [result.verdict for result in recorded]
    assert [result.explanation for result in replayed] == [
        result.explanation for result in recorded
    ]
    assert len(provider.requests) == asked == 24


def test_what_was_not_recorded_is_a_model_error(path: Path) -> None:
    JsonlCache(path).put("m", a_request("one"), said())
    with pytest.raises(ModelError, match="no reply was recorded for this request"):
        ask(open_model(f"replay/{path}"), "two")


@pytest.fixture
def two_models(path: Path) -> Path:
    cache = JsonlCache(path)
    cache.put("openai/gpt-4o", a_request(), said("PASS"))
    cache.put("http://localhost:8000/v1#m", a_request(), said("FAIL"))
    return path


def test_a_recording_of_two_models_needs_a_choice(two_models: Path) -> None:
    with pytest.raises(
        SetupError,
        match=r"several models \(http://localhost:8000/v1#m, openai/gpt-4o\): choose one",
    ):
        open_model(f"replay/{two_models}")


@pytest.mark.parametrize(
    ("model", "text"), [("openai/gpt-4o", "PASS"), ("http://localhost:8000/v1#m", "FAIL")]
)
def test_one_of_two_recorded_models_can_be_chosen(two_models: Path, model: str, text: str) -> None:
    replay = open_model(f"replay/{two_models}#{model}")
    assert ask(replay).text == text
    assert replay.name == f"replay/{two_models}#{model}"


def test_a_model_that_was_not_recorded_cannot_be_chosen(two_models: Path) -> None:
    with pytest.raises(SetupError, match="contains no replies from openai/gpt-5"):
        open_model(f"replay/{two_models}#openai/gpt-5")


def test_an_empty_recording_is_a_setup_error(path: Path) -> None:
    path.touch()
    with pytest.raises(SetupError, match="contains no replies"):
        open_model(f"replay/{path}")


def test_no_key_is_in_a_recording(provider: FakeProvider, path: Path) -> None:
    ask(open_at(provider, cache=path))
    assert set(json.loads(path.read_text())) == {
        "model",
        "request",
        "text",
        "finish",
        "usage",
        "latency",
    }
    assert "MARKED" not in path.read_text()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_recording_in_a_folder_that_is_closed_goes_on(path: Path) -> None:
    path.touch()
    path.parent.chmod(0o500)
    JsonlCache(path).put("m", a_request("one"), said("да"))
    path.parent.chmod(0o700)
    assert len(read_replies(path)) == 1


def test_who_opens_a_recording_takes_no_line_that_is_being_written_for_a_cut_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that record into one file: here one opens it while the other writes."""
    first = JsonlCache(path)
    beside = threading.Thread(target=JsonlCache, args=(path,))

    def overtaken(data: object, **settings: bool) -> str:
        line = json.dumps(data, **settings)  # type: ignore[arg-type]
        path.write_text(line[:20])
        beside.start()
        beside.join(0.05)  # it waits
        return line[20:]

    with monkeypatch.context() as patched:
        patched.setattr(layers_cache, "json", SimpleNamespace(dumps=overtaken, loads=json.loads))
        first.put("m", a_request("a"), said())
        beside.join()
    assert [reply.text for *_, reply in read_replies(path)] == ["PASS"]
