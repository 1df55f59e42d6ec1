"""How two runs differ: rows are paired by their id, by what is beside the judged text, by a text of
its own, or by place.
"""

from __future__ import annotations

import json
import random
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import (
    AspectCritic,
    DirectJudge,
    Instance,
    PairwiseInstance,
    PairwiseJudge,
    RunError,
    ScriptedModel,
    SetupError,
)
from adjudge.core.data.dataset import read_instances
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.message import Request
from adjudge.core.domain.results import DirectInstanceResult
from adjudge.core.ledger.codec import judgment_row
from adjudge.core.ledger.file import FILE, connect, make_tables, write_meta
from adjudge.core.ledger.rows import insert
from adjudge.features.rag import RagEvaluator
from adjudge.runs.cli.main import main
from adjudge.runs.diff import Change, JudgedRow, run_diff
from adjudge.runs.eval_file import load_eval
from adjudge.runs.execute import execute
from adjudge.runs.plan import resolve
from adjudge.trust.comparison import ComparisonSettings, compare_runs
from support.rag import ROW, gives

Texts = Sequence[str | Instance]


def fails(*marks: str) -> Callable[[Request], str]:
    """A model that fails texts with one of ``marks`` in them."""

    def script(request: Request) -> str:
        shown = request.prompt.messages[-1].content
        return json.dumps(
            {"selected_option": "FAIL" if any(mark in shown for mark in marks) else "PASS"}
        )

    return script


def made(folder: Path, texts: Texts, *marks: str, **options: Any) -> Path:
    AspectCritic("c", ScriptedModel(fails(*marks)), **options).evaluate(list(texts), run=folder)
    return folder


def named(**texts: str) -> list[Instance]:
    return [Instance({"response": text}, id) for id, text in texts.items()]


def compared(one: Path, two: Path) -> tuple[list[Change], list[JudgedRow], list[JudgedRow]]:
    with run_diff(one, two) as found:
        changes, alone, other = (
            list(found.changes()),
            list(found.only_in(0)),
            list(found.only_in(1)),
        )
        assert (found.changed, found.alone(0), found.alone(1)) == (
            len(changes),
            len(alone),
            len(other),
        )
        return changes, alone, other


def rows(found: Sequence[JudgedRow]) -> list[int]:
    return [row.row for row in found]


def ways(one: Path, two: Path, id: str | None = None) -> dict[str, int]:
    with run_diff(one, two, id=id) as found:
        (line,) = found.lines()
        return {str(way): count for way, count in found.pairing(line).ways.items()}


def test_the_same_run_does_not_differ(tmp_path: Path) -> None:
    one = made(tmp_path / "one", ["a", "b", "a"])
    with run_diff(one, one) as found:
        assert (found.settings, found.compared, found.changed, found.alone(0), found.alone(1)) == (
            [],
            3,
            0,
            0,
            0,
        )


def test_settings_and_verdicts_that_differ(tmp_path: Path) -> None:
    one, two = (
        made(tmp_path / "one", ["a", "<b>", "c"]),
        made(tmp_path / "two", ["a", "<b>", "c"], "<b>", strictness=3),
    )
    with run_diff(one, two) as found:
        assert found.settings == ["judges.AspectCritic.settings.strictness: 1 → 3"]
        (change,) = found.changes()
    assert (change.before.row, change.before.summary[:3], change.after.summary[:3]) == (
        2,
        ("scored", 1.0, "PASS"),
        ("scored", 0.0, "FAIL"),
    )


def test_one_row_put_on_top_changes_nothing_else(tmp_path: Path) -> None:
    """Every row was compared with its neighbour: changes were reported that did not happen."""
    texts = [f"text {number} {'bad' if number % 3 == 0 else ''}" for number in range(10)]
    one, two = (
        made(tmp_path / "one", texts, "bad"),
        made(tmp_path / "two", ["new bad", *texts], "bad"),
    )
    assert [rows(found) for found in compared(one, two)[1:]] == [[], [1]]
    assert compared(one, two)[0] == []


def test_rows_that_only_one_run_has_are_listed(tmp_path: Path) -> None:
    one, two = (
        made(tmp_path / "one", ["a", "b", "<c>"]),
        made(tmp_path / "two", ["<c>", "d", "a", "e"], "<c>"),
    )
    changes, alone, other = compared(one, two)
    assert [(change.before.row, change.after.row) for change in changes] == [(3, 1)]
    assert (rows(alone), rows(other)) == ([2], [2, 4])


