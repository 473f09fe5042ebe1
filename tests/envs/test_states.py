"""Worlds with wider columns and with a state beside their rows, played and proved as any other."""

from typing import Any

import gymnasium as gym
import pytest

from palaestra.agents import rollout
from palaestra.agents.scripted import oracle
from palaestra.envs import ToolEnv, check_env
from palaestra.envs.state import AttachedOverlay, Base, FileEntry, FileLimits, FileTree, Overlay, overlay_on
from palaestra.errors import DefinitionError, RowError, ToolRefusal, UnknownNameError
from palaestra.proof import prove_task
from palaestra.trajectory import dump_episode
from worlds.archive import SCHEMA, Project, populate
from worlds.library import populate as library

CLOSE = "archive/close-project/0000"


def made(world: str) -> ToolEnv:
    env = gym.make(f"test/{world}-v0").unwrapped
    assert isinstance(env, ToolEnv)
    return env


@pytest.fixture
def env() -> ToolEnv:
    return made("Archive")


def call(env: ToolEnv, tool: str, **arguments: Any) -> dict[str, Any]:
    return env.step({"tool": tool, "arguments": arguments})[4]


@pytest.mark.parametrize("world", ["Lab", "Archive"])
@pytest.mark.usefixtures("light_collections")
def test_the_world_keeps_the_contract(world: str) -> None:
    check_env(made(world), seeds=(0, 1), steps=12)


@pytest.mark.parametrize(
    "task",
    [CLOSE, "archive/correct-note/0000", "archive/new-note/0000", "lab/calibrate/0000", "lab/mean-reading/0000"],
)
def test_its_tasks_are_proved(task: str) -> None:
    proof = prove_task(made(task.partition("/")[0].title()), task)
    assert proof.solved
    assert proof.survivors == proof.false_rejects == proof.attacked == []
    assert sum(tally.hits for tally in proof.mutants.values()) > 5


def test_a_derived_rubric_takes_the_oracle_with_floats_decimals_json_and_lists() -> None:
    env = made("Lab")
    for task in ("lab/calibrate/0000", "lab/mean-reading/0000"):
        env.reset(seed=0, options={"task": task})
        rubric = env.instance.derived_rubric()
        assert {c.kind for c in rubric.criteria} == {"expect", "forbid"}


def test_a_refused_call_takes_back_what_it_did_to_files(env: ToolEnv) -> None:
    env.reset(seed=0, options={"task": CLOSE})
    before = env.state_hash()
    info = call(env, "close_project", project_id="PRJ-4")
    assert info["events"][0].error == "not_allowed"
    assert info["changes"] == ()
    assert env.state_hash() == before
    assert "/projects/tunnel/plan.txt" in env.episode.state.keys("files")


def test_a_change_of_a_file_that_nothing_permits_is_harm(env: ToolEnv) -> None:
    env.reset(seed=0, options={"task": CLOSE})
    call(env, "list_files")
    info = call(env, "delete_file", path="/shared/rules.txt")
    assert [(c.table, c.key, c.after) for c in info["changes"]] == [("files", "/shared/rules.txt", None)]
    assert info["violated"] == ("collateral", "slip")


def test_snapshots_forks_and_hashes_carry_the_files(env: ToolEnv) -> None:
    env.reset(seed=0, options={"task": CLOSE})
    start, snapshot = env.digest(), env.snapshot()
    fork = env.fork()
    call(env, "write_file", path="/shared/new.txt", content="new")
    assert env.state_hash() != fork.state_hash()
    assert fork.digest() == start
    fork.restore(env.snapshot())
    assert fork.digest() == env.digest()
    assert fork.state.get(FileEntry, "/shared/new.txt").content == "new"
    env.restore(snapshot)
    assert env.digest() == start


def test_a_recorded_episode_holds_the_changes_of_files(env: ToolEnv) -> None:
    env.reset(seed=0, options={"task": CLOSE})
    episode = rollout(env, oracle(env.oracle), name="oracle", seed=0, task=CLOSE)
    assert episode.score.passed
    tables = [change["table"] for turn in episode.turns for change in turn.changes]
    assert tables.count("files") == 6
    assert b"/archive/" in dump_episode(episode)


