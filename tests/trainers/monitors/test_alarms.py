"""Alarms: each can sound, none does on a healthy run, and a resumed run hears what the first would have heard."""

from collections.abc import Iterator
from dataclasses import replace

import orjson
import pytest

from palaestra.errors import CheckpointError, ConfigError
from palaestra.seeding import Stream
from palaestra.trainers.monitors import Alarm, AlarmConfig, Alarms, RolloutAlarmConfig

CONFIG = AlarmConfig(window=4)


def healthy(steps: int) -> Iterator[dict[str, float]]:
    """A run that learns: entropy falls slowly, KL and the rest scatter about a level."""
    stream = Stream.root("healthy")

    def about(level: float, spread: float) -> float:
        return level + spread * (stream.below(2001) - 1000) / 1000

    for step in range(steps):
        yield {
            "length/correlation": about(0.1, 0.4),
            "policy/entropy": about(0.8 * 0.97**step, 0.03),
            "policy/ess": about(0.9, 0.08),
            "groups/flat": about(0.4, 0.3),
            "policy/kl": about(0.004, 0.003),
            "collapse/information": about(0.6, 0.1),
            "end/token_budget": about(0.05, 0.05),
            "unfinished": about(0.15, 0.1),
            "solved": about(0.3 + 0.004 * step, 0.1),
            "score/mean": about(0.4 + 0.004 * step, 0.1),
        }


def heard(alarms: Alarms, name: str, values: list[float]) -> list[Alarm]:
    """What sounds at the last of these values, none before it having sounded."""
    *before, last = values
    for step, value in enumerate(before):
        assert alarms.check({name: value}, step) == []
    return alarms.check({name: last}, len(before))


def test_a_healthy_run_is_quiet() -> None:
    alarms = Alarms(AlarmConfig())
    sounded = [alarms.check(metrics, step) for step, metrics in enumerate(healthy(60))]
    assert not any(sounded)


@pytest.mark.parametrize(
    ("name", "values", "alarm", "says"),
    [
        ("length/correlation", [0.4, 0.6, 0.6, 0.6], "reward follows length", "correlation 0.55"),
        ("policy/entropy", [0.01], "entropy collapse", "the floor is 0.02"),
        ("policy/entropy", [0.8, 0.9, 0.8, 0.7, 0.39], "entropy collapse", "usually 0.8"),
        ("policy/entropy", [0.8, 0.9, 0.8, 0.7, 1.7], "entropy explosion", "1.7 nats a token (usually 0.8)"),
        ("policy/entropy", [0.05, 0.05, 0.05, 0.05, 0.51], "entropy explosion", "usually 0.05"),
        ("collapse/information", [0.6, 0.7, 0.6, 0.6, 0.2], "template collapse", "0.2 nats a token of its task"),
        ("policy/ess", [0.49], "few effective samples", "count as 49%"),
        ("groups/flat", [0.7, 0.8, 0.9, 0.9], "groups without gradient", "82% of groups"),
        ("policy/kl", [0.01, 0.01, 0.02, 0.01, 0.06], "KL jump", "usually 0.01"),
        ("end/token_budget", [0.2, 0.2, 0.3, 0.3], "token exhaustion", "25% of episodes ran out of tokens"),
    ],
)
def test_each_alarm_sounds_and_says_what_it_saw(name: str, values: list[float], alarm: str, says: str) -> None:
    (found,) = heard(Alarms(CONFIG), name, values)
    assert found.name == alarm
    assert says in found.sentence
    assert found.step == len(values) - 1


def test_few_effective_samples_ask_for_new_rollouts_and_no_other_alarm_acts() -> None:
    (starved,) = heard(Alarms(CONFIG), "policy/ess", [0.1])
    assert starved.action == "refresh"
    (collapsed,) = heard(Alarms(CONFIG), "policy/entropy", [0.0])
    assert collapsed.action == "tell"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("length/correlation", [0.9, 0.0, 0.0, 0.9]),
        ("length/correlation", [-0.9] * 8),
        ("policy/entropy", [0.8, 0.8, 0.8, 0.8, 0.41]),
        ("policy/entropy", [0.8, 0.8, 0.8, 0.8, 1.5]),
        ("policy/entropy", [0.1, 0.1, 0.1, 0.1, 0.45]),
        ("collapse/information", [0.6, 0.6, 0.6, 0.6, 0.35]),
        ("collapse/information", [-0.1, -0.1, -0.1, -0.1, -0.3]),
        ("policy/ess", [0.5]),
        ("groups/flat", [1.0, 0.5, 0.5, 1.0]),
        ("policy/kl", [1e-6, 1e-6, 1e-6, 1e-6, 0.019]),
        ("policy/kl", [9.0]),
        ("end/token_budget", [0.0, 0.0, 0.8, 0.0]),
    ],
)
def test_what_scatters_or_is_small_is_no_alarm(name: str, values: list[float]) -> None:
    assert heard(Alarms(CONFIG), name, values) == []


def hear_levels(alarms: Alarms, levels: list[dict[str, float]]) -> list[list[str]]:
    """What sounds at the last step of each level, every level lasting a window."""
    step = 0
    names: list[list[str]] = []
    for level in levels:
        sounded: list[str] = []
        for _ in range(CONFIG.window):
            sounded = [alarm.name for alarm in alarms.check(level, step)]
            step += 1
        names.append(sounded)
    return names


