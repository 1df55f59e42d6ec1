"""Questions to models for the measures of a row: one about each fragment, sentence, pair or
citation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from adjudge.core.data.cells import with_line_breaks
from adjudge.core.data.ids import id_list
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import GivenFields, Instance
from adjudge.core.domain.results import DirectInstanceResult, Status
from adjudge.core.judges.case import Case
from adjudge.core.prompts.renderer import CHECK
from adjudge.features.evidence.fragments import fragments_in
from adjudge.features.evidence.sentences import sentences
from adjudge.features.rag.citations import Citation, citations, strip_marks
from adjudge.features.rag.record import PartRecord
from adjudge.features.rag.standalone_question import JudgedQuestion
from adjudge.messages import Message

YES = "Yes"
NOWHERE = Message("the citation points to no fragment")


@dataclass(frozen=True)
class RagPart:
    """One fragment, sentence, pair or citation that is asked about."""

    check: str
    """The name of the question."""
    number: int
    """Number of the fragment or sentence, from 1."""
    text: str
    others: tuple[int, ...] = ()
    """Numbers of the fragments that it is compared with: the other one of a pair, or all cited
    ones.
    """
    mark: str = ""
    """The mark of a citation, as it is written in the answer."""
    case: Case | None = None
    """The question for a model; None if there is nothing to ask."""


@dataclass(frozen=True)
class Answered:
    """A part with the answer about it."""

    part: RagPart
    yes: bool | None
    reason: str = ""
    """The reason of the answer, or why there is none."""

    def record(self) -> PartRecord:
        """Return the answer in the form that a judgment's record stores."""
        return PartRecord(
            check=self.part.check,
            number=self.part.number,
            others=self.part.others or None,
            mark=self.part.mark or None,
            text=self.part.text,
            yes=self.yes,
            reason=self.reason or None,
        )


def pair_answer(part: RagPart, result: DirectInstanceResult | None) -> Answered:
    """Pair a part with the verdict on it; without a result, the answer is no."""
    if result is None:
        # a part without a case is a citation of no fragment
        return Answered(part, False, NOWHERE)
    if result.status is not Status.SCORED or result.option is None:
        return Answered(part, None, result.reason or Message("there is no verdict"))
    return Answered(part, result.option == YES, result.explanation or "")


@dataclass(frozen=True)
class RowTexts:
    """The texts of a row, split into fragments, sentences and citations."""

    item: Instance
    question: str = ""
    """The question that is judged, if it is not the row's own."""

    def text(self, name: str) -> str:
        value = self.item.value(name)
        if name == "user_input" and self.question:
            return self.question
        return (
            ""
            if value is None
            else with_line_breaks(value if isinstance(value, str) else "\n".join(value))
        )

    def missing(self, names: Sequence[str]) -> str:
        """Return a message about the first empty field; empty if none is."""
        return next(
            (
                Message("the row has no {name}", name=name)
                for name in names
                if not self.text(name).strip()
            ),
            "",
        )

    @cached_property
    def fragments(self) -> tuple[str, ...]:
        return fragments_in(self.item.value("contexts") or ())

    @cached_property
    def answer(self) -> list[str]:
        """The answer's statements, without citation marks."""
        return _statements(self.text("response"))

    @cached_property
    def reference(self) -> list[str]:
        """The statements of the reference."""
        return _statements(self.text("reference"))

    @cached_property
    def citations(self) -> list[Citation]:
        ids = self.item.value("retrieved_ids")
        try:
            id_texts = id_list(ids) if ids is not None else []
        except ValueError:
            id_texts = []
        return citations(self.text("response"), self.fragments, id_texts)

    @cached_property
    def cited(self) -> frozenset[int]:
        """The numbers of the fragments that the answer cites."""
        return frozenset(
            citation.fragment for citation in self.citations if citation.fragment is not None
        )


def row_texts(item: Instance, question: JudgedQuestion | None = None) -> RowTexts:
    """Return the texts of a row, with the question that is judged."""
    return RowTexts(item, question.text if question and question.rewritten else "")


