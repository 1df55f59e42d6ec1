"""What is in the way beside the weights: half files of killed processes, and weights that nobody
uses any more.

Another adapter, or another way to round, is another file of hundreds of megabytes. Versions of
adjudge that share a cache folder do not know of each other's files, so each notes when it uses its
own, and what was not used for long goes.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from time import time

from adjudge.core.aio.files import PART, locked
from adjudge.features.local.weights.store import LOCK

SCRATCH = ".pull-"
"""How the names of folders that are downloaded into begin."""
_DAY = 86_400
_UNUSED = 14 * _DAY


def sweep(folder: Path) -> None:
    """Remove what a killed process left. Only whoever holds the lock may."""
    for scratch in folder.glob(f"{SCRATCH}*"):
        shutil.rmtree(scratch)
    for part in folder.glob(f"*{PART}"):
        part.unlink(missing_ok=True)


def note_use(weights: Path) -> None:
    """Say once a day that the made ``weights`` are in use, and tidy up beside them."""
    with suppress(OSError):
        if time() - seal_of(weights).stat().st_mtime > _DAY:
            os.utime(seal_of(weights))
            tidy(weights.parent)


def tidy(folder: Path) -> None:
    """Remove leftovers, unless somebody is pulling or making weights, or the folder is only there
    to be read.
    """
    with suppress(OSError), locked(folder / LOCK, wait=False) as held:
        if held:
            sweep(folder)
            forget_unused(folder)


def forget_unused(folder: Path) -> None:
    """Remove made weights that no process has used for two weeks: who wants them makes them again.
    Only with the lock.
    """
    for weights in folder.glob("*.safetensors"):
        if time() - _last_used(weights) > _UNUSED:
            with suppress(OSError):  # Windows keeps what is open
                weights.unlink()
                seal_of(weights).unlink(missing_ok=True)


def seal_of(weights: Path) -> Path:
    """The file beside made weights that says what their hash was; as old as their last use."""
    return weights.with_suffix(".json")


def _last_used(weights: Path) -> float:
    """Versions that do not note their use still read the file, and most systems keep the day of
    that.
    """
    found = [file.stat() for file in (weights, seal_of(weights)) if file.exists()]
    return max((max(one.st_mtime, one.st_atime) for one in found), default=time())
