"""The system calls that generated code may not make, as a program for the kernel.

Every sandbox adds this filter. It closes gaps: Landlock lets a process change the mode, owner and
times of files it may not open, set limits of other processes of the same user, and reach Unix
sockets; RLIMIT_NPROC does not bind root. Calls newer than the list do not exist for the code.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from adjudge.errors import SetupError

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}
# mseal; what came later is refused as unknown.
_LAST_KNOWN = 462

_REFUSED = Path(__file__).with_name("syscalls.txt")
_CLONE, _CLONE3, _SOCKETPAIR, _PRLIMIT = (56, 220), (435, 435), (53, 199), (302, 261)
_FCNTL, _PRCTL, _IOCTL = (72, 25), (157, 167), (16, 29)
# fcntl commands that have the kernel signal another process when data arrives or a folder changes.
_SETOWN, _SETSIG, _SETOWN_EX, _NOTIFY = 8, 10, 15, 1026
# prctl commands to outlive the parent, and to hide open files from the host.
_PDEATHSIG, _DUMPABLE = 1, 4
# ioctl commands like F_SETOWN, and for writing into a terminal.
_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX = 0x8901, 0x8902, 0x5412, 0x541C
_CLONE_THREAD = 0x10000
_SOCK_STREAM, _SOCK_TYPE = 1, 0xF

_LOAD, _EQUAL, _GREATER, _AND, _RETURN = 0x20, 0x15, 0x25, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16


@cache
def filter_program(machine: str = "") -> bytes:
    """Return the system call filter as a sequence of ``struct sock_filter``.

    Raise a SetupError for machines other than x86_64 and aarch64.
    """
    machine = machine or platform.machine()
    if machine not in _COLUMN:
        raise SetupError(
            "no system call filter for {machine}: generated code can be confined on x86_64 "
            "and aarch64",
            machine=machine,
        )
    return b"".join(_instructions(machine))


def _instructions(machine: str) -> Iterator[bytes]:
    column = _COLUMN[machine]
    yield _step(_LOAD, _ARCH)
    yield from _unless_equal(_AUDIT_ARCH[machine], _KILL)
    yield _step(_LOAD, _NUMBER)
    yield _step(_GREATER, _LAST_KNOWN, 0, 1)
    yield _refuse(errno.ENOSYS)
    for line in _REFUSED.read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            _, *numbers = line.split()
            if numbers[column] != "-":
                yield from _if_equal(int(numbers[column]), [_refuse(errno.EPERM)])
    yield from _if_equal(
        _CLONE3[column], [_refuse(errno.ENOSYS)]
    )  # its flags lie in memory; the C library falls back to clone
    yield from _if_equal(_CLONE[column], _only_threads())
    yield from _if_equal(_SOCKETPAIR[column], _only_streams())
    yield from _if_equal(_PRLIMIT[column], _only_itself())
    yield from _if_equal(_FCNTL[column], _none_of(1, _SETOWN, _SETSIG, _SETOWN_EX, _NOTIFY))
    yield from _if_equal(_PRCTL[column], _none_of(0, _PDEATHSIG, _DUMPABLE))
    yield from _if_equal(_IOCTL[column], _none_of(1, _FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX))
    yield _step(_RETURN, _ALLOW)


def _none_of(index: int, *values: int) -> list[bytes]:
    """Refuse the call if the argument is one of these values; only its lower half is compared."""
    refusals = [step for value in values for step in _if_equal(value, [_refuse(errno.EPERM)])]
    return [_step(_LOAD, _argument(index)), *refusals, _step(_RETURN, _ALLOW)]


def _only_threads() -> list[bytes]:
    return [_step(_LOAD, _argument(0)), _step(_AND, _CLONE_THREAD), *_allow_if_equal(_CLONE_THREAD)]


def _only_streams() -> list[bytes]:
    """Allow only stream sockets in socket pairs."""
    # A datagram socket could be given another address later.
    return [_step(_LOAD, _argument(1)), _step(_AND, _SOCK_TYPE), *_allow_if_equal(_SOCK_STREAM)]


def _only_itself() -> list[bytes]:
    return [_step(_LOAD, _argument(0)), *_allow_if_equal(0)]


def _allow_if_equal(value: int) -> list[bytes]:
    return [_step(_EQUAL, value, 1, 0), _refuse(errno.EPERM), _step(_RETURN, _ALLOW)]


def _if_equal(value: int, then: list[bytes]) -> list[bytes]:
    return [_step(_EQUAL, value, 0, len(then)), *then]


def _unless_equal(value: int, action: int) -> list[bytes]:
    return [_step(_EQUAL, value, 1, 0), _step(_RETURN, action)]


def _argument(index: int) -> int:
    return _FIRST_ARGUMENT + 8 * index


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
