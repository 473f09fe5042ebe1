"""An inn's front desk, the smallest world on the kit: guests ask to have a booking cancelled, the handbook decides.

Three tables (guests, bookings, cases) and the handbook, eight tools, two families with twins, two rules that change.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from functools import partial
from typing import Annotated, ClassVar, Literal

from palaestra.envs import PopulatedWorld, Task, World, call, family, kit
from palaestra.envs.state import Base, Schema
from palaestra.record import record
from palaestra.records import References, Row, Searchable
from palaestra.rubrics import expect_read
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, Toolbox

GuestId = Annotated[str, References("guests")]
BookingStatus = Literal["requested", "confirmed", "cancelled"]


@record
class Guest(Row):
    table: ClassVar[str] = "guests"
    prefix: ClassVar[str] = "GST-"
    name: Annotated[str, Searchable()]
    email: str


@record
class Booking(Row):
    table: ClassVar[str] = "bookings"
    prefix: ClassVar[str] = "BKG-"
    guest_id: GuestId
    arrival: date
    nights: int
    status: BookingStatus


@record
class Case(kit.CaseRow):
    guest_id: GuestId
    team: Literal["desk", "owner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    cancel_days: int = 3
    most_nights: int = 10


CHANGES = {"cancel_days": (2, 5, 7), "most_nights": (7, 12)}
HANDBOOK = """
## CNL-1 Cancelling
A booking can be cancelled until {cancel_days} days before the arrival; later, the request is declined by this section.
## CNF-1 Confirming
A booking of at most {most_nights} nights is confirmed; a longer one is declined by this section.
"""
SCHEMA = Schema(Guest, Booking, Case, kit.Section)
CASES = kit.CaseType(kind=Case, requester=Guest, team="desk", evidence=(Booking,))
TOOLBOX = Toolbox(
    [
        kit.reading_tools(CASES)[0],
        kit.get_tool(Guest, example="GST-3"),
        kit.list_tool(Booking, Guest),
        kit.handbook_tools(number="CNL-1", words="cancel")[1],
        kit.transition_tool(Booking, "cancel_booking", "Cancel a booking.", before="confirmed", after="cancelled"),
        kit.transition_tool(Booking, "confirm_booking", "Confirm a booking.", before="requested", after="confirmed"),
        *kit.closing_tools(CASES)[:2],
        *CONTROL,
    ],
    prose_tool="reply",
)


def populate(seed: int, rules: Rules) -> Base:
    """The inn of a world seed: twelve guests with two bookings each."""
    stream, today = Stream.root("inn", seed), kit.draw_start("inn", seed).date()
    rows: list[Row] = [*kit.parse_sections(HANDBOOK.format(**asdict(rules)))]
    for n, person in enumerate(kit.draw_people(stream.split("people"), 12), 1):
        rows.append(Guest(id=f"GST-{n}", name=person.name, email=f"{person.mailbox}@mail.example"))
        for number in (2 * n, 2 * n + 1):
            status: BookingStatus = "requested" if number % 2 else "confirmed"
            arrival, nights = today + timedelta(days=rules.cancel_days + stream.below(40)), stream.between(1, 7)
            rows.append(Booking(id=f"BKG-{number}", guest_id=f"GST-{n}", arrival=arrival, nights=nights, status=status))
    return Base(SCHEMA, rows)


def bookings_are_ahead(populated: PopulatedWorld) -> Iterator[str]:
    for booking in populated.state.find(Booking):
        if booking.arrival < populated.today:
            yield f"{booking.id}: begins on {booking.arrival}, before {populated.today}"


class Desk(kit.CaseDraft[Case]):
    cases = CASES
    rules: Rules


def settle(desk: Desk, booking: Booking, body: str, tool: str, status: str, section: str) -> Task:
    """Do what is asked for; in the twin, refuse it by the section."""
    guest = desk.state.get(Guest, booking.guest_id)
    case = desk.open_case(guest, "My booking")
    prompt, facts = desk.message(case, body.format(booking.id)), [expect_read(booking, id="saw-booking")]
    shown = [call("get_guest", guest_id=guest.id), call("get_bookings", guest_id=guest.id)]
    look = [call("get_case", case_id=case.id), *shown]
    no = kit.RefusalCondition(section=section, evidence=booking, facts=(*facts,), message="Our rules forbid it.")
    if desk.twin:
        return kit.refusal_task(desk, case, prompt, no, account=guest, opening=look)
    work = kit.Work(call=call(tool, booking_id=booking.id), row=booking, values={"status": status})
    return kit.grant_task(
        desk, case, prompt, work, account=guest, opening=look, facts=facts, sections=[section], message="Granted."
    )


@family("inn/cancel", level=1, traits=("write",), twin=True)
def cancel(desk: Desk) -> Task:
    """A booking is cancelled in time."""
    booking = desk.pick(Booking, lambda one: one.status == "confirmed")
    if desk.twin:
        booking = desk.state.update(booking, arrival=desk.today + timedelta(days=desk.rules.cancel_days - 1))
    return settle(desk, booking, "Please cancel {}.", "cancel_booking", "cancelled", "CNL-1")


@family("inn/confirm", level=1, traits=("write",), twin=True)
def confirm(desk: Desk) -> Task:
    """A booking is confirmed unless it is too long."""
    booking = desk.pick(Booking, lambda one: one.status == "requested")
    if desk.twin:
        booking = desk.state.update(booking, nights=desk.rules.most_nights + 1)
    return settle(desk, booking, "Please confirm {}.", "confirm_booking", "confirmed", "CNF-1")


BRIEFING = "You are an inn's desk. Decide by the handbook (CNL-1 cancel, CNF-1 confirm), reply, close the case, finish."
WORLD = World(
    name="inn",
    schema=SCHEMA,
    populate=populate,
    start=partial(kit.draw_start, "inn"),
    toolbox=TOOLBOX,
    role="agent",
    actor="EMP-1",
    briefing=lambda now: f"It is {kit.format_moment(now)}. {BRIEFING}",
    draft=Desk,
    families=__name__,
    rules=kit.HandbookVariants(stream="inn-rules", own=Rules(), changes=CHANGES),
    invariants=(bookings_are_ahead,),
)
