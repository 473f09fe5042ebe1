"""What is known of tau2-bench."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages, SourceCheckout

TAU2 = Benchmark(
    name="tau2",
    env_id="palaestra/Tau2-v0",
    title="tau2-bench",
    version="1.0.1",
    licence="MIT",
    source="github.com/sierra-research/tau2-bench at a2c0247; Barres et al. 2025, arXiv:2506.07982",
    installation=Installation(
        packages=(
            Packages(names=("{checkout}",), dependencies=False),
            Packages(
                names=(
                    "addict==2.4.0",
                    "deepdiff==9.1.0",
                    "docstring-parser==0.18.0",
                    "fastapi==0.165.0",
                    "httpx==0.28.1",
                    "litellm==1.82.6",
                    "loguru==0.7.3",
                    "numpy==2.5.5",
                    "openai==3.54.0",
                    "pandas==3.1.1",
                    "psutil==7.2.2",
                    "pydantic==2.14.3",
                    "python-dotenv==1.2.4",
                    "pyyaml==6.0.3",
                    "rank-bm25==0.2.2",
                    "requests==2.34.2",
                    "rich==15.0.0",
                    "tabulate==0.10.0",
                    "tenacity==9.2.1",
                    "toml==0.10.2",
                    "typer==0.29.2",
                    "uvicorn==0.54.0",
                ),
            ),
        ),
        python=(3, 12),
        checkout=SourceCheckout(
            repository="github.com/sierra-research/tau2-bench at a2c0247 (1.0.1)",
            shown_by="src/tau2/domains/telecom/tasks/create_tasks.py",
        ),
    ),
    splits={
        "test": (
            "the official test split (airline 20, retail 40, telecom 40), and the domains that have none "
            "(banking_knowledge 97, mock 10)"
        ),
        "train": "the official training split (airline 30, retail 74, telecom 74)",
    },
    trainable=("train",),
    options={"airline_from": None, "retrieval": "bm25_grep"},
    known_bad={
        "tau2/mock-scripted-user/update_task_with_user_tools": (
            "its assertion needs the user to dismiss a notification, which neither its solution nor a script does"
        ),
    },
    notes=(
        "telecom-solo is the benchmark's own solo mode: the agent has the user's phone too, the ticket is the request, "
        "and no model plays a user; tasks are numbered in the order of the split `base`. In the categories named "
        "*-scripted-user a fixed script stands in for the user that a model plays in the official benchmark: it opens "
        "with the scenario's own text, answers by words in common, and does what the solution has the user do once the "
        "agent has told what that takes. Their scores do not compare with published ones. "
        "The score is the product of the parts of a task's reward basis, by the package's evaluators; NL_ASSERTION "
        "needs a model and is left out, which each task says. "
        "Doing nothing solves 23 of 50 airline tasks (46 %), 11 of 114 in retail (10 %), "
        "none in telecom and banking. "
        "Each of the 40 test tickets of telecom-solo is, word for word, the ticket of a training task too, so that a "
        "trainer refuses these tests by their split and never by their words. "
        "Ten failed calls end an episode with nothing, as there. "
        "Banking's documents are searched as `retrieval` says (bm25_grep, bm25, grep_only, golden_retrieval, full_kb, "
        "no_knowledge; the official default needs an embedding service). Times in search results are shown as 0 ms."
    ),
)
