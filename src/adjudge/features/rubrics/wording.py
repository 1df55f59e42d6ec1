"""The wording of questions about points."""

from __future__ import annotations

from functools import cache

from adjudge.core.domain.criteria import Criteria, CriteriaOption, yes_no_criteria
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.prompts.renderer import check_language
from adjudge.core.reading.values import Place, mapping, our_yaml
from adjudge.features.rubrics.rubric import CANNOT_TELL, MET, NOT_MET, Point

CRITERION = "rubric"
YES, NO = "Yes", "No"


@cache
def rubric_words(language: str) -> JsonObject:
    """Return the wording of rubric prompts in a language."""
    check_language(language)
    return our_yaml(__file__, f"rubric.{language}.yaml")[0]


def answers_line(point: Point, language: str) -> str:
    """Return the line that lists a point's possible answers."""
    words = mapping(rubric_words(language)["answers"], Place("rubrics/data", "answers"))
    if point.kind == "graded":
        levels = "; ".join(f"{number} = {text}" for number, text in enumerate(point.levels, 1))
        return str(words["graded"]).format(levels=levels)
    if point.kind == "count":
        return str(words["count"]).format(most=point.most)
    return str(words["met"])


@cache
def point_criteria(language: str, field: str, answers: tuple[str, ...] = ()) -> Criteria:
    """Return the question about a point, with ``answers`` if they are levels or counts."""
    words = rubric_words(language)
    texts = mapping(words["options"], Place("rubrics/data", "options"))
    options = (
        [CriteriaOption(answer) for answer in answers]
        if answers
        else [
            CriteriaOption(MET, str(texts[MET]), 1.0),
            CriteriaOption(NOT_MET, str(texts[NOT_MET]), 0.0),
        ]
    )
    options.append(CriteriaOption(CANNOT_TELL, str(texts[CANNOT_TELL])))
    return Criteria(CRITERION, str(words["description"]), options, to_evaluate_field=field)


@cache
def likelihood_criteria(language: str, field: str, answers: tuple[str, ...] = ()) -> Criteria:
    """Like point_criteria, for models that compare options and write nothing."""
    question = str(rubric_words(language)["description"])
    if answers:
        # Such models have no "cannot tell".
        options = [CriteriaOption(answer) for answer in answers]
        return Criteria(CRITERION, question, options, to_evaluate_field=field)
    yes_no = yes_no_criteria(question)
    return Criteria(yes_no.name, yes_no.description, yes_no.options, to_evaluate_field=field)


@cache
def proposal_criteria(language: str) -> Criteria:
    """Return the request for proposed points."""
    words = str(rubric_words(language)["proposal"])
    return Criteria("rubric proposal", words, to_evaluate_field="user_input")
