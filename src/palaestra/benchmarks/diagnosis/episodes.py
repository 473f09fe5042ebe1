"""What a diagnosis keeps of an episode: whether it solved its task, what it missed and broke, and how it closed."""

from collections.abc import Iterator, Sequence

from palaestra.benchmarks.diagnosis.decisions import closing_decision, expected_decision
from palaestra.record import record
from palaestra.records import EndReason
from palaestra.trajectory import Episode, Turn


@record
class DiagnosedEpisode:
    """An episode that a stage trained on, without its texts and tokens."""

    step: int
    """Of the stage, from 1."""
    task: str
    family: str
    solved: bool
    returned: float
    """The sum of the rewards that the world paid."""
    total: int
    """The points that its rubric gives for the right work."""
    end: EndReason | None
    """`None` where the rollout stopped before the episode did."""
    criteria: tuple[str, ...]
    """Every criterion of its rubric, in the rubric's order."""
    missed: tuple[str, ...]
    """Expectations that were not met at the end, in the rubric's order."""
    broken: tuple[str, ...]
    """Prohibitions that were broken, by the turn in which each was first; within a turn in the rubric's order."""
    harmed: bool
    """Whether a prohibition was broken, also where that was undone."""
    look_ups: tuple[str, ...]
    """Expectations of the layer `selection` that were met."""
    work: tuple[str, ...]
    """All other expectations that were met."""
    acted: bool
    """Whether a call of its own wrote a row."""
    expected: str | None
    """How its case should have closed; `None` where the rubric does not say."""
    closed: str
    """How its case closed; see `decisions`."""
    turns: int
    unreadable: int
    """Turns without a readable call."""

    @property
    def is_unfinished(self) -> bool:
        """Whether a budget, unreadable turns or giving up ended it."""
        return self.end is None or self.end.is_unfinished

    @property
    def end_name(self) -> str:
        """Its end reason, or "stopped" where the rollout stopped before the episode did."""
        return "stopped" if self.end is None else self.end.value


@record
class DiagnosedGroup:
    """Episodes of one task that were compared with each other."""

    step: int
    """Of the stage, from 1."""
    task: str
    family: str
    episodes: tuple[DiagnosedEpisode, ...]
    lost: int
    """Trajectories that their world failed, or that were cut off for being slow."""

    @property
    def solved(self) -> int:
        """How many of its episodes solved the task."""
        return sum(episode.solved for episode in self.episodes)


def diagnosed_episode(episode: Episode, *, step: int) -> DiagnosedEpisode:
    """What a diagnosis keeps of an episode.

    Args:
        episode: A whole one.
        step: That trained on it, from 1.
    """
    verdicts = episode.score.verdicts
    expectations = [spec for spec in episode.rubric if spec.kind == "expect"]
    met = [spec for spec in expectations if spec.id in verdicts and verdicts[spec.id].met]
    turns = list(episode.turns)
    return DiagnosedEpisode(
        step=step,
        task=episode.task.id,
        family=episode.task.family,
        solved=episode.score.passed,
        returned=episode.episode_return,
        total=episode.score.total,
        end=episode.end,
        criteria=tuple(spec.id for spec in episode.rubric),
        missed=tuple(spec.id for spec in expectations if spec not in met),
        broken=tuple(_list_broken(episode)),
        harmed=any(turn.violated for turn in turns),
        look_ups=tuple(spec.id for spec in met if spec.layer == "selection"),
        work=tuple(spec.id for spec in met if spec.layer != "selection"),
        acted=any(map(_wrote, turns)),
        expected=expected_decision(episode.rubric),
        closed=closing_decision(turns),
        turns=len(turns),
        unreadable=sum(not turn.calls for turn in turns),
    )


def flatten_groups(groups: Sequence[DiagnosedGroup]) -> list[DiagnosedEpisode]:
    """The episodes of all groups, in order."""
    return [episode for group in groups for episode in group.episodes]


def _wrote(turn: Turn) -> bool:
    """Whether a call of the turn wrote a row; what a world writes by itself is no act."""
    return any(event.written > 0 and not event.call_id.startswith("world_") for event in turn.events)


def _list_broken(episode: Episode) -> Iterator[str]:
    """Prohibitions in the order in which they were broken."""
    order = [spec.id for spec in episode.rubric if spec.kind == "forbid"]
    seen: set[str] = set()
    for turn in episode.turns:
        for name in order:
            if name in turn.violated and name not in seen:
                seen.add(name)
                yield name
