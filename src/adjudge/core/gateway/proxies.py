"""Which proxy the environment names: ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and
``NO_PROXY``, read as curl reads them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from adjudge.core.gateway.redaction import host_of
from adjudge.errors import SetupError
from adjudge.messages import Message

_PORTS = {"http": 80, "https": 443}


@lru_cache(maxsize=64)
def proxy_for(url: str) -> str | None:
    """The proxy to ask ``url`` through, or None for none; SetupError when the environment names one
    that cannot be used.
    """
    if not host_of(url):
        return None
    from urllib.request import getproxies

    asked, proxies = urlsplit(url), getproxies()
    named = (proxies.get(asked.scheme) or proxies.get("all") or "").strip()
    if not named or _goes_direct(asked, proxies.get("no")):
        return None
    proxy = named if "://" in named else f"http://{named}"
    _check(proxy, asked)
    return proxy


def _check(proxy: str, asked: SplitResult) -> None:
    scheme, host = proxy.partition("://")[0].lower(), host_of(proxy)
    way_out = Message(
        "name an HTTP proxy in {scheme}_PROXY, or put {host} into NO_PROXY to reach it without one",
        scheme=asked.scheme.upper(),
        host=asked.hostname,
    )
    if scheme.startswith("socks"):
        raise SetupError(
            "the environment names a SOCKS proxy ({scheme}://{host}), which adjudge cannot "
            "use: {advice}",
            scheme=scheme,
            host=host,
            advice=way_out,
        )
    if scheme not in _PORTS or not host:
        raise SetupError(
            "the environment names a proxy that cannot be read as http://host:port: {advice}",
            advice=way_out,
        )


def _goes_direct(asked: SplitResult, exceptions: str | None) -> bool:
    host = (asked.hostname or "").rstrip(".")
    if exceptions is None:  # the exceptions of the system's own settings, where it has some
        from urllib.request import proxy_bypass

        return bool(proxy_bypass(host))
    port = asked.port or _PORTS.get(asked.scheme)
    entries = (entry.strip().lower() for entry in re.split(r"[,\s]+", exceptions))
    return any(_covers(entry, host, port) for entry in entries if entry)


def _covers(entry: str, host: str, port: int | None) -> bool:
    """Whether an entry of ``NO_PROXY`` means this host: ``*``, a name with all below it, an
    address, a network; maybe a port.
    """
    if entry == "*":
        return True
    name, wanted = _name_and_port(entry)
    name = name.removeprefix("*").strip(".")
    if not name or (wanted and wanted != str(port)):
        return False
    return host == name or host.endswith(f".{name}") or _within(host, name)


def _name_and_port(entry: str) -> tuple[str, str]:
    """An IPv6 address with a port stands in brackets."""
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    if entry.count(":") > 1:
        return entry, ""
    name, _, port = entry.partition(":")
    return name, port


def _within(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:  # one of them is a name
        return False