def test_answers_that_nothing_names_are_paired_by_place_where_there_are_as_many(
    tmp_path: Path,
) -> None:
    one, two = (
        made(tmp_path / "one", ["a", "b", "<c>", "d"]),
        made(tmp_path / "two", ["a", "B", "<c>", "D"], "B"),
    )
    changes, alone, other = compared(one, two)
    assert [(change.before.row, change.after.row) for change in changes] == [(2, 2)]
    assert (alone, other, ways(one, two)) == ([], [], {"text": 2, "place": 2})


def test_answers_of_one_word_are_not_taken_for_the_same_row(tmp_path: Path) -> None:
    """Yes of row 1 is not yes of row 2: else two runs that say the opposite would be the same."""
    one, two = made(tmp_path / "one", ["yes", "no"] * 5), made(tmp_path / "two", ["no", "yes"] * 5)
    assert ways(one, two) == {"place": 10}
    with run_diff(one, two) as found:
        assert [pair.before.row == pair.after.row for pair in found.pairs(found.lines()[0])] == [
            True
        ] * 10


def asked(*answers: tuple[str, str], **more: str) -> list[Instance]:
    return [
        Instance({"user_input": question, "response": answer, **more})
        for question, answer in answers
    ]


def test_rows_without_ids_are_paired_by_their_question_wherever_they_stand(tmp_path: Path) -> None:
    one = made(tmp_path / "one", asked(("q1", "a"), ("q2", "b"), ("q3", "c"), ("q4", "d")))
    two = made(tmp_path / "two", asked(("q3", "bad"), ("q5", "e"), ("q1", "A"), ("q2", "b")), "bad")
    changes, alone, other = compared(one, two)
    assert [(change.before.row, change.after.row) for change in changes] == [(3, 1)]
    assert (rows(alone), rows(other), ways(one, two)) == ([4], [2], {"fields": 3})


def test_other_sources_are_found_for_the_same_question(tmp_path: Path) -> None:
    one = made(tmp_path / "one", asked(("q1", "a"), ("q2", "b"), contexts="old"))
    two = made(tmp_path / "two", asked(("q2", "B"), ("q1", "A"), contexts="new"))
    assert (compared(one, two)[1:], ways(one, two)) == (([], []), {"fields": 2})


def test_two_sets_of_questions_are_not_paired_by_place(tmp_path: Path) -> None:
    one = made(tmp_path / "one", asked(("q1", "a"), ("q2", "b")))
    two = made(tmp_path / "two", asked(("q3", "c"), ("q4", "d")))
    assert (rows(compared(one, two)[1]), ways(one, two)) == ([1, 2], {})


def test_one_question_that_is_asked_of_every_row_names_none(tmp_path: Path) -> None:
    one = made(tmp_path / "one", asked(*(("Why?", f"answer {place}") for place in range(4))))
    two = made(tmp_path / "two", asked(*(("Why?", f"other {place}") for place in range(4))))
    fewer = made(tmp_path / "fewer", asked(*(("Why?", f"other {place}") for place in range(3))))
    assert (ways(one, two), ways(one, fewer)) == ({"place": 4}, {})


def test_ids_of_which_none_is_in_both_runs_name_no_rows(tmp_path: Path) -> None:
    """A tool gives every row a new id each time; the questions are the same."""
    rows_of = {
        run: [
            Instance({"user_input": f"q{n}", "response": f"{run} {n}"}, f"{run}-{n}")
            for n in range(3)
        ]
        for run in ("x", "y")
    }
    assert ways(made(tmp_path / "x", rows_of["x"]), made(tmp_path / "y", rows_of["y"])) == {
        "fields": 3
    }
    one, two = (
        made(tmp_path / run, named(**{f"{run}{n}": f"{run} {n}" for n in range(3)}))
        for run in ("v", "w")
    )
    assert ways(one, two) == {}


def test_an_id_of_one_run_alone_says_nothing(tmp_path: Path) -> None:
    one, two = made(tmp_path / "one", named(r1="a", r2="b")), made(tmp_path / "two", ["A", "B"])
    assert ways(one, two) == {"place": 2}


