"""Filters that are written as an expression: ``verdict = fail and not labelled``.

::

    condition   = and-part {"or" and-part}
    and-part    = not-part {"and" not-part}
    not-part    = "not" not-part | "(" condition ")" | test
    test        = name [("=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~") value]
                | name ("~" | "!~") "/" regular expression "/"

A condition is true or false for every judgment: one without a value meets no comparison, so ``!=``,
``!~`` and ``not`` accept it. Users' values are bound to the query, never put into its text, and
names can only be columns of the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.ledger.columns import (
    AS_NUMBER,
    CASEFOLD,
    HAS_VALUE,
    MATCHES,
    STRIPPED,
    TEXT_FITS,
    THOUSANDS,
    WORDS,
    Binder,
    Column,
    KnownColumns,
    read_number,
    resolve_column,
)
from adjudge.core.reading.patterns import CannotMatch, WrongPattern, check_pattern
from adjudge.core.reading.values import nearest
from adjudge.errors import SetupError
from adjudge.messages import Message

LONGEST = 1_000
"""Characters of an expression."""
_DEEPEST = 20
_MOST_TESTS = 50
_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>\(|\)|!=|!~|<=|>=|==?|<|>|~)
    |(?P<pattern>/(?:(?:[^/\\[]|\\.|\[\^?+\]?+(?:[^\]\\]|\\.)*+\])++|(?:[^/\\]|\\.)+)/(?=[\s)]|$))
    |(?P<quote>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|«[^»]*»|“[^”]*”|„[^“”]*[“”]|‘[^’]*’)
    |(?P<word>[^\s()=<>!~"'«“„‘]+)
    |(?P<wrong>\S))""",
    re.VERBOSE | re.DOTALL,
)
# Any other backslash stands for itself, for example in a path.
_ESCAPED = re.compile(r"\\([\"'\\])")
_IN_WORDS = {"and": "and", "or": "or", "not": "not", "и": "and", "или": "or", "не": "not"}


PATTERN_FLAGS = re.IGNORECASE
"""Case does not matter anywhere in an expression."""


@dataclass(frozen=True)
class Condition:
    text: str
    sql: str
    values: Mapping[str, object]
    patterns: Mapping[str, tuple[int, int]] = NOTHING
    """Its regular expressions → their positions in the text."""
    other_meanings: tuple[str, ...] = ()
    """Names in it that are also columns of the data, but mean something else without a prefix."""


class WrongCondition(SetupError):
    """Raised for an expression that cannot be read, with the position of the error."""

    def __init__(self, start: int, end: int, message: Message) -> None:
        super().__init__(
            Message("the filter, at character {place}: {message}", place=start + 1, message=message)
        )
        self.start, self.end, self.why = start, end, message


class _Token(NamedTuple):
    kind: Literal["sign", "quote", "word", "pattern", "end"]
    text: str
    start: int
    end: int

    @property
    def joins(self) -> str:
        """Return ``and``, ``or`` or ``not`` if the token is one of these, else an empty text."""
        return _IN_WORDS.get(self.text.casefold(), "") if self.kind == "word" else ""

    def wrong(self, message: Message) -> WrongCondition:
        return WrongCondition(self.start, self.end, message)


def read_condition(text: str, known: KnownColumns) -> Condition:
    """Translate an expression to SQL; raise a WrongCondition if it cannot be read."""
    if len(text) > LONGEST:
        raise WrongCondition(
            LONGEST, len(text), Message("the filter is longer than {most} characters", most=LONGEST)
        )
    reader = _Reader(list(_tokens(text)), known)
    sql = reader.either(0)
    remaining = reader.now
    if remaining.kind != "end":
        raise remaining.wrong(Message("expected and, or, or the end"))
    return Condition(
        text,
        sql,
        reader.binder.values,
        reader.patterns,
        tuple(dict.fromkeys(reader.other_meanings)),
    )


def is_condition(text: str, known: KnownColumns) -> bool:
    """Return True if a text is meant as an expression rather than as words to look for.

    It is one if it compares something, even wrongly, or joins names of columns. A name alone is a
    word, since many names are common words: ``(tie)`` is an expression, ``tie`` is not.
    """
    try:
        tokens = list(_tokens(text))
    except WrongCondition:  # such as a quotation mark without its counterpart
        return any(sign in text for sign in "=<>~")
    if any(token.kind == "sign" and token.text not in "()" for token in tokens):
        return True
    if len(tokens) < 3:  # one word, and the end
        return False
    try:
        # names are not looked for in all rows: most texts are words
        read_condition(text, replace(known, find_fields=tuple, find_columns=tuple))
    except WrongCondition:
        return False
    return True


