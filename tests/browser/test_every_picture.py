"""Every picture of the page in a real browser: what it says to who comes to it by keys is what the
JSON says, and a table stands behind it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from adjudge import (
    Criteria,
    CriteriaOption,
    DirectJudge,
    Instance,
    PairwiseJudge,
    Reply,
    Request,
    ScriptedModel,
)
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.label import Label
from adjudge.features.rag import RagEvaluator
from adjudge.features.rag.report import rag_summary
from adjudge.runs.exporters.pages import write_reports
from adjudge.runs.results.report import judgments_of, report_of
from adjudge.trust.labels.store import LabelStore
from support.bench import Judges, asked, rows_csv
from support.browser import expect, needs_browser
from support.fake_provider import FakeProvider
from support.labels import model
from support.page import Page as Server
from support.page import served
from support.rag import EXAMPLE, varied

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser
OPTIONS = ("good", "fair", "bad")
KIND = Criteria(
    name="kind",
    description="Is it kind?",
    options=[CriteriaOption(name, "", 1 - place / 2) for place, name in enumerate(OPTIONS)],
)
SURE = (0.45, 0.6, 0.75, 0.9)
ROWS = [
    Instance({"response": f"text {n} .", "topic": ("hats", "shoes")[n % 2]}, f"r{n}")
    for n in range(60)
]


def _likely(shift: int) -> Any:
    def script(request: Request) -> Reply:
        text = request.prompt.text
        number = int(re.findall(r"text (\d+) \.", text)[-1])
        sure, chosen = SURE[number % 4], (number + shift * (number % 4 == 1)) % 3
        shares = {
            letter: math.log(sure if option == OPTIONS[chosen] else (1 - sure) / 2)
            for letter, option in re.findall(r"^([A-C])\. (\w+)$", text, re.MULTILINE)
        }
        return Reply("", logprobs=(FrozenDict(shares),))

    return script


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    for name, shift in (("first", 0), ("second", 1)):
        judge = DirectJudge(ScriptedModel(_likely(shift)), mode="likelihood")
        judge.evaluate(ROWS, KIND, run=root / name)
    said = [
        Label(
            row=row.identity,
            criteria="kind",
            annotator=who,
            option=OPTIONS[(n + (n % 7 == wrong)) % 3],
            design="random",
            at=1000.0 + n,
        )
        for who, wrong in (("ann", 3), ("bob", 5))
        for n, row in enumerate(ROWS[:50])
    ]
    LabelStore(root / "first").add(*said)
    PairwiseJudge(
        model(lambda prompt: "A" if "7" in prompt[-200:] else "B"),
        check_positional_bias=True,
        self_consistency=2,
    ).evaluate([[f"one {n}", f"two {n * n}"] for n in range(32)], "Which?", run=root / "pairs")
    with FakeProvider() as provider, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADJUDGE_PRICES", str(root / "prices.yaml"))
        ranked(provider, root)
        with served(root) as found:
            yield found


def ranked(provider: FakeProvider, root: Path) -> None:
    """A benchmark of two judges that have a price."""
    provider.answer = Judges()
    (root / "prices.yaml").write_text(
        "openai/good: {input: 50, output: 9}\nopenai/poor: {input: 1, output: 1}\n"
    )
    rows_csv(root)
    words = "bench rows.csv --human human --no-cache --draws 100 -m openai/poor -m openai/good -q"
    done = asked(provider, root, *words.split(), "--criterion", "Is it good?", "--run", "set")
    assert done.returncode == 0, done.stderr


class RagRun(NamedTuple):
    report: Path
    histogram: Sequence[int]


@pytest.fixture(scope="module")
def rag(root: Path, tmp_path_factory: pytest.TempPathFactory) -> RagRun:
    """The report of what the server shows."""
    evaluator = RagEvaluator(varied())
    results = evaluator.evaluate(evaluator.rows(EXAMPLE).instances, run=root / "rag")
    report = report_of(evaluator, results, source="rag.csv")
    folder = tmp_path_factory.mktemp("reports")
    page = write_reports(report, judgments_of(evaluator, results), folder)[2]
    summary = rag_summary(report.sections[0])
    assert summary
    return RagRun(page, summary.histogram)


@pytest.fixture(scope="module")
def page(browser: Browser, server: Server) -> Iterator[Page]:
    shown = browser.new_page()
    shown.goto(server.access.url)
    yield shown
    shown.close()


def show(page: Page, server: Server, path: str) -> Any:
    """Opens a page; says its data."""
    page.goto(server.address(path), wait_until="load")
    expect(page.locator("[hx-trigger=load]")).to_have_count(0)
    for folded in page.locator(".figures-more > summary").all():
        folded.click()
    return server.data(path)


def told(page: Page, plot: str) -> list[str]:
    """What the pieces of a plot say to who comes to it by the tab key and goes on by arrows."""
    pieces = page.locator(f"{plot} .piece").all()
    pieces[0].focus()
    found = []
    for one in pieces:
        expect(one).to_be_focused()
        expect(one.locator(".told").first).to_be_visible()
        found.append(one.get_attribute("aria-label") or "")
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    assert page.locator(f"{plot} .piece:focus").count() == 0, "a picture is one stop"
    return found


def counted(named: dict[str, int]) -> list[str]:
    """What the parts of a stacked bar say."""
    total = sum(named.values())
    return [
        f"{name}: {count} ({100 * count / total:.0f}%)" for name, count in named.items() if count
    ]


def ranges(page: Page, plot: str) -> list[str]:
    return page.locator(f"{plot} svg.interval title").all_text_contents()


def number(one: dict[str, Any]) -> str:
    return f"{one['value']:.3f} ({one['lower']:.3f}–{one['upper']:.3f})"


def cells(page: Page, plot: str) -> list[list[str]]:
    """The table behind a plot."""
    rows = page.locator(f"{plot} details tbody tr")
    return [row.locator("th, td").all_text_contents() for row in rows.all()]


def test_over_time_by_slice_and_how_it_went(page: Page, server: Server) -> None:
    data = show(page, server, f"{server.run('first')}/pictures")
    moments = [one for trend in data["trends"] for one in trend["moments"]]
    assert [one["name"] for one in moments] == ["first", "second"]
    shown = told(page, "section:has-text('same question') figure")
    assert [
        one.startswith(f"{each['name']}: {each['value']:.3f}")
        for one, each in zip(shown, moments, strict=True)
    ] == [True, True]
    (by,) = data["slices"]
    slices = [number(each) for each in by["slices"]]
    assert [one for one in ranges(page, "section") if one in slices] == slices
    course = "section:has(h3:text-is('How the run went'))"
    assert [(row[1], row[3]) for row in cells(page, course)] == [
        (f"{one['votes']:,}", f"{one['tokens']:,}") for one in data["course"]
    ]
    spent = told(page, f"{course} figure:has-text('Tokens')")
    assert [int(one.rpartition(" ")[2].replace(",", "")) for one in spent] == [
        one["tokens"] for one in data["course"]
    ]


def test_trust(page: Page, server: Server) -> None:
    (one,) = show(page, server, f"{server.run('first')}/trust")["calibrations"]
    heat = page.locator("section:has-text('judge says') td.heat").all_text_contents()
    confusion = [str(cell["count"]) for row in one["confusion"]["rows"] for cell in row["cells"]]
    assert [cell.split()[-1] for cell in heat][: len(confusion)] == confusion
    kappas = [cell for line in one["kappas"] for cell in line["cells"] if cell]
    square = page.locator("[aria-label='Kappa of each pair: judge and annotators'] td.heat.nowrap")
    assert square.all_text_contents() == [f"{cell['kappa']:.2f} {cell['rows']}" for cell in kappas]
    assert [one.get_attribute("title") for one in square.all()] == [cell["told"] for cell in kappas]
    estimates = [number(each["range"]) for each in one["estimates"]]
    assert ranges(page, "[aria-label=Estimate]") == estimates
    looks = [(each["rows"], number(each)) for each in one["looks"]]
    assert told(page, ".looks") == [f"{rows} labels: {shown}" for rows, shown in looks]
    assert [int(row[0]) for row in cells(page, ".looks")] == [rows for rows, _ in looks]
    stated = "section:has(h3:text('Stated probability'))"
    bins = [
        (stated, rows, dict(zip(("value", "lower", "upper"), true, strict=True)))
        for stated, rows, true in one["reliability"]
    ]
    assert len(bins) > 2
    assert told(page, stated) == [
        f"{rows} rows: {at:.2f} → {number(true)}" for at, rows, true in bins
    ]
    assert [row[0] for row in cells(page, stated)] == [f"{at:.2f}" for at, _, _ in bins]


def test_a_comparison(page: Page, server: Server) -> None:
    a, b = (server.run(name).removeprefix("/run/") for name in ("first", "second"))
    data = show(page, server, f"/compare?a={a}&b={b}")
    bands = told(page, "svg.flow")
    moves = {f"{move['a']} → {move['b']}: {move['count']}" for move in data["moves"]}
    assert set(bands) == moves and len(moves) > 3
    assert {f"{a} → {b}: {rows}" for a, b, rows in cells(page, "section:has(svg.flow)")} == moves
    (scores,) = data["scores"]
    assert told(page, ".scores") == [
        f"A {each['a']:.2f}, B {each['b']:.2f}: {each['rows']} rows" for each in scores["points"]
    ]
    assert [int(row[2]) for row in cells(page, ".scores")] == [
        each["rows"] for each in scores["points"]
    ]
    counts = data["counts"]
    bars = page.locator("svg.distribution a")
    higher = {"Lower in B": counts["lower"], "Higher in B": counts["higher"]}
    right = {"Only A right": counts["only_a_right"], "Only B right": counts["only_b_right"]}
    assert told(page, "svg[aria-label='Which of the two is higher']") == counted(higher)
    assert told(page, "svg[aria-label^='Which of the two is right']") == counted(right)
    assert counts["only_b_right"] == 0, "a part without rows is not drawn"
    bars.last.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**tab=only_a_right**")
    assert page.locator("tbody tr:has(a)").count() == counts["only_a_right"]


def test_orders_and_ranks(page: Page, server: Server) -> None:
    data = show(page, server, f"{server.run('pairs')}/pictures")
    order = [data["order"][name] for name in ("between", "within", "excess")]
    assert ranges(page, ".order") == [number(one) for one in order]
    places = data["leaderboards"][0]["places"]
    ranks = [(str(one["rank"]), f"{one['best_rank']}–{one['worst_rank']}") for one in places]
    assert ranges(page, ".board") == [
        rank if limits == f"{rank}–{rank}" else f"{rank} ({limits})" for rank, limits in ranks
    ]


def test_the_list_of_runs_and_a_run(page: Page, server: Server) -> None:
    runs = show(page, server, "/")["runs"]
    means = [mean for run in runs for judge in run["judges"] for mean in judge["means"].values()]
    shown = ranges(page, "#runs")
    assert {number(one) for one in means if one["lower"] is not None} <= set(shown)
    data = show(page, server, server.run("first"))
    answers = {one["answer"]: one["rows"] for one in data["figures"]["answers"]["kind"]}
    assert told(page, "svg.distribution") == counted(answers)


def test_cost_against_agreement(page: Page, server: Server) -> None:
    (section,) = show(page, server, "/benchmarks")["sections"]
    lines = section["lines"]
    assert told(page, "svg.plane") == [
        f"{one['rank']}. {one['judge']}: agreement {one['agreement']['value']:.3f}, "
        f"{one['agreement']['lower']:.3f}–{one['agreement']['upper']:.3f}; "
        f"${one['usd_per_1000']:.2f} for 1000 rows"
        for one in lines
    ]
    drawn = [float(dot.get_attribute("cx") or "") for dot in page.locator("svg.plane circle").all()]
    costs = [one["usd_per_1000"] for one in lines]
    assert costs[0] > costs[1] and drawn[0] > drawn[1], "the better judge is the dearer one"
    assert ranges(page, "section") == [number(one["agreement"]) for one in lines]


def test_composites(page: Page, server: Server, rag: RagRun) -> None:
    data = show(page, server, server.run("rag"))
    bars = [bar for bar in data["figures"]["histogram"] if bar["count"]]
    assert len(bars) > 2
    expected = [f"{bar['from']:.2f}–{bar['to']:.2f}: {bar['count']}" for bar in bars]
    assert told(page, ".chart") == expected
    assert [": ".join(row) for row in cells(page, ".chart")] == expected
    page.locator(".chart .piece").last.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**min={bars[-1]['from']:.2g}**")
    assert page.locator("[data-line]").count() == bars[-1]["count"]
    page.goto(rag.report.as_uri())
    bins = [(place, count) for place, count in enumerate(rag.histogram) if count]
    spans = [f"{place / 10:.1f}–{(place + 1) / 10:.1f}: {count}" for place, count in bins]
    assert told(page, "svg.plot") == spans
    rows = [": ".join(row) for row in cells(page, ".card:has(svg.plot)")]
    assert [row for row in rows if not row.endswith(": 0")] == spans
    page.goto(server.address("/"))
