"""Sentences as values: templates are translated, values never."""

from __future__ import annotations

import ast
import inspect
import json
import pickle
import re
import string
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from adjudge import errors
from adjudge.core.domain.message import Usage
from adjudge.core.domain.record import VoteRecord
from adjudge.core.ledger.codec import vote_of, vote_row
from adjudge.core.ledger.rows import COLUMNS
from adjudge.errors import ModelError, RunError, SetupError
from adjudge.messages import (
    Message,
    StoredMessage,
    capitalize,
    join,
    pack,
    parse_po,
    plural,
    read_catalogue,
    reason_of,
    render,
    term,
)
from adjudge.runs.cli.help import CONTEXT

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools import messages as tool

HOSTILE = (
    "order",
    "Quality of the answer",
    "a, b.csv",
    "0.5",
    "speed: does it read well",
    "{name}",
    "порядок",
    "",
)
COUNTS = (0, 1, 2, 5, 11, 21)


@pytest.fixture(autouse=True, scope="module")
def _trees_go() -> Iterator[None]:
    """The package as syntax trees holds hundreds of megabytes."""
    yield
    tool.parsed.cache_clear()
    templates.cache_clear()


@cache
def templates() -> tuple[tool.Found, ...]:
    return tuple(sorted(set(tool.templates(tool.PACKAGE))))


# -- every template of ours ------------------------------------------------------


def test_values_are_unchanged_in_every_translation() -> None:
    """Rendered in Russian, each template is its translation with the values as they were given."""
    russian = read_catalogue("ru")
    wrong = []
    for number, found in enumerate(templates()):
        for values in _draw(found, HOSTILE[number % len(HOSTILE)]):
            message = Message(found.template, found.plural, found.context, **values)
            translated = russian.look_up(found.template, found.context, values.get("count"))
            expected = _fill(translated or "", values)
            if message.render("ru") != expected:
                wrong.append((message.render("ru"), expected))
    assert not wrong


def test_what_is_stored_is_rendered_as_what_was_said() -> None:
    """The reason of a vote, written to a ledger and read back, is translated as it would have been:
    alone, as a part of another message, and in a list.
    """
    wrong = []
    for number, found in enumerate(templates()):
        drawn = list(_draw(found, HOSTILE[number % len(HOSTILE)]))
        values = drawn[number % len(drawn)]
        message = Message(found.template, found.plural, found.context, **values)
        around = Message("the connection failed: {words}", words=message)
        for said in (message, around, join("; ", ("order", capitalize(message)))):
            stored = _read_back(said)
            if (stored, stored.render("ru")) != (said, said.render("ru")):
                wrong.append((stored.render("ru"), said.render("ru")))
    assert not wrong


_REASON = COLUMNS["votes"].index("reason")
_VOTE = VoteRecord(
    model="m",
    sample=0,
    order=None,
    outcome="unreadable",
    option=None,
    number=None,
    explanation=None,
    feedback=None,
    ranking=None,
    reason=None,
    text=None,
    usage=Usage(),
    latency=0.0,
    distribution=None,
    low_confidence=False,
)


def _read_back(message: Message) -> Message:
    *row, _ = vote_row(1, b"", replace(_VOTE, reason=message))
    row[_REASON] = "".join([*str(row[_REASON])])  # as SQLite gives it back
    stored = vote_of(row).reason
    assert isinstance(stored, Message)
    return stored


def _draw(found: tool.Found, hostile: str) -> Iterator[dict[str, object]]:
    """Values for the places of a template: a hostile text, and numbers where only those fit. Each
    of thousands of templates has one of the texts: no template is read by its values.
    """
    places = {
        name: spec
        for _, name, spec, _ in string.Formatter().parse(found.plural or found.template)
        if name
    }
    if found.context == CONTEXT or not all(map(str.isidentifier, places)):
        places = {}  # a text without values, which has braces in it
    for count in COUNTS if found.plural else (None,):
        values: dict[str, object] = {
            name: _number(spec) if spec and spec[-1] in "%,defgx" else hostile
            for name, spec in places.items()
        }
        yield values if count is None else {**values, "count": count}


def _number(spec: str | None) -> float:
    return 10 if spec and spec[-1] in "dx," else 0.5


def _fill(template: str, values: dict[str, object]) -> str:
    if not values:
        return template
    text = ""
    for literal, name, spec, conversion in string.Formatter().parse(template):
        text += literal
        if name is not None:
            value = repr(values[name]) if conversion == "r" else values[name]
            shown = format(value, spec or "")
            shown = shown.replace("%", "\N{NO-BREAK SPACE}%")
            text += shown.replace(".", ",") if isinstance(value, float) else shown
    return text


def test_every_template_is_translated_and_none_is_left_over() -> None:
    for path in tool.LOCALES.glob("*/LC_MESSAGES/adjudge.po"):
        before = tool.read(path)
        after = tool.updated(before, list(templates()))
        assert list(tool.faults(after)) == []
        assert {entry.id for entry in before} == {entry.id for entry in after}, "make messages"


