"""What is known of BabyAI."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages

BABYAI = Benchmark(
    name="babyai",
    env_id="palaestra/BabyAI-v0",
    title="BabyAI",
    version="3.0.0",
    licence="Apache-2.0",
    source="minigrid on PyPI; Chevalier-Boisvert et al. 2019, arXiv:1810.08272",
    installation=Installation(packages=(Packages(names=("minigrid==3.0.0",)),)),
    splits={"test": "seeds from 1,000,000 on", "train": "seeds from 0 on"},
    trainable=("train",),
    notes="Levels are drawn from seeds, so that there is no official split; the two here never share a seed.",
)
