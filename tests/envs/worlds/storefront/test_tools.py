"""What holds for every tool: schemas, roles, ids that name nothing, listings page by page."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from palaestra.envs.kit import Section
from palaestra.envs.worlds.storefront.schema import Customer, Employee, Order, Product, Ticket
from palaestra.envs.worlds.storefront.tools import TOOLBOX
from palaestra.protocols import R
from palaestra.records import Json
from palaestra.seeding import Stream
from palaestra.tools import Tool, sample_value
from worlds.support_desk import SupportDesk, base

BY_NAME = [pytest.param(tool, id=tool.name) for tool in TOOLBOX]
ROLES = ("agent", "supervisor", "manager", "fraud", "warehouse")
CLOSED = {"approve_refund": ("manager", "supervisor"), "lift_fraud_hold": ("fraud",), "adjust_stock": ("warehouse",)}


def role_of(tool: Tool) -> str:
    return min(tool.roles, default="agent")


def existing(table: str) -> Sequence[str]:
    return [row.id for info in base().schema if table in ("*", info.name) for row in base().listings[info.name]]


MODEST: dict[str, Json] = {"cursor": None, "quantity": 1, "amount_cents": 1, "team": "fraud", "line_id": "LIN-10003"}


def legal(tool: Tool) -> dict[str, Json]:
    """Arguments that fit, all of them given, whose ids exist."""
    stream = Stream.root("legal", tool.name)
    return {name: MODEST.get(name, fitting(tool, name, stream)) for name in tool.parameters["properties"]}


def fitting(tool: Tool, name: str, stream: Stream) -> Json:
    drawn = sample_value(tool.parameters["properties"][name], stream)
    if name not in tool.references:
        return drawn
    ids = existing(tool.references[name])
    return [stream.choice(ids) for _ in drawn] if isinstance(drawn, list) else stream.choice(ids)


def test_an_agent_is_offered_every_tool_but_the_closed_ones() -> None:
    offered = {t.name for t in TOOLBOX.tools_for("agent")}
    assert {t.name for t in TOOLBOX} - offered == set(CLOSED)
    assert len(offered) == 51


def test_every_closed_tool_is_offered_to_its_roles() -> None:
    for role in ROLES:
        offered = {t.name for t in TOOLBOX.tools_for(role)}
        assert offered & set(CLOSED) == {name for name, roles in CLOSED.items() if role in roles}


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("role", ROLES)
def test_a_closed_tool_is_forbidden_to_every_other_role(name: str, role: str) -> None:
    if role in CLOSED[name]:
        assert role in TOOLBOX[name].roles
        return
    refusal = SupportDesk(role).refused(name, **legal(TOOLBOX[name]))
    assert refusal.code == "forbidden"
    assert refusal.message == f"{name} is open to {', '.join(CLOSED[name])}; you act as {role}"


@pytest.mark.parametrize("tool", BY_NAME)
def test_an_argument_that_nobody_knows_is_refused(tool: Tool) -> None:
    refusal = SupportDesk(role_of(tool)).refused(tool.name, **{**legal(tool), "colour": "red"})
    assert refusal.code == "invalid_arguments"
    assert refusal.message == "colour: Extra inputs are not permitted (got 'red')"


@pytest.mark.parametrize("tool", [p for p in BY_NAME if p.values[0].parameters.get("required")])  # type: ignore[union-attr]
def test_a_missing_argument_is_refused_by_name(tool: Tool) -> None:
    for missing in tool.parameters["required"]:
        arguments = {k: v for k, v in legal(tool).items() if k != missing}
        refusal = SupportDesk(role_of(tool)).refused(tool.name, **arguments)
        assert (refusal.code, refusal.message) == ("invalid_arguments", f"{missing}: Field required")


@pytest.mark.parametrize("tool", BY_NAME)
def test_an_argument_of_another_type_is_refused_by_name(tool: Tool) -> None:
    for name in tool.parameters["properties"]:
        refusal = SupportDesk(role_of(tool)).refused(tool.name, **{**legal(tool), name: 1.5})
        assert refusal.code == "invalid_arguments"
        assert refusal.message.startswith(f"{name}")
        assert "(got 1.5)" in refusal.message


@pytest.mark.parametrize("tool", [p for p in BY_NAME if p.values[0].references])  # type: ignore[union-attr]
def test_an_id_that_names_nothing_is_not_found_by_name(tool: Tool) -> None:
    for name, table in tool.references.items():
        if name == "tracking":  # a number of the carrier's: an answer without a parcel, not a refusal
            continue
        arguments = legal(tool)
        arguments[name] = ["X-404", "X-405"] if isinstance(arguments[name], list) else "X-404"
        refusal = SupportDesk(role_of(tool)).refused(tool.name, **arguments)
        assert refusal.code == "not_found", table
        assert refusal.message.startswith("there is no ")
        assert "'X-404'" in refusal.message


@pytest.mark.parametrize("tool", [p for p in BY_NAME if p.values[0].references])  # type: ignore[union-attr]
def test_an_id_is_read_as_it_is_written(tool: Tool) -> None:
    name, table = next(iter(tool.references.items()))
    if name in ("tracking", "product_ids"):
        return
    refusal = SupportDesk(role_of(tool)).refused(tool.name, **{**legal(tool), name: existing(table)[0].lower()})
    assert refusal.code == "not_found"


# Listings

BIG = {
    "search_customers": {"query": "example"},
    "search_employees": {},
    "search_handbook": {"query": "the"},
    "search_products": {},
}


def walk(desk: SupportDesk, tool: str, **arguments: Json) -> list[str]:
    """Every id that a listing gives, page by page."""
    ids, cursor = list[str](), None
    while True:
        answer = desk.read(tool, **arguments, cursor=cursor)
        page = [row["id"] for row in answer["results"]]
        assert desk.events[-1].mentioned == frozenset(page)
        assert len(page) <= 10
        ids += page
        if (cursor := answer["next_cursor"]) is None:
            return ids
        assert len(page) == 10
        assert cursor == page[-1]


def ids_of(desk: SupportDesk, kind: type[R], **equal: Json) -> list[str]:
    return [row.id for row in desk.state.find(kind, **equal)]


def test_a_walk_lists_every_row_once_and_in_order() -> None:
    desk = SupportDesk()
    assert walk(desk, "search_products") == ids_of(desk, Product)
    assert walk(desk, "search_employees") == ids_of(desk, Employee)
    assert walk(desk, "search_employees", team="support") == ids_of(desk, Employee, team="support")
    assert walk(desk, "search_handbook", query="the") == [s.id for s in desk.state.search(Section, "the")]
    first_names = {c.name.split()[0] for c in desk.state.find(Customer)}
    for name in sorted(first_names)[:5]:
        assert walk(desk, "search_customers", query=name) == [c.id for c in desk.state.search(Customer, name)]


def test_every_customers_orders_tickets_and_builds_are_listed_once() -> None:
    desk = SupportDesk()
    for customer in desk.state.find(Customer)[::8]:
        assert walk(desk, "search_orders", customer_id=customer.id) == ids_of(desk, Order, customer_id=customer.id)
        assert walk(desk, "search_tickets", customer_id=customer.id) == ids_of(desk, Ticket, customer_id=customer.id)


def test_rows_that_come_between_two_pages_neither_repeat_nor_hide_others() -> None:
    desk = SupportDesk()
    answer = desk.read("search_products", category="gpu")
    first = [row["id"] for row in answer["results"]]
    model = desk.state.get(Product, first[0])
    for new in ("GPU-0001", "GPU-9999"):
        desk.state.insert(replace(model, id=new))
    rest = desk.read("search_products", category="gpu", cursor=answer["next_cursor"])
    after = [p.id for p in desk.state.find(Product, category="gpu") if p.id > first[-1]]
    assert [row["id"] for row in rest["results"]] == after[:10]
    assert "GPU-0001" not in after


@pytest.mark.parametrize("rows", [9, 10, 11, 20])
def test_only_a_page_with_rows_behind_it_has_a_cursor(rows: int) -> None:
    desk = SupportDesk()
    model = desk.pick(Product)
    for number in range(rows):
        desk.state.insert(replace(model, id=f"ZZZ-{number:02d}", name="Zyzzyva"))
    listed = walk(desk, "search_products", query="zyzzyva")
    assert listed == [f"ZZZ-{number:02d}" for number in range(rows)]
    assert len(desk.events) == -(-rows // 10)


@pytest.mark.parametrize("cursor", ["", "GPU-9999", "10", "ORD-1001", "CPU-1001 "])
def test_a_cursor_of_ones_own_making_is_refused(cursor: str) -> None:
    refusal = SupportDesk().refused("search_products", category="gpu", cursor=cursor)
    assert refusal.code == "bad_cursor"
    assert refusal.message == f"{cursor!r} is not the next_cursor of an earlier answer to this search"


def test_a_search_that_finds_nothing_answers_an_empty_page() -> None:
    desk = SupportDesk()
    for tool in ("search_customers", "search_handbook", "search_products"):
        assert desk.read(tool, query="xyzzy") == {"results": [], "next_cursor": None}


def test_filters_narrow_a_listing() -> None:
    desk = SupportDesk()
    limit = sorted(p.price_cents for p in desk.state.find(Product, category="gpu"))[3]
    wanted = [p.id for p in desk.state.find(Product, category="gpu") if p.stock > 0 and p.price_cents <= limit]
    assert walk(desk, "search_products", category="gpu", in_stock=True, max_price_cents=limit) == wanted
    customer = desk.pick(Customer, lambda c: len(desk.state.find(Order, customer_id=c.id, status="delivered")) > 1)
    delivered = ids_of(desk, Order, customer_id=customer.id, status="delivered")
    assert walk(desk, "search_orders", customer_id=customer.id, status="delivered") == delivered


def test_a_search_reads_words_without_case_or_accents() -> None:
    desk = SupportDesk()
    customer = desk.pick(Customer)
    first, last = customer.name.split()[0], customer.name.split()[-1]
    for query in (f"{first} {last}", f"{last.upper()}, {first.lower()}!"):
        assert customer.id in walk(desk, "search_customers", query=query)


# Endings


def test_finishing_ends_with_the_answer_that_was_given() -> None:
    desk = SupportDesk()
    assert desk.read("finish", answer={"total": 3, "paid": True, "id": "ORD-1"}) == {"finished": True}
    assert (desk.context.end_reason, desk.context.answer) == ("finished", {"total": 3, "paid": True, "id": "ORD-1"})


def test_giving_up_ends_without_an_answer() -> None:
    desk = SupportDesk()
    assert desk.read("give_up", reason="I cannot") == {"finished": False}
    assert (desk.context.end_reason, desk.context.answer) == ("gave_up", {})


def test_a_refused_finish_ends_nothing() -> None:
    desk = SupportDesk()
    assert desk.refused("finish", answer={"list": [1]}).code == "invalid_arguments"
    assert desk.context.end_reason is None


def test_a_reply_is_delivered_and_changes_nothing() -> None:
    assert SupportDesk().read("reply", message="Hello") == {"delivered": True}


def test_every_call_takes_the_time_that_its_tool_says() -> None:
    desk = SupportDesk()
    for name, seconds in (("read_handbook", 30), ("reply", 20), ("get_order", 2)):
        before = desk.clock.elapsed
        desk._call(name, legal(TOOLBOX[name]))
        assert desk.clock.elapsed - before == TOOLBOX[name].latency == seconds
