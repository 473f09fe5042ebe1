"""The session core as a state machine: whatever is asked, in whatever order, it is as environments in process are."""

from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from palaestra.envs import Snapshot, ToolEnv
from palaestra.envs.check.subject import as_action, make
from palaestra.records import EndReason
from property.budget import SOAK
from served import AUTHOR, OTHER, PLAYER, CoreUnderTest
from worlds.registration import LIBRARY_ID

LEASE = 100.0
FINISH: dict[str, Any] = {"tool": "finish", "arguments": {}}
PICK = st.integers(0, 10**6)


@dataclass
class Modelled:
    """A session as it should be: an environment in process."""

    id: str
    env: ToolEnv
    expires: float
    is_begun: bool = False
    is_stopped: bool = False
    """Whether its player ended the episode from outside."""
    latest: dict[str, Any] | None = None
    """The latest request with a key."""
    reply: bytes = b""


class SessionMachine(RuleBasedStateMachine):
    """Sessions of one author, played beside environments in process."""

    def __init__(self) -> None:
        super().__init__()
        self.core = CoreUnderTest(lease=LEASE, owner_sessions=6)
        self.sessions: list[Modelled] = []
        self.snapshots: list[tuple[str, Snapshot]] = []
        self.requests = 0
        self.lost: list[str] = []

    def pick(self, number: int) -> Modelled:
        found = self.sessions[number % len(self.sessions)]
        found.expires = self.core.clock.now + LEASE
        return found

    def send(self, one: Modelled, name: str, **fields: Any) -> dict[str, Any]:
        self.requests += 1
        item = {"session": one.id, "request": f"r{self.requests}", **fields}
        one.latest = {"name": name, **item}
        one.reply = self.core.send(AUTHOR, name, item)
        return self.core.ask(AUTHOR, name, **item)  # sent a second time at once

    @rule()
    @precondition(lambda self: len(self.sessions) < 6)
    def create(self) -> None:
        id_ = self.core.ask(AUTHOR, "create", world="library")["session"]
        self.sessions.append(Modelled(id=id_, env=make(LIBRARY_ID), expires=self.core.clock.now + LEASE))

    @rule(number=PICK, seed=st.integers(0, 20))
    @precondition(lambda self: self.sessions)
    def reset(self, number: int, seed: int) -> None:
        one = self.pick(number)
        self.send(one, "reset", seed=seed)
        one.env.reset(seed=seed)
        one.is_begun, one.is_stopped = True, False

    @rule(number=PICK, kind=st.sampled_from(["legal", "oracle", "finish", "junk", "turn"]), seed=PICK)
    @precondition(lambda self: self.sessions)
    def step(self, number: int, kind: str, seed: int) -> None:
        one = self.pick(number)
        if not one.is_begun or one.is_stopped or one.env.end is not None:
            assert self.core.refusal(AUTHOR, "step", session=one.id, action=FINISH)[0] == "episode_over"
            return
        action: Any = FINISH
        if kind == "oracle":
            calls = one.env.oracle()
            action = as_action(calls[seed % len(calls)])
        elif kind == "legal":
            [action] = one.env.legal_actions(1, seed=seed)
        elif kind == "turn":
            action = one.env.legal_actions(2, seed=seed)
        elif kind == "junk":
            action = "<tool_call>{"
        shown = self.send(one, "step", action=action, turn=one.env.episode.turn)
        record = one.env.step(action)[4]["record"]
        assert shown["record"]["reward"] == record.reward
        assert shown["record"]["state_hash"] == record.state_hash

    @rule(number=PICK)
    @precondition(lambda self: 0 < len(self.sessions) < 6)
    def fork(self, number: int) -> None:
        one = self.pick(number)
        if not one.is_begun or one.is_stopped:
            assert self.core.refusal(AUTHOR, "fork", session=one.id)[0] == "episode_over"
            return
        id_ = self.send(one, "fork")["session"]
        expires = self.core.clock.now + LEASE
        self.sessions.append(Modelled(id=id_, env=one.env.fork(), expires=expires, is_begun=True))

    @rule(number=PICK)
    @precondition(lambda self: any(one.is_begun and not one.is_stopped for one in self.sessions))
    def snapshot(self, number: int) -> None:
        begun = [one for one in self.sessions if one.is_begun and not one.is_stopped]
        one = begun[number % len(begun)]
        one.expires = self.core.clock.now + LEASE
        self.snapshots.append((self.send(one, "snapshot")["snapshot"], one.env.snapshot()))

    @rule(number=PICK, which=PICK)
    @precondition(lambda self: self.sessions and self.snapshots)
    def restore(self, number: int, which: int) -> None:
        one, (id_, taken) = self.pick(number), self.snapshots[which % len(self.snapshots)]
        self.send(one, "restore", snapshot=id_)
        one.env.restore(taken)
        one.is_begun, one.is_stopped = True, False

    @rule(number=PICK, reason=st.sampled_from(["token_budget", "time_budget"]))
    @precondition(lambda self: self.sessions)
    def end(self, number: int, reason: str) -> None:
        one = self.pick(number)
        if not one.is_begun:
            assert self.core.refusal(AUTHOR, "end", session=one.id)[0] == "episode_over"
            return
        shown = self.send(one, "end", reason=reason)
        assert shown["points"] == one.env.score(EndReason(shown["end"])).points
        assert one.is_stopped or shown["end"] == (one.env.end or reason)
        one.is_stopped = one.env.end is None

    @rule(number=PICK)
    @precondition(lambda self: self.sessions)
    def send_again(self, number: int) -> None:
        one = self.sessions[number % len(self.sessions)]
        if one.latest is not None:
            one.expires = self.core.clock.now + LEASE
            item = dict(one.latest)
            assert self.core.send(AUTHOR, item.pop("name"), item) == one.reply

    @rule(number=PICK)
    @precondition(lambda self: self.sessions)
    def close(self, number: int) -> None:
        one = self.sessions.pop(number % len(self.sessions))
        self.core.ask(AUTHOR, "close", session=one.id)
        self.lost.append(one.id)

    @rule(seconds=st.sampled_from([1.0, 40.0, 99.0, 100.0]), swept=st.booleans())
    def wait(self, seconds: float, swept: bool) -> None:
        self.core.clock.now += seconds
        if swept:
            self.core.core.expire()
        late = [one for one in self.sessions if one.expires <= self.core.clock.now]
        for one in late:
            self.sessions.remove(one)
            self.lost.append(one.id)
            assert self.core.refusal(AUTHOR, "heartbeat", session=one.id)[0] == "lost"

    @rule(number=PICK)
    @precondition(lambda self: self.lost)
    def call_what_is_gone(self, number: int) -> None:
        gone = self.lost[number % len(self.lost)]
        assert self.core.refusal(AUTHOR, "step", session=gone, action=FINISH)[0] == "lost"
        assert self.core.refusal(PLAYER, "step", session=gone, action=FINISH)[0] == "no_session"

    @rule(number=PICK)
    @precondition(lambda self: self.sessions)
    def call_another_owners(self, number: int) -> None:
        one = self.sessions[number % len(self.sessions)]
        for name in ("close", "heartbeat", "fork"):
            assert self.core.refusal(OTHER, name, session=one.id)[0] == "no_session"

    @invariant()
    def every_episode_counts_once_or_is_void(self) -> None:
        self.core.check_account()
        assert len(self.core.core.sessions) == len(self.sessions)
        running = [one for one in self.sessions if one.is_begun and not one.is_stopped and one.env.end is None]
        assert self.core.core.ledger.running == len(running)
        assert all((entry.points is None) == (entry.outcome != "counted") for entry in self.core.entries)

    @invariant()
    def sessions_are_where_environments_in_process_are(self) -> None:
        for one in self.sessions:
            session = self.core.core.sessions.peek(one.id)
            assert session is not None
            assert session.expires == one.expires
            if one.is_begun:
                assert session.env.digest() == one.env.digest()
                assert session.turn == one.env.episode.turn


TestSessionMachine = SessionMachine.TestCase
TestSessionMachine.settings = settings(max_examples=400 if SOAK else 15, stateful_step_count=40, deadline=None)
