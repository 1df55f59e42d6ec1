"""A page that several people share: a reverse proxy authenticates them, and names the user in a
header.

The header is believed only from the listed proxies. Everything about it that could be read in two
ways is refused, never guessed.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from starlette.types import Scope

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.reading.values import Place, load_yaml, mapping, one_of, text, text_in
from adjudge.errors import AdjudgeError, SetupError
from adjudge.messages import Message
from adjudge.trust.labels.people import is_name
from adjudge.web.roles import ROLES, Person, Role
from adjudge.web.server_access import is_secret

SECRET_HEADER = "x-adjudge-proxy-secret"  # noqa: S105 - a name
SECRET_VARIABLE = "ADJUDGE_PROXY_SECRET"  # noqa: S105 - a name
_SHORTEST_SECRET = 16
_WIDEST = 8
"""Bits of the widest network of proxies. A wider one is a mistake: everybody is in it."""
_NAME = re.compile(r"[A-Za-z0-9-]{1,64}")
_NOT_A_USER = (
    "host",
    "cookie",
    "authorization",
    "origin",
    "referer",
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
    "accept",
    "forwarded",
    "user-agent",
    "via",
    "x-adjudge-token",
    "x-real-ip",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-uri",
    SECRET_HEADER,
)
"""Headers that clients choose, or that say something else."""
_PORTS = {"http": 80, "https": 443}
_KEYS = ("users", "others")
_USER_KEYS = ("role", "annotator")
_LARGEST_FILE = 300_000
"""Bytes: about 8,000 users. Requests wait while it is read."""
Network = IPv4Network | IPv6Network


class NotAdmitted(Exception):
    """A request that the proxy should not have passed on, or whose user is not known."""

    def __init__(self, message: str, status: int = 403) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


@dataclass(frozen=True)
class _Listed:
    people: Mapping[str, Person]
    taken: Container[str]
    """The names of all of them, folded."""
    others: Role | None

    def find(self, user: str) -> Person:
        """Return the person; raise NotAdmitted for a stranger or for a name like another one."""
        if person := self.people.get(user):
            return person
        # without a list, letters of another script can look like somebody else's name
        if self.others is None or not user.isascii():
            raise NotAdmitted(
                Message("{user} may not use this page: ask its operator for access", user=user)
            )
        if _folded(user) in self.taken:
            raise NotAdmitted(
                Message(
                    "{user} is spelt almost like another user of this page: its operator must "
                    "list this spelling, too",
                    user=user,
                )
            )
        return Person(user, self.others, user)


class Users:
    """The file that gives each user a role, read again when it changes.

    While it cannot be read, nobody is let in.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._version = _version(path)
        self._listed = _read_users(path)

    def find(self, user: str) -> Person:
        """Return the person of this name; raise NotAdmitted if the page is not for them."""
        with self._lock:
            if (version := _version(self.path)) != self._version:
                try:
                    self._listed = _read_users(self.path)
                except AdjudgeError as error:
                    raise NotAdmitted(str(error), 503) from error
                self._version = version
            return self._listed.find(user)

    def __len__(self) -> int:
        return len(self._listed.people)


