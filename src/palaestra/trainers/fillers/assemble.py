"""The batch of a step's groups, with the columns of fillers.

A step fills in columns at three times. Columns that are not repeatable come before the batch is recorded; other columns
that do not need the policy come before filters; columns that need the policy come after filters, for the remaining
trajectories.

Axes: T tokens, R trajectories.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import torch
from torch import Tensor

from palaestra.errors import TaskError
from palaestra.seeding import Stream
from palaestra.trainers.codec import Codec
from palaestra.trainers.data.batch import TokenBatch, concatenate
from palaestra.trainers.data.demonstration import demonstration
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.fillers.choose import ChosenFiller, needs_of
from palaestra.trainers.fillers.inputs import DEMONSTRATION, REPHRASAL, SHOWN, FillerInput
from palaestra.trainers.rollouts.groups import RolloutGroup
from palaestra.trainers.rollouts.job import Purpose
from palaestra.trainers.updates.trained import TrainableModel
from palaestra.trajectory import Episode
from palaestra.transcript import AgentTranscript, transcript_of

_PLACE = "place_R"
"""A column during filtering: the place of each trajectory before it."""


class BatchFiller:
    """Fills in the columns of a run's batches.

    Args:
        chosen: The fillers.
        codec: The codec of the policy.
        demonstrations: Demonstrations by the reference of their task.
        tasks: References of all tasks that are played.
        names: The names of the run's random streams: its stage and its seed.
        temperature: The temperature at which the policy's tokens are sampled.

    Raises:
        TaskError: a filler needs demonstrations, and a task has none.
    """

    def __init__(
        self,
        chosen: Sequence[ChosenFiller],
        *,
        codec: Codec,
        demonstrations: Mapping[str, Episode],
        tasks: Sequence[str],
        names: tuple[str, int],
        temperature: float = 1.0,
    ) -> None:
        self._chosen = tuple(chosen)
        self._codec = codec
        self._names = names
        self._temperature = temperature
        self._needs = needs_of(self._chosen)
        self._demonstrations = (
            {task: demonstrations[task] for task in sorted(tasks) if task in demonstrations} if self._shown else {}
        )
        missing = [task for task in tasks if task not in self._demonstrations] if self._shown else []
        if missing:
            raise TaskError(
                f"the fillers of {', '.join(name for one in chosen for name in one.columns)} need a demonstration of "
                f"each task, and {len(missing)} of {len(tasks)} have none, such as {missing[0]}; give a file that has "
                "them as sft.demonstrations, or take other fillers"
            )
        self._tokens: dict[str, Episode] = {}

    @property
    def demonstrations(self) -> list[Episode]:
        """The demonstrations that fillers may read."""
        return list(self._demonstrations.values())

    @property
    def solutions(self) -> dict[str, AgentTranscript]:
        """The solutions that rollouts rephrase, by task; none if no filler needs such rollouts."""
        if "rephrase" not in self._needs:
            return {}
        return {task: transcript_of(episode) for task, episode in self._demonstrations.items()}

    def describe(self) -> list[Any]:
        """Everything that determines the columns besides records and weights, as plain JSON."""
        shown = [[task, episode.digest()] for task, episode in self._demonstrations.items()]
        return [[one.describe() for one in self._chosen], shown]

    @property
    def _shown(self) -> bool:
        return bool(self._needs & SHOWN)

    def assemble(self, groups: Sequence[RolloutGroup], references: Sequence[str], step: int) -> FillerInput:
        """Assemble the batch of a step's groups.

        Args:
            groups: All groups of the step.
            references: The reference of each group's task.
            step: The step's number.
        """
        batch = concatenate([group.batch() for group in groups])
        episodes = [episode for group in groups for episode in group.episodes]
        shown: dict[str, Episode] | None = None
        if self._shown:
            pairs = zip(groups, references, strict=True)
            shown = {group.episodes[0].group: self._demonstration(reference) for group, reference in pairs}
        further: dict[str, list[Episode]] = {}
        if "experts" in self._needs:
            assert shown is not None, "experts are demonstrations"
            further[DEMONSTRATION] = [replace(episode, group=name) for name, episode in shown.items()]
        if "rephrase" in self._needs:
            further[REPHRASAL] = [group.comparisons["rephrase"] for group in groups]
        if further:
            batch = self._join(batch, further)
            episodes += [episode for joining in further.values() for episode in joining]
        compared: dict[tuple[str, Purpose], Episode] = {
            (group.episodes[0].group, purpose): group.comparisons[purpose]
            for group in groups
            for purpose in get_args(Purpose)
            if purpose in group.comparisons
        }
        return FillerInput(
            batch=batch,
            episodes=tuple(episodes),
            seed=Stream.root(*self._names, step, "fillers").below(2**31),
            codec=self._codec,
            temperature=self._temperature,
            demonstration_of=shown,
            compared=compared,
        )

    def _join(self, batch: TokenBatch, further: Mapping[str, Sequence[Episode]]) -> TokenBatch:
        """The batch with further trajectories of each group, one of each kind, and a column that marks each kind."""
        kinds = [flatten(episodes) for episodes in further.values()]
        joined = concatenate([batch, *kinds])
        first_R = torch.cat([torch.ones(1, dtype=torch.bool), batch.group_R.diff() != 0])
        group_R = torch.cat([batch.group_R, *[batch.group_R[first_R]] * len(kinds)])
        kind_R = torch.arange(len(kinds)).repeat_interleave(int(first_R.sum()))
        kind_R = torch.cat([torch.full_like(batch.group_R, -1), kind_R])
        marks = {mark: kind_R == number for number, mark in enumerate(further)}
        return replace(joined, group_R=group_R).with_columns(marks)

    def _demonstration(self, reference: str) -> Episode:
        """The demonstration of a task, with its tokens."""
        if reference not in self._tokens:
            episode = self._demonstrations[reference]
            (segment,) = episode.segments
            tokens = demonstration(transcript_of(episode), self._codec)
            self._tokens[reference] = replace(
                episode, id=f"demonstration/{reference}", segments=(replace(segment, tokens=tokens),)
            )
        return self._tokens[reference]

    @property
    def one_time_columns(self) -> frozenset[str]:
        """The columns that are not repeatable."""
        return frozenset(name for one in self._chosen if not one.filler.repeatable for name in one.columns)

    def ask(self, given: FillerInput) -> dict[str, Tensor]:
        """Fill in the columns that are not repeatable, to be recorded.

        Raises:
            InfrastructureError: an external model failed.
        """
        return _fill([one for one in self._chosen if not one.filler.repeatable], given)

    def fill(self, given: FillerInput, recorded: Mapping[str, Tensor]) -> FillerInput:
        """Fill in every column that needs no pass through the policy.

        Args:
            given: The result of `assemble`.
            recorded: The result of `ask`.
        """
        ready = [one for one in self._chosen if one.filler.repeatable and "policy" not in one.filler.needs]
        columns = {**recorded, **_fill(ready, given)}
        place_R = torch.arange(given.batch.trajectories)
        return replace(given, batch=given.batch.with_columns({**columns, _PLACE: place_R}))

    def fill_from_policy(self, batch: TokenBatch, given: FillerInput, policy: TrainableModel) -> TokenBatch:
        """Fill in the columns that need passes through the policy.

        Args:
            batch: The trajectories that filters kept.
            given: The result of `fill`.
            policy: The policy before the batch's first step.
        """
        kept: list[int] = batch.column(_PLACE).tolist()
        batch = replace(batch, columns={name: values for name, values in batch.columns.items() if name != _PLACE})
        asked = [one for one in self._chosen if "policy" in one.filler.needs]
        episodes = tuple(given.episodes[place] for place in kept)
        return batch.with_columns(_fill(asked, replace(given, batch=batch, episodes=episodes, trained=policy)))


def _fill(chosen: Sequence[ChosenFiller], given: FillerInput) -> dict[str, Tensor]:
    columns: dict[str, Tensor] = {}
    for one in chosen:
        columns |= one(given)
    return columns
