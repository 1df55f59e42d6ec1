"""The examples of CONTRIBUTING.md, put where it says into a copy of the package, and used there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from adjudge.web.guard import Access
from support.page import Page

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"^```\w+\n\{?# src/(\S+)(?: #\})?\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE
)
LINES = re.findall(r"^# OURS (\w+): (\S+) = (\S+)$", GUIDE, re.MULTILINE)
MOST_LINES = 30


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with the examples in it. Files that are not changed are links."""
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(ROOT / "src/adjudge", source / "adjudge", copy_function=os.symlink)
    for name, text in EXAMPLES:
        _add(source / name, text)
        if (source / name).parent.parent.name == "features":
            (source / name).with_name("__init__.py").touch()
    lines = [f"OURS[{kind!r}][{name!r}] = {target!r}\n" for kind, name, target in LINES]
    _add(source / "adjudge/plugins.py", "".join(lines))
    return source


def _add(path: Path, text: str) -> None:
    """Add to the end of a file, or begin it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.unlink(missing_ok=True)
    path.write_text(f"{before}\n\n{text}" if before else text, encoding="utf-8")


def environment(source: Path, **values: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(source), **values}


def adjudge(source: Path, folder: Path, *words: str, **values: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "adjudge", *words],
        cwd=folder,
        env=environment(source, **values),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class _Acme(BaseHTTPRequestHandler):
    """The server of the provider in the guide."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/generate" and self.headers["Authorization"] == "Bearer a key"
        answer = "PASS" if asked["model"] == "small" and "Is it polite?" in asked["text"] else ""
        body = json.dumps({"answer": answer, "tokens": {"in": 40, "out": 2}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def acme() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Acme) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_every_example_is_short() -> None:
    assert {kind for kind, _, _ in LINES} == {"models", "judges", "importers", "pages"}
    too_long = [name for name, text in EXAMPLES if len(text.splitlines()) >= MOST_LINES]
    assert not too_long


def test_the_provider_is_asked(source: Path, tmp_path: Path, acme: str) -> None:
    words = ["check", "Hello.", "--criterion", "Is it polite?", "-m", "acme/small", "--json"]
    printed = adjudge(source, tmp_path, *words, ACME_BASE_URL=acme, ACME_API_KEY="a key")
    (result,) = json.loads(printed)["results"]
    assert result["verdict"] == "PASS"


def test_the_judge_stops_when_two_votes_agree(source: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("response\nHello.\n", encoding="utf-8")
    eval_file = (
        "data: rows.csv\nmodels: [scripted/Yes]\n"
        "judges: [{kind: agreed, question: 'Is it polite?'}]\n"
    )
    (tmp_path / "eval.yaml").write_text(eval_file, encoding="utf-8")
    (result,) = json.loads(adjudge(source, tmp_path, "run", "eval.yaml", "--json"))["results"]
    assert (result["option"], result["votes_requested"]) == ("Yes", 2)


def test_the_importer_reads_a_table(source: Path, tmp_path: Path) -> None:
    (tmp_path / "study.csv").write_text(
        "number,question,answer_a,answer_b,preferred,gpt_verdict,gpt_reason,year\n"
        "7,Who?,He.,She.,b,b,It is her.,2024\n8,Why?,So.,Because.,a,none,,2024\n",
        encoding="utf-8",
    )
    words = ["import", "study.csv", "--run", "run", "--json"]
    report = json.loads(adjudge(source, tmp_path, *words))["results"][0]
    assert (report["format"], report["judges"], report["labels"]) == ("study", {"gpt": 2}, 2)
    adjudge(source, tmp_path, "export", "run", "-o", "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    first, second = map(json.loads, lines)
    assert (first["winner"], first["explanation"]) == ("response 2", "It is her.")
    assert second["winner"] is None and second["votes"][0]["outcome"] == "unreadable"


def test_the_page_is_served(source: Path, tmp_path: Path) -> None:
    words = ["check", "Hello.", "--aspect", "coherence", "-m", "scripted/PASS"]
    adjudge(source, tmp_path, *words, "--run", "runs/one")
    with subprocess.Popen(
        [sys.executable, "-m", "adjudge", "view", "runs", "--no-open"],
        cwd=tmp_path,
        env=environment(source),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout
            address = urlsplit(process.stdout.readline().strip())
            page = Page(Access(address.port or 0, address.query.removeprefix("token=")))
            assert "<li>one: 1</li>" in page.get("/sizes").text
        finally:
            process.kill()
