"""Orders, parcels, returns, warranty claims, builds: what each call writes, and every way in which it is refused."""

from datetime import timedelta

import pytest

from palaestra.envs.worlds.storefront.policy import paid_cents
from palaestra.envs.worlds.storefront.schema import Build, Order, OrderLine, Product, Return, Shipment, WarrantyClaim
from palaestra.envs.worlds.storefront.tools.fulfilment import REPLACEMENT_DAYS
from palaestra.records import Json
from worlds.support_desk import SupportDesk

SENT = ["shipped", "delivered", "cancelled"]


@pytest.fixture
def desk() -> SupportDesk:
    return SupportDesk()


def processing(desk: SupportDesk) -> Order:
    """An order that has not left, with several pieces in a line."""
    several = {line.order_id for line in desk.state.find(OrderLine) if line.quantity > 1}
    return desk.pick(Order, lambda o: o.status == "processing" and o.id in several)


def returning(line: OrderLine, quantity: int = 1, fee_cents: int = 0, reason: str = "changed_mind") -> dict[str, Json]:
    return {"line_id": line.id, "quantity": quantity, "reason": reason, "fee_cents": fee_cents}


def claim(line: OrderLine, **changed: Json) -> dict[str, Json]:
    return {"line_id": line.id, "fault": "noise", "remedy": "repair", **changed}


def unclaimed(desk: SupportDesk) -> OrderLine:
    return desk.pick(OrderLine, lambda x: desk.is_untouched(x) and not desk.state.find(WarrantyClaim, line_id=x.id))


# Orders


def test_a_cancelled_order_voids_its_payment_drops_its_parcel_and_refills_the_idle(desk: SupportDesk) -> None:
    order = processing(desk)
    lines = desk.state.find(OrderLine, order_id=order.id)
    stock = {line.product_id: desk.product(line).stock + line.quantity for line in lines}
    payment, parcel = desk.payment(order), desk.parcel(order)
    assert desk.write("cancel_order", order_id=order.id) == {
        payment.id: {"status": "voided"},
        parcel.id: None,
        **{product: {"stock": pieces} for product, pieces in stock.items()},
        order.id: {"status": "cancelled"},
    }


def test_an_unsent_order_is_sent_elsewhere(desk: SupportDesk) -> None:
    order = processing(desk)
    written = desk.write("update_shipping_address", order_id=order.id, street="Ringstr. 4", city="1010 Wien")
    assert written == {order.id: {"ship_street": "Ringstr. 4", "ship_city": "1010 Wien"}}


@pytest.mark.parametrize("status", SENT)
def test_an_order_that_was_sent_is_neither_cancelled_nor_redirected(desk: SupportDesk, status: str) -> None:
    order = desk.pick(Order, lambda o: o.status == status)
    cancelled = desk.refused("cancel_order", order_id=order.id)
    moved = desk.refused("update_shipping_address", order_id=order.id, street="Ringstr. 4", city="1010 Wien")
    assert cancelled.code == moved.code == "already_sent"
    assert cancelled.message == f"{order.id} is {status} and can no longer be cancelled"
    assert moved.message == f"{order.id} is {status} and can no longer be sent elsewhere"


def test_an_order_is_cancelled_once(desk: SupportDesk) -> None:
    order = processing(desk)
    desk.write("cancel_order", order_id=order.id)
    assert desk.refused("cancel_order", order_id=order.id).code == "already_sent"


@pytest.mark.parametrize("street", ["", "x", "y" * 81])
def test_a_street_that_is_none_is_refused(desk: SupportDesk, street: str) -> None:
    refusal = desk.refused("update_shipping_address", order_id=processing(desk).id, street=street, city="Wien")
    assert refusal.code == "invalid_arguments"
    assert refusal.message.startswith("street: String should have at ")


# Parcels


def overdue(desk: SupportDesk) -> Shipment:
    """A parcel on its way whose goods could be sent again."""

    def fits(parcel: Shipment) -> bool:
        lines = desk.state.find(OrderLine, order_id=parcel.order_id)
        return parcel.status == "in_transit" and all(desk.product(x).stock >= x.quantity for x in lines)

    return desk.pick(Shipment, fits)


def test_a_parcel_on_its_way_is_declared_lost(desk: SupportDesk) -> None:
    parcel = overdue(desk)
    assert desk.write("declare_lost", shipment_id=parcel.id) == {parcel.id: {"status": "lost"}}


