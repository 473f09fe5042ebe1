"""The environment: a world's task behind Gymnasium's interface.

State
    The rows of a populated world under a journaled overlay, a virtual clock, and a rubric's checklist.
Actions
    One tool call `{"tool": name, "arguments": {...}}`, a list of calls made in one turn (run in order), or raw model
    text, which the action format reads. Calls and messages in OpenAI's and Anthropic's form are taken too; their
    answers go under the caller's ids. Talking to the user, finishing and giving up are tools too.
Observations
    The chat messages that are new to the agent: at reset the system's and the user's, then one for each call, and
    what the user answers where the task has a user.
Reward
    `checklist`: the change of the score in points, after every turn, so that the return is the score. `outcome`: the
    score at the end, 0 before. The score lies between the rubric's worst case and 100.
Ends
    Terminated when the agent finishes or gives up, or the user leaves; truncated at `max_turns`, or after three turns
    in a row that hold no readable call. A fault of the world raises `InfrastructureError`; it is never a reward.
Seeds
    A task id fixes world and prompt. Without one, `reset(seed=s)` draws the instance from the split by the seed alone.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding

import palaestra
from palaestra.cache import LruCache
from palaestra.envs.arguments import RewardMode, check_declared, check_names, check_values, configure_surface
from palaestra.envs.code_action import CodeOutcome, run_code
from palaestra.envs.episode import LiveEpisode
from palaestra.envs.episode_view import EpisodeView
from palaestra.envs.injections import InjectionChoice, check_injection, plant_injection
from palaestra.envs.instance import Instance
from palaestra.envs.noise import Noise, NoisePlan, check_noise_material, check_noise_on_pages
from palaestra.envs.reading import TurnReader, TurnReading, echo_ids, unreadable_message
from palaestra.envs.request_variation import RequestVariation
from palaestra.envs.snapshot import Snapshot
from palaestra.envs.spaces import CallSpace, MessageSpace
from palaestra.envs.stakes import state_stakes
from palaestra.envs.taskset import TaskSet, bundled_tasks, load_folder
from palaestra.envs.user import ScriptedUser, UserFactory
from palaestra.envs.variation import vary_request
from palaestra.envs.world import CONVENTIONAL, open_world
from palaestra.errors import (
    CapabilityError,
    EpisodeOverError,
    InfrastructureError,
    RubricError,
    TaskError,
    UnknownNameError,
)
from palaestra.packs import PACKS
from palaestra.protocols import Action
from palaestra.record import constructor
from palaestra.records import Message, ToolCall
from palaestra.seeding import Stream
from palaestra.steps import ResetRecord, Returned, StepRecord
from palaestra.tools import FORMATS, PythonFormat, Schemas, bind_tools
from palaestra.tools.images import describe_image
from palaestra.tools.sandbox import SANDBOXES, Sandbox, sandbox_name

_step_record = constructor(StepRecord)
_VARIED = 256
"""Tasks in other words or with another temper that an environment and its forks keep."""


class ToolEnv(EpisodeView, gym.Env[tuple[Message, ...], Action]):
    """A world's tasks, one episode at a time; see the module's text for the contract.

    Args:
        env_id: The registered id, such as "palaestra/Storefront-v0".
        place: Where the world's pack is, for a process that does not know it, such as a worker of a vector
            environment; `register_world` states it.
        split: From which split `reset` draws an instance, or an axis of the held-out tasks: "heldout-world",
            "heldout-family" or "heldout-surface". Left out, the first split that the world declares.
        task: The id of the one task to play. With `split`, it has to be a task of that split.
        tasks: A folder of task files to use in place of the world's own.
        surface: The tools to act with: "conventional", or another set over the same rows. Left out, "conventional"; for
            the split "heldout-surface" the first of the others.
        surface_settings: Settings of that surface, where it has some; for pages such as
            `{"dialect": "browsergym", "budget": 2000}` or
            `{"variation": 7, "disturbances": {"percent": 20}}` (`palaestra.envs.surfaces.pages.settings.PageSettings`).
        handbook: 0 for the task's own rules; any other number changes some of them, and the rubric with them. A task
            gets the first handbook from that number on that decides it, and that number where none of a few does.
        reward: "checklist" (after every turn) or "outcome" (at the end).
        action_format: How raw text is read: "browsergym", "compact", "compact-tools", "deepseek-v3",
            "deepseek-v31", "glm", "gpt-oss", "hermes", "json", "kimi-k2", "llama3", "opaque", "planner",
            "planner-qwen", "planner-qwen2.5", "planner-smollm2", "python" (code that calls tools, run in a sandbox),
            "qwen", "qwen-thinking", "qwen2.5", "qwen3-coder", "smollm2", "smollm2-described" or "ui-tars"; the formats
            of Qwen and SmolLM2, and planners around them, also with "-facts" behind the name.
        max_turns: A budget in place of the task's own.
        noise: The switches of noise, a `Noise` or a mapping such as `{"failures": 10, "distractors": 15}`.
        user: Who answers where a task has a user: "scripted", or what makes one of a persona, such as an `LlmUser`.
        wording: The words of requests: "formal", "casual", "verbose", "typos" or "garbled"; their own if `None`.
        temper: The temper of a user who answers: "calm", "terse", "heated" or "furious"; the task's own if none.
            With it, `reset` draws only tasks that have a user.
        stakes: Whether the briefing tells what work, waiting and harm are worth, and how many requests of the split
            must be refused.
        injection: An instruction that an attacker has planted in the task's content: a seed that draws one for each
            task, an id such as "cancel-other-order/plain" or "cancel-other-order/plain/letter", or a mapping with any
            of "seed", "goal", "style" and "carrier".
        render_mode: "ansi" for text, or `None`.

    Raises:
        UnknownNameError: no such world, task, split, format, noise, wording, temper or injection.
        TypeError: a name is no text.
        CapabilityError: the world or task does not declare a split, surface, handbook, temper, kind of noise or
            injection, or the surface has no settings; or this machine cannot run code in a sandbox.
        PackError: the world's pack cannot be loaded.
        ValueError: a number is out of range.
        TaskError: a task file breaks a rule.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 1}  # type: ignore[misc]

    def __init__(
        self,
        env_id: str,
        *,
        place: str | None = None,
        split: str | None = None,
        task: str | None = None,
        tasks: str | Path | None = None,
        surface: str | None = None,
        surface_settings: Mapping[str, Any] | None = None,
        handbook: int = 0,
        reward: RewardMode = "checklist",
        action_format: str = "hermes",
        max_turns: int | None = None,
        noise: Noise | Mapping[str, Any] | None = None,
        user: Literal["scripted"] | UserFactory = "scripted",
        wording: str | None = None,
        temper: str | None = None,
        stakes: bool = False,
        injection: int | str | Mapping[str, Any] | InjectionChoice | None = None,
        render_mode: str | None = None,
    ) -> None:
        check_names(
            split=split,
            task=task,
            surface=surface,
            reward=reward,
            action_format=action_format,
            wording=wording,
            temper=temper,
        )
        check_values(reward=reward, handbook=handbook, max_turns=max_turns, stakes=stakes, render_mode=render_mode)
        if place is not None and env_id not in PACKS:
            palaestra.register_world(place, env_id=env_id)
        self.env_id = env_id
        self.world = open_world(env_id)
        check_declared(self.world, handbook=handbook, temper=temper)
        self.task_set: TaskSet = bundled_tasks(self.world) if tasks is None else load_folder(self.world, Path(tasks))
        self.render_mode = render_mode
        self._ids = self.task_set.ids(self.task_set.splits[0] if split is None else split)
        if temper is not None:
            self._ids = tuple(id_ for id_ in self._ids if "dialogue" in self.task_set.family_of(id_).traits)
        self._task_id = task
        self._stakes = stakes
        self.injection = InjectionChoice.of(injection)
        if self.injection is not None:
            check_injection(self.injection, self.world)
        self._reward_mode: RewardMode = reward
        self._format = FORMATS.get(action_format)
        self._sandbox: Sandbox | None = None
        if isinstance(self._format, PythonFormat):
            self._sandbox = SANDBOXES.get(sandbox_name(self._format.sandbox))
            self._sandbox.check()
        self._budget = max_turns
        if isinstance(user, str) and user != "scripted":
            raise UnknownNameError.of("user", user, ["scripted"])
        self._user: UserFactory = ScriptedUser if isinstance(user, str) else user
        other = next(iter(self.world.surfaces), CONVENTIONAL)
        self.surface = (other if split == "heldout-surface" else CONVENTIONAL) if surface is None else surface
        self._surface = configure_surface(self.world, self.surface, surface_settings)
        self.toolbox = self._surface.toolbox
        self.handbook = handbook
        self.noise = Noise.of(noise)
        if self.noise is not None:
            check_noise_material(self.noise, self.world)
            if self._surface.begin is not None:
                check_noise_on_pages(self.noise, self.surface)
        self.variation = RequestVariation.of(wording, temper)
        self._varied: LruCache[tuple[str, int], Instance] = LruCache(_VARIED)
        self._offered = tuple(self.toolbox.tools_for(self.world.role))
        self._bind()
        self.action_space = CallSpace(self._offered, self._format)
        self.observation_space = MessageSpace()
        self._episode: LiveEpisode | None = None
        self._np_random_seed: int | None = None
        self._generator: np.random.Generator | None = None
        if task is not None:
            if split is not None:
                self.task_set.check_split(task, split)
            self.task_set.instance(task, handbook)

    # Gymnasium

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Message, ...], dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Draws the instance where no task is named. The same seed gives the same episode.
            options: `{"task": id}` names the task of this episode.

        Returns:
            The opening messages, and `info`, the view of a `ResetRecord`: an agent may see "tools"; the rest, and the
            record itself under "record", is the trainer's.

        Raises:
            UnknownNameError: an option or the task is unknown.
            TypeError: the task is no text.
            TaskError: the split lists no instance.
        """
        if seed is not None:
            self._reseed(seed)
        for option, value in (options or {}).items():
            if option != "task":
                raise UnknownNameError.of("reset option", option, ["task"])
            if type(value) is not str:
                check_names(task=value)
        if seed is None:
            seed = int(self.np_random.integers(2**31))
        named = (options or {}).get("task", self._task_id)
        instance = self.task_set.instance(self._draw_id(seed) if named is None else named, self.handbook)
        episode = self._begin(instance, seed)
        noise_state = episode.noise_state
        state_hash = episode.state.state_hash()
        return ResetRecord(
            messages=self._copy_observation(),
            tools=self._export(episode),
            task=episode.instance.spec,
            rubric=episode.instance.rubric.specs,
            seed=seed,
            state_hash=state_hash,
            anchor=episode.anchor(state_hash),
            noise=None if noise_state is None else noise_state.report(episode.evidence),
            injection=episode.injection_report(),
        ).to_gymnasium()

    def _reseed(self, seed: int) -> None:
        """What `super().reset` does, without making a generator that most episodes never draw from."""
        if seed < 0:
            raise ValueError(f"seed={seed}: seeds are 0 or above")
        self._np_random_seed = seed
        self._generator = None

    @property
    def _np_random(self) -> np.random.Generator:
        if self._generator is None:
            self._generator, self._np_random_seed = seeding.np_random(self._np_random_seed)
        return self._generator

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._generator = generator

    def _copy_observation(self) -> tuple[Message, ...]:
        """The observation, as copies: whoever is given it may do with it what they like."""
        return tuple([message.copy() for message in self.episode.observation])

    def _draw_id(self, seed: int) -> str:
        if not self._ids:
            raise TaskError("the split lists no instance; choose another split, or name a task")
        return Stream.root("instance", seed).choice(self._ids)

    def _begin(self, instance: Instance, seed: int) -> LiveEpisode:
        if self.variation is not None or self._stakes or self.injection is not None:
            instance = self._varied.get((instance.spec.id, instance.handbook), lambda: self._vary(instance))
        max_turns = self._budget or instance.spec.max_turns * self._surface.turns
        noise_plan = None
        if self.noise is not None:
            noise_plan = NoisePlan(self.noise, instance, self.toolbox, seed=seed)
            self._offered = noise_plan.offered
            assert isinstance(self.action_space, CallSpace), "it is ours"
            self._bind()
            self.action_space.offer(self._offered, self._format)
        self._episode = LiveEpisode(
            instance,
            seed=seed,
            max_turns=max_turns,
            toolbox=self.toolbox,
            surface_name=self.surface,
            begin=self._surface.begin,
            user=self._user,
            noise_plan=noise_plan,
        )
        return self._episode

    def _bind(self) -> None:
        """Read text by the schemas of the tools on offer."""
        self._format = bind_tools(self._format, (tool.export() for tool in self._offered))
        self._reader = TurnReader(format=self._format, prose_tool=self.toolbox.prose_tool)

    def _vary(self, instance: Instance) -> Instance:
        """The task as this environment's switches put it; forks share what was made before."""
        if self.variation is not None:
            if self.variation.temper is not None and instance.user is None:
                raise CapabilityError(
                    f"temper={self.variation.temper!r}: nobody answers in the task {instance.spec.id!r}; the tasks of "
                    "families with the trait 'dialogue' have a user (`palaestra tasks list` shows traits)"
                )
            instance = vary_request(instance, self.variation)
        if self._stakes:
            refused = sum("refusal" in self.task_set.family_of(id_).traits for id_ in self._ids)
            instance = state_stakes(instance, refusals=refused / max(1, len(self._ids)))
        if self.injection is not None:
            instance = plant_injection(instance, self.injection)
        return instance

    def read(self, action: Action) -> TurnReading:
        """What `step` would take an action for: the calls that it holds, or why it runs none of them.

        Raises:
            ActionError: `action` is no action.
        """
        return self._reader.read(action)

    def step(self, action: Action) -> Returned:
        """Run one turn.

        Returns:
            The answers to its calls, the reward, terminated, truncated, and `info`, the view of a `StepRecord`, which
            is the trainer's; the record itself stands under "record".

        Raises:
            EpisodeOverError: there is no episode, or it has ended.
            ActionError: `action` is no action. What a model writes never raises; that is what formats are for.
            InfrastructureError: the world failed; the episode is void.
        """
        episode = self._running()
        checklist, evidence, state = episode.checklist, episode.evidence, episode.state
        before, first, written = checklist.points, len(evidence.events), len(state.journal)
        turn = self._reader.read(action)
        code = None if turn.program is None else self._run_code(turn.program)
        if code is None:
            calls, unreadable = turn.calls, turn.unreadable
            episode.begin_turn()
            answers = self._run(calls) if unreadable is None else [unreadable_message(unreadable)]
            episode.close_turn(tuple(answers), readable=unreadable is None)
        else:
            calls, unreadable = tuple([done.call for done in code.calls]), code.unreadable
            # What code says of itself is no evidence, whatever it prints.
            episode.close_turn(code.messages, readable=unreadable is None, heard=True)
        points, end = checklist.points, evidence.end
        state_hash = state.state_hash()
        messages = self._copy_observation()
        if turn.ids:
            messages = echo_ids(messages, turn.ids, unreadable=unreadable is not None)
        done = _step_record(
            messages=messages,
            reward=float(points - before if self._reward_mode == "checklist" else points if end else 0),
            task=episode.instance.spec,
            calls=calls,
            unreadable=unreadable,
            events=tuple(evidence.events[first:]),
            changes=tuple(state.journal[written:]),
            standing=checklist.standing(),
            end=end,
            score=episode.score() if end else None,
            user=None if episode.conversation is None else episode.conversation.report,
            state_hash=state_hash,
            anchor=episode.anchor(state_hash),
            noise=None if episode.noise_state is None else episode.noise_state.report(evidence),
            injection=episode.injection_report(),
        )
        return (done if code is None else replace(done, code=code.calls)).to_gymnasium()

    def _running(self) -> LiveEpisode:
        if self._episode is not None and self._episode.faulted:
            raise EpisodeOverError("step after a fault of the world; call env.reset() to begin another episode")
        if self._episode is None:
            raise EpisodeOverError("step before reset; call env.reset() to begin an episode")
        if (end := self._episode.evidence.end) is not None:
            raise EpisodeOverError(f"step after the end ({end}); call env.reset() to begin another episode")
        return self._episode

    def _run(self, calls: tuple[ToolCall, ...]) -> list[Message]:
        try:
            return self.episode.run(calls)
        except (InfrastructureError, RubricError):
            self.episode.faulted = True
            raise

    def _run_code(self, program: str) -> CodeOutcome:
        assert self._sandbox is not None, "only a format with a sandbox reads programs"
        episode = self.episode
        episode.begin_turn()
        try:
            return run_code(episode, program, sandbox=self._sandbox, tools=self._export(episode))
        except (InfrastructureError, RubricError):
            episode.faulted = True
            raise

    @property
    def runs_code(self) -> bool:
        """Whether text can be code that runs in a sandbox."""
        return self._sandbox is not None

    @property
    def tool_schemas(self) -> Schemas:
        """The schemas of the tools on offer, as the reset gave them.

        Raises:
            EpisodeOverError: no episode has begun.
        """
        return self._export(self.episode)

    def _export(self, episode: LiveEpisode) -> Schemas:
        """The schemas of the tools that an episode offers."""
        noise_state = episode.noise_state
        return self.toolbox.export(self.world.role) if noise_state is None else noise_state.noise_plan.export()

    def render(self) -> str:
        """The observation as text."""
        return "\n".join(map(_as_text, self.episode.observation))

    def close(self) -> None:
        """Drop the episode. An environment holds no process and no file."""
        self._episode = None

    # Where the episode goes on

    def snapshot(self) -> Snapshot:
        """Everything that decides how the episode goes on."""
        return self.episode.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Go to where `snapshot` was taken, be it here, on another environment of this id, or in another process.

        Raises:
            TaskError: the snapshot is of another world, or of an environment with other switches.
            TypeError: it is no snapshot.
        """
        if not isinstance(snapshot, Snapshot):  # pyright: ignore[reportUnnecessaryIsInstance]  pickled bytes are an easy slip
            raise TypeError(f"a {type(snapshot).__name__} is no snapshot; give what `snapshot()` gave, unpickled")
        snapshot.check_fit(
            world=self.world.name,
            noise=self.noise,
            variation=self.variation,
            stakes=self._stakes,
            injection=self.injection,
            surface=self.surface,
            surface_settings=self._surface.settings,
        )
        episode = self._episode
        playing = None if episode is None else (episode.instance.spec.id, episode.instance.handbook)
        # Without noise, the seed changes nothing that an episode begins with.
        same = episode is not None and (self.noise is None or episode.seed == snapshot.seed)
        if episode is None or not same or playing != (snapshot.task_id, snapshot.handbook):
            episode = self._begin(self.task_set.instance(snapshot.task_id, snapshot.handbook), snapshot.seed)
        episode.restore(snapshot)

    def fork(self) -> "ToolEnv":
        """An independent environment that stands at the same place."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        # Gymnasium's generators move when drawn from: a shared one would let a copy disturb its origin.
        copy._generator = None
        copy.action_space = CallSpace(self._offered, self._format)
        copy.observation_space = MessageSpace()
        copy._episode = self.episode.fork()
        return copy


def _as_text(message: Message) -> str:
    images = "".join(f"\n({describe_image(url)})" for url in message.get("images", ()))
    return f"[{message.get('name', message['role'])}] {message['content']}{images}"
