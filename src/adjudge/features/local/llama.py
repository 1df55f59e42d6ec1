"""Run weights in this process with xllamacpp: score label tokens, and write with constraints.

A loaded model does not survive a fork: load it in the child. Requests run one at a time, since on
the CPUs measured a second one only reads the shared prefix again.
"""

from __future__ import annotations

import json
import math
import secrets
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import (
    JsonDict,
    JsonObject,
    object_at,
    object_in,
    objects_at,
    objects_in,
)
from adjudge.core.domain.message import ChatMessage, Prompt
from adjudge.errors import ModelError, PromptTooLong, SetupError
from adjudge.features.local.libraries import import_xllamacpp, threads
from adjudge.features.local.weights.gguf import Header, read_header

LONGEST_CONTEXT = 4096
"""Tokens of a prompt and its answer that local models are loaded for."""
# Alternatives asked for at once; labels beyond them cost one more pass over the last token.
_REPORTED = 64
_SLOTS = ("\x01system\x01", "\x01user\x01")


@dataclass(frozen=True, slots=True)
class LabelLogprobs:
    """Log-probability of each label as the next token, and the tokens it took."""

    logprobs: dict[str, float]
    prompt_tokens: int
    evaluated_tokens: int


class Llama:
    """One loaded model. Not thread-safe: callers take turns."""

    def __init__(self, path: Path, adapter: Path | None = None) -> None:
        header = read_header(path)
        self._check_kinds(path, header, adapter)
        self._key = secrets.token_hex(16)
        self._context = min(LONGEST_CONTEXT, header.context_length)
        self._specials = header.special_tokens
        self._adapted = adapter is not None
        self._server = load(path, adapter, LoadOptions(self._context, key=self._key))
        self._slot: list[int] = []
        self._prefix: list[int] = []
        self._tokens = lru_cache(maxsize=256)(self._tokenise)
        self._before, self._between, self._after = frame_of(
            path, lambda turns: str(self._post("/apply-template", {"messages": turns})["prompt"])
        )

    def score(self, prompt: Prompt, labels: Sequence[str]) -> LabelLogprobs:
        """Return the log-probability of each label as the next token.

        The result depends on the prompt alone, not on earlier requests.
        """
        prefix, suffix = self._split(prompt)
        evaluated = self._read_prefix(prefix, suffix)
        ids = [self._label(label) for label in labels]
        logprobs, read = self._label_logprobs(prefix + suffix, ids)
        scores = {label: logprobs[token] for label, token in zip(labels, ids, strict=True)}
        return LabelLogprobs(scores, len(prefix) + len(suffix), evaluated + read)

    def write(self, messages: Sequence[ChatMessage], options: JsonObject) -> JsonObject:
        """Generate an answer and return the server's chat completion."""
        self._prefix = self._slot = []
        turns = [
            {"role": message.role, "content": self._defuse(message.content)} for message in messages
        ]
        plain = (
            {"lora": [{"id": 0, "scale": 0.0}]} if self._adapted else {}
        )  # a judge's adapter answers in one token
        return self._unwrap(
            self._server.handle_chat_completions({"messages": turns, **plain, **options})
        )

    # -- prompts as tokens ---------------------------------------------------

    def _split(self, prompt: Prompt) -> tuple[list[int], list[int]]:
        """Return the tokens of the shared part of a prompt, and of the rest.

        Only the frame may contain control tokens.
        """
        system, user = prompt.messages
        shared, tail = user.content[: prompt.shared], user.content[prompt.shared :]
        prefix = [
            *self._tokens(self._before, True),
            *self._tokens(system.content, False),
            *self._tokens(self._between, True),
            *self._tokens(shared, False),
        ]
        return prefix, [*self._tokenise(tail, False), *self._tokens(self._after, True)]

    def _label(self, label: str) -> int:
        """Return the token of ``label`` at the beginning of an answer.

        Raise a SetupError if it is not exactly one token.
        """
        text = label if self._after[-1:].isspace() else f" {label}"
        ids = self._tokens(text, False)
        if len(ids) != 1:
            raise SetupError(
                "the label {label!r} is not a single token of this model: use mode='generate'",
                label=label,
            )
        return ids[0]

    def _tokenise(self, text: str, control: bool) -> list[int]:
        body: JsonDict = {"content": text, "add_special": False, "parse_special": control}
        return cast(list[int], self._post("/tokenize", body)["tokens"]) if text else []

    def _defuse(self, text: str) -> str:
        """Break up control tokens in a text."""
        # The server looks for control tokens in chat contents, so a text could end its turn.
        for token in self._specials:
            text = text.replace(token, f"{token[0]}\u200b{token[1:]}")
        return text

    # -- scoring ---------------------------------------------------------------

    def _read_prefix(self, prefix: list[int], suffix: list[int]) -> int:
        """Put exactly the prefix into the model's memory; return the number of tokens read."""
        # How a prompt is cut decides the last bits of its probabilities, so it is always cut here.
        if self._prefix != prefix:
            evaluated = self._ask(prefix, {"cache_prompt": False})[1]
            self._prefix = prefix
            return evaluated
        beyond = len(prefix) + 1
        if self._slot[:beyond] == [
            *prefix,
            *suffix[:1],
        ]:  # more than the prefix is there: cut it back
            return self._ask([*prefix, 0])[1]
        return 0

    def _label_logprobs(self, ids: list[int], labels: list[int]) -> tuple[dict[int, float], int]:
        # The bias only chooses which token is sampled; reported values are from before sampling.
        bias = [[token, 1000.0] for token in labels]
        reply, evaluated = self._ask(ids, {"n_probs": _REPORTED, "logit_bias": bias})
        logprobs = _read_reported(reply, "top_logprobs", "logprob")
        missing = [token for token in labels if token not in logprobs]
        if missing:
            shares, again = self._label_shares(ids, labels)
            evaluated += again
            best = max((token for token in labels if token in logprobs), key=logprobs.__getitem__)
            logprobs |= {
                token: logprobs[best] + math.log(max(shares[token], 1e-38) / shares[best])
                for token in missing
            }
        return logprobs, evaluated

    def _label_shares(self, ids: list[int], labels: list[int]) -> tuple[dict[int, float], int]:
        """Return each label's probability relative to the others, and the tokens read."""
        sampling: JsonDict = {
            "temperature": 1,
            "samplers": [],
            "post_sampling_probs": True,
            "n_probs": len(labels),
        }
        reply, evaluated = self._ask(
            ids, {"logit_bias": [[token, 60.0] for token in labels], **sampling}
        )
        return _read_reported(reply, "top_probs", "prob"), evaluated

    def _ask(self, ids: list[int], options: JsonObject = NOTHING) -> tuple[JsonObject, int]:
        body = {"prompt": ids, "n_predict": 1, "temperature": 0, "id_slot": 0, **options}
        reply = self._unwrap(self._server.handle_completions(body))
        self._slot = ids
        return reply, cast(int, object_at(reply, "timings")["prompt_n"])

    def _unwrap(self, reply: JsonObject) -> JsonObject:
        if "choices" in reply:
            return reply
        error = object_in(reply.get("error"))
        if error.get("type") == "exceed_context_size_error":
            raise PromptTooLong(
                "the prompt has {error} tokens, but the model reads only {context}: shorten the "
                "text",
                error=error.get("n_prompt_tokens"),
                context=self._context,
            )
        raise ModelError("the model could not answer: {error}", error=error.get("message"))

    def _post(self, path: str, body: JsonObject) -> JsonDict:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        url = self._server.listening_address + path
        # our own server on loopback
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310
        with _DIRECT.open(request, timeout=60) as response:
            data: JsonDict = json.load(response)
            return data

    @staticmethod
    def _check_kinds(path: Path, header: Header, adapter: Path | None) -> None:
        if header.kind == "adapter":
            raise SetupError(
                "{path} is an adapter, not a model: give it after a model, as in "
                "local/MODEL+{path}",
                path=path,
            )
        if adapter is not None and read_header(adapter).kind != "adapter":
            raise SetupError("{adapter} is not a LoRA adapter", adapter=adapter)


