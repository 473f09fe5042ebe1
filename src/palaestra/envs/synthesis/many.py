"""All listed worlds of a split as one environment: each episode is played in the world that its task names."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from inspect import ismethod
from typing import Any, ClassVar

import gymnasium as gym

from palaestra.cache import LruCache
from palaestra.envs.env import ToolEnv
from palaestra.envs.instance import Instance
from palaestra.envs.snapshot import Snapshot
from palaestra.envs.synthesis.generator import WorldSplit, world_id
from palaestra.envs.synthesis.listing import listed_numbers, listed_worlds
from palaestra.envs.synthesis.one import open_numbered
from palaestra.envs.task import Family, Split
from palaestra.errors import CapabilityError, UnknownNameError
from palaestra.protocols import Action
from palaestra.records import Message
from palaestra.seeding import Stream
from palaestra.steps import Returned

MANY_SPLITS: Mapping[str, tuple[WorldSplit, Split]] = {
    "train": ("train", "train"),
    "heldout": ("train", "heldout"),
    "dev": ("dev", "dev"),
    "heldout-domain": ("heldout-domain", "heldout"),
    "heldout-mechanism": ("heldout-mechanism", "heldout"),
}
"""By split: which worlds, and which of their tasks. "heldout" is new tasks of the worlds that are trained in."""
_OPEN = 32
"""How many worlds an environment keeps open; the least recently used one is opened anew."""


class ManyWorldsTasks:
    """The tasks of several generated worlds. A world is made when a task of it is first asked for.

    Args:
        numbers: The worlds by split.
        worlds: Where they are opened.
    """

    def __init__(self, numbers: Mapping[str, Sequence[int]], worlds: "OpenWorlds") -> None:
        self._numbers = numbers
        self._worlds = worlds
        self.splits = tuple(MANY_SPLITS)

    def ids(self, split: str) -> tuple[str, ...]:
        """The tasks of a split, world by world.

        Raises:
            UnknownNameError: there is no such split.
        """
        return tuple(self._ids(split))

    def _ids(self, split: str) -> Iterator[str]:
        listed, own = listed_worlds(), MANY_SPLITS[split][1]
        for number in worlds_of_split(self._numbers, split):
            if number in listed:  # hundreds of worlds would be compiled for the ids alone
                yield from listed[number].task_ids(world_id(number), own)
            else:
                yield from self._worlds.open_number(number).task_set.ids(own)

    def indices(self, family: str, split: str) -> range:
        """The indices of all instances that a family can make in a split; see `TaskSet.indices`."""
        return self._worlds.of_task(family).task_set.indices(family, MANY_SPLITS[split][1])

    def instance(self, task_id: str, handbook: int = 0) -> Instance:
        """The instance of that id; see `TaskSet.instance`."""
        return self._worlds.of_task(task_id).task_set.instance(task_id, handbook)

    def family_of(self, task_id: str) -> Family[Any]:
        """The family of a listed task."""
        return self._worlds.of_task(task_id).task_set.family_of(task_id)


class OpenWorlds:
    """Environments of generated worlds, opened when they are asked for.

    Args:
        unlisted: Whether worlds are opened that are not listed.
        switches: What `ToolEnv` takes. Any: it checks them.
    """

    def __init__(self, *, unlisted: bool, switches: Mapping[str, Any]) -> None:
        self._unlisted = unlisted
        self._switches = switches
        self._open: LruCache[int, ToolEnv] = LruCache(_OPEN)

    def open_number(self, number: int) -> ToolEnv:
        """The environment of a number.

        Raises:
            CapabilityError: no world of that number is listed.
        """
        return self._open.get(number, lambda: open_numbered(number, unlisted=self._unlisted, **self._switches))

    def of_task(self, task: str) -> ToolEnv:
        """The environment of the world that a task's or a family's id begins with.

        Raises:
            UnknownNameError: the id begins with no generated world's.
            CapabilityError: no world of that number is listed.
        """
        name = task.partition("/")[0]
        number = name.removeprefix("synth-")
        if not number.isdecimal() or world_id(int(number)) != name:
            raise UnknownNameError(f"unknown task {task!r}; the id begins with a world's, such as synth-17")
        return self.open_number(int(number))

    def fresh(self) -> "OpenWorlds":
        """The same without any that is open."""
        return OpenWorlds(unlisted=self._unlisted, switches=self._switches)


class ManyWorldsEnv(gym.Env[tuple[Message, ...], Action]):
    """The worlds of a split, one episode at a time; what a `ToolEnv` has besides is the current world's.

    Args:
        split: One of `MANY_SPLITS`.
        worlds: How many worlds of each split, the first ones; or the worlds' numbers, whatever their split; all that
            are listed if not given.
        unlisted: Whether numbers may be those of worlds that are not listed, because they were not proved.
        switches: What `ToolEnv` takes. Any: it checks them.

    Raises:
        UnknownNameError: there is no such split.
        CapabilityError: no world is listed in the split, or fewer than are asked for.
        ValueError: `worlds` is no number above 0.
    """

    metadata: ClassVar[dict[str, Any]] = ToolEnv.metadata  # type: ignore[misc]

    def __init__(
        self,
        *,
        split: str = "train",
        worlds: int | Sequence[int] | None = None,
        unlisted: bool = False,
        **switches: Any,
    ) -> None:
        if split not in MANY_SPLITS:
            raise UnknownNameError.of("split", split, MANY_SPLITS)
        self.split = split
        self._chosen = {name: _choose_numbers(name, worlds) for name in MANY_SPLITS}
        self.numbers = worlds_of_split(self._chosen, split)
        self._worlds = OpenWorlds(unlisted=unlisted, switches={**switches, "split": MANY_SPLITS[split][1]})
        self.task_set = ManyWorldsTasks(self._chosen, self._worlds)
        self.playing: ToolEnv
        """The environment of the current episode's world; before the first, of the first world."""
        self._play(self._worlds.open_number(self.numbers[0]))
        self.render_mode = self.playing.render_mode

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "playing" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        value = getattr(self.playing, name)
        # An agent may keep a method over episodes: it is that of the world that is current when it is called.
        return partial(self._call, name) if ismethod(value) else value

    def _call(self, name: str, *arguments: Any, **settings: Any) -> Any:
        return getattr(self.playing, name)(*arguments, **settings)

    def _play(self, env: ToolEnv) -> ToolEnv:
        """Make a world's environment the current one, with its spaces."""
        self.playing = env
        self.action_space, self.observation_space = env.action_space, env.observation_space
        return env

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Message, ...], dict[str, Any]]:
        """Begin an episode: of the task that `options` name, or of a world and a task that the seed draws.

        Raises:
            UnknownNameError: an option, or the task, is unknown.
            CapabilityError: the task is of a world that is not listed.
        """
        task = (options or {}).get("task")
        if seed is None:
            seed = int(self.np_random.integers(2**31))
        if isinstance(task, str):
            env = self._worlds.of_task(task)
        else:
            env = self._worlds.open_number(Stream.root("world of an episode", seed).choice(self.numbers))
        return self._play(env).reset(seed=seed, options=options)

    def step(self, action: Action) -> Returned:
        """Run one turn; see `ToolEnv.step`."""
        return self.playing.step(action)

    def render(self) -> str:
        """The observation as text."""
        return self.playing.render()

    def close(self) -> None:
        """Drop the episode."""
        self.playing.close()

    def restore(self, snapshot: Snapshot) -> None:
        """Go to where a snapshot was taken; see `ToolEnv.restore`."""
        self._play(self._worlds.of_task(snapshot.task_id)).restore(snapshot)

    def fork(self) -> "ManyWorldsEnv":
        """An independent environment that stands at the same place."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._np_random = None
        copy._worlds = self._worlds.fresh()
        copy.task_set = ManyWorldsTasks(self._chosen, copy._worlds)
        copy._play(self.playing.fork())
        return copy


def worlds_of_split(numbers: Mapping[str, Sequence[int]], split: str) -> Sequence[int]:
    """The worlds of a split.

    Raises:
        UnknownNameError: there is no such split.
        CapabilityError: no world is listed in it.
    """
    if split not in numbers:
        raise UnknownNameError.of("split", split, numbers)
    if not numbers[split]:
        raise CapabilityError(f"split={split!r}: no generated world is listed in it; give worlds=[...] by number")
    return numbers[split]


def _choose_numbers(split: str, worlds: int | Sequence[int] | None) -> Sequence[int]:
    listed = listed_numbers(MANY_SPLITS[split][0])
    if worlds is None:
        return listed
    if isinstance(worlds, int):
        if isinstance(worlds, bool) or worlds < 1:
            raise ValueError(f"worlds={worlds!r}: give a number above 0, or a list of worlds' numbers")
        if split == "train" and worlds > len(listed):
            raise CapabilityError(f"worlds={worlds}: {len(listed)} are listed for training; give fewer")
        return listed[:worlds]
    return tuple(worlds)
