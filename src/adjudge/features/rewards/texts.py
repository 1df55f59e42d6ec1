"""Prompts and completions as trainers hand them over: texts, or messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def text_of(given: object) -> str | None:
    """Return the text of a prompt or a completion; None if it has none.

    A text is unchanged, and a single message gives its content. Several messages become blocks,
    each
    with its role on the first line.
    """
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Mapping) or hasattr(given, "content"):
        return _content(given)
    if not isinstance(given, Sequence):
        return None
    blocks = [(_part(message, "role"), _content(message)) for message in given]
    texts = [(role, text) for role, text in blocks if text is not None]
    if len(texts) < 2:
        return texts[0][1] if texts else None
    return "\n\n".join(f"{role or 'message'}:\n{text}" for role, text in texts)


def _part(message: object, name: str) -> object:
    """Return an entry of a message, which is a mapping or an object."""
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _content(message: object) -> str | None:
    """Return a message's text, joined from the parts that are texts; None without any."""
    content = message if isinstance(message, str) else _part(message, "content")
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return None
    texts = [part if isinstance(part, str) else _part(part, "text") for part in content]
    return "\n".join(text for text in texts if isinstance(text, str)) or None
