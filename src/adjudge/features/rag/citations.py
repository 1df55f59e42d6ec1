"""What an answer cites: ``[2]``, footnotes, links and the like, as the numbers of fragments. No
model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from adjudge.features.evidence.citation_marks import CITATION, NOTE, SOURCE_WORD
from adjudge.features.evidence.sentences import Sentence, sentences

_RAISED = str.maketrans("¹²³⁴⁵⁶⁷⁸⁹⁰", "1234567890")
_RANGE = re.compile(r"(\d{1,3})(?:\s*[-–—]\s*(\d{1,3}))?")
_MOST_IN_RANGE = 100


@dataclass(frozen=True, slots=True)
class Citation:
    """One mark of one sentence."""

    sentence: int
    """Its number among the answer's sentences, from 1."""
    statement: str
    """The sentence without its marks."""
    mark: str
    """As it stands in the answer."""
    fragment: int | None
    """The number of the fragment that it points to, from 1; None: it points to none."""


def citations(answer: str, fragments: Sequence[str], ids: Sequence[str] = ()) -> list[Citation]:
    """Every citation of an answer.

    ``ids``: of the fragments, in their order, where they are known: links may name them.
    """
    body, notes = _without_notes(answer)
    sources = _Sources(fragments, ids, notes)
    found = []
    for number, sentence in enumerate(_joined(sentences(body), body), 1):
        statement = stated(sentence)
        marks = [
            (mark[0], place) for mark in CITATION.finditer(sentence) for place in sources.of(mark)
        ]
        found += [
            Citation(number, statement, mark, place)
            for mark, place in dict.fromkeys(marks)
            if statement
        ]
    return found


def stated(sentence: str) -> str:
    """A sentence without its marks; the text of a link stays."""
    bare = CITATION.sub(lambda mark: mark["text"] or "", sentence)
    return re.sub(r"\s+([.,;:!?…])", r"\1", re.sub(r"[ \t]{2,}", " ", bare)).strip()


def _joined(found: Sequence[Sentence], body: str) -> list[str]:
    """The texts of the sentences; marks that stand alone behind a sentence are its own."""
    texts: list[str] = []
    end = 0
    for one in found:
        text = one.text
        if texts and not re.search(r"\w", stated(text)) and not body[end : one.start].count("\n\n"):
            texts[-1] += f" {text}"
        else:
            leading = (
                re.match(rf"(?:\s*(?:{CITATION.pattern}))+", text, re.IGNORECASE) if texts else None
            )
            if leading and leading.end() < len(text) and not leading["link"] and not leading["url"]:
                texts[-1] += f" {leading[0]}"
                text = text[leading.end() :]
            texts.append(text)
        end = one.end
    return texts


def _without_notes(answer: str) -> tuple[str, dict[str, str]]:
    """The answer, and what its footnotes and its list of sources say, by their names."""
    notes = {
        (note["name"] or note["number"]).casefold(): note["text"] for note in NOTE.finditer(answer)
    }
    return NOTE.sub("", answer), notes


class _Sources:
    """Which fragment a mark means."""

    def __init__(
        self, fragments: Sequence[str], ids: Sequence[str], notes: Mapping[str, str]
    ) -> None:
        self._fragments = fragments
        self._ids = {
            one.casefold(): place
            for place, one in reversed(list(enumerate(ids, 1)))
            if place <= len(fragments)
        }
        self._notes = notes

    def of(self, mark: re.Match[str]) -> Iterator[int | None]:
        """The fragments; None for each that is not there."""
        numbers = mark["numbers"] or mark["named"] or (mark["raised"] or "").translate(_RAISED)
        if numbers:
            yield from (self._number(number) for number in _each(numbers))
        elif mark["note"]:
            yield self._note(mark["note"])
        else:
            yield self._linked((mark["link"] or mark["url"]).rstrip(".,;:!?"))

    def _number(self, number: int) -> int | None:
        """A list of sources below the answer says what a number means; else it is the fragment's
        own.
        """
        text = self._notes.get(str(number))
        if text and (named := self._mentioned(text)):
            return named
        return number if 1 <= number <= len(self._fragments) else None

    def _note(self, name: str) -> int | None:
        named = self._mentioned(self._notes.get(name.casefold(), ""))
        return named or (
            self._number(int(name)) if name.isdecimal() else self._ids.get(name.casefold())
        )

    def _mentioned(self, text: str) -> int | None:
        """The fragment whose link, id, number or beginning a note gives."""
        link = re.search(r"https?://[^\s<>()\[\]]+", text)
        if link and (place := self._linked(link[0].rstrip(".,;:"))):
            return place
        if place := self._ids.get(text.strip().casefold()):
            return place
        numbered = re.fullmatch(
            rf"\s*{SOURCE_WORD}?\s*[:#№]?\s*(\d{{1,3}})\s*\.?", text, re.IGNORECASE
        )
        if numbered and 1 <= int(numbered[1]) <= len(self._fragments):
            return int(numbered[1])
        start = _plain(text)
        return next(
            (
                place
                for place, one in enumerate(self._fragments, 1)
                if len(start) > 8 and start in _plain(one)
            ),
            None,
        )

    def _linked(self, link: str) -> int | None:
        if place := self._ids.get(link.casefold()):
            return place
        wanted = _address(link)
        anchor = re.fullmatch(rf"#?{SOURCE_WORD}?[-_]?(\d{{1,3}})", link, re.IGNORECASE)
        if anchor:
            return self._number(int(anchor[1]))
        return next(
            (
                place
                for place, one in enumerate(self._fragments, 1)
                if wanted and wanted in _addresses(one)
            ),
            None,
        )


def _each(numbers: str) -> Iterator[int]:
    for found in _RANGE.finditer(numbers):
        first, last = int(found[1]), int(found[2] or found[1])
        if not first:  # sources are numbered from 1: this is an index
            continue
        yield from (
            range(first, min(last, first + _MOST_IN_RANGE) + 1) if last >= first else (first, last)
        )


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _address(link: str) -> str:
    return re.sub(r"^(?:https?://)?(?:www\.)?", "", link.casefold()).rstrip("/.,;:")


def _addresses(text: str) -> set[str]:
    return {_address(link) for link in re.findall(r"(?:https?://|www\.)[^\s<>()\[\]\"'«»]+", text)}
