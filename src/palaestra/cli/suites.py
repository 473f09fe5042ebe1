"""`palaestra suites`: list, show and install external benchmarks."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import make
from palaestra.contamination import LEARNT_FROM, LISTS, of_users, write_list
from palaestra.envs.target import find_world, is_pack
from palaestra.envs.task import SPLITS
from palaestra.errors import ConfigError, PalaestraError
from palaestra.packs import PACKS
from palaestra.table import Table

if TYPE_CHECKING:
    from palaestra.benchmarks.external import Benchmark, ExternalEnv

app = typer.Typer(
    help="List and install external benchmarks.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Benchmark names, such as bfcl.")]


@app.callback()
def suites() -> None:
    """List and install external benchmarks."""


@app.command(name="list", epilog="Example: `palaestra suites list`")
def list_() -> None:
    """List benchmarks with version, licence, and number of tasks or how to install them."""
    from palaestra.benchmarks.external import BENCHMARKS  # noqa: PLC0415  it needs the extra `suites`
    from palaestra.benchmarks.external.installation import home  # noqa: PLC0415

    rows = [(one.name, one.title, one.version, one.licence, *_state(one)) for one in map(BENCHMARKS.get, BENCHMARKS)]
    table = Table(
        title="Benchmarks",
        columns=("name", "title", "version", "licence", "tasks", "state"),
        rows=tuple(rows),
        note=f"Installed below {home()}; set PALAESTRA_BENCHMARKS for another folder.",
    )
    output().print(table.for_terminal())


def _state(benchmark: "Benchmark") -> tuple[str, str]:
    """The number of tasks and categories, and whether the benchmark can be played."""
    from palaestra.benchmarks.external import find_installed  # noqa: PLC0415

    if find_installed(benchmark.name, benchmark.installation) is None:
        return "-", f"palaestra suites install {benchmark.name}{_source(benchmark)}"
    try:
        tasks = _open(benchmark).tasks.values()
    except PalaestraError as error:  # a benchmark that does not start must not hide the others
        return "-", f"broken: {error}"
    return f"{len(tasks):,}", f"installed; {len({task['category'] for task in tasks})} categories"


def _source(benchmark: "Benchmark") -> str:
    return "" if benchmark.installation.checkout is None else " --from FOLDER"


def _open(benchmark: "Benchmark") -> "ExternalEnv":
    from palaestra.benchmarks.external import ExternalEnv  # noqa: PLC0415

    return ExternalEnv(benchmark.env_id)


@app.command(
    epilog="Examples: `palaestra suites install bfcl textworld`, `palaestra suites install tau2 --from ../tau2`"
)
def install(
    names: Names,
    source: Annotated[
        Path | None, typer.Option("--from", help="Your checkout of a benchmark that has no package.")
    ] = None,
) -> None:
    """Install benchmarks, each in its own virtual environment. Installed ones stay as they are."""
    from palaestra.benchmarks.external import BENCHMARKS  # noqa: PLC0415
    from palaestra.benchmarks.external import install as install_one  # noqa: PLC0415

    console = output()
    if source is not None and len(names) > 1:
        raise ConfigError(f"--from {source}: a checkout is one benchmark's; install {names[0]} by itself")
    chosen = [BENCHMARKS.get(name) for name in names]
    for benchmark in chosen:
        found = install_one(
            benchmark.name,
            benchmark.installation,
            source=source,
            say=lambda text: console.print(text, style="dim", highlight=False, markup=False),
        )
        console.print(f"{benchmark.name}: installed, {found.python.parents[2]}", highlight=False, soft_wrap=True)


@app.command(epilog="Example: `palaestra suites show bfcl`")
def show(name: Annotated[str, typer.Argument(metavar="NAME", help="Benchmark name, such as bfcl.")]) -> None:
    """Show a benchmark's source, splits, options, tasks and known defects."""
    from palaestra.benchmarks.external import BENCHMARKS, find_installed  # noqa: PLC0415

    benchmark, console = BENCHMARKS.get(name), output()
    there = find_installed(benchmark.name, benchmark.installation)
    for table in _facts(benchmark):
        console.print(table.for_terminal())
    if there is None:
        console.print(f"Not installed: palaestra suites install {name}{_source(benchmark)}", highlight=False)
    else:
        console.print(_tasks(_open(benchmark)).for_terminal())


