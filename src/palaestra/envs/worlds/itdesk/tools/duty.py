"""On-call shifts and changes of systems: hand over, schedule."""

from palaestra.envs.kit import Day
from palaestra.envs.worlds.itdesk.schema import ChangeId, OnCallShift, ShiftId, StaffId, StaffMember, SystemChange
from palaestra.errors import ToolRefusal
from palaestra.tools import ToolContext, tool


@tool(writes=True)
def hand_over_shift(context: ToolContext, on_call_shift_id: ShiftId, staff_member_id: StaffId) -> object:
    """Have a shift done by somebody else.

    Args:
        on_call_shift_id: The shift's id, such as SHF-3012.
        staff_member_id: Who does it now.
    """
    shift = context.state.get(OnCallShift, on_call_shift_id)
    context.state.get(StaffMember, staff_member_id)
    if shift.last < context.clock.today:
        raise ToolRefusal("over", f"{shift.id} is over")
    if shift.staff_member_id == staff_member_id:
        raise ToolRefusal("same_person", f"{shift.id} is {staff_member_id}'s already")
    handed = context.state.update(shift, staff_member_id=staff_member_id)
    context.show(handed)
    return handed


@tool(writes=True)
def schedule_change(context: ToolContext, system_change_id: ChangeId, day: Day) -> object:
    """Put a change on a day.

    Args:
        system_change_id: The change's id, such as CHG-412.
        day: The day.
    """
    change = context.state.get(SystemChange, system_change_id)
    if change.status == "done":
        raise ToolRefusal("wrong_status", f"{change.id} is done")
    if day <= context.clock.today:
        raise ToolRefusal("past_day", f"{day} is not after today")
    scheduled = context.state.update(change, status="scheduled", day=day)
    context.show(scheduled)
    return scheduled
