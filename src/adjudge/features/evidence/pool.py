"""Pool votes on sentences into a result about the text."""

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
class CheckedText:
    """A text to check: its sentences, and the fragments to find support in."""

    text: str
    sentences: tuple[Sentence, ...]
    fragments: tuple[str, ...]
    question: str = ""
    """The question that the text answers; facts in it need no source."""

    @cached_property
    def claims(self) -> tuple[str, ...]:
        """The texts of the sentences that claim something."""
        return tuple(sentence.text for sentence in self.sentences if sentence.is_claim)


def evidence_text(item: Instance, name: str) -> str:
    """Return a field's text, with a list joined by line breaks; empty if there is none."""
    value = item.fields.get(name, "")
    return with_line_breaks(value if isinstance(value, str) else "\n".join(value))


def support_criteria(language: str) -> Criteria:
    """Return the question asked about each sentence."""
    words = evidence_words(language)
    options = mapping(words["options"], Place("judges/data", "options"))
    offered = [
        CriteriaOption(name, str(options[name]), score)
        for name, score in zip(SUPPORTS, POINTS, strict=True)
    ]
    return Criteria(
        str(words["name"]), str(words["description"]), offered, to_evaluate_field="sentence"
    )


def claims_of(votes: Sequence[Vote]) -> dict[str, list[str]]:
    """Map each sentence to the claims that a model finds in it; a sentence without any maps to
    itself.
    """
    claims: dict[str, list[str]] = {}
    for vote in (vote_read for vote_read in votes if vote_read.verdict):
        numbered_claims = json.loads(vote.verdict.option) if vote.verdict else []
        for number, sentence in enumerate(_sentences_of(vote), 1):
            claims[sentence] = [
                str(claim) for place, claim in numbered_claims if int(place) == number
            ] or [sentence]
    return claims


def _sentences_of(vote: Vote) -> Sequence[str]:
    return vote.ballot.instance.fields[vote.ballot.criteria.to_evaluate_field]


def look_up(
    checked: CheckedText,
    votes: Sequence[Vote],
    criteria: Criteria,
    method: str,
    claim_votes: Sequence[Vote] = (),
    flags: Sequence[Vote] = (),
) -> EvidenceResult:
    """Return a result with a verdict for every sentence.

    ``claim_votes``: the votes that list the sentences' claims, if a model was asked. ``flags``:
    earlier votes, which decide the sentences that they find surely unsupported.
    """
    about = _by_claim(votes)
    pooled = [
        _sentence(sentence, checked, about, criteria, method) for sentence in checked.sentences
    ]
    if claim_votes:
        pooled = [
            _judge_by_claims(sentence, checked, about, criteria, claim_votes) for sentence in pooled
        ]
    if flags:
        flagged_sentences = look_up(checked, flags, criteria, "flags").sentences
        pooled = [
            flagged if flagged.flag == UNSUPPORTED else sentence
            for flagged, sentence in zip(flagged_sentences, pooled, strict=True)
        ]
    result = EvidenceResult(criteria=criteria, method=method, sentences=tuple(pooled))
    return _with_score(result, [*claim_votes, *flags, *votes])


_RULES = Message(
    "by rules alone, for numbers, dates, units, names and quotations; unmarked text was not checked"
)


_FLAGS = Message(
    "flags of a small model, with what is missing in the fragments: they show where to look, not "
    "what is true"
)


def _with_score(result: EvidenceResult, votes: Sequence[Vote]) -> EvidenceResult:
    """Add score, status and explanation, computed from the sentences."""
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
    agreements = [claim.agreement for claim in result.claims if claim.agreement is not None]
    return replace(
        result,
        status=status,
        score=result.bounds[0] if complete else None,
        explanation=explanation,
        agreement=sum(agreements) / len(agreements) if agreements and complete else None,
    )


def _summary(result: EvidenceResult) -> Message:
    claims, counts = len(result.claims), result.evidence()
    if not claims:
        return Message("no sentence makes a claim that a source could support")
    if result.method == "rules":
        return Message(
            "{marked} of {claims} mention something that no fragment contains",
            marked=counts.not_found,
            claims=claims,
        )
    if result.method == "flags":
        unsupported, look_here, unflagged = (
            sum(claim.flag == flag for claim in result.claims) for flag in FLAGS
        )
        return Message(
            "{unsupported} of {claims} clearly unsupported, {look_here} to check, nothing found "
            "against {rest}",
            unsupported=unsupported,
            claims=claims,
            look_here=look_here,
            rest=unflagged,
        )
    return Message(
        "{supported} of {claims} supported, {contradicted} contradicted, {not_found} not found",
        supported=counts.supported,
        claims=claims,
        contradicted=counts.contradicted,
        not_found=counts.not_found,
    )


def _by_claim(votes: Sequence[Vote]) -> Mapping[str, list[tuple[Vote, Verdict | None]]]:
    """Group the votes by claim. A vote on several claims counts for each of them."""
    votes_by_claim: dict[str, list[tuple[Vote, Verdict | None]]] = {}
    for vote in votes:
        judged_text = vote.ballot.instance.fields[vote.ballot.criteria.to_evaluate_field]
        texts = [judged_text] if isinstance(judged_text, str) else judged_text
        verdicts_given = vote.verdict.each if isinstance(vote.verdict, Grounded) else ()
        verdicts: Sequence[Verdict | None] = verdicts_given or [vote.verdict] * len(texts)
        for text, verdict in zip(texts, verdicts, strict=False):
            votes_by_claim.setdefault(text, []).append((vote, verdict))
    return votes_by_claim


