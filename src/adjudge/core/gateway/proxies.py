"""Proxies from the environment: ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``,
read as curl reads them.
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
    """Return the proxy for ``url``, or None.

    Raises SetupError if the environment names one that cannot be used.
    """
    if not host_of(url):
        return None
    from urllib.request import getproxies

    target, proxies = urlsplit(url), getproxies()
    setting = (proxies.get(target.scheme) or proxies.get("all") or "").strip()
    if not setting or _goes_direct(target, proxies.get("no")):
        return None
    proxy = setting if "://" in setting else f"http://{setting}"
    _check(proxy, target)
    return proxy


def _check(proxy: str, target: SplitResult) -> None:
    scheme, host = proxy.partition("://")[0].lower(), host_of(proxy)
    way_out = Message(
        "set {scheme}_PROXY to an HTTP proxy, or add {host} to NO_PROXY to bypass the proxy",
        scheme=target.scheme.upper(),
        host=target.hostname,
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


def _goes_direct(target: SplitResult, exceptions: str | None) -> bool:
    host = (target.hostname or "").rstrip(".")
    # No NO_PROXY: the system's own settings count, if there are any.
    if exceptions is None:  # the exceptions of the system's own settings, where it has some
        from urllib.request import proxy_bypass

        return bool(proxy_bypass(host))
    port = target.port or _PORTS.get(target.scheme)
    entries = (entry.strip().lower() for entry in re.split(r"[,\s]+", exceptions))
    return any(_covers(entry, host, port) for entry in entries if entry)


def _covers(entry: str, host: str, port: int | None) -> bool:
    """Return True if an entry of ``NO_PROXY`` covers this host.

    An entry is ``*``, a name with all its subdomains, an address or a network, maybe with a port.
    """
    if entry == "*":
        return True
    name, wanted_port = _name_and_port(entry)
    name = name.removeprefix("*").strip(".")
    if not name or (wanted_port and wanted_port != str(port)):
        return False
    return host == name or host.endswith(f".{name}") or _within(host, name)


def _name_and_port(entry: str) -> tuple[str, str]:
    """Split an entry. An IPv6 address with a port is in brackets."""
    if entry.startswith("["):
        name, _, tail = entry[1:].partition("]")
        return name, tail.removeprefix(":")
    if entry.count(":") > 1:
        return entry, ""
    name, _, port = entry.partition(":")
    return name, port


def _within(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:  # one of them is a name
        return False
