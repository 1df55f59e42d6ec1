"""The citations of an answer: ``[2]``, footnotes, links and the like, as numbers of fragments. No
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
    """Number of the sentence in the answer, from 1."""
    statement: str
    """The sentence without its marks."""
    mark: str
    """The mark as it is written in the answer."""
    fragment: int | None
    """The number of the fragment that it points to, from 1; None: it points to none."""


def citations(answer: str, fragments: Sequence[str], ids: Sequence[str] = ()) -> list[Citation]:
    """Return every citation in an answer.

    ``ids`` are the fragments' ids in order, if they are known; links may name them.
    """
    body, notes = _without_notes(answer)
    sources = _Sources(fragments, ids, notes)
    citing = []
    for number, sentence in enumerate(_join_marks(sentences(body), body), 1):
        statement = strip_marks(sentence)
        marks = [
            (mark[0], place) for mark in CITATION.finditer(sentence) for place in sources.of(mark)
        ]
        citing += [
            Citation(number, statement, mark, place)
            for mark, place in dict.fromkeys(marks)
            if statement
        ]
    return citing


def strip_marks(sentence: str) -> str:
    """Return a sentence without its marks; the text of a link stays."""
    bare = CITATION.sub(lambda mark: mark["text"] or "", sentence)
    return re.sub(r"\s+([.,;:!?…])", r"\1", re.sub(r"[ \t]{2,}", " ", bare)).strip()


def _join_marks(parts: Sequence[Sentence], body: str) -> list[str]:
    """Return the sentences' texts; marks between sentences go to the one before."""
    texts: list[str] = []
    end = 0
    for sentence in parts:
        text = sentence.text
        if (
            texts
            and not re.search(r"\w", strip_marks(text))
            and not body[end : sentence.start].count("\n\n")
        ):
            texts[-1] += f" {text}"
        else:
            # a mark behind the full stop was split off to the start of the next sentence
            leading = (
                re.match(rf"(?:\s*(?:{CITATION.pattern}))+", text, re.IGNORECASE) if texts else None
            )
            if leading and leading.end() < len(text) and not leading["link"] and not leading["url"]:
                texts[-1] += f" {leading[0]}"
                text = text[leading.end() :]
            texts.append(text)
        end = sentence.end
    return texts


def _without_notes(answer: str) -> tuple[str, dict[str, str]]:
    """Split off footnotes and the list of sources; return the rest, and the notes by name."""
    notes = {
        (note["name"] or note["number"]).casefold(): note["text"] for note in NOTE.finditer(answer)
    }
    return NOTE.sub("", answer), notes


class _Sources:
    """Finds the fragment that a mark points to."""

    def __init__(
        self, fragments: Sequence[str], ids: Sequence[str], notes: Mapping[str, str]
    ) -> None:
        self._fragments = fragments
        self._ids = {
            fragment_id.casefold(): place
            # reversed, so that of equal ids the first fragment counts
            for place, fragment_id in reversed(list(enumerate(ids, 1)))
            if place <= len(fragments)
        }
        self._notes = notes

    def of(self, mark: re.Match[str]) -> Iterator[int | None]:
        """Yield the fragment of each number, note or link in a mark; None if there is none."""
        numbers = mark["numbers"] or mark["named"] or (mark["raised"] or "").translate(_RAISED)
        if numbers:
            yield from (self._number(number) for number in _each(numbers))
        elif mark["note"]:
            yield self._note(mark["note"])
        else:
            yield self._find_linked((mark["link"] or mark["url"]).rstrip(".,;:!?"))

    def _number(self, number: int) -> int | None:
        """Return the fragment that the list of sources gives for the number.

        Else return the number itself, or None if there is no such fragment.
        """
        text = self._notes.get(str(number))
        if text and (place := self._find_mentioned(text)):
            return place
        return number if 1 <= number <= len(self._fragments) else None

    def _note(self, name: str) -> int | None:
        place = self._find_mentioned(self._notes.get(name.casefold(), ""))
        return place or (
            self._number(int(name)) if name.isdecimal() else self._ids.get(name.casefold())
        )

    def _find_mentioned(self, text: str) -> int | None:
        """Return the fragment that a note identifies by link, id, number or opening words.

        Return None if there is none.
        """
        link = re.search(r"https?://[^\s<>()\[\]]+", text)
        if link and (place := self._find_linked(link[0].rstrip(".,;:"))):
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
                for place, fragment in enumerate(self._fragments, 1)
                # short texts begin many fragments by chance
                if len(start) > 8 and start in _plain(fragment)
            ),
            None,
        )

    def _find_linked(self, link: str) -> int | None:
        if place := self._ids.get(link.casefold()):
            return place
        address = _address(link)
        anchor = re.fullmatch(rf"#?{SOURCE_WORD}?[-_]?(\d{{1,3}})", link, re.IGNORECASE)
        if anchor:
            return self._number(int(anchor[1]))
        return next(
            (
                place
                for place, fragment in enumerate(self._fragments, 1)
                if address
                and address
                in {
                    _address(link)
                    for link in re.findall(r"(?:https?://|www\.)[^\s<>()\[\]\"'«»]+", fragment)
                }
            ),
            None,
        )


def _each(numbers: str) -> Iterator[int]:
    for match in _RANGE.finditer(numbers):
        start, end = int(match[1]), int(match[2] or match[1])
        if not start:  # sources are numbered from 1: this is an index
            continue
        yield from (
            range(start, min(end, start + _MOST_IN_RANGE) + 1) if end >= start else (start, end)
        )


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _address(link: str) -> str:
    return re.sub(r"^(?:https?://)?(?:www\.)?", "", link.casefold()).rstrip("/.,;:")
