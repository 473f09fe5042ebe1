"""BrowserGym on MiniWoB++: what a reset and a step take. A program for an interpreter that has `browsergym-miniwob`.

    python browsergym.py CHROMIUM FOLDER EPISODES DELAY

FOLDER holds MiniWoB++'s pages, CHROMIUM is the browser's path, and DELAY the seconds that BrowserGym waits before each
observation ("usual" for its own 0.5). It prints nanoseconds as JSON. Written against browsergym 0.14.3. It imports
nothing of Palaestra's.
"""

import json
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from time import perf_counter_ns
from typing import Any

NOOPS = 4
"""Steps of an episode: the action that does nothing, so that what is timed is the environment's own work."""


def measure(chromium: str, folder: str, episodes: int, delay: str) -> dict[str, list[int]]:
    """Nanoseconds of resets and steps."""
    os.environ["MINIWOB_URL"] = f"{Path(folder).resolve().as_uri()}/"
    with tempfile.TemporaryDirectory() as browsers:
        # Its chat window begins a browser of its own, which no option names: so this one stands where it is looked for.
        os.environ["PLAYWRIGHT_BROWSERS_PATH"] = browsers
        playwright: Any = import_module("playwright.sync_api")
        with playwright.sync_playwright() as running:
            place = Path(running.chromium.executable_path)
        place.parent.mkdir(parents=True)
        place.symlink_to(chromium)
        gymnasium: Any = import_module("gymnasium")
        import_module("browsergym.miniwob")
        options = {} if delay == "usual" else {"pre_observation_delay": float(delay)}
        env = gymnasium.make("browsergym/miniwob.click-button", headless=True, disable_env_checker=True, **options)
        taken: dict[str, list[int]] = {"reset": [], "step": []}
        for seed in range(episodes):
            start = perf_counter_ns()
            env.reset(seed=seed)
            taken["reset"].append(perf_counter_ns() - start)
            for _ in range(NOOPS):
                start = perf_counter_ns()
                env.step("noop(0)")
                taken["step"].append(perf_counter_ns() - start)
        env.close()
    return taken


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])))  # noqa: T201
