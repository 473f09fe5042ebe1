"""Several tickets about one matter: only the days on which they were opened tell which one is worked."""

from functools import cache

from palaestra.envs import Instance, TaskSet, bundled_tasks, open_world
from palaestra.envs.worlds.storefront.schema import Ticket


@cache
def tasks() -> TaskSet:
    return bundled_tasks(open_world("storefront"))


@cache
def earlier(index: int) -> tuple[Instance, list[Ticket]]:
    """A task, and its three earlier tickets in the order of their numbers: two doubles and another matter."""
    instance = tasks().instance(f"storefront/duplicate-tickets/{index:04d}")
    customer = next(str(call.arguments["customer_id"]) for call in instance.oracle if call.tool == "get_customer")
    found = instance.initial_state.find(Ticket, customer_id=customer, status="open")
    asked = [t for t in found if t.subject.startswith(("Please cancel ORD", "Cancel ORD", "Invoice for ORD"))]
    return instance, sorted(asked, key=lambda ticket: ticket.id)


def doubles(index: int) -> list[Ticket]:
    return [ticket for ticket in earlier(index)[1] if not ticket.subject.startswith("Invoice")]


def test_the_later_mail_is_the_one_that_was_written_once_more() -> None:
    for index in range(30):
        older, later = sorted(doubles(index), key=lambda ticket: ticket.opened)
        assert "once more" in later.subject
        assert "once more" not in older.subject


def test_neither_numbers_nor_priorities_tell_which_ticket_is_older() -> None:
    olders = [min(doubles(index), key=lambda ticket: ticket.opened) for index in range(30)]
    assert {older.priority for older in olders} == {"low", "normal", "high"}
    assert {doubles(index).index(older) for index, older in enumerate(olders)} == {0, 1}


def test_the_other_matter_stands_at_any_place() -> None:
    places = [[t.subject.startswith("Invoice") for t in earlier(index)[1]].index(True) for index in range(30)]
    assert set(places) == {0, 1, 2}
