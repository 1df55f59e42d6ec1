"""The sections of `data/phrases.txt` as patterns."""

from __future__ import annotations

import re
import subprocess
import sys

from adjudge.core.verdicts.phrases import phrase


def test_a_phrase_finds_what_its_pattern_finds() -> None:
    found = phrase("denies")
    plain = re.compile(found.pattern, re.VERBOSE | re.IGNORECASE)
    for text in ("That is not so.", "It is fine.", "Нет, это не так."):
        assert repr(found.search(text)) == repr(plain.search(text))
        assert found.sub("_", text, count=1) == plain.sub("_", text, count=1)
        assert found.split(text) == plain.split(text)
    assert phrase("denies") is found


def test_loading_the_reader_of_verdicts_compiles_no_phrase() -> None:
    code = (
        "import adjudge.core.verdicts.reader, adjudge.core.verdicts.phrases as phrases\n"
        "from adjudge.core.verdicts import doubts\n"
        "made = [one for one in vars(doubts).values() if isinstance(one, phrases.Phrase)]\n"
        "print(len(made), sum('compiled' in vars(one) for one in made))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    count, compiled = map(int, printed.split())
    assert count > 10 and compiled == 0
