"""A pool over the small library, put together: an engine that babbles, worlds of this process, short episodes."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from palaestra.trainers.engines.engine import Engine
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.faults import Backoff
from palaestra.trainers.rollouts.groups import GroupPlan, GroupRule, RolloutGroup, TaskPlan
from palaestra.trainers.rollouts.pool import PoolConfig, RolloutPool
from palaestra.trainers.rollouts.source import GroupSource
from palaestra.trainers.rollouts.staleness import Staleness
from palaestra.trainers.rollouts.state import SourcePosition, load_state
from palaestra.trainers.rollouts.worlds.local import LocalWorlds
from pooled.unruly import Deed, Unruly, meek
from rollouts.engine import ScriptedEngine
from rollouts.library import babbling, codec, library, tasks

SHORT = PlayConfig(context=4096, turn=6, turns=2)
CONFIG = PoolConfig(agents=8, world=Backoff(retries=2, first=0.0), engine=Backoff(retries=3, first=1.0))


@dataclass(kw_only=True)
class Field:
    """What a test looks at."""

    engine: Engine
    worlds: Unruly
    pool: RolloutPool
    said: list[str] = field(default_factory=list[str])


@asynccontextmanager
async def playing(
    *,
    engine: Callable[[], Engine] = lambda: ScriptedEngine(babbling()),
    deed: Deed = meek,
    play: PlayConfig = SHORT,
    config: PoolConfig = CONFIG,
    void: bool = False,
) -> AsyncGenerator[Field]:
    """A pool at work; behind it no world stands open, and nothing is held in the engine."""
    said: list[str] = []
    drawing, worlds = engine(), Unruly(LocalWorlds(library()), deed, void=void)
    pool = RolloutPool(drawing, worlds, codec(), play, config, say=said.append)
    try:
        yield Field(engine=drawing, worlds=worlds, pool=pool, said=said)
    finally:
        await pool.close()
        assert not worlds.standing, "worlds were left open"
        assert drawing.stats().resident == 0, "the engine holds what nobody needs"
        await drawing.close()
        await worlds.close()


@dataclass(kw_only=True)
class Training:
    """A source of groups at work, and a trainer that only counts."""

    field: Field
    source: GroupSource
    taken: list[RolloutGroup]
    positions: list[SourcePosition]
    """What had become of every group when each step had its groups."""

    async def step(self, timeout: float | None = 1000.0) -> list[RolloutGroup]:
        """Take the groups of a step, and train on them: the weights get a new version."""
        groups = await self.source.take(timeout)
        self.taken += groups
        self.positions.append(self.source.position())
        self.check()
        await self.field.engine.update_weights({}, self.source.version + 1)
        self.source.advance(self.source.version + 1)
        return groups

    def check(self) -> None:
        """Hold the counts to what they say of each other."""
        counts = self.source.counts()
        ended = counts.finished + counts.failed + counts.straggled + counts.cancelled
        assert counts.started == ended + self.source.under_way
        assert counts.groups == counts.taken + counts.dropped + self.source.pending
        members = [member for group in self.source.state().groups for member in group.members]
        assert all(member.fate is None for member in members if member.begun is not None)
        assert set(self.source._saved) <= {member.trajectory for member in members if member.fate is None}
        held = sum(member.fate == "finished" for member in members)
        assert counts.finished == counts.handed + counts.discarded + held


class ByVersion:
    """Chooses tasks that depend on the version, as rules do that learn from results."""

    def task(self, index: int, version: int) -> str:
        """See `TaskChoice`."""
        return tasks()[(index + 3 * version) % len(tasks())]


PLAN = TaskPlan(tasks(), size=3, seed=5)


@asynccontextmanager
async def training(
    limits: Staleness,
    *,
    rule: GroupRule | None = None,
    plan: GroupPlan = PLAN,
    state: bytes | None = None,
    engine: Callable[[], Engine] = lambda: ScriptedEngine(babbling()),
    deed: Deed = meek,
    config: PoolConfig = CONFIG,
    wanted: Callable[[RolloutGroup], bool] | None = None,
    refill: int = 0,
    drain: bool = False,
    begun: Mapping[int, int] | None = None,
    on_begin: Callable[[int, int], None] = lambda index, version: None,
) -> AsyncGenerator[Training]:
    """A source at work, gone on with from `state` where there is one."""
    async with playing(engine=engine, deed=deed, config=config) as field:
        source = GroupSource(
            field.pool,
            plan,
            limits,
            rule=rule,
            wanted=wanted,
            refill=refill,
            drain=drain,
            begun=begun,
            on_begin=on_begin,
            say=field.said.append,
        )
        if state is not None:
            source.restore(load_state(state))
            await field.engine.update_weights({}, source.version)
        at_work = Training(field=field, source=source, taken=[], positions=[])
        try:
            yield at_work
        finally:
            at_work.check()
            await source.close()
