"""Files of traces that somebody made up to mislead: each is one clear line, or is judged and shown
without harm.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from adjudge.runs.cli.main import main

Json = dict[str, Any]
ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m"
TURNED = "\u202eevil\u2066x"
TAG = "<script>alert(1)</script><img src=x onerror=alert(2)>"
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
NANO = 10**9


def message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def span(id: str, parent: str = "", start: int = 1_700_000_000 * NANO, **more: Any) -> Json:
    """A call of a model; ``more``: attributes, their dots written as two underscores."""
    values = {
        "gen_ai__operation__name": "chat",
        "gen_ai__input__messages": message("user", "hi"),
        "gen_ai__output__messages": message("assistant", "done"),
        **{key: value for key, value in more.items() if "__" in key},
    }
    kinds = {str: "stringValue", float: "doubleValue", int: "intValue"}
    return {
        "traceId": more.get("trace", "t"),
        "spanId": id,
        "parentSpanId": parent,
        "name": more.get("name", "chat"),
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(more.get("end", start + NANO)),
        "attributes": [
            {"key": key.replace("__", "."), "value": {kinds[type(value)]: value}}
            for key, value in values.items()
        ],
    }


def tool(id: str, parent: str = "", *, name: str = "pay", result: str = "ok", **more: Any) -> Json:
    return span(
        id,
        parent,
        name=f"execute_tool {name}",
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name=name,
        gen_ai__tool__call__arguments="{}",
        gen_ai__tool__call__result=result,
        **more,
    )


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Printed(str):
    """What a command printed, both streams, with its exit code."""

    code: int


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*given: Json | str, **options: str) -> Printed:
        """``adjudge agent`` on spans, or on a file by its name."""
        path, *words = given if isinstance(given[0], str) else ("traces.json", *given[len(given) :])
        if not isinstance(given[0], str):
            whole = {"resourceSpans": [{"scopeSpans": [{"spans": list(given)}]}]}
            Path("traces.json").write_text(json.dumps(whole))
        chosen = [word for key, value in options.items() for word in (f"--{key}", value)]
        flags = [word for word in chosen if word]
        monkeypatch.setattr("sys.argv", ["adjudge", "agent", str(path), *words, *flags])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        printed = Printed(out + err)
        printed.code = int(ended.value.code or 0)
        return printed

    return run


def results(printed: Printed) -> dict[str, float | None]:
    return {one["criteria"]: one["score"] for one in json.loads(printed)["results"]}


@pytest.mark.parametrize(
    ("attributes", "measure"),
    [
        ({"gen_ai__usage__cost": -5.0}, "usd"),
        ({"gen_ai__usage__input_tokens": -50, "gen_ai__usage__output_tokens": 7}, "tokens"),
        ({"start": 0}, "seconds"),
        ({"start": -(10**30), "end": 10**31}, "seconds"),
        ({"start": 2 * 10**18, "end": 10**18}, "seconds"),
    ],
)
def test_numbers_that_cannot_be_pass_no_gate(agent: Any, attributes: Json, measure: str) -> None:
    """Less than nothing would pass any limit, and take from what other steps cost."""
    gate = {"measure": measure, "at-most": f"{measure}=1000"}
    printed = agent(span("a", **attributes), **gate)
    assert printed.code == 5
    assert "1 of 1 rows have no value" in printed


def test_a_step_that_cost_less_than_nothing_does_not_hide_what_others_cost(agent: Any) -> None:
    cheap = span("b", start=1_700_000_005 * NANO, gen_ai__usage__cost=-0.4)
    printed = agent(span("a", gen_ai__usage__cost=0.5), cheap, measure="usd", json="")
    assert results(printed) == {"usd": 0.5}


def test_parents_in_a_circle_and_ids_that_repeat_lose_no_step(agent: Any) -> None:
    later: Json = {"start": 1_700_000_005 * NANO}
    printed = agent(span("a", "b"), tool("b", "a", **later), tool("b", "b", name="get", **later))
    assert printed.code == 0
    assert re.search(r"steps +mean 4\.000", printed)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_names_and_texts_cannot_command_a_terminal_or_a_page(agent: Any, language: str) -> None:
    hostile = ESCAPES + TURNED + TAG
    spans = [
        span("a", trace=hostile, gen_ai__output__messages=message("assistant", hostile)),
        tool("b", "a", trace=hostile, name=hostile, result=hostile),
    ]
    more = {"language": language, "run": "run"}
    printed = agent(*spans, **more, output="page.html")
    assert printed.code == 0
    assert not _CONTROLS.search(printed)
    assert agent("traces.json", "-o", "page.md", **more).code == 0
    assert not _CONTROLS.search(Path("page.md").read_text())
    shown = agent("traces.json", show="1")
    assert "alert(1)" in shown and not _CONTROLS.search(shown)
    for page in ("page.html", "page.md"):
        text = Path(page).read_text(encoding="utf-8")
        assert "alert(1)" in text
        assert not re.search(r"(?<!\\)<(?:script>alert|img src=x)", text)


def test_json_keeps_every_character_and_prints_none_that_a_terminal_obeys(agent: Any) -> None:
    hostile = ESCAPES + TURNED
    printed = agent(span("a", trace=hostile), json="", measure="steps")
    assert not _CONTROLS.search(printed)
    assert json.loads(printed)["results"][0]["id"] == hostile


@pytest.mark.parametrize("words", [(), ("--show", "1"), ("--json",)])
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "deep.json",
            '{"resourceSpans":' + "[" * 200_000,
            "line 1: column 1: is nested too deeply",
        ),
        ("cut.jsonl", '{"messages": [}\n{"messages": [}\n', "line 1: column 15: Expecting value"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_place(
    agent: Any, name: str, text: str, said: str, words: tuple[str, ...]
) -> None:
    Path(name).write_text(text)
    printed = agent(name, *words)
    assert printed.code == 1
    assert said in printed and f"{name} contains no readable trajectory" in printed
    assert len(printed.splitlines()) == 2


def test_an_entry_that_leads_out_of_its_archive_is_refused_by_name(agent: Any) -> None:
    sample = {"id": 1, "messages": [{"role": "user", "content": "hi"}]}
    with zipfile.ZipFile("log.eval", "w") as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": {}}))
        archive.writestr("samples/../../../owned.json", json.dumps(sample))
    printed = agent("log.eval")
    assert printed.code == 1
    assert "samples/../../../owned.json" in printed and "points outside the archive" in printed
    assert not Path("../../owned.json").exists()
