"""What each conventional call becomes, and what a tool may say that it reads."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from palaestra.envs.state import Overlay
from palaestra.envs.surfaces import generic_surface
from palaestra.envs.surfaces.inference import infer_reads
from palaestra.envs.worlds.storefront.population import populate
from palaestra.envs.worlds.storefront.rules import rules
from palaestra.envs.worlds.storefront.schema import SCHEMA as STOREFRONT
from palaestra.envs.worlds.storefront.tools import TOOLBOX as DESK
from palaestra.errors import DefinitionError
from palaestra.records import ToolCall
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, Reads, Tool, Toolbox, ToolContext, legal_call, tool
from worlds import library
from worlds.play import Play

QUERIES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "search_customers": ({"query": "ana"}, {"table": "customers", "search": "ana"}),
    "get_customer": ({"customer_id": "C"}, {"table": "customers", "where": {"id": "C"}}),
    "get_credits": ({"customer_id": "C"}, {"table": "credits", "where": {"customer_id": "C"}}),
    "search_employees": ({"team": "fraud", "rank": None}, {"table": "employees", "where": {"team": "fraud"}}),
    "search_handbook": (
        {"query": "fee", "cursor": "RET-1"},
        {"table": "handbook", "search": "fee", "cursor": "RET-1"},
    ),
    "read_handbook": ({"section_id": "RET-1"}, {"table": "handbook", "where": {"id": "RET-1"}}),
    "get_ticket": ({"ticket_id": "T"}, {"table": "tickets", "where": {"id": "T"}}),
    "search_tickets": (
        {"customer_id": "C", "status": "open"},
        {"table": "tickets", "where": {"customer_id": "C", "status": "open"}},
    ),
    "search_orders": ({"customer_id": "C"}, {"table": "orders", "where": {"customer_id": "C"}}),
    "get_payments": ({"order_id": "O"}, {"table": "payments", "where": {"order_id": "O"}}),
    "get_shipments": ({"order_id": "O"}, {"table": "shipments", "where": {"order_id": "O"}}),
    "track_parcel": ({"tracking": "X1"}, {"table": "shipments", "where": {"tracking": "X1"}}),
    "get_refunds": ({"order_id": "O"}, {"table": "refunds", "where": {"order_id": "O"}}),
    "get_returns": ({"order_id": "O"}, {"table": "returns", "where": {"order_id": "O"}}),
    "get_warranty_claims": ({"line_id": "L"}, {"table": "warranty_claims", "where": {"line_id": "L"}}),
    "search_products": (
        {"category": "gpu", "in_stock": True, "max_price_cents": 9},
        {"table": "products", "where": {"category": "gpu", "price_cents <=": 9, "stock >": 0}},
    ),
    "get_product": ({"product_id": "P"}, {"table": "products", "where": {"id": "P"}}),
    "search_offers": ({"product_id": "P"}, {"table": "competitor_offers", "where": {"product_id": "P"}}),
    "get_promotion": ({"code": "SPRING"}, {"table": "promotions", "where": {"id": "SPRING"}}),
    "search_builds": ({"customer_id": "C"}, {"table": "builds", "where": {"customer_id": "C"}}),
    "get_build": ({"build_id": "B"}, {"table": "builds", "where": {"id": "B"}}),
}
"""What a call of each of the Storefront's reading tools becomes, but for `get_order`."""
SEED = 1000
DRAWS = 40


def rows() -> Overlay:
    return Overlay(populate(SEED, rules(SEED, 0)))


@pytest.mark.parametrize("name", QUERIES)
def test_a_reading_tool_becomes_a_query(name: str) -> None:
    arguments, query = QUERIES[name]
    surface = generic_surface(STOREFRONT, DESK, role="agent")
    assert surface.translate([ToolCall(tool=name, arguments=arguments)], rows()) == (
        ToolCall(tool="query", arguments=query),
    )


def test_a_tool_that_follows_references_becomes_a_traversal() -> None:
    surface = generic_surface(STOREFRONT, DESK, role="agent")
    assert surface.translate([ToolCall(tool="get_order", arguments={"order_id": "O"})], rows()) == (
        ToolCall(tool="traverse", arguments={"table": "orders", "id": "O", "path": ["order_lines.order_id"]}),
    )


def test_every_other_tool_is_an_action_or_stays() -> None:
    surface = generic_surface(STOREFRONT, DESK, role="agent")
    assert surface.toolbox.actions is not None
    actions = {t.name for t in surface.toolbox.actions}
    control = {t.name for t in CONTROL}
    assert actions | control | QUERIES.keys() | {"get_order"} == {t.name for t in DESK}
    assert actions >= {t.name for t in DESK if t.writes} | {"compute_paid", "quote_promotion"}
    for name in ("cancel_order", "compute_paid"):
        step: Any = {"action": name, "arguments": {"line_id": "L"}}
        call = ToolCall(tool=name, arguments={"line_id": "L"})
        assert surface.translate([call], rows()) == (ToolCall(tool="run_workflow", arguments={"steps": [step]}),)
    reply = ToolCall(tool="reply", arguments={"message": "Done."})
    assert surface.translate([reply], rows()) == (reply,)


