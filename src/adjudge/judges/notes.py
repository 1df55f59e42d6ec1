"""What a result has to say about itself: what was asked for and could not be done, and what its numbers do not mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adjudge.domain.vote import Vote

_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "examples": "the examples of the criteria",
        "feedback": "the request for feedback",
        "persona": "the synthetic persona",
        "ignored": "judged by log-probability, where nothing is written: {what} had no part in it (mode='generate' uses that)",
        "cold": "{models}: {count} votes at temperature 0 repeat one answer, so agreement says nothing about how sure it is",
        "likely": "{models}: {count} votes by log-probability repeat one reading, so agreement says nothing about how sure it is",
    },
    "ru": {
        "examples": "примеры критерия",
        "feedback": "просьба о замечаниях",
        "persona": "придуманная роль",
        "ignored": "оценено по логарифмам вероятностей, текст не пишется; не учтено: {what} (mode='generate' это учитывает)",
        "cold": "{models}: голоса при температуре 0 ({count}) повторяют один ответ, согласие не говорит об уверенности",
        "likely": "{models}: голоса по логарифмам вероятностей ({count}) повторяют одно, согласие не говорит об уверенности",
    },
}


def notes_on(
    votes: Sequence[Vote], language: str, temperatures: Mapping[str, float], *, persona: bool = False
) -> tuple[str, ...]:
    """What a reader of these votes must know. ``temperatures``: what each model was asked at; ``persona``: whether the
    models were to invent who they are."""
    likely = {vote.model for vote in votes if vote.ballot.mode == "likelihood"}
    if len(votes) < 2 and not likely:
        return ()  # nothing is repeated, and nothing was left out
    words = _WORDS.get(language, _WORDS["en"])
    what = ", ".join(words[name] for name in _ignored(votes, persona))
    found = [words["ignored"].format(what=what)] if what else []
    cold = {model for model, temperature in temperatures.items() if temperature == 0} - likely
    repeated = {model: count for model in temperatures if (count := _asked(model, votes)) > 1}
    for name, models in (("likely", likely), ("cold", cold)):
        chosen = [model for model in repeated if model in models]
        if chosen:
            found.append(words[name].format(models=", ".join(chosen), count=repeated[chosen[0]]))
    return tuple(found)


def _ignored(votes: Sequence[Vote], persona: bool) -> Iterator[str]:
    """What judging by log-probability makes no use of."""
    ballots = [vote.ballot for vote in votes if vote.ballot.mode == "likelihood"]
    if any(ballot.criteria.examples for ballot in ballots):
        yield "examples"
    if any(ballot.feedback for ballot in ballots):
        yield "feedback"
    if ballots and persona:
        yield "persona"


def _asked(model: str, votes: Sequence[Vote]) -> int:
    """How often the model was asked the same."""
    return len({vote.sample for vote in votes if vote.model == model})
