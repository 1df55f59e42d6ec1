"""Rounds between which something happened: a new day, another eval file, an outage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adjudge.features.traffic import follower as rounds
from adjudge.features.traffic.files import GrowingFiles
from adjudge.features.traffic.history import traffic_document
from adjudge.features.traffic.rates import AlarmState, rates_of
from adjudge.features.traffic.sampling import Sampling
from adjudge.features.traffic.source import TrafficEvent
from adjudge.features.traffic.webhook import Webhook
from adjudge.runs.cli.main import app
from adjudge.runs.results.run_report import report_of_run
from adjudge.stats.betting import FallBets

EVAL = """\
judges: [{kind: check, name: tone, checks: [{not: {contains: BAD}}]}]
gates: {fail_under: {tone: 0.7}}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("eval.yaml").write_text(EVAL)


def write(name: str, rows: list[dict[str, object]]) -> None:
    with Path(name).open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in rows)


def events(begin: int, end: int, text: str = "fine") -> list[dict[str, object]]:
    return [{"id": f"e{number}", "answer": text} for number in range(begin, end)]


def follow(*words: str, source: str = "log.jsonl") -> tuple[int, dict[str, Any]]:
    """The exit code and the document of one round."""
    given = ["follow", "eval.yaml", "--from", source, "--once", "--json", *words]
    done = CliRunner().invoke(app, given, standalone_mode=False)
    if done.exception:
        raise done.exception
    return int(done.return_value), json.loads(done.stdout)


def on_day(monkeypatch: pytest.MonkeyPatch, day: str) -> None:
    monkeypatch.setattr(rounds, "today", lambda: day)


def test_a_changed_eval_file_goes_on_in_another_run_of_the_day() -> None:
    write("log.jsonl", events(0, 10))
    assert follow()[1]["summary"]["judged"] == 10
    Path("eval.yaml").write_text(EVAL.replace("BAD", "WORSE"))
    write("log.jsonl", events(10, 12))
    for _ in range(2):
        _, told = follow()
        assert (told["summary"]["judged"], told["results"][0]["rows"]) == (12, 12)
    assert len(list(Path("runs/eval-traffic").glob("*/ledger.sqlite"))) == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "90% of 60 of 80 events (79% to 96%, by 60 rows); 20 rows were skipped"),
        (("--sample", "0.5"), "of about "),
    ],
)
def test_events_that_a_judge_skips_are_not_part_of_its_rate(
    words: tuple[str, ...], told: str
) -> None:
    """The rate of 60 events was said to be of all 80, and the others were nowhere."""
    Path("eval.yaml").write_text(
        "checks: [{not: {contains: ZZ}, name: clean, required: true}]\n"
        "judges: [{kind: check, name: tone, after: checks, checks: [{not: {contains: BAD}}]}]\n"
    )
    rows = [*events(0, 54), *events(54, 60, "BAD"), *events(60, 80, "ZZ")]
    write("log.jsonl", rows)
    _, found = follow(*words)
    tone = next(one for one in found["results"] if one["judge"] == "tone")
    assert tone["events"] == 80
    assert tone["skipped"] > 0
    assert tone["covered"] == 60 if not words else tone["covered"] < 80
    plain = ["follow", "eval.yaml", "--from", "log.jsonl", "--once", *words]
    shown = " ".join(CliRunner().invoke(app, plain, standalone_mode=False).output.split())
    assert told in shown, shown


def test_a_day_that_was_judged_by_another_file_does_not_block_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_day(monkeypatch, "2026-01-01")
    write("log.jsonl", events(0, 10))
    follow()
    Path("eval.yaml").write_text(EVAL.replace("BAD", "WORSE"))
    on_day(monkeypatch, "2026-01-02")
    write("log.jsonl", events(10, 13))
    assert follow()[1]["summary"]["judged"] == 3


def test_a_clock_that_goes_back_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for day, end in (("2026-01-01", 10), ("2026-01-02", 12), ("2026-01-01", 15)):
        on_day(monkeypatch, day)
        write("log.jsonl", events(end - 2, end))
        _, told = follow()
    assert told["results"][0]["rows"] == 6


def test_an_alarm_is_kept_over_a_quiet_time_and_ends_when_all_is_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_day(monkeypatch, "2026-01-01")
    write("log.jsonl", events(0, 60, "BAD"))
    assert follow()[0] == 4
    on_day(monkeypatch, "2026-01-02")
    assert [follow()[0] for _ in range(2)] == [4, 4]
    write("log.jsonl", events(60, 160))
    assert follow()[0] == 0


