"""A run as GitHub shows it: the summary, the annotations and the outputs, within their limits,
whatever the texts hold.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import AspectCritic, ModelError, PairwiseJudge, RagEvaluator, Request, ScriptedModel
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Reply
from adjudge.runs.exporters.github import GithubReport, _command, _within
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.view.pages import markdown_page
from adjudge.stats.intervals import share_limits
from support.commands import adjudge

ROWS = int(os.environ.get("ADJUDGE_REPORT_ROWS", "30"))
EVAL = """\
data: rows.csv
models: [scripted/{said}]
judges:
  - {{kind: aspect, name: dates, criteria: Names a date.}}
gates: {{fail_under: 0.9{more}}}
"""


def judged(folder: Path, *said: str, rows: int = 10, text: str = "text", name: str = "m") -> Path:
    model = ScriptedModel(
        [f'{{"explanation": "{text}", "selected_option": "{one}"}}' for one in said], name=name
    )
    items = [
        Instance({"response": f"{text} {number}"}, id=f"{text} {number}") for number in range(rows)
    ]
    AspectCritic("It is good.", model, max_repairs=0).evaluate(items, run=folder)
    return folder


def run_of(folder: Path, said: str, more: str = "") -> Path:
    folder.joinpath("rows.csv").write_text(
        "\n".join(["answer", *(f"answer {n}" for n in range(12))]), encoding="utf-8"
    )
    folder.joinpath("eval.yaml").write_text(EVAL.format(said=said, more=more), encoding="utf-8")
    assert adjudge("run", "eval.yaml", "--no-cache", cwd=folder).returncode in (0, 4, 5)
    return folder / "runs" / "eval"


def compared(folder: Path, *winners: str) -> Path:
    model = ScriptedModel(
        [f'{{"explanation": "why", "selected_option": "{one}"}}' for one in winners]
    )
    judge = PairwiseJudge(model, check_positional_bias=False, max_repairs=0)
    cases = [[f"old {number}", f"new {number}"] for number in range(len(winners))]
    judge.evaluate(cases, "Which one is clearer?", run=folder)
    return folder


def test_a_comparison_shows_wins_win_rates_and_what_they_were_before(tmp_path: Path) -> None:
    before = compared(tmp_path / "before", "A", "A", "A", "B")
    now = compared(tmp_path / "now", "A", "B", "B", "B")
    page = GithubReport(now, before).summary()
    assert "| response 2 | 3 | 0 | 1 | 0.75 | – | 0 |" in page
    assert "| response 2 | 0.250 | 0.750 | +0.500 |" in page
    assert "mean" not in page


@pytest.mark.parametrize(
    ("said", "more", "verdict", "kind"),
    [
        ("PASS", "", "holds", ""),
        ("FAIL", "", "failed", "::error"),
        ("PASS", ", confidence: 0.95", "inconclusive", "::warning"),
    ],
)
def test_a_step_has_its_summary_its_annotations_and_its_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, more: str, verdict: str, kind: str
) -> None:
    run_of(tmp_path, said, more)
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "outputs"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    done = adjudge("report", "runs/eval", "--to", "github", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    outputs = dict(
        line.split("=", 1)
        for line in (tmp_path / "outputs").read_text(encoding="utf-8").splitlines()
    )
    assert outputs["verdict"] == verdict
    assert outputs["report-path"] == "runs/eval/results.github.md"
    assert outputs.keys() == {"score", "lower", "upper", "verdict", "cost", "report-path"}
    assert float(outputs["score"]) == (0.0 if said == "FAIL" else 1.0)
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary == (tmp_path / outputs["report-path"]).read_text(encoding="utf-8")
    assert summary.startswith("<!-- adjudge -->\n")
    annotations = [line for line in done.stdout.splitlines() if line.startswith("::")]
    assert len(annotations) == (1 if kind else 0)
    assert all(
        line.startswith(f"{kind} file=eval.yaml,line=4,title=adjudge%3A dates::Gate")
        for line in annotations
    )


def test_a_baseline_is_shown_and_fails_only_a_run_that_is_surely_worse(tmp_path: Path) -> None:
    before, now = (
        judged(tmp_path / "before", "PASS", rows=40),
        judged(tmp_path / "now", "FAIL", rows=40),
    )
    worse = GithubReport(now, before)
    assert worse.verdict == "failed"
    assert "is worse than in" in worse.summary()
    assert "| before |" in worse.summary()
    assert GithubReport(judged(tmp_path / "same", "PASS", rows=40), before).verdict == "none"
    for form in ("md", "html"):
        assert (
            adjudge(
                "report", now, "--to", form, "--baseline", before, "-o", tmp_path / f"out.{form}"
            ).returncode
            == 0
        )
        assert "before" in (tmp_path / f"out.{form}").read_text(encoding="utf-8")


def test_a_run_that_is_named_twice_is_compared_once_by_the_gate_of_the_file(
    tmp_path: Path,
) -> None:
    before = judged(tmp_path / "before", "PASS")
    run_of(tmp_path, "PASS", f", not_worse_than: {before}, margin: 0.02")
    own = GithubReport(tmp_path / "runs" / "eval")
    assert GithubReport(own.run, before).gates == own.gates
    assert GithubReport(own.run, before).verdict == own.verdict == "inconclusive"
    other = GithubReport(own.run, judged(tmp_path / "other", "PASS"))
    assert other.gates[: len(own.gates)] == own.gates and other.verdict == own.verdict


def test_there_are_never_more_than_ten_annotations(tmp_path: Path) -> None:
    words = [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
    ]
    model = ScriptedModel([ModelError(f"{one} is broken") for one in words], name="m")
    rows = [Instance({"response": one}) for one in words]
    AspectCritic("It is good.", model).evaluate(rows, run=tmp_path / "run")
    told = GithubReport(tmp_path / "run").annotations()
    assert len(told) == 10
    assert told[0].startswith("::warning title=adjudge%3A no score::1: ")
    assert told[-1] == "::notice title=adjudge::and 5 more: see the summary"
    AspectCritic("It is good.", model, language="ru").evaluate(rows, run=tmp_path / "russian")
    told = GithubReport(tmp_path / "russian").annotations()
    assert told[0].startswith("::warning title=adjudge%3A нет оценки::1: ")
    assert told[-1] == "::notice title=adjudge::и ещё 5: см. сводку"


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_ends_an_annotation_or_begins_another(title: str, message: str) -> None:
    line = _command("error", "eval.yaml", 3, title, message)
    assert "\n" not in line
    assert "\r" not in line
    assert line.startswith("::error file=eval.yaml,line=3")
    properties = line.removeprefix("::error ").partition("::")[0]
    assert properties.count(",") == (2 if title else 1)


@pytest.mark.parametrize(
    "text",
    ["</details><script>", "| a | b |", "[x](http://x)", "x" * 5000, "@everyone", "::error::x"],
)
def test_a_summary_stays_small_and_shows_texts_as_texts(tmp_path: Path, text: str) -> None:
    summary = GithubReport(judged(tmp_path / "run", "FAIL", rows=12, text=text)).summary()
    assert len(summary) < 20_000
    assert summary.count("</details>") == 1
    assert "<script>" not in summary
    assert not re.search(r"(?<!\\)\]\(http", summary)


@pytest.mark.parametrize(
    ("language", "expected"), [("en", ["FAIL | p = 0.98"]), ("ru", ["FAIL | p = 0,98"])]
)
def test_the_worst_answers_are_those_that_do_not_pass_and_say_how_sure_the_model_is(
    tmp_path: Path, language: str, expected: list[str]
) -> None:
    shares = {"bad": (-4.0, -0.02), "good": (-0.02, -4.0)}

    def probable(request: Request) -> Reply:
        passes, fails = shares["bad" if "bad" in request.prompt.text else "good"]
        return Reply("", logprobs=({"Yes": passes, "No": fails},))

    rows = [Instance({"response": one}, id=one) for one in ("all well", "bad", "well")]
    judge = AspectCritic(
        "It is kind.", ScriptedModel(probable), mode="likelihood", language=language
    )
    judge.evaluate(rows, run=tmp_path / "run")
    told = GithubReport(tmp_path / "run").summary()
    listed = [line for line in told.splitlines() if line.startswith(("| all", "| bad", "| well"))]
    assert [line.split(" | ", 2)[2].removesuffix(" |") for line in listed] == expected
    page = markdown_page(report_of_run(tmp_path / "run"))
    assert expected[0].partition("| ")[2] in page


def test_a_row_of_rag_shows_its_score_and_its_weakest_dimension(tmp_path: Path) -> None:
    reply = '{"explanation": "so so", "selected_option": "0"}'
    row = Instance({"user_input": "When?", "contexts": ["Today."], "response": "Now."}, id="one")
    RagEvaluator(ScriptedModel([reply]), max_repairs=0).evaluate([row], run=tmp_path / "run")
    (line,) = (
        line
        for line in GithubReport(tmp_path / "run").summary().splitlines()
        if line.startswith("| one |")
    )
    assert re.search(r"\| 0\.00 \| [A-Z][a-z ]+ 0/\d: so so \|$", line), line


def test_what_is_too_long_is_cut_after_a_line_and_says_so(tmp_path: Path) -> None:
    made = GithubReport(judged(tmp_path / "run", "FAIL"))
    assert "was shortened" not in made.summary()
    cut = made.summary(0.5)
    assert len(cut.encode()) <= 512
    assert "was shortened" in cut
    page = "\n".join(f"line é {number}" for number in range(200_000))
    assert 850 * 1024 < len(_within(page, 900 * 1024, "cut").encode()) <= 900 * 1024


def test_a_summary_of_very_many_rows_stays_within_what_github_takes(tmp_path: Path) -> None:
    """Every second row fails and every ninth has no verdict, with texts as long as models write; at
    length, 100,000 rows.
    """
    words = ["PASS", "FAIL", "PASS", "FAIL", "PASS", "FAIL", "PASS", "FAIL", "no verdict"]
    made = GithubReport(
        judged(tmp_path / "run", *words, rows=ROWS, text="A long sentence of a model. " * 20)
    )
    size, annotations = len(made.summary().encode()), made.annotations()
    print(f"\njob summary of {ROWS:,} rows: {size / 1024:.1f} KiB, {len(annotations)} annotations")
    assert size < 900 * 1024
    assert len(annotations) <= 10


def test_no_text_that_is_judged_commands_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``::command::`` counts where a line begins with it, wrapped ones included, ``##[command]``
    anywhere in a line.
    """
    hostile = "good ::error::owned ##[add-mask]x " * 3
    words = (
        "check",
        hostile,
        "--criterion",
        "It is good.",
        "-m",
        f"scripted/PASS {hostile}",
        "--no-cache",
    )
    assert "##[" in adjudge(*words, "--json").stdout
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for more in ((), ("--json",)):
        done = adjudge(*words, *more)
        assert "owned" in done.stdout
        assert "##[" not in done.stdout + done.stderr
        assert not re.search(r"^\s*::", done.stdout + done.stderr, re.MULTILINE)
    assert hostile.strip() in str(json.loads(done.stdout)["results"][0]["votes"])


