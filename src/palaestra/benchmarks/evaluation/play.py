"""Plays an evaluation: every episode of a suite once, recorded as it ends, and resumable after a kill."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from platform import python_version
from threading import Event

from palaestra.benchmarks.evaluation.agents.agent import (
    CUT_OFF,
    Attempt,
    EvaluatedAgent,
    EvaluatedBlockAgent,
    EvaluatedEpisodeAgent,
)
from palaestra.benchmarks.evaluation.env_pool import EnvPool
from palaestra.benchmarks.evaluation.episode_key import MOST_SAMPLES, EpisodeKey
from palaestra.benchmarks.evaluation.episodes import Budget, is_refused, play_slot
from palaestra.benchmarks.evaluation.journal import Journal
from palaestra.benchmarks.evaluation.outcome import EpisodeFault
from palaestra.benchmarks.evaluation.results import Results, Settings
from palaestra.benchmarks.evaluation.suite import Cell, Suite
from palaestra.benchmarks.evaluation.tally import outcome_of
from palaestra.errors import ConfigError, EngineError, ServerError, TaskError
from palaestra.record import record
from palaestra.records import EndReason, JsonObject
from palaestra.trajectory import Episode
from palaestra.version import __version__

_UNTRIED = 3
"""How many first episodes may fail: refused, not answered, or in worlds that cannot begin."""


@record
class PlayOptions:
    """Options of playing. `seconds` defines a time-out; it is in the settings only if the caller puts it there."""

    concurrency: int = 8
    """Episodes played in parallel, for agents that play them separately."""
    seconds: float = 600.0
    """Maximum seconds for all answers of such an agent in an episode. The world's own time does not count, since the
    agent cannot influence it."""
    tries: int = 2
    """Worlds in which an episode is tried before it counts as a fault."""

    def __post_init__(self) -> None:
        """Check the ranges of the numbers.

        Raises:
            ConfigError: one is out of its range.
        """
        for name in ("concurrency", "tries"):
            if (value := getattr(self, name)) < 1:
                raise ConfigError(f"{name}={value}: it is at least 1")
        if not self.seconds > 0:  # also false for NaN
            raise ConfigError(f"seconds={self.seconds:g}: a time is above 0; leave it out for the usual one")


def settings_of(
    evaluated_agent: EvaluatedAgent,
    suite: Suite,
    *,
    samples: int,
    seed: int,
    seconds: float | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
) -> Settings:
    """The settings of an evaluation: everything that decides its results.

    Args:
        evaluated_agent: The agent.
        suite: The suite.
        samples: Episodes of each task.
        seed: Random seed.
        seconds: Maximum seconds for an agent's answers in an episode, for agents that play episodes separately; `None`
            leaves it out of the settings.
        price_in: Price of a million tokens read.
        price_out: Price of a million tokens written.

    Raises:
        TaskError: the suite has no task.
        ConfigError: a number is out of range, or the suite names a cell or a task twice.
    """
    if not any(cell.tasks for cell in suite.cells):
        raise TaskError(f"the suite {suite.name} holds no task; choose a split or a category that lists some")
    if not 1 <= samples <= MOST_SAMPLES:
        raise ConfigError(f"samples={samples}: from 1 to {MOST_SAMPLES}")
    if not 0 <= seed < 2**31 // MOST_SAMPLES:
        raise ConfigError(f"seed={seed}: from 0 to {2**31 // MOST_SAMPLES - 1}")
    for name, price in (("price_in", price_in), ("price_out", price_out)):
        if price is not None and not 0 <= price < float("inf"):
            raise ConfigError(f"{name}={price}: a price is a number from 0 on")
    _check_once([cell.id for cell in suite.cells], f"cells of {suite.name}")
    for cell in suite.cells:
        _check_once(cell.tasks, f"tasks of {suite.name}, cell {cell.id}")
    timed: JsonObject = (
        {"seconds": seconds} if seconds is not None and isinstance(evaluated_agent, EvaluatedEpisodeAgent) else {}
    )
    return Settings(
        agent=evaluated_agent.name,
        suite=suite,
        samples=samples,
        seed=seed,
        playing={**evaluated_agent.describe(), **timed},
        versions={"palaestra": __version__, "python": python_version(), **evaluated_agent.versions()},
        price_in=price_in,
        price_out=price_out,
    )


def _check_once(names: Sequence[str], what: str) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else ()):
        raise ConfigError(f"{what}: {', '.join(twice)} twice; an episode has one place")


def block_of(evaluated_agent: EvaluatedAgent) -> int:
    """The number of episodes that an agent plays together."""
    return evaluated_agent.block if isinstance(evaluated_agent, EvaluatedBlockAgent) else 1


def evaluate(
    evaluated_agent: EvaluatedAgent,
    journal: Journal,
    options: PlayOptions,
    *,
    progress: Callable[[str], None] = lambda _: None,
    say: Callable[[str], None] = print,
) -> Results:
    """Play the remaining episodes of an evaluation.

    Args:
        evaluated_agent: The agent that the journal's settings describe.
        journal: The record of finished episodes, to which the rest is added.
        options: The options.
        progress: Called with the task of each finished episode.
        say: Called with every fault.

    Raises:
        ConfigError: the agent cannot play a task; or the first requests are all refused, or the first worlds all fail
            to begin, with the same message; or no opening of the first block leaves a checkpoint room for a turn. None
            of these episodes is counted.
        ServerError: the server answers none of the first requests; none of them is counted.
        EngineError: the engine samples nothing for the first block; none of it is counted.
        UnknownNameError: there is no such task, or world.
    """
    blocks = list(_list_left(evaluated_agent, journal))
    if isinstance(evaluated_agent, EvaluatedBlockAgent):
        first = not journal.done
        for cell, episode_keys in blocks:
            block = evaluated_agent.play(cell, episode_keys, progress=progress, say=say)
            _check_block(block, first=first, say=say)
            _write(journal, block)
            first = False
    else:
        assert isinstance(evaluated_agent, EvaluatedEpisodeAgent), "there are two ways to play"
        _Side(evaluated_agent, journal, options, progress, say).play(
            [(cell, episode_key) for cell, (episode_key,) in blocks]
        )
    return journal.finish()


def _list_left(evaluated_agent: EvaluatedAgent, journal: Journal) -> Iterator[tuple[Cell, tuple[EpisodeKey, ...]]]:
    """The remaining blocks. Their composition does not depend on what was played before."""
    settings = journal.settings
    size = block_of(evaluated_agent)
    for cell in settings.suite.cells:
        episode_keys = [
            EpisodeKey(cell=cell.id, task=task, sample=sample, seed=settings.seed)
            for task in cell.tasks
            for sample in range(settings.samples)
        ]
        for start in range(0, len(episode_keys), size):
            block = tuple(episode_keys[start : start + size])
            if (block[0].cell, block[0].task, block[0].sample) not in journal.done:
                yield cell, block


def _write(journal: Journal, block: Sequence[Attempt]) -> None:
    kept = [came.came for came in block if isinstance(came.came, Episode) and came.episode_key.sample == 0]
    journal.add([outcome_of(came) for came in block], kept)


def _check_block(block: Sequence[Attempt], *, first: bool, say: Callable[[str], None]) -> None:
    """Stop if the first block has no results; report episodes without a score, and limits that are too narrow."""
    faults = [came.came for came in block if isinstance(came.came, EpisodeFault)]
    own = [fault for fault in faults if fault.kind in ("context", "engine", "time")]
    if first and len(own) == len(block):
        each = f"each of the first {len(block)} episodes"
        if own[-1].kind == "context":
            raise ConfigError(f"{each} had no room for a turn, and none is counted: {own[-1].said}")
        raise EngineError(f"{each} was not answered, and none is counted: {own[-1].said}")
    for kind, count in Counter(fault.kind for fault in own).items():
        said = next(fault.said for fault in own if fault.kind == kind)
        say(f"{block[0].episode_key.cell}: {count} of {len(block)} episodes have no score: {said}")
    if first:
        _say_narrow(block, say)


def _say_narrow(block: Sequence[Attempt], say: Callable[[str], None]) -> None:
    """Warn early about too few tokens: the results count, and look like those of a bad policy."""
    episodes = [came.came for came in block if isinstance(came.came, Episode)]
    spent = sum(episode.end is EndReason.TOKEN_BUDGET for episode in episodes)
    if 2 * spent > len(episodes):
        say(f"tokens ran out in {spent} of the first {len(episodes)} episodes, and they count; --context gives more")
    turns = sum(1 for episode in episodes for _ in episode.turns)
    cut = sum(came.spent.troubles.get(CUT_OFF, 0) for came in block)
    if 2 * cut > turns:
        say(f"{cut} of the first {turns} turns were cut off, and are read as far as they go; --turn gives more")


class _Side:
    """Plays episodes in parallel."""

    def __init__(
        self,
        evaluated_agent: EvaluatedEpisodeAgent,
        journal: Journal,
        options: PlayOptions,
        progress: Callable[[str], None],
        say: Callable[[str], None],
    ) -> None:
        self._contender, self._journal, self._options = evaluated_agent, journal, options
        self._progress, self._say = progress, say
        self._rooms = EnvPool()
        self._stop = Event()
        self._probing = not journal.done  # a journal is empty until an episode has a result
        self._held: list[Attempt] = []
        """The first, as long as they came to nothing."""

    def play(self, episode_keys: Sequence[tuple[Cell, EpisodeKey]]) -> None:
        """Play them all."""
        try:
            first = 0
            while self._probing and first < min(_UNTRIED, len(episode_keys)):
                self._take(self._play(*episode_keys[first]))
                first += 1
            self._settle()
            with ThreadPoolExecutor(self._options.concurrency, thread_name_prefix="palaestra-eval") as threads:
                self._gather(
                    [threads.submit(self._play, cell, episode_key) for cell, episode_key in episode_keys[first:]]
                )
        finally:
            self._rooms.close()

    def _gather(self, playing: Sequence["Future[Attempt]"]) -> None:
        try:
            for future in as_completed(playing):
                self._take(future.result())
        except BaseException:
            self._stop.set()  # running episodes end with their turn, and the others never begin
            for future in playing:
                future.cancel()
            self._contender.close()  # otherwise an agent would wait for a server until its timeout
            raise

    def _play(self, cell: Cell, episode_key: EpisodeKey) -> Attempt:
        budget = Budget(seconds=self._options.seconds, tries=self._options.tries)
        return play_slot(episode_key, cell, self._contender, self._rooms, budget, self._stop)

    def _take(self, came: Attempt) -> None:
        """Record an attempt, unless it has no result and it is still unknown whether any will."""
        if isinstance(came.came, EpisodeFault):
            self._say(f"{came.episode_key.id}: no score: {came.came.said}")
        if self._probing and self._nothing(came):
            self._held.append(came)
            return
        self._probing, held, self._held = False, self._held, []
        for one in (came, *held):  # in this order, so that the records after a kill begin with a result
            _write(self._journal, [one])
            self._progress(one.episode_key.task)

    def _settle(self) -> None:
        """Stop if all attempts so far failed for one reason; otherwise count them as they are."""
        held, self._held, self._probing = self._held, [], False
        if held and (held[-1].begun or len({_quote(came) for came in held}) == 1):
            raise _nothing_came(held)
        for came in held:
            _write(self._journal, [came])
            self._progress(came.episode_key.task)

    def _nothing(self, came: Attempt) -> bool:
        if not isinstance(came.came, EpisodeFault):
            return False
        unanswered = came.came.kind in ("server", "time", "reply") and not self._contender.proved
        return is_refused(came) or unanswered or not came.begun


def _quote(came: Attempt) -> str:
    """A fault's message without the name of its task."""
    return came.came.said.replace(came.episode_key.task, "") if isinstance(came.came, EpisodeFault) else ""


def _nothing_came(held: Sequence[Attempt]) -> ConfigError | ServerError:
    """The error of an evaluation whose first episodes all failed."""
    last = held[-1]
    assert isinstance(last.came, EpisodeFault), "nothing came of it"
    each = f"each of the first {len(held)} episodes"
    if is_refused(last):
        return ConfigError(f"{each} was refused, and none is counted: {last.came.said}")
    if not last.begun:
        return ConfigError(f"{each} had a world that could not begin, and none is counted: {last.came.said}")
    if last.came.kind == "reply":
        return ServerError(f"{each} got no chat completion, and none is counted: {last.came.said}")
    return ServerError(f"{each} was not answered, and none is counted: {last.came.said}")
