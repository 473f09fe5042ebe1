"""The second ledger finds what it is there to find: each kind of fault, made by hand, and none where there is none."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from palaestra.envs.state import Overlay
from palaestra.envs.worlds.storefront.schema import Credit, Customer, Order, Payment, Product, Refund, Shipment
from palaestra.records import Row
from palaestra.rubrics import Allowance
from property.desks import make
from property.ledger import imbalances, unpermitted


@pytest.fixture
def settled() -> Overlay:
    env = make("storefront/cancel-order/0000")
    env.reset(seed=0)
    return env.instance.initial_state


def give_credit_without_a_record(state: Overlay) -> None:
    customer = state.find(Customer)[0]
    state.update(customer, credit_cents=customer.credit_cents + 1)


def record_a_credit_without_giving_it(state: Overlay) -> None:
    state.insert(replace(state.find(Credit)[0], id="CRD-99999"))


def refund_without_a_record(state: Overlay) -> None:
    payment = state.find(Payment, status="captured")[0]
    state.update(payment, refunded_cents=payment.refunded_cents + 1)


def pay_a_refund_that_no_payment_gave(state: Overlay) -> None:
    state.insert(replace(state.find(Refund, status="paid")[0], id="RFD-99999"))


def charge_again(state: Overlay) -> None:
    state.insert(replace(state.find(Payment)[0], id="PAY-99999"))


def find_a_piece_on_the_idle(state: Overlay) -> None:
    product = state.find(Product)[0]
    state.update(product, stock=product.stock + 1)


def cancel_and_keep_the_goods(state: Overlay) -> None:
    state.update(state.find(Order, status="processing")[0], status="cancelled")


def send_again_what_did_not_leave_the_idle(state: Overlay) -> None:
    parcel = state.find(Shipment)[0]
    state.insert(replace(parcel, id="SHP-99999", replaces=parcel.id))


@pytest.mark.parametrize(
    "fault",
    [
        give_credit_without_a_record,
        record_a_credit_without_giving_it,
        refund_without_a_record,
        pay_a_refund_that_no_payment_gave,
        charge_again,
        find_a_piece_on_the_idle,
        cancel_and_keep_the_goods,
        send_again_what_did_not_leave_the_idle,
    ],
)
def test_what_comes_from_nowhere_is_found(settled: Overlay, fault: Callable[[Overlay], None]) -> None:
    state = settled.fork()
    assert imbalances(settled, state, state.changes()) == []
    fault(state)
    assert len(imbalances(settled, state, state.changes())) >= 1


def test_a_change_needs_an_allowance_of_its_own_row_and_column(settled: Overlay) -> None:
    state = settled.fork()
    order, other = settled.find(Order)[:2]
    state.update(order, ship_city="Bonn", ship_street="Weg 1")
    city = Allowance(table="orders", key=order.id, values=(("ship_city", frozenset({"Bonn", "Köln"})),))
    street = Allowance(table="orders", key=order.id, columns=frozenset({"ship_street"}))
    assert unpermitted(state.changes(), [city, street]) == []
    assert len(unpermitted(state.changes(), [city])) == 1
    assert len(unpermitted(state.changes(), [street])) == 1
    assert len(unpermitted(state.changes(), [replace(city, key=other.id), street])) == 1
    assert len(unpermitted(state.changes(), [replace(city, values=(("ship_city", "Ulm"),)), street])) == 1


def test_new_rows_are_dealt_to_allowances_in_the_best_way_and_counted(settled: Overlay) -> None:
    state = settled.fork()
    credit = settled.find(Credit)[0]
    small, large = replace(credit, id="CRD-99998", amount_cents=1), replace(credit, id="CRD-99999", amount_cents=2)
    state.insert(small)
    state.insert(large)
    either = Allowance(table="credits")
    one = Allowance(table="credits", values=(("amount_cents", 1),))
    assert unpermitted(state.changes(), [either, one]) == []
    assert unpermitted(state.changes(), [replace(either, times=2)]) == []
    assert [change.after for change in unpermitted(state.changes(), [either])] == [large]
    assert [change.after for change in unpermitted(state.changes(), [one])] == [large]


def test_a_row_goes_only_where_it_may(settled: Overlay) -> None:
    state = settled.fork()
    parcel: Row = settled.find(Shipment)[0]
    state.delete(parcel)
    free = Allowance(table="shipments", key=parcel.id, columns=frozenset({"status"}))
    assert len(unpermitted(state.changes(), [free])) == 1
    assert unpermitted(state.changes(), [replace(free, deletes=True)]) == []
