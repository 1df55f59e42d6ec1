"""The adapter in the package: simple criteria that it was not trained on, and the raw model beside
it.
"""

from __future__ import annotations

import os

import pytest

from adjudge import AspectCritic, open_model
from adjudge.features.local.provider import LocalModel
from adjudge.features.local.weights.adapters import adapter_for, calibration_for

ENGLISH = {
    "The text names a price.": (
        "The blue lamp costs 40 euros.",
        "The blue lamp stands beside the sofa.",
    ),
    "The text says thank you.": (
        "Thank you so much for your help!",
        "The meeting was moved to the second floor.",
    ),
    "The text mentions an animal.": (
        "Two horses were standing in the rain.",
        "The printer is out of paper again.",
    ),
    "The text names a colour.": (
        "She painted the door green.",
        "She closed the door and went home.",
    ),
    "The text mentions a vehicle.": (
        "A lorry blocked the whole street.",
        "He reads a poem every evening.",
    ),
    "The text names a time of day on the clock.": (
        "The train leaves at 7:45.",
        "The soup needs a little more salt.",
    ),
}
RUSSIAN = {
    "Текст называет цену.": ("Синяя лампа стоит 40 евро.", "Синяя лампа стоит у дивана."),
    "Текст кого-то благодарит.": (
        "Большое вам спасибо за помощь!",
        "Собрание перенесли на второй этаж.",
    ),
    "Текст упоминает животное.": (
        "Две лошади стояли под дождём.",
        "В принтере опять кончилась бумага.",
    ),
    "Текст называет цвет.": (
        "Она покрасила дверь в зелёный цвет.",
        "Она закрыла дверь и пошла домой.",
    ),
    "Текст упоминает транспорт.": (
        "Грузовик перегородил всю улицу.",
        "Каждый вечер он читает стихотворение.",
    ),
    "Текст говорит, что что-то запрещено.": (
        "Курить в коридоре запрещено.",
        "В коридоре стоит длинная скамья.",
    ),
}
"""Criterion → a text that meets it, one that does not.

Kinds in training/held_out.txt, texts written for this test.
"""


ASKED = 6 if "ADJUDGE_LOCAL_JUDGMENTS" in os.environ else 1
"""Criteria of each language, half a minute of work each; all of them under
``make test-embedded``.
"""


@pytest.mark.parametrize(("language", "simple"), [("en", ENGLISH), ("ru", RUSSIAN)])
def test_simple_criteria_it_was_not_trained_on_are_read_mostly_right(
    language: str, simple: dict[str, tuple[str, str]]
) -> None:
    said = {
        (criterion, text): (result.verdict, wanted)
        for criterion, texts in list(simple.items())[:ASKED]
        for text, wanted, result in zip(
            texts,
            ("PASS", "FAIL"),
            AspectCritic(criterion, language=language).evaluate(list(texts)),
            strict=True,
        )
    }
    wrong = [question for question, (verdict, wanted) in said.items() if verdict != wanted]
    assert len(said) == 2 * ASKED
    assert len(wrong) <= ASKED // 3, wrong


def test_the_adapter_and_its_calibration_are_in_the_package() -> None:
    model = LocalModel("local/smollm2-135m")
    assert model._adapter == adapter_for("smollm2-135m")
    assert model._adapter is not None
    assert model._adapter.stat().st_size < 10_000_000
    assert set(model.capabilities.calibration) == {"yes_no", "letter", "number", "pair"}


def test_the_raw_model_has_no_adapter_and_is_another_model() -> None:
    raw = LocalModel("local/smollm2-135m-raw")
    assert raw._adapter is None
    assert not raw.capabilities.calibration
    assert not calibration_for("smollm2-135m-raw")
    assert raw.identity != LocalModel("local/smollm2-135m").identity


def test_the_raw_model_is_opened_by_name() -> None:
    assert open_model("local/smollm2-135m-raw").name == "local/smollm2-135m-raw"
