"""Storefront under random work: whatever is called, undone, copied and gone on with, the world keeps its promises."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, cast

import gymnasium as gym
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from palaestra.agents import as_action
from palaestra.envs import Snapshot, ToolEnv
from palaestra.envs.state import Overlay, SqlProjection
from palaestra.envs.state.base import HASH_MASK, row_hash
from palaestra.envs.storefront.invariants import violations
from palaestra.envs.storefront.schema import SCHEMA, Order, OrderLine, Payment, Shipment
from palaestra.errors import EpisodeOverError
from palaestra.protocols import Action
from palaestra.records import ANY_TABLE, Row, RowChange
from palaestra.rubrics import TurnLog, rescore
from palaestra.seeding import Stream
from palaestra.tools import legal_call, sample_call

SETTINGS = settings(
    max_examples=60,
    stateful_step_count=30,
    derandomize=True,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # streams drawn from seeds do not shrink, they only take minutes to try
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
TASKS = (
    "storefront/cancel-order/0000",
    "storefront/lost-parcel/0001",
    "storefront/refund-damaged-item/5000",
    "storefront/return-opened-item/7000",
)
AMOUNTS: dict[str, tuple[int, ...]] = {
    "amount_cents": (1, 500, 4_999, 29_999, 30_000, 30_001),
    "quantity": (1, 1, 1, 2, 3),
    "fee_cents": (0, 0, 150, 10_000_000),
}
BROKEN: tuple[Action, ...] = (
    [],
    "",
    "<tool_call>{",
    {"tool": "get_ordr", "arguments": {}},
    {"tool": "cancel_order", "arguments": {"order_id": 7}},
    {"tool": "cancel_order", "arguments": {"order_id": "ORD-0"}},
    {"tool": "adjust_stock", "arguments": {"product_id": "GPU-1012", "stock": 0}},
    {"tool": "issue_refund", "arguments": {"line_id": "LIN-10001", "quantity": 0, "amount_cents": -1, "reason": "x"}},
)
Seeds = st.integers(0, 2**32)
Chain = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place to come back to, and what was true there."""

    snapshot: Snapshot
    digest: str
    rewards: Chain
    log: tuple[TurnLog, ...]


def make(task: str) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", task=task, max_turns=60).unwrapped
    assert isinstance(env, ToolEnv)
    return env


@cache
def mirror(task: str) -> SqlProjection:
    """The rows of a task in SQL; it follows one overlay after the other."""
    return SqlProjection(make(task).task_set.instance(task).settled)


@cache
def neighbourhood(task: str) -> frozenset[str]:
    """A few rows that belong together, so that random calls meet each other's traces."""
    instance = make(task).task_set.instance(task)
    state = instance.settled
    ids = {word for word in instance.given if any(state.peek(info.kind, word) for info in SCHEMA)}
    orders = [o for status in ("processing", "shipped", "delivered") for o in state.find(Order, status=status)[:3]]
    orders += [o for o in state.find(Order) if o.id in ids]
    for order in orders:
        ids |= {order.id, order.customer_id}
        for line in state.find(OrderLine, order_id=order.id):
            ids |= {line.id, line.product_id}
        belongings: list[Row] = [*state.find(Payment, order_id=order.id), *state.find(Shipment, order_id=order.id)]
        ids |= {row.id for row in belongings}
    for info in SCHEMA:
        rows = state.find(info.kind)
        if not any(row.id in ids for row in rows):
            ids |= {row.id for row in (*rows[:2], *rows[-2:])}
    return frozenset(ids)


def write(state: Overlay, change: RowChange) -> None:
    """Make a journal entry again."""
    if change.before is None:
        assert change.after is not None
        state.insert(change.after)
    elif change.after is None:
        state.delete(change.before)
    else:
        state.update(change.before, **{f.name: getattr(change.after, f.name) for f in fields(change.after)})


