"""`palaestra worlds write`: a language model behind a server writes a world, and the proof decides."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.switches import parse_named_values
from palaestra.errors import ConfigError
from palaestra.records import Json

if TYPE_CHECKING:  # it loads worlds
    from palaestra.proof.authoring import AuthoringResult

_ENDPOINT = "Models behind servers"


def write(
    about: Annotated[str, typer.Option("--about", help="The trade, in one sentence.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of drafts. The same command continues from it.")],
    base_url: Annotated[
        str, typer.Option(help="Server URL, such as http://127.0.0.1:8000/v1.", rich_help_panel=_ENDPOINT)
    ],
    model: Annotated[str, typer.Option(help="Model name on the server.", rich_help_panel=_ENDPOINT)],
    rounds: Annotated[int, typer.Option(min=1, help="Maximum drafts of the world and of each extension.")] = 8,
    extend: Annotated[int, typer.Option(min=0, help="Extensions of the proved world.")] = 0,
    requests: Annotated[int, typer.Option(min=1, help="Minimum number of request families.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    seconds: Annotated[int, typer.Option(min=1, help="Maximum processor seconds for the proof of a draft.")] = 300,
    key_variable: Annotated[
        str | None, typer.Option(help="Environment variable with the API key.", rich_help_panel=_ENDPOINT)
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Sampling temperature.", rich_help_panel=_ENDPOINT)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Maximum tokens per reply.", rich_help_panel=_ENDPOINT)
    ] = None,
    request: Annotated[
        list[str] | None, typer.Option(help="Extra request field as NAME=VALUE.", rich_help_panel=_ENDPOINT)
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="Maximum seconds per request attempt.", rich_help_panel=_ENDPOINT)
    ] = 600.0,
    request_tries: Annotated[
        int, typer.Option(min=1, help="Maximum attempts per request.", rich_help_panel=_ENDPOINT)
    ] = 6,
) -> None:
    """Let a language model write a world as a blueprint, and repair it until it is proved.

    `--out` keeps each draft with its reasons, `index.json`, and the proved `world.yaml`. Exits with status 1 if no
    draft is proved. A server failure is an error, never a bad draft.

    Example: `palaestra worlds write --about "A desk that lends costumes to theatres." --base-url
    http://127.0.0.1:8000/v1 --model qwen3 --out runs/costumes`
    """
    try:
        from palaestra.agents.remote import EndpointConfig, RemoteChat, RemoteChatConfig  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is not installed; `pip install 'palaestra[remote]'`") from error
    from palaestra.proof.authoring import AuthoringBrief, LeastSize, ProofLimits, judge_within_limits, write_world  # noqa: PLC0415

    brief = AuthoringBrief(about=about, rounds=rounds, extensions=extend, least=LeastSize(requests=requests), seed=seed)
    limits = ProofLimits(seconds=seconds)
    given = {"temperature": temperature, "max_tokens": max_tokens}
    options: dict[str, Json] = {name: value for name, value in given.items() if value is not None}
    config = RemoteChatConfig(
        endpoint=EndpointConfig(base_url=base_url, key_variable=key_variable, timeout=timeout, tries=request_tries),
        model=model,
        options={**parse_named_values("--request", request), **options},
        keeps_cut_off=True,
    )
    with RemoteChat(config) as chat, bar("writing", None) as shown:
        authored = write_world(
            brief,
            chat,
            out,
            judge=lambda path, least=None: judge_within_limits(path, least, limits),
            progress=lambda draft: shown.step(f"draft {draft.number}: {draft.stage}"),
        )
    _report(authored)


def _report(authored: "AuthoringResult") -> None:
    """Print the drafts and the outcome."""
    console = output()
    for draft in authored.drafts:
        count = len(draft.findings)
        said = draft.summary if not count else f"{count} finding{'s' if count > 1 else ''}: {draft.findings[0]}"
        console.print(f"draft {draft.number}  {draft.stage}  {said}", markup=False, highlight=False)
    if authored.stopped:
        what = "refused" if authored.world is None else "extension refused"
        console.print(f"{what}: {authored.stopped}. What was left wrong:", markup=False, highlight=False)
        for finding in authored.findings:
            console.print(f"  {finding}", markup=False, highlight=False)
    if authored.world is None:
        raise typer.Exit(1)
    console.print(f"proved: {authored.world}", markup=False, highlight=False)
