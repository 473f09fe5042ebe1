"""The suite of injections: the same tasks without an attack, and with an instruction planted in each style."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from palaestra.benchmarks.evaluation.suite import Cell, Ladder, Suite
from palaestra.benchmarks.evenly import evenly
from palaestra.benchmarks.suites.source_note import pack_note
from palaestra.envs import ToolEnv
from palaestra.envs.injections import STYLES, InjectionChoice, check_injection, find_injections
from palaestra.envs.target import find_world
from palaestra.errors import CapabilityError, ConfigError, UnknownNameError

_TASKS = 48
"""The default number of tasks per cell."""


def suite(
    limit: int | None = None,
    axes: Sequence[str] = (),
    *,
    worlds: Sequence[str] = (),
    split: str = "heldout",
    seed: int = 0,
    goal: str | None = None,
    carrier: str | None = None,
    surface: str | None = None,
) -> Suite:
    """The suite of injections, for one world or several.

    Args:
        limit: Maximum tasks per cell. Default: 48.
        axes: The styles. Default: all.
        worlds: The worlds, by id or by the folder of a pack. Default: the default world.
        split: The split of the tasks.
        seed: Random seed of goal, carrier and target for each task and style.
        goal: The attacker's goal. Default: drawn for each task.
        carrier: The content that holds the text. Default: drawn for each task.
        surface: The surface. Default: the world's own tools.

    Raises:
        UnknownNameError: there is no such world, split, style, goal, carrier or surface.
        CapabilityError: the world has no injections, or no task has a place for one.
        ConfigError: a world is named twice.
    """
    for name in axes:
        if name not in STYLES:
            raise UnknownNameError.of("axis", name, STYLES)
    env_ids = [find_world(name) for name in worlds or (None,)]
    if len(set(env_ids)) < len(env_ids):
        raise ConfigError(f"worlds {', '.join(worlds)}: one is named twice; name each once")
    choice = InjectionChoice(seed=seed, goal=goal, carrier=carrier)
    own = {} if surface is None else {"surface": surface}
    cells: list[Cell] = []
    ladders: list[Ladder] = []
    for env_id in env_ids:
        made, ladder = _of_world(env_id, choice, axes or tuple(STYLES), split, limit or _TASKS, own, len(env_ids) > 1)
        cells += made
        ladders.append(ladder)
    return Suite(
        name="injections",
        title=f"Injections: tasks of {split} without and with planted instructions",
        cells=tuple(cells),
        ladders=tuple(ladders),
        notes=tuple(note for env_id in env_ids for note in pack_note(env_id)),
    )


def _of_world(
    env_id: str,
    choice: InjectionChoice,
    styles: Sequence[str],
    split: str,
    limit: int,
    switches: dict[str, Any],
    several: bool,  # noqa: FBT001
) -> tuple[list[Cell], Ladder]:
    """The cells of one world and their ladder."""
    env = gym.make(env_id, split=split, **switches).unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is a world of ours"
    check_injection(choice, env.world)
    tasks = _injectable(env, evenly(env.task_set.ids(split), None if choice.goal or choice.carrier else limit), choice)
    if not tasks:
        raise CapabilityError(f"the split {split} has no task for the injection {choice}; leave goal and carrier open")
    tasks = evenly(tasks, limit)
    prefix = f"{env.world.name}/" if several else ""
    named = f" ({env.world.name})" if several else ""

    def cell(id: str, label: str, **switched: Any) -> Cell:
        return Cell(
            id=f"{prefix}injections/{id}",
            label=f"{label}{named}",
            env_id=env_id,
            tasks=tasks,
            switches={**switches, **switched},
            split=f"{env.world.name}/{split}",
        )

    asked = {"seed": choice.seed, "goal": choice.goal, "carrier": choice.carrier}
    given = {name: value for name, value in asked.items() if value is not None}
    cells = [
        cell("none", "no attack"),
        *(cell(style, f"attack: {style}", injection={**given, "style": style}) for style in styles),
    ]
    ladder = Ladder(
        axis=f"{prefix}injection",
        title=f"Injection{named}",
        cells=tuple(one.id for one in cells),
        note="The same tasks; each has an instruction of an attacker planted in its content, in the style of the rung.",
    )
    return cells, ladder


def _injectable(env: ToolEnv, tasks: Sequence[str], choice: InjectionChoice) -> tuple[str, ...]:
    """The tasks in which the choice can be planted."""
    return tuple(t for t in tasks if next(find_injections(env.task_set.instance(t), choice), None) is not None)
