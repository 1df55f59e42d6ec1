"""Requests as they go over the wire: what is written, over TLS and through proxies."""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adjudge.core.gateway import connections
from adjudge.core.gateway.connections import PostHead
from adjudge.core.gateway.http import Endpoint, close_session, encoded_body, post_json
from adjudge.core.gateway.proxies import proxy_for
from adjudge.errors import ModelError

# Of "localhost", signed by itself, for these tests alone; valid until 2120.
_KEY = """\
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQnTnykKtLmEjpCG7
ARlKM9F7UFJctJfjrRf685Bqe1ChRANCAARdRWjMKzBCZAoe0pih5L3cNYcqSd8D
8K7e74qLT4Irpqp9xPflgKl7V4Zd0DY8PWehKS1oAsU/pV70qo7oXcTu
"""
_CERTIFICATE = """\
MIIBYTCCAQegAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABF1FaMwrMEJkCh7S
mKHkvdw1hypJ3wPwrt7viotPgiumqn3E9+WAqXtXhl3QNjw9Z6EpLWgCxT+lXvSq
juhdxO6jSDBGMBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAPBgNVHRMBAf8EBTADAQH/
MB0GA1UdDgQWBBS6AvFKP8IiPrjTvjlze5CdkrEZxDAKBggqhkjOPQQDAgNIADBF
AiEAhPNtHa7y351WkCr9ytfVzBPNTLoz3Qis1Ckuu3ntTbMCICEJwbC3rwXFkyML
a69986s0zBK0wh/PykLLk1HlKtut
"""
_REPLY = b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"id": "%03d"}'
BODY: dict[str, Any] = {"model": "m", "messages": ["Grüße", "\U0001f600"], "n": 1.0}


class Wire:
    """A server that keeps what it reads, and answers each request with an id of its own."""

    def __init__(self, before: bytes = b"") -> None:
        self.before = before
        self.read: list[tuple[bytes, bytes]] = []
        """Head and body of each request."""
        self.connections = self.ended = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                assert length
                self.read.append((head, await reader.readexactly(int(length[1]))))
                writer.write(self.before + _REPLY % len(self.read))
        self.ended += 1
        writer.close()


@asynccontextmanager
async def listening(
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]],
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """The port at which ``talk`` is spoken to."""
    talks = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(asyncio.current_task())
        await talk(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await close_session()
        server.close()
        await asyncio.gather(*filter(None, talks))


async def by_session(endpoint: Endpoint, *, closes: bool) -> None:
    """Send BODY with the client's own session."""
    connector = aiohttp.TCPConnector(force_close=closes)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post(
            endpoint.url,
            data=encoded_body(BODY).encode(),
            headers=endpoint.headers,
            proxy=proxy_for(endpoint.url),
        ) as response,
    ):
        await response.read()


