"""Two runs over rows that changed, went missing, were added, moved or repeated: no gate decides on
some of them in silence.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from support import commands
from support.fake_provider import KEY, FakeProvider

Row = tuple[str, str, str]
"""id, question, answer"""
COLUMNS = {
    "id": ("id", "question", "answer"),
    "question": ("question", "answer"),
    "answer": ("answer",),
}
WAYS = {
    "id": ", by id",
    "question": ", by the fields that are not judged",
    "answer": " (80 by their text, 20 by position)",
}


def good(number: int) -> Row:
    return f"q{number}", f"What is {number}?", f"answer REC-{number:05}-Y"


def broken(number: int) -> Row:
    return *good(number)[:2], f"broken REC-{number:05}-N"


class Made(dict[object, Path]):
    """Runs that were made once, by their rows."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder


class Project:
    """A folder whose rows a real server judges by their marks."""

    def __init__(self, folder: Path, provider: FakeProvider, made: Made) -> None:
        self.folder, self.provider, self.made = folder, provider, made
        self.model = ("-m", "openai/gpt-4o-mini", "--base-url", provider.base_url("openai"))

    def write(self, rows: Sequence[Row], named_by: str = "id") -> None:
        columns = COLUMNS[named_by]
        with (self.folder / "rows.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(columns)
            table.writerows(row[3 - len(columns) :] for row in rows)

    def judge(
        self, rows: Sequence[Row], run: str, *words: str, named_by: str = "id"
    ) -> tuple[int, str]:
        self.write(rows, named_by)
        done = commands.adjudge(
            "judge",
            "-f",
            "rows.csv",
            "--criterion",
            "Is it right?",
            *self.model,
            "--run",
            run,
            *words,
            cwd=self.folder,
        )
        return done.returncode, done.stderr

    def judge_before(self, rows: Sequence[Row], named_by: str = "id") -> None:
        """A run called old over these rows: made once, and copied for each test."""
        old, key = self.folder / "old", (tuple(rows), named_by)
        if key in self.made:
            shutil.copytree(self.made[key], old)
            return
        code, told = self.judge(rows, "old", named_by=named_by)
        assert code == 0, told
        self.made[key] = self.made.folder / str(len(self.made))
        shutil.copytree(old, self.made[key])

    def said(self, *words: str) -> str:
        done = commands.adjudge(*words, cwd=self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    """One for all tests: what it said of a row is taken from the cache."""
    with FakeProvider() as running:
        yield running


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("made"))


@pytest.fixture
def project(
    tmp_path: Path, provider: FakeProvider, made: Made, monkeypatch: pytest.MonkeyPatch
) -> Project:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return Project(tmp_path, provider, made)


BEFORE = [good(number) for number in range(100)]
AFTER = [*(broken(number) for number in range(20)), *BEFORE[20:]]


@pytest.mark.parametrize("named_by", COLUMNS)
def test_twenty_broken_answers_of_a_hundred_fail_the_gate(project: Project, named_by: str) -> None:
    """The broken rows were dropped, and the gate held with a difference of +0.000."""
    project.judge_before(BEFORE, named_by)
    code, told = project.judge(AFTER, "new", "--not-worse-than", "old", named_by=named_by)
    assert code == 4, told
    assert "change -0.200" in told
    assert f"100 of 100 rows paired{WAYS[named_by]}." in told


FEW = BEFORE[:60]
MISSING = FEW[12:]
ADDED = [*FEW, *BEFORE[60:72]]


@pytest.mark.parametrize("named_by", COLUMNS)
@pytest.mark.parametrize(("rows", "said"), [(MISSING, "48 rows paired"), (ADDED, "60 rows paired")])
def test_rows_that_went_missing_or_were_added_are_not_passed_over(
    project: Project, named_by: str, rows: list[Row], said: str
) -> None:
    """What is left is as good as before: whether the run is worse depends on rows that nobody
    compared.
    """
    project.judge_before(FEW, named_by)
    code, told = project.judge(
        rows, "new", "--not-worse-than", "old", "--margin", "0.1", named_by=named_by
    )
    assert code == 5, told
    assert f"{said} (60 before, {len(rows)} now)" in told
    assert "have no counterpart" in told


@pytest.mark.parametrize("named_by", COLUMNS)
def test_rows_that_stand_in_another_order_are_the_same_rows(
    project: Project, named_by: str
) -> None:
    project.judge_before(FEW, named_by)
    code, told = project.judge(
        FEW[::-1], "new", "--not-worse-than", "old", "--margin", "0.1", named_by=named_by
    )
    assert (code, "60 of 60 rows paired" in told, "place" in told) == (0, True, False), told


def test_an_id_that_repeats_is_said_and_counts_once(project: Project) -> None:
    rows = [*BEFORE[:40], *BEFORE[:2]]
    assert project.judge(rows, "old")[0] == 0
    code, told = project.judge(rows, "new", "--not-worse-than", "old", "--margin", "0.2")
    assert (code, "42 of 42 rows paired, by id; 4 rows share an id with other rows." in told) == (
        0,
        True,
    ), told
    out = project.said("runs", "diff", "old", "new")
    assert (
        "4 rows share their id with others: those of one id were paired in their order, and "
        "count as one"
    ) in out
    (one,) = json.loads(project.said("runs", "diff", "old", "new", "--json"))["comparisons"]
    assert (one["independent"], one["pairing"]) == (
        40,
        {
            "rows": 42,
            "of": [42, 42],
            "by": {"id": 42},
            "rows_that_share_an_id": 4,
            "pairs_with_another_question": 0,
        },
    )


def test_where_nothing_names_the_rows_the_way_out_is_said_and_works(project: Project) -> None:
    """All answers changed, and there is one row more: it was said that no judge is in both runs."""
    rows = [(f"n{number}", "", broken(number)[2]) for number in range(40)]
    with_number = [("number,answer"), *(f"{name},{answer}" for name, _, answer in rows)]
    assert project.judge([good(number) for number in range(39)], "old", named_by="answer")[0] == 0
    code, told = project.judge(rows, "new", "--not-worse-than", "old", named_by="answer")
    assert code == 5
    assert (
        "no row of Is it right? (judge DirectJudge) has a counterpart in old (39 "
        "rows there, 40 here)"
    ) in told
    assert "--id COLUMN" in told
    assert "no row could be paired (39 before, 40 now)" in project.said(
        "runs", "diff", "old", "new"
    )
    (project.folder / "rows.csv").write_text(
        "\n".join(["number,answer", *(f"n{n},{good(n)[2]}" for n in range(39))])
    )
    judged = ("judge", "-f", "rows.csv", "--criterion", "Is it right?", *project.model)
    assert commands.adjudge(*judged, "--run", "numbered", cwd=project.folder).returncode == 0
    (project.folder / "rows.csv").write_text("\n".join(with_number))
    again = (*judged, "--run", "again", "--id", "number", "--not-worse-than", "numbered")
    done = commands.adjudge(*again, cwd=project.folder)
    assert (done.returncode, "39 rows paired (39 before, 40 now), by id" in done.stderr) == (
        4,
        True,
    ), done.stderr
    assert "39 rows paired (39 before, 40 now), by id" in project.said(
        "runs", "diff", "numbered", "again", "--id", "number"
    )


def test_a_column_that_is_named_for_the_id_names_the_rows(project: Project) -> None:
    """--column id=… was taken for a field, and no row was called by it."""
    (project.folder / "rows.csv").write_text(
        "number,answer\nn1,answer REC-00001-Y\nn2,answer REC-00002-Y\n"
    )
    judged = ("judge", "-f", "rows.csv", "--criterion", "Is it right?", *project.model, "--json")
    for words in (("--column", "id=number"), ("--id", "number")):
        done = json.loads(project.said(*judged, *words))
        assert [(one["id"], list(one["fields"])) for one in done["results"]] == [
            ("n1", ["response"]),
            ("n2", ["response"]),
        ]
    done = commands.adjudge(*judged, "--id", "nomber", cwd=project.folder)
    assert (done.returncode, "has no column 'nomber' (needed as the id)" in done.stderr) == (
        1,
        True,
    )
    done = commands.adjudge(*judged, "--id", "number", "--column", "id=answer", cwd=project.folder)
    assert (
        done.returncode,
        "both 'number' and 'answer' could be the row id" in done.stderr,
    ) == (1, True)
    done = commands.adjudge(
        "judge", "a text", "--criterion", "Is it right?", *project.model, "--id", "number"
    )
    assert (
        done.returncode,
        "--id names a column of a file: give the file with --file" in done.stderr,
    ) == (
        2,
        True,
    )


EVAL = """\
data: {{path: rows.csv, columns: {{id: name}}}}
models: {{model: openai/gpt-4o-mini, base_url: '{url}'}}
judges: [{{kind: aspect, name: right, criteria: "It is right."}}]
run: {run}
outputs: [{run}.md, {run}.html]
gates: {gates}
"""


def test_every_output_of_a_run_says_which_rows_were_paired(project: Project) -> None:
    def run(rows: Sequence[Row], name: str, gates: str, *words: str) -> tuple[int, str, str]:
        lines = ["name,question,answer", *(",".join(row) for row in rows)]
        (project.folder / "rows.csv").write_text("\n".join(lines))
        url = project.provider.base_url("openai")
        (project.folder / "eval.yaml").write_text(EVAL.format(url=url, run=name, gates=gates))
        done = commands.adjudge("run", "eval.yaml", *words, cwd=project.folder)
        return done.returncode, done.stdout, done.stderr

    assert run(BEFORE, "old", "{}")[0] == 0
    rows = AFTER
    said, gate = "100 of 100 rows paired, by id", "{not_worse_than: old}"
    code, out, err = run(rows, "new", gate, "--baseline", "old")
    assert (code, said in out, said in err) == (4, True, True), out + err
    told = json.loads(run(rows, "new", gate, "--baseline", "old", "--json")[1])
    wanted = {
        "rows": 100,
        "of": [100, 100],
        "by": {"id": 100},
        "rows_that_share_an_id": 0,
        "pairs_with_another_question": 0,
    }
    assert told["gates"][0]["pairing"] == wanted
    assert (told["comparisons"][0]["outcome"], told["comparisons"][0]["pairing"]) == (
        "worse",
        wanted,
    )
    for ending in ("md", "html"):
        assert (project.folder / f"new.{ending}").read_text(encoding="utf-8").count(said) == 2, (
            ending
        )
    for kind in ("md", "html", "junit", "github"):
        page = project.said("report", "new", "--to", kind, "--baseline", "old", "-o", "-")
        assert said in page, kind
        assert "Ready" not in page or kind != "github"
    russian = "сопоставлено строк: 100 из 100, по идентификатору"
    assert russian in run(rows, "russian", gate, "--language", "ru")[2].lower()
    assert russian in project.said("runs", "diff", "old", "new", "--language", "ru")


def test_comparisons_and_rag_answers_are_paired_by_their_question(project: Project) -> None:
    for run, answer in (("old", "old"), ("new", "new")):
        pairs = [f"What is {n}?,one {answer} {n},two {answer} {n}" for n in range(12)]
        (project.folder / "pairs.csv").write_text("\n".join(["question,a,b", *pairs]))
        rag = [f"What is {n}?,{answer} {n},{answer} source {n}" for n in range(12)]
        (project.folder / "rag.csv").write_text("\n".join(["question,answer,contexts", *rag]))
        held = ("--not-worse-than", "{}-old", "--margin", "0.9") if run == "new" else ()
        compare = (
            "compare",
            "-f",
            "pairs.csv",
            "--column",
            "a",
            "--column",
            "b",
            "--criterion",
            "Which?",
            "-m",
            "scripted/A",
        )
        for kind, words in (
            ("compare", compare),
            ("rag", ("rag", "-f", "rag.csv", "-m", "scripted/2")),
        ):
            done = commands.adjudge(
                *words,
                "--run",
                f"{kind}-{run}",
                *(one.format(kind) for one in held),
                cwd=project.folder,
            )
            assert done.returncode == 0, done.stderr
            assert (
                not held or "12 of 12 rows paired, by the fields that are not judged" in done.stderr
            ), done.stderr


def test_a_criteria_that_this_run_no_longer_has_is_not_passed_over(project: Project) -> None:
    """A criterion that was renamed or taken out left the gate to the others, which held."""
    assert project.judge(FEW, "old", "--criterion", "Is it polite?")[0] == 0
    code, told = project.judge(FEW, "new", "--not-worse-than", "old", "--margin", "0.1")
    assert code == 5, told
    assert "Gate passed: nothing changed for Is it right?" in told
    assert (
        "Gate undecided: Is it polite? (judge DirectJudge) is in old, but not in this run." in told
    )


def test_a_gate_says_that_ids_were_numbered_anew(project: Project) -> None:
    moved = [(id, BEFORE[59 - place][1], answer) for place, (id, _, answer) in enumerate(FEW)]
    project.judge_before(FEW)
    told = project.judge(moved, "new", "--not-worse-than", "old", "--margin", "0.1")[1]
    assert "60 of 60 rows paired, by id; 60 pairs have different questions in the two runs." in told


def test_a_gate_says_why_rows_of_one_id_cannot_be_compared(project: Project) -> None:
    """It said that a run of sixty scores has one row with a score."""
    rows, others = (
        [("the same", question, answer + more) for _, question, answer in FEW]
        for more in ("", " again")
    )
    assert project.judge(rows, "old")[0] == 0
    told = project.judge(others, "new", "--not-worse-than", "old")[1]
    assert (
        "cannot be compared with old: 60 rows in 1 independent group; a comparison needs at "
        "least 8 groups." in told
    )


def test_a_gate_of_comparisons_says_whose_win_rate_it_holds(project: Project) -> None:
    """The candidate's win rate fell, and the gate, which was that of the other column, held without
    saying so.
    """
    table = "question,old,new\n" + "".join(f"What is {n}?,old {n},new {n}\n" for n in range(12))
    (project.folder / "pairs.csv").write_text(table)
    words = (
        "compare",
        "-f",
        "pairs.csv",
        "--column",
        "old",
        "--column",
        "new",
        "--criterion",
        "Which?",
        "-m",
    )
    commands.adjudge(*words, "scripted/B,A", "--run", "one", "-j", "1", cwd=project.folder)
    two = (*words, "scripted/A,B", "--run", "two", "-j", "1", "--not-worse-than", "one")
    done = commands.adjudge(*two, "--baseline", "one", cwd=project.folder)
    assert (
        "cannot tell whether win rate of old by Which? (judge PairwiseJudge) is worse than in one"
        in done.stderr
    )
    assert (
        "PairwiseJudge: Which?: two scores higher: win rate of old 0.000 → 1.000 on 12 rows"
        in " ".join(done.stdout.split())
    )
    assert "\ufdd0" not in done.stdout
    said = commands.adjudge(*two, "--language", "ru", "--run", "three", cwd=project.folder).stderr
    assert "доля побед old по критерию Which?" in said


def test_no_report_decides_on_a_run_that_has_not_come_to_its_end(project: Project) -> None:
    """A run that its budget ended was called worse, or not, by the rows that it had come to."""
    rows = [*(broken(number) for number in range(20)), *BEFORE[20:60]]
    assert project.judge(FEW[:30], "old")[0] == 0
    code, told = project.judge(
        rows, "new", "--no-cache", "--max-calls", "30", "-j", "1", "--not-worse-than", "old"
    )
    assert (code, "(rows of Is it right? (judge DirectJudge) so far: 30)" in told) == (1, True), (
        told
    )
    said = (
        "Gate undecided: the run is not finished (rows of Is it right? (judge DirectJudge) so "
        "far: 30)."
    )
    assert said in project.said("report", "new", "--to", "github", "--baseline", "old", "-o", "-")
    project.said("report", "new", "--to", "junit", "--baseline", "old", "-o", "junit.xml")
    assert said in (project.folder / "junit.xml").read_text()


@pytest.mark.parametrize("other", ["new", "../{name}/new", "link"])
def test_a_run_is_not_compared_with_itself(project: Project, other: str) -> None:
    """A worse run, judged into the folder of the good one, was not worse than itself."""
    assert project.judge(FEW, "new")[0] == 0
    (project.folder / "link").symlink_to("new")
    named = other.format(name=project.folder.name)
    code, told = project.judge(FEW, "new", "--not-worse-than", named)
    assert (code, "cannot be compared with itself" in told) == (2, True), told


def test_an_eval_file_cannot_name_its_own_run(project: Project) -> None:
    project.write(FEW)
    text = (
        "data: rows.csv\njudges: [{kind: aspect, criteria: It is right.}]\n"
        "models: [scripted/PASS]\nrun: runs/new\n"
    )
    path = project.folder / "eval.yaml"
    path.write_text(text)
    assert project.said("run", "eval.yaml")
    path.write_text(f"{text}gates: {{not_worse_than: runs/../runs/new}}\n")
    done = commands.adjudge("run", "eval.yaml", cwd=project.folder)
    assert (done.returncode, "cannot be compared with itself" in done.stderr) == (1, True)


def test_a_criterion_that_only_this_run_has_is_named(project: Project) -> None:
    project.judge_before(FEW)
    polite = ("--criterion", "Is it polite?")
    code, told = project.judge(FEW, "new", *polite, "--not-worse-than", "old")
    assert code == 0, told
    assert "Gate passed: nothing changed for Is it right?" in told
    assert "Is it polite?: not compared, because old does not have it." in told
    (gate,) = json.loads(project.said("runs", "show", "new", "--json"))["gates"]
    assert gate["not_compared"] == ["Is it polite?"]


def test_nothing_is_decided_by_a_baseline_that_was_cut_off(project: Project) -> None:
    """Its budget was spent after half of the rows, and it has one of two criteria."""
    assert project.judge(FEW, "old", "--no-cache", "--max-calls", "30", "-j", "1")[0] == 1
    held = ("--criterion", "Is it polite?", "--not-worse-than", "old", "--margin", "0.9")
    code, told = project.judge(FEW, "new", *held)
    assert code == 5, told
    for name in ("Is it right?", "Is it polite?"):
        wanted = (
            f"Gate undecided: old is not finished, so {name} (judge DirectJudge) cannot be "
            "compared with it."
        )
        assert wanted in told
    assert "Gate passed" not in told
