"""The facts of an episode that a diagnosis keeps: solved or not, failed criteria, harm, and the decision."""

from collections.abc import Iterator, Sequence

from palaestra.benchmarks.diagnosis.decisions import closing_decision, expected_decision
from palaestra.record import record
from palaestra.records import EndReason
from palaestra.trajectory import Episode, Turn


@record
class DiagnosedEpisode:
    """An episode that a stage trained on, without its texts and tokens."""

    step: int
    """The step of the stage, from 1."""
    task: str
    family: str
    solved: bool
    returned: float
    """The sum of the rewards that the world paid."""
    total: int
    """The points that the rubric gives for the right work."""
    end: EndReason | None
    """`None` where the rollout stopped before the episode ended."""
    criteria: tuple[str, ...]
    """All criteria of the rubric, in the rubric's order."""
    missed: tuple[str, ...]
    """Expectations that were not met at the end, in the rubric's order."""
    broken: tuple[str, ...]
    """Broken prohibitions, in the order of the first turn that broke them; within a turn in the rubric's order."""
    harmed: bool
    """Whether a prohibition was broken, even if that was undone later."""
    look_ups: tuple[str, ...]
    """Met expectations of the layer `selection`."""
    work: tuple[str, ...]
    """All other met expectations."""
    acted: bool
    """Whether a call of the episode wrote a row."""
    expected: str | None
    """The expected decision on the case; `None` where the rubric states none."""
    closed: str
    """The actual decision on the case; see `decisions`."""
    turns: int
    unreadable: int
    """Number of turns without a readable call."""

    @property
    def is_unfinished(self) -> bool:
        """Whether the episode ended by a budget, by unreadable turns or by giving up."""
        return self.end is None or self.end.is_unfinished

    @property
    def end_name(self) -> str:
        """The end reason, or "stopped" where the rollout stopped before the episode ended."""
        return "stopped" if self.end is None else self.end.value


@record
class DiagnosedGroup:
    """Episodes of one task that were compared with each other."""

    step: int
    """The step of the stage, from 1."""
    task: str
    family: str
    episodes: tuple[DiagnosedEpisode, ...]
    lost: int
    """Number of trajectories whose world failed, or that were cut off because they were slow."""

    @property
    def solved(self) -> int:
        """Number of episodes that solved the task."""
        return sum(episode.solved for episode in self.episodes)


def diagnosed_episode(episode: Episode, *, step: int) -> DiagnosedEpisode:
    """Extract what a diagnosis keeps of an episode.

    Args:
        episode: A whole episode.
        step: The step that trained on it, from 1.
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
    """Whether a call of the turn wrote a row; writes of the world itself do not count."""
    return any(event.written > 0 and not event.call_id.startswith("world_") for event in turn.events)


def _list_broken(episode: Episode) -> Iterator[str]:
    """Yield broken prohibitions in the order in which they were broken."""
    order = [spec.id for spec in episode.rubric if spec.kind == "forbid"]
    seen: set[str] = set()
    for turn in episode.turns:
        for name in order:
            if name in turn.violated and name not in seen:
                seen.add(name)
                yield name
