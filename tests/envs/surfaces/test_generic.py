"""Two surfaces, one world: the same work leaves the same rows, events and score on either."""

import json
import pickle
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv, check_env
from palaestra.envs.check.subject import make
from palaestra.records import ToolCall
from palaestra.tools import CONTROL
from worlds.registration import LIBRARY_ID


def make_env(surface: str, **switches: Any) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", surface=surface, **switches)
    assert isinstance(env, ToolEnv)
    return env


def one_of_each_family() -> list[str]:
    families = make_env("generic").task_set.families.values()
    return [f"{family.id}/{7000 if family.unseen else 0:04d}" for family in families]


def doing(tool: str, arguments: Any) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments)


def act(env: ToolEnv, call: ToolCall) -> dict[str, Any]:
    return env.step({"tool": call.tool, "arguments": dict(call.arguments)})[4]


def test_the_surfaces_share_no_tool_but_those_that_talk_and_end() -> None:
    names = {surface: {tool.name for tool in make_env(surface).toolbox} for surface in ("conventional", "generic")}
    assert names["conventional"] & names["generic"] == {tool.name for tool in CONTROL}
    assert make_env("generic", split="heldout-surface").surface == "generic"
    assert gym.make("palaestra/Storefront-v0", split="heldout-surface").unwrapped.surface == "generic"  # type: ignore[attr-defined]
    assert make_env("conventional", split="train").surface == "conventional"


@pytest.mark.parametrize("task", one_of_each_family())
def test_the_oracle_does_the_same_work_on_both(task: str) -> None:
    envs = [make_env("conventional"), make_env("generic")]
    for env in envs:
        env.reset(seed=0, options={"task": task})
        for call in env.oracle():
            act(env, call)
        assert env.score().points == env.score().total
        assert env.score().passed
    assert [(c.table, c.key) for c in envs[0].changes] == [(c.table, c.key) for c in envs[1].changes]
    wrote = [[event.tool for event in env.events if event.written] for env in envs]
    assert wrote[0] == wrote[1]


def library_tasks() -> Iterator[tuple[ToolEnv, str]]:
    env = make(LIBRARY_ID, surface="generic")
    for split in ("train", "dev", "heldout", "heldout-policy"):
        for task in env.task_set.ids(split):
            yield env, task


def test_every_oracle_and_every_alternative_of_another_world_gets_full_points() -> None:
    runs = 0
    for env, task in library_tasks():
        env.reset(seed=0, options={"task": task})
        start = env.snapshot()
        for calls in (env.oracle(), *env.alternatives()):
            env.restore(start)
            for call in calls:
                act(env, call)
            assert (env.score().points, env.score().passed) == (env.score().total, True), task
            runs += 1
    assert runs >= 20


@pytest.mark.usefixtures("light_collections")
def test_an_environment_of_another_world_keeps_the_contract_on_it() -> None:
    check_env(make(LIBRARY_ID, surface="generic"))


@pytest.mark.parametrize("world", ["palaestra/Storefront-v0", LIBRARY_ID])
def test_its_tools_pickle(world: str) -> None:
    for tool in make(world, surface="generic").toolbox:
        copy = pickle.loads(pickle.dumps(tool))
        assert copy.export() == tool.export()
        assert (copy.name, copy.composite, copy.references) == (tool.name, tool.composite, tool.references)


def test_only_actions_of_the_agents_role_are_drawn_and_described() -> None:
    env = make(LIBRARY_ID, surface="generic")
    env.reset(seed=0)
    act(env, doing("describe", {}))
    assert "waive_fines" not in env.episode.observation[0]["content"]
    assert "renew_loan" in env.episode.observation[0]["content"]
    drawn = str(env.legal_actions(300))
    assert "waive_fines" not in drawn
    assert {"renew_loan", "lend_book", "cancel_loan"} <= {word for word in drawn.split("'") if "_" in word}


def step(action: str, **arguments: Any) -> dict[str, Any]:
    return {"action": action, "arguments": arguments}


