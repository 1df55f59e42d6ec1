"""Code of the user's in eval files: shown and confirmed once, never run by reading a file."""

from __future__ import annotations

import json
import os
import py_compile
import sqlite3
import sys
from pathlib import Path

import pytest

from adjudge.errors import SetupError
from adjudge.runs.eval_file import load_eval, parse_eval
from adjudge.runs.plan import resolve
from adjudge.runs.restrictions import RUNS, needs_of_eval
from adjudge.runs.stored_eval import read_eval, write_eval
from support.commands import adjudge

ROWS = (
    "id,question,response\n1,why,Because of the refund.\n2,how,No idea.\n3,who,A refund is due.\n"
)
OWN = """
from pathlib import Path
from adjudge import BaseDirectJudge, BasePairwiseJudge

Path(__file__).with_name("loaded").touch()

class Long(BaseDirectJudge):
    def _run(self, instances, criteria):
        return ["Yes" if len(one.fields["response"]) > 10 else "No" for one in instances]

class First(BasePairwiseJudge):
    def _run(self, instances, criteria):
        return [0 for _ in instances]

class NotAJudge:
    pass

def yes(prompt):
    return '{"explanation": "so it is", "verdict": "PASS"}'

def polite(text, row):
    return "please" in text
"""
OPTIONS = (
    "{name: long, description: 'Is it long?', options: [{name: 'Yes', score: 1}, "
    "{name: 'No', score: 0}]}"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def write(project: Path, text: str) -> None:
    (project / "eval.yaml").write_text("data: rows.csv\n" + text)


def test_code_is_shown_and_trusted_once(project: Path, untrusting: Path) -> None:
    write(project, "checks: [{python: 'own.py:polite'}, {python: 'len(text) > 3'}]\n")
    refused = adjudge("run", "eval.yaml", cwd=project)
    assert refused.returncode == 1
    assert "own.py:polite" in refused.stderr
    assert "len(text) > 3" in refused.stderr
    assert "adjudge trust eval.yaml" in refused.stderr
    assert not (project / "loaded").exists()
    assert adjudge("trust", "eval.yaml", "--yes", cwd=project).returncode == 0
    assert not (project / "loaded").exists()
    assert adjudge("run", "eval.yaml", cwd=project).returncode == 0
    assert (project / "loaded").exists()
    write(project, "checks: [{python: 'own.py:other'}, {python: 'len(text) > 3'}]\n")
    assert "+ runs" in adjudge("run", "eval.yaml", cwd=project).stderr, "this is other code"


@pytest.mark.parametrize("flag", ["--trust", "--yes"])
def test_a_flag_trusts_one_command_alone(project: Path, untrusting: Path, flag: str) -> None:
    write(project, "checks: {python: 'own.py:polite'}\n")
    assert adjudge("run", "eval.yaml", flag, cwd=project).returncode == 0
    assert (project / "loaded").exists()
    assert adjudge("run", "eval.yaml", cwd=project).returncode == 1
    assert not list(untrusting.iterdir())


def test_reading_a_file_runs_nothing(project: Path) -> None:
    write(
        project,
        "target: own.py:yes\nmodels: own:yes\nchecks: {python: 'own.py:polite'}\n"
        f"judges: [{{kind: python, judge: 'own:Long', criteria: {OPTIONS}}}]\n",
    )
    file = load_eval(project / "eval.yaml")
    kept = read_eval(json.loads(json.dumps(write_eval(file))), "a folder")
    for one in (file, kept):
        code = [need.what for need in needs_of_eval(one) if need.verb == RUNS]
        assert code == ["own:yes", "own.py:polite", "own:Long", "own.py:yes"]
    assert not (project / "loaded").exists()


def test_a_run_with_checks_and_a_target_is_resumed_from_its_folder(project: Path) -> None:
    write(
        project,
        "target: {function: 'own:yes', name: app}\nrepeat: 2\n"
        "checks: [{contains: PASS, required: true}, {not: {contains: {any: [sorry, no]}}}]\n",
    )
    (project / "own.py").write_text("def yes(question):\n    return 'PASS ' + question\n")
    assert adjudge("run", "eval.yaml", "--yes", cwd=project).returncode == 0
    before = (project / "eval.yaml").read_text()
    (project / "eval.yaml").unlink()
    folder = project / "runs" / "eval"
    with sqlite3.connect(folder / "ledger.sqlite") as ledger:
        ledger.execute("DELETE FROM judgments WHERE number > 3")
    again = adjudge("resume", "runs/eval", cwd=project)
    assert again.returncode == 0, again.stderr
    (project / "eval.yaml").write_text(before)
    assert adjudge("run", "eval.yaml", cwd=project).returncode == 0


def test_a_judge_of_ones_own(project: Path) -> None:
    write(
        project,
        f"judges: {{kind: python, judge: 'own:Long', criteria: {OPTIONS}, strictness: 1}}\n",
    )
    done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    assert [one["option"] for one in json.loads(done.stdout)["results"]] == ["Yes", "No", "Yes"]


def test_a_model_of_ones_own(project: Path) -> None:
    write(project, "models: own.py:yes\njudges: {kind: aspect, criteria: It is polite.}\n")
    done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    assert [one["verdict"] for one in json.loads(done.stdout)["results"]] == ["PASS"] * 3


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("{kind: python, judge: 'own:NotAJudge'}", "is not a judge"),
        ("{kind: python, judge: 'own:Nobody'}", "has no function 'Nobody'"),
        ("{kind: python, judge: 'nowhere_at_all:X'}", "cannot be loaded: ModuleNotFoundError"),
        ("{kind: python, judge: 'own:Long'}", "add criteria"),
        (f"{{kind: python, judge: 'own:First', criteria: {OPTIONS}}}", "add compares: true"),
        (
            f"{{kind: python, judge: 'own:Long', compares: true, criteria: {OPTIONS}}}",
            "leave compares out",
        ),
        (
            f"{{kind: python, judge: 'own:Long', options: {{size: 3}}, criteria: {OPTIONS}}}",
            "cannot be created with these options",
        ),
        ("{kind: direct, criteria: It is so., after: checks}", "add checks to the file"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(project: Path, judge: str, said: str) -> None:
    write(project, f"judges:\n  - {judge}\n")
    with pytest.raises(SetupError, match=rf"(?s)line 3.*{said}"):
        resolve(load_eval(project / "eval.yaml"))


def test_judges_after_checks_are_asked_about_what_passes(project: Path) -> None:
    write(
        project,
        "models: scripted/PASS\nchecks: [{contains: refund, required: true}, words: {most: 3}]\n"
        "judges: {kind: aspect, criteria: It is polite., name: polite, after: checks}\n"
        "gates: {fail_under: {polite: 1}, max_failed: 0}\n",
    )
    dry = adjudge("run", "eval.yaml", "--dry-run", "--json", cwd=project)
    assert json.loads(dry.stdout)["results"][0]["calls"]["upper"] == 2
    done = adjudge("run", "eval.yaml", "--json", "-o", "out.csv", cwd=project)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    polite = [one for one in found["results"] if one["criteria"] == "polite"]
    assert [one["status"] for one in polite] == ["scored", "skipped", "scored"]
    assert polite[1]["score"] is None
    assert "it lacks 'refund'" in polite[1]["reason"]
    assert found["summary"]["calls"] == 2
    (summary,) = [one for one in found["criteria"] if one["judge"] == "polite"]
    assert (summary["attempted"], summary["skipped"], summary["mean"]) == (2, 1, 1.0)
    shown = adjudge("run", "eval.yaml", cwd=project)
    assert "1 row was not judged" in shown.stdout
    assert "skipped" in (project / "out.csv").read_text()


def test_after_checks_of_what_a_target_says(project: Path) -> None:
    (project / "own.py").write_text(
        "def app(question):\n    return 'refund' if question == 'why' else 'nothing'\n"
    )
    write(
        project,
        "target: own.py:app\nmodels: scripted/PASS\nchecks: {contains: refund}\n"
        "judges: {kind: aspect, criteria: It is polite., name: polite, after: checks}\n",
    )
    done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    polite = [one for one in json.loads(done.stdout)["results"] if one["criteria"] == "polite"]
    assert [one["status"] for one in polite] == ["scored", "skipped", "skipped"]


def test_a_target_is_typed(project: Path) -> None:
    write(project, "checks: {contains: PASS}\n")
    (project / "own.py").write_text("def app(row):\n    return 'PASS'\n")
    done = adjudge("run", "eval.yaml", "--target", "own.py:app", "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    assert [one["verdict"] for one in json.loads(done.stdout)["results"]] == ["PASS"] * 3


def test_variables_and_the_file_that_sets_them(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE", "scripted/PASS")
    (project / ".env").write_text(
        "# ours\nexport WANTED='It is polite.'\nJUDGE=other\nTIMES=2 # twice\nPATH=/nowhere\n"
    )
    write(
        project,
        "models: [$JUDGE]\njudges: {kind: aspect, criteria: '${WANTED}', name: '${NAME:-polite}', "
        "strictness: '${TIMES}'}\n",
    )
    done = adjudge("run", "eval.yaml", "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    assert [one["criteria"] for one in results] == ["polite"] * 3
    assert results[0]["votes_requested"] == 2
    kept = (project / "runs" / "eval" / "ledger.sqlite").read_bytes()
    assert b"/nowhere" not in kept


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models: [$NOT_SET_ANYWHERE]", "NOT_SET_ANYWHERE is not set"),
        ("models: ['openai/${MY_API_KEY}']", "MY_API_KEY contains a key"),
        ("models: ['openai/${PLAIN}']", "PLAIN contains a key"),
    ],
)
def test_keys_do_not_come_into_files(text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "abc")
    monkeypatch.setenv("PLAIN", "sk-proj-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z")
    with pytest.raises(SetupError, match=said) as error:
        parse_eval(f"data: x.csv\n{text}\njudges: {{kind: aspect, criteria: harmful}}\n")
    assert "sk-proj" not in str(error.value)


def test_a_dollar_is_a_dollar() -> None:
    file = parse_eval(
        "data: x.csv\nmodels: 'scripted/$$PASS'\nchecks: [{regex: '^[$]{2}$'}, {contains: $5}, "
        "{contains: $$HOME}, {equals: 'a $${b}'}]\n"
    )
    checks = [one.check for one in file.judges[0].checks]  # type: ignore[attr-defined]
    assert [getattr(one, "pattern", getattr(one, "text", None)) for one in checks] == [
        "^[$]{2}$",
        "$5",
        "$HOME",
        "a ${b}",
    ]
    assert file.models[0].model == "scripted/$$PASS"


@pytest.mark.parametrize(
    ("changed", "imports"),
    [
        ("own.py", ""),
        ("helper.py", "import helper"),
        ("deep/inner.py", "from deep import inner"),
        ("second.py", "import first"),
        ("helper.py", "import importlib; importlib.import_module('hel' + 'per')"),
        ("helper.py", "__import__('helper')"),
    ],
)
def test_changed_code_is_asked_about_again(
    project: Path, untrusting: Path, changed: str, imports: str
) -> None:
    write(project, "checks: {python: 'own.py:polite'}\n")
    (project / "own.py").write_text(f"{imports}\n{OWN}")
    (project / "deep").mkdir()
    for name, text in {
        "helper.py": "",
        "first.py": "import second",
        "second.py": "",
        "deep/__init__.py": "",
        "deep/inner.py": "",
    }.items():
        (project / name).write_text(text)
    adjudge("trust", "eval.yaml", "--yes", cwd=project)
    assert adjudge("run", "eval.yaml", cwd=project).returncode == 0
    (project / "loaded").unlink()
    (project / changed).write_text(f"{(project / changed).read_text()}\n# more\n")
    refused = adjudge("run", "eval.yaml", cwd=project)
    assert refused.returncode == 1
    assert f"+ changed  {changed}" in refused.stderr
    assert not (project / "loaded").exists()


def test_code_of_others_beside_it_may_change(project: Path, untrusting: Path) -> None:
    write(project, "checks: {python: 'own.py:polite'}\n")
    (project / "scripts").mkdir()
    (project / "scripts" / "unrelated.py").write_text("")
    adjudge("trust", "eval.yaml", "--yes", cwd=project)
    (project / "scripts" / "unrelated.py").write_text("1\n")
    (project / "notes.txt").write_text("1\n")
    assert adjudge("run", "eval.yaml", cwd=project).returncode == 0


@pytest.mark.parametrize("name", ["gzip.py", "orjson/__init__.py", "gzip.pyc"])
def test_a_new_module_beside_it_is_asked_about(project: Path, untrusting: Path, name: str) -> None:
    """It stands before the one that a library imports."""
    write(project, "checks: {python: 'own.py:polite'}\n")
    adjudge("trust", "eval.yaml", "--yes", cwd=project)
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("1\n")
    refused = adjudge("run", "eval.yaml", cwd=project)
    assert refused.returncode == 1
    assert f"+ changed  {name}" in refused.stderr
    assert not (project / "loaded").exists()


@pytest.mark.parametrize("when", ["import helper\n", "def late():\n    import helper\nlate()\n"])
@pytest.mark.parametrize("kind", ["function", "command"])
def test_compiled_files_of_the_folder_are_not_run(
    project: Path, untrusting: Path, when: str, kind: str
) -> None:
    """They say which source they are of, and nobody can tell whether that is true."""
    ours = f"target: {{command: [{sys.executable}, app.py]}}\nchecks: {{contains: a}}\n"
    write(project, ours if kind == "command" else "checks: {python: 'own.py:polite'}\n")
    (project / "own.py").write_text(f"{when}\n{OWN}")
    (project / "app.py").write_text(f"{when}\nprint('a')\n")
    helper, seen = project / "helper.py", "1 # nothing happens in here, it is only a comment"
    bad = "open('planted', 'w')".ljust(len(seen))
    helper.write_text(bad)
    os.utime(helper, (1_700_000_000, 1_700_000_000))
    compiled = py_compile.compile(str(helper), doraise=True)
    helper.write_text(seen)
    os.utime(helper, (1_700_000_000, 1_700_000_000))
    assert adjudge("trust", "eval.yaml", "--yes", cwd=project).returncode == 0
    assert compiled and Path(compiled).is_file()
    done = adjudge("run", "eval.yaml", cwd=project)
    assert done.returncode == 0, done.stderr
    assert not (project / "planted").exists()


@pytest.mark.parametrize("kind", ["command", "function"])
def test_every_file_of_code_that_cannot_be_followed_counts(
    project: Path, untrusting: Path, kind: str
) -> None:
    files = ("Makefile", "package.json", ".tools/x", "lib.zip", "tool/x.txt", "ledger/x.sh")
    ours = "target: {command: [echo, a]}\nchecks: {contains: a}\n"
    write(project, ours if kind == "command" else "checks: {python: 'own.py:polite'}\n")
    (project / "own.py").write_text(f"import subprocess\n{OWN}".replace("loaded", "loaded.log"))
    for changed in files:
        (project / changed).parent.mkdir(exist_ok=True)
        (project / changed).write_text("a\n")
        (project / changed).with_name("pyvenv.cfg").touch()
        if changed.endswith((".sh", "file")):  # it does not hide programs, nor the folder itself
            (project / changed).with_name("ledger.sqlite").touch()
    adjudge("trust", "eval.yaml", "--yes", cwd=project)
    for _ in range(2):  # what a run writes does not count
        done = adjudge("run", "eval.yaml", "-o", "results.csv", cwd=project)
        assert done.returncode == 0, done.stderr
    for changed in files:
        (project / changed).write_text("b\n")
        refused = adjudge("run", "eval.yaml", cwd=project)
        assert refused.returncode == 1
        assert f"+ changed  {changed}" in refused.stderr
        (project / changed).write_text("a\n")


@pytest.mark.parametrize("changed", ["app.sh", "lib.sh"])
def test_every_program_of_a_command_counts(project: Path, untrusting: Path, changed: str) -> None:
    write(project, "target: {command: [sh, app.sh]}\nchecks: {contains: a}\n")
    (project / "app.sh").write_text(". ./lib.sh\n")
    (project / "lib.sh").write_text("echo a\n")
    adjudge("trust", "eval.yaml", "--yes", cwd=project)
    assert adjudge("run", "eval.yaml", cwd=project).returncode == 0
    (project / changed).write_text("touch loaded; echo a\n")
    assert adjudge("run", "eval.yaml", cwd=project).returncode == 1
    assert not (project / "loaded").exists()


def test_a_resumed_run_asks_about_changed_code(project: Path) -> None:
    write(project, "checks: {python: 'own.py:polite'}\n")
    assert adjudge("run", "eval.yaml", cwd=project).returncode == 0
    assert adjudge("resume", "runs/eval", cwd=project).returncode == 0
    (project / "loaded").unlink()
    (project / "own.py").write_text(OWN + "\n# more\n")
    refused = adjudge("resume", "runs/eval", cwd=project)
    assert refused.returncode == 1
    assert "runs    own.py:polite" in refused.stderr
    assert not (project / "loaded").exists()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("target: {model: 'own.py:yes'}\nprompts: p.txt\nchecks: {contains: a}\n", "own.py:yes"),
        (
            "target: {url: 'http://127.0.0.1:9/', headers: {X: $SECRET_OF_MINE}}\n"
            "checks: {contains: a}\n",
            "sends  the header X: $SECRET_OF_MINE to http://127.0.0.1:9/",
        ),
    ],
)
def test_a_target_that_is_code_or_is_sent_secrets_is_shown(
    project: Path, untrusting: Path, text: str, shown: str
) -> None:
    (project / "p.txt").write_text("{question}")
    write(project, text)
    refused = adjudge("run", "eval.yaml", "--dry-run", cwd=project)
    assert refused.returncode == 1
    assert shown in refused.stderr
    assert not (project / "loaded").exists()


def test_a_project_file_names_no_code(project: Path) -> None:
    (project / "adjudge.toml").write_text('model = "own.py:yes"\n')
    refused = adjudge("check", "hello", "--criterion", "It is polite.", cwd=project)
    assert "unknown model 'own.py:yes'" in refused.stderr
    assert not (project / "loaded").exists()


@pytest.mark.parametrize(
    "text",
    [
        "checks: {python: 'exit(0)'}\n",
        "models: own.py:leave\njudges: {kind: aspect, criteria: It is polite.}\n",
    ],
)
def test_leaving_is_a_failure_and_no_green_gate(project: Path, text: str) -> None:
    (project / "own.py").write_text("import sys\ndef leave(prompt):\n    sys.exit(0)\n")
    write(project, f"{text}gates: {{fail_under: 0.9}}\n")
    done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=project)
    assert done.returncode in (3, 5), done.stderr
    assert {one["status"] for one in json.loads(done.stdout)["results"]} == {"failed"}


