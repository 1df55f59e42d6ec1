"""The pages that say what runs are worth: comparison, trust, criteria."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.labels import judged
from support.page import Page, served
from support.trust import labelled, labels_of, population, run_of

ROWS = population(120)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "one", ROWS, failed=lambda text: text.startswith("row 7 "))
    labelled(
        root / "one",
        [*labels_of(ROWS[:80]), *labels_of([(ROWS[0][0], not ROWS[0][1], True)], annotator="bob")],
    )
    run_of(root / "two", ROWS[:100], failed=lambda text: text.startswith(("row 7 ", "row 9 ")))
    judged(
        root / "other",
        [text for text, *_ in ROWS[:30]],
        lambda _: "PASS",
        definition="The response is kind.",
    )
    with served(root) as found:
        yield found


def ids(page: Page, *names: str) -> list[str]:
    return [page.run(name).removeprefix("/run/") for name in names]


def test_a_comparison_says_in_words_which_run_is_better(page: Page) -> None:
    one, two = ids(page, "one", "two")
    found = page.data(f"/compare?a={one}&b={two}")
    assert not found["held_back"]
    assert found["lines"][0][0].startswith("AspectCritic: dates: cannot tell: mean ")
    assert found["compared"] == 100
    assert found["lines"][0][1] == (
        "  100 rows paired (120 before, 100 now), by id; 20 before and 0 now have no counterpart"
    )
    russian = page.get(
        f"/compare?a={one}&b={two}", cookie=f"{page.cookie}; adjudge_language=ru"
    ).text
    assert (
        "сопоставлено строк: 100 (раньше 120, теперь 100), по идентификатору; без пары: "
        "раньше 20, теперь 0"
    ) in russian
    assert found["counts"]["only_a"] == 20
    assert found["counts"]["both_failed"] == 1
    assert found["counts"]["changed"] == 1
    assert sum(move["count"] for move in found["moves"]) == 100


@pytest.mark.parametrize(
    "tab",
    [
        "changed",
        "higher",
        "lower",
        "only_a_right",
        "only_b_right",
        "both_failed",
        "only_a",
        "only_b",
    ],
)
def test_every_tab_lists_the_rows_it_counts(page: Page, tab: str) -> None:
    one, two = ids(page, "one", "two")
    found = page.data(f"/compare?a={one}&b={two}&tab={tab}")
    assert len(found["rows"]) == found["counts"][tab]
    assert page.get(f"/compare?a={one}&b={two}&tab={tab}").status == 200


def test_failed_rows_are_told_in_the_language_of_the_page(page: Page) -> None:
    one, two = ids(page, "one", "two")
    text = page.get(
        f"/compare?a={one}&b={two}&tab=both_failed", cookie=f"{page.cookie}; adjudge_language=ru"
    ).text
    assert "<td>сбой</td><td>сбой</td>" in text
    assert ">failed<" not in text


def test_a_row_that_labels_say_one_run_got_right_is_in_that_tab(page: Page) -> None:
    one, two = ids(page, "one", "two")
    found = page.data(f"/compare?a={one}&b={two}&tab=only_a_right")
    right = ROWS[9][1] == ROWS[9][2]
    assert [row["a"]["id"] for row in found["rows"]] == (["r9"] if right else [])


def test_different_judges_are_compared_only_on_request(page: Page) -> None:
    one, other = ids(page, "one", "other")
    found = page.data(f"/compare?a={one}&b={other}")
    assert found["held_back"]
    assert found["lines"] == found["rows"] == []
    assert any("definition" in line for line in found["settings"])
    assert page.data(f"/compare?a={one}&b={other}&anyway=1")["lines"]


@pytest.mark.parametrize("query", ["", "a=x", "a={one}", "a={one}&b=x", "a={one}&b={two}&tab=x"])
def test_a_comparison_of_nothing_is_refused_in_words(page: Page, query: str) -> None:
    one, two = ids(page, "one", "two")
    assert page.get(f"/compare?{query.format(one=one, two=two)}").status in (400, 404)


def test_trust_shows_the_corrected_number_and_the_label_plan(page: Page) -> None:
    found = page.data(f"{page.run('one')}/trust")
    (calibration,) = found["calibrations"]
    assert "corrected by" in calibration["sentence"]
    assert any(line.startswith("A width of 0.1 is out of reach") for line in calibration["lines"])
    assert found["conflict_count"] == 1
    assert found["conflicts"][0]["begins"].startswith("row ")
    assert "corrected by" in page.get(f"{page.run('one')}/trust").text


def test_a_run_without_labels_is_said_to_be_unknown(page: Page) -> None:
    assert "No row of this run is labelled" in page.get(f"{page.run('two')}/trust").text


def test_the_catalogue_and_one_of_its_criteria(page: Page) -> None:
    names = [one["name"] for one in page.data("/criteria")["criteria"]]
    assert "conciseness" in names
    assert [one["name"] for one in page.data("/criteria?q=concise")["criteria"]]
    one = page.data("/criteria/conciseness")
    assert one["options"]
    assert one["yaml"].strip()
    assert page.get("/criteria/conciseness").status == 200
    assert page.get("/criteria/..%2Fsecret").status in (400, 404)
    assert page.get("/criteria/nothing").status == 400


def test_own_criteria_are_linted_anew_while_they_are_edited(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    file = tmp_path / "criteria" / "tone.yaml"
    file.parent.mkdir()
    golden = "golden:\n- fields: {response: Hi!}\n  option: 'Yes'\n"
    file.write_text(f"name: tone\ndescription: Is it kind?\noptions: ['Yes', 'No']\n{golden}")
    with served(tmp_path / "runs", home=tmp_path) as page:
        assert page.data("/criteria")["own"] == [
            {"name": "criteria/tone.yaml", "findings": 0, "trouble": ""}
        ]
        address = "/criteria-file?name=criteria/tone.yaml"
        found = page.data(address)
        assert found["findings"] == []
        assert found["entries"][0]["golden"][0]["option"] == "Yes"
        file.write_text("name: tone\ndescription: Is it kind?\noptions: ['Yes', 'yes!']\n")
        assert "differ only in case" in page.data(f"{address}&part=1")["findings"][0]["message"]
        file.write_text("name: tone\ndescription: Is it kind?\noptions: 7\n")
        assert "options" in page.get(address).text
        assert page.data(address)["entries"] == []
        for name in ("../runs", "/etc/passwd", "nothing.yaml", ""):
            assert page.get(f"/criteria-file?name={name}").status == 400
