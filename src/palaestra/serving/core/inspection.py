"""An author's view of a session: its task, its digests, its score and its solution."""

from collections.abc import Callable, Mapping
from typing import Any

from palaestra.envs import Snapshot, ToolEnv
from palaestra.errors import RequestError
from palaestra.serving.core.items import InspectItem, Part
from palaestra.serving.core.session import ServedSession


def snapshot_facts(taken: Snapshot) -> dict[str, Any]:
    """What an author learns about a snapshot in addition to its name."""
    return {
        "max_turns": taken.max_turns,
        "elapsed": taken.elapsed,
        "answer": taken.answer,
        "end": taken.end,
        "events": taken.events,
    }


def inspect_session(session: ServedSession, item: InspectItem) -> dict[str, Any]:
    """The parts that an item asks for.

    Raises:
        RequestError: "table_ids" is asked for without a table, or the table is unknown.
        EpisodeOverError: no episode has begun.
    """
    return {part: _PARTS[part](session, item) for part in item.parts}


def _table_ids(session: ServedSession, item: InspectItem) -> list[str]:
    if item.table is None:
        raise RequestError("table_ids needs `table`: the name of a table, or '*' for all")
    try:
        return list(session.env.table_ids(item.table))
    except KeyError as error:
        raise RequestError(f"the world has no table {item.table!r}") from error


def _episode(session: ServedSession, _: InspectItem) -> Mapping[str, Any]:
    seed = session.env.episode.seed
    return {"running": session.running is not None, "turn": session.turn, "void": session.void, "seed": seed}


def _of_env(read: Callable[[ToolEnv], Any]) -> Callable[[ServedSession, InspectItem], Any]:
    return lambda session, _: read(session.env)


_PARTS: Mapping[Part, Callable[[ServedSession, InspectItem], Any]] = {
    "anchor": _of_env(lambda env: env.anchor()),
    "digest": _of_env(lambda env: env.digest()),
    "episode": _episode,
    "events": _of_env(lambda env: env.events),
    "legal_actions": lambda session, item: session.env.legal_actions(item.count, seed=item.seed),
    "oracle": _of_env(lambda env: env.oracle()),
    "score": lambda session, _: session.env.score(session.stopped),
    "state_hash": _of_env(lambda env: env.state_hash()),
    "table_ids": _table_ids,
    "task": _of_env(lambda env: env.task),
}
