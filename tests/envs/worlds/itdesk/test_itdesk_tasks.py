"""The ITDesk's tasks: oracles on every surface, twins, sections that decide, tools that are used, what scripts win."""

from functools import cache
from itertools import pairwise
from typing import Any

import gymnasium as gym
import orjson
import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import SPLITS, Instance, ToolEnv, call
from palaestra.envs.kit import Section
from palaestra.envs.rule_twin import deciding_rules, is_decided, rule_twin, solves
from palaestra.envs.worlds.itdesk.policy import RULES, DeskRules, write_sections
from palaestra.envs.worlds.itdesk.reasons import REASONS
from palaestra.envs.worlds.itdesk.schema import AccessApproval, StaffMember
from palaestra.records import ToolCall
from palaestra.tools import CONTROL

pytestmark = pytest.mark.xdist_group("itdesk")

FINISH = call("finish")
SECTIONS = {section.id for section in write_sections(DeskRules())}


@cache
def made(surface: str = "conventional") -> ToolEnv:
    switches: dict[str, Any] = {} if surface == "conventional" else {"surface": surface}
    env = gym.make("palaestra/ITDesk-v0", **switches).unwrapped
    assert isinstance(env, ToolEnv)
    return env


@cache
def first_tasks(split: str) -> tuple[str, ...]:
    """The first task of every family of a split."""
    return tuple({task.rpartition("/")[0]: task for task in reversed(made().task_set.ids(split))}.values())


def instances(*splits: str) -> list[Instance]:
    """The first task of every family of these splits."""
    return [made().task_set.instance(task) for split in splits for task in first_tasks(split)]


def points(task: str, calls: list[ToolCall]) -> float:
    env = made()
    env.reset(options={"task": task})
    return rollout(env, oracle(lambda: calls), name="script", seed=0, task=task).score.points


def pairs(split: str) -> list[tuple[Instance, Instance]]:
    """The first pairs of a task and its refusal twin."""
    twins = [task for task in first_tasks(split) if "-twin/" in task]
    tasks = made().task_set
    return [(tasks.instance(twin.replace("-twin/", "/")), tasks.instance(twin)) for twin in twins]


def closing(instance: Instance) -> ToolCall | None:
    """The call of a solution that declines its request or hands it over."""
    names = ("decline_request", "escalate_service_request")
    return next((one for one in instance.oracle if one.tool in names), None)


def test_it_lists_what_was_asked_for() -> None:
    families = made().task_set.families.values()
    assert sum(f.twin_of is None for f in families) >= 30
    assert sum(f.twin_of is not None for f in families) >= 30
    assert sum("dialogue" in f.traits and f.twin_of is None for f in families) >= 5
    assert sum(len(made().task_set.ids(split)) for split in SPLITS) >= 800
    assert {f.name for f in families if f.unseen} == {"offboard", "offboard-twin", "wrong-tag", "wrong-tag-twin"}


@pytest.mark.parametrize("surface", ["conventional", "generic", "pages"])
@pytest.mark.parametrize("split", SPLITS)
def test_the_oracle_gets_every_point(surface: str, split: str) -> None:
    env = made(surface)
    for task in first_tasks(split):
        env.reset(options={"task": task})
        assert rollout(env, oracle(env.oracle), name="oracle", seed=0, task=task).score.passed, task


@pytest.mark.parametrize("split", ["dev", "heldout"])
def test_a_twin_has_the_same_request_and_the_other_answer_is_wrong(split: str) -> None:
    assert len(pairs(split)) >= 33
    for task, twin in pairs(split):
        assert task.messages == twin.messages, twin.spec.id
        assert not solves(task.oracle, twin), twin.spec.id
        assert not solves(twin.oracle, task), twin.spec.id


def test_a_twin_differs_in_few_records() -> None:
    """One deciding record, or the few that make it up; nothing else tells the two apart."""
    for task, twin in pairs("dev"):
        rows = [
            (info.name, key)
            for info in made().world.schema
            for key in {*task.initial_state.keys(info.name), *twin.initial_state.keys(info.name)}
            if task.initial_state.peek(info.kind, key) != twin.initial_state.peek(info.kind, key)
        ]
        assert 1 <= len(rows) <= 3, (twin.spec.id, rows)


def test_every_section_of_the_handbook_refuses_some_request() -> None:
    cited = {str(end.arguments["policy_id"]) for one in instances("dev", "heldout") if (end := closing(one))}
    assert cited == SECTIONS


def test_every_section_has_a_reason_for_people() -> None:
    assert set(REASONS) == SECTIONS - {"LEA-2"}