def test_unfinished_episodes_that_rise_slowly_are_stalling_unless_more_is_solved() -> None:
    """No step differs from those before by much: only the best level of the run shows the rise."""
    rising = [{"unfinished": 0.1 + 0.04 * n, "solved": 0.3 - 0.01 * n} for n in range(6)]
    assert hear_levels(Alarms(CONFIG), rising) == [[], [], [], [], ["stalling"], ["stalling"]]
    solving = [{"unfinished": 0.1 + 0.04 * n, "solved": 0.3 + 0.01 * n} for n in range(6)]
    assert hear_levels(Alarms(CONFIG), solving) == [[]] * 6
    falling = [{"unfinished": 0.5 - 0.05 * n, "solved": 0.3} for n in range(6)]
    assert hear_levels(Alarms(CONFIG), falling) == [[]] * 6


def test_a_level_as_low_as_the_lowest_takes_its_place() -> None:
    """The share solved is compared with the latest of equal levels, when more was solved."""
    levels = [
        {"unfinished": 0.0, "solved": 0.1},
        {"unfinished": 0.0, "solved": 0.5},
        {"unfinished": 0.3, "solved": 0.4},
    ]
    assert hear_levels(Alarms(CONFIG), levels) == [[], [], ["stalling"]]


def test_points_that_rise_while_the_share_solved_falls_are_an_alarm_and_one_of_both_alone_is_none() -> None:
    apart = [{"solved": 0.4 - 0.03 * n, "score/mean": 0.2 + 0.05 * n} for n in range(5)]
    assert hear_levels(Alarms(CONFIG), apart) == [[], [], [], [], ["points up, solved down"]]
    both = [{"solved": 0.4 - 0.05 * n, "score/mean": 0.2 - 0.05 * n} for n in range(5)]
    assert hear_levels(Alarms(CONFIG), both) == [[]] * 5
    points = [{"solved": 0.4, "score/mean": 0.2 + 0.1 * n} for n in range(5)]
    assert hear_levels(Alarms(CONFIG), points) == [[]] * 5


def test_a_resumed_run_knows_the_best_level() -> None:
    one, other = Alarms(CONFIG), Alarms(CONFIG)
    hear_levels(one, [{"unfinished": 0.1, "solved": 0.3}])
    other.restore(orjson.loads(orjson.dumps(one.state())))
    assert hear_levels(other, [{"unfinished": 0.5, "solved": 0.3}]) == [["stalling"]]


def test_a_new_level_of_kl_is_news_until_it_is_usual() -> None:
    alarms = Alarms(CONFIG)
    assert heard(alarms, "policy/kl", [0.01] * 4 + [0.1])
    sounded = [bool(alarms.check({"policy/kl": 0.1}, step)) for step in range(5, 10)]
    assert sounded == [True, False, False, False, False]


def test_an_alarm_that_lasts_is_new_once_and_again_when_it_has_stopped() -> None:
    alarms = Alarms(CONFIG)
    new: list[list[bool]] = []
    for step, value in enumerate([0.0, 0.0, 0.0, 1.0, 0.0]):
        new.append([alarm.is_new for alarm in alarms.check({"policy/entropy": value}, step)])
        resumed = Alarms(CONFIG)
        resumed.restore(orjson.loads(orjson.dumps(alarms.state())))
        alarms = resumed
    assert new == [[True], [False], [False], [], [True]]


def test_figures_that_are_missing_are_not_judged() -> None:
    alarms = Alarms(CONFIG)
    assert alarms.check({}, 0) == []
    assert alarms.check({"reward/mean": -1e9}, 1) == []


def test_a_resumed_run_hears_what_the_first_would_have_heard() -> None:
    one, other = Alarms(CONFIG), Alarms(CONFIG)
    values = [0.01, 0.02, 0.01, 0.02]
    for step, value in enumerate(values):
        one.check({"policy/kl": value, "policy/entropy": 1.0}, step)
    other.restore(orjson.loads(orjson.dumps(one.state())))
    jump = {"policy/kl": 1.0, "policy/entropy": 0.1}
    assert len(one.check(jump, 4)) == 2
    other.check(jump, 4)
    assert other.state() == one.state()


@pytest.mark.parametrize(
    "state", [{}, {"policy/kl": [0.1]}, {**Alarms(CONFIG).state(), "policy/kl": "0.1"}, {"policy/kl": None}]
)
def test_a_state_that_is_none_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match="the alarms' state"):
        Alarms(CONFIG).restore(state)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("window", 1),
        ("length_correlation", 1.0),
        ("entropy_fall", 0.0),
        ("ess", -0.5),
        ("flat", 2.0),
        ("entropy_floor", -1.0),
        ("kl", -0.1),
        ("kl_jump", 1.0),
        ("token_budget", 0.0),
        ("stalling", 1.0),
        ("solved_fall", -0.1),
    ],
)
def test_settings_that_make_no_sense_are_refused(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{field}={value}"):
        replace(CONFIG, **{field: value})  # type: ignore[arg-type]


# stages with fewer alarms


def test_alarms_of_rollouts_check_nothing_else_and_resume() -> None:
    alarms = Alarms(RolloutAlarmConfig(window=2, token_budget=0.1))
    level = {"end/token_budget": 0.5, "policy/entropy": 0.0, "groups/flat": 1.0, "policy/ess": 0.0}
    assert alarms.check(level, 0) == []
    restored = Alarms(RolloutAlarmConfig(window=2, token_budget=0.1))
    restored.restore(orjson.loads(orjson.dumps(alarms.state())))
    assert [alarm.name for alarm in restored.check(level, 1)] == ["token exhaustion"]


@pytest.mark.parametrize("kind", [RolloutAlarmConfig, AlarmConfig])
@pytest.mark.parametrize("settings", [{"window": 1}, {"token_budget": 0.0}, {"stalling": 1.0}, {"solved_fall": -0.1}])
def test_thresholds_of_rollouts_are_checked_in_both(kind: type[RolloutAlarmConfig], settings: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        kind(**settings)  # type: ignore[arg-type]
