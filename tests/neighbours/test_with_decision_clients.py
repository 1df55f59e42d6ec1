"""The conformance suite of System One and the official clients of TypeSafe and OpenAI, unchanged,
against ``adjudge serve`` with the embedded model.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

for package in ("jevcompat", "typesafe_sdk", "openai"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: make test-decisions", allow_module_level=True)

KEY = "0123456789abcdefgh"
STATE = "Thank you for the lamp. It came on Tuesday and it is broken."


@pytest.fixture(scope="module", params=["", "--text-first"])
def url(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    more = [request.param] if request.param else []
    process = subprocess.Popen(
        [sys.executable, "-m", "adjudge", "serve", ".", "--port", str(port), "--no-cache", *more],
        cwd=tmp_path_factory.mktemp("served"),
        env={**os.environ, "ADJUDGE_API_KEY": KEY},
    )
    for _ in range(600):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.2)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(30)


def test_every_requirement_of_the_suite_holds(url: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    suite = str(Path(sys.executable).with_name("jevcompat"))  # the package has no __main__
    command = [suite, "test", url, "--key", KEY, "--timeout", "900"]
    done = subprocess.run(
        [*command, "--json", str(report)], capture_output=True, text=True, check=False
    )
    assert "MUST 32/32, SHOULD 15/15" in done.stdout, done.stdout
    assert json.loads(report.read_text())


@pytest.mark.parametrize("page", ["decision-server.md", "ru/decision-server.md"])
def test_the_example_of_the_page_runs(url: str, page: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    (example,) = re.findall(r"^```py\n(.*?)^```$", text, re.S | re.M)
    here = example.replace("http://127.0.0.1:8765", url)
    exec(compile(re.sub('api_key="[^"]*"', f'api_key="{KEY}"', here), page, "exec"), {})


def test_the_client_of_typesafe_reads_all_kinds(url: str) -> None:
    client = importlib.import_module("typesafe_sdk").TypeSafeClient(
        api_key=KEY, base_url=url, timeout=300
    )
    questions = {
        "ok": {"type": "noul", "instructions": "The text thanks somebody."},
        "team": {"type": "choice", "criteria": {"billing": None, "tech": "Broken things"}},
        "anger": {"type": "score", "criteria": ["calm", "annoyed", "angry"]},
    }
    answers = client.system_one(state=STATE, questions=questions).answers
    assert set(answers) == set(questions)
    assert 0 <= answers["ok"].noul <= 1
    assert answers["team"].choice in ("billing", "tech")
    assert 0 <= answers["anger"].score <= 2


def test_the_client_of_openai_reads_all_kinds(url: str) -> None:
    client = importlib.import_module("openai").OpenAI(api_key=KEY, base_url=f"{url}/v1")
    reply = client.decisions.create(
        model="adjudge",
        input=STATE,
        questions=[
            {"type": "predicate", "name": "thanks", "instructions": "The text thanks somebody."},
            {
                "type": "choice",
                "instructions": "Who handles it?",
                "choices": [{"value": "billing"}, {"value": "tech", "description": "Bugs"}],
            },
            {
                "type": "score",
                "name": "anger",
                "instructions": "How angry?",
                "levels": [{"label": "calm"}, {"label": "annoyed"}, {"label": "angry"}],
            },
        ],
    )
    assert [one.name for one in reply.answers] == ["thanks", None, "anger"]
    assert [one.type for one in reply.answers] == ["predicate", "choice", "score"]
    assert "adjudge" in [one.id for one in client.models.list().data]
