"""Criteria files as people write them, right and wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.catalog.criteria import criteria, criteria_names, read_criteria, source
from adjudge.core.catalog.criteria_file import read_entries
from adjudge.core.catalog.lint import lint_file
from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.errors import SetupError
from adjudge.messages import Message

TONE: dict[str, Any] = {
    "name": "tone",
    "description": "Is the response friendly?",
    "context_fields": ["user_input"],
    "higher_is_better": True,
    "options": [
        {"name": "Yes", "description": "It is.", "score": 1},
        {"name": "No", "description": "It is not.", "score": 0.0},
    ],
    "examples": [
        {
            "fields": {"user_input": "Hi", "response": "Hello!"},
            "option": "Yes",
            "explanation": "A greeting.",
        }
    ],
}
READ = Criteria(
    "tone",
    "Is the response friendly?",
    [CriteriaOption("Yes", "It is.", 1.0), CriteriaOption("No", "It is not.", 0.0)],
    context_fields=["user_input"],
    examples=[CriteriaExample({"user_input": "Hi", "response": "Hello!"}, "Yes", "A greeting.")],
)
YAML = """
name: tone
description: >
  Is the response
  friendly?
context_fields: [user_input]
options:
  - {name: Yes, description: It is., score: 1}
  - name: No
    description: It is not.
    score: 0.0
examples:
  - fields:
      user_input: Hi
      response: Hello!
    option: Yes
    explanation: A greeting.
