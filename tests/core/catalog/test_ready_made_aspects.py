"""The ready-made aspects, in both languages."""

from __future__ import annotations

import re

import pytest

from adjudge.core.catalog.aspects import aspect, aspects
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.errors import SetupError

NAMES = ["harmlessness", "conciseness", "coherence", "completeness", "factuality"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_the_five_of_the_seed(language: str) -> None:
    assert list(aspects(language)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_sentence_in_its_language(name: str) -> None:
    english, russian = aspect(name, "en"), aspect(name, "ru")
    assert re.fullmatch(r"The response .{60,}\.", english)
    assert re.fullmatch(r"Ответ .{60,}\.", russian)
    assert not re.search("[а-яё]", english)
    assert not re.search("[a-z]{3}", russian)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_definition_breaks_its_line(language: str) -> None:
    assert all(
        definition == " ".join(definition.split()) for definition in aspects(language).values()
    )


def test_an_unknown_aspect_is_refused_with_those_there_are() -> None:
    with pytest.raises(SetupError, match=r"'politeness'.*harmlessness, conciseness"):
        aspect("politeness", "en")


@pytest.mark.parametrize("language", ["de", "", "../en"])
def test_an_unknown_language_is_refused(language: str) -> None:
    with pytest.raises(SetupError, match=f"language '{language}'"):
        aspects(language)