@pytest.mark.parametrize("name", [*QUERIES, "get_order"])
def test_the_translated_call_shows_what_the_desks_own_shows(name: str) -> None:
    surface, state = generic_surface(STOREFRONT, DESK, role="agent"), rows()
    stream = Stream.root("translated", name)
    own, generic = Play(STOREFRONT, DESK, state), Play(STOREFRONT, surface.toolbox, state)
    read = 0
    for _ in range(DRAWS):
        drawn = legal_call([DESK[name]], state.keys if name != "track_parcel" else lambda _: (), stream)
        arguments = {n: v for n, v in drawn.arguments.items() if n != "cursor"}
        if "query" in arguments:
            arguments["query"] = stream.choice(("lyon", "gpu", "fee", "return"))
        if "tracking" in arguments:
            parcel: Any = stream.choice(state.find(STOREFRONT["shipments"].kind))
            arguments["tracking"] = parcel.tracking
        answer = own.call(name, arguments)
        shown = generic.shown(surface.translate([ToolCall(tool=name, arguments=arguments)], state))
        listed = {row["id"] for row in answer["results"]} if "results" in answer else None
        assert {key for _, key in shown} == (listed if listed is not None else {k for _, k in own.events[-1].shown})
        assert own.events[-1].mentioned <= generic.events[-1].mentioned
        read += len(shown)
    assert read or name == "get_warranty_claims"


def test_an_answer_of_more_than_a_page_takes_as_many_queries() -> None:
    schema, state = library.SCHEMA, Overlay(library.populate(1))
    owner: Any = library.Member(id="MEM-99", name="Zoe Reader", tier="basic", blocked=False, sponsor_id=None)
    state.insert(owner)
    for number in range(100, 123):
        loan: Any = state.find(library.Loan)[0]
        state.insert(type(loan)(**{**{c: getattr(loan, c) for c in schema["loans"].columns},
                                   "id": f"LN-{number}", "member_id": "MEM-99", "returned": False}))  # fmt: skip
    surface = generic_surface(schema, library.TOOLBOX, role="librarian")
    call = ToolCall(tool="list_loans", arguments={"member_id": "MEM-99"})
    queries = surface.translate([call], state)
    assert [query.arguments.get("cursor") for query in queries] == [None, "LN-109", "LN-119"]
    own, generic = (
        Play(schema, box, state, role="librarian") for box in (library.TOOLBOX, surface.toolbox)
    )  # fmt: skip
    own.call(call.tool, call.arguments)
    assert generic.shown(queries) == set(own.events[-1].shown)
    assert len(own.events[-1].shown) == 23


def test_a_path_to_more_rows_than_a_traversal_shows_becomes_queries() -> None:
    schema, state = library.SCHEMA, Overlay(library.populate(1))
    card = tool(reads=Reads(table="members", by={"member_id": "id"}, follow=("loans.member_id",)))(get_card)
    surface = generic_surface(schema, Toolbox([card, *CONTROL]), role="librarian")
    call = ToolCall(tool="get_card", arguments={"member_id": "MEM-1"})
    assert [c.tool for c in surface.translate([call], state)] == ["traverse"]
    loan = state.find(library.Loan)[0]
    for number in range(100, 145):
        state.insert(replace(loan, id=f"LN-{number}", member_id="MEM-1"))
    calls = surface.translate([call], state)
    assert {c.tool for c in calls} == {"query"}
    lent = {("loans", row.id) for row in state.find(library.Loan, member_id="MEM-1")}
    assert len(lent) >= 45
    generic = Play(schema, surface.toolbox, state, role="librarian")
    assert generic.shown(calls) == {("members", "MEM-1"), *lent}


MemberId = library.MemberId


def get_card(context: ToolContext, member_id: MemberId) -> object:
    """Read a card.

    Args:
        member_id: The member.
    """
    return context.state.get(library.Member, member_id)


def list_members(context: ToolContext, tier: str, verbose: bool) -> object:
    """List members.

    Args:
        tier: Their tier.
        verbose: In full.
    """
    return [context.state.find(library.Member, tier=tier), verbose]


def query(context: ToolContext, text: str) -> object:
    """Ask.

    Args:
        text: What.
    """
    return context.state.search(library.Book, text)


