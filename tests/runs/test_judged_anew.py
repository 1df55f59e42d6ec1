"""``adjudge run --data RUN`` against a real server: what it asks, and what it compares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.runs.cli.main import main
from support.asking import marked
from support.fake_provider import KEY, FakeProvider

ROWS = 6


@pytest.fixture(autouse=True)
def _at_the_fake_provider(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))


def adjudge(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["adjudge", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def write_eval(*more: str) -> None:
    judges = [
        {"kind": "aspect", "name": name, "criteria": f"The response {name} in Y."}
        for name in ("ends", *more)
    ]
    Path("eval.yaml").write_text(
        json.dumps({"data": "rows.csv", "models": ["openai/gpt-4o-mini"], "judges": judges})
    )


def test_answers_of_an_earlier_run_that_still_apply_are_not_asked_for_again(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rows.csv").write_text("\n".join(["response", *marked(ROWS)]) + "\n")
    write_eval()
    assert adjudge(monkeypatch, "run", "eval.yaml", "--run", "old", "--no-cache") == 0
    assert len(provider.requests) == ROWS
    assert (
        adjudge(monkeypatch, "run", "eval.yaml", "--data", "old", "--run", "same", "--no-cache")
        == 0
    )
    assert len(provider.requests) == ROWS
    write_eval("results")
    assert (
        adjudge(monkeypatch, "run", "eval.yaml", "--data", "old", "--run", "new", "--no-cache") == 0
    )
    assert len(provider.requests) == 2 * ROWS
    assert f"on all {ROWS} rows that both judged" in capsys.readouterr().out


def test_an_imported_run_is_asked_anew_and_compared_with_what_was_recorded(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another tool's judge was wrong on one of six rows."""
    texts = marked(ROWS)
    right = [text.endswith("Y") for text in texts]
    said = [not right[0], *right[1:]]
    metrics = [
        {
            "name": "ends",
            "success": one,
            "score": float(one),
            "threshold": 0.5,
            "evaluationModel": "m",
        }
        for one in said
    ]
    pairs = zip(texts, metrics, strict=True)
    cases = [
        {"name": text, "input": "?", "actualOutput": text, "metricsData": [one]}
        for text, one in pairs
    ]
    Path("run.json").write_text(
        json.dumps({"testFile": "t", "testCases": cases, "metricsScores": []})
    )
    write_eval()
    assert adjudge(monkeypatch, "import", "run.json", "--run", "old") == 0
    assert (
        adjudge(monkeypatch, "run", "eval.yaml", "--data", "old", "--run", "new", "--no-cache") == 0
    )
    assert len(provider.requests) == ROWS
    before, now = sum(said) / ROWS, sum(right) / ROWS
    assert f"mean {before:.3f} → {now:.3f} on {ROWS} rows" in capsys.readouterr().out
