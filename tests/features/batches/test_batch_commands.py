"""``adjudge run --batch``, ``resume`` of what it sent, and what is said of it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from adjudge.core.domain.json_types import object_in
from adjudge.runs.cli.main import main
from adjudge.runs.folder import run_info
from support.asking import marked
from support.fake_batches import BatchProvider, CutsAfterCreating
from support.fake_provider import KEY

Adjudge = Callable[..., tuple[int, str, str]]
QUICK = ("--batch", "--batch-poll", "0.01", "--no-cache")


@pytest.fixture
def adjudge(
    tmp_path: Path,
    batches: BatchProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Adjudge:
    """A command, in this process: (exit code, what it printed, what it said beside)."""
    rows = "".join(f"r{number},{text}\n" for number, text in enumerate(marked(4)))
    (tmp_path / "rows.csv").write_text(f"id,answer\n{rows}")
    judge = "{kind: aspect, criteria: The mark must end in Y.}"
    (tmp_path / "eval.yaml").write_text(
        f"data: rows.csv\nmodels: openai/gpt-4o-mini\njudges: [{judge}]\nrun: out\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", batches.batch_url("openai"))

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["adjudge", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def test_a_run_in_batches_ends_as_any_other(adjudge: Adjudge, batches: BatchProvider) -> None:
    code, _, said = adjudge("run", "eval.yaml", *QUICK)
    assert code == 0
    assert not batches.requests
    assert "sent a batch to openai: 4 requests" in said
    assert "collected a batch from openai: 4 requests" in said


def test_what_nobody_waits_for_is_collected_by_resume(
    adjudge: Adjudge, batches: BatchProvider
) -> None:
    batches.looks_until_end = 4
    code, _, said = adjudge("run", "eval.yaml", *QUICK, "--detach")
    assert code == 3
    assert (
        "batches under way: 1, with 4 requests; they continue at the provider. Collect them "
        "with: adjudge resume out"
    ) in said
    code, shown, _ = adjudge("runs", "show", "out")
    assert f"batch {batches.batches[0].id} at openai: open (in_progress), 4 requests" in shown
    assert adjudge("resume", "out")[0] == 3
    code, _, _ = adjudge("resume", "out")
    assert code == 0
    assert len(batches.batches) == 1
    assert run_info("out").rows == 4
    assert "collected (completed)" in adjudge("runs", "show", "out")[1]


def test_resume_can_wait(adjudge: Adjudge, batches: BatchProvider) -> None:
    batches.looks_until_end = 20
    assert adjudge("run", "eval.yaml", *QUICK, "--detach")[0] == 3
    assert adjudge("resume", "out", "--wait")[0] == 0
    assert "detach" not in object_in(object_in(run_info("out").facts["resume"])["options"])


def test_what_is_said_of_one_batch_is_not_said_of_the_next(adjudge: Adjudge) -> None:
    assert adjudge("run", "eval.yaml", *QUICK)[0] == 0
    assert adjudge("resume", "out", "--batch", "resubmit")[0] == 0
    assert "resubmit" not in str(run_info("out").facts["resume"])


def test_a_dry_run_says_rounds_price_and_saving(adjudge: Adjudge, batches: BatchProvider) -> None:
    code, said, _ = adjudge("run", "eval.yaml", *QUICK, "--dry-run")
    assert code == 0
    assert not batches.batches
    assert "rounds of batches: 1" in said
    low, high, saved = map(
        float, re.findall(r"in batches: \$([\d.]+) to \$([\d.]+), up to \$([\d.]+) less", said)[0]
    )
    assert low <= high and high > 0
    assert saved == pytest.approx(high, abs=1e-4)
    found = json.loads(adjudge("run", "eval.yaml", *QUICK, "--dry-run", "--json")[1])["results"][0]
    assert found["batch"]["rounds"] == {"lower": 1, "upper": 1}
    assert found["batch"]["cost_usd"]["upper"] == pytest.approx(found["cost_usd"]["upper"] / 2)


def test_the_json_of_a_run_has_its_batches(adjudge: Adjudge) -> None:
    adjudge("run", "eval.yaml", *QUICK)
    shown = json.loads(adjudge("runs", "show", "out", "--json")[1])
    (batch,) = shown["run"]["batches"]
    assert (batch["provider"], batch["state"], batch["requests"]) == ("openai", "collected", 4)
    schema = Draft202012Validator(json.loads(adjudge("schema", "results")[1]))
    whole = json.loads(adjudge("run", "eval.yaml", *QUICK, "--json")[1])
    planned = json.loads(
        adjudge("run", "eval.yaml", *QUICK, "--dry-run", "--json", "--run", "other")[1]
    )
    for found in (shown, whole, planned):
        schema.validate(found)


def test_options_of_batches_need_batches(adjudge: Adjudge) -> None:
    code, _, said = adjudge("run", "eval.yaml", "--detach")
    assert code == 2
    assert "need --batch" in said


def test_a_command_that_is_not_installed_is_refused_at_once(adjudge: Adjudge) -> None:
    words = ("--batch-command", "no-such-program -i {input} -o {output}")
    code, _, said = adjudge("run", "eval.yaml", *QUICK, *words)
    assert code == 1
    assert "the batch command 'no-such-program' was not found" in said


def test_a_command_that_somebody_else_put_there_is_shown(adjudge: Adjudge, tmp_path: Path) -> None:
    command = f"{sys.executable} -c pass {{input}} {{output}}"
    adjudge("run", "eval.yaml", *QUICK, "--batch-command", command)
    from adjudge.core.ledger.file import FILE, connect, write_meta

    with connect(tmp_path / "out" / FILE) as ledger:
        kept = object_in(run_info("out").facts["resume"])
        write_meta(ledger, {"resume": {**kept, "project": {"model": "not/ours"}}})
    code, _, said = adjudge("resume", "out")
    assert code == 1
    assert f"runs    {command}" in said


def test_batches_are_told_of_in_russian(adjudge: Adjudge, batches: BatchProvider) -> None:
    batches.looks_until_end = 4
    _, _, said = adjudge("run", "eval.yaml", *QUICK, "--detach", "--language", "ru")
    assert "отправлен пакет в openai: 4 запроса" in said
    assert "Получить их: adjudge resume out" in said
    assert "batches under way" not in said
    shown = adjudge("runs", "show", "out", "--language", "ru")[1]
    assert "пакет" in shown


def test_a_run_with_open_batches_is_not_deleted(
    adjudge: Adjudge, batches: BatchProvider, tmp_path: Path
) -> None:
    batches.looks_until_end = 9
    adjudge("run", "eval.yaml", *QUICK, "--detach")
    said = adjudge("runs", "gc", ".", "--older-than", "0", "--yes")[1]
    assert (
        "its batches are under way and would be lost: collect them with 'adjudge resume out'"
        in said
    )
    assert list((tmp_path / "out" / "batches").iterdir())
    assert adjudge("resume", "out", "--wait")[0] == 0
    adjudge("runs", "gc", ".", "--older-than", "0", "--yes")
    assert not (tmp_path / "out").exists()


def test_open_batches_are_not_asked_one_by_one_too(
    adjudge: Adjudge, batches: BatchProvider
) -> None:
    batches.looks_until_end = 4
    adjudge("run", "eval.yaml", *QUICK, "--detach")
    code, _, said = adjudge("run", "eval.yaml", "--no-cache")
    assert code == 1
    assert (
        "batches of this run are under way: 1, with 4 requests" in said
        and "'adjudge resume out'" in said
    )
    assert adjudge("resume", "out", "--wait")[0] == 0  # still the command that sent them
    assert not batches.requests
    assert adjudge("run", "eval.yaml", "--no-cache")[0] == 0


def test_a_fork_does_not_ask_what_the_other_run_has_under_way(
    adjudge: Adjudge, batches: BatchProvider, tmp_path: Path
) -> None:
    batches.looks_until_end = 4
    adjudge("run", "eval.yaml", *QUICK, "--detach")
    for further in ((), ("--batch",)):
        code, _, said = adjudge(
            "run", "eval.yaml", "--no-cache", "--fork", "out", "--run", "forked", *further
        )
        assert code == 1 and "that the fork would send and pay for a second time" in said
    assert not (tmp_path / "forked").exists()
    assert adjudge("resume", "out", "--wait")[0] == 0
    assert adjudge("run", "eval.yaml", "--no-cache", "--fork", "out", "--run", "forked")[0] == 0
    assert not batches.requests


def test_resume_says_what_goes_wrong_in_the_language_it_is_asked_in(
    adjudge: Adjudge, batches: BatchProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches.looks_until_end = 100
    assert adjudge("run", "eval.yaml", *QUICK, "--detach")[0] == 3
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another")
    code, _, said = adjudge("resume", "out", "--language", "ru")
    assert code == 1
    assert "отправлен в openai с другим ключом" in said


def test_what_may_have_been_paid_twice_is_said_everywhere(
    adjudge: Adjudge, batches: BatchProvider, tmp_path: Path
) -> None:
    """Seen: 600 paid for 300, exit code 0, and nothing said."""
    batches.list_lag, batches.create_faults = inf, [CutsAfterCreating()]
    code, shown, said = adjudge("run", "eval.yaml", *QUICK, "--batch-search", "1.5")
    assert code == 0
    assert len(batches.batches) == 2
    assert (
        "openai may have accepted a batch (4 requests) before its answer was lost, and its "
        "list may lag behind"
    ) in said
    assert (
        "sent to openai again, and may have been paid twice: 4 requests; openai may have "
        "accepted it before"
    ) in said
    note = "requests to openai that may have been paid twice: 4"
    assert note in " ".join(shown.split())
    assert any(
        one.startswith(note)
        for one in json.loads(adjudge("run", "eval.yaml", *QUICK, "--json")[1])["notes"]
    )
    assert "4 requests; it may have been paid twice" in " ".join(
        adjudge("runs", "show", "out")[1].split()
    )
    adjudge("export", "out", "-o", tmp_path / "report.html")
    assert note in (tmp_path / "report.html").read_text()


def test_a_rotated_key_collects_what_the_old_one_sent(
    adjudge: Adjudge, batches: BatchProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches.accounts, batches.looks_until_end = {KEY: "ours", "sk-rotated": "ours"}, 3
    assert adjudge("run", "eval.yaml", *QUICK, "--detach")[0] == 3
    batches.keys = {"sk-rotated"}
    monkeypatch.setenv("OPENAI_API_KEY", "sk-rotated")
    assert adjudge("resume", "out", "--wait")[0] == 0
    assert len(batches.batches) == 1 and not batches.requests
