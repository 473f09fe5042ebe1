"""`palaestra bench`: costs, measured as ratios within one run."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import orjson
import typer

from palaestra.benchmarks import statistics
from palaestra.benchmarks.speed import FULL, QUICK, SECTIONS, bench_env, speed_markdown, speed_tables
from palaestra.benchmarks.speed.registered import PROGRAMS, bench_registered, registered_table
from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import WorldOption, make
from palaestra.durable import write_file
from palaestra.envs.target import find_world
from palaestra.errors import ConfigError

if TYPE_CHECKING:
    from palaestra.benchmarks.speed.training import TrainingReport

Quick: TypeAlias = Annotated[bool, typer.Option("--quick", help="Measure a small sample.")]
JsonOption: TypeAlias = Annotated[Path | None, typer.Option("--json", help="Write all figures to this JSON file.")]
Markdown: TypeAlias = Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")]
Device: TypeAlias = Annotated[
    str, typer.Option("--device", help="Device: cpu, or cuda with a model of Qwen3 0.6B's size.")
]
Threads: TypeAlias = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads for arithmetic. Default: one per core.")
]

app = typer.Typer(help="Measure speed, memory and learning.", no_args_is_help=True, rich_markup_mode="markdown")


@app.callback()
def bench() -> None:
    """Measure speed, memory and learning."""


@app.command(epilog="Example: `palaestra bench env --quick --json bench.json`")
def env(
    env_id: Annotated[str | None, typer.Argument(help="Environment id. Default: the default world.")] = None,
    world: WorldOption = None,
    quick: Annotated[bool, typer.Option("--quick", help="Measure a small sample; takes half a minute.")] = False,  # noqa: FBT002
    episodes: Annotated[int | None, typer.Option(min=1, help="Episodes that the oracle plays.")] = None,
    worlds: Annotated[
        int | None, typer.Option(min=1, help="Environments that exist at once while memory is measured.")
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write all figures to this JSON file.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
) -> None:
    """Time steps, resets, snapshots and forks, measure memory, and compare with other implementations in one run."""
    if env_id is not None and world is not None:
        raise ConfigError(f"{env_id} and --world {world} name two worlds; name one")
    usual = QUICK if quick else FULL
    scale = replace(usual, episodes=episodes or usual.episodes, worlds=worlds or usual.worlds)
    with bar("measuring", len(SECTIONS)) as progress:
        report = bench_env(find_world(env_id or world), scale=scale, progress=progress.step)
    for table in speed_tables(report):
        output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, speed_markdown(report).encode())


@app.command(epilog="Example: `palaestra bench served --sessions 10000 --batch 1000 --workers 0 --workers 2`")
def served(
    world: WorldOption = None,
    sessions: Annotated[
        int, typer.Option("--sessions", min=1, help="Sessions of a server that exist at once.")
    ] = 1_000,
    batch: Annotated[
        list[int] | None,
        typer.Option("--batch", min=1, max=1_024, help="Items of a request; repeatable. Default: 1, 250 and 1000."),
    ] = None,
    workers: Annotated[
        list[int] | None,
        typer.Option(
            "--workers", min=0, max=256, help="Worker processes of a server; repeatable. 0: none. Default: 0, 1 and 2."
        ),
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0.01, help="Seconds to play each row in a round.")] = 5.0,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Rounds; each measures every row once.")] = 3,
    openenv_python: Annotated[
        Path,
        typer.Option(
            "--openenv-python",
            help="Python interpreter with openenv-core, from `make peers`. Without it, the report marks OpenEnv as "
            "not run.",
        ),
    ] = Path(".interop/openenv/bin/python"),
    json: JsonOption = None,
    markdown: Markdown = None,
) -> None:
    """Time steps in process, through Palaestra's server and through two peers in one run. Needs the extra `serve`."""
    from palaestra.benchmarks.speed import served as speed  # noqa: PLC0415  its packages are an extra

    usual = speed.ServedScale()
    scale = replace(
        usual,
        sessions=sessions,
        batches=tuple(batch or usual.batches),
        workers=tuple(workers or usual.workers),
        seconds=seconds,
        rounds=rounds,
    )
    env_id = find_world(world)
    with bar("measuring", scale.rounds) as progress:
        report = speed.bench_served(env_id, scale, openenv_python=openenv_python, progress=progress.step)
    table = speed.served_table(report)
    output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, f"{table.markdown()}\n\n{table.note}\n".encode())


@app.command(epilog="Example: `palaestra bench wording storefront --json wording.json`")
def wording(
    env_id: Annotated[str | None, typer.Argument(help="Environment id. Default: the default world.")] = None,
    json: JsonOption = None,
) -> None:
    """Measure how much the wording of heldout differs from train, and whether the kind of request is recognised."""
    from palaestra.benchmarks.wording import measure_wordings, wording_tables  # noqa: PLC0415

    tasks = make(find_world(env_id)).task_set
    trained, held_out = tasks.ids("train"), tasks.ids("heldout")
    with bar("reading", len(trained) + len(held_out)) as progress:
        found = measure_wordings(tasks, trained=trained, held_out=held_out, progress=progress.step)
    for table in wording_tables(found):
        output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(found, option=orjson.OPT_INDENT_2))


