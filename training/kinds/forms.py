"""Kinds that a rule can check: format, length, language, mistakes."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from adjudge.core.domain.criteria import Criteria, CriteriaOption, yes_no_criteria
from training.kinds.bank import plain, tags
from training.kinds.base import Case, Draw, Kind, Language, Made, Phrases, Role, yes_no
from training.texts import bank, joined, sentences

_CHANGED = "\u2060"
"""Marks texts that were spoilt, until they are handed out."""
Change = Callable[[random.Random, str], str]
Check = Callable[[str], bool]


@dataclass(frozen=True)
class Form:
    """A property of a text: how to see it, to bring it about and to take it away."""

    check: Check
    add: Change
    remove: Change = lambda _, text: text
    role: Role = "train"
    any_language: bool = False
    """Whether the text may be in another language than the question."""


def kinds() -> Iterator[Kind]:
    """All of them, and those with a number or a word in the question."""
    for name, form in FORMS.items():
        yield yes_no(name, Phrases(**bank("forms")[name]), partial(_texts, form), role=form.role)
    for name, make in (
        ("word", _word),
        ("at_most_words", _at_most),
        ("more_than_words", _more_than),
        ("begins", _begins),
    ):
        yield Kind(name, make, weight=1.5)
    yield Kind("how_many_sentences", _how_many, weight=1)


def base_text(draw: Draw) -> str:
    """Any text: real or of the banks."""
    if draw.language == "en" and draw.rng.random() < 0.45:
        records = draw.world.of(draw.fresh)
        pair = draw.rng.choice(draw.rng.choice((records.pairs, records.pairs, records.refusals)))
        return " ".join(sentences(pair.response)[: draw.rng.choice((1, 2, 3, 4))])
    parts = []
    for _ in range(draw.rng.choice((1, 2, 2, 3, 4))):
        tag = draw.rng.choice(list(tags().values()))
        parts.append(
            tag.sentence(draw, draw.language)
            if draw.rng.random() < 0.75
            else plain(draw, draw.language)
        )
    return joined(draw.rng, parts)


def _texts(form: Form, draw: Draw, holds: bool) -> Made | None:
    for _ in range(12):
        language: Language = draw.rng.choice(("en", "ru")) if form.any_language else draw.language
        text = base_text(replace(draw, language=language))
        if form.check(text) != holds:
            text = (form.add if holds else form.remove)(draw.rng, text)
        if text.strip() and form.check(text) == holds:
            return Made(
                {"response": text.replace(_CHANGED, "")},
                "real+bank" if draw.language == "en" else "bank",
            )
    return None


# -- changes -------------------------------------------------------------------


def _append(*ends: str) -> Change:
    return lambda rng, text: f"{text} {rng.choice(ends)}"


def _without(pattern: str) -> Change:
    return lambda _, text: re.sub(pattern, "", text)


def _listed(mark: str, text: str) -> str:
    """A line a sentence, each behind a mark; {} in it is the line's number."""
    parts = sentences(text)
    if len(parts) < 2:
        parts += (
            ["Second point.", "Third point."]
            if text.isascii()
            else ["Второй пункт.", "Третий пункт."]
        )
    return "\n".join(f"{mark.format(place)} {part}" for place, part in enumerate(parts, 1))


def _as_json(rng: random.Random, text: str) -> str:
    key = rng.choice(("answer", "text", "result", "title"))
    more = rng.choice(({"id": rng.randrange(99)}, {"ok": True}, {"tags": ["a", "b"]}, {}))
    return json.dumps({key: " ".join(text.split()[:14]), **more}, ensure_ascii=False)


def _near_json(rng: random.Random, text: str) -> str:
    return rng.choice(
        (text, f"answer: {' '.join(text.split()[:14])}", "{" + " ".join(text.split()[:12]))
    )


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _table(rng: random.Random, text: str) -> str:
    words = re.findall(r"\w+", text)[:6] or ["a", "b"]
    rows = "\n".join(f"| {word} | {rng.randrange(100)} |" for word in words)
    return f"| Name | Value |\n|---|---|\n{rows}"


