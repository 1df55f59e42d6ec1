"""Code that wants out. Each attempt runs in every sandbox that works here and has to fail for the
reason beside it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from walls import WORKING, installed, processes, temporary_folder, traces

from adjudge.errors import Crashed, Forbidden, MemoryLimit, Timeout
from adjudge.features.generate.sandbox.base import Limits, Sandbox
from adjudge.features.generate.sandbox.finder import find_sandbox
from adjudge.features.generate.sandbox.no_sandbox import NoSandbox
from adjudge.features.generate.sandbox.sandlock import Sandlock

# What a refusal looks like: EPERM and EACCES by the filter and Landlock, ENOENT and ENOTDIR where
# the file system inside is
# empty, EROFS where it is read-only, ENOSYS for calls that do not exist inside, ESRCH where there
# are no other processes.
REFUSED = {"PermissionError", "EPERM", "EACCES", "EROFS", "ENOSYS"}
NOT_THERE = REFUSED | {
    "FileNotFoundError",
    "NotADirectoryError",
    "ProcessLookupError",
    "ENOENT",
    "ESRCH",
    "OSError",
}
BEHIND = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def must(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result
"""

ONE_BY_ONE = {  # what it is: (code that sets `output` when it got out, the refusals that count)
    "read the password file": (
        "assert USERS in open('/etc/passwd').read(); output = 1",
        NOT_THERE | {"AssertionError"},
    ),
    "read a file of the host": ("output = open(SECRET).read()", NOT_THERE),
    "read it by its descriptor folder": (
        "output = open(f'/proc/self/root{SECRET}').read()",
        NOT_THERE,
    ),
    "read it through a link": (
        "os.symlink(SECRET, 'link'); output = open('link').read()",
        NOT_THERE,
    ),
    "read it through a hard link": (
        "os.link(SECRET, 'hard'); output = open('hard').read()",
        NOT_THERE,
    ),
    "read it by climbing": (
        "output = open('../../../../../../../../..' + SECRET).read()",
        NOT_THERE,
    ),
    "list the root of the host": ("output = [name for name in os.listdir(FOLDER)]", NOT_THERE),
    "list the folder of the tests": ("output = os.listdir(TESTS)", NOT_THERE),
    "read the kernel's memory": ("output = open('/dev/mem', 'rb').read(1)", NOT_THERE),
    "read a disk": ("output = os.open('/dev/vda', os.O_RDONLY)", NOT_THERE),
    "open the terminal": ("output = os.open('/dev/tty', os.O_RDWR)", NOT_THERE),
    "see a variable of the host": ("output = os.environ[MARK]", {"KeyError"}),
    "read the host's variables": ("output = open(f'/proc/{HOST}/environ').read()", NOT_THERE),
    "read the host's command": ("output = open(f'/proc/{HOST}/cmdline').read()", NOT_THERE),
    "read the host's memory": ("output = open(f'/proc/{HOST}/mem', 'rb').read(1)", NOT_THERE),
    "list what the host has open": ("output = os.listdir(f'/proc/{HOST}/fd')", NOT_THERE),
    "write a file of the host": ("open(SECRET, 'w').write('x'); output = 1", NOT_THERE),
    "write beside it": ("open(FOLDER + '/new', 'w').write('x'); output = 1", NOT_THERE),
    "write to the temporary folder": (
        "open('/tmp/adjudge-escaped', 'w').write('x'); output = 1",
        None,
    ),
    "write to shared memory": (
        (
            "open('/dev/shm/adjudge-escaped', 'w').write('x'); output = os.path.exists(SECRET) "
            "or 1 / 0"
        ),
        None,
    ),
    "write into the standard library": ("open(os.__file__, 'a').write('x'); output = 1", NOT_THERE),
    "write beside the runner": ("open(CHILD, 'a').write('x'); output = 1", NOT_THERE),
    "delete a file of the host": ("os.unlink(SECRET); output = 1", NOT_THERE),
    "rename a file of the host": ("os.rename(SECRET, 'mine'); output = 1", NOT_THERE | {"EXDEV"}),
    "cut a file of the host": ("os.truncate(SECRET, 0); output = 1", NOT_THERE),
    "change a mode": ("os.chmod(SECRET, 0o777); output = 1", NOT_THERE),
    "change an owner": ("os.chown(SECRET, 1, 1); output = 1", NOT_THERE),
    "change a time": ("os.utime(SECRET, (0, 0)); output = 1", NOT_THERE),
    "change an attribute": ("os.setxattr(SECRET, 'user.x', b'x'); output = 1", NOT_THERE),
    "make a device": (
        "os.mknod('device', 0o600 | 0o020000, os.makedev(1, 1)); output = 1",
        REFUSED,
    ),
    "read an attribute": ("output = os.getxattr(SECRET, 'user.x')", REFUSED),
    "list the attributes": ("output = os.listxattr(SECRET) + [1]", REFUSED),
    "see what the host has open": (
        "output = [os.readlink(f'/proc/{HOST}/fd/{n}') for n in range(3)]",
        REFUSED,
    ),
    "see where the host is": ("output = os.readlink(f'/proc/{HOST}/cwd')", REFUSED),
    "see which program the host is": ("output = os.readlink(f'/proc/{HOST}/exe')", REFUSED),
    "see it from another folder": (
        "output = os.readlink('cwd', dir_fd=os.open('.', os.O_RDONLY))",
        REFUSED,
    ),
    "watch a folder of the host": ("output = must(libc.inotify_init1(0)) + 1", REFUSED),
    "watch all files": ("output = must(libc.fanotify_init(0, 0)) + 1", REFUSED),
    "watch a folder by signals": (
        "output = fcntl.fcntl(os.open('.', os.O_RDONLY), fcntl.F_NOTIFY, 0x3F) + 1",
        REFUSED,
    ),
    "list the mounts": ("output = must(libc.syscall(458, 0, 0, 0, 0)) + 1", REFUSED),
    "open a file by its handle": (
        (
            "output = must(libc.syscall({'x86_64': 304, 'aarch64': 265}[os.uname().machine], "
            "-100, 0, 0))"
        ),
        REFUSED,
    ),
    "connect over TCP": (
        "output = socket.create_connection(('127.0.0.1', PORT), 1) and 1",
        REFUSED,
    ),
    "connect over IPv6": ("output = socket.create_connection(('::1', PORT), 1) and 1", REFUSED),
    "send over UDP": (
        "output = socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))",
        REFUSED,
    ),
    "listen over TCP": ("s = socket.socket(); s.bind(('127.0.0.1', 0)); output = 1", REFUSED),
    "connect to a Unix socket": (
        "s = socket.socket(socket.AF_UNIX); s.connect(UNIX); output = 1",
        REFUSED,
    ),
    "bind an abstract Unix socket": (
        "s = socket.socket(socket.AF_UNIX); s.bind('\\0' + MARK); output = 1",
        REFUSED,
    ),
    "turn a socket pair round": (
        "a, b = socket.socketpair(type=socket.SOCK_DGRAM); a.sendto(b'x', UNIX); output = 1",
        REFUSED,
    ),
    "connect a socket pair": (
        "a, b = socket.socketpair(); a.connect('\\0' + MARK); output = 1",
        REFUSED,
    ),
    "send raw packets": (
        "output = socket.socket(socket.AF_PACKET, socket.SOCK_RAW) and 1",
        REFUSED,
    ),
    "talk to the kernel": (
        "output = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) and 1",
        REFUSED,
    ),
    "ask for a name": (
        "output = socket.getaddrinfo('example.com', 80)",
        {"gaierror", "EPERM", "PermissionError"},
    ),
    "fork": ("output = os.fork() or os._exit(0)", REFUSED),
    "fork by the system call": (
        (
            "output = must(libc.syscall({'x86_64': 57, 'aarch64': 220}[os.uname().machine], 17, "
            "0, 0, 0, 0)) or os._exit(0)"
        ),
        REFUSED,
    ),
    "fork by the newer call": (
        "output = must(libc.syscall(435, ctypes.create_string_buffer(88), 88)) or os._exit(0)",
        REFUSED,
    ),
    "start a shell": (
        "import subprocess; output = subprocess.run(['/bin/sh', '-c', 'true']).returncode + 1",
        REFUSED,
    ),
    "become another program": ("os.execv('/bin/true', ['true'])", NOT_THERE),
    "leave its session": ("os.setsid(); output = 1", REFUSED),
    "kill the parent": ("os.kill(os.getppid(), 9); output = 1", REFUSED),
    "kill the host": ("os.kill(HOST, 9); output = 1", REFUSED),
    "kill everything": ("os.kill(-1, 9); output = 1", REFUSED),
    "signal a thread of the host": (
        (
            "output = must(libc.syscall({'x86_64': 234, 'aarch64': 131}[os.uname().machine], "
            "HOST, HOST, 9)) + 1"
        ),
        REFUSED,
    ),
    "have a pipe signal the host": (
        "output = fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, HOST) + 1",
        REFUSED,
    ),
    "have a pipe kill somebody": (
        "output = fcntl.fcntl(os.pipe()[0], fcntl.F_SETSIG, 9) + 1",
        REFUSED,
    ),
    "have a socket signal the host": (
        "output = fcntl.ioctl(socket.socketpair()[0], 0x8901, HOST.to_bytes(4, 'little')) and 1",
        REFUSED,
    ),
    "outlive the keeper": ("output = must(libc.prctl(1, 0, 0, 0, 0)) + 1", REFUSED),
    "hide what it has open": ("output = must(libc.prctl(4, 0, 0, 0, 0)) + 1", REFUSED),
    "signal by a descriptor": ("output = os.pidfd_open(HOST)", REFUSED),
    "trace the host": ("output = must(libc.ptrace(0x4206, HOST, 0, 0)) + 1", REFUSED),
    "read the host by a call": (
        "output = must(libc.process_vm_readv(HOST, None, 0, None, 0, 0)) + 1",
        REFUSED,
    ),
    "set the host's limits": (
        "import resource; output = resource.prlimit(HOST, resource.RLIMIT_CPU, (1, 1))",
        REFUSED,
    ),
    "slow the host down": ("os.setpriority(os.PRIO_PROCESS, HOST, 19); output = 1", REFUSED),
    "pin the host": ("os.sched_setaffinity(HOST, {0}); output = 1", REFUSED),
    "raise its own limits": (
        "import resource as r; r.setrlimit(r.RLIMIT_AS, (1 << 50, 1 << 50)); output = 1",
        {"ValueError", *REFUSED},
    ),
    "mount": ("output = must(libc.mount(b'none', b'.', b'tmpfs', 0, None)) + 1", REFUSED),
    "change the root": ("os.chroot('.'); output = 1", REFUSED),
    "make a namespace": ("output = must(libc.unshare(0x10000000)) + 1", REFUSED),
    "enter a namespace": ("output = must(libc.setns(0, 0)) + 1", REFUSED),
    "become root": ("os.setresuid(0, 0, 0); output = open('/etc/shadow').read()", NOT_THERE),
    "load a kernel module": (
        (
            "output = must(libc.syscall({'x86_64': 313, 'aarch64': 273}[os.uname().machine], 0, "
            "b'', 0)) + 1"
        ),
        REFUSED,
    ),
    "load a kernel program": (
        (
            "output = must(libc.syscall({'x86_64': 321, 'aarch64': 280}[os.uname().machine], 0, "
            "0, 0)) + 1"
        ),
        REFUSED,
    ),
    "use the ring of the kernel": (
        "output = must(libc.syscall(425, 1, ctypes.create_string_buffer(256))) + 1",
        REFUSED,
    ),
    "restart the machine": ("output = must(libc.reboot(0)) + 1", REFUSED),
    "set the clock": (
        "import time; time.clock_settime(time.CLOCK_REALTIME, 0); output = 1",
        REFUSED,
    ),
    "leave shared memory behind": ("output = must(libc.shmget(0, 4096, 0o1600)) + 1", REFUSED),
    "hide memory in a file": ("output = os.memfd_create('x')", REFUSED),
    "leave a key behind": (
        (
            "output = must(libc.syscall({'x86_64': 248, 'aarch64': 217}[os.uname().machine], "
            "b'user', b'x', b'x', 1, -2)) + 1"
        ),
        REFUSED,
    ),
    "take away its filter": (
        "libc.prctl(22, 0, 0, 0, 0); output = os.fork() or os._exit(0)",
        REFUSED,
    ),
    "a race of links in its folder": (
        "for _ in range(300):\n    os.symlink(FOLDER, 'race')\n    try: "
        "open('race/secret').read(); output = 1\n"
        "    except OSError as error: last = error\n"
        "    os.unlink('race'); os.mkdir('race'); os.rmdir('race')\nraise last",
        NOT_THERE,
    ),
}
"""Each is tried in the same process, one after the other: none of them harms the next."""