@app.command(epilog="Example: `palaestra bench learnability storefront --family cancel-order`")
def learnability(
    env_id: Annotated[str | None, typer.Argument(help="Environment id. Default: the default world.")] = None,
    form: Annotated[str, typer.Option("--format", help="Chat format whose rendering is measured.")] = "compact",
    family: Annotated[
        list[str] | None, typer.Option("--family", help="A family; may be given several times. Default: all.")
    ] = None,
    apart: Annotated[bool, typer.Option("--apart", help="Build a separate imitator for each twin.")] = False,  # noqa: FBT002
    odd: Annotated[bool, typer.Option("--odd", help="Demonstrate tasks of odd index; default: of even index.")] = False,  # noqa: FBT002
    json: JsonOption = None,
) -> None:
    """Play half of train with decision trees that imitate the other half's solutions from the rendered text alone."""
    from palaestra.benchmarks.learnability import learnability_table, measure_learnability  # noqa: PLC0415

    with bar("imitating", None) as progress:
        found = measure_learnability(
            find_world(env_id), form=form, families=family, twins=not apart, odd=odd, progress=progress.step
        )
    output().print(learnability_table(found, form=form).for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(found, option=orjson.OPT_INDENT_2))


@app.command(epilog="Example: `palaestra bench worlds --worlds 300`")
def worlds(
    count: Annotated[int, typer.Option("--worlds", min=2, help="Registered worlds to compare with one.")] = 300,
    runs: Annotated[int, typer.Option(min=1, help="Pairs of runs of each program.")] = 15,
    json: JsonOption = None,
) -> None:
    """Measure how many registered worlds slow down the import, the help text and one environment."""
    with bar("measuring", len(PROGRAMS)) as progress:
        costs = bench_registered(worlds=count, runs=runs, progress=progress.step)
    output().print(registered_table(costs, worlds=count).for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(costs, option=orjson.OPT_INDENT_2))


@app.command(epilog="Example: `palaestra bench synthesis --quick`")
def synthesis(
    numbers: Annotated[
        list[int] | None,
        typer.Option("--world", min=0, help="Number of a generated world; repeatable. Default: 3 worlds."),
    ] = None,
    quick: Quick = False,  # noqa: FBT002
    json: JsonOption = None,
    markdown: Markdown = None,
) -> None:
    """Time generated worlds beside the Storefront and beside a server process for each episode of the same world."""
    from palaestra.benchmarks.speed import synthesis as speed  # noqa: PLC0415  its packages are an extra

    usual = speed.QUICK_SYNTHESIS if quick else speed.FULL_SYNTHESIS
    scale = replace(usual, worlds=tuple(numbers or usual.worlds))
    with bar("measuring", scale.rounds + 1) as progress:
        figures = speed.bench_synthesis(scale, progress=progress.step)
    table = speed.synthesis_table(figures)
    output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(figures, option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, f"{table.markdown()}\n\n{table.note}\n".encode())


@app.command(epilog="Example: `palaestra bench engine --vllm-python .venv-vllm/bin/python --json engine.json`")
def engine(
    vllm_python: Annotated[
        Path,
        typer.Option(
            "--vllm-python", help="Python interpreter with vLLM. Without it, the report marks vLLM as not measured."
        ),
    ] = Path(".venv-vllm/bin/python"),
    device: Device = "cpu",
    threads: Threads = None,
    quick: Quick = False,  # noqa: FBT002
    json: JsonOption = None,
    markdown: Markdown = None,
) -> None:
    """Sample from equal weights with our engine, transformers and vLLM, in one batch and in turns with slow tools."""
    _set_threads(threads)
    from palaestra.benchmarks.speed.training import bench_engine, device_of, scale_of  # noqa: PLC0415

    scale = scale_of(device, quick=quick).engine
    _show(bench_engine(device_of(device), scale=scale, vllm_python=vllm_python, bar=bar), json, markdown)


@app.command(epilog="Example: `palaestra bench train --quick`")
def train(
    device: Device = "cpu",
    threads: Threads = None,
    quick: Quick = False,  # noqa: FBT002
    json: JsonOption = None,
    markdown: Markdown = None,
) -> None:
    """Time GRPO steps of our learner in each layout and of the reference learner on equal trajectories."""
    _set_threads(threads)
    from palaestra.benchmarks.speed.training import bench_train, device_of, scale_of  # noqa: PLC0415

    scale = scale_of(device, quick=quick).train
    _show(bench_train(device_of(device), scale=scale, bar=bar), json, markdown)


