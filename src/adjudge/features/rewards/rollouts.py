"""Rollouts of a step: prompts with their completions and the other columns of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjudge.core.domain.json_types import JsonDict
from adjudge.errors import SetupError
from adjudge.features.rewards.texts import text_of

PROMPT, COMPLETION = "user_input", "response"
"""The fields that hold them."""
Columns = Mapping[str, object]


def _listed(entries: object) -> object:
    """Return the column of an array, a data frame or a data set as a list; anything else as it
    is.
    """
    if isinstance(entries, Sequence) and not isinstance(entries, str | bytes):
        return list(entries)
    to_list = getattr(entries, "tolist", None)
    return to_list() if callable(to_list) else entries


@dataclass(frozen=True)
class Rollouts:
    """A trainer's data: a prompt, and an entry in each column, per completion."""

    prompts: Sequence[object]
    completions: Sequence[object]
    columns: Columns

    @classmethod
    def of(
        cls, prompts: Sequence[object], completions: Sequence[object], columns: Columns
    ) -> Rollouts:
        """Return rollouts; raise a SetupError unless there is a prompt for each completion."""
        if isinstance(completions, str) or isinstance(prompts, str):
            raise SetupError(
                "prompts and completions must be lists of the same length, with one "
                "entry per completion"
            )
        if len(prompts) != len(completions):
            raise SetupError(
                "there are {prompts} prompts and {completions} completions: pass one prompt per "
                "completion",
                prompts=len(prompts),
                completions=len(completions),
            )
        return cls(
            prompts, completions, {name: _listed(entries) for name, entries in columns.items()}
        )

    def __len__(self) -> int:
        return len(self.completions)

    def rows(self, renamed: Mapping[str, str]) -> list[JsonDict | None]:
        """Return each rollout as a row to judge; None for a completion without a text.

        Columns are the lists with an entry per completion whose entries are texts, numbers, lists
        or mappings. ``renamed``: column → name of the field.
        """
        return [self._row(place, renamed) for place in range(len(self))]

    def _row(self, place: int, renamed: Mapping[str, str]) -> JsonDict | None:
        completion = text_of(self.completions[place])
        if completion is None:
            return None
        fields: JsonDict = {}
        for name, entries in self.columns.items():
            if isinstance(entries, list | tuple) and len(entries) == len(self):
                entry = entries[place]
                if isinstance(entry, str | bool | int | float | list | tuple | Mapping):
                    fields[renamed.get(name, name)] = entry
        prompt = text_of(self.prompts[place])
        prompt_field = {} if prompt is None else {PROMPT: prompt}
        return {**fields, **prompt_field, COMPLETION: completion, "id": str(place)}

    def groups(self) -> list[list[int]]:
        """Return the places of each prompt's rollouts, in order of first appearance."""
        places_by_prompt: dict[str, list[int]] = {}
        for place, prompt in enumerate(self.prompts):
            places_by_prompt.setdefault(repr(prompt), []).append(place)
        return list(places_by_prompt.values())

    def chosen(self, places: Sequence[int]) -> Rollouts:
        """Return the rollouts at these places."""
        columns = {
            name: [entries[place] for place in places]
            if isinstance(entries, list | tuple) and len(entries) == len(self)
            else entries
            for name, entries in self.columns.items()
        }
        return Rollouts(
            [self.prompts[place] for place in places],
            [self.completions[place] for place in places],
            columns,
        )

    def answering(self, completions: Sequence[object]) -> Rollouts:
        """Return the rollouts with these completions instead."""
        return Rollouts(self.prompts, completions, self.columns)
