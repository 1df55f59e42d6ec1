"""``adjudge drift``: anchors of a run, judged again over a real socket by a judge that changes."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.domain.label import Label
from adjudge.runs import judge_changes
from adjudge.runs.cli.main import main
from adjudge.runs.folder import records_of
from adjudge.trust.labels.store import LabelStore
from support.fake_provider import KEY, FakeProvider

Json = dict[str, Any]
EVAL = """\
data: {path: rows.csv, id: id}
models: openai/gpt-4o-mini
judges: [{kind: aspect, name: right, criteria: It is right.}]
run: runs/first
"""


class Judge:
    """Says PASS below ``strict``, and now and then the contrary."""

    def __init__(self) -> None:
        self.strict = 30
        self.asked = 0
        self.wavers = 0
        """Each answer of this number is the other one; 0: none."""

    def __call__(self, body: Json) -> str:
        self.asked += 1
        found = re.search(r"REC-(\d+)", str(body["messages"][-1]["content"]))
        assert found
        passed = int(found[1]) < self.strict
        if self.wavers and self.asked % self.wavers == 0:
            passed = not passed
        verdict = "PASS" if passed else "FAIL"
        return json.dumps({"explanation": "so", "selected_option": verdict})


def adjudge(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["adjudge", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.fixture
def judge(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Judge:
    """Anchors of a run of forty rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
    rows = [f"r{n},Why {n}?,It is REC-{n:05}." for n in range(40)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,question,answer", *rows]) + "\n")
    (tmp_path / "eval.yaml").write_text(EVAL)
    made = Judge()
    provider.answer = made
    assert adjudge(monkeypatch, "run", "eval.yaml", "-q", "--no-cache") == 0
    assert adjudge(monkeypatch, "drift", "init", "runs/first", "-o", "anchors.jsonl") == 0
    return made


def look(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    code: int,
    *more: str,
) -> Json:
    capsys.readouterr()
    words = ("drift", "check", "anchors.jsonl", "eval.yaml", "--json", "-j", "1", *more)
    assert adjudge(monkeypatch, *words) == code
    whole = json.loads(capsys.readouterr().out)
    assert whole["kind"] == "drift"
    return dict(whole)


def test_a_judge_that_stays_as_it_is_is_asked_anew_each_time(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = judge.asked
    for number in range(1, 4):
        whole = look(monkeypatch, capsys, 0)
        assert whole["summary"] == {"anchors": 40, "looks": number, "edited": 0, "unscored": 0}
        assert judge.asked == before + 40 * number
    (found,) = whole["results"]
    assert (found["outcome"], found["differ"], found["reconfigured"]) == ("noise", 0, False)
    assert found["evidence"] == [1.0, 1.0, 1.0]
    assert (found["first"], found["last"]) == ({"FAIL": 10, "PASS": 30},) * 2


def test_a_judge_that_changed_is_found_and_stays_found(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        look(monkeypatch, capsys, 0)
    judge.strict = 24
    (found,) = look(monkeypatch, capsys, 4)["results"]
    assert (found["outcome"], found["since"], found["differ"]) == ("changed", 3, 6)
    assert found["last"] == {"FAIL": 16, "PASS": 24}
    judge.strict = 30
    whole = look(monkeypatch, capsys, 4)
    assert any("--no-cache" in note and "make new anchors" in note for note in whole["notes"])
    assert adjudge(monkeypatch, "drift", "history", "anchors.jsonl", "--language", "ru") == 4
    assert "судья изменился" in capsys.readouterr().out


@pytest.mark.usefixtures("judge")
def test_anchors_with_reused_verdicts_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Replies of the cache may be older than a change: a run without it has none."""
    assert "reused" not in capsys.readouterr().err
    for run, reused in (("asked", False), ("cached", True)):
        assert adjudge(monkeypatch, "run", "eval.yaml", "-q", "--run", f"runs/{run}") == 0
        capsys.readouterr()
        init = ("drift", "init", f"runs/{run}", "-o", f"{run}.jsonl", "--count", "10")
        assert adjudge(monkeypatch, *init) == 0
        told = " ".join(capsys.readouterr().err.split())
        assert (f"10 anchors have verdicts that runs/{run} reused" in told) is reused
        assert ("--no-cache" in told) is reused


def test_a_noisy_judge_gives_no_alarm(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judge.wavers = 9
    for _ in range(4):
        (found,) = look(monkeypatch, capsys, 0)["results"]
        assert found["differ"] >= 4
    assert max(found["evidence"]) < 2


def test_a_changed_identity_of_the_model_is_told(
    judge: Judge,
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = {"model": "gpt-4o-mini-next", "system_fingerprint": "fp_2"}
    monkeypatch.setattr(provider, "renamed", lambda _: said)
    whole = look(monkeypatch, capsys, 0)
    (renamed,) = whole["renamed"]
    assert renamed["model"] == "openai/gpt-4o-mini"
    assert renamed["now"] == "gpt-4o-mini-next fp_2"
    assert any("pin" in note for note in whole["notes"])
    votes = next(records_of("anchors-looks/001", votes=True)).votes
    assert votes
    assert votes[0].fingerprint == "fp_2"


def test_rows_that_changed_are_no_drift(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path("anchors.jsonl")
    path.write_text(path.read_text().replace("It is REC-00003.", "It is REC-00099."))
    whole = look(monkeypatch, capsys, 0)
    assert whole["edited"] == ["r3"]
    assert whole["results"][0]["compared"] == 39


def test_a_look_that_was_stopped_is_resumed(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = judge.asked
    words = ("drift", "check", "anchors.jsonl", "eval.yaml", "-q")
    assert adjudge(monkeypatch, *words, "--max-calls", "15") == 1
    assert "adjudge resume" in capsys.readouterr().err
    assert adjudge(monkeypatch, "drift", "history", "anchors.jsonl") == 5
    assert adjudge(monkeypatch, "resume", "anchors-looks/001", "--", "--max-calls", "100") == 0
    assert judge.asked == before + 40
    assert adjudge(monkeypatch, "drift", "history", "anchors.jsonl") == 0


def test_few_anchors_cannot_tell_and_are_drawn_whatever_was_said(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ("drift", "init", "runs/first", "-o", "few.jsonl", "--count", "6")
    assert adjudge(monkeypatch, *few) == 0
    assert len(Path("few.jsonl").read_text().splitlines()[1:]) == 6
    assert adjudge(monkeypatch, "drift", "check", "few.jsonl", "eval.yaml", "-q") == 5
    assert "cannot tell" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a file of anchors"),
        ("[]\n", "is not a file of anchors"),
        ("not json", "is not a file of anchors"),
        ('{"schema": "adjudge.anchors/1", "scales": {"x": 1}}\n', "was not written by"),
        ('{"schema": "adjudge.anchors/1"}\n{"fields": {}}\n', "was not written by"),
    ],
)
def test_a_file_of_anybody_is_refused_in_a_line(
    judge: Judge,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    said: str,
) -> None:
    Path("other.jsonl").write_text(text)
    assert adjudge(monkeypatch, "drift", "check", "other.jsonl", "eval.yaml") == 1
    assert said in capsys.readouterr().err


def test_labels_older_than_a_change_correct_nothing(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    label("runs/first", 3)
    run = ("calibrate", "runs/first", "--json")
    assert adjudge(monkeypatch, *run) == 0
    judge.strict = 20
    look(monkeypatch, capsys, 4)
    assert adjudge(monkeypatch, *run) == 5
    refused = json.loads(capsys.readouterr().out)["results"][0]
    assert (refused["corrected"], refused["refusal"]["code"]) == (None, "older_than_change")
    assert "all 30 labels are older" in refused["refusal"]["text"]
    assert adjudge(monkeypatch, "report", "runs/first", "--to", "md", "-o", "run.md") == 0
    assert adjudge(monkeypatch, "card", "runs/first", "--drift", "anchors.jsonl") == 0
    for text in (Path("run.md").read_text(), capsys.readouterr().out):
        assert "all 30 labels are older" in " ".join(text.split())
    assert adjudge(monkeypatch, *run, "--labels-before-change") == 0
    kept = json.loads(capsys.readouterr().out)["results"][0]
    assert any("as it was" in note for note in kept["notes"])
    label("runs/first", 4)
    assert adjudge(monkeypatch, *run) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["labels"]["n"] == 40


def test_an_option_that_was_said_in_between_has_a_column(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for strict in (40, 0, 40):
        judge.strict = strict
        adjudge(monkeypatch, "drift", "check", "anchors.jsonl", "eval.yaml", "-q")
    lines = (
        Path("anchors.jsonl").read_text().replace('"FAIL", "score": 0.0', '"PASS", "score": 1.0')
    )
    Path("anchors.jsonl").write_text(lines)
    capsys.readouterr()
    assert adjudge(monkeypatch, "drift", "history", "anchors.jsonl", "-o", "drift.md") == 4
    assert "| look | date | anchors | FAIL | PASS |" in Path("drift.md").read_text()


def test_runs_that_lie_elsewhere_are_not_written_to(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Path("here")
    here.mkdir()
    for name in ("rows.csv", "eval.yaml"):
        Path(name).rename(here / name)
    text = Path("anchors.jsonl").read_text().replace('"runs": "runs"', '"runs": "../runs"')
    assert "../runs" in text
    (here / "anchors.jsonl").write_text(text)
    monkeypatch.chdir(here)
    judge.strict = 20
    adjudge(monkeypatch, "drift", "check", "anchors.jsonl", "eval.yaml", "-q")
    assert "the change is not recorded there" in " ".join(capsys.readouterr().err.split())
    assert not Path("../runs/judge-changes.json").exists()


def test_labels_older_than_a_change_correct_no_difference(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = Path("rows.csv")
    rows.write_text(rows.read_text().replace("It is REC", "It may be REC"))
    assert adjudge(monkeypatch, "run", "eval.yaml", "-q", "--run", "runs/second") == 0
    for run in ("runs/first", "runs/second"):
        label(run, 3)
    assert compared(monkeypatch, capsys, "runs/second")["corrected"] is not None
    judge.strict = 20
    look(monkeypatch, capsys, 4)
    found = compared(monkeypatch, capsys, "runs/second")
    assert found["corrected"] is None
    assert any("30 labels are older" in note for note in found["notes"])
    third = ("run", "eval.yaml", "-q", "--no-cache", "--run", "runs/third")
    adjudge(monkeypatch, *third, "--not-worse-than", "runs/first")
    found = compared(monkeypatch, capsys, "runs/third")
    assert any("after one run and before the other" in note for note in found["notes"])
    adjudge(monkeypatch, "runs", "show", "runs/third")
    shown = " ".join(capsys.readouterr().out.split())
    assert "The judge was found to have changed on" in shown


def compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], run: str) -> Json:
    """The first run against another."""
    capsys.readouterr()
    assert adjudge(monkeypatch, "runs", "diff", "runs/first", run, "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    return dict(found)


def test_a_change_is_told_to_calibrate_by_its_anchors_too(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    label("runs/first", 3)
    judge.strict = 20
    look(monkeypatch, capsys, 4)
    Path("runs/judge-changes.json").unlink()
    run = ("calibrate", "runs/first", "--json")
    assert adjudge(monkeypatch, *run) == 0
    assert adjudge(monkeypatch, *run, "--drift", "anchors.jsonl") == 5
    Path("runs/judge-changes.json").write_text("{broken")
    assert adjudge(monkeypatch, *run) == 1
    assert "judge-changes.json cannot be read" in capsys.readouterr().err


def test_what_the_judge_was_told_otherwise_is_no_change_of_its_own(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    label("runs/first", 3)
    path = Path("eval.yaml")
    path.write_text(path.read_text().replace("It is right.", "It is quite right."))
    judge.strict = 20
    look(monkeypatch, capsys, 4)
    assert adjudge(monkeypatch, "calibrate", "runs/first", "--json") == 0


def test_another_judge_looked_at_in_between_is_no_change_of_this_one(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    label("runs/first", 3)
    path = Path("eval.yaml")
    was = path.read_text()
    path.write_text(was.replace("It is right.", "It is quite right."))
    judge.strict = 20
    look(monkeypatch, capsys, 4)
    path.write_text(was)
    judge.strict = 30
    (found,) = look(monkeypatch, capsys, 0)["results"]
    assert (found["outcome"], found["since"], found["reconfigured"]) == ("noise", None, False)
    assert adjudge(monkeypatch, "calibrate", "runs/first", "--json") == 0
    judge.strict = 20
    look(monkeypatch, capsys, 4)
    path.write_text(was.replace("It is right.", "It is quite right."))
    (found,) = look(monkeypatch, capsys, 4)["results"]
    assert found["since"] == 1
    assert "evidence of its own looks" in found["sentence"]
    assert "The anchors' original judge changed, too, at look 3." in found["sentence"]
    Path("runs/judge-changes.json").unlink()
    run = ("calibrate", "runs/first", "--json", "--drift", "anchors.jsonl")
    assert adjudge(monkeypatch, *run) == 5


def test_a_look_at_another_judge_does_not_erase_a_change(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The history said that nothing had changed, with an evidence of 1 at the look before."""
    judge.strict = 18
    (before,) = look(monkeypatch, capsys, 4)["results"]
    judge.strict = 30
    path = Path("eval.yaml")
    path.write_text(path.read_text().replace("It is right.", "It is quite right."))
    (found,) = look(monkeypatch, capsys, 4)["results"]
    assert (found["outcome"], found["since"], found["other_judge"]) == ("changed", 1, [2])
    assert found["evidence"] == [*before["evidence"], 1.0]
    assert "the judge that the anchors are from changed" in found["sentence"]
    assert adjudge(monkeypatch, "drift", "history", "anchors.jsonl") == 4
    shown = capsys.readouterr().out
    assert "unchanged" in shown and "another" in shown


def test_a_few_other_verdicts_of_another_judge_are_not_called_noise(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    look(monkeypatch, capsys, 0)
    path = Path("eval.yaml")
    path.write_text(path.read_text().replace("It is right.", "It is quite right."))
    same = look(monkeypatch, capsys, 0)["results"][0]
    assert same["reconfigured"] and "anchors still have the same verdict" in same["sentence"]
    judge.strict = 28
    (found,) = look(monkeypatch, capsys, 5)["results"]
    assert (found["outcome"], found["differ"]) == ("cannot tell", 2)
    assert "was not compared with it; anchors that differ: 2 of 40" in found["sentence"]


def test_a_judge_beside_one_that_changed_keeps_its_labels(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    label("runs/first", 3)
    judge.strict = 20
    look(monkeypatch, capsys, 4)
    Path("runs/judge-changes.json").unlink()
    lines = Path("anchors.jsonl").read_text().splitlines()
    head = json.loads(lines[0])
    other = {**head, "identities": {"right": "another", "wrong": head["identities"]["right"]}}
    Path("anchors.jsonl").write_text("\n".join([json.dumps(other), *lines[1:]]))
    run = ("calibrate", "runs/first", "--json", "--drift", "anchors.jsonl")
    assert adjudge(monkeypatch, *run) == 0
    assert adjudge(monkeypatch, "card", "runs/first", "--drift", "anchors.jsonl") == 0
    assert "labels are older" not in " ".join(capsys.readouterr().out.split())


def label(run: str, quarters: int) -> None:
    """Labels of so many rows of four, each as the judge wunchanged."""
    rows = [one for one in records_of(run) if one.index % 4 < quarters]
    LabelStore(run).add(
        *(
            Label(
                row=one.identity,
                criteria="right",
                annotator="ann",
                option=str(one.verdict),
                design="random",
                at=time.time(),
            )
            for one in rows
        )
    )


def test_changes_of_two_judges_that_are_found_at_once_are_both_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = judge_changes._changes_in
    beside = threading.Thread(target=judge_changes.keep_changes, args=(tmp_path, {"two": 2.0}))

    def overtaken(runs: Path) -> dict[str, float]:
        found = read(runs)
        if not beside.ident:
            beside.start()
            beside.join(0.05)  # it waits
        return found

    monkeypatch.setattr(judge_changes, "_changes_in", overtaken)
    judge_changes.keep_changes(tmp_path, {"one": 1.0})
    beside.join()
    assert read(tmp_path) == {"one": 1.0, "two": 2.0}
