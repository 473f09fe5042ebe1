"""Two surfaces, one world: the same work leaves the same rows, events and score on either."""

from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.records import ToolCall
from palaestra.tools import CONTROL


def made(surface: str, **switches: Any) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", surface=surface, **switches)
    assert isinstance(env, ToolEnv)
    return env


def one_of_each_family() -> list[str]:
    families = made("generic").task_set.families.values()
    return [f"{family.id}/{7000 if family.unseen else 0:04d}" for family in families]


def doing(tool: str, arguments: Any) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments)


def act(env: ToolEnv, call: ToolCall) -> dict[str, Any]:
    return env.step({"tool": call.tool, "arguments": dict(call.arguments)})[4]


def test_the_surfaces_share_no_tool_but_those_that_talk_and_end() -> None:
    names = {surface: {tool.name for tool in made(surface).toolbox} for surface in ("conventional", "generic")}
    assert names["conventional"] & names["generic"] == {tool.name for tool in CONTROL}
    assert made("generic", split="heldout-surface").surface == "generic"
    assert gym.make("palaestra/Storefront-v0", split="heldout-surface").unwrapped.surface == "generic"  # type: ignore[attr-defined]
    assert made("conventional", split="train").surface == "conventional"


@pytest.mark.parametrize("task", one_of_each_family())
def test_the_oracle_does_the_same_work_on_both(task: str) -> None:
    envs = [made("conventional"), made("generic")]
    for env in envs:
        env.reset(seed=0, options={"task": task})
        for call in env.oracle():
            act(env, call)
        assert env.score().points == env.score().total
        assert env.score().passed
    assert [(c.table, c.key) for c in envs[0].changes] == [(c.table, c.key) for c in envs[1].changes]
    wrote = [[event.tool for event in env.events if event.written] for env in envs]
    assert wrote[0] == wrote[1]


def step(action: str, **arguments: Any) -> dict[str, Any]:
    return {"action": action, "arguments": arguments}


TASK = "storefront/cancel-order/0000"


def started() -> tuple[ToolEnv, str, str]:
    env = made("generic")
    env.reset(seed=0, options={"task": TASK})
    named = {i for call in env.instance.oracle for i in env.world.toolbox[call.tool].named(call.arguments)}
    return env, next(i for i in named if i.startswith("ORD-")), next(i for i in named if i.startswith("TCK-"))


def test_a_workflow_is_done_whole_or_not_at_all() -> None:
    env, order, ticket = started()
    rows = env.state_hash()
    steps: list[Any] = [step("cancel_order", order_id=order), step("resolve_ticket", ticket_id="TCK-0")]
    info = act(env, doing("run_workflow", {"steps": steps}))
    assert env.state_hash() == rows
    assert [(e.tool, e.error, e.written) for e in info["events"]] == [("run_workflow", "not_found", 0)]
    [message] = env.episode.observation
    assert "step 2, resolve_ticket" in message["content"]
    assert "nothing was done" in message["content"]
    steps[1] = step("resolve_ticket", ticket_id=ticket)
    info = act(env, doing("run_workflow", {"steps": steps}))
    assert [event.tool for event in info["events"]] == ["cancel_order", "resolve_ticket"]
    assert all(event.written for event in info["events"])


def test_a_bulk_update_is_the_workflow_of_its_runs() -> None:
    envs = [started()[0] for _ in range(2)]
    ids = [ticket.id for ticket in envs[0].state.find(envs[0].world.schema["tickets"].kind, status="open")][:5]
    bulk = doing("bulk_update", {"action": "resolve_ticket", "over": "ticket_id", "values": list(ids)})
    flow = doing("run_workflow", {"steps": [step("resolve_ticket", ticket_id=ticket) for ticket in ids]})
    told = [act(env, call) for env, call in zip(envs, (bulk, flow), strict=True)]
    assert envs[0].state_hash() == envs[1].state_hash()
    assert [e.tool for e in told[0]["events"]] == [e.tool for e in told[1]["events"]] == ["resolve_ticket"] * len(ids)
    # Tickets that nobody spoke of: as forbidden in bulk as one by one.
    assert told[0]["violated"] == told[1]["violated"]
    assert "collateral-case" in told[0]["violated"]
    assert "ungrounded" in told[0]["violated"]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (doing("run_workflow", {"steps": [{"action": "reply"}]}), "bad_step"),
        (doing("run_workflow", {"steps": [{"act": "cancel_order"}]}), "bad_step"),
        (doing("run_workflow", {"steps": [step("adjust_stock", product_id="x", stock=1)]}), "forbidden"),
        (doing("run_workflow", {"steps": [step("cancel_order", order=1)]}), "invalid_arguments"),
        (
            doing("bulk_update", {"action": "cancel_order", "over": "id", "values": ["x"], "arguments": {"id": "y"}},
            ),
            "bad_step",
        ),
        (doing("query", {"table": "orders", "columns": ["colour"]}), "bad_query"),
        (doing("describe", {"name": "order"}), "not_found"),
        (doing("traverse", {"table": "orders", "id": "ORD-0", "path": ["customer_id"]}), "not_found"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_and_leaves_the_rows(call: ToolCall, code: str) -> None:
    env, _, _ = started()
    rows = env.state_hash()
    [event] = act(env, call)["events"]
    assert (event.error, event.executed, event.written) == (code, False, 0)
    assert env.state_hash() == rows


def test_columns_asked_for_are_not_a_look_at_the_row() -> None:
    env, order, _ = started()
    asked: dict[str, Any] = {"table": "orders", "where": {"id": order}}
    [event] = act(env, doing("query", {**asked, "columns": ["status"]}))["events"]
    assert (event.shown, event.mentioned) == ((), frozenset({order}))
    [event] = act(env, doing("query", asked))["events"]
    assert event.shown == (("orders", order),)
