"""`palaestra play`: a person is the agent."""

from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.markup import escape

from palaestra.cli.switches import (
    HandbookOption,
    NoiseOption,
    SurfaceOption,
    TemperOption,
    WordingOption,
    switches,
)
from palaestra.cli.target import WorldOption, open_task
from palaestra.envs import ToolEnv
from palaestra.errors import ActionError, UnknownNameError
from palaestra.protocols import Action
from palaestra.records import Json, Message
from palaestra.tools import Tool
from palaestra.tools.images import describe_image

HELP = """\
  TOOL name=value ...   call a tool; a value is JSON, or text as it stands
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
    handbook: HandbookOption = 0,
    noise: NoiseOption = None,
    wording: WordingOption = None,
    temper: TemperOption = None,
) -> None:
    """Play a task yourself with the agent's messages and tools, and watch the checklist."""
    env, console = open_task(task, tasks, world, **switches(surface, handbook, noise, wording, temper)), Console()
    observation, _ = env.reset(seed=0)
    _show(console, observation)
    console.print(f"\n[dim]{escape(HELP)}[/]\n", highlight=False)
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


def _take(console: Console, env: ToolEnv, line: str) -> None:
    word, _, rest = line.partition(" ")
    if not line:
        return
    if word == "tools":
        for tool in env.offered:
            if rest.lower() in f"{tool.name} {tool.description}".lower():
                console.print(f"  [bold]{tool.name}[/]  {escape(tool.description)}", highlight=False)
    elif word == "help" and rest:
        console.print_json(orjson.dumps(_named(env, rest.strip()).export()["function"]).decode())
    elif word == "help":
        console.print(HELP, markup=False, highlight=False)
    elif word == "score":
        _checklist(console, env)
    else:
        _step(console, env, line)


def _named(env: ToolEnv, name: str) -> Tool:
    tools = {tool.name: tool for tool in env.offered}
    if name not in tools:
        raise UnknownNameError.of("tool", name, tools)
    return tools[name]


def _step(console: Console, env: ToolEnv, line: str) -> None:
    observation, reward, _, _, _ = env.step(_action(line))
    _show(console, observation)
    if reward:
        console.print(f"[{'green' if reward > 0 else 'red'}]{reward:+.0f} points[/]")


def _action(line: str) -> Action:
    if line.startswith(("{", "[")):
        action: Action = orjson.loads(line)
        return action
    if line.startswith(">"):
        return line[1:].strip()
    tool, *parts = line.split()
    arguments: dict[str, Json] = {}
    name = ""
    for part in parts:
        key, equals, value = part.partition("=")
        if equals and key.isidentifier():
            name = key
            arguments[name] = value
        elif name:
            arguments[name] = f"{arguments[name]} {part}"
        else:
            raise ActionError(f"{part!r} has no name; write name={part}")
    return {"tool": tool, "arguments": {key: _value(str(value)) for key, value in arguments.items()}}


def _value(text: str) -> Json:
    try:
        value: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return value


def _show(console: Console, observation: tuple[Message, ...]) -> None:
    for message in observation:
        console.print(f"\n[dim]{message.get('name', message['role'])}[/]")
        if message["role"] == "tool":
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
