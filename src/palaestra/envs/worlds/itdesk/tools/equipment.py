"""Devices and licences: hand out, take back, report as lost; assign and reassign seats."""

from palaestra.envs.worlds.itdesk.schema import (
    DeviceId,
    LicenceAssignment,
    LicencePool,
    ManagedDevice,
    PoolId,
    SeatId,
    StaffId,
    StaffMember,
)
from palaestra.errors import ToolRefusal
from palaestra.tools import ToolContext, tool


@tool(writes=True)
def assign_device(context: ToolContext, managed_device_id: DeviceId, staff_member_id: StaffId) -> object:
    """Give a device from stock to a person.

    Args:
        managed_device_id: The device's id, such as DEV-8123.
        staff_member_id: The person's id.
    """
    device = context.state.get(ManagedDevice, managed_device_id)
    context.state.get(StaffMember, staff_member_id)
    if device.status != "in_stock":
        raise ToolRefusal("not_in_stock", f"{device.id} is {device.status}")
    assigned = context.state.update(device, status="assigned", staff_member_id=staff_member_id)
    context.show(assigned)
    return assigned


@tool(writes=True)
def take_back_device(context: ToolContext, managed_device_id: DeviceId) -> object:
    """Take a device back from its holder; it is retired.

    Args:
        managed_device_id: The device's id.
    """
    device = _find_held(context, managed_device_id)
    returned = context.state.update(device, status="retired", staff_member_id=None)
    context.show(returned)
    return returned


@tool(writes=True)
def report_lost(context: ToolContext, managed_device_id: DeviceId) -> object:
    """Report a device as lost; it is wiped as soon as it is online.

    Args:
        managed_device_id: The device's id.
    """
    lost = context.state.update(_find_held(context, managed_device_id), status="lost")
    context.show(lost)
    return lost


@tool(writes=True)
def assign_seat(context: ToolContext, licence_pool_id: PoolId, staff_member_id: StaffId) -> object:
    """Give a person a free seat of a product.

    Args:
        licence_pool_id: The pool's id.
        staff_member_id: The person's id.
    """
    pool = context.state.get(LicencePool, licence_pool_id)
    context.state.get(StaffMember, staff_member_id)
    if len(context.state.find(LicenceAssignment, pool_id=pool.id)) >= pool.seats:
        raise ToolRefusal("no_seat", f"all {pool.seats} seats of {pool.id} are assigned")
    seat = context.state.insert(
        LicenceAssignment(
            id=context.state.next_id(LicenceAssignment),
            pool_id=pool.id,
            product=pool.product,
            staff_member_id=staff_member_id,
            assigned=context.clock.today,
            last_used=context.clock.today,
        )
    )
    context.show(seat)
    return seat


@tool(writes=True)
def reassign_seat(context: ToolContext, licence_seat_id: SeatId, staff_member_id: StaffId) -> object:
    """Take a seat from whoever has it and give it to another person.

    Args:
        licence_seat_id: The seat's id, such as SEAT-9012.
        staff_member_id: Who has it from now on.
    """
    seat = context.state.get(LicenceAssignment, licence_seat_id)
    context.state.get(StaffMember, staff_member_id)
    if seat.staff_member_id == staff_member_id:
        raise ToolRefusal("same_person", f"{seat.id} is {staff_member_id}'s already")
    today = context.clock.today
    moved = context.state.update(seat, staff_member_id=staff_member_id, assigned=today, last_used=today)
    context.show(moved)
    return moved


def _find_held(context: ToolContext, key: str) -> ManagedDevice:
    device = context.state.get(ManagedDevice, key)
    if device.status != "assigned":
        raise ToolRefusal("not_assigned", f"{key} is {device.status}")
    return device
