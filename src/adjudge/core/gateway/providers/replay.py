"""Recorded replies, served again: no key, no network, the same answers."""

from __future__ import annotations

from pathlib import Path

from adjudge.core.domain.message import Capabilities, Reply, Request
from adjudge.core.gateway.layers.cache import read_replies
from adjudge.core.gateway.providers.base import Connection
from adjudge.errors import ModelError, SetupError
from adjudge.messages import Message

NOT_RECORDED = Message("no reply was recorded for this request")


def recorded_by(identity: str, model: str) -> bool:
    """Return True if ``identity`` is ``model`` at any server; "gpt-4o" is not "gpt-4o-mini"."""
    return identity == model or identity.startswith(f"{model}@")


class ReplayModel:
    """``replay/PATH.jsonl``, as recorded with ``open_model(…, cache="PATH.jsonl")``. ``#MODEL`` at
    the end picks one of several models.
    """

    capabilities = Capabilities(json_schema=True, seed=True)

    def __init__(self, path: str) -> None:
        self.name = f"replay/{path}"
        file, _, model_name = path.partition("#")
        if not Path(file).is_file():
            raise SetupError(
                "there are no recorded replies at {file!r}: record some with open_model(…, "
                "cache={file!r})",
                file=file,
            )
        entries = [
            entry
            for entry in read_replies(Path(file))
            if not model_name or recorded_by(entry[0], model_name)
        ]
        if not entries:
            if model_name:
                raise SetupError(
                    "{file!r} contains no replies from {name}", file=file, name=model_name
                )
            raise SetupError("{file!r} contains no replies", file=file)
        if not model_name and len({model for model, _, _ in entries}) > 1:
            models = ", ".join(sorted({model for model, _, _ in entries}))
            raise SetupError(
                "{file!r} contains replies from several models ({models}): choose one with "
                "replay/{file}#MODEL",
                file=file,
                models=models,
            )
        self._replies = {key: reply for _, key, reply in entries}

    async def complete(self, request: Request) -> Reply:
        """Return the reply that was recorded for exactly this request; raise a ModelError if there
        is none.
        """
        reply = self._replies.get(request.key)
        if reply is None:
            raise ModelError(NOT_RECORDED, model=self.name)
        return reply


def open_replay(connection: Connection) -> ReplayModel:
    """Open ``replay/PATH``."""
    return ReplayModel(connection.model)
