"""What policies are measured on is not learnt from: told by its split, and by its words however they are set."""

from dataclasses import replace
from pathlib import Path

import pytest

from crash.loops import POLICY, SYNC, grpo_loop, run
from crash.tiny import WARM_UP
from crash.tiny import demonstrations as seen
from palaestra.benchmarks.external import BENCHMARKS
from palaestra.benchmarks.external.protocol import WireTask
from palaestra.benchmarks.external.wire import spec_of
from palaestra.contamination import (
    LEARNT_FROM,
    LISTS,
    Guard,
    normal,
    of_users,
    prompt_hash,
    prompt_hashes,
    read_list,
    write_list,
)
from palaestra.envs.task import SPLITS
from palaestra.errors import ContaminationError, RecordError, TaskError
from palaestra.packs import BUNDLED, PACKS
from palaestra.records import Message
from palaestra.trainers.loops import load_config, plan_run
from palaestra.trainers.loops.config import WorldConfig
from palaestra.trainers.loops.imitation_config import SftConfig
from palaestra.trainers.loops.material import comes_with_palaestra, initial_policy, openings_of, tasks_of
from palaestra.trainers.loops.sft import SftLoop
from palaestra.trainers.policy import Policy
from palaestra.trainers.reference import WarmUpStage
from palaestra.trajectory import Episode, write_episodes
from worlds.registration import LIBRARY_ID

HELD_OUT = "storefront/absent-approver/7000"
PROMPT = "Which of the two planes flies further on a full tank, and by how much?"
OWN = f'''"""A task of a user's own, whose customer asks what a benchmark asks."""

from palaestra.envs.worlds.storefront import Customer, Desk, Task, call, closing_calls, family, expect_read


@family("storefront/planes", level=1)
def planes(desk: Desk) -> Task:
    ticket = desk.ticket(desk.pick(Customer), "A question")
    return Task(
        prompt=desk.mail(ticket, "{PROMPT.upper().replace(" ", "  ")}"),
        rubric=[expect_read(ticket, id="saw-ticket"), *desk.expect_resolved(ticket, after=["saw-ticket"])],
        oracle=[call("get_ticket", ticket_id=ticket.id), *closing_calls(ticket, "The second one.")],
    )
'''


def said(episode: Episode, *texts: str) -> Episode:
    """An episode in whose beginning a user says something else."""
    prompt = tuple(Message(role="user", content=text) for text in texts)
    return replace(episode, segments=(replace(episode.segments[0], prompt=prompt, turns=()),))


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "planes.test.txt"
    assert write_list(path, [PROMPT]) == 1
    return path


@pytest.mark.parametrize(
    "text",
    [PROMPT.upper(), f"  {PROMPT.replace(' ', '   ')}", PROMPT.replace(" ", "\n"), f'"{PROMPT}"', PROMPT.rstrip("?")],
)
def test_words_are_known_however_they_are_set(text: str) -> None:
    assert prompt_hash(text) == prompt_hash(PROMPT)


def test_other_words_are_others() -> None:
    assert normal("  -- A, b!\n") == "a, b"
    assert prompt_hash("Order 12") != prompt_hash("Order 13")
    assert prompt_hash("\ud800") != prompt_hash(PROMPT)
    assert list(prompt_hashes(" ?! ")) == []


def test_a_hash_is_what_blake2b_says() -> None:
    # echo -n "hello world" | b2sum -l 64
    assert prompt_hash("Hello,  World".replace(",", "")) == prompt_hash("hello world")
    assert len(prompt_hash("x")) == 16


def test_long_lines_count_by_themselves_and_short_ones_do_not() -> None:
    long = "one two three four five six seven eight"
    hashes = list(prompt_hashes(f"Thank you.\n{long}"))
    assert hashes == [prompt_hash(f"Thank you.\n{long}"), prompt_hash(long)]


@pytest.mark.parametrize("text", ["", " ?! ", "Hello.", "Book it.", "Yes,\nplease do.", "\u8c22\u8c22"])
def test_a_prompt_of_a_few_words_is_anybodys(tmp_path: Path, text: str) -> None:
    assert list(prompt_hashes(text)) == []
    assert write_list(tmp_path / "a.test.txt", [text]) == 0


def test_a_script_without_spaces_has_words() -> None:
    noise_state = "\u4eca\u5929\u5317\u4eac\u5929\u6c14"  # "Beijing's weather today"
    assert list(prompt_hashes(noise_state)) == [prompt_hash(noise_state)]


def test_what_may_be_learnt_is_on_no_list(tmp_path: Path) -> None:
    path = tmp_path / "a.test.txt"
    assert write_list(path, [PROMPT, "this is only here"], learnt_from=[PROMPT.lower()]) == 1
    assert read_list(path) == [prompt_hash("this is only here")]


