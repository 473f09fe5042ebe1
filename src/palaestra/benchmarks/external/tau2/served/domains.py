"""The domains: their tasks, and environments that do not touch each other."""

import copy
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.tau2 import layout
from palaestra.benchmarks.external.tau2.served import package
from palaestra.benchmarks.external.tau2.served.tables import fork_database
from palaestra.benchmarks.external.tau2.served.telecom import base_tasks


class Domain:
    """A domain of the package. Any: its own objects.

    Args:
        name: The package's.
        data: The folder that its data is read from.
    """

    solo = False
    """Whether the agent has the user's tools, and no user answers."""

    def __init__(self, name: str, data: Path) -> None:
        self.name = name
        self.folder = data / "tau2" / "domains" / name
        self.module = package.domain_module(name)

    @property
    def category(self) -> str:
        """As it is reported."""
        return f"{self.name}-solo" if self.solo else f"{self.name}-scripted-user"

    @cached_property
    def tasks(self) -> Mapping[str, Any]:
        """Every task, by its short id."""
        return {task.id: task for task in self.module.get_tasks(None)}

    def split(self, task: Any) -> str:
        """The official split."""
        return "train" if task.id in self._train else "test"

    @cached_property
    def _train(self) -> frozenset[str]:
        path = self.folder / "split_tasks.json"
        splits: Any = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        return frozenset(splits.get("train", ())) if splits else frozenset[str]()

    @cached_property
    def lender(self) -> Any:
        """An environment whose databases are forked and never written."""
        return self.module.get_environment()

    def environment(self, task: Any, *, solo_mode: bool = False) -> Any:
        """An environment of one's own, as before the task's preparation."""
        del task
        fresh = self.module.get_environment(db=fork_database(self.lender.tools.db))
        assert not solo_mode
        return fresh

    def policy(self, task: Any) -> str:
        """What an agent of the task is told."""
        del task
        said: str = self.lender.policy
        return said


class Airline(Domain):
    """Its database may be missing."""

    @cached_property
    def lender(self) -> Any:
        """As elsewhere.

        Raises:
            FileNotFoundError: the database is missing; the message says how one gets it.
        """
        if (why := layout.airline_lacking(self.folder.parents[2])) is not None:
            raise FileNotFoundError(why)
        return self.module.get_environment()


class Phone(Domain):
    """A domain whose users have a database of their own."""

    def environment(self, task: Any, *, solo_mode: bool = False) -> Any:
        """With the user's things forked as well."""
        del task
        return self.module.get_environment(
            db=fork_database(self.lender.tools.db),
            user_db=fork_database(self.lender.user_tools.db),
            solo_mode=solo_mode,
        )


class Telecom(Phone):
    """In solo mode: the base split, numbered."""

    solo = True

    @cached_property
    def tasks(self) -> Mapping[str, Any]:
        """The base split; those that the checkout lacks are composed as the package does it."""
        order = json.loads((self.folder / "split_tasks.json").read_text(encoding="utf-8"))["base"]
        found = {task.id: task for task in base_tasks(self.folder, order)}
        return {f"{id[1:].partition(']')[0]}-{number:03}": found[id] for number, id in enumerate(order)}

    def policy(self, task: Any) -> str:
        """That of solo mode."""
        del task
        return self._solo_policy

    @cached_property
    def _solo_policy(self) -> str:
        policy: str = self.module.get_environment(solo_mode=True).policy
        return policy


class Banking(Domain):
    """Its documents are indexed once.

    Args:
        name: The package's.
        data: The folder that its data is read from.
        retrieval: How documents are found, in the package's words.
    """

    def __init__(self, name: str, data: Path, retrieval: str) -> None:
        super().__init__(name, data)
        self._variant = package.RETRIEVAL.resolve_variant(retrieval)

    @cached_property
    def lender(self) -> Any:
        """As elsewhere, with the documents indexed."""
        return self.module.get_environment(retrieval_variant=self._variant.name)

    def environment(self, task: Any, *, solo_mode: bool = False) -> Any:
        """The toolkit of `lender` on a database of its own, without what others unlocked in it."""
        assert not solo_mode
        database = fork_database(self.lender.tools.db)
        tools: Any = copy.copy(self.lender.tools)
        tools.db = database
        tools._user_discoverable_tools_state, tools._agent_discoverable_tools_state = {}, {}
        tools.set_read_log_allowlist(_required_reads(task))
        user_tools = type(self.lender.user_tools)(database)
        return package.ENVIRONMENT.Environment(self.name, self.lender.policy, tools, user_tools)

    def policy(self, task: Any) -> str:
        """The package's, with the task's own documents where the way of finding them is to be given them."""
        policy: str = package.RETRIEVAL.build_policy(self._variant, self._documents, task)
        return policy

    @cached_property
    def _documents(self) -> Any:
        return self.module.get_knowledge_base()


def _required_reads(task: Any) -> set[str]:
    """The tools whose reads the task's solution needs, as the package's runner gathers them."""
    actions: Sequence[Any] = task.evaluation_criteria.actions or ()
    calls = [action for action in actions if action.name == "call_discoverable_agent_tool"]
    return {name for action in calls if (name := action.arguments.get("agent_tool_name"))}


def domains(data: Path, retrieval: str) -> dict[str, Domain]:
    """Every domain, by category."""
    found = [
        Telecom("telecom", data),
        Airline("airline", data),
        Domain("retail", data),
        Banking("banking_knowledge", data, retrieval),
        Phone("mock", data),
    ]
    return {domain.category: domain for domain in found}
