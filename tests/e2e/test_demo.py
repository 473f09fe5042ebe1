"""The demo from end to end: what it writes can be read back, replayed and opened, and it goes on where it stopped."""

import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import gymnasium as gym
import orjson
import pytest

from palaestra.benchmarks.demo import DemoReport, heldout_groups, proved_task_ids, run_demo
from palaestra.benchmarks.learning import STAGES, LearningConfig, learning_document, learning_tables
from palaestra.durable import find_whole_save, saving
from palaestra.envs import ToolEnv
from palaestra.errors import CheckpointError, StorageError
from palaestra.proof import Proof, proof_document
from palaestra.trainers import (
    ExpertConfig,
    GrpoConfig,
    PlayConfig,
    ProgressBar,
    SftConfig,
    Staleness,
    load_policy,
)
from palaestra.trajectory import Episode, read_episodes

ROOT = Path(__file__).parents[2]
INN = ROOT / "tests" / "worlds" / "inn.py"
_SHORT = PlayConfig(context=160, turn=6)
TINY = LearningConfig(
    demonstrations=1,
    sft=SftConfig(steps=3, batch=2),
    expert=ExpertConfig(steps=1, updates=1, batch=2, group_size=2, limits=Staleness(per_step=2), play=_SHORT),
    grpo=GrpoConfig(steps=1, group_size=2, limits=Staleness(per_step=2), play=_SHORT),
    samples=1,
    temperatures=(1.0,),
    threads=1,
)
PARTS = tuple(STAGES.values())
PROVED_FAMILIES = ("cancel-order", "partial-refund", "price-match")
"""One of each level. The proof itself is tested on every family in `tests/proof/test_proof.py`."""


class Interrupted(Exception):  # noqa: N818  it is what a person does, not a fault
    """Somebody interrupted the demo."""


class Bars:
    """Counts the steps of every bar, and interrupts where the one named `until` would open."""

    def __init__(self, until: str = "") -> None:
        self.counted: dict[str, tuple[int, int]] = {}
        """(announced, counted) steps by title."""
        self._until = until

    @contextmanager
    def __call__(self, title: str, total: int) -> Generator[ProgressBar]:
        if title == self._until:
            raise Interrupted
        steps: list[str] = []

        class Count:
            def step(self, at: str, count: int = 1) -> None:
                assert at
                steps.extend([at] * count)

        yield Count()
        self.counted[title] = (total, len(steps))


@dataclass(frozen=True, kw_only=True)
class Demo:
    """A demo that was run to its end."""

    report: DemoReport
    out: Path
    bars: Bars
    said: list[str]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo, run once; it proves some families, which takes seconds in place of minutes."""
    out, bars, said = tmp_path_factory.mktemp("runs") / "demo", Bars(), list[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palaestra.benchmarks.demo.proved_task_ids", some_families)
        report = run_demo(out, config=TINY, bar=bars, say=said.append)
    return Demo(report=report, out=out, bars=bars, said=said)


def some_families(world: ToolEnv) -> tuple[str, ...]:
    """The tasks of a family of each level and of its refusal twins: what the demo proves here."""
    chosen = {name for family in PROVED_FAMILIES for name in (family, f"{family}-twin")}
    return tuple(task for task in proved_task_ids(world) if task.split("/")[1] in chosen)


@pytest.fixture
def proved(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof costs nothing: it is the one that was made."""

    def known(*arguments: object, **how: object) -> Proof:
        del arguments, how
        return demo.report.proof

    monkeypatch.setattr("palaestra.benchmarks.demo.prove", known)


