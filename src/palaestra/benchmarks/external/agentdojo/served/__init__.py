"""AgentDojo as it is played: runs where agentdojo is installed.

A task is one of the package's user tasks; with an attack, a pair of a user task and an injection task of one suite.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from palaestra.benchmarks.external.agentdojo.served import package
from palaestra.benchmarks.external.agentdojo.served.episode import AgentDojoEpisode
from palaestra.benchmarks.external.protocol import WireTask

_ROUNDS = 15
"""How often the package's own loop runs calls. It then asks the model once more, and runs no call of that reply."""


class AgentDojo:
    """The four suites.

    Args:
        attack: The package's name of an attack, or "none".
        victim: Whom some attacks speak to, as a key of the package's `MODEL_NAMES`.

    Raises:
        ValueError: there is no such attack or victim.
    """

    def __init__(self, attack: str, victim: str) -> None:
        if attack not in package.attacks():
            raise ValueError(f"attack={attack!r}: choose one of {', '.join(package.attacks())}")
        if victim not in package.MODELS.MODEL_NAMES:
            raise ValueError(f"victim={victim!r}: choose one of {', '.join(package.MODELS.MODEL_NAMES)}")
        self._attacks: dict[str, Any] = (
            {name: package.attack_on(attack, suite, victim) for name, suite in package.suites().items()}
            if attack != package.NO_ATTACK
            else {}
        )

    def version(self) -> str:
        """Of the package."""
        return version("agentdojo")

    def tasks(self) -> list[WireTask]:
        """Every user task, or every pair."""
        return [
            _task(suite, user.ID if injection is None else f"{user.ID}.{injection}", user)
            for suite, its in package.suites().items()
            for user in _by_number(its.user_tasks)
            for injection in self._injection_ids(suite)
        ]

    def _injection_ids(self, suite: str) -> list[str | None]:
        if not self._attacks:
            return [None]
        ids: list[str | None] = [task.ID for task in _by_number(package.suites()[suite].injection_tasks)]
        return ids[:1] if self._attacks[suite].is_dos_attack else ids

    def begin(self, task: str, seed: int) -> AgentDojoEpisode:
        """A task; nothing in it is drawn."""
        del seed
        suite, _, pair = task.partition("/")
        user_id, _, injection_id = pair.partition(".")
        its = package.suites()[suite]
        user = its.user_tasks[user_id]
        if not injection_id:
            return AgentDojoEpisode(suite, user, injections={}, rounds=_rounds(suite, user_id))
        attack, injection = self._attacks[suite], its.injection_tasks[injection_id]
        spliced = attack.attack(user, injection)
        return AgentDojoEpisode(
            suite,
            user,
            injection=injection,
            injections=spliced,
            denial=attack.is_dos_attack,
            rounds=_rounds(suite, user_id),
        )


def _by_number(tasks: Mapping[str, Any]) -> list[Any]:
    return sorted(tasks.values(), key=lambda task: int(task.ID.rpartition("_")[2]))


@cache
def _gold_calls(suite: str, user_id: str) -> int:
    user = package.suites()[suite].user_tasks[user_id]
    return len(user.ground_truth(package.environment(suite, {}, user)))


def _rounds(suite: str, user_id: str) -> int:
    """The package's rounds of calls, or as many as its own solution takes, one call a round."""
    return max(_ROUNDS, _gold_calls(suite, user_id))


def _task(suite: str, name: str, user: Any) -> WireTask:
    calls = _gold_calls(suite, user.ID)
    return {
        "id": f"{suite}/{name}",
        "category": suite,
        "split": "test",
        "max_turns": _rounds(suite, user.ID) + 1,
        "gold_calls": calls,
        "prompt": user.PROMPT,
    }


def bench(options: Mapping[str, Any]) -> AgentDojo:
    """The benchmark."""
    return AgentDojo(str(options["attack"]), str(options["victim"]))
