"""Times resets and steps of OpenApps in BrowserGym. It runs in an interpreter that has `open_apps`.

    python openapps.py CHROMIUM EPISODES

CHROMIUM is the browser's path. There is no delay before an observation or between the browser's operations. A reset
resets the apps' rows and the browser's environment. The shop is left out, because its search needs Java. Chromium
reaches only the host of the apps, because their pages refer to scripts and fonts on the Web. The program prints
nanoseconds as JSON. It was written for OpenApps 0.1.0 (commit 015715a) and browsergym-core 0.14.3, and imports nothing
from Palaestra.
"""

import json
import os
import shlex
import sys
import tempfile
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from time import perf_counter_ns
from typing import Any

NOOPS = 4
"""Steps of an episode. Each plays the action without effect, so that only the environment's own work is timed."""

_OWN_HOST_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def measure(chromium: str, episodes: int) -> dict[str, list[int]]:
    """Measure the nanoseconds of resets, of the part of a reset that resets the apps' rows, and of steps."""
    os.environ.setdefault("USER", "anybody")  # OpenApps' settings name a folder after the user
    with tempfile.TemporaryDirectory() as browsers:
        os.chdir(browsers)  # OpenApps' server writes a key into its working folder
        # BrowserGym's chat window starts a second browser, whose path no option sets: so a script stands at the default
        # path.
        os.environ["PLAYWRIGHT_BROWSERS_PATH"] = browsers
        playwright: Any = import_module("playwright.sync_api")
        with playwright.sync_playwright() as running:
            place = Path(running.chromium.executable_path)
        place.parent.mkdir(parents=True)
        # Without a network, the lookup of other hosts took longer than the page's 5 seconds in 4 of 25 resets.
        place.write_text(f'#!/bin/sh\nexec {shlex.quote(chromium)} {shlex.quote(_OWN_HOST_ONLY)} "$@"\n')
        place.chmod(0o755)
        gymnasium: Any = import_module("gymnasium")
        servers: Any = import_module("open_apps.mcp.appserver")
        task: Any = import_module("open_apps.tasks").load_task("add_call_mom_to_my_todo")
        import_module("open_apps.tasks.add_tasks_to_browsergym").register_tasks_with_browsergym([task])
        server = servers.AppServer("todo", extra_overrides=["apps.onlineshop.enable=false"])
        env = gymnasium.make(
            f"browsergym/{task.task_id}",
            headless=True,
            disable_env_checker=True,
            task_kwargs={"base_url": server.base_url},
            pre_observation_delay=0.0,
            slow_mo=0,
        )
        taken: dict[str, list[int]] = {"reset": [], "rows": [], "step": []}
        for seed in range(episodes):
            start = perf_counter_ns()
            server.reset()
            taken["rows"].append(perf_counter_ns() - start)
            env.reset(seed=seed)
            taken["reset"].append(perf_counter_ns() - start)
            for _ in range(NOOPS):
                start = perf_counter_ns()
                env.step("noop(0)")
                taken["step"].append(perf_counter_ns() - start)
        env.close()
        server.close()
    return taken


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        found = measure(sys.argv[1], int(sys.argv[2]))
    print(json.dumps(found))  # noqa: T201
