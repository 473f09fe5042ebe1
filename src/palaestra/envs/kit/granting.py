"""Requests that are granted: what has to be known, the work, and the end of the case, as one task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from palaestra.envs.kit.draft import C, CaseDraft
from palaestra.envs.task import Task, call
from palaestra.protocols import R
from palaestra.records import Json, Row, ToolCall
from palaestra.rubrics import Allowance, Criterion, expect_change


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(Generic[R]):
    """What a request asks for: one call that changes one row."""

    call: ToolCall
    row: R
    values: Mapping[str, Json | frozenset[str]]
    """What the row's columns must then hold."""
    id: str = "done"
    """The id of the criterion for that."""


def grant_task(
    desk: CaseDraft[C],
    case: C,
    prompt: str,
    work: Work[R],
    *,
    account: Row,
    opening: Sequence[ToolCall],
    facts: Sequence[Criterion],
    sections: Sequence[str] = (),
    message: str,
    allow: Sequence[Allowance] = (),
    alternatives: Sequence[Sequence[ToolCall]] = (),
) -> Task:
    """The task of doing what a request asks for, once all facts are known, and of resolving the case.

    Args:
        desk: The desk.
        case: The case.
        prompt: What the requester wrote.
        work: What they ask for.
        account: Whose account has to be looked at.
        opening: The calls that look up the account and the facts.
        facts: What has to be looked up, beside the account and the sections.
        sections: The sections of the handbook that have to be read.
        message: What who asked is told.
        allow: Changes permitted beside those.
        alternatives: Other right ways, each to its end.
    """
    known = [*facts, desk.account(account), *(desk.read(section) for section in sections)]
    done = expect_change(work.row, work.values, id=work.id, after=[fact.id for fact in known])
    read = [call("read_handbook", section_id=section) for section in sections]
    return Task(
        prompt=prompt,
        rubric=[*known, done, *desk.expect_resolved(case, after=[work.id])],
        allow=allow,
        oracle=[*opening, *read, work.call, *desk.closing_calls(case, message)],
        alternatives=alternatives,
    )
