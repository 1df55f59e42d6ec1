"""Render ballots as prompts. Text that many ballots share comes first and evaluated text last, so
that prefix caches work.
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
from adjudge.core.domain.frozen_mapping import NOTHING, text_hash
from adjudge.core.domain.instance import STEPS, UNSEEN, Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import ChatMessage, Prompt, Role
from adjudge.core.domain.question import Comparison, Question, Rating
from adjudge.core.domain.verdict import TIE
from adjudge.core.domain.vote import Ballot
from adjudge.core.prompts.fence import fence, fence_steps, neutral, unfenced
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.core.reading.values import plain_yaml
from adjudge.errors import SetupError
from adjudge.messages import render as localized

LIKELIHOOD = "likelihood"
"""Prefix of the templates that are read by log-probability; they have one common wording."""
TEXT_FIRST = "text_first"
"""The template, and the prefix of its files, of questions by log-probability that follow the text,
so that all questions about one text share it.
"""
CHECK = "check"
"""The template of questions about one fragment or one sentence of a row."""
CHECK_JOINT = "check_joint"
"""Like CHECK, about several at once."""
CHECK_LISTS = "check_lists"
"""Several such questions in one call, each about a list of its own."""
CHECKED_TOGETHER = (CHECK_JOINT, "repair_each", CHECK_LISTS, "repair_lists")
"""Templates of calls about several parts."""
SANDWICH = "+sandwich"
"""Suffix of a ballot's template if the task is repeated after the material."""
ABOUT_STEPS = ("agent", "repair_steps", "agent_checklist", "agent_points", "repair_points")
"""Templates of questions about the steps of an agent."""
DECISIONS = ("decision",)
"""Templates for decision models, whose identity includes the version of this wording."""
CHATS = ("chat_user",)
"""Prompts of models that are not judges; their callers record them."""
ABOUT_POINTS = (
    "rubric_point",
    "rubric_points",
    "repair_rubric",
    "repair_rubric_point",
    "rubric_proposal",
    "repair_proposal",
)
"""Templates of questions about the points of a rubric."""
ABOUT_SCENARIOS = ("scenario_proposal", "repair_scenarios")
"""Templates of requests for scenarios of simulated users."""
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
_TODAY, _EARLIER = (Path(__file__).parent / folder for folder in ("templates", "earlier"))
_SECTION = re.compile(r"^--- (system|user|assistant)\n", re.MULTILINE)
_ENVIRONMENT = jinja2.Environment(
    undefined=jinja2.StrictUndefined,
    # Prompts are not HTML; evaluated text is fenced before it comes here.
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
        """Return the section for ``role``; raise a SetupError if a value is missing, before any
        call.
        """
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
        """Return all sections, in the order of the file."""
        return tuple(ChatMessage(role, self.render(role, values)) for role, _ in self.sections)


@cache
def load(name: str, language: str, *, earlier: bool = False) -> Template:
    """Return the template ``name`` in ``language``; raise a SetupError if there is none.

    ``earlier``: ``name`` is an earlier wording of a template, e.g. "aspect_1".
    """
    check_language(language)
    path = (_EARLIER if earlier else _TODAY) / language / f"{name}.jinja"
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
    # The pattern admits only roles.
    return Template(name, frozenset(names), tuple(sections))  # type: ignore[arg-type]


@cache
def wording(prefix: str, language: str, earlier: str = "") -> str:
    """Return the SHA-256 of the template files whose names begin with ``prefix``: it changes with
    their words.

    ``earlier``: an earlier wording of one of them, e.g. "aspect_1".
    """
    prefixes = tuple(prefix.replace("+", ".jinja+").split("+"))
    files = {name: file for name, file in _templates(language).items() if name.startswith(prefixes)}
    if earlier:
        files[_file_of(earlier)] = _EARLIER / language / f"{earlier}.jinja"
    return text_hash(*((name, file.read_text(encoding="utf-8")) for name, file in files.items()))


def version_in(template: str, wordings: Mapping[str, str]) -> str:
    """Return the earlier wording in which a run asks the questions of a template, as
    ``earlier_version`` does.

    ``wordings``: those that the run began with.
    """
    if not wordings:
        return ""
    file = f"{template.removesuffix(SANDWICH)}.jinja"
    return earlier_version(file, wordings.get(file, ""))


def earlier_version(file: str, worded: str) -> str:
    """Return the name of an earlier wording of a template, e.g. "aspect_1", by its hash.

    Empty for today's wording, and for one that this version does not have any more.
    """
    return _earlier_versions().get((file, worded), "")


@cache
def _earlier_versions() -> Mapping[tuple[str, str], str]:
    """Map a template's file and the hash of an earlier wording in any language to its name.

    NAME_1 is the first wording of NAME. A run has one hash per template, whatever its languages.
    """
    versions: dict[tuple[str, str], str] = {}
    for language in LANGUAGES:
        for path in _EARLIER.joinpath(language).iterdir():
            if path.name.endswith(".jinja"):
                file = _file_of(path.stem)
                versions[file, text_hash((file, path.read_text(encoding="utf-8")))] = path.stem
    return versions


def _file_of(earlier: str) -> str:
    return f"{earlier.rpartition('_')[0]}.jinja"


@cache
def _templates(language: str) -> Mapping[str, Path]:
    """Map the template files by name, sorted."""
    folder = _TODAY / language
    return {file.name: file for file in sorted(folder.iterdir(), key=lambda file: file.name)}


def wordings(language: str) -> dict[str, str]:
    """Return the wordings that the record of any judge has; those for special judges are left
    out.
    """
    # Templates for parts of a row are recorded only by the judges that ask about parts.
    left_out = (
        *_ABOUT_SENTENCES,
        *(
            f"{name}.jinja"
            for name in (
                *(CHECK, *CHECKED_TOGETHER, "standalone", "sandwich", *ABOUT_STEPS, *ABOUT_POINTS),
                *ABOUT_SCENARIOS,
                *DECISIONS,
                *CHATS,
            )
        ),
    )
    names = [
        name
        for name in _templates(language)
        if name not in left_out and not name.startswith(TEXT_FIRST)
    ]
    return {LIKELIHOOD: wording(LIKELIHOOD, language)} | {
        name: wording(name, language) for name in names
    }


def sentence_wordings(language: str) -> dict[str, str]:
    """Return the wording of the templates about sentences."""
    return {name: wording(name, language) for name in _ABOUT_SENTENCES}


def check_language(language: str) -> None:
    """Raise a SetupError unless ``language`` is available."""
    if language not in LANGUAGES:
        raise SetupError(
            "language {language!r} is not one of {languages}",
            language=language,
            languages=", ".join(LANGUAGES),
        )


# The separator of evaluated texts, as in the templates.
_PARTS = "\n\n"
Shown = dict[str, str | Sequence[str]]
# Marks the end of the shared text in a rendered template; the criterion cannot contain it, and
# texts follow it.
_CUT = "\x00"


# Placeholder of the evaluated text in a rendered template; it is random, so no criterion contains
# it.
_GAP = f"\x00{token_hex(8)}\x00"


_frames: dict[Hashable, tuple[ChatMessage, tuple[str, ...]]] = {}
_MOST_FRAMES = 1024


def render(ballot: Ballot, wordings: Mapping[str, str] = NOTHING) -> Prompt:
    """Return the prompt of a ballot.

    ``wordings``: the wordings that its run began with. One that is still known is used again.
    """
    criteria, version = ballot.criteria, version_in(ballot.template, wordings)
    frame_key = (
        ballot.template,
        version,
        ballot.language,
        criteria.identity,
        ballot.question,
        ballot.persona,
        ballot.feedback,
    )
    # The frame is the same for all rows of a criterion, so only the texts are rendered per row.
    frame = _frames.get(frame_key)
    if frame is None:
        if len(_frames) >= _MOST_FRAMES:
            _frames.clear()
        frame = _frames[frame_key] = _frame(ballot, version)
    system, user_parts = frame
    return Prompt((system, ChatMessage("user", _PARTS.join(_fence_parts(ballot)).join(user_parts))))


def is_part(ballot: Ballot) -> bool:
    """Return True if the ballot is one of many questions about a row, each about a part of it."""
    return ballot.question.quoted or ballot.template == CHECK


def _fence_parts(ballot: Ballot) -> list[str]:
    """Return the evaluated texts between their marks."""
    fields = shown_in(ballot)
    if ballot.question.cites:
        return fence_steps(fields, STEPS)
    if not is_part(ballot):
        return fence(fields)
    # A part gets marks of its own, so that all ballots of the row begin with the same text.
    *_, last = fields
    judged_part = {last: fields.pop(last)}
    return fence(fields) + fence(judged_part)


def render_repair(ballot: Ballot, prompt: Prompt, reply: str, reason: str) -> Prompt:
    """Return the conversation so far, plus a turn that explains why the last reply was rejected."""
    question, bounds = ballot.question, _bounds(ballot.question)
    answer_values = {
        "options": list(question.labels),
        "feedback": ballot.feedback,
        "ranking": question.asks_for_ranking,
        "places": list(question.places),
    }
    template = load("repair_number" if bounds else question.repair, ballot.language)
    (turn,) = template.messages(
        {
            # The reason may quote the reply, and so the evaluated text.
            "reason": neutral(localized(reason, ballot.language)),
            "bounds": bounds,
            "lists": _lists(question),
            **answer_values,
        }
    )
    return prompt.followed_by(ChatMessage("assistant", neutral(reply).strip() or "…"), turn)


def _lists(question: Question) -> list[dict[str, object]]:
    """Return the questions that are asked in one call, as template values."""
    return [
        {
            "field": field,
            "definition": criterion.definition,
            "rubric": [(option.name, option.description) for option in criterion.options],
        }
        for field, criterion in question.at_once
    ]


def _bounds(question: Question) -> list[str]:
    """Return the bounds of a number as texts; empty if no number is asked for."""
    return [
        f"{bound:g}" for bound in (question.bounds or () if isinstance(question, Rating) else ())
    ]


def render_likelihood(ballot: Ballot, kind: str, options: Sequence[tuple[str, str]]) -> Prompt:
    """Return the prompt for a one-token answer.

    ``options``: (label, option) as shown, ``kind`` the kind of label.
    """
    criteria, text_first = ballot.criteria, ballot.template == TEXT_FIRST
    cut = _GAP if text_first else _CUT
    descriptions = (
        {}
        if ballot.question.compared_responses
        else {option.name: option.description for option in criteria.options}
    )
    described_options = [(label, name, descriptions.get(name, "")) for label, name in options]
    fields = unfenced(shown_in(ballot))
    values = {
        "persona": ballot.persona,
        "definition": criteria.definition.replace(_CUT, ""),
        "options": described_options,
        "fields": fields,
        "cut": cut,
    }
    form = TEXT_FIRST if text_first else LIKELIHOOD
    *earlier_turns, last = load(f"{form}_{kind}", ballot.language).messages(values)
    shared, _, unshared = last.content.partition(cut)
    if is_part(ballot):
        *_, (_, judged_text) = fields
        shared_length = len(unshared[: unshared.rindex(judged_text)].rstrip(" "))
        shared, unshared = shared + unshared[:shared_length], unshared[shared_length:]
    return Prompt((*earlier_turns, ChatMessage(last.role, shared + unshared)), shared=len(shared))


def render_persona(criteria: Criteria, language: str) -> Prompt:
    """Return a request to describe someone who can judge by ``criteria``."""
    # Without the name: criteria that differ only in name share one persona.
    values = {"definition": criteria.definition, "options": list(criteria.option_names)}
    return Prompt(load("persona", language).messages(values))


def render_improvement(
    criteria: Criteria, instance: Instance, said: Mapping[str, str], language: str
) -> Prompt:
    """Return a request for a better text, given the judge's explanation and feedback."""
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
    """Return ordinary texts in the given fields; a model's answers about them are its prior.

    ``compared``: the field that holds responses, and their number; all responses are equal.
    """
    texts: list[dict[str, str]] = plain_yaml(Path(__file__).parent / "neutral" / f"{language}.yaml")
    rows = [{name: text.get(name, text["response"]) for name in fields} for text in texts]
    if compared is None:
        return tuple(Instance(row) for row in rows)
    name, count = compared
    return tuple(Instance({**row, name: [row[name]] * count}) for row in rows)


def shown_fields(criteria: Criteria, instance: Instance) -> Shown:
    """Return the fields the criteria may read, the judged one last; raise a SetupError if one is
    missing.
    """
    judged_name = judged_field(criteria, instance)
    readable = criteria.context_fields
    if readable is None:
        unseen = instance.metadata.get(UNSEEN)
        readable = [
            name for name in instance.fields if not (isinstance(unseen, tuple) and name in unseen)
        ]
    context = [name for name in readable if name not in (judged_name, criteria.to_evaluate_field)]
    fields = instance.fields
    try:
        return {name: fields[name] for name in (*context, judged_name)}
    except KeyError as missing:
        field_names = ", ".join(sorted(fields))
        raise SetupError(
            "criterion {name!r} reads the field {field!r}, but the instance has only: {found}. "
            "Add the field, or use criteria that do not read it",
            name=criteria.name,
            field=missing.args[0],
            found=field_names,
        ) from None


def judged_field(criteria: Criteria, instance: Instance) -> str:
    """Return the field that the criteria judges.

    An instance with a single field of another name is judged by that field, unless the criteria
    reads it as context.
    """
    if len(instance.fields) > 1 or criteria.to_evaluate_field in instance.fields:
        return criteria.to_evaluate_field
    (only,) = instance.fields
    return criteria.to_evaluate_field if only in (criteria.context_fields or ()) else only


def shown_in(ballot: Ballot) -> Shown:
    """Return the fields as shown: compared responses in the ballot's order, each under its
    label.
    """
    fields = shown_fields(ballot.criteria, ballot.instance)
    question = ballot.question
    return (
        _label_responses(fields, ballot.criteria, question.order, question.letters)
        if isinstance(question, Comparison)
        else fields
    )


def _label_responses(
    fields: Shown, criteria: Criteria, order: Sequence[int] | None, labels: Sequence[str]
) -> Shown:
    responses = fields.pop(criteria.to_evaluate_field)
    ordered = [responses[place] for place in order or range(len(responses))]
    return fields | {
        f"Response {label}": text for label, text in zip(labels, ordered, strict=False)
    }


def _example(criteria: Criteria, place: int, question: Question) -> tuple[list[str], str]:
    example = criteria.examples[place]
    fields: Shown = dict(example.fields)
    if question.compared_responses:
        fields = _label_responses(fields, criteria, None, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    answer = {"explanation": example.explanation, "selected_option": example.option}
    if question.cites:
        steps = [f"step {number}\n{text}" for number, text in enumerate(fields[STEPS], 1)]
        return fence_steps({**fields, STEPS: steps}, STEPS), json.dumps(answer, ensure_ascii=False)
    return fence(fields), json.dumps(answer, ensure_ascii=False)


def _frame(ballot: Ballot, version: str) -> tuple[ChatMessage, tuple[str, ...]]:
    """Return the parts of a prompt that do not depend on the evaluated text: the system turn, and
    the user's turn around the text.
    """
    name = ballot.template.removesuffix(SANDWICH)
    template = load(version or name, ballot.language, earlier=bool(version))
    values = _values(ballot)
    system = template.render("system", {**values, "parts": []})
    user = template.render("user", {**values, "parts": [_GAP]})
    if name != ballot.template:
        user += _PARTS + load("sandwich", ballot.language).render("user", values)
    return ChatMessage("system", system), tuple(user.split(_GAP))


def _values(ballot: Ballot) -> dict[str, object]:
    """Return the values that templates may show of a question."""
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
    """The description of a program that a model should write."""

    task: str
    output: str
    """The required result, in words."""
    description: str = ""
    inputs: Sequence[tuple[str, str]] = ()
    """Variables that exist already, each with its type."""
    tools: Sequence[tuple[str, str]] = ()
    """Functions that exist already: signature and a line about it."""
    imports: Sequence[str] = ()


def render_program(wanted: ProgramWanted, language: str) -> Prompt:
    """Return a request for a program."""
    return Prompt(load("generate", language).messages(vars(wanted)))


def render_retry(prompt: Prompt, written: str, reasons: Sequence[str], language: str) -> Prompt:
    """Return the conversation so far, the written text, and a turn that says why it was not
    accepted.

    Reasons may quote the text or a judge, so they are made harmless and kept short.
    """
    quoted_reasons = [
        neutral(reason if len(reason) <= _LONGEST_REASON else reason[:_LONGEST_REASON] + "…")
        for reason in (localized(localizable, language) for localizable in reasons)
    ]
    (turn,) = load("retry", language).messages({"reasons": quoted_reasons})
    return prompt.followed_by(ChatMessage("assistant", neutral(written).strip() or "…"), turn)
