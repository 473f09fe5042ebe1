"""What is known of AgentDojo."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages

AGENTDOJO = Benchmark(
    name="agentdojo",
    env_id="palaestra/AgentDojo-v0",
    title="AgentDojo",
    version="0.1.35",
    licence="MIT",
    source="agentdojo on PyPI; Debenedetti et al. 2024, arXiv:2406.13352",
    installation=Installation(
        packages=(
            Packages(
                names=(
                    "agentdojo==0.1.35",
                    "anthropic==2.12.0",
                    "cohere==7.3.1",
                    "deepdiff==9.1.0",
                    "docstring-parser==0.18.0",
                    "email-validator==2.4.0",
                    "google-genai==3.4.0",
                    "langchain==1.4.7",
                    "openai==3.54.0",
                    "pydantic==2.14.3",
                    "pyyaml==6.0.3",
                    "tenacity==9.1.4",
                ),
            ),
        ),
    ),
    splits={"test": "all tasks of the four suites at benchmark version v1.2.2; there is no split for training"},
    versions=r"(agentdojo/\w+/user_task_\d+)\.injection_task_\d+",
    options={"attack": "none", "victim": "local"},
    notes=(
        "A task is a user task alone, or, with an `attack`, a pair of a user task and an injection task of its suite "
        "(949 pairs at v1.2.2; the paper's 629 are those of v1). `utility` is the package's judgement of the user's "
        "task, and decides the points; `attack` says whether the injected goal was reached, and costs no points. "
        "The option `attack` names an attack of the package that needs no person; `victim` is the model's name by "
        "which some attacks speak to it (a key of the package's MODEL_NAMES). 8 of the 14 injection tasks of workspace "
        "(injection_task_6 to injection_task_13) have no solution in the package. "
        "The clock of sent mail and new files stands still at noon of 2024-05-15, the suites' current day. "
        "A judgement that raises over what an agent left counts as not reached, and the reason says so."
    ),
)
