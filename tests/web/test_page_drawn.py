"""Pictures of trust, of cost, of places and of orders: they show what the JSON says, and the JSON
what is counted elsewhere.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from adjudge import CriteriaOption, DirectJudge, Instance, PairwiseJudge
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.features.bench.benchmark import benchmark_of
from adjudge.features.bench.report import benchmark_html
from adjudge.features.trust.leaderboard_report import leaderboard_html
from adjudge.runs.folder import records_of
from adjudge.runs.results.leaderboard import leaderboards
from adjudge.trust.calibration import calibrate_run
from adjudge.trust.labels.store import LabelStore
from support.bench import Judges, asked, other, rows_csv
from support.commands import adjudge
from support.fake_provider import FakeProvider
from support.labels import identity, model
from support.page import Page, served
from support.trust import labelled, labels_of, population, run_of

ROWS = population(120)
GRADES = {"bad": 0.0, "poor": 0.25, "fair": 0.5, "good": 1.0}


def _graded(shift: int) -> Callable[[str], str]:
    """Rows in turn from bad to good; every other one ``shift`` better."""

    def verdict(prompt: str) -> str:
        number = int(prompt[prompt.rindex("text ") + 5 :].split(maxsplit=1)[0])
        return list(GRADES)[min(number % 4 + shift * (number % 2), 3)]

    return verdict


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS)
    for number, one in enumerate(labels_of(ROWS[:60], annotator="ann")):
        labelled(root / "dates", [replace(one, at=1000.0 + number)])
    wrong = [(text, not good, said) for text, good, said in ROWS[:8]]
    labelled(root / "dates", labels_of([*wrong, *ROWS[8:40]], annotator="<b>bob</b>", at=5000.0))
    return root


@pytest.fixture(scope="module")
def page(root: Path) -> Iterator[Page]:
    with served(root) as found:
        yield found


def test_kappas_of_judge_and_annotators_stand_in_a_square(page: Page, root: Path) -> None:
    there = f"{page.run('dates')}/trust"
    (one,) = page.data(there)["calibrations"]
    agreed = one["data"]["agreement"]
    square = {
        (line["name"], other["name"]): cell
        for line in one["kappas"]
        for other, cell in zip(one["kappas"], line["cells"], strict=True)
    }
    names = ["the judge", "<b>bob</b>", "ann"]
    assert {a for a, _ in square} == set(names)
    assert all(square[name, name] is None for name in names)
    for name in names[1:]:
        own = agreed["annotators"][name]
        assert square["the judge", name]["kappa"] == square[name, "the judge"]["kappa"]
        assert square["the judge", name]["kappa"] == own["kappa"]
        assert square["the judge", name]["rows"] == own["n"]
    (people,) = agreed["people"]
    assert square["ann", "<b>bob</b>"]["kappa"] == people["kappa"] < 1
    assert square["<b>bob</b>", "ann"]["rows"] == people["n"] == 40
    shown = page.get(there).text
    assert f'>{people["kappa"]:.2f} <span class="soft">40</span></td>' in shown
    assert "<b>bob" not in shown


def test_the_corrected_number_is_followed_from_the_first_labels(page: Page, root: Path) -> None:
    there = f"{page.run('dates')}/trust"
    (one,) = page.data(there)["calibrations"]
    looks, corrected = one["looks"], one["data"]["corrected"]
    assert [each["rows"] for each in looks][-1] == 60
    last = looks[-1]
    assert [last[name] for name in ("value", "lower", "upper")] == [
        corrected[name] for name in ("rate", "lower", "upper")
    ]
    first = looks[0]
    early = {identity(text) for text, _, _ in ROWS[: first["rows"]]}
    known = [one for one in LabelStore(root / "dates").of_each_copy() if one.row in early]
    (alone,) = calibrate_run(root / "dates", known)
    assert alone.corrected
    assert (first["value"], first["lower"]) == (alone.corrected.value, alone.corrected.lower)
    assert first["upper"] - first["lower"] > last["upper"] - last["lower"]
    shown = page.get(there).text
    for each in looks:
        told = f"{each['value']:.3f} ({each['lower']:.3f}–{each['upper']:.3f})"
        assert f'aria-label="{each["rows"]} labels: {told}"' in shown
        assert f"<td>{each['lower']:.3f}–{each['upper']:.3f}</td>" in shown


def test_cost_is_drawn_against_agreement(
    provider: FakeProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.answer = Judges()
    (tmp_path / "prices.yaml").write_text(
        "openai/good: {input: 50, output: 9}\nopenai/poor: {input: 1, output: 1}\n"
    )
    monkeypatch.setenv("ADJUDGE_PRICES", str(tmp_path / "prices.yaml"))
    rows_csv(tmp_path)
    words = "bench rows.csv --human human --no-cache --draws 100 -m openai/poor -m openai/good -q"
    done = asked(
        provider,
        tmp_path,
        *words.split(),
        *("--criterion", "Is it good?", "--run", "runs/set", "-o", "page.html"),
    )
    assert done.returncode == 0, done.stderr
    store = LabelStore(tmp_path / "runs" / "set")
    given = list(store.current())
    store.add(*(replace(one, annotator="zoe", at=9.0) for one in given[:10]))
    changed = replace(given[10], annotator="zoe", option=other(str(given[10].option)), at=9.0)
    store.add(changed)
    with served(tmp_path / "runs") as page:
        (section,) = page.data("/benchmarks")["sections"]
        shown = page.get("/benchmarks").text
    told = [
        f"{line['rank']}. {line['judge']}: agreement {line['agreement']['value']:.3f}, "
        f"{line['agreement']['lower']:.3f}–{line['agreement']['upper']:.3f}; "
        f"${line['usd_per_1000']:.2f} for 1000 rows"
        for line in section["lines"]
    ]
    assert len(told) == 2
    assert any(
        "two people (2 in all) agree with each other in 0.909" in one for one in section["notes"]
    )
    report = benchmark_html(benchmark_of(tmp_path / "runs" / "set"))
    for one in told:
        assert f'aria-label="{one}"' in shown
        assert f'aria-label="{one}"' in report
    drawn = shown[shown.index('<svg class="plane"') :]
    x, y = zip(*re.findall(r'<circle class="bar" cx="([\d.]+)" cy="([\d.]+)"', drawn), strict=True)
    assert float(x[0]) > float(x[1]), "the good judge is the dearer one"
    assert float(y[0]) < float(y[1])
    assert "agree with each other" in report
    saved = (tmp_path / "page.html").read_text()
    assert "agree with each other" not in saved, "one person labelled when it was written"


def _compared(folder: Path, votes: int) -> None:
    """Three systems on 32 prompts, by a judge that takes the first of two in 55 % of its votes, the
    second in 25 %, and the better one, c before b before a, in the others.
    """
    asked_before = Counter[str]()

    def better(prompt: str) -> str:
        asked_before[prompt] += 1
        first, second = re.findall(r"answer (\w) of", prompt)[-2:]
        lot = random.Random(f"{asked_before[prompt]} {prompt}").random()
        return "A" if lot < 0.55 or (lot > 0.8 and first > second) else "B"

    PairwiseJudge(
        model(better), contests="pairs", check_positional_bias=True, self_consistency=votes
    ).evaluate(
        [[f"answer {name} of {number}" for name in "abc"] for number in range(32)],
        "Which is better?",
        run=folder,
    )


def test_the_order_stands_beside_its_noise_and_places_beside_what_they_may_be(
    tmp_path: Path,
) -> None:
    _compared(tmp_path / "twice", 2)
    _compared(tmp_path / "once", 1)
    with served(tmp_path) as page:
        there = f"{page.run('twice')}/pictures?part=1"
        data, shown = page.data(there), page.get(there).text
        once = page.data(f"{page.run('once')}/pictures")["order"]
        told = page.get(f"{page.run('once')}/pictures").text
    report = adjudge("report", tmp_path / "twice", "--to", "html", "-o", "-").stdout
    order = data["order"]
    checks = [one.positional_bias for one in records_of(tmp_path / "twice")]
    rates = [
        (one.flip_rate, one.noise_rate)
        for one in checks
        if one and one.flip_rate is not None and one.noise_rate is not None
    ]
    assert order["between"]["value"] == pytest.approx(fmean(flip for flip, _ in rates))
    assert order["within"]["value"] == pytest.approx(fmean(noise for _, noise in rates))
    assert order["excess"]["value"] == pytest.approx(fmean(flip - noise for flip, noise in rates))
    for one in (order["between"], order["within"], order["excess"]):
        assert one["rows"] == 32
        numbers = f"{one['value']:.3f} ({one['lower']:.3f}–{one['upper']:.3f})"
        assert f"<title>{numbers}</title>" in shown
        assert f"<title>{numbers}</title>" in report
    assert (once["within"], once["excess"], once["detected"]) == (None, None, False)
    assert "The share of noise is unknown" in told
    (board,) = data["leaderboards"]
    (own,) = leaderboards(tmp_path / "twice")
    assert board["places"] == own.to_dict()["places"]
    assert any(each["best_rank"] < each["worst_rank"] for each in board["places"])
    for each in board["places"]:
        ranks = f"{each['best_rank']}–{each['worst_rank']}"
        alone = each["best_rank"] == each["worst_rank"]
        title = f"{each['rank']}" if alone else f"{each['rank']} ({ranks})"
        assert f"<title>{title}</title>" in shown
        assert f"<title>{title}</title>" in leaderboard_html("x", [own])


def test_scores_of_two_runs_stand_against_each_other(tmp_path: Path) -> None:
    grades = replace(
        yes_no_criteria("Is it good?"),
        name="grade",
        options=[CriteriaOption(name, "", points) for name, points in GRADES.items()],
    )
    for run, shift in (("first", 0), ("second", 1)):
        DirectJudge(model(_graded(shift))).evaluate(
            [Instance({"response": f"text {n} ."}, f"r{n}") for n in range(24)],
            grades,
            run=tmp_path / run,
        )
    with served(tmp_path) as page:
        a, b = (page.run(name).removeprefix("/run/") for name in ("first", "second"))
        data = page.data(f"/compare?a={a}&b={b}")
        shown = page.get(f"/compare?a={a}&b={b}").text
    (one,) = data["scores"]
    points = {(each["a"], each["b"]): each["rows"] for each in one["points"]}
    worth = list(GRADES.values())
    expected = Counter((worth[n % 4], worth[min(n % 4 + n % 2, 3)]) for n in range(24))
    assert points == expected
    for each in one["points"]:
        told = f"A {each['a']:.2f}, B {each['b']:.2f}: {each['rows']} rows"
        assert f'aria-label="{told}"' in shown
    counts = data["counts"]
    assert counts["higher"] == sum(rows for (a, b), rows in expected.items() if b > a) > 0
    assert f'aria-label="Higher in B: {counts["higher"]} (' in shown
