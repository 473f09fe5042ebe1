"""`palaestra bench simulation`: count wrong rewards of a simulated world by its error rate."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, get_args

import orjson
import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import WorldOption, open_target
from palaestra.cli.tasks import FamilyOption, SplitOption, Target, choose_tasks
from palaestra.durable import write_file
from palaestra.errors import TaskError

_RATES = (0, 1, 2, 5, 10, 20)


def simulation(
    target: Target = None,
    world: WorldOption = None,
    split: SplitOption = None,
    family: FamilyOption = None,
    rate: Annotated[
        list[int] | None,
        typer.Option(
            "--rate", min=0, max=100, help="Wrong answers in a hundred. May be given several times. Default: 0 to 20."
        ),
    ] = None,
    samples: Annotated[int, typer.Option("--samples", min=1, help="Episodes per task, each with other errors.")] = 10,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Maximum tasks, spread evenly.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    json: Annotated[Path | None, typer.Option("--json", help="Write every episode to this JSON file.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the table to this Markdown file.")] = None,
) -> None:
    """Play oracles in simulated worlds with known error rates, and compare rewards with those of the true world.

    Tasks of families that state no answer for other rows are left out.

    Example: `palaestra bench simulation examples/blueprints/tool_library.yaml --markdown simulation.md`
    """
    from palaestra.envs.simulation import (  # noqa: PLC0415  it loads worlds
        can_simulate,
        measure_preferences,
        measure_simulation,
        preference_table,
        sibling_pairs,
        simulation_table,
    )
    from palaestra.envs.simulation.measurement import PolicyName  # noqa: PLC0415

    env = open_target(target, world)
    ids = choose_tasks(env, split, family)
    every = max(1, -(-len(ids) // limit)) if limit else 1
    picked = [env.task_set.instance(task) for task in ids[::every]]
    instances = [instance for instance in picked if can_simulate(instance)]
    if not instances:
        raise TaskError(f"no task of {env.env_id} can be simulated; its families state no answer for other rows")
    policies: tuple[PolicyName, ...] = get_args(PolicyName)
    rates = rate or list(_RATES)
    seeds = range(seed, seed + samples)
    pairs = sibling_pairs(env.task_set, instances)
    with bar("simulating", len(rates) * samples * (len(policies) * len(instances) + len(pairs))) as shown:
        reports = [
            measure_simulation(instances, percent=percent, policy=policy, seeds=seeds, progress=shown.step)
            for policy in policies
            for percent in rates
        ]
        preferences = [
            measure_preferences(pairs, percent=percent, seeds=seeds, progress=shown.step) for percent in rates if pairs
        ]
    title = f"Simulations of {env.world.name}: {len(instances)} of {len(picked)} tasks, episodes per task: {samples}"
    tables = [simulation_table(reports, title=title)]
    if preferences:
        tables.append(preference_table(preferences, title="Right and wrong work in the same simulations"))
    for table in tables:
        output().print(table.for_terminal())
    if json is not None:
        figures = {"episodes": [asdict(one) for one in reports], "preferences": [asdict(one) for one in preferences]}
        write_file(json, orjson.dumps(figures, option=orjson.OPT_INDENT_2))
    if markdown is not None:
        parts = [f"**{table.title}**\n\n{table.markdown()}\n\n{table.note}\n" for table in tables]
        write_file(markdown, "\n".join(parts).encode())
