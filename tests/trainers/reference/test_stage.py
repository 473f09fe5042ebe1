"""A stage goes on where it was left, or says why it cannot; whatever happens, the last whole save stands."""

import resource
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from crash.killer import Killed, killed_after
from crash.tiny import GRPO, SHAPE, WARM_UP, Stopped, TinyGrpo, TinyWarmUp, demonstrations, history
from palaestra.durable import MANIFEST, find_whole_save, saving
from palaestra.errors import CheckpointError, StorageError
from palaestra.trainers.progress import ProgressBar
from palaestra.trainers.reference import ModelShape, ReferenceStageResult, WarmUpStage, load_policy, run_stage

STEPS = 5


def ignored(text: str) -> None:
    del text


def trained(
    directory: Path,
    *,
    said: list[str] | None = None,
    steps: int = STEPS,
    save_every: int = 1,
    seed: int = 0,
    stop: int | None = None,
) -> ReferenceStageResult:
    """A warm-up of five steps, from its last save in `directory` if there is one."""
    stage = TinyWarmUp(steps=steps, save_every=save_every, seed=seed, stop=stop)
    return run_stage(stage, directory, say=ignored if said is None else said.append)


def interrupted(directory: Path, *, steps: int = STEPS, save_every: int = 1, stop: int = 3) -> Path:
    """What `trained` leaves when it is stopped before its fourth step."""
    with pytest.raises(Stopped):
        trained(directory, steps=steps, save_every=save_every, stop=stop)
    return directory


