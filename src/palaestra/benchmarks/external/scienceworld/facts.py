"""What is known of ScienceWorld."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages

SCIENCEWORLD = Benchmark(
    name="scienceworld",
    env_id="palaestra/ScienceWorld-v0",
    title="ScienceWorld",
    version="1.2.3",
    licence="Apache-2.0",
    source="scienceworld on PyPI; Wang et al. 2022, arXiv:2203.07540",
    installation=Installation(
        packages=(Packages(names=("scienceworld==1.2.3", "py4j==0.10.9.9")),),
        programs={"java": "install a Java runtime of version 8 or newer, such as Debian's default-jre-headless"},
    ),
    splits={
        "test": "the package's test variations of 30 tasks",
        "dev": "its variations for development",
        "train": "its variations for training",
    },
    trainable=("train",),
    options={"simplifications": ""},
    opening_tells=True,
    notes=(
        "Points are the package's score with partial credit; a negative one, which it gives for focusing on the wrong "
        "thing, counts as 0 points and ends the episode. Solved means a score of 100. The game is played in full; "
        '`simplifications="easy"` is the easier one of several published baselines. The package ends an episode after '
        "100 steps; here the tasks whose own solutions are long have 300. `reset task` is refused: an episode is one "
        "attempt. Each episode has a Java process of its own."
    ),
)
