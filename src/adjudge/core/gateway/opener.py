"""Model id → model. The only place where the chain is stacked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict, cast

from adjudge.core.aio import event_loop
from adjudge.core.aio.files import cache_folder
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Reply, Request
from adjudge.core.domain.vote import Mode
from adjudge.core.gateway.headers import Headers
from adjudge.core.gateway.http import Secret
from adjudge.core.gateway.layers.cache import Cache, Cached, Counting, JsonlCache
from adjudge.core.gateway.layers.limit import Allowed, Guarded, GuardedPlugin, Limited, Rate, Timed
from adjudge.core.gateway.layers.reply_store import ReplyStore
from adjudge.core.gateway.layers.retry import Circuit, Paused, Reached, Retrying
from adjudge.core.gateway.model import Identified, Layer, Model, Noted, Presence, Replying
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.gateway.providers.base import Connection, HttpProvider, shown_address
from adjudge.core.gateway.providers.function import FunctionModel, PromptFunction
from adjudge.core.gateway.redaction import secrets_in, shown
from adjudge.core.gateway.registry import (
    EMBEDDED,
    PROVIDERS,
    URL,
    WITHOUT_SERVER,
    ProviderSpec,
    find,
    is_known,
    is_url,
    key_for,
)
from adjudge.core.gateway.targets.target import Target
from adjudge.errors import KeyMissing, SetupError
from adjudge.messages import Message
from adjudge.plugins import resolve

ModelLike = str | Model | PromptFunction
MAX_CONCURRENCY = 32


class OpenModel(Layer):
    """What ``open_model`` gives: the chain around a provider, usable from any thread and any event
    loop.
    """

    def __init__(
        self,
        chain: Model,
        *,
        max_concurrency: int,
        temperature: float | None,
        seed: int | None,
        window: int | None = None,
        prices: PriceTable | None = None,
    ) -> None:
        super().__init__(chain)
        self._window = window
        self._prices = prices
        self.max_concurrency = max_concurrency
        self.temperature = temperature
        self.seed = seed
        self.mode: Mode = (
            "decide"
            if self.capabilities.decisions
            else "likelihood"
            if self.capabilities.exact_logprobs
            else "generate"
        )
        """How judges ask it unless they are told otherwise."""
        self.note = self.provider.note if isinstance(self.provider, Noted) else None
        """What a reader of its scores must know."""
        self._named = ""

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    @cached_property
    def window(self) -> int | None:
        """Tokens that a prompt and its answer may have together: as it was set, as the model
        says, or as the table of prices does; None where nobody knows.
        """
        known = self._window or self.capabilities.window
        price = None if known else (self._prices or PriceTable.load()).of(self.name)
        return known or (price.window if price else None)

    def seed_for(self, sample: int, wanted: int | None = None) -> int | None:
        """Sample *i* gets seed + i, where a seed is ``wanted`` or the model has one."""
        seed = self.seed if wanted is None else wanted
        return None if seed is None else seed + sample

    def complete(self, request: Request) -> Replying:
        """Answer, or raise a ModelError."""
        asked = self.inner.complete(request)
        return asked if event_loop.at_home() else event_loop.visit(asked)

    def named_before(self, reply: Reply) -> str:
        """The model that replies have named so far, where this one names another: a server may put
        one in another's place.
        """
        named, before = reply.details.get("model", ""), self._named
        self._named = before or named
        return before if named and before not in ("", named) else ""

    @property
    def keeps_replies(self) -> bool:
        """Whether there is a cache with replies in it."""
        if not isinstance(self.inner, Cached):
            return False
        cache = self.inner.cache
        return cache.size()[0] > 0 if isinstance(cache, Counting) else True

    def has_reply(self, request: Request) -> bool:
        """Whether a kept reply answers this request."""
        return (
            isinstance(self.inner, Cached)
            and self.inner.cache.get(self.identity, request) is not None
        )

    def keep(self, request: Request, reply: Reply) -> None:
        """Answer this request from the cache from now on: its reply came another way."""
        if isinstance(self.inner, Cached):
            self.inner.keep(request, reply)

    def forget(self, request: Request) -> None:
        """Do not answer this request from the cache again: its reply could not be read."""
        if isinstance(self.inner, Cached):
            self.inner.forget(request)

    async def probe(self) -> Presence:
        """Whether the model's server says that the model is there, without paying for an answer.

        Raises a ModelError when the server cannot be reached, or has no such model.
        """
        return (
            await event_loop.visit(self.provider.probe())
            if isinstance(self.provider, HttpProvider)
            else Presence.THERE
        )


class OpenSettings(TypedDict, total=False):
    """What ``open_model`` takes beside the model."""

    api_key: str | None
    base_url: str | None
    headers: Mapping[str, str] | None
    temperature: float | None
    seed: int | None
    max_concurrency: int
    timeout: float
    max_retries: int
    cache: Cache | str | Path | bool | None
    requests_per_minute: float | None
    tokens_per_minute: float | None


def open_model(
    id: ModelLike,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    max_concurrency: int = MAX_CONCURRENCY,
    timeout: float = 120,
    max_retries: int = 6,
    cache: Cache | str | Path | bool | None = None,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    window: int | None = None,
    prices: PriceTable | None = None,
) -> OpenModel:
    """The model that ``id`` names: ``provider/model``, ``http://host:port/v1#model``,
    ``replay/PATH``, ``scripted``, a function ``prompt -> text``, or any object with ``complete``.

    ``headers`` go with every request; ``$VARIABLE`` in a value is that environment variable, ``$$``
    a dollar sign. ``cache`` is True for the user's cache of replies, a JSONL file to record them
    in, or an object with ``get`` and ``put``. ``window``: tokens that a prompt and its answer may
    have together, where the table of ``prices`` does not know.
    """
    rate = Rate(requests_per_minute, tokens_per_minute)
    _check_limits(
        max_retries, {"max_concurrency": max_concurrency, "timeout": timeout, **rate._asdict()}
    )
    provider = _provider(
        id, _Server(api_key, base_url, Headers.of(headers) if headers else Headers())
    )
    reached: Model = Allowed(provider)
    if (
        not provider.capabilities.exact_logprobs
    ):  # a model in this process takes turns by itself, and cannot hang
        asked = (
            provider.connection.digest(provider.connection.model)
            if isinstance(provider, HttpProvider)
            else None
        )
        circuit = Circuit(asked)
        limited = Limited(
            Reached(Allowed(Timed(provider, timeout)), circuit), max_concurrency, rate
        )
        reached = Paused(Retrying(limited, max_retries, circuit), circuit)
    kept = _cache(cache, provider)
    chain = Cached(reached, kept) if kept is not None else reached
    return OpenModel(
        chain,
        max_concurrency=max_concurrency,
        temperature=temperature,
        seed=seed,
        window=window,
        prices=prices,
    )


def open_panel(models: ModelLike | Sequence[ModelLike] | None) -> dict[str, OpenModel]:
    """Every model by the name its votes carry; equal names get a number.

    None is the embedded model.
    """
    chosen = default_model() if models is None else models
    several = list(chosen) if isinstance(chosen, list | tuple) else [cast("ModelLike", chosen)]
    if not several:
        raise SetupError("no model was given: name one, such as models=['openai/gpt-4o-mini']")
    opened = [one if isinstance(one, OpenModel) else open_model(one) for one in several]
    panel: dict[str, OpenModel] = {}
    for model in opened:
        name, number = model.name, 1
        while name in panel:
            number += 1
            name = f"{model.name} {number}"
        panel[name] = model
    return panel


def default_model() -> str:
    """The model that is asked when none is named: the embedded one."""
    if find_spec("onnxruntime") is None:
        raise SetupError(
            "no model was named, and the embedded one is not installed: pip install "
            "'adjudge[local]', or name a model "
            "such as openai/gpt-4o-mini ('adjudge models' lists the providers)"
        )
    return EMBEDDED


def _cache(wanted: Cache | str | Path | bool | None, provider: Model) -> Cache | None:
    """Where replies are kept.

    The user's cache takes none of a script or a function: the next one of that name says otherwise.
    """
    if isinstance(wanted, str | Path):
        return JsonlCache(wanted)
    if isinstance(wanted, bool) or wanted is None:
        return user_cache() if wanted and isinstance(provider, Identified) else None
    return wanted


def user_cache() -> ReplyStore:
    """The user's cache of replies, one for the whole process."""
    return _store(cache_folder())


