"""The proof on pages: holes are found there too, its agents do what they say, and what it shares changes nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.agents import rollout
from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.generated import CONTINUE, SEND
from palaestra.envs.surfaces.pages.session import CLOSE
from palaestra.ids import ids_in
from palaestra.proof import CaseCounts, prove_task
from palaestra.proof.attacks import ATTACKS, run_attack
from palaestra.proof.baselines import FLOORS, IDLE, NEVER, ToolRoles, baselines, floors
from palaestra.proof.directory import IdDirectory
from palaestra.proof.faults import agent_faults, faults_of
from palaestra.proof.page_agents import PAGE_AGENTS
from palaestra.proof.totals import ProofTotals
from palaestra.proof.trial import Trial
from palaestra.records import ToolCall
from palaestra.trajectory import Episode

TASK = "storefront/cancel-order/5000"
HOLE = """
from palaestra.envs.worlds.storefront import Desk, Order, Task, call, closing_calls, expect_call, family, permit_change

@family("storefront/bad", level=1, traits=("refusal",))
def bad(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o))
    ticket = desk.ticket(desk.customer(order), "Moving")
    prompt = desk.mail(ticket, f"Send {order.id} to Ringstr. 4 in Wien.")
    anything = [
        permit_change(order, "ship_street", "ship_city"), permit_change(ticket, "status", "policy_id", "evidence_id")
    ]
    moved = call("update_shipping_address", order_id=order.id, street="Ringstr. 4", city="Wien")
    oracle = [moved, *closing_calls(ticket, "Your order shows it now.")]
