"""The plan of a step's branches: their groups, their forks, and their results."""

from collections.abc import Sequence
from dataclasses import replace

from palaestra.record import record
from palaestra.seeding import Stream
from palaestra.trainers.branching.config import BranchingConfig
from palaestra.trainers.branching.pivots import Pivot, best_pivot, naming_pivot, recoverable_pivot
from palaestra.trainers.branching.recoverability import RecoveryModel
from palaestra.trainers.data.prefix import prefix_of
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.rollouts.fork import Fork
from palaestra.trainers.rollouts.groups import RolloutGroup
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trajectory import Episode, Tokens


@record
class PlannedBranch:
    """Continuations to be played."""

    group: int
    """The index of the group whose trajectory is continued."""
    task: str
    """The reference of the group's task."""
    fork: Fork
    jobs: tuple[RolloutJob, ...]

    def branch(self, episodes: Sequence[Episode | None], *, version: int) -> RolloutGroup:
        """The result of the branch, as a group.

        Args:
            episodes: The episode of each job; `None` if the world failed at every try.
            version: The version of the weights that sampled the episodes.
        """
        valid = tuple(episode for episode in episodes if episode is not None)
        return RolloutGroup(
            index=self.group,
            version=version,
            task=self.task,
            episodes=valid,
            failed=len(episodes) - len(valid),
            straggled=0,
            fork=self.fork,
        )


class Brancher:
    """Plans the branches of each step, and learns from them which forks are recoverable.

    A plan is a function of the step's groups and the branches of earlier steps, so a resumed run only needs to observe
    those.

    Args:
        config: The rules for forks, and the number of continuations.
        names: The names of the run's random streams: its stage and its seed.
    """

    def __init__(self, config: BranchingConfig, *, names: tuple[str, int]) -> None:
        self._config = config
        self._names = names
        self._model = RecoveryModel(config.window)

    def plan(self, groups: Sequence[RolloutGroup], step: int) -> list[PlannedBranch]:
        """Plan the branches of the groups that solved nothing, in their order.

        Args:
            groups: The groups of a step.
            step: The step's number.
        """
        return [
            self._plan(group, pivot)
            for group in groups
            if group.episodes and not is_solved(group)
            for pivot in self._pivots(group, Stream.root(*self._names, step, "branching", group.index))
        ]

    def _pivots(self, group: RolloutGroup, stream: Stream) -> list[Pivot]:
        """A pivot for each rule that finds one; if rules agree, only the first."""
        found: dict[tuple[int, int], Pivot] = {}
        for rule in self._config.pivots:
            match rule:
                case "best":
                    pivot = best_pivot(group.episodes)
                case "recoverable":
                    odds, own = self._model.odds(), stream.split(rule)
                    pivot = recoverable_pivot(group.episodes, odds, own, depth=self._config.depth)
                case "naming":
                    pivot = naming_pivot(group.episodes, stream.split(rule))
            if pivot is not None:
                found.setdefault((pivot.member, pivot.turns), pivot)
        return list(found.values())

    def _plan(self, group: RolloutGroup, pivot: Pivot) -> PlannedBranch:
        parent = group.episodes[pivot.member]
        tokens = parent.segments[0].tokens
        assert tokens is not None, "a policy of ours played it"
        prefix = prefix_of(parent.id, tokens, turns=pivot.turns)
        name = f"{parent.id}/{pivot.turns}"
        jobs = tuple(
            RolloutJob(
                trajectory=f"{name}/{number}",
                group=name,
                task=group.task,
                seed=parent.seed,
                noise=noise_key(*self._names, name, number),
                prefix=prefix,
            )
            for number in range(self._config.continuations)
        )
        fork = Fork(rule=pivot.rule, parent=parent.id, turns=pivot.turns, ratio=pivot.ratio)
        return PlannedBranch(group=group.index, task=group.task, fork=fork, jobs=jobs)

    def observe(self, branches: Sequence[RolloutGroup]) -> None:
        """Add the results of a step's branches."""
        for branch in branches:
            if branch.fork is not None and branch.episodes:
                self._model.observe(branch.fork.ratio, solved=is_solved(branch))

    def metrics(self, branches: Sequence[RolloutGroup]) -> dict[str, float]:
        """The figures of branching in a step.

        Args:
            branches: The branches of the step that was observed last.

        Returns:
            `branching/groups`, the number of branched groups, and `branching/solved`, the number of these that
            branching solved; `branching/forks`; `branching/continuations`, and `branching/failed`, continuations whose
            worlds failed; `branching/tokens_shared`, tokens that continuations took over, and `branching/tokens_drawn`,
            tokens that they sampled; `branching/solved/RULE`, the share of the rule's forks that a continuation solved;
            `branching/depth`, the mean share of a trajectory before its fork; `branching/odds_slope`, the change of the
            log odds of being solved from the first turn to the last, once there are enough forks to fit them.
        """
        branched = {branch.index for branch in branches}
        solved = {branch.index for branch in branches if is_solved(branch)}
        episodes = [episode for branch in branches for episode in branch.episodes]
        tokens = [own for episode in episodes if (own := episode.segments[0].tokens) is not None]
        found = {
            "branching/groups": float(len(branched)),
            "branching/solved": float(len(solved)),
            "branching/forks": float(len(branches)),
            "branching/continuations": float(len(episodes)),
            "branching/failed": float(sum(branch.failed for branch in branches)),
            "branching/tokens_shared": float(sum(map(_shared_tokens, tokens))),
            "branching/tokens_drawn": float(sum(sum(own.sampled) for own in tokens)),
        }
        forks = [(branch.fork, is_solved(branch)) for branch in branches if branch.fork is not None and branch.episodes]
        for rule in self._config.pivots:
            if came := [was for fork, was in forks if fork.rule == rule]:
                found[f"branching/solved/{rule}"] = sum(came) / len(came)
        if forks:
            found["branching/depth"] = sum(fork.ratio for fork, _ in forks) / len(forks)
        if "recoverable" in self._config.pivots and (odds := self._model.odds()) is not None:
            found["branching/odds_slope"] = odds.slope
        return found


def is_solved(group: RolloutGroup) -> bool:
    """Whether one of the group's trajectories solved the task."""
    return any(episode.score.passed for episode in group.episodes)


def with_branches(groups: Sequence[RolloutGroup], branches: Sequence[RolloutGroup]) -> list[RolloutGroup]:
    """The groups, each extended by the continuations of its own trajectories."""
    further: dict[int, list[Episode]] = {}
    for branch in branches:
        further.setdefault(branch.index, []).extend(branch.episodes)
    return [
        replace(group, episodes=(*group.episodes, *further[group.index])) if group.index in further else group
        for group in groups
    ]


def _shared_tokens(tokens: Tokens) -> int:
    """The number of tokens before the first sampled one."""
    return next((place for place, own in enumerate(tokens.sampled) if own), len(tokens.sampled))
