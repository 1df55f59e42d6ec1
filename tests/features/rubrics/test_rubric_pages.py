"""Points as a checklist on the page of a row, and proposals that a person reviews."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from adjudge import RubricJudge
from adjudge.core.domain.json_types import JsonDict
from adjudge.features.rubrics.corrected import correct
from adjudge.features.rubrics.files import read_rubrics
from adjudge.features.rubrics.labels import read_labels
from adjudge.features.rubrics.proposal import RubricWriter
from adjudge.features.rubrics.report import RubricTally
from adjudge.features.rubrics.review import ReviewRow, read_reviews, write_reviews
from adjudge.features.rubrics.run_records import rubric_records
from adjudge.runs.folder import records_of
from support.commands import adjudge
from support.page import served

HOSTILE = "<script>alert(1)</script> names Paris."


def model(prompt: str) -> str:
    labels = re.findall(r"^(\d+[a-z]): ", prompt, re.MULTILINE)
    verdicts = ["met", "not met", "cannot tell"]
    return json.dumps(
        {
            "points": [
                {
                    "point": label,
                    "explanation": "because",
                    "quote": "Paris is the capital",
                    "verdict": verdicts[int(label[:-1]) - 1],
                }
                for label in labels
            ]
        }
    )


def test_a_row_shows_its_points_with_quotes(tmp_path: Path) -> None:
    row: JsonDict = {
        "id": "a",
        "response": "Paris is the capital.",
        "rubric": [HOSTILE, {"text": "\u202eInsults.", "points": -2}, "Is polite."],
    }
    RubricJudge(model).evaluate([row], run=tmp_path / "run")
    with served(tmp_path) as page:
        shown = page.get(f"{page.run('run')}/row/1").text
        assert '<ul class="points">' in shown
        assert "<script>alert(1)" not in shown
        assert '<mark dir="auto">Paris is the capital</mark>' in shown
        assert "⟨U+202E⟩Insults." in shown and "\u202e" not in shown
        assert "☑" in shown and "☐" in shown
        assert "-2" in shown
        report = adjudge("report", tmp_path / "run", "--to", "html", "-o", "-").stdout
        assert "⟨U+202E⟩Insults." in report and "\u202e" not in report
        data = page.data(f"{page.run('run')}/row/1")["chosen"]["rubric"]
        assert [point["answer"] for point in data["points"]] == ["met", "not met", None]
        assert (data["lower"], data["upper"]) == (0.5, 1.0)


def test_a_run_with_many_reasons_is_shown(tmp_path: Path) -> None:
    rows: list[JsonDict] = [
        {
            "id": str(n),
            "response": f"Answer {n}.",
            "rubric": ["A.", "B.", {"text": "Open.", "id": f"p{n}"}],
        }
        for n in range(12)
    ]
    RubricJudge(model).evaluate(rows, run=tmp_path / "run")
    with served(tmp_path) as page:
        groups = page.data(page.run("run"))["figures"]["failures"]
        # the template reads these of every group, also of the rest
        assert all({"reason", "again", "count", "query"} <= group.keys() for group in groups)
        assert len(groups) == 11
        assert "12 of 12 rows have no score" in page.get(page.run("run")).text
        (judged,) = page.data(f"{page.run('run')}/rubric")["scored"]
        assert judged["scores"][0]["cells"][2] == "0.333 – 0.667"
        assert "0.333 – 0.667" in page.get(f"{page.run('run')}/rubric?wait=1").text


def test_the_list_and_a_copy_show_the_range_of_a_mean(tmp_path: Path) -> None:
    rows: list[JsonDict] = [
        {"id": str(n), "response": "Paris.", "rubric": ["A.", "B.", "C."][: 2 + (n == 0)]}
        for n in range(4)
    ]
    RubricJudge(model).evaluate(rows, run=tmp_path / "runs" / "run")
    text = "0.458–0.542 (the 3 scored rows alone: 0.500)"
    with served(tmp_path / "runs") as page:
        assert text in page.get("/").text
        assert text in page.get(page.run("run")).text
        mean = page.data(page.run("run"))["figures"]["mean"]
        assert mean["between"] == [pytest.approx(11 / 24), pytest.approx(13 / 24)]
        assert "lower" not in mean
    adjudge("view", tmp_path / "runs", "--export", tmp_path / "copy")
    assert text in (tmp_path / "copy" / "index.html").read_text(encoding="utf-8")


def test_two_runs_and_labels_show_the_figures_of_the_commands(tmp_path: Path) -> None:
    rows: list[JsonDict] = [
        {
            "id": str(number),
            "user_input": f"Question {number}?",
            "response": "Paris is the capital.",
            "rubric": [HOSTILE, {"text": "Insults.", "points": -2, "category": "<b>tone"}],
        }
        for number in range(24)
    ]
    judge = RubricJudge(model)
    judge.evaluate(rows, run=tmp_path / "one")
    judge.evaluate(
        [{**row, "response": "Paris is the capital!"} for row in rows], run=tmp_path / "two"
    )
    labels = "".join(f"{number},{point},met\n" for number in range(24) for point in (1, 2))
    (tmp_path / "labels.csv").write_text(f"row,point,answer\n{labels}", encoding="utf-8")
    (tmp_path / "rows.csv").write_text("id,response\n1,x\n", encoding="utf-8")
    with served(tmp_path, home=tmp_path) as page:
        one, two = (page.run(name) for name in ("one", "two"))
        assert f"{one}/rubric" in page.get(one).text
        data = page.data(f"{one}/rubric?labels=labels.csv")
        assert data["files"] == ["labels.csv"]
        records = rubric_records(tmp_path / "one")
        correction = correct(records, read_labels(tmp_path / "labels.csv"))
        (judged,) = data["correction"]["judges"]
        assert [rate["corrected"] for rate in judged["rates"]] == [
            rate.value for rate in correction.rates
        ]
        assert judged["rates"][-1]["kind"] == "score"
        assert data["summary"]["findings"] == 2
        shown = page.get(f"{one}/rubric?labels=labels.csv&wait=1").text
        assert "<b>tone" not in shown and "<script>alert(1)" not in shown
        a, b = one.rsplit("/", 1)[1], two.rsplit("/", 1)[1]
        changes = page.data(f"/compare?a={a}&b={b}")["rubric"]
        titles = [change["title"] for change in changes["judges"][0]["changes"]]
        assert titles == ["mean score"]
        assert "<b>tone" not in page.get(f"/compare?a={a}&b={b}&wait=1").text
        assert page.get(f"{one}/rubric?labels=rows.csv").status == 400


POINTS: tuple[JsonDict, ...] = (
    {"id": "1", "text": "Names Paris.", "points": 5, "proposed": True},
    {"id": "2", "text": "Names a river.", "points": 2, "proposed": True},
    {"id": "3", "text": "Is rude.", "points": -3, "tags": ["tone"], "proposed": True},
)


def version_in(page_text: str) -> str:
    found = re.search(r'name="version" value="(\w+)"', page_text)
    assert found
    return found[1]


def test_a_person_accepts_edits_and_drops_points(tmp_path: Path) -> None:
    path = tmp_path / "q.rubrics.jsonl"
    write_reviews(path, [ReviewRow("7", HOSTILE, "Paris.", POINTS), ReviewRow("8", "?", "", ())])
    form = {
        "name": path.name,
        "row": "7",
        **{"do-0": "accept", "text-0": "Names Paris.", "points-0": "5", "category-0": ""},
        **{"do-1": "drop", "text-1": "Names a river.", "points-1": "2", "category-1": ""},
        **{"do-2": "leave", "text-2": "Is insulting.", "points-2": "-4", "category-2": "tone"},
    }
    with served(tmp_path, home=tmp_path) as page:
        listed = page.get("/rubrics").text
        assert path.name in listed
        shown = page.get(f"/rubrics-file?name={path.name}").text
        form["version"] = version_in(shown)
        assert "<script>alert(1)" not in shown
        assert shown.count("proposed by a model") == 3
        answer = page.post("/rubrics-file", **form)
        assert answer.status == 200
        assert page.post("/rubrics-file", **form).status == 400  # the file has changed
        wrong = {**form, "points-0": "nan", "row": "9"}
        assert page.post("/rubrics-file", **wrong).status == 400
    first, second = read_reviews(path)
    assert second.points == ()
    assert [(one["text"], one["points"], one.get("proposed")) for one in first.points] == [
        ("Names Paris.", 5, None),
        ("Is insulting.", -4, None),
    ]


def test_keeping_a_row_loses_nothing_that_was_not_decided(tmp_path: Path) -> None:
    path = tmp_path / "q.rubrics.jsonl"
    other_line = '{"row":"b", "rubric":[{"text":"X"}], "source":"\u2028mine"}'
    points: list[JsonDict] = [
        {"text": "One\nline more.", "tags": ["tone", "style"], "proposed": True},
        {"text": "Two.", "points": 0.1, "proposed": True},
        {"any_of": ["A.", "B."], "required": True},
    ]
    first_line = json.dumps({"source": "mine", "row": "a", "rubric": points})
    path.write_text(f"{first_line}\n{other_line}\n", encoding="utf-8")
    form = {
        "name": path.name,
        "row": "a",
        # a browser sends line ends as CR LF
        **{"do-0": "leave", "text-0": "One\r\nline more.", "points-0": "1", "category-0": "tone"},
        **{"do-1": "accept", "text-1": "Two.", "points-1": "0.1", "category-1": ""},
        **{"do-2": "accept", "text-2": "", "points-2": "1", "category-2": ""},
    }
    with served(tmp_path, home=tmp_path) as page:
        address = f"/rubrics-file?name={path.name}&row=a"
        seen = version_in(page.get(address).text)
        for empty in ("text-1", "points-1"):
            assert page.post("/rubrics-file", **{**form, empty: "", "version": seen}).status == 400
        assert page.post("/rubrics-file", **form, version=seen).status == 200
        # a second tab that still shows the row as it was
        stale = {**form, "text-1": "Three."}
        assert page.post("/rubrics-file", **stale, version=seen).status == 400
        now = version_in(page.get(address).text)
        assert page.post("/rubrics-file", **stale, version=now).status == 200
    text = path.read_text(encoding="utf-8")
    assert text.split("\n")[1] == other_line
    stored = json.loads(text.split("\n")[0])
    assert stored["source"] == "mine"
    unreviewed, edited, group = stored["rubric"]
    assert (unreviewed["tags"], unreviewed["proposed"]) == (["tone", "style"], True)
    assert (edited["text"], edited["points"], edited.get("proposed")) == ("Three.", 0.1, None)
    assert len(group["any_of"]) == 2
    assert len(read_rubrics(path).by_row) == 2


def test_a_read_only_page_keeps_nothing(tmp_path: Path) -> None:
    path = tmp_path / "q.rubrics.jsonl"
    write_reviews(path, [ReviewRow("7", "?", "", POINTS)])
    with served(tmp_path, read_only=True, home=tmp_path) as page:
        form = {"name": path.name, "row": "7", "do-0": "drop", "text-0": "x"}
        assert page.post("/rubrics-file", **form).status == 403
        assert "<button>Keep" not in page.get(f"/rubrics-file?name={path.name}").text
    assert read_reviews(path)[0].points == POINTS


def test_a_model_proposes_and_its_points_are_marked(tmp_path: Path) -> None:
    prompts: list[str] = []
    replies = iter(
        [
            "no",
            '{"rubric": [{"text": "Insults.", "points": -1}]}',
            '{"rubric": [{"text": "Names Paris.", "points": 5, "category": "accuracy"}]}',
        ]
    )

    def writer(prompt: str) -> str:
        prompts.append(prompt)
        return next(replies)

    (result,) = RubricWriter(writer).evaluate([{"user_input": "Capital?", "reference": "Paris"}])
    assert len(prompts) == 3
    assert "worth more than 0" in prompts[2]
    path = tmp_path / "q.rubrics.jsonl"
    write_reviews(path, [ReviewRow("7", "Capital?", "Paris", result.points)])
    rubric = read_rubrics(path).of("7")
    assert rubric is not None
    assert rubric.points[0].proposed
    tally = RubricTally()
    row = {"id": "7", "response": "Paris is the capital"}
    RubricJudge(model, path).evaluate([row], run=tmp_path / "run")
    for record in records_of(tmp_path / "run"):
        tally.add(record)
    summary = tally.summary()
    assert summary is not None
    assert str(summary.remarks[0]).startswith(f"{len(rubric.points)} of {len(rubric.points)} point")


def test_a_row_that_the_form_cannot_hold_is_not_offered(tmp_path: Path) -> None:
    points: tuple[JsonDict, ...] = tuple(
        {"id": str(n), "text": f"Point {n}.", "points": 1, "proposed": True} for n in range(125)
    )
    rows = [ReviewRow("long", "Why?", "", points), ReviewRow("short", "Why?", "", points[:124])]
    write_reviews(tmp_path / "a.rubrics.jsonl", rows)
    with served(tmp_path, home=tmp_path) as page:
        long, short = (
            page.get(f"/rubrics-file?name=a.rubrics.jsonl&row={row}").text
            for row in ("long", "short")
        )
    note = "This row is too large to be edited here (125 points). Edit its line in the file"
    assert note in long and "<button>Keep" not in long
    assert "too large" not in short and "<button>Keep" in short


def test_a_wrong_file_of_labels_is_named_without_its_folder(tmp_path: Path) -> None:
    row: JsonDict = {"id": "a", "response": "Paris.", "rubric": ["A."]}
    RubricJudge(model).evaluate([row], run=tmp_path / "run")
    (tmp_path / "labels.csv").write_text("row,point,answer\na,1,perhaps\n", encoding="utf-8")
    (tmp_path / "latin.csv").write_bytes(b"row,point,answer\na,1,\xe9\n")
    with served(tmp_path, home=tmp_path) as page:
        for name in ("labels.csv", "latin.csv"):
            shown = page.get(f"{page.run('run')}/rubric?labels={name}&wait=1").text
            assert f"{name}: label 1" in shown or f"{name} is not UTF-8" in shown
            assert str(tmp_path) not in shown