def _facts(benchmark: "Benchmark") -> list[Table]:
    needs = benchmark.installation
    packages = [item for one in needs.packages for item in one.names]
    rows = [
        ("in Gymnasium", benchmark.env_id),
        ("version", benchmark.version),
        ("licence", benchmark.licence),
        ("source", benchmark.source),
        ("packages", ", ".join(packages) or "none"),
        ("Python", f"{needs.python[0]}.{needs.python[1]} or newer"),
        *((f"needs {program}", way) for program, way in needs.programs.items()),
        *([("checkout", needs.checkout.repository)] if needs.checkout else []),
        *((f"split {split}", what) for split, what in benchmark.splits.items()),
        ("may be learnt from", ", ".join(benchmark.trainable) or "nothing"),
        *((f"option {option}", f"{value!r} if not said") for option, value in benchmark.options.items()),
        *([("note", benchmark.notes)] if benchmark.notes else []),
    ]
    tables = [Table(title=benchmark.title, columns=("what", "it says"), rows=tuple(rows))]
    if bad := benchmark.known_bad:
        tables.append(Table(title="Held to be broken", columns=("task", "by whom, and why"), rows=tuple(bad.items())))
    return tables


def _tasks(env: "ExternalEnv") -> Table:
    splits = list(env.benchmark.splits)
    counts: dict[str, Counter[str]] = {}
    for task in env.tasks.values():
        counts.setdefault(task["category"], Counter())[task["split"]] += 1
    rows = tuple((category, *(f"{of[split]:,}" for split in splits)) for category, of in counts.items())
    return Table(title=f"{len(env.tasks):,} tasks", columns=("category", *splits), rows=rows)


@app.command(epilog="Examples: `palaestra suites hashes bfcl`, `palaestra suites hashes storefront --out lists/`")
def hashes(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Installed benchmarks or bundled worlds.")],
    out: Annotated[Path, typer.Option("--out", help="Output folder of the lists.")] = LISTS,
) -> None:
    """Write hashes of evaluation prompts, so that a trainer can refuse them."""
    console = output()
    for given in names:
        pack = PACKS.find(find_world(given)) if given in PACKS.ids or is_pack(given) else None
        name = given if pack is None else pack.id  # not the pack's folder, which would become a path below `out`
        prompts, trainable = _of_benchmark(name) if pack is None else _of_world(pack.env_id)
        learnt_from = [text for split in trainable for text in prompts[split]]
        for split in [split for split, texts in prompts.items() if texts and split not in trainable]:
            count = write_list(out / f"{name}.{split}.txt", prompts[split], learnt_from=learnt_from)
            console.print(f"{name}, {split}: {len(prompts[split]):,} prompts, {count:,} hashes", highlight=False)


def _of_world(env_id: str) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    """The users' requests by split, and the splits that may be learnt from."""
    env = make(env_id)
    prompts: dict[str, list[str]] = {split: [] for split in SPLITS}
    ids = [(split, task) for split in env.task_set.splits for task in env.task_set.ids(split)]
    with bar("prompts", len(ids)) as shown:
        for split, task in ids:
            observation, _ = env.reset(seed=0, options={"task": task})
            prompts[split].append("\n".join(of_users(observation)))
            shown.step(task)
    return prompts, LEARNT_FROM


def _of_benchmark(name: str) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    from palaestra.benchmarks.external import BENCHMARKS  # noqa: PLC0415

    benchmark = BENCHMARKS.get(name)
    prompts: dict[str, list[str]] = {split: [] for split in benchmark.splits}
    env = _open(benchmark)
    with bar("prompts", len(env.tasks)) as shown:
        for id, task in env.tasks.items():
            prompts[task["split"]].append(_opening(env, id) if benchmark.opening_tells else task["prompt"])
            shown.step(id)
    env.close()
    return prompts, benchmark.trainable


def _opening(env: "ExternalEnv", task: str) -> str:
    observation, _ = env.reset(seed=0, options={"task": task})
    return "\n".join(of_users(observation))