def test_repeats_of_a_row_are_not_more_rows(project: Path) -> None:
    (project / "own.py").write_text(
        "def app(question):\n    return 'yes' if question in 'abcdefgh' else 'no'\n"
    )
    (project / "rows.csv").write_text(
        "id,question\n" + "".join(f"{n},{n}\n" for n in "abcdefghijklmnop")
    )
    text = "target: own.py:app\nrepeat: {times}\nchecks: {{contains: 'yes'}}\n"
    found = []
    for times in (1, 6):
        write(project, text.format(times=times))
        done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=project)
        (section,) = json.loads(done.stdout)["criteria"]
        found.append(section["interval"])
    assert found[1]["upper"] - found[1]["lower"] > 0.9 * (found[0]["upper"] - found[0]["lower"])


def test_a_limit_counts_rows_and_not_answers(project: Path) -> None:
    (project / "own.py").write_text("def app(question):\n    return 'yes'\n")
    text = "data: {path: rows.csv, limit: 2}\ntarget: own.py:app\nrepeat: 3\nchecks: {contains: e}"
    (project / "eval.yaml").write_text(text)
    for _ in range(2):
        done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=project)
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)["results"]) == 6


def test_what_an_application_costs_cannot_be_told(project: Path) -> None:
    (project / "own.py").write_text("def app(question):\n    return 'yes'\n")
    write(project, "target: own.py:app\nchecks: {cost: 1}\n")
    done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=project)
    assert {one["verdict"] for one in json.loads(done.stdout)["results"]} == {None}


