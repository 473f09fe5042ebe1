"""Pages measured: what is compared, going on after an interruption, repeated episodes, recurring states, tables."""

from dataclasses import replace
from pathlib import Path
from shutil import which

import gymnasium as gym
import pytest
from typer.testing import CliRunner

from palaestra import register_world
from palaestra.agents import EpisodeRecorder
from palaestra.benchmarks.pages import (
    AnchorCell,
    NoisyOracle,
    OraclesOnPages,
    ParityItem,
    ParityResult,
    RepeatedEpisode,
    anchor_cells,
    anchors_panels,
    anchors_table,
    count_anchors,
    determinism_table,
    measure_anchors,
    measure_digests,
    measure_parity,
    measure_pictures,
    oracles_table,
    parity_items,
    parity_tables,
    play_oracles,
    unequal_episodes,
)
from palaestra.benchmarks.pages.parity import LOOKS, RUN, list_routes
from palaestra.cli.app import app
from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.disturbances import KINDS
from palaestra.envs.surfaces.pages.variation import FAMILIES
from palaestra.trainers.data import columns
from palaestra.trajectory import Episode

CHROMIUM = which("chromium") or "/usr/bin/chromium"
WORLDS = ("palaestra/Storefront-v0", "palaestra/Shop-v0")
GENERATED = ("palaestra/Insurer-v0", "palaestra/ITDesk-v0")
"""Worlds without a page made by hand."""


def make_env(world: str = WORLDS[0], **switches: str) -> ToolEnv:
    env = gym.make(world, **switches)  # type: ignore[arg-type]
    assert isinstance(env, ToolEnv)
    return env


# both renderers


def test_random_actions_come_under_every_look_in_every_world_and_solutions_of_every_family_and_split() -> None:
    envs = [make_env(world, surface="pages") for world in WORLDS]
    items = parity_items(envs, random_actions=10_000)
    runs = [item for item in items if item.run is not None]
    assert len(runs) * RUN == 10_000
    assert {item.variation for item in runs} >= set(FAMILIES)
    assert {item.disturbance for item in runs} >= set(KINDS)
    assert {(item.env_id, item.look) for item in runs} == {
        (world, ParityItem(env_id=world, task="", variation=look[0], disturbance=look[1]).look)
        for world in WORLDS
        for look in LOOKS
    }
    for env in envs:
        oracles = [item.task for item in items if item.run is None and item.env_id == env.env_id]
        assert len(set(oracles)) == len(oracles)
        by_split = {split: set(env.task_set.ids(split)) for split in env.task_set.splits}
        for tasks in by_split.values():
            families = {task.rpartition("/")[0] for task in tasks}
            assert families == {task.rpartition("/")[0] for task in tasks & set(oracles)}


@pytest.mark.parametrize("world", [*WORLDS, *GENERATED])
def test_routes_are_all_tables_rows_and_forms(world: str) -> None:
    env = make_env(world, surface="pages")
    env.reset(seed=0)
    routes = list_routes(env)
    assert {f"/{info.name}" for info in env.world.schema} <= set(routes)
    assert sum(route.startswith("/do/") for route in routes) >= 16
    for url in routes:
        events = env.step({"tool": "goto", "arguments": {"url": url}})[4]["record"].events
        assert events[-1].error is None, url


@pytest.mark.parametrize("world", GENERATED)
def test_both_renderers_show_a_generated_site_alike(world: str, tmp_path: Path) -> None:
    item = ParityItem(env_id=world, task=make_env(world).task_set.ids("dev")[0], variation="cards", disturbance="chat")
    [one] = measure_parity([item], program=CHROMIUM, log=tmp_path / "parity.jsonl")
    assert sum(one.steps.values()) > 10
    assert (one.equal, one.differences) == (one.steps, ())


