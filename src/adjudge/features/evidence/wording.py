"""The wording of questions about sources, for models and for people."""

from __future__ import annotations

from functools import cache

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.prompts.renderer import check_language
from adjudge.core.reading.values import Place, mapping, our_yaml
from adjudge.features.evidence.support import SUPPORTS


@cache
def evidence_words(language: str) -> JsonObject:
    """Load the wording for a language."""
    check_language(language)
    return our_yaml(__file__, f"evidence.{language}.yaml")[0]


def text_criteria(language: str, text_field: str, source_field: str) -> Criteria:
    """Return the question for human labels, about a whole text.

    Its name and options equal those of the judge's verdict, so that labels can be compared with it.
    """
    words = evidence_words(language)
    text_words = mapping(words["text"], Place("judges/data", "text"))
    options = mapping(text_words["options"], Place("judges/data", "text.options"))
    return Criteria(
        str(words["name"]),
        str(text_words["description"]),
        [CriteriaOption(name, str(options[name])) for name in SUPPORTS],
        to_evaluate_field=text_field,
        context_fields=["user_input", source_field],
    )
