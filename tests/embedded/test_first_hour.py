"""The first hour of a new user, on the embedded model and then on a server of their own: every
command but the first was named by the one before, and none stops.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from support.commands import adjudge

ONE_NEUTRAL_TEXT = """
from adjudge.core.engine import likelihood
from adjudge.core.prompts.renderer import neutral_instances
likelihood.neutral_instances = lambda *values: neutral_instances(*values)[:1]
"""
"""A prior of one text instead of eight: most of the work of a new criterion."""
STARTED = "adjudge init chat"
"""What the README says."""
GATES = "# gates: {fail_under: {dates: 0.8}, confidence: 0.95}"
MODELS = "# models: [openai/gpt-4o-mini] # left out: the embedded model"


class ModelServer(BaseHTTPRequestHandler):
    """A model that gives the first answer it is offered, unless the text is vague."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps(body["messages"])
        names = _offered(body) or ["PASS", "FAIL"]
        said = dict.fromkeys(("explanation", "reasoning"), "so it is")
        chosen = names[-1] if "soon" in text or "long ago" in text else names[0]
        key = "verdict" if names == ["PASS", "FAIL"] else "selected_option"
        content = json.dumps({**said, key: chosen})
        reply = {
            "choices": [{"message": {"content": content}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 200, "completion_tokens": 12},
        }
        sent = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *words: object) -> None:
        """Nothing."""


def _offered(body: dict[str, Any]) -> list[str]:
    """The options in a request's schema."""
    found = json.dumps(body.get("response_format", {}))
    _, _, rest = found.partition('"enum": [')
    return json.loads(f"[{rest.partition(']')[0]}]") if rest else []


@pytest.fixture
def server() -> Iterator[str]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), ModelServer)
    Thread(target=made.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}/v1#mine"
    made.shutdown()
    made.server_close()


class FirstHour:
    """A terminal: what may be typed is what was said before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = STARTED

    def type(self, line: str, stdin: str = "", code: int = 0) -> str:
        assert line in self.said, f"nothing named {line!r}:\n{self.said}"
        words = shlex.split(line)[1:]
        done = adjudge(*words, cwd=self.folder, stdin=stdin, before=ONE_NEUTRAL_TEXT)
        assert done.returncode == code, done.stdout + done.stderr
        self.said = done.stdout + done.stderr
        return self.said

    def type_again(self, line: str, code: int = 0) -> str:
        """What was typed before."""
        self.said = line
        return self.type(line, code=code)

    def edit(self, old: str, new: str) -> None:
        path = self.folder / "eval.yaml"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.usefixtures("weights")
def test_from_a_question_to_a_gate_without_a_stop(tmp_path: Path, server: str) -> None:
    hour = FirstHour(tmp_path)
    hour.type("adjudge init chat")
    example = tmp_path / "data" / "example.csv"
    rows = example.read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(rows) == 13
    example.write_text("".join(rows[:5]), encoding="utf-8")  # the embedded model takes its time
    first = hour.type("adjudge run eval.yaml")
    assert "4 rows judged by 2 criteria." in first
    assert "Cost    $0" in first
    example.write_text("".join(rows), encoding="utf-8")
    hour.edit(MODELS, f"models: ['{server}']")
    second = hour.type_again("adjudge run eval.yaml")
    assert "changed since runs/eval: continuing in runs/eval-2" in second
    assert "answers reused" not in second, "another judge answers for itself"
    hour.edit("The response gives a date or a year.", "The response says when it happens.")
    third = hour.type_again("adjudge run eval.yaml")
    assert "continuing in runs/eval-3" in third
    assert "12 answers reused" in third, "those of the criterion that did not change"
    shown = third
    assert "1 setting" in hour.type("adjudge runs diff runs/eval-2 runs/eval-3")
    hour.said = shown
    labels = "1\n2\n" * 6
    labelled = hour.type("adjudge label runs/eval-3 --criteria dates", stdin=labels)
    assert "12 of 12 labelled" in labelled
    calibrated = hour.type("adjudge calibrate runs/eval-3")
    assert "labels alone" in calibrated
    assert "on your labels the verdict says nothing about the truth" in calibrated
    hour.edit(GATES, GATES[2:])
    gate = hour.type_again("adjudge run eval.yaml", code=5)
    assert "dates" in gate


def test_a_dry_run_in_russian_estimates_enough_tokens(tmp_path: Path) -> None:
    answer = "Доставка по городу стоит триста рублей, за город договариваются отдельно."
    asked = ("check", answer, "--criterion", "Ответ вежлив и понятен.", "--language", "ru")
    expected = adjudge(*asked, "--no-cache", "--dry-run", "--json", cwd=tmp_path)
    upper = json.loads(expected.stdout)["results"][0]["tokens"]["upper"]
    done = adjudge(*asked, "--no-cache", "--json", cwd=tmp_path)
    spent = json.loads(done.stdout)["summary"]
    assert spent["prompt_tokens"] + spent["completion_tokens"] <= upper
    told = adjudge(*asked, "--no-cache", "--dry-run", cwd=tmp_path).stdout
    assert "Токены и стоимость приближённые" in told
