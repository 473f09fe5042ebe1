"""`palaestra tasks detect`: run detectors on trajectories."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import orjson
import typer

from palaestra.agents.detectors import DETECTORS, Detection, detect, highest_measure
from palaestra.benchmarks.evaluation.results import SETTINGS, read_results
from palaestra.cli.console import output
from palaestra.durable import write_file
from palaestra.errors import RecordError
from palaestra.record import record
from palaestra.table import Table
from palaestra.trajectory import Episode, read_episodes

BATCHES = "batches.jsonl"
"""The file of a training stage with the batches that it was trained on."""


@record
class EpisodeDetection:
    """A finding and its episode."""

    number: int
    """The number of the episode, counted from 0."""
    episode: str
    """The id of the trajectory; empty if it has none."""
    task: str
    agent: str
    passed: bool
    found: Detection


def detect_in_trajectories(
    target: Annotated[
        Path, typer.Argument(help="JSON-lines file of trajectories, or folder of an evaluation or a training run.")
    ],
    json: Annotated[Path | None, typer.Option("--json", help="Write every finding to this JSON file.")] = None,
) -> None:
    """Look for padding, bad form, sycophancy, tool farming and memory writes in trajectories.

    A finding is not a verdict: read the turn that it names.
    """
    highest: dict[tuple[str, str], float] = {}
    findings: list[EpisodeDetection] = []
    count = 0
    for number, episode in enumerate(_episodes(target)):
        count += 1
        findings += [_finding(number, episode, found) for found in detect(episode)]
        for detector in DETECTORS:
            for rule in detector.rules:
                measured = highest_measure(rule, episode)
                key = (detector.name, rule.name)
                highest[key] = max(highest.get(key, 0.0), measured.value if measured else 0.0)
    console = output()
    console.print(_table(highest, findings, count).for_terminal())
    for one in findings:
        found = one.found
        line = f"{one.task}, turn {found.turn}: {found.detector}, {found.rule}: {found.measure:g}: {found.evidence}"
        console.print(line, markup=False, highlight=False)
    if json is not None:
        write_file(json, orjson.dumps(findings, option=orjson.OPT_INDENT_2))


def _finding(number: int, episode: Episode, found: Detection) -> EpisodeDetection:
    return EpisodeDetection(
        number=number,
        episode=episode.id,
        task=episode.task.id,
        agent=episode.agent,
        passed=episode.score.passed,
        found=found,
    )


def _episodes(target: Path) -> Iterator[Episode]:
    """The episodes of a file, of an evaluation so far, or of the batches that a run trained on."""
    if not target.is_dir():
        return read_episodes(target)
    if (target / SETTINGS).exists():
        return iter(read_results(target).episodes)
    batches = sorted(target.rglob(BATCHES))
    if not batches:
        raise RecordError(f"{target} holds no evaluation and no training run; give a folder of one, or a file")
    return _training_episodes([path.parent for path in batches])


def _training_episodes(stages: Sequence[Path]) -> Iterator[Episode]:
    from palaestra.trainers.loops.record import recorded_batches  # noqa: PLC0415  torch takes seconds to import

    for stage in stages:
        for batch in recorded_batches(stage):
            yield from (episode for group in batch.groups for episode in group.episodes)


def _table(highest: dict[tuple[str, str], float], findings: Sequence[EpisodeDetection], count: int) -> Table:
    fired = Counter((one.found.detector, one.found.rule) for one in findings)
    concerned = len({one.number for one in findings})
    return Table(
        title=f"Detectors: {concerned} of {count} episodes with findings",
        columns=("detector", "measure", "episodes", "highest", "threshold", "honest work"),
        rows=tuple(
            (
                detector.name,
                rule.name,
                str(fired[detector.name, rule.name]),
                f"{highest.get((detector.name, rule.name), 0):g}",
                f"{rule.threshold:g}",
                f"{rule.honest:g}",
            )
            for detector in DETECTORS
            for rule in detector.rules
        ),
        note="'Episodes' counts those above the threshold; 'honest work' is the highest measure that it rests on.",
    )
