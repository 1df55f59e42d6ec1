"""The system calls that generated code may not make, as a program for the kernel.

Every wall gets this filter on top. It closes what the walls leave open: Landlock lets a process
change the mode, owner and times of files it may not open, set limits of other processes of the same
user, and reach Unix sockets; RLIMIT_NPROC does not bind root. Calls newer than the list do not
exist for the code.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator

from adjudge.errors import SetupError

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}
_LAST_KNOWN = 462
"""mseal; what came later is refused as unknown."""

_REFUSED = {  # name: (number on x86_64, number on aarch64); None where the machine has no such call
    # the network: sockets of any family, and what would give a socket pair an address
    **{
        "socket": (41, 198),
        "connect": (42, 203),
        "bind": (49, 200),
        "listen": (50, 201),
        "accept": (43, 202),
    },
    **{"accept4": (288, 242), "sendmsg": (46, 211), "sendmmsg": (307, 269)},
    # other processes: making, signalling, reading and slowing them
    **{
        "fork": (57, None),
        "vfork": (58, None),
        "execve": (59, 221),
        "execveat": (322, 281),
        "kill": (62, 129),
    },
    **{
        "tkill": (200, 130),
        "tgkill": (234, 131),
        "rt_sigqueueinfo": (129, 138),
        "rt_tgsigqueueinfo": (297, 240),
    },
    **{
        "pidfd_open": (434, 434),
        "pidfd_send_signal": (424, 424),
        "pidfd_getfd": (438, 438),
        "ptrace": (101, 117),
    },
    **{
        "process_vm_readv": (310, 270),
        "process_vm_writev": (311, 271),
        "process_madvise": (440, 440),
        "kcmp": (312, 272),
    },
    **{"process_mrelease": (448, 448), "setpriority": (141, 140), "sched_setaffinity": (203, 122)},
    **{
        "sched_setscheduler": (144, 119),
        "sched_setparam": (142, 118),
        "sched_setattr": (314, 274),
        "ioprio_set": (251, 30),
    },
    **{
        "migrate_pages": (256, 238),
        "move_pages": (279, 239),
        "setsid": (112, 157),
        "setpgid": (109, 154),
    },
    # who and where the process is
    **{
        "mount": (165, 40),
        "umount2": (166, 39),
        "pivot_root": (155, 41),
        "chroot": (161, 51),
        "unshare": (272, 97),
    },
    **{
        "setns": (308, 268),
        "open_tree": (428, 428),
        "move_mount": (429, 429),
        "fsopen": (430, 430),
        "fsconfig": (431, 431),
    },
    **{
        "fsmount": (432, 432),
        "fspick": (433, 433),
        "mount_setattr": (442, 442),
        "personality": (135, 92),
    },
    # files by other ways than opening them, and what is known about files
    **{
        "open_by_handle_at": (304, 265),
        "name_to_handle_at": (303, 264),
        "mknod": (133, None),
        "mknodat": (259, 33),
    },
    **{
        "chmod": (90, None),
        "fchmod": (91, 52),
        "fchmodat": (268, 53),
        "fchmodat2": (452, 452),
        "chown": (92, None),
    },
    **{
        "lchown": (94, None),
        "fchown": (93, 55),
        "fchownat": (260, 54),
        "setxattr": (188, 5),
        "lsetxattr": (189, 6),
    },
    **{
        "fsetxattr": (190, 7),
        "removexattr": (197, 14),
        "lremovexattr": (198, 15),
        "fremovexattr": (199, 16),
    },
    **{
        "utime": (132, None),
        "utimes": (235, None),
        "futimesat": (261, None),
        "utimensat": (280, 88),
    },
    **{
        "getxattr": (191, 8),
        "lgetxattr": (192, 9),
        "fgetxattr": (193, 10),
        "listxattr": (194, 11),
        "llistxattr": (195, 12),
    },
    **{
        "flistxattr": (196, 13),
        "readlink": (89, None),
        "readlinkat": (267, 78),
        "inotify_init": (253, None),
    },
    **{
        "inotify_init1": (294, 26),
        "inotify_add_watch": (254, 27),
        "fanotify_init": (300, 262),
        "fanotify_mark": (301, 263),
    },
    **{
        "quotactl": (179, 60),
        "quotactl_fd": (443, 443),
        "statmount": (457, 457),
        "listmount": (458, 458),
    },
    # what outlives the process, and memory beside its address space
    **{
        "shmget": (29, 194),
        "msgget": (68, 186),
        "semget": (64, 190),
        "mq_open": (240, 180),
        "memfd_create": (319, 279),
    },
    **{
        "memfd_secret": (447, 447),
        "add_key": (248, 217),
        "request_key": (249, 218),
        "keyctl": (250, 219),
    },
    # the kernel itself
    **{
        "bpf": (321, 280),
        "perf_event_open": (298, 241),
        "userfaultfd": (323, 282),
        "io_uring_setup": (425, 425),
    },
    **{
        "io_uring_enter": (426, 426),
        "io_uring_register": (427, 427),
        "kexec_load": (246, 104),
        "kexec_file_load": (320, 294),
    },
    **{
        "init_module": (175, 105),
        "finit_module": (313, 273),
        "delete_module": (176, 106),
        "reboot": (169, 142),
    },
    **{
        "swapon": (167, 224),
        "swapoff": (168, 225),
        "sethostname": (170, 161),
        "setdomainname": (171, 162),
    },
    **{
        "settimeofday": (164, 170),
        "clock_settime": (227, 112),
        "clock_adjtime": (305, 266),
        "adjtimex": (159, 171),
    },
    **{
        "acct": (163, 89),
        "syslog": (103, 116),
        "iopl": (172, None),
        "ioperm": (173, None),
        "modify_ldt": (154, None),
    },
    **{"vhangup": (153, 58)},
}
_CLONE, _CLONE3, _SOCKETPAIR, _PRLIMIT = (56, 220), (435, 435), (53, 199), (302, 261)
_FCNTL, _PRCTL, _IOCTL = (72, 25), (157, 167), (16, 29)
_SETOWN, _SETSIG, _SETOWN_EX, _NOTIFY = 8, 10, 15, 1026
"""Of fcntl: have the kernel signal another process when something can be read, or when a folder
changes.
"""
_PDEATHSIG, _DUMPABLE = 1, 4
"""Of prctl: outlive the parent, and hide from the host what is open."""
_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX = 0x8901, 0x8902, 0x5412, 0x541C
"""Of ioctl: the same as F_SETOWN, and writing into a terminal."""
_CLONE_THREAD = 0x10000
_SOCK_STREAM, _SOCK_TYPE = 1, 0xF

_LOAD, _EQUAL, _GREATER, _AND, _RETURN = 0x20, 0x15, 0x25, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16


def filter_program(machine: str = "") -> bytes:
    """The filter as the kernel reads it: one ``struct sock_filter`` after another."""
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
    for numbers in _REFUSED.values():
        if (number := numbers[column]) is not None:
            yield from _if_equal(number, [_refuse(errno.EPERM)])
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
    """Refused when the argument is one of these; the kernel reads its lower half only."""
    refusals = [step for value in values for step in _if_equal(value, [_refuse(errno.EPERM)])]
    return [_step(_LOAD, _argument(index)), *refusals, _step(_RETURN, _ALLOW)]


def _only_threads() -> list[bytes]:
    return [_step(_LOAD, _argument(0)), _step(_AND, _CLONE_THREAD), *_allow_if_equal(_CLONE_THREAD)]


def _only_streams() -> list[bytes]:
    """A pair of datagram sockets could be given another address later."""
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
