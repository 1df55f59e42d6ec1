"""Eval files made into instances and judges that run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.aio.event_loop import run
from adjudge.core.data.dataset import OddRows
from adjudge.core.domain.instance import Instance, PairwiseInstance
from adjudge.core.gateway.opener import OpenModel, open_model
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.core.judges.aspect import AspectCritic
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.pairwise import PairwiseJudge
from adjudge.errors import RunError, SetupError
from adjudge.runs.builder import open_entry
from adjudge.runs.eval_file import EvalFile, load_eval, parse_eval
from adjudge.runs.plan import resolve
from adjudge.runs.project import ModelEntry
from adjudge.runs.row_reader import RowReader

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "eval.yaml"
OWN = (
    "name: kindness\ndescription: Is it kind?\noptions: [{name: Kind, score: 1}, {name: Unkind, "
    "score: 0}]\n"
)


@pytest.fixture
def make(tmp_path: Path) -> Any:
    (tmp_path / "rows.csv").write_text("id,question,answer\n1,q,one\n2,q,two\n")
    (tmp_path / "own.yaml").write_text(OWN)

    def make_(judges: str, more: str = "") -> EvalFile:
        return parse_eval(
            f"data: rows.csv\nmodels: scripted\n{more}\njudges:\n{judges}", tmp_path / "eval.yaml"
        )

    return make_


def judged(file: EvalFile) -> dict[str, list[object]]:
    """Every judge's scores, asked the way a run does."""
    rows = list(RowReader(file).read(print))
    return {
        ready.name: [
            result.score
            for result in run(
                ready.judge.judge_items([item for row in rows for item in ready.items(row)])
            )
        ]
        for ready in resolve(file).judges
    }


def test_the_example_runs_on_the_scripted_model() -> None:
    file = replace(load_eval(EXAMPLE), models=(ModelEntry(model="scripted"),))
    assert {name: len(scores) for name, scores in judged(file).items()} == {
        "dates": 12,
        "quality": 24,
    }


def test_an_aspect_is_made_of_a_text_a_name_or_written_out(make: Callable[..., Any]) -> None:
    file = make(
        "  - {kind: aspect, criteria: [It is short., harmlessness, {name: n, description: "
        "It is new.}],"
        " strictness: 3, min_valid: 2}"
    )
    made: list[Any] = list(resolve(file).judges)
    assert [(ready.name, ready.judge.definition) for ready in made] == [
        ("It is short.", "It is short."),
        ("harmlessness", AspectCritic.harmlessness(ScriptedModel()).definition),
        ("n", "It is new."),
    ]
    assert all(
        isinstance(ready.judge, AspectCritic) and ready.judge.strictness == 3 for ready in made
    )
    assert made[0].judge.min_valid == 2
    assert judged(file)["n"] == [1.0, 1.0]


def test_a_name_is_put_before_those_of_several_aspects(make: Callable[..., Any]) -> None:
    assert [
        one.name
        for one in resolve(
            make("  - {kind: aspect, name: mine, criteria: [It is short., coherence]}")
        ).judges
    ] == [
        "mine: It is short.",
        "mine: coherence",
    ]
    ready: Any
    (ready,) = resolve(
        make("  - {kind: aspect, name: mine, criteria: It is short., fail_under: 0.5}")
    ).judges
    assert (ready.name, ready.judge.name, ready.fail_under) == ("mine", "mine", 0.5)


def test_a_direct_judge_judges_its_criteria_one_by_one(make: Callable[..., Any]) -> None:
    file = make(
        "  - kind: direct\n    criteria: [conciseness, own.yaml, 'Is it true?']\n    "
        "strictness: 2\n"
        "    check_positional_bias: true\n    feedback: true\n    temperature: 0.5\n    "
        "seed: 7\n    on_failure: raise"
    )
    (ready,) = resolve(file).judges
    judge = ready.judge
    assert isinstance(judge, DirectJudge)
    assert (judge.samples, judge.check_positional_bias, judge.generate_feedback) == (2, True, True)
    assert (judge.temperature, judge.seed, judge.on_failure) == (0.5, 7, "raise")
    assert ready.name == "conciseness, kindness, Is it true?"
    items = ready.items(Instance({"response": "x"}))
    assert [item.criteria.name for item in items] == ["conciseness", "kindness", "Is it true?"]
    assert len(judge.plan(items[0], [])) == 4


