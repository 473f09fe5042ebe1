"""The comparison of renderers: what is played, going on after an interruption, and the table."""

from pathlib import Path
from shutil import which

import gymnasium as gym
from typer.testing import CliRunner

from palaestra.benchmarks.pages import (
    OraclesOnPages,
    ParityItem,
    ParityResult,
    measure_parity,
    oracles_table,
    parity_items,
    parity_table,
    play_oracles,
)
from palaestra.cli.app import app
from palaestra.envs import ToolEnv

CHROMIUM = which("chromium") or "/usr/bin/chromium"


def made(**switches: str) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", **switches)  # type: ignore[arg-type]
    assert isinstance(env, ToolEnv)
    return env


def test_every_family_of_every_split_is_played_once_and_random_actions_fill_whole_runs() -> None:
    env = made(surface="pages")
    items = parity_items(env, random_actions=350)
    oracles = [item.task for item in items if item.run is None]
    assert len(set(oracles)) == len(oracles)
    assert {task.rpartition("/")[0] for task in oracles} == {
        task.rpartition("/")[0] for split in env.task_set.splits for task in env.task_set.ids(split)
    }
    assert [item.run for item in items if item.run is not None] == [0, 1]


def test_what_a_log_holds_is_not_played_again(tmp_path: Path) -> None:
    item = ParityItem(task="storefront/cancel-order/5000")
    log = tmp_path / "parity.jsonl"
    first = measure_parity("palaestra/Storefront-v0", [item], program=CHROMIUM, log=log)
    assert sum(first[0].steps.values()) > 5
    assert (first[0].equal, first[0].differences) == (first[0].steps, ())
    told: list[str] = []
    again = measure_parity("palaestra/Storefront-v0", [item], program="/nowhere", log=log, step=told.append)
    assert again == first
    assert told == [item.task]


def test_a_difference_is_counted_and_told() -> None:
    item = ParityItem(task="t")
    table = parity_table(
        [
            ParityResult(item=item, steps={"list click": 3}, equal={"list click": 2}, differences=("click",)),
            ParityResult(item=item, steps={"row goto": 1}, equal={"row goto": 1}, differences=()),
        ]
    )
    assert table.rows == (
        ("list", "click", "3", "2", "66.67"), ("row", "goto", "1", "1", "100.00"), ("all", "", "4", "3", "75.00"),
    )  # fmt: skip


def test_the_command_prints_the_table(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["bench", "pages", "--limit", "1", "--out", str(tmp_path), "--chromium", CHROMIUM])
    assert told.exit_code == 0, told.output
    assert "every point" in told.output
    assert "Steps that are equal in Chromium" in told.output


def test_solutions_that_miss_points_are_counted_by_split_and_named() -> None:
    found = play_oracles("palaestra/Storefront-v0", limit=2)
    assert found.failures == []
    assert set(found.tasks.values()) == {2}
    assert sum(found.actions.values()) > 10 * len(found.tasks)
    one = OraclesOnPages(tasks={"dev": 2, "train": 3}, actions={"click": 9}, failed={"train": ("w/a/0: 7 of 100",)})
    table = oracles_table(one)
    assert table.rows == (("dev", "2", "2"), ("train", "3", "2"), ("all", "5", "4"))
    assert one.failures == ["w/a/0: 7 of 100"]
