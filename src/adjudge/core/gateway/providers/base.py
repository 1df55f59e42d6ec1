"""What HTTP providers share: post, read, and notice what was asked for and not done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from difflib import get_close_matches
from hashlib import sha256
from time import perf_counter
from typing import ClassVar
from urllib.parse import quote, urlsplit

from adjudge.core.domain.json_types import JsonDict, JsonObject, objects_at
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Capabilities, Prompt, Reply, Request
from adjudge.core.gateway.headers import Headers
from adjudge.core.gateway.http import Endpoint, Secret, encoded_body, get_json, post_json
from adjudge.core.gateway.model import PartRejected, Presence
from adjudge.core.gateway.providers.optional_parts import BAD_REQUEST, OptionalParts
from adjudge.core.gateway.proxies import proxy_for
from adjudge.core.gateway.redaction import shown, without_secrets
from adjudge.errors import ModelError, SetupError, Unavailable
from adjudge.messages import Message, join

_NO_LIST = (404, 405)
"""How a server says that it does not list its models."""
_MADE_UP = "adjudge-made-up-this-name"
"""A model that no server has."""


@light_dataclass(frozen=True)
class Connection:
    """Everything needed to reach a model."""

    name: str
    provider: str
    model: str
    base_url: str = field(repr=False)  # it may hold a password
    key: Secret = field(default=Secret(""), repr=False)
    headers: Headers = Headers()
    """Of a gateway, over the provider's own."""

    @property
    def called(self) -> tuple[str, str]:
        """Provider and model in errors; a server that was named by its URL has no provider, and
        goes by its name.
        """
        return (
            ("", self.name)
            if self.name.startswith(("http://", "https://"))
            else (self.provider, self.model)
        )

    def digest(self, *about: str) -> str:
        """Who asks where, so that it can be compared and not read."""
        headers = (f"{name}={value}" for name, value in self.headers.sent.items())
        return sha256(
            "\0".join((*about, self.base_url, self.key.reveal(), *headers)).encode()
        ).hexdigest()[:16]

    def __post_init__(self) -> None:
        if not self.base_url:  # a model that needs no server
            return
        shown_address(self.base_url, f"{self.name}: ")
        if urlsplit(self.base_url).username and (
            self.key or "authorization" in map(str.lower, self.headers.sent)
        ):
            raise SetupError(
                "{name}: the base URL holds a password and there is a key too, give one of the two",
                name=self.name,
            )
        proxy_for(self.base_url)  # one that cannot be used is said now, not at the first call