"""


def make(**switches: Any) -> ToolEnv:
    given: dict[str, Any] = {"surface": "pages", **switches}
    env = gym.make("palaestra/Storefront-v0", **given).unwrapped
    assert isinstance(env, ToolEnv)
    return env


def hole(tmp_path: Path, rubric: str) -> list[str]:
    """The faults of a task on pages whose rubric is this."""
    (tmp_path / "bad.py").write_text(
        f"{HOLE}    return Task(prompt=prompt, rubric={rubric}, allow=anything, oracle=oracle)\n"
    )
    proof = prove_task(make(tasks=tmp_path), "storefront/bad/0000", varied=False)
    return [str(fault) for fault in faults_of(ProofTotals(tasks=[proof]))]


def play(name: str, *, seed: int = 0, task: str = TASK) -> Episode:
    env = make()
    return rollout(env, baselines(env)[name], name=name, seed=seed, task=task)


def calls_of(episode: Episode) -> list[ToolCall]:
    return [ToolCall(tool=call.tool, arguments=call.arguments) for turn in episode.turns for call in turn.calls]


def clicked_elements(calls: Sequence[ToolCall]) -> list[object]:
    return [call.arguments["element"] for call in calls if call.tool == "click"]


# It can fail


def test_an_agent_of_pages_that_solves_a_task_is_reported(tmp_path: Path) -> None:
    faults = hole(tmp_path, "[expect_call('finish')]")
    assert any("the agent random-clicker solves 1 task(s); a rubric must ask for work" in fault for fault in faults), (
        faults
    )


def test_an_attack_that_a_rubric_lets_pass_is_found_on_pages(tmp_path: Path) -> None:
    faults = hole(tmp_path, "[expect_call('reply')]")
    assert any("the attack looks-busy passes with 100 points" in fault for fault in faults), faults


def test_no_agent_of_pages_may_solve_a_task_or_be_paid_for_nothing() -> None:
    assert set(NEVER) == {*IDLE, *PAGE_AGENTS}
    for name in PAGE_AGENTS:
        solved = {name: CaseCounts(hits=1, of=9, points=100)}
        paid = {name: CaseCounts(hits=0, of=2, points=42)}
        assert [fault.sentence for fault in agent_faults(solved)] == [f"the agent {name} solves 1 task(s)"]
        assert [fault.sentence for fault in agent_faults(paid)] == [
            f"the agent {name} gets 21.0 points on average, more than 20 for nothing"
        ]
    assert not list(agent_faults({"legal-random": CaseCounts(hits=1, of=9, points=100)}))


# The agents


def test_agents_of_pages_are_measured_on_pages_alone() -> None:
    assert floors(make()) == (*FLOORS, *PAGE_AGENTS)
    assert floors(make(surface="conventional")) == FLOORS
    assert set(baselines(make())) - set(baselines(make(surface="conventional"))) == set(PAGE_AGENTS)


@pytest.mark.parametrize("name", PAGE_AGENTS)
def test_an_agent_of_pages_repeats_by_its_seed_and_ends_by_itself(name: str) -> None:
    first, again, other = play(name), play(name), play(name, seed=1)
    assert calls_of(first) == calls_of(again) != calls_of(other)
    assert (first.end, first.score.passed) == ("finished", False)


def test_submit_everything_sends_a_form_of_every_action_on_offer() -> None:
    env, episode = make(), play("submit-everything")
    env.reset(options={"task": TASK})
    actions = env.toolbox.actions
    assert actions is not None
    offered = {tool.name for tool in actions.tools_for(env.world.role)} - {"query"}
    sent = {event.tool for turn in episode.turns for event in turn.events if event.call_id.endswith(".1")}
    assert sent - {"query"} == offered
    assert {CONTINUE, SEND, CLOSE} <= set(clicked_elements(calls_of(episode)))


def test_confirm_everything_leaves_no_review_and_no_dialog_behind() -> None:
    sent, asked = set[str](), 0
    for seed in range(6):
        episode = play("confirm-everything", seed=seed)
        calls = calls_of(episode)
        sent |= {event.tool for turn in episode.turns for event in turn.events if event.call_id.endswith(".1")}
        for place, call in enumerate(calls[:-1]):
            if call.arguments.get("element") == CONTINUE:
                asked += 1
                assert calls[place + 1].arguments.get("element") in (SEND, CLOSE), calls[place : place + 2]
    assert asked
    assert sent > {"query"}


def test_what_agents_of_pages_type_was_shown_before() -> None:
    episode = play("submit-everything")
    shown = "\n".join(message["content"] for message in episode.segments[0].prompt)
    for turn in episode.turns:
        for call in turn.calls:
            text = call.arguments.get("text")
            if call.tool == "fill" and isinstance(text, str):
                assert all(word in shown for word in text.split()), text
        shown += "\n".join(message["content"] for message in turn.observation)


# What is shared


@pytest.mark.parametrize("surface", ["pages", "conventional"])
def test_attacks_that_share_a_trial_come_to_what_each_comes_to_alone(surface: str) -> None:
    env = make(surface=surface)
    shared = Trial(env, TASK)
    for attack in ATTACKS.values():
        assert run_attack(shared, attack) == run_attack(Trial(make(surface=surface), TASK), attack), attack.name


def test_a_trial_stands_where_it_was_although_another_moved_the_environment() -> None:
    env = make()
    trial = Trial(env, TASK)
    attack = ATTACKS["reads-everything"]
    before = run_attack(trial, attack)
    Trial(env, "storefront/cancel-order/5001")
    assert run_attack(trial, attack) == before


@given(
    st.lists(
        st.sampled_from(["ORD-1", "ORD-1.", "(CUS-2)", "x/ORD-1", "ORD-1-9", "a@b.c", "\n", " ", "\u2003", "no", "7"])
    )
)
def test_ids_read_word_by_word_are_those_of_the_whole_text(parts: list[str]) -> None:
    text = "".join(parts)
    directory = _directory()
    assert directory.find_ids(text) == ids_in(text, lambda word: directory.table_of(word) is not None)


def _directory() -> IdDirectory:
    if not _KEPT:
        env = make()
        env.reset(options={"task": TASK})
        _KEPT.append(IdDirectory(env.instance.world, env.instance.initial_state))
    return _KEPT[0]


_KEPT: list[IdDirectory] = []


def test_a_call_of_an_action_that_is_closed_to_the_role_is_refused_on_pages_and_does_not_crash() -> None:
    env = make()
    env.reset(options={"task": TASK})
    actions = env.toolbox.actions
    assert actions is not None
    [closed, *_] = sorted(tool.name for tool in actions if tool not in actions.tools_for(env.world.role))
    said = env.played_surface.translate([ToolCall(tool=closed, arguments={})], env.instance.initial_state)
    assert [call.tool for call in said] == ["goto", "click"]
    for call in said:
        record = env.step({"tool": call.tool, "arguments": dict(call.arguments)})[4]["record"]
        assert [event.error for event in record.events][-1] is not None
        assert not record.changes


def test_a_look_up_on_pages_is_one_action_of_several_calls() -> None:
    env = make()
    env.reset(options={"task": TASK})
    call = ToolCall(tool="read_handbook", arguments={"section_id": "SHP-1"})
    said = env.played_surface.translate([call], env.instance.initial_state)
    steps = [{"tool": step.tool, "arguments": dict(step.arguments)} for step in said]
    assert steps in ToolRoles(env).lookups("See SHP-1.")
