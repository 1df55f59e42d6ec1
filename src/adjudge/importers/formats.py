"""All formats, and which one a file is in: by its structure, never by its name."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.importers.alpaca_eval import ALPACA_EVAL
from adjudge.importers.arena_hard import ARENA_HARD
from adjudge.importers.auto_j import AUTO_J
from adjudge.importers.braintrust import BRAINTRUST
from adjudge.importers.deepeval import DEEPEVAL
from adjudge.importers.evalassist import EVALASSIST
from adjudge.importers.format import Format
from adjudge.importers.inspect import INSPECT
from adjudge.importers.judgebench import JUDGEBENCH
from adjudge.importers.langfuse import LANGFUSE
from adjudge.importers.langsmith import LANGSMITH
from adjudge.importers.llmbar import LLMBAR
from adjudge.importers.mlflow import MLFLOW
from adjudge.importers.mt_bench import MT_BENCH
from adjudge.importers.openai_evals import OPENAI_EVALS
from adjudge.importers.own import OWN
from adjudge.importers.pandalm import PANDALM
from adjudge.importers.phoenix import PHOENIX
from adjudge.importers.promptfoo import PROMPTFOO
from adjudge.importers.ragas import RAGAS
from adjudge.importers.records import RECORDS
from adjudge.importers.reife import REIFE
from adjudge.importers.rewardbench import REWARDBENCH
from adjudge.importers.source import Head
from adjudge.importers.vicuna import VICUNA
from adjudge.importers.xstest import XSTEST

_SUREST_FIRST = (
    *(
        OWN,
        PROMPTFOO,
        INSPECT,
        DEEPEVAL,
        EVALASSIST,
        OPENAI_EVALS,
        PHOENIX,
        LANGFUSE,
        LANGSMITH,
        BRAINTRUST,
        MLFLOW,
    ),
    *(
        JUDGEBENCH,
        ARENA_HARD,
        MT_BENCH,
        REWARDBENCH,
        AUTO_J,
        VICUNA,
        PANDALM,
        LLMBAR,
        ALPACA_EVAL,
        REIFE,
        XSTEST,
    ),
    *(RAGAS, RECORDS),
)
FORMATS: Mapping[str, Format] = {one.name: one for one in _SUREST_FIRST}
"""By what ``--as`` calls them."""


def detect(head: Head) -> Format | None:
    """The format of a file that begins like this; None where none fits."""
    return next((one for one in _SUREST_FIRST if one.matches(head)), None)
