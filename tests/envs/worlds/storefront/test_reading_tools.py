"""Reading and computing: answers agree with the rows and the handbook, and say which rows they showed."""

import json

import pytest

from palaestra.digest import canonical
from palaestra.envs.kit import Section
from palaestra.envs.worlds.storefront.policy import POLICY, build_problems, paid_cents, promotion_cents, warranty_end
from palaestra.envs.worlds.storefront.schema import (
    Build,
    Category,
    CompetitorOffer,
    Customer,
    Employee,
    Order,
    OrderLine,
    Product,
    Promotion,
    Shipment,
    Ticket,
)
from palaestra.records import Json, Row
from worlds.support_desk import SupportDesk


@pytest.fixture
def desk() -> SupportDesk:
    return SupportDesk()


def as_json(row: Row) -> object:
    return json.loads(canonical(row))


@pytest.mark.parametrize(
    ("tool", "argument", "kind"),
    [
        ("get_customer", "customer_id", Customer),
        ("get_ticket", "ticket_id", Ticket),
        ("get_product", "product_id", Product),
        ("get_build", "build_id", Build),
        ("get_promotion", "code", Promotion),
        ("read_handbook", "section_id", Section),
    ],
)
def test_a_record_is_shown_whole(desk: SupportDesk, tool: str, argument: str, kind: type[Row]) -> None:
    for row in desk.state.find(kind)[:: max(1, len(desk.state.find(kind)) // 5)]:
        assert desk.read(tool, **{argument: row.id}) == as_json(row)
        assert desk.events[-1].shown == ((row.table, row.id),)
        assert row.id in desk.events[-1].mentioned


def test_an_order_is_shown_with_its_lines(desk: SupportDesk) -> None:
    order = desk.pick(Order, lambda o: len(desk.state.find(OrderLine, order_id=o.id)) > 2)
    lines = desk.state.find(OrderLine, order_id=order.id)
    answer = desk.read("get_order", order_id=order.id)
    assert answer == {"order": as_json(order), "lines": [as_json(line) for line in lines]}
    assert set(desk.events[-1].shown) == {("orders", order.id), *(("order_lines", line.id) for line in lines)}
    assert {order.customer_id, *(line.product_id for line in lines)} <= desk.events[-1].mentioned


def test_a_parcel_is_found_by_its_tracking_number_and_nothing_by_another(desk: SupportDesk) -> None:
    parcel = desk.pick(Shipment)
    assert desk.read("track_parcel", tracking=f" {parcel.tracking} ") == {"shipments": [as_json(parcel)]}
    assert desk.read("track_parcel", tracking="X-404") == {"shipments": []}
    assert desk.read("get_shipments", order_id=parcel.order_id)["shipments"][0] == as_json(parcel)


def test_offers_of_other_shops_are_listed_by_product(desk: SupportDesk) -> None:
    offer = desk.pick(CompetitorOffer)
    offers = desk.read("search_offers", product_id=offer.product_id)["offers"]
    assert offers == [as_json(o) for o in desk.state.find(CompetitorOffer, product_id=offer.product_id)]


def test_an_answer_without_rows_is_an_empty_list(desk: SupportDesk) -> None:
    order = desk.pick(Order, lambda o: o.status == "processing")
    line = desk.pick(OrderLine, lambda x: x.order_id == order.id)
    assert desk.read("get_refunds", order_id=order.id) == {"refunds": []}
    assert desk.read("get_returns", order_id=order.id) == {"returns": []}
    assert desk.read("get_warranty_claims", line_id=line.id) == {"claims": []}


def test_a_listing_names_rows_without_showing_them_whole(desk: SupportDesk) -> None:
    desk.read("search_employees", team="finance", rank="manager")
    event = desk.events[-1]
    assert event.shown == ()
    assert event.mentioned == {e.id for e in desk.state.find(Employee, team="finance", rank="manager")}


# Computing


def test_what_pieces_cost_is_their_price_less_their_share_of_the_discount(desk: SupportDesk) -> None:
    for line in desk.state.find(OrderLine)[::40]:
        order = desk.order(line)
        paid = paid_cents(order, line, line.quantity)
        answer = desk.read("compute_paid", line_id=line.id, quantity=line.quantity)
        assert answer["paid_cents"] == paid == answer["list_cents"] - answer["discount_share_cents"]
        assert answer["list_cents"] == line.unit_cents * line.quantity


def test_more_pieces_than_a_line_has_cost_nothing_that_could_be_said(desk: SupportDesk) -> None:
    line = desk.fresh_line()
    refusal = desk.refused("compute_paid", line_id=line.id, quantity=line.quantity + 1)
    assert refusal.code == "bad_quantity"
    assert refusal.message == f"{line.id} has {line.quantity} piece(s), not {line.quantity + 1}"


def test_the_standard_window_knows_no_tier(desk: SupportDesk) -> None:
    for line in (x for x in desk.state.find(OrderLine)[::10] if desk.is_untouched(x)):
        delivered = desk.parcel(desk.order(line)).delivered
        assert delivered is not None
        answer = desk.read("compute_return_window", line_id=line.id)
        assert answer["delivered"] == delivered.isoformat()
        assert answer["days_since_delivery"] == (desk.clock.today - delivered).days
        window = POLICY.return_days["bronze"] - answer["days_since_delivery"]
        assert (answer["standard_last_day"] >= desk.clock.today.isoformat()) == (window >= 0)


def test_a_warranty_counts_months_from_delivery(desk: SupportDesk) -> None:
    line = desk.fresh_line()
    delivered, months = desk.parcel(desk.order(line)).delivered, desk.product(line).warranty_months
    assert delivered is not None
    ends = warranty_end(delivered, months)
    assert desk.read("compute_warranty", line_id=line.id) == {
        "warranty_months": months,
        "warranty_ends": ends.isoformat(),
        "days_left": (ends - desk.clock.today).days,
    }


def test_parts_are_checked_as_the_handbook_says(desk: SupportDesk) -> None:
    for build in desk.state.find(Build):
        ids = [build.cpu_id, build.motherboard_id, build.memory_id, build.psu_id, build.case_id, build.cooler_id]
        parts = [desk.state.get(Product, part) for part in ids]
        answer = desk.read("check_compatibility", product_ids=list(ids))
        assert answer["problems"] == build_problems(POLICY, parts)
        assert answer["compatible"] == (not answer["problems"])
        assert answer["draw_watts"] == sum(p.watts for p in parts if p.category != "psu")


@pytest.mark.parametrize("count", [0, 1, 9])
def test_too_few_or_too_many_parts_are_refused(desk: SupportDesk, count: int) -> None:
    parts: list[Json] = ["CPU-1001"] * count
    refusal = desk.refused("check_compatibility", product_ids=parts)
    assert refusal.code == "invalid_arguments"
    assert refusal.message.startswith("product_ids: List should have at ")


def test_a_promotion_is_quoted_for_the_day_of_the_order(desk: SupportDesk) -> None:
    quoted = set[bool]()
    for order in desk.state.find(Order)[::25]:
        lines = desk.state.find(OrderLine, order_id=order.id)
        goods: list[tuple[Category, int]] = [(desk.product(x).category, x.unit_cents * x.quantity) for x in lines]
        for promotion in desk.state.find(Promotion):
            cents = desk.read("quote_promotion", order_id=order.id, code=promotion.id)["discount_cents"]
            assert cents == promotion_cents(promotion, goods, order.placed.date())
            quoted.add(cents > 0)
    assert quoted == {True, False}