def test_a_column_of_the_rows_names_them_where_the_runs_were_not_told_of_it(tmp_path: Path) -> None:
    for run, lines in (("one", ["n1,a", "n2,b", "n3,c"]), ("two", ["n3,C", "n4,D", "n1,A"])):
        (tmp_path / f"{run}.csv").write_text("\n".join(["number,answer", *lines]))
        made(tmp_path / run, list(read_instances(tmp_path / f"{run}.csv")))
    one, two = tmp_path / "one", tmp_path / "two"
    assert ways(one, two) == {"place": 3}
    assert ways(one, two, id="number") == {"id": 2}
    with pytest.raises(SetupError, match=r"no row of .* has a value in column 'nomber'"):
        ways(one, two, id="nomber")


def test_rows_called_by_their_place_are_not_joined_by_it(tmp_path: Path) -> None:
    for name, text in (("one", "answer\na bad\nb\n"), ("two", "answer\nnew\na bad\nb\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.csv").write_text(text)
        made(tmp_path / name / "run", list(read_instances(tmp_path / name / "rows.csv")), "bad")
    changes, alone, other = compared(tmp_path / "one" / "run", tmp_path / "two" / "run")
    assert (changes, alone, [row.id for row in other]) == ([], [], ["rows.csv:2"])


def test_answers_of_two_systems_are_joined_by_their_id(tmp_path: Path) -> None:
    one = made(tmp_path / "one", named(q1="old", q2="old bad", q3="same"), "bad")
    two = made(tmp_path / "two", named(q2="new", q3="same", q1="new bad"), "bad")
    changes, alone, other = compared(one, two)
    assert [(change.before.id, change.after.row, change.same_content) for change in changes] == [
        ("q1", 3, False),
        ("q2", 1, False),
    ]
    assert (alone, other) == ([], [])


def test_rows_are_their_ids_whatever_they_say(tmp_path: Path) -> None:
    one = made(tmp_path / "one", named(r1="same", r2="other"))
    two = made(tmp_path / "two", named(r2="same", r1="other bad"), "bad")
    (change,), alone, other = compared(one, two)
    assert ((change.before.id, change.after.id), alone, other) == (("r1", "r1"), [], [])


def test_ids_that_are_numbered_anew_are_noticed_by_the_questions(tmp_path: Path) -> None:
    def numbered(*questions: str) -> list[Instance]:
        return [
            Instance({"user_input": text, "response": f"to {text}"}, str(place))
            for place, text in enumerate(questions)
        ]

    one, two = (
        made(tmp_path / "one", numbered("a", "b", "c")),
        made(tmp_path / "two", numbered("x", "a", "b", "c")),
    )
    with run_diff(one, two) as found:
        (comparison,) = compare_runs(one, two, found)
    assert (
        "3 of 3 pairs have different questions in the two runs: are these the same rows?"
        in comparison.notes
    )


def test_rows_that_share_an_id_are_paired_in_their_order_and_count_as_one(tmp_path: Path) -> None:
    one = made(tmp_path / "one", [Instance({"response": text}, "same") for text in ("a", "b", "c")])
    two = made(
        tmp_path / "two",
        [Instance({"response": text}, "same") for text in ("c bad", "b", "a", "d")],
        "bad",
    )
    changes, alone, other = compared(one, two)
    assert [(change.before.row, change.after.row) for change in changes] == [(3, 1)]
    assert (rows(alone), rows(other)) == ([], [4])
    with run_diff(one, two) as found:
        (comparison,) = compare_runs(one, two, found)
    assert (comparison.difference.units, comparison.pairing.shared) == (1, 4)


def test_rows_that_share_an_id_are_paired_with_the_same_question_first(tmp_path: Path) -> None:
    def rows_of(version: str, *places: int) -> list[Instance]:
        fields = (
            {"user_input": f"question {n}", "response": f"answer {n} {version}"} for n in places
        )
        return [Instance(each, "the same id") for each in fields]

    one = made(tmp_path / "one", rows_of("v1", *range(9)))
    two = made(tmp_path / "two", rows_of("v2", *reversed(range(9))), "v2")
    assert [change.before.row + change.after.row for change in compared(one, two)[0]] == [10] * 9
    with run_diff(one, two) as found:
        assert found.pairing(found.lines()[0]).other_questions == 0


@pytest.mark.parametrize("nothing", ["", " ", None])
def test_an_empty_cell_of_the_column_that_names_rows_names_none(
    tmp_path: Path, nothing: str | None
) -> None:
    """Rows without a name were taken for one row that stands there many times."""
    for folder, version, order in (("one", "v1", 1), ("two", "v2", -1)):
        table = [
            {
                "key": nothing if n % 2 else f"k{n}",
                "question": f"question {n}",
                "answer": f"{n} {version}",
            }
            for n in range(20)
        ]
        AspectCritic("c", ScriptedModel(fails())).evaluate(
            list(read_instances(table[::order])), run=tmp_path / folder
        )
    assert ways(tmp_path / "one", tmp_path / "two", "key") == {"id": 10, "fields": 10}


def test_a_row_that_was_copied_by_mistake_has_no_counterpart_but_once(tmp_path: Path) -> None:
    texts = [("q1", "a"), ("q2", "b"), ("q3", "c")]
    one, two = (
        made(tmp_path / "one", asked(*texts)),
        made(tmp_path / "two", asked(*texts, ("q2", "b"))),
    )
    assert [rows(found) for found in compared(one, two)[1:]] == [[], [4]]
    assert ways(one, two) == {"fields": 2, "text": 1}


def test_copies_of_a_text_that_nothing_names_are_paired_only_where_there_are_as_many(
    tmp_path: Path,
) -> None:
    one, two = (
        made(tmp_path / "one", ["<a>", "<a>", "b", "<a>"]),
        made(tmp_path / "two", ["<a>", "b", "<a>"], "<a>"),
    )
    assert [rows(found) for found in compared(one, two)[1:]] == [[1, 2, 4], [1, 3]]
    three = made(tmp_path / "three", ["<a>", "b", "<a>", "<a>"], "<a>")
    assert [(change.before.row, change.after.row) for change in compared(one, three)[0]] == [
        (1, 1),
        (2, 3),
        (4, 4),
    ]


def test_equal_rows_with_ids_are_paired_by_those(tmp_path: Path) -> None:
    one = made(tmp_path / "one", named(first="<a>", second="<a>"))
    two = made(tmp_path / "two", named(second="<a>", first="<a>"), "<a>")
    assert [(change.before.id, change.after.id) for change in compared(one, two)[0]] == [
        ("first", "first"),
        ("second", "second"),
    ]


YES_NO = [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)]


