"""Alarms: early reports of defects in a run, before it wastes a night.

Each alarm checks one figure of a step. Some compare it with its usual value in earlier steps, the median of a window:
a lasting level becomes usual, so only a change raises an alarm. Two alarms compare the mean over a window with the best
such mean of the run, and check two figures (`drift`): stalling, and points that rise while the share solved falls.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from statistics import fmean, median
from typing import Literal, TypeAlias

from palaestra.errors import CheckpointError, ConfigError
from palaestra.records import JsonObject
from palaestra.trainers.monitors.drift import Drift, DriftWatch
from palaestra.trainers.monitors.policy import ENTROPY, ESS, KL
from palaestra.trainers.monitors.rollouts import (
    GROUPS_FLAT,
    LENGTH_CORRELATION,
    POINTS,
    SOLVED_SHARE,
    TOKEN_BUDGET,
    UNFINISHED,
)
from palaestra.trainers.monitors.templates import INFORMATION
from palaestra.trainers.objectives.objective import Metrics

AlarmAction: TypeAlias = Literal["tell", "refresh"]
"""A loop's reaction: record the alarm; or also drop waiting rollouts and play new ones with the newest weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A sign of a defect that a person should look at."""

    name: str
    value: float
    threshold: float
    """The threshold that `value` passed."""
    sentence: str
    """What the alarm means, and what to do about it."""
    action: AlarmAction = "tell"
    step: int = 0
    is_new: bool = True
    """Whether the figure raised no alarm at the step before; a lasting alarm is reported once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutAlarmConfig:
    """The thresholds of the alarms of rollouts, which every stage that samples with changing weights has."""

    window: int = 8
    """The number of steps that determine the usual value; with fewer steps, nothing is compared."""
    token_budget: float = 0.2
    """The largest share of episodes that run out of tokens, as a mean over the window."""
    stalling: float = 0.15
    """The largest rise of the share of unfinished episodes over its lowest mean over a window, while the share solved
    does not rise."""
    solved_fall: float = 0.1
    """The largest fall of the share solved below its highest mean over a window, while points are higher than then."""

    def __post_init__(self) -> None:
        if self.window < 2:
            raise ConfigError(f"window={self.window}: what is usual takes 2 steps or more")
        _check_shares(token_budget=self.token_budget, stalling=self.stalling, solved_fall=self.solved_fall)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmConfig(RolloutAlarmConfig):
    """The thresholds of all alarms."""

    length_correlation: float = 0.5
    """The highest mean correlation between reward and length over the window."""
    entropy_floor: float = 0.02
    """The lowest entropy, in nats per token."""
    entropy_fall: float = 0.5
    """The share of its usual value by which entropy may fall in a step."""
    entropy_rise: float = 1.0
    """The share of its usual value by which entropy may rise in a step: with 1 it may double."""
    entropy_calm: float = 0.5
    """The entropy below which no rise raises an alarm, in nats per token."""
    information_fall: float = 0.5
    """The share of its usual value by which the information of texts about their tasks may fall between two probes."""
    ess: float = 0.5
    """The least effective share of the tokens."""
    flat: float = 0.8
    """The largest share of groups without a gradient, as a mean over the window."""
    kl: float = 0.02
    """The KL below which no jump raises an alarm, in nats per token."""
    kl_jump: float = 5.0
    """The largest multiple of its usual value that KL may reach."""

    def __post_init__(self) -> None:
        RolloutAlarmConfig.__post_init__(self)  # super() does not work in a dataclass with slots
        _check_shares(
            length_correlation=self.length_correlation,
            entropy_fall=self.entropy_fall,
            information_fall=self.information_fall,
            ess=self.ess,
            flat=self.flat,
        )
        if self.entropy_rise <= 0 or self.entropy_calm < 0:
            raise ConfigError(
                f"entropy_rise={self.entropy_rise} is above 0, and entropy_calm={self.entropy_calm} is 0 or more"
            )
        if self.entropy_floor < 0 or self.kl < 0 or self.kl_jump <= 1:
            raise ConfigError(
                f"entropy_floor={self.entropy_floor}, kl={self.kl} are 0 or more, and kl_jump={self.kl_jump} above 1"
            )


class Alarms:
    """Watches a run, step by step.

    Args:
        config: The thresholds of the alarms. Figures without a threshold are not checked.
    """

    def __init__(self, config: RolloutAlarmConfig) -> None:
        is_whole = isinstance(config, AlarmConfig)
        self._config = config if isinstance(config, AlarmConfig) else AlarmConfig(**asdict(config))
        self._unchecked = frozenset[str]() if is_whole else frozenset(_WATCHED) - {TOKEN_BUDGET}
        self._seen: dict[str, list[float]] = {name: [] for name in _WATCHED}
        self._sounding: set[str] = set()
        self._checks: Mapping[str, Callable[[float, list[float]], Alarm | None]] = {
            LENGTH_CORRELATION: self._length,
            ENTROPY: self._entropy,
            ESS: self._ess,
            GROUPS_FLAT: self._flat,
            KL: self._kl,
            INFORMATION: self._information,
            TOKEN_BUDGET: self._tokens,
        }
        window = config.window
        self._drifts: Mapping[str, tuple[DriftWatch, Callable[[Drift], Alarm | None]]] = {
            _STALLING: (DriftWatch(UNFINISHED, SOLVED_SHARE, best="lowest", window=window), self._stalling),
            _APART: (DriftWatch(SOLVED_SHARE, POINTS, best="highest", window=window), self._apart),
        }

    def check(self, metrics: Metrics, step: int) -> list[Alarm]:
        """Return the alarms of a step and store its figures; so check each step once, in order.

        Args:
            metrics: The figures of the step; missing ones are not checked.
            step: The step's number, for the record.
        """
        sounded: list[Alarm] = []
        for name, check in self._checks.items():
            if name not in metrics or name in self._unchecked:
                continue
            before = self._seen[name]
            alarm = check(metrics[name], before)
            self._seen[name] = [*before, metrics[name]][-self._config.window :]
            sounded += self._sound(name, alarm, step)
        for name, (watch, judge) in self._drifts.items():
            drift = watch.observe(metrics)
            if drift is not None:
                sounded += self._sound(name, judge(drift), step)
        return sounded

    def _sound(self, name: str, alarm: Alarm | None, step: int) -> list[Alarm]:
        """Record whether an alarm is raised, and return it with its step; an empty list without an alarm."""
        if alarm is None:
            self._sounding.discard(name)
            return []
        is_new = name not in self._sounding
        self._sounding.add(name)
        return [replace(alarm, step=step, is_new=is_new)]

    def state(self) -> JsonObject:
        """The state to save with a checkpoint."""
        state: JsonObject = {name: list(values) for name, values in self._seen.items()}
        for name, (watch, _) in self._drifts.items():
            state |= {f"{name}/{part}": list(values) for part, values in watch.state().items()}
        state[_SOUNDING] = [*sorted(self._sounding)]
        return state

    def restore(self, state: Mapping[str, object]) -> None:
        """Continue from a result of `state`.

        Raises:
            CheckpointError: the value is not a result of `state`.
        """
        sounding = state.get(_SOUNDING)
        if set(state) != set(self.state()) or not isinstance(sounding, list):
            raise CheckpointError(
                f"the alarms' state is of {', '.join(sorted(state)) or 'nothing'} and should be of "
                f"{', '.join(self.state())}; take the checkpoint before this one"
            )
        self._seen = {name: _numbers(name, state[name]) for name in _WATCHED}
        for name, (watch, _) in self._drifts.items():
            parts = {part: f"{name}/{part}" for part in watch.state()}
            watch.restore({part: _numbers(full, state[full]) for part, full in parts.items()})
        self._sounding = {name for name in (*_WATCHED, *self._drifts) if name in sounding}

    def _length(self, value: float, before: list[float]) -> Alarm | None:
        """Check a mean over the window: one step has few episodes, so its correlation scatters."""
        recent = self._recent(before, value)
        most = self._config.length_correlation
        if recent is None or recent <= most:
            return None
        return Alarm(
            name="reward follows length",
            value=recent,
            threshold=most,
            sentence=f"Over the last {self._config.window} steps the reward of an episode followed its length within "
            f"its group (correlation {recent:.2f}, above {most:g}): the policy may be paid for writing more. Read the "
            "longest episodes, and take length out of the reward or use an objective that divides by it.",
        )

    def _entropy(self, value: float, before: list[float]) -> Alarm | None:
        floor = self._config.entropy_floor
        usual = self._usual(before)
        least = floor if usual is None else max(floor, (1 - self._config.entropy_fall) * usual)
        if value >= least:
            return self._explosion(value, usual)
        how = f"usually {usual:.3g}" if least > floor and usual is not None else f"the floor is {floor:g}"
        return Alarm(
            name="entropy collapse",
            value=value,
            threshold=least,
            sentence=f"The policy is left with {value:.3g} nats a token ({how}): it tries little that is new, and "
            "groups will turn out equal. Go back to an earlier checkpoint with a lower learning rate, a wider upper "
            "clip or an entropy bonus.",
        )

    def _explosion(self, value: float, usual: float | None) -> Alarm | None:
        if usual is None:
            return None
        most = max(self._config.entropy_calm, (1 + self._config.entropy_rise) * usual)
        if value <= most:
            return None
        return Alarm(
            name="entropy explosion",
            value=value,
            threshold=most,
            sentence=f"The policy is spread over {value:.3g} nats a token (usually {usual:.3g}): it is coming apart, "
            "and its texts will turn to noise. Go back to an earlier checkpoint with a lower learning rate, without an "
            "entropy bonus, or with stale rollouts corrected; look for negative advantages on rare tokens.",
        )

    def _information(self, value: float, before: list[float]) -> Alarm | None:
        usual = self._usual(before)
        if usual is None or usual <= 0:
            return None
        least = (1 - self._config.information_fall) * usual
        if value >= least:
            return None
        return Alarm(
            name="template collapse",
            value=value,
            threshold=least,
            sentence=f"What the policy writes tells {value:.2g} nats a token of its task (usually {usual:.2g}): one "
            "template is taking over, whatever entropy says. Read first turns of different tasks; filter for groups "
            "that differ, or go back to an earlier checkpoint.",
        )

    def _ess(self, value: float, before: list[float]) -> Alarm | None:
        del before
        least = self._config.ess
        if value >= least:
            return None
        return Alarm(
            name="few effective samples",
            value=value,
            threshold=least,
            sentence=f"The tokens of this step count as {value:.0%} of as many fresh ones (below {least:.0%}): the "
            "weights have moved too far from those that drew them. Rollouts that wait are drawn anew; if it goes on, "
            "allow less staleness or a lower learning rate.",
            action="refresh",
        )

    def _flat(self, value: float, before: list[float]) -> Alarm | None:
        recent = self._recent(before, value)
        most = self._config.flat
        if recent is None or recent <= most:
            return None
        return Alarm(
            name="groups without gradient",
            value=recent,
            threshold=most,
            sentence=f"Over the last {self._config.window} steps {recent:.0%} of groups had equal returns throughout "
            f"(above {most:.0%}): those rollouts taught nothing. The tasks are too easy or too hard for this policy; "
            "choose others, larger groups or a denser reward.",
        )

    def _kl(self, value: float, before: list[float]) -> Alarm | None:
        usual = self._usual(before)
        if usual is None:
            return None
        most = max(self._config.kl, self._config.kl_jump * usual)
        if value <= most:
            return None
        return Alarm(
            name="KL jump",
            value=value,
            threshold=most,
            sentence=f"The policy is {value:.3g} nats a token away from the weights that drew this step's tokens "
            f"(usually {usual:.2g}): either one update went far, or the engine and the learner disagree on the "
            "weights. Compare their log-probabilities at staleness 0; if those agree, lower the learning rate.",
        )

    def _tokens(self, value: float, before: list[float]) -> Alarm | None:
        recent = self._recent(before, value)
        most = self._config.token_budget
        if recent is None or recent <= most:
            return None
        return Alarm(
            name="token exhaustion",
            value=recent,
            threshold=most,
            sentence=f"Over the last {self._config.window} steps {recent:.0%} of episodes ran out of tokens (above "
            f"{most:.0%}): they end before the work is done. Raise play.context or play.turn, use a shorter rendering, "
            "or pay unfinished episodes less.",
        )

    def _stalling(self, drift: Drift) -> Alarm | None:
        now, best = drift.now, drift.best
        rise = now.watched - best.watched
        if rise <= self._config.stalling or now.other > best.other:
            return None
        return Alarm(
            name="stalling",
            value=rise,
            threshold=self._config.stalling,
            sentence=f"Over the last {self._config.window} steps {now.watched:.0%} of episodes were unfinished (at "
            f"best {best.watched:.0%}), and {now.other:.0%} solved their task (then {best.other:.0%}): the policy "
            "learns not to end. Pay unfinished episodes less or solved tasks alone, or look for unreadable turns.",
        )

    def _apart(self, drift: Drift) -> Alarm | None:
        now, best = drift.now, drift.best
        fall = best.watched - now.watched
        if fall <= self._config.solved_fall or now.other <= best.other:
            return None
        return Alarm(
            name="points up, solved down",
            value=fall,
            threshold=self._config.solved_fall,
            sentence=f"Over the last {self._config.window} steps {now.watched:.0%} of episodes solved their task (at "
            f"best {best.watched:.0%}), while they won {now.other:.0%} of the points (then {best.other:.0%}): the "
            "reward pays for something that does not solve tasks. Pay solved tasks alone, or read what is paid.",
        )

    def _usual(self, before: list[float]) -> float | None:
        return median(before) if len(before) == self._config.window else None

    def _recent(self, before: list[float], value: float) -> float | None:
        recent = [*before, value][-self._config.window :]
        return fmean(recent) if len(recent) == self._config.window else None


_SOUNDING = "sounding"
_STALLING, _APART = "stalling", "apart"
"""The names of the drifts in the state."""
_WATCHED = (LENGTH_CORRELATION, ENTROPY, ESS, GROUPS_FLAT, KL, INFORMATION, TOKEN_BUDGET)


def _check_shares(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 < value < 1:
            raise ConfigError(f"{name}={value}: must lie between 0 and 1, both excluded")


def _numbers(name: str, values: object) -> list[float]:
    if not isinstance(values, list):
        raise CheckpointError(f"the alarms' state of {name} is {values!r} and should be a list of numbers")
    return [float(str(value)) for value in values]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
