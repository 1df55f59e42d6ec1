"""Find the sandbox to use on this system: the first one that passes its tests."""

from __future__ import annotations

import threading
from collections.abc import Callable

from adjudge.errors import SetupError
from adjudge.features.generate.sandbox.base import Sandbox
from adjudge.features.generate.sandbox.bubblewrap import Bubblewrap
from adjudge.features.generate.sandbox.container import Container
from adjudge.features.generate.sandbox.no_sandbox import NoSandbox
from adjudge.features.generate.sandbox.sandlock import Sandlock
from adjudge.features.generate.sandbox.trial import trouble_with
from adjudge.messages import Message, join

WALLS: dict[str, Callable[[], Sandbox]] = {
    "sandlock": Sandlock,
    "bubblewrap": Bubblewrap,
    "docker": lambda: Container("docker"),
    "podman": lambda: Container("podman"),
}
"""In the order they are tried."""
_HELP = Message(
    "Generated code runs only in a sandbox. Install one: pip install 'adjudge[sandbox]' "
    "(Linux 6.12 or newer), or apt install "
    'bubblewrap, or docker with the image python:3.12-slim. sandbox="none" runs the code '
    "without one, with all your rights."
)
_probed: dict[str, Sandbox | str] = {}
_lock = threading.Lock()


def find_sandbox(name: str | None = None) -> Sandbox:
    """Return the sandbox with that name, or the first one that works.

    Each is probed once per process; "none" is returned without a probe. Raise a SetupError if none
    works.
    """
    if name == "none":
        return NoSandbox()
    if name is not None and name not in WALLS:
        raise SetupError(
            "unknown sandbox {name!r}; known: {known} and none",
            name=name,
            known=", ".join(WALLS),
        )
    reasons = []
    for candidate in WALLS if name is None else (name,):
        sandbox_or_reason = _probe_once(candidate)
        if not isinstance(sandbox_or_reason, str):
            return sandbox_or_reason
        reasons.append(join(": ", (candidate, sandbox_or_reason)))
    raise SetupError(
        "no sandbox works on this system ({reasons}). {help}",
        reasons=join("; ", reasons),
        help=_HELP,
    )


def _probe_once(name: str) -> Sandbox | str:
    """Return the sandbox, or the reason why it cannot be used."""
    with _lock:
        if name not in _probed:
            _probed[name] = _probe(name)
        return _probed[name]


def _probe(name: str) -> Sandbox | str:
    try:
        sandbox = WALLS[name]()
    except SetupError as error:
        return str(error)
    return trouble_with(sandbox) or sandbox