def test_two_criteria_of_one_judge_are_two_judgments(tmp_path: Path) -> None:
    """The second run asks them the other way round, and one of them says otherwise."""
    short, true = Criteria("short", "Is it short?", YES_NO), Criteria("true", "Is it true?", YES_NO)

    def says(otherwise: bool) -> Callable[[Request], str]:
        return lambda request: json.dumps(
            {"selected_option": "No" if otherwise and "true" in request.prompt.text else "Yes"}
        )

    for folder, order, otherwise in (("one", [short, true], False), ("two", [true, short], True)):
        DirectJudge(ScriptedModel(says(otherwise))).evaluate_multi_criteria(
            ["a", "b"], order, run=tmp_path / folder
        )
    changes, alone, other = compared(tmp_path / "one", tmp_path / "two")
    assert Counter(change.before.criteria for change in changes) == {"true": 2}
    assert all(change.before.criteria == change.after.criteria for change in changes)
    assert (alone, other) == ([], [])


def test_other_criteria_are_not_compared(tmp_path: Path) -> None:
    for name in ("short", "true"):
        DirectJudge(ScriptedModel()).evaluate(
            ["a"], Criteria(name, f"Is it {name}?", YES_NO), run=tmp_path / name
        )
    changes, alone, other = compared(tmp_path / "short", tmp_path / "true")
    assert (changes, [row.criteria for row in (*alone, *other)]) == ([], ["short", "true"])


