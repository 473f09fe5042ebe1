"""`palaestra reference`: the plain trainer that the fast one is compared with."""

from pathlib import Path
from typing import Annotated

import typer

from palaestra.agents import oracle, rollout
from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import WorldOption, open_target
from palaestra.envs.target import folder_of
from palaestra.trajectory import Episode


def reference(
    target: Annotated[str | None, typer.Argument(help="World id, or folder of task files.")] = None,
    world: WorldOption = None,
    out: Annotated[Path, typer.Option("--out", help="Output folder for the stages.")] = Path("runs/reference"),
    seed: Annotated[int, typer.Option("--seed", help="Random seed for weights, data order and sampling.")] = 0,
    warm_up_steps: Annotated[
        int, typer.Option(min=1, help="Supervised training steps on the oracle's episodes.")
    ] = 400,
    grpo_steps: Annotated[int, typer.Option(min=1, help="GRPO steps, one batch of rollouts each.")] = 16,
    context: Annotated[int, typer.Option(min=1, help="Maximum tokens per episode.")] = 768,
    turn: Annotated[int, typer.Option(min=1, help="Maximum tokens per turn.")] = 48,
    threads: Annotated[
        int, typer.Option(min=1, help="Threads for arithmetic. Results repeat only with equal thread counts.")
    ] = 2,
) -> None:
    """Run the reference trainer: a warm-up on the oracle's episodes, then GRPO.

    After an interruption, the same command resumes from the last save.

    Example: `palaestra reference storefront --seed 1 --out runs/reference`
    """
    import torch  # noqa: PLC0415  seconds to import

    from palaestra.trainers.reference import (  # noqa: PLC0415
        GrpoStage,
        ReferenceGrpoConfig,
        RolloutConfig,
        WarmUpConfig,
        WarmUpStage,
        run_stage,
    )

    console = output()

    def say(text: str) -> None:
        console.print(text, style="dim", highlight=False, markup=False, soft_wrap=True)

    torch.set_num_threads(threads)
    env = open_target(target, world)
    tasks = env.task_set.ids("train")
    expert = oracle(env.oracle)
    with bar("demonstrations", len(tasks)) as shown:
        episodes = list[Episode]()
        for task in tasks:
            episodes.append(rollout(env, expert, name="oracle", seed=0, task=task))
            shown.step(task)
    warm_up = WarmUpStage(WarmUpConfig(steps=warm_up_steps), episodes, seed=seed)
    warm = run_stage(warm_up, out / "warm-up", bar=bar, say=say)
    config = ReferenceGrpoConfig(steps=grpo_steps, rollouts=RolloutConfig(context=context, turn=turn))
    grpo = GrpoStage(
        config, env_id=env.env_id, tasks=tasks, switches={"tasks": folder_of(target)}, seed=seed, start=warm.policy
    )
    taught = run_stage(grpo, out / "grpo", bar=bar, say=say)
    last = taught.progress.history[-1]
    console.print(f"the last batch of rollouts scored {last['score']:.1f} on average", highlight=False)
    console.print(f"the policy: {taught.directory}", highlight=False)
    played = f" --suite {target}" if folder_of(target) else f" --world {world or target}" if world or target else ""
    console.print(f"measure it: palaestra eval {taught.directory}{played}", highlight=False)
