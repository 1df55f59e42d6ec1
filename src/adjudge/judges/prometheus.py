"""The formats that Prometheus models were trained on: absolute grading (1 to 5) and relative (A or B), to any served model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from adjudge.domain.ballot import Ballot
from adjudge.domain.instance import Instance
from adjudge.domain.message import Prompt, Request
from adjudge.domain.results import DirectInstanceResult, PairwiseInstanceResult
from adjudge.domain.vote import Outcome, Verdict, Vote
from adjudge.errors import ModelError, Refused, SetupError
from adjudge.gateway.open import OpenModel
from adjudge.judges.base import seed_for, temperature_for
from adjudge.judges.base_direct import BaseDirectJudge
from adjudge.judges.base_pairwise import BasePairwiseJudge
from adjudge.judges.case import Case
from adjudge.judges.served import Served
from adjudge.prompts.fence import neutral
from adjudge.prompts.template import load
from adjudge.verdicts.ranking import put_back

_GRADES = 5
_GRADE = re.compile(r"\[RESULT\]\s*\(?\s*(\d+)(?!\.?\d)", re.IGNORECASE)
_LETTER = re.compile(r"\[RESULT\]\s*\(?\s*(?:Response\s+)?([AB])\b(?![^\S\n]+\w)", re.IGNORECASE)
"""A letter that ends its line: "A or B" and "a tie" name none."""
_INSTRUCTION_FIELDS = ("instruction", "user_input", "question", "input", "prompt")
_REFERENCE_FIELDS = ("reference", "reference_answer")


@dataclass(kw_only=True, eq=False)
class MPrometheusDirectJudge(Served[DirectInstanceResult], BaseDirectJudge):
    """Grades from 1 to 5. The criteria must have five options, worst first; their descriptions are the rubric.

    An unreadable reply is not asked for again: the format leaves no room for that.
    """

    def check(self, item: Case) -> None:
        """Five options, and the judged field."""
        super().check(item)
        if len(item.criteria.options) != _GRADES:
            raise SetupError(
                f"criteria {item.criteria.name!r} has {len(item.criteria.options)} options: Prometheus grades by five"
            )

    async def ask(self, ballot: Ballot) -> Vote:
        """One grade."""
        vote = await _asked(ballot, self._panel[ballot.model], self)
        grade = _last(_GRADE, vote.text)
        if grade is None or not 1 <= int(grade) <= _GRADES:
            return vote
        return _read(vote, Verdict(ballot.options[int(grade) - 1], _feedback(vote.text)))

    def prompt(self, ballot: Ballot) -> Prompt:
        """What the model is shown."""
        shown = [ballot.criteria.option(name) for name in ballot.options]
        values = {
            "definition": ballot.criteria.definition,
            "rubric": [option.description or option.name for option in shown],
            "best": 1 + ballot.options.index(ballot.criteria.option_names[-1]),
            "response": _text(ballot.instance, ballot.criteria.to_evaluate_field),
            **_beside(ballot.instance),
        }
        return Prompt(load("prometheus_absolute", "en").messages(values))


@dataclass(kw_only=True, eq=False)
class MPrometheusPairwiseJudge(Served[PairwiseInstanceResult], BasePairwiseJudge):
    """Says which of two responses is better. More than two are compared in pairs; there is no tie in this format."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tie_enabled = False
        self.contests = "pairs"

    async def ask(self, ballot: Ballot) -> Vote:
        """One comparison."""
        vote = await _asked(ballot, self._panel[ballot.model], self)
        letter = _last(_LETTER, vote.text)
        return vote if letter is None else _read(vote, put_back(Verdict(letter.upper(), _feedback(vote.text)), None, ballot))

    def prompt(self, ballot: Ballot) -> Prompt:
        """What the model is shown."""
        responses = ballot.instance.fields[ballot.criteria.to_evaluate_field]
        first, second = (neutral(responses[place]) for place in ballot.order or (0, 1))
        values = {
            "definition": ballot.criteria.definition,
            "first": first,
            "second": second,
            **_beside(ballot.instance),
        }
        return Prompt(load("prometheus_relative", "en").messages(values))


async def _asked(ballot: Ballot, model: OpenModel, judge: MPrometheusDirectJudge | MPrometheusPairwiseJudge) -> Vote:
    """The reply as a vote that is unreadable until somebody reads it."""
    temperature = temperature_for(model, judge.temperature, judge.samples)
    request = Request(
        judge.prompt(ballot), temperature=temperature, seed=seed_for(model, judge.seed, ballot.sample), sample=ballot.sample
    )
    try:
        reply = await model.complete(request)
    except ModelError as error:
        outcome = Outcome.REFUSED if isinstance(error, Refused) else Outcome.MODEL_ERROR
        return Vote(ballot=ballot, outcome=outcome, reason=str(error))
    outcome = Outcome.REFUSED if reply.finish == "refusal" else Outcome.UNREADABLE
    reason = "the reply has no [RESULT] that the format allows"
    return Vote(ballot=ballot, outcome=outcome, reason=reason, text=reply.text, usage=reply.usage, latency=reply.latency)


def _read(vote: Vote, verdict: Verdict) -> Vote:
    usage, latency = vote.usage, vote.latency
    return Vote(ballot=vote.ballot, outcome=Outcome.OK, verdict=verdict, text=vote.text, usage=usage, latency=latency)


def _last(pattern: re.Pattern[str], text: str | None) -> str | None:
    found: list[str] = pattern.findall(text or "")
    return found[-1] if found else None


def _feedback(text: str | None) -> str | None:
    before = re.split(r"\[RESULT\]", text or "", flags=re.IGNORECASE)[0]
    return re.sub(r"^\s*Feedback:\s*", "", before).strip() or None


def _beside(instance: Instance) -> dict[str, str | None]:
    """What was asked, and a reference where there is one."""
    asked = next((name for name in _INSTRUCTION_FIELDS if name in instance.fields), None)
    reference = next((name for name in _REFERENCE_FIELDS if name in instance.fields), None)
    return {
        "instruction": _text(instance, asked) if asked else "",
        "reference": _text(instance, reference) if reference else None,
    }


def _text(instance: Instance, name: str) -> str:
    value = instance.fields[name] if name in instance.fields else next(iter(instance.fields.values()))
    return neutral(value if isinstance(value, str) else "\n".join(value))
