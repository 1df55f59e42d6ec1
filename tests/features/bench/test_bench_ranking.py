"""``adjudge bench``: judges ranked by their agreement with people, by judges whose agreement is
known.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adjudge.runs.folder import run_info
from adjudge.stats.intervals import share_limits
from support import bench, commands
from support.bench import Judges, asked, ranking
from support.fake_provider import FakeProvider

GOOD = ("--criterion", "Is it good?")
TRY = ("bench", "rows.csv", "--human", "human", *GOOD, "--no-cache", "--draws", "100")


@pytest.fixture
def judges(provider: FakeProvider) -> Judges:
    made = Judges()
    provider.answer = made
    return made


def test_judges_are_ranked_by_agreement_with_their_disagreements(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    bench.rows_csv(tmp_path)
    pages = ("-o", "out/page.md", "-o", "out/page.html", "-o", "out/page.json")
    done = asked(
        provider, tmp_path, *TRY, "-m", "openai/poor", "-m", "openai/good", "--json", *pages
    )
    assert done.returncode == 0, done.stderr
    found = ranking(done)
    good, poor = found["judges"]
    assert [one["judge"] for one in (good, poor)] == [
        "Is it good? [openai/good]",
        "Is it good? [openai/poor]",
    ]
    assert (good["agreement"]["value"], good["kappa"]["value"]) == (
        pytest.approx(0.9),
        pytest.approx(0.8),
    )
    assert (poor["agreement"]["value"], poor["kappa"]["value"]) == (
        pytest.approx(0.75),
        pytest.approx(0.5),
    )
    limits = share_limits(18, 20)
    assert (good["agreement"]["lower"], good["agreement"]["upper"]) == (
        pytest.approx(limits.lower),
        pytest.approx(limits.upper),
    )
    assert [one["id"] for one in poor["disagreements"]] == ["q0", "q4", "q8", "q12", "q16"]
    assert poor["disagreements"][0]["judge_says"] == "Yes"
    assert poor["disagreements"][0]["people_say"] == "No"
    assert poor["told_apart_from_best"] is False
    assert found["baselines"]["majority"]["value"] == 0.5
    assert (good["calls"], good["failed"], good["consistency"]["value"]) == (20, 0, None)
    for name in ("page.md", "page.html"):
        text = (tmp_path / "out" / name).read_text()
        assert "q16" in text
        assert text.index("openai/good") < text.index("openai/poor")
    assert json.loads((tmp_path / "out/page.json").read_text()) == json.loads(done.stdout)


def test_a_finished_benchmark_is_shown_again_without_asking(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    bench.rows_csv(tmp_path)
    asked(provider, tmp_path, *TRY, "-m", "openai/good", "-q", "--run", "one")
    before = len(provider.requests)
    done = asked(provider, tmp_path, "bench", "one", "--draws", "100", "--show-disagreements", "1")
    assert len(provider.requests) == before == 20
    assert "Is it good? [openai/good]" in done.stdout
    assert "q0: judge Yes, people No: row 0 of the set" in done.stdout
    assert "… and 1 more: --show-disagreements 2" in done.stdout
    assert asked(provider, tmp_path, "calibrate", "one").returncode in (0, 5)


def test_people_s_answers_are_never_shown_to_a_judge(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    """Not even in a column that is called as a reference usually is."""
    bench.rows_csv(tmp_path, column="expected")
    done = asked(
        provider,
        tmp_path,
        "bench",
        "rows.csv",
        "--human",
        "expected",
        *GOOD,
        "--no-cache",
        "-m",
        "openai/right",
        "--json",
    )
    assert ranking(done)["judges"][0]["agreement"]["value"] == 1.0
    assert not [one for one in provider.bodies if "reference" in bench.prompt_of(one)]


def test_repeated_votes_show_consistency_and_confidence(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    bench.rows_csv(tmp_path)
    (moody,) = ranking(
        asked(provider, tmp_path, *TRY, "-m", "openai/moody", "--strictness", "3", "--json")
    )["judges"]
    assert moody["agreement"]["value"] == 1.0
    assert moody["consistency"]["value"] == pytest.approx((10 / 3 + 10) / 20)
    assert moody["single_vote"]["value"] == pytest.approx((10 * 2 / 3 + 10) / 20)
    by_chance = moody["confidence_error_by_chance"]["value"]
    assert 0 < by_chance < 0.1
    assert moody["confidence_error"]["value"] == pytest.approx(10 / 20 / 3 - by_chance)
    assert moody["calls"] == 60


def test_every_setting_is_a_judge_of_its_own(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    bench.rows_csv(tmp_path, 8)
    words = (
        "--strictness",
        "1",
        "--strictness",
        "3",
        "--temperature",
        "0",
        "--temperature",
        "0.5",
        "-m",
        "openai/right",
    )
    found = ranking(asked(provider, tmp_path, *TRY, *words, "--json"))
    assert {one["judge"] for one in found["judges"]} == {
        f"Is it good?, {votes}, temperature {temperature} [openai/right]"
        for votes in ("1 vote", "3 votes")
        for temperature in ("0", "0.5")
    }


def test_comparisons_show_the_order_effect(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    rows = [
        (
            f"row {number} of the "
            f"set,{('WINS a', 'b')[number % 2]},{('a', 'WINS b')[number % 2]},{'AB'[number % 2]}"
        )
        for number in range(10)
    ]
    (tmp_path / "pairs.csv").write_text(
        "\n".join(["question,response_a,response_b,human", *rows]) + "\n"
    )
    judges.more["first"] = lambda body: bench.said("A")
    judges.more["fair"] = lambda body: bench.said(
        "A"
        if "Response A" in bench.prompt_of(body).partition("WINS")[0].rpartition("field=")[2]
        else "B"
    )
    words = (
        "bench",
        "pairs.csv",
        "--human",
        "human",
        "-c",
        "pairwise_helpfulness",
        "--no-cache",
        "--json",
        "--draws",
        "100",
    )
    fair, first = ranking(
        asked(provider, tmp_path, *words, "-m", "openai/first", "-m", "openai/fair")
    )["judges"]
    assert (fair["agreement"]["value"], fair["order_effect"]["value"]) == (1.0, 0.0)
    assert (first["agreement"]["value"], first["order_effect"]["value"]) == (0.0, 1.0)
    assert first["single_vote"]["value"] == 0.5
    assert first["told_apart_from_best"] is True


def test_people_and_the_judge_are_measured_on_the_same_rows(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    """The judge says what ann says. People are split on four rows, of which the judge's agreement
    with most people says nothing, and one row has no verdict.
    """
    judges.more["right"] = lambda body: (
        "I cannot say." if bench.row_of(body) == 9 else bench.said(bench.truth(bench.row_of(body)))
    )
    lines = [
        (
            f"row {n} of the "
            f"set,{bench.truth(n)},{bench.other(bench.truth(n)) if n < 4 else bench.truth(n)}"
        )
        for n in range(20)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["answer,ann,bob", *lines]) + "\n")
    words = (
        "bench",
        "rows.csv",
        "--human",
        "ann",
        "--human",
        "bob",
        *GOOD,
        "--no-cache",
        "-m",
        "openai/right",
    )
    done = asked(provider, tmp_path, *words, "--json")
    found = ranking(done)
    assert found["ceiling"] == found["judges"][0]["among_people"]
    assert (found["ceiling"]["people"], found["ceiling"]["pairs"]) == (2, 19)
    assert found["ceiling"]["agreement"] == pytest.approx(15 / 19)
    assert found["ceiling"]["judge_agreement"] == pytest.approx((19 + 15) / 38)
    assert 0 < found["ceiling"]["kappa"] < found["ceiling"]["judge_kappa"] < 1
    assert found["judges"][0]["agreement"]["n"] == 15
    shown = asked(provider, tmp_path, "bench", "runs/bench-rows").stdout
    assert (
        "two people (2 in all) agree with each other in 0.789 (kappa "
        f"{found['ceiling']['kappa']:.3f}); on the same rows, Is it good? [openai/right] agrees "
        "with one of them in 0.895"
    ) in " ".join(shown.split())
    assert (
        "people are evenly split on 4 rows, which are left out of agreement figures"
        in json.loads(done.stdout)["notes"]
    )


def test_a_row_without_a_verdict_is_a_failure_and_no_verdict(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    bench.rows_csv(tmp_path)
    judges.more["shy"] = lambda body: (
        "I cannot say." if bench.row_of(body) == 3 else bench.said(bench.truth(bench.row_of(body)))
    )
    done = asked(provider, tmp_path, *TRY, "-m", "openai/shy", "--json")
    (shy,) = ranking(done)["judges"]
    assert done.returncode == 3
    assert (shy["failed"], shy["agreement"]["value"], shy["agreement"]["n"]) == (1, 1.0, 19)
    again = asked(provider, tmp_path, *TRY, "-m", "openai/shy", "--json", "--missing", "wrong")
    assert ranking(again)["judges"][0]["agreement"]["value"] == pytest.approx(19 / 20)


def test_judges_that_a_public_set_recorded_are_ranked_by_one_command(tmp_path: Path) -> None:
    rows = [
        {"instruction": f"do {n}", "response_1": "x", "response_2": "y",
         "human_votes": [1, 1, 2 if n < 5 else 1], "label": 1,
         "judges": {"sure": {"verdict": "1"}, "odd": {"verdict": "garbage" if n < 2 else "2"}}}
        for n in range(10)
    ]  # fmt: skip
    (tmp_path / "set.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = ranking(
        commands.adjudge("bench", "set.jsonl", "--draws", "100", "--json", cwd=tmp_path)
    )
    sure, odd = found["judges"]
    assert (sure["judge"], sure["agreement"]["value"], odd["agreement"]["value"]) == (
        "sure",
        1.0,
        0.0,
    )
    assert (odd["failed"], odd["agreement"]["n"]) == (2, 8)
    assert found["ceiling"]["people"] == 3
    assert found["ceiling"]["agreement"] == pytest.approx((10 + 5 + 5) / 30)
    again = commands.adjudge(
        "bench", "set.jsonl", "--draws", "100", "--json", "--missing", "wrong", cwd=tmp_path
    )
    assert ranking(again)["judges"][1]["agreement"]["n"] == 10


def test_rows_without_a_label_are_not_judged_and_the_others_count_as_chosen(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    path = bench.rows_csv(tmp_path)
    path.write_text(path.read_text() + "q20,row 20 of the set,\n")
    done = asked(provider, tmp_path, *TRY, "-m", "openai/good", "--json")
    notes = json.loads(done.stdout)["notes"]
    assert "1 row has no label and was not judged" in notes
    assert (
        "the labelled rows were chosen, not drawn at random, so the figures apply only to these "
        "rows" in notes
    )
    assert len(provider.requests) == 20


def test_numbers_of_people_are_compared_by_their_order(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    lines = [f"row {n} of the set,{0.25 if bench.truth(n) == 'No' else 0.75}" for n in range(20)]
    (tmp_path / "rows.csv").write_text("\n".join(["answer,human", *lines]) + "\n")
    (right,) = ranking(asked(provider, tmp_path, *TRY, "-m", "openai/right", "--json"))["judges"]
    assert (right["figure"], right["agreement"]["value"]) == ("Spearman", pytest.approx(1.0))


def test_labels_that_are_no_option_are_refused_before_anything_is_asked(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    text = bench.rows_csv(tmp_path).read_text().replace(",Yes", ",fine").replace(",No", ",bad")
    (tmp_path / "rows.csv").write_text(text)
    done = asked(provider, tmp_path, *TRY, "-m", "openai/right")
    assert done.returncode == 1
    assert (
        "the labels 'bad', 'fine' are not options of criterion 'Is it good?' (Yes, No): "
        "map them with --map"
    ) in done.stderr
    assert provider.requests == []
    done = asked(
        provider,
        tmp_path,
        *TRY,
        "-m",
        "openai/right",
        "--map",
        "fine=Yes",
        "--map",
        "bad=No",
        "--json",
    )
    assert ranking(done)["judges"][0]["agreement"]["value"] == 1.0


def test_labels_that_are_left_out_are_counted_and_rows_without_others_are_not_judged(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    """ann says "unsure" on rows 0 to 5, and bob has no answer on rows 0 to 3."""
    lines = ["id,answer,ann,bob"]
    for n in range(20):
        ann = "unsure" if n < 6 else bench.truth(n)
        bob = "" if n < 4 else bench.truth(n)
        lines.append(f"q{n},row {n} of the set,{ann},{bob}")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    people = ("bench", "rows.csv", "--human", "ann", "--human", "bob", *GOOD, "--draws", "100")
    done = asked(provider, tmp_path, *people, "-m", "openai/right", "--map", "unsure=", "--json")
    assert done.returncode == 0, done.stderr
    notes = json.loads(done.stdout)["notes"]
    gone = "4 rows have only labels that --map excludes, and were not judged"
    fewer = (
        "on 2 rows --map leaves out some labels (2 in all): people's agreement covers only the "
        "others"
    )
    assert {gone, fewer} <= {*notes}
    assert any("chosen, not drawn at random" in note for note in notes)
    (right,) = ranking(done)["judges"]
    assert (right["rows"], len(provider.requests)) == (16, 16)
    shown = " ".join(asked(provider, tmp_path, "bench", "runs/bench-rows").stdout.split())
    assert gone in shown and fewer in shown
    refused = asked(
        provider, tmp_path, *people, "-m", "openai/right", "--map", "unsure=", "--map", "Yes=",
        "--map", "No=",
    )  # fmt: skip
    assert refused.returncode == 1 and "--map excludes all labels" in refused.stderr


def test_options_have_no_tie_that_a_missing_verdict_could_count_as(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    bench.rows_csv(tmp_path)
    refused = (
        "criterion 'Is it good?' has no tie: --missing tie is for comparisons; use drop or wrong"
    )
    done = asked(provider, tmp_path, *TRY, "-m", "openai/right", "--missing", "tie")
    assert (done.returncode, provider.requests) == (1, []) and refused in done.stderr
    asked(provider, tmp_path, *TRY, "-m", "openai/right")
    for command in ("bench", "calibrate"):
        done = asked(provider, tmp_path, command, "runs/bench-rows", "--missing", "tie")
        assert done.returncode == 1 and refused in done.stderr
        assert "Traceback" not in done.stderr


def test_a_dry_run_asks_nothing_and_a_gate_looks_at_the_best(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    bench.rows_csv(tmp_path)
    done = asked(provider, tmp_path, *TRY, "-m", "openai/good", "-m", "openai/poor", "--dry-run")
    assert "judgments: 40" in done.stdout
    assert provider.requests == []
    assert (
        asked(
            provider, tmp_path, *TRY, "-m", "openai/good", "--fail-under", "0.95", "-q"
        ).returncode
        == 4
    )
    assert (
        asked(provider, tmp_path, *TRY, "-m", "openai/good", "--fail-under", "0.9", "-q").returncode
        == 0
    )


def test_a_gate_allows_for_choosing_the_best_of_several(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    """Ten judges are right on 15 of 20 rows each, and wrong on different ones: whichever is best on
    most rows is so because it is wrong on the others.
    """
    bench.rows_csv(tmp_path)
    chance = random.Random(1)
    names = [f"luck{n}" for n in range(10)]
    misses = {name: chance.sample(range(bench.ROWS), 5) for name in names}

    def answers(name: str, body: Mapping[str, Any]) -> str:
        row = bench.row_of(body)
        right = bench.truth(row)
        return bench.said(bench.other(right) if row in misses[name] else right)

    for name in names:
        judges.more[name] = partial(answers, name)
    models = [word for name in names for word in ("-m", f"openai/{name}")]
    done = asked(provider, tmp_path, *TRY, *models, "--fail-under", "0.7", "--run", "all", "--json")
    found = ranking(done)
    assert found["judges"][0]["agreement"]["value"] == 0.75
    assert found["chosen"]["value"] < 0.7
    assert done.returncode == 4
    assert "below 0.7" in " ".join(done.stderr.split())
    rows = (tmp_path / "rows.csv").read_text().splitlines()
    (tmp_path / "rows.csv").write_text("\n".join(rows[:9]) + "\n")
    few = asked(provider, tmp_path, *TRY, *models[:4], "--fail-under", "0", "--run", "few")
    assert few.returncode == 5
    assert "Gate inconclusive" in few.stderr


def test_a_budget_stops_it_and_resume_asks_only_the_rest(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    bench.rows_csv(tmp_path)
    done = asked(
        provider, tmp_path, *TRY, "-m", "openai/good", "--run", "one", "--max-calls", "7", "-q"
    )
    assert done.returncode == 1
    assert len(provider.requests) == 7
    done = asked(provider, tmp_path, "resume", "one", "--", "--max-calls", "20", "--json")
    assert ranking(done)["judges"][0]["agreement"]["value"] == pytest.approx(0.9)
    assert len(provider.requests) == 20


def test_killed_it_asks_only_what_was_not_answered(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    bench.rows_csv(tmp_path)
    provider.latency = 0.1
    words = [
        sys.executable,
        "-m",
        "adjudge",
        *TRY,
        "-m",
        "openai/good",
        "--run",
        "one",
        "-q",
        "-j",
        "2",
    ]
    process = subprocess.Popen(
        words, cwd=tmp_path, env=bench.environment(provider), stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while len(provider.requests) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    provider.latency = 0.0
    kept = run_info(tmp_path / "one").votes
    sent = len(provider.requests)
    assert 0 < kept < 20
    done = asked(provider, tmp_path, "resume", "one", "--", "--json")
    assert ranking(done)["judges"][0]["agreement"]["value"] == pytest.approx(0.9)
    assert len(provider.requests) - sent == 20 - kept


def test_wordings_of_one_name_are_called_by_their_files_also_when_resumed_elsewhere(
    judges: Judges, provider: FakeProvider, tmp_path: Path
) -> None:
    bench.rows_csv(tmp_path)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.yaml").write_text(
            f"name: good\ndescription: is it good ({folder})\noptions: [Yes, No]\n"
        )
    named = ("-c", "one/own.yaml", "-c", "two/own.yaml", "-m", "openai/good", "--run", "run")
    words = ("bench", "rows.csv", "--human", "human", *named, "-q", "--no-cache", "--draws", "100")
    done = asked(provider, tmp_path, *words, "--max-calls", "3")
    assert done.returncode == 1, done.stderr
    resumed = ("resume", str(tmp_path / "run"), "--", "--max-calls", "100", "--json")
    done = asked(provider, tmp_path / "one", *resumed)
    assert {one["judge"] for one in ranking(done)["judges"]} == {
        "good (one/own.yaml) [openai/good]",
        "good (two/own.yaml) [openai/good]",
    }, done.stderr
