"""An eval file is read back as it was written, whatever it says and wherever that is done."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.core.domain.instance import Instance, PairwiseInstance
from adjudge.runs.criteria_entry import Aspect, CriteriaEntry
from adjudge.runs.eval_file import (
    AspectEntry,
    DataEntry,
    DirectEntry,
    EvalFile,
    JudgeEntry,
    PairwiseEntry,
    parse_eval,
)
from adjudge.runs.stored_eval import read_eval, write_eval

EVERYTHING = """
data: {path: rows.xlsx, format: csv, columns: {response: Answer, id: Nr}, limit: 7,
  encoding: cp1251}
language: ru
models:
  - scripted
  - {model: openai/m, base_url: 'https://host/v1', api_key_env: KEY, headers: {X-Team: 'a: b'},
     temperature: 0.5, seed: 3, max_concurrency: 4, requests_per_minute: 60, tokens_per_minute: 9,
     timeout: 1.5}
budget: {max_usd: 0.25, max_calls: 10, max_tokens: 1000}
outputs: [out.csv, deep/report.html]
gates: {fail_under: {'a: b': 0.5, c: 1}, max_failed: 0.1, confidence: 0.95, not_worse_than: runs/x,
  margin: 0.02, cluster: conversation}
on_bad_row: stop
judges:
  - {kind: aspect, criteria: [conciseness, 'It is "short": yes?', {name: '1', description: 'true'}],
     early_stop: true, min_valid: 2, weights: {scripted: 0.5, openai/m: 2}, strictness: 3,
     fail_under: 0.7, on_failure: random, per: turn, mode: generate, name: 'no'}
  - {kind: aspect, criteria: conciseness, weights: from labels, calibration: learnt.json}
  - {kind: direct, criteria: [own.yaml, {name: n, description: d,
     options: [{name: A, score: 1}, 'No'],
     examples: [{fields: {response: x}, option: A}], higher_is_better: false}],
     cascade: [scripted, {model: openai/m, strictness: 2}], otherwise: last, calibration: c.json,
     check_positional_bias: true, feedback: true, persona: invented, temperature: 0, seed: -1}
  - {kind: rag, dimensions: [clarity], measures: [ndcg@5], weights: {clarity: 2}, checks: joint,
     rewrite_questions: true, config: mine.yaml, evidence: joint, claims: true, models: [scripted]}
  - {kind: evidence, method: rules, text_field: answer, source_field: documents,
     fail_under: {x: 0.5}}
"""
PAIRS = """
data: {path: '-', responses: [old, new], id: Nr}
judges:
  - {kind: pairwise, criteria: ['Which is better?'], order: one,
     contests: pairs, tie_enabled: false}
  - {kind: pairwise, criteria: x.json, check_positional_bias: true, name: second}
"""


def as_read(file: EvalFile) -> EvalFile:
    """Without where its values stood."""
    return replace(file, judges=tuple(map(_without_place, file.judges)))


def _without_place(judge: JudgeEntry) -> JudgeEntry:
    judge = replace(judge, line=0)
    if isinstance(judge, AspectEntry | DirectEntry | PairwiseEntry):
        criteria = tuple(CriteriaEntry(_plain(one.what)) for one in judge.criteria)  # type: ignore[arg-type]
        return replace(judge, criteria=criteria)
    return judge


def _plain(what: object) -> object:
    return json.loads(json.dumps(what)) if isinstance(what, dict) else what


def kept(file: EvalFile) -> EvalFile:
    return read_eval(json.loads(json.dumps(write_eval(file))), "it")


@pytest.mark.parametrize("text", [EVERYTHING, PAIRS])
def test_a_file_that_says_everything_is_the_same_again(text: str, tmp_path: Path) -> None:
    file = parse_eval(text, tmp_path / "eval.yaml")
    assert as_read(kept(file)) == as_read(file)
    models = replace(file.judges[0], asked_with="scripted/A")
    asked = replace(file, judges=(models, *file.judges[1:]))
    assert as_read(kept(asked)) == as_read(asked)


def test_paths_lead_where_they_led(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = parse_eval(EVERYTHING, "deep/eval.yaml")
    before = (file.source.absolute(), *(path.absolute() for path in file.output_paths))
    record = json.loads(json.dumps(write_eval(file)))
    monkeypatch.chdir("/")
    found = read_eval(record, "it")
    assert (found.source, *found.output_paths) == before


@pytest.mark.parametrize(
    "criterion",
    [
        Aspect(" odd \n", "  blanks count  "),
        Criteria(
            " name ",
            " d ",
            [CriteriaOption("Yes", "is it", 1.0), CriteriaOption("No")],
            context_fields=(),
            examples=[CriteriaExample({"response": "x"}, "Yes", "why")],
            higher_is_better=False,
        ),
        Criteria("Is it kind?", " d ", [CriteriaOption("Yes", score=1), CriteriaOption("No")]),
    ],
)
@pytest.mark.parametrize("rows", [(), (Instance({"response": "a\x07 \ud83d", "contexts": ["b"]}),)])
def test_what_a_command_looked_up_and_was_typed_is_kept_exactly(
    criterion: Aspect | Criteria, rows: tuple[Instance, ...]
) -> None:
    entry = (
        AspectEntry(kind="aspect", criteria=(CriteriaEntry(criterion),))
        if isinstance(criterion, Aspect)
        else DirectEntry(kind="direct", criteria=(CriteriaEntry(criterion),))
    )
    data = DataEntry(path="" if rows else "rows.csv")
    file = EvalFile(
        data=data,
        judges=(entry,),
        path=Path("/here/eval.yaml"),
        typed=True,
        rows=rows,
        given={"user_input": "why?", "contexts": ("a", "b")},
    )
    found = kept(file)
    assert as_read(found) == as_read(file)
    assert found.rows == rows


def test_compared_responses_are_compared_again() -> None:
    criteria = CriteriaEntry(Criteria("Which?", "Which is better?"))
    file = EvalFile(
        data=DataEntry(path=""),
        judges=(PairwiseEntry(kind="pairwise", criteria=(criteria,)),),
        path=Path("/here/eval.yaml"),
        typed=True,
        rows=(PairwiseInstance({"response": ["a", "b"]}),),
    )
    (row,) = kept(file).rows
    assert isinstance(row, PairwiseInstance)
    assert row.fields == {"response": ("a", "b")}
