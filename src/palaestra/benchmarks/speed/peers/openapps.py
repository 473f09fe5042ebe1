"""OpenApps in BrowserGym: what a reset and a step take. A program for an interpreter that has `open_apps`.

    python openapps.py CHROMIUM EPISODES

CHROMIUM is the browser's path. No time is waited before an observation or between the browser's operations. A reset is
that of the apps' rows and of the browser's environment. The shop is left out, since its search needs Java. Chromium
reaches no host but the apps' own: their pages name scripts and fonts on the Web. It prints nanoseconds as JSON. Written
against OpenApps 0.1.0 (commit 015715a) and browsergym-core 0.14.3. It imports nothing of Palaestra's.
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
"""Steps of an episode: the action that does nothing, so that what is timed is the environment's own work."""

_OWN_HOST_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def measure(chromium: str, episodes: int) -> dict[str, list[int]]:
    """Nanoseconds of resets, of the part of them that resets the apps' rows, and of steps."""
    os.environ.setdefault("USER", "anybody")  # its settings name a folder by it
    with tempfile.TemporaryDirectory() as browsers:
        os.chdir(browsers)  # its server writes a key into the folder where it begins
        # Its chat window begins a browser of its own, which no option names: so this one stands where it is looked for.
        os.environ["PLAYWRIGHT_BROWSERS_PATH"] = browsers
        playwright: Any = import_module("playwright.sync_api")
        with playwright.sync_playwright() as running:
            place = Path(running.chromium.executable_path)
        place.parent.mkdir(parents=True)
        # Without a network, a look-up of those hosts lasted past the 5 seconds of a page in 4 resets of 25.
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
