"""An evaluation: every slot of a suite is played once, written down as it ends, and gone on with after a kill."""

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
"""Episodes that may come to nothing to begin with: refused, not answered, or in worlds that cannot begin."""


@record
class PlayOptions:
    """How it is played; `seconds` decides what is a time-out, and stands in the settings where the caller puts it."""

    concurrency: int = 8
    """Episodes that are played side by side, for agents that play one by one."""
    seconds: float = 600.0
    """That all answers of such an agent may take in an episode. The world's own time is not counted: how fast worlds
    are, and how many share a process, is not the agent's."""
    tries: int = 2
    """Worlds that it is played in before it counts as faulty."""

    def __post_init__(self) -> None:
        """Hold the numbers to their ranges.

        Raises:
            ConfigError: one is out of its range.
        """
        for name in ("concurrency", "tries"):
            if (value := getattr(self, name)) < 1:
                raise ConfigError(f"{name}={value}: it is at least 1")
        if not self.seconds > 0:  # nor is it none
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
    """All that decides what an evaluation comes to.

    Args:
        evaluated_agent: Who plays.
        suite: What is played.
        samples: Episodes of each task.
        seed: Of all luck.
        seconds: That an agent's answers may take in an episode, for agents that play one by one; `None` leaves it out
            of what is compared.
        price_in: Of a million tokens read.
        price_out: Of a million tokens written.

    Raises:
        TaskError: the suite holds no task.
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
    """Episodes that it plays together."""
    return evaluated_agent.block if isinstance(evaluated_agent, EvaluatedBlockAgent) else 1


def evaluate(
    evaluated_agent: EvaluatedAgent,
    journal: Journal,
    options: PlayOptions,
    *,
    progress: Callable[[str], None] = lambda _: None,
    say: Callable[[str], None] = print,
) -> Results:
    """Play whatever of an evaluation has not been played yet.

    Args:
        evaluated_agent: Who plays; the one that the journal's settings describe.
        journal: What has been played, and where the rest is written down.
        options: How.
        progress: Told the task of each episode that has ended.
        say: Told of every fault.

    Raises:
        ConfigError: the agent cannot play a task, or the first requests are all refused, or the first worlds all fail
            to begin, in the same words, or no opening of the first block leaves a checkpoint room for a turn; none of
            them is counted.
        ServerError: the server answers none of the first requests; none of them is counted.
        EngineError: the engine draws nothing for the first block; none of it is counted.
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
    """The blocks that are to be played. Their composition never depends on what was played before."""
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
    """Stop where nothing came of the first block; say which episodes have no score, and where limits are narrow."""
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
    """Whoever gives too few tokens is told so early: what comes of it counts, and reads like a bad policy."""
    episodes = [came.came for came in block if isinstance(came.came, Episode)]
    spent = sum(episode.end is EndReason.TOKEN_BUDGET for episode in episodes)
    if 2 * spent > len(episodes):
        say(f"tokens ran out in {spent} of the first {len(episodes)} episodes, and they count; --context gives more")
    turns = sum(1 for episode in episodes for _ in episode.turns)
    cut = sum(came.spent.troubles.get(CUT_OFF, 0) for came in block)
    if 2 * cut > turns:
        say(f"{cut} of the first {turns} turns were cut off, and are read as far as they go; --turn gives more")


class _Side:
    """Plays episodes side by side."""

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
        self._probing = not journal.done  # a journal holds nothing until something has come of an episode
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
            self._stop.set()  # those under way end with their turn, and the others never begin
            for future in playing:
                future.cancel()
            self._contender.close()  # whoever waits for a server would do so to the end of its patience
            raise

    def _play(self, cell: Cell, episode_key: EpisodeKey) -> Attempt:
        budget = Budget(seconds=self._options.seconds, tries=self._options.tries)
        return play_slot(episode_key, cell, self._contender, self._rooms, budget, self._stop)

    def _take(self, came: Attempt) -> None:
        """Write down what came of a slot, unless nothing did and nobody knows yet whether anything ever will."""
        if isinstance(came.came, EpisodeFault):
            self._say(f"{came.episode_key.id}: no score: {came.came.said}")
        if self._probing and self._nothing(came):
            self._held.append(came)
            return
        self._probing, held, self._held = False, self._held, []
        for one in (came, *held):  # in this order: what is there after a kill shows that something came
            _write(self._journal, [one])
            self._progress(one.episode_key.task)

    def _settle(self) -> None:
        """Stop where nothing came of any so far, for one reason; otherwise they count as what they are."""
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
    """A fault's words, but for the name of its task."""
    return came.came.said.replace(came.episode_key.task, "") if isinstance(came.came, EpisodeFault) else ""


def _nothing_came(held: Sequence[Attempt]) -> ConfigError | ServerError:
    """Why an evaluation stops, none of whose first episodes came to anything."""
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
