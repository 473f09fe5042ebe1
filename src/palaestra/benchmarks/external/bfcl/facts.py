"""What is known of BFCL."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages

BFCL = Benchmark(
    name="bfcl",
    env_id="palaestra/BFCL-v0",
    title="Berkeley Function Calling Leaderboard v4",
    version="2026.3.23",
    licence="Apache-2.0",
    source="bfcl-eval on PyPI; Patil et al. 2025, ICML; github.com/ShishirPatil/gorilla",
    installation=Installation(
        packages=(
            Packages(names=("bfcl-eval==2026.3.23",), dependencies=False),
            Packages(
                names=(
                    "tree_sitter==0.21.3",
                    "tree-sitter-java==0.21.0",
                    "tree-sitter-javascript==0.21.4",
                    "mpmath==1.3.0",
                    "rank_bm25==0.2.2",
                    "overrides==7.7.0",
                    "filelock==3.20.0",
                    "python-dotenv==1.2.1",
                    "tqdm==4.67.1",
                    "numpy==1.26.4",
                )
            ),
        )
    ),
    splits={"test": "every task"},
)
