"""A customer wrote three times about one order: the oldest ticket is worked, the others are closed as its doubles."""

from datetime import datetime

from palaestra.envs.kit import permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.planting import has_room, send_today
from palaestra.envs.worlds.storefront.population.cases import Priority
from palaestra.envs.worlds.storefront.replies import send_back_later
from palaestra.envs.worlds.storefront.schema import Customer, Order, Ticket
from palaestra.records import ToolCall
from palaestra.rubrics import Allowance, Criterion, expect_change, expect_read, forbid_call

PRIORITIES: tuple[Priority, ...] = ("low", "normal", "high")


@family("storefront/duplicate-tickets", level=3, traits=("write", "multi-hop", "triage"), twin=True)
def duplicate_tickets(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        waited = (desk.start - order.placed).total_seconds() > 7_200
        roomy = has_room(desk, desk.customer(order), order.total_cents)
        return order.status == "processing" and waited and roomy and desk.plain(order)

    order = desk.pick(Order, fits, what="order that has not left")
    customer, request = desk.customer(order), requests.cancel_again(desk, order)
    oldest, double, invoice = earlier_tickets(desk, customer, order)
    first, second = sorted((oldest, double), key=lambda t: t.id)
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    facts = [
        expect_read(order, fields=["status"], id="saw-order"),
        desk.account(customer),
        expect_read(oldest, id="saw-oldest"),
        expect_read(double, id="saw-double"),
    ]
    opening = [
        call("get_order", order_id=order.id),
        call("get_customer", customer_id=customer.id),
        call("search_tickets", customer_id=customer.id, status="open"),
        call("get_ticket", ticket_id=first.id),
        call("get_ticket", ticket_id=second.id),
        call("read_handbook", section_id="TCK-2"),
    ]
    main, doubles = (oldest, [double, ticket]) if desk.policy.worked_ticket == "first" else (ticket, [oldest, double])
    kept_open = forbid_call(
        "resolve_ticket",
        "decline_request",
        arguments={"ticket_id": invoice.id},
        id="never-the-other-matter",
        text="Closed the ticket about another wish, which is a matter of its own.",
    )
    if desk.twin:
        return refusal(desk, prompt, order, [kept_open, *facts], opening, main=main, doubles=doubles)
    read = call("read_handbook", section_id="SHP-2")
    work = [call("cancel_order", order_id=order.id), call("resolve_ticket", ticket_id=main.id)]
    end = [call("reply", message=f"{order.id} is cancelled; you will not be charged."), call("finish")]
    return Task(
        prompt=prompt,
        rubric=[
            kept_open,
            *facts,
            desk.read("SHP-2"),
            expect_change(
                order, {"status": "cancelled"}, id="cancelled", after=["saw-order", "saw-account", "read-SHP-2"]
            ),
            expect_change(main, {"status": "resolved"}, id="resolved", after=["cancelled", "saw-oldest"]),
            desk.read("TCK-2"),
            *expect_closed_doubles(main, doubles),
            desk.expect_reply(after=["cancelled"]),
        ],
        allow=[
            *(permit_change(payment, "status") for payment in desk.payments(order)),
            *(Allowance(table=parcel.table, key=parcel.id, deletes=True) for parcel in desk.shipments(order)),
            *(permit_change(desk.product(line), "stock") for line in desk.lines(order)),
        ],
        oracle=[*opening, read, *work, *closing_doubles(main, doubles), *end],
        alternatives=[
            [
                call("get_ticket", ticket_id=ticket.id),
                *opening[1:],
                *closing_doubles(main, doubles[::-1]),
                opening[0],
                read,
                *work,
                *end,
            ]
        ],
    )


def earlier_tickets(desk: Desk, customer: Customer, order: Order) -> tuple[Ticket, Ticket, Ticket]:
    """Add two tickets about the same wish, the older one first, and one about another.

    Their numbers and priorities do not tell which one is older, and the third may stand at any place among them.
    """
    subjects = (f"Please cancel {order.id}", f"Cancel {order.id}, once more", f"Invoice for {order.id} to my company")
    third = desk.stream.between(1, 3)
    parts = [*(part for part in (1, 2, 3) if part != third), third]
    priorities = desk.stream.permutation(PRIORITIES)
    made: dict[int, Ticket] = {}
    for n in desk.stream.permutation(range(3)):
        opened = order.placed + (desk.start - order.placed) * parts[n] / 5
        made[n] = waiting(desk, customer, subjects[n], opened, priorities[n])
    return made[0], made[1], made[2]


def waiting(desk: Desk, customer: Customer, subject: str, opened: datetime, priority: Priority) -> Ticket:
    """Add a ticket that nobody has worked on."""
    return desk.state.insert(
        Ticket(
            id=desk.state.next_id(Ticket),
            customer_id=customer.id,
            subject=subject,
            opened=opened.replace(microsecond=0),
            status="open",
            priority=priority,
            team="support",
            policy_id=None,
            evidence_id=None,
        )
    )


def expect_closed_doubles(main: Ticket, doubles: list[Ticket]) -> list[Criterion]:
    """Expect that each double was closed with the ticket that is worked as the record that shows why."""
    grounds = {"status": "declined", "policy_id": "TCK-2", "evidence_id": main.id}
    facts = ["read-TCK-2", "saw-oldest", "saw-double"]
    return [expect_change(ticket, grounds, id=f"closed-{n}", after=facts) for n, ticket in enumerate(doubles, 1)]


def closing_doubles(main: Ticket, doubles: list[Ticket]) -> list[ToolCall]:
    """The calls that close them."""
    return [call("decline_request", ticket_id=ticket.id, policy_id="TCK-2", evidence_id=main.id) for ticket in doubles]


def refusal(
    desk: Desk,
    prompt: str,
    order: Order,
    facts: list[Criterion],
    opening: list[ToolCall],
    *,
    main: Ticket,
    doubles: list[Ticket],
) -> Task:
    """The order left this morning: the ticket that is worked is declined, and the others are doubles all the same."""
    send_today(desk, order)
    read = call("read_handbook", section_id="SHP-2")
    decline = call("decline_request", ticket_id=main.id, policy_id="SHP-2", evidence_id=order.id)
    told = f"It has left the warehouse, so it cannot be cancelled any more. {send_back_later(desk, order)}"
    end = [call("reply", message=told), call("finish")]
    return Task(
        prompt=prompt,
        rubric=[
            *facts,
            *desk.expect_declined(main, "SHP-2", order, after=["saw-order", "saw-account", "saw-oldest"]),
            desk.read("TCK-2"),
            *expect_closed_doubles(main, doubles),
        ],
        oracle=[*opening, read, decline, *closing_doubles(main, doubles), *end],
        alternatives=[[read, *opening, *closing_doubles(main, doubles[::-1]), decline, *end]],
    )
