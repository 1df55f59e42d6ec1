"""Replies that a pytest session records, and those that it takes from an earlier one."""

from __future__ import annotations

from pathlib import Path

from adjudge.core.domain.message import Reply, Request
from adjudge.core.gateway.layers.cache import JsonlCache, read_replies
from adjudge.core.gateway.providers.replay import recorded_by
from adjudge.errors import SetupError

_REPLIES, _PART = "replies.jsonl", ".part.jsonl"


class Cassette:
    """Replies that are recorded: those of earlier sessions are given again, new ones go into this
    process's own file.
    """

    def __init__(self, folder: Path, process: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        own = folder / f"{process}{_PART}"
        earlier = [
            one for one in (folder / _REPLIES, *_parts(folder)) if one != own and one.exists()
        ]
        self._before = {
            (model, key): reply for file in earlier for model, key, reply in read_replies(file)
        }
        self._own = JsonlCache(own)

    def get(self, model: str, request: Request) -> Reply | None:
        """The reply that was recorded."""
        return self._own.get(model, request) or self._before.get((model, request.key))

    def put(self, model: str, request: Request, reply: Reply) -> None:
        self._own.put(model, request, reply)


def join_parts(folder: Path) -> None:
    """Put what all processes recorded into one file."""
    for part in _parts(folder):
        JsonlCache(part)  # a process that was killed may have left half a line
        with (folder / _REPLIES).open("ab") as whole:
            whole.write(part.read_bytes())
        part.unlink()


def replayed(folder: Path, model: str) -> str:
    """The model that gives the recorded replies; where several models were recorded, those of this
    one.
    """
    file = recording(folder)
    recorded = {name for name, _, _ in read_replies(file)}
    own = any(recorded_by(name, model) for name in recorded)
    return f"replay/{file}#{model}" if len(recorded) > 1 and own else f"replay/{file}"


def recording(folder: Path) -> Path:
    """The file of the replies that were recorded there."""
    file = folder / _REPLIES if folder.is_dir() else folder
    if not file.is_file():
        raise SetupError(
            "{folder} holds no recorded replies: 'pytest --judged-record FOLDER' keeps some",
            folder=folder,
        )
    return file


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{_PART}"))