class HttpProvider(ABC):
    """A model behind an HTTP API."""

    capabilities: ClassVar[Capabilities]
    wire_names: ClassVar[Mapping[str, str]] = {}
    """Patterns of how the protocol spells the optional parts of a request; a server that rejects
    one is asked without it.
    """
    probe_path: ClassVar[str] = "/models"

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._endpoints: dict[str, Endpoint] = {}
        self._parts = OptionalParts(connection.name, self.capabilities, self.wire_names)

    @property
    def name(self) -> str:
        """What votes and reports call it."""
        return self.connection.name

    @property
    def identity(self) -> str:
        """The name and the server: one model may be served at several places."""
        base_url = self.connection.base_url
        address = without_secrets(base_url)
        return (
            f"{self.name}@{address.partition('://')[2] if urlsplit(base_url).username else address}"
        )

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        reply = self.reply_in(await self._post(request))
        return reply.after(perf_counter() - started, self._parts.ignored(request, reply))

    def reply_in(self, data: JsonObject) -> Reply:
        """The reply in a JSON answer, however that came; a ModelError when there is none."""
        try:
            return self._read(data)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            message = Message(
                "the server's answer has no reply in it ({kind}: {error})",
                kind=type(error).__name__,
                error=error,
            )
            raise self._endpoint("").lost_reply(Unavailable, message) from None

    def encoded(self, request: Request) -> str:
        """The request in this protocol's JSON, without what the server is known not to take."""
        return encoded_body(self._body(self._parts.trim(request)))

    def noticed(self, request: Request, reply: Reply) -> Reply:
        """A reply that came another way, with what was asked for and not done."""
        return reply.after(reply.latency, self._parts.ignored(request, reply))

    def learns_from(self, request: Request, error: ModelError) -> bool:
        """Whether ``error`` says that an optional part of ``request`` was not taken, which is left
        out from now on.
        """
        return self._parts.learn(request, error)

    @property
    def endpoint(self) -> Endpoint:
        """The base URL, in whose name errors speak."""
        return self._endpoint("")

    async def at(self, path: str) -> Endpoint:
        """Another path below the base URL, with whatever it takes to be let in."""
        return await self._authorised(path)

    async def probe(self) -> Presence:
        """Reach the server without paying for an answer, and see whether it says that the model is
        there.

        Raises a ModelError when it cannot be reached, or has no such model.
        """
        listed: list[str] = []
        try:
            data = await get_json(await self._authorised(self.probe_path))
        except ModelError as error:
            if error.status not in _NO_LIST:
                raise
            await self._ask_nothing()
        else:
            with suppress(KeyError, TypeError, AttributeError):
                listed = self._listed(data)
        if not listed:
            return Presence.NOT_SAID
        return Presence.THERE if self.connection.model in listed else await _look_up(self, listed)

    @abstractmethod
    def _path(self) -> str:
        """Where completions are asked, below the base URL."""

    @abstractmethod
    def _body(self, request: Request) -> JsonDict:
        """The request in this provider's protocol."""

    @abstractmethod
    def _read(self, data: JsonObject) -> Reply:
        """The reply in a JSON answer; KeyError and the like when there is none."""

    def _listed(self, data: JsonObject) -> list[str]:
        """The models of a server's list; KeyError and the like when it is none."""
        return [str(one["id"]) for one in objects_at(data, "data")]

    async def _ask_nothing(self) -> None:
        """Of a server that lists no models: whether it takes requests at all. One without a message
        costs nothing.
        """
        try:
            await post_json(await self._authorised(self._path()), self._body(Request(Prompt(()))))
        except ModelError as error:
            if not error.message.startswith(BAD_REQUEST):
                raise

    def _headers(self) -> dict[str, str]:
        key = self.connection.key
        return {"Authorization": f"Bearer {key.reveal()}"} if key else {}

    def _endpoint(self, path: str) -> Endpoint:
        if path not in self._endpoints:
            own = self.connection
            headers = own.headers.over({"Content-Type": "application/json", **self._headers()})
            self._endpoints[path] = Endpoint(
                *own.called, _below(own.base_url, path), headers, own.key, own.headers.secrets
            )
        return self._endpoints[path]

    async def _authorised(self, path: str) -> Endpoint:
        """The endpoint with whatever it takes to be let in."""
        return self._endpoint(path)

    async def _post(self, request: Request) -> JsonDict:
        """One request, without what the server is known not to take."""
        endpoint, trimmed = await self._authorised(self._path()), self._parts.trim(request)
        try:
            return await post_json(endpoint, self._body(trimmed), reuses=True)
        except ModelError as error:
            if not self.learns_from(trimmed, error):
                raise
            raise PartRejected(
                error.message, provider=error.provider, model=error.model, hint=error.hint
            ) from None


async def _look_up(provider: HttpProvider, listed: Sequence[str]) -> Presence:
    """A model that is not on the list may have other names, which some servers know; and some
    know any name.
    """
    if await _knows(provider, provider.connection.model):
        return Presence.ANY_NAME if await _knows(provider, _MADE_UP) else Presence.THERE
    near = get_close_matches(provider.connection.model, listed, 3, cutoff=0.5)
    known = (
        Message("did you mean {near}?", near=join(Message(" or "), near))
        if near
        else Message("it has {models}", models=", ".join([*listed[:5], *["…"] * (len(listed) > 5)]))
    )
    raise provider.endpoint.error(
        ModelError,
        Message(
            "the server has no model {model_name!r}: {known}",
            model_name=provider.connection.model,
            known=known,
        ),
    )


async def _knows(provider: HttpProvider, model: str) -> bool:
    path, _, query = provider.probe_path.partition("?")
    try:
        await get_json(await provider.at(f"{path}/{quote(model)}{f'?{query}' if query else ''}"))
    except ModelError as error:
        if error.status not in (400, *_NO_LIST):
            raise
        return False
    return True


def shown_address(base_url: str, of: str = "") -> str:
    """The base URL as it may be shown; SetupError when it cannot be asked."""
    try:
        parts = urlsplit(base_url)
        usable = (
            parts.scheme in ("http", "https")
            and (parts.hostname or "").encode("idna")
            and parts.port != 0
        )
    except ValueError:  # not shown: what cannot be read may be a password, with a "/" or "#" in it
        raise SetupError(
            "{of}what was given is not a base URL, write it like http://host:port/v1; in a "
            "password # is %23, / is %2F, ? is %3F",
            of=of,
        ) from None
    if not usable:
        raise SetupError(
            "{of}{shown!r} is not a base URL, write it like http://host:port/v1",
            of=of,
            shown=shown(base_url),
        )
    return without_secrets(base_url)


def _below(base_url: str, path: str) -> str:
    """``path`` below the base URL, whose query stays at the end."""
    base, _, query = base_url.partition("?")
    return f"{base.rstrip('/')}{path}" + (f"{'&' if '?' in path else '?'}{query}" if query else "")
