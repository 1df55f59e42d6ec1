"""Ballot → Prompt: what is the same for many ballots first, evaluated text last, so that prefix
caches work.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from pathlib import Path
from secrets import token_hex

import jinja2

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import text_hash
from adjudge.core.domain.instance import STEPS, Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import ChatMessage, Prompt, Role
from adjudge.core.domain.question import Comparison, Question, Rating
from adjudge.core.domain.verdict import TIE
from adjudge.core.domain.vote import Ballot
from adjudge.core.prompts.fence import fence, fence_steps, neutral, unfenced
from adjudge.errors import SetupError
from adjudge.messages import render as localized

LIKELIHOOD = "likelihood"
"""How the names of the templates begin that are read by log-probability; their wording counts as
one.
"""
TEXT_FIRST = "text_first"
"""The template of questions read by log-probability that stand behind the text, so that all
questions about one text share it; also how the names of its files begin.
"""
CHECK = "check"
"""The template of questions about one fragment or one sentence of a row."""
CHECK_JOINT = "check_joint"
"""The same about several at once."""
CHECK_LISTS = "check_lists"
"""Several such questions in one call, each about a list of its own."""
CHECKED_TOGETHER = (CHECK_JOINT, "repair_each", CHECK_LISTS, "repair_lists")
"""What is worded for calls about several parts."""
SANDWICH = "+sandwich"
"""How the name of a ballot's template ends when the task is said once more behind the material."""
ABOUT_STEPS = ("agent", "repair_steps", "agent_checklist", "agent_points", "repair_points")
"""What is worded for questions about the steps of an agent."""
DECISIONS = ("decision",)
"""What is worded for decision models, whose identity holds the version of these words."""
CHATS = ("chat_user",)
"""Prompts of models that are no judges: each is recorded by whoever asks them."""
ABOUT_POINTS = (
    "rubric_point",
    "rubric_points",
    "repair_rubric",
    "repair_rubric_point",
    "rubric_proposal",
    "repair_proposal",
)
"""What is worded for questions about the points of a rubric."""
LANGUAGES = ("en", "ru")
_ABOUT_SENTENCES = tuple(
    f"{name}.jinja"
    for name in (
        "claims",
        "evidence",
        "evidence_joint",
        "repair_claims",
        "repair_evidence",
        "repair_sentences",
    )
)
_SECTION = re.compile(r"^--- (system|user|assistant)\n", re.MULTILINE)
_ENVIRONMENT = jinja2.Environment(
    undefined=jinja2.StrictUndefined,
    # prompts are no HTML; evaluated text is fenced before it comes here
    autoescape=False,  # noqa: S701
    trim_blocks=True,
    lstrip_blocks=True,
)


@light_dataclass(frozen=True)
class Template:
    """One template file, compiled."""

    name: str
    variables: frozenset[str]
    sections: tuple[tuple[Role, jinja2.Template], ...]

    def render(self, role: Role, values: Mapping[str, object]) -> str:
        """The section for ``role``. A value that was not given stops here, before any call."""
        missing = self.variables - values.keys()
        if missing:
            raise SetupError(
                "template {name!r} needs {missing}",
                name=self.name,
                missing=", ".join(sorted(missing)),
            )
        template = next(template for section, template in self.sections if section == role)
        return template.render(values).strip()

    def messages(self, values: Mapping[str, object]) -> tuple[ChatMessage, ...]:
        """All sections, in the order of the file."""
        return tuple(ChatMessage(role, self.render(role, values)) for role, _ in self.sections)


@cache
def load(name: str, language: str) -> Template:
    """The template ``name`` in ``language``."""
    check_language(language)
    path = Path(__file__).parent / "templates" / language / f"{name}.jinja"
    if not path.is_file():
        raise SetupError(
            "no template {name!r} for language {language!r}", name=name, language=language
        )
    head, *parts = _SECTION.split(path.read_text(encoding="utf-8"))
    names = re.findall(r"\w+", head.partition("variables:")[2])
    sections = [
        (role, _ENVIRONMENT.from_string(text))
        for role, text in zip(parts[::2], parts[1::2], strict=True)
    ]
    # the pattern admits roles only
    return Template(name, frozenset(names), tuple(sections))  # type: ignore[arg-type]


