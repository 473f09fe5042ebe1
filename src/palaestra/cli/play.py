"""`palaestra play`: play a task as a person."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, cast

import orjson
import typer
from rich.console import Console
from rich.markup import escape

from palaestra.cli.switches import (
    HandbookOption,
    NoiseOption,
    SurfaceOption,
    SurfaceSettingOption,
    TemperOption,
    WordingOption,
    switches,
)
from palaestra.cli.target import WorldOption, open_task
from palaestra.durable import write_file
from palaestra.envs import ToolEnv
from palaestra.errors import ActionError, ConfigError, UnknownNameError
from palaestra.protocols import Action
from palaestra.records import Json, Message
from palaestra.tools import Tool
from palaestra.tools.images import describe_image
from palaestra.trajectory import dump_episode

_HELP = """\
  TOOL name=value ...   call a tool; a value is JSON, or text as it stands
  TOOL value ...        the same, without names in the order of its arguments{example}
  TOOL {"name": ...}    the same, with the arguments as a JSON object
  {"tool": ..., ...}    the same as JSON; a list makes several calls in one turn
  > some text           say something to the user
  tools [WORDS]         list the tools, those whose name or description has WORDS
  help TOOL             show what a tool takes
  score                 show the checklist
  quit                  stop"""


def play(
    task: Annotated[str, typer.Argument(help="Task id, such as storefront/cancel-order/0000.")],
    tasks: Annotated[str | None, typer.Option("--tasks", help="Folder of task files that defines the task.")] = None,
    world: WorldOption = None,
    surface: SurfaceOption = None,
    surface_setting: SurfaceSettingOption = None,
    handbook: HandbookOption = 0,
    noise: NoiseOption = None,
    wording: WordingOption = None,
    temper: TemperOption = None,
    browser: Annotated[  # noqa: FBT002
        bool, typer.Option("--browser", help="Serve the pages to your own browser, on this machine alone.")
    ] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port for --browser. 0: a free one.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="With --browser: write the trajectory to this file as JSON lines.")
    ] = None,
) -> None:
    """Play a task yourself with the agent's messages and tools, and watch the checklist.

    With --surface pages the tools are those of a browser. With --browser as well, the pages open in your own browser,
    and what you do there is recorded as a trajectory, replayed, and judged.

    Examples: `palaestra play storefront/cancel-order/0000`,
    `palaestra play storefront/cancel-order/0000 --surface pages --browser --out mine.jsonl`
    """
    env, console = (
        open_task(task, tasks, world, **switches(surface, handbook, noise, wording, temper, surface_setting)),
        Console(),
    )
    if browser:
        _serve(console, env, task, port=port, out=out)
        return
    if port or out is not None:
        raise ConfigError("--port and --out are of --browser; add it, or leave them out")
    observation, _ = env.reset(seed=0)
    _show(console, observation)
    console.print(f"\n[dim]{escape(_help_text(env.offered_tools))}[/]\n", highlight=False)
    while env.end is None:
        try:
            line = console.input("[bold]you>[/] ").strip()
        except EOFError:
            break
        if line == "quit":
            break
        try:
            _take(console, env, line)
        except (ActionError, UnknownNameError, orjson.JSONDecodeError) as error:
            console.print(f"cannot do that: {error}", style="red", markup=False)
    score = env.score()
    console.print(
        f"{score.points} of {score.total} points; {'solved' if score.passed else 'not solved'} ({env.end or 'left'})"
    )


def _serve(console: Console, env: ToolEnv, task: str, *, port: int, out: Path | None) -> None:
    """Let a person play in their browser until the episode ends or they interrupt."""
    try:
        from palaestra.benchmarks.pages import HandPlay, judge_by_replay, serve_hand_play  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{error.name} is not installed, and pages in a browser need it; `pip install 'palaestra[web]'`"
        ) from error
    hand = HandPlay(env, task)
    try:
        server = serve_hand_play(hand, port=port)
    except OSError as error:
        raise ConfigError(f"--port {port}: {error.strerror}; choose another, or leave it out for a free one") from error
    console.print(f"open http://127.0.0.1:{server.server_port}/ and do the task there; Ctrl-C ends it", highlight=False)
    with server, suppress(KeyboardInterrupt):
        while not hand.over:
            server.handle_request()
    episode = hand.episode()
    for line in judge_by_replay(env, episode):
        console.print(line, markup=False, highlight=False)
    if out is not None:
        write_file(out, dump_episode(episode) + b"\n")
        console.print(f"the trajectory: {out}", highlight=False)


def _help_text(tools: Iterable[Tool]) -> str:
    """The possible inputs, with an example call of an offered tool and placeholders for values."""
    takers = ((tool.name, [*_arguments(tool)][:2]) for tool in tools)
    shown = next((f": {name} {' '.join(map(str.upper, own))}" for name, own in takers if own), "")
    return _HELP.replace("{example}", shown)


def _take(console: Console, env: ToolEnv, line: str) -> None:
    word, _, rest = line.partition(" ")
    if not line:
        return
    if word == "tools":
        for tool in env.offered_tools:
            if rest.lower() in f"{tool.name} {tool.description}".lower():
                console.print(f"  [bold]{tool.name}[/]  {escape(tool.description)}", highlight=False)
    elif word == "help" and rest:
        console.print_json(orjson.dumps(_name(env, rest.strip()).export()["function"]).decode())
    elif word == "help":
        console.print(_help_text(env.offered_tools), markup=False, highlight=False)
    elif word == "score":
        _checklist(console, env)
    else:
        _step(console, env, line)


def _name(env: ToolEnv, name: str) -> Tool:
    tools = {tool.name: tool for tool in env.offered_tools}
    if name not in tools:
        raise UnknownNameError.of("tool", name, tools)
    return tools[name]


def _step(console: Console, env: ToolEnv, line: str) -> None:
    observation, reward, _, _, _ = env.step(
        _action(line, {tool.name: list(_arguments(tool)) for tool in env.offered_tools})
    )
    _show(console, observation)
    if reward:
        console.print(f"[{'green' if reward > 0 else 'red'}]{reward:+.0f} points[/]")


def _arguments(tool: Tool) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", tool.parameters["properties"])


def _action(line: str, names: Mapping[str, Sequence[str]]) -> Action:
    """Parse a line.

    Args:
        line: The line, without spaces at its ends.
        names: The names of each tool's arguments, for values without a name.
    """
    if line.startswith(("{", "[")):
        action: Action = orjson.loads(line)
        return action
    if line.startswith(">"):
        return line[1:].strip()
    tool, *parts = line.split()
    if tool not in names:
        raise UnknownNameError.of("tool", tool, names, "(`tools` lists them, `help` shows what to write)")
    if line.removeprefix(tool).lstrip().startswith("{"):
        return {"tool": tool, "arguments": _read_object(tool, line.removeprefix(tool))}
    known = names[tool]
    arguments: dict[str, str] = {}
    left = list(known)
    name = ""
    for part in parts:
        key, equals, value = part.partition("=")
        if equals and key.isidentifier() and (key in known or not name):
            name, left = key, []  # a word without a name continues the last named value
            arguments[name] = value
        elif left:
            name = left.pop(0)
            arguments[name] = part
        elif name:
            arguments[name] = f"{arguments[name]} {part}"
        else:
            raise ActionError(f"{part!r} has no name; write name={part}")
    return {"tool": tool, "arguments": {key: _value(value) for key, value in arguments.items()}}


def _read_object(tool: str, text: str) -> Json:
    """The arguments of a call as one JSON object."""
    try:
        read: Json = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ActionError(
            f"the arguments of {tool} are no JSON object: {error}; "
            f'write {tool} {{"name": "value"}} or {tool} name=value'
        ) from error
    return read


def _value(text: str) -> Json:
    try:
        value: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return value


def _show(console: Console, observation: tuple[Message, ...]) -> None:
    for message in observation:
        console.print(f"\n[dim]{message.get('name', message['role'])}[/]")
        if message["role"] == "tool" and message["content"].startswith(("{", "[", '"')):
            console.print_json(message["content"])
        else:
            console.print(message["content"], markup=False, highlight=False)
        for url in message.get("images", ()):
            console.print(f"[dim]({describe_image(url)})[/]")


def _checklist(console: Console, env: ToolEnv) -> None:
    counting = env.counting
    for criterion in env.instance.rubric.specs:
        mark = "[green]x[/]" if criterion.kind == "expect" else "[red]![/]"
        sign = "+" if criterion.kind == "expect" else "-"
        console.print(
            f"  \\[{mark if criterion.id in counting else ' '}] {sign}{criterion.points:<3} {escape(criterion.text)}",
            highlight=False,
        )
