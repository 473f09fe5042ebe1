"""Who may approve a refund, by the handbook (REF-2, WHO-2)."""

from palaestra.envs.kit import approvers, lowest_approvers
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Employee


def eligible_approvers(desk: Desk, cents: int, *, planting: bool = False) -> list[Employee]:
    """The colleagues who may approve a refund of `cents`, at work or not, by id.

    Args:
        desk: The desk.
        cents: The amount.
        planting: Whether by the rules by which rows are planted.
    """
    policy = desk.planting_policy if planting else desk.policy
    high = cents > policy.supervisor_limit_cents
    team, rank = ("finance", "manager") if high else ("support", "supervisor")
    found = desk.state.find(Employee, team=team, rank=rank)
    return [e for e in found if e.approval_limit_cents >= cents]


def stand_ins(desk: Desk, cents: int) -> list[Employee]:
    """Whom to ask: those at work whose limit covers the amount, and of them those that the handbook puts first."""
    if desk.policy.asked_first == "lowest":
        return lowest_approvers(eligible_approvers(desk, cents), cents)
    able = approvers(eligible_approvers(desk, cents), cents)
    highest = max((e.approval_limit_cents for e in able), default=0)
    return [e for e in able if e.approval_limit_cents == highest]


def at_work_covering(desk: Desk, cents: int) -> Employee:
    """Somebody at work who may approve the amount."""
    return approvers(eligible_approvers(desk, cents, planting=True), cents)[0]


def on_leave_covering(desk: Desk, cents: int) -> Employee:
    """Somebody on leave who may approve the amount once they are back."""
    return next(e for e in eligible_approvers(desk, cents, planting=True) if e.on_leave)


def newcomer(desk: Desk) -> Employee:
    """The support supervisor at work with the lowest limit: no more than an agent may pay alone."""
    supervisors = desk.state.find(Employee, team="support", rank="supervisor", on_leave=False)
    return min(supervisors, key=lambda e: e.approval_limit_cents)