@cache
def wording(prefix: str, language: str) -> str:
    """The SHA-256 of the template files whose names begin with ``prefix``: what is asked changes
    when their words do.
    """
    prefixes = tuple(prefix.replace("+", ".jinja+").split("+"))
    found = {name: file for name, file in _templates(language).items() if name.startswith(prefixes)}
    return text_hash(*((name, file.read_text(encoding="utf-8")) for name, file in found.items()))


@cache
def _templates(language: str) -> Mapping[str, Path]:
    """The files by their names, sorted."""
    folder = Path(__file__).parent / "templates" / language
    return {file.name: file for file in sorted(folder.iterdir(), key=lambda file: file.name)}


def wordings(language: str) -> dict[str, str]:
    """The wording of every template, for a run's provenance; those about parts of a row only where
    these are asked about.
    """
    unasked = (
        *_ABOUT_SENTENCES,
        *(
            f"{name}.jinja"
            for name in (
                *(CHECK, *CHECKED_TOGETHER, "standalone", "sandwich", *ABOUT_STEPS, *ABOUT_POINTS),
                *DECISIONS,
                *CHATS,
            )
        ),
    )
    names = [
        name
        for name in _templates(language)
        if name not in unasked and not name.startswith(TEXT_FIRST)
    ]
    return {LIKELIHOOD: wording(LIKELIHOOD, language)} | {
        name: wording(name, language) for name in names
    }


def sentence_wordings(language: str) -> dict[str, str]:
    """The wording of the templates that ask about sentences."""
    return {name: wording(name, language) for name in _ABOUT_SENTENCES}


def check_language(language: str) -> None:
    """Say which languages there are when ``language`` is none of them."""
    if language not in LANGUAGES:
        raise SetupError(
            "language {language!r} is not one of {languages}",
            language=language,
            languages=", ".join(LANGUAGES),
        )


_PARTS = "\n\n"
"""Between one evaluated text and the next, as the templates join them."""
Shown = dict[str, str | Sequence[str]]
_CUT = "\x00"
"""Marks in a rendered template where the text that is shared ends; the criterion cannot hold it,
and texts come behind it.
"""


_GAP = f"\x00{token_hex(8)}\x00"
"""Stands in a rendered template for the evaluated text; no criterion can hold it, since nobody
knows it.
"""


_frames: dict[Hashable, tuple[ChatMessage, tuple[str, ...]]] = {}
_MOST_FRAMES = 1024


def render(ballot: Ballot) -> Prompt:
    """The question as the model gets it."""
    criteria = ballot.criteria
    asked = (
        ballot.template,
        ballot.language,
        criteria.identity,
        ballot.question,
        ballot.persona,
        ballot.feedback,
    )
    frame = _frames.get(asked)
    if frame is None:
        if len(_frames) >= _MOST_FRAMES:
            _frames.clear()
        frame = _frames[asked] = _frame(ballot)
    system, around = frame
    return Prompt((system, ChatMessage("user", _PARTS.join(_fenced(ballot)).join(around))))


def is_part(ballot: Ballot) -> bool:
    """Whether it is one of many questions about a row, each about a part of it."""
    return ballot.question.quoted or ballot.template == CHECK


def _fenced(ballot: Ballot) -> list[str]:
    """The evaluated texts. What is asked about every sentence of a row has marks of its own, so
    that all ballots of the row begin alike.
    """
    shown = shown_in(ballot)
    if ballot.question.cites:
        return fence_steps(shown, STEPS)
    if not is_part(ballot):
        return fence(shown)
    *_, last = shown
    judged = {last: shown.pop(last)}
    return fence(shown) + fence(judged)


def render_repair(ballot: Ballot, prompt: Prompt, reply: str, reason: str) -> Prompt:
    """The conversation so far and a turn that says what was wrong with the last reply, which may
    quote what it judges.
    """
    question, bounds = ballot.question, _bounds(ballot.question)
    asked = {
        "options": list(question.labels),
        "feedback": ballot.feedback,
        "ranking": question.asks_for_ranking,
        "places": list(question.places),
    }
    template = load("repair_number" if bounds else question.repair, ballot.language)
    (turn,) = template.messages(
        {
            "reason": neutral(localized(reason, ballot.language)),
            "bounds": bounds,
            "lists": _lists(question),
            **asked,
        }
    )
    return prompt.followed_by(ChatMessage("assistant", neutral(reply).strip() or "…"), turn)


