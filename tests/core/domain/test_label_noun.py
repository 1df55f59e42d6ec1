"""What a label may say."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.label import Label, LabelScale
from adjudge.errors import SetupError
from support.labels import label

KIND = Criteria(
    "kind", "Is it kind?", [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)]
)
STARS = Criteria(
    "stars", "How good is it?", [CriteriaOption(str(number)) for number in range(1, 6)]
)


def test_a_label_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        label().option = "FAIL"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"annotator": " "}, "the annotator of a label must"),
        ({"row": ""}, "the row of a label must"),
        ({"criteria": ""}, "the criteria of a label must"),
        ({"option": None}, "exactly one of option, score and winner, not 0"),
        ({"score": 1.0}, "exactly one of option, score and winner, not 2"),
        ({"state": "skipped"}, "a label that is skipped needs no answer"),
        ({"option": None, "score": float("nan")}, "must be a finite number"),
        (
            {"design": "guessed"},
            "design of a label must be one of random, random_within_verdict, random_weighted, "
            "chosen, not 'guessed'",
        ),
        ({"kind": "robot"}, "kind of a label must be one of human, expert, model"),
        ({"state": "maybe"}, "state of a label must be one of"),
    ],
)
def test_what_is_wrong_with_a_label_is_said(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(SetupError, match=says):
        label(**wrong)  # type: ignore[arg-type]


def test_the_first_response_is_an_answer_like_any_other() -> None:
    assert label(option=None, winner=0).answer == 0
    assert label(option=None, score=0.0).answer == 0.0
    assert label(option=None, state="unsure").answer is None


def test_labels_of_chosen_rows_are_not_random_ones() -> None:
    designs = {
        design: label(design=design).is_random
        for design in ("random", "random_within_verdict", "chosen")
    }
    assert designs == {"random": True, "random_within_verdict": True, "chosen": False}


def test_a_label_comes_back_from_its_dict() -> None:
    one = label(note="ц", seed=3, drawn_at=1.5, drawn_under="abc", judge_visible=True, at=2.0)
    assert Label(**one.to_dict()) == one  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "option"), [("Yes", "Yes"), ("yes", "Yes"), (" NO ", "No")])
def test_an_option_is_read_whatever_its_case(text: str, option: str) -> None:
    assert LabelScale(KIND).read(text).option == option


def test_a_spreadsheet_may_write_4_as_4_point_0() -> None:
    assert LabelScale(STARS).read("4.0").option == "4"


@given(st.text(max_size=8))
def test_nothing_is_guessed(text: str) -> None:
    """Whatever is read is an option, and the text names it."""
    try:
        read = LabelScale(KIND).read(text).option
    except ValueError as error:
        assert "is not an option of criterion 'kind': Yes, No" in str(error)
    else:
        assert read is not None
        assert read.casefold() == text.strip().casefold()


def test_options_that_differ_in_case_alone_must_be_named_exactly() -> None:
    scale = LabelScale(Criteria("case", "Is it so?", [CriteriaOption("a"), CriteriaOption("A")]))
    assert (scale.read("a").option, scale.read("A").option) == ("a", "A")
    with pytest.raises(ValueError, match="is not an option"):
        scale.read(" a")


@pytest.mark.parametrize(
    ("text", "winner"), [("A", 0), ("b", 1), ("0", 0), ("1.0", 1), ("Tie", "tie")]
)
def test_a_winner_is_a_letter_an_index_or_a_tie(text: str, winner: int | str) -> None:
    assert LabelScale(KIND, compares=True).read(text, 2).winner == winner


@pytest.mark.parametrize(
    ("text", "systems", "winner"),
    [("new", ("old", "new"), 1), ("Old ", ("old", "new"), 0), ("A", ("old", "new"), 0)],
)
def test_a_winner_may_be_named_like_its_system(
    text: str, systems: tuple[str, ...], winner: int
) -> None:
    assert LabelScale(KIND, compares=True).read(text, 2, systems).winner == winner


@pytest.mark.parametrize("systems", [("B", "A"), ("new", "New")])
def test_a_name_that_may_mean_two_responses_is_refused(systems: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"could be the system|several systems"):
        LabelScale(KIND, compares=True).read(systems[1], 2, systems)


@pytest.mark.parametrize("text", ["C", "2", "-1", "0.5", "", "tie"])
def test_a_response_that_is_not_there_did_not_win(text: str) -> None:
    with pytest.raises(ValueError, match="is not a response"):
        LabelScale(KIND, compares=True, ties=False).read(text, 2)


@pytest.mark.parametrize("text", ["-0.1", "10.1", "nan", "many", ""])
def test_a_number_outside_its_range_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number from 0 to 10"):
        LabelScale(KIND, range=(0.0, 10.0)).read(text)


def test_a_number_is_read_with_a_comma_too() -> None:
    assert LabelScale(KIND, range=(0.0, 10.0)).read("7,5").score == 7.5


def test_a_changed_label_is_checked_again() -> None:
    with pytest.raises(SetupError):
        replace(label(), option=None)
    assert isinstance(label(), Label)