def test_a_judge_of_another_name_with_the_same_criteria_is_compared(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("answer\na\nb\n")
    options = [{"name": one.name, "score": one.score} for one in YES_NO]
    criteria = [{"name": "short", "description": "Is it short?", "options": options}]
    for label, says in (("old", "Yes"), ("new", "No")):
        judge = {"kind": "direct", "name": label, "criteria": criteria}
        wanted = {"data": "rows.csv", "models": [f"scripted/{says}"], "judges": [judge]}
        (tmp_path / f"{label}.yaml").write_text(json.dumps(wanted))
        file = load_eval(tmp_path / f"{label}.yaml")
        with execute(resolve(file, folder=tmp_path / label)) as events:
            list(events)
    changes, alone, other = compared(tmp_path / "old", tmp_path / "new")
    assert [
        (change.before.judge, change.after.judge, change.before.criteria) for change in changes
    ] == [("old", "new", "short")] * 2
    assert (alone, other) == ([], [])


def test_outcomes_without_a_score_differ_too(tmp_path: Path) -> None:
    bare = Criteria("register", "How formal?", [CriteriaOption("Formal"), CriteriaOption("Casual")])
    for folder, said in (
        ("one", ["Formal", "Formal", "Formal"]),
        ("two", ["Formal", "Casual", "neither"]),
    ):
        model = ScriptedModel([json.dumps({"selected_option": option}) for option in said])
        DirectJudge(model, max_repairs=0).evaluate(["a", "b", "c"], bare, run=tmp_path / folder)
        scripted = ScriptedModel([json.dumps({"selected_option": "A" if folder == "one" else "B"})])
        PairwiseJudge(scripted).evaluate([["a", "b"]], "Which?", run=tmp_path / f"pairs {folder}")
    changes, _, _ = compared(tmp_path / "one", tmp_path / "two")
    assert [
        (change.before.row, change.before.summary.chosen, change.after.summary[:3:2])
        for change in changes
    ] == [
        (2, "Formal", ("scored", "Casual")),
        (3, "Formal", ("failed", None)),
    ]
    (change,) = compared(tmp_path / "pairs one", tmp_path / "pairs two")[0]
    assert (change.before.summary.chosen, change.after.summary.chosen) == (0, 1)


@pytest.mark.parametrize(("winner", "moved"), [("new", []), ("old", [(0, 1), (0, 1)])])
def test_systems_that_are_compared_in_another_order_are_the_same_systems(
    tmp_path: Path, winner: str, moved: list[tuple[int, int]]
) -> None:
    texts = {"new": ["n1", "n2"], "old": ["o1", "o2"]}
    for order, won in ((("new", "old"), "new"), (("old", "new"), winner)):
        pairs = [[texts[name][row] for name in order] for row in range(2)]
        instances = [
            PairwiseInstance(responses=pair, metadata={"systems": order}) for pair in pairs
        ]
        model = ScriptedModel([json.dumps({"selected_option": "AB"[order.index(won)]})])
        PairwiseJudge(model).evaluate(instances, "Which?", run=tmp_path / order[0])
    changes, alone, others = compared(tmp_path / "new", tmp_path / "old")
    assert [
        (change.before.summary.chosen, change.after.summary.chosen) for change in changes
    ] == moved
    assert (alone, others) == ([], [])
    with run_diff(tmp_path / "new", tmp_path / "old") as found:
        (comparison,) = compare_runs(tmp_path / "new", tmp_path / "old", found)
    assert (comparison.first, comparison.second, comparison.other_texts) == (
        1.0,
        float(winner == "new"),
        0,
    )


def pairs_judged(
    folder: Path,
    systems: Sequence[Sequence[str]],
    won: str,
    kind: type[PairwiseJudge] = PairwiseJudge,
) -> Path:
    """A run of comparisons, a row for each of ``systems``, in which ``won`` wins wherever it is
    compared.
    """

    def script(request: Request) -> str:
        shown = request.prompt.messages[-1].content
        places = sorted(
            "AB",
            key=lambda place: (
                f"by {won}" not in shown.split(f'"Response {place}"')[1].split("</data")[0]
            ),
        )
        return json.dumps({"selected_option": places[0]})

    instances = [
        PairwiseInstance(
            responses=[f"{row} by {one}" for one in own], metadata={"systems": own}, id=f"q{row}"
        )
        for row, own in enumerate(systems)
    ]
    kind(ScriptedModel(script), check_positional_bias=True).evaluate(
        instances, "Which?", run=folder
    )
    return folder


def win_rates(one: Path, two: Path) -> tuple[str, float | None, float | None]:
    with run_diff(one, two) as found:
        (comparison,) = compare_runs(one, two, found)
    return comparison.system, comparison.first, comparison.second


def test_a_win_rate_says_whose_it_is_and_stays_with_its_system_in_a_judge_of_another_name(
    tmp_path: Path,
) -> None:
    """Behind another name the sides were taken as they stood: a system that won every time had lost
    every time.
    """

    class Renamed(PairwiseJudge):
        pass

    one = pairs_judged(tmp_path / "one", [("old", "new")] * 9, "old")
    two = pairs_judged(tmp_path / "two", [("new", "old")] * 9, "old", Renamed)
    assert win_rates(one, two) == ("old", 1.0, 1.0)


@pytest.mark.parametrize(
    ("systems", "why"),
    [
        ([("x", "y")] * 9, "a different system comes first in each run"),
        ([("old", "weak")] * 9, "the opponent of old changed (new before, weak now)"),
        ([("weak", "old")] * 9, "a win rate depends on the opponent"),
        (
            [("old", "new"), ("new", "x"), ("x", "old")] * 3,
            "3 systems are compared, but a win rate is for two",
        ),
    ],
)
def test_win_rates_of_other_systems_are_not_compared(
    tmp_path: Path, systems: list[tuple[str, str]], why: str
) -> None:
    one, two = (
        pairs_judged(tmp_path / "one", [("old", "new")] * 9, "old"),
        pairs_judged(tmp_path / "two", systems, "x"),
    )
    with run_diff(one, two) as found:
        (comparison,) = compare_runs(one, two, found)
    assert (comparison.outcome.value, comparison.shown.lower) == ("cannot tell", None)
    assert not comparison.is_comparable
    assert why in comparison.difference.estimate.reason


def test_runs_of_the_rag_evaluator_in_two_languages_are_joined(tmp_path: Path) -> None:
    for folder, language, clarity in (("one", "en", 4), ("two", "ru", 2)):
        RagEvaluator(gives(clarity=clarity), language=language).evaluate(
            [{**ROW, "id": "r1"}], run=tmp_path / folder
        )
    (change,) = compared(tmp_path / "one", tmp_path / "two")[0]
    assert (change.before.id, change.before.summary.score, change.same_content) == ("r1", 1.0, True)


@given(
    st.lists(st.sampled_from("abcdefg"), max_size=12),
    st.lists(st.sampled_from("abcdefg"), max_size=12),
    st.integers(0, 99),
)
def test_every_row_is_in_one_pair_or_alone(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], second: list[str], seed: int
) -> None:
    """However rows are shuffled: nothing is lost, a text of its own is compared with itself, and as
    many rows are all paired.
    """
    folder, choice = tmp_path_factory.mktemp("runs"), random.Random(seed)
    failing = {text for text in "abcdefg" if choice.random() < 0.5}
    first, second = first or ["z"], second or ["z"]
    made(folder / "one", [f"<{text}>" for text in first])
    made(folder / "two", [f"<{text}>" for text in second], *(f"<{text}>" for text in failing))
    with run_diff(folder / "one", folder / "two") as found:
        pairs = [(pair.before.row, pair.after.row) for pair in found.pairs(found.lines()[0])]
        alone, other = rows(list(found.only_in(0))), rows(list(found.only_in(1)))
    assert sorted([*(one for one, _ in pairs), *alone]) == [*range(1, len(first) + 1)]
    assert sorted([*(two for _, two in pairs), *other]) == [*range(1, len(second) + 1)]
    for text in {text for text in first if first.count(text) == second.count(text) == 1}:
        assert (first.index(text) + 1, second.index(text) + 1) in pairs
    assert len(first) != len(second) or not alone + other


