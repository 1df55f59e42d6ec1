"""A separate program without any import of adjudge. It matches regular expressions, one per line,
until its input ends. It may be killed at any time.
"""

import json
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

# Seconds between looks at the parent.
_GLANCE = 0.5
_PARENT = os.getppid()


def _end_without_parent(*_: object) -> None:
    if os.getppid() != _PARENT:
        os._exit(1)


@contextmanager
def ending_with_parent(seconds: float) -> Iterator[None]:
    """Inside the block, end this process soon after its parent was killed and cannot stop it any
    more.

    The parent stops it after ``seconds``, so more CPU time than that ends it as well. The kernel's
    own parent-death signal will not do: Linux sends it as soon as the thread ends that started the
    process, and then a match that another thread waits for would break off.
    """
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    allowed = int(time.process_time() + seconds) + 2
    if most == resource.RLIM_INFINITY or allowed < most:
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, most))
    signal.signal(signal.SIGALRM, _end_without_parent)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, _GLANCE, _GLANCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def match(
    pattern: str, flags: int, texts: list[str], whole: bool, most: int
) -> list[list[tuple[int, int]]]:
    """Return where each text matches: the whole of it, or up to ``most`` places in it."""
    regex = re.compile(pattern, flags)
    if whole:
        return [[hit.span()] if (hit := regex.fullmatch(text)) else [] for text in texts]
    return [[hit.span() for hit in islice(regex.finditer(text), most)] for text in texts]


def answer(line: str) -> list[list[tuple[int, int]]] | dict[str, str | int]:
    """Return the matches, or why the expression is invalid and where."""
    try:
        return match(*json.loads(line))
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        why = getattr(error, "msg", str(error))
        return {"why": why, "at": getattr(error, "pos", None) or 0}


def main() -> None:
    """Report that the program is ready, then answer each line with a line.

    The argument is the number of seconds that the parent waits for an answer.
    """
    seconds = float(sys.argv[1])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        with ending_with_parent(seconds):
            result = answer(line)
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
