"""Work that textworld repeats in each episode and at each step, done once. What a game says stays the same."""

from collections.abc import Callable
from copy import copy
from functools import lru_cache
from importlib import import_module
from typing import Any

# Any: what is installed where this runs, and not where types are checked.
DOWNWARD: Any = import_module("fast_downward")
LOGIC: Any = import_module("textworld.logic")
GAMES: Any = import_module("textworld.envs.pddl.logic")
TEXT: Any = import_module("textworld.envs.pddl.textgen")

_GAMES = 256
"""Games whose translation is kept."""
_TEXTS = 4096
"""Texts of the grammar, and queries, that are kept as parsed."""
_free: list[Any] = []
"""Copies of the planner's library that no episode uses. Each takes 3.5 MB, and to unload one ends the process later."""
_load: Callable[[], Any] = DOWNWARD.load_lib
_translate: Callable[..., Any] = DOWNWARD.pddl2sas
_parse: Callable[..., Any] = TEXT._parse_and_convert


def reuse_work() -> None:
    """Have textworld reuse translations, parsed texts and libraries, in this process."""
    DOWNWARD.pddl2sas = _translate_once
    DOWNWARD.load_lib = lambda: _free.pop() if _free else _load()
    LOGIC._parse_and_convert = lru_cache(_TEXTS)(LOGIC._parse_and_convert)
    GAMES._parse_and_convert = lru_cache(_GAMES)(GAMES._parse_and_convert)
    TEXT._parse_and_convert = _parse_once
    TEXT.copy_context = _copy_context


def free_library(library: Any) -> None:
    """Give the library of an episode that is over to another."""
    library.cleanup()
    _free.append(library)


def find_plan(env: Any) -> list[str]:
    """The planner's commands from where a game stands; its own translation of the problem is made for this alone."""
    state = env._pddl_state
    _, translation = _translate(env._logic.domain, state.pddl_problem, optimize=True)
    state.downward_lib.load_sas_replan(translation.encode())
    commands: list[str] = state.replan(env._entity_infos)
    return commands


@lru_cache(_GAMES)
def _translate_cached(domain: str, problem: str) -> Any:
    return _translate(domain, problem)


def _translate_once(domain: str, problem: str, **_: bool) -> Any:
    """A problem's translation, made once; the one for the planner is made where a plan is asked for."""
    return _translate_cached(domain, problem)


@lru_cache(_TEXTS)
def _parse_cached(text: str, rule_name: str) -> Any:
    return _parse(text, rule_name=rule_name)


def _parse_once(text: str, rule_name: str, **_: Any) -> Any:
    """The symbols of a text, which is parsed once; they are copied, since a derivation writes its context into them."""
    return [_copy_symbol(symbol) for symbol in _parse_cached(text, rule_name)]


def _copy_symbol(symbol: Any) -> Any:
    own = copy(symbol)
    for name in ("symbol", "expression"):
        if isinstance(inner := getattr(own, name, None), TEXT.Symbol):
            setattr(own, name, _copy_symbol(inner))
    return own


def _copy_context(context: Any) -> Any:
    """A copy of which each derivation may fill in its own variables; the values are only read."""
    return {**context, "variables": dict(context["variables"]), "mapping": dict(context["mapping"])}