def written(folder: Path, rows: int) -> Path:
    """A run of many rows, as a judge would have left it."""
    options: JsonValue = [{"name": "Y", "score": 1.0}, {"name": "N", "score": 0.0}]
    criteria: JsonValue = {"name": "c", "description": "?", "options": options}
    judge: JsonValue = {
        "judge": "DirectJudge",
        "settings": {},
        "models": {},
        "criteria": [criteria],
        "templates": {},
    }
    asked = Criteria(
        "c", "Is it so?", [CriteriaOption("Y", score=1.0), CriteriaOption("N", score=0.0)]
    )
    folder.mkdir()
    with connect(folder / FILE) as ledger:
        make_tables(ledger, folder / FILE)
        write_meta(ledger, {"configuration": {"judges": {"c": judge}}, "ended": "complete"})
        ledger.execute("BEGIN")
        for row in range(rows):
            instance, passes = Instance({"response": f"answer {row}"}, f"r{row}"), row % 3 > 0
            result = DirectInstanceResult(
                instance=instance, criteria=asked, option="NY"[passes], score=float(passes)
            )
            ledger.execute(insert("judgments"), judgment_row(result.record("c", row), b""))
        ledger.execute("COMMIT")
    return folder


def test_memory_does_not_grow_with_the_rows_that_are_compared(tmp_path: Path) -> None:
    """Every row of both runs was held, with its texts' hashes: half a gigabyte of a million."""
    most = []
    for rows_of in (2500, 5000):  # the votes of the first 2,000 rows are found by their places
        run = written(tmp_path / str(rows_of), rows_of)
        with run_diff(run, run) as found:
            tracemalloc.start()
            (comparison,) = compare_runs(run, run, found, ComparisonSettings(noise=False))
            most.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert comparison.rows == rows_of
    assert most[1] < 1.5 * most[0]