@pytest.fixture
def never_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof must not be begun."""

    def refused(*arguments: object, **how: object) -> Proof:
        raise AssertionError(arguments, how)

    monkeypatch.setattr("palaestra.benchmarks.demo.prove", refused)


# what it finds and writes


def storefront() -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(env, ToolEnv)
    return env


def test_the_tasks_to_prove_are_those_of_split_dev_in_the_families_that_it_learns_from() -> None:
    world = storefront()
    families = set(world.world.demo)
    assert {task.split("/")[1] for task in proved_task_ids(world)} == families
    expected = [task for task in world.task_set.ids("dev") if task.split("/")[1] in families]
    assert list(proved_task_ids(world)) == expected


def test_the_tasks_to_prove_are_proved(demo: Demo) -> None:
    assert demo.report.proof.faults == []
    assert [proof.spec.id for proof in demo.report.proof.tasks] == list(some_families(storefront()))
    assert {proof.spec.level for proof in demo.report.proof.tasks} == {1, 2, 3}


def test_the_bars_count_to_their_end(demo: Demo) -> None:
    tasks = len(some_families(storefront()))
    assert demo.bars.counted["proving"] == (tasks, tasks)
    assert all(announced == counted for announced, counted in demo.bars.counted.values())
    evaluations = {f"evaluation seed 0, {part}, temperature 1" for part in PARTS}
    assert set(demo.bars.counted) == {"rolling out", "proving", *STAGES} | evaluations


PROGRESS = re.compile(r"(sft|expert|grpo) step \d+: \d+% in ")
"""How the line of a step begins."""


def beside_progress(said: list[str]) -> list[str]:
    """What was said, without the lines that tell how a stage goes."""
    return [line for line in said if not PROGRESS.match(line)]


def test_a_demo_that_was_not_interrupted_tells_only_how_its_stages_go(demo: Demo) -> None:
    assert beside_progress(demo.said) == []
    assert {match[1] for line in demo.said if (match := PROGRESS.match(line))} == set(STAGES)


def test_what_is_written_is_whole_and_complete(demo: Demo) -> None:
    assert find_whole_save(demo.out) == demo.out
    assert {path.name for path in demo.out.iterdir()} == {
        "MANIFEST.json",
        "curves.png",
        "index.html",
        "learning.json",
        "proof.json",
        "seed-0",
        "tables.md",
        "trajectories.jsonl",
    }
    assert {path.name for path in (demo.out / "seed-0").iterdir()} == set(PARTS)
    for part in PARTS:
        assert find_whole_save(demo.out / "seed-0" / part) == demo.out / "seed-0" / part
    assert orjson.loads((demo.out / "proof.json").read_bytes())["faults"] == []
    assert (demo.out / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_is_left_beside_it(demo: Demo) -> None:
    assert [path.name for path in demo.out.parent.iterdir()] == ["demo"]


def test_trajectories_read_back_as_they_were_written(demo: Demo) -> None:
    assert list(read_episodes(demo.out / "trajectories.jsonl")) == demo.report.episodes
    for part, measured in demo.report.runs[0].parts.items():
        assert list(read_episodes(demo.out / "seed-0" / part / "trajectories.jsonl")) == list(measured.episodes)


def test_the_checkpoints_are_the_policies(demo: Demo) -> None:
    for part, measured in demo.report.runs[0].parts.items():
        loaded = load_policy(demo.out / "seed-0" / part)
        assert loaded.digest() == measured.policy.digest()
        assert loaded.codec.format.name == "compact"


def test_the_document_is_what_the_run_found(demo: Demo) -> None:
    read = orjson.loads((demo.out / "learning.json").read_bytes())
    assert read == orjson.loads(orjson.dumps(learning_document(demo.report.runs)))
    assert set(read[0]["policies"]) == set(PARTS)


def test_every_held_out_task_is_measured_in_the_group_of_what_is_new_in_it(demo: Demo) -> None:
    env = storefront()
    groups = heldout_groups(env)
    trained = set(env.world.demo)
    for measured in demo.report.runs[0].parts.values():
        assert set(measured.evaluations[1.0].tasks) == {task for group in groups for task in group.tasks}
    records, wordings, near, far = (group.tasks for group in groups)
    assert {task.split("/")[1] for task in records} == {task.split("/")[1] for task in wordings} == trained
    assert set(records) <= set(env.task_set.ids("heldout-records"))
    assert {task.split("/")[1].removesuffix("-twin") for task in near} < trained
    for tasks, count in ((near, 12), (far, 8)):
        families = {task.split("/")[1] for task in tasks}
        assert len(families) == count
        assert not families & trained
    assert set(demo.report.material.twins.values()) == set(near)


def check_replay(episodes: Iterable[Episode], action_format: str) -> None:
    env = gym.make("palaestra/Storefront-v0", action_format=action_format).unwrapped
    assert isinstance(env, ToolEnv)
    for episode in episodes:
        env.reset(seed=episode.seed, options={"task": episode.task.id})
        for turn in episode.turns:
            action = (
                turn.text if turn.text is not None else [{"tool": c.tool, "arguments": c.arguments} for c in turn.calls]
            )
            observation, reward, _, _, info = env.step(action)
            assert (observation, reward, info["anchor"]) == (turn.observation, turn.reward, turn.anchor)
        assert env.score() == episode.score


def test_an_agent_s_trajectory_replays_to_the_same_observations_and_score(demo: Demo) -> None:
    check_replay(demo.report.episodes, "hermes")


def test_a_policy_s_trajectory_replays_to_the_same_observations_and_score(demo: Demo) -> None:
    for measured in demo.report.runs[0].parts.values():
        check_replay(measured.episodes[::20], measured.policy.codec.format.name)


def test_the_return_is_the_score(demo: Demo) -> None:
    policies = [episode for part in demo.report.runs[0].parts.values() for episode in part.episodes]
    assert all(episode.episode_return == episode.score.points for episode in (*demo.report.episodes, *policies))


def test_the_page_and_the_document_show_every_table(demo: Demo) -> None:
    page = (demo.out / "index.html").read_text(encoding="utf-8")
    document = (demo.out / "tables.md").read_text(encoding="utf-8")
    for table in demo.report.tables:
        assert table.title in page
        assert f"### {table.title}\n\n{table.markdown()}" in document


def test_it_proves_trains_and_measures_in_another_world(tmp_path: Path) -> None:
    report = run_demo(tmp_path / "demo", world=str(INN), config=TINY, bar=Bars())
    families = {f"inn/{name}" for name in ("cancel", "cancel-twin", "confirm", "confirm-twin")}
    assert {task.spec.family for task in report.proof.tasks} == families
    for measured in report.runs[0].parts.values():
        assert {episode.task.family for episode in measured.episodes} == families


# what an interruption leaves


@pytest.mark.usefixtures("proved")
def test_an_interrupted_demo_goes_on_to_the_same_policies(
    demo: Demo, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out, parts, said = tmp_path / "demo", tmp_path / "demo.parts", list[str]()
    with pytest.raises(Interrupted):
        run_demo(out, config=TINY, bar=Bars(until=f"evaluation seed 0, {PARTS[1]}, temperature 1"), say=said.append)
    assert beside_progress(said) == []
    assert [path.name for path in tmp_path.iterdir()] == ["demo.parts"]
    request.getfixturevalue("never_proved")
    bars = Bars()
    said.clear()
    report = run_demo(out, config=TINY, bar=bars, say=said.append)
    said = beside_progress(said)
    assert said[:2] == [f"going on with what an interrupted demo left in {parts}", "proof: done before"]
    assert [text.partition(":")[0] for text in said[2:]] == [
        *STAGES,
        f"evaluation seed 0, {PARTS[0]}, temperature 1",
    ]
    assert all("done before" in text for text in said[1:])
    assert "proving" not in bars.counted
    assert proof_document(report.proof) == proof_document(demo.report.proof)
    assert report.episodes == demo.report.episodes
    learning = {table.title for table in learning_tables(report.runs, report.material)}  # they tell of time
    assert [t for t in report.tables if t.title not in learning] == [
        t for t in demo.report.tables if t.title not in learning
    ]
    for part in PARTS:
        again, once = report.runs[0].parts[part], demo.report.runs[0].parts[part]
        assert again.policy.digest() == once.policy.digest()
        assert again.evaluations == once.evaluations
        assert list(again.episodes) == list(once.episodes)
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]
    assert {path.name for path in out.iterdir()} == {path.name for path in demo.out.iterdir()}


@pytest.mark.usefixtures("never_proved")
def test_parts_of_other_settings_are_begun_anew(tmp_path: Path) -> None:
    out, parts, said = tmp_path / "demo", tmp_path / "demo.parts", list[str]()
    with pytest.raises(Interrupted):
        run_demo(out, config=TINY, bar=Bars(until="rolling out"), say=said.append)
    (parts / "proof").mkdir()
    (parts / "proof" / "proof.json").write_text("of other settings")
    with pytest.raises(Interrupted):
        run_demo(out, config=replace(TINY, samples=2), bar=Bars(until="rolling out"), say=said.append)
    assert said == [f"{parts} was left by other code or settings: beginning anew"]
    assert [path.name for path in parts.iterdir()] == ["begun"]


@pytest.mark.usefixtures("never_proved")
def test_parts_of_the_same_settings_are_kept(tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        with pytest.raises(Interrupted):
            run_demo(tmp_path / "demo", config=TINY, bar=Bars(until="rolling out"), say=said.append)
    assert said == [f"going on with what an interrupted demo left in {tmp_path / 'demo.parts'}"]


@pytest.mark.usefixtures("never_proved")
def test_a_damaged_proof_is_told_with_the_way_out(tmp_path: Path) -> None:
    proof = tmp_path / "demo.parts" / "proof"
    with pytest.raises(Interrupted):
        run_demo(tmp_path / "demo", config=TINY, bar=Bars(until="rolling out"))
    with saving(proof) as directory:
        (directory / "proof.json").write_text("{}")
    (proof / "proof.json").write_text("[]")
    with pytest.raises(CheckpointError) as raised:  # running it again would say the same for ever
        run_demo(tmp_path / "demo", config=TINY, bar=Bars())
    assert f"remove {proof}" in str(raised.value)


@pytest.mark.usefixtures("never_proved")
def test_a_folder_of_somebody_else_s_in_the_parts_place_is_kept(tmp_path: Path) -> None:
    (tmp_path / "demo.parts").mkdir()
    (tmp_path / "demo.parts" / "thesis.txt").write_text("years of work")
    with pytest.raises(StorageError):
        run_demo(tmp_path / "demo", config=TINY, bar=Bars(until="rolling out"))
    assert (tmp_path / "demo.parts" / "thesis.txt").read_text() == "years of work"


@pytest.mark.usefixtures("never_proved")
def test_a_place_that_cannot_be_written_is_found_out_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("in the way")
    for out in (tmp_path / "mine", tmp_path / "file" / "demo"):
        with pytest.raises(StorageError):
            run_demo(out, config=TINY, bar=Bars(until="rolling out"))
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


@pytest.mark.usefixtures("never_proved")
def test_what_stood_there_stands_until_the_demo_is_done(tmp_path: Path) -> None:
    with saving(tmp_path / "demo") as directory:
        (directory / "tables.md").write_text("of last time")
    with pytest.raises(Interrupted):
        run_demo(tmp_path / "demo", config=TINY, bar=Bars(until="rolling out"))
    assert (find_whole_save(tmp_path / "demo") / "tables.md").read_text() == "of last time"
    assert {path.name for path in tmp_path.iterdir()} == {"demo", "demo.parts"}
