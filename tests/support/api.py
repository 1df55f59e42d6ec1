"""``adjudge serve`` on a real socket, and requests to it that say exactly what they say."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from adjudge.runs.service.deciding import DecisionService
from adjudge.runs.service.judging import JudgingService
from adjudge.runs.service.run_index import RunIndex
from adjudge.web.api import api_application, openapi
from adjudge.web.api_guard import ApiAccess
from adjudge.web.loopback import Listening

OPENAPI: Any = openapi()
REGISTRY: Registry[Any] = Registry().with_resource("", DRAFT202012.create_resource(OPENAPI))


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    access: ApiAccess
    service: JudgingService

    def ask(
        self,
        path: str,
        body: object = None,
        method: str | None = None,
        headers: Mapping[str, str | None] | None = None,
        raw: bytes | None = None,
    ) -> Answer:
        """A request as a program sends it, which the description allows; a header that is None is
        left out. ``raw``: the body's bytes.
        """
        sent = raw or (json.dumps(body).encode() if body is not None else b"")
        own = {
            "Authorization": f"Bearer {self.access.token}",
            **({"Content-Type": "application/json"} if sent else {}),
        }
        given = {
            name: value for name, value in {**own, **(headers or {})}.items() if value is not None
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.access.port, timeout=20)
        try:
            connection.request(method or ("POST" if sent else "GET"), path, sent or None, given)
            answer = connection.getresponse()
            return Answer(
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read(),
            )
        finally:
            connection.close()

    def checked(self, path: str, body: object = None) -> Any:
        """The answer of an operation, which is as it is described; so is what was sent."""
        answer = self.ask(path, body)
        operation = described(path.partition("?")[0], "get" if body is None else "post")
        if body is not None:
            validate(operation["requestBody"]["content"]["application/json"]["schema"], body)
        assert answer.status == 200, answer.body
        validate(
            operation["responses"]["200"]["content"]["application/json"]["schema"], answer.json()
        )
        return answer.json()


def described(path: str, method: str) -> Any:
    """The most particular operation that fits."""
    fitting = [
        one
        for one in OPENAPI["paths"]
        if re.fullmatch(re.sub(r"\\\{\w+\\\}", ".+", re.escape(one)), path)
    ]
    return OPENAPI["paths"][max(fitting, key=lambda one: len(one.replace("{name}", "")))][method]


def validate(schema: Mapping[str, object], value: object) -> None:
    validator = Draft202012Validator(schema, registry=REGISTRY, _resolver=REGISTRY.resolver(""))  # type: ignore[call-arg]
    validator.validate(value)


def serving(
    service: JudgingService,
    root: Path,
    at_once: int = 32,
    deciding: DecisionService | None = None,
) -> Iterator[Served]:
    listening, ready = Listening(0), threading.Event()
    access = ApiAccess(listening.port)
    app = api_application(service, RunIndex(root), access, at_once, deciding)
    thread = threading.Thread(target=listening.serve, args=(app, ready.set), daemon=True)
    thread.start()
    assert ready.wait(20)
    yield Served(access, service)
    listening.stop()
    thread.join(20)


@contextmanager
def command(root: Path) -> Iterator[tuple[subprocess.Popen[str], ApiAccess]]:
    """``adjudge serve`` as a process of its own, and how it is reached."""
    process = subprocess.Popen(
        [sys.executable, "-m", "adjudge", "serve", str(root), "-m", "scripted/No", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address, key = (
            process.stdout.readline().strip(),
            process.stdout.readline().removeprefix("key: ").strip(),
        )
        yield process, ApiAccess(int(address.rpartition(":")[2]), key)
    finally:
        process.terminate()
        process.communicate()
