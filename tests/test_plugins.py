"""The package that the documents show, installed; and broken plugins, each of them one line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from adjudge.plugins import KINDS, OURS, resolve
from support import commands

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/plugins.md").read_text(encoding="utf-8")
FILES = {
    name: text
    for text, name in re.findall(
        r"^```\w+\n(\{?# (\S+\.\w+)(?: #\})?\n.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
    )
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package of the page is installed."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for name, text in {**FILES, "acme/__init__.py": "", "acme/criteria/__init__.py": ""}.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([*pip, *offline, str(source)], check=True, capture_output=True)
    return target


def adjudge(
    site: Path, *words: str, cwd: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    found = {**os.environ, "PYTHONPATH": str(site), **(environment or {})}
    return commands.adjudge(*words, cwd=cwd, environment=found)


def bring(site: Path, package: str, group: str, entry: str, code: str = "") -> None:
    """Put a package there as pip leaves it."""
    module = package.replace("-", "_")
    (site / f"{module}.py").write_text(code, encoding="utf-8")
    about = site / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8"
    )
    (about / "entry_points.txt").write_text(f"[adjudge.{group}]\n{entry}\n", encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_our_own_parts_are_what_their_kind_wants(kind: str) -> None:
    wanted = resolve(KINDS[kind])
    assert isinstance(wanted, type)
    for name, target in OURS[kind].items():
        found = resolve(target)
        if kind in ("details", "sections", "modes"):
            assert isinstance(found, type) and issubclass(found, wanted), target
            assert getattr(found, "kind" if kind == "details" else "name", None) == name
            continue
        assert isinstance(found, wanted), target
        if kind == "documents":
            assert get_args(get_type_hints(found)["kind"]) == (name,)
        if kind in ("models", "importers", "commands"):
            assert getattr(found, "name", None) == name


def test_every_part_of_the_page_is_short() -> None:
    assert len(FILES) == 19
    head = len(FILES["pyproject.toml"].splitlines())
    assert all(len(text.splitlines()) + head < 72 for text in FILES.values())
    parts = ("pyproject", "judges", "records", "sections", "commands", "pages", ".jinja")
    own = [text for name, text in FILES.items() if any(part in name for part in parts)]
    lines = sum(len(text.splitlines()) for text in own)
    assert lines < 200, "a judge with its record, report section, command and page"


def test_the_package_of_the_page_is_listed(site: Path, tmp_path: Path) -> None:
    done = adjudge(site, "plugins", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["summary"] == {"plugins": 15, "broken": 0}
    assert {one["kind"] for one in found["results"]} == set(KINDS)
    assert {(one["package"], one["version"], one["state"]) for one in found["results"]} == {
        ("adjudge-acme", "1.0.0", "works")
    }
    russian = adjudge(site, "plugins", "--language", "ru", cwd=tmp_path).stdout
    assert russian.split()[:5] == ["имя", "вид", "пакет", "версия", "состояние"]


def test_the_schema_has_documents_of_packages(site: Path, tmp_path: Path) -> None:
    done = adjudge(site, "schema", "results", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    schema = json.loads(done.stdout)
    assert {"$ref": "#/$defs/Counts"} in schema["oneOf"]
    assert schema["$defs"]["Counts"]["properties"]["kind"] == {"enum": ["counts"]}


def test_a_document_that_cannot_be_described_is_one_warning(tmp_path: Path) -> None:
    code = "from typing import TypedDict\n\nclass Bad(TypedDict):\n    kind: 'Missing'\n"
    bring(tmp_path, "bad-documents", "documents", "bad = bad_documents:Bad", code)
    done = adjudge(tmp_path, "schema", "results", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Bad" not in json.loads(done.stdout)["$defs"]
    assert "bad-documents 1.0" in done.stderr and "Traceback" not in done.stderr


def test_each_part_of_the_page_works(site: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(f"response\nShort.\n{'long ' * 30}\n", encoding="utf-8")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nmodels: [acme/Polite]\njudges:\n  - {kind: short, most: 20}\n"
        "  - {kind: direct, criteria: acme/tone}\n",
        encoding="utf-8",
    )
    key = {"ACME_API_KEY": "k"}
    done = subprocess.run(  # modes are found when the command is loaded, so in a new process
        [
            *(sys.executable, "-m", "adjudge", "run", "eval.yaml", "--json"),
            *("--shout", "--listener", "acme"),
        ],
        cwd=tmp_path,
        env={**os.environ, **key, "PYTHONPATH": f"{site}{os.pathsep}{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "2 JUDGE(S)!" in done.stderr and " events" in done.stderr
    found = json.loads(done.stdout)
    verdicts = [one["option"] for one in found["results"]]
    assert sorted(verdicts) == ["No", "Polite", "Polite", "Yes"]
    recorded = json.dumps(found["run"])
    assert "acme/Polite [adjudge-acme 1.0.0]" in recorded
    assert '"plugin": "adjudge-acme 1.0.0"' in recorded

    done = adjudge(site, "export", "runs/eval", "-o", "out.tsv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.tsv").read_text(encoding="utf-8").splitlines()) == 4
    assert adjudge(site, "count", "runs/eval", cwd=tmp_path).stdout == "4\n"

    (tmp_path / "acme.csv").write_text("acme_answer,acme_verdict\nHi.,yes\n", encoding="utf-8")
    for words in (["--as", "acme"], []):
        run = f"imported{len(words)}"
        done = adjudge(site, "import", "acme.csv", "--run", run, *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert adjudge(site, "count", run, cwd=tmp_path).stdout == "1\n"


def test_the_source_of_the_page_reads_rows_that_an_eval_file_names(
    site: Path, tmp_path: Path
) -> None:
    (tmp_path / "answers.lines").write_text("Short.\nAlso short.\n", encoding="utf-8")
    judges = "judges: [{kind: short, most: 20}]\n"
    for name, text in (("eval", "as: lines"), ("other", "as: linse")):
        data = f"data: {{path: answers.lines, {text}}}\n"
        (tmp_path / f"{name}.yaml").write_text(data + judges, encoding="utf-8")
    done = adjudge(site, "run", "eval.yaml", "--json", "--trust", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [one["id"] for one in json.loads(done.stdout)["results"]] == ["line 1", "line 2"]
    done = adjudge(site, "run", "other.yaml", "--trust", cwd=tmp_path)
    assert done.returncode == 1
    assert "did you mean 'lines'?" in done.stderr


def run_short(site: Path, folder: Path) -> None:
    """Judge two rows with the judge of the page, which has its own kind of record, and a check."""
    (folder / "rows.csv").write_text(f"response\nShort.\n{'long ' * 30}\n", encoding="utf-8")
    (folder / "eval.yaml").write_text(
        "data: rows.csv\njudges:\n  - {kind: short, most: 20}\n"
        "checks:\n  - {words: {most: 10}, name: brief}\n",
        encoding="utf-8",
    )
    done = adjudge(site, "run", "eval.yaml", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    short = [one for one in json.loads(done.stdout)["results"] if "characters" in one]
    assert sorted((one["option"], one["characters"]) for one in short) == [("No", 150), ("Yes", 6)]


def test_a_section_is_in_every_form_of_a_report(site: Path, tmp_path: Path) -> None:
    run_short(site, tmp_path)
    remark = "short: Is it short?: 156 characters"

    shown = adjudge(site, "runs", "show", "runs/eval", cwd=tmp_path)
    assert remark in shown.stdout, shown.stderr
    as_json = adjudge(site, "runs", "show", "runs/eval", "--json", cwd=tmp_path)
    criteria = {one["criteria"]: one for one in json.loads(as_json.stdout)["criteria"]}
    assert criteria["Is it short?"]["characters"] == 156
    assert "characters" not in criteria["brief"]

    pages = {}
    for kind in ("md", "html"):
        words = ("report", "runs/eval", "--to", kind, "-o", "-")
        pages[kind] = adjudge(site, *words, cwd=tmp_path).stdout
        assert remark in pages[kind].replace("\\", "")
        assert "The longest text has 150 characters." in pages[kind]
    assert "<h2>Lengths: short: Is it short?</h2>" in pages["html"]

    schema = json.loads(adjudge(site, "schema", "results", cwd=tmp_path).stdout)
    assert "characters" in schema["$defs"]["Criteria"]["properties"]
    assert "characters" not in schema["$defs"]["Criteria"]["required"]


def test_a_section_that_cannot_be_loaded_is_a_warning(site: Path, tmp_path: Path) -> None:
    run_short(site, tmp_path)
    broken = tmp_path / "broken"
    shutil.copytree(site, broken)
    (broken / "acme" / "sections.py").write_text("raise ValueError('gone')\n", encoding="utf-8")
    shown = adjudge(broken, "runs", "show", "runs/eval", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "adjudge-acme 1.0.0 (adjudge.sections: lengths): ValueError: gone" in shown.stderr
    assert "characters" not in shown.stdout and "short" in shown.stdout


def test_a_run_opens_without_the_package_of_its_records(site: Path, tmp_path: Path) -> None:
    run_short(site, tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    reason = "unknown kind short: install the package that provides it"

    shown = adjudge(empty, "report", "runs/eval", "--to", "md", "-o", "-", cwd=tmp_path)
    assert "Traceback" not in shown.stderr
    assert reason in shown.stdout
    assert "brief" in shown.stdout
    words = ("report", "runs/eval", "--to", "md", "-o", "-", "--language", "ru")
    assert "неизвестный вид short" in adjudge(empty, *words, cwd=tmp_path).stdout

    exported = adjudge(empty, "export", "runs/eval", "-o", "rows.jsonl", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    unknown = [row for row in rows if row["judge"] == "short"]
    assert [(row["status"], row["score"], row["reason"]) for row in unknown] == [
        ("failed", None, reason)
    ] * 2
    assert sorted(row["unknown_kind"]["characters"] for row in unknown) == [6, 150]
    assert {row["status"] for row in rows if row["judge"] != "short"} == {"scored"}

    done = adjudge(empty, "import", "rows.jsonl", "--run", "again", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = adjudge(site, "export", "again", "-o", "again.jsonl", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    rows = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text().splitlines()]
    known = [row for row in rows if row["judge"] == "short"]
    assert sorted((row["kind"], row["option"], row["characters"]) for row in known) == [
        ("short", "No", 150),
        ("short", "Yes", 6),
    ]
    assert {row["status"] for row in known} == {"scored"}


def test_a_cluster_is_found_by_the_scheme_of_its_address(site: Path, tmp_path: Path) -> None:
    code = (
        "from adjudge import AspectCritic, RunSettings, ScriptedModel\n"
        "judge = AspectCritic('Is it polite?', ScriptedModel())\n"
        "found = judge.evaluate(['a', 'b'], run=RunSettings('kept', on='acme://here'))\n"
        "assert len(found) == 2\n"
        "judge.evaluate(['a'], run=RunSettings('kept', on='acmee://here'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(site), str(ROOT / "src")))},
        capture_output=True,
        text=True,
    )
    assert (tmp_path / "kept" / "ledger.sqlite").is_file(), done.stderr
    assert (
        "'acmee://here' is not the address of a cluster: it must begin with one of ray"
        in done.stderr
    )
    assert "acme" in done.stderr.splitlines()[-1]


def test_a_store_is_opened_by_its_scheme(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adjudge.features.scale.partition import opened_store

    monkeypatch.syspath_prepend(site)
    assert str(tmp_path) in opened_store(f"acme://{tmp_path}").name


def test_a_model_is_given_its_own_key_alone(site: Path, tmp_path: Path) -> None:
    words = ("check", "Hi.", "--criterion", "Is it polite?", "-m", "acme/PASS")
    done = adjudge(site, *words, cwd=tmp_path, environment={"OPENAI_API_KEY": "k"})
    assert done.returncode != 0
    assert "set ACME_API_KEY" in done.stderr


BROKEN = {
    "raises": ("commands", "raises = raises:x", "raise RuntimeError('boom')", "RuntimeError: boom"),
    "own-kind": (
        "commands",
        "own-kind = own_kind:x",
        "class Own(BaseException): ...\nraise Own('of no kind that is usual')",
        "Own: of no kind that is usual",
    ),
    "missing": ("commands", "missing = missing:x", "", "has no attribute 'x'"),
    "wrong": ("models", "wrong = wrong:x", "x = 'text'", "is a str, not a ProviderSpec"),
    "clash": (
        "commands",
        "check = clash:x",
        "",
        "adjudge has a built-in part of the same name, which takes precedence",
    ),
    "kind": ("model", "kind = kind:x", "", "unknown kind 'model'"),
    "one": ("models", "same = one:x", "", "two provides the same name"),
    "two": ("models", "same = two:x", "", "one provides the same name"),
    "thief": (
        "models",
        "thief = thief:x",
        "from adjudge.core.gateway.registry import *\nx = ProviderSpec('thief', OPENAI.adapter, "
        "'http://localhost/v1', 'OPENAI_API_KEY')",
        "OPENAI_API_KEY is reserved for the key of openai",
    ),
    "renamed": (
        "commands",
        "renamed = renamed:x",
        "import click\nx = click.Command('other')",
        "is named 'other', but its entry point is 'renamed'",
    ),
    "failing": (
        "commands",
        "failing = failing:x",
        "import click\n@click.command('failing')\ndef x():\n    raise ValueError('oops')",
        "",
    ),
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("broken")
    for package, (group, entry, code, _) in BROKEN.items():
        bring(site, package, group, entry, code)
    return site


def test_a_broken_plugin_is_one_line_in_the_list_and_in_doctor(
    broken: Path, tmp_path: Path
) -> None:
    listed = adjudge(broken, "plugins", "--json", cwd=tmp_path)
    assert listed.returncode == 1
    states = {one["package"]: one["state"] for one in json.loads(listed.stdout)["results"]}
    doctor = adjudge(broken, "doctor", "-m", "scripted", cwd=tmp_path)
    assert doctor.returncode == 0
    for package, (*_, problem) in BROKEN.items():
        assert (problem or "works") in states[package]
        lines = [line for line in doctor.stdout.splitlines() if f"plugin {package} 1.0" in line]
        assert len(lines) == (1 if problem else 0)
    russian = adjudge(broken, "plugins", "--language", "ru", cwd=tmp_path).stdout
    assert "такое имя есть у самого adjudge: берётся оно" in russian
    assert "Traceback" not in listed.stderr + doctor.stdout + doctor.stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["raises"], "plugin raises 1.0 (adjudge.commands: raises): RuntimeError: boom"),
        (["failing"], "plugin failing 1.0 (adjudge.commands: failing): ValueError: oops"),
        (["check", "x", "--criterion", "c", "-m", "wrong/x"], "is a str, not a ProviderSpec"),
        (["check", "x", "--criterion", "c", "-m", "same/x"], "two provides the same name"),
        (["check", "x", "--criterion", "c", "-m", "thief/x"], "is reserved for the key of openai"),
    ],
)
def test_a_broken_plugin_that_is_used_is_one_line(
    broken: Path, tmp_path: Path, words: list[str], line: str
) -> None:
    done = adjudge(broken, *words, cwd=tmp_path, environment={"OPENAI_API_KEY": "k"})
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert line in done.stderr


def test_a_package_that_was_installed_halfway_does_not_take_others_away(
    site: Path, tmp_path: Path
) -> None:
    """No metadata, so that its part would pass for one of ours; and a list that is not a text."""
    halfway = tmp_path / "halfway"
    halfway.mkdir()
    for name in ("nameless", "unreadable"):
        bring(halfway, name, "models", f"{name} = {name}:x", "raise RuntimeError('boom')")
    (halfway / "nameless-1.0.dist-info" / "METADATA").unlink()
    listed = halfway / "unreadable-1.0.dist-info" / "entry_points.txt"
    listed.write_bytes(b"[adjudge.models]\n\xff = unreadable:x\n")
    both = os.pathsep.join(map(str, (halfway, site)))
    for words in (["plugins"], ["models"], ["doctor", "-m", "scripted"]):
        done = adjudge(Path(both), *words, cwd=tmp_path)
        assert "Traceback" not in done.stderr
        assert done.stderr.count("unreadable-1.0.dist-info cannot be read") == 1
        told = " ".join((done.stdout + done.stderr).split())
        assert "nameless-1.0.dist-info" in told and "RuntimeError: boom" in told
        assert "acme" in told


def test_nothing_is_scanned_or_imported_for_names_of_ours(broken: Path, tmp_path: Path) -> None:
    words = ["check", "x", "--criterion", "c", "-m", "scripted"]
    code = (
        "import sys\nfrom adjudge.runs.cli.main import app\nfrom adjudge import plugins\n"
        f"app({words!r}, standalone_mode=False)\n"
        "app(['--help'], standalone_mode=False)\n"
        "assert plugins._scan.cache_info().currsize == 0\n"
        f"assert not set({[*BROKEN]!r}) & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(broken)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
