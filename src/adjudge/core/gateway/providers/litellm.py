"""``litellm/MODEL`` and ``litellm-decisions/MODEL``: any model that the package litellm supports.
Loaded only if it is named.

Retries, limits, budgets and the cache stay ours: litellm sends each request once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from time import perf_counter
from types import ModuleType
from typing import Any, ClassVar

from adjudge.core.domain.decision import MAPPING_VERSION
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.message import Capabilities, DecisionLimits, Reply, Request
from adjudge.core.gateway.decisions.format import read_decision
from adjudge.core.gateway.decisions.systemone import SystemOne
from adjudge.core.gateway.http import Secret, error_message, is_too_large
from adjudge.core.gateway.providers.base import Connection
from adjudge.core.gateway.providers.openai_compatible import openai_reply, response_format
from adjudge.core.gateway.redaction import strike_out, without_secrets
from adjudge.core.gateway.replies import retry_after
from adjudge.errors import ModelError, RateLimited, Refused, SetupError, Unavailable, Unreachable
from adjudge.messages import Message

PREFIX = "litellm/"
DECISIONS_PREFIX = "litellm-decisions/"
_SECRET_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)


class _ThroughLitellm:
    """The common base of both kinds of models: the library, the key and the errors."""

    prefix: ClassVar[str]
    example: ClassVar[str]

    def __init__(
        self, id: str, *, api_key: Secret, base_url: str | None, headers: Mapping[str, str]
    ) -> None:
        self.name = id
        self._model = id.removeprefix(self.prefix)
        if not self._model:
            raise SetupError(
                "{prefix} must be followed by litellm's name of a model, such as {prefix}{example}",
                prefix=self.prefix,
                example=self.example,
            )
        self._key, self._base_url, self._headers = api_key, base_url, dict(headers)
        self._library = _load_library()

    @property
    def identity(self) -> str:
        """Name, with the server if one was given."""
        return f"{self.name}@{without_secrets(self._base_url)}" if self._base_url else self.name

    def _server(self) -> JsonDict:
        """Return the model and the server. litellm asks once: Retrying does the rest."""
        settings: JsonDict = {
            "model": self._model,
            "api_key": self._key.reveal() or None,
            "extra_headers": self._headers or None,
        }
        given = {name: value for name, value in settings.items() if value is not None}
        return {**given, "num_retries": 0, "max_retries": 0}

    def _translate(self, error: Exception) -> ModelError:
        kinds, message = self._library.exceptions, f"{type(error).__name__}: {error}"
        if isinstance(error, kinds.RateLimitError):
            limited = RateLimited(self._harmless(message), provider="litellm", model=self._model)
            response = vars(error).get("response")
            if response is not None:
                limited.retry_after = retry_after(response.headers.get("retry-after"))
            return limited
        if isinstance(error, kinds.ContentPolicyViolationError):
            return self._error(Refused, message)
        if isinstance(
            error,
            kinds.Timeout
            | kinds.ServiceUnavailableError
            | kinds.InternalServerError
            | kinds.BadGatewayError,
        ):
            failure = self._error(Unavailable, message)
            failure.may_have_cost = isinstance(error, kinds.Timeout | kinds.BadGatewayError)
            return failure
        if isinstance(error, kinds.APIConnectionError):
            failure = self._error(Unreachable, message)
            # litellm also raises this for replies that broke off; only a ConnectError is unpaid.
            failure.may_have_cost = type(error.__cause__).__name__ != "ConnectError"
            return failure
        failure = self._error(ModelError, message)
        status = vars(error).get("status_code")
        failure.status = status if isinstance(status, int) else None
        failure.is_too_large = is_too_large(failure.status, message.encode(errors="replace"))
        return failure

    def _error(self, kind: type[ModelError], message: str) -> ModelError:
        return kind(self._harmless(message), provider="litellm", model=self._model)

    def _lost(self, error: Exception) -> ModelError:
        """Return the error for an answer that is no reply."""
        return self._error(
            Unavailable,
            Message("litellm's answer contains no reply ({name})", name=type(error).__name__),
        )

    def _harmless(self, message: str) -> str:
        """Return the message in one line, without any key that litellm may have sent."""
        return error_message(strike_out(message.encode(errors="replace"), self._secrets()))

    def _secrets(self) -> Iterator[str]:
        yield self._key.reveal()
        yield from self._headers.values()
        yield from (value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name))


class LitellmModel(_ThroughLitellm):
    """A model that writes, called through the litellm package."""

    prefix = PREFIX
    example = "openai/gpt-4o-mini"
    capabilities = Capabilities(json_schema=True, seed=True)

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        try:
            response = await self._library.acompletion(**self._arguments(request))
            reply = openai_reply(response.model_dump())
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise self._lost(error) from None
        # OpenAIError is the base of everything that litellm raises for a request.
        except self._library.exceptions.openai.OpenAIError as error:
            raise self._translate(error) from None
        return reply.after(perf_counter() - started, ())

    def _arguments(self, request: Request) -> JsonDict:
        settings: JsonDict = {
            "messages": [
                {"role": message.role, "content": message.content}
                for message in request.prompt.messages
            ],
            "temperature": request.temperature,
            "seed": request.seed,
            "max_tokens": request.max_tokens,
            "response_format": response_format(request.schema)
            if request.schema is not None
            else None,
            "base_url": self._base_url,
        }
        arguments = {name: value for name, value in settings.items() if value is not None}
        # litellm leaves out what a model does not support
        return {**self._server(), **arguments, "drop_params": True}


class LitellmDecisions(_ThroughLitellm):
    """A decision model, called through the litellm package in the format of System One. litellm
    translates it for servers of other formats.
    """

    prefix = DECISIONS_PREFIX
    example = "typesafe/jev-1.14.0"
    capabilities = Capabilities(decisions=DecisionLimits(questions=128))
    _format = SystemOne()

    @property
    def identity(self) -> str:
        """Name, server, and version of the mapping from criteria to questions."""
        return f"{super().identity} {self._format.name}/{MAPPING_VERSION}"

    async def complete(self, request: Request) -> Reply:
        """Answer typed questions, checking the answers against them."""
        decision = request.decision
        if decision is None:
            raise self._error(
                ModelError, Message("it is a decision model, which generates no text")
            )
        # the older name of the same call
        older = getattr(self._library, "adecisions", None)
        ask = getattr(self._library, "asystemone", older)
        if ask is None:
            raise self._error(
                ModelError, Message("this version of litellm has no decision models: update it")
            )
        started = perf_counter()
        body = self._format.encode_request(self._model, decision)
        server = {"api_base": self._base_url} if self._base_url else {}
        try:
            response = await ask(**{**body, **self._server(), **server})
            answered = response.model_dump()
            reply = read_decision(self._format, decision, answered)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise self._lost(error) from None
        except self._library.exceptions.openai.OpenAIError as error:
            raise self._translate(error) from None
        return Reply(
            reply.text,
            reply.usage,
            perf_counter() - started,
            details=FrozenDict({"model": reply.model} if reply.model else {}),
        )


def _load_library() -> ModuleType:
    try:
        library = import_module("litellm")
    except ModuleNotFoundError as error:
        raise SetupError("litellm/… needs litellm: pip install 'adjudge[litellm]'") from error
    vars(library).update(telemetry=False, suppress_debug_info=True)
    return library


def open_litellm(connection: Connection) -> LitellmModel:
    """Open ``litellm/MODEL``."""
    return LitellmModel(connection.name, **_settings(connection))


def open_litellm_decisions(connection: Connection) -> LitellmDecisions:
    """Open ``litellm-decisions/MODEL``."""
    return LitellmDecisions(connection.name, **_settings(connection))


def _settings(connection: Connection) -> dict[str, Any]:
    return {
        "api_key": connection.key,
        "base_url": connection.base_url or None,
        "headers": connection.headers.sent,
    }