_Votes = Mapping[str, list[tuple[Vote, Verdict | None]]]


def _sentence(
    sentence: Sentence, checked: CheckedText, about: _Votes, criteria: Criteria, method: str
) -> SentenceSupport:
    """Judge one sentence by its votes, by flags, or by rules.

    Without fragments, a claim is not found.
    """
    plain = SentenceSupport(
        start=sentence.start, end=sentence.end, text=sentence.text, kind=sentence.kind
    )
    if not sentence.is_claim:
        return plain
    # nothing to look in, so no model has to be asked
    if not checked.fragments:
        return replace(plain, support=NOT_FOUND, by_rule=True)
    unseen = unseen_facts(sentence.text, [*checked.fragments, checked.question])
    if method == "rules":
        return replace(
            plain, unseen=unseen, support=NOT_FOUND if unseen else None, by_rule=bool(unseen)
        )
    if method == "flags":
        votes = [vote for vote, _ in about.get(sentence.text, ())]
        return _flag(replace(plain, unseen=unseen), votes, checked)
    return replace(
        _pool_support(plain, about.get(sentence.text, ()), checked, criteria), unseen=unseen
    )


def _flag(plain: SentenceSupport, votes: Sequence[Vote], checked: CheckedText) -> SentenceSupport:
    """Flag the sentence, and add the most similar passage, whatever the flag."""
    odds = odds_of(votes)
    if odds is None:
        return replace(plain, reason=next((vote.reason for vote in votes if vote.reason), None))
    flag = flag_of(plain.text, odds, lacking=bool(plain.unseen))
    return replace(
        plain,
        flag=flag,
        support=NOT_FOUND if flag == UNSUPPORTED else None,
        evidence=tuple(_choose_passage(plain.text, checked.fragments)),
        explanation=max(votes, key=odds_in).how_sure,
    )


def _pool_support(
    plain: SentenceSupport,
    votes: Sequence[tuple[Vote, Verdict | None]],
    checked: CheckedText,
    criteria: Criteria,
) -> SentenceSupport:
    """Return the majority verdict, with the quotes of the votes for it.

    If they quote nothing, the most similar passage is used.
    """
    options = [verdict.option for _, verdict in votes if verdict]
    winner = majority(options, criteria)
    if winner is None:
        return replace(plain, reason=next((vote.reason for vote, _ in votes if vote.reason), None))
    agreeing = [
        (vote, verdict) for vote, verdict in votes if verdict and verdict.option == winner.option
    ]
    quotes = [
        quote
        for _, verdict in agreeing
        if isinstance(verdict, Grounded)
        for quote in verdict.evidence
    ]
    if not quotes and winner.option != NOT_FOUND:
        # verdicts by log-probability quote nothing
        quotes = _choose_passage(plain.text, checked.fragments)
    explanation = next(
        (verdict.explanation for _, verdict in agreeing if verdict.explanation), None
    )
    certainty = next((vote.how_sure for vote, _ in agreeing if vote.distribution), None)
    return replace(
        plain,
        support=winner.option,
        evidence=tuple(dict.fromkeys(quotes)) if winner.option != NOT_FOUND else (),
        agreement=winner.agreement,
        explanation=explanation or certainty,
    )


def _choose_passage(claim: str, fragments: Sequence[str]) -> list[Quote]:
    """Return the passage most similar to the claim, for verdicts by log-probability, which have
    no quotes.
    """
    match = most_alike(claim, fragments)
    if match is None:
        return []
    number, passage = match
    return [
        Quote(number + 1, fragments[number][passage.start : passage.end], passage.start, "program")
    ]


def _judge_by_claims(
    sentence: SentenceSupport,
    checked: CheckedText,
    about: _Votes,
    criteria: Criteria,
    claim_votes: Sequence[Vote],
) -> SentenceSupport:
    """Judge a sentence by the claims that a model finds in it; the worst verdict counts.

    A sentence whose only claim is itself keeps its verdict.
    """
    if not sentence.is_claim or not checked.fragments:
        return sentence
    claims = claims_of(claim_votes).get(sentence.text)
    if claims is None:
        return replace(
            sentence,
            reason=next(
                (vote.reason for vote in claim_votes if sentence.text in _sentences_of(vote)), None
            ),
        )
    if claims == [sentence.text]:
        return sentence
    plain = [SentenceSupport(start=0, end=len(claim), text=claim) for claim in claims]
    return _pool_claims(
        sentence,
        [
            _pool_support(claim_support, about.get(claim_support.text, ()), checked, criteria)
            for claim_support in plain
        ],
    )


def _pool_claims(sentence: SentenceSupport, claims: Sequence[SentenceSupport]) -> SentenceSupport:
    support = worst([claim.support for claim in claims])
    decisive = [claim for claim in claims if claim.support == support]
    quotes = [
        # a sentence is supported by the quotes of all its claims, but refuted by those of the worst
        quote
        for claim in (decisive if support != SUPPORTED else claims)
        for quote in claim.evidence
    ]
    agreements = [claim.agreement for claim in decisive if claim.agreement is not None]
    return replace(
        sentence,
        support=support,
        evidence=tuple(dict.fromkeys(quotes)),
        claims=tuple(claims),
        agreement=min(agreements, default=None),
        explanation=next((claim.explanation for claim in decisive if claim.explanation), None),
        reason=next((claim.reason for claim in decisive if claim.reason), None),
    )