@app.command(epilog="Example: `palaestra bench gpu --json gpu.json --markdown gpu.md`")
def gpu(
    device: Annotated[
        str, typer.Option("--device", help="Device: cuda; cpu runs the checks with a tiny model.")
    ] = "cuda",
    only: Annotated[list[str] | None, typer.Option("--only", help="Run this check; may be repeated.")] = None,
    here: Annotated[bool, typer.Option("--here", help="Run the checks in this process.")] = False,  # noqa: FBT002
    json: JsonOption = None,
    markdown: Markdown = None,
) -> None:
    """Check a GPU in minutes: parity, attention, graphs beside another thread, a step at 0.6 billion weights, FP8.

    Each check runs in a process of its own and may take two minutes. Results are written after each.
    """
    from palaestra.benchmarks import gpu as contact  # noqa: PLC0415  torch takes seconds
    from palaestra.benchmarks.speed.training import device_of  # noqa: PLC0415

    def keep(report: contact.ContactReport) -> None:
        if json is not None:
            write_file(json, orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2))
        if markdown is not None:
            write_file(markdown, contact.contact_markdown(report).encode())

    names = tuple(only or contact.CHECKS)
    with bar("checking", len(names)) as progress:
        report = contact.run_contact(device_of(device), names=names, apart=not here, keep=keep, progress=progress.step)
    for table in contact.contact_tables(report):
        output().print(table.for_terminal())
    if not all(result.passed for result in report.results):
        raise typer.Exit(1)


@app.command(epilog="Example: `palaestra bench saves --quick`")
def saves(
    threads: Threads = None,
    quick: Quick = False,  # noqa: FBT002
    json: JsonOption = None,
    markdown: Markdown = None,
) -> None:
    """Measure time, memory and disk of a save and a resumption, at Qwen3 0.6B's size; takes 20 GiB of memory."""
    _set_threads(threads)
    from palaestra.benchmarks.speed import training  # noqa: PLC0415  torch takes seconds

    report = training.bench_saves(scale=training.SAVES_QUICK if quick else training.SAVES_FULL, bar=bar)
    output().print(training.saves_table(report).for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, training.saves_markdown(report).encode())


@app.command(name="async", epilog="Example: `palaestra bench async --markdown async.md`")
def async_(
    threads: Threads = None,
    quick: Quick = False,  # noqa: FBT002
    json: JsonOption = None,
    markdown: Markdown = None,
) -> None:
    """Compare synchronous and asynchronous training with slow tools."""
    _set_threads(threads)
    from palaestra.benchmarks.speed.training import bench_async, scale_of  # noqa: PLC0415

    _show(bench_async(scale=scale_of("cpu", quick=quick).asynchrony, bar=bar), json, markdown)


@app.command(epilog="Example: `palaestra bench replicas --markdown replicas.md`")
def replicas(
    number: Annotated[int | None, typer.Option("--replicas", min=1, help="Number of replicas. Default: 2.")] = None,
    quick: Quick = False,  # noqa: FBT002
    json: JsonOption = None,
    markdown: Markdown = None,
) -> None:
    """Sample rollouts with one engine and with replicas, each with one thread, by wall and processor time."""
    from palaestra.benchmarks.speed.training import bench_replicas, scale_of  # noqa: PLC0415  torch takes seconds

    usual = scale_of("cpu", quick=quick).replicas
    _show(bench_replicas(scale=replace(usual, replicas=number or usual.replicas), bar=bar), json, markdown)


@app.command(epilog="Example: `palaestra bench objectives --markdown objectives.md --plot objectives.png`")
def objectives(
    quick: Quick = False,  # noqa: FBT002
    json: JsonOption = None,
    markdown: Markdown = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Plot the tables to this PNG file.")] = None,
) -> None:
    """Train tabular policies on stale data on one thread, to measure how each objective tolerates staleness."""
    _set_threads(1)
    from palaestra.benchmarks import objectives as toys  # noqa: PLC0415

    report = toys.bench_objectives(scale=toys.QUICK if quick else toys.FULL, bar=bar)
    for table in toys.objectives_tables(report):
        output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, toys.objectives_markdown(report).encode())
    if plot is not None:
        write_file(plot, toys.objectives_png(report))


@app.command(epilog="Example: `palaestra bench intervals --markdown intervals.md`")
def intervals(
    quick: Quick = False,  # noqa: FBT002
    samples: Annotated[
        int | None,
        typer.Option("--samples", min=1, help="Simulated intervals per row. Default: 2000, or 200 with --quick."),
    ] = None,
    json: JsonOption = None,
    markdown: Markdown = None,
) -> None:
    """Simulate the coverage of 95 % intervals by method, population and number of units."""
    usual = statistics.QUICK if quick else statistics.FULL
    rows = statistics.simulate_coverage(replace(usual, samples=samples or usual.samples))
    table = statistics.coverage_table(rows)
    output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(rows, option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, f"{table.markdown()}\n\n{table.note}\n".encode())


def _set_threads(threads: int | None) -> None:
    """Set torch's number of threads; `None` uses all cores."""
    import torch  # noqa: PLC0415  seconds to import

    if threads is not None:
        torch.set_num_threads(threads)


def _show(report: "TrainingReport", json: Path | None, markdown: Path | None) -> None:
    """Print a report, and write it to the given files."""
    from palaestra.benchmarks.speed.training import training_markdown, training_tables  # noqa: PLC0415

    for table in training_tables(report):
        output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, training_markdown(report).encode())
