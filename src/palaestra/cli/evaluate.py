"""`palaestra eval`: how a policy does on tasks."""

from pathlib import Path
from typing import Annotated

import orjson
import typer

from palaestra.cli.console import output
from palaestra.cli.extra import train_extra
from palaestra.cli.progress import bar
from palaestra.cli.switches import HandbookOption, NoiseOption, SurfaceOption, switches
from palaestra.cli.target import folder_of, open_target
from palaestra.durable import saving
from palaestra.trajectory import write_episodes


def evaluate(
    checkpoint: Annotated[Path, typer.Argument(help="A folder in Hugging Face's layout.")],
    target: Annotated[str, typer.Argument(help="A world's name, or a folder of task files.")] = "storefront",
    split: Annotated[str, typer.Option("--split", help="The tasks to play.")] = "heldout",
    samples: Annotated[int, typer.Option("--samples", min=1, help="Episodes of each task.")] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Of the policy's choices.")] = 0,
    chat_format: Annotated[
        str | None, typer.Option("--format", help="The chat format, where the checkpoint does not say one.")
    ] = None,
    context: Annotated[int, typer.Option(min=1, help="Tokens that an episode may have.")] = 768,
    turn: Annotated[int, typer.Option(min=1, help="Tokens that a turn may have.")] = 48,
    rows: Annotated[int, typer.Option(min=1, help="Episodes in a batch; memory goes with it.")] = 128,
    surface: SurfaceOption = None,
    handbook: HandbookOption = 0,
    noise: NoiseOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write every figure, and an episode of each task, to this folder.")
    ] = None,
) -> None:
    """Play every task of a split several times, and say how it went, with intervals.

    Examples: `palaestra eval runs/demo/seed-0/after-grpo --split dev`, `palaestra eval CHECKPOINT --split
    heldout-policy --noise failures=10 --noise renames`
    """
    with train_extra():
        from palaestra.benchmarks.learning.evaluation import evaluate as run  # noqa: PLC0415  torch takes seconds to import
        from palaestra.benchmarks.learning.evaluation import evaluation_table  # noqa: PLC0415
        from palaestra.trainers import NativeConfig, PlayConfig, PoolConfig, load_policy  # noqa: PLC0415
    settings = {"tasks": folder_of(target), **switches(surface, handbook, noise)}
    env = open_target(target, split=split, **switches(surface, handbook, noise))
    settings["surface"] = env.surface
    tasks = env.task_set.ids(split)
    policy = load_policy(checkpoint, format_name=chat_format)
    console = output()
    with bar(f"playing {split}", len(tasks) * samples) as shown:
        evaluation, episodes = run(
            policy,
            env.env_id,
            tasks,
            samples=samples,
            seed=seed,
            play=PlayConfig(context=context, turn=turn),
            pool=PoolConfig(agents=rows),
            engine=NativeConfig(rows=rows, context=context, capacity=rows * context),
            switches=settings,
            progress=shown.step,
            say=lambda text: console.print(text, style="dim", highlight=False),
        )
    console.print(evaluation_table(evaluation, title=f"{checkpoint} on {split}").for_terminal())
    if out is not None:
        with saving(out) as directory:
            (directory / "evaluation.json").write_bytes(orjson.dumps(evaluation, option=orjson.OPT_INDENT_2))
            write_episodes(directory / "trajectories.jsonl", episodes)