def _statements(text: str) -> list[str]:
    statements = (strip_marks(sentence.text) for sentence in sentences(text) if sentence.is_claim)
    # a sentence may be nothing but marks or punctuation
    return [sentence for sentence in statements if any(map(str.isalnum, sentence))]


Relevant = frozenset[int] | None
"""The numbers of the relevant fragments; None: not known, so that all count."""


def parts_of(check: str, row: RowTexts, criteria: Criteria, relevant: Relevant) -> list[RagPart]:
    """Return the parts of a row that a check asks about."""
    return list(_PARTS[check](row, criteria, relevant))


def _relevance(row: RowTexts, criteria: Criteria, _: Relevant) -> Iterator[RagPart]:
    for number, text in enumerate(row.fragments, 1):
        case = _case(criteria, {"user_input": row.text("user_input"), "fragment": text})
        yield RagPart(criteria.name, number, text, case=case)


def _use(row: RowTexts, criteria: Criteria, relevant: Relevant) -> Iterator[RagPart]:
    for number, text in enumerate(row.fragments, 1):
        # a cited fragment is used, without asking
        if number not in row.cited and (relevant is None or number in relevant):
            case = _case(criteria, {"response": row.text("response"), "fragment": text})
            yield RagPart(criteria.name, number, text, case=case)


def _disagree(row: RowTexts, criteria: Criteria, relevant: Relevant) -> Iterator[RagPart]:
    numbered = [
        (number, text)
        for number, text in enumerate(row.fragments, 1)
        if relevant is None or number in relevant
    ]
    for (number_a, text_a), (number_b, text_b) in combinations(numbered, 2):
        case = _case(criteria, {"other_fragment": text_a, "fragment": text_b})
        yield RagPart(criteria.name, number_b, text_b, others=(number_a,), case=case)


def _cites(row: RowTexts, criteria: Criteria, _: Relevant) -> Iterator[RagPart]:
    """Yield each sentence with all fragments that it cites, since each may support a part of it.
    Marks that point to no fragment are parts of their own.
    """
    for citation in (candidate for candidate in row.citations if candidate.fragment is None):
        yield RagPart(criteria.name, citation.sentence, citation.statement, mark=citation.mark)
    cited: dict[int, list[Citation]] = {}
    for citation in (candidate for candidate in row.citations if candidate.fragment is not None):
        cited.setdefault(citation.sentence, []).append(citation)
    for number, group in cited.items():
        places = tuple(
            dict.fromkeys(citation.fragment for citation in group if citation.fragment is not None)
        )
        marks = " ".join(dict.fromkeys(citation.mark for citation in group))
        case = _case(
            criteria,
            {
                "source": [row.fragments[place - 1] for place in places],
                "statement": group[0].statement,
            },
        )
        yield RagPart(criteria.name, number, group[0].statement, places, marks, case)


def _statement_in(source: str) -> Callable[[RowTexts, Criteria, Relevant], Iterator[RagPart]]:
    """Return a function that yields statements to compare with a source.

    They are the answer's statements if the source is the reference, else the reference's.
    """

    def parts(row: RowTexts, criteria: Criteria, _: Relevant) -> Iterator[RagPart]:
        for number, text in enumerate(row.answer if source == "reference" else row.reference, 1):
            sources = {
                name: row.fragments if name == "contexts" else row.text(name)
                for name in criteria.context_fields or ()
            }
            yield RagPart(
                criteria.name, number, text, case=_case(criteria, {**sources, "statement": text})
            )

    return parts


def _case(criteria: Criteria, fields: GivenFields) -> Case:
    return Case(Instance(fields), criteria, CHECK)


_PARTS: Mapping[str, Callable[[RowTexts, Criteria, Relevant], Iterator[RagPart]]] = {
    "fragment_relevance": _relevance,
    "fragment_used": _use,
    "fragments_disagree": _disagree,
    "citation_supports": _cites,
    "statement_in_fragments": _statement_in("contexts"),
    "statement_in_answer": _statement_in("response"),
    "statement_in_reference": _statement_in("reference"),
}