def _tokens(text: str) -> Iterator[_Token]:
    end = 0
    for match in _TOKEN.finditer(text):
        kind, start, end = match.lastgroup, match.start(match.lastgroup or 0), match.end()
        if kind == "wrong":
            raise WrongCondition(
                start, end, Message("{sign!r} does not belong here", sign=match["wrong"])
            )
        if kind == "quote":
            yield _Token("quote", _ESCAPED.sub(r"\1", match["quote"][1:-1]), start, end)
        elif kind == "pattern":
            yield _Token("pattern", match["pattern"][1:-1], start, end)
        else:
            yield _Token("sign" if kind == "sign" else "word", match[kind or 0], start, end)
    yield _Token("end", "", len(text), len(text))


class _Reader:
    """A recursive-descent parser over the tokens."""

    def __init__(self, tokens: list[_Token], known: KnownColumns) -> None:
        self._tokens, self._known, self._at, self._tests = tokens, known, 0, 0
        self.binder = Binder("w")
        self.patterns: dict[str, tuple[int, int]] = {}
        self.other_meanings: list[str] = []

    @property
    def now(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self.now
        self._at += token.kind != "end"
        return token

    def either(self, depth: int) -> str:
        return self._join_parts("or", lambda: self._both(depth))

    def _both(self, depth: int) -> str:
        return self._join_parts("and", lambda: self._not(depth))

    def _join_parts(self, word: str, read: Callable[[], str]) -> str:
        parts = [read()]
        while self.now.joins == word:
            self._take()
            parts.append(read())
        return f"({f' {word.upper()} '.join(parts)})"

    def _not(self, depth: int) -> str:
        if depth > _DEEPEST:
            raise self.now.wrong(
                Message("the filter has more than {most} levels of parentheses", most=_DEEPEST)
            )
        if self.now.joins == "not":
            self._take()
            return f"NOT {self._not(depth + 1)}"
        if (self.now.kind, self.now.text) == ("sign", "("):
            begins = self._take()
            inner = self.either(depth + 1)
            if (self.now.kind, self.now.text) != ("sign", ")"):
                raise begins.wrong(Message("this parenthesis is not closed"))
            self._take()
            return inner
        return self._test()

    def _test(self) -> str:
        name = self._take()
        self._tests += 1
        if self._tests > _MOST_TESTS:
            raise name.wrong(
                Message("the filter has more than {most} conditions", most=_MOST_TESTS)
            )
        if name.kind not in ("word", "quote") or name.joins:
            raise name.wrong(Message("expected the name of a column"))
        name, column = self._column(name)
        if column is None:
            raise name.wrong(self._no_column(name.text))
        if self._known.means_other(name.text):
            self.other_meanings.append(name.text)
        if self.now.kind != "sign" or self.now.text in "()":
            return self._bare(name, column)
        sign = self._take()
        value = self._take()
        if value.kind not in ("word", "quote", "pattern"):
            raise value.wrong(Message("expected a value after {sign}", sign=sign.text))
        if value.kind == "pattern" and sign.text not in ("~", "!~"):
            raise value.wrong(Message("a regular expression can only follow ~ or !~"))
        return self._comparison(name, column, sign, value)

    def _no_column(self, name: str) -> Message:
        names = written_names(self._known)
        # the spellings that a user may have meant, with and without prefix
        hint = nearest(name, names)
        known = ", ".join(names)
        if hint.startswith("did"):
            return Message(
                "there is no column named {name!r}; {hint} The columns are {known}",
                name=name,
                hint=hint,
                known=known,
            )
        return Message(
            "there is no column named {name!r}; the columns are {known}", name=name, known=known
        )

    def _column(self, name: _Token) -> tuple[_Token, Column | None]:
        """Return the column of a name, in its stored spelling; if the first rows do not have it,
        search all rows.
        """
        spelled = self._known.spelling_of(name.text)
        column = resolve_column(spelled, self._known, self.binder)
        if column is None:
            self._known = self._known.with_every_field()
            spelled = self._known.spelling_of(name.text)
            column = resolve_column(spelled, self._known, self.binder)
        return name._replace(text=spelled), column

    def _bare(self, name: _Token, column: Column) -> str:
        if name.text == WORDS:
            raise name.wrong(Message("expected ~ and words after text"))
        if column.kind == "yes":
            return f"coalesce(({column.sql}) <> 0, 0)"
        if column.texts:
            return _fits(column, "'!='", "''")
        if column.is_data:
            return f"{HAS_VALUE}({column.sql})"
        return f"coalesce({column.sql}, '') <> ''"

    def _comparison(self, name: _Token, column: Column, sign: _Token, value: _Token) -> str:
        if column.kind == "yes":
            raise sign.wrong(
                Message(
                    "{name} is a yes-or-no column: write only {name} or not {name}", name=name.text
                ),
            )
        if sign.text in ("~", "!~"):
            comparison = self._contains(column, value)
        elif sign.text == "==" and column.kind != "number" and name.text != WORDS:
            comparison = self._same(column, value)
        elif name.text == WORDS:
            raise sign.wrong(Message("expected ~ and words after text"))
        elif sign.text in ("=", "==", "!="):
            comparison = self._equals(column, value)
        else:
            comparison = self._beyond(column, sign.text, value)
        return f"{'NOT ' if sign.text.startswith('!') else ''}coalesce({comparison}, 0)"

    def _contains(self, column: Column, value: _Token) -> str:
        if value.kind == "pattern":
            return self._matches(column, value)
        if value.kind == "word" and value.text.startswith("/") and "/" in value.text[1:]:
            raise value.wrong(
                Message(
                    "write a regular expression as /…/, with \\/ for a slash in it; put words "
                    "with slashes in quotation marks"
                )
            )
        words = self.binder.bind(value.text.casefold())
        if column.texts:
            return _fits(column, "'~'", words)
        return f"instr({CASEFOLD}({column.sql}), {words}) > 0"

    def _matches(self, column: Column, value: _Token) -> str:
        try:
            check_pattern(value.text, PATTERN_FLAGS)
        except WrongPattern as error:
            at = min(value.start + 1 + error.at, value.end - 1)
            raise WrongCondition(at, value.end, error.message) from error
        except CannotMatch as error:
            raise value.wrong(cannot_tell(error)) from error
        self.patterns[value.text] = value.start, value.end
        return f"{MATCHES}({self.binder.bind(value.text)}, {column.texts or column.sql})"

    def _equals(self, column: Column, value: _Token) -> str:
        same = self._beyond(column, "=", value._replace(kind="quote"))
        if column.kind == "number" or value.kind != "word" or read_number(value.text) is None:
            return same
        return f"({same} OR {self._beyond(column, '=', value)})"

    def _same(self, column: Column, value: _Token) -> str:
        """Compare texts as slices do: as they are written, without surrounding whitespace."""
        text = self.binder.bind(value.text.strip())
        if column.texts:
            return _fits(column, "'=='", text)
        return f"{STRIPPED}({column.sql}) = {text}"

    def _beyond(self, column: Column, sign: str, value: _Token) -> str:
        if column.kind == "number":
            return f"{column.sql} {sign} {self.binder.bind(self._number(value))}"
        is_number = value.kind == "word" and read_number(value.text) is not None
        text = value.text.strip() if sign == "=" else value.text  # as "==", which is stricter
        bound = self.binder.bind(self._number(value) if is_number else text.casefold())
        if column.texts:
            return _fits(column, f"'{sign}'", bound)
        if is_number:
            return f"{AS_NUMBER}({column.sql}) {sign} {bound}"
        stripped = f"{STRIPPED}({column.sql})" if sign == "=" else column.sql
        return f"{CASEFOLD}({stripped}) {sign} {bound}"

    def _number(self, value: _Token) -> float:
        number = read_number(value.text)
        if number is None:
            raise value.wrong(_no_number(value.text))
        return number


def cannot_tell(error: CannotMatch) -> Message:
    return Message("the matching rows are unknown: {why}", why=error.message)


def _no_number(text: str) -> Message:
    if THOUSANDS.fullmatch(text):
        return Message(
            "{text} is ambiguous: write {thousands} or {point}",
            text=text,
            thousands=text.replace(",", ""),
            point=text.replace(",", "."),
        )
    return Message("expected a number, not {text!r}", text=text)


def _fits(column: Column, sign: str, value: str) -> str:
    """Return the SQL that compares the texts of a column to a value."""
    return f"coalesce({TEXT_FITS}({sign}, {value}, {column.texts}), 0)"


def written_names(known: KnownColumns) -> list[str]:
    """Return all names that a condition may use, quoted if they are not a single word."""
    return [written_name(name) for name in known.names()]


def written_name(name: str) -> str:
    """Return a name as an expression needs it: in quotation marks if it is not a single word."""
    match = _TOKEN.fullmatch(name)
    is_word = match and match["word"] and name.casefold() not in _IN_WORDS
    return name if is_word else quoted(name)


def quoted(text: str) -> str:
    """Return a text in quotation marks, as a value of an expression."""
    return '"{}"'.format(re.sub(r'(["\\])', r"\\\1", text))


def equals(name: str, value: str) -> str:
    """Return the expression for rows with exactly this value, so that "Mail" is not "mail";
    ``name`` is spelled for users.
    """
    return f"{written_name(name)} == {quoted(value)}"