RAISED = {"UsageError", "BadParameter"}
"""What click raises, beside the errors of ours."""


def test_every_error_has_a_russian_sentence() -> None:
    """Also one that is put together before it is raised: that has none."""
    raised = RAISED | {"wrong"} | tool.error_names(tool.PACKAGE)
    said = [
        text
        for _, nodes in tool.parsed(tool.PACKAGE)
        for call in nodes
        if isinstance(call, ast.Call) and tool.called(call) in raised
        for text in map(_text, call.args[:1])
        if re.search(r"[a-z] ", re.sub(r"\{.*?\}", "", text))
    ]
    assert len(said) > 400
    known = read_catalogue("ru").look_up
    assert [text for text in said if not known(text)] == []


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values
        )
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_every_place_has_a_value() -> None:
    """What a call gives by keyword fills all places of its template: a parameter of an error, such
    as ``hint``, fills none.
    """
    calls = tool.error_names(tool.PACKAGE) | {"Message", "plural", "term", "wrong"}
    missing = []
    for file, nodes in tool.parsed(tool.PACKAGE):
        for call in nodes:
            if not isinstance(call, ast.Call) or tool.called(call) not in calls:
                continue
            given = {keyword.arg for keyword in call.keywords} - _parameters(tool.called(call))
            if not given or None in given:
                continue
            given |= {"count"} if tool.called(call) == "plural" else set()
            missing += [
                (file, call.lineno, place)
                for found in tool.templates_of(call, calls, file)
                for place in tool.places(found.plural or found.template) - given
            ]
    assert not missing


def _parameters(name: str) -> set[str]:
    """What an error takes for itself."""
    kind = getattr(errors, name, None)
    if kind is None:
        return set()
    kinds = inspect.signature(kind).parameters.values()
    return {one.name for one in kinds if one.kind is not inspect.Parameter.VAR_KEYWORD}


# -- a message -------------------------------------------------------------------


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few translations that do not change with the package."""
    found = parse_po(PO)
    monkeypatch.setattr("adjudge.messages.read_catalogue", lambda _language: found)


PO = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && "
"(n%100<12 || n%100>14) ? 1 : 2);\n"

msgid "order"
msgstr "порядок"

msgid "{name!r} has no {what}"
msgstr "в {name!r} нет: {what}"

msgid "mean {mean:.3f}"
msgstr "среднее {mean:.3f}"

msgid "{count} row of {name}"
msgid_plural "{count} rows of {name}"
msgstr[0] "{count} строка из {name}"
msgstr[1] "{count} строки из {name}"
msgstr[2] "{count} строк из {name}"

msgctxt "page"
msgid "failed"
msgstr "не загрузилась"

msgid "failed"
msgstr "не удалось"

msgid " or "
msgstr " или "

#, fuzzy
msgid "guessed"
msgstr "угадано"

msgid "not translated"
msgstr ""

#~ msgid "gone"
#~ msgstr "нет"
"""


