"""Template files: both languages say the same, with the same variables."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import jinja2
import pytest
from jinja2 import meta

import adjudge.core.prompts
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.core.prompts.renderer import check_language, load
from adjudge.errors import SetupError

FOLDER = Path(str(files(adjudge.core.prompts))) / "templates"
FOREIGN = {"prometheus_absolute", "prometheus_relative"}
"""Formats that models were trained on, in the words they were trained on: English only."""
NAMES = sorted({path.stem for path in (FOLDER / "en").glob("*.jinja")} - FOREIGN)
EACH = [(name, language) for name in NAMES for language in LANGUAGES]


def source(name: str, language: str) -> str:
    return (FOLDER / language / f"{name}.jinja").read_text(encoding="utf-8")


def body(name: str, language: str) -> str:
    return source(name, language).partition("\n--- ")[2]


def used(name: str, language: str) -> set[str]:
    return meta.find_undeclared_variables(
        jinja2.Environment(autoescape=True).parse(body(name, language))
    )


def test_there_are_templates() -> None:
    assert {"aspect", "repair"} <= set(NAMES)


def test_every_language_has_the_same_templates() -> None:
    assert {
        language: sorted({path.stem for path in (FOLDER / language).iterdir()} - FOREIGN)
        for language in LANGUAGES
    } == dict.fromkeys(LANGUAGES, NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_declare_the_same_variables_and_sections(name: str) -> None:
    english, russian = load(name, "en"), load(name, "ru")
    assert english.variables == russian.variables
    assert [role for role, _ in english.sections] == [role for role, _ in russian.sections]


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_show_the_same_values_in_the_same_order(name: str) -> None:
    shown = {
        language: re.findall(r"\{\{-?\s*(\w+)", body(name, language)) for language in LANGUAGES
    }
    assert shown["en"] == shown["ru"]


@pytest.mark.parametrize(("name", "language"), EACH)
def test_the_declared_variables_are_those_used(name: str, language: str) -> None:
    assert load(name, language).variables == used(name, language)


@pytest.mark.parametrize(("name", "language"), EACH)
def test_a_missing_variable_stops_before_the_call(name: str, language: str) -> None:
    template = load(name, language)
    for missing in template.variables:
        given = {variable: ["a", "b"] for variable in template.variables - {missing}}
        with pytest.raises(SetupError, match=missing):
            template.messages(given)


@pytest.mark.parametrize("name", NAMES)
def test_the_russian_words_are_russian(name: str) -> None:
    assert re.search("[а-яё]{5}", source(name, "ru"))
    assert not re.search("[а-яё]", source(name, "en"))


def test_an_unknown_template_is_named() -> None:
    with pytest.raises(SetupError, match="'nonsense'"):
        load("nonsense", "en")


@pytest.mark.parametrize("language", ["de", "", "EN", "../en"])
def test_an_unknown_language_is_refused_with_those_there_are(language: str) -> None:
    with pytest.raises(SetupError, match="en, ru"):
        check_language(language)
    with pytest.raises(SetupError, match="en, ru"):
        load("aspect", language)
