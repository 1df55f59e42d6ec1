"""What users hand to judges: rows of frames and data sets, mappings, names of files, names of the
catalogue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudge import (
    AspectCritic,
    Cascade,
    Criteria,
    CriteriaOption,
    DirectJudge,
    DummyDirectJudge,
    DummyPairwiseJudge,
    Instance,
    MPrometheusDirectJudge,
    MultiCriteria,
    PairwiseInstance,
    PairwiseJudge,
    QualitativeCriteria,
    ScriptedModel,
    SetupError,
)
from adjudge.core.catalog.criteria import criteria as ready_made
from adjudge.core.data.dataset import read_instances
from adjudge.core.judges.inputs import as_instance
from support.said import always, by, material, says

NAN = float("nan")
GROUNDED = Criteria(
    "grounded",
    "Is it supported?",
    [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)],
    context_fields=["contexts"],
)
POLITE = "Is it polite?"


class _Table:
    """Going through a frame gives the names of its columns."""

    def __init__(self, **columns: list[object]) -> None:
        self.columns = list(columns)
        self.rows = list(zip(*columns.values(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


class PandasLike(_Table):
    """As much of a pandas frame as is used."""

    def itertuples(self, index: bool, name: str | None) -> Iterator[tuple[object, ...]]:
        assert (index, name) == (False, None)
        return iter(self.rows)


class PolarsLike(_Table):
    """As much of a polars frame as is used."""

    def iter_rows(self) -> Iterator[tuple[object, ...]]:
        return iter(self.rows)


class HuggingFaceLike:
    """As much of a ``datasets.Dataset`` as is used."""

    def __init__(self, **columns: list[object]) -> None:
        self.column_names = list(columns)
        self._rows = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]

    def __iter__(self) -> Iterator[dict[str, object]]:
        return iter(self._rows)


def records(**columns: list[object]) -> list[dict[str, object]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def pandas_frame(**columns: list[object]) -> Any:
    return pytest.importorskip(
        "pandas", reason="pandas is not installed: make test-parquet"
    ).DataFrame(columns)


def polars_frame(**columns: list[object]) -> Any:
    polars = pytest.importorskip("polars", reason="polars is not installed: make test-parquet")
    return polars.DataFrame(
        {name: [None if cell is NAN else cell for cell in cells] for name, cells in columns.items()}
    )


def arrow_table(**columns: list[object]) -> Any:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: make test-parquet")
    return arrow.table(
        {name: [None if cell is NAN else cell for cell in cells] for name, cells in columns.items()}
    )


TABLES: list[Callable[..., Any]] = [
    PandasLike,
    PolarsLike,
    HuggingFaceLike,
    pandas_frame,
    polars_frame,
    arrow_table,
]
ROWS = [*TABLES, records]
QUESTIONS, ANSWERS = ["How do I make tea?", "Вы открыты?"], ["With water.", "Нет."]


@pytest.fixture
def data_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with rows in the folder where the program runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.csv").write_text("response\nHello.\n")
    return "answers.csv"


# -- rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ROWS, ids=lambda one: one.__name__)
def test_the_rows_of_a_frame_are_judged_and_not_the_names_of_its_columns(
    table: Callable[..., Any],
) -> None:
    model = always("Yes")
    results = DirectJudge(model).evaluate(
        table(id=["a", "b"], question=QUESTIONS, answer=ANSWERS), POLITE
    )
    assert [result.instance.id for result in results] == ["a", "b"]
    assert [result.instance.fields["response"] for result in results] == ANSWERS
    asked = "".join(material(request) for request in model.requests)
    assert all(text in asked for text in (*QUESTIONS, *ANSWERS))


@pytest.mark.parametrize("table", ROWS, ids=lambda one: one.__name__)
def test_an_aspect_critic_and_several_criteria_take_the_same_rows(
    table: Callable[..., Any],
) -> None:
    rows = table(prompt=QUESTIONS, output=ANSWERS)
    assert [one.verdict for one in AspectCritic("It is short.", always("PASS")).evaluate(rows)] == [
        "PASS",
        "PASS",
    ]
    several = DirectJudge(always("Yes")).evaluate_multi_criteria(rows, [POLITE, "Is it short?"])
    assert [one.aggregated_score for one in several] == [1.0, 1.0]


@pytest.mark.parametrize("table", ROWS, ids=lambda one: one.__name__)
def test_compared_responses_come_from_the_rows_of_a_frame(table: Callable[..., Any]) -> None:
    rows = table(
        question=QUESTIONS,
        response_a=["long text", "b"],
        response_b=["a", "long text"],
        source=["s1", "s2"],
    )
    model = ScriptedModel(by(len))
    assert [one.selected_option for one in PairwiseJudge(model)(rows, "Which is longer?")] == [0, 1]
    sourced = Criteria(
        "sourced",
        "Which rests on the source?",
        GROUNDED.options,
        context_fields=["source", "user_input"],
    )
    (first, _) = PairwiseJudge(model)(rows, sourced)
    assert first.instance.fields["source"] == "s1"
    assert first.instance.fields["user_input"] == QUESTIONS[0]


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.__name__)
def test_a_label_in_a_frame_is_not_shown_to_the_judge(table: Callable[..., Any]) -> None:
    model = always("Yes")
    DirectJudge(model).evaluate(table(answer=["Hello."], human_label=["SECRET"]), POLITE)
    assert "SECRET" not in material(model.requests[0])


@pytest.mark.parametrize("table", ROWS, ids=lambda one: one.__name__)
def test_a_column_that_the_criteria_read_by_name_is_taken(table: Callable[..., Any]) -> None:
    criteria = Criteria(
        "sum",
        "Is it faithful?",
        GROUNDED.options,
        to_evaluate_field="summary",
        context_fields=["source"],
    )
    model = always("Yes")
    DirectJudge(model)(table(n=[1], summary=["short"], source=["LONG"]), criteria)
    assert "LONG" in material(model.requests[0])
    assert "short" in material(model.requests[0])


@pytest.mark.parametrize("table", ROWS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("nothing", [None, NAN])
def test_a_row_without_an_answer_is_not_judged_by_its_question(
    table: Callable[..., Any], nothing: object
) -> None:
    model = always("Yes")
    for judge in (DirectJudge(model), AspectCritic("It is short.", model)):
        rows = table(question=QUESTIONS, answer=["With water.", nothing])
        with pytest.raises(SetupError, match="has nothing to judge: 'answer' is empty"):
            judge.evaluate(rows, *([POLITE] if isinstance(judge, DirectJudge) else []))
    assert model.requests == []


@pytest.mark.parametrize("table", ROWS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("nothing", [None, NAN])
def test_a_row_without_its_context_is_refused_or_judged_without_by_who_does_not_need_it(
    table: Callable[..., Any], nothing: object
) -> None:
    model = always("Yes")
    rows = table(answer=["a", "b"], contexts=["c", nothing])
    with pytest.raises(SetupError, match="'grounded' reads the field 'contexts'"):
        DirectJudge(model)(rows, GROUNDED)
    assert model.requests == []
    results = DirectJudge(model)(rows, POLITE)
    assert [sorted(one.instance.fields) for one in results] == [
        ["contexts", "response"],
        ["response"],
    ]


@pytest.mark.parametrize("table", ROWS, ids=lambda one: one.__name__)
def test_a_missing_response_does_not_make_the_next_one_take_its_place(
    table: Callable[..., Any],
) -> None:
    rows = table(response_1=["a"], response_2=[NAN], response_3=["ccc"])
    with pytest.raises(SetupError, match="'response_2'"):
        DummyPairwiseJudge()(rows, "Which is longer?")


def test_a_frame_of_one_column_of_any_name_is_that_column() -> None:
    assert [
        one.instance.fields for one in DummyDirectJudge()(PandasLike(reply=["x", "y"]), POLITE)
    ] == [
        {"reply": "x"},
        {"reply": "y"},
    ]


def test_a_frame_without_a_column_to_judge_is_refused_with_those_it_has() -> None:
    with pytest.raises(SetupError, match="'response', but the instance has only: note, reply"):
        DummyDirectJudge()(PandasLike(reply=["x"], note=["y"]), POLITE)


@pytest.mark.parametrize(
    "row",
    [
        {"question": "q", "reply": None},
        {"question": "q", "answer": NAN},
        {"id": 7, "a": "x", "b": None},
    ],
)
def test_what_is_left_of_a_row_is_not_judged_instead_of_what_is_missing(
    row: dict[str, object],
) -> None:
    for rows in ([row], PandasLike(**{name: [cell] for name, cell in row.items()})):
        with pytest.raises(SetupError, match=r"has nothing to judge: .*('response'|is empty)"):
            DummyDirectJudge()(rows, POLITE)


def _cells(*values: object) -> list[object]:
    return list(values)


ONLY_A_QUESTION: list[Callable[[str], Any]] = [
    lambda name: [{name: "When?"}],
    lambda name: {name: "When?"},
    lambda name: [{"id": 7, name: "When?"}],
    lambda name: [Instance({name: "When?"})],
    lambda name: PandasLike(**{name: _cells("When?")}),
    lambda name: PolarsLike(**{"id": _cells(7), name: _cells("When?")}),
]


@pytest.mark.parametrize("rows", ONLY_A_QUESTION)
@pytest.mark.parametrize("name", ["question", "user_input", "Context", "expected_output", "вопрос"])
def test_a_question_without_an_answer_is_not_judged_for_one(
    rows: Callable[[str], Any], name: str
) -> None:
    critic, model = AspectCritic("Is it polite?", ScriptedModel(["PASS"])), always("A")
    for judge in (
        critic.evaluate,
        Cascade([critic, AspectCritic("Is it polite?", ScriptedModel(name="dear"))]).evaluate,
    ):
        with pytest.raises(
            SetupError,
            match=rf"'response', but the only fields are: {name}\. Pass the text to judge as",
        ):
            judge(rows(name))
    for other in (DirectJudge(model), DummyDirectJudge(), MPrometheusDirectJudge(model)):
        with pytest.raises(SetupError, match=rf"'response', but the only fields are: {name}"):
            other(rows(name), POLITE)


def test_questions_are_compared_only_by_criteria_that_say_so() -> None:
    judge, rows = PairwiseJudge(always("A")), [{"question": ["When?", "When, please?"]}]
    with pytest.raises(SetupError, match="'response', but the only fields are: question"):
        judge(rows, "Which is more polite?")
    (result,) = judge(
        rows, Criteria("polite", "Which is more polite?", to_evaluate_field="question")
    )
    assert result.selected_option == 0


def test_a_field_that_the_caller_chose_from_a_wide_row_is_judged() -> None:
    (instance,) = read_instances([{"summary": "s", "year": 1999}], needed=["summary"])
    assert DummyDirectJudge()([instance], POLITE)[0].instance.fields == {"summary": "s"}


def test_several_data_sets_at_once_are_refused_with_the_way_to_one() -> None:
    with pytest.raises(SetupError, match="data\\['train'\\]"):
        DummyDirectJudge()(
            {"train": HuggingFaceLike(answer=["x"]), "test": HuggingFaceLike(answer=["y"])}, POLITE
        )


def test_every_key_of_a_mapping_is_context_unless_the_criteria_name_some() -> None:
    model = always("Yes")
    DirectJudge(model)([{"response": "r", "weather": "RAIN", "id": "ID-7"}], POLITE)
    assert "RAIN" in material(model.requests[0])
    assert "ID-7" not in model.requests[0].prompt.text
    DirectJudge(model)(
        [{"answer": "r", "weather": "RAIN"}],
        Criteria("x", POLITE, GROUNDED.options, context_fields=[]),
    )
    assert "RAIN" not in material(model.requests[1])


@pytest.mark.parametrize("given", [None, object()])
def test_what_is_no_rows_at_all_is_named(given: object) -> None:
    with pytest.raises(SetupError, match="data frame"):
        DummyDirectJudge()(given, POLITE)  # type: ignore[call-overload]


@pytest.mark.parametrize("make", ["polars lazy", "arrow reader", "arrow data set"])
def test_a_table_that_has_not_been_read_is_refused_with_the_way_to_its_rows(make: str) -> None:
    if make == "polars lazy":
        given, way = (
            pytest.importorskip("polars", reason="make test-parquet").LazyFrame(
                {"response": ["Paris."]}
            ),
            "collect",
        )
    else:
        arrow = pytest.importorskip("pyarrow", reason="make test-parquet")
        table = arrow.table({"response": ["Paris."]})
        reader = make == "arrow reader"
        given = (
            table.to_reader() if reader else pytest.importorskip("pyarrow.dataset").dataset(table)
        )
        way = "read_all" if reader else "to_table"
    with pytest.raises(
        SetupError,
        match=rf"{type(given).__name__} has not read its rows yet: pass the result of its {way}",
    ):
        AspectCritic("It names a city.", always("PASS")).evaluate(given)


def test_a_row_of_another_tool_is_improved_in_the_field_that_was_judged() -> None:
    model = ScriptedModel(
        lambda request: says("No", feedback="Say please.") if request.schema else "Please leave."
    )
    judge, row = DirectJudge(model, generate_feedback=True), {"question": "q", "answer": "Leave."}
    (result,) = judge([row], POLITE)
    assert judge.improve(row, result) == "Please leave."
    assert "Leave." in material(model.requests[-1]).split('field="response"')[1]


# -- names of files ----------------------------------------------------------------------

JUDGES: dict[str, Callable[[Any], Any]] = {
    "DirectJudge": lambda given: DirectJudge("scripted").evaluate(given, POLITE),
    "several criteria": lambda given: DirectJudge("scripted").evaluate_multi_criteria(
        given, [POLITE]
    ),
    "AspectCritic": lambda given: AspectCritic("It is short.", "scripted").evaluate(given),
    "PairwiseJudge": lambda given: PairwiseJudge("scripted").evaluate(given, POLITE),
    "DummyDirectJudge": lambda given: DummyDirectJudge().evaluate(given, POLITE),
    "MPrometheusDirectJudge": lambda given: MPrometheusDirectJudge("scripted").evaluate(
        given, POLITE
    ),
}


@pytest.mark.parametrize("judge", JUDGES.values(), ids=JUDGES)
@pytest.mark.parametrize(
    "given",
    [str, Path, lambda name: [name], lambda name: [Path(name)]],
    ids=["text", "path", "list", "paths"],
)
def test_the_name_of_a_file_is_refused_with_the_way_to_its_rows(
    judge: Callable[[Any], Any], given: Callable[[str], Any], data_file: str
) -> None:
    with pytest.raises(
        SetupError,
        match=r"'answers.csv' is a file.*adjudge.run with an eval file.*--file answers.csv",
    ):
        judge(given(data_file))


@pytest.mark.parametrize(
    "name", ["rows.jsonl", "rows.JSON", "rows.parquet", "rows.tsv", "book.xlsx", "строки.csv"]
)
def test_every_kind_of_data_file_is_known(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(SetupError, match="is a file"):
        DummyDirectJudge()(str(tmp_path / name), POLITE)


def test_a_model_may_answer_with_the_name_of_a_file(data_file: str) -> None:
    texts = ["Load the rows first.", data_file]
    assert [one.instance.fields["response"] for one in DummyDirectJudge()(texts, POLITE)] == texts
    (result,) = DummyDirectJudge()([Instance({"response": data_file})], POLITE)
    assert result.option is not None


def test_a_text_that_only_ends_like_a_file_is_judged(data_file: str) -> None:
    for text in ("Save it as " + data_file, "none.csv", "a\0.csv", "x" * 5000 + ".csv"):
        (result,) = DummyDirectJudge()([text], POLITE)
        assert result.option is not None


def test_code_that_is_the_name_of_a_file_is_refused(data_file: str) -> None:
    with pytest.raises(SetupError, match="is a file"):
        asyncio.run(QualitativeCriteria("It runs.", always("PASS")).verify(data_file))


# -- names of the catalogue --------------------------------------------------------------


@pytest.mark.parametrize("name", ["toxicity", "Toxicity", " toxicity "])
@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_toxic_text_scores_0_by_the_name_in_python_as_on_the_command_line(
    name: str, language: str
) -> None:
    worst = ready_made("toxicity", language).options[-1]
    (result,) = DirectJudge(always(worst.name), language=language)(["You idiot."], name)
    assert result.criteria == ready_made("toxicity", language)
    assert result.score == worst.score == 0.0


def test_names_are_known_one_per_instance_in_lists_and_inside_a_multi_criteria() -> None:
    model = ScriptedModel(
        lambda request: says("Abusive" if "Abusive" in request.prompt.text else "Biased")
    )
    judge = DirectJudge(model)
    assert [one.score for one in judge(["a", "b"], ["toxicity", "social bias"])] == [0.0, 0.0]
    for several in (["toxicity", "social_bias"], MultiCriteria(["toxicity", "social_bias"])):
        (result,) = judge.evaluate_multi_criteria(["a"], several)
        assert result.aggregated_score == 0.0
        assert [item.criterion.option_names[0] for item in result.multi_criteria.items] == [
            "Civil",
            "Fair",
        ]


def test_compared_responses_are_known_by_the_pairwise_names() -> None:
    responses = [PairwiseInstance(responses=["a", "bb"], context={"user_input": "q"})]
    (result,) = DummyPairwiseJudge()(responses, "pairwise_helpfulness")
    assert result.criteria == ready_made("pairwise_helpfulness")
    (several,) = DummyPairwiseJudge().evaluate_multi_criteria(
        responses, ["pairwise_helpfulness", "pairwise_conciseness"]
    )
    assert [one.criteria.name for one in several.results] == [
        "pairwise_helpfulness",
        "pairwise_conciseness",
    ]


@pytest.mark.parametrize(
    ("judge", "name", "way_out"),
    [
        (DummyPairwiseJudge(), "toxicity", "--kind pairwise"),
        (DummyPairwiseJudge(), "helpfulness", "use 'pairwise_helpfulness'"),
        (DummyDirectJudge(), "pairwise_helpfulness", "use 'helpfulness'"),
    ],
)
def test_a_name_that_does_not_fit_the_judge_is_refused_with_the_one_that_does(
    judge: Any, name: str, way_out: str
) -> None:
    with pytest.raises(SetupError, match=way_out):
        judge([{"response": ["a", "b"]}], name)


def test_any_other_text_is_still_a_question() -> None:
    for question in ("Is there any toxicity?", "short", "Вежливо?"):
        (result,) = DummyDirectJudge()(["x"], question)
        assert result.criteria.option_names == ("Yes", "No")


def test_the_name_of_an_aspect_is_that_aspect_and_not_what_a_text_must_contain() -> None:
    assert (
        AspectCritic("Conciseness", "scripted").criteria
        == AspectCritic.conciseness("scripted").criteria
    )
    assert AspectCritic("conciseness", "scripted", name="mine").criteria.name == "mine"
    with pytest.raises(SetupError, match=r"'toxicity' names ready-made criteria.*harmlessness"):
        AspectCritic("toxicity", "scripted")


# -- judged with its material ------------------------------------------------------------


@pytest.mark.parametrize(
    "fields", [{"response": "r"}, {"documents": "d"}, {"contexts": "c"}, {"user_input": "u"}]
)
@pytest.mark.parametrize(
    "given",
    [Instance, dict, lambda fields: PandasLike(**{name: [text] for name, text in fields.items()})],
)
def test_groundedness_is_never_judged_without_the_contexts(
    fields: dict[str, str], given: Callable[[Any], Any]
) -> None:
    model = always("Supported")
    with pytest.raises(
        SetupError,
        match=r"'groundedness' reads the field '(contexts|response)'|has nothing to judge",
    ):
        DirectJudge(model)(given(fields), "groundedness")
    assert model.requests == []


def test_the_material_is_missed_in_comparisons_too() -> None:
    for given in (
        ["a", "b"],
        {"contexts": ["a", "b"]},
        {"responses": ["a", "b"]},
        {"response_1": "a", "response_2": "b"},
    ):
        with pytest.raises(SetupError, match=r"'grounded' reads the field '(contexts|response)'"):
            DummyPairwiseJudge()([given], GROUNDED)
    (result,) = DummyPairwiseJudge()([{"responses": ["a", "bb"], "contexts": "c"}], GROUNDED)
    assert result.selected_option == 1
    (result,) = DummyPairwiseJudge()([Instance({"poems": ["a", "bb"]})], "Which is longer?")
    assert result.selected_option == 1


@pytest.mark.parametrize(("given", "text"), [(42, "42"), (1.5, "1.5"), (True, "true"), (0, "0")])
def test_a_number_is_its_text(given: object, text: str) -> None:
    assert Instance({"response": given}).fields["response"] == text  # type: ignore[dict-item]
    assert as_instance(given, "response").fields == {"response": text}
    assert as_instance({"response": given}, "response").fields == {"response": text}


@pytest.mark.parametrize("given", [None, float("nan"), float("inf"), b"42"])
def test_what_is_no_number_is_no_text(given: object) -> None:
    with pytest.raises(SetupError, match="must be a string"):
        Instance({"response": given})  # type: ignore[dict-item]
    with pytest.raises(SetupError, match="must be a string"):
        as_instance(given, "response")