@pytest.mark.parametrize("status", ["preparing", "delivered", "lost"])
def test_a_parcel_that_is_not_on_its_way_cannot_be_lost(desk: SupportDesk, status: str) -> None:
    parcel = desk.pick(Shipment, lambda s: s.status == status)
    refusal = desk.refused("declare_lost", shipment_id=parcel.id)
    assert refusal.code == "not_in_transit"
    assert refusal.message == f"{parcel.id} is {status}; only a parcel on its way can be lost"


def test_a_replacement_takes_its_goods_from_the_shelf_and_names_the_lost_parcel(desk: SupportDesk) -> None:
    parcel = overdue(desk)
    desk.write("declare_lost", shipment_id=parcel.id)
    lines = desk.state.find(OrderLine, order_id=parcel.order_id)
    stock = {line.product_id: {"stock": desk.product(line).stock - line.quantity} for line in lines}
    written = desk.write("send_replacement", shipment_id=parcel.id)
    [key] = set(written) - set(stock)
    new = desk.state.get(Shipment, key)
    assert {k: v for k, v in written.items() if k != key} == stock
    assert (new.status, new.replaces, new.order_id) == ("preparing", parcel.id, parcel.order_id)
    assert new.due == desk.clock.today + timedelta(days=REPLACEMENT_DAYS)
    assert desk.read("track_parcel", tracking=new.tracking)["shipments"][0]["id"] == key


def test_only_a_lost_parcel_is_replaced(desk: SupportDesk) -> None:
    parcel = overdue(desk)
    refusal = desk.refused("send_replacement", shipment_id=parcel.id)
    assert refusal.code == "not_lost"
    assert refusal.message == f"{parcel.id} is in_transit; declare it lost first"


def test_a_lost_parcel_is_replaced_once(desk: SupportDesk) -> None:
    parcel = overdue(desk)
    desk.write("declare_lost", shipment_id=parcel.id)
    desk.write("send_replacement", shipment_id=parcel.id)
    refusal = desk.refused("send_replacement", shipment_id=parcel.id)
    assert refusal.code == "already_replaced"
    assert refusal.message == f"a replacement for {parcel.id} is on its way already"


def test_half_an_order_is_not_sent_again(desk: SupportDesk) -> None:
    def stands(line: OrderLine) -> bool:
        return desk.product(line).stock >= line.quantity

    def half(parcel: Shipment) -> bool:
        first, *others = map(stands, desk.state.find(OrderLine, order_id=parcel.order_id))
        return parcel.status == "in_transit" and first and not all(others)

    parcel = desk.pick(Shipment, half)
    desk.write("declare_lost", shipment_id=parcel.id)
    refusal = desk.refused("send_replacement", shipment_id=parcel.id)  # what the first line took is put back
    short = next(line for line in desk.state.find(OrderLine, order_id=parcel.order_id) if not stands(line))
    stock = desk.product(short).stock
    assert refusal.code == "out_of_stock"
    assert refusal.message == f"{short.product_id} has {stock} in stock, the order needs {short.quantity}"


# Returns


def test_an_authorised_return_counts_the_pieces_and_owes_the_price_less_the_fee(desk: SupportDesk) -> None:
    line = desk.fresh_line(pieces=2, least_cents=1_000)
    paid = paid_cents(desk.order(line), line, 2)
    written = desk.write("authorise_return", **returning(line, 2, fee_cents=150))
    [key] = set(written) - {line.id}
    back = desk.state.get(Return, key)
    assert written[line.id] == {"returned": 2}
    assert (back.status, back.fee_cents, back.refund_due_cents) == ("authorised", 150, paid - 150)
    assert desk.read("get_returns", order_id=line.order_id)["returns"][-1]["id"] == key


def test_what_has_not_arrived_does_not_come_back(desk: SupportDesk) -> None:
    line = desk.pick(OrderLine, lambda x: desk.order(x).status == "shipped")
    for tool, arguments in (
        ("authorise_return", returning(line)),
        ("open_warranty_claim", claim(line)),
        ("compute_return_window", {"line_id": line.id}),
        ("compute_warranty", {"line_id": line.id}),
    ):
        refusal = desk.refused(tool, **arguments)
        assert refusal.code == "not_delivered"
        assert refusal.message == f"{line.order_id} is shipped; nothing of it has been delivered"