# -- the command --------------------------------------------------------------


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    def run(*words: object) -> str:
        monkeypatch.setattr(sys, "argv", ["adjudge", "runs", "diff", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert ended.value.code == 0, said.err
        return said.out

    return run


def test_the_command_says_what_changed_and_what_only_one_has(
    tmp_path: Path, command: Callable[..., str]
) -> None:
    one = made(tmp_path / "one", named(r1="<a>", r2="b", r3="c"))
    two = made(tmp_path / "two", named(r0="x", r1="<a>", r2="bad"), "<a>", "bad")
    said = command(one, two).splitlines()
    assert said == [
        "AspectCritic, aspect, row 1 (r1) → 2: 1.000 (PASS) → 0.000 (FAIL)",
        "AspectCritic, aspect, row 2 (r2) → 3, another text: 1.000 (PASS) → 0.000 (FAIL)",
        f"only in {one}: AspectCritic, aspect, row 3 (r3): 1.000 (PASS)",
        f"only in {two}: AspectCritic, aspect, row 1 (r0): 1.000 (PASS)",
        f"0 settings and 2 judgments differ, of 2 in both runs; 1 only in {one}, 1 only in {two}",
        "AspectCritic: aspect: cannot tell: mean 1.000 → 0.000 on 2 rows",
        "  2 of 3 rows paired, by id; 1 before and 1 now have no counterpart",
        "  2 independent rows; a comparison needs at least 8",
    ]


def test_json_holds_the_same(tmp_path: Path, command: Callable[..., str]) -> None:
    one, two = (
        made(tmp_path / "one", named(r1="<a>", r3="c")),
        made(tmp_path / "two", named(r0="x", r1="<a>"), "<a>"),
    )
    told = json.loads(command(one, two, "--json"))
    assert (told["schema"], told["kind"], told["settings"]) == ("adjudge.results/1", "diff", [])
    assert told["summary"] == {"compared": 1, "changed": 1, "only_in_one": 1, "only_in_two": 1}
    (change,) = told["results"]
    assert change["before"] == {
        "judge": "AspectCritic",
        "criteria": "aspect",
        "row": 1,
        "id": "r1",
        "status": "scored",
        "score": 1.0,
        "chosen": "PASS",
    }
    assert (change["after"]["row"], change["after"]["chosen"], change["same_content"]) == (
        2,
        "FAIL",
        True,
    )
    assert (
        [row["id"] for row in told["only_in_one"]],
        [row["id"] for row in told["only_in_two"]],
    ) == (["r3"], ["r0"])


def test_json_of_runs_that_do_not_differ_is_json(
    tmp_path: Path, command: Callable[..., str]
) -> None:
    one = made(tmp_path / "one", ["a"])
    told = json.loads(command(one, one, "--json"))
    assert (told["results"], told["only_in_one"], told["only_in_two"]) == ([], [], [])


def test_a_terminal_shows_a_hundred_rows_of_a_kind_and_all_on_request(
    tmp_path: Path, command: Callable[..., str]
) -> None:
    one, two = (
        made(tmp_path / "one", [f"a{number}" for number in range(130)]),
        made(tmp_path / "two", ["x"]),
    )
    said = command(one, two)
    assert said.count(f"only in {one}: ") == 100
    assert "… and 30 more: --all shows them" in said
    assert command(one, two, "--all").count(f"only in {one}: ") == 130


def test_a_folder_without_a_run_is_said(tmp_path: Path) -> None:
    one = made(tmp_path / "one", ["a"])
    with pytest.raises(RunError, match="is not a run folder"), run_diff(one, tmp_path / "nowhere"):
        pass