"""


def written(folder: Path, content: object, name: str = "own.yaml") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("content", "name"),
    [(YAML, "own.yaml"), (YAML, "own.YML"), (TONE, "own.json"), (TONE, "own.yaml")],
)
def test_yaml_and_json_say_the_same(tmp_path: Path, content: object, name: str) -> None:
    assert read_criteria(written(tmp_path, content, name)) == [READ]
    assert read_criteria(str(tmp_path / name)) == [READ]


def test_a_list_gives_several_in_order(tmp_path: Path) -> None:
    found = read_criteria(written(tmp_path, [TONE, {**TONE, "name": "other"}], "own.json"))
    assert [each.name for each in found] == ["tone", "other"]


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    assert read_criteria(written(tmp_path, "\ufeff" + YAML)) == [READ]


@pytest.mark.parametrize("name", [*criteria_names("direct"), *criteria_names("pairwise")])
def test_a_file_of_the_catalogue_is_a_file_one_can_start_from(tmp_path: Path, name: str) -> None:
    assert read_criteria(written(tmp_path, source(name))) == [criteria(name)]


def test_what_is_left_out_has_the_usual_value(tmp_path: Path) -> None:
    (found,) = read_entries(
        written(tmp_path, "name: n\ndescription: d?\noptions: [Yes, No]\ncontext_fields:\n")
    )
    assert (found.kind, found.criteria.to_evaluate_field, found.criteria.context_fields) == (
        "direct",
        "response",
        None,
    )
    assert (
        found.criteria.option_names,
        found.criteria.examples,
        found.criteria.higher_is_better,
    ) == (("Yes", "No"), (), True)
    assert found.criteria.options[0] == CriteriaOption("Yes")


@pytest.mark.parametrize(
    ("written_as", "name"),
    [
        ("Yes", "Yes"),
        ("on", "on"),
        ("1", "1"),
        ("1.10", "1.10"),
        ("2024-01-01", "2024-01-01"),
        ("true", "true"),
        ("'null'", "null"),
        ("0x1F", "0x1F"),
    ],
)
def test_names_of_options_stay_as_they_were_written(
    tmp_path: Path, written_as: str, name: str
) -> None:
    (found,) = read_criteria(
        written(tmp_path, f"name: n\ndescription: d?\noptions: [{{name: {written_as}}}, Other]")
    )
    assert found.option_names == (name, "Other")


def test_texts_of_examples_keep_their_blanks(tmp_path: Path) -> None:
    content = (
        'name: n\ndescription: d\noptions: [A, B]\nexamples: [{fields: {response: "  '
        'indented\\n"}, option: A}]'
    )
    (found,) = read_criteria(written(tmp_path, content))
    assert found.examples[0].fields["response"] == "  indented\n"


def test_pairwise_criteria_of_ones_own(tmp_path: Path) -> None:
    own = {
        "name": "n",
        "kind": "pairwise",
        "description": "Which is better?",
        "to_evaluate_field": "answers",
    }
    examples = [
        {"fields": {"answers": ["x", "y", "z"], "contexts": ["1", "2", "3", "4"]}, "option": "C"}
    ]
    (found,) = read_entries(written(tmp_path, {**own, "examples": examples}, "own.json"))
    assert (found.kind, found.criteria.option_names, found.criteria.to_evaluate_field) == (
        "pairwise",
        ("A", "B", "C"),
        "answers",
    )
    tie = {**own, "examples": [{"fields": {"answers": ["x", "x"]}, "option": "tie"}]}
    assert read_criteria(written(tmp_path, tie, "own.json"))[0].examples[0].option == "tie"


def test_json_numbers_are_names_and_scores(tmp_path: Path) -> None:
    own = {
        "name": "n",
        "description": "d",
        "options": [{"name": 1, "score": "0"}, {"name": 2, "score": 1}],
    }
    (found,) = read_criteria(written(tmp_path, own, "own.json"))
    assert found.options == (CriteriaOption("1", score=0.0), CriteriaOption("2", score=1.0))


BAD_VALUES: list[tuple[dict[str, Any], str]] = [
    (
        {"descripton": "x"},
        "own.json, entry 1 ('tone'), descripton: is not a valid key here; did you mean "
        "'description'?",
    ),
    (
        {"Options": []},
        "entry 1 ('tone'), Options: is not a valid key here; did you mean 'options'?",
    ),
    ({"zzz": 1}, "entry 1 ('tone'), zzz: is not a valid key here; known: name, kind,"),
    ({"name": None}, "own.json, entry 1, name: is missing"),
    ({"name": ["a"]}, "own.json, entry 1, name: must be a string, not a list"),
    ({"description": None}, "entry 1 ('tone'), description: is missing"),
    ({"description": {"a": "b"}}, "description: must be a string, not a mapping"),
    ({"kind": "single"}, "kind: must be direct or pairwise, not 'single'"),
    ({"kind": None}, "kind: must be direct or pairwise, not nothing"),
    ({"kind": "pairwise"}, "options: pairwise criteria have no options"),
    ({"options": None}, "options: is missing"),
    ({"options": []}, "entry 1 ('tone'), options: is missing: list at least two options"),
    ({"options": "Yes, No"}, "options: must be a list, not 'Yes, No'"),
    ({"options": {"Yes": 1}}, "options: must be a list, not a mapping"),
    ({"options": ["A", True]}, "options[2]: must be a string, not True"),
    ({"options": ["A", None]}, "options[2]: must be a string, not nothing"),
    ({"options": ["A", "A"]}, "criterion 'tone' has the option 'A' twice"),
    ({"options": ["A", " "]}, "criterion 'tone' has an option without a name"),
    (
        {"options": [{"name": "A", "sore": 1}]},
        "options[1].sore: is not a valid key here; did you mean 'score'?",
    ),
    ({"options": [{"score": 1}]}, "options[1].name: is missing"),
    (
        {"options": [{"name": "A", "score": "high"}]},
        "options[1].score: must be a number, not 'high'",
    ),
    ({"options": [{"name": "A", "score": "nan"}]}, "options[1].score: must be a number, not 'nan'"),
    ({"options": [{"name": "A", "score": True}]}, "options[1].score: must be a number, not True"),
    ({"options": [{"name": "A", "score": [1]}]}, "options[1].score: must be a number, not a list"),
    ({"options": [{"name": "A", "score": 10**400}]}, "options[1].score: must be a number"),
    ({"context_fields": "user_input"}, "context_fields: must be a list, not 'user_input'"),
    ({"context_fields": [["a"]]}, "context_fields[1]: must be a string, not a list"),
    ({"higher_is_better": "maybe"}, "higher_is_better: must be true or false, not 'maybe'"),
    ({"higher_is_better": 1}, "higher_is_better: must be true or false, not 1"),
    ({"examples": {"a": 1}}, "examples: must be a list, not a mapping"),
    ({"examples": ["a"]}, "examples[1]: must be a mapping, not 'a'"),
    ({"examples": [{"option": "Yes"}]}, "examples[1].fields: is missing"),
    ({"examples": [{"fields": {"response": "x"}}]}, "examples[1].option: is missing"),
    ({"examples": [{"fields": {}, "option": "Yes"}]}, "examples[1].fields: is empty"),
    (
        {"examples": [{"fields": {"response": None}, "option": "Yes"}]},
        "examples[1].fields.response: must be a string, not nothing",
    ),
    (
        {"examples": [{"fields": {"response": ["a", {}]}, "option": "Yes"}]},
        "examples[1].fields.response[2]: must be a string",
    ),
    (
        {"examples": [{"fields": {"response": "x"}, "option": "Perhaps"}]},
        "an example of criterion 'tone' has the option 'Perhaps'",
    ),
    (
        {"examples": [{"field": {"response": "x"}, "option": "Yes"}]},
        "examples[1].field: is not a valid key here; did you mean 'fields'?",
    ),
]


@pytest.mark.parametrize(("change", "said"), BAD_VALUES, ids=lambda value: str(value)[:50])
def test_a_wrong_value_is_named_by_file_entry_and_field(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    path = written(tmp_path, {**TONE, **change}, "own.json")
    with pytest.raises(SetupError, match=re.escape(said)) as caught:
        read_criteria(path)
    assert str(caught.value).startswith(f"{path}, entry 1")


BAD_FILES: list[tuple[str, str, str]] = [
    ("own.yaml", "", "contains no criteria"),
    ("own.yaml", "# nothing\n", "contains no criteria"),
    ("own.json", "[]", "contains no criteria"),
    ("own.json", "{", "is not JSON: Expecting property name"),
    ("own.json", '{"name": "a", "name": "b"}', "is not JSON: the key 'name' appears twice"),
    ("own.json", "[" * 100_000, "is not JSON"),
    ("own.yaml", "name: [", "is not YAML: while parsing"),
    ("own.yaml", "[" * 100_000 + "]" * 100_000, "is nested too deeply"),
    (
        "own.yaml",
        "name: a\nname: b\n",
        "line 2: the key 'name' appears twice; the first is on line 1",
    ),
    (
        "own.yaml",
        "name: !!python/object/apply:os.system [ls]",
        "is not YAML: could not determine a constructor",
    ),
    ("own.yaml", "name: a\n---\nname: b\n", "is not YAML: expected a single document"),
    (
        "own.yaml",
        "just a text",
        "line 1, entry 1: must be a mapping, not the string 'just a text'",
    ),
    (
        "own.yaml",
        "- name: a\n  description: d\n  options: [A, B]\n- 7",
        "line 4, entry 2: must be a mapping, not 7",
    ),
    ("own.txt", YAML, "is neither YAML nor JSON: its name must end in .yaml, .yml, .json"),
]


@pytest.mark.parametrize(("name", "content", "said"), BAD_FILES, ids=lambda value: str(value)[:30])
def test_a_wrong_file_is_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = written(tmp_path, content, name)
    with pytest.raises(SetupError, match=re.escape(said)) as caught:
        read_criteria(path)
    assert str(caught.value).startswith(str(path))


BAD_LINES: list[tuple[str, str]] = [
    (
        "  options:\n    - Yes\n    - name: No\n      scor: 1\n",
        "line 6, entry 1 ('a'), options[2].scor: is not a valid key here",
    ),
    (
        "  options:\n    - Yes\n    - name: No\n      score: high\n",
        "line 6, entry 1 ('a'), options[2].score: must be a number",
    ),
    (
        "  options:\n    Yes: 1\n",
        "line 4, entry 1 ('a'), options: must be a list, not a mapping",
    ),
    (
        "  options: [Yes, No]\n  higher_is_better: 7\n",
        "line 4, entry 1 ('a'), higher_is_better: must be true or false, not 7",
    ),
    ("  kind: direct\n", "line 1, entry 1 ('a'), options: is missing"),
    (
        "  options:\n    - &no {name: No}\n    - {<<: *no, score: x}\n",
        "line 5, entry 1 ('a'), options[2].score: must be a number",
    ),
]


@pytest.mark.parametrize(("rest", "said"), BAD_LINES, ids=lambda value: str(value)[:30])
def test_a_wrong_value_in_yaml_is_named_by_its_line_too(
    tmp_path: Path, rest: str, said: str
) -> None:
    path = written(tmp_path, "- name: a\n  description: d\n" + rest)
    with pytest.raises(SetupError, match=re.escape(f"{path}, {said}")):
        read_criteria(path)


def test_an_entry_may_take_over_the_keys_of_another(tmp_path: Path) -> None:
    content = "- &a {name: a, description: d, options: [Yes, No]}\n- {<<: *a, name: b}\n"
    assert [(one.name, one.description) for one in read_criteria(written(tmp_path, content))] == [
        ("a", "d"),
        ("b", "d"),
    ]


def test_the_entry_with_a_used_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SetupError, match=r"entry 3 \('tone'\), name: an earlier entry has the same name, 'tone'"
    ):
        read_criteria(written(tmp_path, [TONE, {**TONE, "name": "x"}, TONE], "own.json"))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"none\.yaml cannot be read: No such file"):
        read_criteria(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes("name: Größe".encode("latin-1"))
    with pytest.raises(SetupError, match=r"latin\.yaml is not UTF-8 \(byte 8\)"):
        read_criteria(tmp_path / "latin.yaml")


def test_a_bomb_of_references_is_refused_at_once(tmp_path: Path) -> None:
    layers = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    with pytest.raises(SetupError, match="a0: is not a valid key here"):
        read_criteria(written(tmp_path, "a0: &a0 [x]\n" + layers))


def test_the_place_of_a_wrong_entry_is_a_sentence_of_ours(tmp_path: Path) -> None:
    """It was a plain text, and stood in English in Russian errors."""
    path = tmp_path / "own.json"
    path.write_text(json.dumps([TONE, {"name": "b", "description": "B?", "nonsense": 1}]))
    (finding,) = [one for one in lint_file(path) if one.severity == "error"]
    assert finding.criteria == "entry 2 ('b')"
    assert isinstance(finding.criteria, Message)
