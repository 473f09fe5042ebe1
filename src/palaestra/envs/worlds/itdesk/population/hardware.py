"""Devices that people hold or that are in stock, and licences."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import get_args

from palaestra.envs.worlds.itdesk.policy import DeskRules
from palaestra.envs.worlds.itdesk.schema import (
    DeviceKind,
    LicenceAssignment,
    LicencePool,
    ManagedDevice,
    Site,
    StaffMember,
)
from palaestra.records import Row
from palaestra.seeding import Stream

_MODELS: dict[DeviceKind, tuple[str, ...]] = {
    "laptop": ("Arden 14", "Arden 16", "Corvus 13"),
    "phone": ("Pebble 5", "Pebble 6"),
    "monitor": ("Vista 27", "Vista 32"),
    "token": ("Keyfob 2",),
}
_PRODUCTS = ("Drawdesk", "Chartsmith", "Mindmapper", "Videocut", "Codelens", "Planboard", "Signwell", "Translingo")
_STOCKED: tuple[DeviceKind, ...] = ("laptop", "phone", "monitor")
_IN_STOCK = 3


def draw_devices(
    stream: Stream, today: date, rules: DeskRules, staff: Sequence[StaffMember]
) -> Iterator[ManagedDevice]:
    """A laptop for everybody, for some a phone, a token and a monitor, and the stock of each site."""
    number = 0

    def device(kind: DeviceKind, site: Site, holder: str | None, days: int) -> ManagedDevice:
        nonlocal number
        number += 1
        return ManagedDevice(
            id=f"DEV-{8000 + number}",
            staff_member_id=holder,
            kind=kind,
            model=stream.choice(_MODELS[kind]),
            site=site,
            status="in_stock" if holder is None else "assigned",
            bought=today - timedelta(days=days),
            encrypted=kind in ("laptop", "phone"),
        )

    for one in staff:
        if one.status != "active":
            continue
        yield device("laptop", one.site, one.id, stream.between(100, rules.laptop_days + 200))
        if stream.chance(60):
            yield device("phone", one.site, one.id, stream.between(100, 800))
        if stream.chance(25):
            yield device("token", one.site, one.id, stream.between(100, 800))
        if stream.chance(40):
            yield device("monitor", one.site, one.id, stream.between(100, 1_500))
    for site in get_args(Site):
        for kind in _STOCKED:
            ages = stream.sample(range(5, 90), _IN_STOCK)
            for age in ages:
                yield device(kind, site, None, age)


def draw_pools(stream: Stream, today: date, staff: Sequence[StaffMember]) -> Iterator[Row]:
    """The products with licences, each with free seats and with seats in use."""
    users = [one for one in staff if one.status == "active"]
    number = 0
    for place, product in enumerate(_PRODUCTS):
        holders = stream.sample(users, stream.between(5, 7))
        pool = LicencePool(id=f"POOL-{31 + place}", product=product, seats=len(holders) + stream.between(1, 3))
        yield pool
        for holder in holders:
            number += 1
            assigned = today - timedelta(days=stream.between(150, 400))
            used = today - timedelta(days=stream.between(0, 25))
            yield LicenceAssignment(
                id=f"SEAT-{9000 + number}",
                pool_id=pool.id,
                product=product,
                staff_member_id=holder.id,
                assigned=assigned,
                last_used=used,
            )
