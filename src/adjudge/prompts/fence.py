"""The one place where evaluated text enters a prompt.

A text is wrapped in marks that carry a code made from the text itself, so that prompts stay reproducible and a text cannot
know its own code. What looks like such a mark, or like a token of a chat template, is made harmless inside it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

_MARK = re.compile(r"<(?=[\s/\\]*data\b)", re.IGNORECASE)
_CHAT_TOKEN = re.compile(
    r"<(?=[|｜][^<>\n]{0,64}[|｜]>)"  # <|im_start|>, <｜User｜>
    r"|<(?=/?(?:s|bos|eos|pad|unk|think|start_of_turn|end_of_turn|start_header_id|end_header_id)\s*>)"
    r"|<(?=</?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])",
    re.IGNORECASE,
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_HARMLESS = {"<": "‹", "[": "⁅"}


def fence(fields: Mapping[str, str | Sequence[str]]) -> list[str]:
    """Each text of ``fields`` between its marks, in the order given; a list gives one part an item."""
    texts = [(label, _neutral(text)) for label, text in _labelled(fields)]
    code = _code(texts)
    return [f'<data-{code} field="{label}">\n{text}\n</data-{code}>' for label, text in texts]


def _labelled(fields: Mapping[str, str | Sequence[str]]) -> list[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    for name, value in fields.items():
        label = re.sub(r"[^\w .-]+", "_", name)
        if isinstance(value, str):
            parts.append((label, value))
        else:
            parts += [(f"{label} {number}", text) for number, text in enumerate(value, 1)]
    return parts


def _neutral(text: str) -> str:
    text = _MARK.sub(_harmless, text)
    text = _CHAT_TOKEN.sub(_harmless, text)
    return _LONE_SURROGATE.sub("\ufffd", text)


def _harmless(match: re.Match[str]) -> str:
    return _HARMLESS[match.group()]


def _code(texts: list[tuple[str, str]]) -> str:
    content = "\0".join(part for pair in texts for part in pair)
    return hashlib.sha256(content.encode()).hexdigest()[:12]
