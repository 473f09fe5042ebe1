"""Tasks of a request are drawn about rows that can be granted, whatever else the request states."""

from dataclasses import replace
from typing import Any

import pytest

from palaestra.envs.blueprints import ParameterSpec, compile_blueprint
from palaestra.envs.task import Split
from palaestra.envs.taskset import bundled_tasks
from worlds.tool_library import blueprint


@pytest.mark.parametrize(
    "stated",
    [
        {"wanted": ParameterSpec(type="ref tool", where="wanted != loan.tool")},
        {"wanted": ParameterSpec(type="ref tool"), "also": ParameterSpec(type="ref tool", where="also != wanted")},
    ],
    ids=["one", "two"],
)
def test_a_request_that_states_rows_is_about_a_row_that_can_be_granted(stated: dict[str, ParameterSpec]) -> None:
    whole = blueprint()
    request = whole.requests["extend-loan"]
    says = tuple(f"{text} I also think about {{wanted.id}}." for text in request.says)
    # The last refusal of the three reads what is stated.
    condition = f"{request.refusals[-1].when} or wanted.state == 'worn'"
    refusals = (*request.refusals[:-1], replace(request.refusals[-1], when=condition))
    asked = replace(request, states=stated, says=says, says_heldout=(), refusals=refusals)
    entities = {**whole.entities, "tool": replace(whole.entities["tool"], count=6)}
    instances: dict[Split, int] = {"train": 20, "dev": 1, "heldout": 1}
    changed = replace(whole, entities=entities, requests={"extend-loan": asked}, instances=instances)
    tasks = bundled_tasks(compile_blueprint(changed).world)
    ends = {task: _closing(tasks.instance(task)) for task in tasks.candidates("train")}
    assert {end for task, end in ends.items() if "twin" not in task} == {"resolve_request"}
    assert {end for task, end in ends.items() if "twin" in task} == {"decline_request"}


def _closing(instance: Any) -> str:
    """The tool that closes the case in a solution."""
    return next(str(call.tool) for call in instance.oracle if call.tool in {"resolve_request", "decline_request"})
