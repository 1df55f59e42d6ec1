"""The code in a reply: what stands in its fences, else the reply itself."""

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
    """The fenced code in ``text``: the blocks marked as Python, else those without a mark, else
    all; several are one program.

    A fence that is never closed ends with the text. Without any fence the whole text is taken for
    code. What all of its lines are indented by is not part of it.
    """
    text = _THINKING.sub("", text.replace("\r\n", "\n"))
    blocks = [
        (found["tag"].lower(), textwrap.dedent(found["code"]).strip("\n"))
        for found in _FENCED.finditer(text)
    ]
    for wanted in (_PYTHON, frozenset({""}), {tag for tag, _ in blocks}):
        chosen = [code for tag, code in blocks if tag in wanted and code.strip()]
        if chosen:
            return "\n\n".join(chosen)
    return textwrap.dedent(text).strip("\n")
