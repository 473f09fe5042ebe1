"""The README is a promise: its code runs, its task file is the example, its tables are what the demo prints."""

import re
import subprocess
import sys
from pathlib import Path

import gymnasium as gym

from palaestra.agents import oracle, rollout
from palaestra.envs import SPLITS, ToolEnv
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.data.demonstration import render_episode
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.policy import Policy
from palaestra.transcript import transcript_of

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of the README in a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_first_block_runs_and_prints_what_stands_below_it() -> None:
    code, printed = blocks("python")[0], blocks("text")[0]
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == printed.strip()


def test_the_task_file_is_the_example_and_short() -> None:
    example = (ROOT / "examples" / "tasks" / "new_phone_number.py").read_text(encoding="utf-8")
    assert blocks("python")[1] == example
    assert len(example.splitlines()) <= 30


def test_the_gate_is_what_the_release_was_proved_by() -> None:
    gate = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    assert "Made by `palaestra tasks prove storefront`" in gate
    table = re.findall(r"(?:^\|.*\|\n)+", gate, re.MULTILINE)[0]
    assert table in README, "paste the first table of docs/gate.md"
    env = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(env, ToolEnv)
    count = sum(len(env.task_set.ids(split)) for split in SPLITS)
    assert f"| {count:,} of {count:,} |" in table


def test_every_ratio_over_vllm_names_the_mode_that_was_measured() -> None:
    for document in (README, (ROOT / "docs" / "speed-training.md").read_text(encoding="utf-8")):
        ratios = re.findall(r"over vLLM.*?\|", document)
        assert ratios
        assert all("eager" in ratio or "compiled" in ratio for ratio in ratios), ratios


def test_the_examples_run() -> None:
    ran = subprocess.run([sys.executable, str(ROOT / "examples" / "rollout.py")], capture_output=True, check=False)
    assert ran.returncode == 0


def test_the_code_of_the_documents_runs(tmp_path: Path) -> None:
    document = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", document, re.DOTALL):
        if code.startswith("import"):
            ran = subprocess.run(
                [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "guesser.jsonl").exists()


def test_the_recipe_for_a_real_checkpoint_runs_on_a_small_one_of_its_shape(tmp_path: Path) -> None:
    world = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(world, ToolEnv)
    tasks = world.task_set.ids("train")[:2]
    episodes = [rollout(world, oracle(world.oracle), name="oracle", seed=0, task=task) for task in tasks]
    form = CHAT_FORMATS.get("qwen")
    tokenizer = train_tokenizer([render_episode(transcript_of(episode), form) for episode in episodes], form, size=4000)
    shape = DecoderShape(
        vocabulary=len(tokenizer), hidden=16, layers=1, heads=1, kv_heads=1, head_dim=16, mlp=16, context=16_384
    )
    Policy(model=fresh(shape, seed=0), codec=Codec(tokenizer, form)).save(tmp_path / "Qwen3-0.6B")
    (tmp_path / "Qwen3-0.6B" / "palaestra.json").unlink()  # a foreign checkpoint has none
    document = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    assert '"turn": 256' in code
    code = code.replace('"turn": 256', '"turn": 2')  # a policy with fresh weights babbles to the end of every turn
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "runs" / "qwen" / "grpo" / "checkpoint" / "config.json").exists()