def test_every_number_of_the_handbook_decides_some_task() -> None:
    """With that rule as the world's own has it, another answer is right."""
    decided: set[str] = set()
    for task in made().task_set.ids("heldout-policy"):
        if len(decided) < len(RULES.changes):
            decided |= set(deciding_rules(made().task_set.instance(task)))
    assert decided == set(RULES.changes)


def test_tasks_under_other_rules_are_decided_by_them() -> None:
    for task in first_tasks("heldout-policy"):
        instance = made().task_set.instance(task)
        assert is_decided(instance, rule_twin(instance)), task


def test_no_tool_is_unused() -> None:
    used = {one.tool for instance in instances("train", "heldout") for one in instance.oracle}
    optional = set(made().world.optional_tools) | {tool.name for tool in CONTROL}
    assert {tool.name for tool in made().world.toolbox} - optional == used - {"reply", "finish"}
    assert len(made().world.toolbox.tools_for("desk")) - len(CONTROL) >= 25
    assert used.isdisjoint(made().world.optional_tools)


def test_blind_scripts_win_nothing() -> None:
    for task in first_tasks("dev"):
        instance = made().task_set.instance(task)
        case = str(instance.oracle[0].arguments["service_request_id"])
        state = instance.initial_state
        approval, person = state.find(AccessApproval)[0], state.find(StaffMember)[0]
        key: dict[str, Any] = {"service_request_id": case}
        grant = [call("resolve_service_request", **key), call("reply", message="Granted as you wished."), FINISH]
        refuse = [
            call("read_handbook", section_id="ACC-1"),
            call("decline_request", **key, policy_id="ACC-1", evidence_id=approval.id),
            call("reply", message="The handbook does not allow that."),
            FINISH,
        ]
        hand_on = [
            call("read_handbook", section_id="ID-1"),
            call(
                "escalate_service_request",
                **key,
                policy_id="ID-1",
                evidence_id=person.id,
                team="security",
                priority="high",
            ),
            call("reply", message="The security team will look into it."),
            FINISH,
        ]
        assert points(task, [FINISH]) <= 0, task
        for script in (grant, refuse, hand_on):
            assert points(task, [call("get_service_request", **key), *script]) <= 5, task


def test_the_first_and_the_last_record_of_a_list_are_not_always_the_right_one() -> None:
    """What a grant cites, among the approvals of the role that the answer lists."""
    places: set[bool] = set()
    for task in [t for t in made().task_set.ids("train") if t.startswith("itdesk/grant-role/")]:
        instance = made().task_set.instance(task)
        [work] = [one for one in instance.oracle if one.tool == "grant_access"]
        listed = instance.initial_state.find(
            AccessApproval, staff_member_id=work.arguments["staff_member_id"], role_id=work.arguments["role_id"]
        )
        assert len(listed) == 2
        places.add(listed[-1].id == work.arguments["approval_id"])
    assert places == {True, False}


def test_reading_alone_wins_no_more_than_look_ups() -> None:
    for task in first_tasks("dev"):
        env = made()
        toolbox, solution = env.world.toolbox, env.task_set.instance(task).oracle
        reads = [one for one in solution if not toolbox[one.tool].writes and one.tool not in ("reply", "finish")]
        assert points(task, [*reads, FINISH]) <= 5, task


def test_tasks_of_one_family_do_not_repeat() -> None:
    for first, second in pairwise(sorted(made().task_set.ids("train"))):
        if first.rpartition("/")[0] == second.rpartition("/")[0]:
            one, other = (made().task_set.instance(task) for task in (first, second))
            assert one.oracle != other.oracle, second


def test_held_out_requests_have_words_of_their_own() -> None:
    def bodies(split: str) -> set[str]:
        contents = [str(one.messages[-1]["content"]) for one in instances(split)]
        return {content.partition("\n\n")[2][:12] for content in contents}

    assert bodies("train").isdisjoint(bodies("heldout"))


def test_the_briefing_lists_the_handbook_and_says_whether_somebody_answers() -> None:
    for instance in instances("dev"):
        briefing = str(instance.messages[0]["content"])
        titles = instance.initial_state.find(Section)
        assert all(f"{section.id} {section.title}" in briefing for section in titles)
        assert ("answers what you send" in briefing) == (instance.user is not None), instance.spec.id


def test_the_release_lists_every_family() -> None:
    release = made().world.release
    assert release is not None
    listed = orjson.loads(release.read_bytes())["families"]
    assert set(listed) == set(made().task_set.families)
