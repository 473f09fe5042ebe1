"""Broken environments, a small library: each breaks one rule of `check_env`, and only that one."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from palaestra.envs.env import ToolEnv
from worlds.broken.isolation import ForgetsRefusals, Lends, Overheard, TimelessRefusals
from worlds.broken.outside import IMPURE, LEAKS, ClosesOnce, Impure, Leaky
from worlds.broken.returns import (
    DatedMessages,
    Endless,
    Flattered,
    IllegalActions,
    IntegerEnds,
    OpaqueMessages,
    SleepsAfterEnd,
    SleepsBeforeReset,
    SpoiltComponents,
    SpoiltInfo,
    SpoiltReward,
    SpoiltTools,
    StrayMessages,
    StraySamples,
    WritesBesides,
)
from worlds.broken.sameness import (
    CannotGoBack,
    ForgetsMood,
    ForgetsTurn,
    ForksElsewhere,
    ForksShareTime,
    HashOrdered,
    LateClock,
    NextAfterEnd,
    Numbered,
    SiblingsShareTime,
    Unpicklable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A broken environment, and what the check must say of it."""

    env: type[ToolEnv]
    check: str
    """The one check that it trips."""
    says: str
    """A part of the message."""
    kwargs: Mapping[str, str] = field(default_factory=dict[str, str])
    also: frozenset[str] = frozenset()
    """Later checks that it cannot but trip too."""

    @property
    def id(self) -> str:
        """The id under which it is registered."""
        marks = "".join(c if c.isalnum() else "-" for value in self.kwargs.values() for c in value)
        return f"test/{self.env.__name__}{marks}-v0"


BROKEN: tuple[Case, ...] = (
    Case(env=IntegerEnds, check="gymnasium", says="to be a boolean"),
    Case(env=SpoiltTools, check="tools", says="another tool has this name", kwargs={"spoil": "repeated"}),
    Case(env=SpoiltTools, check="tools", says="it is no function with a name", kwargs={"spoil": "named"}),
    Case(env=SpoiltTools, check="tools", says="it has no description", kwargs={"spoil": "described"}),
    Case(env=SpoiltTools, check="tools", says="reason has no description", kwargs={"spoil": "argument"}),
    Case(env=SpoiltTools, check="tools", says="no object schema", kwargs={"spoil": "required"}),
    Case(env=SpoiltTools, check="tools", says="cannot be written as JSON", kwargs={"spoil": "pattern"}),
    Case(env=StraySamples, check="actions", says="action_space.contains refuses"),
    Case(env=IllegalActions, check="actions", says="there is no row 'MEM-404'"),
    Case(env=ToolEnv, check="surfaces", says="'generic' does not show", kwargs={"env_id": "test/ShowsLess-v0"}),
    Case(env=ToolEnv, check="surfaces", says="'generic' shows", kwargs={"env_id": "test/ShowsMore-v0"}),
    Case(env=SleepsBeforeReset, check="ends", says="before the first reset did not raise"),
    Case(env=SleepsAfterEnd, check="ends", says="after the end did not raise"),
    Case(env=Endless, check="ends", says="did not end the episode"),
    Case(env=StrayMessages, check="observations", says="lies in env.observation_space"),
    Case(env=SpoiltInfo, check="records", says="and the record says"),
    Case(env=DatedMessages, check="observations", says="JSON does not give back"),
    Case(env=OpaqueMessages, check="observations", says="JSON does not give back"),
    Case(
        env=Numbered,
        check="repeats",
        says="what it returned differs in another environment made alike",
        # Who does not repeat himself fails every comparison; `check_env` stops at the first.
        also=frozenset({"reset", "processes", "snapshots", "interleaving"}),
    ),
    Case(env=NextAfterEnd, check="reset", says="the seed alone draws the instance"),
    Case(env=LateClock, check="reset", says="the digest differs in an environment that was used before"),
    Case(env=HashOrdered, check="processes", says="differs in another process (PYTHONHASHSEED="),
    Case(env=Unpicklable, check="snapshots", says="a snapshot does not pickle"),
    Case(env=ForgetsTurn, check="snapshots", says="restored into another environment gives another digest"),
    Case(env=ForgetsMood, check="snapshots", says="after a restore into another environment"),
    Case(env=CannotGoBack, check="snapshots", says="taken back by"),
    Case(env=ForksElsewhere, check="forks", says="a fork has another digest than its origin"),
    Case(env=ForksShareTime, check="forks", says="moved its origin"),
    Case(env=SiblingsShareTime, check="forks", says="moved its sibling"),
    Case(env=Overheard, check="interleaving", says="while another environment is being played"),
    Case(env=Lends, check="ownership", says="belongs to the caller"),
    Case(env=ToolEnv, check="refusals", says="changed rows", kwargs={"env_id": "test/Unrolled-v0"}),
    Case(env=ForgetsRefusals, check="refusals", says="left no event"),
    Case(env=TimelessRefusals, check="refusals", says="took no time"),
    *(
        Case(env=SpoiltReward, check="rewards", says="gave the reward", kwargs={"spoil": spoil})
        for spoil in ("none", "huge", "nan", "numpy")
    ),
    Case(env=SpoiltReward, check="rewards", says="the rewards sum to", kwargs={"spoil": "bonus"}),
    Case(env=SpoiltComponents, check="rewards", says="the components"),
    Case(env=Flattered, check="rescoring", says="the log is worth"),
    Case(env=WritesBesides, check="rescoring", says="the log does not add up"),
    *(Case(env=Impure, check="purity", says=act.strip(), kwargs={"act": act}) for act in IMPURE),
    Case(env=ToolEnv, check="purity", says="time.time", kwargs={"env_id": "test/Clockwork-v0"}),
    *(Case(env=Leaky, check="closing", says=leak, kwargs={"leak": leak}) for leak in LEAKS),
    Case(env=ClosesOnce, check="closing", says="the second close raised"),
)
"""Every broken environment."""
