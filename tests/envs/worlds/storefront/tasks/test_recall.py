"""A recall is decided by the notice: nothing else about an order tells whether its owner is owed something."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from statistics import mean

import gymnasium as gym

from palaestra.envs import Instance, ToolEnv
from palaestra.envs.kit import Section
from palaestra.envs.worlds.storefront.schema import Credit, Customer, Order, Shipment, Ticket

INSTANCES = 40
TIERS = ("bronze", "silver", "gold", "platinum")
ALIKE = 0.15
"""How far the means of owed and spared may lie apart, as a share of the range. Three standard errors are 0.17."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One order of a recall."""

    owed: bool
    position: float
    """Its place in the request, from 0 to 1."""
    known: bool
    """Whether its owner was given credit for another order."""
    order_rank: float
    """The rank of its id among those of the request, from 0 to 1."""
    owner_rank: float
    """The rank of its owner's id."""
    parcel_rank: float
    tier: float
    lifetime_rank: float
    days_inside: int
    """Days between its arrival and the nearest edge of the notice; less than 0 outside."""


@cache
def recalls() -> tuple[Instance, ...]:
    made = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(made, ToolEnv)
    return tuple(made.task_set.instance(f"storefront/recall/{index:04}") for index in range(INSTANCES))


def orders_of(instance: Instance) -> list[Order]:
    return [instance.initial_state.get(Order, key) for key in re.findall(r"ORD-\d+", instance.messages[1]["content"])]


def notice_days(instance: Instance) -> tuple[date, date]:
    body = instance.initial_state.get(Section, "NTC-1").body
    first, last = map(date.fromisoformat, re.findall(r"\d{4}-\d\d-\d\d", body))
    return first, last


@cache
def pieces() -> tuple[Piece, ...]:
    return tuple(piece for instance in recalls() for piece in pieces_of(instance))


def pieces_of(instance: Instance) -> Iterator[Piece]:
    rows, orders = instance.initial_state, orders_of(instance)
    owed = {str(call.arguments["order_id"]) for call in instance.oracle if call.tool == "give_credit"}
    first, last = notice_days(instance)
    owners = [rows.get(Customer, order.customer_id) for order in orders]
    parcels = [parcel for order in orders for parcel in rows.find(Shipment, order_id=order.id)]
    for place, (order, owner, parcel) in enumerate(zip(orders, owners, parcels, strict=True)):
        assert parcel.delivered is not None
        yield Piece(
            owed=order.id in owed,
            position=place / (len(orders) - 1),
            known=any(credit.order_id != order.id for credit in rows.find(Credit, customer_id=owner.id)),
            order_rank=rank(order.id, [o.id for o in orders]),
            owner_rank=rank(owner.id, [o.id for o in owners]),
            parcel_rank=rank(parcel.id, [p.id for p in parcels]),
            tier=TIERS.index(owner.tier) / (len(TIERS) - 1),
            lifetime_rank=rank(owner.lifetime_cents, [o.lifetime_cents for o in owners]),
            days_inside=min((parcel.delivered - first).days, (last - parcel.delivered).days),
        )


def rank(value: str | int, values: list[str] | list[int]) -> float:
    return sorted(values, key=lambda v: (len(v), v) if isinstance(v, str) else (0, v)).index(value) / (len(values) - 1)


def test_no_feature_of_an_order_but_its_arrival_tells_whether_it_is_owed() -> None:
    for feature in ("known", "position", "order_rank", "owner_rank", "parcel_rank", "tier", "lifetime_rank"):
        of_owed = mean(float(getattr(piece, feature)) for piece in pieces() if piece.owed)
        of_spared = mean(float(getattr(piece, feature)) for piece in pieces() if not piece.owed)
        assert abs(of_owed - of_spared) < ALIKE, feature


def test_owed_and_spared_both_hold_customers_with_and_without_earlier_credit() -> None:
    assert {(piece.owed, piece.known) for piece in pieces()} == {
        (owed, known) for owed in (True, False) for known in (True, False)
    }


def test_pieces_arrive_on_the_last_days_that_count_and_on_the_first_that_do_not() -> None:
    assert any(piece.owed and piece.days_inside == 0 for piece in pieces())
    assert any(not piece.owed and piece.days_inside == -1 for piece in pieces())
    assert all(piece.days_inside >= 0 for piece in pieces() if piece.owed)


def test_both_edges_of_a_notice_are_met() -> None:
    arrivals = [
        (parcel.delivered, *notice_days(instance))
        for instance in recalls()
        for order in orders_of(instance)
        for parcel in instance.initial_state.find(Shipment, order_id=order.id)
    ]
    day = timedelta(days=1)
    for edge in ("first", "last"):
        near = [(came, first) if edge == "first" else (came, last) for came, first, last in arrivals]
        outside = -day if edge == "first" else day
        assert any(came == counted for came, counted in near), edge
        assert any(came == counted + outside for came, counted in near), edge


def test_the_ticket_is_filed_under_a_customer_without_any_of_the_orders() -> None:
    for instance in recalls():
        found = re.search(r"TCK-\d+", instance.messages[1]["content"])
        assert found is not None
        filed = instance.initial_state.get(Ticket, found[0]).customer_id
        assert filed not in {order.customer_id for order in orders_of(instance)}


def test_the_reply_names_the_orders_that_were_credited_and_no_other() -> None:
    for instance in recalls():
        [reply] = [call.arguments["message"] for call in instance.oracle if call.tool == "reply"]
        credited = {str(call.arguments["order_id"]) for call in instance.oracle if call.tool == "give_credit"}
        assert set(re.findall(r"ORD-\d+", str(reply))) == credited
