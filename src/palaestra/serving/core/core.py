"""The session core: the operations of a server, without any protocol. It has one thread and no clock of its own."""

from collections.abc import Callable, Mapping
from typing import Any

from palaestra.envs import ToolEnv
from palaestra.errors import (
    ActionError,
    CapabilityError,
    EpisodeOverError,
    InfrastructureError,
    RequestConflictError,
    RequestError,
    TaskError,
    UnknownNameError,
)
from palaestra.records import EndReason
from palaestra.serving.access import Caller, KeyScope
from palaestra.serving.core import views
from palaestra.serving.core.action_text import read_action_text
from palaestra.serving.core.author_settings import check_author_settings, check_split_choice
from palaestra.serving.core.depth import check_depth
from palaestra.serving.core.inspection import inspect_session, snapshot_facts
from palaestra.serving.core.items import (
    CloseItem,
    CreateItem,
    DropItem,
    EndItem,
    ForkItem,
    HeartbeatItem,
    InspectItem,
    ObserveItem,
    ResetItem,
    RestoreItem,
    SnapshotItem,
    StepItem,
    TasksItem,
    View,
)
from palaestra.serving.core.ledger import EpisodeLedger, LedgerOutcome, SessionCounts
from palaestra.serving.core.limits import SessionLimits
from palaestra.serving.core.replies import ReplyMemory
from palaestra.serving.core.session import ServedSession, SessionTerms, StoredSnapshot
from palaestra.serving.core.store import SessionStore, SnapshotStore
from palaestra.serving.core.worlds import ServedWorlds
from palaestra.steps import ResetRecord, StepRecord

_VOID = "the world failed and the episode is void; reset the session"
NOT_BEGUN = "no episode has begun in this session; its creator begins one by `reset`"
"""The message about a session before its first reset."""
_STOPPED = "the episode was ended from outside; reset the session"
_CREATIONS = 1_024
"""How many created sessions of an owner, and how many owners, are remembered for repeated requests."""


