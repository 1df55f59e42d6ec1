"""The link of a slice lists exactly the rows of the slice."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from adjudge import AspectCritic, ScriptedModel
from adjudge.core.domain.instance import Instance
from support.page import served

CHANNELS = ("Mail", "mail", " Mail ", "nan", " ", "", "None", 'a "b"', True, 5, 5.5)


def test_slices_that_differ_in_case_are_other_rows(tmp_path: Path) -> None:
    rows = [
        Instance({"response": f"row {number}."}, f"r{number}", {"row": {"channel": channel}})
        for number, channel in enumerate(CHANNELS * 2)
    ]
    AspectCritic("Is it good?", ScriptedModel(lambda _: "PASS"), name="good").evaluate(
        rows, run=tmp_path / "one"
    )
    with served(tmp_path) as page:
        run = page.run("one")
        (slices,) = page.data(f"{run}/pictures?by=channel")["slices"]
        rows_of = {part["name"]: part["rows"] for part in slices["slices"]}
        assert (rows_of["Mail"], rows_of["mail"]) == (4, 2)
        assert sum(rows_of.values()) == len(rows)
        for name, count in rows_of.items():
            listed = page.data(f"{run}?{urlencode(slices['queries'][name])}")
            assert len(listed["rows"]) == count, (name, slices["queries"][name])
        either = page.data(f"{run}?{urlencode({'where': 'channel = mail'})}")
        assert len(either["rows"]) == 6, "= tells neither case nor spaces around a text apart"
        chips = page.data(f"{run}/row/1")["chosen"]["columns"]
        assert [chip["where"] for chip in chips] == ['channel == "Mail"']