def frame_of(path: Path, render: Callable[[Sequence[JsonObject]], str]) -> tuple[str, str, str]:
    """Return a chat template's texts before, between and after a system and a user turn.

    Raise a SetupError if it has no place for them.
    """
    turns = [{"role": "system", "content": _SLOTS[0]}, {"role": "user", "content": _SLOTS[1]}]
    text_before, system_found, remaining = render(turns).partition(_SLOTS[0])
    text_between, user_found, text_after = remaining.partition(_SLOTS[1])
    if not (system_found and user_found):
        raise SetupError(
            "{path}: its chat template has no place for a system and a user turn", path=path
        )
    return text_before, text_between, text_after


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class LoadOptions:
    context: int
    port: int = 0
    """The port of the server on loopback, which xllamacpp always opens; 0 takes a free one."""
    key: str | None = None
    alias: str = "model"
    max_tokens: int = -1
    """Limit for answers whose request sets none; -1: no limit."""


def load(path: Path, adapter: Path | None, options: LoadOptions) -> Any:
    """Load the weights into memory and return xllamacpp's server object."""
    xllamacpp = import_xllamacpp()
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_predict, params.n_parallel = options.context, options.max_tokens, 1
    params.cpuparams.n_threads = threads()
    params.verbosity, params.warmup, params.fit_params, params.check_tensors = 0, False, False, True
    params.cache_ram_mib, params.ui, params.endpoint_slots = 0, False, False
    params.hostnames, params.port, params.cors_origins = ["127.0.0.1"], options.port, ""
    params.api_keys, params.model_alias = [options.key] if options.key else [], [options.alias]
    if adapter is not None:
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(adapter), 1.0)]
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise SetupError("{path} could not be loaded: {error}", path=path, error=error) from error


def _read_reported(reply: JsonObject, entries: str, value: str) -> dict[int, float]:
    content = objects_in(object_in(objects_at(reply, "choices")[0].get("logprobs")).get("content"))
    first_token = content[0] if content else {}
    values = {
        cast(int, entry["id"]): cast(float, entry[value])
        for entry in (*objects_in(first_token.get(entries)), first_token)
        if value in entry
    }
    if not values or not all(map(_is_finite, values.values())):
        raise ModelError(
            "the model returned no numbers, because its weights are damaged: pull them again"
        )
    return values


def _is_finite(number: object) -> bool:
    return isinstance(number, int | float) and math.isfinite(number)