def test_what_a_log_holds_is_not_played_again(tmp_path: Path) -> None:
    items = [
        ParityItem(env_id=WORLDS[0], task="storefront/cancel-order/5000"),
        ParityItem(
            env_id=WORLDS[1], task=make_env(WORLDS[1]).task_set.ids("dev")[0], variation="cards", disturbance="chat"
        ),
    ]
    log = tmp_path / "parity.jsonl"
    first = measure_parity(items, program=CHROMIUM, log=log)
    for one in first:
        assert sum(one.steps.values()) > 5
        assert (one.equal, one.differences) == (one.steps, ())
    told: list[str] = []
    again = measure_parity(items, program="/nowhere", log=log, step=told.append)
    assert again == first
    assert told == [item.task for item in items]


def test_a_difference_is_counted_and_told() -> None:
    item = ParityItem(env_id=WORLDS[0], task="t")
    by_action, by_look, by_route = parity_tables(
        [
            ParityResult(item=item, steps={"/orders click": 3}, equal={"/orders click": 2}, differences=("click",)),
            ParityResult(
                item=replace(item, variation="3", disturbance="slow"),
                steps={"/orders/* goto": 1, "/do/pay/review click": 1, "/ goto": 1, "/do/pay fill": 1},
                equal={"/orders/* goto": 1, "/do/pay/review click": 1, "/ goto": 1, "/do/pay fill": 1},
                differences=(),
            ),
        ]
    )
    assert by_action.rows == (
        ("form", "fill", "1", "1", "100.00"), ("home", "goto", "1", "1", "100.00"),
        ("list", "click", "3", "2", "66.67"),
        ("review", "click", "1", "1", "100.00"), ("row", "goto", "1", "1", "100.00"), ("all", "", "7", "6", "85.71"),
    )  # fmt: skip
    assert by_look.rows[:2] == (
        ("Storefront-v0", "plain", "3", "2", "66.67"),
        ("Storefront-v0", "seed 3 and slow disturbance", "4", "4", "100.00"),
    )
    assert ("Storefront-v0", "/orders", "3", "2", "66.67") in by_route.rows


def test_the_command_prints_the_tables(tmp_path: Path) -> None:
    given = ["--limit", "1", "--actions", "0", "--out", str(tmp_path), "--chromium", CHROMIUM]
    told = CliRunner().invoke(app, ["bench", "pages", "--world", WORLDS[1], *given])
    assert told.exit_code == 0, told.output
    for said in ("every point", "Episodes that come out alike", "Steps that are equal in Chromium"):
        assert said in told.output


# repeated episodes


def test_episodes_come_out_alike_in_fresh_processes_and_browsers_and_are_not_played_again(tmp_path: Path) -> None:
    log = tmp_path / "again.jsonl"
    told: list[int] = []
    played = measure_digests([WORLDS[1]], episodes=6, processes=2, log=log, step=lambda _, count: told.append(count))
    assert sum(told) == 12
    pictures = measure_pictures([WORLDS[1]], episodes=1, program=CHROMIUM, log=log)
    assert unequal_episodes([*played, *pictures]) == []
    assert len({one.digest for one in played}) == 6
    assert all(one.steps >= 1 for one in [*played, *pictures])
    lines = log.read_bytes()
    assert measure_digests([WORLDS[1]], episodes=6, processes=2, log=log) == played
    assert measure_pictures([WORLDS[1]], episodes=1, program="/nowhere", log=log) == pictures
    assert log.read_bytes() == lines


def test_a_fresh_process_knows_a_world_that_a_folder_holds(tmp_path: Path) -> None:
    env_id = register_world(Path(__file__).parents[2] / "examples" / "worlds" / "human_resources")
    (played,) = measure_digests([env_id], episodes=1, processes=1, log=tmp_path / "again.jsonl")
    assert played.env_id == env_id
    assert played.steps >= 1