def test_every_column_that_may_hold_the_reference_stays_behind(project: Path) -> None:
    (project / "own.py").write_text("import json\ndef app(row):\n    return json.dumps(row)\n")
    (project / "rows.csv").write_text(
        "id,question,reference,expected_output,ground_truth\n1,why,r,e,g\n"
    )
    write(project, "target: own.py:app\nchecks: {words: {least: 1}}\n")
    done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=project)
    (one,) = json.loads(done.stdout)["results"]
    said = json.loads(one["fields"]["response"])
    assert set(said) == {"id", "question", "user_input"}


def test_an_edited_application_is_asked_again(project: Path) -> None:
    (project / "own.py").write_text("def app(question):\n    return 'yes'\n")
    write(project, "target: own.py:app\nchecks: {contains: 'yes'}\n")
    assert adjudge("run", "eval.yaml", "--yes", cwd=project).returncode == 0
    (project / "own.py").write_text("def app(question):\n    return 'no, it is not'\n")
    again = adjudge("run", "eval.yaml", "--yes", "--json", cwd=project)
    assert {one["verdict"] for one in json.loads(again.stdout)["results"]} == {"FAIL"}
    assert (project / "runs" / "eval-2").is_dir()


def test_a_child_that_keeps_the_pipe_open_holds_nobody_up(project: Path) -> None:
    (project / "app.sh").write_text("sleep 600 &\necho done\n")
    write(project, "target: {name: app, command: [sh, app.sh]}\nchecks: {contains: done}\n")
    done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=project)
    assert done.returncode == 0, done.stderr


