"""Eval files: what is read, what is refused and how it is said, and that
editors are told the same.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from adjudge.core.reading.types import keys_of
from adjudge.errors import SetupError
from adjudge.runs.eval_file import DataEntry, EvalFile, load_eval, parse_eval, schema
from adjudge.runs.project import ModelEntry

JUDGE = "judges: [{kind: aspect, criteria: It is short.}]\n"
SCHEMA = schema()
EDITOR = Draft202012Validator(SCHEMA)
EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "eval.yaml"

VALID = [
    "data: a.csv\n" + JUDGE,
    "data: '-'\njudges: {kind: rag}\n",
    (
        "data: {path: a.txt, format: csv, columns: {response: Answer}, id: row_id, limit: 100, "
        "encoding: utf-8}\n"
    )
    + JUDGE,
    "data: a.csv\nmodels: openai/gpt-4o-mini\n" + JUDGE,
    "data: a.csv\nmodels: [scripted, {model: x/y, base_url: 'http://h/v1', temperature: 0, "
    "max_concurrency: 4,"
    " requests_per_minute: 60.5, timeout: 3}]\n" + JUDGE,
    "data: a.csv\nbudget: {max_usd: 0.5, max_calls: 1_000, max_tokens: 2000000}\n" + JUDGE,
    (
        "data: a.csv\nrun: runs/x\noutputs: [a.csv, b.jsonl, c.md, d.html, "
        "e.parquet]\non_bad_row: stop\n"
    )
    + JUDGE,
    "data: a.csv\ngates: {fail_under: 1, max_failed: 0}\nlanguage: ru\n" + JUDGE,
    "data: a.csv\njudges: [{kind: aspect, name: 2024, criteria: [harmlessness, {name: n, "
    "description: d}], strictness: 3,"
    " early_stop: yes, min_valid: 2, mode: likelihood, on_failure: random, fail_under: 0.8, "
    "seed: -1, temperature: 0.5}]\n",
    (
        "data: a.csv\njudges: [{kind: direct, criteria: [conciseness, own.yaml], "
        "check_positional_bias: true, feedback: true}]\n"
    ),
    "data: a.csv\njudges: [{kind: direct, criteria: {name: n, description: d, options: "
    "[Yes, 1.10, {name: x, score: 1}],"
    " context_fields: [], higher_is_better: false, examples: [{fields: {response: t}, "
    "option: x}]}}]\n",
    "data: {path: a.csv, responses: [A, B]}\njudges: [{kind: pairwise, criteria: 'Which is "
    "kinder?', contests: pairs,"
    " tie_enabled: false, models: scripted}]\n",
    (
        "data: a.csv\njudges: [{kind: pairwise, criteria: {name: n, description: d, kind: "
        "pairwise}}]\n"
    ),
    "data: a.csv\njudges: [{kind: rag, dimensions: [clarity, groundedness]}]\n",
]

INVALID = [
    (
        "data: a.csv\nmodles: [x]\n" + JUDGE,
        "eval.yaml, line 2: unknown key 'modles'; did you mean 'models'?",
    ),
    (
        "data: a.csv\nzzz: 1\n" + JUDGE,
        "eval.yaml, line 2: unknown key 'zzz'; known: data, judges, language",
    ),
    (JUDGE, "eval.yaml, line 1: the key 'data' is missing"),
    ("data: a.csv\n", "eval.yaml, line 1: the key 'judges' is missing"),
    ("data:\n" + JUDGE, "eval.yaml, line 1, data: has no value: give it one, or leave it out"),
    ("data: a.csv\njudges: []\n", "eval.yaml, line 2, judges: is an empty list"),
    ("data: [a.csv]\n" + JUDGE, "eval.yaml, line 1, data: must be a mapping, not a list"),
    (
        "data: {path: a.csv, format: xls}\n" + JUDGE,
        "line 1, data.format: must be one of csv, tsv, jsonl, json, parquet, xlsx, not 'xls'",
    ),
    (
        "data: {path: a.csv, limit: 0}\n" + JUDGE,
        "line 1, data.limit: must be a whole number from 1, not 0",
    ),
    (
        "data: {path: a.csv, limit: '5'}\n" + JUDGE,
        "data.limit: must be a whole number from 1, not the string '5'",
    ),
    (
        "data: {path: a.csv, limit: 1.5}\n" + JUDGE,
        "data.limit: must be a whole number from 1, not 1.5",
    ),
    (
        "data: {path: a.csv, colums: {}}\n" + JUDGE,
        "line 1: unknown key 'colums'; did you mean 'columns'?",
    ),
    (
        "data: {path: a.csv, columns: [a]}\n" + JUDGE,
        "data.columns: must be a mapping, not a list",
    ),
    (
        "data: {path: a.csv, columns: {response: [a]}}\n" + JUDGE,
        "data.columns.response: must be a string, not a list",
    ),
    ("data: ' '\n" + JUDGE, "line 1, data: is empty"),
    ("data: a.csv\nlanguage: de\n" + JUDGE, "line 2, language: must be one of en, ru, not 'de'"),
    (
        "data: a.csv\nmodels: [{model: x, api_key: secret}]\n" + JUDGE,
        "line 2: unknown key 'api_key'; keys do not belong in files",
    ),
    ("data: a.csv\nmodels:\n  - scripted\n  - 7: x\n" + JUDGE, "line 4: unknown key '7'"),
    (
        "data: a.csv\nmodels: [{temperature: 1}]\n" + JUDGE,
        "line 2, models[1]: the key 'model' is missing",
    ),
    (
        "data: a.csv\nmodels: [[x]]\n" + JUDGE,
        "line 2, models[1]: must be a mapping, not a list",
    ),
    (
        "data: a.csv\nbudget: {max_usd: 0}\n" + JUDGE,
        "budget.max_usd: must be a number above 0, not 0",
    ),
    (
        "data: a.csv\nbudget: {max_calls: true}\n" + JUDGE,
        "budget.max_calls: must be a whole number from 1, not true",
    ),
    ("data: a.csv\nbudget: 5\n" + JUDGE, "budget: must be a mapping, not 5"),
    (
        "data: a.csv\ngates: {fail_under: 80}\n" + JUDGE,
        "gates.fail_under: must be a number from 0 up to 1, not 80",
    ),
    (
        "data: a.csv\noutputs: [a.docx]\n" + JUDGE,
        "outputs[1]: must end in .csv or .jsonl or .parquet or .md or .html, not 'a.docx'",
    ),
    (
        "data: a.csv\non_bad_row: skip\n" + JUDGE,
        "on_bad_row: must be one of report, stop, not 'skip'",
    ),
    (
        "data: a.csv\njudges: [{criteria: x y}]\n",
        "judges[1]: the key 'kind' is missing: set it to one of aspect, direct, pairwise, rag",
    ),
    (
        "data: a.csv\njudges: [{kind: aspct, criteria: x y}]\n",
        "judges[1].kind: must be one of .* not 'aspct'; did you mean 'aspect'?",
    ),
    ("data: a.csv\njudges: [{kind: aspect}]\n", "judges[1]: the key 'criteria' is missing"),
    ("data: a.csv\njudges: text\n", "judges: must be a mapping, not the string 'text'"),
    (
        "data: a.csv\njudges:\n  - kind: aspect\n    criteria: x y\n    contests: pairs\n",
        "line 5: unknown key 'contests'",
    ),
    (
        "data: a.csv\njudges:\n  - kind: aspect\n    criteria: x y\n    vote: 3\n",
        "line 5: .*did you mean 'votes'?",
    ),
    (
        "data: a.csv\njudges: [{kind: rag, criteria: x y}]\n",
        "unknown key 'criteria'; known: kind, name",
    ),
    (
        "data: a.csv\njudges: [{kind: aspect, criteria: x y, early_stop: maybe}]\n",
        "early_stop: must be true or false, not the string 'maybe'",
    ),
    (
        "data: a.csv\njudges: [{kind: aspect, criteria: x y, early_stop: 'true'}]\n",
        "early_stop: must be true or false",
    ),
    (
        "data: a.csv\njudges: [{kind: aspect, criteria: {name: n}}]\n",
        "line 2, judges[1].criteria.description: is missing",
    ),
    (
        (
            "data: a.csv\njudges: [{kind: aspect, criteria: {name: n, description: d, options: "
            "[a]}}]\n"
        ),
        "criteria.options: is not a valid key here",
    ),
    (
        "data: a.csv\njudges: [{kind: direct, criteria: {name: n, description: d}}]\n",
        "criteria.options: is missing",
    ),
    (
        "data: a.csv\njudges:\n  - kind: direct\n    criteria:\n      - ok\n"
        "      - {name: n, description: d, options: [{name: a, scor: 1}]}\n",
        "line 6, judges[1].criteria[2].options[1].scor: is not a valid key here; did you mean "
        "'score'?",
    ),
    (
        (
            "data: a.csv\njudges: [{kind: direct, criteria: {name: n, description: d, options: "
            "[a], kind: pairwise}}]\n"
        ),
        "kind: must be direct",
    ),
    (
        (
            "data: a.csv\njudges: [{kind: pairwise, criteria: {name: n, description: d, "
            "options: [a, b]}}]\n"
        ),
        "options: pairwise criteria have no options",
    ),
    ("- data: a.csv\n", "eval.yaml, line 1: must be a mapping, not a list"),
]

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)
ONLY_THE_READER_CAN_SEE = [
    (
        "data: a.csv\nbudget: {max_usd: .nan}\n" + JUDGE,
        "budget.max_usd: must be a number above 0, not .nan",
    ),
    ("", "eval.yaml, line 1: the file is empty"),
    (
        "data: a.csv\ndata: b.csv\n" + JUDGE,
        "eval.yaml, line 2: the key 'data' appears twice; the first is on line 1",
    ),
    (
        "data: a.csv\nbudget: {max_usd: 1, max_usd: 2}\n" + JUDGE,
        "line 2, budget: the key 'max_usd' appears twice",
    ),
    (
        "data: a.csv\n  bad: indent\n",
        "eval.yaml, line 2: is not YAML: mapping values are not allowed here",
    ),
    ("data: [a\n", "eval.yaml, line 2: is not YAML"),
    (
        "data: a.csv\njudges: [{criteria: Is it?}]\n",
        "line 2: is not YAML: .*; a string with : ? # or brackets needs quotes",
    ),
    ("a: 1\n---\nb: 2\n", "eval.yaml, line 2: is not YAML"),
    ("data: \x00\n", "is not YAML"),
    ("data: a.csv\n? [x]\n: 1\n" + JUDGE, "line 2: must be a key, not a list"),
    ("data: " + "[" * 600 + "\n", "nested too deeply"),
    (
        (
            "data: a.csv\njudges: [{kind: direct, criteria: &a {name: n, description: d, "
            "options: [*a]}}]\n"
        ),
        "nested too deeply",
    ),
    (
        "data: a.csv\nmodels: [{model: x, seed: !!int abc}]\n" + JUDGE,
        "line 2, models[1].seed: must be a whole number, not abc",
    ),
    (
        "data: a.csv\nmodels: [{model: x, seed: !!int ''}]\n" + JUDGE,
        "models[1].seed: must be a whole number",
    ),
    (
        "data: a.csv\nbudget: {max_usd: !!float x}\n" + JUDGE,
        "budget.max_usd: must be a number above 0, not x",
    ),
    (
        "data: a.csv\njudges: [{kind: aspect, criteria: x y, early_stop: !!bool maybe}]\n",
        "early_stop: must be true or false, not maybe",
    ),
    (
        "data: {path: a.csv, limit: 99999999999999999999}\n" + JUDGE,
        "data.limit: is too large: 99999999999999999999",
    ),
    (
        "data: a.csv\nbudget: {max_usd: 1" + "0" * 400 + "}\n" + JUDGE,
        "budget.max_usd: is too large: 1000",
    ),
    (
        "data: a.csv\nbudget: {max_calls: 1" + "0" * 5000 + "}\n" + JUDGE,
        "budget.max_calls: must be a whole number from 1, not 1000",
    ),
    (
        'data: a.csv\nrun: "a\\0b"\n' + JUDGE,
        "line 2, run: contains a character that files cannot have: NUL",
    ),
    (
        'data: a.csv\nrun: "a\\ud83d"\n' + JUDGE,
        "line 2, run: contains a character that files cannot have",
    ),
    (BOMB, "its aliases expand to more than 100,000 values"),
]


def fits(value: object) -> bool:
    """Whether an editor that knows our schema finds nothing wrong."""
    return EDITOR.is_valid(value)


def matches(said: str) -> str:
    """The text as a pattern, in which only ``.*`` is one."""
    import re

    return ".*".join(re.escape(part) for part in said.split(".*"))


@pytest.mark.parametrize("content", VALID)
def test_what_is_right_is_right_for_reader_and_editor(content: str) -> None:
    assert isinstance(parse_eval(content), EvalFile)
    assert fits(yaml.safe_load(content))


@pytest.mark.parametrize(("content", "said"), INVALID)
def test_what_is_wrong_is_wrong_for_reader_and_editor(content: str, said: str) -> None:
    with pytest.raises(SetupError, match=matches(said)):
        parse_eval(content)
    assert not fits(yaml.safe_load(content))


@pytest.mark.parametrize(("content", "said"), ONLY_THE_READER_CAN_SEE)
def test_what_no_schema_can_say_is_refused_with_its_line(content: str, said: str) -> None:
    with pytest.raises(SetupError, match=matches(said)):
        parse_eval(content)


@given(st.text(alphabet="data:.csv\n -{}[]&*'\"judgeskin!?#|>1", max_size=60))
def test_no_text_brings_the_reader_down(content: str) -> None:
    try:
        parse_eval(content)
    except SetupError as error:
        assert str(error).startswith("eval.yaml")


JSON_LIKE = st.recursive(
    st.integers(-2, 3)
    | st.booleans()
    | st.sampled_from(["aspect", "x y", "a.csv", "en", "scripted", ""]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["kind", "criteria", "model", "path"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*keys_of(EvalFile), "other"]), JSON_LIKE, max_size=5))
def test_reader_and_editor_never_disagree(given_: dict[str, object]) -> None:
    """On whatever is made of right and wrong pieces under the right and wrong keys."""
    whole = {"data": "a.csv", "judges": [{"kind": "aspect", "criteria": "x y"}], **given_}
    try:
        parse_eval(json.dumps(whole))
        read = True
    except SetupError:
        read = False
    assert read == fits(whole), whole


def test_the_schema_is_plain_json_and_describes_every_key() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    EDITOR.check_schema(SCHEMA)
    properties = cast(dict[str, dict[str, object]], SCHEMA["properties"])
    assert set(properties) == {one.name for one in fields(EvalFile)} - {
        "path",
        "typed",
        "rows",
        "given",
        "models_from",
        "has_default_limit",
    }
    assert all(about["description"] for about in properties.values())


def test_values_are_what_they_say() -> None:
    found = parse_eval(VALID[4])
    assert found.models == (
        ModelEntry(model="scripted"),
        ModelEntry(
            model="x/y",
            base_url="http://h/v1",
            temperature=0.0,
            max_concurrency=4,
            requests_per_minute=60.5,
            timeout=3.0,
        ),
    )
    assert parse_eval(VALID[5]).budget.max_calls == 1000
    assert parse_eval(VALID[8]).judges[0].name == "2024"
    assert parse_eval(VALID[2]).data == DataEntry(
        path="a.txt",
        format="csv",
        columns=(("response", "Answer"),),
        id="row_id",
        limit=100,
        encoding="utf-8",
    )


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("data: rows/a.csv\noutputs: out.csv\n" + JUDGE)
    found = load_eval(path)
    assert found.source == tmp_path / "rows" / "a.csv"
    assert found.run_folder == tmp_path / "runs" / "mine"
    assert found.output_paths == (tmp_path / "out.csv",)
    assert str(parse_eval(VALID[1]).source) == "-"
    assert parse_eval(VALID[6], path).run_folder == tmp_path / "runs" / "x"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"none\.yaml does not exist: create an eval file"):
        load_eval(tmp_path / "none.yaml")
    (tmp_path / "a.yaml").write_bytes(b"data: \xff\n")
    with pytest.raises(SetupError, match="is not UTF-8"):
        load_eval(tmp_path / "a.yaml")


def test_the_example_is_right_for_reader_and_editor() -> None:
    assert len(load_eval(EXAMPLE).judges) == 2
    assert fits(yaml.safe_load(EXAMPLE.read_text()))


def test_rows_that_are_named_elsewhere_need_not_be_named_in_the_file(tmp_path: Path) -> None:
    assert parse_eval(JUDGE, data=tmp_path / "run").data.path == str(tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "text"),
    [("rows.csv", "question,answer\nq,a\n"), ("goldens.json", '[{"actual_output": "a"}]')],
)
def test_a_file_of_rows_is_not_an_eval_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SetupError, match="it contains rows, so it is not an eval file") as caught:
        load_eval(tmp_path / name)
    for way in ("adjudge check --data", "adjudge rag --csv", "adjudge import", "adjudge init"):
        assert way in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("aspect", "strictness"), ("direct", "self_consistency"), ("pairwise", "strictness")],
)
def test_older_names_of_votes_are_read(kind: str, name: str) -> None:
    def votes(name: str) -> int:
        judge = f"{{kind: {kind}, criteria: short one, {name}: 3}}"
        return parse_eval(f"data: a.csv\njudges: [{judge}]\n", "eval.yaml").judges[0].votes

    assert votes(name) == votes("votes") == 3


def test_two_names_of_one_key_are_refused() -> None:
    text = "data: a.csv\njudges: [{kind: aspect, criteria: x y, votes: 3, strictness: 1}]\n"
    with pytest.raises(SetupError, match=r"strictness: is set twice.*keep 'votes'"):
        parse_eval(text, "eval.yaml")