@cache
def _store(folder: Path) -> ReplyStore:
    return ReplyStore(folder)


@light_dataclass(frozen=True)
class _Server:
    """What was said about where a model is, and how one is let in."""

    api_key: str | None = field(repr=False)
    base_url: str | None = field(repr=False)
    headers: Headers

    def key_for(self, spec: ProviderSpec) -> Secret:
        """The key that was given, else the provider's own: that does not go to a gateway whose
        header is the key.
        """
        if self.api_key is not None:
            return Secret(self.api_key)
        return Secret("" if self.base_url and self.headers.carry_credentials else key_for(spec))


def _provider(id: ModelLike, server: _Server) -> Model:
    if isinstance(id, str):
        return _by_server(id.strip(), server)
    if isinstance(id, Target):
        return id
    if hasattr(id, "complete") and (inspect.iscoroutinefunction(id.complete) or not callable(id)):
        return Guarded(id)
    if callable(
        id
        # with a ``complete`` of its own too, where that cannot be awaited: stand-ins have every
        # method
    ):
        return Guarded(FunctionModel(id))
    raise SetupError(
        "a model is an id, a function or an object with complete(request), not {name}",
        name=type(id).__name__,
    )


def _by_server(id: str, server: _Server) -> Model:
    if is_url(id):
        if server.base_url is not None:
            raise SetupError(
                "{shown} has an address of its own: leave the base URL out, or name the "
                "model alone",
                shown=shown(id),
            )
        return _by_url(id, server)
    if server.base_url is not None and not is_known(id):
        return _by_url(f"{server.base_url}#{id}", server)
    spec, model = find(id)
    key = server.key_for(spec)
    if (
        spec.key_variable
        and not key
        and not (server.headers.carry_credentials and spec.name != "watsonx")
    ):
        raise KeyMissing(
            "{name}/{model_name} needs a key: set {key_variable} or pass api_key=…; "
            "--api-key-env and api_key_env name another variable",
            name=spec.name,
            model_name=model,
            key_variable=spec.key_variable,
        )
    needs_server = spec.name not in WITHOUT_SERVER
    address = (server.base_url or spec.resolved_base_url()) if needs_server else ""
    return _of_provider(
        spec,
        Connection(
            f"{spec.name}/{model}".rstrip("/"), spec.name, model, address, key, server.headers
        ),
    )