def _heading(rng: random.Random, text: str) -> str:
    title = " ".join(text.split()[:3]).strip(".,!?")
    return f"{rng.choice(('#', '##', '###'))} {title}\n\n{text}"


def _bold(rng: random.Random, text: str) -> str:
    words = text.split()
    place = rng.randrange(len(words))
    words[place] = f"**{words[place]}**"
    return " ".join(words)


def _code(rng: random.Random, text: str) -> str:
    body = rng.choice(
        (
            "print(total)",
            "x = x + 1",
            "for i in range(3):\n    print(i)",
            "return a * b",
            "SELECT name FROM users;",
        )
    )
    return f"{text}\n```\n{body}\n```"


def typos(rng: random.Random, text: str, share: float = 0.35) -> str:
    """Letters exchanged or dropped in some of the words."""
    return " ".join(
        _typo(rng, word) if len(word) > 3 and rng.random() < share else word
        for word in text.split()
    )


def _typo(rng: random.Random, word: str) -> str:
    place = rng.randrange(1, len(word) - 2)
    if rng.random() < 0.5:
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return word[:place] + word[place + 1 :]


def scrambled(rng: random.Random, text: str) -> str:
    """The words in any order."""
    words = text.rstrip(".!?").lower().split()
    return " ".join(rng.sample(words, len(words))) + "."


