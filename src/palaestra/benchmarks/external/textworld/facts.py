"""What is known of TextWorld."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages

TEXTWORLD = Benchmark(
    name="textworld",
    env_id="palaestra/TextWorld-v0",
    title="TextWorld",
    version="1.7.0",
    licence="MIT",
    source="textworld on PyPI; Cote et al. 2018, arXiv:1806.11532",
    installation=Installation(
        packages=(
            Packages(
                names=(
                    "textworld==1.7.0",
                    "jericho==3.3.1",
                    "numpy==2.4.6",
                    "networkx==3.6.1",
                    "tatsu==5.8.3",
                    "more-itertools==11.2.1",
                )
            ),
        ),
    ),
    splits={"test": "seeds from 1,000,000 on", "train": "seeds from 0 on"},
    trainable=("train",),
    options={"admissible": False},
    known_bad={
        "textworld/custom-large/1000002": (
            "the package's walkthrough does not win: it says `safe` where the game has two, and the game asks which"
        )
    },
    opening_tells=True,
    notes=(
        "Games are made from seeds by the package when they are first played, some seconds each, and kept in the "
        "folder of the installation; there is no official split, and the two here share no seed. Test games of "
        "`simple` and `cooking` come from the package's own test distribution. Points are the game's score in per "
        "cent of its highest; solved is what the game calls won. `admissible=True` adds the commands that the game "
        "takes to each answer, which makes it far easier. A task's gold calls are 0 where its length is known only "
        "once it is made."
    ),
)
