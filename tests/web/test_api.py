"""``adjudge serve`` over a real socket: what the OpenAPI file says is what is served, and who may
not ask is refused.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from time import sleep

import pytest
import yaml
from jsonschema import Draft202012Validator

from adjudge import AspectCritic, ScriptedModel
from adjudge.core.aio.threads import started
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import BudgetSpent, ModelUnusable
from adjudge.runs.exporters.json_schema import results_schema
from adjudge.runs.project import ModelEntry
from adjudge.runs.service.judging import JudgingService
from adjudge.runs.service.run_index import RunIndex
from adjudge.web.api import LARGEST, api_application
from adjudge.web.api_guard import ApiAccess
from adjudge.web.serve_command import KEY_VARIABLE
from support.api import OPENAPI, Served, command, serving, validate
from support.asking import wait_until
from support.commands import adjudge
from support.fake_provider import HANGS, KEY, FakeProvider, Status, always

OPERATIONS = [(path, method) for path, methods in OPENAPI["paths"].items() for method in methods]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("runs")
    AspectCritic("Names a date.", ScriptedModel(["FAIL", "PASS"]), name="dates").evaluate(
        ["Long ago.", "On May 1, 1889."], run=root / "nightly" / "one"
    )
    yield from serving(JudgingService([ModelEntry(model="scripted/Yes")]), root)


# -- what is served ------------------------------------------------------------------


def test_the_description_is_sound() -> None:
    assert OPENAPI["openapi"].startswith("3.1")
    for schema in OPENAPI["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    for reference in re.findall(r"'\$ref': '#/([^']+)'", str(OPENAPI)):
        found = OPENAPI
        for part in reference.split("/"):
            found = found[part]
    ids = [OPENAPI["paths"][path][method]["operationId"] for path, method in OPERATIONS]
    assert len(ids) == len(set(ids))
    for path, method in OPERATIONS:
        operation = OPENAPI["paths"][path][method]
        assert {"200", "default"} == operation["responses"].keys(), path
        named = [
            one.get("name") or one["$ref"].rpartition("/")[2].lower()
            for one in operation.get("parameters", [])
        ]
        assert len(re.findall(r"\{", path)) <= len(named), path


def test_every_address_is_described_and_the_other_way_round(api: Served) -> None:
    app = api_application(api.service, RunIndex(Path.cwd()), api.access)
    routes = app._app.routes  # type: ignore[attr-defined]
    served = {
        (re.sub(r":\w+", "", route.path), method.lower())
        for route in routes
        for method in route.methods - {"HEAD"}
    }
    assert served == set(OPERATIONS)


def test_a_text_is_judged(api: Served) -> None:
    found = api.checked(
        "/v1/judge", {"criteria": "Is it polite?", "response": "Thank you.", "votes": 3}
    )
    assert (found["status"], found["option"], found["score"], found["models"]) == (
        "scored",
        "Yes",
        1.0,
        ["scripted/Yes"],
    )
    own = {
        "name": "short",
        "description": "Is it short?",
        "options": [{"name": "Yes", "score": 1}, {"name": "No", "score": 0}],
    }
    found = api.checked(
        "/v1/judge",
        {"criteria": own, "response": "x", "fields": {"user_input": "y", "contexts": ["a", "b"]}},
    )
    assert found["criteria"] == "short"


def test_half_a_character_is_answered_as_what_it_was(api: Served) -> None:
    found = api.checked(
        "/v1/judge", {"criteria": "Is \ud83d polite?", "response": "Thank you \ud83d."}
    )
    assert found["criteria"] == "Is \ud83d polite?"
    assert (
        api.ask("/v1/judge", {"criteria": "\ud83d", "response": "x"}).json()["error"]["type"]
        == "request"
    )


def test_a_failed_judgment_is_an_answer_without_a_score(api: Served) -> None:
    found = api.checked(
        "/v1/compare",
        {"criteria": "Which is better?", "responses": ["one", "two"], "both_orders": False},
    )
    assert (found["status"], found["score"], found["winner"]) == ("failed", None, None)
    assert found["reason"]


def test_the_components_of_a_judgment_are_those_of_its_record() -> None:
    """Nobody writes them down a second time."""
    written = yaml.safe_load((files("adjudge.web") / "openapi.yaml").read_text(encoding="utf-8"))
    made = results_schema()["$defs"]
    said = json.loads(json.dumps(made).replace("#/$defs/", "#/components/schemas/"))
    found = OPENAPI["components"]["schemas"]
    assert {name: found[name] for name in ("Judgment", "Vote", "Step")} == {
        name: said[name] for name in ("Judgment", "Vote", "Step")
    }
    assert not {"Judgment", "Result", "Vote"} & written["components"]["schemas"].keys()


def test_criteria_are_listed_shown_and_checked(api: Served) -> None:
    names = [one["name"] for one in api.checked("/v1/criteria?kind=direct")["criteria"]]
    assert "conciseness" in names and not [name for name in names if name.startswith("pairwise_")]
    assert api.checked("/v1/criteria/conciseness?language=ru")["language"] == "ru"
    doubtful = {
        "name": "x",
        "description": "Is it short and polite?",
        "options": [{"name": "Yes"}, {"name": "No"}],
    }
    assert api.checked("/v1/criteria/lint", {"criteria": doubtful})["findings"]


def test_runs_are_listed_and_read(api: Served) -> None:
    (run,) = api.checked("/v1/runs")["runs"]
    assert run["name"] == "nightly/one"
    assert api.checked("/v1/runs/nightly/one")["rows"] == 2
    assert api.ask("/v1/runs/nightly%2Fone").status == 200
    page = api.checked("/v1/runs/nightly/one/rows?limit=1")
    assert page["rows"][0]["fields"] == {"response": "Long ago."}
    following = api.checked(f"/v1/runs/nightly/one/rows?limit=1&after={page['next']}")
    assert (following["rows"][0]["row"], following["next"]) == (2, None)
    assert api.checked("/v1/runs/nightly/one/calibration") is not None


def test_the_server_says_how_it_stands(api: Served) -> None:
    assert api.checked("/v1/status")["models"] == ["scripted/Yes"]
    assert api.checked("/v1/openapi.json")["paths"].keys() == OPENAPI["paths"].keys()


# -- what is refused -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "path", "headers"),
    [
        (401, "/v1/status", {"Authorization": None}),
        (401, "/v1/status", {"Authorization": "Bearer wrong"}),
        (401, "/v1/openapi.json", {"Authorization": "Basic {key}"}),
        (403, "/v1/status", {"Origin": "http://127.0.0.1:{port}"}),
        (403, "/v1/status", {"Sec-Fetch-Site": "cross-site"}),
        (421, "/v1/status", {"Host": "evil.example"}),
        (421, "/v1/status", {"Host": "127.0.0.1:1"}),
        (404, "/v1/nothing", {}),
        (404, "/v1/runs/../../etc", {}),
        (404, "/v1/runs/%2e%2e%2fother", {}),
        (414, f"/v1/status?x={'x' * 9000}", {}),
        (400, "/v1/runs/nightly/one/rows?limit=1000", {}),
        (400, "/v1/runs/nightly/one/rows?status=odd", {}),
        (400, "/v1/criteria/nothing_like_it", {}),
        (400, "/v1/criteria?kind=odd", {}),
        (400, "/v1/runs/nightly/one/rows?limit=1.5", {}),
    ],
)
def test_a_request_that_must_not_be_answered_is_refused(
    api: Served, status: int, path: str, headers: Mapping[str, str | None]
) -> None:
    given = {
        name: value and value.format(key=api.access.token, port=api.access.port)
        for name, value in headers.items()
    }
    answer = api.ask(path, headers=given)
    assert answer.status == status, answer.body
    validate(OPENAPI["components"]["schemas"]["Problem"], answer.json())
    assert api.access.token.encode() not in answer.body


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (400, {"criteria": "Is it polite?"}, {}),
        (400, {"criteria": "Is it polite?", "response": "x", "vote": 3}, {}),
        (400, {"criteria": "Is it polite?", "response": "x", "votes": 1000}, {}),
        (400, {"criteria": "Is it polite?", "response": "x", "votes": 1.5}, {}),
        (400, {"criteria": "Is it polite?", "response": "x", "fields": []}, {}),
        (400, {"criteria": "Is it polite?", "response": "x", "fields": {"response": "y"}}, {}),
        (400, {"criteria": "Is it polite?", "response": ["x"]}, {}),
        (400, {"criteria": "Is it polite?", "response": "x" * 200_001}, {}),
        (400, {"criteria": "../../etc/passwd.yaml", "response": "x"}, {}),
        (400, {"criteria": "nothing_like_it", "response": "x"}, {}),
        (400, [1], {}),
        (413, {"criteria": "x" * (LARGEST + 1)}, {}),
        (415, {"criteria": "Is it polite?", "response": "x"}, {"Content-Type": "text/plain"}),
        (405, {"criteria": "Is it polite?", "response": "x"}, {"method": "PUT"}),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    api: Served, status: int, body: object, headers: dict[str, str]
) -> None:
    method = headers.get("method", "POST")
    answer = api.ask(
        "/v1/judge",
        body,
        method,
        {name: value for name, value in headers.items() if name != "method"},
    )
    assert answer.status == status, answer.body
    validate(OPENAPI["components"]["schemas"]["Problem"], answer.json())


def test_a_body_without_a_length_is_not_read(api: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", api.access.port, timeout=20)
    headers = {"Authorization": f"Bearer {api.access.token}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/judge", iter([b"{", b"}"]), headers, encode_chunked=True)
    assert connection.getresponse().status == 411
    connection.close()


# -- what it may cost ----------------------------------------------------------------


def paid(provider: FakeProvider, budget: Budget) -> JudgingService:
    entry = ModelEntry(model="openai/gpt-4o-mini", base_url=provider.base_url("openai"))
    return JudgingService([entry], budget=budget, cache=False)


def test_all_requests_share_one_budget(
    tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for served in serving(paid(provider, Budget(max_calls=2)), tmp_path):
        asked = [
            {"criteria": "Does it end in Y?", "response": f"REC-0000{number}-Y"}
            for number in range(3)
        ]
        assert [served.ask("/v1/judge", one).status for one in asked] == [200, 200, 402]
        assert served.checked("/v1/status")["spent"]["calls"] == 2
    assert len(provider.requests) == 2


def test_a_question_for_which_the_rest_does_not_suffice_leaves_it_to_smaller_ones(
    tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for served in serving(paid(provider, Budget(max_usd=0.002)), tmp_path):
        asked = [
            {"criteria": "Does it end in Y?", "response": text}
            for text in ("word " * 30_000, "REC-00001-Y")
        ]
        assert [served.ask("/v1/judge", one).status for one in asked] == [402, 200]
    assert len(provider.requests) == 1


def test_what_is_under_way_stays_set_aside_when_a_model_was_unusable_for_somebody(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    service = paid(provider, Budget(max_calls=2))
    provider.faults = always(Status(401))
    with pytest.raises(ModelUnusable):
        service.judge("Does it end in Y?", "REC-00002-Y")
    provider.faults = lambda record, _: HANGS if record == 1 else None
    waiting = started(lambda: service.judge("Does it end in Y?", "REC-00001-Y"), "waits")
    assert wait_until(lambda: len(provider.requests) == 2)
    service.open_budget.halt(ModelUnusable("gone"))
    with pytest.raises(ModelUnusable):
        service.judge("Does it end in Y?", "REC-00003-Y")
    asked = started(lambda: service.judge("Does it end in Y?", "REC-00004-Y"), "asks")
    sleep(0.3)
    assert (len(provider.requests), waiting.done()) == (2, False)
    assert not asked.done() or isinstance(asked.exception(), BudgetSpent)


def test_who_asks_for_too_much_at_once_is_told_to_wait(tmp_path: Path) -> None:
    for served in serving(JudgingService([ModelEntry(model="scripted/Yes")]), tmp_path, at_once=0):
        answer = served.ask("/v1/judge", {"criteria": "Is it polite?", "response": "x"})
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")


# -- the command ---------------------------------------------------------------------


def half_a_request(access: ApiAccess) -> socket.socket:
    """A connection on which the end of a body never comes."""
    head = (
        f"POST /v1/judge HTTP/1.1\r\nHost: 127.0.0.1:{access.port}\r\nAuthorization: Bearer "
        f"{access.token}\r\n"
    )
    half = socket.create_connection(("127.0.0.1", access.port), timeout=20)
    half.sendall(
        f'{head}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{{"criteria"'.encode()
    )
    return half


def test_what_is_under_way_when_the_server_stops_is_told_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server = serving(JudgingService([ModelEntry(model="scripted/Yes")]), tmp_path)
    with half_a_request(next(server).access) as half:
        assert next(server, None) is None  # stopped
        answer = half.makefile("rb").read().decode()
    assert answer.startswith("HTTP/1.1 503 ") and '"type": "stopped"' in answer
    assert "Traceback" not in capfd.readouterr().err


def test_the_command_prints_its_address_and_a_key(tmp_path: Path) -> None:
    with command(tmp_path) as (_, access):
        served = Served(access, JudgingService([ModelEntry(model="scripted/No")]))
        assert (
            served.checked("/v1/judge", {"criteria": "Is it polite?", "response": "x"})["option"]
            == "No"
        )


def test_other_machines_need_a_key_of_yours(tmp_path: Path) -> None:
    own = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
    done = adjudge("serve", tmp_path, "-m", "scripted", "--host", "0.0.0.0", environment=own)
    assert done.returncode == 1
    assert KEY_VARIABLE in done.stderr
    done = adjudge("serve", tmp_path, "-m", "scripted", environment={**own, KEY_VARIABLE: "short"})
    assert "needs at least 16" in done.stderr


def test_the_description_is_printed() -> None:
    assert (
        json.loads(adjudge("serve", "--openapi").stdout)["paths"].keys() == OPENAPI["paths"].keys()
    )
