"""`palaestra.make` is `gymnasium.make`, and its types name every setting, world, format and switch that there is."""

import inspect
from dataclasses import fields
from typing import Any, get_args

import gymnasium as gym
import pytest

import palaestra
from palaestra import env_settings
from palaestra.benchmarks.external.env import ExternalEnv
from palaestra.envs import ToolEnv
from palaestra.envs.injections import InjectionChoice
from palaestra.envs.noise import Noise
from palaestra.envs.surfaces.pages.disturbances import DisturbanceSettings
from palaestra.envs.surfaces.pages.settings import DialectName, Extent, PageSettings, Renderer
from palaestra.envs.synthesis import ManyWorldsEnv
from palaestra.envs.user.tempers import TEMPERS
from palaestra.envs.wording.styles import WORDINGS
from palaestra.errors import UnknownNameError
from palaestra.packs import installed_packs
from palaestra.tools import FORMATS
from worlds.registration import LIBRARY_ID

TASK = "library/renew-loan/0000"


def keywords(function: Any) -> set[str]:
    """The names of a function's keyword arguments, without those that have no name of their own."""
    parameters = inspect.signature(function).parameters.values()
    return {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}


def test_make_gives_what_gymnasium_gives() -> None:
    ours: Any = palaestra.make(LIBRARY_ID, task=TASK, noise={"failures": 50}, action_format="json")
    theirs: Any = gym.make(LIBRARY_ID, task=TASK, noise={"failures": 50}, action_format="json")
    assert (type(ours), ours.spec) == (type(theirs), theirs.spec)
    assert ours.reset(seed=3)[0] == theirs.reset(seed=3)[0]
    action = {"tool": "get_loan", "arguments": {"loan_id": "LN-1"}}
    assert ours.step(action)[:4] == theirs.step(action)[:4]
    assert ours.unwrapped.digest() == theirs.unwrapped.digest()


def test_make_refuses_what_gymnasium_refuses() -> None:
    with pytest.raises(gym.error.Error):
        palaestra.make("palaestra/Nowhere-v0")
    with pytest.raises(UnknownNameError, match="did you mean 'hermes'"):
        palaestra.make(LIBRARY_ID, action_format="herms")
    with pytest.raises(TypeError, match="handbok"):
        palaestra.make(LIBRARY_ID, handbok=1)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


def test_every_setting_of_a_world_is_typed() -> None:
    assert set(env_settings.EnvSettings.__annotations__) == keywords(ToolEnv.__init__)
    added = set(env_settings.SynthSettings.__annotations__) - set(env_settings.EnvSettings.__annotations__)
    assert added == {"world"} | (keywords(ManyWorldsEnv.__init__) - {"split"})


def test_every_setting_of_a_benchmark_is_typed() -> None:
    source = inspect.getsource(env_settings)
    overload = source.partition("env_id: BenchmarkId,")[2].partition("-> Env")[0]
    assert all(f"\n    {name}: " in overload for name in keywords(ExternalEnv.__init__))


def test_every_switch_is_typed() -> None:
    for switches, kind in (
        (env_settings.NoiseSwitches, Noise),
        (env_settings.InjectionParts, InjectionChoice),
        (env_settings.PageSwitches, PageSettings),
        (env_settings.DisturbanceSwitches, DisturbanceSettings),
    ):
        assert set(switches.__annotations__) == {field.name for field in fields(kind)}


def test_every_name_is_listed() -> None:
    assert list(get_args(env_settings.FormatName)) == list(FORMATS)
    assert get_args(env_settings.BenchmarkId) == palaestra.BENCHMARKS
    ours = {pack.env_id for pack in installed_packs() if pack.source == "Palaestra"}
    assert set(get_args(env_settings.WorldId)) == ours
    assert set(get_args(env_settings.WordingName)) == set(WORDINGS)
    assert set(get_args(env_settings.TemperName)) == set(TEMPERS)
    assert get_args(env_settings.DialectChoice) == get_args(DialectName)
    annotations = env_settings.PageSwitches.__annotations__
    assert (annotations["extent"], annotations["renderer"]) == (Extent, Renderer)
