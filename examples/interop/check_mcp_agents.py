"""Compare agents of other frameworks on a served world with the world in process; `make interop` runs it.

    python check_mcp_agents.py openai_agents_client.py openai-agents /path/to/python-with-openai-agents

It starts a server, has the agents make the same calls over MCP as here, and fails where briefing, tools, answers, score
or digest differ.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
from check_openenv import EPISODES, WORLDS, expect, write

import palaestra
from palaestra.envs import ToolEnv


def attribute(message: dict[str, str]) -> str:
    """What others than tools say, as MCP shows it."""
    return f"[{message.get('name', message['role'])}] {message['content']}"


def compare(client: str, python: str, url: str, world: str, env: ToolEnv) -> None:
    """Compare the episodes of one world.

    Raises:
        SystemExit: something differs.
    """
    expected = [expect(env, seed) for seed in range(EPISODES)]
    served: list[Any] = [palaestra.connect(url, world) for _ in expected]
    for session, episode in zip(served, expected, strict=True):
        session.reset(seed=episode["seed"])
    asked = [
        {"url": session.unwrapped.mcp_url, "calls": episode["calls"]}
        for session, episode in zip(served, expected, strict=True)
    ]
    command = [python, str(Path(__file__).with_name(client))]
    played = subprocess.run(command, input=json.dumps(asked), check=True, capture_output=True, text=True)  # noqa: S603
    for line, session, episode in zip(played.stdout.splitlines(), served, expected, strict=True):
        opening, answers = episode["messages"][0], [message for said in episode["messages"][1:] for message in said]
        judged = {"digest": session.unwrapped.digest(), "points": session.unwrapped.score().points}
        found = {**json.loads(line), **judged}
        wanted = {
            "briefing": "\n\n".join(map(attribute, opening)),
            "tools": episode["tools"],
            "answers": [message["content"] if message["role"] == "tool" else attribute(message) for message in answers],
            "digest": episode["digest"],
            "points": episode["points"],
        }
        for part, value in wanted.items():
            if found[part] != value:
                raise SystemExit(f"{world}, seed {episode['seed']}: {part} differ: {found[part]!r}, not {value!r}")
        facts = (world, episode["seed"], len(episode["calls"]), found["points"], found["digest"])
        write(f"| {' | '.join(map(str, facts))} |")
        session.close()


def main() -> None:
    """Play and compare."""
    client, distribution, python = sys.argv[1:]
    version = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    found = subprocess.run([python, "-c", version], check=True, capture_output=True, text=True)  # noqa: S603
    write(f"{distribution} {found.stdout.strip()}\n")
    write("| world | seed | calls | points | digest |\n|---|---:|---:|---:|---|")
    worlds = [part for world in WORLDS for part in ("--world", world)]
    command = [sys.executable, "-m", "palaestra", "serve", "--quiet", "--port", "0", *worlds]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            for world, env_id in WORLDS.items():
                compare(client, python, url, world, cast("ToolEnv", gym.make(env_id).unwrapped))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
