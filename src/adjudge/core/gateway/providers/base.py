"""Base of HTTP providers: post, read, and report the parts of a request that were ignored."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from difflib import get_close_matches
from functools import cached_property
from hashlib import sha256
from time import perf_counter
from typing import ClassVar
from urllib.parse import quote, urlsplit

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import JsonDict, JsonObject, objects_at
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Capabilities, Prompt, Reply, Request
from adjudge.core.gateway.headers import Headers
from adjudge.core.gateway.http import Endpoint, Secret, encoded_body, get_json, post_json
from adjudge.core.gateway.model import PartRejected, Presence
from adjudge.core.gateway.providers.optional_parts import BAD_REQUEST, OptionalParts
from adjudge.core.gateway.providers.parameters import merged
from adjudge.core.gateway.proxies import proxy_for
from adjudge.core.gateway.redaction import harmless_address, without_secrets
from adjudge.errors import ModelError, SetupError, Unavailable
from adjudge.messages import Message, join

# Statuses of servers that do not list their models.
_NO_LIST = (404, 405)
# A model that no server has.
_MADE_UP = "adjudge-made-up-this-name"


@light_dataclass(frozen=True)
class Connection:
    """Everything needed to reach a model."""

    name: str
    provider: str
    model: str
    base_url: str = field(repr=False)  # it may hold a password
    key: Secret = field(default=Secret(""), repr=False)
    headers: Headers = Headers()
    """Extra headers, such as a gateway's. They override the provider's own."""
    reasoning_effort: str | None = None
    """How long the model may think, one of EFFORTS; None leaves it to the provider."""
    parameters: JsonObject = NOTHING
    """Further parameters of each request, in the provider's own protocol."""
    prompt_caching: bool = False
    """True if the provider is asked to cache the part of the prompts that rows share. It changes
    the price and no reply, so it is not a part of the model's identity.
    """

    @property
    def labels(self) -> tuple[str, str]:
        """Provider and model, as errors name them. A server named by its URL has no provider."""
        return (
            ("", self.name)
            if self.name.startswith(("http://", "https://"))
            else (self.provider, self.model)
        )

    def digest(self, *about: str) -> str:
        """Return a hash of caller and server: it can be compared, but not read."""
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
                "{name}: the base URL contains a password, and there is also a key: give only "
                "one of them",
                name=self.name,
            )
        # Raises now for an unusable proxy, not at the first call.
        proxy_for(self.base_url)


