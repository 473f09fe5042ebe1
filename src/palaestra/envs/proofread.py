"""Reading what an author wrote before anything is made of it: each mistake is told with its rule and the way out."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, cast

from palaestra.envs.state import Schema
from palaestra.envs.task import Draft, Family, Task
from palaestra.envs.world import World
from palaestra.errors import TaskError, ToolRefusal, UnknownNameError
from palaestra.records import ToolCall
from palaestra.rubrics import Allowance, Criterion

_END = "finish"
_UNKNOWN_COLUMN = re.compile(r"(?P<kind>\w+)\.__init__\(\) got an unexpected keyword argument '(?P<name>\w+)'")


def proofread(world: World, task: object) -> Task:
    """The task that a family's function returned.

    Raises:
        TaskError: it is no task, or a part of it is not of the kind that it must be, or could not be played.
    """
    if not isinstance(task, Task):
        raise TaskError(f"the family's function gives {_show(task)} and no task; end it with `return Task(...)`")
    _check_prompt(task.prompt)
    _check_parts(
        "rubric",
        task.rubric or (),
        Criterion,
        "criteria, as `expect_read(...)` and `*desk.expect_resolved(...)` give them",
    )
    _check_parts("allow", task.allow, Allowance, "allowances, as `permit_change(...)` and `*desk.pays(...)` give them")
    _check_calls(world, "oracle", task.oracle)
    for number, calls in enumerate(task.alternatives, 1):
        _check_calls(world, f"alternative {number}", calls)
    if task.max_turns < len(task.oracle):
        raise TaskError(f"max_turns: {task.max_turns} is less than the oracle's {len(task.oracle)} calls; allow more")
    _check_names(world, task)
    return task


def _check_prompt(prompt: object) -> None:
    if not isinstance(prompt, str):
        raise TaskError(f"prompt: {_show(prompt)} is no text; write what the user says, as `desk.mail(...)` gives it")


def _check_parts(name: str, parts: object, kind: type[Any], wanted: str) -> None:
    """Raise where `parts` is no list of `kind`."""
    if isinstance(parts, (str, bytes)) or not isinstance(parts, Iterable):
        raise TaskError(f"{name}: {_show(parts)} is no list; write a list of {wanted}")
    for part in cast("Iterable[object]", parts):
        if isinstance(part, (list, tuple)):
            raise TaskError(f"{name}: holds a list in the list; write a * before what gives several {wanted}")
        if not isinstance(part, kind):
            raise TaskError(f"{name}: holds {_show(part)}; write a list of {wanted}")


def _check_calls(world: World, name: str, calls: Sequence[ToolCall]) -> None:
    """Raise where an author's own calls could not be made."""
    _check_parts(name, calls, ToolCall, "calls, as `call(...)` and `*closing_calls(...)` give them")
    offered = {tool.name: tool for tool in world.toolbox.tools_for(world.role)}
    for call in calls:
        if call.tool not in offered:
            raise TaskError(f"{name}: {UnknownNameError.of('tool', call.tool, offered)}")
        try:
            offered[call.tool].validate(call.arguments)
        except ToolRefusal as refusal:
            raise TaskError(f"{name}: {call.tool}: {refusal.message}") from None
    if calls and _END in offered and all(call.tool != _END for call in calls):
        raise TaskError(f"{name}: does not finish; end it with call({_END!r})")


def _check_names(world: World, task: Task) -> None:
    """Raise where a criterion waits for a tool that the world lacks, or an allowance names no column."""
    tools = [tool.name for tool in world.toolbox]
    for criterion in task.rubric or ():
        for tool in sorted(criterion.tools or ()):
            if tool not in tools:
                raise TaskError(f"rubric: criterion {criterion.id!r}: {UnknownNameError.of('tool', tool, tools)}")
    expected = (allowance for criterion in task.rubric or () for allowance in criterion.allows)
    for name, allowances in (("rubric", expected), ("allow", task.allow)):
        for allowance in allowances:
            columns = [field.name for field in fields(world.schema[allowance.table].kind)]
            for column in (*sorted(allowance.columns), *(column for column, _ in allowance.values)):
                if column not in columns:
                    raise TaskError(f"{name}: {allowance.table}: {UnknownNameError.of('column', column, columns)}")


def _show(value: object) -> str:
    """A value in a message: short, and with its kind where that says more."""
    text = repr(value)
    return text if len(text) <= 60 else f"{type(value).__name__} {text[:50]}..."


def describe_error(error: Exception, schema: Schema) -> str:
    """An exception of an author's own code in words, with near names where it is about a name."""
    return f"{type(error).__name__}: {error}{_near(error, schema)}"


def _near(error: Exception, schema: Schema) -> str:
    if isinstance(error, AttributeError) and error.name is not None:
        known = [name for name in dir(error.obj) if not name.startswith("_")]
        near = get_close_matches(error.name, known, n=3, cutoff=0.5)
    elif isinstance(error, NameError) and error.name is not None:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        frame = trace.tb_frame if trace is not None else None
        near = get_close_matches(error.name, [*frame.f_locals, *frame.f_globals] if frame else [], n=3, cutoff=0.5)
    elif isinstance(error, TypeError) and (told := _UNKNOWN_COLUMN.search(str(error))):
        kinds = [info.kind for info in schema if info.kind.__name__ == told["kind"]]
        near = get_close_matches(told["name"], [field.name for kind in kinds for field in fields(kind)], cutoff=0.5)
    else:
        return ""
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def line_of(error: BaseException, family: "Family[Draft]") -> str:
    """The line of the task's own file at which `error` arose, else that of its family, or its place in a document."""
    file = family.make.__code__.co_filename
    if not family.source.startswith(file):  # it is compiled: whose code makes it is no place that its author knows
        return family.source
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{file}:{line}" if line else family.source
