"""What an agent did, on the page: steps, marks, filters, two side by side, labels with a step."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from adjudge.trust.labels.store import LabelStore
from support.agent_runs import agent_run, trials_run
from support.commands import adjudge
from support.page import Page, served


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("runs")
    agent_run(found / "agents")
    agent_run(found / "others", other=True)
    agent_run(found / "long", (5000,), measures=("steps", "goal"))
    return found


@pytest.fixture(scope="module")
def page(root: Path) -> Iterator[Page]:
    with served(root) as found:
        yield found


def text(page: Page, path: str) -> str:
    answer = page.get(path)
    assert answer.status == 200, answer.text[-500:]
    return answer.text


def steps_in(html: str) -> list[int]:
    return [int(found) for found in re.findall(r'data-step="(\d+)"', html)]


def test_every_measure_of_a_row_shows_its_steps(page: Page) -> None:
    run = page.run("agents")
    for row in (1, 2, 3, 4):
        assert steps_in(text(page, f"{run}/row/{row}")) == list(range(1, 10))
    shown = text(page, f"{run}/row/3")
    assert re.search(r'id="step-3" class="step called failed (part )?cited (part )?blamed', shown)
    assert "✗ error" in shown and "Planner" in shown and "1,020 tokens" not in shown
    assert shown.count('<svg viewBox="0 0 100 8"') > 5


def test_evidence_and_steps_lead_to_each_other(page: Page) -> None:
    shown = text(page, f"{page.run('agents')}/row/3")
    for id in ("evidence-1", "evidence-2", "evidence-3", "step-3"):
        assert f'id="{id}"' in shown
    assert 'href="#step-3"' in shown and 'href="#evidence-1"' in shown
    assert "<mark>order not found</mark>" in shown
    assert "the quote is in no step" in shown and "a confirmation" in shown
    assert "See <a" in shown and "&lt;b&gt;not&lt;/b&gt;" in shown
    blame = text(page, f"{page.run('agents')}/row/4")
    assert 'id="evidence-place"' in blame and 'href="#evidence-place"' in blame


def test_what_a_tool_returned_is_text_and_nothing_else(page: Page) -> None:
    run = page.run("agents")
    for path in (f"{run}/row/7", f"{run}/row/7/step/4", f"{run}/row/7/steps"):
        shown = text(page, path)
        assert "<script>document" not in shown and "<img src=x" not in shown
        assert "\x1b" not in shown and "\u202e" not in shown and "⟨U+202E⟩" in shown
        assert "iVBORw0KGgo1iVBORw0KGgo1" not in shown and "kB, image/png]" in shown


def test_many_steps_come_a_stretch_at_a_time(page: Page) -> None:
    run = page.run("agents")
    first = text(page, f"{run}/row/11/steps")
    assert steps_in(first) == list(range(1, 51)) and "10 more steps" in first
    more = text(page, f"{run}/row/11/steps?from=50&part=more")
    assert steps_in(more) == list(range(51, 61)) and "more step" not in more
    assert 58 in steps_in(text(page, f"{run}/row/11/steps?step=58"))
    assert page.get(f"{run}/row/11/step/61").status == 404
    assert page.data(f"{run}/row/11/step/60")["data"]["text"] == "Order 4711 is cancelled."


def test_a_row_without_steps_says_so(page: Page) -> None:
    answer = page.get(f"{page.run('agents')}/row/999/steps")
    assert answer.status == 400 and "contains no trajectory" in answer.text


def test_two_trajectories_part_where_they_part(page: Page) -> None:
    run, other = page.run("agents"), page.run("others").removeprefix("/run/")
    shown = text(page, f"{run}/row/3/beside?other={other}&row2=t0")
    assert "The first 4 steps are the same; they diverge at step 5." in shown
    assert 'id="a-step-5"' in shown and 'id="b-step-5"' in shown
    assert 'id="a-step-4"' not in shown
    data = page.data(f"{run}/row/3/beside?row2=7")
    assert data["same"] == 4 and data["other_results"] == [4]
    assert data["sides"][1]["row"]["criteria"] == "goal"
    same = text(page, f"{run}/row/3/beside?row2=3")
    assert "Both agents took the same steps." in same
    assert page.get(f"{run}/row/3/beside?row2=nothing").status == 400
    assert "number2=7" in text(page, f"{run}/row/3")


def test_filters_count_and_combine(page: Page) -> None:
    run = page.run("agents")
    data = page.data(run)
    assert data["of_steps"]["errors"] == {"yes": 3, "no": 0}
    assert data["of_steps"]["steps"] == {"6-10": 1, "11-20": 1, "51-100": 1}
    assert data["of_steps"]["tools"] == {"cancel_order": 3, "get_order": 3, "search": 3}
    assert [[*line["group"]] for line in data["rows"]] == [["errors", "steps", "goal", "blame"]] * 3
    some = page.data(f"{run}?steps=6-10&tool=search&criteria=goal")
    assert [line["id"] for line in some["rows"]] == ["t0"]
    assert some["of_steps"]["steps"] == {"6-10": 1, "11-20": 1, "51-100": 1}
    assert page.data(f"{run}?errors=no")["rows"] == []
    assert page.data(f"{run}?tool=nothing")["rows"] == []
    for wrong in ("errors=perhaps", "steps=few", "steps=3-x"):
        assert page.get(f"{run}?{wrong}").status == 400


def test_a_label_keeps_the_step_of_the_fault(tmp_path: Path) -> None:
    agent_run(tmp_path / "agents", (9,))
    with served(tmp_path) as page:
        run = page.run("agents")
        address = f"{run}/label?annotator=ann&criteria=goal"
        shown = text(page, address)
        assert steps_in(shown) == list(range(1, 10)) and 'data-fault="3"' in shown
        assert "evidence-" not in shown and "not</b> found" not in shown and "❝" not in shown
        row = page.data(address)["work"]["row"]["identity"]
        wrong = page.post(address, do="answer", row=row, choice="Reached", fault="99")
        assert wrong.status == 400 and "no step 99" in wrong.text
        page.post(address, do="answer", row=row, choice="Not reached", fault="3")
        (label,) = LabelStore(tmp_path / "agents").current("goal")
        assert (label.option, label.step) == ("Not reached", 3)
        row_page = text(page, f"{run}/row/3")
        assert "☝ ann: Not reached" in row_page
        names = page.data(f"{run}/label")["criteria_names"]
        assert names == ["goal", "blame"], "nobody is asked what a rule counts"


def test_five_thousand_steps_do_not_stall(page: Page) -> None:
    """Each request sends a bounded page, and takes a bounded part of reading the row whole."""
    run = page.run("long")
    desk = f"{run}/label?annotator=ann&criteria=goal"
    paths = (f"{run}/row/2", f"{run}/row/2/steps?step=2500", desk, f"{run}?row=2", run)
    for path in paths:
        page.get(path)
    began = time.process_time()
    sizes = [len(page.get(path).body) for path in paths]
    spent = time.process_time() - began
    assert max(sizes) < 150_000
    assert spent < 5 * 0.5, "far above the 0.1 s that each takes on a quiet machine"
    assert 2500 in steps_in(text(page, paths[1]))
    assert steps_in(text(page, f"{run}/label/steps?annotator=ann&criteria=goal&from=4950")) == list(
        range(4951, 5001)
    )


def test_a_download_has_the_rows_of_the_list_and_no_others(page: Page) -> None:
    run = page.run("agents")
    for asked in ("errors=no", "steps=11-20", "tool=pay", "verdict=Not+reached&steps=6-10"):
        listed = {one["id"] for one in page.data(f"{run}?{asked}")["rows"]}
        lines = map(json.loads, text(page, f"{run}/rows.jsonl?{asked}").splitlines())
        assert {one["id"] for one in lines} == listed, asked


def test_filters_of_steps_count_what_the_other_filters_leave(page: Page) -> None:
    found = page.data(f"{page.run('agents')}?verdict=Not+reached")
    assert len(found["rows"]) == 3
    assert found["of_steps"]["tools"]["search"] == 3
    assert found["of_steps"]["steps"] == {"6-10": 1, "11-20": 1, "51-100": 1}


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("trials")
    trials_run(root / "old")
    trials_run(root / "new", fails=lambda task, trial: 1 + (task + trial) % 2)
    with served(root) as found:
        yield found


def test_trials_of_a_task_count_as_one_and_counts_have_no_interval(trials: Page) -> None:
    means = trials.data(trials.run("old"))["figures"]["means"]
    assert means["ended"]["value"] == means["errors"]["value"] == 0.5
    assert means["ended"]["upper"] - means["ended"]["lower"] > 0.5  # twelve tasks, and not 60 rows
    assert means["errors"]["is_count"] and "lower" not in means["errors"]
    shown = text(trials, f"{trials.run('old')}?criteria=errors")
    assert 'class="verdict s' not in shown  # neither good nor bad


def test_the_highest_counts_are_the_worst(trials: Page) -> None:
    address = f"{trials.run('new')}?criteria=errors"
    worst = [one["score"] for one in trials.data(address)["rows"]]
    assert len(worst) > 30 and worst == sorted(worst, reverse=True) and worst[0] == 2
    best = [one["score"] for one in trials.data(f"{address}&sort=best")["rows"]]
    assert best == sorted(best) and best[0] == 1


def test_two_runs_of_counts_are_compared_by_task_and_drawn_on_no_scale(trials: Page) -> None:
    one, two = (trials.run(name).rpartition("/")[2] for name in ("old", "new"))
    errors, ended = trials.data(f"/compare?a={one}&b={two}")["differences"]
    assert errors["reach"] is None and errors["value"] == -1.0
    shown = text(trials, f"/compare?a={one}&b={two}")
    whole, _, slices = shown.partition('id="slices"')
    assert whole.count('<svg class="interval"') == 1, "of ended alone"
    sections = dict(zip(*[iter(re.split(r"<h3>(.*?)</h3>", slices)[1:])] * 2, strict=True))
    drawn = {name: part.count('<svg class="interval"') for name, part in sections.items()}
    assert drawn.pop(next(name for name in drawn if "errors" in name)) == 0
    assert all(drawn.values())
    assert ended["upper"] > 0.1  # of twelve tasks: of 60 rows it would be narrower


def test_another_trial_is_found_by_its_place_where_ids_are_numbers(tmp_path: Path) -> None:
    agent_run(tmp_path / "runs" / "numbers", (9, 12, 15), ids=("2", "5", "1"))
    with served(tmp_path / "runs") as page:
        run = page.run("numbers")
        (other,) = re.findall(r'href="[^"]*(/beside[^"]+)"', text(page, f"{run}/row/1"))
        found = page.data(f"{run}/row/1{other.replace('&amp;', '&')}")
        assert [side["row"]["row"] for side in found["sides"]] == [1, 5]
        found = page.data(f"{run}/row/3/beside?row2=5")
        assert [side["row"]["criteria"] for side in found["sides"]] == ["goal", "goal"]


def test_links_of_an_html_report_lead_to_steps_that_it_shows(root: Path, tmp_path: Path) -> None:
    for run in ("agents", "long"):
        adjudge("export", str(root / run), "--to", "html", "-o", f"{run}.html", cwd=tmp_path)
        shown = (tmp_path / f"{run}.html").read_text()
        links = set(re.findall(r'href="#([^"]+)"', shown))
        assert any("-step-" in link for link in links)
        assert links <= set(re.findall(r' id="([^"]+)"', shown))


def test_steps_lie_on_an_axis_of_time_where_the_trace_has_times(page: Page, root: Path) -> None:
    run = page.run("agents")
    times = page.data(f"{run}/row/3/steps")["steps"]["times"]
    assert [(one["number"], one["started"]) for one in times] == [
        (number, number - 2.0) for number in range(2, 9)
    ]
    whole = max(one["started"] + one["seconds"] for one in times)
    shown = text(page, f"{run}/row/3")
    for one in times:
        left, width = (f"{100 * one[name] / whole:.2f}" for name in ("started", "seconds"))
        sign = "✗ " if one["failed"] else ""
        told = f"from {one['started']:.2f} s on, {one['seconds']:.2f} s"
        assert re.search(
            rf'aria-label="{sign}step {one["number"]}, \w+: {told}"><rect class="\w+" '
            rf'x="{left}%" y="1" width="{width}%"',
            shown,
        )
    report = adjudge("report", root / "agents", "--to", "html", "-o", "-").stdout
    assert 'class="lane"' in report and re.search(
        r'<a href="#j[^"]*step-3"[^>]* aria-label="✗', report
    )
    assert 'class="lane"' in text(page, f"{page.run('long')}/row/1/steps")


def test_a_time_axis_says_how_many_steps_it_leaves_out(page: Page) -> None:
    left_out = "The chart shows 120 of 4998 steps"
    assert left_out in text(page, f"{page.run('long')}/row/1/steps")
    assert "The chart shows" not in text(page, f"{page.run('agents')}/row/1/steps")
