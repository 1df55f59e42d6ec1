"""Model id → model. The only place where the chain of layers is stacked."""

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
from adjudge.core.domain.frozen_mapping import NOTHING
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
from adjudge.core.gateway.providers.parameters import check_effort, check_parameters
from adjudge.core.gateway.redaction import harmless_address, secrets_in
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
    """A provider with its chain of layers, as ``open_model`` returns it. Usable from any thread and
    any event loop.

    Example:
        model = open_model("openai/gpt-4o-mini", temperature=0)
        reply = await model.complete(request)
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
        """Default mode of judges with this model."""
        self.note = self.provider.note if isinstance(self.provider, Noted) else None
        """Caveat that a reader of its scores must know."""
        self._named = ""

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    @cached_property
    def window(self) -> int | None:
        """Tokens that a prompt and its answer may have together, or None if unknown.

        The user's setting counts first, then the model's own, then the price table's.
        """
        own_limit = self._window or self.capabilities.window
        price = None if own_limit else (self._prices or PriceTable.load()).of(self.name)
        return own_limit or (price.window if price else None)

    def seed_for(self, sample: int, wanted: int | None = None) -> int | None:
        """Return the seed of a sample: the base seed plus its number, or None without a
        base seed.
        """
        seed = self.seed if wanted is None else wanted
        return None if seed is None else seed + sample

    def complete(self, request: Request) -> Replying:
        """Answer, or raise a ModelError."""
        answering = self.inner.complete(request)
        return answering if event_loop.at_home() else event_loop.visit(answering)

    def earlier_name(self, reply: Reply) -> str:
        """Return the model that earlier replies named, if this reply names another one; else an
        empty text.

        Servers may swap models without notice.
        """
        name, earlier = reply.details.get("model", ""), self._named
        self._named = earlier or name
        return earlier if name and earlier not in ("", name) else ""

    @property
    def keeps_replies(self) -> bool:
        """True if a cache with replies in it is in use."""
        if not isinstance(self.inner, Cached):
            return False
        cache = self.inner.cache
        return cache.size()[0] > 0 if isinstance(cache, Counting) else True

    def has_reply(self, request: Request) -> bool:
        """Return True if the cache can answer this request."""
        return (
            isinstance(self.inner, Cached)
            and self.inner.cache.get(self.identity, request) is not None
        )

    def keep(self, request: Request, reply: Reply) -> None:
        """Store a reply that came another way, such as from a batch, in the cache if there is
        one.
        """
        if isinstance(self.inner, Cached):
            self.inner.keep(request, reply)

    def forget(self, request: Request) -> None:
        """Remove a reply from the cache, because it could not be read."""
        if isinstance(self.inner, Cached):
            self.inner.forget(request)

    async def probe(self) -> Presence:
        """Check for free that the model's server has the model; models without a server count as
        there.

        Raises a ModelError if the server cannot be reached or has no such model.
        """
        return (
            await event_loop.visit(self.provider.probe())
            if isinstance(self.provider, HttpProvider)
            else Presence.THERE
        )


class OpenSettings(TypedDict, total=False):
    """Settings of ``open_model``, apart from the model."""

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
    reasoning_effort: str | None
    parameters: Mapping[str, object] | None
    prompt_caching: bool


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
    reasoning_effort: str | None = None,
    parameters: Mapping[str, object] | None = None,
    prompt_caching: bool = False,
) -> OpenModel:
    """Open the model that ``id`` names.

    ``id`` is ``provider/model``, ``http://host:port/v1#model``, ``replay/PATH``, ``scripted``, a
    function ``prompt -> text``, or any object with ``complete``.

    ``headers`` go with every request; ``$VARIABLE`` in a value is that environment variable, ``$$``
    a dollar sign. ``cache`` is True for the user's cache of replies, a JSONL file to record them
    in, or an object with ``get`` and ``put``. ``window``: tokens that a prompt and its answer may
    have together, if the table of ``prices`` does not know.

    ``reasoning_effort``: how long the model may think: none, minimal, low, medium or high.
    ``parameters``: further parameters of each request, as the provider's protocol names them, e.g.
    ``{"service_tier": "flex"}``. Both are part of the model's identity.

    ``prompt_caching``: ask the provider to cache what the prompts of all rows share, which makes
    long criteria cheaper. Only for anthropic, bedrock and Claude on vertex.
    """
    rate = Rate(requests_per_minute, tokens_per_minute)
    _check_limits(
        max_retries, {"max_concurrency": max_concurrency, "timeout": timeout, **rate._asdict()}
    )
    provider = _provider(
        id,
        _Server(
            api_key,
            base_url,
            Headers.of(headers) if headers else Headers(),
            reasoning_effort,
            parameters or NOTHING,
            prompt_caching,
        ),
    )
    if (reasoning_effort or parameters) and not isinstance(provider, HttpProvider):
        raise SetupError(
            "{name} supports neither reasoning_effort nor parameters", name=provider.name
        )
    if prompt_caching and not isinstance(provider, HttpProvider):
        raise SetupError("{name} does not support prompt_caching: leave it out", name=provider.name)
    layers: Model = Allowed(provider)
    # A model in this process queues its requests itself, and cannot hang.
    if not provider.capabilities.exact_logprobs:
        caller_digest = (
            provider.connection.digest(provider.connection.model)
            if isinstance(provider, HttpProvider)
            else None
        )
        circuit = Circuit(caller_digest)
        limited = Limited(
            Reached(Allowed(Timed(provider, timeout)), circuit), max_concurrency, rate
        )
        layers = Paused(Retrying(limited, max_retries, circuit), circuit)
    reply_cache = _choose_cache(cache, provider)
    chain = Cached(layers, reply_cache) if reply_cache is not None else layers
    return OpenModel(
        chain,
        max_concurrency=max_concurrency,
        temperature=temperature,
        seed=seed,
        window=window,
        prices=prices,
    )


def open_panel(models: ModelLike | Sequence[ModelLike] | None) -> dict[str, OpenModel]:
    """Open models, and map the names on their votes to them; equal names get a number.

    None is the embedded model.
    """
    named = default_model() if models is None else models
    models_or_ids = list(named) if isinstance(named, list | tuple) else [cast("ModelLike", named)]
    if not models_or_ids:
        raise SetupError("no model was given: name one, such as models=['openai/gpt-4o-mini']")
    opened = [
        model_or_id if isinstance(model_or_id, OpenModel) else open_model(model_or_id)
        for model_or_id in models_or_ids
    ]
    panel: dict[str, OpenModel] = {}
    for model in opened:
        name, number = model.name, 1
        while name in panel:
            number += 1
            name = f"{model.name} {number}"
        panel[name] = model
    return panel


def default_model() -> str:
    """Return the id of the embedded model, the default; raise SetupError if it is not installed."""
    if find_spec("onnxruntime") is None:
        raise SetupError(
            "no model was named, and the embedded one is not installed: pip install "
            "'adjudge[local]', or name a model "
            "such as openai/gpt-4o-mini ('adjudge models' lists the providers)"
        )
    return EMBEDDED


def _choose_cache(setting: Cache | str | Path | bool | None, provider: Model) -> Cache | None:
    """Return the cache that the setting stands for; None without one, or if the model has no
    identity to store replies under.
    """
    if isinstance(setting, str | Path):
        return JsonlCache(setting)
    if isinstance(setting, bool) or setting is None:
        # Not for scripts and functions: the next one of the same name may answer differently.
        return user_cache() if setting and isinstance(provider, Identified) else None
    return setting


def user_cache() -> ReplyStore:
    """Return the user's cache of replies, one for the whole process."""
    return _store(cache_folder())


