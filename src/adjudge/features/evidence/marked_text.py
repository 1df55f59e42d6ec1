"""An answer with its sentences marked, next to its fragments and their uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import jinja2
from markupsafe import Markup

from adjudge.core.data.cells import with_line_breaks
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.verdict import KeptQuote
from adjudge.features.evidence.fragments import fragments_in
from adjudge.features.evidence.marks import MARKS, Mark, evidence_in
from adjudge.features.evidence.record import EvidenceRecord, SentenceRecord
from adjudge.features.evidence.support import FLAGS, SUPPORTS
from adjudge.runs.view.template import environment

# Signs, so that marks can be told apart without colours.
_SIGNS: Mapping[Mark, str] = {
    "supported": "✓",
    "contradicted": "✗",
    "not found": "?",
    "unanswered": "–",
    "unchecked": "·",
    "unsupported": "✗",
    "look here": "?",
    "nothing found against it": "·",
}
# Characters that are shown on either side of a quote.
_AROUND = 80


@dataclass(frozen=True)
class ShownQuote:
    """A quoted passage of a fragment with its surroundings, checked again before display."""

    fragment: int
    before: str
    quote: str
    after: str
    by_program: bool

    start: int = 0


@dataclass(frozen=True, kw_only=True)
class ShownSentence:
    """One sentence as shown on a page."""

    number: int
    text: str
    mark: Mark
    quotes: tuple[ShownQuote, ...]
    unseen: tuple[str, ...]
    """Facts that are in no fragment."""
    by_rule: bool
    explanation: str

    @property
    def sign(self) -> str:
        return _SIGNS[self.mark]


@dataclass(frozen=True)
class TextPart:
    """A part of a text, with its sentence if it is marked."""

    text: str
    sentence: ShownSentence | None = None


@dataclass(frozen=True)
class ShownFragment:
    """A fragment, with its quoted passages marked."""

    number: int
    parts: tuple[tuple[str, bool], ...]
    """(text, whether it is quoted)."""
    used_by: tuple[int, ...]
    """The numbers of the sentences."""


@dataclass(frozen=True)
class ShownEvidence:
    """A checked answer with its fragments, for all kinds of pages."""

    parts: tuple[TextPart, ...]
    fragments: tuple[ShownFragment, ...]
    claims: int
    counts: Mapping[Mark, int]
    invented: Mapping[str, int]
    fields: tuple[str, str]
    """The fields of the text and of its sources."""

    @property
    def sentences(self) -> tuple[ShownSentence, ...]:
        """The sentences that are marked."""
        return tuple(part.sentence for part in self.parts if part.sentence)


def evidence_of(record: JudgmentRecord) -> ShownEvidence | None:
    """Prepare a judgment's sentences and fragments for display; None if nothing was looked up."""
    evidence = evidence_in(record)
    if evidence is None:
        return None
    value = record.fields.get(evidence.fields.text, "")
    text = with_line_breaks(value if isinstance(value, str) else "\n".join(value))
    fragments = fragments_in(record.fields.get(evidence.fields.sources, ()))
    parts = tuple(_parts(text, evidence, fragments))
    sentences = [part.sentence for part in parts if part.sentence]
    used: dict[int, list[tuple[int, ShownQuote]]] = {}
    for sentence in sentences:
        for quote in sentence.quotes:
            used.setdefault(quote.fragment, []).append((sentence.number, quote))
    shown_fragments = tuple(
        _fragment(number, fragment, used.get(number, ()))
        for number, fragment in enumerate(fragments, 1)
    )
    return ShownEvidence(
        parts,
        shown_fragments,
        evidence.claims,
        _counts(evidence),
        evidence.invented_quotes,
        (evidence.fields.text, evidence.fields.sources),
    )


def _counts(evidence: EvidenceRecord) -> dict[Mark, int]:
    flags = Counter(sentence.flag for sentence in evidence.sentences)
    counts: dict[Mark, int] = (
        {flag: flags[flag] for flag in FLAGS}
        if evidence.method == "flags"
        else {
            "supported": evidence.supported,
            "contradicted": evidence.contradicted,
            "not found": evidence.not_found,
        }
    )
    return counts | ({"unanswered": evidence.unanswered} if evidence.unanswered else {})


