"""Accounts and roles: open, unlock, freeze, close; grant, extend, revoke, delegate.

Tools refuse what cannot be. Whether it may be is for the handbook to say.
"""

from palaestra.envs.kit import Day
from palaestra.envs.worlds.itdesk.schema import (
    AccessApproval,
    AccessGrant,
    AccessRole,
    AccountId,
    ApprovalDelegation,
    ApprovalId,
    GrantId,
    RoleId,
    Scope,
    StaffId,
    StaffMember,
    UserAccount,
)
from palaestra.errors import ToolRefusal
from palaestra.tools import ToolContext, tool


@tool(writes=True)
def open_account(context: ToolContext, staff_member_id: StaffId, expires: Day | None = None) -> object:
    """Open an account for somebody who has none.

    Args:
        staff_member_id: The person's id.
        expires: The last day on which it can be used; leave it out where it never expires.
    """
    person = context.state.get(StaffMember, staff_member_id)
    if context.state.find(UserAccount, staff_member_id=staff_member_id):
        raise ToolRefusal("has_account", f"{staff_member_id} has an account already")
    opened = context.state.insert(
        UserAccount(
            id=context.state.next_id(UserAccount),
            staff_member_id=person.id,
            login=person.email.partition("@")[0],
            status="active",
            lockouts=0,
            expires=expires,
        )
    )
    context.show(opened)
    return opened


@tool(writes=True)
def unlock_account(context: ToolContext, user_account_id: AccountId) -> object:
    """Unlock a locked account.

    Args:
        user_account_id: The account's id, such as UA-2012.
    """
    account = context.state.get(UserAccount, user_account_id)
    if account.status != "locked":
        raise ToolRefusal("wrong_status", f"{account.id} is {account.status}, not locked")
    unlocked = context.state.update(account, status="active")
    context.show(unlocked)
    return unlocked


@tool(writes=True)
def freeze_account(context: ToolContext, user_account_id: AccountId) -> object:
    """Freeze an account: nobody can log in, and its data stay.

    Args:
        user_account_id: The account's id.
    """
    account = context.state.get(UserAccount, user_account_id)
    if account.status not in ("active", "locked"):
        raise ToolRefusal("wrong_status", f"{account.id} is {account.status} already")
    frozen = context.state.update(account, status="frozen")
    context.show(frozen)
    return frozen


@tool(writes=True)
def close_account(context: ToolContext, user_account_id: AccountId) -> object:
    """Close an account for good.

    Args:
        user_account_id: The account's id.
    """
    account = context.state.get(UserAccount, user_account_id)
    if account.status == "closed":
        raise ToolRefusal("wrong_status", f"{account.id} is closed already")
    closed = context.state.update(account, status="closed")
    context.show(closed)
    return closed


@tool(writes=True)
def grant_access(
    context: ToolContext,
    staff_member_id: StaffId,
    role_id: RoleId,
    approval_id: ApprovalId | None = None,
    owner_approval_id: ApprovalId | None = None,
    until: Day | None = None,
) -> object:
    """Give a person a role.

    Args:
        staff_member_id: The person's id.
        role_id: The role's id.
        approval_id: The line manager's approval, where the role needs it.
        owner_approval_id: The system owner's approval, where the role needs it.
        until: The last day; leave it out where the role is given without one.
    """
    context.state.get(StaffMember, staff_member_id)
    context.state.get(AccessRole, role_id)
    if context.state.find(AccessGrant, staff_member_id=staff_member_id, role_id=role_id, status="active"):
        raise ToolRefusal("has_role", f"{staff_member_id} has {role_id} already")
    for key in (approval_id, owner_approval_id):
        if key is not None:
            context.state.get(AccessApproval, key)
    granted = context.state.insert(
        AccessGrant(
            id=context.state.next_id(AccessGrant),
            staff_member_id=staff_member_id,
            role_id=role_id,
            granted=context.clock.today,
            until=until,
            status="active",
            approval_id=approval_id,
            owner_approval_id=owner_approval_id,
        )
    )
    context.show(granted)
    return granted


@tool(writes=True)
def extend_access(context: ToolContext, access_grant_id: GrantId, until: Day) -> object:
    """Give a grant another last day.

    Args:
        access_grant_id: The grant's id.
        until: Its new last day.
    """
    grant = _active(context, access_grant_id)
    if grant.until is None or until <= grant.until:
        raise ToolRefusal("no_extension", f"{grant.id} lasts until {grant.until}; name a later day")
    extended = context.state.update(grant, until=until)
    context.show(extended)
    return extended


@tool(writes=True)
def revoke_access(context: ToolContext, access_grant_id: GrantId) -> object:
    """Take a role from whoever has it.

    Args:
        access_grant_id: The grant's id.
    """
    revoked = context.state.update(_active(context, access_grant_id), status="revoked")
    context.show(revoked)
    return revoked


@tool(writes=True)
def record_delegation(
    context: ToolContext, staff_member_id: StaffId, delegate_id: StaffId, scope: Scope, first: Day, last: Day
) -> object:
    """Record that somebody decides in a line manager's place on some days.

    Args:
        staff_member_id: The line manager's id.
        delegate_id: Who stands in.
        scope: What they decide about.
        first: The first day.
        last: The last day.
    """
    for key in (staff_member_id, delegate_id):
        context.state.get(StaffMember, key)
    if last < first or staff_member_id == delegate_id:
        raise ToolRefusal("no_delegation", "name two people, and a last day that is not before the first one")
    recorded = context.state.insert(
        ApprovalDelegation(
            id=context.state.next_id(ApprovalDelegation),
            staff_member_id=staff_member_id,
            delegate_id=delegate_id,
            first=first,
            last=last,
            scope=scope,
        )
    )
    context.show(recorded)
    return recorded


def _active(context: ToolContext, key: str) -> AccessGrant:
    grant = context.state.get(AccessGrant, key)
    if grant.status != "active":
        raise ToolRefusal("wrong_status", f"{key} is {grant.status}")
    return grant
