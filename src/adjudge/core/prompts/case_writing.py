"""Request test data, or a piece of text in other words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, get_args

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Prompt
from adjudge.core.prompts.fence import fence
from adjudge.core.prompts.renderer import load

TextAction = Literal["rephrase", "regenerate", "shorten", "elaborate", "counterfactual", "custom"]
TEXT_ACTIONS: tuple[TextAction, ...] = get_args(TextAction)
DataTask = Literal["question answering", "summary", "writing", "dialogue"]
DATA_TASKS: tuple[DataTask, ...] = get_args(DataTask)
DataLength = Literal["short", "medium", "long"]
DATA_LENGTHS: tuple[DataLength, ...] = get_args(DataLength)
BETTER, CLOSE = "better", "close"
"""The wanted difference between compared responses."""
_LONGEST_TEXT = 1000
_MOST_SHOWN = 3


@dataclass(frozen=True)
class DataStyle:
    """The wanted style of the instances; empty: any."""

    task: DataTask | None = None
    length: DataLength | None = None
    domain: str = ""
    persona: str = ""
    """The supposed author of the instances."""


@dataclass(frozen=True)
class DataWanted:
    """The instances that a model should write."""

    criteria: Criteria
    wanted: str
    """An option; of comparisons "better", "close" or "tie"."""
    count: int
    _: KW_ONLY
    between: tuple[str, ...] = ()
    """The options between which they should be borderline; empty: they should be clear."""
    style: DataStyle = DataStyle()
    fields: tuple[str, ...] = ()
    """The fields other than the judged one."""
    seen: Sequence[Instance] = ()
    """Existing instances: others of this kind are wanted."""

    def values(self) -> dict[str, object]:
        """Return the values for the templates."""
        fenced = [fence(_short(instance)) for instance in self.seen[:_MOST_SHOWN]]
        return {
            "definition": self.criteria.titled_definition,
            "options": list(self.criteria.options),
            "wanted": self.wanted,
            "between": list(self.between),
            "count": self.count,
            "style": self.style,
            "parts": [part for parts in fenced for part in parts],
            "fields": list(self.fields),
            "judged": self.criteria.to_evaluate_field,
        }


def render_test_data(wanted: DataWanted, language: str, *, compares: bool) -> Prompt:
    """Return a request for instances."""
    return Prompt(
        load("test_data_pairs" if compares else "test_data", language).messages(wanted.values())
    )


def render_text_action(
    action: TextAction, text: str, criteria: Criteria, language: str, wish: str = ""
) -> Prompt:
    """Return a request for a piece of text in other words; ``wish``: the task of a custom
    action.
    """
    values = {
        "action": action,
        "definition": criteria.titled_definition,
        "parts": fence({"text": text}),
        "wish": wish,
    }
    return Prompt(load("text_action", language).messages(values))


def _short(instance: Instance) -> dict[str, str | list[str]]:
    return {
        name: value[:_LONGEST_TEXT]
        if isinstance(value, str)
        else [text[:_LONGEST_TEXT] for text in value]
        for name, value in instance.fields.items()
    }
