"""An eval file that is edited and run again: a folder of its own, the answers that still apply, and
nothing that stops.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from adjudge.core.ledger.file import under_lock
from adjudge.runs.folder import run_info, spent_in
from support import commands
from support.asking import marked
from support.fake_provider import KEY, FakeProvider

EVAL = """
data: {data}
models: {{model: openai/{model}, base_url: '{url}'}}
judges:
  - {{kind: aspect, name: dates, criteria: The response gives a date.}}
  - {{kind: direct, name: kind, criteria: "{criterion}"}}
"""
Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, provider: FakeProvider) -> Write:
    def write(
        rows: int = 4,
        model: str = "gpt-4o-mini",
        criterion: str = "Is it kind?",
        data: str = "rows.csv",
        file: str = "eval.yaml",
    ) -> None:
        lines = "".join(f"r{number},{text}\n" for number, text in enumerate(marked(rows)))
        (tmp_path / data).write_text(f"id,answer\n{lines}", encoding="utf-8")
        text = EVAL.format(
            model=model, criterion=criterion, data=data, url=provider.base_url("openai")
        )
        (tmp_path / file).write_text(text, encoding="utf-8")

    write()
    return write


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., CompletedProcess[str]]:
    def run(*more: str, file: str = "eval.yaml", code: int = 0) -> CompletedProcess[str]:
        done = commands.adjudge(
            "run",
            file,
            "--no-cache",
            *more,
            cwd=tmp_path,
            environment={**os.environ, "OPENAI_API_KEY": KEY, "COLUMNS": "100"},
        )
        assert done.returncode == code, done.stderr
        return done

    return run


def test_an_edited_criterion_goes_on_beside_with_the_answers_that_apply(
    tmp_path: Path, provider: FakeProvider, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    first = run()
    assert "changed since" not in first.stderr
    assert len(provider.requests) == 8
    write(criterion="Is it rude?")
    done = run()
    assert (
        "eval.yaml, its rows or its models changed since runs/eval: continuing in runs/eval-2 "
        "with the answers that still apply." in done.stderr
    )
    assert len(provider.requests) == 12
    assert "adjudge runs diff runs/eval runs/eval-2" in done.stdout
    assert run_info(tmp_path / "runs/eval").judges == run_info(tmp_path / "runs/eval-2").judges
    again = run()
    assert "changed since" not in again.stderr
    assert len(provider.requests) == 12
    assert not (tmp_path / "runs/eval-3").exists()
    shown = commands.adjudge("runs", "show", ".", cwd=tmp_path / "runs/eval-2")
    assert f"adjudge runs diff {tmp_path}/runs/eval ." in shown.stdout.replace("\n", "")


@pytest.mark.parametrize(
    ("change", "calls"),
    [({"model": "gpt-4o"}, 8), ({"rows": 5}, 2), ({"rows": 3}, 0)],
    ids=["another model", "a row more", "a row less"],
)
def test_another_model_and_other_rows_are_changes_too(
    tmp_path: Path,
    provider: FakeProvider,
    write: Write,
    run: Callable[..., CompletedProcess[str]],
    change: dict[str, object],
    calls: int,
) -> None:
    run()
    asked = len(provider.requests)
    write(**change)
    assert "continuing in runs/eval-2" in run().stderr
    assert len(provider.requests) - asked == calls
    assert run_info(tmp_path / "runs/eval").rows == 8


def test_a_run_pays_only_for_what_it_asked(
    tmp_path: Path, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    run()
    write(criterion="Is it rude?")
    run("--max-calls", "4")  # what the first run took is not counted against this one
    first, second = (spent_in(tmp_path / "runs" / name).calls for name in ("eval", "eval-2"))
    assert (first, second) == (8, 4)
    info = run_info(tmp_path / "runs/eval-2")
    assert sum(usage.calls for usage in info.usage.values()) == 4


def test_the_newest_folder_of_this_configuration_is_gone_on_with(
    tmp_path: Path, provider: FakeProvider, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    run()
    write(criterion="Is it rude?")
    run("--max-calls", "2", code=1)  # runs/eval-2 is not finished
    run("--max-calls", "100")
    assert not (tmp_path / "runs/eval-3").exists()
    write(criterion="Is it short?")
    assert "changed since runs/eval-2: continuing in runs/eval-3" in run().stderr
    asked = len(provider.requests)
    write()
    assert "changed since" not in run().stderr  # as the first run was
    assert len(provider.requests) == asked
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "eval",
        "eval-2",
        "eval-3",
    ]


def test_an_unfinished_run_goes_on_with_other_rows(
    tmp_path: Path, provider: FakeProvider, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    run("--max-calls", "2", code=1)
    write(rows=5)
    run("--max-calls", "100")
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["eval"]
    assert len(provider.requests) == 10


def test_the_folder_of_another_eval_file_is_left_alone(
    tmp_path: Path, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    run()
    write(criterion="Is it rude?", file="eval-2.yaml")
    run(file="eval-2.yaml")
    write(criterion="Is it rude?")
    assert "continuing in runs/eval-3" in run().stderr
    write(criterion="Is it short?", file="eval-2.yaml")
    assert "continuing in runs/eval-2-2" in run(file="eval-2.yaml").stderr


def test_what_another_process_writes_is_waited_for_or_left_alone(
    tmp_path: Path, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    run()
    with under_lock(tmp_path / "runs/eval"):
        assert "under way in another process" in run(code=1).stderr
        write(criterion="Is it rude?")
        assert "continuing in runs/eval-2" in run().stderr


def test_a_damaged_run_is_told_of_and_not_asked_anew(
    tmp_path: Path, provider: FakeProvider, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    write()
    run()
    asked = len(provider.requests)
    (tmp_path / "runs/eval/ledger.sqlite").write_bytes(b"not a database, but long enough" * 40)
    assert "adjudge runs recover" in run(code=1).stderr
    assert len(provider.requests) == asked


def test_a_deleted_first_run_is_not_missed(
    tmp_path: Path, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    run()
    write(criterion="Is it rude?")
    run()
    shutil.rmtree(tmp_path / "runs/eval")
    assert "changed since" not in run().stderr
    write()
    assert "changed since runs/eval-2: continuing in runs/eval with" in run().stderr


def test_only_a_folder_that_was_named_is_refused_in_a_sentence(
    tmp_path: Path, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    run("--run", "runs/mine")
    write(criterion="Is it rude?")
    refused = run("--run", "runs/mine", code=1)
    assert "the run runs/mine was created with another configuration (judges.kind" in refused.stderr
    assert "--run OTHER --fork runs/mine" in refused.stderr
    assert not {'{"', "[", "\n\n"} & set(refused.stderr)
    assert refused.stderr.count("\n") == 1
    run("--run", "runs/other", "--fork", "runs/mine")
    assert run_info(tmp_path / "runs/other").facts["forked_from"] == "runs/mine"


def test_a_dry_run_knows_what_is_reused(
    tmp_path: Path, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    run()
    write(criterion="Is it rude?")
    assert "4" in run("--dry-run").stdout
    assert not (tmp_path / "runs/eval-2").exists()


def test_russian(write: Write, run: Callable[..., CompletedProcess[str]]) -> None:
    run("--language", "ru")
    write(criterion="Is it rude?")
    assert "его строки или модели изменились после runs/eval" in run("--language", "ru").stderr


def test_the_prices_that_held_are_those_that_are_shown_and_counted(
    tmp_path: Path,
    write: Write,
    run: Callable[..., CompletedProcess[str]],
) -> None:
    (tmp_path / "prices.yaml").write_text("openai/gpt-4o-mini: {input: 1000, output: 1000}\n")
    stopped = run("--prices", "prices.yaml", "--max-usd", "1", code=1)
    assert "adjudge resume runs/eval -- --max-usd 2\n" in stopped.stderr
    calls = run_info(tmp_path / "runs/eval").votes
    run("--max-usd", "1", code=1)
    assert run_info(tmp_path / "runs/eval").votes == calls, "the money is spent already"
    for words in (("runs", "show", "runs/eval"), ("runs", "list")):
        assert "$0." in (shown := commands.adjudge(*words, cwd=tmp_path).stdout), shown
        assert "$0.00" not in shown


@pytest.mark.usefixtures("write")
def test_prices_that_held_and_are_gone_are_named(
    tmp_path: Path, run: Callable[..., CompletedProcess[str]]
) -> None:
    (tmp_path / "prices.yaml").write_text("openai/gpt-4o-mini: {input: 1000, output: 1000}\n")
    run("--prices", "prices.yaml")
    (tmp_path / "prices.yaml").unlink()
    said = run().stderr
    assert "The prices of runs/eval came from" in said
    assert "prices.yaml, which cannot be read. Those of 20" in said


def test_a_run_without_a_judgment_is_compared_with_nothing(
    tmp_path: Path,
    provider: FakeProvider,
    write: Write,
    run: Callable[..., CompletedProcess[str]],
) -> None:
    run()
    good = (tmp_path / "eval.yaml").read_text()
    (tmp_path / "eval.yaml").write_text(good.replace(provider.base_url("openai"), "http://[::1]:1"))
    run(code=1)
    (tmp_path / "eval.yaml").write_text(good.replace("gives a date", "gives a day"))
    done = run()
    assert "changed since runs/eval: continuing in" in done.stderr
    assert "adjudge runs diff runs/eval " in done.stdout


def test_a_renamed_judge_and_a_changed_score_ask_nobody_again(
    tmp_path: Path, provider: FakeProvider, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    write()
    path = tmp_path / "eval.yaml"
    options = "[{name: 'PASS', score: 1}, {name: 'FAIL', score: 0}]"
    criterion = "{name: fine, description: Is it fine, options: " + options + "}"
    path.write_text(path.read_text().replace('"Is it kind?"', criterion))
    run()
    asked = len(provider.requests)
    path.write_text(path.read_text().replace("name: dates", "name: times"))
    renamed = run()
    assert len(provider.requests) == asked
    assert "8 votes, all answered" in shown("runs", "show", "runs/eval-2", cwd=tmp_path)
    told = shown("runs", "diff", "runs/eval", "runs/eval-2", cwd=tmp_path)
    assert told.splitlines()[0] == "judges.dates is now called times"
    assert "1 setting and 0 judgments differ, of 8 in both runs" in told
    assert "dates: no difference: mean" in told
    assert "cannot tell" not in told
    path.write_text(path.read_text().replace("score: 1}", "score: 0.8}"))
    run()
    assert len(provider.requests) == asked
    told = shown("runs", "diff", "runs/eval-2", "runs/eval-3", cwd=tmp_path)
    assert told.splitlines()[0].endswith("criteria.fine.options.PASS.score: 1.0 → 0.8")
    assert "adjudge runs diff runs/eval runs/eval-2" in renamed.stdout


def shown(*command: str, cwd: Path) -> str:
    return commands.adjudge(*command, cwd=cwd).stdout


def test_a_stop_keeps_the_offer_to_compare_and_the_advice_works(
    tmp_path: Path, provider: FakeProvider, write: Write, run: Callable[..., CompletedProcess[str]]
) -> None:
    run()
    write(criterion="Is it rude?")
    run("--max-calls", "1", code=1)
    told = shown("runs", "show", "runs/eval-2", cwd=tmp_path)
    assert "adjudge resume runs/eval-2 -- --max-calls 2" in told
    assert "5 votes, all answered" in told, "those to the criterion that is gone do not count"
    assert "runs/eval-2 is not finished" in shown(
        "runs", "diff", "runs/eval", "runs/eval-2", cwd=tmp_path
    )
    done = run()
    assert "adjudge runs diff runs/eval runs/eval-2" in done.stdout