def rot(save: Path, name: str = "model.safetensors") -> None:
    """One flipped bit."""
    whole = bytearray((save / name).read_bytes())
    whole[len(whole) // 2] ^= 1
    (save / name).write_bytes(whole)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def full_disk(size: int) -> Generator[None]:
    """No file grows beyond `size` bytes: the kernel refuses the write, as it does where no room is left."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> ReferenceStageResult:
    """The five steps, uninterrupted."""
    return trained(tmp_path_factory.mktemp("whole") / "warm-up", save_every=STEPS)


def test_a_save_of_other_settings_is_refused_and_kept(tmp_path: Path) -> None:
    directory = interrupted(tmp_path / "warm-up")
    before = contents(tmp_path)
    for seed, steps in ((1, STEPS), (0, STEPS + 1)):
        with pytest.raises(CheckpointError, match="other settings; give another folder, or remove it") as raised:
            trained(directory, seed=seed, steps=steps)
        assert str(directory) in str(raised.value)
    assert contents(tmp_path) == before


def test_a_save_of_another_stage_is_refused_and_kept(tmp_path: Path, whole: ReferenceStageResult) -> None:
    directory = interrupted(tmp_path / "warm-up")
    before = contents(tmp_path)
    with pytest.raises(CheckpointError, match="is a grpo of other settings"):
        run_stage(TinyGrpo(whole.policy), directory)
    assert contents(tmp_path) == before


def test_two_damaged_saves_are_told_with_the_way_out_and_kept(tmp_path: Path) -> None:
    directory = interrupted(tmp_path / "warm-up")
    rot(directory)
    rot(tmp_path / "warm-up.previous", "progress.json")
    before = contents(tmp_path)
    with pytest.raises(CheckpointError) as raised:
        trained(directory)
    told = str(raised.value)
    assert f"{directory}: model.safetensors is not what was saved" in told
    assert f"{directory}.previous: progress.json is not what was saved" in told
    assert f"remove {directory} to begin warm-up anew" in told
    assert contents(tmp_path) == before


def test_a_folder_of_somebody_else_s_is_told_and_kept(tmp_path: Path) -> None:
    (tmp_path / "warm-up").mkdir()
    (tmp_path / "warm-up" / "thesis.txt").write_text("years of work")
    with pytest.raises(CheckpointError, match="no whole save"):
        trained(tmp_path / "warm-up")
    assert contents(tmp_path) == {"warm-up/thesis.txt": b"years of work"}


def test_a_whole_save_that_is_no_stage_s_is_told_and_kept(tmp_path: Path, whole: ReferenceStageResult) -> None:
    directory = tmp_path / "warm-up"
    with saving(directory) as temporary:
        whole.policy.save(temporary)
    before = contents(tmp_path)
    with pytest.raises(CheckpointError, match=r"progress\.json"):
        trained(directory)
    assert contents(tmp_path) == before


def test_a_damaged_save_is_replaced_by_the_one_before_and_told(tmp_path: Path, whole: ReferenceStageResult) -> None:
    directory = interrupted(tmp_path / "warm-up")
    rot(directory)
    said: list[str] = []
    result = trained(directory, said=said)
    assert said == ["warm-up: goes on from step 2 (warm-up is damaged, the save before it is whole)"]
    assert result.policy.digest() == whole.policy.digest()
    assert history(result.progress) == history(whole.progress)


def test_a_save_that_was_killed_between_its_two_renames_is_the_one_before(
    tmp_path: Path, whole: ReferenceStageResult
) -> None:
    directory = interrupted(tmp_path / "warm-up")
    shutil.rmtree(directory)
    said: list[str] = []
    assert trained(directory, said=said).policy.digest() == whole.policy.digest()
    assert said[0].startswith("warm-up: goes on from step 2")


def test_an_interrupted_stage_goes_on_from_its_last_save(tmp_path: Path, whole: ReferenceStageResult) -> None:
    directory = interrupted(tmp_path / "warm-up", save_every=2)
    said: list[str] = []
    result = trained(directory, said=said)
    assert said == ["warm-up: goes on from step 2"]
    assert result.policy.digest() == whole.policy.digest()
    assert history(result.progress) == history(whole.progress)
    assert result.progress.seconds > 0


def test_a_stage_that_is_done_is_read_and_nothing_is_written(tmp_path: Path, whole: ReferenceStageResult) -> None:
    directory = tmp_path / "warm-up"
    shutil.copytree(whole.directory, directory)
    before = contents(tmp_path)
    said: list[str] = []
    again = trained(directory, said=said)
    (told,) = said
    assert told.startswith("warm-up: done before")
    assert again.policy.digest() == whole.policy.digest()
    assert again.progress == whole.progress
    assert contents(tmp_path) == before


def test_a_fresh_stage_has_nothing_to_say(tmp_path: Path) -> None:
    said: list[str] = []
    trained(tmp_path / "warm-up", said=said, save_every=STEPS)
    assert said == []


@pytest.mark.parametrize(("stop", "saved"), [(3, None), (4, 4), (6, 4), (8, 8)])
def test_every_so_many_steps_are_saved(tmp_path: Path, stop: int, saved: int | None) -> None:
    interrupted(tmp_path / "warm-up", steps=9, save_every=4, stop=stop)
    found = None
    if (tmp_path / "warm-up").exists():
        found = orjson.loads((find_whole_save(tmp_path / "warm-up") / "progress.json").read_bytes())["step"]
    assert found == saved


def test_the_last_step_is_saved_wherever_it_falls(tmp_path: Path) -> None:
    result = trained(tmp_path / "warm-up", save_every=4)
    assert orjson.loads((find_whole_save(result.directory) / "progress.json").read_bytes())["step"] == STEPS
    assert load_policy(result.directory).digest() == result.policy.digest()


def test_the_history_has_a_row_for_each_step(whole: ReferenceStageResult) -> None:
    rows = whole.progress.history
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
    assert rows[-1]["seconds"] == round(whole.progress.seconds, 3)
    assert all(rows[n]["seconds"] <= rows[n + 1]["seconds"] for n in range(STEPS - 1))


@pytest.mark.parametrize("stop", [None, 3])
def test_the_bar_counts_to_its_end(tmp_path: Path, stop: int | None) -> None:
    if stop is not None:
        interrupted(tmp_path / "warm-up", stop=stop)
    announced: list[tuple[str, int]] = []
    counted: list[str] = []

    class Count:
        def step(self, at: str, count: int = 1) -> None:
            counted.extend([at] * count)

    @contextmanager
    def bar(title: str, total: int) -> Generator[ProgressBar]:
        announced.append((title, total))
        yield Count()

    run_stage(TinyWarmUp(steps=STEPS), tmp_path / "warm-up", bar=bar, say=ignored)
    assert announced == [("warm-up", len(counted))]
    assert counted[-1] == f"step {STEPS}"


def test_a_save_killed_at_any_operation_goes_on_to_the_same_end(tmp_path: Path, whole: ReferenceStageResult) -> None:
    """Python's own operations on files; those of the libraries in between are for tests/crash."""
    prepared = interrupted(tmp_path / "prepared" / "warm-up").parent
    steps, operations, survived = set[str](), 0, False
    while not survived:
        directory = tmp_path / str(operations) / "warm-up"
        shutil.copytree(prepared, directory.parent)
        try:
            with killed_after(operations):
                trained(directory, stop=4)
        except Killed:
            pass
        except Stopped:
            survived = True
        said: list[str] = []
        result = trained(directory, said=said)
        assert result.policy.digest() == whole.policy.digest()
        assert history(result.progress) == history(whole.progress)
        assert {path.name for path in directory.parent.iterdir()} == {"warm-up", "warm-up.previous"}
        steps |= set(said)
        operations += 1
    assert operations > 10
    assert {text.partition(" (")[0] for text in steps} == {f"warm-up: goes on from step {n}" for n in (3, 4)}


SLIM = replace(SHAPE, hidden=8, head_dim=8, mlp=8)  # its tokenizer is the larger file


@pytest.mark.parametrize(
    ("shape", "too_large", "room"),
    [
        (SHAPE, "config.json", 300),
        (SHAPE, "model.safetensors", 20_000),
        (SLIM, "tokenizer.json", 31_000),
        (SHAPE, "optimiser.pt", 130_000),
    ],
)
def test_a_full_disk_is_told_and_with_room_it_goes_on_to_the_same_end(
    tmp_path: Path, shape: ModelShape, too_large: str, room: int
) -> None:
    def stage() -> WarmUpStage:
        made = WarmUpStage(replace(WARM_UP, shape=shape, steps=2), demonstrations(), seed=0)
        made.save_every = 1
        return made

    uninterrupted = run_stage(stage(), tmp_path / "whole" / "warm-up")
    directory = tmp_path / "full" / "warm-up"
    shutil.copytree(tmp_path / "whole" / "warm-up.previous", directory)
    before = contents(directory.parent)
    assert len(before[f"warm-up/{too_large}"]) > room
    with full_disk(room), pytest.raises(StorageError) as raised:
        run_stage(stage(), directory, say=ignored)
    assert f"could not save {directory}" in str(raised.value)
    assert "what stood there is untouched; free some space and run it again" in str(raised.value)
    assert contents(directory.parent) == before
    said: list[str] = []
    result = run_stage(stage(), directory, say=said.append)
    assert said == ["warm-up: goes on from step 1"]
    assert result.policy.digest() == uninterrupted.policy.digest()
    assert history(result.progress) == history(uninterrupted.progress)


def test_grpo_interrupted_anywhere_goes_on_to_the_same_end(tmp_path: Path) -> None:
    start = trained(tmp_path / "warm-up", steps=WARM_UP.steps, save_every=WARM_UP.steps).policy
    whole = run_stage(TinyGrpo(start), tmp_path / "whole")
    assert whole.policy.digest() != start.digest(), "rewards differed, so the policy changed"
    for stop in range(GRPO.steps):
        with pytest.raises(Stopped):
            run_stage(TinyGrpo(start, stop=stop), tmp_path / str(stop))
        result = run_stage(TinyGrpo(start), tmp_path / str(stop), say=ignored)
        assert result.policy.digest() == whole.policy.digest()
        assert history(result.progress) == history(whole.progress)


def test_a_manifest_stands_in_every_save(whole: ReferenceStageResult) -> None:
    names = {path.name for path in whole.directory.iterdir()}
    assert {MANIFEST, "config.json", "model.safetensors", "tokenizer.json", "optimiser.pt", "progress.json"} <= names
