"""POST and GET over one shared session, and the errors that status codes stand for."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from adjudge.core.aio.event_loop import before_leaving
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.json_writer import json_writer
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway import redaction as redact
from adjudge.core.gateway.proxies import proxy_for
from adjudge.core.gateway.replies import GOOD, LARGE, MAX_REPLY, Unread, seconds_until
from adjudge.errors import (
    AdjudgeError,
    ModelError,
    RateLimited,
    Refused,
    SetupError,
    Unavailable,
    Unreachable,
)
from adjudge.messages import Message

if TYPE_CHECKING:
    from typing import BinaryIO

    import aiohttp

    from adjudge.core.gateway.client import Answer, Client
    from adjudge.core.gateway.connections import Peer, PostHead

    Content = str | BinaryIO | aiohttp.FormData
    """The body of a request. Files and forms are sent piece by piece."""

_RETRYABLE = frozenset({408, 409})
# A gateway gave up on a server that it had passed the request to: the model may have answered.
_AFTER_THE_MODEL = frozenset({408, 502, 504, 520, 524})
_HINTS = {
    401: Message("check the API key"),
    402: Message("the account has no credit"),
    403: Message("this key has no access to the model"),
    404: Message("check the model's name and the base URL"),
    413: Message("the text is too long for this model"),
}
# Values in one JSON reply.
# An empty list takes two bytes on the wire and thirty times as much here.
_MOST_VALUES = 1_000_000
# Bodies by which OpenAI (429) and Anthropic (400) report an empty account; others answer 402.
_NO_CREDIT = re.compile(
    rb'"(?:code|type)"\s*:\s*"insufficient_quota"|"message"\s*:\s*"Your credit balance is too low'
)
# Types and messages of errors about requests with too many tokens or questions.
_TOO_LARGE = re.compile(
    rb'max_tokens_exceeded|exceed_context_size|context_length|too many questions|"too_long"', re.I
)
# A character that makes every other one of its text take four bytes.
_WIDE = re.compile(rb"[\xf0-\xf4]|\\u[dD][89abAB]")
_encoded = json_writer()  # bodies are built here and hold no cycles


class Encoded(str):
    """A value of a request body that is JSON already.

    It is encoded once for the many bodies that share it.
    """

    __slots__ = ()


def encoded_body(body: JsonObject) -> str:
    parts = [
        f'"{name}": {value if type(value) is Encoded else _encoded(value)}'
        for name, value in body.items()
    ]
    return f"{{{', '.join(parts)}}}"


_SECRET_HEADER = re.compile("auth|key|token|secret|cookie", re.IGNORECASE)


class Secret:
    """An API key. ``repr`` does not show it, it cannot be pickled, and it is struck out of server
    replies.

    Example: ``Secret("sk-…").reveal()`` for a request header.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        value = value.strip()
        if not value.isascii() or not value.isprintable():
            raise SetupError("the API key contains invalid characters: copy it again")
        self._value = value

    def reveal(self) -> str:
        """Return the key itself, for a request header."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")


_NO_SECRET = Secret("")


@light_dataclass(frozen=True)
class Endpoint:
    """A provider's address and headers, with the names that its errors show."""

    provider: str
    model: str
    url: str = field(repr=False)  # it may hold a password
    headers: Mapping[str, str] = field(repr=False)
    secret: Secret = field(default=_NO_SECRET, repr=False)
    private: frozenset[str] = field(default=frozenset(), repr=False)
    """Other parts of the headers that must not be shown."""
    hints: Mapping[int, Message] = field(default_factory=lambda: _HINTS, repr=False)
    """Status → advice for the user."""
    notes_repeated_keys: bool = False
    """Parse an object that has a key twice as ``RepeatedKeys``."""
    any_json: bool = False
    """Accept any JSON value: a list or a text is wrapped into an object."""

    @cached_property
    def secrets(self) -> frozenset[str]:
        """Texts that must not be shown: the key, secret headers, passwords and keys in the URL."""
        in_headers = (
            value.rpartition(" ")[2]
            for name, value in self.headers.items()
            if _SECRET_HEADER.search(name)
        )
        return frozenset(
            {self.secret.reveal(), *in_headers, *redact.secrets_in(self.url), *self.private} - {""}
        )

    @property
    def label(self) -> str:
        """Provider and model, as errors name them."""
        return "/".join(filter(None, (self.provider, self.model)))

    @cached_property
    def host(self) -> str:
        return redact.host_of(self.url)

    @cached_property
    def post_head(self) -> PostHead:
        """The start of every POST request to this endpoint."""
        from adjudge.core.gateway.connections import PostHead

        return PostHead(self.url, self.headers, proxy_for(self.url))

    def error(self, kind: type[ModelError], message: str, hint: str = "") -> ModelError:
        """Return an error that names this provider and model."""
        return kind(message, provider=self.provider, model=self.model, hint=hint)

    def lost_reply(self, kind: type[ModelError], message: str) -> ModelError:
        """Return an error for a reply that may have been paid for but cannot be used."""
        error = self.error(kind, message)
        error.may_have_cost = True
        return error