def test_the_alarm_of_a_bar_that_was_removed_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    on_day(monkeypatch, "2026-01-01")
    write("log.jsonl", events(0, 60, "BAD"))
    assert follow()[0] == 4
    Path("eval.yaml").write_text(EVAL.splitlines()[0])
    code, told = follow()
    assert (code, told["alarms"]) == (0, [])
    shown = traffic_document(Path("runs/eval-traffic"))
    assert not shown.lines and "bar of the alarm" not in str(shown.parts)


def test_an_alarm_of_a_day_that_is_judged_late_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was killed when the events were taken in, and goes on the next day."""
    on_day(monkeypatch, "2026-01-01")
    write("log.jsonl", events(0, 60, "BAD"))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(json.JSONDecodeError):
        patch.setattr(rounds.Follower, "_round", killed)
        follow()
    on_day(monkeypatch, "2026-01-02")
    write("log.jsonl", events(60, 160))
    code, told = follow()
    assert (code, [one["raised"] for one in told["alarms"]]) == (4, [True, False])
    assert follow()[0] == 0


def test_an_event_without_an_answer_does_not_hide_the_rate_of_the_others() -> None:
    write("log.jsonl", [*events(0, 20), {"id": "odd", "question": "And?"}])
    for _ in range(2):
        _, told = follow()
        (rate,) = told["results"]
        assert (rate["rows"], rate["events"], rate["mean"]) == (20, 21, 1.0)


def test_rows_that_were_judged_later_count_for_the_alarm() -> None:
    state = AlarmState(FallBets(0.7)).look("day", dict.fromkeys(range(40)))
    assert state.bets.evidence < 1
    state = AlarmState.of(json.loads(json.dumps(state.to_dict())), 0.7)
    assert state.look("day", dict.fromkeys(range(40), 0.0)).bets.evidence >= 20


def test_rows_that_were_taken_for_sure_stand_for_themselves_alone() -> None:
    """All errors are taken and nearly nothing else: nothing is said of the rest."""
    kinds = (("error", "BAD"), *[("ok", "fine")] * 4)
    rows: list[dict[str, object]] = [
        {"id": f"e{number}", "status": kinds[number % 5][0], "answer": kinds[number % 5][1]}
        for number in range(300)
    ]
    write("log.jsonl", rows)
    _, told = follow("--sample", "0.002", "--always", "status=error")
    assert [(one["mean"], one["lower"]) for one in told["results"]] == [(None, None)]
    _, told = follow("--sample", "0.2", "--always", "status=error", "--run", "other")
    (rate,) = told["results"]
    assert rate["lower"] < 0.8 < rate["upper"]
    (chosen,) = Path("other").glob("**/traffic.jsonl")
    taken = [json.loads(line)["traffic"] for line in chosen.read_text().splitlines()]
    apart = sum(not one["uniform"] for one in taken)
    (note,) = report_of_run(chosen.parent).notes
    assert apart > 40
    assert str(note).startswith(f"{apart} of {rate['rows']} rows were taken for their values")


def test_several_values_of_a_column_are_all_taken() -> None:
    sampling = Sampling(0.000001, always=(("status", "error"), ("status", "timeout")))
    for status, taken in (("error", True), ("timeout", True), ("ok", False)):
        assert (sampling.choose(TrafficEvent("e", {"status": status}), 0) is not None) == taken


def test_one_file_does_not_block_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_text("\n")
    (folder / "b.jsonl").mkdir()
    (folder / "c.jsonl").symlink_to("/proc/self/mem")
    for name in ("d", "e"):
        (folder / f"{name}.jsonl").write_text('{"answer": "Hello there"}\n')
    _, told = follow(source=str(folder))
    assert told["summary"]["events"] == 2
    assert any("c.jsonl" in one for one in told["summary"]["bad"])


def test_a_single_file_that_is_renamed_is_read_to_its_end() -> None:
    write("log.jsonl", events(0, 10))
    follow()
    write("log.jsonl", events(10, 20))
    Path("log.jsonl").rename("log.jsonl.1")
    write("log.jsonl", events(20, 25))
    assert follow()[1]["results"][0]["rows"] == 25


def test_a_file_that_was_cut_and_has_grown_again_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "cut.jsonl"
    first = json.dumps({"id": "first", "answer": "x" * 300}) + "\n"
    log.write_text(first + '{"id": "a"}\n')
    source = GrowingFiles(str(log))
    cursor = source.read({}).cursor
    log.write_text(first + "".join(f'{{"id": "b{number}"}}\n' for number in range(20)))
    assert len(source.read(cursor).events) == 21


@pytest.mark.parametrize(
    "url", ["http://host:port/", "ftp://host/", "http://host/тревога", "http:"]
)
def test_an_address_for_alarms_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(Exception, match="--webhook takes an address"):
        Webhook(url)


def test_rows_that_wait_for_a_budget_are_stood_for_by_no_others() -> None:
    Path("eval.yaml").write_text(
        "models: scripted/No\njudges: [{kind: direct, name: good, criteria: It is good.}]\n"
    )
    kinds = ["error", "ok", "ok", "ok", "ok"] * 100
    texts: list[dict[str, object]] = [
        {"id": f"e{place}", "status": one, "answer": f"{place}"} for place, one in enumerate(kinds)
    ]
    write("log.jsonl", texts)
    _, told = follow("--sample", "0.2", "--always", "status=error", "--max-calls-per-day", "60")
    waiting = told["summary"]["waiting"]
    (rate,) = told["results"]
    chosen = told["summary"]["chosen"]
    assert (rate["rows"], waiting) == (60, chosen - 60)
    assert rate["events"] == pytest.approx(500 * 60 / chosen, rel=0.2)
    (run,) = Path("runs").glob("**/traffic.jsonl")
    with run.open("a", encoding="utf-8") as file:
        file.write('{"id": "half')
    (again,) = rates_of([run.parent], 500)
    assert again.events == rate["events"]


def test_failed_judgments_widen_the_rate_and_are_counted() -> None:
    """All judged rows pass, and 92 of 200 judgments failed: the rate is not 100 %."""
    Path("judge.py").write_text(
        "def answer(prompt):\n"
        "    if 'broken' in prompt: return 'I would rather not.'\n"
        '    return \'{"verdict": "PASS", "reason": "fine"}\'\n'
    )
    Path("eval.yaml").write_text(
        "models: judge.py:answer\njudges: [{kind: aspect, name: good, criteria: It is good.}]\n"
    )
    write(
        "log.jsonl",
        [
            {"id": f"e{place}", "answer": "broken" if place < 92 else "whole"}
            for place in range(200)
        ],
    )
    _, told = follow("--yes")
    (rate,) = told["results"]
    assert (rate["rows"], rate["unscored"], rate["events"]) == (108, 92, 200)
    assert (rate["lowest"], rate["highest"]) == pytest.approx((0.54, 1.0))
    assert rate["lower"] < 0.54
    assert rate["upper"] == 1.0
    shown = CliRunner().invoke(
        app, ["follow", "eval.yaml", "--from", "log.jsonl", "--once", "--yes"]
    )
    said = " ".join(shown.output.split())
    assert "good, good: between 54% and 100% of 200 events (47% to 100%, " in said
    assert "by 108 rows); 92 rows have no score and could have any value" in said


_FAILING_JUDGE = """\
def answer(prompt):
    if 'broken' in prompt: return 'I would rather not.'
    verdict = 'FAIL' if 'bad' in prompt else 'PASS'
    return '{"verdict": "%s", "reason": "as it is"}' % verdict
