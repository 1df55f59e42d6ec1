"""A program of its own, which knows nothing of adjudge: it matches regular expressions, one a line,
until its input ends. It may be killed at any time.
"""

import json
import re
import sys


def match(pattern: str, flags: int, text: str, whole: bool, most: int) -> list[tuple[int, int]]:
    """Where a text matches: as a whole, or the first places."""
    found = re.compile(pattern, flags)
    if whole:
        one = found.fullmatch(text)
        return [one.span()] if one else []
    spans = []
    for one in found.finditer(text):
        spans.append(one.span())
        if len(spans) == most:
            break
    return spans


def main() -> None:
    """Say that it is there, then answer each line by a line."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(match(*json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