@dataclass(frozen=True)
class Sharing:
    """The settings for user names from a proxy, and the proxies allowed to send them."""

    header: str
    """In lower case."""
    proxies: tuple[Network, ...]
    origin: str
    """The page's address for browsers, without a path."""
    users: Users
    secret: str = field(default="", repr=False)
    """What every request must carry, if it is set."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The Host headers that are accepted."""
        parts = urlsplit(self.origin)
        usual = f"{parts.netloc}:{_PORTS[parts.scheme]}"
        return (parts.netloc,) if parts.port else (parts.netloc, usual)

    def is_proxy(self, client: Sequence[object] | None) -> bool:
        """Return True if a connection comes from one of the proxies."""
        try:
            address = _plain_address(ip_address(str(client[0]))) if client else None
        except ValueError:
            return False
        return address is not None and any(address in network for network in self.proxies)

    def identify(self, scope: Scope) -> Person:
        """Return the sender of a request; raise NotAdmitted unless it is named exactly once."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if not self.is_proxy(scope.get("client")):
            raise NotAdmitted(
                Message("this address is not one of the proxies that --trusted-proxy lists")
            )
        if self.secret:
            secrets = _values(headers, SECRET_HEADER)
            if len(secrets) != 1 or not is_secret(secrets[0].decode("latin-1"), self.secret):
                raise NotAdmitted(
                    Message("the proxy must send {header} with its secret", header=SECRET_HEADER)
                )
        return self.users.find(self._user_in(headers))

    def _user_in(self, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """Return the user that the header names."""
        name = self.header
        # a proxy may forward both spellings, and other servers read them as one header
        if any(
            key.decode("latin-1").lower().replace("_", "-") == name and key != name.encode()
            for key, _ in headers
        ):
            raise NotAdmitted(
                Message(
                    "a header is spelt almost like {header}: remove it in the proxy", header=name
                ),
                400,
            )
        values = _values(headers, name)
        if len(values) > 1:
            raise NotAdmitted(
                Message(
                    "{header} was sent {count} times: the proxy must set it once",
                    header=name,
                    count=len(values),
                ),
                400,
            )
        if not values or not values[0].strip():
            raise NotAdmitted(
                Message("the proxy did not identify the user: it must set {header}", header=name),
                401,
            )
        try:
            user = values[0].decode("utf-8")
        except UnicodeDecodeError:
            raise NotAdmitted(Message("{header} is not UTF-8", header=name), 400) from None
        if not is_user(user):
            raise NotAdmitted(Message("{header} is not the name of one user", header=name), 400)
        return user


def is_user(text: str) -> bool:
    """Return True if a text can name one user. A comma may join the values of two headers."""
    return (
        is_name(text) and not {*text} & {*',;"\\<>'} and unicodedata.normalize("NFKC", text) == text
    )


def make_sharing(
    header: str,
    proxies: Iterable[str],
    origin: str,
    users: Path,
    secret: str = "",
) -> Sharing:
    """Build the settings of a shared page from what was typed; raise a SetupError for anything that
    would let strangers in.
    """
    if not _NAME.fullmatch(header) or header.lower() in _NOT_A_USER:
        raise SetupError(
            "{header!r} cannot be the header that names the user: it needs one that only the proxy "
            "sets, such as X-Forwarded-User, in letters, digits and dashes",
            header=header,
        )
    if secret and len(secret) < _SHORTEST_SECRET:
        raise SetupError(
            "{variable} must have at least {least} characters",
            variable=SECRET_VARIABLE,
            least=_SHORTEST_SECRET,
        )
    networks = tuple(map(_network, proxies))
    return Sharing(header.lower(), networks, _origin(origin), Users(users), secret)


def _values(headers: Iterable[tuple[bytes, bytes]], name: str) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name.encode()]


def _plain_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address stands for, else the address itself."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _network(text: str) -> Network:
    """Parse the address or network of proxies."""
    try:
        network = ip_network(text.strip())
    except ValueError as error:
        raise SetupError(
            "--trusted-proxy takes an address such as 10.0.0.5 or a network such as 10.0.0.0/24, "
            "not {text!r} ({why})",
            text=text,
            why=str(error),
        ) from error
    first = _plain_address(network.network_address)
    if isinstance(network, IPv6Network) and isinstance(first, IPv4Address):
        if network.prefixlen < 96:
            raise _too_wide(text)
        network = ip_network((first, network.prefixlen - 96))
    if network.prefixlen < _WIDEST:
        raise _too_wide(text)
    return network


def _too_wide(text: str) -> SetupError:
    return SetupError(
        "--trusted-proxy {text} is too wide, because anyone in that network can pose as any "
        "user: name only the proxy",
        text=text,
    )


def _origin(text: str) -> str:
    """Parse and normalize the public address of the page."""
    try:
        parts = urlsplit(text.strip())
        port, host = parts.port, (parts.hostname or "").lower()
    except ValueError:
        parts, port, host = urlsplit(""), None, ""
    is_bare = parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in _PORTS or not host or not host.isascii() or not is_bare or "*" in host:
        raise SetupError(
            "--public-origin is the address of the page in browsers, without a path, such as "
            "https://judge.example.com, not {text!r}; letters outside ASCII are written as xn--…",
            text=text,
        )
    name = f"[{host}]" if ":" in host else host
    ending = "" if port in (None, _PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{name}{ending}"


def _version(path: Path) -> tuple[int, int, int] | None:
    """Return a value that changes with the file's content; None if the file no longer exists."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _read_users(path: Path) -> _Listed:
    """Read the file of users and their roles."""
    if (version := _version(path)) and version[1] > _LARGEST_FILE:
        raise SetupError("{path} is too large for a list of users", path=path)
    place = load_yaml(text_in(path), Place(str(path), Message("the file")))
    document = mapping(place.value, place, _KEYS)
    people: dict[str, Person] = {}
    taken: dict[str, str] = {}
    users_place = place.at("users")
    for user, value in mapping(document.get("users") or {}, users_place).items():
        at = users_place.at(user)
        if not is_user(user):
            raise at.wrong("cannot name a user: write it exactly as the proxy sends it")
        person = _person(str(user), value, at)
        for name in {_folded(name) for name in _names(person)}:
            if name in taken:
                raise at.wrong(
                    "is spelt almost like {other}: labels could not be told apart",
                    other=taken[name],
                )
        taken |= {_folded(name): user for name in _names(person)}
        people[user] = person
    others = document.get("others", "refuse")
    role = one_of(others, ("refuse", *ROLES), place.at("others"))
    if not people and role == "refuse":
        raise place.wrong(
            "lists no users: write 'users:' and below it lines such as 'anna@example.com: label'"
        )
    return _Listed(people, taken.keys(), None if role == "refuse" else cast("Role", role))


def _person(user: str, value: JsonValue, place: Place) -> Person:
    """Read a user's role, and the name that their labels carry if it is another."""
    if not isinstance(value, Mapping):
        return Person(user, cast("Role", one_of(value, ROLES, place)), user)
    settings = mapping(value, place, _USER_KEYS)
    annotator = text(settings.get("annotator", user), place.at("annotator"))
    if not is_user(annotator):
        raise place.at("annotator").wrong("cannot name an annotator")
    role = one_of(settings.get("role"), ROLES, place.at("role"))
    return Person(user, cast("Role", role), str(annotator))


def _names(person: Person) -> tuple[str, ...]:
    return person.user, person.annotator


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
