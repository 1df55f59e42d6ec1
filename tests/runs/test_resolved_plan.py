"""A plan: everything that an eval file names is looked up once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge.core.domain.instance import Instance
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.judges.direct import DirectJudge
from adjudge.runs import code_files, eval_file
from adjudge.runs.cli.file_watch import _files_of
from adjudge.runs.cli.resume import _what_file_does
from adjudge.runs.eval_file import EvalFile, parse_eval
from adjudge.runs.execute import execute
from adjudge.runs.plan import resolve
from adjudge.runs.project import Project
from adjudge.runs.results.outcome import RunOutcome
from adjudge.runs.trusted_folders import open_eval, trusting

CODE = """\
def answers(prompt):
    return "Yes"

def is_short(text):
    return len(text) < 9
"""
AGENTS = (
    "data: runs.jsonl\njudges:\n  - kind: agent\n    measures: [policy]\n"
    "    policy: rules.md\n    expect: calls.yaml\n"
)


def counted(
    monkeypatch: pytest.MonkeyPatch, where: object, name: str, key: str = ""
) -> Counter[object]:
    """Count the calls of a function by its first argument."""
    calls: Counter[object] = Counter()
    real = getattr(where, name)

    def call(*given: object, **more: object) -> object:
        calls[key or given[0]] += 1
        return real(*given, **more)

    monkeypatch.setattr(where, name, call)
    return calls


def eval_of(folder: Path, judges: str, more: str = "") -> EvalFile:
    (folder / "rows.csv").write_text("id,response\n1,one\n2,two\n")
    return parse_eval(f"data: rows.csv\n{more}judges:\n{judges}", folder / "eval.yaml")


def test_a_file_of_code_is_hashed_once_for_all_that_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.py").write_text(CODE)
    judges = (
        "  - {kind: direct, criteria: 'Is it clear?'}\n  - {kind: aspect, criteria: It is kind.}\n"
    )
    check = "  - {kind: check, name: NAME, checks: [{python: 'own.py:is_short'}]}\n"
    file = eval_of(
        tmp_path,
        judges + check.replace("NAME", "first") + check.replace("NAME", "second"),
        "models: own.py:answers\n",
    )
    hashed = counted(monkeypatch, code_files, "sha256")
    plan = resolve(file, cache=False)
    assert len(plan.judges) == 4
    assert list(plan.file.code.hashes) == [str(tmp_path / "own.py")]
    assert hashed == {tmp_path / "own.py": 1}


def test_what_decides_the_verdicts_is_put_together_once_for_run_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = eval_of(tmp_path, "  - {kind: direct, criteria: 'Is it clear?'}\n", "models: scripted\n")
    made = counted(monkeypatch, DirectJudge, "configuration", "judge")
    plan = resolve(file, cache=False)
    plan = replace(plan, folder=tmp_path / "run")
    outcome = RunOutcome(plan)
    with execute(plan, kept=outcome.facts) as events:
        for event in events:
            outcome.see(event)
    report = outcome.report()
    assert report.good_answer_lines
    assert report.setup.identities
    assert made == {"judge": 1}


def test_an_eval_file_is_parsed_once_also_with_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "eval.yaml"
    path.write_text("data: rows.csv\njudges:\n  - {kind: aspect, criteria: It is kind.}\n")
    parsed = counted(monkeypatch, eval_file, "load_yaml", "file")
    with trusting():
        file = open_eval(path, Project(model="scripted", language="ru"))
    assert (file.models[0].model, file.language) == ("scripted", "ru")
    assert parsed == {"file": 1}


def test_limits_of_the_caller_replace_those_of_the_file_one_by_one(tmp_path: Path) -> None:
    file = eval_of(
        tmp_path,
        "  - {kind: aspect, criteria: It is kind.}\n",
        "models: scripted\nbudget: {max_usd: 2, max_calls: 30}\n",
    )
    plan = resolve(file, budget=Budget(max_calls=0))
    assert plan.limits == Budget(max_usd=2, max_calls=0)
    assert plan.limited_to(Budget(max_tokens=5)).limits == Budget(2, 0, 5)
    assert plan.limited_to(None) is plan


def test_other_rows_are_judged_by_the_same_judges(tmp_path: Path) -> None:
    plan = resolve(
        eval_of(tmp_path, "  - {kind: aspect, criteria: It is kind.}\n", "models: scripted\n")
    )
    other = plan.over(replace(plan.file, rows=(Instance({"response": "Hello."}),)))
    assert (plan.total(), other.total()) == (2, 1)
    assert other.judges is plan.judges


def test_every_file_that_a_judge_reads_is_watched_and_named_before_a_run_of_others_is_resumed(
    tmp_path: Path,
) -> None:
    file = parse_eval(AGENTS, tmp_path / "eval.yaml")
    wanted = {tmp_path / "rules.md", tmp_path / "calls.yaml"}
    assert wanted <= set(_files_of(file))
    assert {str(path) for path in wanted} <= {what for _, what in _what_file_does(file)}
