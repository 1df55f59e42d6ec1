"""``explain`` in an eval file that is run with ``--batch``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from adjudge.runs.cli.main import main
from adjudge.runs.folder import records_of, run_info
from support.asking import marked
from support.fake_batches import BatchProvider
from support.fake_provider import KEY

QUICK = ("--batch", "--batch-poll", "0.01", "--no-cache")


def test_opinions_are_asked_directly_after_the_batches(
    tmp_path: Path,
    batches: BatchProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = "".join(f"r{number},{text}\n" for number, text in enumerate(marked(4)))
    (tmp_path / "rows.csv").write_text(f"id,answer\n{rows}")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nmodels: openai/gpt-4o-mini\nrun: out\nexplain: openai/gpt-4o\n"
        "judges: [{kind: aspect, criteria: The mark must end in Y.}]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", batches.batch_url("openai"))

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["adjudge", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), "".join(capsys.readouterr())

    for words in (["--batch-only"], ["--batch-command", "cp {input} {output}"]):
        code, said = run("run", "eval.yaml", *QUICK, *words)
        assert code == 1 and "explain asks openai/gpt-4o directly" in said
        assert not Path("out").exists()
    code, said = run("run", "eval.yaml", *QUICK, "--max-calls", "5")
    assert code == 1 and "1 agree, 0 differ" in said
    assert (len(batches.batches), len(batches.requests)) == (1, 1)
    assert "5 votes, 1 of them for second opinions, all answered" in run("runs", "show", "out")[1]
    assert run("resume", "out", "--", "--max-calls", "6")[0] == 0
    assert (len(batches.batches), len(batches.requests)) == (1, 2)
    assert run_info("out").usage["openai/gpt-4o"].calls == 2
    assert sum(record.second_opinion is not None for record in records_of("out")) == 2
    assert "6 votes, 2 of them for second opinions, all answered" in run("runs", "show", "out")[1]