@pytest.mark.parametrize(
    ("form", "begins"),
    [("junit", "<?xml"), ("md", "#"), ("html", "<!DOCTYPE html>"), ("github", "<!-- adjudge")],
)
def test_a_report_goes_to_standard_output_on_request(
    tmp_path: Path, form: str, begins: str
) -> None:
    run = judged(tmp_path / "run", "PASS", "FAIL")
    done = adjudge("report", run, "--to", form, "-o", "-", cwd=tmp_path)
    assert (done.returncode, done.stdout[: len(begins)].lower()) == (0, begins.lower())
    assert "written to" not in done.stdout
    assert [one.name for one in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("in_step", [False, True])
def test_annotations_are_for_the_runner_and_not_in_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_step: bool
) -> None:
    """They were in the summary of a pipeline elsewhere: ``-o - > summary.md``."""
    run_of(tmp_path, "FAIL")
    for name in ("GITHUB_ACTIONS", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    if in_step:
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
    done = adjudge("report", "runs/eval", "--to", "github", "-o", "-", cwd=tmp_path)
    assert done.stdout.startswith("<!-- adjudge -->") and "::error" not in done.stdout
    assert ("::error" in done.stderr) == in_step


def test_junit_has_the_identity_and_the_mean_of_each_judge(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", "PASS", "FAIL")
    assert adjudge("report", run, "--to", "junit").returncode == 0
    (suite,) = ElementTree.parse(run / "results.junit.xml").getroot()
    properties = {one.get("name"): one.get("value") for one in suite.findall("properties/property")}
    assert properties["adjudge.score"] == "0.5"
    assert properties["adjudge.lock"]


def test_what_cannot_be_reported_is_told_in_a_line(tmp_path: Path) -> None:
    assert "is not a run folder" in adjudge("report", tmp_path, "--to", "md").stderr
    assert adjudge("report", tmp_path).returncode == 2


def test_the_summary_names_the_criterion_that_failed_and_shows_its_failures(tmp_path: Path) -> None:
    """Three checks that pass, but lack the expected text of most rows, come first in the file."""
    rows = [f"{n},Rome,{'Rome' if n < 3 else ''}" for n in range(20)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,answer,expected", *rows]))
    (tmp_path / "eval.yaml").write_text(
        "data: {path: rows.csv, id: id}\n"
        "checks:\n"
        "  - {equals: {field: expected}, name: exact}\n"
        "  - {contains: {field: expected}, name: within}\n"
        "judges:\n"
        "  - {kind: aspect, name: dates, criteria: Names a date.}\n"
        "models: scripted/FAIL\n"
        "gates: {fail_under: 0.8}\n"
    )
    assert adjudge("run", "eval.yaml", "--no-cache", cwd=tmp_path).returncode == 4
    summary = GithubReport(tmp_path / "runs" / "eval").summary()
    decision = next(line for line in summary.splitlines() if line.startswith("**"))
    assert decision.startswith("**Not ready: dates: mean 0.00, bar 0.80 missed by 0.80;")
    assert "exact" not in decision
    assert "within" not in decision
    listed = [line for line in summary.splitlines() if re.match(r"\| \d+ \| ", line)]
    assert len(listed) == 10
    assert all("| dates | FAIL |" in line for line in listed)


def test_an_unfinished_run_is_not_green_although_it_has_no_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.csv").write_text("answer\n" + "".join(f"answer {n}\n" for n in range(8)))
    judge = "judges: [{kind: aspect, name: dates, criteria: Names a date.}]"
    (tmp_path / "eval.yaml").write_text(
        f"data: rows.csv\nmodels: [scripted/PASS]\n{judge}\nrun: r\nbudget: {{max_calls: 3}}\n"
    )
    adjudge("run", "eval.yaml", "--no-cache", cwd=tmp_path)
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "outputs"))
    done = adjudge("report", "r", "--to", "github", "--output", "page.md", cwd=tmp_path)
    assert "::warning" in done.stdout
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "Undecided: not finished, 3 judgments so far; dates: mean 1.00." in page
    assert "verdict=inconclusive\n" in (tmp_path / "outputs").read_text(encoding="utf-8")
    adjudge("report", "r", "--to", "junit", "--output", "r.xml", cwd=tmp_path)
    root = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert (root.get("tests"), root.get("errors")) == ("4", "1")
    (case,) = [one for one in root.iter("testcase") if one.find("error") is not None]
    assert case.get("name") == "run is not finished"


def step_outputs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Run the eval file of a folder and report on it as a step of GitHub does."""
    assert adjudge("run", "eval.yaml", "--no-cache", cwd=folder).returncode in (0, 4, 5)
    monkeypatch.setenv("GITHUB_OUTPUT", str(folder / "outputs"))
    done = adjudge("report", "runs/eval", "--to", "github", "-o", "page.md", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = (folder / "outputs").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize(
    ("gates", "verdict", "passed", "level"),
    [
        ("{}", "none", 20, 0.95),
        ("{fail_under: {good: 0.5}}", "failed", 5, 0.95),
        ("{fail_under: {good: 0.1}}", "holds", 5, 0.95),
        ("{fail_under: {first: 0.5, good: 0.3}, confidence: 0.9}", "inconclusive", 5, 0.9),
        ("{max_failed: 0.1}", "holds", 20, 0.95),
    ],
)
def test_the_outputs_are_of_the_gate_that_decides_the_verdict(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    gates: str,
    verdict: str,
    passed: int,
    level: float,
) -> None:
    """Of 20 rows all pass the first criterion and 5 pass the other."""
    rows = [f"{n},answer {'good' if n < 5 else 'bad'}" for n in range(20)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,answer", *rows]))
    (tmp_path / "eval.yaml").write_text(
        "data: {path: rows.csv, id: id}\n"
        "checks: [{contains: answer, name: first}, {contains: good, name: good}]\n"
        f"gates: {gates}\n"
    )
    outputs = step_outputs(tmp_path, monkeypatch)
    limits = share_limits(passed, 20, level=level)
    figures = [float(outputs[name]) for name in ("score", "lower", "upper")]
    assert figures == pytest.approx([passed / 20, limits.lower, limits.upper], abs=1e-4)
    assert outputs["verdict"] == verdict


@pytest.mark.parametrize(
    ("okay", "decision", "count"),
    [
        (3, "**Not ready: dates: mean 0.00, bar 0.50 missed by 0.50.**", 13),
        (0, "**Undecided: dates: no row was judged.**", 10),
    ],
)
def test_skipped_rows_are_named_as_in_other_reports_and_are_no_judgments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, okay: int, decision: str, count: int
) -> None:
    rows = [f"{n},{'okay' if n < okay else 'bad'} {n}" for n in range(10)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,answer", *rows]))
    (tmp_path / "eval.yaml").write_text(
        "data: {path: rows.csv, id: id}\n"
        "checks: [{contains: okay, name: isokay, required: true}]\n"
        "judges: [{kind: aspect, name: dates, criteria: Names a date., after: checks}]\n"
        "models: scripted/FAIL\n"
        "gates: {fail_under: {dates: 0.5}}\n"
    )
    step_outputs(tmp_path, monkeypatch)
    adjudge("report", "runs/eval", "--to", "md", "-o", "other.md", cwd=tmp_path)
    skipped = (
        f"dates: {10 - okay} rows were not judged, because their checks fail, they lack the "
        "field of rows\\_with, or their conversations have fewer parts."
    )
    for name in ("page.md", "other.md"):
        page = (tmp_path / name).read_text(encoding="utf-8")
        assert decision in page.splitlines()
        assert skipped in page.splitlines()
        assert f"{count} judgments, {okay} vote" in page
    listed = "Only the worst answers are shown"
    assert f"{listed}: 10 of {count}<" in (tmp_path / "page.md").read_text(encoding="utf-8")
    assert listed not in (tmp_path / "other.md").read_text(encoding="utf-8")  # it has all


def test_repeated_tasks_have_their_sentence(tmp_path: Path) -> None:
    trial = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Done."}]
    rows = [
        {"messages": trial, "id": f"{task}-{number}", "task_id": task, "trial": number}
        for task in range(8)
        for number in range(3)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "eval.yaml").write_text(
        "data: {path: rows.jsonl, id: id}\n"
        "judges: [{kind: agent, name: steps, measures: [ended]}]\n"
    )
    assert adjudge("run", "eval.yaml", cwd=tmp_path).returncode == 0
    report = GithubReport(tmp_path / "runs" / "eval")
    (sentence,) = [one for one in report.report.remarks if "pass^3" in one]
    assert f"{sentence}.".replace("^", "\\^") in report.summary()
