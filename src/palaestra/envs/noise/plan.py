"""What noise makes of a task before anything happens in it: other names, more tools, planted notes, one more rule.

It follows from the switches, the task and the seed of the episode alone, and is shared by an episode and its forks.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from palaestra.envs.noise.contradictions import plant_contradictions
from palaestra.envs.noise.distractors import departments
from palaestra.envs.noise.injections import INJECTIONS
from palaestra.envs.noise.lures import EpisodeInjection, arm_injections, never_obeyed
from palaestra.envs.noise.material import NoiseMaterial
from palaestra.envs.noise.noise import ON_PAGES, Noise
from palaestra.envs.noise.spelling import Spelling
from palaestra.envs.noise.task_records import task_records
from palaestra.errors import CapabilityError
from palaestra.manifest import ANY_WORLD
from palaestra.records import Message, ToolCall
from palaestra.rubrics import Rubric
from palaestra.seeding import Stream
from palaestra.tools import Schemas, Tool, Toolbox

if TYPE_CHECKING:  # worlds hand over noise, so instances come after it
    from palaestra.envs.instance import Instance
    from palaestra.envs.world import World


def check_noise_material(noise: Noise, world: "World") -> None:
    """Raise `CapabilityError` where a switch is on that the world has no data for."""
    parts = (world.noise or NoiseMaterial()).parts()
    for name, value in noise.switches.items():
        if name in parts and not parts[name]:
            known = [*ANY_WORLD, *world.capabilities.noise]
            raise CapabilityError.of(world.name, f"noise {name}={value}", "switches of noise", known)


def check_noise_on_pages(noise: Noise, surface: str) -> None:
    """Raise `CapabilityError` where a switch is on that changes tools and answers, which pages have none of."""
    for name, value in noise.switches.items():
        if name not in ON_PAGES:
            raise CapabilityError(
                f"noise {name}={value}: the surface {surface!r} has the switches {', '.join(ON_PAGES)}; its pages vary "
                "by surface_settings"
            )


class NoisePlan:
    """One task under noise.

    Args:
        noise: The switches.
        instance: The task as it is without noise.
        toolbox: The tools of the surface that is played on.
        seed: The episode's seed.

    Attributes:
        noise: The switches.
        material: What the world hands over.
        toolbox: The tools that run, in the world's own names, distractors among them.
        spelling: The names that the agent knows; `None` where they are the world's own.
        lures: The instructions that may hide in texts, with this episode's codes.
        offered: The tools as the agent is offered them, in order.
        instance: The task with what noise adds to its rows, its messages and its rubric.
    """

    def __init__(self, noise: Noise, instance: "Instance", toolbox: Toolbox, *, seed: int) -> None:
        world = instance.world
        self.noise = noise
        self.material = world.noise or NoiseMaterial()
        self._root = Stream.root("noise", seed, instance.spec.id)
        self._plain = instance
        self.toolbox = self._join_distractors(toolbox)
        self.spelling: Spelling | None = None
        if noise.renames:
            self.spelling = Spelling(tuple(self.toolbox), self.material.synonyms, self.stream("renames"))
        self.lures: tuple[EpisodeInjection, ...] = ()
        if noise.injections:
            self.lures = arm_injections((*INJECTIONS, *self.material.injections), self.stream("injections"))
        self.offered = self._offer(world.role)
        self.instance = self._vary()

    def stream(self, switch: str) -> Stream:
        """The randomness of one switch; no other switch moves it."""
        return self._root.split(switch)

    @cached_property
    def avoid(self) -> frozenset[str]:
        """The ids of the records to which nothing may happen by itself."""
        return task_records(self._plain).ids

    @cached_property
    def refusing(self) -> Toolbox:
        """The tools in the agent's names, to say no in them."""
        return Toolbox(map(self._rename, self.toolbox), prose_tool=self.toolbox.prose_tool)

    def export(self) -> Schemas:
        """The tools on offer, in OpenAI's function-calling form; the copy belongs to the caller."""
        return Schemas.of(tool.export() for tool in self.offered)

    def rename_calls(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """Calls in the world's own names, as the agent would write them."""
        return tuple(calls) if self.spelling is None else tuple(map(self.spelling.write, calls))

    def _join_distractors(self, toolbox: Toolbox) -> Toolbox:
        if not self.noise.distractors:
            return toolbox
        others = [tool for tool in departments() if tool.name not in toolbox]
        drawn = self.stream("distractors").sample(others, self.noise.distractors)
        return Toolbox([*toolbox, *drawn], prose_tool=toolbox.prose_tool, actions=toolbox.actions)

    def _rename(self, tool: Tool) -> Tool:
        return tool if self.spelling is None else self.spelling.rename_tool(tool)

    def _offer(self, role: str) -> tuple[Tool, ...]:
        offered = [self._rename(tool) for tool in self.toolbox.tools_for(role)]
        if self.noise.distractors:
            offered = self.stream("distractors").split("order").permutation(offered)
        return tuple(offered)

    def _vary(self) -> "Instance":
        plain, noise = self._plain, self.noise
        settled, rubric = plain.initial_state, plain.rubric
        if noise.conflicts:
            settled = plant_contradictions(plain, task_records(plain), noise.conflicts, self.stream("conflicts"))
        if self.lures:
            rubric = Rubric([*rubric.criteria, never_obeyed(self.lures)])
        messages = tuple(map(self._rewrite, plain.messages))
        return replace(plain, initial_state=settled, rubric=rubric, messages=messages)

    def _rewrite(self, message: Message) -> Message:
        """A message of the opening; the system's speaks of tools, and tells of a deadline."""
        if message["role"] != "system":
            return message
        content = message["content"]
        if self.spelling is not None:
            content = self.spelling.rename_tools_in(content)
        if self.noise.deadline:
            latest = self._plain.start + timedelta(seconds=self.noise.deadline)
            content += f"\n\nYou have until {latest:%Y-%m-%d, %H:%M:%S}; what is not done by then is not done."
        return {**message, "content": content}
