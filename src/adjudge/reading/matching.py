"""A program of its own, which knows nothing of adjudge: it matches regular expressions, one a line,
until its input ends. It may be killed at any time.
"""

import json
import re
import sys
from itertools import islice


def match(
    pattern: str, flags: int, texts: list[str], whole: bool, most: int
) -> list[list[tuple[int, int]]]:
    """Where each text matches: as a whole, or the first places."""
    found = re.compile(pattern, flags)
    if whole:
        return [[one.span()] if (one := found.fullmatch(text)) else [] for text in texts]
    return [[one.span() for one in islice(found.finditer(text), most)] for text in texts]


def answer(line: str) -> list[list[tuple[int, int]]] | dict[str, str | int]:
    """What is found, or why the expression is none and where."""
    try:
        return match(*json.loads(line))
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        why = getattr(error, "msg", str(error))
        return {"why": why, "at": getattr(error, "pos", None) or 0}


def main() -> None:
    """Say that it is there, then answer each line by a line."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(line)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
