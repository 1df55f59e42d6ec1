"""Say what is in a folder of built files: a bill of materials (CycloneDX 1.5) beside them, and
their hashes in ``SHA256SUMS``.

    python tools/contents.py dist

The bill names adjudge and every package of the pinned requirements that users get.
The same tree gives the same bill.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENTS = {"core": "required", "local": "optional"}
"""Which pinned lists users install, and whether everybody does."""
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
SUMS = "SHA256SUMS"


def main(folder: Path) -> None:
    """Write the bill and the hashes of all that lies in ``folder``."""
    (wheel,) = folder.glob("adjudge-*.whl")
    version = wheel.name.split("-")[1]
    bill = folder / f"adjudge-{version}.cdx.json"
    bill.write_text(json.dumps(bill_of(version), indent=1) + "\n", encoding="utf-8")
    built = sorted(path for path in folder.iterdir() if path.name != SUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in built]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def bill_of(version: str) -> dict[str, object]:
    """What adjudge of this version is made of, as CycloneDX has it."""
    scopes: dict[tuple[str, str], str] = {}
    for name, scope in REQUIREMENTS.items():
        listed = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
        for package, pinned in _PINNED.findall(listed):
            scopes.setdefault((package.lower(), pinned), scope)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component("adjudge", version, "required", "application")},
        "components": [
            _component(name, pinned, scope) for (name, pinned), scope in sorted(scopes.items())
        ],
    }


def _component(name: str, version: str, scope: str, kind: str = "library") -> dict[str, object]:
    purl = f"pkg:pypi/{name}@{version}"
    return {
        "type": kind,
        "bom-ref": purl,
        "name": name,
        "version": version,
        "scope": scope,
        "purl": purl,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