def _lists(question: Question) -> list[dict[str, object]]:
    """The questions that are asked in one call, as templates show them."""
    return [
        {
            "field": field,
            "definition": one.definition,
            "rubric": [(option.name, option.description) for option in one.options],
        }
        for field, one in question.at_once
    ]


def _bounds(question: Question) -> list[str]:
    """Between what a number is to lie, in writing."""
    return [
        f"{bound:g}" for bound in (question.bounds or () if isinstance(question, Rating) else ())
    ]


def render_likelihood(ballot: Ballot, kind: str, options: Sequence[tuple[str, str]]) -> Prompt:
    """The question for a one-token answer.

    ``options``: (label, option) as shown, ``kind`` the kind of label.
    """
    criteria, text_first = ballot.criteria, ballot.template == TEXT_FIRST
    cut = _GAP if text_first else _CUT
    descriptions = (
        {}
        if ballot.question.compared_responses
        else {option.name: option.description for option in criteria.options}
    )
    shown = [(label, name, descriptions.get(name, "")) for label, name in options]
    fields = unfenced(shown_in(ballot))
    values = {
        "persona": ballot.persona,
        "definition": criteria.definition.replace(_CUT, ""),
        "options": shown,
        "fields": fields,
        "cut": cut,
    }
    form = TEXT_FIRST if text_first else LIKELIHOOD
    *before, last = load(f"{form}_{kind}", ballot.language).messages(values)
    shared, _, own = last.content.partition(cut)
    if is_part(ballot):
        *_, (_, judged) = fields
        before_judged = len(own[: own.rindex(judged)].rstrip(" "))
        shared, own = shared + own[:before_judged], own[before_judged:]
    return Prompt((*before, ChatMessage(last.role, shared + own)), shared=len(shared))


def render_persona(criteria: Criteria, language: str) -> Prompt:
    """A request for a description of somebody who can judge by ``criteria``: the same for criteria
    that differ in name only.
    """
    values = {"definition": criteria.definition, "options": list(criteria.option_names)}
    return Prompt(load("persona", language).messages(values))


def render_improvement(
    criteria: Criteria, instance: Instance, said: Mapping[str, str], language: str
) -> Prompt:
    """A request for a better text, given the judge's explanation and feedback."""
    values = {
        "definition": criteria.titled_definition,
        "parts": fence(shown_fields(criteria, instance)),
    }
    safe = {name: neutral(text) for name, text in said.items()}
    return Prompt(load("improve", language).messages({**values, **safe}))


@cache
def neutral_instances(
    language: str, fields: tuple[str, ...], compared: tuple[str, int] | None = None
) -> tuple[Instance, ...]:
    """Ordinary texts in the given fields; what a model says of them is its prior.

    ``compared``: the field that holds responses, and how many; they are all the same.
    """
    from adjudge.core.reading.values import plain_yaml

    texts: list[dict[str, str]] = plain_yaml(Path(__file__).parent / "neutral" / f"{language}.yaml")
    found = [{name: text.get(name, text["response"]) for name in fields} for text in texts]
    if compared is None:
        return tuple(Instance(one) for one in found)
    name, count = compared
    return tuple(Instance({**one, name: [one[name]] * count}) for one in found)


def shown_fields(criteria: Criteria, instance: Instance) -> Shown:
    """The fields the criteria may read, the judged one last.

    A missing one is named before any call.
    """
    judged = judged_field(criteria, instance)
    wanted = instance.fields if criteria.context_fields is None else criteria.context_fields
    context = [name for name in wanted if name not in (judged, criteria.to_evaluate_field)]
    fields = instance.fields
    try:
        return {name: fields[name] for name in (*context, judged)}
    except KeyError as missing:
        found = ", ".join(sorted(fields))
        raise SetupError(
            "criterion {name!r} reads the field {field!r}; the instance has only: {found}. "
            "Give it that field, or criteria that do not read it",
            name=criteria.name,
            field=missing.args[0],
            found=found,
        ) from None


