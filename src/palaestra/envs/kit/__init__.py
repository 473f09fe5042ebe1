"""What worlds share, so that a world states only what it decides.

Cases and the tools that close them, people, rules and handbook variants, reading tools worked out from row classes,
refusal conditions and twins, dialogues, invariants, data for noise.
"""

from palaestra.envs.kit.calculation import calculate, calculation, percent_half_up
from palaestra.envs.kit.calendar import Day, draw_start, format_moment
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
from palaestra.envs.kit.dialogue import ask, dialogue, draw_temper, offer, refuse, tell, with_user
from palaestra.envs.kit.draft import CaseDraft, letters_of, permit_change
from palaestra.envs.kit.generated import Cursor
from palaestra.envs.kit.granting import Work, grant_task
from palaestra.envs.kit.handbook import (
    Section,
    amount,
    contents,
    count,
    enumerate_words,
    handbook_tools,
    parse_sections,
    section,
)
from palaestra.envs.kit.invariants import Rule, broken_rules, cases_name_their_policy_and_evidence, references_are_whole
from palaestra.envs.kit.letters import Letter, LetterKind, Surroundings, Voice
from palaestra.envs.kit.names import CITIES, MAIL_HOSTS, STREETS
from palaestra.envs.kit.noise import DESK_SYNONYMS, case_noise, note_about
from palaestra.envs.kit.paging import PAGE, page
from palaestra.envs.kit.people import Person, approvers, draw_people, lowest_approvers
from palaestra.envs.kit.reading import get_tool, list_tool, search_tool
from palaestra.envs.kit.refusal import RefusalCondition, follow_path, refusal_task
from palaestra.envs.kit.rules import CHANGED_FROM, HandbookVariants
from palaestra.envs.kit.transitions import transition_tool

__all__ = [
    "CHANGED_FROM",
    "CITIES",
    "DESK_SYNONYMS",
    "MAIL_HOSTS",
    "PAGE",
    "STREETS",
    "CaseDraft",
    "CaseRow",
    "CaseStatus",
    "CaseType",
    "Cursor",
    "Day",
    "HandbookVariants",
    "Letter",
    "LetterKind",
    "Person",
    "Priority",
    "RecordId",
    "RefusalCondition",
    "Rule",
    "Section",
    "SectionId",
    "Surroundings",
    "Voice",
    "Work",
    "amount",
    "approvers",
    "ask",
    "broken_rules",
    "calculate",
    "calculation",
    "case_noise",
    "cases_name_their_policy_and_evidence",
    "closing_tools",
    "contents",
    "count",
    "dialogue",
    "draw_people",
    "draw_start",
    "draw_temper",
    "enumerate_words",
    "follow_path",
    "format_moment",
    "get_tool",
    "grant_task",
    "handbook_tools",
    "letters_of",
    "list_tool",
    "lowest_approvers",
    "note_about",
    "offer",
    "page",
    "parse_sections",
    "percent_half_up",
    "permit_change",
    "reading_tools",
    "references_are_whole",
    "refusal_task",
    "refuse",
    "search_tool",
    "section",
    "tell",
    "transition_tool",
    "with_user",
]
