"""Which of the offered options a value names, if any. Never the nearest one."""

from __future__ import annotations

from collections.abc import Sequence

YES = frozenset({"yes", "true", "pass", "passed", "да", "верно"})
NO = frozenset({"no", "false", "fail", "failed", "нет", "неверно"})
_AROUND = " \t\r\n\"'`*_.,:;!?()[]{}<>«»“”„‘’—–-#|"


def match_option(value: object, options: Sequence[str]) -> str | None:
    """The option that ``value`` names: exactly, then ignoring case and surrounding punctuation, then yes/no words."""
    text = _as_text(value)
    if text is None:
        return None
    if text in options:
        return text
    said = _bare(text)
    same = [option for option in options if _bare(option) == said]
    if same:
        return same[0] if len(same) == 1 else None
    return _two_way(said, options)


def _as_text(value: object) -> str | None:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None


def _bare(text: str) -> str:
    return text.strip(_AROUND).casefold()


def _two_way(said: str, options: Sequence[str]) -> str | None:
    """For two options of which one means yes and the other no."""
    if len(options) != 2:
        return None
    for words, others in ((YES, NO), (NO, YES)):
        if said in words:
            mine = [option for option in options if _bare(option) in words]
            rest = [option for option in options if _bare(option) in others]
            return mine[0] if len(mine) == len(rest) == 1 else None
    return None
