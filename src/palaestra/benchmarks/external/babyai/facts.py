"""What is known of BabyAI."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages

BABYAI = Benchmark(
    name="babyai",
    env_id="palaestra/BabyAI-v0",
    title="BabyAI",
    version="3.2.0",
    licence="Apache-2.0",
    source="minigrid on PyPI; Chevalier-Boisvert et al. 2019, arXiv:1810.08272",
    installation=Installation(
        packages=(Packages(names=("minigrid==3.2.0", "gymnasium==1.4.0", "numpy==2.4.6")),),
    ),
    splits={"test": "seeds from 1,000,000 on", "train": "seeds from 0 on"},
    trainable=("train",),
    opening_tells=True,
    notes=(
        "Eighteen of the paper's nineteen levels. GoToImpUnlock is left out, because the package's bot never ends on "
        "some of its seeds. Levels are drawn from seeds, so there is no official split; the two here share no seed. "
        "minigrid before 3.1 let one episode of a level change the next one's objects. A level's own limit of steps is "
        "the budget of turns. The view is the package's, 7 by 7 cells, told in words by this adapter."
    ),
)
