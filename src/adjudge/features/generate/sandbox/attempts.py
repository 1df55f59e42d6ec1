"""Attempts of the probe: code that sets ``output`` to a proof that it got through.

A refusal is an exception. The probe fills in the names in capitals. A successful attempt does no
harm, since the probe is also how one finds out that a wall does not hold.
"""

from __future__ import annotations

from adjudge.errors import Crashed, Forbidden, MemoryLimit, SandboxError, Timeout
from adjudge.features.generate.sandbox.base import Limits
from adjudge.messages import Message

ATTEMPTS: dict[str, str] = {
    Message("read a file outside"): "output = open(SECRET).read()",
    Message("list a folder outside"): "import os; output = os.listdir(FOLDER)",
    Message(
        "write a file outside"
    ): "open(FOLDER + '/written', 'w').write('x'); output = 'written'",
    Message(
        "change the mode of a file outside"
    ): "import os; os.chmod(SECRET, 0o777); output = 'changed'",
    Message("see the host's variables"): (
        "import os; output = [name for name in os.environ if name == MARK] or 1 / 0"
    ),
    Message("read another process's variables"): (
        "output = open(f'/proc/{HOST}/environ', 'rb').read().decode('latin-1') or 1 / 0"
    ),
    Message("connect over TCP"): (
        "import socket; socket.create_connection(('127.0.0.1', PORT), 1); output = 'connected'"
    ),
    Message("send over UDP"): (
        "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', "
        "PORT)); output = 'sent'"
    ),
    Message("bind an abstract Unix socket"): (
        "import socket; socket.socket(socket.AF_UNIX).bind('\\0' + MARK); output = 'bound'"
    ),
    Message("start a process"): "import os; output = os.fork() or os._exit(0)",
    Message(
        "start a program"
    ): "import subprocess; output = subprocess.run(['/bin/true']).returncode + 1",
    Message("signal the host"): "import os; os.kill(HOST, 0); output = 'signalled'",
    Message(
        "limit the host"
    ): "import resource; output = resource.prlimit(HOST, resource.RLIMIT_NOFILE)",
    Message("trace the host"): (
        "import ctypes; output = ctypes.CDLL(None).ptrace(0x4206, HOST, 0, 0) == 0 or 1 / 0"
    ),
    Message("have the kernel signal the host"): (
        "import fcntl, os; fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, HOST); output = 'its own'"
    ),
    Message("see what the host has open"): "import os; output = os.readlink(f'/proc/{HOST}/fd/0')",
    Message(
        "read the attributes of a file outside"
    ): "import os; os.listxattr(SECRET); output = 'read'",
    Message("watch a folder outside"): (
        "import ctypes; c = ctypes.CDLL(None); "
        "output = c.inotify_add_watch(c.inotify_init1(0), FOLDER.encode(), 0xFFF) > 0 or 1 / 0"
    ),
    Message("outlive the host"): (
        "import ctypes; output = ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) == 0 or 1 / 0"
    ),
    Message("mount"): (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); c.mount(b'none', b'.', b'no "
        "such type', 0, None); "
        "output = ctypes.get_errno() not in (1, 13, 38) or 1 / 0"
    ),
    Message("raise its own limits"): (
        "import resource as r; r.setrlimit(r.RLIMIT_AS, (1 << 40, 1 << 40)); output = 'raised'"
    ),
}
"""Attempt → the code that makes it."""

KEPT: dict[str, tuple[str, str]] = {
    Message("compute and print"): ("print('printed'); output = sum(range(10))", "45"),
    Message("write to the scratch folder"): (
        "open('own', 'w').write('x'); output = open('own').read()",
        "'x'",
    ),
    Message("call a tool"): ("output = double(4)", "8"),
}
"""Ordinary work that must succeed, or a sandbox that refuses everything would pass: (code,
result).
"""

_MANY_THREADS = """
import threading, time
threading.stack_size(1 << 18)
for _ in range(100): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
time.sleep(2)
"""
_MANY_FILES = """
import time
for number in range(9): open(str(number), 'wb').write(bytes(1 << 20))
time.sleep(9)
"""
_NAMELESS_FILES = """
import os, time
held = []
for number in range(40):
    held.append(os.open('x', os.O_RDWR | os.O_CREAT)); os.unlink('x')
    os.write(held[-1], bytes(1 << 20))
time.sleep(9)
"""
BEYOND: dict[str, tuple[str, Limits, type[SandboxError]]] = {
    "wall clock": ("import time; time.sleep(60)", Limits(wall=1), Timeout),
    "CPU time": ("while True: pass", Limits(cpu=1, wall=10), Timeout),
    "memory": ("output = len(bytearray(1 << 30))", Limits(memory_mb=256), MemoryLimit),
    "threads": (_MANY_THREADS, Limits(processes=8), Crashed),
    "size of a file": ("open('big', 'wb').write(bytes(3 << 20))", Limits(file_mb=1), Forbidden),
    "size of all files": (_MANY_FILES, Limits(file_mb=1), Forbidden),
    "size of files without a name": (_NAMELESS_FILES, Limits(file_mb=1), Forbidden),
    "printed text": ("while True: print('x' * 1000)", Limits(output_kb=64), Forbidden),
    "calls of tools": ("while True: double(1)", Limits(tool_calls=5), Forbidden),
}
"""Excesses of a limit: (code, limits, how it must end)."""