@pytest.mark.parametrize("junk", [b"nothing\n", b"0123\n", b"\xff", b"0123456789ABCDEF\n"])
def test_a_file_that_is_no_list_says_where(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "a.test.txt"
    path.write_bytes(junk)
    with pytest.raises(RecordError, match=r"a\.test\.txt"):
        Guard([path])


def test_a_missing_list_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no list of hashes"):
        Guard([tmp_path / "none.txt"])


# What is refused


@pytest.mark.parametrize("split", ["heldout", "heldout-policy", "test", "generated-test", "train-test", "anything"])
def test_a_split_that_is_measured_on_is_refused(split: str) -> None:
    task = replace(seen()[0].task, split=split)
    with pytest.raises(ContaminationError, match=f"split '{split}'"):
        Guard().check(task, ["hello"])
    assert issubclass(ContaminationError, TaskError)


@pytest.mark.parametrize("split", ["train", "dev", "generated-train"])
def test_a_split_to_learn_from_is_known_by_its_last_part(split: str) -> None:
    task = replace(seen()[0].task, split=split)
    Guard().check(task, [])
    with pytest.raises(ContaminationError):
        Guard().check(replace(task, unseen=True), [])


def test_what_benchmarks_give_to_train_on_is_let_through() -> None:
    for benchmark in map(BENCHMARKS.get, BENCHMARKS):
        for split in benchmark.splits:
            wire = WireTask(id="a/b", category="a", split=split, max_turns=1, gold_calls=0, prompt="")
            task = spec_of(wire, f"{benchmark.name}/a/b", benchmark.trainable)
            if split in benchmark.trainable:
                Guard().check(task, [])
                continue
            with pytest.raises(ContaminationError):
                Guard().check(task, [])


def test_the_dev_split_of_a_benchmark_that_does_not_give_it_is_refused() -> None:
    task = seen()[0].task
    Guard().check(replace(task, split="dev"), [])
    with pytest.raises(ContaminationError):
        Guard().check(replace(task, split="dev", unseen=True), [])


@pytest.mark.parametrize(
    "texts",
    [(PROMPT.upper(),), ("Hello.", f" {PROMPT} "), (f"Ticket TCK-1 from a@b.example\n\n{PROMPT.casefold()}\nThanks.",)],
)
def test_words_of_a_benchmark_are_refused_by_its_name(listed: Path, texts: tuple[str, ...]) -> None:
    with pytest.raises(ContaminationError, match="a prompt of planes, test"):
        Guard([listed]).check_episodes([said(seen()[0], *texts)])
    assert Guard().find_list(PROMPT) is None


def test_a_prompt_that_comes_over_several_turns_is_known_whole(tmp_path: Path) -> None:
    path = tmp_path / "talks.test.txt"
    turns = ["Which plane is that?", "Its tail is violet."]
    assert write_list(path, ["\n".join(turns)]) == 1
    with pytest.raises(ContaminationError, match="talks, test"):
        Guard([path]).check_episodes([said(seen()[0], *turns)])
    Guard([path]).check_episodes([said(seen()[0], turns[1], turns[0])])


def test_supervised_loops_refuse_it(listed: Path) -> None:
    episodes = [*seen(), said(seen()[0], PROMPT)]
    start = started_tiny()
    with pytest.raises(ContaminationError, match="planes"):
        SftLoop(SftConfig(), episodes, seed=0, start=start, guard=Guard([listed]))
    measured = replace(seen()[0], task=replace(seen()[0].task, split="heldout"))
    with pytest.raises(ContaminationError, match="heldout"):
        SftLoop(SftConfig(), [measured], seed=0, start=start)
    with pytest.raises(ContaminationError, match="heldout"):
        WarmUpStage(WARM_UP, [measured], seed=0)


def started_tiny() -> Policy:
    return initial_policy(POLICY, list(seen()), seed=0)


def test_what_rollouts_bring_is_refused_before_it_is_trained_on(tmp_path: Path) -> None:
    path = tmp_path / "library.test.txt"
    write_list(path, [text for episode in seen() for text in of_users(episode.segments[0].prompt)])
    loop = grpo_loop(started_tiny(), SYNC)
    loop._guard = Guard([path])
    with pytest.raises(ContaminationError, match="a prompt of library, test"):
        run(loop, tmp_path / "grpo")


# A run


def config(path: Path, *more: str) -> Path:
    path.write_text("\n".join(more))
    return path


@pytest.mark.parametrize("stage", ["[sft]\nsteps = 1", "[grpo]\nsteps = 1"])
def test_a_run_on_a_split_that_is_measured_on_is_refused_before_anything(tmp_path: Path, stage: str) -> None:
    file = config(tmp_path / "run.toml", '[world]\nsplit = "heldout"', stage)
    with pytest.raises(ContaminationError, match="split 'heldout'"):
        plan_run(load_config(file))


def test_a_copy_of_a_prompt_in_a_users_own_task_folder_is_found(tmp_path: Path, listed: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "planes.py").write_text(OWN)
    file = config(
        tmp_path / "run.toml",
        f'contamination_lists = ["{listed}"]',
        f'[world]\nswitches = {{ tasks = "{folder}" }}\nfamilies = ["planes"]',
        "[sft]\nsteps = 1",
    )
    with pytest.raises(ContaminationError, match="a prompt of planes, test"):
        plan_run(load_config(file))


def test_demonstrations_from_a_file_are_looked_at(tmp_path: Path, listed: Path) -> None:
    episodes = tmp_path / "seen.jsonl"
    write_episodes(episodes, [*seen(), said(seen()[0], PROMPT.swapcase())])
    file = config(
        tmp_path / "run.toml",
        f'contamination_lists = ["{listed}"]',
        f'[world]\nenv_id = "{LIBRARY_ID}"\nimports = ["worlds.registration"]',
        f'[sft]\nsteps = 1\ndemonstrations = "{episodes}"',
    )
    with pytest.raises(ContaminationError, match="a prompt of planes, test"):
        plan_run(load_config(file))
    plan_run(load_config(file, settings=["contamination_lists=[]"]))


def test_a_run_of_rollouts_alone_is_refused_for_its_last_task_before_it_begins(tmp_path: Path) -> None:
    world = WorldConfig(env_id=LIBRARY_ID, imports=("worlds.registration",))
    tasks = tasks_of(world)
    assert len(tasks) > 1
    last, words = next(openings_of(world, tasks[-1:]))
    earlier = [text for _, texts in openings_of(world, tasks[:-1]) for text in texts]
    path = tmp_path / "books.test.txt"
    assert write_list(path, words, learnt_from=earlier) > 0
    started_tiny().save(tmp_path / "policy")
    file = config(
        tmp_path / "run.toml",
        f'contamination_lists = ["{path}"]',
        f'[world]\nenv_id = "{LIBRARY_ID}"\nimports = ["worlds.registration"]',
        f'[policy]\ncheckpoint = "{tmp_path / "policy"}"',
        "[grpo]\nsteps = 1\n\n[grpo.play]\ncontext = 512",
    )
    with pytest.raises(ContaminationError, match=f"'{last.id}' is a prompt of books, test"):
        plan_run(load_config(file))
    assert plan_run(load_config(file, settings=["contamination_lists=[]"])).worlds.tasks == tasks


def test_whose_tasks_they_are_is_known(tmp_path: Path) -> None:
    assert comes_with_palaestra(WorldConfig())
    assert not comes_with_palaestra(WorldConfig(env_id=LIBRARY_ID, imports=("worlds.registration",)))
    (tmp_path / "planes.py").write_text(OWN)
    assert not comes_with_palaestra(WorldConfig(switches={"tasks": str(tmp_path)}))


# The lists that come with Palaestra


def test_our_own_held_out_prompts_are_on_the_lists_and_the_others_are_not() -> None:
    guard, world = Guard(), WorldConfig()
    for task, listed in ((HELD_OUT, "storefront, heldout"), ("storefront/absent-approver/8500", "heldout-policy")):
        _, words = next(openings_of(world, [task]))
        assert listed in str(guard.find_list(words[0].upper()))
    spec, words = next(openings_of(world, ["storefront/absent-approver/0000"]))
    guard.check(spec, words)


@pytest.mark.parametrize("world", ["storefront", "shop", "itdesk", "insurer"])
@pytest.mark.parametrize("split", ["heldout", "heldout-records", "heldout-policy"])
def test_held_out_prompts_of_each_world_with_a_listing_are_on_its_list(world: str, split: str) -> None:
    guard, config = Guard(), WorldConfig(env_id=PACKS.find(world).env_id)
    measured = tasks_of(replace(config, split=split))[:20]
    found = [guard.find_list(words[0]) for _, words in openings_of(config, measured)]
    assert found.count(f"{world}, {split}") >= len(measured) - 1  # words that a training task also has are on no list
    for spec, words in openings_of(config, tasks_of(config)[:20]):
        guard.check(spec, words)


@pytest.mark.parametrize("path", sorted(LISTS.glob("*.txt")), ids=lambda path: path.stem)
def test_every_list_is_sorted_hashes_and_nothing_else(path: Path) -> None:
    found = read_list(path)
    assert found == sorted(set(found))
    assert len(found) > 0


@pytest.mark.parametrize("path", sorted(LISTS.glob("*.txt")), ids=lambda path: path.stem)
def test_every_list_is_of_a_split_that_is_measured_on(path: Path) -> None:
    name, split = path.stem.split(".")
    if f"{name}-v0" in BUNDLED:
        assert split in SPLITS
        assert split not in LEARNT_FROM
    else:
        assert split in BENCHMARKS.get(name).splits
        assert split not in BENCHMARKS.get(name).trainable