def test_a_dry_run_counts_a_judgment_for_every_answer(project: Path) -> None:
    (project / "own.py").write_text("def app(question):\n    return 'yes'\n")
    write(
        project,
        "target: own.py:app\nrepeat: 4\nmodels: scripted/PASS\n"
        "judges: {kind: aspect, criteria: It is polite.}\n",
    )
    dry = adjudge("run", "eval.yaml", "--yes", "--dry-run", "--json", cwd=project)
    assert json.loads(dry.stdout)["results"][0]["calls"]["upper"] >= 24


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("{model: openai/gpt-4o, base_url: 'https://other.example/v1'}", "$OPENAI_API_KEY"),
        (
            "{model: openai/gpt-4o, base_url: 'https://other.example/v1', api_key_env: MY_TOKEN}",
            "$MY_TOKEN",
        ),
        (
            "{model: openai/gpt-4o, base_url: 'https://other.example/v1', "
            "headers: {Authorization: 'Bearer $SECRET'}}",
            "$SECRET",
        ),
        ("{model: openai/gpt-4o, base_url: 'http://127.0.0.1:8000/v1'}", "$OPENAI_API_KEY"),
        ("{model: own, base_url: 'http://127.0.0.1:8000/v1'}", ""),
        ("'http://localhost:8000/v1#m'", ""),
        ("'http://me.localhost:8000/v1#m'", "rows to http://me.localhost:8000/v1"),
        ("{model: openai/gpt-4o, base_url: 'https://api.openai.com/v1/'}", ""),
        ("{model: openai/gpt-4o, api_key_env: OPENAI_API_KEY}", ""),
        ("{model: openai/gpt-4o, api_key_env: MY_TOKEN}", "$MY_TOKEN"),
        ("openai/gpt-4o", ""),
        ("ollama/llama3.2:3b", ""),
        ("'https://other.example/v1#m'", "rows to https://other.example/v1"),
    ],
)
def test_an_address_that_a_file_names_gets_no_key_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, sent: str
) -> None:
    for name in ("OPENAI_API_KEY", "MY_TOKEN", "SECRET"):
        monkeypatch.setenv(name, "a secret value")
    file = parse_eval(
        f"data: rows.csv\nmodels: [{model}]\njudges: [{{kind: aspect, criteria: politeness}}]\n",
        tmp_path / "eval.yaml",
    )
    told = " ".join(str(need.what) for need in needs_of_eval(file))
    assert (sent in told) if sent else not told
    assert "a secret value" not in told


