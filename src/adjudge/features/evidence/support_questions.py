"""Questions about whether sources support sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.question import Choice, Schema
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Details
from adjudge.core.domain.vote import Ballot
from adjudge.features.evidence.grouped_questions import OfEach, object_schema
from adjudge.features.evidence.reply_lists import one_list
from adjudge.features.evidence.support import SUPPORTS, Grounded
from adjudge.features.evidence.verdicts import read_claims, read_sentences, with_evidence


@dataclass(frozen=True)
class SupportQuestion(Choice):
    """Asks whether one sentence is supported, contradicted or not found, with quotes from the
    fragments.
    """

    sources: str = "contexts"
    """The field that holds the fragments."""

    quoted: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_evidence"

    # there is no advice on a sentence
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """Return the JSON schema of an answer."""
        return object_schema(
            {"explanation": {"type": "string"}, "evidence": _QUOTES, "selected_option": _OPTION}
        )

    def restore(self, option: str, explanation: str | None, details: Details) -> Grounded:
        """Rebuild a verdict from the ledger."""
        return Grounded.of(option, explanation, details.get("evidence") or ())

    def check_reading(self, reading: Reading, ballot: Ballot, *, settle: bool) -> Reading:
        return with_evidence(reading, self.fragments_in(ballot), settle=settle)

    def fragments_in(self, ballot: Ballot) -> Sequence[str]:
        """Return the fragments in which the ballot's sentences are looked up."""
        fragments = ballot.instance.fields.get(self.sources, ())
        return [fragments] if isinstance(fragments, str) else fragments


@dataclass(frozen=True)
class SupportOfEach(OfEach, SupportQuestion):
    """Like SupportQuestion, but about several numbered sentences in one call."""

    about: ClassVar[str] = "{} sentences"
    repair: ClassVar[str] = "repair_sentences"

    # there is no advice on sentences
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """Return the JSON schema of an answer."""
        properties = {
            "number": {"type": "integer"},
            "evidence": _QUOTES,
            "selected_option": _OPTION,
        }
        return object_schema({"sentences": {"type": "array", "items": object_schema(properties)}})

    def restore(self, option: str, explanation: str | None, details: Details) -> Grounded:
        """Rebuild a verdict from the ledger."""
        verdicts = [
            Grounded.of(stored["option"], stored["explanation"], stored["evidence"])
            for stored in details.get("each") or ()
        ]
        return Grounded(option, explanation, each=tuple(verdicts))

    def read_objects(
        self, objects: Sequence[JsonObject], ballot: Ballot, *, settle: bool
    ) -> Reading | None:
        fragments = self.fragments_in(ballot)
        return read_sentences(one_list(objects), self.count, fragments, settle=settle)


@dataclass(frozen=True)
class ClaimsQuestion(OfEach):
    """Asks what each of several numbered sentences claims.

    The answer is stored as JSON: [[number, claim], …].
    """

    about: ClassVar[str] = "claims of {} sentences"
    repair: ClassVar[str] = "repair_claims"

    # there is no advice on sentences
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """Return the JSON schema of an answer."""
        claim_schema = object_schema({"sentence": {"type": "integer"}, "claim": {"type": "string"}})
        return object_schema({"claims": {"type": "array", "items": claim_schema}})

    def read_objects(
        self,
        objects: Sequence[JsonObject],
        ballot: Ballot,  # noqa: ARG002
        *,
        settle: bool,  # noqa: ARG002
    ) -> Reading | None:
        return read_claims(objects, self.count)


_OPTION: Schema = {"type": "string", "enum": list(SUPPORTS)}
_QUOTES: Schema = {
    "type": "array",
    "items": object_schema({"fragment": {"type": "integer"}, "quote": {"type": "string"}}),
}