@pytest.mark.parametrize(
    ("said", "both"),
    [
        ("", True),
        ("order: both", True),
        ("order: one", False),
        ("check_positional_bias: true", True),
    ],
)
def test_comparisons_are_asked_in_both_orders_unless_one_is_asked_for(
    make: Callable[..., Any], said: str, both: bool
) -> None:
    (ready,) = resolve(
        make(f"  - kind: pairwise\n    criteria: Which is kinder?\n    {said}")
    ).judges
    (case,) = ready.items(Instance({"response": ["x", "y"]}))
    assert isinstance(ready.judge, PairwiseJudge)
    assert (ready.judge.check_positional_bias, len(ready.judge.plan(case, []))) == (
        both,
        2 if both else 1,
    )


def test_both_orders_and_one_at_once_are_refused(make: Callable[..., Any]) -> None:
    entry = (
        "  - kind: pairwise\n    criteria: Which is kinder?\n    order: one\n    "
        "check_positional_bias: true"
    )
    with pytest.raises(SetupError, match="contradict each other"):
        resolve(make(entry))


def test_a_pairwise_judge_compares(make: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("question,one,two\nq,x,y\n")
    file = parse_eval(
        "data: {path: rows.csv, responses: [one, two], columns: {user_input: "
        "question}}\nmodels: scripted\n"
        "judges: [{kind: pairwise, criteria: ['Which is kinder?', pairwise_helpfulness], "
        "contests: pairs, tie_enabled: false}]",
        tmp_path / "eval.yaml",
    )
    (row,) = RowReader(file).read(print)
    assert isinstance(row, PairwiseInstance)
    assert row.fields == {"user_input": "q", "response": ("x", "y")}
    (ready,) = resolve(file).judges
    assert isinstance(ready.judge, PairwiseJudge)
    assert (ready.judge.contests, ready.judge.tie_enabled) == ("pairs", False)
    assert [
        result.selected_option for result in run(ready.judge.judge_items(ready.items(row)))
    ] == [0, 0]


@pytest.mark.parametrize(
    "written",
    [
        "{name: kinder, description: The kinder one.}",
        "kinder.yaml",
        "[kinder.yaml, {name: other, description: The other.}]",
    ],
)
def test_pairwise_criteria_of_an_eval_file_need_no_options(written: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("one,two\nx,y\n")
    (tmp_path / "kinder.yaml").write_text("name: kinder\ndescription: Which is kinder?\n")
    text = (
        "data: {{path: rows.csv, responses: [one, two]}}\nmodels: scripted\njudges: [{{kind: "
        "{}, criteria: {}}}]"
    )
    (ready,) = resolve(parse_eval(text.format("pairwise", written), tmp_path / "eval.yaml")).judges
    assert ready.criteria[0].name == "kinder"
    with pytest.raises(SetupError, match="options: is missing"):
        resolve(parse_eval(text.format("direct", written), tmp_path / "eval.yaml"))


def test_equal_models_are_opened_once_and_a_judge_may_have_its_own(
    make: Callable[..., Any],
) -> None:
    file = make(
        "  - {kind: aspect, criteria: It is short.}\n  - {kind: direct, criteria: "
        "conciseness, models: [scripted, scripted/x]}"
    )
    asked: list[str] = []

    def opened(entry: ModelEntry) -> OpenModel:
        asked.append(entry.model)
        return open_model(ScriptedModel(name=entry.model))

    first, second = resolve(file, opened=opened).judges
    assert asked == ["scripted", "scripted/x"]
    assert first.judge.panel["scripted"] is second.judge.panel["scripted"]
    assert list(second.judge.panel) == ["scripted", "scripted/x"]


def test_a_model_is_opened_as_its_entry_says() -> None:
    model = open_entry(ModelEntry(model="scripted", temperature=0.3, seed=5, max_concurrency=2))
    assert isinstance(model, OpenModel)
    assert (model.temperature, model.seed, model.max_concurrency) == (0.3, 5, 2)


def test_rag_is_handed_to_the_rag_evaluator(make: Callable[..., Any]) -> None:
    evaluator = pytest.importorskip(
        "adjudge.features.rag.judge", reason="the RAG evaluator is not there yet"
    )
    file = make("  - {kind: rag, dimensions: [clarity], strictness: 2}")
    (ready,) = resolve(file).judges
    assert isinstance(ready.judge, evaluator.RagEvaluator)
    assert RowReader(file).fields.needed == ("response", "user_input")
    assert len(ready.judge.plan(ready.items(next(RowReader(file).read(print)))[0], [])) == 2


def test_what_the_criteria_read_is_needed(make: Callable[..., Any]) -> None:
    file = make(
        "  - {kind: direct, criteria: groundedness}\n  - {kind: aspect, criteria: It is short.}"
    )
    assert RowReader(file).fields.needed == ("response", "contexts")
    with pytest.raises(RunError, match="has no contexts column"):
        list(RowReader(file).read(print))


def test_bad_rows_are_told_or_stop_as_the_file_says(
    make: Callable[..., Any], tmp_path: Path
) -> None:
    aspect = "  - {kind: aspect, criteria: It is short.}"
    told: list[OddRows] = []
    file = make(aspect)
    (tmp_path / "rows.csv").write_text("id,answer\n1,one\n2\n3,three\n")
    assert [row.id for row in RowReader(file).read(told.append)] == ["1", "3"]
    assert len(told) == 1
    with pytest.raises(RunError, match=r"rows\.csv, line 3"):
        list(RowReader(make(aspect, "on_bad_row: stop")).read(told.append))
    assert [row.id for row in RowReader(file).read(told.append, limit=1)] == ["1"]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (
            "  - {kind: aspect, criteria: harmlesness}",
            r"eval\.yaml, line 5, judges\[1\]\.criteria: there is no ready-made aspect named",
        ),
        (
            "  - {kind: direct, criteria: conciseness2}",
            r"line 5, judges\[1\]\.criteria: .*did you mean conciseness",
        ),
        (
            "  - {kind: direct, criteria: [none.yaml]}",
            r"line 5, judges\[1\]\.criteria\[1\]: .*none\.yaml cannot be read",
        ),
        (
            "  - {kind: direct, criteria: pairwise_helpfulness}",
            "is for pairwise judges, but this judge is direct",
        ),
        (
            "  - {kind: pairwise, criteria: own.yaml}",
            "'kindness' is for direct judges, but this judge is pairwise",
        ),
        ("  - {kind: direct, criteria: [own.yaml, own.yaml]}", "'kindness' appears twice here"),
        (
            "\n  - {kind: aspect, criteria: It is short., min_valid: 3}",
            r"line 6: min_valid=3 can never be reached with votes=1",
        ),
        (
            "  - {kind: aspect, criteria: It is short., models: nomodel}",
            r"eval\.yaml, line 5: .*nomodel",
        ),
        (
            "  - {kind: aspect, criteria: It is.}\n  - {kind: aspect, criteria: It is.}",
            "2 judges are named 'It is.': give each a different name",
        ),
        (
            "  - {kind: aspect, criteria: It is.}\n  - {kind: pairwise, criteria: It is.}",
            "line 6: a pairwise judge compares several",
        ),
    ],
)
def test_what_cannot_be_made_is_told_with_its_line(
    make: Callable[..., Any], said: str, error: str
) -> None:
    with pytest.raises(SetupError, match=error):
        resolve(make(said))