def judged_field(criteria: Criteria, instance: Instance) -> str:
    """The field that the criteria judges. Where an instance has one field of another name, it is
    that one, unless the criteria reads it as context.
    """
    if len(instance.fields) > 1 or criteria.to_evaluate_field in instance.fields:
        return criteria.to_evaluate_field
    (only,) = instance.fields
    return criteria.to_evaluate_field if only in (criteria.context_fields or ()) else only


def shown_in(ballot: Ballot) -> Shown:
    """The fields as they are shown: compared responses in the ballot's order,
    each under its label.
    """
    fields = shown_fields(ballot.criteria, ballot.instance)
    question = ballot.question
    return (
        _compared(fields, ballot.criteria, question.order, question.letters)
        if isinstance(question, Comparison)
        else fields
    )


def _compared(
    fields: Shown, criteria: Criteria, order: Sequence[int] | None, labels: Sequence[str]
) -> Shown:
    responses = fields.pop(criteria.to_evaluate_field)
    shown = [responses[place] for place in order or range(len(responses))]
    return fields | {f"Response {label}": text for label, text in zip(labels, shown, strict=False)}


def _example(criteria: Criteria, place: int, question: Question) -> tuple[list[str], str]:
    example = criteria.examples[place]
    fields: Shown = dict(example.fields)
    if question.compared_responses:
        fields = _compared(fields, criteria, None, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    answer = {"explanation": example.explanation, "selected_option": example.option}
    if question.cites:
        steps = [f"step {number}\n{text}" for number, text in enumerate(fields[STEPS], 1)]
        return fence_steps({**fields, STEPS: steps}, STEPS), json.dumps(answer, ensure_ascii=False)
    return fence(fields), json.dumps(answer, ensure_ascii=False)


def _frame(ballot: Ballot) -> tuple[ChatMessage, tuple[str, ...]]:
    """What is the same whatever is judged: the system turn, and what stands around the evaluated
    text in the user's.
    """
    name = ballot.template.removesuffix(SANDWICH)
    template, values = load(name, ballot.language), _values(ballot)
    system = template.render("system", {**values, "parts": []})
    user = template.render("user", {**values, "parts": [_GAP]})
    if name != ballot.template:
        user += _PARTS + load("sandwich", ballot.language).render("user", values)
    return ChatMessage("system", system), tuple(user.split(_GAP))


def _values(ballot: Ballot) -> dict[str, object]:
    """What templates may show of a question."""
    criteria, question = ballot.criteria, ballot.question
    return {
        "title": criteria.title,
        "definition": criteria.definition,
        "options": list(criteria.option_names),
        "integers": criteria.any_integer,
        "rubric": [
            (option.name, option.description) for option in question.arrange(criteria.options)
        ],
        "field": criteria.to_evaluate_field,
        "lists": _lists(question),
        "persona": ballot.persona,
        "feedback": ballot.feedback,
        "offered": list(question.labels),
        "tie": TIE in question.labels,
        "ranking": question.asks_for_ranking,
        "bounds": _bounds(question),
        "places": list(question.places),
        "examples": [
            _example(criteria, place, question) for place in range(len(criteria.examples))
        ],
    }


_LONGEST_REASON = 2000


@light_dataclass(frozen=True)
class ProgramWanted:
    """What the program that is asked for has to know."""

    task: str
    output: str
    """What its result has to be, in words."""
    description: str = ""
    inputs: Sequence[tuple[str, str]] = ()
    """Variables that exist already, each with its type."""
    tools: Sequence[tuple[str, str]] = ()
    """Functions that exist already: signature and a line about it."""
    imports: Sequence[str] = ()


def render_program(wanted: ProgramWanted, language: str) -> Prompt:
    """A request for a program."""
    return Prompt(load("generate", language).messages(vars(wanted)))


def render_retry(prompt: Prompt, written: str, reasons: Sequence[str], language: str) -> Prompt:
    """The conversation so far, what was written, and a turn that says why it was not accepted.

    Reasons may quote what was written or what a judge said of it, so they are made harmless and
    kept short.
    """
    shown = [
        neutral(reason if len(reason) <= _LONGEST_REASON else reason[:_LONGEST_REASON] + "…")
        for reason in (localized(one, language) for one in reasons)
    ]
    (turn,) = load("retry", language).messages({"reasons": shown})
    return prompt.followed_by(ChatMessage("assistant", neutral(written).strip() or "…"), turn)