class SessionCore:
    """Sessions of worlds, and who may play them.

    Each method takes one item and returns its answer as JSON. If it raises, it has changed nothing, except that a fault
    of the world makes the episode void.

    Args:
        worlds: The served worlds.
        limits: Bounds of sessions and snapshots.
        ledger: The account of episodes.
        clock: Returns seconds that never decrease.
        new_id: Returns names that nobody can guess.
    """

    def __init__(
        self,
        worlds: ServedWorlds,
        *,
        limits: SessionLimits,
        ledger: EpisodeLedger,
        clock: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self.worlds = worlds
        self.limits = limits
        self.ledger = ledger
        self.sessions = SessionStore(limits, ledger, clock=clock)
        self.snapshots = SnapshotStore(limits, clock=clock)
        self._clock = clock
        self._new_id = new_id
        self._creations: dict[str, ReplyMemory] = {}

    # Sessions

    def create(self, caller: Caller, item: CreateItem) -> bytes:
        """Create a session.

        Raises:
            SessionError: the server does not serve the world.
            KeyScopeError: the item has settings that only authors may choose.
            RequestError: a switch does not exist, or cannot have this value.
            CapabilityError: the world does not declare a switch.
            LimitError: the limit of sessions is reached.
        """
        terms = self._terms(caller, item)
        memory = self._creations.get(caller.owner)
        asked = (terms.view, item)
        if memory is not None and (reply := memory.find(item.request, asked)) is not None:
            return reply
        self.sessions.admit(caller.owner)
        env = self.worlds.make(terms.world, self._switches(item))
        session = self._add(terms, env)
        shown: dict[str, Any] = {"session": session.id, "view": terms.view, "lease": terms.lease}
        if item.tools:
            shown["tools"] = env.toolbox.export(env.world.role)
        reply = views.dump(shown)
        if item.request is not None:
            self._remember_creation(caller.owner).keep(item.request, asked, reply)
        return reply

    def _terms(self, caller: Caller, item: CreateItem) -> SessionTerms:
        is_author = KeyScope.AUTHOR in caller.scopes
        check_author_settings(caller, item)
        if item.lease is not None and item.lease > self.limits.longest_lease:
            raise RequestError(f"lease={item.lease:g}: the longest is {self.limits.longest_lease:g} seconds")
        world = self.worlds.find(item.world)
        return SessionTerms(
            world=world,
            split=self.worlds.split(world, self._switches(item)),
            creator=caller.owner,
            player=item.player or caller.owner,
            view=item.view or ("author" if is_author else "play"),
            shows_reward=world.shows_reward if item.reward is None else item.reward,
            lease=item.lease or self.limits.lease,
        )

    def _switches(self, item: CreateItem) -> dict[str, Any]:
        stated = {} if item.action_format is None else {"action_format": item.action_format}
        return {**stated, **(item.switches or {})}

    def _add(self, terms: SessionTerms, env: ToolEnv) -> ServedSession:
        session = ServedSession(self._new_id(), terms, env, expires=self._clock() + terms.lease)
        self.sessions.add(session)
        return session

    def _remember_creation(self, owner: str) -> ReplyMemory:
        memory = self._creations.pop(owner, None) or ReplyMemory(_CREATIONS)
        self._creations[owner] = memory
        if len(self._creations) > _CREATIONS:
            del self._creations[next(iter(self._creations))]
        return memory

    def heartbeat(self, caller: Caller, item: HeartbeatItem) -> bytes:
        """Renew the lease of a session; raises as `SessionStore.find` does."""
        session = self.sessions.find(caller, item.session)
        return views.dump({"lease": session.terms.lease})

    def close(self, caller: Caller, item: CloseItem) -> bytes:
        """Close a session; a caller may close its session twice.

        Raises:
            SessionError: the caller has no such session; an administrator may close any.
        """
        session = self.sessions.peek(item.session) if KeyScope.ADMIN in caller.scopes else None
        if session is None and not self.sessions.is_gone(caller, item.session):
            session = self.sessions.find(caller, item.session)
        if session is not None:
            self.sessions.remove(session, LedgerOutcome.LEFT)
        return b"{}"

    # Episodes

    def reset(self, caller: Caller, item: ResetItem) -> bytes:
        """Begin an episode; the previous one is void unless it has ended.

        Raises:
            SessionError: there is no such session or task.
            SessionLostError: the session is gone.
            RequestError: the split lists no task, or the task does not fit the session.
            InfrastructureError: the world failed.
        """
        session, view, reply = self._look_up(caller, item)
        if reply is not None:
            return reply
        options = None if item.task is None else {"task": self._task_of(session, view, item.task)}
        try:
            done: ResetRecord = session.env.reset(seed=item.seed, options=options)[1]["record"]
        except (TaskError, CapabilityError, UnknownNameError) as error:
            # The environment keeps its episode if it refuses a task.
            raise RequestError(str(error) if view == "author" else "the task cannot be played here") from error
        except Exception as error:
            raise self._fault(session, view, error) from error
        session.leave(self.ledger, LedgerOutcome.LEFT)
        session.begin(self.ledger)
        session.opening = session.env.episode.observation
        handle = self.worlds.task_handles.handle(done.task.id)
        write = views.author_reset if view == "author" else views.player_reset
        return self._keep_reply(session, view, item, write(done, handle=handle))

    def _task_of(self, session: ServedSession, view: View, task: str) -> str:
        """The id of the task with a handle; authors may also give an id."""
        found = self.worlds.handles(session.terms.world, session.terms.split).get(task)
        if found is None and view == "play":
            raise RequestError(f"there is no task {task!r} in this session's split; `tasks` lists the handles")
        return task if found is None else found

    def step(self, caller: Caller, item: StepItem) -> bytes:
        """Play a turn.

        Raises:
            SessionError: there is no such session.
            SessionLostError: the session is gone.
            EpisodeOverError: there is no episode, it has ended, or it is void.
            ActionError: the action is invalid, or nested too deep.
            RequestError: the item says that the action is JSON text, but it is not.
            RequestConflictError: the session has another number of turns than the item states.
            InfrastructureError: the world failed; the episode is void.
        """
        session, view, reply = self._look_up(caller, item)
        if reply is not None:
            return reply
        self._check_playable(session)
        if item.turn is not None and item.turn != session.turn:
            raise RequestConflictError(
                f"turn={item.turn}: the session has played {session.turn} turns; nothing was run"
            )
        action = read_action_text(item.action) if item.as_json else item.action
        check_depth(action)
        try:
            done: StepRecord = session.env.step(action)[4]["record"]
            reply = self._step_reply(session, view, done)
        except (ActionError, EpisodeOverError):
            raise
        except Exception as error:
            raise self._fault(session, view, error) from error
        session.turn += 1
        if done.end is not None:
            session.count(self.ledger, done.standing.points)
        return self._keep_reply(session, view, item, reply)

    def _step_reply(self, session: ServedSession, view: View, done: StepRecord) -> bytes:
        turn = session.turn + 1
        if view == "author":
            return views.author_step(done, turn=turn)
        return views.player_step(done, turn=turn, shows_reward=session.terms.shows_reward)

    def _fault(self, session: ServedSession, view: View, error: Exception) -> InfrastructureError:
        """Make the episode void after a crash. A player does not see the cause, since that may name the task."""
        session.leave(self.ledger, LedgerOutcome.FAULT)
        session.void = f"{type(error).__name__}: {error}"
        return InfrastructureError(f"{_VOID}: {session.void}" if view == "author" else _VOID)

    def end(self, caller: Caller, item: EndItem) -> bytes:
        """End the episode from outside. It counts, judged like one whose budget is spent; an ended one is unchanged.

        Raises:
            EpisodeOverError: there is no episode, or it is void.
            InfrastructureError: the world failed; the episode is void.
        """
        session, view, reply = self._look_up(caller, item)
        if reply is not None:
            return reply
        if session.void is not None:
            raise EpisodeOverError(_VOID)
        if not session.has_begun:
            raise EpisodeOverError(NOT_BEGUN)
        reason = session.env.end or session.stopped or EndReason(item.reason)
        try:
            score = session.env.score(reason)
        except EpisodeOverError:
            raise
        except Exception as error:
            raise self._fault(session, view, error) from error
        if session.running is not None:
            session.stopped = reason
            session.count(self.ledger, score.points)
        shown: dict[str, Any] = {"end": reason}
        if view == "author" or session.terms.shows_reward:
            shown["points"] = score.points
        return self._keep_reply(session, view, item, views.dump(shown))

    def fork(self, caller: Caller, item: ForkItem) -> bytes:
        """Create a session in the state of another one, with the same terms.

        Raises:
            EpisodeOverError: there is no episode, or it is void.
            LimitError: the limit of sessions is reached.
        """
        session, view, reply = self._look_up(caller, item)
        if reply is not None:
            return reply
        self._check_playable(session)
        self.sessions.admit(session.terms.creator)
        fork = self._add(session.terms, session.env.fork())
        fork.begin(self.ledger)
        fork.opening = session.opening
        return self._keep_reply(session, view, item, views.dump({"session": fork.id, "turn": fork.turn}))

    def _check_playable(self, session: ServedSession) -> None:
        if session.void is not None:
            raise EpisodeOverError(_VOID)
        if session.stopped is not None:
            raise EpisodeOverError(_STOPPED)
        if not session.has_begun:
            raise EpisodeOverError(NOT_BEGUN)

    def snapshot(self, caller: Caller, item: SnapshotItem) -> bytes:
        """Take a snapshot, keep it, and answer with its name; raises as `fork` does."""
        session, view, reply = self._look_up(caller, item)
        if reply is not None:
            return reply
        self._check_playable(session)
        taken, id_ = session.env.snapshot(), self._new_id()
        terms = session.terms
        stored = StoredSnapshot(
            creator=terms.creator,
            player=terms.player,
            world=terms.world.name,
            snapshot=taken,
            opening=session.opening,
        )
        self.snapshots.add(id_, stored)
        facts = snapshot_facts(taken) if view == "author" else {}
        return self._keep_reply(session, view, item, views.dump({"snapshot": id_, "turn": taken.turn, **facts}))

    def restore(self, caller: Caller, item: RestoreItem) -> bytes:
        """Restore a snapshot in a session; the session's episode is void unless it has ended.

        Raises:
            SessionError: there is no such session or snapshot.
            RequestError: the snapshot does not fit the session.
            InfrastructureError: the world failed.
        """
        session, view, reply = self._look_up(caller, item)
        if reply is not None:
            return reply
        stored = self.snapshots.find(caller, item.snapshot)
        terms = session.terms
        if (stored.creator, stored.world) != (terms.creator, terms.world.name):
            raise RequestError("the snapshot was taken in another world or for another creator; restore it there")
        try:
            session.env.restore(stored.snapshot)
        except TaskError as error:
            raise RequestError(str(error) if view == "author" else "the snapshot does not fit this session") from error
        except Exception as error:
            raise self._fault(session, view, error) from error
        session.leave(self.ledger, LedgerOutcome.LEFT)
        session.begin(self.ledger)
        session.opening = stored.opening
        shown = {"turn": session.turn, "messages": session.env.episode.observation, "end": session.env.end}
        return self._keep_reply(session, view, item, views.dump(shown))

    def observe(self, caller: Caller, item: ObserveItem) -> bytes:
        """A player's present view of a session: how the episode began, the latest messages, and the tools.

        Raises:
            EpisodeOverError: no episode has begun, or it is void.
        """
        session = self.sessions.find(caller, item.session)
        self._check_playable(session)
        env = session.env
        shown: dict[str, Any] = {"opening": session.opening, "messages": env.episode.observation}
        shown |= {"turn": session.turn, "end": env.end}
        if item.tools:
            shown["tools"] = env.tool_schemas
        return views.dump(shown)

    def drop(self, caller: Caller, item: DropItem) -> bytes:
        """Forget a snapshot; raises as `SnapshotStore.find` does."""
        self.snapshots.find(caller, item.snapshot)
        self.snapshots.drop(item.snapshot)
        return b"{}"

    # For authors, and about the server

    def inspect(self, caller: Caller, item: InspectItem) -> bytes:
        """An author's view of a session of their own.

        Raises:
            KeyScopeError: the key lacks the scope, or another owner created the session.
            EpisodeOverError: no episode has begun.
        """
        caller.require(KeyScope.AUTHOR)
        session = self.sessions.find(caller, item.session)
        if session.terms.creator != caller.owner:
            raise RequestError("only the creator of a session may inspect it")
        return views.dump(inspect_session(session, item))

    def tasks(self, caller: Caller, item: TasksItem) -> bytes:
        """The handles of a world's tasks; for authors also their ids.

        Raises:
            SessionError: the server does not serve the world.
            KeyScopeError: only authors may choose a split.
            RequestError: there is no such split.
        """
        world = self.worlds.find(item.world)
        if item.split is not None:
            check_split_choice(caller, item.split)
        handles = self.worlds.handles(world, item.split or self.worlds.split(world, {}))
        if KeyScope.AUTHOR in caller.scopes:
            return views.dump({"tasks": [{"handle": handle, "id": task} for handle, task in handles.items()]})
        # In the order of handles: the order of ids would reveal which tasks belong together.
        return views.dump({"tasks": [{"handle": handle} for handle in sorted(handles)]})

    def listing(self, caller: Caller) -> list[Mapping[str, Any]]:
        """The sessions that a caller may see; all sessions with the scope `read`."""
        now, sees_all = self._clock(), KeyScope.READ in caller.scopes
        return [
            {
                "session": session.id,
                "world": session.terms.world.name,
                "creator": session.terms.creator,
                "player": session.terms.player,
                "view": session.view(caller),
                "turn": session.turn,
                "running": session.running is not None,
                "expires_in": max(0.0, session.expires - now),
            }
            for session in self.sessions
            if sees_all or session.may_see(caller)
        ]

    def counts(self) -> SessionCounts:
        """The number of sessions and snapshots, and the account of episodes."""
        ledger = self.ledger
        return SessionCounts(
            sessions=len(self.sessions),
            snapshots=len(self.snapshots),
            begun=ledger.episodes_begun,
            running=ledger.running,
            outcomes=ledger.outcomes,
        )

    def expire(self) -> int:
        """Free sessions and snapshots whose lease has expired; return their number."""
        return self.sessions.expire() + self.snapshots.expire()

    def stop(self) -> None:
        """Close every session; episodes that have not ended are void."""
        for session in self.sessions:
            self.sessions.remove(session, LedgerOutcome.STOPPED)

    def _look_up(
        self, caller: Caller, item: ResetItem | StepItem | EndItem | ForkItem | SnapshotItem | RestoreItem
    ) -> tuple[ServedSession, View, bytes | None]:
        """The session of an item, the caller's view of it, and the answer if the item was run before."""
        session = self.sessions.find(caller, item.session)
        view = session.view(caller)
        return session, view, session.replies.find(item.request, (view, item))

    def _keep_reply(self, session: ServedSession, view: View, item: Any, reply: bytes) -> bytes:
        session.replies.keep(item.request, (view, item), reply)
        return reply