RUNNER = (
    BEHIND
    + """
import socket, errno, fcntl
went = {}
for name, code in CODES.items():
    space = {**globals()}
    try:
        exec(code, space)
        went[name] = ["through", repr(space.get("output"))]
    except BaseException as error:
        number = getattr(error, "errno", None) or 0
        went[name] = [type(error).__name__, errno.errorcode.get(number, "")]
output = went
"""
)


@dataclass(frozen=True)
class Bait:
    names: dict[str, object]
    folder: Path


@pytest.fixture(scope="module")
def bait() -> Iterator[Bait]:
    """Things of the host that the code inside tries to reach."""
    with (
        tempfile.TemporaryDirectory(prefix="bait-", dir="/tmp") as folder,
        socket.socket() as tcp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        unix.bind(f"{folder}/unix")
        unix.listen()
        secret = Path(folder, "secret")
        secret.write_text("of the host", encoding="utf-8")
        os.environ["ADJUDGE_TEST_MARK"] = "visible"
        child = str(Path(sys.modules[NoSandbox.__module__].__file__ or "").with_name("child.py"))
        users = Path("/etc/passwd").read_text(encoding="utf-8").splitlines()[-1]
        names = {
            "SECRET": str(secret),
            "FOLDER": folder,
            "UNIX": f"{folder}/unix",
            "CHILD": child,
            "USERS": users,
        }
        names |= {"TESTS": str(Path(__file__).parent), "MARK": "ADJUDGE_TEST_MARK"}
        yield Bait({**names, "HOST": os.getpid(), "PORT": tcp.getsockname()[1]}, Path(folder))
        del os.environ["ADJUDGE_TEST_MARK"]


@pytest.fixture(scope="module", params=installed())
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param not in WORKING:
        pytest.skip(f"{request.param} does not work here: {WORKING.why(request.param)}")
    return find_sandbox(request.param)


@pytest.fixture(scope="module", autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with temporary_folder(tmp_path_factory.mktemp("scratches")) as path:
        yield path


@pytest.fixture(autouse=True)
def nothing_is_left(temporary: Path) -> Iterator[None]:
    """After each test the host shows no trace of it."""
    yield
    assert traces(temporary) == []


@pytest.fixture(scope="module")
def went(sandbox: Sandbox, bait: Bait) -> dict[str, list[str]]:
    codes = {name: code for name, (code, _) in ONE_BY_ONE.items()}
    done = asyncio.run(
        sandbox.run(RUNNER, inputs={**bait.names, "CODES": codes}, limits=Limits(cpu=10))
    )
    assert isinstance(done.output, dict)
    return done.output


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_it_does_not_get_out(name: str, went: dict[str, list[str]], bait: Bait) -> None:
    reasons = ONE_BY_ONE[name][1]
    kind, code = went[name]
    if reasons is None:  # it may write, as long as nothing of it is on the host
        assert not Path("/dev/shm/adjudge-escaped").exists()
        assert not Path("/tmp/adjudge-escaped").exists()
    else:
        assert {kind, code} & reasons, f"{name}: {went[name]}"
    assert (bait.folder / "secret").read_text(encoding="utf-8") == "of the host"
    assert {path.name for path in bait.folder.iterdir()} == {"secret", "unix"}


EACH = "for n in range(40):\n    f = "
NEW, WRITE = "os.open('x', os.O_RDWR | os.O_CREAT)", "; os.write(f, bytes(1 << 20))"
FILL = "\nfor n in range(40): open(str(n), 'wb').write(bytes(1 << 20))"
HELD = {
    "files without a name": f"{EACH}{NEW}; os.unlink('x'); held.append(f){WRITE}",
    "files that never had a name": (
        f"{EACH}os.open('.', os.O_RDWR | os.O_TMPFILE); held.append(f){WRITE}"
    ),
    "files whose name another took": (
        f"{EACH}{NEW}; held.append(f); open('z', 'w').close(); os.rename('z', 'x'){WRITE}"
    ),
    "files that are mapped and nothing else": (
        f"{EACH}{NEW}{WRITE}; held.append(mmap.mmap(f, 4096)); os.unlink('x'); os.close(f)"
    ),
    "files too deep to be named": (
        f"for _ in range(30): os.mkdir('d' * 200); os.chdir('d' * 200){FILL}"
    ),
    "files in a folder that cannot be listed": (
        f"os.mkdir('hidden', 0o300); os.chdir('hidden'){FILL}"
    ),
}
HELD["files of a thread with descriptors of its own"] = f"""
import ctypes, threading
def hold():
    try:
        # close_range, which first takes the thread its own table
        ctypes.CDLL(None).syscall(436, 900, 900, 2)
        for n in range(40): f = {NEW}; os.unlink('x'); held.append(f){WRITE}
        time.sleep(20)
    except OSError as error: held.append(error)
thread = threading.Thread(target=hold); thread.start(); thread.join()
raise held[-1]"""
TOO_MUCH = "more than 4 MB|No space left|look into"
FILE_BOMBS = {
    name: (
        f"import os, mmap, time\nheld = []\n{code}\ntime.sleep(20)",
        Limits(file_mb=1),
        Forbidden,
        TOO_MUCH,
    )
    for name, code in HELD.items()
}
"""Ways to hold more than the folder shows."""

BOMBS = {  # what it is: (code, limits, the error, what it says)
    "a fork bomb": ("import os\nwhile True: os.fork()", Limits(), Forbidden, "not permitted"),
    "a bomb of threads": (
        "import threading, time\nthreading.stack_size(1 << 18)\n"
        "while True: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        Limits(cpu=5),
        Crashed,
        "thread",
    ),
    "a memory bomb": (
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
        Limits(memory_mb=128),
        MemoryLimit,
        "128 MB",
    ),
    "a memory bomb at once": ("x = bytearray(1 << 40)", Limits(), MemoryLimit, "512 MB"),
    "an endless loop": ("while True: pass", Limits(cpu=1), Timeout, "1 s of CPU"),
    "an endless loop that ignores warnings": (
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
        Limits(cpu=1),
        Timeout,
        "1 s of CPU",
    ),
    "an endless sleep": (
        "import time; time.sleep(1000)",
        Limits(wall=0.7),
        Timeout,
        "0.7 s of wall-clock time",
    ),
    "one that catches everything": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        Limits(cpu=1),
        Timeout,
        "CPU",
    ),
    "a flood on standard output": (
        "while True: print('x' * 9999)",
        Limits(output_kb=50),
        Forbidden,
        "50 KB",
    ),
    "a flood on standard error": (
        "import os\nwhile True: os.write(2, b'x' * 9999)",
        Limits(output_kb=50),
        Forbidden,
        "50 KB",
    ),
    "a flood without a line's end": (
        "import os\nwhile True: os.write(4, b'x' * 9999)",
        Limits(output_kb=50),
        Forbidden,
        "50 KB",
    ),
    "a huge result": ("output = 'x' * (2 << 20)", Limits(), Forbidden, "1024 KB"),
    "a huge file": (
        "open('x', 'wb').write(bytes(2 << 20))",
        Limits(file_mb=1),
        Forbidden,
        "too large",
    ),
    "many files": (
        "for n in range(99): open(str(n), 'wb').write(bytes(1 << 20))\nimport time; time.sleep(20)",
        Limits(file_mb=1),
        Forbidden,
        "more than 4 MB|No space left",
    ),
    "a crowd of empty files": (
        "import time\nfor n in range(10500): open(str(n), 'w').close()\ntime.sleep(20)",
        Limits(),
        Forbidden,
        "more than 10000 files|No space left",
    ),
    **FILE_BOMBS,
    "many open files": (
        "x = [open('/dev/null') for _ in range(999)]",
        Limits(),
        Forbidden,
        "Too many open files",
    ),
    "a false result": (
        "import os, json\nos.write(4, b'nonsense\\n')\nimport time; time.sleep(60)",
        Limits(wall=30),
        Crashed,
        "cannot be read",
    ),
    "a silent end": ("import os; os._exit(7)", Limits(), Crashed, "exit status 7"),
    "a crash of the interpreter": (
        "import ctypes; ctypes.string_at(0)",
        Limits(),
        Crashed,
        "SIGSEGV",
    ),
    "a deep recursion": ("def f(): f()\nf()", Limits(), Crashed, "RecursionError"),
    "a deep result": (
        "output = []\nfor _ in range(99999): output = [output]",
        Limits(),
        Crashed,
        "not JSON",
    ),
}
"""Each takes a run of its own, since it ends it."""


@pytest.mark.parametrize("name", BOMBS)
def test_it_does_not_go_off(name: str, sandbox: Sandbox) -> None:
    code, limits, error, said = BOMBS[name]
    with pytest.raises(error, match=said):
        asyncio.run(sandbox.run(code, limits=limits))


@pytest.mark.parametrize("name", FILE_BOMBS)
def test_it_does_not_go_off_on_disk_either(name: str) -> None:
    """Where no file system of its own can be made, the folder and what the process holds are looked
    at.
    """
    if "sandlock" not in WORKING:
        pytest.skip(f"sandlock does not work here: {WORKING.why('sandlock')}")
    code, limits, error, said = FILE_BOMBS[name]
    with pytest.raises(error, match=said):
        asyncio.run(Sandlock(in_memory=False).run(code, limits=limits))


def test_no_other_folder_can_be_filled(sandbox: Sandbox) -> None:
    code = (
        "output = []\nfor folder in ('/', '/dev', '/dev/shm', '/run', '/tmp', '/var/tmp', "
        "'/scratch/..', '/etc', '/usr/lib'):\n"
        "    try: open(folder + '/adjudge-escaped', 'wb').write(b'x'); "
        "output.append(folder)\n    except OSError: pass"
    )
    assert asyncio.run(sandbox.run(code)).output == []


def test_a_daemon_is_not_left_behind(sandbox: Sandbox) -> None:
    """By two forks and a session of its own, as daemons do; where no fork is possible, by a thread
    that goes on.
    """
    code = (
        "import os, time, threading\ntry:\n"
        "    if os.fork() == 0:\n        os.setsid()\n        os.fork()\n        time.sleep(600)\n"
        "except PermissionError:\n    threading.Thread(target=time.sleep, "
        "args=(600,)).start()\noutput = 'left'"
    )
    assert asyncio.run(sandbox.run(code)).output == "left"


def test_folders_that_are_hard_to_delete_are_deleted(sandbox: Sandbox, bait: Bait) -> None:
    """Deep ones, ones without rights, and links to what is not the code's."""
    code = (
        "import os\nos.symlink(FOLDER, 'link')\nos.mkdir('closed', 0)\nopen('0.lifted', "
        "'w').write('x')\n"
        "for _ in range(300):\n    os.mkdir('d' * 50); os.chdir('d' * "
        "50)\nos.symlink(FOLDER, 'link')\noutput = 1"
    )
    assert asyncio.run(sandbox.run(code, inputs={"FOLDER": str(bait.folder)})).output == 1
    assert (bait.folder / "secret").exists()


def test_a_host_that_is_killed_takes_the_code_with_it(sandbox: Sandbox, tmp_path: Path) -> None:
    """The scratch folder stays: nobody is left to delete it."""
    if sandbox.name in ("docker", "podman"):
        pytest.skip(
            "a container belongs to its service, not to who asked for it: docs/sandbox.md says so"
        )
    host = (
        "import asyncio\nfrom adjudge.features.generate.sandbox.finder import WALLS\ndef tell(): "
        "print('inside', flush=True)\n"
        f"asyncio.run(WALLS[{sandbox.name!r}]().run('import time; tell(); time.sleep(600)', "
        f"tools={{'tell': tell}}))"
    )
    surroundings = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", host], stdout=subprocess.PIPE, text=True, env=surroundings
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "inside\n"
        assert processes(tmp_path)
        process.kill()
    for _ in range(1200):
        if not processes(tmp_path):
            break
        time.sleep(0.05)
    assert processes(tmp_path) == []
