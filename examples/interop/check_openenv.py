"""Compare OpenEnv's own clients on a served world with the world in process; `make interop` runs it.

    python check_openenv.py /path/to/python-with-openenv

It starts a server, plays the same calls here and there, and fails where an observation, reward, end, score or digest
differs.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import gymnasium as gym

from palaestra.envs import ToolEnv

CLIENT = Path(__file__).with_name("openenv_client.py")
WORLDS = {"storefront": "palaestra/Storefront-v0", "itdesk": "palaestra/ITDesk-v0"}
EPISODES = 5


def expect(env: ToolEnv, seed: int) -> dict[str, Any]:
    """An episode in process."""
    messages, info = env.reset(seed=seed)
    calls = [{"tool": call.tool, "arguments": dict(call.arguments)} for call in env.oracle()]
    shown, rewards, done = [list(messages)], list[float](), list[bool]()
    for call in calls:
        observed, reward, terminated, truncated, _ = env.step(call)
        shown.append(list(observed))
        rewards.append(reward)
        done.append(terminated or truncated)
    return {
        "seed": seed,
        "calls": calls,
        "messages": shown,
        "tools": [schema["function"]["name"] for schema in info["tools"]],
        "rewards": rewards,
        "done": done,
        "digest": env.digest(),
        "points": env.score().points,
    }


def write(line: str) -> None:
    """Write a line at once: the log is read while it grows."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Play and compare."""
    python = sys.argv[1]
    version = "import importlib.metadata as m; print(m.version('openenv-core'))"
    found = subprocess.run([python, "-c", version], check=True, capture_output=True, text=True)  # noqa: S603
    write(f"openenv-core {found.stdout.strip()}\n")
    write("| world | seed | client | steps | points | digest |\n|---|---:|---|---:|---:|---|")
    worlds = [part for world in WORLDS for part in ("--world", world)]
    command = [sys.executable, "-m", "palaestra", "serve", "--quiet", "--port", "0", "--show-reward", *worlds]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            for world, env_id in WORLDS.items():
                compare(python, url, world, cast("ToolEnv", gym.make(env_id).unwrapped))
        finally:
            server.terminate()


def compare(python: str, url: str, world: str, env: ToolEnv) -> None:
    """Compare the episodes of one world.

    Raises:
        SystemExit: something differs.
    """
    episodes = [expect(env, seed) for seed in range(EPISODES)]
    asked = json.dumps([{"seed": episode["seed"], "calls": episode["calls"]} for episode in episodes])
    command = [python, str(CLIENT), url, world]
    played = subprocess.run(command, input=asked, check=True, capture_output=True, text=True)  # noqa: S603
    for line, episode in zip(played.stdout.splitlines(), [one for one in episodes for _ in range(2)], strict=True):
        answer = json.loads(line)
        for part in ("messages", "tools", "rewards", "done", "digest", "points"):
            if answer[part] != episode[part]:
                raise SystemExit(f"{world}, seed {episode['seed']}, {answer['client']}: {part} differ")
        facts = (world, episode["seed"], answer["client"], len(episode["calls"]), answer["points"], answer["digest"])
        write(f"| {' | '.join(map(str, facts))} |")


if __name__ == "__main__":
    main()