EDITED = [
    (
        "models: own.py:yes\njudges: {kind: aspect, criteria: It is polite.}\n",
        'so it is", "verdict": "PASS',
        'it is not", "verdict": "FAIL',
    ),
    (f"judges: {{kind: python, judge: 'own:Long', criteria: {OPTIONS}}}\n", "> 10", "> 1000"),
    ("checks: {python: 'own.py:polite'}\n", '"please" in text', '"please" not in text'),
]


@pytest.mark.parametrize(("text", "before", "now"), EDITED)
def test_verdicts_of_code_that_was_edited_are_not_taken(
    project: Path, text: str, before: str, now: str
) -> None:
    write(project, text)

    def verdicts(*further: str) -> list[str]:
        done = adjudge("run", "eval.yaml", "--yes", "--json", *further, cwd=project)
        assert done.returncode == 0, done.stderr
        return [one.get("verdict") or one["option"] for one in json.loads(done.stdout)["results"]]

    first = verdicts("--run", "mine")
    assert verdicts() == first
    (project / "own.py").write_text(OWN.replace(before, now))
    assert verdicts() != first
    refused = adjudge("run", "eval.yaml", "--yes", "--run", "mine", cwd=project)
    assert refused.returncode == 1, "these are the verdicts of other code"


def test_a_judge_that_is_not_written_is_noticed_before_anybody_is_asked(project: Path) -> None:
    (project / "own.py").write_text("from adjudge import BaseDirectJudge as Unwritten\n")
    write(project, f"judges:\n  - {{kind: python, judge: 'own:Unwritten', criteria: {OPTIONS}}}\n")
    with pytest.raises(SetupError, match="must define _run"):
        resolve(load_eval(project / "eval.yaml"))


def test_a_judge_of_models_need_not_write_what_judges_of_ones_own_do(project: Path) -> None:
    (project / "own.py").write_text("from adjudge import DirectJudge as Asks\n")
    entry = f"{{kind: python, judge: 'own:Asks', criteria: {OPTIONS}}}"
    write(project, f"models: scripted\njudges:\n  - {entry}\n")
    (ready,) = resolve(load_eval(project / "eval.yaml")).judges
    assert list(ready.judge.panel) == ["scripted"]
