"""Votes on sentences → what the sources say of a text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from adjudge.domain.criteria import Criteria, CriteriaOption
from adjudge.domain.evidence import NOT_FOUND, POINTS, SUPPORTED, SUPPORTS, Grounded
from adjudge.domain.evidence_result import EvidenceResult, SentenceSupport, worst
from adjudge.domain.instance import Instance
from adjudge.domain.results import Status
from adjudge.domain.verdict import Quote, Verdict
from adjudge.domain.vote import Vote
from adjudge.pooling.majority import majority, status_of
from adjudge.prompts.render import check_language
from adjudge.reading.facts import unseen_facts
from adjudge.reading.fragments import with_line_breaks
from adjudge.reading.quotes import most_alike
from adjudge.reading.sentences import Sentence
from adjudge.reading.values import Place, mapping, our_yaml


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
    words = _words(language)
    options = mapping(words["options"], Place("judges/data", "options"))
    offered = [CriteriaOption(name, str(options[name]), score) for name, score in zip(SUPPORTS, POINTS, strict=True)]
    return Criteria(str(words["name"]), str(words["description"]), offered, to_evaluate_field="sentence")


def claims_in(vote: Vote) -> list[str]:
    """What a model says that the sentences claim."""
    return [claim for _, claim in _numbered_claims(vote)]


def _numbered_claims(vote: Vote) -> list[tuple[int, str]]:
    said = json.loads(vote.verdict.option) if vote.verdict else []
    return [(int(number), str(claim)) for number, claim in said]


def looked_up(
    looked: Looked, votes: Sequence[Vote], criteria: Criteria, language: str, method: str, made: Sequence[Vote] = ()
) -> EvidenceResult:
    """Every sentence with its verdict. ``made``: the vote that says what the sentences claim, where a model was asked."""
    about = _by_claim(votes)
    pooled = [_sentence(one, looked, about, criteria, method) for one in looked.sentences]
    if made:
        pooled = _by_claims(pooled, looked, about, criteria, made[0])
    result = EvidenceResult(criteria=criteria, method=method, sentences=tuple(pooled))
    return _summed(result, [*made, *votes], language)


def _summed(result: EvidenceResult, votes: Sequence[Vote], language: str) -> EvidenceResult:
    words, claims, rules = _words(language), len(result.claims), result.method == "rules"
    counts = {name: str(result.evidence()[name]) for name in ("supported", "contradicted", "not_found")}
    named = "without_claims" if not claims else "unchecked" if rules else "summary"
    explanation = str(words[named]).format(claims=claims, marked=counts["not_found"], **counts)
    if rules:
        marked = result.count(NOT_FOUND)
        score = 1 - marked / claims if claims else 1.0
        return replace(result, score=score, explanation=explanation, notes=(str(words["rules_note"]),))
    complete = result.count(None) == 0
    status = status_of(votes, complete) if not complete else Status.SCORED
    agreements = [one.agreement for one in result.claims if one.agreement is not None]
    return replace(
        result,
        status=status,
        score=result.bounds[0] if complete else None,
        explanation=explanation,
        agreement=sum(agreements) / len(agreements) if agreements and complete else None,
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


def _sentence(one: Sentence, looked: Looked, about: _Votes, criteria: Criteria, method: str) -> SentenceSupport:
    plain = SentenceSupport(start=one.start, end=one.end, text=one.text, kind=one.kind)
    if not one.is_claim:
        return plain
    if not looked.fragments:
        return replace(plain, support=NOT_FOUND, by_rule=True)
    unseen = unseen_facts(one.text, [*looked.fragments, looked.question])
    if method == "rules":
        return replace(plain, unseen=unseen, support=NOT_FOUND if unseen else None, by_rule=bool(unseen))
    return replace(_supported(plain, about.get(one.text, ()), looked, criteria), unseen=unseen)


def _supported(
    plain: SentenceSupport, votes: Sequence[tuple[Vote, Verdict | None]], looked: Looked, criteria: Criteria
) -> SentenceSupport:
    """The majority of the votes, with the quotes of those who are in it."""
    said = [verdict.option for _, verdict in votes if verdict]
    won = majority(said, criteria)
    if won is None:
        return replace(plain, reason=next((vote.reason for vote, _ in votes if vote.reason), None))
    agreeing = [(vote, verdict) for vote, verdict in votes if verdict and verdict.option == won.option]
    quotes = [quote for _, verdict in agreeing if isinstance(verdict, Grounded) for quote in verdict.evidence]
    if not quotes and won.option != NOT_FOUND:
        quotes = _chosen_by_program(plain.text, looked.fragments)
    explanation = next((verdict.explanation for _, verdict in agreeing if verdict.explanation), None)
    sure = next((vote.how_sure for vote, _ in agreeing if vote.distribution), None)
    return replace(
        plain,
        support=won.option,
        evidence=tuple(dict.fromkeys(quotes)) if won.option != NOT_FOUND else (),
        agreement=won.agreement,
        explanation=explanation or sure,
    )


def _chosen_by_program(claim: str, fragments: Sequence[str]) -> list[Quote]:
    """For verdicts by log-probability, which quote nothing: the passage that is most like the sentence."""
    found = most_alike(claim, fragments)
    if found is None:
        return []
    number, passage = found
    return [Quote(number + 1, fragments[number][passage.start : passage.end], passage.start, "program")]


def _by_claims(
    pooled: Sequence[SentenceSupport], looked: Looked, about: _Votes, criteria: Criteria, made: Vote
) -> list[SentenceSupport]:
    """Each sentence by what a model says that it claims: the worst of its claims is its verdict; one without is no claim."""
    if made.verdict is None:
        return [replace(one, reason=made.reason) if one.is_claim and looked.fragments else one for one in pooled]
    claims: dict[int, list[SentenceSupport]] = {}
    for number, claim in _numbered_claims(made):
        plain = SentenceSupport(start=0, end=len(claim), text=claim)
        claims.setdefault(number, []).append(_supported(plain, about.get(claim, ()), looked, criteria))
    numbers = iter(range(1, len(looked.claims) + 1))
    return [_of_claims(one, claims.get(next(numbers), [])) if one.is_claim else one for one in pooled]


def _of_claims(sentence: SentenceSupport, claims: Sequence[SentenceSupport]) -> SentenceSupport:
    if not claims:
        return replace(sentence, kind="courtesy", unseen=())
    support = worst([one.support for one in claims])
    decisive = [one for one in claims if one.support == support]
    quotes = [quote for one in (decisive if support != SUPPORTED else claims) for quote in one.evidence]
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


@cache
def _words(language: str) -> Mapping[str, object]:
    check_language(language)
    return our_yaml(__package__, f"evidence.{language}.yaml")[0]
