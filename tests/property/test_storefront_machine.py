"""Storefront under random work: whatever is called, undone, copied and gone on with, the world keeps its promises."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, invariant, precondition, rule

from palaestra.agents import as_action
from palaestra.envs import Snapshot, ToolEnv
from palaestra.envs.state import Overlay
from palaestra.envs.state.base import HASH_MASK, row_hash
from palaestra.envs.worlds.storefront.invariants import violations
from palaestra.envs.worlds.storefront.schema import SCHEMA, Shipment
from palaestra.errors import EpisodeOverError
from palaestra.protocols import Action
from palaestra.records import RowChange
from palaestra.rubrics import TurnLog, rescore
from palaestra.seeding import Stream
from palaestra.tools import sample_call
from property.budget import MACHINE_SHARDS, MACHINE_STEPS
from property.desks import make, mirror, near_call, tasks
from property.ledger import imbalances, unpermitted
from property.machines import CountedMachine, run_shard
from worlds.noisy import turn_log

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
MIRRORED = 4
"""Of how many tasks the rows are held in SQL, too; each takes a third of a second to load."""
Seeds = st.integers(0, 2**32)
Chain = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place to come back to, and what was true there."""

    snapshot: Snapshot
    digest: str
    rewards: Chain
    log: tuple[TurnLog, ...]


def write(state: Overlay, change: RowChange) -> None:
    """Make a journal entry again."""
    if change.before is None:
        assert change.after is not None
        state.insert(change.after)
    elif change.after is None:
        state.delete(change.before)
    else:
        state.update(change.before, **{f.name: getattr(change.after, f.name) for f in fields(change.after)})


class Storefront(CountedMachine):
    marks = Bundle("marks")
    sound: set[tuple[str, str]]
    """States whose books were found in order: task and hash. A shard comes back to many of them."""

    @initialize(task=st.sampled_from(tasks()), seed=Seeds)
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
        self.log = (*self.log, turn_log(info, self.env.episode.evidence.answer))
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
        self.play(as_action(sample_call(list(self.env.toolbox), Stream.root("schema", seed))))

    @precondition(running)
    @rule(position=st.integers(0, 7))
    def call_what_is_legal(self, position: int) -> None:
        self.play(self.env.legal_actions()[position])

    @precondition(running)
    @rule(seed=Seeds, calls=st.integers(1, 4))
    def write_close_by(self, seed: int, calls: int) -> None:
        stream = Stream.root("near", seed)
        self.play([self._near_write(stream) for _ in range(calls)])

    @precondition(running)
    @rule(seed=Seeds, calls=st.integers(2, 8))
    def write_turn_by_turn(self, seed: int, calls: int) -> None:
        stream = Stream.root("turns", seed)
        for _ in range(calls):
            if self.running():
                self.play(self._near_write(stream))

    def _near_write(self, stream: Stream) -> dict[str, Any]:
        return near_call(self.env, [t for t in self.env.toolbox.tools_for("agent") if t.writes], stream)

    @precondition(running)
    @rule(seed=Seeds)
    def lose_a_parcel_and_send_it_again(self, seed: int) -> None:
        parcels = [s.id for s in self.env.state.find(Shipment, status="in_transit")]
        arguments = {"shipment_id": Stream.root("parcel", seed).choice(parcels or ["SHP-0"])}
        self.play([{"tool": name, "arguments": arguments} for name in ("declare_lost", "send_replacement")])

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

    # Roles

    @precondition(running)
    @rule(seed=Seeds)
    def call_what_is_closed_to_the_role(self, seed: int) -> None:
        closed = [t for t in self.env.toolbox if t.roles and "agent" not in t.roles]
        before = self.env.state_hash()
        self.play(near_call(self.env, closed, Stream.root("closed", seed)))
        assert [event.error for event in self.log[-1].events] == ["forbidden"]
        assert self.env.state_hash() == before

    @precondition(running)
    @rule(seed=Seeds)
    def let_a_colleague_do_it(self, seed: int) -> None:
        stream = Stream.root("colleague", seed)
        tool = stream.choice([t for t in self.env.toolbox if t.roles and "agent" not in t.roles])
        fork = self.env.fork()
        fork.episode.context.role = stream.choice(sorted(tool.roles))
        *_, info = fork.step(near_call(fork, [tool], stream))
        assert [event.error for event in info["events"]] != ["forbidden"]
        self._check_books(fork)

    # Ends and copies

    @precondition(lambda self: not cast("Storefront", self).running())
    @rule(seed=Seeds)
    def go_on_after_the_end(self, seed: int) -> None:
        before = self.env.digest()
        with pytest.raises(EpisodeOverError):
            self.env.step(self.env.legal_actions(1)[0])
        assert self.env.digest() == before
        self.env.reset(seed=seed)
        self._fresh()

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
        first.step([self._near_write(stream) for _ in range(3)])
        there = first.digest()
        assert (self.env.digest(), second.digest()) == (here, here)
        second.step([self._near_write(stream) for _ in range(3)])
        second.restore(self.env.snapshot())
        assert (self.env.digest(), first.digest(), second.digest()) == (here, there, here)

    # What holds

    def _check_books(self, env: ToolEnv) -> None:
        here = (self.task, env.state_hash())
        if here not in self.sound:  # what was sound on one day stays so on the next: days only exclude the future
            context = env.episode.context
            assert violations(env.state, context.clock.today, context.rules) == []
            self.sound.add(here)

    @invariant()
    def the_books_are_sound(self) -> None:
        self._check_books(self.env)

    @invariant()
    def no_cent_and_no_piece_comes_from_nowhere(self) -> None:
        assert imbalances(self.env.instance.initial_state, self.env.state, self.env.changes) == []

    @invariant()
    def a_change_that_nothing_permits_counts_against_the_agent(self) -> None:
        instance = self.env.instance
        allowed = [a for c in instance.rubric.criteria for a in c.allows]
        wrong = unpermitted(self.env.changes, [*allowed, *instance.permitted])
        assert not wrong or self.env.episode.checklist.standing().violated, wrong

    @invariant()
    def the_journal_replays_to_the_same_rows(self) -> None:
        again = self.env.instance.initial_state.fork()
        for change in self.env.journal:
            write(again, change)
        assert again.state_hash() == self.env.state_hash()

    @invariant()
    def rewards_components_and_score_agree(self) -> None:
        score = self.env.score()
        assert score.points == sum(score.components.values()) == sum(self.rewards)

    @precondition(lambda self: cast("Storefront", self).task in tasks()[:MIRRORED])
    @rule(seed=Seeds)
    def sql_says_the_same(self, seed: int) -> None:
        if self.task not in tasks()[:MIRRORED]:
            return
        sql, state, stream = mirror(self.task), self.env.state, Stream.root("sql", seed)
        sql.sync(self.env.episode.state)
        for table, key in stream.sample(sorted(self.touched), 6):
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
        state = self.env.instance.initial_state.fork()
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


@pytest.mark.parametrize("shard", MACHINE_SHARDS)
def test_whatever_is_called_undone_or_copied_the_world_keeps_its_promises(
    shard: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Storefront, "sound", set[tuple[str, str]](), raising=False)
    assert run_shard(Storefront, shard, steps=MACHINE_STEPS) >= MACHINE_STEPS
