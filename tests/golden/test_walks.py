"""The same walks come to the same hashes: in any process, however started, under any hash seed, zone or locale, and
as they did when the golden file was written.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import palaestra
from golden.walks import GOLDEN, NOISE, Head, golden, heads, taken, walks
from palaestra.envs.noise import Noise
from property.budget import WALK_PARTS, WALK_ROUNDS, WALK_STEPS

ROOT = Path(__file__).parents[2]
REGENERATE = ".venv/bin/python -m tests.golden.walks --write"
PROCESSES: Mapping[str, Mapping[str, str]] = {
    "fork": {"PYTHONHASHSEED": "1", "TZ": "Pacific/Apia", "LC_ALL": "C"},
    "spawn": {"PYTHONHASHSEED": "2", "TZ": "Asia/Kolkata", "LC_ALL": "tr_TR.UTF-8"},
    "forkserver": {"PYTHONHASHSEED": "4294967295", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
}
"""Ways to start a process, each under its own circumstances."""


def child(start: str, turn: int, part: int) -> "subprocess.Popen[bytes]":
    options = {"turn": turn, "start": start, "part": part, "parts": WALK_PARTS}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.golden.walks", *(f"--{name}={value}" for name, value in options.items())],
        cwd=ROOT,
        env={**os.environ, **PROCESSES[start]},
        stdout=subprocess.PIPE,
    )


def differing(found: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    return sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))


@pytest.mark.parametrize("turn", WALK_ROUNDS)
def test_other_processes_and_the_golden_file_agree_on_every_walk(turn: int) -> None:
    children = {start: child(start, turn, number % WALK_PARTS) for number, start in enumerate(PROCESSES)}
    here = heads(turn=turn)
    steps = sum(head.steps for head in here.values())
    elsewhere: set[str] = set()
    for start, process in children.items():
        output, _ = process.communicate()
        assert process.returncode == 0
        there = {name: Head(head=head, steps=count) for name, (head, count) in json.loads(output).items()}
        assert [name for name in there if here[name] != there[name]] == [], f"another process, by {start}"
        elsewhere |= there.keys()
        steps += sum(head.steps for head in there.values())
    assert elsewhere == here.keys(), "every walk was taken in another process, too"
    assert steps >= WALK_STEPS
    if turn == 0:
        changed = differing({name: head.head for name, head in here.items()}, golden())
        assert not changed, f"{len(changed)} walk(s) go otherwise: {changed[:10]}; if that is meant, {REGENERATE}"


def test_another_turn_of_a_walk_is_another_walk() -> None:
    walk = ("plain", "storefront/cancel-order")
    assert taken(walk, turn=0) == taken(walk, turn=0)
    assert taken(walk, turn=0).head != taken(walk, turn=1).head


def test_every_family_and_every_switch_of_noise_is_walked() -> None:
    assert set(NOISE) == set(Noise.__slots__)
    assert {f"noise: {name}" for name in NOISE} < {setting for setting, _ in walks()}
    names = {f"{setting} | {family}" for setting, family in walks()}
    assert names == set(golden()), f"the golden file is of other walks; {REGENERATE}"


def test_the_golden_file_keeps_this_version_alone() -> None:
    [versions] = json.loads(GOLDEN.read_text()).values()
    assert list(versions) == [palaestra.__version__]
