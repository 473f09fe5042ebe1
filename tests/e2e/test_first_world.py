"""The tutorial of a first world keeps its promise: its commands and changes, in their order, by its own text."""

import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium as gym

import palaestra

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "first-world.md").read_text(encoding="utf-8")
CHANGES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def run(command: str, folder: Path) -> tuple[int, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


def before(text: str, place: str, added: str) -> str:
    """The document with some lines above the one that begins so."""
    assert text.count(place) == 1, place
    return text.replace(place, added + place)


def test_a_world_is_written_broken_and_mended(tmp_path: Path) -> None:
    console = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL)
    assert [command.split()[1:3] for command, _ in console] == [
        ["worlds", "new"],
        ["tasks", "show"],
        ["tasks", "prove"],
        ["tasks", "prove"],
    ]
    assert run(console[0][0], tmp_path) == (0, console[0][1])
    code, said = run(console[1][0], tmp_path)
    assert code == 0, said
    code, said = run(console[2][0], tmp_path)
    assert code == 0, said
    assert "Proved: 20 tasks in 4 families. 1,006 mutants" in said
    assert "1,129 of 1,129" in said

    document = tmp_path / "parking-desk.yaml"
    text = document.read_text(encoding="utf-8")
    assert len(text.splitlines()) == 149
    field, rule, refusal, effect, section = CHANGES
    text = before(text, "      refund: {type: money, value: 0}\n", field)
    text = before(text, "  refund_days:", rule)
    text = before(text, "      - section: PRK-1\n", refusal)
    text = text.replace("    sets: {permit.until: permit.until + days}\n", effect)
    document.write_text(text, encoding="utf-8")
    code, said = run(console[3][0], tmp_path)
    assert code != 0
    assert said.replace(f"{tmp_path}/", "").strip() == console[3][1].strip()

    text = before(text.replace("permit.renewal:", "permit.renewals:"), "actions:", section)
    document.write_text(text, encoding="utf-8")
    code, said = run(f"{console[3][0]} --split dev", tmp_path)
    assert code == 0, said

    env = gym.make(palaestra.register_world(document), split="train")
    messages, _ = env.reset(seed=0)
    assert "PRK-5 Renewing again" in messages[0]["content"]


def test_the_template_is_never_written_over_and_needs_an_id(tmp_path: Path) -> None:
    assert run("palaestra worlds new key-desk", tmp_path)[0] == 0
    code, said = run("palaestra worlds new key-desk", tmp_path)
    assert code != 0
    assert "key-desk.yaml: stands there already and is not written over" in said
    code, said = run("palaestra worlds new storefront", tmp_path)
    assert code == 1
    assert "storefront is a world already (`palaestra worlds list`); choose another id" in " ".join(said.split())
    code, said = run("palaestra worlds new 'Key Desk'", tmp_path)
    assert code != 0
    assert "'Key Desk' is no world id; write lower case letters" in said
    assert [path.name for path in tmp_path.iterdir()] == ["key-desk.yaml"]
