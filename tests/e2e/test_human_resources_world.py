"""A world pack outside the package, from the command line: each command takes it as it takes a bundled world."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import orjson
import pytest

from palaestra.cli import main
from palaestra.trajectory import read_episodes

ROOT = Path(__file__).parents[2]
PACK = "examples/worlds/human_resources"
TASK = "human-resources/grant-leave/0000"
BOTH = ("--world", "storefront", "--world", PACK)
SMALL = ("hidden=32", "head_dim=16", "mlp=64")

Call: TypeAlias = Callable[..., str]
"""Runs `palaestra` in this process: its output; an exit code other than the expected one fails the test."""

pytestmark = pytest.mark.xdist_group("human-resources")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(ROOT)

    def called(*arguments: str, code: int = 0, stdin: str = "") -> str:
        monkeypatch.setattr(sys, "argv", ["palaestra", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        assert ended.value.code == code, told.err
        return " ".join((told.out if code == 0 else told.err).split())

    return called


def test_it_is_shown_with_what_it_declares(call: Call) -> None:
    told = call("worlds", "show", PACK)
    assert "palaestra/HumanResources-v0" in told
    assert "conventional, generic" in told
    assert "palaestra/HumanResources-v0" in call("worlds", "list", "--world", PACK)


def test_its_tasks_are_listed_and_shown(call: Call) -> None:
    assert "236 tasks in 8 families of palaestra/HumanResources-v0" in call("tasks", "list", "--world", PACK)
    assert 'grant_leave {"leave_id":' in call("tasks", "show", TASK, "--world", PACK)


def test_it_is_proved_and_checked(call: Call) -> None:
    told = call("tasks", "prove", "--world", PACK, "--split", "dev", "--family", "grant-leave")
    assert "Proved: 3 tasks" in told
    told = call("check", "--world", PACK)
    assert told.startswith("palaestra/HumanResources-v0: holds its contract world human-resources: sound (5 seeds,")


def test_it_is_played_by_a_person(call: Call) -> None:
    told = call("play", TASK, "--world", PACK, stdin="get_case case_id=CASE-83\nscore\nquit\n")
    assert "of 100 points; not solved (left)" in told
    assert '"employee_id": "EMP-121"' in told


def test_derived_rubrics_agree_with_the_authors(call: Call) -> None:
    told = call("rubrics", "derive", "--all", "--world", PACK, "--split", "dev", "--family", "pay-claim")
    share = float(told.rpartition(" % of ")[0].split()[-1])
    assert share == 100


@pytest.mark.parametrize(
    "switch",
    [
        ("--surface", "generic"),
        ("--noise", "stale=80", "--noise", "events=1200", "--noise", "injections=80"),
        ("--handbook", "1"),
        ("--temper", "heated"),
        ("--wording", "typos"),
    ],
)
def test_the_oracle_solves_it_under_every_switch(call: Call, tmp_path: Path, switch: tuple[str, ...]) -> None:
    out = str(tmp_path / "run")
    call("eval", "oracle", "--world", PACK, "--samples", "1", "--limit", "2", "--out", out, *switch)
    assert [one.score.points for one in read_episodes(tmp_path / "run" / "trajectories.jsonl")] == [100, 100]


def test_a_temper_leaves_the_tasks_of_users_who_answer(call: Call) -> None:
    told = call("eval", "oracle", "--world", PACK, "--samples", "1", "--limit", "1", "--temper", "heated")
    assert "heldout, tasks with a heated user" in told


def test_two_worlds_are_evaluated_compared_and_viewed_together(call: Call, tmp_path: Path) -> None:
    for agent in ("oracle", "no-op"):
        told = call(
            *("eval", agent, "--suite", "ood", *BOTH, "--axis", "world", "--axis", "entities", "--limit", "1"),
            *("--samples", "1", "--option", "trained=storefront", "--out", str(tmp_path / agent)),
        )
        assert "never trained in" in told
    document = orjson.loads((tmp_path / "oracle" / "report.json").read_bytes())
    worlds = next(ladder for ladder in document["ladders"] if ladder["axis"] == "world")
    assert [rung["cell"] for rung in worlds["rungs"]][1:] == ["world/storefront", "world/human-resources"]
    told = call("compare", str(tmp_path / "oracle"), str(tmp_path / "no-op"))
    assert "Worlds: human-resources, never trained in" in told
    call("view", str(tmp_path / "oracle" / "trajectories.jsonl"))
    page = (tmp_path / "oracle" / "trajectories.html").read_text(encoding="utf-8")
    assert "palaestra/Storefront-v0" in page
    assert "palaestra/HumanResources-v0" in page


def test_every_axis_of_two_worlds_names_its_world(call: Call, tmp_path: Path) -> None:
    call("eval", "finish-at-once", "--suite", "ood", *BOTH, "--limit", "1", "--samples", "1", "--out", str(tmp_path))
    document = orjson.loads((tmp_path / "report.json").read_bytes())
    titles = [ladder["title"] for ladder in document["ladders"]]
    assert titles[-1] == "Worlds"
    assert sum(title.endswith(" (storefront)") for title in titles) == 9
    # Every family of the human-resources world is trained on: there is nothing to measure along the axis of families.
    assert sum(title.endswith(" (human-resources)") for title in titles) == 8


def test_families_belong_to_the_world_that_has_them(call: Call) -> None:
    told = call(
        *("eval", "no-op", "--suite", "ood", *BOTH, "--axis", "world", "--limit", "1", "--samples", "1"),
        *("--option", "families=cancel-order,grant-leave", "--option", f"trained={PACK}"),
    )
    assert "human-resources, held out" in told
    assert "storefront, never trained in" in told


def test_two_worlds_are_trained_on_in_one_run(call: Call, tmp_path: Path) -> None:
    example = (ROOT / "examples" / "train" / "two_worlds.toml").read_text(encoding="utf-8")
    few = example.replace('["cancel-order", "order-status", "price-match"]', '["order-status"]')
    few = few.replace("weight = 1\n", 'weight = 1\nfamilies = ["grant-leave"]\n')
    config = tmp_path / "two.toml"
    config.write_text(few, encoding="utf-8")
    sets = [f"policy.model.{one}" for one in SMALL]
    sets += ["sft.steps=2", "grpo.steps=1", "grpo.limits.per_step=3", "grpo.group_size=2", "grpo.play.context=320"]
    settings = [word for one in sets for word in ("--set", one)]
    told = call("train", str(config), *settings, "--dry-run")
    assert "40 in 2 families of 2 worlds" in told
    assert "storefront 20, 67 % of the groups" in told
    told = call("train", str(config), *settings, "--out", str(tmp_path / "run"))
    assert f"--world palaestra/Storefront-v0 --world {PACK}" in told
    batches = (tmp_path / "run" / "grpo" / "batches.jsonl").read_text(encoding="utf-8")
    assert "storefront/order-status/" in batches
    assert "human-resources/grant-leave/" in batches
    checkpoint = str(tmp_path / "run" / "grpo" / "checkpoint")
    told = call("eval", checkpoint, *BOTH, "--limit", "1", "--samples", "1", "--context", "320", "--turn", "8")
    assert "human-resources, families trained on" in told


def test_the_example_of_two_worlds_is_read(call: Call) -> None:
    told = call("train", "examples/train/two_worlds.toml", "--dry-run")
    assert "196 in 11 families of 2 worlds" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("eval", "oracle", "--world", "examples/worlds"), "unknown world 'examples/worlds'"),
        (
            ("eval", "oracle", "--suite", "ood", "--world", PACK, "--axis", "world"),
            "axis 'world': it compares worlds, and the suite has one, 'human-resources'; add another --world",
        ),
        (
            ("eval", "oracle", "--suite", "ood", *BOTH, "--option", "trained=human_resources"),
            "unknown world to train in 'human_resources'; did you mean 'human-resources'?",
        ),
        (("play", TASK, "--world", PACK, "--temper", "heated"), "temper='heated': nobody answers in the task"),
        (("rubrics", "derive"), "no task is named; give a task's id, or --all and a world"),
        (
            ("eval", "oracle", "--suite", "examples/tasks", *BOTH),
            "examples/tasks: task files are set in one world; give --world once, or leave it out",
        ),
    ],
)
def test_a_mistake_names_the_way_out(call: Call, arguments: tuple[str, ...], said: str) -> None:
    assert said in call(*arguments, code=1)