class Storefront(RuleBasedStateMachine):
    marks = Bundle("marks")

    @initialize(task=st.sampled_from(TASKS), seed=Seeds)
    def begin(self, task: str, seed: int) -> None:
        self.task = task
        self.env = make(task)
        self.env.reset(seed=seed)
        self.touched: set[tuple[str, str]] = set()
        self._fresh()

    def _fresh(self) -> None:
        self.rewards: Chain = ()
        self.log: tuple[TurnLog, ...] = ()
        self.next = 0

    def running(self) -> bool:
        return self.env.end is None

    # Calls

    def play(self, action: Action) -> None:
        before, calls = self.env.state_hash(), len(self.env.events)
        _, reward, terminated, truncated, info = self.env.step(action)
        events = info["events"]
        self.rewards = (*self.rewards, reward)
        self.log = (
            *self.log,
            TurnLog(events=events, changes=info["changes"], answer=self.env.episode.evidence.answer, end=info["end"]),
        )
        self.touched |= {(change.table, change.key) for change in info["changes"]}
        assert len(self.env.events) == calls + len(events)
        assert (terminated or truncated) == (info["end"] is not None)
        assert sum(e.written for e in events) == len(info["changes"])
        assert all(e.executed or not e.written for e in events)
        if not any(e.executed for e in events):
            assert self.env.state_hash() == before

    @precondition(running)
    @rule(seed=Seeds)
    def call_whatever_the_schemas_allow(self, seed: int) -> None:
        self.play(as_action(sample_call(list(self.env.world.toolbox), Stream.root("schema", seed))))

    @precondition(running)
    @rule(position=st.integers(0, 7))
    def call_what_is_legal(self, position: int) -> None:
        self.play(self.env.legal_actions()[position])

    @precondition(running)
    @rule(seed=Seeds, calls=st.integers(1, 4))
    def write_close_by(self, seed: int, calls: int) -> None:
        stream = Stream.root("near", seed)
        self.play([cast("dict[str, Any]", self._near_write(stream)) for _ in range(calls)])

    def _near_write(self, stream: Stream) -> Action:
        tools = [t for t in self.env.world.toolbox.offered("agent") if t.writes]
        drawn = legal_call(tools, self._near, stream)
        arguments = dict(drawn.arguments)
        for name, amounts in AMOUNTS.items():
            if name in arguments:
                arguments[name] = stream.choice(amounts)
        for name in self.env.world.toolbox[drawn.tool].references:
            if name in arguments and stream.chance(12):
                arguments[name] = "ORD-0"
        return {"tool": drawn.tool, "arguments": arguments}

    def _near(self, table: str) -> list[str]:
        kinds = [info.kind for info in SCHEMA if table in (ANY_TABLE, info.name)]
        settled, near = self.env.instance.settled, neighbourhood(self.task)
        rows = [row for kind in kinds for row in self.env.state.find(kind)]
        return [row.id for row in rows if row.id in near or settled.peek(type(row), row.id) is None]

    @precondition(running)
    @rule(count=st.integers(1, 3))
    def go_on_with_the_oracle(self, count: int) -> None:
        script = self.env.oracle()[self.next : self.next + count]
        self.next += count
        self.play([cast("dict[str, Any]", as_action(call)) for call in script])

    @precondition(running)
    @rule(action=st.sampled_from(BROKEN))
    def call_nonsense(self, action: Action) -> None:
        before = self.env.state_hash()
        self.play(action)
        assert self.env.state_hash() == before

    @precondition(lambda self: not cast("Storefront", self).running())
    @rule(seed=Seeds)
    def go_on_after_the_end(self, seed: int) -> None:
        before = self.env.digest()
        with pytest.raises(EpisodeOverError):
            self.env.step(self.env.legal_actions(1)[0])
        assert self.env.digest() == before
        self.env.reset(seed=seed)
        self._fresh()

    # Copies

    @rule(target=marks)
    def snapshot(self) -> Mark:
        return Mark(snapshot=self.env.snapshot(), digest=self.env.digest(), rewards=self.rewards, log=self.log)

    @rule(mark=marks, seed=Seeds)
    def restore(self, mark: Mark, seed: int) -> None:
        self.sql_says_the_same(seed)
        self.env.restore(mark.snapshot)
        self.rewards, self.log = mark.rewards, mark.log
        assert self.env.digest() == mark.digest
        self.sql_says_the_same(seed)

    @rule(mark=marks)
    def restore_into_another_environment(self, mark: Mark) -> None:
        other = make(self.task)
        other.restore(mark.snapshot)
        assert other.digest() == mark.digest
        self.env, self.rewards, self.log = other, mark.rewards, mark.log

    @precondition(running)
    @rule(seed=Seeds, calls=st.integers(1, 4))
    def fork_and_go_on_alike(self, seed: int, calls: int) -> None:
        fork, stream = self.env.fork(), Stream.root("alike", seed)
        assert fork.digest() == self.env.digest()
        for _ in range(calls):
            action = stream.choice((*self.env.legal_actions(3), self._near_write(stream)))
            assert fork.legal_actions(3) == self.env.legal_actions(3)
            theirs = fork.step(action)
            self.play(action)
            assert (fork.digest(), fork.anchor()) == (self.env.digest(), self.env.anchor())
            assert theirs[1] == self.rewards[-1]
            if not self.running():
                break

    @precondition(running)
    @rule(seed=Seeds)
    def siblings_do_not_meet(self, seed: int) -> None:
        stream, here = Stream.root("siblings", seed), self.env.digest()
        first, second = self.env.fork(), self.env.fork()
        first.step([cast("dict[str, Any]", self._near_write(stream)) for _ in range(3)])
        there = first.digest()
        assert (self.env.digest(), second.digest()) == (here, here)
        second.step([cast("dict[str, Any]", self._near_write(stream)) for _ in range(3)])
        second.restore(self.env.snapshot())
        assert (self.env.digest(), first.digest(), second.digest()) == (here, there, here)

    # What holds

    @invariant()
    def the_books_are_sound(self) -> None:
        assert violations(self.env.state, self.env.episode.clock.today) == []

    @invariant()
    def the_journal_replays_to_the_same_rows(self) -> None:
        again = self.env.instance.settled.fork()
        for change in self.env.journal:
            write(again, change)
        assert again.state_hash() == self.env.state_hash()

    @invariant()
    def rewards_components_and_score_agree(self) -> None:
        score = self.env.score()
        assert score.points == sum(score.components.values()) == sum(self.rewards)

    @rule(seed=Seeds)
    def sql_says_the_same(self, seed: int) -> None:
        sql, state, stream = mirror(self.task), self.env.state, Stream.root("sql", seed)
        sql.sync(self.env.episode.state)
        for table, key in sorted(self.touched):
            assert sql.peek(SCHEMA[table].kind, key) == state.peek(SCHEMA[table].kind, key)
        info = stream.choice([SCHEMA[table] for table, _ in sorted(self.touched)] or list(SCHEMA))
        row = stream.choice(state.find(info.kind))
        assert sql.get(info.kind, row.id) == row
        column = stream.choice([name for name in info.columns if info.columns[name].type is not tuple])
        equal = {column: getattr(row, column)}
        assert sql.find(info.kind, **equal) == state.find(info.kind, **equal)
        for name in info.searchable:
            text = stream.choice(str(getattr(row, name)).split() or ["none"])
            assert sql.search(info.kind, text) == state.search(info.kind, text)

    def teardown(self) -> None:
        if not hasattr(self, "env"):
            return
        state = self.env.instance.settled.fork()
        scores = list(rescore(self.env.instance.rubric, self.env.instance.evidence(state), state, self.log))
        assert [s.points for s in scores] == _running_sums(self.rewards)
        rows = (row for info in SCHEMA for row in self.env.state.find(info.kind))
        assert f"{sum(map(row_hash, rows)) & HASH_MASK:032x}" == self.env.state_hash() == state.state_hash()


def _running_sums(rewards: Iterable[float]) -> Sequence[float]:
    total, sums = 0.0, list[float]()
    for reward in rewards:
        total += reward
        sums.append(total)
    return sums


def test_whatever_is_called_undone_or_copied_the_world_keeps_its_promises() -> None:
    run_state_machine_as_test(Storefront, settings=SETTINGS)
