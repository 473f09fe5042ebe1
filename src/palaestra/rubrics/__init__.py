"""How work is judged: evidence, criteria, rubrics, and the checklist that turns them into a dense exact reward."""

if __name__ != "palaestra.rubrics":
    raise ImportError(f"this folder is palaestra.rubrics, not {__name__}; write `import palaestra.rubrics`")

from palaestra.rubrics.checklist import Checklist, ChecklistSnapshot
from palaestra.rubrics.criterion import HARM, MET, UNMET, Allowance, Check, Criterion
from palaestra.rubrics.dialogue import asked, heard, informed
from palaestra.rubrics.evidence import WORLD, Evidence
from palaestra.rubrics.expected import Close, Unordered, close, unordered
from palaestra.rubrics.library import (
    answered,
    called,
    changed,
    collateral,
    created,
    either,
    guards,
    listed,
    never,
    saw,
    ungrounded,
)
from palaestra.rubrics.rescore import TurnLog, rescore
from palaestra.rubrics.rubric import TOTAL, Rubric

__all__ = [
    "HARM",
    "MET",
    "TOTAL",
    "UNMET",
    "WORLD",
    "Allowance",
    "Check",
    "Checklist",
    "ChecklistSnapshot",
    "Close",
    "Criterion",
    "Evidence",
    "Rubric",
    "TurnLog",
    "Unordered",
    "answered",
    "asked",
    "called",
    "changed",
    "close",
    "collateral",
    "created",
    "either",
    "guards",
    "heard",
    "informed",
    "listed",
    "never",
    "rescore",
    "saw",
    "ungrounded",
    "unordered",
]
