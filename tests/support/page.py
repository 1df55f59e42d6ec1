"""The page on a real socket, and requests to it that say exactly what they say."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from adjudge.web.guard import Access
from adjudge.web.server import PageServer


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Page:
    """A running server."""

    access: Access
    running: PageServer | None = None
    """Where it is in this process."""

    @property
    def server(self) -> PageServer:
        assert self.running
        return self.running

    def ask(self, path: str, method: str = "GET", body: str = "", **headers: str) -> Answer:
        """One request as it stands; ``x_adjudge_token`` and the like name headers."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.access.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host="host" in given)
            for name, value in given.items():
                connection.putheader(name, value)
            if body:
                connection.putheader("content-length", str(len(body.encode())))
            connection.endheaders(body.encode() or None)
            answer = connection.getresponse()
            return Answer(
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read(),
            )
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        """As a browser that has the cookie."""
        return self.ask(self.access.place + path, **{"cookie": self.cookie, **headers})

    def data(self, path: str) -> Any:
        """As a script that wants JSON."""
        answer = self.get(path, accept="application/json")
        assert answer.status == 200, answer.text
        return answer.json()

    def post(self, path: str, **fields: str) -> Answer:
        """As our own page does."""
        headers = {
            "origin": f"http://127.0.0.1:{self.access.port}",
            "x_adjudge_token": self.access.form_token,
        }
        return self.ask(
            self.access.place + path,
            "POST",
            urlencode(fields) or "nothing=",
            cookie=self.cookie,
            **headers,
        )

    @property
    def cookie(self) -> str:
        return f"{self.access.cookie}={self.access.session}"

    def led_to(self, answer: Answer) -> str:
        """Where our own page goes on after an answer."""
        assert answer.headers["hx-redirect"].startswith(f"{self.access.place}/")
        return answer.headers["hx-redirect"].removeprefix(self.access.place)

    def address(self, path: str) -> str:
        """What a browser that has the cookie opens."""
        return f"http://127.0.0.1:{self.access.port}{self.access.place}{path}"

    def run(self, name: str) -> str:
        """The address of the run of that name."""
        return next(f"/run/{one['id']}" for one in self.data("/")["runs"] if one["name"] == name)


@contextmanager
def served(
    root: Path,
    *,
    read_only: bool = False,
    language: str = "en",
    max_usd: float = 1.0,
    models: Sequence[str] = (),
    home: Path | None = None,
) -> Iterator[Page]:
    """The page of a folder of runs."""
    server = PageServer(
        root, read_only=read_only, language=language, max_usd=max_usd, models=models, home=home
    )
    ready = threading.Event()
    thread = threading.Thread(target=server.serve, args=(lambda _: ready.set(),))
    thread.start()
    try:
        assert ready.wait(20)
        yield Page(server.access, server)
    finally:
        server.stop()
        thread.join(20)
