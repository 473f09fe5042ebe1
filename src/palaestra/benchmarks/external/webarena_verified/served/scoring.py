"""The benchmark's own judgement of an answer and of what passed over the network."""

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.protocol import WireCheck, WireCriterion, WireVerdict

# Any: what is installed where this runs, and not where types are checked.
API: Any = import_module("webarena_verified.api")
READER: Any = import_module("webarena_verified.api.internal.data_reader")
CONFIG: Any = import_module("webarena_verified.types.config")


class Scorer:
    """The package's tasks and evaluators.

    Args:
        tasks: A task file in the layout of the package's own, in its place.
        sites: The address of each site, by its name.
    """

    def __init__(self, tasks: str | None, sites: Mapping[str, str]) -> None:
        given: dict[str, Any] = {"test_data_file": Path(tasks)} if tasks else {}
        if tasks:  # the package takes no file of another size than its own
            READER.TOTAL_TASK_COUNT = len(json.loads(Path(tasks).read_text()))
        if sites:
            given["environments"] = {site: {"urls": [url]} for site, url in sites.items()}
        self._verified: Any = API.WebArenaVerified(config=CONFIG.WebArenaVerifiedConfig(**given))
        self.tasks: Mapping[int, Any] = {task.task_id: task for task in self._verified.get_tasks()}

    def criteria(self, task: int) -> list[WireCriterion]:
        """A criterion for each of a task's evaluators."""
        evaluators: list[Any] = list(self.tasks[task].eval)
        share, rest = divmod(100, len(evaluators))
        return [
            {
                "id": _name(number, evaluator.evaluator),
                "text": _TEXTS.get(str(evaluator.evaluator), str(evaluator.evaluator)),
                "kind": "expect",
                "points": share + (number < rest),
            }
            for number, evaluator in enumerate(evaluators)
        ]

    def verdict(
        self, task: int, response: Mapping[str, Any] | None, trace: Path | Sequence[Mapping[str, Any]]
    ) -> WireVerdict:
        """Judge an episode as the package does: all of a task's evaluators have to agree.

        Args:
            task: Its number.
            response: The typed answer, or `None` where there was none.
            trace: What passed over the network: a HAR file, or its entries.
        """
        events = trace if isinstance(trace, Path) else list(trace)
        answer = None if response is None else dict(response)
        result = self._verified.evaluate_task(task_id=task, agent_response=answer, network_trace=events)
        met: dict[str, WireCheck] = {}
        judged: dict[int, Any] = dict(enumerate(result.evaluators_results or ()))
        for number, evaluator in enumerate(self.tasks[task].eval):
            one = judged.get(number)
            met[_name(number, evaluator.evaluator)] = {
                "met": one is not None and str(one.status) == "success",
                "reason": _reason(one) if one is not None else str(result.error_msg or "not judged"),
            }
        return {"points": round(100 * result.score), "passed": result.score == 1.0, "criteria": met}


_TEXTS = {
    "AgentResponseEvaluator": "the typed answer is the expected one",
    "NetworkEventEvaluator": "the expected request was made",
}


def _name(number: int, evaluator: str) -> str:
    return f"{number}-{evaluator.removesuffix('Evaluator')}"


def _reason(one: Any) -> str:
    said = [str(one.error_msg)] if one.error_msg else []
    for assertion in one.assertions or ():
        if str(assertion.status) != "success":
            said += [assertion.assertion_name, *(assertion.assertion_msgs or ())]
    return "; ".join(map(str, said))[:1_000] or str(one.status)
