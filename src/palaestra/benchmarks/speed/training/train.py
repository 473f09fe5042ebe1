"""`palaestra bench train`: the cost of a learning step in each layout, beside the reference learner."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from palaestra.benchmarks.speed.training.contest import METHOD, compete
from palaestra.benchmarks.speed.training.figures import SpeedComparison, SpeedSection, TrainingReport, WorkRate
from palaestra.benchmarks.speed.training.learners import LearnerStep, OurSteps, ReferenceSteps
from palaestra.benchmarks.speed.training.limits import Products
from palaestra.benchmarks.speed.training.machine import DTYPES, machine, precisions
from palaestra.benchmarks.speed.training.memory import WeighedContestant, memory_comparisons
from palaestra.benchmarks.speed.training.scale import TrainScale
from palaestra.trainers.data.layouts import LAYOUTS, LayoutName
from palaestra.trainers.learner import Precision
from palaestra.trainers.model.checkpoint import fresh, save_decoder
from palaestra.trainers.progress import OpenProgressBar, ProgressBar, silent

AIM = 1.5
"""Target speed of a step relative to the reference learner."""

_LAYOUTS: tuple[LayoutName, ...] = ("packed", "padded", "shared")
_PASSES = 3
"""Number of passes: one forward, and a backward pass that costs two, for the states and for the weights."""


def bench_train(device: torch.device, *, scale: TrainScale, bar: OpenProgressBar = silent) -> TrainingReport:
    """Measure learning steps on trajectories of mixed lengths.

    Args:
        device: The device of the learners.
        scale: The size of the run.
        bar: Opens a progress bar.
    """
    found = machine(device)
    with TemporaryDirectory() as folder, bar("measuring", len(_learners(device))) as shown:
        section = asyncio.run(_section(device, scale, Path(folder), shown))
    return TrainingReport(command="palaestra bench train", machine=found, setting=asdict(scale), sections=(section,))


def _learners(device: torch.device) -> list[str]:
    """The names of the contestants."""
    ours = [_name(layout, precision) for precision in precisions(device) for layout in _LAYOUTS]
    return [*ours, _reference(precisions(device)[0])]


def _name(layout: LayoutName, precision: Precision) -> str:
    return f"{layout}, {precision}"


def _reference(precision: Precision) -> str:
    return f"reference, {precision}"


async def _section(device: torch.device, scale: TrainScale, folder: Path, shown: ProgressBar) -> SpeedSection:
    model = fresh(scale.shape, seed=0)
    save_decoder(model, folder)
    step = LearnerStep(scale)
    first = precisions(device)[0]
    contestants: dict[str, WeighedContestant[Any]] = {}
    for precision in precisions(device):
        for layout in _LAYOUTS:
            contestants[_name(layout, precision)] = WeighedContestant(
                device, OurSteps, model, step, scale, layout=layout, precision=precision, device=device
            )
    contestants[_reference(first)] = WeighedContestant(
        device, ReferenceSteps, folder, step, scale, dtype=DTYPES[first], device=device
    )
    outcome = await compete(contestants, scale.rounds, progress=shown.step)
    limits = {precision: _limit(step, scale, precision, device) for precision in precisions(device)}
    rates = tuple(WorkRate.of(name, taken, limit=limits[_precision(name)]) for name, taken in outcome.rounds.items())
    rivals = [name for name in contestants if name != _reference(first)]
    compared = [_compare(rates, name, _reference(first)) for name in rivals]
    compared += [_compare(rates, _name("shared", one), _name("packed", one)) for one in precisions(device)]
    compared.append(SpeedComparison(name="tokens of packed over tokens of shared", value=_saved_tokens(step)))
    return SpeedSection(
        title=f"A step of GRPO on {len(step.trajectories)} trajectories of "
        f"{_range(step)} tokens, {step.trained_tokens:,} of {step.tokens:,} tokens trained",
        unit="tokens",
        rates=rates,
        comparisons=(*compared, *memory_comparisons(contestants)),
        note=f"{METHOD} Tokens count once for each trajectory that they are in, whatever a layout saves or adds. The "
        "limit is what the matrix products with weights would allow in a pass of full size. They run forward and twice "
        "backward, with nothing between them. `shared` does fewer of them, since it processes the common prefix of a "
        "group's trajectories once; its tokens are the nodes of a tree of prefixes.",
    )


def _range(step: LearnerStep) -> str:
    lengths = [len(tokens.ids) for tokens in step.trajectories]
    return f"{min(lengths)} to {max(lengths)}"


def _precision(name: str) -> Precision:
    return "bf16" if name.endswith("bf16") else "fp32"


def _limit(step: LearnerStep, scale: TrainScale, precision: Precision, device: torch.device) -> float:
    """Maximum tokens per second by the matrix products alone."""
    tokens = min(scale.micro_tokens, step.tokens)
    scored = round(tokens * step.trained_tokens / step.tokens)
    products = Products(scale.shape, dtype=DTYPES[precision], device=device)
    return tokens / (_PASSES * products.seconds(tokens, scored=scored))


def _saved_tokens(step: LearnerStep) -> float:
    """The tokens that `packed` processes, relative to those of `shared`.

    For G trajectories of R tokens behind a prompt of P tokens this is G (P + R) / (P + G R).
    """
    packed, shared = (len(LAYOUTS[name](step.batch).ids_N) for name in ("packed", "shared"))
    return packed / shared


def _compare(rates: tuple[WorkRate, ...], name: str, other: str) -> SpeedComparison:
    by_name = {rate.name: rate.per_second for rate in rates}
    aims = other.startswith("reference") and _precision(name) == _precision(other) and not name.startswith("padded")
    return SpeedComparison(
        name=f"{name}, over {other}", value=by_name[name] / by_name[other], at_least=AIM if aims else None
    )
