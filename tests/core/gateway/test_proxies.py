"""The proxy that the environment names is used, and never left out in silence."""

from __future__ import annotations

import base64

import pytest

from adjudge.core.gateway.opener import open_model
from adjudge.core.gateway.proxies import proxy_for
from adjudge.errors import ModelError, SetupError
from support.asking import ask, open_at
from support.fake_provider import FakeProvider
from support.raw_server import RawServer, answer

PASSWORD = "MARKED-7f3a91c2"


def through(
    monkeypatch: pytest.MonkeyPatch, url: str = "http://models.example/v1", **variables: str
) -> str | None:
    proxy_for.cache_clear()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return proxy_for(url)


@pytest.mark.parametrize(
    ("variables", "url", "proxy"),
    [
        ({}, "http://models.example/v1", None),
        ({"HTTP_PROXY": "http://p:1"}, "http://models.example/v1", "http://p:1"),
        ({"http_proxy": "p:1"}, "http://models.example/v1", "http://p:1"),
        ({"HTTP_PROXY": "http://p:1"}, "https://models.example/v1", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https://models.example/v1", "http://p:1"),
        ({"https_proxy": "me:pw@p:1"}, "https://models.example/v1", "http://me:pw@p:1"),
        ({"ALL_PROXY": "http://p:1"}, "https://models.example/v1", "http://p:1"),
        ({"all_proxy": "p:1"}, "http://models.example/v1", "http://p:1"),
        (
            {"ALL_PROXY": "http://p:1", "HTTPS_PROXY": "http://q:2"},
            "https://models.example/v1",
            "http://q:2",
        ),
        (
            {"ALL_PROXY": "socks5://p:1", "HTTP_PROXY": "http://q:2"},
            "http://models.example/v1",
            "http://q:2",
        ),
    ],
)
def test_a_proxy_is_found_in_every_variable(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], url: str, proxy: str | None
) -> None:
    assert through(monkeypatch, url, **variables) == proxy


@pytest.mark.parametrize(
    ("exceptions", "url", "direct"),
    [
        ("*", "http://models.example/v1", True),
        ("models.example", "http://models.example/v1", True),
        ("example", "http://models.example/v1", True),
        (".example", "http://models.example/v1", True),
        ("*.example", "http://models.example/v1", True),
        ("els.example", "http://models.example/v1", False),
        ("other.example, models.example", "http://models.example/v1", True),
        ("MODELS.example", "http://Models.Example/v1", True),
        ("models.example:8000", "http://models.example:8000/v1", True),
        ("models.example:8000", "http://models.example:9000/v1", False),
        ("models.example:443", "https://models.example/v1", True),
        ("models.example:80", "https://models.example/v1", False),
        ("10.0.0.0/8", "http://10.20.30.40:8000/v1", True),
        ("10.0.0.0/8", "http://11.20.30.40/v1", False),
        ("10.0.0.0/8", "http://models.example/v1", False),
        ("10.1.2.3", "http://10.1.2.3/v1", True),
        ("::1", "http://[::1]:8000/v1", True),
        ("[::1]:8000", "http://[::1]:8000/v1", True),
        ("[::1]:9000", "http://[::1]:8000/v1", False),
        ("fd00::/8", "http://[fd12::1]/v1", True),
        ("localhost 127.0.0.1", "http://127.0.0.1:11434", True),
        (",, ,", "http://models.example/v1", False),
    ],
)
def test_what_is_to_be_reached_without_a_proxy_is(
    monkeypatch: pytest.MonkeyPatch, exceptions: str, url: str, direct: bool
) -> None:
    assert (
        through(monkeypatch, url, ALL_PROXY="http://p:1", NO_PROXY=exceptions) is None
    ) is direct


@pytest.mark.parametrize("scheme", ["socks", "socks4", "socks4a", "socks5", "socks5h", "SOCKS5"])
@pytest.mark.parametrize("variable", ["ALL_PROXY", "HTTP_PROXY"])
def test_a_socks_proxy_is_refused_when_the_model_is_opened(
    monkeypatch: pytest.MonkeyPatch, scheme: str, variable: str
) -> None:
    monkeypatch.setenv(variable, f"{scheme}://me:{PASSWORD}@p:1080")
    with pytest.raises(
        SetupError, match=r"SOCKS proxy .*p:1080.* HTTP_PROXY .*or add models\.example to NO_PROXY"
    ) as caught:
        open_model("http://models.example/v1#m")
    assert PASSWORD not in str(caught.value)
    monkeypatch.setenv("NO_PROXY", "models.example")
    assert open_model("http://models.example/v1#m")


@pytest.mark.parametrize(
    "proxy",
    ["ftp://p:1", "http://", "http://[p", "http://p:port", ":", "quic://me:MARKED-7f3a91c2@p"],
)
def test_a_proxy_that_cannot_be_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(SetupError, match="http://host:port") as caught:
        open_model("http://models.example/v1#m")
    assert PASSWORD not in str(caught.value)


def test_the_proxy_of_the_environment_is_used(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", provider.url)
    assert ask(open_model("http://models.invalid/compatible/v1#m", max_retries=0)).text
    assert provider.requests[0].headers["Host"] == "models.invalid"


@pytest.mark.parametrize("variable", ["http_proxy", "ALL_PROXY"])
def test_a_proxy_without_a_scheme_is_asked_with_its_password(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, f"me:{PASSWORD}@{provider.url.removeprefix('http://')}")
    assert ask(
        open_model(
            "http://models.invalid/compatible/v1#m",
            max_retries=0,
            api_key="sk-MARKED-7f3a91c2d4e8b605",
        )
    ).text
    sent = provider.requests[0].headers
    assert sent["Host"] == "models.invalid"
    assert (
        sent["Proxy-Authorization"]
        == "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    )


def test_a_host_in_an_excepted_network_is_reached(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.0/8")
    assert ask(open_at(provider)).text


def test_a_proxy_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"me:{PASSWORD}@127.0.0.1:1")
    with pytest.raises(ModelError, match=r"Cannot connect to the proxy 127\.0\.0\.1:1") as caught:
        ask(open_model("http://models.invalid/v1#m", max_retries=0))
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_lets_nobody_in_does_not_show_its_password(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    with RawServer(
        lambda key: [answer(f"no {key}".encode(), f"X: {key}\r\n", f"407 {key}")]
    ) as server:
        monkeypatch.setenv(f"{scheme}_proxy", server.url.replace("://", f"://me:{PASSWORD}@"))
        with pytest.raises(ModelError, match="407") as caught:
            ask(open_model(f"{scheme}://models.invalid/v1#m", max_retries=0))
    assert (
        PASSWORD in base64.b64decode(server.requests[0].partition("Basic ")[2].split()[0]).decode()
    )
    assert PASSWORD not in str(caught.value)
