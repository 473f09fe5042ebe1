"""Which groups of a step are gone on from, where, and what came of it."""

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
    """Continuations that are to come about."""

    group: int
    """The index of the group that is gone on from."""
    task: str
    """The reference of what it plays."""
    fork: Fork
    jobs: tuple[RolloutJob, ...]

    def branch(self, episodes: Sequence[Episode | None], *, version: int) -> RolloutGroup:
        """What has become of it.

        Args:
            episodes: Of each job; `None` where the world failed at every try.
            version: Of the weights that drew them.
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
    """Plans the branches of each step, and learns from them which forks can be saved.

    What it plans follows from the step's groups and from the branches of earlier steps, so a run that goes on only has
    to show it those.

    Args:
        config: Where, and how many.
        names: What names the run: its stage and its seed.
    """

    def __init__(self, config: BranchingConfig, *, names: tuple[str, int]) -> None:
        self._config = config
        self._names = names
        self._model = RecoveryModel(config.window)

    def plan(self, groups: Sequence[RolloutGroup], step: int) -> list[PlannedBranch]:
        """The branches of the groups that solved nothing, in their order.

        Args:
            groups: A step's.
            step: Its number.
        """
        return [
            self._plan(group, pivot)
            for group in groups
            if group.episodes and not is_solved(group)
            for pivot in self._pivots(group, Stream.root(*self._names, step, "branching", group.index))
        ]

    def _pivots(self, group: RolloutGroup, stream: Stream) -> list[Pivot]:
        """One by each rule that finds one; of those that agree, the first."""
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
        """Take in what came of a step's branches."""
        for branch in branches:
            if branch.fork is not None and branch.episodes:
                self._model.observe(branch.fork.ratio, solved=is_solved(branch))

    def metrics(self, branches: Sequence[RolloutGroup]) -> dict[str, float]:
        """What branching did in a step.

        Args:
            branches: Of the step that was taken in last.

        Returns:
            `branching/groups`, how many groups were branched, and `branching/solved`, how many of them were solved
            thereby; `branching/forks`; `branching/continuations`, and `branching/failed`, those that worlds failed;
            `branching/tokens_shared`, tokens that continuations took over, and `branching/tokens_drawn`, those they
            sampled; `branching/solved/RULE`, the share of the rule's forks that a continuation solved;
            `branching/depth`, the mean share of a trajectory before its fork; `branching/odds_slope`, how the log odds
            of being solved change from the first turn to the last, once there is enough to fit them to.
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
    """Whether one of its trajectories solved the task."""
    return any(episode.score.passed for episode in group.episodes)


def with_branches(groups: Sequence[RolloutGroup], branches: Sequence[RolloutGroup]) -> list[RolloutGroup]:
    """The groups, each with the continuations of its own trajectories behind these."""
    further: dict[int, list[Episode]] = {}
    for branch in branches:
        further.setdefault(branch.index, []).extend(branch.episodes)
    return [
        replace(group, episodes=(*group.episodes, *further[group.index])) if group.index in further else group
        for group in groups
    ]


def _shared_tokens(tokens: Tokens) -> int:
    """Those before the first that was sampled."""
    return next((place for place, own in enumerate(tokens.sampled) if own), len(tokens.sampled))