def test_an_episode_that_comes_out_differently_is_named_and_not_counted() -> None:
    one = RepeatedEpisode(renderer="process", copy=0, env_id=WORLDS[0], number=0, steps=3, digest="a")
    played = [one, replace(one, copy=1), replace(one, number=1), replace(one, copy=1, number=1, digest="b")]
    assert unequal_episodes(played) == ["process: episode 1 came out in 2 ways"]
    assert determinism_table(played).rows == (("in process: digests and observations", "2", "2", "12", "1"),)


# recurring states


def play_agents(agent_seeds: range, surface: str = "pages") -> list[Episode]:
    env = make_env(surface=surface)
    episodes: list[Episode] = []
    for seed in agent_seeds:
        agent, recorder = NoisyOracle(env), EpisodeRecorder(env, agent="a", seed=0, task="storefront/cancel-order/5000")
        agent.reset((), seed=seed)
        while not recorder.over:
            recorder.step(agent.act(()))
        episodes.append(recorder.episode())
    return episodes


CELL = AnchorCell(env_id=WORLDS[0], surface="pages", policy="noisy oracle", task="storefront/cancel-order/5000")


def test_states_are_counted_as_gigpo_compares_them() -> None:
    episodes = play_agents(range(3))
    keys = [columns._anchors(one, list(one.turns)) for one in episodes]
    shared = sum(any(key in other for other in keys if other is not own) for own in keys for key in own)
    group = count_anchors(CELL, episodes)
    assert (group.turns, group.shared) == (sum(map(len, keys)), shared)
    assert (group.later_turns, group.later_shared) == (group.turns - 3, shared - 3)


def test_an_episode_alone_shares_no_state_and_equal_ones_share_all() -> None:
    (episode,) = play_agents(range(1))
    alone, twice = count_anchors(CELL, [episode]), count_anchors(CELL, [episode, episode])
    assert (alone.shared, alone.later_shared) == (0, 0)
    assert (twice.shared, twice.later_shared) == (twice.turns, twice.later_turns)


def test_groups_are_measured_once_for_each_surface_and_policy(tmp_path: Path) -> None:
    cells = anchor_cells([WORLDS[1]], groups=1)
    assert {(cell.surface, cell.policy) for cell in cells} == {
        (surface, policy) for surface in ("conventional", "generic", "pages") for policy in ("random", "noisy oracle")
    }
    log = tmp_path / "anchors.jsonl"
    groups = measure_anchors(cells, log=log)
    assert all(0 <= one.later_shared <= one.later_turns < one.turns for one in groups)
    lines = log.read_bytes()
    assert measure_anchors(cells, log=log) == groups
    assert log.read_bytes() == lines
    assert len(anchors_table(groups).rows) == len(cells)
    assert len(anchors_panels(groups)) == 2


def test_the_command_of_recurring_states_writes_table_and_picture(tmp_path: Path) -> None:
    table, plot = tmp_path / "a.md", tmp_path / "a.png"
    given = ["--groups", "1", "--out", str(tmp_path), "--markdown", str(table), "--plot", str(plot)]
    told = CliRunner().invoke(app, ["bench", "anchors", "--world", WORLDS[1], *given])
    assert told.exit_code == 0, told.output
    assert "noisy oracle" in table.read_text()
    assert plot.read_bytes()[:4] == b"\x89PNG"
    refused = CliRunner().invoke(app, ["bench", "anchors", "--plot", "a.gif"])
    assert refused.exit_code != 0


# solutions


def test_solutions_that_miss_points_are_counted_by_split_and_named() -> None:
    found = play_oracles("palaestra/Storefront-v0", limit=2)
    assert found.failures == []
    assert set(found.tasks.values()) == {2}
    assert sum(found.actions.values()) > 10 * len(found.tasks)
    one = OraclesOnPages(tasks={"dev": 2, "train": 3}, actions={"click": 9}, failed={"train": ("w/a/0: 7 of 100",)})
    table = oracles_table(WORLDS[0], one)
    assert table.rows == (("dev", "2", "2"), ("train", "3", "2"), ("all", "5", "4"))
    assert one.failures == ["w/a/0: 7 of 100"]
