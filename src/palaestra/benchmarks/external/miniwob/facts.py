"""What is known of MiniWoB++."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages

MINIWOB = Benchmark(
    name="miniwob",
    env_id="palaestra/MiniWoB-v0",
    title="MiniWoB++",
    version="1.1.0",
    licence="MIT",
    source="miniwob on PyPI; Liu et al. 2018, arXiv:1802.08802",
    installation=Installation(
        packages=(
            Packages(names=("miniwob==1.1.0",), dependencies=False),
            Packages(names=("playwright==1.65.2",)),
        ),
        programs={"chromium": "install your system's package `chromium`"},
    ),
    splits={"test": "seeds from 1,000,000 on", "train": "seeds from 0 on"},
    trainable=("train",),
    options={"observation": "elements", "chromium": None},
    known_bad={
        f"miniwob/{page}/{seed}": "its animation was not the same in two processes, as Palaestra found"
        for page in ("chase-circle", "click-pie", "moving-items")
        for seed in (*range(1_000_000, 1_000_010), *range(10))
    },
    opening_tells=True,
    notes=(
        "Pages are drawn from seeds, so that there is no official split; the two here never share a seed. Solved is a"
        " raw reward above 0, as BrowserGym counts. The page's clock stands still but for a second after each act, so"
        " that tasks about speed are easier than for a person."
    ),
)