def test_a_world_without_states_has_a_plain_overlay() -> None:
    assert type(overlay_on(library(1))) is Overlay
    assert type(overlay_on(populate(1))) is AttachedOverlay
    assert overlay_on(library(1)).states == {}


def test_the_name_of_a_state_is_the_table_that_mirrors_it() -> None:
    with pytest.raises(DefinitionError, match="'projects' tells its changes as rows of 'files'"):
        Base(SCHEMA, [], states={"projects": FileTree({"/a": ""})})


def test_a_rollback_into_the_middle_of_one_change_is_refused() -> None:
    overlay = overlay_on(populate(1))
    files = overlay.states["files"]
    assert isinstance(files, FileTree)
    files.move("/shared/rules.txt", "/shared/old.txt")
    assert len(overlay.journal) == 2
    with pytest.raises(RowError, match="a part of one change of a state"):
        overlay.rollback(1)
    overlay.rollback(0)
    assert files.exists("/shared/rules.txt")


def test_a_state_that_is_not_there_is_answered_with_those_that_are(env: ToolEnv) -> None:
    env.reset(seed=0, options={"task": CLOSE})
    with pytest.raises(UnknownNameError, match="unknown state of class FileTree 'file'; did you mean 'files'"):
        env.episode.context.beside(FileTree, "file")
    with pytest.raises(UnknownNameError, match="state of class Project"):
        env.episode.context.beside(Project, "files")


TREE = FileTree({"/a/b": "x"}, limits=FileLimits(files=2, file_bytes=4, total_bytes=6, path_length=20))


@pytest.mark.parametrize(
    ("method", "arguments", "says"),
    [
        ("read", ("/a",), "not_found: there is no file /a .it is a folder."),
        ("read", ("/c",), "not_found: there is no file /c"),
        ("read", ("../a",), "bad_path: '../a' leads out of the tree"),
        ("read", ("",), "bad_path: '' is no path"),
        ("read", ("/a\0",), "bad_path"),
        ("read", ("/" + "x" * 20,), "at most 20 characters, not 21"),
        ("write", ("/a", "x"), "is_folder: /a is a folder"),
        ("write", ("/", "x"), "is_folder: / is a folder"),
        ("write", ("/a/b/c", "x"), "is_folder: /a/b is a file"),
        ("write", ("/c", "12345"), "too_large: /c would have 5 bytes"),
        ("write", ("/c", "\ud800"), "bad_content"),
        ("move", ("/a/b", "/a/b"), "exists: there is a file /a/b already"),
        ("move", ("/c", "/d"), "not_found"),
        ("delete", ("/c",), "not_found"),
    ],
)
def test_what_a_tree_cannot_do_is_refused_and_leaves_it(method: str, arguments: tuple[str, ...], says: str) -> None:
    tree = TREE.fork()
    with pytest.raises(ToolRefusal, match=says):
        getattr(tree, method)(*arguments)
    assert tree.state_hash() == TREE.state_hash()


def test_a_tree_is_full_by_files_or_by_bytes() -> None:
    tree = TREE.fork()
    tree.write("/c", "1234")
    with pytest.raises(ToolRefusal, match="all files together have at most 6 bytes"):
        tree.write("/a/b", "123")
    tree.write("/c", "1")
    with pytest.raises(ToolRefusal, match="there are 2 files, and no room for another"):
        tree.write("/d", "")


def test_the_hash_of_a_tree_forgets_how_it_came_about() -> None:
    tree = TREE.fork()
    tree.move("a//./b", "/é")
    assert tree.paths() == ("/é",)
    assert [(c.key, c.after is None) for c in tree.diff(TREE.snapshot())] == [("/a/b", True), ("/é", False)]
    assert FileTree({"/e\u0301": "x"}).state_hash() == tree.state_hash()  # one letter, written in two ways
    tree.move("/é", "/a/b")
    assert tree.snapshot() == TREE.snapshot()
    assert tree.diff(TREE.snapshot()) == ()
