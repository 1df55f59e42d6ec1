"""Texts graded by what a rule can tell: code, languages, sums, formats, emails."""

from __future__ import annotations

import random
import re

from training.kinds.base import Draw, Language, Made
from training.kinds.facts import Fact, Thing, some, thing
from training.kinds.forms import FORMS, base_text, scrambled, typos
from training.kinds.graded import said
from training.texts import bank


def code(draw: Draw, level: int) -> Made | None:
    """2 solves the task, 1 is spoilt in one place, 0 solves another task or does not run."""
    tasks = draw.world.of(draw.fresh).code
    task, other = draw.rng.sample(tasks, 2)
    made = (
        task.response
        if level == 2
        else _mutated(draw.rng, task.response)
        if level == 1
        else other.response
    )
    if level == 0 and draw.rng.random() < 0.25:
        made = "\n".join(task.response.splitlines()[: max(1, len(task.response.splitlines()) // 2)])
    return (
        None
        if level == 1 and made == task.response
        else Made({"user_input": task.request, "response": made}, "mbpp")
    )


_MUTATIONS = (
    (r"\+ ", "- "),
    (r" < ", " > "),
    (r" == ", " != "),
    (r"return ", "return not "),
    (r" and ", " or "),
    (r"\+ 1", "+ 2"),
    (r"range\(", "range(1 + "),
)


def _mutated(rng: random.Random, text: str) -> str:
    fitting = [pair for pair in _MUTATIONS if re.search(pair[0], text)]
    pattern, by = rng.choice(fitting) if fitting else ("x", "x")
    return re.sub(pattern, by, text, count=1)


def cryptic(draw: Draw, level: int) -> Made | None:
    """2 readable code, 0 with names and layout spoilt."""
    task = draw.rng.choice(draw.world.of(draw.fresh).code)
    if level == 2:
        return Made({"response": task.response}, "mbpp")
    names = dict.fromkeys(re.findall(r"\b[a-z_]{4,}\b", task.response))
    text = task.response
    for place, name in enumerate(name for name in names if name not in _KEYWORDS):
        text = re.sub(rf"\b{name}\b", f"{'qxzvkjw'[place % 7]}{place}", text)
    return (
        Made({"response": re.sub(r" *([=+<>,*-]+) *", r"\1", text)}, "mbpp") if level == 0 else None
    )


_KEYWORDS = frozenset(
    [
        "return",
        "else",
        "elif",
        "while",
        "from",
        "import",
        "range",
        "print",
        "for",
        "in",
        "if",
        "def",
        "len",
        "max",
        "min",
        "sum",
        "sorted",
        "list",
        "dict",
        "True",
        "False",
        "None",
        "and",
        "or",
        "not",
    ]
)


def other_language(draw: Draw, level: int) -> Made | None:
    """2: the answer is in the language of the question, 0: in another, 1: half of it."""
    languages: tuple[Language, Language] = ("en", "ru") if draw.rng.random() < 0.5 else ("ru", "en")
    mine, theirs = (_in(draw, one) for one in languages)
    found, other = thing(mine), thing(theirs)
    fact, strange = draw.rng.choice(found.facts), draw.rng.choice(other.facts)
    answer = {
        2: found.tell(fact, 0),
        1: f"{found.tell(fact, 0)} {other.tell(strange, 1)}",
        0: other.tell(strange, 0),
    }[level]
    return Made({"user_input": found.ask(fact), "response": answer})


def _in(draw: Draw, language: Language) -> Draw:
    return Draw(draw.world, draw.rng, language, draw.fresh)


def translation(draw: Draw, level: int) -> Made | None:
    """2 means the same, 1 with a changed detail, 0 means something else.

    Only facts with numbers are alike in both languages.
    """
    found = thing(_in(draw, "en"))
    numeric = [
        fact
        for fact in found.facts
        if isinstance(fact.values, str) and fact.values in ("n", "big", "days", "months", "small")
    ]
    numeric += [fact for fact in found.facts if isinstance(fact.values, list)]
    if len(numeric) < 2:
        return None
    first, second = draw.rng.sample(numeric, 2)
    way, forth = 1, draw.rng.random() < 0.5
    values = {fact.name: _both(draw, fact, found) for fact in (first, second)}
    source = " ".join(found.tell(fact, way, values[fact.name][0]) for fact in (first, second))
    russian = Thing(found.sort, found.name, "ru", found.facts, {})
    told = [russian.tell(fact, way, values[fact.name][1]) for fact in (first, second)]
    if level == 1:
        told[1] = russian.tell(
            second, way, second.value(draw.rng, "ru", not_=values[second.name][1])
        )
    if level == 0:
        other = thing(_in(draw, "ru"), not_=found.sort)
        told = [other.tell(fact, way) for fact in some(draw, other, 2)]
    target = " ".join(told)
    return Made(
        {"source": source, "response": target} if forth else {"source": target, "response": source}
    )


def _both(draw: Draw, fact: Fact, found: Thing) -> tuple[str, str]:
    if isinstance(fact.values, list):
        english, russian = str(draw.rng.choice(fact.values)).split(" / ")
        return english, russian
    return found.values[fact.name], found.values[fact.name]


def arithmetic(draw: Draw, level: int) -> Made | None:
    """2 the right result, 0 a wrong one."""
    rng = draw.rng
    a, b = rng.randrange(2, 60), rng.randrange(2, 30)
    sign, right = rng.choice((("+", a + b), ("-", a - b), ("*", a * b)))
    shown = right if level else right + rng.choice((-10, -3, -2, -1, 1, 2, 5, 10))
    asked = f"{a} {sign} {b}"
    en = (
        f"What is {asked}?",
        f"{asked} = {shown}",
        f"The answer is {shown}.",
        f"The result is {shown}.",
    )
    ru = (
        f"Сколько будет {asked}?",
        f"{asked} = {shown}",
        f"Ответ: {shown}.",
        f"Получится {shown}.",
    )
    question, *answers = en if draw.language == "en" else ru
    return (
        Made({"user_input": question, "reference": str(right), "response": rng.choice(answers)})
        if level != 1
        else None
    )


def format_asked(draw: Draw, level: int) -> Made | None:
    """2 has the format that was asked for, 0 has another."""
    names = {
        "json": ("Answer in JSON.", "Ответь в JSON."),
        "bullet_list": ("Answer as a bulleted list.", "Ответь маркированным списком."),
        "numbered_list": ("Give me a numbered list.", "Дай нумерованный список."),
        "table": ("Put it in a table.", "Сделай таблицу."),
        "heading": ("Begin with a heading.", "Начни с заголовка."),
        "lower_case": ("Write in lower case only.", "Пиши только строчными."),
        "code_block": ("Include a code example.", "Приведи пример кода."),
        "emoji": ("Use an emoji.", "Добавь эмодзи."),
    }
    wanted = draw.rng.choice(list(names))
    shown = wanted if level == 2 else draw.rng.choice([name for name in names if name != wanted])
    text = FORMS[shown].add(draw.rng, base_text(draw))
    if level == 1 or FORMS[wanted].check(text) != (level == 2):
        return None
    found = thing(draw)
    return Made(
        {
            "user_input": (
                f"{found.ask(draw.rng.choice(found.facts))} {names[wanted][draw.language == 'ru']}"
            ),
            "response": text,
        }
    )


def email(draw: Draw, level: int) -> Made | None:
    """2 can be sent, 1 lacks something, 0 has to be written anew."""
    en = draw.language == "en"
    name = draw.rng.choice(bank("slots")["surname"])
    subject, hello, bye = (
        ("Subject: Meeting on Monday", f"Dear Ms {name},", "Kind regards,\nA. Keller")
        if en
        else ("Тема: встреча в понедельник", "Здравствуйте,", "С уважением,\nА. Петрова")
    )
    body = said(draw, "request_made", "deadline", "announcement", "invitation")
    if level == 2:
        text = f"{subject}\n\n{hello}\n{body}\n{bye}"
    elif level == 1:
        text = draw.rng.choice((f"{hello}\n{typos(draw.rng, body, 0.2)}\n{bye}", f"{body}\n{bye}"))
    else:
        text = draw.rng.choice((said(draw, "rude", "casual", "insult"), scrambled(draw.rng, body)))
    return Made({"response": text})
