"""Prices of models: a dated table under the user's own prices. An unknown price is never zero."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from math import inf
from pathlib import Path
from urllib.parse import urlsplit

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage
from adjudge.core.reading.values import merging_once
from adjudge.errors import SetupError
from adjudge.messages import Message

_MILLION = 1_000_000
TARGET = "target/"
"""Prefix of the names of applications that are asked like models."""
# Prefixes of models that run on the user's machine, or need none.
_FREE = ("local/", "learned/", "scripted", "replay/", "ollama/", TARGET)
VARIABLE = "ADJUDGE_PRICES"
# Number by which a panel tells equal names apart.
_NUMBERED = re.compile(r" \d+$")
_WILD = re.compile(r"[*?\[]")


@light_dataclass(frozen=True)
class Price:
    """US dollars per million tokens.

    Example: ``Price(0.15, 0.6).cost(Usage(1, 2000, 100))``
    """

    input: float
    output: float
    cached: float | None = None
    """Prompt tokens that the provider read from its own cache; by default as ``input``."""
    batch: float | None = None
    """Share of the price that is paid in a batch; by default all of it."""
    window: int | None = None
    """Tokens that a prompt and its answer may have together, if known."""
    cache_write: float | None = None
    """Prompt tokens that the provider wrote to its cache; by default a quarter more than
    ``input``, the highest price that a provider takes for five minutes.
    """

    def cost(self, usage: Usage) -> float:
        """Return the cost in US dollars."""
        full = usage.prompt_tokens * self.input + usage.completion_tokens * self.output
        return (full - self._batch_discount(usage)) / _MILLION - self.saved_by_cache(usage)

    def saved_by_cache(self, usage: Usage) -> float:
        """Return the dollars that the provider's own cache saved; negative if writing to it cost
        more.
        """
        cached = self.input if self.cached is None else self.cached
        written = 1.25 * self.input if self.cache_write is None else self.cache_write
        return (
            usage.cached_tokens * (self.input - cached)
            - usage.cache_write_tokens * (written - self.input)
        ) / _MILLION

    def _batch_discount(self, usage: Usage) -> float:
        """Return the batch discount, in millionths of a dollar.

        Tokens from the provider's cache get no discount, so the cost is never too low.
        """
        if self.batch is None or not usage.batch_prompt_tokens + usage.batch_completion_tokens:
            return 0.0
        cached = 0 if self.cached is None else usage.cached_tokens
        fresh = max(0, usage.batch_prompt_tokens - cached)
        return (1 - self.batch) * (fresh * self.input + usage.batch_completion_tokens * self.output)


@light_dataclass(frozen=True)
class PriceTable:
    """Prices by model id; ``*`` stands for any text, and the longest matching id wins.

    Example: ``PriceTable.load().of("openai/gpt-4o-mini")``
    """

    prices: Mapping[str, Price]
    dated: str = ""
    """When the shipped prices were looked up."""
    user_ids: frozenset[str] = field(default_factory=frozenset)
    """Ids with a price set by the user."""
    path: Path | None = None
    """The user's file of prices, if there is one."""
    _price_by_model: dict[str, Price | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def load(cls, path: str | Path | None = None) -> PriceTable:
        """Load the shipped prices, overridden by the user's: from ``path``, else from the file that
        ADJUDGE_PRICES names.
        """
        shipped, chosen_path = cls.load_shipped(), path or os.environ.get(VARIABLE)
        if not chosen_path:
            return shipped
        file = Path(chosen_path)
        user_prices = _read(file, shipped)
        return cls(
            {**shipped.prices, **user_prices},
            shipped.dated,
            frozenset(user_prices),
            file.absolute(),
        )

    @classmethod
    def load_shipped(cls) -> PriceTable:
        """Return the table that comes with adjudge."""
        return cls(*_read_shipped())

    def of(self, model: str) -> Price | None:
        """Return the price of a model, or None if it is unknown."""
        if model not in self._price_by_model:
            name = _NUMBERED.sub("", model)
            fitting = [
                id
                for id in self.prices
                if name.startswith(_WILD.split(id)[0]) and fnmatchcase(name, id)
            ]
            # The user's own price counts before a longer shipped id.
            best = max(fitting, key=lambda id: (id in self.user_ids, len(id)), default="")
            self._price_by_model[model] = (
                self.prices[best]
                if fitting
                else Price(0.0, 0.0)
                if name.startswith(_FREE) or is_on_this_machine(name)
                else None
            )
        return self._price_by_model[model]

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return the cost in US dollars, or None if the price is unknown."""
        price = self.of(model)
        return price.cost(usage) if price else None


def dollars(usd: float) -> str:
    """Format an amount for people. A positive amount is never written as zero."""
    if 0 < usd < 0.00005:
        return Message("<${least:.4f}", least=0.0001)
    return Message("${usd:.4f}", usd=usd) if usd else "$0"


def is_on_this_machine(name: str) -> bool:
    """Return True for the address of a server on this machine.

    An address in a private network does not count: it may be a gateway to models that cost money.
    """
    host = _host(name)
    return f".{host}".endswith(".localhost") if isinstance(host, str) else host.is_loopback


def _host(name: str) -> str | IPv4Address | IPv6Address:
    """Return the host of a model that is named by an address; empty for other models."""
    if not name.startswith(("http://", "https://")):
        return ""
    try:
        host = urlsplit(name).hostname or ""
    except ValueError:
        return ""
    try:
        return ip_address(host)
    except ValueError:
        return host


@cache
def _read_shipped() -> tuple[Mapping[str, Price], str]:
    """Read the shipped prices and their date."""
    shipped = json.loads(Path(__file__).with_name("prices.json").read_bytes())
    return _prices(shipped["prices"], "prices.json"), str(shipped["dated"])


def _read(path: Path, shipped: PriceTable) -> dict[str, Price]:
    import yaml

    try:
        loader = merging_once(yaml.SafeLoader)
        data = yaml.load(path.read_text(encoding="utf-8"), loader)  # noqa: S506 - a safe one
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SetupError(
            "the prices in {path} cannot be read: {error}", path=path, error=error
        ) from error
    inner = data.get("prices", data) if isinstance(data, dict) else data
    return _prices(inner, str(path), shipped)


def _prices(data: object, where: str, shipped: PriceTable | None = None) -> dict[str, Price]:
    """Return prices by model id. The id of another model means that it costs the same."""
    if not isinstance(data, dict):
        raise SetupError(
            "{where} must map model ids to prices, such as openai/gpt-4o-mini: {{input: "
            "0.15, output: 0.6}}",
            where=where,
        )
    known = shipped.prices if shipped else {}
    own = {
        str(id): _price(str(id), entry, where)
        for id, entry in data.items()
        if not isinstance(entry, str)
    }
    table = PriceTable({**known, **own}, user_ids=frozenset(own))
    same = {str(id): entry for id, entry in data.items() if isinstance(entry, str)}
    return own | {id: _same_price(table, id, other, where) for id, other in same.items()}


def _same_price(table: PriceTable, id: str, other: str, where: str) -> Price:
    price = table.of(other)
    if price is None:
        raise SetupError(
            "{where}: {id} has the same price as {other}, whose price is unknown",
            where=where,
            id=id,
            other=other,
        )
    return price


_KEYS = {"input", "output", "cached", "cache_write", "batch", "window"}


def _price(id: str, entry: object, where: str) -> Price:
    numbers = entry if isinstance(entry, dict) else {}
    valid = {
        name: value
        for name, value in numbers.items()
        if isinstance(value, int | float) and 0 <= value < inf and not isinstance(value, bool)
    }
    if not {"input", "output"} <= valid.keys() <= _KEYS or valid.keys() != numbers.keys():
        example = "{input: 0.15, output: 0.6, cached: 0.075, batch: 0.5}"
        raise SetupError(
            "{where}: the price of {id} must look like {example}, in dollars per million tokens",
            where=where,
            id=id,
            example=example,
        )
    window = valid.pop("window", None)
    return Price(**valid, window=None if window is None else int(window))
