"""The command as a person or a script uses it: output, exit codes, and one clear sentence for each mistake."""

import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import gymnasium as gym
import orjson
import pytest

from palaestra.agents import ScriptedAgent, finish_at_once, rollout
from palaestra.cli import main
from palaestra.proof import ATTACKS
from palaestra.trajectory import dump_episode, read_episodes, write_episodes
from worlds.training import library_settings

ROOT = Path(__file__).parents[2]
TASK_FILE = ROOT / "examples" / "tasks" / "new_phone_number.py"


def run(
    *arguments: str, stdin: str = "", file_size: int | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run `palaestra` as its own process, perhaps one that may write no file larger than `file_size` bytes."""

    def limited() -> None:
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    return subprocess.run(
        [sys.executable, "-c", "from palaestra.cli import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        preexec_fn=limited,
        check=False,
    )


class Call(Protocol):
    """Runs `palaestra` in this process, where torch is loaded once; exit code, output and errors."""

    def __call__(self, *arguments: str) -> tuple[int, str, str]: ...


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    def called(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["palaestra", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return code, told.out, told.err

    return called


VERBS = ("demo", "train", "eval", "play", "check", "view", "diagnose", "tasks", "bench")


def test_help_names_every_verb_and_gives_examples() -> None:
    told = run("--help").stdout
    assert all(verb in told for verb in VERBS)
    assert "palaestra tasks prove" in run("tasks", "prove", "--help").stdout


HEAVY = {"matplotlib", "safetensors", "tokenizers", "torch", "transformers"}
LISTED = """
import sys
from palaestra.cli import main
try:
    main()
except SystemExit as end:
    print(*sys.modules, file=sys.stderr)
    sys.exit(end.code)
"""


@pytest.mark.parametrize(
    ("arguments", "example"),
    [
        ((), "train"),
        (("train",), "palaestra train examples/train/storefront.toml"),
        (("reference",), "palaestra reference storefront --seed 1"),
        (("eval",), "palaestra eval runs/demo/seed-0/"),
        (("demo",), "palaestra demo --seeds 3"),
    ],
)
def test_help_with_learning_needs_nothing_that_learning_needs(arguments: tuple[str, ...], example: str) -> None:
    told = subprocess.run(
        [sys.executable, "-c", LISTED, *arguments, "--help"], capture_output=True, text=True, check=True
    )
    assert example in " ".join(told.stdout.split())
    modules = set(told.stderr.split())
    assert "palaestra.cli.train" in modules
    assert not modules & HEAVY


def test_version_is_the_package_s() -> None:
    assert run("--version").stdout.strip() == "palaestra 0.1.0"


def test_list_counts_what_ids_lists() -> None:
    ids = run("tasks", "list", "storefront", "--split", "dev", "--ids").stdout.split()
    table = run("tasks", "list", "storefront", "--split", "dev").stdout
    assert f"{len(ids)} tasks in" in table
    assert len(set(ids)) == len(ids)
    assert all(task.startswith("storefront/") for task in ids)


def test_show_prints_prompt_rubric_and_oracle() -> None:
    shown = run("tasks", "show", "storefront/cancel-order/0000").stdout
    assert "Please cancel" in shown
    assert "collateral" in shown
    assert 'resolve_ticket {"ticket_id"' in shown


def test_prove_accepts_a_folder_and_writes_the_whole_proof(tmp_path: Path) -> None:
    proof = tmp_path / "new" / "proof.json"
    result = run("tasks", "prove", str(TASK_FILE.parent), "--split", "dev", "--json", str(proof))
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("Proved: 5 tasks in ")
    assert orjson.loads(proof.read_bytes())["faults"] == []


def test_attacks_are_reported_by_task_and_pair(tmp_path: Path) -> None:
    found, table = tmp_path / "attacks.json", tmp_path / "attacks.md"
    files = ("--json", str(found), "--markdown", str(table))
    tasks_of = ("storefront", "--family", "warranty-claim", "--split", "dev")
    result = run("tasks", "attack", *tasks_of, "--jobs", "1", "--attack", "gambles", *files)
    assert result.returncode == 0, result.stderr
    tasks = orjson.loads(found.read_bytes())
    assert [task["task"].split("/")[1] for task in tasks] == ["warranty-claim"] * len(tasks)
    assert all(set(task["results"]) == {"gambles"} for task in tasks)
    row = f"| gambles | {ATTACKS['gambles'].tries} | tools and messages | yes | - | - | 0 of {len(tasks)} |"
    assert row in table.read_text()


def test_detectors_report_what_they_find(tmp_path: Path) -> None:
    env = gym.make("palaestra/Storefront-v0")
    praise = {"tool": "reply", "arguments": {"message": "What a great question! You are our most valued customer."}}
    agents = {"honest": finish_at_once(), "flatterer": ScriptedAgent(lambda: [praise])}
    task = "storefront/cancel-order/0000"
    played = [rollout(env, agent, name=name, seed=0, task=task) for name, agent in agents.items()]
    trajectories, findings = tmp_path / "trajectories.jsonl", tmp_path / "findings.json"
    write_episodes(trajectories, played)
    result = run("tasks", "detect", str(trajectories), "--json", str(findings))
    assert result.returncode == 0, result.stderr
    assert "1 of 2 episodes with findings" in result.stdout
    assert f"{task}, turn 0: sycophancy, flatteries: 2: What a great question!" in " ".join(result.stdout.split())
    [found] = orjson.loads(findings.read_bytes())
    assert (found["number"], found["agent"], found["task"], found["passed"]) == (1, "flatterer", task, False)
    assert (found["found"]["detector"], found["found"]["rule"], found["found"]["turn"]) == (
        "sycophancy",
        "flatteries",
        0,
    )


def test_detectors_read_what_a_run_was_trained_on(tmp_path: Path) -> None:
    env = gym.make("palaestra/Storefront-v0")
    episode = rollout(env, finish_at_once(), name="policy", seed=0, task="storefront/cancel-order/0000")
    group = {
        "index": 0,
        "version": 0,
        "task": episode.task.id,
        "episodes": [orjson.loads(dump_episode(episode))],
        "failed": 0,
        "straggled": 0,
    }
    pressure = {"ceiling": 4, "probing": False, "turns": 0, "overloaded": 0}
    batch = {"step": 0, "groups": [group, group], "pressure": pressure}
    (tmp_path / "grpo").mkdir()
    (tmp_path / "grpo" / "batches.jsonl").write_bytes(orjson.dumps(batch) + b"\n")
    result = run("tasks", "detect", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "0 of 2 episodes with findings" in result.stdout


def test_detectors_refuse_a_folder_that_is_no_evaluation(tmp_path: Path) -> None:
    result = run("tasks", "detect", str(tmp_path))
    assert result.returncode == 1
    assert "holds no evaluation and no training run" in result.stderr


def test_prove_fails_and_says_why_when_a_rubric_asks_for_too_little(tmp_path: Path) -> None:
    change = 'expect_change(customer, {"phone": phone}, id="phone", after=["saw-account"]),'
    text = TASK_FILE.read_text().replace(change, "").replace('after=["phone"]', 'after=["saw-account"]')
    text = text.replace("        oracle=[\n", "        allow=[permit_change(customer, 'phone')],\n        oracle=[\n")
    text = text.replace("from palaestra", "from palaestra.envs.kit import permit_change\nfrom palaestra", 1)
    (tmp_path / "weak.py").write_text(text)
    result = run("tasks", "prove", str(tmp_path), "--split", "dev")
    assert result.returncode == 1
    assert result.stdout.startswith("Not proved: ")
    assert "wrong work passes" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "named", "way_out"),
    [
        (("tasks", "show", "storefront/cancel-ordr/0000"), "cancel-ordr", "did you mean"),
        (("tasks", "show", "storefront/cancel-order/12"), "12", "four digits"),
        (("tasks", "list", "storefornt"), "storefornt", "did you mean 'storefront'"),
        (("tasks", "list", "--split", "tran"), "tran", "did you mean 'train'"),
        (("tasks", "prove", "--family", "cancel"), "cancel", "did you mean"),
        (("tasks", "prove", "./no_such_folder"), "no_such_folder", "give the path"),
        (("play", "elsewhere/x/0000"), "elsewhere", "storefront"),
        (("play", "storefront/cancel-order/0000", "--browser"), "has no pages", "add --surface pages"),
        (("play", "storefront/cancel-order/0000", "--out", "x.jsonl"), "--port and --out are of --browser", "add it"),
        (("view", "/no/such.jsonl"), "/no/such.jsonl", "give a file of trajectories"),
        (("check", "palaestra/Storefrnt-v0"), "Storefrnt", "Storefront"),
        (("bench", "env", "CartPole-v1"), "CartPole-v1", "Storefront"),
        (("tasks", "prove", "--family", "delay-credit", "--split", "train"), "train", "nothing to prove"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_value_and_the_way_out(
    arguments: tuple[str, ...], named: str, way_out: str
) -> None:
    result = run(*arguments)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert named in result.stderr
    assert way_out in result.stderr


def test_an_unreadable_trajectory_names_its_line_and_writes_no_page(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"env_id": 7}\n')
    result = run("view", str(broken))
    assert result.returncode == 1
    assert "line 1" in result.stderr
    assert list(tmp_path.iterdir()) == [broken]


def test_a_full_disk_loses_nothing_and_says_what_to_do(tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    proof.write_text("what stood there")
    full = run("tasks", "prove", str(TASK_FILE), "--split", "dev", "--json", str(proof), file_size=100)
    assert full.returncode == 1
    assert "free some space" in full.stderr
    assert proof.read_text() == "what stood there"
    assert list(tmp_path.iterdir()) == [proof]


def test_a_person_can_play_a_task_to_its_end() -> None:
    shown = run("tasks", "show", "storefront/cancel-order/0000").stdout.split("Oracle")[1]
    lines = [line.strip().split(" ", 1) for line in shown.strip().splitlines()]
    typed = [orjson.dumps({"tool": tool, "arguments": orjson.loads(given)}).decode() for tool, given in lines]
    result = run("play", "storefront/cancel-order/0000", stdin="\n".join(typed))
    assert "100 of 100 points; solved (finished)" in result.stdout


def test_play_takes_words_and_survives_mistakes() -> None:
    typed = "\n".join(
        (
            "tools refund",
            "help nothing_like_it",
            '{"tool": ',
            "",
            "search_customers query=maria lindqvist",
            "> I am looking into it",
            "score",
            "quit",
        )
    )
    result = run("play", "storefront/cancel-order/0000", stdin=typed)
    assert result.returncode == 0
    assert "issue_refund" in result.stdout
    assert result.stdout.count("cannot do that") == 2
    assert '"next_cursor"' in result.stdout
    assert "0 of 100 points; not solved (left)" in result.stdout


def test_play_names_an_unknown_tool_before_its_arguments_and_takes_a_json_object() -> None:
    typed = "\n".join(
        ["foo bar", "get_ordr ORD-1245", 'get_order {"order_id": "ORD-1245"}', 'get_order {"order_id": ', "quit"]
    )
    result = run("play", "storefront/cancel-order/0000", stdin=typed)
    assert result.returncode == 0, result.stderr
    shown = " ".join(result.stdout.split())
    assert "cannot do that: unknown tool 'foo'; " in shown
    assert "cannot do that: unknown tool 'get_ordr'; did you mean 'get_order'" in shown
    assert '"order_id": "ORD-1245"' in shown or '"id": "ORD-1245"' in shown
    assert "the arguments of get_order are no JSON object: " in shown
    assert "has no name; write" not in shown


@pytest.mark.parametrize(
    "task",
    [
        ("code-repair/ledger/0000", "--world", "palaestra.envs.worlds.coderepair.world:CODE_REPAIR"),
        ("storefront/cancel-order/0000", "--surface", "pages"),
    ],
)
def test_the_help_of_play_gives_a_tool_of_the_world_as_its_example(task: tuple[str, ...]) -> None:
    result = run("play", *task, stdin="tools\nhelp\nquit\n")
    assert result.returncode == 0, result.stderr
    examples = re.findall("in the order of its arguments: ([a-z_]+) ([A-Z_]+)", " ".join(result.stdout.split()))
    assert len(examples) == 2
    ((tool, argument),) = {*examples}
    assert f"  {tool}  " in result.stdout
    described = run("play", *task, stdin=f"help {tool}\nquit\n").stdout
    assert f'"{argument.lower()}": {{' in described


def test_play_on_pages_takes_values_without_names_and_shows_pages_as_text() -> None:
    typed = "\n".join(
        (
            "goto /do/cancel_order",
            "fill field.order_id ORD-1133",
            "click nav.orders",
            "click nowhere.at.all",
            "fill element=field.x text=a longer text",
            "quit",
        )
    )
    result = run("play", "storefront/cancel-order/0000", "--surface", "pages", stdin=typed)
    assert result.returncode == 0
    assert '[field.order_id] textbox "order_id" holds "ORD-1133" required' in result.stdout
    assert 'page /orders "Orders"' in result.stdout
    assert "stale_element" in result.stdout
    assert "cannot do that" not in result.stdout


# learning

# A small world: `reference` plays the oracle in every task, and the evaluation every task of a split.
WORLD = ("--world", str(ROOT / "examples" / "worlds" / "human_resources"))
SHORT = (*WORLD, "--warm-up-steps", "2", "--grpo-steps", "1", "--context", "160", "--turn", "6", "--threads", "1")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that the command trained, for two steps and one batch of rollouts."""
    out = tmp_path_factory.mktemp("runs") / "reference"
    told = run("reference", *SHORT, "--out", str(out), timeout=600)
    assert told.returncode == 0, told.stderr
    assert f"measure it: palaestra eval {out / 'grpo'} {' '.join(WORLD)}" in " ".join(told.stdout.split())
    return out / "grpo"


PLAYED = ("--samples", "1", "--split", "dev", "--context", "320", "--turn", "6")


def test_a_policy_that_was_trained_is_measured(checkpoint: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    told = run("eval", str(checkpoint), *WORLD, *PLAYED, "--out", str(out))
    assert told.returncode == 0, told.stderr
    tasks = run("tasks", "list", *WORLD, "--split", "dev", "--ids").stdout.split()
    assert f" {len(tasks)} " in told.stdout
    assert [o["task"] for o in map(orjson.loads, (out / "outcomes.jsonl").read_bytes().splitlines())] == tasks
    assert [e.task.id for e in read_episodes(out / "trajectories.jsonl")] == tasks
    assert orjson.loads((out / "report.json").read_bytes())
    assert (out / "report.html").read_text().startswith("<!doctype html>")


def test_training_again_with_the_same_arguments_reads_what_is_there(checkpoint: Path) -> None:
    out = checkpoint.parent
    told = run("reference", *SHORT, "--out", str(out))
    assert told.returncode == 0, told.stderr
    assert "warm-up: done before" in told.stdout
    assert "grpo: done before" in told.stdout


def one_line(stderr: str) -> str:
    """The error, beside lines of progress, which slow machines write."""
    (line,) = [one for one in stderr.splitlines() if not re.fullmatch(r".+: \d+(/\d+)? in \d+ s.*", one)]
    assert line.startswith("error: ")
    return line


def test_training_again_with_other_arguments_is_refused(checkpoint: Path, call: Call) -> None:
    code, _, told = call("reference", *WORLD, "--warm-up-steps", "3", "--threads", "1", "--out", str(checkpoint.parent))
    assert code == 1
    assert one_line(told).endswith("give another folder, or remove it to begin anew")


def test_a_policy_is_measured_on_a_folder_of_tasks(checkpoint: Path, call: Call) -> None:
    # The policy's tokens are those of another world's words, so this world's texts need more of them.
    code, shown, told = call("eval", str(checkpoint), "--suite", str(TASK_FILE.parent), *PLAYED, "--context", "2048")
    assert code == 0, told
    assert " 5 " in shown


@pytest.mark.parametrize(
    ("arguments", "named", "way_out"),
    [
        (("--split", "dve"), "'dve'", "did you mean 'dev'?"),
        (("--format", "qwn"), "'qwn'", "qwen"),
        (("--suite", "storefornt"), "'storefornt'", "did you mean 'storefront'"),
        (("--context", "4096"), "context=4096", "give no more"),
    ],
)
def test_a_mistake_of_an_evaluation_is_one_line(
    checkpoint: Path, call: Call, arguments: tuple[str, ...], named: str, way_out: str
) -> None:
    code, _, told = call("eval", str(checkpoint), *arguments)
    assert code == 1
    assert named in one_line(told)
    assert way_out in told


def test_a_checkpoint_that_is_not_there_is_one_line(tmp_path: Path, call: Call) -> None:
    code, _, told = call("eval", str(tmp_path / "none"))
    assert code == 1
    assert f"{tmp_path / 'none'} holds no config.json" in one_line(told)
    assert "`palaestra reference`" in told


@pytest.mark.parametrize("manifest", [True, False])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_damaged_checkpoint_is_one_line(
    checkpoint: Path, tmp_path: Path, call: Call, name: str, manifest: bool
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(checkpoint, broken)
    (broken / name).write_bytes((broken / name).read_bytes()[:100])
    if not manifest:  # as a checkpoint of somebody else's has none
        (broken / "MANIFEST.json").unlink()
    code, _, told = call("eval", str(broken), *PLAYED)
    assert code == 1
    assert str(broken) in one_line(told)


TRAIN = ("matplotlib", "pyarrow", "safetensors", "tensorboard", "tokenizers", "torch", "transformers")
"""What the extra `train` installs."""
OTHERS = ("fastapi", "gguf", "httpx", "jsonschema", "peft", "ray", "tenacity", "uvicorn", "wandb")
"""What other extras install."""


def without(*packages: str, then: str = "from palaestra.cli import main; main()") -> str:
    """A program in which packages are not installed."""
    return f"""
import sys

class Finder:
    def __init__(self, inner):
        self.inner = inner

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {packages!r} else self.inner.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.inner, name)

sys.meta_path[:] = map(Finder, sys.meta_path)
if __name__ == "__main__":
    {then}
"""


WITHOUT = without(*TRAIN, *OTHERS)


@pytest.mark.parametrize("arguments", [("demo",), ("train", "any.toml"), ("reference",), ("eval", "./any")])
def test_without_the_extra_a_verb_that_learns_says_what_to_install(arguments: tuple[str, ...], tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.returncode == 1
    line = one_line(told.stderr)
    assert "is not installed" in line
    assert "palaestra[train]" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tasks", "show", "storefront/cancel-order/0000"), "Please cancel"),
        (("tasks", "list", "--split", "dev", "--family", "cancel-order"), "cancel-order"),
        (("worlds", "list"), "palaestra/Storefront-v0"),
        (("suites", "list"), "tau2"),
        (("models", "list"), "SmolLM2-135M-Instruct"),
        (("objectives", "list"), "gspo"),
        (("worlds", "show", "storefront"), "heldout-surface"),
        (("rubrics", "derive", "storefront/price-match/0003"), "judged alike"),
        (("eval", "oracle", "--split", "dev", "--limit", "1", "--samples", "1", "--out", "evaluation"), "100"),
        (("eval", "no-op", "--suite", "ood", "--axis", "entities", "--limit", "1", "--samples", "1"), "held-out"),
    ],
)
def test_without_any_extra_the_other_verbs_work(arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert says in told.stdout


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("objectives", "list", "--parts"), "train"),
        (("eval", "--base-url", "http://127.0.0.1:9/v1", "--model", "x"), "remote"),
    ],
)
def test_without_any_extra_a_verb_names_the_one_that_it_needs(
    arguments: tuple[str, ...], extra: str, tmp_path: Path
) -> None:
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.returncode == 1
    assert f"palaestra[{extra}]" in one_line(told.stderr)


STAGES = """
[sft]
steps = 1
batch = 2

[grpo]
steps = 1
group_size = 2
limits = { per_step = 1 }
play = { context = 400, turn = 24 }
pool = { agents = 2 }
"""


def test_the_extra_train_alone_trains_diagnoses_and_opens_the_demo(tmp_path: Path) -> None:
    """`make demo` installs no other one."""
    (tmp_path / "run.toml").write_text(library_settings(STAGES, trackers=["jsonl", "tensorboard"]))

    def call(program: str, *arguments: str) -> str:
        told = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert told.returncode == 0, told.stderr
        return told.stdout

    trained = without(*OTHERS)
    call(trained, "train", "run.toml", "--out", "run")
    assert "diagnosis.html" in call(trained, "diagnose", "run")
    assert "gspo" in call(trained, "objectives", "list")
    call(without(*OTHERS, then="import palaestra.benchmarks.demo"))