TASK = "storefront/cancel-order/0000"


def started() -> tuple[ToolEnv, str, str]:
    env = make_env("generic")
    env.reset(seed=0, options={"task": TASK})
    named = {i for call in env.instance.oracle for i in env.world.toolbox[call.tool].find_ids(call.arguments)}
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
        (doing("query", {"table": "orders", "where": {"colour": "red"}}), "bad_query"),
        (doing("query", {"table": "orders", "where": {"total_cents": "much"}}), "bad_query"),
        (doing("query", {"table": "orders", "where": {"placed >": "yesterday"}}), "bad_query"),
        (doing("query", {"table": "customers", "where": {"fraud_hold": 1}}), "bad_query"),
        (doing("query", {"table": "customers", "where": {"tier in": "gold"}}), "bad_query"),
        (doing("query", {"table": "payments", "search": "card"}), "bad_query"),
        (doing("query", {"table": "sales"}), "invalid_arguments"),
        (doing("query", {"table": "orders", "where": {"id": {"like": "ORD"}}}), "invalid_arguments"),
        (doing("query", {"table": "orders", "cursor": "ORD-0"}), "bad_cursor"),
        (doing("aggregate", {"table": "orders", "measure": "sum", "column": "status"}), "bad_query"),
        (doing("aggregate", {"table": "orders", "measure": "count", "group_by": "id"}), "too_many"),
        (doing("traverse", {"table": "products", "id": "GPU-0", "path": ["order_lines.order_id"]}), "not_found"),
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


def test_columns_asked_for_teach_the_ids_that_they_hold() -> None:
    env, order, _ = started()
    [row] = [row for row in env.state.find(env.world.schema["orders"].kind) if row.id == order]
    asked: dict[str, Any] = {"table": "orders", "where": {"id": order}, "columns": ["customer_id", "total_cents"]}
    [event] = act(env, doing("query", asked))["events"]
    assert event.shown == ()
    assert event.mentioned == {order, row.customer_id}  # type: ignore[attr-defined]


def test_a_row_seen_whole_teaches_the_ids_of_no_one_table_too() -> None:
    env, _, _ = started()
    parcel: Any = env.state.find(env.world.schema["shipments"].kind)[0]
    [event] = act(env, doing("query", {"table": "shipments", "where": {"tracking": parcel.tracking}}))["events"]
    assert event.shown == (("shipments", parcel.id),)
    assert {parcel.id, parcel.order_id, parcel.tracking} <= event.mentioned
    assert event.named == (parcel.tracking,)


def test_groups_by_an_id_teach_those_ids() -> None:
    env, _, _ = started()
    asked = {"table": "employees", "measure": "count", "group_by": "id"}
    [event] = act(env, doing("aggregate", asked))["events"]
    assert event.mentioned == set(env.episode.state.keys("employees"))


def test_a_list_goes_on_where_its_last_page_ended() -> None:
    env, _, _ = started()
    listed: list[str] = []
    cursor: str | None = None
    while True:
        asked: dict[str, Any] = {"table": "products", "columns": ["price_cents"]}
        act(env, doing("query", asked | ({"cursor": cursor} if cursor else {})))
        answer = json.loads(env.episode.observation[0]["content"])
        listed += [row["id"] for row in answer["rows"]]
        assert len(answer["rows"]) <= 10
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    assert listed == list(env.episode.state.keys("products"))


def test_a_traversal_of_too_many_rows_is_refused() -> None:
    env, _, _ = started()
    path = ["orders.customer_id", "order_lines.order_id", "product_id", "order_lines.product_id"]
    refused = [
        event
        for customer in env.episode.state.keys("customers")[:12]
        for event in act(env, doing("traverse", {"table": "customers", "id": customer, "path": path}))["events"]
        if event.error
    ]
    assert {event.error for event in refused} == {"too_many"}
    assert all(not event.shown and not event.mentioned for event in refused)
