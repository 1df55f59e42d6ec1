"""Golden cases that are accepted as judged: everything else of their file stays
as it was written.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adjudge.core.catalog.criteria_file import read_entries
from adjudge.core.catalog.golden_update import update_golden
from adjudge.errors import SetupError

HEAD = (
    "name: tone\ndescription: Is it polite?\noptions: [{name: Polite, score: 1}, {name: Rude, "
    "score: 0}]\ngolden:\n"
)


@pytest.mark.parametrize(
    ("cases", "after"),
    [
        (
            (
                "- fields: {response: a}\n  option: >-\n    Polite\n- {fields: {response: b}, "
                "option: Polite}\n"
            ),
            (
                '- fields: {response: a}\n  option: "Rude"\n- {fields: {response: b}, option: '
                "Polite}\n"
            ),
        ),
        (
            "- option: |-\n    Polite\n  fields: {response: a}\n",
            '- option: "Rude"\n  fields: {response: a}\n',
        ),
        (
            "- &a {fields: {response: a}, option: Polite}\n- *a\n",
            '- &a {fields: {response: a}, option: "Rude"}\n- *a\n',
        ),
    ],
    ids=["folded", "literal", "the same case again"],
)
@pytest.mark.parametrize("written", [("", "\n"), ("\ufeff", "\r\n")], ids=["unix", "windows"])
def test_only_the_option_is_written_anew(
    tmp_path: Path, cases: str, after: str, written: tuple[str, str]
) -> None:
    file, (mark, end) = tmp_path / "tone.yaml", written
    file.write_bytes((mark + (HEAD + cases).replace("\n", end)).encode())
    update_golden(file, {"tone": {0: "Rude", 1: "Rude"} if "*a" in cases else {0: "Rude"}})
    assert file.read_bytes().decode() == mark + (HEAD + after).replace("\n", end)


@pytest.mark.parametrize(
    "cases",
    [
        "- {fields: {response: a}, option: &o Polite}\n- {fields: {response: b}, option: *o}\n",
        "- &a {fields: {response: a}, option: Polite}\n- *a\n",
    ],
    ids=["a shared option", "a shared case"],
)
@pytest.mark.parametrize("number", [0, 1])
def test_what_is_shared_with_another_case_is_refused_and_the_file_left_alone(
    tmp_path: Path, cases: str, number: int
) -> None:
    file = tmp_path / "tone.yaml"
    file.write_text(HEAD + cases, encoding="utf-8")
    with pytest.raises(SetupError, match=r"tone\.yaml: .*anchors .& and \*"):
        update_golden(file, {"tone": {number: "Rude"}})
    assert file.read_text(encoding="utf-8") == HEAD + cases


def test_json_indented_by_tabs_is_updated(tmp_path: Path) -> None:
    file = tmp_path / "tone.json"
    options = [{"name": "Yes", "score": 1}, {"name": "No", "score": 0}]
    golden = [{"fields": {"response": "a"}, "option": "Yes"}]
    entry = {"name": "tone", "description": "Is it polite?", "options": options, "golden": golden}
    text = json.dumps(entry, indent="\t")
    file.write_text(text, encoding="utf-8")
    update_golden(file, {"tone": {0: "No"}})
    assert file.read_text(encoding="utf-8") == text.replace('"option": "Yes"', '"option": "No"')
    assert read_entries(file)[0].golden[0].option == "No"


def test_whoever_reads_the_file_meanwhile_reads_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a link, and with the rights that it had."""
    file, link, read = tmp_path / "tone.yaml", tmp_path / "link.yaml", list[int]()
    file.write_text(HEAD + "- {fields: {response: a}, option: Polite}\n")
    file.chmod(0o640)
    link.symlink_to(file)
    monkeypatch.setattr(os, "fsync", lambda _: read.append(len(read_entries(link))))
    update_golden(link, {"tone": {0: "Rude"}})
    assert (read, link.is_symlink(), file.stat().st_mode & 0o777) == ([1], True, 0o640)
    assert '"Rude"' in file.read_text()