def test_more_pieces_than_are_left_do_not_come_back(desk: SupportDesk) -> None:
    line = desk.fresh_line(pieces=2)
    desk.write("authorise_return", **returning(line, line.quantity))
    refusal = desk.refused("authorise_return", **returning(line))
    assert (refusal.code, refusal.message) == ("bad_quantity", f"{line.id} has 0 piece(s) left to return, not 1")


def test_a_fee_above_the_price_is_refused(desk: SupportDesk) -> None:
    line = desk.fresh_line()
    paid = paid_cents(desk.order(line), line, 1)
    refusal = desk.refused("authorise_return", **returning(line, fee_cents=paid + 1))
    assert (refusal.code, refusal.message) == ("bad_fee", f"the fee is more than the {paid} cents that the pieces cost")
    desk.write("authorise_return", **returning(line, fee_cents=paid))


def test_a_cancelled_return_gives_the_pieces_back(desk: SupportDesk) -> None:
    line = desk.fresh_line()
    back = next(k for k in desk.write("authorise_return", **returning(line)) if k != line.id)
    assert desk.write("cancel_return", return_id=back) == {line.id: {"returned": 0}, back: {"status": "cancelled"}}


@pytest.mark.parametrize("status", ["received", "cancelled"])
def test_a_return_that_is_over_is_not_cancelled(desk: SupportDesk, status: str) -> None:
    if status == "cancelled":
        desk.write("cancel_return", return_id=desk.pick(Return, lambda r: r.status == "authorised").id)
    back = desk.pick(Return, lambda r: r.status == status)
    refusal = desk.refused("cancel_return", return_id=back.id)
    assert (refusal.code, refusal.message) == ("not_authorised", f"{back.id} is {status}")


# Warranty claims


def test_a_claim_is_opened_on_a_delivered_line(desk: SupportDesk) -> None:
    line = unclaimed(desk)
    [key] = desk.write("open_warranty_claim", **claim(line))
    new = desk.state.get(WarrantyClaim, key)
    assert (new.line_id, new.fault, new.remedy, new.status) == (line.id, "noise", "repair", "open")
    assert [c["id"] for c in desk.read("get_warranty_claims", line_id=line.id)["claims"]] == [key]


def test_a_line_has_one_open_claim(desk: SupportDesk) -> None:
    line = unclaimed(desk)
    [key] = desk.write("open_warranty_claim", **claim(line))
    refusal = desk.refused("open_warranty_claim", **claim(line, fault="dead"))
    assert (refusal.code, refusal.message) == ("already_open", f"{line.id} has an open warranty claim")
    assert desk.write("withdraw_warranty_claim", claim_id=key) == {key: {"status": "withdrawn"}}
    desk.write("open_warranty_claim", **claim(line, fault="dead"))


def test_a_claim_that_is_over_is_not_withdrawn(desk: SupportDesk) -> None:
    closed = desk.pick(WarrantyClaim, lambda c: c.status == "closed")
    refusal = desk.refused("withdraw_warranty_claim", claim_id=closed.id)
    assert (refusal.code, refusal.message) == ("not_open", f"{closed.id} is closed")


# Builds


def test_a_part_takes_the_slot_of_its_category(desk: SupportDesk) -> None:
    build = desk.pick(Build, lambda b: b.status == "draft")
    for category in ("cpu", "motherboard", "memory", "gpu", "storage", "psu", "case", "cooler"):
        part = desk.pick(Product, lambda p, c=category: p.category == c and p.id != getattr(build, f"{c}_id"))  # type: ignore[misc]
        written = desk.write("replace_build_part", build_id=build.id, product_id=part.id)
        assert written == {build.id: {f"{category}_id": part.id}}


def test_an_ordered_build_stays_as_it_is(desk: SupportDesk) -> None:
    build = desk.pick(Build, lambda b: b.status == "ordered")
    refusal = desk.refused("replace_build_part", build_id=build.id, product_id=build.cpu_id)
    assert refusal.code == "already_ordered"
    assert refusal.message == f"{build.id} has been ordered and can no longer be changed"


@pytest.mark.parametrize("category", ["monitor", "keyboard", "mouse"])
def test_a_build_has_no_place_for_what_stands_beside_it(desk: SupportDesk, category: str) -> None:
    build = desk.pick(Build, lambda b: b.status == "draft")
    part = desk.pick(Product, lambda p: p.category == category)
    refusal = desk.refused("replace_build_part", build_id=build.id, product_id=part.id)
    assert (refusal.code, refusal.message) == ("no_such_slot", f"a build has no place for a {category}")