@pytest.mark.parametrize("function", [get_card, list_members, query])
def test_what_a_plain_reader_is_not_is_not_guessed(function: Any) -> None:
    assert infer_reads(tool()(function), library.SCHEMA) is None
    assert infer_reads(tool(writes=True)(function), library.SCHEMA) is None


@pytest.mark.parametrize(
    ("function", "reads", "says"),
    [
        (get_card, Reads(table="cards", by={"member_id": "id"}), "unknown table 'cards'"),
        (get_card, Reads(table="members", by={"member_id": "key"}), "unknown column 'key'"),
        (get_card, Reads(table="members", by={"member_id": "id like"}), "unknown operator 'like'"),
        (get_card, Reads(table="members", by={"card": "id"}), "takes member_id, but its `reads` speaks of card"),
        (list_members, Reads(table="members", by={"tier": "tier"}), "takes tier, verbose"),
        (
            list_members,
            Reads(table="members", by={"tier": "tier"}, flags={"verbose": ("tier", "basic")}),
            "state each condition once",
        ),
        (query, Reads(table="loans", search="text"), "no Searchable column"),
        (
            get_card,
            Reads(table="members", by={"member_id": "id"}, follow=("loans.book_id",)),
            "unknown step from members 'loans.book_id'",
        ),
        (
            get_card,
            Reads(table="loans", by={"member_id": "member_id"}, follow=("book_id",)),
            "it has to read one row by its id",
        ),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(function: Any, reads: Reads, says: str) -> None:
    made = tool(reads=reads)(function)
    made = renamed(made) if made.name == "query" else made
    with pytest.raises(DefinitionError) as refused:
        generic_surface(library.SCHEMA, Toolbox([made, *CONTROL]), role="librarian")
    assert f"tool {made.name} " in str(refused.value)
    assert says in str(refused.value)


def renamed(made: Tool) -> Tool:
    return replace(made, name="ask")


def test_a_tool_that_takes_a_generic_tools_name_is_refused() -> None:
    with pytest.raises(DefinitionError, match="tool query: the generic surface has a tool of this name"):
        generic_surface(library.SCHEMA, Toolbox([tool()(query), *CONTROL]), role="librarian")


def test_a_composite_tool_is_refused() -> None:
    with pytest.raises(DefinitionError, match="tool get_card is composite"):
        generic_surface(library.SCHEMA, Toolbox([tool(composite=True)(get_card)]), role="librarian")


def test_a_role_without_actions_is_offered_none() -> None:
    readers = [t for t in library.TOOLS if not t.writes]
    chief_only = [t for t in library.TOOLS if t.roles]
    surface = generic_surface(library.SCHEMA, Toolbox([*readers, *chief_only, *CONTROL]), role="librarian")
    names = [t.name for t in surface.toolbox]
    assert names == ["describe", "query", "traverse", "aggregate", "reply", "finish", "give_up"]
    chief = generic_surface(library.SCHEMA, Toolbox([*readers, *chief_only, *CONTROL]), role="chief")
    assert {"run_workflow", "bulk_update"} <= {t.name for t in chief.toolbox}


def test_what_a_tool_reads_that_is_told_nowhere_becomes_an_action() -> None:
    surface = generic_surface(library.SCHEMA, Toolbox([tool()(get_card), *CONTROL]), role="librarian")
    state = Overlay(library.populate(1))
    call = ToolCall(tool="get_card", arguments={"member_id": "MEM-1"})
    [flow] = surface.translate([call], state)
    play = Play(library.SCHEMA, surface.toolbox, state, role="librarian")
    answer = play.call(flow.tool, flow.arguments)
    assert [event.tool for event in play.events] == ["get_card"]
    assert answer["results"][0]["id"] == "MEM-1"


def test_values_of_a_bulk_update_are_of_the_arguments_type() -> None:
    surface = generic_surface(library.SCHEMA, library.TOOLBOX, role="librarian")
    state = Overlay(library.populate(1))
    play = Play(library.SCHEMA, surface.toolbox, state, role="librarian")
    loan = next(x for x in state.find(library.Loan) if not x.returned and x.member_id != "MEM-4")
    same = {"loan_id": loan.id}
    play.call("bulk_update", {"action": "renew_loan", "over": "times", "values": [1, 2], "arguments": same})
    assert [event.arguments["times"] for event in play.events] == [1, 2]
    assert state.get(library.Loan, loan.id).due == loan.due + 3 * library.RENEWAL
    answer = play.call("bulk_update", {"action": "renew_loan", "over": "times", "values": [1, "2"], "arguments": same})
    assert answer["error"]["code"] == "invalid_arguments"
    assert "step 2, renew_loan" in answer["error"]["message"]
    assert state.get(library.Loan, loan.id).due == loan.due + 3 * library.RENEWAL
