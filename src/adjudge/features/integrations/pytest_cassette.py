"""Record the replies of a pytest session, and replay those of an earlier one."""

from __future__ import annotations

from pathlib import Path

from adjudge.core.domain.message import Reply, Request
from adjudge.core.gateway.layers.cache import JsonlCache, read_replies
from adjudge.core.gateway.providers.replay import recorded_by
from adjudge.errors import SetupError

_REPLIES, _PART = "replies.jsonl", ".part.jsonl"


class Cassette:
    """Recorded replies.

    Those of earlier sessions are reused; new ones go into this process's file.
    """

    def __init__(self, folder: Path, process: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        own_file = folder / f"{process}{_PART}"
        earlier = [
            file
            for file in (folder / _REPLIES, *_parts(folder))
            if file != own_file and file.exists()
        ]
        # Each process writes its own part: several must not append to one file.
        self._before = {
            (model, key): reply
            for old_file in earlier
            for model, key, reply in read_replies(old_file)
        }
        self._own = JsonlCache(own_file)

    def get(self, model: str, request: Request) -> Reply | None:
        """Return the recorded reply, if there is one."""
        return self._own.get(model, request) or self._before.get((model, request.key))

    def put(self, model: str, request: Request, reply: Reply) -> None:
        self._own.put(model, request, reply)


def join_parts(folder: Path) -> None:
    """Merge the recordings of all processes into one file."""
    for part in _parts(folder):
        JsonlCache(part)  # a process that was killed may have left half a line
        with (folder / _REPLIES).open("ab") as joined:
            joined.write(part.read_bytes())
        part.unlink()


def replayed(folder: Path, model: str) -> str:
    """Return the id of the model that replays the recording.

    If several models were recorded, the given one among them is replayed.
    """
    file = recording(folder)
    recorded = {name for name, _, _ in read_replies(file)}
    has_model = any(recorded_by(name, model) for name in recorded)
    return f"replay/{file}#{model}" if len(recorded) > 1 and has_model else f"replay/{file}"


def recording(folder: Path) -> Path:
    """Return the file of recorded replies: `folder` itself, or the one in it.

    Raise a SetupError if there is none.
    """
    file = folder / _REPLIES if folder.is_dir() else folder
    if not file.is_file():
        raise SetupError(
            "{folder} contains no recorded replies: record some with 'pytest --judged-record "
            "FOLDER'",
            folder=folder,
        )
    return file


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{_PART}"))
