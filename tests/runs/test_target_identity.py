"""A stored answer is used again only for the same request to the same application, read in the same
way: every setting that can change an answer is part of what it is looked up by.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from adjudge.core.domain.vote import Ballot
from adjudge.core.ledger.file import connect, read_meta, write_meta
from adjudge.core.reading.types import keys_of
from adjudge.errors import SetupError
from adjudge.runs.eval_file import parse_eval
from adjudge.runs.plan import resolve
from adjudge.runs.project import ModelEntry
from adjudge.runs.target_entry import TargetEntry
from support.asking import MODELS
from support.commands import adjudge
from support.fake_provider import FakeProvider

APP = "def a(row):\n    return 'a'\n\ndef b(row):\n    return 'b'\n"
TARGETS: Mapping[str, Mapping[str, object]] = {
    "model": {"model": "openai/m", "prompts": ["one.txt"]},
    "command": {"command": "python app.py"},
    "url": {"url": "http://127.0.0.1:1/ask"},
    "function": {"function": "app.py:a"},
    "mcp": {"mcp": "python app.py"},
}
"""The least that each kind of target needs."""
CHANGED: Mapping[str, object] = {
    "name": "another",
    "model": "openai/n",
    "command": ["python", "app.py", "{id}"],
    "url": "http://127.0.0.1:1/other",
    "function": "app.py:b",
    "mcp": "python app.py -v",
    "tool": "search",
    "method": "GET",
    "body": {"q": "{question}"},
    "headers": {"X-Mode": "v2"},
    "answer": "data.text",
    "contexts": "data.sources",
    "tool_calls": "data.calls",
    "state": "data.state",
    "prompts": ["two.txt"],
    "temperature": 0.5,
    "base_url": "http://127.0.0.1:1/v1",
    "api_key_env": "OTHER_KEY",
    "max_concurrency": 2,
    "requests_per_minute": 100,
    "timeout": 7,
    "max_retries": 1,
}
KINDS = ("model", "command", "url", "function", "mcp")
SAME_ANSWER = ("max_concurrency", "requests_per_minute", "timeout", "max_retries")
"""Settings that cannot change an answer."""
SAME_ANSWER_OF_MODEL = ("name", "headers", "api_key_env", "tokens_per_minute", "window")
"""The same of a model: see docs/models.md, "Does a key or header change the model?"."""
USER: Mapping[str, object] = {
    "model": "openai/n",
    "temperature": 0.1,
    "seed": 3,
    "reasoning_effort": "low",
    "parameters": {"top_p": 0.5},
    "base_url": "http://127.0.0.1:1/v1",
    "headers": {"X-Mode": "v2"},
    "api_key_env": "OTHER_KEY",
    "max_concurrency": 2,
    "requests_per_minute": 100,
    "tokens_per_minute": 1000,
    "timeout": 7,
    "window": 9000,
}
JUDGES = [{"kind": "check", "checks": [{"contains": "a"}]}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENAI_API_KEY", "OTHER_KEY", "MODE", "TOKEN"):
        monkeypatch.setenv(name, "v1")
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "one.txt").write_text("Say {question}")
    (tmp_path / "two.txt").write_text("Please say {question}")
    (tmp_path / "rows.csv").write_text("id,question\nr1,why\n")
    (tmp_path / "talks.yaml").write_text("- {id: r1, goal: Do it.}\n")
    return tmp_path


def key_in(folder: Path, target: object, judges: object = JUDGES, data: str = "rows.csv") -> bytes:
    """Return the key under which the first answer is stored."""
    text = yaml.safe_dump({"data": data, "target": target, "judges": judges})
    plan = resolve(parse_eval(text, folder / "eval.yaml"))
    judge, row = plan.judges[0].judge, plan.first_row()
    assert row is not None
    ballot: Ballot = judge.plan(plan.judges[0].items(row)[0], ())[0]
    return judge.vote_keys()(ballot, {})


def test_every_setting_is_tried() -> None:
    assert set(CHANGED) == set(keys_of(TargetEntry))
    assert set(USER) == set(keys_of(ModelEntry)) - {"prompt_caching"}


@pytest.mark.parametrize("setting", [name for name in CHANGED if name not in KINDS])
@pytest.mark.parametrize("kind", TARGETS)
def test_a_changed_setting_asks_again(folder: Path, kind: str, setting: str) -> None:
    before = {"name": "app", **TARGETS[kind]}
    after = {**before, setting: CHANGED[setting]}
    try:
        key = key_in(folder, after)
    except SetupError as error:
        assert f"{setting} has no effect on a target with {kind}" in str(error)
        return
    cannot = (*SAME_ANSWER, *(SAME_ANSWER_OF_MODEL if kind == "model" else ()))
    assert (key == key_in(folder, before)) == (setting in cannot)


@pytest.mark.parametrize("kind", TARGETS)
def test_another_application_is_asked(folder: Path, kind: str) -> None:
    before = {"name": "app", **TARGETS[kind]}
    assert key_in(folder, {**before, kind: CHANGED[kind]}) != key_in(folder, before)


@pytest.mark.parametrize("setting", ["body", "headers", "state", "answer"])
def test_a_conversation_is_held_again(folder: Path, setting: str) -> None:
    judges = [{"kind": "conversation", "user": "rules"}]
    before = {"name": "app", **TARGETS["url"]}
    keys = [
        key_in(folder, target, judges, "talks.yaml")
        for target in (before, {**before, setting: CHANGED[setting]})
    ]
    assert keys[0] != keys[1]


@pytest.mark.parametrize("setting", USER)
def test_another_simulated_user_is_asked(folder: Path, setting: str) -> None:
    before = {"model": "openai/m"}
    keys = [
        key_in(
            folder,
            TARGETS["url"],
            [{"kind": "conversation", "user": user}],
            "talks.yaml",
        )
        for user in (before, {**before, setting: USER[setting]})
    ]
    assert (keys[0] == keys[1]) == (setting in (*SAME_ANSWER, *SAME_ANSWER_OF_MODEL))


@pytest.mark.parametrize(
    ("url", "other"),
    [
        ("http://127.0.0.1:1/ask?code=en", "http://127.0.0.1:1/ask?code=fr"),
        ("http://127.0.0.1:1/ask?token=a1", "http://127.0.0.1:1/ask?token=b2"),
        ("http://ada:one@127.0.0.1:1/ask", "http://eva:two@127.0.0.1:1/ask"),
    ],
)
def test_hidden_parts_of_an_address_count_and_are_not_stored(
    folder: Path, url: str, other: str
) -> None:
    assert key_in(folder, {"url": url}) != key_in(folder, {"url": other})
    text = yaml.safe_dump({"data": "rows.csv", "target": {"url": url}, "judges": JUDGES})
    configuration = resolve(parse_eval(text, folder / "eval.yaml")).configuration
    hidden = url.partition("code=")[2] or url.partition("token=")[2] or "ada:one"
    assert f"={hidden}" not in json.dumps(configuration)
    assert f"//{hidden}" not in json.dumps(configuration)


@pytest.mark.parametrize(
    ("header", "asks_again"),
    [({"X-Mode": "$MODE"}, True), ({"Authorization": "Bearer $TOKEN"}, False)],
)
def test_a_variable_in_a_header_counts_unless_it_is_a_key(
    folder: Path, header: Mapping[str, str], asks_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = {**TARGETS["url"], "headers": header}
    before = key_in(folder, target)
    monkeypatch.setenv("MODE", "v2")
    monkeypatch.setenv("TOKEN", "v2")
    assert (key_in(folder, target) != before) == asks_again
    with_other_variable = {
        name: value.replace("$", "$OTHER_KEY ") for name, value in header.items()
    }
    assert key_in(folder, {**target, "headers": {**with_other_variable}}) != before


def test_header_values_are_not_stored(folder: Path) -> None:
    target = {**TARGETS["url"], "headers": {"X-Team": "zanzibar", "X-Mode": "$MODE"}}
    text = yaml.safe_dump({"data": "rows.csv", "target": target, "judges": JUDGES})
    stored = json.dumps(resolve(parse_eval(text, folder / "eval.yaml")).configuration)
    assert "x-team" in stored
    assert "zanzibar" not in stored


def test_a_changed_body_is_answered_again(folder: Path, provider: FakeProvider) -> None:
    """The whole way: the second command must not take the answer to the first request."""
    provider.answer = lambda body: f"a{body['model']}"
    url = f"{provider.base_url(MODELS['openai'][1])}/chat/completions"
    target = {"name": "bot", "url": url, "answer": "choices[0].message.content"}
    requests = []
    for version in ("v1", "v2"):
        body = {"model": version, "messages": [{"role": "user", "content": "{question}"}]}
        text = {"data": "rows.csv", "target": {**target, "body": body}, "judges": JUDGES}
        (folder / "eval.yaml").write_text(yaml.safe_dump(text))
        done = adjudge("run", "eval.yaml", "--trust", cwd=folder)
        assert done.returncode in (0, 3), done.stderr
        requests.append(len(provider.requests))
    assert requests == [1, 2]
    assert "continuing in runs/eval-2" in done.stderr
    refused = adjudge("run", "eval.yaml", "--trust", "--run", "runs/eval", cwd=folder)
    assert refused.returncode == 1
    assert "target.bot.identity" in refused.stderr


def test_answers_of_an_earlier_version_are_not_taken_and_it_says_so(folder: Path) -> None:
    text = {"data": "rows.csv", "target": {"name": "bot", "function": "app.py:a"}, "judges": JUDGES}
    (folder / "eval.yaml").write_text(yaml.safe_dump(text))
    assert adjudge("run", "eval.yaml", "--trust", cwd=folder).returncode == 0
    make_old(folder / "runs" / "eval")
    notice = "The applications are asked again: runs/eval comes from an earlier version of adjudge"
    done = adjudge("run", "eval.yaml", "--trust", cwd=folder)
    assert done.returncode == 0
    assert notice in done.stderr
    assert (folder / "runs" / "eval-2").is_dir()
    refused = adjudge("run", "eval.yaml", "--trust", "--run", "runs/eval", cwd=folder)
    assert refused.returncode == 1
    assert notice in refused.stderr


def make_old(run: Path) -> None:
    """Give the run's target the identity that adjudge 1.2 stored: without a body and paths."""
    with connect(run / "ledger.sqlite") as ledger:
        configuration = json.loads(json.dumps(read_meta(ledger)["configuration"]))
        for judge in configuration["judges"].values():
            for target in judge["target"]:
                target["identity"] = target["identity"].partition(" {")[0]
        write_meta(ledger, {"configuration": configuration})
