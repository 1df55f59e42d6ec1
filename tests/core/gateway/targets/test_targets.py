"""Applications that answer: real processes, a real socket, functions of one's own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.message import ChatMessage, Prompt, Reply, Request
from adjudge.core.gateway.targets.answer import AnswerPaths, NoAnswer, TargetAnswer
from adjudge.core.gateway.targets.target import Target
from adjudge.core.gateway.targets.targets import (
    CommandTarget,
    FunctionTarget,
    HttpCall,
    HttpTarget,
)
from adjudge.core.reading.places import fill, fill_text, places_in
from adjudge.errors import ModelError, RateLimited, SetupError, Unavailable

ROW = {"question": 'What is "2+2"; $(rm -rf /)?', "contexts": ["one", "two"]}
HOSTILE = ("$(touch owned)", "`touch owned`", "; touch owned", "' touch owned", "{question}", "\n")


def asked(row: dict[str, object] = ROW) -> Request:  # type: ignore[assignment]
    return Request(Prompt((ChatMessage("user", json.dumps(row)),)))


def answer(target: Target, row: dict[str, object] = ROW) -> TargetAnswer:  # type: ignore[assignment]
    complete: Callable[[Request], Awaitable[Reply]] = target.complete

    async def ask() -> Reply:
        return await complete(asked(row))

    return TargetAnswer.of_json(asyncio.run(ask()).text)


def program(folder: Path, code: str) -> str:
    (folder / "app.py").write_text(f"import json, sys, time, os\n{code}\n")
    return f"{sys.executable} app.py"


def command(folder: Path, code: str, *arguments: str, **paths: str) -> CommandTarget:
    written = [*program(folder, code).split(), *arguments]
    return CommandTarget(written, name="app", folder=folder, paths=AnswerPaths(**paths))


def test_a_command_reads_the_row_on_its_standard_input(tmp_path: Path) -> None:
    target = command(tmp_path, "print(json.load(sys.stdin)['question'][:4])")
    assert answer(target) == TargetAnswer("What")


@pytest.mark.parametrize("text", HOSTILE)
def test_no_shell_sees_what_a_row_says(tmp_path: Path, text: str) -> None:
    target = command(tmp_path, "print(json.dumps({'answer': sys.argv[1] + '.'}))", "{question}")
    assert target.fields == ("question",)
    assert answer(target, {"question": text}).text == f"{text}."
    assert not (tmp_path / "owned").exists()


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="ended with 3: no such thing") as caught:
        answer(command(tmp_path, "print('no such thing', file=sys.stderr); sys.exit(3)"))
    assert not caught.value.retryable
    with pytest.raises(Unavailable, match="ended with 75"):
        answer(command(tmp_path, "sys.exit(75)"))
    with pytest.raises(ModelError, match="cannot be started"):
        answer(CommandTarget("no-such-program", name="x", folder=tmp_path, paths=AnswerPaths()))


def test_an_empty_answer_is_none(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="empty"):
        answer(command(tmp_path, "print('  ')"))


def test_what_a_command_started_ends_with_it(tmp_path: Path) -> None:
    code = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open('child', 'w').write(str(child.pid)); print('done', flush=True); os._exit(0)"
    )
    target = command(tmp_path, code)

    async def ask() -> str:
        return (await asyncio.wait_for(target.complete(asked()), 60)).text

    assert "done" in asyncio.run(ask()), "it has answered, whoever keeps its output open"
    pid = int((tmp_path / "child").read_text())
    for _ in range(500):
        try:
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return
        time.sleep(0.01)
    pytest.fail("the child is still there")


def test_a_command_that_prints_without_end_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="more than 10 MB"):
        answer(command(tmp_path, "while True: print('x' * 100_000)"))


def test_a_command_may_answer_before_it_has_read_everything(tmp_path: Path) -> None:
    target = command(tmp_path, "print('early')")
    assert answer(target, {"question": "x" * 1_000_000}).text == "early"


def serve(
    handler: Callable[[web.Request], Awaitable[web.Response]],
    ask: Callable[[str], Awaitable[Reply]],
) -> Reply:
    async def run() -> Reply:
        from adjudge.core.gateway.http import close_session

        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", handler)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            return await ask(f"http://127.0.0.1:{port}")
        finally:
            await close_session()
            await runner.cleanup()

    return asyncio.run(run())


def http(url: str, **said: object) -> HttpTarget:
    paths = AnswerPaths(**{name: said.pop(name) for name in ("answer", "contexts") if name in said})  # type: ignore[arg-type]
    call = HttpCall(url=url, headers=said.pop("headers", {}), **said)  # type: ignore[arg-type]
    return HttpTarget(call, name="app", paths=paths)


def test_an_endpoint_is_sent_the_template_with_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_TOKEN", "secret-token-1234")
    seen: list[tuple[object, str]] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((await request.json(), request.headers["Authorization"]))
        return web.json_response({"data": {"text": "4", "docs": [{"text": "d1"}, "d2"]}})

    reply = serve(
        handler,
        lambda url: http(
            f"{url}/ask",
            headers={"Authorization": "Bearer $APP_TOKEN"},
            body={"q": "{question}", "sources": "{contexts}", "note": "on {question}{{}}"},
            answer="data.text",
            contexts="data.docs",
        ).complete(asked({"question": "why", "contexts": ["a", "b"]})),
    )
    assert TargetAnswer.of_json(reply.text) == TargetAnswer("4", ("d1", "d2"))
    assert seen == [
        ({"q": "why", "sources": ["a", "b"], "note": "on why{}"}, "Bearer secret-token-1234")
    ]


def test_what_a_row_says_is_escaped_in_an_address() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"answer": f"{request.path} {request.query['q']}"})

    reply = serve(
        handler,
        lambda url: http(f"{url}/a?q={{question}}", method="GET").complete(
            asked({"question": "x&b=../?#"})
        ),
    )
    assert TargetAnswer.of_json(reply.text).text == "/a x&b=../?#"


@pytest.mark.parametrize(
    ("status", "kind"), [(429, RateLimited), (503, Unavailable), (404, ModelError)]
)
def test_an_endpoint_that_fails_is_no_answer(status: int, kind: type[ModelError]) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"error": "nope"}, status=status)

    with pytest.raises(kind) as failed:
        serve(handler, lambda url: http(url).complete(asked()))
    assert "model" not in str(failed.value)
    assert ("check the url of the target" in str(failed.value)) == (status == 404)


def test_an_answer_that_is_not_at_its_path_is_none() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"data": {}})

    with pytest.raises(NoAnswer, match=r"the answer has no data\.text"):
        serve(handler, lambda url: http(url, answer="data.text").complete(asked()))


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (42, "42"),
        (True, "true"),
        ("Hello", "Hello"),
        ([{"role": "assistant", "content": "Hi"}], "Hi"),
        (None, None),
        ([1], None),
    ],
)
def test_an_endpoint_may_answer_without_an_object(said: object, text: str | None) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response(said)

    def ask(url: str) -> Awaitable[Reply]:
        return http(url).complete(asked())

    if text is None:
        with pytest.raises(NoAnswer, match="has no answer in the usual"):
            serve(handler, ask)
    else:
        assert TargetAnswer.of_json(serve(handler, ask).text).text == text


def function(given: Callable[..., object]) -> FunctionTarget:
    return FunctionTarget(given, name="app", reference="app:answer", paths=AnswerPaths())


async def later(question: str) -> str:
    await asyncio.sleep(0)
    return question.upper()


def messages(row: dict[str, str]) -> list[dict[str, object]]:
    call = {"name": "search", "arguments": {"q": row["question"]}}
    return [
        {"role": "user", "content": row["question"]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "found"},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda question: f"<{question}>", TargetAnswer("<why>")),
        (lambda row: row["question"] * 2, TargetAnswer("whywhy")),
        (later, TargetAnswer("WHY")),
        (
            lambda question, top=3: {"output": question, "sources": ["s"]},
            TargetAnswer("why", ("s",)),
        ),
        (
            messages,
            TargetAnswer("done", (), '[{"name": "search", "arguments": {"q": "why"}}]'),
        ),
    ],
)
def test_a_function_takes_fields_or_the_row_and_says_it_its_way(
    given: Callable[..., object], said: TargetAnswer
) -> None:
    assert answer(function(given), {"question": "why"}) == said


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (lambda row: 1 / 0, "ZeroDivisionError"),
        (lambda row: sys.exit(2), "SystemExit"),
        (lambda row: object(), "returned object"),
        (lambda row: None, "nothing"),
        (lambda row: "", "empty"),
    ],
)
def test_a_function_that_fails_is_no_answer(given: Callable[..., object], why: str) -> None:
    with pytest.raises(ModelError, match=why):
        answer(function(given))


def test_places_are_filled_once_and_braces_stay() -> None:
    row = {"question": "{contexts}", "contexts": ["a", "b"]}
    assert fill_text("{question} {{x}} {contexts}", row) == "{contexts} {x} a\n\nb"
    assert fill({"a": ["{contexts}", 1, None]}, row) == {"a": [["a", "b"], 1, None]}
    assert list(places_in({"a": "{question} {{no}}", "b": ["{ contexts }"]})) == [
        "question",
        "contexts",
    ]
    with pytest.raises(SetupError, match="the row has no 'nothing'; it has: contexts, question"):
        fill_text("{nothing}", row)


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ("null", "it returned nothing"),
        ('{"answer": "it is', "JSON that cannot be read"),
        ('[{"role": "user"}', "JSON that cannot be read"),
        ('{"answer": null}', "has no answer in the usual places"),
        ('{"status": "ok"}', r'\{"status": "ok"\} has no answer in'),
        ('{"answer": NaN}', "the answer is not a string: NaN"),
        ('{"answer": {"a": 1}}', "the answer is not a string"),
        ('{"answer": " "}', "the answer is empty"),
        ("", "the answer is empty"),
    ],
)
def test_what_is_not_an_answer_is_said_and_not_judged(
    tmp_path: Path, printed: str, why: str
) -> None:
    with pytest.raises(NoAnswer, match=why):
        answer(command(tmp_path, f"print({printed!r})"))


@pytest.mark.parametrize(
    ("said", "text"), [("4", "4"), ("4.5", "4.5"), ("true", "true"), ("0", "0"), ("false", "false")]
)
def test_a_number_is_an_answer(tmp_path: Path, said: str, text: str) -> None:
    for place in ("answer", "data"):
        printed = json.dumps({place: json.loads(said)})
        assert answer(command(tmp_path, f"print({printed!r})", answer=place)).text == text
    assert AnswerPaths().read(json.loads(said), "app").text == text


@pytest.mark.parametrize("printed", ["[1] says so", "{name} is a place", "12", "true", "nullify"])
def test_a_text_that_only_begins_like_json_is_a_text(tmp_path: Path, printed: str) -> None:
    assert answer(command(tmp_path, f"print({printed!r})")).text == printed


@pytest.mark.parametrize(
    ("printed", "why"),
    [("plain text", "JSON that cannot be read"), ('{"data": {"text": [1]}}', "not a string")],
)
def test_a_path_leads_to_a_text(tmp_path: Path, printed: str, why: str) -> None:
    with pytest.raises(NoAnswer, match=why):
        answer(command(tmp_path, f"print({printed!r})", answer="data.text"))


@pytest.mark.parametrize("state", [{}, [], 0, False, {"cart": None}])
def test_an_empty_state_is_a_state(state: JsonValue) -> None:
    assert TargetAnswer.of_json(TargetAnswer("Hi.", state=state).to_json()).state == state
