"""Criteria like code: golden cases that are run, versions, differences, a lock, and packages that
bring some.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from adjudge.core.catalog.criteria import all_names, criteria_names, entry
from adjudge.core.catalog.criteria_file import read_entries
from adjudge.errors import SetupError
from support.asking import marked
from support.commands import adjudge
from support.fake_provider import KEY, FakeProvider

TONE = """\
name: tone
version: {version}
description: {asks}
options:
  - {{name: Polite, score: 1}}
  - {{name: Rude, score: 0}}
golden:
  - {{fields: {{response: "REC-00001-Y"}}, option: Polite}}
  - {{fields: {{response: "REC-00002-Y"}}, option: Polite}}
  - {{fields: {{response: "REC-00003-N"}}, option: {third}}}
"""


def tone(
    path: Path, version: str = "1.0.0", asks: str = "Is it polite?", third: str = "Rude"
) -> Path:
    path.write_text(TONE.format(version=version, asks=asks, third=third), encoding="utf-8")
    return path


@pytest.fixture
def server(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return ["-m", "openai/gpt-4o-mini", "--base-url", provider.base_url("openai"), "--no-cache"]


def test_golden_cases_are_judged_option_by_option(
    tmp_path: Path, server: list[str], provider: FakeProvider
) -> None:
    done = adjudge("criteria", "test", tone(tmp_path / "tone.yaml"), *server)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "tone 1.0.0: 3 of 3 golden cases judged as expected",
        "  Polite: 2 of 2",
        "  Rude: 1 of 1",
    ]
    assert len(provider.bodies) == 3
    assert not any(
        "REC-00003" in json.dumps(body)
        for body in provider.bodies
        if "REC-00001" in json.dumps(body)
    ), "it is not shown"


def test_a_case_that_is_judged_otherwise_is_named_and_exits_with_4(
    tmp_path: Path, server: list[str]
) -> None:
    done = adjudge("criteria", "test", tone(tmp_path / "tone.yaml", third="Polite"), *server)
    assert done.returncode == 4
    assert "  Polite: 2 of 3" in done.stdout
    assert "  golden 3: expected Polite, got Rude: REC-00003-N says so." in done.stdout


def test_a_case_without_a_verdict_is_not_wrong_and_exits_with_3(tmp_path: Path) -> None:
    done = adjudge(
        "criteria", "test", tone(tmp_path / "tone.yaml"), "-m", "scripted/nonsense", "--no-cache"
    )
    assert done.returncode == 3
    assert "expected Polite, got no verdict" in done.stdout


def test_examples_stand_in_for_golden_cases_and_comparisons_have_them_too(tmp_path: Path) -> None:
    done = adjudge("init", "pairwise", cwd=tmp_path)
    done = adjudge(
        "criteria", "test", "criteria/better.yaml", "-m", "scripted", "--no-cache", cwd=tmp_path
    )
    assert done.returncode == 4
    assert "  A: 0 of 1\n  B: 0 of 1\n  golden 1: expected A, got tie" in done.stdout
    (tmp_path / "bare.yaml").write_text(
        "name: x\ndescription: Is it?\noptions: [a, b]\n", encoding="utf-8"
    )
    assert (
        "has no golden cases"
        in adjudge("criteria", "test", tmp_path / "bare.yaml", "-m", "scripted").stderr
    )


@pytest.mark.parametrize(
    ("version", "third", "text"),
    [("one", "Rude", "such as 1.0.0"), ("1.0", "Kind", "not one of 'Polite', 'Rude'")],
)
def test_slips_in_versions_and_golden_cases_are_named(
    tmp_path: Path, version: str, third: str, text: str
) -> None:
    with pytest.raises(SetupError, match=text):
        read_entries(tone(tmp_path / "tone.yaml", version, third=third))


def test_a_difference_says_what_changed_and_what_can_be_compared(tmp_path: Path) -> None:
    old, new = tone(tmp_path / "old.yaml"), tone(tmp_path / "new.yaml", "1.1.0", "Is it kind?")
    done = adjudge("criteria", "diff", old, new)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "tone (1.0.0 → 1.1.0): changed",
        "  -description: Is it polite?",
        "  +description: Is it kind?",
        (
            "tone: verdicts of the two versions are not comparable; judge the rows again before "
            "you compare runs"
        ),
    ]
    golden = adjudge("criteria", "diff", old, tone(tmp_path / "golden.yaml", third="Polite")).stdout
    assert "not comparable" not in golden
    assert "+golden Polite" in golden
    assert (
        "the version is still 1.0.0"
        in adjudge("criteria", "diff", old, tone(tmp_path / "a.yaml", asks="Is it?")).stdout
    )
    assert adjudge("criteria", "diff", old, old).stdout == "tone (1.0.0): the same\n"


def test_a_lock_sees_every_change_of_wording(tmp_path: Path) -> None:
    tone(tmp_path / "tone.yaml")
    assert adjudge("criteria", "lock", "tone.yaml", "groundedness", cwd=tmp_path).returncode == 0
    locked = json.loads((tmp_path / "criteria.lock").read_text(encoding="utf-8"))["criteria"]
    assert locked["tone"]["version"] == "1.0.0"
    assert locked.keys() == {"tone", "groundedness"}
    assert (
        adjudge("criteria", "lock", "tone.yaml", "groundedness", "--check", cwd=tmp_path).returncode
        == 0
    )
    tone(tmp_path / "tone.yaml", "1.0.1", asks="Is it kind?")
    done = adjudge("criteria", "lock", "tone.yaml", "--check", cwd=tmp_path)
    assert done.returncode == 1
    assert "tone: changed since it was locked (version 1.0.0, now 1.0.1)" in done.stderr
    assert "groundedness: locked, but missing" in done.stderr


def installed(site: Path, module: str, name: str, code: str = "") -> None:
    """A package that brings the criteria ``name``/tone."""
    package, about = site / module, site / f"{module}-1.0.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").write_text(code, encoding="utf-8")
    tone(package / "tone.yaml")
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8"
    )
    (about / "entry_points.txt").write_text(
        f"[adjudge.criteria]\n{name} = {module}\n", encoding="utf-8"
    )


def test_a_package_brings_criteria(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "acme_criteria", "acme")
    monkeypatch.syspath_prepend(tmp_path)
    assert entry("acme/tone").version == "1.0.0"
    with pytest.raises(SetupError, match="'acme' has no criterion 'ton'; it has tone"):
        entry("acme/ton")
    with pytest.raises(SetupError, match="no installed package provides criteria named 'other'"):
        entry("other/tone")
    with pytest.raises(SetupError, match="no ready-made criterion"):
        entry("acme/../tone")


def test_a_broken_package_and_two_of_one_name_are_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "broken_criteria", "broken", "raise RuntimeError('boom')")
    installed(tmp_path, "one_criteria", "same")
    installed(tmp_path, "other_criteria", "same")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        SetupError,
        match=r"plugin broken_criteria \S+ \(adjudge.criteria: broken\): RuntimeError: boom",
    ):
        entry("broken/tone")
    with pytest.raises(
        SetupError,
        match=r"plugin one_criteria .*: other_criteria provides the same name: uninstall one",
    ):
        entry("same/tone")


def test_versions_and_golden_cases_may_stand_in_an_eval_file(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("\n".join(["response", *marked(2)]), encoding="utf-8")
    written = tone(tmp_path / "tone.yaml").read_text(encoding="utf-8")
    criteria = "".join(f"        {line}\n" for line in written.splitlines()).replace(
        "        name", "      - name", 1
    )
    text = (
        f"data: rows.csv\nmodels: [scripted]\njudges:\n  - kind: direct\n    criteria:\n{criteria}"
    )
    (tmp_path / "eval.yaml").write_text(text, encoding="utf-8")
    assert adjudge("run", "eval.yaml", "--no-cache", cwd=tmp_path).returncode == 0


def test_what_was_chosen_becomes_what_is_expected_and_nothing_else_changes(
    tmp_path: Path, server: list[str]
) -> None:
    file = tone(tmp_path / "tone.yaml", third="Polite  # a remark stays\n    ")
    file.write_text(f"# mine\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    before = file.read_text(encoding="utf-8")
    done = adjudge("criteria", "test", file, "--update", *server)
    assert done.returncode == 0, done.stderr
    assert "1 expected option updated" in done.stdout
    assert file.read_text(encoding="utf-8") == before.replace(
        "option: Polite  #", 'option: "Rude"  #'
    )
    assert adjudge("criteria", "test", file, *server).returncode == 0


def test_a_case_without_a_verdict_keeps_what_was_expected(tmp_path: Path) -> None:
    file = tone(tmp_path / "tone.yaml")
    before = file.read_text(encoding="utf-8")
    done = adjudge("criteria", "test", file, "--update", "-m", "scripted/nonsense", "--no-cache")
    assert (done.returncode, file.read_text(encoding="utf-8")) == (3, before)


def test_of_several_criteria_in_a_json_file_only_the_changed_case_is_written(
    tmp_path: Path, server: list[str]
) -> None:
    entries = [
        {
            "name": name,
            "description": "Is it polite?",
            "options": [{"name": "Polite", "score": 1}, {"name": "Rude", "score": 0}],
            "golden": [
                {
                    "fields": {"response": f"REC-0000{number}-Y"},
                    "option": "Rude" if wrong else "Polite",
                }
            ],
        }
        for number, (name, wrong) in enumerate([("first", False), ("second", True)])
    ]
    (tmp_path / "tone.json").write_text(json.dumps(entries, indent=2), encoding="utf-8")
    assert adjudge("criteria", "test", tmp_path / "tone.json", "--update", *server).returncode == 0
    entries[1]["golden"][0]["option"] = "Polite"  # type: ignore[index]
    assert json.loads((tmp_path / "tone.json").read_text(encoding="utf-8")) == entries


def test_examples_that_teach_the_judge_are_never_updated(tmp_path: Path) -> None:
    adjudge("init", "pairwise", cwd=tmp_path)
    file = tmp_path / "criteria" / "better.yaml"
    text = file.read_text(encoding="utf-8").replace("golden:", "examples:")
    file.write_text(text, encoding="utf-8")
    done = adjudge("criteria", "test", file, "--update", "-m", "scripted", "--no-cache")
    assert (done.returncode, file.read_text(encoding="utf-8")) == (1, text)


def test_one_budget_holds_for_all_criteria_of_a_file(
    tmp_path: Path, server: list[str], provider: FakeProvider
) -> None:
    """Each may spend only what the ones before have left."""
    each = (
        "- {{name: c{0}, description: 'Is it c{0}?', options: [A, B], golden: [{{fields: "
        "{{response: REC-{0}-Y}}, option: A}}]}}"
    )
    (tmp_path / "many.yaml").write_text(
        "\n".join(each.format(number) for number in range(60)), encoding="utf-8"
    )
    done = adjudge("criteria", "test", tmp_path / "many.yaml", *server, "--max-usd", "0.003")
    assert done.returncode == 1, done.stdout
    assert "0.003" in done.stderr or "budget" in done.stderr, done.stderr
    assert 0 < len(provider.bodies) < 60


def test_golden_cases_are_told_of_in_russian(tmp_path: Path) -> None:
    done = adjudge(
        "criteria", "test", tone(tmp_path / "tone.yaml"), "-m", "scripted/Rude", "--language", "ru"
    )
    assert "эталонных случаев оценено, как ожидалось: 1 из 3" in done.stdout
    assert "  эталонный случай 1: ожидалось Polite, выбрано Rude" in done.stdout


@pytest.mark.parametrize("language", ["en", "ru"])
def test_all_ready_made_criteria_are_tried(language: str) -> None:
    """``scripted`` chooses the first option, which is the good end: of each direct criterion the
    good example is judged as expected, and the bad one is not.
    """
    done = adjudge("criteria", "test", "--all", "-m", "scripted", "--language", language)
    assert done.returncode == 4, done.stderr
    numbers = [*map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))]
    names, direct = len(all_names(language)), len(criteria_names("direct", language))
    assert numbers == [names, direct, 2 * names, 0]


@pytest.mark.parametrize("given", [(), ("--all", "x.yaml"), ("--all", "--update")])
def test_all_and_a_file_are_one_or_the_other(given: tuple[str, ...]) -> None:
    done = adjudge("criteria", "test", *given)
    assert done.returncode == 2
    assert "--all" in done.stderr
