"""Titles for keys in the data of pages: statuses, flags, tabs."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.messages import Message, term
from adjudge.runs.view.template import OUTCOME_NAMES

LANGUAGES = ("en", "ru")
NAMES: Mapping[str, Mapping[str, str]] = {
    "action": {
        "rephrase": Message("Rephrase"),
        "regenerate": Message("Regenerate"),
        "shorten": Message("Shorten"),
        "elaborate": Message("Elaborate"),
        "counterfactual": Message("Counterfactual"),
        "custom": Message("Do that"),
    },
    "against best": {
        "best": term("page", "best"),
        "worse": term("page", "worse"),
        "cannot tell": term("page", "cannot tell"),
    },
    "against base": {
        "better": term("page", "better"),
        "worse": term("page", "worse"),
        "cannot tell": term("page", "cannot tell"),
    },
    "column": {
        "text": Message("Text"),
        "criterion": Message("Criterion"),
        "verdict": Message("Verdict"),
        "score": Message("Score"),
        "people": Message("People"),
        "votes": Message("Votes"),
        "agreement": Message("Agreement"),
        "probability": Message("Probability"),
        "tokens": Message("Tokens"),
        "seconds": Message("Seconds"),
    },
    "export": {
        "python": Message("Python script"),
        "notebook": Message("Notebook"),
        "criteria": Message("Criteria"),
        "csv": Message("Instances as CSV"),
        "eval": "eval.yaml",
        "evalassist": "EvalAssist",
    },
    "flag": {
        "tie": Message("tie"),
        "bias": Message("depends on order"),
        "low": term("flag", "unsure"),
        "split": Message("votes split"),
        "disagree": Message("models disagree"),
        "repaired": Message("asked again"),
        "shortened": Message("shortened"),
    },
    "gate": {
        "holds": Message("gate passed"),
        "failed": Message("gate failed"),
        "inconclusive": Message("gate undecided"),
    },
    "group": {
        "question": Message("by benchmark and question"),
        "model": Message("by model"),
        "criteria": Message("by criteria"),
    },
    "kind": {"direct": Message("one text"), "pairwise": Message("comparison")},
    "length": {
        "short": Message("1–2 sentences"),
        "medium": Message("3–5 sentences"),
        "long": Message("6–10 sentences"),
    },
    "outcome": OUTCOME_NAMES,
    "height": {
        "low": term("row height", "low"),
        "middle": term("row height", "middle"),
        "high": term("row height", "high"),
        "whole": Message("whole texts"),
    },
    "outputs": {
        "all": Message("All rows"),
        "differ": Message("Different outcomes"),
        "failed": Message("A score is missing"),
        "lone": Message("Not in all"),
    },
    "queue": {
        "random": term("queue", "random"),
        "random-uncertain": Message("at random, unsure verdicts more often"),
        "random-disagreement": Message("at random, divided votes more often"),
        "random-stratified": Message("at random, by verdict and column"),
        "disagreement": Message("disagreements first"),
        "learn": Message("to teach a judge"),
        "low-confidence": Message("low confidence first"),
        "failed": term("queue", "failed"),
        "suspicious": Message("suspicious ones"),
        "conflicts": Message("annotators differ"),
        "listed": Message("the rows of a list"),
    },
    "severity": {"error": term("page", "error"), "warning": term("page", "warning")},
    "state": {"complete": term("run", "complete"), "not finished": Message("not finished")},
    "stand": {
        "agree": Message("people agree with the judge"),
        "differ": Message("people disagree with the judge"),
        "open": Message("people undecided"),
    },
    "status": {
        "scored": term("page", "scored"),
        "abstained": term("page", "abstained"),
        "failed": term("page", "failed"),
        "skipped": term("page", "skipped"),
    },
    "task": {
        "question answering": Message("answers to questions"),
        "summary": Message("summaries"),
        "writing": Message("their own texts"),
        "dialogue": Message("turns of a conversation"),
    },
    "tab": {
        "changed": Message("Changed"),
        "higher": Message("Higher in B"),
        "lower": Message("Lower in B"),
        "only_a_right": Message("Only A right"),
        "only_b_right": Message("Only B right"),
        "both_failed": Message("Both failed"),
        "only_a": Message("Only in A"),
        "only_b": Message("Only in B"),
    },
}


def name_of(kind: str, key: object) -> object:
    """Return the title for ``key``, or the key itself if it has none."""
    return NAMES[kind].get(str(key), key)


def state_of(run: str) -> str:
    """Return the title for a run's final state."""
    return NAMES["state"].get(run) or run
