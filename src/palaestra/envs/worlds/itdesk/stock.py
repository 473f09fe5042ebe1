"""Devices from the stock of a site: what is looked up, and what is handed out."""

from collections.abc import Sequence
from dataclasses import dataclass

from palaestra.envs.task import call
from palaestra.envs.worlds.itdesk.desk import ITDeskDraft
from palaestra.envs.worlds.itdesk.schema import DeviceKind, ManagedDevice, StaffMember
from palaestra.records import ToolCall
from palaestra.rubrics import Criterion, expect_change, expect_read


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOut:
    """A device that goes from stock to a person, and the one that comes back for it."""

    work: tuple[ToolCall, ...]
    facts: tuple[Criterion, ...]
    """What has to be known of the stock."""
    done: tuple[Criterion, ...]


def stock_of(desk: ITDeskDraft, kind: DeviceKind, asker: StaffMember) -> list[ManagedDevice]:
    """The devices of a kind in stock at somebody's site."""
    return desk.state.find(ManagedDevice, kind=kind, site=asker.site, status="in_stock")


def look_at_devices(asker: StaffMember) -> ToolCall:
    """The call that lists what somebody holds."""
    return call("get_devices", staff_member_id=asker.id)


def look_at_stock(kind: DeviceKind, asker: StaffMember) -> ToolCall:
    """The call that lists what is in stock at somebody's site."""
    return call("search_devices", kind=kind, site=asker.site, status="in_stock")


def hand_out(
    desk: ITDeskDraft, asker: StaffMember, stock: Sequence[ManagedDevice], old: ManagedDevice | None = None
) -> HandOut:
    """Give somebody the device that the handbook puts first, and take the old one back."""
    ordered = sorted(stock, key=lambda device: device.bought)
    new = ordered[0] if desk.rules.stock_first == "longest" else ordered[-1]
    calls = [call("assign_device", managed_device_id=new.id, staff_member_id=asker.id)]
    done = [expect_change(new, {"status": "assigned", "staff_member_id": asker.id}, id="assigned")]
    if old is not None:
        calls.append(call("take_back_device", managed_device_id=old.id))
        done.append(expect_change(old, {"status": "retired", "staff_member_id": None}, id="returned"))
    fields = ["kind", "site", "status", "bought"]
    return HandOut(
        work=tuple(calls),
        facts=(expect_read(stock[0], *stock[1:], fields=fields, id="saw-stock"),),
        done=tuple(done),
    )
