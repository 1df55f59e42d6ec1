"""What the buttons of the playground's form change in the draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from adjudge.core.catalog.criteria_file import as_file
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.errors import SetupError
from adjudge.features.playground.draft import Draft, OptionDraft, TextsDraft, check_row_count
from adjudge.runs.case_file import MANY_BESIDE, MOST_BESIDE, dump_yaml
from adjudge.web.forms import whole

T = TypeVar("T")
_MOST_RESPONSES = 10
_LONGEST_NAME = 100


def apply_button(draft: Draft, do: str, values: Mapping[str, str]) -> Draft:
    """Apply a button to the draft; ``values`` are the other fields of the form."""
    name, _, place = do.partition(":")
    at = whole(place)
    if name in _BUTTONS:
        return _BUTTONS[name](draft)
    if name == "put_text" and at is not None:
        return _put_text(draft, at, values.get("put", ""))
    if name in _AT and at is not None:
        return _AT[name](draft, at)
    if name in _WITH:
        field, change = _WITH[name]
        return change(draft, values.get(field, ""))
    raise SetupError("the form has no button {name!r}: reload the page", name=name)


def with_instances(draft: Draft, rows: Sequence[TextsDraft]) -> Draft:
    """Add these instances to the form, and drop its empty ones."""
    filled = replace(draft, rows=tuple(draft.rows[place] for place in draft.filled_places()))
    texts = max((len(row.texts[draft.judged]) for row in rows), default=2)
    return with_rows(replace(filled, responses=max(filled.responses, texts)), rows)


def with_rows(draft: Draft, rows: Sequence[TextsDraft]) -> Draft:
    check_row_count(len(draft.rows) + len(rows))
    return replace(draft, rows=(*draft.rows, *rows))


def with_beside(draft: Draft, entry: CatalogEntry) -> Draft:
    """Add one more criterion to judge by, and the fields that it reads."""
    if len(draft.beside) >= MOST_BESIDE:
        raise SetupError(MANY_BESIDE)
    criteria = entry.criteria
    columns = (*draft.columns, *(criteria.context_fields or ()), criteria.to_evaluate_field)
    return replace(
        draft,
        beside=(*draft.beside, dump_yaml(as_file(entry))),
        columns=tuple(name for name in dict.fromkeys(columns) if name != draft.judged),
    )


def _edit_beside(draft: Draft, at: int) -> Draft:
    """Swap the edited criterion with another one."""
    if at >= len(draft.beside):
        raise SetupError("that criterion no longer exists: reload the page")
    text = dump_yaml(as_file(draft.entry()))
    texts = tuple(text if place == at else other for place, other in enumerate(draft.beside))
    return replace(_use_criteria(draft, draft.beside[at]), beside=texts)


def _compare_criteria(draft: Draft, proposed: str) -> Draft:
    """Take over proposed criteria and keep the old ones for comparison."""
    return _use_criteria(with_beside(draft, draft.entry()), proposed)


def _row_to_example(draft: Draft, at: int) -> Draft:
    """Turn an instance into an example of the criteria."""
    if at >= len(draft.rows):
        raise SetupError("that instance no longer exists: reload the page")
    row = draft.rows[at]
    if not row.answer:
        raise SetupError(
            # As an instance it would only be asked to repeat the example.
            "an example needs an expected option: choose one for this instance first"
        )
    return replace(
        draft,
        examples=(*draft.examples, TextsDraft(row.answer, row.texts)),
        rows=_without(draft.rows, at),
    )


def _copy_row(draft: Draft, at: int) -> Draft:
    """Copy an instance right after it. Only the original keeps the id."""
    copies = [replace(row, id="") for row in draft.rows[at : at + 1]]
    return replace(
        with_rows(draft, copies), rows=(*draft.rows[: at + 1], *copies, *draft.rows[at + 1 :])
    )


def _put_text(draft: Draft, at: int, text: str) -> Draft:
    """Replace the judged text of an instance."""
    rows = [
        replace(row, texts={**row.texts, draft.judged: (text,)}) if place == at else row
        for place, row in enumerate(draft.rows)
    ]
    return replace(draft, rows=tuple(rows))


def _add_field(draft: Draft, text: str) -> Draft:
    name = text.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise SetupError("a field needs a name of at most 100 characters")
    return replace(draft, columns=tuple(dict.fromkeys((*draft.columns, name))))


def _use_criteria(draft: Draft, proposed: str) -> Draft:
    """Replace the criteria by the proposed ones."""
    changed = replace(draft, mode="yaml", yaml=proposed)
    return changed if draft.mode == "yaml" else changed.in_form()


def _without(items: Sequence[T], at: int) -> tuple[T, ...]:
    return tuple(element for place, element in enumerate(items) if place != at)


_BUTTONS: Mapping[str, Callable[[Draft], Draft]] = {
    "redraw": lambda draft: draft,
    "keep_wording": lambda draft: with_beside(draft, draft.entry()),
    "to_yaml": Draft.in_yaml,
    "to_form": Draft.in_form,
    "add_option": lambda draft: replace(draft, options=(*draft.options, OptionDraft())),
    "add_example": lambda draft: replace(draft, examples=(*draft.examples, TextsDraft())),
    "add_row": lambda draft: with_rows(draft, [TextsDraft()]),
    "add_response": lambda draft: replace(
        draft, responses=min(draft.responses + 1, _MOST_RESPONSES)
    ),
}
_AT: Mapping[str, Callable[[Draft, int], Draft]] = {
    "remove_option": lambda draft, at: replace(draft, options=_without(draft.options, at)),
    "remove_example": lambda draft, at: replace(draft, examples=_without(draft.examples, at)),
    "remove_row": lambda draft, at: replace(draft, rows=_without(draft.rows, at)),
    "remove_beside": lambda draft, at: replace(draft, beside=_without(draft.beside, at)),
    "edit_beside": _edit_beside,
    "row_to_example": _row_to_example,
    "copy_row": _copy_row,
}
"""Buttons that stand beside something; its place is behind a colon."""
_WITH: Mapping[str, tuple[str, Callable[[Draft, str], Draft]]] = {
    "add_field": ("new_field", _add_field),
    "use_criteria": ("proposed", _use_criteria),
    "compare_criteria": ("proposed", _compare_criteria),
}
"""Buttons that take what stands in another field."""
