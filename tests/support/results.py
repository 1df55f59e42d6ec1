"""Results of every kind, as hypothesis draws them: what a judge could make, and what no judge
would.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Usage
from adjudge.core.domain.question import Choice, Comparison, Rating
from adjudge.core.domain.record import SystemResult
from adjudge.core.domain.results import (
    AspectResult,
    DirectInstanceResult,
    ModelVerdict,
    PairwiseInstanceResult,
    PositionalBias,
    Result,
    Status,
    StepTaken,
)
from adjudge.core.domain.sampled import QualitativeResult, QuantitativeResult
from adjudge.core.domain.verdict import Chosen, Compared, Quote, Rated
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.features.evidence.record import UnseenFact
from adjudge.features.evidence.result import EvidenceResult, SentenceSupport
from adjudge.features.evidence.support import SUPPORTS
from adjudge.features.generate.run_folder import CandidateResult
from adjudge.features.importers.pooling import UnjudgedRow
from adjudge.features.rag.blame import Blame
from adjudge.features.rag.dimensions import rag_dimensions
from adjudge.features.rag.measure_questions import Answered, RagPart
from adjudge.features.rag.measure_result import Measured
from adjudge.features.rag.measures import known_measures
from adjudge.features.rag.record import Composite
from adjudge.features.rag.result import RagResult
from adjudge.features.rag.standalone_question import JudgedQuestion

TEXT = st.text(st.characters(), max_size=12)
"""Half a surrogate pair among them: models write such."""
NUMBER = st.floats(allow_nan=False, allow_infinity=False) | st.integers()
SHARE = st.floats(0, 1)
NAME = st.text(max_size=8)
CELL = (
    st.none()
    | st.booleans()
    | NUMBER
    | TEXT
    | st.lists(TEXT, max_size=2)
    | st.dictionaries(TEXT, TEXT, max_size=2)
)
PANEL = st.dictionaries(NAME, SHARE, max_size=3)
OPTIONS = (CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0))
DIMENSIONS = rag_dimensions()
MEASURE = st.sampled_from([*known_measures().values()])


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value, or None."""
    return st.none() | values