def _parts(text: str, evidence: EvidenceRecord, fragments: Sequence[str]) -> Iterator[TextPart]:
    end = number = 0
    for sentence in evidence.sentences:
        start, stop = sentence.start, sentence.end
        if sentence.kind != "claim" or not end <= start < stop <= len(text):
            continue
        number += 1
        if text[end:start]:
            yield TextPart(text[end:start])
        yield TextPart(
            text[start:stop],
            _sentence(number, text[start:stop], sentence, fragments, evidence.method),
        )
        end = stop
    if text[end:]:
        yield TextPart(text[end:])


def _sentence(
    number: int, text: str, sentence: SentenceRecord, fragments: Sequence[str], method: str
) -> ShownSentence:
    nothing: Mark = "unchecked" if method == "rules" else "unanswered"
    flag = sentence.flag if method == "flags" else None
    marks: Mapping[str, Mark] = {name: name for name in (*SUPPORTS, *FLAGS)}
    quotes = (_quote(stored, fragments) for stored in sentence.evidence)
    return ShownSentence(
        number=number,
        text=text,
        mark=marks.get(flag or sentence.support or "", nothing),
        quotes=tuple(quote for quote in quotes if quote),
        unseen=tuple(fact.text for fact in sentence.unseen),
        by_rule=sentence.by_rule,
        explanation=sentence.explanation or sentence.reason or "",
    )


def _quote(stored: KeptQuote, fragments: Sequence[str]) -> ShownQuote | None:
    """Return a stored quote with its surroundings.

    Return None if the fragment does not contain it there, even if the ledger says so.
    """
    number, start, quote = stored["fragment"], stored["start"], stored["quote"]
    if not quote or start < 0 or not 1 <= number <= len(fragments):
        return None
    fragment = fragments[number - 1]
    if fragment[start : start + len(quote)] != quote:
        return None
    by_program = stored["by"] == "program"
    end = start + len(quote)
    preceding, following = fragment[max(0, start - _AROUND) : start], fragment[end : end + _AROUND]
    return ShownQuote(number, preceding, quote, following, by_program, start)


def _fragment(number: int, text: str, used: Sequence[tuple[int, ShownQuote]]) -> ShownFragment:
    quoted = sorted({(quote.start, quote.start + len(quote.quote)) for _, quote in used})
    parts: list[tuple[str, bool]] = []
    end = 0
    # quotes may overlap; each stretch is marked once
    for start, stop in quoted:
        if stop > end:
            begin = max(start, end)
            parts += [(text[end:begin], False), (text[begin:stop], True)]
            end = stop
    parts.append((text[end:], False))
    return ShownFragment(
        number,
        tuple(part for part in parts if part[0]),
        tuple(dict.fromkeys(sentence for sentence, _ in used)),
    )


def evidence_html(record: JudgmentRecord, language: str) -> Markup:
    """Render the answer with its sentences marked, and its fragments; empty if nothing was
    checked.
    """
    evidence = evidence_of(record)
    page = _page(language, html=True).render(shown=evidence, row=record.row) if evidence else ""
    return Markup(page)  # noqa: S704 - the template escapes


def evidence_style() -> str:
    """Return the CSS for the page."""
    style = environment("en", html=True).get_template("adjudge.features.evidence:style.css")
    return style.render()


def evidence_markdown(record: JudgmentRecord, language: str) -> str:
    """Like ``evidence_html``, but return Markdown with footnotes."""
    evidence = evidence_of(record)
    return _page(language, html=False).render(shown=evidence, row=record.row) if evidence else ""


@cache
def _page(language: str, *, html: bool) -> jinja2.Template:
    page_environment = environment(language, html=html)
    page_environment.globals |= {"marks": MARKS, "signs": _SIGNS}
    return page_environment.get_template(
        f"adjudge.features.evidence:evidence.{'html' if html else 'md'}.jinja"
    )