def _by_url(id: str, server: _Server) -> Model:
    base_url, _, model = id.partition("#")
    address = shown_address(base_url)
    if "#" in model and "@" in model:
        raise SetupError("the URL has two #: in a password write %23 for it")
    if secrets_in(f"{address}#{model}"):
        raise SetupError(
            "the parameters of {address} stand behind the model: write "
            "http://host/v1?name=value#model",
            address=address,
        )
    if not model:
        raise SetupError("{address!r} names no model: write {address}#MODEL", address=address)
    key = Secret(server.api_key or "")
    connection = Connection(f"{address}#{model}", URL.name, model, base_url, key, server.headers)
    return _adapter(URL.adapter)(connection)


def _adapter(target: str) -> Callable[[Connection], Model]:
    return cast(Callable[[Connection], Model], resolve(target))


def _of_provider(spec: ProviderSpec, connection: Connection) -> Model:
    """The model as its provider makes it; a plugin's is guarded."""
    part = PROVIDERS.find(spec.name)
    if part is None or not part.package:
        return _adapter(spec.adapter)(connection)
    with part.blame_package():
        made = _adapter(spec.adapter)(connection)
    if not hasattr(made, "complete"):
        raise part.error(
            Message(
                "{adapter} gives a {type} without complete(request)",
                adapter=spec.adapter,
                type=type(made).__name__,
            )
        )
    return made if isinstance(made, HttpProvider) else GuardedPlugin(made, connection.name)


def _check_limits(max_retries: int, limits: Mapping[str, float | None]) -> None:
    if max_retries < 0:
        raise SetupError(
            "max_retries must not be below zero: {max_retries}", max_retries=max_retries
        )
    for name, value in limits.items():
        if value is not None and not value > 0:
            raise SetupError("{name} must be above zero, not {value}", name=name, value=value)
