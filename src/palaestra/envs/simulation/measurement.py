"""False rewards of a simulated world: tasks solved in the simulation and not truly, and the reverse."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.envs.instance import Instance
from palaestra.envs.simulation.error_simulator import ErrorSimulator
from palaestra.envs.simulation.simulated_episode import SimulatedEpisode
from palaestra.errors import InfrastructureError
from palaestra.protocols import ChatModel
from palaestra.records import ToolCall
from palaestra.table import Table

SimulatedPolicy: TypeAlias = Callable[[SimulatedEpisode], ToolCall | None]
"""Gives the next call of an episode; `None`: it has no further one."""
PolicyName: TypeAlias = Literal["fixed", "reactive"]


def fixed_calls(calls: Sequence[ToolCall]) -> SimulatedPolicy:
    """A policy that makes these calls, whatever the answers say."""

    def next_call(episode: SimulatedEpisode) -> ToolCall | None:
        return calls[len(episode.turns)] if len(episode.turns) < len(calls) else None

    return next_call


def fixed_oracle(episode: SimulatedEpisode) -> ToolCall | None:
    """The task's solution, whatever the answers say."""
    return fixed_calls(episode.instance.oracle)(episode)


def reactive_oracle(episode: SimulatedEpisode) -> ToolCall | None:
    """The solution of the task over the rows that the answers have shown: the first call of it that was not made."""
    made = [turn.call for turn in episode.turns]
    for call in episode.believed_instance.oracle:
        if call not in made:
            return call
        made.remove(call)
    return None


POLICIES: Mapping[PolicyName, SimulatedPolicy] = {"fixed": fixed_oracle, "reactive": reactive_oracle}


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOutcome:
    """What came of one task."""

    task: str
    answers: int
    """Answers of the simulator."""
    differing: int
    """Answers that are not those of the true world."""
    true_points: int
    simulated_points: int | None
    """`None`: the simulation gives no verdict."""
    truly_solved: bool
    solved_in_simulation: bool | None
    fault: str = ""
    """Why the simulation gives no verdict: it contradicts itself, or its answers could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationReport:
    """What came of a set of tasks under one error rate and one policy."""

    percent: int
    policy: PolicyName
    outcomes: tuple[SimulationOutcome, ...]

    def count(self, *, truly: bool, simulated: bool) -> int:
        """How many tasks ended so in both worlds."""
        return sum((o.truly_solved, o.solved_in_simulation) == (truly, simulated) for o in self.outcomes)

    @property
    def faults(self) -> int:
        """How many episodes have no verdict."""
        return sum(o.solved_in_simulation is None for o in self.outcomes)

    @property
    def differing_share(self) -> float:
        """The share of answers that are not those of the true world."""
        return sum(o.differing for o in self.outcomes) / max(1, sum(o.answers for o in self.outcomes))


def play_simulation(
    instance: Instance, simulator: ChatModel, policy: SimulatedPolicy, *, seed: int = 0
) -> SimulationOutcome:
    """Let a policy play one task in a simulation.

    Args:
        instance: The task.
        simulator: Who answers.
        policy: Who acts.
        seed: Of the simulator's draws.
    """
    episode = SimulatedEpisode(instance, simulator, seed=seed)
    fault = ""
    try:
        while not episode.ended and (call := policy(episode)) is not None:
            episode.step(call)
    except InfrastructureError as error:
        fault = str(error)
    fault = fault or episode.contradiction
    true, simulated = episode.true_score(), None if fault else episode.simulated_score()
    answered = [turn for turn in episode.turns if turn.answer is not None]
    return SimulationOutcome(
        task=instance.spec.id,
        answers=len(answered),
        differing=sum(turn.differs for turn in answered),
        true_points=true.points,
        simulated_points=None if simulated is None else simulated.points,
        truly_solved=true.passed,
        solved_in_simulation=None if simulated is None else simulated.passed,
        fault=fault,
    )


def measure_simulation(
    instances: Sequence[Instance],
    *,
    percent: int,
    policy: PolicyName,
    seeds: Sequence[int] = (0,),
    progress: Callable[[str], None] = lambda _: None,
) -> SimulationReport:
    """Play tasks in simulations whose answers have errors at a known rate.

    Args:
        instances: The tasks; see `can_simulate`.
        percent: Answers in a hundred with an error.
        policy: Who acts.
        seeds: Of the errors; each task is played once under each.
        progress: Told of each episode.
    """
    outcomes: list[SimulationOutcome] = []
    for seed in seeds:
        for instance in instances:
            simulator = ErrorSimulator(instance, percent=percent, seed=seed)
            outcomes.append(play_simulation(instance, simulator, POLICIES[policy], seed=seed))
            progress(instance.spec.id)
    return SimulationReport(percent=percent, policy=policy, outcomes=tuple(outcomes))


def simulation_table(reports: Iterable[SimulationReport], *, title: str) -> Table:
    """Error rates against false rewards."""
    return Table(
        title=title,
        columns=(
            "error rate",
            "policy",
            "episodes",
            "answers that differ",
            "solved truly",
            "solved in simulation",
            "in simulation alone",
            "truly alone",
            "false rewards",
            "no verdict",
        ),
        rows=tuple(map(_row, reports)),
        note=(
            "fixed: the oracle's calls. reactive: the oracle of the rows that were shown. False rewards: the share of "
            "episodes with a verdict that only one of both worlds counts as solved. No verdict: no task can be made "
            "over the rows that were shown; such episodes count as solved in no column."
        ),
    )


def _row(report: SimulationReport) -> tuple[str, ...]:
    both, neither = report.count(truly=True, simulated=True), report.count(truly=False, simulated=False)
    false, missed = report.count(truly=False, simulated=True), report.count(truly=True, simulated=False)
    share = (false + missed) / max(1, both + neither + false + missed)
    return (
        f"{report.percent} %",
        report.policy,
        str(len(report.outcomes)),
        f"{100 * report.differing_share:.1f} %",
        str(both + missed),
        str(both + false),
        str(false),
        str(missed),
        f"{100 * share:.1f} %",
        str(report.faults),
    )
