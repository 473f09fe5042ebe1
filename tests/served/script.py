"""The same random batches for several core runners, whose answers have to be the same bytes."""

from collections.abc import Sequence
from random import Random
from typing import Any

import orjson

from palaestra.serving.access import Caller
from palaestra.serving.core import OPERATIONS
from served import AUTHOR, OTHER, PLAYER
from served.pool import RunnerUnderTest

FINISH: dict[str, Any] = {"tool": "finish", "arguments": {}}
_OFTEN = ["create", *["reset"] * 5, *["step"] * 8, *["fork"] * 2, *["snapshot"] * 2, *["restore"] * 4, *["drop"] * 2]


def codes(results: list[dict[str, Any]]) -> list[str]:
    """How the items of a batch ended."""
    return [result["error"]["code"] if "error" in result else "ok" for result in results]


class Script:
    """Random batches, written for sessions by order of appearance."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)  # noqa: S311  no secret
        self.requests = 0

    def batch(self) -> tuple[Caller, str, list[dict[str, Any]]]:
        """A batch of one operation; sessions and snapshots are numbers."""
        random = self.random
        who = random.choice([*[AUTHOR] * 12, PLAYER, OTHER])
        name = random.choice([*_OFTEN, *OPERATIONS])
        return who, name, [self.item(name) for _ in range(random.randint(1, 1 if name in ("close", "drop") else 6))]

    def item(self, name: str) -> dict[str, Any]:
        """An item of an operation."""
        random = self.random
        if name in ("create", "tasks"):
            world = random.choice(["library", "paid", "paid", "nowhere"])
            key = random.choice([{}, {"request": f"{self.seed}-c{random.randrange(20)}"}])
            return {"world": world, **(key if name == "create" else {})}
        if name == "drop":
            return {"snapshot": random.randrange(20)}
        item: dict[str, Any] = {"session": random.randrange(8)}
        if name == "reset":
            item["seed"] = random.randrange(5)
        if name == "step":
            call = {"tool": "search_books", "arguments": {"text": random.choice("abc")}}
            item["action"] = random.choice([FINISH, call, call, [call, call], "some text", 5, []])
        if name == "restore":
            item["snapshot"] = random.randrange(6)
        if name == "inspect":
            item["parts"] = random.choice([["digest", "score"], ["episode", "task", "oracle"]])
        return item if name in ("drop", "heartbeat", "observe", "close", "inspect") else {**item, **self.request()}

    def request(self) -> dict[str, str]:
        """A request key, a fresh or a used one, or none."""
        self.requests += 1
        fresh, used = (f"{self.seed}-{n}" for n in (self.requests, self.random.randrange(self.requests)))
        return self.random.choice([{}, {"request": fresh}, {"request": fresh}, {"request": used}])


class Played:
    """A runner that plays a script; ids are written as their order of appearance."""

    def __init__(self, cores: RunnerUnderTest) -> None:
        self.cores = cores
        self.ids: dict[str, list[str]] = {"session": [], "snapshot": []}

    def send(self, who: Caller, name: str, items: list[dict[str, Any]]) -> bytes:
        """The answer to a batch."""
        named = [{key: self._id(key, value) for key, value in item.items()} for item in items]
        body = orjson.dumps({"items": named})
        batch = self.cores.reader.read(OPERATIONS[name], body)
        answer = self.cores.wait(self.cores.runner.run(who, batch)).body
        for result in orjson.loads(answer)["results"]:
            for kind, known in self.ids.items():
                id_ = result.get("ok", {}).get(kind)
                if id_ is not None and id_ not in known:
                    known.append(id_)
        for kind, known in self.ids.items():
            for number, id_ in enumerate(known):
                answer = answer.replace(id_.encode(), f"{kind}-{number}".encode())
        return answer

    def _id(self, key: str, value: Any) -> Any:
        if key not in self.ids:
            return value
        known = self.ids[key]
        if not known or value == 0:
            return f"no-{key}"
        place: int = -1 - int(value) % min(len(known), 8)
        return known[place]  # one of the latest: others are closed or dropped

    def listing(self) -> list[dict[str, Any]]:
        """The sessions, by order of appearance."""
        shown = self.cores.wait(self.cores.runner.list_sessions(AUTHOR))
        named = [{**one, "session": self.ids["session"].index(one["session"]), "expires_in": 0} for one in shown]
        return sorted(named, key=lambda one: one["session"])

    def clean_up(self) -> None:
        """Close all sessions and drop all snapshots."""
        for who in (AUTHOR, PLAYER, OTHER):
            shown = self.cores.wait(self.cores.runner.list_sessions(who))
            self.cores.send(who, "close", *({"session": one["session"]} for one in shown))
            self.cores.send(who, "drop", *({"snapshot": id_} for id_ in self.ids["snapshot"]))


def play_alike(runners: Sequence[RunnerUnderTest], *, scripts: int, batches: int) -> set[str]:
    """Play scripts by each runner, and hold all answers, listings and counts to be equal; gives what has happened."""
    found: set[str] = set()
    for seed in range(scripts):
        played = [Played(cores) for cores in runners]
        script = Script(seed)
        for _ in range(batches):
            batch = script.batch()
            for _ in range(script.random.choice([1, 1, 2])):  # a request may be sent again
                first, *others = [each.send(*batch) for each in played]
                assert others == [first] * len(others), batch
                found.update(f"{batch[1]} {code}" for code in codes(orjson.loads(first)["results"]))
        first_listing, *listings = [each.listing() for each in played]
        assert listings == [first_listing] * len(listings)
        held, *others_held = [each.cores.counts() for each in played]
        assert others_held == [held] * len(others_held)
        for each in played:
            each.clean_up()
    return found
