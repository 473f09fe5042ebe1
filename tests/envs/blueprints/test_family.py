"""Tasks of a request are drawn about rows that can be granted, whatever else the request states."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import palaestra
from palaestra.envs import ToolEnv
from palaestra.envs.blueprints import Blueprint, ParameterSpec, compile_blueprint, dump_blueprint
from palaestra.envs.task import Split
from palaestra.envs.taskset import bundled_tasks
from palaestra.proof import prove
from worlds.tool_library import blueprint, compiled


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


def _env(whole: Blueprint, folder: Path) -> ToolEnv:
    path = folder / "changed.yaml"
    path.write_text(dump_blueprint(whole), encoding="utf-8")
    made: Any = gym.make(palaestra.register_world(path)).unwrapped
    assert isinstance(made, ToolEnv)
    return made


def _closing(instance: Any) -> str:
    """The tool that closes the case in a solution."""
    return next(str(call.tool) for call in instance.oracle if call.tool in {"resolve_request", "decline_request"})


def test_a_refusal_reads_the_row_that_it_shows_where_its_condition_has_not(tmp_path: Path) -> None:
    whole = blueprint()
    request = whole.requests["extend-loan"]
    # The first half decides, so the condition never comes to the tool.
    refusal = replace(
        request.refusals[0],
        when="loan.extensions >= rules.most_extensions or loan.tool.daily_fee > 100000",
        shows="loan.tool",
    )
    changed = replace(request, refusals=(refusal, *request.refusals[1:]))
    env = _env(replace(whole, id="other-library", requests={**whole.requests, "extend-loan": changed}), tmp_path)
    twin = env.task_set.instance("other-library/extend-loan-twin/0000")
    tools = [call.tool for call in twin.oracle]
    assert "decline_request" in tools
    assert "get_tool" in tools[: tools.index("decline_request")]
    assert not prove(env, [twin.spec.id]).faults


def test_the_reply_of_a_refusal_names_the_row_that_shows_it(tmp_path: Path) -> None:
    whole = blueprint()
    request = whole.requests["extend-loan"]
    refusal = replace(request.refusals[0], shows="loan.tool", tells="I am sorry, {shown.id} cannot be kept longer.")
    changed = replace(request, refusals=(refusal, *request.refusals[1:]))
    env = _env(replace(whole, id="naming-library", requests={**whole.requests, "extend-loan": changed}), tmp_path)
    twin = env.task_set.instance("naming-library/extend-loan-twin/0000")
    shown = next(call for call in twin.oracle if call.tool == "decline_request").arguments["evidence_id"]
    reply = [call for call in twin.oracle if call.tool == "reply"][-1]
    assert reply.arguments["message"] == f"I am sorry, {shown} cannot be kept longer."
    assert not prove(env, [twin.spec.id]).faults


def test_a_refusal_looks_up_no_row_again_that_its_condition_has_read() -> None:
    tools = [call.tool for call in bundled_tasks(compiled().world).instance("tool-library/worn-tool-twin/0000").oracle]
    assert tools.count("get_tool") == 1
