"""What is known of WebArena-Verified."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages

WEBARENA_VERIFIED = Benchmark(
    name="webarena-verified",
    env_id="palaestra/WebArenaVerified-v0",
    title="WebArena-Verified",
    version="1.2.3",
    licence="Apache-2.0",
    source="webarena-verified on PyPI; Zhou et al. 2023, arXiv:2307.13854, verified by ServiceNow",
    installation=Installation(
        packages=(Packages(names=("webarena-verified==1.2.3", "playwright==1.65.2")),),
        programs={"chromium": "install your system's package `chromium`"},
    ),
    splits={"test": "all 812 tasks; the option subset='hard' keeps its own 258 hard ones"},
    options={
        "sites": None,
        "recorded": None,
        "subset": None,
        "tasks": None,
        "storage_state": None,
        "observation": "elements",
        "chromium": None,
    },
    notes=(
        "The sites are Docker images that the package starts, and are not part of it: without them the tasks are listed"
        " and recorded runs can be scored. Nothing here puts a site back after a task that changes it."
    ),
)