@pytest.mark.usefixtures("catalogue")
class TestMessage:
    def test_it_is_its_english_text(self) -> None:
        message = Message("{name!r} has no {what}", name="a", what="order")
        assert message == "'a' has no order"
        assert message.render("en") == "'a' has no order"
        assert hash(message) == hash("'a' has no order")

    def test_a_value_is_not_looked_up(self) -> None:
        message = Message("{name!r} has no {what}", name="order", what="order")
        assert message.render("ru") == "в 'order' нет: order"

    def test_a_message_inside_is_rendered(self) -> None:
        message = Message("{name!r} has no {what}", name="a", what=Message("order"))
        assert message.render("ru") == "в 'a' нет: порядок"

    def test_without_values_braces_are_text(self) -> None:
        assert Message("write {name}") == "write {name}"
        assert Message("write {name}").render("ru") == "write {name}"

    def test_without_a_translation_it_stays_english(self) -> None:
        assert Message("mean of {name}", name="x").render("ru") == "mean of x"
        assert plural("{count} cat", "{count} cats", 2).render("ru") == "2 cats"

    def test_decimal_commas(self) -> None:
        message = Message("mean {mean:.3f}", mean=0.75)
        assert (message, message.render("ru")) == ("mean 0.750", "среднее 0,750")

    def test_a_number_written_as_text_keeps_its_point(self) -> None:
        message = Message("{name!r} has no {what}", name="0.5", what=0.5)
        assert message.render("ru") == "в '0.5' нет: 0,5"

    @pytest.mark.parametrize(
        ("count", "english", "russian"),
        [
            (0, "0 rows of a", "0 строк из a"),
            (1, "1 row of a", "1 строка из a"),
            (3, "3 rows of a", "3 строки из a"),
            (11, "11 rows of a", "11 строк из a"),
            (21, "21 rows of a", "21 строка из a"),
        ],
    )
    def test_plural(self, count: int, english: str, russian: str) -> None:
        message = plural("{count} row of {name}", "{count} rows of {name}", count, name="a")
        assert (message, message.render("ru")) == (english, russian)

    def test_term(self) -> None:
        assert term("page", "failed").render("ru") == "не загрузилась"
        assert Message("failed").render("ru") == "не удалось"

    def test_join(self) -> None:
        joined = join(Message(" or "), ("order", Message("order"), plural("{count}", "{count}", 2)))
        assert joined == "order or order or 2"
        assert joined.render("ru") == "order или порядок или 2"
        assert join(", ", ()) == ""

    @pytest.mark.parametrize(
        "message",
        [
            Message("{name!r} has no {what}", name="a", what=Message("order")),
            plural("{count} row of {name}", "{count} rows of {name}", 2, name="a"),
            term("page", "failed"),
            join("; ", (Message("order"), "order")),
        ],
    )
    def test_pickling(self, message: Message) -> None:
        again = pickle.loads(pickle.dumps(message))
        assert again == message
        assert again.render("ru") == message.render("ru") != message

    def test_render_takes_anything(self) -> None:
        assert render(Message("order"), "ru") == "порядок"
        assert render("order", "ru") == "order"
        assert render(3, "ru") == "3"
        assert render(SetupError("order"), "ru") == "порядок"

    def test_what_was_stored(self) -> None:
        said = Message("{name!r} has no {what}", name="order", what=plural("{count}", "{count}", 2))
        stored = StoredMessage(said, json.loads(json.dumps(pack(said))))
        assert stored.render("ru") == said.render("ru") == "в 'order' нет: 2"
        assert stored.render("en") == said
        assert pickle.loads(pickle.dumps(stored)).render("ru") == said.render("ru")
        around = Message("mean {mean:.3f}", mean=0.5), stored
        assert join("; ", around).render("ru") == "среднее 0,500; в 'order' нет: 2"
        assert pack(stored) == pack(said)

    @pytest.mark.parametrize(
        ("text", "packed"),
        [
            ("gone", {"template": "gone"}),
            ("order", {"template": "or{what}", "values": {"what": "der"}}),
            ("other", {"template": "order"}),
            ("order", {"template": "order", "values": {}, "context": "page"}),
            ("'a' has no b", {"template": "{name!r} has no {what}", "values": {"name": "a"}}),
            ("mean x", {"template": "mean {mean:.3f}", "values": {"mean": "x"}}),
            ("1 row of a", {"template": "{count} row of {name}", "values": {"count": 1}}),
            ("2 cats", {"template": "{count} row of {name}", "plural": "{count} cats"}),
            ("x", {"template": "{name:>1000000000}", "values": {"name": "x"}}),
            ("x", {"template": "{name.__class__}", "values": {"name": "x"}}),
            ("order", {"join": "", "parts": [1]}),
            ("order", {"capitalize": {}}),
            ("order", ["order"]),
            ("order", {}),
            ("order", None),
        ],
    )
    def test_what_somebody_else_stored_is_a_text(self, text: str, packed: object) -> None:
        assert StoredMessage(text, packed).render("ru") == text

    def test_stored_messages_are_nested_to_a_limit(self) -> None:
        packed: object = {"template": "order"}
        for _ in range(1000):
            packed = {"join": "", "parts": [packed]}
        assert StoredMessage("order", packed).render("ru") == "order"


@pytest.mark.usefixtures("catalogue")
class TestErrors:
    def test_an_error_carries_its_message(self) -> None:
        error = SetupError("{name!r} has no {what}", name="a", what=Message("order"))
        assert str(error) == "'a' has no order"
        assert error.render("ru") == "в 'a' нет: порядок"

    def test_an_error_inside_another_is_rendered(self) -> None:
        error = RunError("{name!r} has no {what}", name="a", what=SetupError("order"))
        assert error.render("ru") == "в 'a' нет: порядок"

    def test_what_a_foreign_exception_carries_is_rendered(self) -> None:
        error = RunError("{name!r} has no {what}", name="a", what=ValueError(Message("order")))
        assert error.render("ru") == "в 'a' нет: порядок"

    def test_a_hint_is_rendered_and_the_model_is_not(self) -> None:
        error = ModelError("failed", provider="order", model="m", hint=Message("order"))
        assert error.render("ru") == "order/m: не удалось (порядок)"

    def test_the_words_of_the_system_are_taken_as_they_are(self) -> None:
        assert reason_of(OSError(2, "No {such} file")) == "No {such} file"
        assert reason_of(OSError("order")) == "order"


def test_a_catalogue_leaves_out_what_is_fuzzy_obsolete_or_empty() -> None:
    found = parse_po(PO)
    assert {template for _, template in found.texts} == {
        "order",
        "{name!r} has no {what}",
        "mean {mean:.3f}",
        "{count} row of {name}",
        "failed",
        " or ",
    }
    assert [found.plural_form(count) for count in (1, 2, 5, 11, 22)] == [0, 1, 2, 2, 1]


def test_an_unknown_language_is_english() -> None:
    assert Message("order {name}", name="x").render("xx") == "order x"
