"""Code in a reply: the content of its fences, else the whole reply."""

from __future__ import annotations

import re
import textwrap

_THINKING = re.compile(
    r"\A(?:\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z))+", re.DOTALL | re.IGNORECASE
)
_FENCED = re.compile(
    # nothing is tried twice: replies may be hostile
    r"^[ \t]*+(?P<mark>`{3,}+|~{3,}+)[ \t]*+(?P<tag>[\w+#.-]*+)[^\n`]*+\n"
    r"(?P<code>.*?)(?:^[ \t]*+(?P=mark)[`~]*+[ \t]*+$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_PYTHON = frozenset({"python", "py", "python3", "py3", "pycon", "ipython"})


def extract_code(text: str) -> str:
    """Return the fenced code: blocks marked as Python, else unmarked ones, else all, joined.

    Thoughts before the answer are dropped. A fence that is never closed ends with the text. Without
    any code in fences, the whole text is code. Common indentation is removed.
    """
    text = _THINKING.sub("", text.replace("\r\n", "\n"))
    blocks = [
        (fence["tag"].lower(), textwrap.dedent(fence["code"]).strip("\n"))
        for fence in _FENCED.finditer(text)
    ]
    for tags in (_PYTHON, frozenset({""}), {tag for tag, _ in blocks}):
        programs = [code for tag, code in blocks if tag in tags and code.strip()]
        if programs:
            return "\n\n".join(programs)
    return textwrap.dedent(text).strip("\n")
