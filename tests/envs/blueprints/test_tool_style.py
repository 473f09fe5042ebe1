"""Styles of tools: each option changes what an agent reads, solutions follow, no text names a tool that is gone."""

import pickle
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import cast

import gymnasium as gym
import orjson
import pytest

import palaestra
from joined.worlds import joined
from palaestra.clock import Clock
from palaestra.envs import ToolEnv, World
from palaestra.envs.blueprints import Blueprint, ToolStyle, check_blueprint, compile_blueprint
from palaestra.envs.blueprints.document import dump_blueprint, read_blueprint
from palaestra.envs.blueprints.tool_style import FIXED, PLAIN, style_options, style_tool_names
from palaestra.envs.state import Overlay
from palaestra.envs.task import call
from palaestra.envs.taskset import bundled_tasks
from palaestra.errors import BlueprintError
from palaestra.proof import prove
from palaestra.records import Row, ToolCall
from palaestra.tools import CallResult, ToolContext

SEED = 1_000
DEFAULTS = {part: getattr(PLAIN, part) for part in style_options()}
OPTIONS = [(part, option) for part, options in style_options().items() for option in options[1:]]
MIXED = ToolStyle(
    case="camel",
    order="noun_verb",
    verbs="show",
    prefix="crm",
    arguments="ref",
    ids="joined",
    dates="day_first",
    amounts="decimal",
    descriptions="annotated",
)
STYLES = [ToolStyle(**{part: option}) for part, option in OPTIONS] + [MIXED]  # type: ignore[arg-type]
EACH = pytest.mark.parametrize("style", STYLES, ids=lambda style: "-".join(_changed(style).values()))


def _changed(style: ToolStyle) -> dict[str, str]:
    return {part: getattr(style, part) for part in DEFAULTS if getattr(style, part) != DEFAULTS[part]}


def _styled(style: ToolStyle) -> Blueprint:
    return replace(joined("clinic"), style=style)


def _world(style: ToolStyle) -> World:
    return compile_blueprint(_styled(style)).world


def _made(world: World, made: ToolCall) -> CallResult:
    state = Overlay(world.base(SEED))
    context = ToolContext(
        state=state,
        clock=Clock(world.start(SEED)),
        role=world.role,
        actor=world.actor,
        ids_in=world.schema.ids_in,
        rules=world.rules(SEED, 0),
    )
    return world.toolbox.call(context, state, "call", made, ())


def _rows(world: World, table: str) -> list[Row]:
    return Overlay(world.base(SEED)).find(world.schema[table].kind)


def _seen(world: World) -> str:
    """What an agent reads before its first call, and what tools answer."""
    exported = orjson.dumps([tool.export() for tool in world.toolbox]).decode()
    row = _rows(world, "invoices")[0]
    name = next(tool for tool in world.toolbox if tool.reads and tool.reads.by and tool.reads.table == "invoices")
    argument = next(iter(name.reads.by)) if name.reads else ""
    return exported + world.briefing(world.start(SEED)) + _made(world, call(name.name, **{argument: row.id})).content


def test_the_plain_style_is_that_of_a_world_without_one() -> None:
    plain, none = _world(PLAIN), compile_blueprint(joined("clinic")).world
    assert [tool.export() for tool in plain.toolbox] == [tool.export() for tool in none.toolbox]
    tasks, others = bundled_tasks(plain), bundled_tasks(none)
    for task in tasks.ids("dev"):
        assert tasks.instance(task).fingerprint() == others.instance(task).fingerprint()


@EACH
def test_every_option_changes_what_an_agent_reads(style: ToolStyle) -> None:
    assert check_blueprint(_styled(style)) == []
    assert _seen(_world(style)) != _seen(_world(PLAIN))


@EACH
def test_solutions_call_tools_that_there_are_with_arguments_that_fit(style: ToolStyle) -> None:
    world = _world(style)
    tasks = bundled_tasks(world)
    for task in tasks.ids("dev"):
        instance = tasks.instance(task)
        for made in [*instance.oracle, *(one for calls in instance.alternatives for one in calls)]:
            assert world.toolbox[made.tool].fits(dict(made.arguments)), made


@EACH
def test_no_text_names_a_tool_that_is_not_there(style: ToolStyle) -> None:
    world = _world(style)
    texts = [world.briefing(world.start(SEED)), *(orjson.dumps(tool.export()).decode() for tool in world.toolbox)]
    texts += [row.json().decode() for row in _rows(world, "handbook")]
    gone = {tool.name for tool in _world(PLAIN).toolbox} - {tool.name for tool in world.toolbox}
    quoted = {name for text in texts for name in re.findall(r"`(\w+)`", text)}
    assert quoted <= {tool.name for tool in world.toolbox}
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    assert not gone & words


@EACH
def test_a_styled_document_reads_as_it_was_written(style: ToolStyle) -> None:
    blueprint = _styled(style)
    assert read_blueprint(dump_blueprint(blueprint))[0] == blueprint