@cache
def _store(folder: Path) -> ReplyStore:
    return ReplyStore(folder)


@light_dataclass(frozen=True)
class _Server:
    """Address and credentials that the user gave for a model."""

    api_key: str | None = field(repr=False)
    base_url: str | None = field(repr=False)
    headers: Headers
    reasoning_effort: str | None = None
    parameters: Mapping[str, object] = NOTHING
    prompt_caching: bool = False

    def connect(
        self, name: str, provider: str, model: str, base_url: str, key: Secret
    ) -> Connection:
        """Return the connection to a model, with the user's headers and parameters."""
        check_effort(self.reasoning_effort, name)
        return Connection(
            name,
            provider,
            model,
            base_url,
            key,
            self.headers,
            self.reasoning_effort,
            check_parameters(self.parameters, name),
            self.prompt_caching,
        )

    def key_for(self, spec: ProviderSpec) -> Secret:
        """Return the user's key, or else the provider's key from the environment."""
        if self.api_key is not None:
            return Secret(self.api_key)
        # The provider's own key must not reach a gateway whose key is in a header.
        return Secret("" if self.base_url and self.headers.carry_credentials else key_for(spec))


def _provider(id: ModelLike, server: _Server) -> Model:
    """Return the innermost model: an id's provider, a target, or a user's object or function,
    guarded.
    """
    if isinstance(id, str):
        return _by_server(id.strip(), server)
    if isinstance(id, Target):
        return id
    # A stand-in has every method, so ``complete`` only counts if it can be awaited.
    if hasattr(id, "complete") and (inspect.iscoroutinefunction(id.complete) or not callable(id)):
        return Guarded(id)
    if callable(id):
        return Guarded(FunctionModel(id))
    raise SetupError(
        "a model must be an id, a function or an object with complete(request), not {name}",
        name=type(id).__name__,
    )


