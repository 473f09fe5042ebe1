"""What a record knows of runs: the same figures as their folders, while they grow and once they are done."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from sqlalchemy import select

from evaluations import write_evaluation
from palaestra.benchmarks.evaluation.results import JOURNAL, read_results
from palaestra.benchmarks.record import (
    EpisodeFilter,
    RecordDatabase,
    RunSummary,
    find_episodes,
    find_sources,
    follow,
    import_run,
    line_reader,
    remove_run,
    run_summaries,
)
from palaestra.benchmarks.record.models import LineRow
from palaestra.benchmarks.record.queries import (
    criterion_counts,
    curve,
    figure_names,
    read_transcript,
    results_of_run,
    training_events,
)
from palaestra.errors import RecordError
from palaestra.trajectory import Episode, dump_episode
from recorded import TASKS, made_results, write_episode_file, write_journal, write_made_evaluation, write_training

EpisodeFactory = Callable[..., Episode]


def take(database: RecordDatabase, path: Path, name: str = "run") -> RunSummary:
    """Import a run; what the record knows of it then."""
    (source,) = find_sources(path, name=name)
    import_run(database, source, clock=lambda: 1.0)
    with database.read() as session:
        (found,) = [one for one in run_summaries(session) if one.name == name]
    return found


def episodes_of_results(make_episode: EpisodeFactory) -> list[Episode]:
    made = make_episode()
    return [replace(made, id=f"base/{task}/0", task=replace(made.task, id=task)) for task in TASKS]


def test_an_evaluation_is_followed_from_its_first_episode_to_its_end(
    database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path
) -> None:
    results = made_results(episodes=episodes_of_results(make_episode))
    folder, done = tmp_path / "eval", write_evaluation(results, tmp_path / "done")
    for played in (0, 3, 8):
        write_journal(folder, results, played)
        run = take(database, folder)
        assert (run.episodes, run.expected, run.agent, run.suite) == (played, 8, "made-up", "made")
        with database.read() as session:
            assert results_of_run(session, run.id) == replace(read_results(folder), episodes=())
            assert len(
                [one for one in find_episodes(session, EpisodeFilter(), limit=9)[0] if one.has_transcript]
            ) == min(played, 4)
    with database.read() as session:
        before, _ = find_episodes(session, EpisodeFilter(), limit=9)
    for path in done.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / JOURNAL).unlink()
    run = take(database, folder)
    assert (run.episodes, run.scored, run.solved, run.faults) == (8, 7, 4, 0)
    with database.read() as session:
        after, _ = find_episodes(session, EpisodeFilter(), limit=9)
        assert after == before  # with the numbers that links name
        assert results_of_run(session, run.id) == replace(results, episodes=())
        assert read_transcript(session, after[0].id) == results.episodes[0]
        counts = {one.criterion: (one.episodes, one.counts) for one in criterion_counts(session, run.id)}
        assert counts == {"read-order": (7, 7), "refunded": (7, 4)}


def test_episodes_are_found_by_task_family_criterion_and_outcome(
    database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path
) -> None:
    run = take(database, write_made_evaluation(tmp_path / "eval"))
    take(database, write_episode_file(tmp_path / "a.jsonl", [make_episode(index=i) for i in range(3)]), "loose")

    def found(**given: object) -> int:
        with database.read() as session:
            listed, total = find_episodes(session, EpisodeFilter(**given), limit=100)  # type: ignore[arg-type]
        assert len(listed) == total
        return total

    assert found() == 11
    assert (found(run=run.id), found(task="shop/"), found(task="%"), found(task="_")) == (8, 8, 0, 0)
    assert (found(family="refund"), found(family="damaged")) == (11, 3)
    assert (found(criterion="refunded"), found(criterion="refunded", verdict="counts")) == (10, 4)
    assert found(criterion="refunded", verdict="not") == 6
    assert (found(outcome="solved"), found(outcome="failed"), found(outcome="fault")) == (4, 6, 1)


def test_a_training_run_has_curves_events_and_the_episodes_of_its_batches(
    database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path
) -> None:
    episodes = [make_episode(index=index) for index in range(2)]
    run = take(database, write_training(tmp_path / "train", episodes))
    assert (run.kind, run.steps, run.episodes) == ("training", 3, 6)
    with database.read() as session:
        assert figure_names(session, run.id) == {"sft": ["loss", "reward/mean"], "grpo": ["loss", "reward/mean"]}
        assert curve(session, run.id, "grpo", "loss") == [(1, 1.0), (2, 0.5), (3, 1 / 3)]
        assert [(one.stage, one.text) for one in training_events(session, run.id)] == [
            (stage, "The entropy is <low>.") for stage in ("sft", "grpo")
        ]
        listed, _ = find_episodes(session, EpisodeFilter(), limit=10)
        assert [(one.stage, one.step) for one in listed] == [("grpo", step) for step in (1, 1, 2, 2, 3, 3)]
        assert read_transcript(session, listed[3].id) == episodes[1]


def test_the_last_save_stands_in_for_a_tracker_until_there_is_one(database: RecordDatabase, tmp_path: Path) -> None:
    folder = write_training(tmp_path / "train", [])
    metrics = folder / "grpo" / "metrics.jsonl"
    written = metrics.read_bytes()
    metrics.unlink()
    save = folder / "grpo" / "checkpoint" / "progress.json"
    save.parent.mkdir()
    for steps in (1, 2):
        save.write_bytes(orjson.dumps({"step": steps, "history": [{"loss": 9.0}] * steps}))
        run = take(database, folder)
        with database.read() as session:
            assert curve(session, run.id, "grpo", "loss") == [(step, 9.0) for step in range(1, steps + 1)]
    metrics.write_bytes(written)
    take(database, folder)
    with database.read() as session:
        assert [step for step, _ in curve(session, run.id, "grpo", "loss")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "the line: Invalid JSON: EOF"),
        (b"\xff\xfe", "the line: Invalid JSON"),
        (b"[1]", "the line: Input should be an object"),
        (b'{"env_id": "x"}', "task: Field required"),
        (b"[" * 100_000, "the line"),
    ],
)
def test_a_damaged_line_is_counted_and_the_others_are_read(
    database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path, line: bytes, says: str
) -> None:
    whole = dump_episode(make_episode())
    path = tmp_path / "a.jsonl"
    path.write_bytes(whole + b"\n" + line + b"\n" + whole + b"\n")
    run = take(database, path)
    assert (run.episodes, run.faults) == (2, 1)
    with database.read() as session:
        (fault,) = session.scalars(select(LineRow.fault).where(LineRow.fault.is_not(None)))
    assert fault is not None
    assert fault.startswith(says)


def test_numbers_and_texts_that_no_database_takes_do_no_harm(
    database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path
) -> None:
    episode = make_episode(text="nul \0 and \u202e")
    named = replace(episode, agent="a\0b" * 400, task=replace(episode.task, id="x" * 100_000))
    large = dump_episode(episode).replace(b'"points":1,"total"', b'"points":' + b"9" * 30 + b',"total"')
    path = tmp_path / "a.jsonl"
    path.write_bytes(dump_episode(named) + b"\n" + large + b"\n")
    run = take(database, path)
    assert (run.episodes, run.faults) == (1, 1)
    with database.read() as session:
        (found,), _ = find_episodes(session, EpisodeFilter(), limit=5)
        assert (found.agent, len(found.task)) == (("a\ufffdb" * 400)[:500], 500)
        assert read_transcript(session, found.id) == named


def test_two_that_import_a_growing_run_at_once_share_the_work(
    database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_reader, "PIECE", 1)
    path = write_episode_file(tmp_path / "a.jsonl", [make_episode(index=index) for index in range(12)])
    (source,) = find_sources(path, name="run")
    counts: list[int] = []
    ready = threading.Barrier(2)

    def work() -> None:
        ready.wait()
        counts.append(import_run(database, source).lines)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 12
    assert take(database, path).episodes == 12


def test_following_imports_what_comes_and_says_a_fault_once(
    database: RecordDatabase, make_episode: EpisodeFactory, tmp_path: Path
) -> None:
    said: list[str] = []
    stop = threading.Event()
    rounds = iter(range(4))
    path = tmp_path / "runs" / "trajectories.jsonl"
    (tmp_path / "runs" / "empty").mkdir(parents=True)

    def wait(_: float) -> bool:
        number = next(rounds)
        if number == 1:
            write_episode_file(path, [make_episode()])
        if number == 3:
            stop.set()
        return stop.is_set()

    stop.wait = wait  # type: ignore[method-assign,assignment]
    follow(database, [tmp_path / "runs"], stop=stop, say=said.append)
    assert len(said) == 2
    assert "holds nothing to import" in said[0]
    assert said[1].endswith("trajectories.jsonl: 1 new line")


def test_a_removed_run_leaves_nothing(database: RecordDatabase, tmp_path: Path) -> None:
    take(database, write_made_evaluation(tmp_path / "eval"))
    remove_run(database, "run")
    with database.read() as session:
        assert (run_summaries(session), find_episodes(session, EpisodeFilter(), limit=5)) == ([], ([], 0))
    assert take(database, tmp_path / "eval").episodes == 8


def test_what_is_nothing_to_import_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="there is no such file or folder"):
        find_sources(tmp_path / "missing")
    with pytest.raises(RecordError, match="holds nothing to import"):
        find_sources(tmp_path)
    write_made_evaluation(tmp_path / "a")
    write_made_evaluation(tmp_path / "b")
    with pytest.raises(RecordError, match="holds 2 runs, and --name is for one"):
        find_sources(tmp_path, name="run")
