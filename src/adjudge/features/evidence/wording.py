"""How questions about sources are worded, for models and for people."""

from __future__ import annotations

from functools import cache

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.prompts.renderer import check_language
from adjudge.core.reading.values import Place, mapping, our_yaml
from adjudge.features.evidence.support import SUPPORTS


@cache
def evidence_words(language: str) -> JsonObject:
    """The words of a language."""
    check_language(language)
    return our_yaml(__file__, f"evidence.{language}.yaml")[0]


def text_criteria(language: str, text_field: str, source_field: str) -> Criteria:
    """What people are asked of a whole text: by the same name, and with the same answers, as what
    its sentences come to.
    """
    words = evidence_words(language)
    said = mapping(words["text"], Place("judges/data", "text"))
    options = mapping(said["options"], Place("judges/data", "text.options"))
    return Criteria(
        str(words["name"]),
        str(said["description"]),
        [CriteriaOption(name, str(options[name])) for name in SUPPORTS],
        to_evaluate_field=text_field,
        context_fields=["user_input", source_field],
    )
