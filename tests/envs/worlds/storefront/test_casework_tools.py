"""Tickets, accounts, notes: what each call writes, and every way in which it is refused."""

import pytest

from palaestra.envs.worlds.storefront.schema import Customer, Employee, InternalMessage, Product, Ticket
from palaestra.records import Json
from worlds.support_desk import SupportDesk

CLOSED = ["resolved", "declined", "escalated"]
GROUNDS: dict[str, Json] = {"policy_id": "RET-3", "evidence_id": "ORD-1001"}
HANDOVER: dict[str, Json] = {"team": "fraud", "priority": "high", **GROUNDS}
CLOSINGS: list[tuple[str, dict[str, Json]]] = [
    ("resolve_ticket", {}),
    ("decline_request", GROUNDS),
    ("escalate_ticket", HANDOVER),
]


@pytest.fixture
def desk() -> SupportDesk:
    return SupportDesk()


def ticket(desk: SupportDesk, status: str = "open") -> Ticket:
    return desk.pick(Ticket, lambda t: t.status == status)


# Tickets


def test_a_resolved_ticket_has_no_grounds(desk: SupportDesk) -> None:
    case = ticket(desk)
    assert desk.write("resolve_ticket", ticket_id=case.id) == {case.id: {"status": "resolved"}}


def test_a_declined_ticket_names_its_grounds(desk: SupportDesk) -> None:
    case = ticket(desk)
    assert desk.write("decline_request", ticket_id=case.id, **GROUNDS) == {case.id: {"status": "declined", **GROUNDS}}
    assert desk.read("get_ticket", ticket_id=case.id)["policy_id"] == "RET-3"


def test_an_escalated_ticket_goes_to_its_team(desk: SupportDesk) -> None:
    case = ticket(desk)
    assert case.priority != "high"
    desk.write("escalate_ticket", ticket_id=case.id, **HANDOVER)
    now = desk.state.get(Ticket, case.id)
    assert (now.status, now.team, now.priority) == ("escalated", "fraud", "high")
    assert (now.policy_id, now.evidence_id) == ("RET-3", "ORD-1001")


@pytest.mark.parametrize("status", CLOSED)
@pytest.mark.parametrize(("tool", "arguments"), CLOSINGS, ids=[name for name, _ in CLOSINGS])
def test_a_closed_ticket_is_not_closed_again(
    desk: SupportDesk, tool: str, arguments: dict[str, Json], status: str
) -> None:
    case = ticket(desk, status)
    refusal = desk.refused(tool, ticket_id=case.id, **arguments)
    assert (refusal.code, refusal.message) == ("not_open", f"{case.id} is {status}; reopen it first")


@pytest.mark.parametrize("tool", ["decline_request", "escalate_ticket"])
@pytest.mark.parametrize("evidence", ["ORD-0", "", "the order", "RET-99"])
def test_grounds_name_a_record_that_is_there(desk: SupportDesk, tool: str, evidence: str) -> None:
    arguments = {**dict(CLOSINGS)[tool], "evidence_id": evidence}
    refusal = desk.refused(tool, ticket_id=ticket(desk).id, **arguments)
    assert (refusal.code, refusal.message) == ("not_found", f"there is no record {evidence!r}")


@pytest.mark.parametrize("table", ["customers", "products", "order_lines", "shipments", "handbook", "promotions"])
def test_a_record_of_any_table_can_be_evidence(desk: SupportDesk, table: str) -> None:
    record = desk.state.base.listings[table][0]
    case = ticket(desk)
    desk.write("decline_request", ticket_id=case.id, policy_id="RET-3", evidence_id=record.id)
    assert desk.state.get(Ticket, case.id).evidence_id == record.id


def test_a_ticket_is_not_escalated_to_support_itself(desk: SupportDesk) -> None:
    refusal = desk.refused("escalate_ticket", ticket_id=ticket(desk).id, **{**HANDOVER, "team": "support"})
    assert refusal.code == "same_team"
    assert refusal.message == "the ticket is with support already; name another team"


@pytest.mark.parametrize(("tool", "arguments"), CLOSINGS, ids=[name for name, _ in CLOSINGS])
def test_a_reopened_ticket_is_as_it_was(desk: SupportDesk, tool: str, arguments: dict[str, Json]) -> None:
    case = desk.pick(Ticket, lambda t: t.status == "open" and (t.team, t.priority) == ("support", "normal"))
    before = desk.state.state_hash()
    desk.write(tool, ticket_id=case.id, **arguments)
    assert desk.state.state_hash() != before
    desk.write("reopen_ticket", ticket_id=case.id)
    assert desk.state.state_hash() == before


def test_an_open_ticket_is_not_reopened(desk: SupportDesk) -> None:
    case = ticket(desk)
    refusal = desk.refused("reopen_ticket", ticket_id=case.id)
    assert (refusal.code, refusal.message) == ("already_open", f"{case.id} is open")


# Accounts


def test_only_the_named_contact_data_change(desk: SupportDesk) -> None:
    customer = desk.pick(Customer)
    written = desk.write("update_customer", customer_id=customer.id, phone="+49 30 555", city="10115 Berlin")
    assert written == {customer.id: {"phone": "+49 30 555", "city": "10115 Berlin"}}


def test_changing_nothing_is_refused(desk: SupportDesk) -> None:
    refusal = desk.refused("update_customer", customer_id="CUS-1001")
    assert refusal.code == "nothing_to_change"
    assert refusal.message == "name at least one of email, phone, street and city"


def test_an_email_belongs_to_one_account(desk: SupportDesk) -> None:
    first, second = desk.state.find(Customer)[:2]
    refusal = desk.refused("update_customer", customer_id=second.id, email=first.email)
    assert (refusal.code, refusal.message) == ("email_taken", f"{first.email} belongs to another account")
    assert desk.write("update_customer", customer_id=first.id, email=first.email) == {}


def test_the_fraud_team_lifts_a_hold() -> None:
    desk = SupportDesk("fraud")
    held = desk.pick(Customer, lambda c: c.fraud_hold)
    assert desk.write("lift_fraud_hold", customer_id=held.id) == {held.id: {"fraud_hold": False}}


def test_the_warehouse_counts_the_idle() -> None:
    desk = SupportDesk("warehouse")
    product = desk.pick(Product)
    assert desk.write("adjust_stock", product_id=product.id, stock=7) == {product.id: {"stock": 7}}
    refusal = desk.refused("adjust_stock", product_id=product.id, stock=-1)
    assert refusal.message == "stock: Input should be greater than or equal to 0 (got -1)"


# Notes


def test_a_note_to_a_colleague_is_signed_dated_and_about_its_ticket(desk: SupportDesk) -> None:
    colleague, case, moment = desk.pick(Employee, lambda e: e.team == "fraud"), ticket(desk), desk.clock.now
    [key] = desk.write("send_internal_message", recipient_id=colleague.id, body="Please look.", ticket_id=case.id)
    note = desk.state.get(InternalMessage, key)
    assert (note.sender_id, note.recipient_id, note.ticket_id) == ("EMP-101", colleague.id, case.id)
    assert (note.body, note.sent) == ("Please look.", moment)


# Waiting


def test_a_wait_takes_days_and_changes_no_row(desk: SupportDesk) -> None:
    before = desk.read("wait_days", days=1)["now"]
    assert desk.read("wait_days", days=14)["now"] > before


@pytest.mark.parametrize("days", [0, -1, 15, 1.5, "soon"])
def test_a_wait_of_no_day_or_of_too_many_is_refused(desk: SupportDesk, days: Json) -> None:
    assert desk.refused("wait_days", days=days).code == "invalid_arguments"