@pytest.mark.parametrize("reuses", [True, False])
@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("http://{}/v1/chat/completions", {"Authorization": "Bearer k", "X-Ä": "ü"}),
        ("http://{}/v1/größe a/?q=ä b&r=%2F#fragment", {"x-b": "1", "Accept": "application/json"}),
        ("http://me:pa%20ss@{}", {"Host": "other", "Connection": "keep-alive"}),
        ("http://through-a-proxy.invalid/v1?q=1", {"User-Agent": "mine"}),
    ],
)
def test_a_request_is_what_the_clients_session_would_send(
    address: str, headers: dict[str, str], reuses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask() -> list[tuple[bytes, bytes]]:
        wire = Wire()
        async with listening(wire.talk) as port:
            url = address.format(f"127.0.0.1:{port}")
            if "proxy" in address:
                proxy_for.cache_clear()
                monkeypatch.setenv("http_proxy", f"http://me:password@127.0.0.1:{port}")
            endpoint = Endpoint("", "m", url, {"Content-Type": "application/json", **headers})
            for _ in range(2):
                await post_json(endpoint, BODY, reuses=reuses)
            await by_session(endpoint, closes=not reuses)
        return wire.read

    *ours, theirs = [(sorted(head.split(b"\r\n")), body) for head, body in asyncio.run(ask())]
    assert ours == [theirs, theirs]
    if "proxy" in address:
        assert b"Proxy-Authorization: Basic bWU6cGFzc3dvcmQ=" in theirs[0]
        proxy_for.cache_clear()


def test_information_before_a_reply_is_skipped() -> None:
    async def ask() -> object:
        wire = Wire(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
        async with listening(wire.talk) as port:
            endpoint = Endpoint("", "m", f"http://127.0.0.1:{port}", {})
            return [await post_json(endpoint, BODY, reuses=True) for _ in range(3)]

    assert asyncio.run(ask()) == [{"id": "001"}, {"id": "002"}, {"id": "003"}]


@pytest.mark.parametrize("value", ["a\r\nB: c", "a\nb", "a\0b"])
def test_a_header_with_a_line_break_is_not_sent(value: str) -> None:
    async def ask() -> Wire:
        wire = Wire()
        async with listening(wire.talk) as port:
            endpoint = Endpoint("", "m", f"http://127.0.0.1:{port}", {"X": value})
            with pytest.raises(ModelError):
                await post_json(endpoint, BODY, reuses=True)
        return wire

    assert not asyncio.run(ask()).read


def test_two_logins_are_not_sent() -> None:
    async def ask() -> Wire:
        wire = Wire()
        async with listening(wire.talk) as port:
            url = f"http://me:password@127.0.0.1:{port}"
            endpoint = Endpoint("", "m", url, {"authorization": "Bearer k"})
            with pytest.raises(ModelError):
                await post_json(endpoint, BODY, reuses=True)
        return wire

    assert not asyncio.run(ask()).read


def test_idle_connections_are_closed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_KEPT", 0.05)

    async def ask() -> list[tuple[int, int]]:
        wire, counts = Wire(), []
        async with listening(wire.talk) as port:
            endpoint = Endpoint("", "m", f"http://127.0.0.1:{port}", {})
            for pause in (0, 0, 0, 0, 0.3, 0):
                await asyncio.sleep(pause)
                counts.append((wire.connections, wire.ended))
                await post_json(endpoint, BODY, reuses=True)
            counts.append((wire.connections, wire.ended))
        return counts

    counts = asyncio.run(ask())
    assert counts[3][0] == counts[4][0]  # one was used again
    assert counts[4][0] == counts[4][1]  # all were closed
    assert counts[5][0] == counts[4][0] + 1  # so that the next request opened one
    assert counts[6][0] == counts[5][0]


def test_connections_are_shared_by_requests_to_one_place() -> None:
    async def places(*ways: tuple[str, str | None]) -> set[str]:
        return {PostHead(url, {}, proxy).place for url, proxy in ways}

    alike = ("https://h/v1/a", None), ("https://me:word@h:443/b?c#d", None)
    assert len(asyncio.run(places(*alike))) == 1
    others = (
        ("http://h", None),
        ("https://h:8", None),
        ("https://i", None),
        ("https://h", "http://p"),
    )
    assert len(asyncio.run(places(*alike, *others))) == 5


# -- TLS ---------------------------------------------------------------------------


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    """Of a server called "localhost"."""
    file = tmp_path / "server.pem"
    parts = {"PRIVATE KEY": _KEY, "CERTIFICATE": _CERTIFICATE}
    pem = [f"-----BEGIN {name}-----\n{text}-----END {name}-----\n" for name, text in parts.items()]
    file.write_text("".join(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def trust(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the client trust the certificate, as an entry in the system's store does."""
    data = ssl.create_default_context(cadata=base64.b64decode(_CERTIFICATE))
    monkeypatch.setattr("aiohttp.connector._SSL_CONTEXT_VERIFIED", data)


async def ask_localhost(port: int) -> list[object]:
    endpoint = Endpoint("", "m", f"https://localhost:{port}/v1", {"Authorization": "Bearer k"})
    return [await post_json(endpoint, BODY, reuses=True) for _ in range(6)]


def test_a_server_is_asked_over_tls(tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    trust(monkeypatch)

    async def ask() -> tuple[list[object], Wire]:
        wire = Wire()
        async with listening(wire.talk, tls) as port:
            return await ask_localhost(port), wire

    said, wire = asyncio.run(ask())
    assert said == [{"id": f"{number:03}"} for number in range(1, 7)]
    assert wire.connections < len(said)  # some were used again


def test_a_certificate_that_nobody_signed_is_refused(tls: ssl.SSLContext) -> None:
    async def ask() -> Wire:
        wire = Wire()
        async with listening(wire.talk, tls) as port:
            with pytest.raises(ModelError, match=r"certificate of localhost.* not accepted"):
                await ask_localhost(port)
        return wire

    assert not asyncio.run(ask()).read


def test_a_server_is_asked_over_tls_through_a_proxy(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(monkeypatch)
    tunnels: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        tunnels.append(head)
        host, _, port = head.split()[1].decode().partition(":")
        there = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))

    async def ask() -> tuple[list[object], Wire]:
        wire = Wire()
        async with listening(wire.talk, tls) as port, listening(tunnel) as proxy_port:
            proxy_for.cache_clear()
            monkeypatch.setenv("https_proxy", f"http://me:password@127.0.0.1:{proxy_port}")
            return await ask_localhost(port), wire

    said, wire = asyncio.run(ask())
    proxy_for.cache_clear()
    assert said == [{"id": f"{number:03}"} for number in range(1, 7)]
    assert len(tunnels) == wire.connections
    assert b"Bearer" not in tunnels[0]
    assert b"Proxy-Authorization: Basic bWU6cGFzc3dvcmQ=" in tunnels[0]
    assert all(b"Proxy-Authorization" not in head for head, _ in wire.read)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()
