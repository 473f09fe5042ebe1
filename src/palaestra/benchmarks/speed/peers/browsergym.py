"""Times resets and steps of BrowserGym on MiniWoB++. It runs in an interpreter that has `browsergym-miniwob`.

    python browsergym.py CHROMIUM FOLDER EPISODES DELAY

FOLDER holds MiniWoB++'s pages. CHROMIUM is the browser's path. DELAY is the number of seconds that BrowserGym waits
before each observation ("usual" for its default of 0.5). The program prints nanoseconds as JSON. It was written for
browsergym 0.14.3 and imports nothing from Palaestra.
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
"""Steps of an episode. Each plays the action without effect, so that only the environment's own work is timed."""


def measure(chromium: str, folder: str, episodes: int, delay: str) -> dict[str, list[int]]:
    """Measure the nanoseconds of resets and steps."""
    os.environ["MINIWOB_URL"] = f"{Path(folder).resolve().as_uri()}/"
    with tempfile.TemporaryDirectory() as browsers:
        # BrowserGym's chat window starts a second browser, whose path no option sets: so CHROMIUM is linked to the
        # default path.
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