def test_styled_tools_survive_pickling() -> None:
    for tool in _world(MIXED).toolbox:
        assert pickle.loads(pickle.dumps(tool)) is tool


@EACH
def test_days_are_read_as_they_are_written(style: ToolStyle) -> None:
    for day in (date(2026, 1, 2), date(2024, 2, 29), date(1999, 12, 31)):
        assert style.parse_day(style.format_day(day)) == day
    for wrong in ("2026-13-01", "31.02.2026", "1.1.2026", "soon", "", "3 Foo 2026"):
        with pytest.raises(ValueError, match=r"."):
            style.parse_day(wrong)


def test_a_day_in_another_notation_is_refused_under_the_name_of_the_argument() -> None:
    world = _world(MIXED)
    row = _rows(world, "appointments")[0]
    made = call("crmAppointmentMove", appointmentRef=row.id, day="2026-05-31")
    result = _made(world, made)
    assert result.event.error == "invalid_arguments"
    assert "day: '2026-05-31' is no day of the calendar; write it as 31.05.2026" in result.content
    missing = _made(world, call("crmAppointmentMove", day="31.05.2026"))
    assert "appointmentRef: Field required" in missing.content


@pytest.mark.parametrize(("style", "shown"), [("cents", 1250), ("decimal", "12.50"), ("currency", "EUR 12.50")])
def test_amounts_are_shown_as_the_style_says(style: str, shown: object) -> None:
    made = ToolStyle(amounts=style)  # type: ignore[arg-type]
    assert made.format_amount(1250) == shown
    world = _world(made)
    row = _rows(world, "invoices")[0]
    answer = orjson.loads(_made(world, call("get_invoice", invoice_id=row.id)).content)
    assert answer["amount"] == made.format_amount(orjson.loads(row.json())["amount"])


def test_rows_hold_what_they_hold_without_a_style() -> None:
    plain, styled = _world(PLAIN), _world(replace(MIXED, ids="hyphen"))
    assert plain.base(SEED).state_hash() == styled.base(SEED).state_hash()


def test_two_tools_of_one_name_are_refused_with_the_way_out() -> None:
    with pytest.raises(BlueprintError, match="both called show_loan; rename the action"):
        style_tool_names(ToolStyle(verbs="show"), ["get_loan", "show_loan"])
    blueprint = joined("clinic")
    twin = {**blueprint.actions, "show_invoice": blueprint.actions["waive_invoice"]}
    clash = replace(blueprint, style=ToolStyle(verbs="show"), actions=twin)
    assert any("style" in problem.place and "rename the action" in problem.text for problem in check_blueprint(clash))


def test_the_tools_of_every_world_keep_their_names() -> None:
    assert {tool.name for tool in _world(MIXED).toolbox} >= FIXED


OTHERS = (
    MIXED,
    ToolStyle(
        case="pascal",
        verbs="fetch",
        prefix="svc",
        arguments="noun",
        ids="underscore",
        dates="slashes",
        amounts="currency",
        descriptions="terse",
    ),
    ToolStyle(order="noun_verb", verbs="retrieve", prefix="desk", arguments="noun", ids="joined", dates="month_name"),
)


def test_these_styles_have_every_option_but_the_defaults() -> None:
    assert {(part, getattr(style, part)) for style in OTHERS for part in DEFAULTS} >= set(OPTIONS)


@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_tasks_keep_their_proof_in_every_style(number: int, tmp_path: Path) -> None:
    world_id = f"styled-{number}"
    path = tmp_path / f"{world_id}.yaml"
    path.write_text(dump_blueprint(replace(_styled(OTHERS[number]), id=world_id)))
    env = cast("ToolEnv", gym.make(palaestra.register_world(str(path))).unwrapped)
    proof = prove(env, [f"{world_id}/move-a-booking/0000", f"{world_id}/move-a-booking-twin/0000"])
    assert [str(fault) for fault in proof.faults] == []
    assert proof.verdict.tasks == 2


@pytest.mark.parametrize("surface", ["generic", "pages"])
def test_solutions_in_a_style_are_translated_to_other_surfaces(surface: str, tmp_path: Path) -> None:
    world_id = f"styled-on-{surface}"
    path = tmp_path / f"{world_id}.yaml"
    path.write_text(dump_blueprint(replace(_styled(MIXED), id=world_id)))
    env = cast("ToolEnv", gym.make(palaestra.register_world(str(path)), surface=surface).unwrapped)
    for task in (f"{world_id}/move-a-booking/0000", f"{world_id}/waive-a-charge-twin/0000"):
        instance = env.task_set.instance(task)
        env.reset(options={"task": task})
        calls = env.played_surface.translate(instance.oracle, instance.initial_state)
        rewards = [env.step({"tool": made.tool, "arguments": dict(made.arguments)})[1] for made in calls]
        assert sum(rewards) == pytest.approx(100)


def test_a_word_that_belongs_to_a_verb_stays_with_it() -> None:
    assert ToolStyle(order="noun_verb").name("put_back_loan") == "loan_put_back"
    assert ToolStyle(order="noun_verb").name("lend_tool") == "tool_lend"
