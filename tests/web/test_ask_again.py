"""Failed rows are grouped by reason; asking them again shows its cost first and pays nothing
twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from adjudge import Request, ScriptedModel
from adjudge.core.domain.instance import Instance
from adjudge.core.judges.aspect import AspectCritic
from support import commands
from support.asking import wait_until
from support.fake_provider import KEY, FakeProvider
from support.page import Page, served

MODEL = "openai/gpt-4o-mini"
ROWS = 8
LOST = ("REC-00003-Y", "REC-00005-Y")


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as found:
        yield found


def _ended(page: Page, job: str) -> dict[str, object]:
    assert wait_until(lambda: not page.data(job)["job"]["running"], 120)
    found: dict[str, object] = page.data(job)["job"]
    return found


def test_failed_rows_are_asked_again_and_no_others(
    tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / ".cache"))
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
    rows = "".join(f"r{number},REC-{number:05}-Y\n" for number in range(ROWS))
    (tmp_path / "rows.csv").write_text(f"id,answer\n{rows}")
    (tmp_path / "runs").mkdir()
    replies = dict(zip(LOST, ("no idea", '{"selected_option": "Perhaps"}'), strict=True))
    provider.answer = lambda body: next(
        (reply for mark, reply in replies.items() if mark in json.dumps(body)), None
    )
    with served(tmp_path / "runs", home=tmp_path, models=[MODEL]) as page:
        begun = page.post(
            "/start",
            **{"data": "rows.csv", "question": "It is short.", "model": MODEL},
            name="lost",
            usd="0.5",
        )
        assert _ended(page, page.led_to(begun))["fine"]
        run = page.run("lost")
        figures = page.data(run)["figures"]
        groups = figures["failures"]
        assert ([group["count"] for group in groups], figures["can_ask_again"]) == ([1, 1], True)
        text = page.get(run).text
        assert f"{run}/again?reason=" in text and "Ask all 2 again" in text
        before = len(provider.requests)
        offered = page.get(f"{run}/again")
        assert "Ask these again" in offered.text
        estimate = page.data(f"{run}/again")["estimate"]
        assert estimate["answered"] == ROWS - 2
        assert estimate["calls"]["lower"] == 2
        assert len(provider.requests) == before, "an estimate asks nothing"
        query = urlencode({"reason": groups[0]["again"]})
        assert page.data(f"{run}/again?{query}")["estimate"]["calls"]["lower"] == 1
        provider.answer = lambda body: None
        for reason in ({"reason": groups[0]["again"]}, {}):
            before = len(provider.requests)
            again = page.post(f"{run}/resume", failed="1", usd="0.1", **reason)
            assert again.status == 202, again.text
            assert _ended(page, page.led_to(again))["fine"]
            assert len(provider.requests) - before == 1
            left = page.data(run)["figures"]["failures"]
            assert left == ([groups[1]] if reason else [])
        figures = page.data(run)["figures"]
        assert (figures["failures"], figures["statuses"]) == ([], {"scored": ROWS})
        assert "There is nothing to ask again" in page.get(f"{run}/again").text
    with served(tmp_path / "runs", read_only=True) as page:
        assert page.get(f"{page.run('lost')}/again").status == 403


def test_groups_hold_all_their_rows(tmp_path: Path) -> None:
    def verdict(request: Request) -> str:
        number = int(request.prompt.text.rpartition("row ")[2].split(".")[0])
        return "" if number < 30 else f"no idea about {number}00" if number < 40 else "PASS"

    rows = [Instance({"response": f"row {number}."}, f"r{number}") for number in range(50)]
    AspectCritic("Is it good?", ScriptedModel(verdict), name="good", max_repairs=0).evaluate(
        rows, run=tmp_path / "one"
    )
    with served(tmp_path) as page:
        run = page.run("one")
        figures = page.data(run)["figures"]
        assert not figures["can_ask_again"], "no command recorded how to continue it"
        assert f"{run}/again" not in page.get(run).text
        empty, strange = figures["failures"]
        assert (empty["count"], strange["count"]) == (30, 10)
        assert "where" in empty["query"]
        assert "rows" in strange["query"], "their reasons quote different replies"
        for group in (empty, strange):
            data = page.data(f"{run}?{urlencode(group['query'])}")
            assert data["matching"]["shown"] == group["count"]


def test_a_run_whose_code_changed_is_asked_again_from_the_terminal(tmp_path: Path) -> None:
    code = """
import json

def ask(prompt):
    if "row 3" in prompt:
        raise RuntimeError("it is down")
    return json.dumps({"explanation": "so", "selected_option": "PASS"})
"""
    rows = "".join(f"r{number},row {number}\n" for number in range(5))
    (tmp_path / "rows.csv").write_text(f"id,answer\n{rows}")
    (tmp_path / "code.py").write_text(code)
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nmodels: code.py:ask\nrun: runs/lost\n"
        "judges: [{kind: aspect, criteria: It is short., name: short}]\n"
    )
    commands.adjudge("run", "eval.yaml", "--trust", cwd=tmp_path)
    (tmp_path / "code.py").write_text(f"{code}# changed\n")
    with served(tmp_path / "runs", home=tmp_path) as page:
        run = page.run("lost")
        (group,) = page.data(run)["figures"]["failures"]
        offered = page.get(f"{run}/again?{urlencode({'reason': group['again']})}")
        assert offered.status == 200
        assert "From the terminal:" in offered.text
        assert "adjudge resume" in offered.text and "--retry-reason" in offered.text
        assert "Ask these again" not in offered.text
