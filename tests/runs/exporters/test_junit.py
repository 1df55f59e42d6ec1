"""A run as JUnit XML: what CI shows of it, whatever the texts hold."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import AspectCritic, DirectJudge, PairwiseJudge, ScriptedModel
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.runs.exporters.export import export
from adjudge.runs.exporters.junit import _attribute, _words
from support.commands import adjudge


def said(*options: str, why: str = "so") -> ScriptedModel:
    return ScriptedModel(
        [f'{{"explanation": "{why}", "selected_option": "{one}"}}' for one in options], name="m"
    )


def suites(run: Path, tmp_path: Path) -> ElementTree.Element:
    export(run, tmp_path / "junit.xml")
    return ElementTree.parse(tmp_path / "junit.xml").getroot()


def test_a_fail_is_a_failure_and_a_failed_judgment_an_error(tmp_path: Path) -> None:
    rows = [Instance({"response": text}, id=text) for text in ("good", "bad", "lost")]
    AspectCritic("It is good.", said("PASS", "FAIL", "nonsense"), max_repairs=0).evaluate(
        rows, run=tmp_path / "run"
    )
    (suite,) = suites(tmp_path / "run", tmp_path)
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
    }
    kinds = {
        case.get("name"): [child.tag for child in case if child.tag in ("failure", "error")]
        for case in suite.iter("testcase")
    }
    assert kinds == {"good": [], "bad": ["failure"], "lost": ["error"]}
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "FAIL: so"


def test_an_option_that_is_a_number_passes_above_the_middle_of_the_scale(tmp_path: Path) -> None:
    """2 of 5 is not a pass, with scores written out or not."""
    for name, scored in (("plain", False), ("scored", True)):
        options = [
            CriteriaOption(str(n), f"{n} stars", float(n) if scored else None) for n in range(1, 6)
        ]
        rows = [Instance({"response": f"answer {n}"}, id=str(n)) for n in (2, 5)]
        DirectJudge(said("2", "5")).evaluate(
            rows, Criteria("stars", "How good is it?", tuple(options)), run=tmp_path / name
        )
        (suite,) = suites(tmp_path / name, tmp_path)
        failed = [
            case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None
        ]
        assert failed == ["2"]


def test_a_comparison_neither_passes_nor_fails(tmp_path: Path) -> None:
    PairwiseJudge(said("B")).evaluate([["a", "b"]], "Which is better?", run=tmp_path / "run")
    (suite,) = suites(tmp_path / "run", tmp_path)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "0")


@pytest.mark.parametrize(
    "text", ["\x00\x1b[31m]]>", "\ud800 half", "<b>&\"'", "x" * 100_000, "a\nb\tc", "\ufffe"]
)
def test_hostile_texts_stay_one_readable_file(tmp_path: Path, text: str) -> None:
    AspectCritic("It is good.", said("FAIL")).evaluate(
        [Instance({"response": text}, id=text)], run=tmp_path / "run"
    )
    (suite,) = suites(tmp_path / "run", tmp_path)
    assert suite.get("failures") == "1"
    assert (tmp_path / "junit.xml").stat().st_size < 10_000


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=50))
def test_any_text_is_valid_in_any_place(text: str) -> None:
    root = ElementTree.fromstring(f"<a b={_attribute(text)}>{_words(text)}</a>")
    assert root.tag == "a"


def test_several_criteria_have_a_score_each_and_no_mean_over_all(tmp_path: Path) -> None:
    words = ("check", "hello", "--contains", "o", "--contains", "x", "--run", "run")
    assert adjudge(*words, cwd=tmp_path).returncode == 4
    (suite,) = suites(tmp_path / "run", tmp_path)
    scores = {
        each.get("name"): each.get("value")
        for each in suite.findall("properties/property")
        if "score" in str(each.get("name"))
    }
    assert scores == {
        "adjudge.score.contains 'o'": "1.0",
        "adjudge.score.contains 'x'": "0.0",
        "adjudge.score.checks": "0.5",
    }


def test_gates_of_a_run_are_named(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,response\n1,a cat\n2,dog\n")
    (tmp_path / "eval.yaml").write_text("data: rows.csv\nrun: run\nchecks: [{contains: a}]\n")
    assert adjudge("run", "eval.yaml", "--fail-under", "0.8", cwd=tmp_path).returncode == 4
    (suite,) = suites(tmp_path / "run", tmp_path)
    (gate,) = suite.findall("properties/property[@name='adjudge.gate']")
    assert str(gate.get("value")).startswith("Gate failed: mean score of contains 'a'")


def test_two_judges_may_score_one_criterion_differently(tmp_path: Path) -> None:
    """1 of five stars passed, because another judge answers the question with yes or no."""
    stars = {str(number): number for number in range(1, 6)}
    judges = [
        {
            "kind": "direct",
            "name": name,
            "models": [f"scripted/{reply}"],
            "criteria": [{"name": "quality", "description": "Is it good?", "options": options}],
        }
        for name, reply, options in (
            ("stars", "1", [{"name": name, "score": score} for name, score in stars.items()]),
            ("words", "Yes", [{"name": "Yes", "score": 1}, {"name": "No", "score": 0}]),
        )
    ]
    (tmp_path / "rows.csv").write_text("id,response\nr1,text\n")
    (tmp_path / "eval.yaml").write_text(json.dumps({"data": "rows.csv", "judges": judges}))
    adjudge("run", "eval.yaml", "--run", "run", cwd=tmp_path)
    failures = {
        suite.get("name"): suite.get("failures") for suite in suites(tmp_path / "run", tmp_path)
    }
    assert failures == {"stars": "1", "words": "0"}