def _by_server(id: str, server: _Server) -> Model:
    if is_url(id):
        if server.base_url is not None:
            raise SetupError(
                "{shown} already contains an address: leave out the base URL, or name only the "
                "model",
                shown=harmless_address(id),
            )
        return _by_url(id, server)
    if server.base_url is not None and not is_known(id):
        return _by_url(f"{server.base_url}#{id}", server)
    spec, model = find(id)
    key = server.key_for(spec)
    if (
        spec.key_variable
        and spec.needs_key
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
        server.connect(f"{spec.name}/{model}".rstrip("/"), spec.name, model, address, key),
    )


def _by_url(id: str, server: _Server) -> Model:
    base_url, _, model = id.partition("#")
    address = shown_address(base_url)
    if "#" in model and "@" in model:
        raise SetupError("the URL has two # characters: in a password, write %23 instead")
    if secrets_in(f"{address}#{model}"):
        raise SetupError(
            "the parameters of {address} come after the model: write "
            "http://host/v1?name=value#model",
            address=address,
        )
    if not model:
        raise SetupError("{address!r} names no model: write {address}#MODEL", address=address)
    key = Secret(server.api_key or "")
    return _adapter(URL.adapter)(
        server.connect(f"{address}#{model}", URL.name, model, base_url, key)
    )


def _adapter(target: str) -> Callable[[Connection], Model]:
    return cast(Callable[[Connection], Model], resolve(target))


def _of_provider(spec: ProviderSpec, connection: Connection) -> Model:
    """Return the provider's model; one from a plugin is guarded unless it is an HttpProvider.

    Raise an error that names the package if its model has no ``complete``.
    """
    part = PROVIDERS.find(spec.name)
    if part is None or not part.package:
        return _adapter(spec.adapter)(connection)
    with part.blame_package():
        model = _adapter(spec.adapter)(connection)
    if not hasattr(model, "complete"):
        raise part.error(
            Message(
                "{adapter} returned a {type} without complete(request)",
                adapter=spec.adapter,
                type=type(model).__name__,
            )
        )
    return model if isinstance(model, HttpProvider) else GuardedPlugin(model, connection.name)


def _check_limits(max_retries: int, limits: Mapping[str, float | None]) -> None:
    if max_retries < 0:
        raise SetupError(
            "max_retries must be at least 0, not {max_retries}", max_retries=max_retries
        )
    for name, value in limits.items():
        if value is not None and not value > 0:
            raise SetupError("{name} must be positive, not {value}", name=name, value=value)
