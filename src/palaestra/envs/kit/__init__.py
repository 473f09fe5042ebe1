"""What worlds share, so that a world states only what it decides.

Cases and the tools that close them, people, rules and handbook variants, reading tools worked out from row classes,
refusal conditions and twins, dialogues, invariants, data for noise.
"""

from palaestra.envs.kit.cases import (
    CaseRow,
    CaseStatus,
    CaseType,
    Priority,
    RecordId,
    SectionId,
    closing_tools,
    reading_tools,
)
from palaestra.envs.kit.dialogue import ask, dialogue, draw_temper, offer, refuse, tell
from palaestra.envs.kit.draft import CaseDraft, permit_change
from palaestra.envs.kit.generated import Cursor
from palaestra.envs.kit.handbook import Section, amount, contents, count, enumerate_words, handbook_tools, section
from palaestra.envs.kit.names import CITIES, MAIL_HOSTS, STREETS
from palaestra.envs.kit.paging import PAGE, page
from palaestra.envs.kit.people import Person, approvers, draw_people, lowest_approvers
from palaestra.envs.kit.reading import get_tool, list_tool, search_tool
from palaestra.envs.kit.refusal import RefusalCondition, refusal_task
from palaestra.envs.kit.rules import CHANGED_FROM, HandbookVariants

__all__ = [
    "CHANGED_FROM",
    "CITIES",
    "MAIL_HOSTS",
    "PAGE",
    "STREETS",
    "CaseDraft",
    "CaseRow",
    "CaseStatus",
    "CaseType",
    "Cursor",
    "HandbookVariants",
    "Person",
    "Priority",
    "RecordId",
    "RefusalCondition",
    "Section",
    "SectionId",
    "amount",
    "approvers",
    "ask",
    "closing_tools",
    "contents",
    "count",
    "dialogue",
    "draw_people",
    "draw_temper",
    "enumerate_words",
    "get_tool",
    "handbook_tools",
    "list_tool",
    "lowest_approvers",
    "offer",
    "page",
    "permit_change",
    "reading_tools",
    "refusal_task",
    "refuse",
    "search_tool",
    "section",
    "tell",
]
