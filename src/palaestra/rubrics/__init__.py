"""The judgement of work: evidence, criteria, rubrics, and the checklist that turns them into a dense, exact reward."""

if __name__ != "palaestra.rubrics":
    raise ImportError(f"this folder is palaestra.rubrics, not {__name__}; write `import palaestra.rubrics`")

from palaestra.rubrics.attempts import Rights, forbid_insistence, forbid_prying, forbid_trespass
from palaestra.rubrics.checklist import Checklist, ChecklistSnapshot
from palaestra.rubrics.criterion import HARM, MET, UNMET, Allowance, Check, Criterion
from palaestra.rubrics.dialogue import expect_message, expect_question, expect_user_message
from palaestra.rubrics.evidence import WORLD, Evidence
from palaestra.rubrics.expected import Close, UnorderedItems, close, in_any_order
from palaestra.rubrics.guards import guards
from palaestra.rubrics.library import (
    expect_answer,
    expect_any,
    expect_call,
    expect_change,
    expect_read,
    expect_row,
    forbid_call,
    forbid_guessed_ids,
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
    "Rights",
    "Rubric",
    "TurnLog",
    "UnorderedItems",
    "close",
    "expect_answer",
    "expect_any",
    "expect_call",
    "expect_change",
    "expect_message",
    "expect_question",
    "expect_read",
    "expect_row",
    "expect_user_message",
    "forbid_call",
    "forbid_guessed_ids",
    "forbid_insistence",
    "forbid_prying",
    "forbid_trespass",
    "guards",
    "in_any_order",
    "rescore",
]
