"""Connect to a Ray cluster: its address, whether it answers, and whether it authenticates
callers.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from urllib.parse import SplitResult, urlsplit

from adjudge.core.engine.cluster import RAY
from adjudge.errors import RunError, SetupError

_ADDRESS = "RAY_ADDRESS"
_AUTHENTICATION = "RAY_AUTH_MODE"
# Set if adjudge requested tokens for its own local cluster; that means nothing for other clusters.
_OURS = "ADJUDGE_RAY_AUTH_MODE"
_NAMED = re.compile(r"ray://([\w.-]+|\[[\da-fA-F:.]+\]):\d+")
# Seconds until a cluster that does not answer is taken for dead.
_PATIENCE = 10.0


def check_address(where: str) -> str:
    """Return Ray's address for a value of ``--on``; raise a SetupError if it is invalid."""
    if where.startswith(("postgres://", "postgresql://")):
        raise SetupError(
            "in Python, on= is ray or ray://HOST:PORT: for Postgres use 'adjudge run --on', "
            "or judge_partition with that store"
        )
    if where != RAY and not _NAMED.fullmatch(where):
        raise SetupError(
            "--on must be ray, ray://HOST:PORT or postgresql://HOST/DATABASE#NAME, not {where!r}",
            where=where,
        )
    address = os.environ.get(_ADDRESS, "local") if where == RAY else where
    # Whoever reaches an open cluster can run code there, so it must require a token.
    _refuse_open(address, None if _OURS in os.environ else os.environ.get(_AUTHENTICATION))
    return address


def _refuse_open(address: str, mode: str | None) -> None:
    if address == "local" or _is_loopback(address) or mode == "token":
        return
    raise SetupError(
        "the Ray cluster at {address} lets in anyone who can reach it: start it with "
        "{variable}=token, and set that here too",
        address=address,
        variable=_AUTHENTICATION,
    )


def _is_loopback(address: str) -> bool:
    host = _parts(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _parts(address: str) -> SplitResult:
    return urlsplit(address if "://" in address else f"//{address}")


def check_reached(address: str) -> None:
    """Raise a RunError if nothing listens at the address."""
    # Ray itself would retry for minutes and ignore Ctrl-C meanwhile.
    try:
        if (host := _parts(address).hostname) and (port := _parts(address).port):
            socket.create_connection((host, port), _PATIENCE).close()
    except (OSError, ValueError) as error:
        raise _unreached(address, error) from error


def _unreached(address: str, error: Exception) -> RunError:
    why = str(error).strip().split("\n")[0].rstrip(".")
    return RunError(
        "the Ray cluster at {address} cannot be reached: {why}. Is it running, with the same "
        "version of Ray? If it asks for a token, set {variable}=token here too",
        address=address,
        why=why,
        variable=_AUTHENTICATION,
    )


def check_installed(address: str) -> None:
    """Raise a SetupError if the installed Ray lacks what this address needs."""
    if find_spec("ray") is None:
        raise SetupError("--on ray needs Ray: pip install 'adjudge[ray]'")
    if address.startswith("ray://") and find_spec("grpc") is None:
        raise SetupError(
            "--on ray://HOST:PORT needs Ray with its client: pip install 'adjudge[ray]'"
        )


def _connect(address: str) -> None:
    import ray

    check_reached(address)
    local_options = {"include_dashboard": False} if address == "local" else {}
    try:
        with warnings.catch_warnings(action="ignore"):
            ray.init(address=address, log_to_driver=False, configure_logging=False, **local_options)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise _unreached(address, error) from error


@contextmanager
def connected(where: str) -> Iterator[int]:
    """Connect to the cluster, or to a new one on this machine, and yield the number of workers that
    it has room for.
    """
    address = check_address(where)
    if address == "local" and "ray" not in sys.modules:
        if not os.environ.get(_AUTHENTICATION):
            os.environ[_OURS] = "token"
        os.environ[_AUTHENTICATION] = (
            "token"  # it listens to the network, whatever it is told; read when Ray is loaded
        )
    import ray

    is_ours = not ray.is_initialized()
    if is_ours:
        logging.getLogger("ray").setLevel(logging.ERROR)
        _connect(address)
    try:
        if not is_ours or address == "local":
            _refuse_open(ray.get_runtime_context().gcs_address, os.environ.get(_AUTHENTICATION))
        yield max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        if is_ours:
            ray.shutdown()
