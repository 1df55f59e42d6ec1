"""More than two runs beside each other: rates, differences from a base, and a grid of verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import AspectCritic, Criteria, DirectJudge, Instance, MultiCriteria, PairwiseJudge
from adjudge.core.domain.criteria import CriteriaOption, yes_no_criteria
from adjudge.core.domain.instance import PairwiseInstance
from adjudge.core.domain.label import Label
from adjudge.runs.diff import run_diff
from adjudge.trust.comparison import compare_several
from adjudge.web.pages import compare_several as compare_several_page
from support.agent_runs import agent_run
from support.labels import identity, model
from support.page import Page, served
from support.trust import labelled, labels_of, population, run_of

ROWS = population(80)
NAMES = ("first", "second", "third")
BAD = {"first": 4, "second": 2, "third": 5}
"""Every so manieth row is not kind."""


def _judged(root: str, name: str) -> None:
    criteria = [replace(yes_no_criteria(f"Is it {what}?"), name=what) for what in ("kind", "short")]

    def verdict(prompt: str) -> str:
        number = int(re.findall(r"text (\d+)", prompt)[-1])
        if "Is it short?" in prompt:
            return "Yes"
        if name == "third" and number == 7:
            return ""
        return "No" if number % BAD[name] == 0 else "Yes"

    DirectJudge(model(verdict), max_repairs=0).evaluate_multi_criteria(
        [Instance({"response": f"text {number}"}, f"r{number}") for number in range(80)],
        MultiCriteria(criteria),
        run=f"{root}/{name}",
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("runs")
    for name in NAMES:
        _judged(str(root), name)
    run_of(root / "dates", ROWS)
    with served(root) as found:
        yield found


def _address(page: Page, *names: str) -> str:
    return "/compare?" + "&".join(f"runs={page.run(name)[5:]}" for name in names)


def test_rates_and_differences_are_those_of_the_runs(page: Page) -> None:
    found = page.data(_address(page, "third", "second", "first"))
    assert [one["name"] for one in found["runs"]] == [*NAMES], "the oldest is the base"
    kind, short = found["criteria"]
    assert (kind["name"], short["name"]) == ("kind", "short")
    means = [one["mean"]["value"] for one in kind["runs"]]
    assert means == pytest.approx([60 / 80, 40 / 80, 63 / 79])
    assert all(one["mean"]["lower"] < one["mean"]["value"] for one in kind["runs"])
    base, second, third = (one["difference"] for one in kind["runs"])
    assert base is None
    assert second["value"] == pytest.approx(-0.25)
    assert (second["outcome"], second["rows"], third["rows"]) == ("worse", 80, 79)
    assert third["outcome"] == "cannot tell"
    assert found["level"] == pytest.approx(1 - 0.05 / 4), "four intervals hold simultaneously"
    folders = [page.server.site.library.find(page.run(name)[5:]).folder for name in NAMES]
    with run_diff(folders[0], folders[1]) as one, run_diff(folders[0], folders[2]) as two:
        both = compare_several(folders[0], {str(folders[1]): one, str(folders[2]): two})
    assert both[0][0].shown.lower == pytest.approx(second["lower"])
    other = page.data(f"{_address(page, *NAMES)}&base={page.run('second')[5:]}")
    assert other["runs"][0]["name"] == "second"
    assert other["criteria"][0]["runs"][1]["difference"]["value"] == pytest.approx(0.25)


def test_the_grid_holds_the_rows_on_which_they_differ(page: Page) -> None:
    address = _address(page, *NAMES)

    def no(name: str, number: int) -> bool:
        return number % BAD[name] == 0

    rows = [n for n in range(80) if n != 7]
    for kind, wanted in {
        "differ": [n for n in rows if len({no(name, n) for name in NAMES}) > 1] + [7],
        "lower-C": [
            n for n in rows if no("third", n) and not no("first", n) and not no("second", n)
        ],
        "higher-C": [n for n in rows if no("first", n) and no("second", n) and not no("third", n)],
        "missing": [7],
    }.items():
        found = page.data(f"{address}&tab={kind}&criteria=kind")
        ids = [row["cells"][0]["id"] for row in found["rows"]]
        assert sorted(ids) == sorted(f"r{n}" for n in wanted), kind
        assert found["kinds"][kind] == len(wanted)
    shown = page.get(f"{address}&tab=lower-C").text
    grid = shown[shown.index('<table class="grid') :]
    assert grid.count("/row/") == 3 * page.data(f"{address}&tab=lower-C")["count"]
    link = re.findall(r'href="[^"]*(/run/third[^"]*/row/\d+\?judge=DirectJudge)"', grid)[0]
    assert page.data(link)["chosen"]["verdict"] == "No"
    assert page.get(f"{address}&tab=nothing").status == 400
    assert page.get(f"{address}&criteria=nothing").status == 400


def test_rows_behind_those_that_are_kept_are_read_again(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{_address(page, *NAMES)}&tab=differ&criteria=kind"
    whole = page.data(address)
    monkeypatch.setattr(compare_several_page, "SHOWN", 6)
    monkeypatch.setattr(compare_several_page, "_HELD", 12)
    with served(page.server.site.library.root) as own:
        pages = [own.data(f"{address}&from={first}")["rows"] for first in range(0, 60, 6)]
        assert "from=24" in own.get(f"{address}&from=18").text
    assert [row for rows in pages for row in rows] == whole["rows"]
    assert whole["count"] > 18


def test_labels_stand_in_the_grid_and_a_row_says_which_words_differ(tmp_path: Path) -> None:
    texts = {name: f"It opens at {hour}." for name, hour in zip(NAMES, "899", strict=True)}
    for name, text in texts.items():
        critic = AspectCritic(
            "Early?", model(lambda p: "FAIL" if "at 9." in p else "PASS"), name="early"
        )
        critic.evaluate([Instance({"response": text}, "r0")], run=tmp_path / name)
    said = Label(row=identity(texts["second"]), criteria="early", annotator="ann", option="FAIL")
    labelled(tmp_path / "second", [said])
    with served(tmp_path) as page:
        address = f"{_address(page, *NAMES)}&anyway=1"
        (row,) = page.data(address)["rows"]
        assert row["label"] == "FAIL"
        shown = page.get(address).text
        signs = re.findall(r'<span class="(?:good|bad)">([✓✗])', shown[shown.index("grid") :])
        assert signs == ["✓", "✓"], "nobody labelled the text of the first"
        link = re.findall(r'href="[^"]*(/compare/row[^"]+)"', shown)[0].replace("&amp;", "&")
        runs = page.data(link)["runs"]
        assert [one["verdict"] for one in runs] == ["PASS", "FAIL", "FAIL"]
        assert runs[0]["texts"] == []
        assert ["new", "9."] in [
            [kind, text.strip()] for kind, text in runs[1]["texts"][0]["parts"]
        ]
        assert "<del>8.</del>" in page.get(link).text.replace(" </del>", "</del>")
        assert page.get("/compare/row?cell=1").status == 400
        assert page.get(link.replace("%3A1%3A", "%3A7%3A")).status == 400


def test_compared_responses_are_named_and_counted_by_who_won(tmp_path: Path) -> None:
    won = {"first": "ABA", "second": "ABB", "third": "BBA"}
    for name, letters in won.items():
        systems = ("old", "new")[:: -1 if name == "third" else 1]
        rows = [
            PairwiseInstance(
                {"response": [f"{system} {place}" for system in systems]},
                f"r{place}",
                metadata={"systems": systems},
            )
            for place in range(3)
        ]

        def verdict(prompt: str, letters: str = letters) -> str:
            return letters[int(re.findall(r"new (\d)", prompt)[-1])]

        judge = PairwiseJudge(model(verdict), check_positional_bias=False)
        judge.evaluate(rows, "Which is better?", run=tmp_path / name)
    with served(tmp_path) as page:
        found = page.data(_address(page, *NAMES))
        assert [[cell["said"] for cell in row["cells"]] for row in found["rows"]] == [
            ["new", "new", "old"],
            ["old", "new", "new"],
        ]
        assert found["criteria"][0]["note"] == "win rate of old"
        assert {kind: count for kind, count in found["kinds"].items() if count} == {
            "differ": 2,
            "higher-A": 1,
            "higher-C": 1,
        }
        one, two, _ = (page.run(name)[5:] for name in NAMES)
        both = page.data(f"/compare?a={one}&b={two}&tab=lower")
        assert [row["b"]["said"] for row in both["rows"]] == ["new"]
        assert {(move["a"], move["b"]): move["count"] for move in both["moves"]} == {
            ("old", "old"): 1,
            ("new", "new"): 1,
            ("old", "new"): 1,
        }


def test_rarer_moves_are_counted_and_rows_stand_in_their_order(tmp_path: Path) -> None:
    options = [CriteriaOption(f"o{number}", "", number / 6) for number in range(7)]
    criteria = Criteria("grade", "Which grade?", options)
    for name, by in (("first", 1), ("second", 7)):

        def verdict(prompt: str, by: int = by) -> str:
            return f"o{int(re.findall('text ([0-9]+)', prompt)[-1]) // by % 7}"

        texts = [f"text {number}" for number in range(49)]
        DirectJudge(model(verdict)).evaluate(
            [Instance({"response": text}, text) for text in texts], criteria, run=tmp_path / name
        )
    with served(tmp_path) as page:
        address = f"/compare?a={page.run('first')[5:]}&b={page.run('second')[5:]}"
        found = page.data(address)
        assert (len(found["moves"]), found["other_moves"]) == (30, {"grade": 19})
        assert "and 19 more" in page.get(address).text
        rows = [row["a"]["row"] for row in found["rows"]]
        assert rows == sorted(rows)


def test_words_that_differ_are_those_of_every_text_whatever_it_is(tmp_path: Path) -> None:
    critic = AspectCritic("Fine?", model(lambda _: "PASS"), name="fine", max_repairs=0)
    texts = {
        "was": {"response": "<b>да</b>\r\n\u202eнет", "pages": ["one", "two"], "old": "x"},
        "now": {"response": "<i>да</i>\r\n\u202eнет", "pages": ["one", "three"], "late": "y"},
    }
    repeated = {"was": "a " * 2_990, "now": "b " + "a " * 2_989}
    for name, fields in texts.items():
        rows = [Instance(fields, "r0"), Instance({"response": repeated[name]}, "r1")]
        rows += [Instance({"response": f"{name} " * 50_000}, "r2")]
        critic.evaluate(rows, run=tmp_path / name)
    with served(tmp_path) as page:
        cells = [f"cell={page.run(name)[5:]}:{{row}}:AspectCritic" for name in ("was", "now")]
        address = "/compare/row?" + "&".join(cells)
        found = page.data(address.format(row=1))
        (_, now) = found["runs"]
        assert {one["field"]: one["parts"] for one in now["texts"]} == {
            "response": [
                ["gone", "<b>да</b>"],
                ["new", "<i>да</i>"],
                ["same", "\r\n\u202eнет"],
            ],
            "pages": [["same", "one\n\n"], ["gone", "two"], ["new", "three"]],
            "old": [["gone", "x"]],
            "late": [["new", "y"]],
        }
        assert [one["name"] for one in found["fields"]] == ["response", "pages", "old"]
        assert "<i>да" not in page.get(address.format(row=1)).text
        (_, now) = page.data(address.format(row=2))["runs"]
        assert (
            "".join(text for kind, text in now["texts"][0]["parts"] if kind != "gone")
            == (repeated["now"])
        )
        assert "too long to be compared" in page.get(address.format(row=3)).text


def test_two_are_the_page_of_two_and_others_are_held_back(page: Page) -> None:
    two = page.get(_address(page, "second", "first"))
    assert two.status == 303
    assert f"a={page.run('first')[5:]}&b=" in two.headers["location"]
    assert "Swap A and B" in page.get(two.headers["location"].removeprefix(page.access.place)).text
    assert page.get(_address(page, "first")).status == 400
    assert page.get("/compare").status == 400
    listed = page.get("/").text
    assert listed.count('type="checkbox" name="runs"') == 4
    apart = page.data(_address(page, "first", "second", "dates"))
    assert [one["name"] for one in apart["criteria"]] == ["kind", "short"]
    assert apart["criteria"][0]["runs"][2]["mean"] is None
    base = f"{_address(page, 'first', 'second', 'dates')}&base={page.run('dates')[5:]}"
    assert "shares a judge and criteria with A" in page.get(base).text


def test_each_target_has_its_own_mean(tmp_path: Path) -> None:
    critic = AspectCritic("Fine?", model(lambda text: "PASS" if "by new" in text else "FAIL"))
    rows = [
        Instance(
            {"response": f"text {number} by {system}"},
            f"{number} [{system}]",
            metadata={"row": {"system": system, "answered_row": number}},
        )
        for number in range(8)
        for system in ("old", "new")
    ]
    for name in NAMES:
        critic.evaluate(rows, run=tmp_path / name)
    with served(tmp_path) as page:
        found = page.data(_address(page, *NAMES))["criteria"]
        means = {one["name"].split()[-1]: one["runs"][0]["mean"]["value"] for one in found}
        assert means == {"[old]": 0, "[new]": 1}
        one, two, _ = (page.run(name)[5:] for name in NAMES)
        shown = page.get(f"/compare?a={one}&b={two}").text
        assert shown.count("[old]</th>") == shown.count("[new]</th>") == 1


def test_a_count_says_that_fewer_is_better_and_a_correction_is_named(tmp_path: Path) -> None:
    for name, sizes in zip(NAMES, ((9, 12, 60), (9, 30, 70), (9, 12, 60)), strict=True):
        agent_run(tmp_path / name, sizes, measures=("steps", "goal"))
    for number in range(3):
        folder = run_of(tmp_path / f"labelled{number}", population(60, seed=number))
        labelled(folder, labels_of(population(60, seed=number)[:40]))
    with served(tmp_path) as page:
        steps, goal = page.data(_address(page, *NAMES))["criteria"]
        assert steps["note"]
        assert goal["note"] is None
        assert steps["runs"][1]["difference"]["rows"] == 3, "rows, not tasks"
        assert "how many fewer there are" in page.get(_address(page, *NAMES)).text
        address = _address(page, *(f"labelled{number}" for number in range(3)))
        (dates,) = page.data(address)["criteria"]
        assert dates["runs"][1]["difference"]["labels"] == 40
        assert "corrected by labels of 40 rows" in page.get(address).text