Exchange = Coroutine[object, object, JsonDict]


def post_json(endpoint: Endpoint, body: JsonObject, *, reuses: bool = False) -> Exchange:
    """Return the JSON object that answers ``body``, or raise a ModelError.

    ``reuses``: send over a shared connection. The server must give every reply an id of its own.
    """
    return _exchange("POST", endpoint, lambda: encoded_body(body), reuses=reuses)


def get_json(endpoint: Endpoint, *, of_error: bool = False) -> Exchange:
    """Return the JSON object at the endpoint, or raise a ModelError.

    ``of_error``: also return an object that reports an error, as a failed batch does.
    """
    return _exchange("GET", endpoint, None, of_error=of_error)


def post_form(endpoint: Endpoint, form: Callable[[], Content]) -> Exchange:
    """Return the JSON object that answers a form, such as one for a token service.

    ``form`` is called when the request is sent, because it holds a key or a file.
    """
    return _exchange("POST", endpoint, form)


async def _exchange(
    method: str,
    endpoint: Endpoint,
    body: Callable[[], Content] | None,
    *,
    of_error: bool = False,
    reuses: bool = False,
) -> JsonDict:
    permits: list[asyncio.Semaphore] = []  # until the answer is read and understood
    client = http_client()
    answer: Answer | None = None
    peer = client.peer(endpoint.host) if reuses else None
    may_share = peer is not None and peer.enter()
    try:
        sent_at = time.monotonic()
        try:
            answer = await client.ask(method, endpoint, body, permits, peer, may_share=may_share)
        except Unread as reason:
            failure: AdjudgeError | None = endpoint.lost_reply(ModelError, str(reason))
        except no_answer() as trouble:
            failure = failure_for(endpoint, trouble)
        else:
            failure = None if answer.status in GOOD else error_for(endpoint, *answer[:3])
        if failure is not None:
            # Raised here and not below: the client's exceptions and the frames they come from hold
            # headers, and so the key.
            raise failure
        assert answer is not None
        if peer and answer.origin and await peer.is_followed(answer.origin, sent_at):
            raise endpoint.lost_reply(
                Unavailable, Message("the server sent more than one reply to a request")
            )
        return _object_in(answer, endpoint, peer, of_error=of_error)
    finally:
        if peer and may_share:
            peer.leave()
        if answer and answer.origin:
            answer.origin.carrier.release()
        for permit in permits:
            permit.release()


def _object_in(
    answer: Answer, endpoint: Endpoint, peer: Peer | None, *, of_error: bool
) -> JsonDict:
    """Return the object in an answer, if it is the answer to the request; else raise a
    ModelError.
    """
    try:
        data = _object(endpoint, answer.raw)
    except ModelError:
        if peer:  # perhaps the pieces of two replies
            peer.is_reused = False
        raise
    if data.get("error") and not of_error:
        raise _error_in(endpoint, data, answer.raw)
    if peer and not peer.is_answer(answer.origin, data, answer.asked, hash(answer.raw)):
        raise endpoint.lost_reply(
            Unavailable, Message("the server sent an earlier reply a second time")
        )
    return data


