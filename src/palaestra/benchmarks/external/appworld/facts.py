"""What is known of AppWorld."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages, SourceCheckout

_PINNED = (
    "appworld==0.1.3.post1",
    "fastapi==0.110.3",
    "freezegun==1.5.1",
    "ipython==9.10.1",
    "libcst==1.9.0",
    "pendulum==3.3.0",
    "polyfactory==2.22.5",
    "pydantic==1.10.27",
    "sqlalchemy==1.4.54",
    "sqlmodel==0.0.10",
)
"""The package, and those of its own requirements that decide what an agent reads; it pins none itself."""

APPWORLD = Benchmark(
    name="appworld",
    env_id="palaestra/AppWorld-v0",
    title="AppWorld",
    version="0.1.3.post1, data 0.1.0",
    licence="Apache-2.0, with a request not to publish its apps and tasks unencrypted",
    source="appworld on PyPI; Trivedi et al. 2024, arXiv:2407.18901",
    installation=Installation(
        packages=(Packages(names=_PINNED),),
        checkout=SourceCheckout(
            repository="AppWorld's data 0.1.0, which `appworld download data` unpacks below $APPWORLD_ROOT; give that "
            "folder",
            shown_by="data/datasets",
        ),
    ),
    splits={
        "test_normal": "the paper's test set of known apps",
        "test_challenge": "its test set with apps that training does not show",
        "dev": "for choosing",
        "train": "for training",
    },
    trainable=("train",),
    options={"data": None},
    notes=(
        "Never played on AppWorld's own data, which could not be had: proved with the package's real apps and evaluator"
        " on two tasks made up here in its layout. The package holds one task per process, so each episode has a "
        "process of its own. The agent's code runs there behind the package's own guard, which is no sandbox. The "
        "system message is ours, not the prompt of the paper's agents. Only train and dev have solutions."
    ),
)