def _shouted(rng: random.Random, text: str) -> str:
    words = text.split()
    for place in rng.sample(range(len(words)), max(1, len(words) // 4)):
        words[place] = words[place].upper()
    return " ".join(words) if any(len(word) > 2 for word in words) else text


def _cut_off(rng: random.Random, text: str) -> str:
    words = text.split()
    keep = rng.randrange(max(2, len(words) // 2), max(3, len(words)))
    return " ".join(words[:keep]).rstrip('.!?,;:"»')


def _repeated(rng: random.Random, text: str) -> str:
    parts = sentences(text)
    parts.insert(rng.randrange(len(parts) + 1), rng.choice(parts))
    return " ".join(parts)


def _mixed(rng: random.Random, text: str) -> str:
    other = (
        ("Это написано по-русски.", "Погода сегодня хорошая.")
        if text.isascii()
        else ("This part is English.", "The weather is fine.")
    )
    return joined(rng, [text, rng.choice(other)])


def _latin(text: str) -> bool:
    return bool(re.search("[a-z]{3}", text.lower()))


def _cyrillic(text: str) -> bool:
    return bool(re.search("[а-я]{3}", text.lower()))


def _upper_word(text: str) -> bool:
    return bool(re.search(r"\b[A-ZА-ЯЁ]{3,}\b", text))


_MARKS = ("•", "-", "*")
_EMOJI = re.compile("[\U0001f300-\U0001faff☀-➿]")
_DATE = re.compile(
    r"\b\d{1,2} (January|February|March|April|May|June|July|August|September|October"
    r"|November|December)"
    r"|\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{2,4}"
    r"|\d{1,2} (января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря)"
)


def _dated(rng: random.Random, text: str) -> str:
    day, year = rng.randrange(1, 29), rng.randrange(1950, 2027)
    if _cyrillic(text):
        month = rng.choice(["января", "марта", "мая", "июня", "августа", "октября"])
        return joined(
            rng,
            [
                text,
                rng.choice(
                    (
                        f"Это было {day} {month} {year} года.",
                        f"Дата: {day}.0{rng.randrange(1, 9)}.{year}.",
                    )
                ),
            ],
        )
    month = rng.choice(["January", "March", "May", "June", "August", "October"])
    told = (
        f"It was written on {day} {month} {year}.",
        f"Date: {year}-0{rng.randrange(1, 9)}-{day:02}.",
        f"They met on {day} {month}.",
    )
    return joined(rng, [text, rng.choice(told)])


FORMS = {
    "has_digit": Form(
        lambda t: bool(re.search(r"\d", t)),
        _append("There are 14 of them.", "Room 27.", "(3 items)"),
        _without(r"\S*\d\S*"),
    ),
    "has_date": Form(lambda t: bool(_DATE.search(t)), _dated),
    "has_year": Form(
        lambda t: bool(re.search(r"\b(1[5-9]|20)\d\d\b", t)),
        _append("It began in 1987.", "(2019)", "In 1742 it was sold."),
    ),
    "ends_with_question": Form(
        lambda t: t.rstrip().endswith("?"),
        _append("What do you say?", "Or is it?", "А вы как думаете?"),
    ),
    "bullet_list": Form(
        lambda t: len(re.findall(r"(?m)^\s*[-*•] ", t)) > 1,
        lambda r, t: _listed(r.choice(_MARKS), t),
    ),
    "numbered_list": Form(
        lambda t: len(re.findall(r"(?m)^\s*\d+[.)] ", t)) > 1,
        lambda r, t: _listed(f"{{}}{r.choice('.)')}", t),
    ),
    "heading": Form(lambda t: bool(re.search(r"(?m)^#+ ", t)), _heading),
    "table": Form(lambda t: "|---" in t, _table),
    "bold": Form(lambda t: bool(re.search(r"\*\*.+?\*\*", t)), _bold),
    "code_block": Form(lambda t: "```" in t, _code),
    "json": Form(_is_json, _as_json, _near_json),
    "quotes": Form(
        lambda t: bool(re.search('["“«]', t)),
        lambda r, t: joined(
            r,
            [
                t,
                r.choice(
                    (
                        'They call it "the nest".',
                        'The sign said "closed".',
                        "На двери надпись «закрыто».",
                    )
                ),
            ],
        ),
    ),
    "emoji": Form(lambda t: bool(_EMOJI.search(t)), _append("🙂", "🎉", "👍", "🌧️")),
    "upper_word": Form(_upper_word, _shouted),
    "lower_case": Form(lambda t: t == t.lower(), lambda _, t: t.lower()),
    "several_paragraphs": Form(
        lambda t: "\n\n" in t,
        lambda _, t: (
            t.replace(". ", ".\n\n", 1) if ". " in t else f"{t}\n\n{t[:1].upper() + t[1:]}"
        ),
    ),
    "complete_end": Form(
        lambda t: t.rstrip()[-1:] in '.!?»")', lambda _, t: t.rstrip(",;:") + ".", _cut_off
    ),
    "truncated": Form(lambda t: t.rstrip()[-1:].isalnum() and len(t.split()) > 2, _cut_off),
    "typo": Form(lambda t: _CHANGED in t, lambda r, t: _CHANGED + typos(r, t)),
    "repetition": Form(lambda t: len(set(sentences(t))) < len(sentences(t)), _repeated),
    "english": Form(lambda t: _latin(t) and not _cyrillic(t), lambda _, t: t, any_language=True),
    "russian": Form(lambda t: _cyrillic(t) and not _latin(t), lambda _, t: t, any_language=True),
    "mixed_languages": Form(lambda t: _latin(t) and _cyrillic(t), _mixed),
    "gibberish": Form(lambda t: _CHANGED in t, lambda r, t: _CHANGED + scrambled(r, t)),
    "readable": Form(
        lambda t: _CHANGED not in t, lambda _, t: t, lambda r, t: _CHANGED + scrambled(r, t)
    ),
    "several_sentences": Form(
        lambda t: len(sentences(t)) > 1,
        _append("That is all.", "It was so.", "Это всё."),
        lambda _, t: sentences(t)[0],
    ),
    "colon": Form(
        lambda t: ":" in t,
        lambda r, t: f"{r.choice(('Note', 'Answer', 'Ответ'))}: {t}",
        _without(":"),
    ),
    "percent": Form(lambda t: "%" in t, _append("That is 12 % more.", "(about 40%)", "Это 7 %.")),
    "ellipsis": Form(
        lambda t: "..." in t or "…" in t,
        lambda _, t: t.rstrip(".") + "...",
        lambda _, t: t.replace("...", "."),
    ),
    "exclamation": Form(
        lambda t: "!" in t,
        _append("Wow!", "Yes!", "Да!"),
        lambda _, t: t.replace("!", "."),
        role="held_out",
    ),
    "brackets": Form(
        lambda t: "(" in t,
        lambda r, t: joined(
            r, [t, r.choice(("(See below.)", "It is new (and green).", "(Это важно.)"))]
        ),
        role="held_out",
    ),
    "one_word": Form(
        lambda t: len(t.split()) == 1, lambda _, t: max(t.split(), key=len), role="held_out"
    ),
}


# -- with a number or a word in the question -------------------------------------


def _asked(draw: Draw, en: tuple[str, ...], ru: tuple[str, ...], **values: object) -> str:
    return draw.rng.choice(en if draw.language == "en" else ru).format(**values)


def _answer(question: str, text: str, right: bool) -> Case:
    return Case(
        yes_no_criteria(question), {"response": text}, "Yes" if right else "No", "real+bank"
    )


def _word(draw: Draw) -> Case | None:
    text, other = base_text(draw), base_text(draw)
    holds = draw.rng.random() < 0.5
    words = [
        word
        for word in re.findall(r"\w{4,}", text if holds else other)
        if holds or word.lower() not in text.lower()
    ]
    if not words:
        return None
    asked = _asked(
        draw,
        (
            'Does the text contain the word "{w}"?',
            'The text contains the word "{w}".',
            'The word "{w}" occurs in the response.',
            'The text mentions "{w}".',
            "Does the response mention {w}?",
        ),
        (
            "Встречается ли в тексте слово «{w}»?",
            "В тексте есть слово «{w}».",
            "Текст упоминает «{w}».",
        ),
        w=draw.rng.choice(words),
    )
    return _answer(asked, text, holds)


def _at_most(draw: Draw) -> Case | None:
    text = base_text(draw)
    count, limit = len(text.split()), draw.rng.choice((5, 10, 15, 20, 30, 50))
    if 0.6 < count / limit < 1.5:
        return None
    asked = _asked(
        draw,
        (
            "The text has at most {n} words.",
            "Is the text no longer than {n} words?",
            "The response stays within {n} words.",
        ),
        ("В тексте не больше {n} слов.", "Уложился ли ответ в {n} слов?"),
        n=limit,
    )
    return _answer(asked, text, count <= limit)


def _more_than(draw: Draw) -> Case | None:
    text = base_text(draw)
    count, limit = len(text.split()), draw.rng.choice((5, 10, 15, 20, 30, 50))
    if 0.6 < count / limit < 1.5:
        return None
    asked = _asked(
        draw,
        (
            "The text has more than {n} words.",
            "Is the text longer than {n} words?",
            "Does the answer use over {n} words?",
        ),
        ("В тексте больше {n} слов.", "Длиннее ли текст {n} слов?"),
        n=limit,
    )
    return _answer(asked, text, count > limit)


def _begins(draw: Draw) -> Case | None:
    text, other = base_text(draw), base_text(draw)
    holds = draw.rng.random() < 0.5
    word = (text if holds else other).split()[0].strip('.,!?:"')
    if not word or (not holds and text.startswith(word)):
        return None
    asked = _asked(
        draw,
        ('The text begins with "{w}".', 'Does the response start with the word "{w}"?'),
        ("Текст начинается со слова «{w}».", "Начинается ли ответ со слова «{w}»?"),
        w=word,
    )
    return _answer(asked, text, holds)


def _how_many(draw: Draw) -> Case | None:
    text = base_text(draw)
    count = len(sentences(text))
    if count > 4:
        return None
    asked = _asked(
        draw,
        ("How many sentences does the text have?", "Count the sentences of the text."),
        ("Сколько в тексте предложений?",),
    )
    return Case(
        Criteria("count", asked, [CriteriaOption(str(n)) for n in range(1, 5)]),
        {"response": text},
        str(count),
        "real+bank",
    )
