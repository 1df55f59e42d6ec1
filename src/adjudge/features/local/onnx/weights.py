"""The weights that onnxruntime reads, made once from a pulled GGUF file and an adapter, and kept
next to it.

The file's name has a hash of both, so another adapter or other weights give another file. A damaged
or missing file is made again.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256 as hash_of
from pathlib import Path
from typing import cast, get_args

from adjudge.core.aio.files import locked, sha256, written_whole
from adjudge.errors import SetupError
from adjudge.features.local.llama import frame_of
from adjudge.features.local.onnx.graph import Precision
from adjudge.features.local.onnx.tensors import write_tensors
from adjudge.features.local.onnx.tokenizer import Tokenizer
from adjudge.features.local.weights.gguf import Header, read_header
from adjudge.features.local.weights.leftovers import forget_unused, note_use, seal_of, sweep
from adjudge.features.local.weights.store import LOCK, read_manifest, weights_folder
from adjudge.messages import reason_of

# Raised whenever the same sources are made into other weights.
_EDITION = 5
_WANTED = "ADJUDGE_LOCAL_PRECISION"


@dataclass(frozen=True, slots=True)
class _Seal:
    """Size, time and hash of a file when its hash was last checked."""

    size: int
    mtime_ns: int
    sha256: str


def precision() -> Precision:
    """Return the precision that ``ADJUDGE_LOCAL_PRECISION`` names, by default ``int8``.

    Raise a SetupError for an unknown one.
    """
    chosen = os.environ.get(_WANTED) or "int8"
    if chosen not in get_args(Precision):
        raise SetupError(
            "{variable} is {wanted!r}, which is not one of {precisions}",
            variable=_WANTED,
            wanted=chosen,
            precisions=", ".join(get_args(Precision)),
        )
    return cast(Precision, chosen)


def made_weights(
    name: str,
    base: Path,
    adapter: Path | None,
    wanted: Precision,
    *,
    hashed: bool = False,
) -> Path:
    """Return the file of the weights called ``name``; make it if it is not there.

    With ``hashed``, check its hash even if its date is unchanged.
    """
    path = made_path(name, base, adapter, wanted)
    if _whole(path, hashed):
        note_use(path)
        return path
    try:
        with locked(path.parent / LOCK):
            # Another process may have made it while this one waited.
            sweep(path.parent)
            if not _whole(path, hashed):
                _make(base, adapter, wanted, path)
    except OSError as error:
        raise SetupError(
            "the weights of {name} could not be created in {parent}: {reason}; free some space "
            "there, or set ADJUDGE_CACHE to a folder you may write to and run 'adjudge models "
            "pull'",
            name=name,
            parent=path.parent,
            reason=reason_of(error),
        ) from error
    return path


def made_path(name: str, base: Path, adapter: Path | None, wanted: Precision) -> Path:
    """Return the path at which ``made_weights`` stores these weights."""
    manifest = read_manifest(name)
    source = (
        manifest.sha256 if manifest is not None and manifest.file == base.name else sha256(base)
    )
    changes = _hash(adapter, adapter.stat().st_mtime_ns) if adapter else "none"
    key = hash_of(f"{_EDITION} {wanted} {source} {changes}".encode()).hexdigest()[:16]
    return weights_folder(name) / f"{name}.{wanted}.{key}.safetensors"


@lru_cache(maxsize=16)
# a file that has changed is hashed again
def _hash(path: Path, changed: int) -> str:  # noqa: ARG001
    return sha256(path)


def _whole(path: Path, hashed: bool) -> bool:
    """Return True if the file is as it was written.

    Unless ``hashed``, a file with its old size and date is not hashed again.
    """
    seal = seal_of(path)
    try:
        sealed = _Seal(**json.loads(seal.read_bytes()))
        now = path.stat()
    except (OSError, ValueError, TypeError):
        return False
    if now.st_size != sealed.size:
        return False
    dated = now.st_mtime_ns == sealed.mtime_ns
    if (hashed or not dated) and sha256(path) != sealed.sha256:
        return False
    if not dated:
        with suppress(OSError):  # a folder that is only there to be read
            _write_seal(seal, _Seal(sealed.size, now.st_mtime_ns, sealed.sha256))
    return True


def _write_seal(path: Path, seal: _Seal) -> None:
    with written_whole(path) as file:
        file.write(json.dumps(asdict(seal)).encode())


def _make(base: Path, adapter: Path | None, wanted: Precision, path: Path) -> None:
    from adjudge.features.local.onnx.merger import merged

    header = read_header(base)
    metadata = _metadata(header)
    weights = merged(base, adapter, _samples(header, *json.loads(metadata["frame"])))
    with written_whole(path) as file:
        write_tensors(file, weights.layouts(wanted), metadata, weights.arrays(wanted))
    now = path.stat()
    _write_seal(seal_of(path), _Seal(now.st_size, now.st_mtime_ns, sha256(path)))
    forget_unused(path.parent)


def _metadata(header: Header) -> dict[str, str]:
    """Return what scoring needs besides the arrays.

    This is the sizes, the chat template around two turns, and the vocabulary.
    """
    from adjudge.features.local.onnx.merger import rotation_base, shape_of

    metadata = header.metadata
    return {
        "shape": json.dumps(asdict(shape_of(header))),
        "rotation_base": str(rotation_base(header)),
        "frame": json.dumps(_frame(header)),
        "context": str(header.context_length),
        "tokens": "\n".join(metadata["tokenizer.ggml.tokens"]),
        "merges": "\n".join(metadata["tokenizer.ggml.merges"]),
        "control": json.dumps(header.special_tokens),
    }


def _frame(header: Header) -> tuple[str, str, str]:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    template = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(
        header.chat_template or ""
    )
    return frame_of(
        header.path, lambda turns: template.render(messages=turns, add_generation_prompt=True)
    )


def _samples(
    header: Header, text_before: str, text_between: str, text_after: str
) -> list[list[int]]:
    """Return the tokens of ordinary prompts. All must begin with the same control token."""
    metadata = header.metadata
    tokenizer = Tokenizer(
        metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.merges"], header.special_tokens
    )
    if not any(text_before.startswith(token) for token in header.special_tokens):
        raise SetupError(
            "{path}: its chat template does not begin with a control token", path=header.path
        )
    text = Path(__file__).with_name("samples.txt").read_text(encoding="utf-8")
    turns = (sample.partition("\n") for sample in text.strip().split("\n---\n"))
    return [
        tokenizer.encode_frame(f"{text_before}{system}{text_between}{user}{text_after}")
        for system, _, user in turns
    ]