def no_answer() -> tuple[type[Exception], ...]:
    """Return the exceptions that the client raises if there is no answer; the first call imports
    aiohttp.
    """
    from adjudge.core.gateway import http_trouble

    return http_trouble.NO_ANSWER


def failure_for(endpoint: Endpoint, trouble: BaseException) -> AdjudgeError:
    """Return the error for a request that got no answer; a SetupError if its URL is unusable."""
    import aiohttp

    from adjudge.core.gateway import http_trouble

    host = endpoint.host
    if isinstance(trouble, aiohttp.InvalidURL) or not host:
        return SetupError(
            "the URL of {called} is invalid: check the base URL", called=endpoint.label
        )
    words = http_trouble.describe(trouble, host, redact.host_of(proxy_for(endpoint.url) or ""))
    if isinstance(trouble, aiohttp.ClientHttpProxyError) and trouble.status < 500:
        return endpoint.error(
            ModelError,
            words,
            hint=Message("check the user and password of the proxy in the environment"),
        )
    message = Message("the connection failed: {words}", words=words)
    if isinstance(trouble, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return endpoint.error(Unreachable, message)
    if isinstance(trouble, aiohttp.ClientHttpProxyError):  # no tunnel, so nothing went through it
        return endpoint.error(Unavailable, message)
    return endpoint.lost_reply(Unavailable, message)


class RepeatedKeys(dict[str, JsonValue]):
    """A JSON object that had a key twice, so it is unclear which of the values is meant."""


def repeats_keys(value: JsonValue) -> bool:
    """Return True if an object in the value had a key twice."""
    if isinstance(value, dict):
        return isinstance(value, RepeatedKeys) or any(map(repeats_keys, value.values()))
    return isinstance(value, list) and any(map(repeats_keys, value))


def _object_of(pairs: list[tuple[str, JsonValue]]) -> JsonDict:
    values = dict(pairs)
    return values if len(values) == len(pairs) else RepeatedKeys(values)


def _object(endpoint: Endpoint, raw: bytes) -> JsonDict:
    if len(raw) > LARGE:
        _check_large(endpoint, raw)
    try:
        data = json.loads(
            raw, object_pairs_hook=_object_of if endpoint.notes_repeated_keys else None
        )
    except (ValueError, RecursionError):
        raise endpoint.lost_reply(
            Unavailable,
            Message("the server's answer is not JSON: {said}", said=_brief(raw)),
        ) from None
    if not isinstance(data, dict) and endpoint.any_json:
        data = {"messages" if isinstance(data, list) else "response": data}
    if not isinstance(data, dict):
        raise endpoint.lost_reply(
            Unavailable, Message("the server's answer is JSON, but not an object")
        )
    return data


def _error_in(endpoint: Endpoint, data: JsonObject, raw: bytes) -> ModelError:
    """Return the error in a body that came with a good status.

    A gateway sends the status before its model is done, so the model may have answered. It has not
    if the error names a status that comes before the model, such as 429.
    """
    message = Message(
        "the server answered with an error: {said}", said=error_message(raw, endpoint.secrets)
    )
    code = str(object_in(data["error"]).get("code"))
    status = int(code) if re.fullmatch("[45][0-9][0-9]", code) else None
    error = endpoint.error(Unavailable, message)
    error.may_have_cost = bool(
        status is None or status in _AFTER_THE_MODEL or data.get("choices") or data.get("usage")
    )
    return error


def _check_large(endpoint: Endpoint, raw: bytes) -> None:
    """Raise an error if parsing the reply would take far more memory than its bytes."""
    if sum(map(raw.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise endpoint.lost_reply(
            ModelError,
            Message(
                "the reply has more than {most:,} values and was not read",
                most=_MOST_VALUES,
            ),
        )
    if len(raw) > MAX_REPLY // 2 and _WIDE.search(raw):
        most = MAX_REPLY // 2_000_000
        raise endpoint.lost_reply(
            ModelError,
            Message(
                "the reply is longer than {most} MB because it contains four-byte characters",
                most=most,
            ),
        )


def error_for(endpoint: Endpoint, status: int, wait: float | None, raw: bytes) -> ModelError:
    """Return the error for an answer with a bad status. ``wait``: seconds that the server
    asks for.
    """
    message = Message("{status}: {said}", status=status, said=error_message(raw, endpoint.secrets))
    # OpenAI reports an empty account as 429 and Anthropic as 400. Waiting would not help.
    # As 402 the error is not retried, and as a first answer it ends the run.
    effective = 402 if status in (400, 429) and _NO_CREDIT.search(raw) else status
    error = _meaning(endpoint, effective, wait, raw, message)
    error.status = effective
    error.may_have_cost = status in _AFTER_THE_MODEL
    error.is_too_large = is_too_large(status, raw)
    return error


def is_too_large(status: int | None, body: bytes) -> bool:
    """Return True if an error says that the request has too many tokens or questions."""
    return status == 413 or (status in (400, 422) and _TOO_LARGE.search(body) is not None)


def _meaning(
    endpoint: Endpoint, status: int, wait: float | None, raw: bytes, message: str
) -> ModelError:
    """Map a status to the kind of error."""
    retryable = status >= 500 or status in _RETRYABLE
    if status == 429 or (retryable and wait is not None):
        return RateLimited(
            message, provider=endpoint.provider, model=endpoint.model, retry_after=wait
        )
    if retryable:
        return endpoint.error(Unavailable, message)
    declined = rb"content[_ ](?:filter|policy|management)|ResponsibleAI" + (
        rb"|flagged|moderation" if status == 403 else b""
    )
    if re.search(declined, raw):
        return endpoint.error(Refused, message)
    return endpoint.error(ModelError, message, hint=endpoint.hints.get(status, ""))


def error_message(raw: bytes, secrets: Iterable[str] = ()) -> str:
    """Return the message in the body of an error, in one line and without the secrets."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return _brief(raw)
    inner = data.get("error", data) if isinstance(data, dict) else data
    if isinstance(inner, dict):
        inner = inner.get("message") or inner.get("detail") or inner
    # JSON escapes may have hidden the secrets from the first pass over the raw bytes.
    return _brief(redact.strike_out(str(inner).encode(errors="replace"), secrets))


def clock_ahead(endpoint: Endpoint) -> float | None:
    """Return how many seconds the server's clock was ahead at its last answer, if known."""
    date, heard = http_client().dates.get(endpoint.host, ("", 0.0))
    ahead = seconds_until(date) + time.time() - heard
    return ahead if math.isfinite(ahead) else None


def account_of_key(endpoint: Endpoint) -> str:
    """Return the account that the server named for this key at its last answer, or an
    empty text.
    """
    return http_client().accounts.get((endpoint.host, endpoint.secret.reveal()), "")


_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = WeakKeyDictionary()


def _leave_to_parent() -> None:
    """Keep a forked child from closing the parent's connections."""
    from ctypes import py_object, pythonapi  # loaded by children alone

    # The child shares the parent's epoll. Collecting a client here, even at exit, would remove the
    # parent's own connections from it. An extra reference prevents that.
    for client in list(_clients.values()):
        pythonapi.Py_IncRef(py_object(client))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def http_client() -> Client:
    """Return the connections of the running loop; open them if needed."""
    loop = asyncio.get_running_loop()
    client = _clients.get(loop)
    if client is None or client.closed:
        from adjudge.core.gateway.client import Client

        client = _clients[loop] = Client()
    return client


async def close_session() -> None:
    """Close the running loop's connections."""
    client = _clients.pop(asyncio.get_running_loop(), None)
    if client is not None:
        await client.close()


before_leaving(close_session)


def _brief(raw: bytes) -> str:
    text = " ".join(raw[:2000].decode(errors="replace").split())
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return (text[:297] + "…" if len(text) > 300 else text) or "(empty)"