class HttpProvider(ABC):
    """A model behind an HTTP API."""

    capabilities: Capabilities
    marks_prompts: ClassVar[bool] = False
    """True if the protocol has a mark for the part of a prompt that the provider should cache."""
    wire_names: ClassVar[Mapping[str, str]] = {}
    """Optional part of a request → pattern of its name in the protocol, as error messages
    have it.
    """
    probe_path: ClassVar[str] = "/models"
    notes_repeated_keys: ClassVar[bool] = False
    """True if an answer's object with a key twice is told from others: ``repeats_keys``."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        if connection.prompt_caching:
            if not self.marks_prompts:
                raise SetupError(
                    "prompt_caching is for anthropic, bedrock and Claude on vertex; {name} cannot "
                    "be asked to cache (OpenAI and Google do it without being asked): leave it out",
                    name=connection.name,
                )
            self.capabilities = replace(self.capabilities, writes_cache=True)
        self._endpoints: dict[str, Endpoint] = {}
        self._parts = OptionalParts(connection.name, self.capabilities, self.wire_names)
        _ = self._extra_parameters  # raises now if the provider has no such setting

    @property
    def name(self) -> str:
        """Name of the model in votes and reports."""
        return self.connection.name

    @property
    def identity(self) -> str:
        """Name and server: one model may be served at several places."""
        base_url = self.connection.base_url
        address = without_secrets(base_url)
        if urlsplit(base_url).username:
            address = address.partition("://")[2]
        return f"{self.name}@{address}{self._shown_parameters}"

    @cached_property
    def _shown_parameters(self) -> str:
        """The settings that change replies, for the identity; empty if there are none."""
        connection = self.connection
        shown: JsonDict = dict(connection.parameters)
        if connection.reasoning_effort is not None:
            shown["reasoning_effort"] = connection.reasoning_effort
        return f" {json.dumps(shown, sort_keys=True, ensure_ascii=False)}" if shown else ""

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        reply = self.reply_in(await self._post(request))
        return reply.after(perf_counter() - started, self._parts.find_ignored(request, reply))

    def reply_in(self, data: JsonObject) -> Reply:
        """Return the reply in a server's JSON answer, however it arrived; raise a ModelError if
        there is none.
        """
        try:
            return self._read(data)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            message = Message(
                "the server's answer contains no reply ({kind}: {error})",
                kind=type(error).__name__,
                error=error,
            )
            raise self._endpoint("").lost_reply(Unavailable, message) from None

    def encode(self, request: Request) -> str:
        """Encode a request in this protocol's JSON, without the parts that the server rejects."""
        return encoded_body(self._complete_body(self._parts.trim(request)))

    def note_ignored(self, request: Request, reply: Reply) -> Reply:
        """Add the ignored parts of the request to a reply that was not fetched by ``complete``."""
        return reply.after(reply.latency, self._parts.find_ignored(request, reply))

    def learns_from(self, request: Request, error: ModelError) -> bool:
        """Return True if ``error`` rejects an optional part of ``request``. That part is left out
        from now on.
        """
        return self._parts.learn(request, error)

    @property
    def endpoint(self) -> Endpoint:
        """Endpoint of the base URL, for errors."""
        return self._endpoint("")

    async def at(self, path: str) -> Endpoint:
        """Return the endpoint of another path below the base URL, with credentials."""
        return await self._authorised_endpoint(path)

    async def probe(self) -> Presence:
        """Check for free that the server can be reached and has the model.

        Raises a ModelError if it cannot be reached, or has no such model.
        """
        model_names: list[str] = []
        try:
            data = await get_json(await self._authorised_endpoint(self.probe_path))
        except ModelError as error:
            if error.status not in _NO_LIST:
                raise
            await self._ask_nothing()
        else:
            with suppress(KeyError, TypeError, AttributeError):
                model_names = self._read_model_names(data)
        if not model_names:
            return Presence.NOT_SAID
        return (
            Presence.THERE
            if self.connection.model in model_names
            else await _look_up(self, model_names)
        )

    @abstractmethod
    def _path(self) -> str:
        """Path of completions below the base URL."""

    @abstractmethod
    def _body(self, request: Request) -> JsonDict:
        """Return the request in this provider's protocol."""

    @abstractmethod
    def _read(self, data: JsonObject) -> Reply:
        """Return the reply in a JSON answer, or raise KeyError and the like."""

    def _thinking(self, effort: str) -> JsonDict:
        """Return the parameters that set the effort, one of EFFORTS.

        Providers with such a setting override this; for all others it raises SetupError.
        """
        raise SetupError(
            "{name} has no setting for reasoning_effort={effort}",
            name=self.connection.name,
            effort=effort,
        )

    @cached_property
    def _extra_parameters(self) -> JsonDict:
        effort = self.connection.reasoning_effort
        thinking = {} if effort is None else self._thinking(effort)
        return merged(thinking, self.connection.parameters, self.connection.name)

    def _complete_body(self, request: Request) -> JsonDict:
        """Return the body with the user's parameters."""
        body = self._body(request)
        return merged(body, self._extra_parameters, self.name) if self._extra_parameters else body

    def _read_model_names(self, data: JsonObject) -> list[str]:
        """Return the model names in a server's list, or raise KeyError and the like."""
        return [str(model["id"]) for model in objects_at(data, "data")]

    async def _ask_nothing(self) -> None:
        """Check with an empty request, which costs nothing, that a server without a model list
        takes requests.
        """
        try:
            await self._send(self._complete_body(Request(Prompt(()))))
        except ModelError as error:
            if not error.message.startswith(BAD_REQUEST):
                raise

    def _headers(self) -> dict[str, str]:
        key = self.connection.key
        return {"Authorization": f"Bearer {key.reveal()}"} if key else {}

    def _endpoint(self, path: str) -> Endpoint:
        if path not in self._endpoints:
            connection = self.connection
            headers = connection.headers.over(
                {"Content-Type": "application/json", **self._headers()}
            )
            self._endpoints[path] = Endpoint(
                *connection.labels,
                _below(connection.base_url, path),
                headers,
                connection.key,
                connection.headers.secrets,
                notes_repeated_keys=self.notes_repeated_keys,
            )
        return self._endpoints[path]

    async def _authorised_endpoint(self, path: str) -> Endpoint:
        """Return the endpoint with credentials."""
        return self._endpoint(path)

    async def _send(self, body: JsonObject) -> JsonDict:
        """Send a body in this provider's protocol."""
        return await post_json(await self._authorised_endpoint(self._path()), body, reuses=True)

    async def _post(self, request: Request) -> JsonDict:
        """Send one request, without the parts that the server rejects; raise PartRejected for a
        newly rejected one.
        """
        trimmed = self._parts.trim(request)
        try:
            return await self._send(self._complete_body(trimmed))
        except ModelError as error:
            if not self.learns_from(trimmed, error):
                raise
            raise PartRejected(
                error.message, provider=error.provider, model=error.model, hint=error.hint
            ) from None


async def _look_up(provider: HttpProvider, listed: Sequence[str]) -> Presence:
    """Ask the server for a model that is not on its list: it may be an alias, or any name may do.

    Raise a ModelError if the server does not have it.
    """
    if await _knows(provider, provider.connection.model):
        return Presence.ANY_NAME if await _knows(provider, _MADE_UP) else Presence.THERE
    near = get_close_matches(provider.connection.model, listed, 3, cutoff=0.5)
    advice = (
        Message("did you mean {near}?", near=join(Message(" or "), near))
        if near
        else Message(
            "available: {models}", models=", ".join([*listed[:5], *["…"] * (len(listed) > 5)])
        )
    )
    raise provider.endpoint.error(
        ModelError,
        Message(
            "the server has no model {model_name!r}: {known}",
            model_name=provider.connection.model,
            known=advice,
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
    """Return the base URL as it may be shown, or raise SetupError if it is invalid."""
    try:
        parts = urlsplit(base_url)
        usable = (
            parts.scheme in ("http", "https")
            and (parts.hostname or "").encode("idna")
            and parts.port != 0
        )
    # Not shown: an unreadable URL may hold a password with a "/" or "#" in it.
    except ValueError:
        raise SetupError(
            "{of}this is not a base URL: write it like http://host:port/v1. In a password, write "
            "# as %23, / as %2F and ? as %3F",
            of=of,
        ) from None
    if not usable:
        raise SetupError(
            "{of}{shown!r} is not a base URL: write it like http://host:port/v1",
            of=of,
            shown=harmless_address(base_url),
        )
    return without_secrets(base_url)


def _below(base_url: str, path: str) -> str:
    """Append ``path`` to the base URL, whose query stays at the end."""
    base, _, query = base_url.partition("?")
    return f"{base.rstrip('/')}{path}" + (f"{'&' if '?' in path else '?'}{query}" if query else "")
