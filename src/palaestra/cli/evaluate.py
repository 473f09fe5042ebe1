"""`palaestra eval`: evaluate an agent on a suite."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.switches import (
    HandbookOption,
    NoiseOption,
    SurfaceOption,
    SurfaceSettingOption,
    TemperOption,
    WordingOption,
    parse_named_values,
    switches,
)
from palaestra.cli.target import WorldsOption
from palaestra.errors import ConfigError, InfrastructureError

if TYPE_CHECKING:  # worlds are loaded late
    from palaestra.benchmarks.evaluation.agents import EvaluatedAgent
    from palaestra.benchmarks.evaluation.journal import Journal
    from palaestra.benchmarks.evaluation.play import PlayOptions
    from palaestra.benchmarks.evaluation.results import Results

_POLICY, _ENDPOINT = "Checkpoints", "Models behind servers"


def evaluate(
    agent: Annotated[
        str,
        typer.Argument(
            help="oracle, a baseline (random, schema-random, no-op, finish-at-once, reader, junk, always-refuse), "
            "search (tries random actions in forks of the world: privileged), victim (the oracle, which obeys "
            "injections), a checkpoint's folder in Hugging Face's layout, "
            "an installed model (`palaestra models list`), or endpoint, with --base-url and --model."
        ),
    ] = "endpoint",
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite",
            help="ood, injections, a benchmark or a category of it (bfcl/multi_turn_base), a world or a folder "
            "of tasks.",
        ),
    ] = None,
    world: WorldsOption = None,
    split: Annotated[
        str | None, typer.Option("--split", help="Split to play. Default for bundled worlds: heldout.")
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option("--family", help="Only this family of the world. May be given several times. Default: all."),
    ] = None,
    samples: Annotated[int, typer.Option("--samples", min=1, help="Episodes per task.")] = 8,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Maximum tasks per cell, spread evenly over families.")
    ] = None,
    axis: Annotated[
        list[str] | None, typer.Option("--axis", help="Axis of the suite ood. May be given several times.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help="Option of the benchmark as NAME=VALUE. May be given several times."),
    ] = None,
    surface: SurfaceOption = None,
    surface_setting: SurfaceSettingOption = None,
    handbook: HandbookOption = 0,
    noise: NoiseOption = None,
    wording: WordingOption = None,
    temper: TemperOption = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes in parallel. Checkpoints use --rows instead.")] = 8,
    seconds: Annotated[
        float | None,
        typer.Option(help="Maximum seconds of agent time per episode. Default: 600; no limit for checkpoints."),
    ] = None,
    tries: Annotated[int, typer.Option(min=1, help="Attempts per episode before it counts as a fault.")] = 2,
    price_in: Annotated[float | None, typer.Option(help="Price of a million prompt tokens. Needs --price-out.")] = None,
    price_out: Annotated[
        float | None, typer.Option(help="Price of a million completion tokens. Needs --price-in.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Output folder for figures, trajectories and the report. A killed evaluation resumes from it."
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Play episodes that ended in a fault again.")] = False,  # noqa: FBT002
    engine: Annotated[
        Literal["native", "vllm"] | None,
        typer.Option(help="Engine that samples tokens. Default: native.", rich_help_panel=_POLICY),
    ] = None,
    vllm_python: Annotated[
        Path | None, typer.Option(help="Python interpreter with vLLM.", rich_help_panel=_POLICY)
    ] = None,
    chat_format: Annotated[
        str | None,
        typer.Option("--format", help="Chat format of a checkpoint that does not name one.", rich_help_panel=_POLICY),
    ] = None,
    context: Annotated[
        int | None, typer.Option(min=1, help="Maximum tokens per episode. Default: 1024.", rich_help_panel=_POLICY)
    ] = None,
    turn: Annotated[
        int | None, typer.Option(min=1, help="Maximum tokens per turn. Default: 72.", rich_help_panel=_POLICY)
    ] = None,
    turns: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum turns per episode. Default: only the task's own limit.", rich_help_panel=_POLICY
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="Episodes per batch; memory grows with it. Default: 128.", rich_help_panel=_POLICY),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Server URL, such as http://127.0.0.1:8000/v1.", rich_help_panel=_ENDPOINT)
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model name on the server.", rich_help_panel=_ENDPOINT)] = None,
    key_variable: Annotated[
        str | None, typer.Option(help="Environment variable with the API key.", rich_help_panel=_ENDPOINT)
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Sampling temperature; 0 takes the likeliest token. Default for checkpoints: 1.",
            rich_help_panel=_ENDPOINT,
        ),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Nucleus sampling threshold, for checkpoints too.", rich_help_panel=_ENDPOINT),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Maximum tokens per reply.", rich_help_panel=_ENDPOINT)
    ] = None,
    request: Annotated[
        list[str] | None,
        typer.Option(help="Extra request field as NAME=VALUE.", rich_help_panel=_ENDPOINT),
    ] = None,
    seed_field: Annotated[
        str | None,
        typer.Option(help='Request field for the seed. Default: "seed"; "" sends no seed.', rich_help_panel=_ENDPOINT),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(help="Maximum seconds per request attempt. Default: 120.", rich_help_panel=_ENDPOINT),
    ] = None,
    request_tries: Annotated[
        int | None, typer.Option(min=1, help="Maximum attempts per request. Default: 6.", rich_help_panel=_ENDPOINT)
    ] = None,
) -> None:
    """Evaluate an agent on a suite and report scores with intervals.

    `--out` names a folder for settings, outcomes, trajectories and the report as JSON and HTML. The same command
    resumes a killed evaluation. It plays no episode twice and loses none.

    Examples: `palaestra eval runs/demo/seed-0/policy-gradient --split dev`, `palaestra eval oracle --suite babyai`,
    `palaestra eval --base-url http://127.0.0.1:8000/v1 --model qwen3 --suite bfcl/multi_turn_base --out runs/bfcl`
    """
    from palaestra.benchmarks.evaluation.agents import AgentOptions, evaluated_agent_of  # noqa: PLC0415  they load worlds
    from palaestra.benchmarks.evaluation.journal import Journal  # noqa: PLC0415
    from palaestra.benchmarks.evaluation.play import PlayOptions, block_of, settings_of  # noqa: PLC0415
    from palaestra.benchmarks.suites import SuiteOptions, suite_of  # noqa: PLC0415

    _check_prices(price_in, price_out)
    how = AgentOptions(
        engine=engine,
        python=vllm_python,
        chat_format=chat_format,
        context=context,
        turn=turn,
        turns=turns,
        rows=rows,
        temperature=temperature,
        top_p=top_p,
        max_tokens=max_tokens,
        base_url=base_url,
        model=model,
        key_variable=key_variable,
        seed_field=seed_field,
        request=parse_named_values("--request", request),
        timeout=timeout,
        request_tries=request_tries,
        concurrency=concurrency,
        seconds=seconds,
        tries=tries,
    )
    parts = SuiteOptions(
        worlds=tuple(world or ()),
        split=split,
        families=tuple(family or ()),
        limit=limit,
        axes=tuple(axis or ()),
        switches=switches(surface, handbook, noise, wording, temper, surface_setting),
        options=parse_named_values("--option", option),
    )
    playing = PlayOptions(concurrency=concurrency, seconds=600.0 if seconds is None else seconds, tries=tries)
    with evaluated_agent_of(agent, how) as evaluated_agent, _folder(out) as folder:
        settings = settings_of(
            evaluated_agent,
            suite_of(suite, parts),
            samples=samples,
            seed=seed,
            seconds=playing.seconds,
            price_in=price_in,
            price_out=price_out,
        )
        with Journal(folder, settings, again=block_of(evaluated_agent) if again else 0) as journal:
            results = _play(evaluated_agent, journal, playing)
            _report(results, None if out is None else folder)
    _check_scored(results)


def _play(evaluated_agent: "EvaluatedAgent", journal: "Journal", options: "PlayOptions") -> "Results":
    """Play the episodes that the journal lacks, with a progress bar."""
    from palaestra.benchmarks.evaluation.play import evaluate as play  # noqa: PLC0415  it loads worlds

    console, suite = output(), journal.settings.suite
    left = journal.settings.samples * sum(len(cell.tasks) for cell in suite.cells) - len(journal.done)
    with bar(f"playing {suite.name}", left) as shown:
        return play(
            evaluated_agent,
            journal,
            options,
            progress=shown.step,
            say=lambda text: console.print(text, style="dim", highlight=False, markup=False),
        )


def _report(results: "Results", folder: Path | None) -> None:
    """Print the summary, and write the report into a folder if one is given."""
    from palaestra.benchmarks.evaluation.report import summary_tables, write_report  # noqa: PLC0415  it loads worlds

    console = output()
    console.print(f"{results.agent} on {results.suite.title}", style="bold", highlight=False, markup=False)
    for table in summary_tables(results):
        console.print(table.for_terminal())
    if folder is not None:
        write_report(results, folder)


def _check_prices(price_in: float | None, price_out: float | None) -> None:
    if (price_in is None) != (price_out is None):
        given, lacking = ("--price-in", "--price-out") if price_out is None else ("--price-out", "--price-in")
        raise ConfigError(f"{given} without {lacking}: a cost is of both; give {lacking} too, 0 where nothing is asked")


def _check_scored(results: "Results") -> None:
    faults = [outcome.fault for outcome in results.outcomes if outcome.fault is not None]
    if len(faults) == len(results.outcomes):
        raise InfrastructureError(
            f"no episode has a score: each of {len(faults)} ended in a fault, the last with: {faults[-1].said}; "
            "see to it and give --again, which plays them again"
        )


@contextmanager
def _folder(out: Path | None) -> Generator[Path]:
    """The output folder, or a temporary one if none is given."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="palaestra-eval-") as directory:
        yield Path(directory)
