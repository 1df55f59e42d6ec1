"""The single place where evaluated text enters a prompt.

A text is wrapped in marks with a code made from the text itself, so prompts stay reproducible and a
text cannot know its own code. Anything in it that looks like such a mark, or like a token of a chat
template, is neutralised.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from unicodedata import normalize

from adjudge.core.domain.instance import GivenFields

_UNSEEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u2800"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufffd\U000e0000-\U000e01ef"
)
_ANGLES = "<＜‹\u2329\u3008⟨❮❬❰⧼﹤˂ᐸᚲ≺≪⋖⪡《⟪«"
_SLASHES = r"/\\／⁄∕⧸╱⟋᜵⼃〳ノ丿Ⳇ＼﹨∖⧵⧹⟍"
_DASHES = "-‐‑‒–—―−－﹣⁃➖ー"
# Look-alikes that Unicode normalisation does not map to the Latin letters.
_LOOK_ALIKES = {"d": "ԁⅾᏧᑯꓒđ", "a": "аɑα⍺", "t": "тτ†ŧ"}
_FORMS = (range(0x1D2C, 0x1D6B), range(0x24B6, 0x24EA), range(0xFF21, 0xFF5B))
_MATHEMATICAL = range(0x1D400, 0x1D6A4)
# Combining strokes and accents.
_OVER = r"\u0300-\u036f\u20d0-\u20f0"
_CHAT_MARK = (
    r"[<＜\[](?:(?<=[<＜])(?=[|｜][^<>\n]{0,64}[|｜][>＞])"  # <|im_start|>, <｜User｜>
    r"|(?<=<)(?=/?(?:(?-i:s)|bos|eos|pad|unk|think|tool_call|tool_response|end_of_utterance"
    r"|(?:start|end)_of_(?:turn|image)"
    r"|(?:start|end)_header_id|(?:extra_id|reserved)_\d+)\s*>)"
    r"|(?<=<)(?=</?SYS>>)"
    r"|(?<=\[)(?=/?(?:INST|SYSTEM_PROMPT|MODEL_SETTINGS|AVAILABLE_TOOLS|TOOL_(?:CALLS"
    r"|RESULTS|CONTENT)|THINK|gMASK)\])"
    r"|(?<=\[)(?=\|[^\[\]\n]{0,64}\|\]))"  # [|user|]
)
_STEP = rf"[{_UNSEEN}]*".join(("[sѕｓ]", "[tтｔ]", "[eеｅ]", "[pрｐ]"))
_SHAG = rf"[{_UNSEEN}]*".join(("ш", "[аa]", "г"))
_STEP_MARK = (
    # [step 7 3fa9c2], however spaced or spelt, and what stands for a bracket
    rf"[\[［【〔❲⟦](?=[\s{_UNSEEN}]*(?:{_STEP}|{_SHAG})[\w{_UNSEEN}]{{0,3}}[\s{_UNSEEN}:#№_-]*\d)"
)
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
_HARMLESS = {"<": "‹", "＜": "‹", "[": "⁅"}
# Replaces characters in a mark that look like an angle bracket; it does not look like one.
_NO_ANGLE = "⦗"


def fence(fields: GivenFields) -> list[str]:
    """Return each text of ``fields`` between its marks, in the order given; a list gives one part
    per item.
    """
    texts = [(label, neutral(text)) for label, text in _label_parts(fields)]
    code = _code(texts)
    return [f'<data-{code} field="{label}">\n{text}\n</data-{code}>' for label, text in texts]


def fence_steps(fields: GivenFields, steps: str) -> list[str]:
    """Like ``fence``, but join the texts of the field ``steps`` into one part: each begins with a
    header that carries the code.
    """
    other_fields = {name: value for name, value in fields.items() if name != steps}
    texts = [(label, neutral(text)) for label, text in _label_parts(other_fields)]
    # The first line of each step is ours, so it is trusted as the header's label.
    headed = [text.partition("\n") for text in fields.get(steps, ())]
    blocks = [(label, without_headers(neutral(text))) for label, _, text in headed]
    code = _code([*texts, *blocks])
    parts = [f'<data-{code} field="{label}">\n{text}\n</data-{code}>' for label, text in texts]
    steps_text = "\n".join(f"[{label} {code}] {text}" for label, text in blocks)
    return [*parts, f'<data-{code} field="{_safe_name(steps)}">\n{steps_text}\n</data-{code}>']


def without_headers(text: str) -> str:
    """Return ``text`` without anything that could pass for the header of a step."""
    return _pattern(_STEP_MARK).sub(_HARMLESS["["], text)


def unfenced(fields: GivenFields) -> list[tuple[str, str]]:
    """Return each text with its field's name, without marks and with chat tokens made harmless.

    For judging by likelihood. There the verdict is the probability of one token at a fixed place,
    which the text cannot write, and a small local model would spend much time on forty tokens of
    marks.
    """
    texts_by_field = [
        (name, [value] if isinstance(value, str) else value) for name, value in fields.items()
    ]
    return [(_safe_name(name), neutral("\n".join(texts))) for name, texts in texts_by_field]


def _safe_name(name: str) -> str:
    """Return a field's name without unsafe characters, since names may come from the data, too."""
    return name if name.isascii() and name.isidentifier() else re.sub(r"[^\w .-]+", "_", name)


def _label_parts(fields: GivenFields) -> list[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    for name, value in fields.items():
        label = _safe_name(name)
        if isinstance(value, str):
            parts.append((label, value))
        else:
            parts += [(f"{label} {number}", text) for number, text in enumerate(value, 1)]
    return parts


def neutral(text: str) -> str:
    """Return ``text`` without anything that could pass for a mark or a chat template's token; the
    rest is unchanged.
    """
    if "\0" in text or not text.isascii():
        text = _NO_CHARACTER.sub("\ufffd", text)
    if "<" in text or not text.isascii():
        text = _mark().sub(_NO_ANGLE, text)
    if "<" not in text and "[" not in text and "＜" not in text:
        return text
    return _pattern(_CHAT_MARK).sub(_harmless, text)


@cache
def _mark() -> re.Pattern[str]:
    """Return a pattern for marks, in any characters that look like ours."""
    gap = rf"[{_UNSEEN}{_OVER}]*"
    data = gap.join(map(_looks_like, "data")) + gap
    space = rf"[\s{_UNSEEN}]*"
    return re.compile(
        # </data…, however spaced; "< /data/in.csv" stays
        rf"[{_ANGLES}](?={space}[{_SLASHES}][\s{_UNSEEN}{_SLASHES}]*{data}(?![\w/.])"
        # <data-abc…; "i < data-1" stays
        rf"|{space}{data}[{_DASHES}][\w{_UNSEEN}]{{3}})",
        re.IGNORECASE,
    )


def _looks_like(letter: str) -> str:
    """Return a class of the characters that look like ``letter``."""
    forms = [chr(code) for codes in (*_FORMS, _MATHEMATICAL) for code in codes]
    same = [form for form in forms if normalize("NFKC", form).lower() == letter]
    return f"[{letter}{_LOOK_ALIKES[letter]}{''.join(same)}]"


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern on first use, since these take long to compile."""
    return re.compile(text, re.IGNORECASE)


def _harmless(match: re.Match[str]) -> str:
    return _HARMLESS[match.group()]


def _code(texts: list[tuple[str, str]]) -> str:
    content = "\0".join([part for pair in texts for part in pair])
    return hashlib.sha256(content.encode()).hexdigest()[:12]
