"""What is known of Toolathlon."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, SourceCheckout

TOOLATHLON = Benchmark(
    name="toolathlon",
    env_id="palaestra/Toolathlon-v0",
    title="Toolathlon",
    version="7139dee",
    licence="not stated where it was seen",
    source="github.com/Klavis-AI/Toolathlon, a fork of hkust-nlp/Toolathlon",
    installation=Installation(
        checkout=SourceCheckout(
            repository="github.com/Klavis-AI/Toolathlon at 7139dee, with `uv sync` run in it for its evaluators",
            shown_by="tasks/finalpool",
        ),
    ),
    splits={"test": "the 13 of 108 tasks that need files alone, and any other of the checkout that says so"},
    notes=(
        "Only tasks that need no service are listed. The agent gets tools for files of text in place of the benchmark's"
        " servers for office files, so scores are not those of its board. A task is solved when its own"
        " evaluation/main.py, run as a process on a copy of the workspace, ends with 0. Proved on a fixture in its"
        " documented layout, not on the benchmark's own tasks."
    ),
)