"""


def test_no_alarm_is_raised_if_failed_judgments_could_hold_the_bar() -> None:
    """40 of 100 rows fail, 60 judgments failed: the rate lies between 0 and 60 %, the bar is 50 %.
    Those that the judge could read alone would be far below it.
    """
    Path("strict_judge.py").write_text(_FAILING_JUDGE)
    Path("eval.yaml").write_text(
        "models: strict_judge.py:answer\n"
        "judges: [{kind: aspect, name: good, criteria: It is kind.}]\n"
        "gates: {fail_under: {good: 0.5}}\n"
    )
    answers = ["bad", "broken", "broken", "bad", "broken"] * 20
    write("log.jsonl", [{"id": f"e{n}", "answer": text} for n, text in enumerate(answers)])
    code, told = follow("--yes")
    (alarm,) = told["alarms"]
    assert (code, alarm["raised"], alarm["unscored"]) == (0, False, 60)
    shown = CliRunner().invoke(
        app, ["follow", "eval.yaml", "--from", "log.jsonl", "--once", "--yes"]
    )
    said = " ".join(shown.output.split())
    assert "no sign that it has fallen below 50%" in said
    assert "60 rows of the day have no score and count as good" in said
    write("log.jsonl", [{"id": f"late{n}", "answer": "bad"} for n in range(160)])
    assert follow("--yes")[0] == 4, "200 of 260 rows fail"


def test_a_score_that_comes_late_counts_as_if_it_had_come_at_once() -> None:
    scores = {place: float(place % 3 == 0) for place in range(30)}
    at_once = AlarmState(FallBets(0.7)).look("day", scores)
    late = AlarmState(FallBets(0.7)).look("day", {**scores, 4: None, 7: None})
    assert late.bets.evidence < at_once.bets.evidence and late.lost == (4, 7)
    late = AlarmState.of(json.loads(json.dumps(late.to_dict())), 0.7).look("day", scores)
    assert late.lost == ()
    assert late.bets.logs[0] == pytest.approx(at_once.bets.logs[0])
