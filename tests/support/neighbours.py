"""Judges for the tests of adapters: they pass what has a year in it, and have no verdict on what is
odd.
"""

from __future__ import annotations

import re

from adjudge import AspectCritic, Criteria, CriteriaOption, DirectJudge

GOOD, BAD, ODD = "It was built in 1889.", "It is tall.", "odd"
OPTIONS = [
    CriteriaOption("none", score=1),
    CriteriaOption("some", score=2),
    CriteriaOption("all", score=3),
]
SCALE = Criteria("years", "Does it name a year?", OPTIONS)


def says(prompt: str) -> str:
    """A model."""
    judged = prompt.rpartition('field="response"')[2]
    if "odd" in judged:
        return "I would rather talk about the weather."
    passes = re.search(r"\b1889\b", judged) is not None
    option = ("PASS" if passes else "FAIL") if "PASS" in prompt else ("all" if passes else "none")
    return (
        f'{{"explanation": "it {"does" if passes else "does not"}", "selected_option": "{option}"}}'
    )


def critic() -> AspectCritic:
    return AspectCritic("The response names a year.", says, name="year", max_repairs=0)


def direct() -> DirectJudge:
    return DirectJudge(says, max_repairs=0)
