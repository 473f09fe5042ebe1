"""What is known of ALFWorld."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages

ALFWORLD = Benchmark(
    name="alfworld",
    env_id="palaestra/ALFWorld-v0",
    title="ALFWorld",
    version="0.4.2",
    licence="MIT",
    source="alfworld on PyPI; Shridhar et al. 2021, arXiv:2010.03768",
    installation=Installation(
        packages=(
            Packages(
                names=(
                    "textworld[pddl]==1.7.0",
                    "fast-downward-textworld==20.6.4",
                    "tatsu==5.8.3",
                    "numpy==2.4.6",
                    "pyyaml==6.0.3",
                )
            ),
            Packages(names=("alfworld==0.4.2",), dependencies=False),
        ),
    ),
    splits={
        "generated-test": "games made here in the rooms that the package keeps for tests",
        "generated-dev": "other games made here in the rooms that the package has for training, to choose settings by",
        "generated-train": "games made here in the rooms that the package has for training",
        "valid_unseen": "the official games in unseen rooms, 134; only where the option games names their folder",
        "valid_seen": "the official games in seen rooms, 140; only where the option games names their folder",
        "train": "the official games for training; only where the option games names their folder",
    },
    trainable=("generated-train", "train"),
    options={"games": "", "admissible": False},
    opening_tells=True,
    notes=(
        "The splits generated-test, generated-dev and generated-train are not ALFWorld's published games: they are "
        "made here from seeds, with the package's rooms, domain, goals and grammar, and no score on them may be "
        "compared with published ones. `games=FOLDER` adds the official ones, where FOLDER holds json_2.1.1 as "
        "alfworld-download leaves it ($ALFWORLD_DATA). Solved is what the game calls won; there is no partial credit. "
        "`admissible=True` adds the commands that the game takes to each answer, as many published agents are given "
        "them."
    ),
)
