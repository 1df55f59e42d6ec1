"""Scenarios: YAML and CSV say the same, and errors name file, row and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.errors import SetupError
from adjudge.features.conversations.scenario import Scenario, read_scenarios

YAML = """
- id: cancel
  goal: Cancel the order.
  parts: [Cancel the order., Ask for a receipt.]
  facts: {name: Ann}
  withheld: {order: {value: "4711", aliases: [order 47-11]}, email: ann@example.com}
  unknown: [phone number]
  max_turns: 6
  expect: {state: {orders.4711.status: cancelled, open: 0}, calls: [cancel_order], says: [Bye]}
"""
CSV = """id,goal,parts,facts,withheld,unknown,max_turns,expect.state,expect.calls,expect.says
cancel,Cancel the order.,Cancel the order.; Ask for a receipt.,name=Ann,\
"{""order"": {""value"": ""4711"", ""aliases"": [""order 47-11""]}, \
""email"": ""ann@example.com""}",phone number,6,orders.4711.status=cancelled; open=0,\
cancel_order,Bye
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_says_what_yaml_says(tmp_path: Path) -> None:
    (one,) = read_scenarios(written(tmp_path, "a.yaml", YAML))
    (two,) = read_scenarios(written(tmp_path, "a.csv", CSV))
    assert one.to_dict() == two.to_dict()
    assert one.identity == two.identity
    assert [(fact.name, fact.tell) for fact in one.known_facts] == [
        ("name", "freely"),
        ("order", "when asked"),
        ("email", "when asked"),
    ]
    assert dict(one.expect.state) == {"orders.4711.status": "cancelled", "open": 0}


@pytest.mark.parametrize("separator", [";", "\t"])
def test_cells_may_be_separated_as_spreadsheets_do(tmp_path: Path, separator: str) -> None:
    text = 'id,goal,facts\nx,"Cancel it, please.","name=Ann; order=4711"\n'
    (one,) = read_scenarios(written(tmp_path, "a.csv", text))
    cells = separator.join(("x", '"Cancel it, please."', '"name=Ann; order=4711"'))
    header = separator.join(("id", "goal", "facts"))
    (two,) = read_scenarios(written(tmp_path, "b.csv", f"{header}\n{cells}\n"))
    assert one.to_dict() == two.to_dict()


def test_a_scenario_survives_its_own_dictionary(tmp_path: Path) -> None:
    (one,) = read_scenarios(written(tmp_path, "a.yaml", YAML))
    assert Scenario.of(one.to_dict()).identity == one.identity


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "- {id: x}", "line 1, scenario 1: the key 'goal' is missing"),
        ("a.yaml", "- {id: x, goal: g}\n- {id: x, goal: h}", "two scenarios are named 'x'"),
        ("a.yaml", "- {id: x, goal: g, max_turns: none}", "max_turns"),
        ("a.yaml", "- {id: x, goal: g, persnoa: p}", "did you mean 'persona'?"),
        ("a.yaml", "- {id: x, goal: g, facts: {a: b}, unknown: [a]}", "the user knows it"),
        ("a.yaml", "- {id: x, goal: g, facts: {a: b}, withheld: {a: c}}", "twice"),
        ("a.yaml", "- {id: x, goal: g, withheld: {a: '4711'}, opening: I am 4711}", "opening"),
        ("a.yaml", "id: x", "must be a list of scenarios"),
        ("a.yaml", "[]", "the file contains no scenario"),
        ("a.csv", "id,goal,facts\nx,g,ann\n", "row 1, facts: must be name=value"),
        ("a.csv", "id,goal\nx,g,h\n", "row 1: the row has more or fewer cells"),
        ("a.csv", "id,goal,max_turns\nx,g,0\n", "row 1, max_turns"),
        ("a.csv", "id,goal,colour\nx,g,red\n", "unknown key 'colour'"),
        ("a.csv", 'id,goal,expect\nx,g,"{bad"\n', "row 1, expect: is not JSON"),
    ],
)
def test_errors_name_the_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(SetupError) as caught:
        read_scenarios(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