def several(values: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    """Some values."""
    return st.lists(values, max_size=most).map(tuple)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """Texts, and the row that they were read from."""
    fields = draw(st.dictionaries(TEXT, TEXT | several(TEXT), min_size=1, max_size=3))
    row = draw(maybe(st.dictionaries(TEXT, CELL | st.sampled_from([*fields.values()]), max_size=3)))
    return Instance(fields, draw(maybe(TEXT)), {} if row is None else {"row": row})


CRITERION = st.builds(
    Criteria,
    name=st.text(min_size=1, max_size=8),
    description=st.just("Is it so?"),
    options=st.just(OPTIONS),
)
BIAS = st.builds(PositionalBias, maybe(st.booleans()), st.none(), maybe(SHARE), maybe(SHARE))
COUNT = st.integers(0, 10**9)
USAGE = st.builds(Usage, COUNT, COUNT, COUNT, COUNT, COUNT)
STEP = st.builds(
    StepTaken,
    step=NAME,
    verdict=maybe(TEXT),
    confidence=maybe(SHARE),
    needed=maybe(SHARE),
    accepted=st.booleans(),
    usage=USAGE,
)
QUOTE = st.builds(Quote, COUNT, TEXT, COUNT, st.sampled_from(["model", "program"]))
UNSEEN = st.builds(UnseenFact, kind=st.sampled_from(["number", "date"]), text=TEXT, start=COUNT)


def _sentence(
    claims: st.SearchStrategy[tuple[SentenceSupport, ...]],
) -> st.SearchStrategy[SentenceSupport]:
    return st.builds(
        SentenceSupport,
        start=COUNT,
        end=COUNT,
        text=TEXT,
        kind=st.sampled_from(["claim", "question"]),
        support=maybe(st.sampled_from(SUPPORTS)),
        evidence=several(QUOTE, 2),
        unseen=several(UNSEEN, 1),
        by_rule=st.booleans(),
        agreement=maybe(SHARE),
        explanation=maybe(TEXT),
        reason=maybe(TEXT),
        claims=claims,
    )


SENTENCE = _sentence(several(_sentence(st.just(())), 1))
VERDICTS: Mapping[Any, st.SearchStrategy[Any]] = {
    Choice(("Yes", "No"), (1.0, 0.0)): st.builds(
        Chosen, st.sampled_from(["Yes", "No"]), maybe(TEXT), maybe(TEXT), maybe(SHARE)
    ),
    Comparison((1, 0), True): st.builds(
        Compared, maybe(st.integers(0, 1)), maybe(TEXT), ranking=st.none() | st.just(((1,), (0,)))
    ),
    Rating((0.0, 10.0)): st.builds(Rated, NUMBER, maybe(TEXT)),
}


@st.composite
def votes(draw: st.DrawFn) -> tuple[Vote, ...]:
    """What models answered, or why they did not."""
    instance, criteria, cast = draw(instances()), draw(CRITERION), []
    for sample in range(draw(st.integers(0, 3))):
        question = draw(st.sampled_from([*VERDICTS]))
        verdict = draw(maybe(VERDICTS[question]))
        cast.append(
            Vote(
                ballot=Ballot(
                    criteria,
                    instance,
                    question,
                    "direct",
                    draw(st.sampled_from("abc")),
                    sample=sample,
                ),
                outcome=Outcome.OK
                if verdict
                else draw(st.sampled_from([Outcome.REFUSED, Outcome.MODEL_ERROR])),
                verdict=verdict,
                reason=None if verdict else draw(maybe(TEXT)),
                text=draw(maybe(TEXT)),
                usage=draw(USAGE),
                latency=draw(st.floats(0, 100)),
                distribution=draw(maybe(PANEL)),
                low_confidence=draw(st.booleans()),
            )
        )
    return tuple(cast)


COMMON: Mapping[str, st.SearchStrategy[Any]] = {
    "instance": instances(),
    "criteria": CRITERION,
    "status": st.sampled_from(Status),
    "votes": votes(),
    "score": maybe(NUMBER),
    "explanation": maybe(TEXT),
    "agreement": maybe(SHARE),
    "tie": st.booleans(),
    "fallback": maybe(TEXT),
    "notes": several(TEXT),
    "steps": several(STEP, 2),
}
DIRECT: Mapping[str, st.SearchStrategy[Any]] = {
    **COMMON,
    "option": maybe(TEXT),
    "mean_score": maybe(NUMBER),
    "feedback": maybe(TEXT),
    "positional_bias": maybe(BIAS),
}
SYSTEM = st.builds(
    SystemResult,
    contest_results=several(maybe(SHARE)),
    compared_to=several(COUNT),
    explanations=several(maybe(TEXT)),
    positional_bias=several(maybe(st.booleans())),
    certainty=several(maybe(SHARE)),
    winrate=maybe(SHARE),
    ranking=maybe(COUNT),
    selections=several(maybe(TEXT)),
)
EVIDENCE = st.builds(
    EvidenceResult,
    **COMMON,
    method=st.sampled_from(["each", "rules"]),
    sentences=several(SENTENCE),
    text_field=TEXT,
    source_field=TEXT,
    invented=st.dictionaries(NAME, COUNT, max_size=2),
)
SCORED = st.builds(
    DirectInstanceResult,
    instance=st.just(Instance({"response": "x"})),
    criteria=st.just(Criteria("clear", "Is it clear?", OPTIONS)),
    status=st.sampled_from(Status),
    score=maybe(st.integers(0, 2).map(float)),
    agreement=maybe(SHARE),
    explanation=maybe(TEXT),
)
ANSWERED = st.builds(
    Answered,
    st.builds(RagPart, TEXT, COUNT, TEXT, several(COUNT), TEXT),
    maybe(st.booleans()),
    TEXT,
)
RESULTS: Mapping[str, st.SearchStrategy[Result]] = {
    "direct": st.builds(DirectInstanceResult, **DIRECT),
    "not judged": st.builds(UnjudgedRow, **DIRECT),
    "pairwise": st.builds(
        PairwiseInstanceResult,
        **COMMON,
        selected_option=st.none() | st.just("tie") | st.just(0),
        per_system_results=st.lists(SYSTEM, min_size=1, max_size=3).map(tuple),
        certainty=maybe(SHARE),
        positional_bias=maybe(BIAS),
    ),
    "aspect": st.builds(
        AspectResult,
        **COMMON,
        verdict=maybe(st.sampled_from(["PASS", "FAIL"])),
        panel=several(
            st.builds(ModelVerdict, NAME, TEXT, SHARE, SHARE, st.booleans(), COUNT, COUNT)
        ),
        excluded_models=st.dictionaries(NAME, TEXT, max_size=2),
    ),
    "qualitative": st.builds(
        QualitativeResult,
        **COMMON,
        distribution=PANEL,
        verdict=maybe(TEXT),
        passes=COUNT,
        min_pass=COUNT,
    ),
    "quantitative": st.builds(
        QuantitativeResult,
        **COMMON,
        distribution=PANEL,
        numbers=several(NUMBER),
        agg=st.just("avg"),
        spread=maybe(NUMBER),
        range=st.tuples(NUMBER, NUMBER),
    ),
    "evidence": EVIDENCE,
    "candidate": st.builds(
        CandidateResult,
        **COMMON,
        verdict=st.sampled_from(["taken", "rejected"]),
        cost=maybe(NUMBER),
        tries=COUNT,
    ),
    "rag": st.builds(
        RagResult,
        **COMMON,
        composite=st.builds(Composite, maybe(SHARE), NAME, SHARE, SHARE, several(NAME)),
        dimensions=st.just(DIMENSIONS),
        judged=st.fixed_dictionaries({one.name: SCORED for one in DIMENSIONS}),
        evidence=maybe(EVIDENCE),
        question=maybe(st.builds(JudgedQuestion, TEXT, st.booleans(), TEXT)),
        measured=st.dictionaries(
            NAME, st.builds(Measured, MEASURE, maybe(SHARE), TEXT), max_size=2
        ),
        parts=several(ANSWERED),
        blame=st.builds(Blame, st.just("both"), several(st.tuples(NAME, SHARE), 2)),
        own_composites=PANEL,
    ),
    "of another's": st.builds(Result, **COMMON),
}
"""Kind → results of it."""
