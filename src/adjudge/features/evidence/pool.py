"""Votes on sentences → what the sources say of a text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from adjudge.core.data.cells import with_line_breaks
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import Status
from adjudge.core.domain.verdict import Quote, Verdict
from adjudge.core.domain.vote import Vote
from adjudge.core.pooling.majority import majority, status_of
from adjudge.core.reading.values import Place, mapping
from adjudge.features.evidence.facts import unseen_facts
from adjudge.features.evidence.flags import flag_of, odds_in, odds_of
from adjudge.features.evidence.quotes import most_alike
from adjudge.features.evidence.result import EvidenceResult, SentenceSupport, worst
from adjudge.features.evidence.sentences import Sentence
from adjudge.features.evidence.support import (
    FLAGS,
    NOT_FOUND,
    POINTS,
    SUPPORTED,
    SUPPORTS,
    UNSUPPORTED,
    Grounded,
)
from adjudge.features.evidence.wording import evidence_words
from adjudge.messages import Message


@dataclass(frozen=True)
class Looked:
    """A text that is looked up."""

    text: str
    sentences: tuple[Sentence, ...]
    fragments: tuple[str, ...]
    question: str = ""
    """What the text answers; what stands in it needs no source."""

    @cached_property
    def claims(self) -> tuple[str, ...]:
        """The sentences that claim something."""
        return tuple(one.text for one in self.sentences if one.is_claim)


def evidence_text(item: Instance, name: str) -> str:
    """The text of a field; nothing where there is none."""
    value = item.fields.get(name, "")
    return with_line_breaks(value if isinstance(value, str) else "\n".join(value))


def support_criteria(language: str) -> Criteria:
    """The question that is asked of every sentence."""
    words = evidence_words(language)
    options = mapping(words["options"], Place("judges/data", "options"))
    offered = [
        CriteriaOption(name, str(options[name]), score)
        for name, score in zip(SUPPORTS, POINTS, strict=True)
    ]
    return Criteria(
        str(words["name"]), str(words["description"]), offered, to_evaluate_field="sentence"
    )


def claims_of(made: Sequence[Vote]) -> dict[str, list[str]]:
    """Sentence → what a model says that it claims; one that it says nothing of
    claims what it says.
    """
    found: dict[str, list[str]] = {}
    for vote in (one for one in made if one.verdict):
        said = json.loads(vote.verdict.option) if vote.verdict else []
        for number, sentence in enumerate(_sentences_of(vote), 1):
            found[sentence] = [str(claim) for place, claim in said if int(place) == number] or [
                sentence
            ]
    return found


def _sentences_of(vote: Vote) -> Sequence[str]:
    return vote.ballot.instance.fields[vote.ballot.criteria.to_evaluate_field]


def looked_up(
    looked: Looked,
    votes: Sequence[Vote],
    criteria: Criteria,
    method: str,
    made: Sequence[Vote] = (),
    flags: Sequence[Vote] = (),
) -> EvidenceResult:
    """Every sentence with its verdict.

    ``made``: the votes that say what the sentences claim, where a model was asked. ``flags``: those
    that came first, and decide what nobody else was asked.
    """
    about = _by_claim(votes)
    pooled = [_sentence(one, looked, about, criteria, method) for one in looked.sentences]
    if made:
        pooled = [_by_claims(one, looked, about, criteria, made) for one in pooled]
    if flags:
        first = looked_up(looked, flags, criteria, "flags").sentences
        pooled = [
            flagged if flagged.flag == UNSUPPORTED else one
            for flagged, one in zip(first, pooled, strict=True)
        ]
    result = EvidenceResult(criteria=criteria, method=method, sentences=tuple(pooled))
    return _summed(result, [*made, *flags, *votes])


_RULES = Message(
    "by rule alone: numbers, dates, units, names and quotations; what is not marked was not checked"
)


_FLAGS = Message(
    "flags of a small model, with what the fragments lack: where to look, not what is true"
)


def _summed(result: EvidenceResult, votes: Sequence[Vote]) -> EvidenceResult:
    explanation, claims = _summary(result), len(result.claims)
    if result.method == "rules":
        marked = result.count(NOT_FOUND)
        score = 1 - marked / claims if claims else 1.0
        return replace(result, score=score, explanation=explanation, notes=(_RULES,))
    complete = result.unanswered == 0
    if result.method == "flags":
        free = 1 - result.count(NOT_FOUND) / claims if claims else 1.0
        return replace(
            result,
            status=Status.SCORED if complete else status_of(votes, complete),
            score=free if complete else None,
            explanation=explanation,
            notes=(_FLAGS,),
        )
    status = status_of(votes, complete) if not complete else Status.SCORED
    agreements = [one.agreement for one in result.claims if one.agreement is not None]
    return replace(
        result,
        status=status,
        score=result.bounds[0] if complete else None,
        explanation=explanation,
        agreement=sum(agreements) / len(agreements) if agreements and complete else None,
    )


def _summary(result: EvidenceResult) -> Message:
    claims, found = len(result.claims), result.evidence()
    if not claims:
        return Message("no sentence makes a claim that a source could support")
    if result.method == "rules":
        return Message(
            "{marked} of {claims} name something that stands in no fragment",
            marked=found.not_found,
            claims=claims,
        )
    if result.method == "flags":
        unsupported, look_here, rest = (
            sum(one.flag == flag for one in result.claims) for flag in FLAGS
        )
        return Message(
            "{unsupported} of {claims} surely unsupported, {look_here} to be looked at, nothing "
            "found against {rest}",
            unsupported=unsupported,
            claims=claims,
            look_here=look_here,
            rest=rest,
        )
    return Message(
        "{supported} of {claims} supported, {contradicted} contradicted, {not_found} not found",
        supported=found.supported,
        claims=claims,
        contradicted=found.contradicted,
        not_found=found.not_found,
    )


def _by_claim(votes: Sequence[Vote]) -> Mapping[str, list[tuple[Vote, Verdict | None]]]:
    """Claim → the votes on it; one vote on several claims is a vote on each."""
    found: dict[str, list[tuple[Vote, Verdict | None]]] = {}
    for vote in votes:
        judged = vote.ballot.instance.fields[vote.ballot.criteria.to_evaluate_field]
        texts = [judged] if isinstance(judged, str) else judged
        each = vote.verdict.each if isinstance(vote.verdict, Grounded) else ()
        said: Sequence[Verdict | None] = each or [vote.verdict] * len(texts)
        for text, verdict in zip(texts, said, strict=False):
            found.setdefault(text, []).append((vote, verdict))
    return found


_Votes = Mapping[str, list[tuple[Vote, Verdict | None]]]


def _sentence(
    one: Sentence, looked: Looked, about: _Votes, criteria: Criteria, method: str
) -> SentenceSupport:
    plain = SentenceSupport(start=one.start, end=one.end, text=one.text, kind=one.kind)
    if not one.is_claim:
        return plain
    if not looked.fragments:
        return replace(plain, support=NOT_FOUND, by_rule=True)
    unseen = unseen_facts(one.text, [*looked.fragments, looked.question])
    if method == "rules":
        return replace(
            plain, unseen=unseen, support=NOT_FOUND if unseen else None, by_rule=bool(unseen)
        )
    if method == "flags":
        votes = [vote for vote, _ in about.get(one.text, ())]
        return _flagged(replace(plain, unseen=unseen), votes, looked)
    return replace(_supported(plain, about.get(one.text, ()), looked, criteria), unseen=unseen)


def _flagged(plain: SentenceSupport, votes: Sequence[Vote], looked: Looked) -> SentenceSupport:
    """With the passage that is most like the sentence, whatever is said of it."""
    odds = odds_of(votes)
    if odds is None:
        return replace(plain, reason=next((vote.reason for vote in votes if vote.reason), None))
    flag = flag_of(plain.text, odds, lacking=bool(plain.unseen))
    return replace(
        plain,
        flag=flag,
        support=NOT_FOUND if flag == UNSUPPORTED else None,
        evidence=tuple(_chosen_by_program(plain.text, looked.fragments)),
        explanation=max(votes, key=odds_in).how_sure,
    )


def _supported(
    plain: SentenceSupport,
    votes: Sequence[tuple[Vote, Verdict | None]],
    looked: Looked,
    criteria: Criteria,
) -> SentenceSupport:
    """The majority of the votes, with the quotes of those who are in it."""
    said = [verdict.option for _, verdict in votes if verdict]
    won = majority(said, criteria)
    if won is None:
        return replace(plain, reason=next((vote.reason for vote, _ in votes if vote.reason), None))
    agreeing = [
        (vote, verdict) for vote, verdict in votes if verdict and verdict.option == won.option
    ]
    quotes = [
        quote
        for _, verdict in agreeing
        if isinstance(verdict, Grounded)
        for quote in verdict.evidence
    ]
    if not quotes and won.option != NOT_FOUND:
        quotes = _chosen_by_program(plain.text, looked.fragments)
    explanation = next(
        (verdict.explanation for _, verdict in agreeing if verdict.explanation), None
    )
    sure = next((vote.how_sure for vote, _ in agreeing if vote.distribution), None)
    return replace(
        plain,
        support=won.option,
        evidence=tuple(dict.fromkeys(quotes)) if won.option != NOT_FOUND else (),
        agreement=won.agreement,
        explanation=explanation or sure,
    )


def _chosen_by_program(claim: str, fragments: Sequence[str]) -> list[Quote]:
    """For verdicts by log-probability, which quote nothing: the passage that is most like the
    sentence.
    """
    found = most_alike(claim, fragments)
    if found is None:
        return []
    number, passage = found
    return [
        Quote(number + 1, fragments[number][passage.start : passage.end], passage.start, "program")
    ]


def _by_claims(
    sentence: SentenceSupport,
    looked: Looked,
    about: _Votes,
    criteria: Criteria,
    made: Sequence[Vote],
) -> SentenceSupport:
    """A sentence by what a model says that it claims: the worst of its claims is its verdict."""
    if not sentence.is_claim or not looked.fragments:
        return sentence
    claims = claims_of(made).get(sentence.text)
    if claims is None:
        return replace(
            sentence,
            reason=next(
                (vote.reason for vote in made if sentence.text in _sentences_of(vote)), None
            ),
        )
    if claims == [sentence.text]:
        return sentence
    plain = [SentenceSupport(start=0, end=len(claim), text=claim) for claim in claims]
    return _of_claims(
        sentence, [_supported(one, about.get(one.text, ()), looked, criteria) for one in plain]
    )


def _of_claims(sentence: SentenceSupport, claims: Sequence[SentenceSupport]) -> SentenceSupport:
    support = worst([one.support for one in claims])
    decisive = [one for one in claims if one.support == support]
    quotes = [
        quote for one in (decisive if support != SUPPORTED else claims) for quote in one.evidence
    ]
    agreements = [one.agreement for one in decisive if one.agreement is not None]
    return replace(
        sentence,
        support=support,
        evidence=tuple(dict.fromkeys(quotes)),
        claims=tuple(claims),
        agreement=min(agreements, default=None),
        explanation=next((one.explanation for one in decisive if one.explanation), None),
        reason=next((one.reason for one in decisive if one.reason), None),
    )
