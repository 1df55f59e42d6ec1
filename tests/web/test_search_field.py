"""One field for words or an expression; counts of what fits, and the words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from adjudge import Request, ScriptedModel
from adjudge.core.domain.instance import Instance
from adjudge.core.judges.aspect import AspectCritic
from adjudge.web import library
from support.page import Page, served

LONG = "Something that goes on. " * 20


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("search")

    def verdict(request: Request) -> str:
        return "FAIL" if "poor" in request.prompt.text.rpartition("row ")[2] else "PASS"

    rows = [
        Instance(
            {
                "user_input": f"Where is my {'refund' if number % 3 else 'tie'}? <b>",
                "response": f"{LONG} row {number} is {'poor' if number % 4 else 'good'}.",
            },
            f"r{number}",
            {"row": {"system": "ab"[number % 2]}},
        )
        for number in range(120)
    ]
    AspectCritic("Is it good?", ScriptedModel(verdict), name="dates").evaluate(
        rows, run=root / "one"
    )
    with served(root) as found:
        yield found


def _found(page: Page, text: str, others: str = "") -> dict[str, list[str]]:
    answer = page.get(f"{page.run('one')}?find={quote(text)}{others}")
    assert answer.status == 303
    return parse_qs(urlsplit(answer.headers["location"]).query)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("refund", {"q": ["refund"]}),
        ("my refund and my tie", {"q": ["my refund and my tie"]}),
        ("tie", {"q": ["tie"]}),
        ("(tie)", {"where": ["(tie)"]}),
        ("not tie", {"where": ["not tie"]}),
        ("labelled and not tie", {"where": ["labelled and not tie"]}),
        ("verdict = fail", {"where": ["verdict = fail"]}),
        ('system = "a"', {"where": ['system = "a"']}),
        ("verdct = fail", {"where": ["verdct = fail"]}),
        ('"verdict = fail"', {"q": ["verdict = fail"]}),
        ('system = "a', {"where": ['system = "a']}),
        ("it's here", {"q": ["it's here"]}),
        ("100%", {"q": ["100%"]}),
        ("", {}),
    ],
)
def test_a_text_is_words_or_an_expression(
    page: Page, text: str, expected: dict[str, list[str]]
) -> None:
    assert _found(page, text) == expected


def test_other_filters_stay_and_empty_ones_go(page: Page) -> None:
    found = _found(page, "refund", "&status=scored&verdict=&sort=worst&after=x&row=3&part=list")
    assert found == {"q": ["refund"], "status": ["scored"]}
    both = "&q=refund&where=verdict%20%3D%20fail"
    assert _found(page, "verdict = fail", both) == {"q": ["refund"], "where": ["verdict = fail"]}
    assert _found(page, "", both) == {"q": ["refund"]}, "the field showed the expression"
    assert _found(page, "tie", both) == {"q": ["tie"]}
    assert _found(page, "(tie)", "&where=(tie)") == {"where": ["(tie)"]}


def test_a_wrong_expression_offers_its_words(page: Page) -> None:
    answer = page.get(f"{page.run('one')}?where={quote('verdct = fail')}")
    assert answer.status == 400
    assert "did you mean" in answer.text
    assert "q=verdct+%3D+fail" in answer.text


def test_words_are_marked_where_they_are(page: Page) -> None:
    shown = page.get(f"{page.run('one')}?q=poor").text
    assert "… <mark>poor</mark>" in re.sub(r"…[^<]*<mark>", "… <mark>", shown)
    assert page.data(f"{page.run('one')}?q=poor")["matching"] == {"shown": 90, "of": 120}
    row = page.get(f"{page.run('one')}/row/2?part=1&q=POOR").text
    assert "<mark>poor</mark>" in row
    assert "<mark>&lt;b&gt;</mark>" in page.get(f"{page.run('one')}/row/2?q=%3Cb%3E").text
    assert "<mark>" not in page.get(f"{page.run('one')}/row/2?part=1").text


def test_the_next_page_knows_its_place(page: Page) -> None:
    first = page.get(f"{page.run('one')}?q=poor").text
    link = re.search(r'id="next"[^>]*href="[^"]*(\?[^"]+)"', first)
    assert link
    second = page.get(f"{page.run('one')}{link[1].replace('&amp;', '&')}").text
    at = re.search(r'data-at="(\d+)"', second)
    assert at
    assert int(at[1]) == first.count("data-line")
    assert "at=" not in "".join(re.findall(r'class="chip[^>]*href="([^"]+)"', second))


def test_a_slow_run_is_counted_behind_its_list(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "SLOW", 1)
    shown = page.get(f"{page.run('one')}?verdict=FAIL&status=scored").text
    link = re.search(r'id="matching"[^>]*hx-get="[^"]*(/run/[^"]+)"', shown)
    assert link
    answer = page.get(link[1].replace("&amp;", "&"))
    assert 'data-shown="90"' in answer.text
    assert "90 of 120" in answer.text


def test_an_error_goes_on_top_of_the_list(page: Page) -> None:
    path = f"{page.run('one')}?min=x"
    part = page.get(path, hx_request="true", hx_request_type="full")
    assert (part.status, part.headers["hx-reswap"]) == (400, "afterbegin")
    assert "hx-reswap" not in page.get(path, hx_request="true").headers
