from typing import Annotated, Any

import pytest

from palaestra.digest import digest_bytes
from palaestra.envs.state import Overlay
from palaestra.errors import InfrastructureError, ToolRefusal, UnknownNameError
from palaestra.records import EndReason, Json, References, ToolCall, ToolEvent
from palaestra.tools import CONTROL, CallResult, Toolbox, ToolContext, tool
from worlds.library import Book


@tool(writes=True, latency=7, cost=3)
def stock(context: ToolContext, book_id: Annotated[str, References("books")], copies: int = 1) -> object:
    """Set copies.

    Args:
        book_id: The book.
        copies: How many.
    """
    book = context.state.update(context.state.get(Book, book_id), copies=copies)
    context.show(book)
    if copies > 9:
        context.end(EndReason.FINISHED, {"too": "early"})
        raise ToolRefusal("too_many", "nine at most")
    if copies < 0:
        raise RuntimeError("negative")
    return book


@tool(roles=("chief",))
def audit(context: ToolContext, ids: list[Annotated[str, References("books")]], detail: dict[str, int]) -> object:
    """Audit.

    Args:
        ids: Books.
        detail: Numbers.
    """
    context.mention(*ids)
    return detail


BOX = Toolbox([stock, audit, *CONTROL], prose_tool="reply")


def run(
    context: ToolContext, state: Overlay, name: str, past: list[ToolEvent] | None = None, **arguments: Any
) -> CallResult:
    call = ToolCall(tool=name, arguments=arguments)
    return BOX.call(context, state, f"call_{len(past or [])}", call, past or [])


def test_a_call_that_goes_through_is_answered_and_logged(context: ToolContext, state: Overlay) -> None:
    result = run(context, state, "stock", book_id="BK-1", copies=5)
    event = result.event
    assert (event.schema_ok, event.semantic_ok, event.executed, event.error) == (True, True, True, None)
    assert (event.cost, event.latency, event.written, event.named) == (3, 7, 1, ("BK-1",))
    assert event.shown == (("books", "BK-1"),)
    assert event.mentioned == {"BK-1"}
    assert event.result_digest == digest_bytes(result.content.encode())
    assert context.clock.elapsed == 7
    assert state.get(Book, "BK-1").copies == 5


@pytest.mark.parametrize(
    ("name", "arguments", "code", "schema_ok"),
    [
        ("stcok", {"book_id": "BK-1"}, "unknown_tool", False),
        ("stock", {"book_id": 1}, "invalid_arguments", False),
        ("stock", {"book_id": "BK-404"}, "not_found", True),
        ("stock", {"book_id": "BK-1", "copies": 10}, "too_many", True),
        ("audit", {"ids": [], "detail": {}}, "forbidden", True),
    ],
)
def test_a_refused_call_is_logged_takes_time_and_leaves_the_rows(
    context: ToolContext, state: Overlay, name: str, arguments: dict[str, Any], code: str, schema_ok: bool
) -> None:
    rows = state.state_hash()
    result = run(context, state, name, **arguments)
    event = result.event
    assert (event.error, event.schema_ok, event.semantic_ok, event.executed) == (code, schema_ok, False, False)
    assert f'"code":"{code}"' in result.content
    assert (event.written, event.shown, event.mentioned) == (0, (), frozenset())
    assert context.clock.elapsed == event.latency > 0
    assert state.state_hash() == rows
    assert state.journal == []


def test_a_tool_that_ended_the_episode_and_then_refused_did_not_end_it(context: ToolContext, state: Overlay) -> None:
    run(context, state, "stock", book_id="BK-1", copies=10)
    assert context.end_reason is None
    assert context.answer == {}


def test_a_crash_is_a_fault_of_the_world(context: ToolContext, state: Overlay) -> None:
    with pytest.raises(InfrastructureError, match=r"tool stock crashed on .*RuntimeError\('negative'\)"):
        run(context, state, "stock", book_id="BK-1", copies=-1)


def test_a_repeated_call_names_the_first_of_its_kind(context: ToolContext, state: Overlay) -> None:
    past: list[ToolEvent] = []
    for copies in (5, 6, 5, 5):
        past.append(run(context, state, "stock", past, book_id="BK-1", copies=copies).event)
    assert [event.duplicate_of for event in past] == [None, None, "call_0", "call_0"]


def test_the_log_holds_arguments_of_its_own(context: ToolContext, state: Overlay) -> None:
    context.role = "chief"
    ids, detail = ["BK-1", "BK-2"], {"a": 1}
    flat = {"book_id": "BK-1"}
    events = [
        run(context, state, "audit", ids=ids, detail=detail).event,
        BOX.call(context, state, "c", ToolCall(tool="stock", arguments=flat), []).event,
    ]
    ids.append("BK-3")
    detail["a"] = 2
    flat["book_id"] = "BK-9"
    assert events[0].arguments == {"ids": ["BK-1", "BK-2"], "detail": {"a": 1}}
    assert events[0].named == ("BK-1", "BK-2")
    assert events[0].mentioned == {"BK-1", "BK-2"}
    assert events[1].arguments == {"book_id": "BK-1"}


@pytest.mark.parametrize("arguments", [{"x": object()}, {"x": float}, {1: "x"}, [1], None, {"x": {"y": {3, 4}}}])
def test_whatever_is_given_the_log_holds_json(context: ToolContext, state: Overlay, arguments: Any) -> None:
    call = ToolCall(tool="stock", arguments=arguments)
    event = BOX.call(context, state, "c", call, []).event
    assert event.error == "invalid_arguments"
    assert all(isinstance(key, str) for key in event.arguments)


def test_showing_a_row_mentions_the_ids_that_it_holds(context: ToolContext, state: Overlay) -> None:
    from worlds.library import Loan

    loan = state.get(Loan, "LN-1")
    context.show(loan)
    assert context.shown == [("loans", "LN-1")]
    assert context.mentioned == {"LN-1", loan.book_id, loan.member_id}


def test_control_tools_talk_finish_and_give_up(context: ToolContext, state: Overlay) -> None:
    assert run(context, state, "reply", message="Hello").content == '{"delivered":true}'
    assert context.end_reason is None
    run(context, state, "finish", answer={"n": 1})
    ended: tuple[EndReason | None, dict[str, Json]] = (context.end_reason, context.answer)
    assert ended == (EndReason.FINISHED, {"n": 1})
    run(context, state, "finish")
    assert context.answer == {}
    run(context, state, "give_up", reason="no")
    assert context.end_reason is EndReason.GAVE_UP


def test_a_role_is_offered_its_tools_in_order() -> None:
    assert [t.name for t in BOX.tools_for("clerk")] == ["stock", "reply", "finish", "give_up"]
    assert [t.name for t in BOX.tools_for("chief")][:2] == ["stock", "audit"]
    assert [e["function"]["name"] for e in BOX.export("clerk")] == ["stock", "reply", "finish", "give_up"]


def test_an_export_belongs_to_the_caller() -> None:
    BOX.export("clerk")[0]["function"]["parameters"]["properties"].clear()
    assert BOX.export("clerk")[0]["function"]["parameters"]["properties"]


def test_a_toolbox_is_looked_into_by_name() -> None:
    assert BOX["stock"] is stock
    assert "stock" in BOX
    assert "stcok" not in BOX
    with pytest.raises(UnknownNameError, match="did you mean 'stock'"):
        BOX["stcok"]


def test_prose_must_mean_a_tool_that_is_there() -> None:
    with pytest.raises(UnknownNameError, match="unknown tool 'say'"):
        Toolbox([stock], prose_tool="say")
