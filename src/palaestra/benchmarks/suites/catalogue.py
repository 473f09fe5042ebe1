"""Suites by name, each loaded on first use.

A name is that of a world ("storefront"), of a benchmark with or without a category ("bfcl", "bfcl/multi_turn_base"), or
of a ladder of shifts ("ood"), or a folder or file of task files.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields
from inspect import signature
from pathlib import Path
from typing import Any

from palaestra.benchmarks.evaluation.suite import Suite
from palaestra.benchmarks.external import BENCHMARKS
from palaestra.envs.target import find_world, is_pack
from palaestra.errors import ConfigError, UnknownNameError
from palaestra.packs import DEFAULT, PACKS
from palaestra.record import record
from palaestra.records import Json
from palaestra.registry import Registry

SUITES: Registry[Callable[..., Suite]] = Registry("suite")
SUITES.register("ood", "palaestra.benchmarks.suites.ood:suite")
SUITES.register("synth", "palaestra.benchmarks.suites.generated:suite")
SUITES.register("injections", "palaestra.benchmarks.suites.injections:suite")


@record
class SuiteOptions:
    """The part of a suite to play, and the switches of its worlds. A suite refuses unknown options."""

    split: str | None = None
    """The split of the tasks; each suite has a default."""
    limit: int | None = None
    """Maximum tasks per cell, taken evenly from all."""
    worlds: tuple[str, ...] = ()
    """Palaestra worlds, by id or folder."""
    families: tuple[str, ...] = ()
    """The families of a Palaestra world or of task files to play; by default all."""
    axes: tuple[str, ...] = ()
    """Ladders, for suites with ladders."""
    switches: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The switches of a Palaestra world: surface, handbook and noise. Any: arguments of `gymnasium.make`."""
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Options of an external benchmark or a ladder, such as the `families` that an agent was trained on."""


def suite_of(name: str | None, options: SuiteOptions) -> Suite:
    """The suite with a name; without a name, the tasks of the worlds in the options.

    Raises:
        UnknownNameError: there is no such suite, split, category, axis or option.
        ConfigError: the suite does not take an option, or a benchmark is not installed.
        TaskError: the suite would have no task, or task files break a rule.
    """
    if options.limit is not None and options.limit < 1:
        raise ConfigError(f"limit={options.limit}: a cell has one task at least; leave it out for all")
    if name is None or name in PACKS.ids or is_pack(name):
        targets = [*([] if name is None else [name]), *options.worlds]
        for target in targets:
            find_world(target)  # `--world` takes no folder of task files
        return _of_worlds(targets, options)
    benchmark, _, category = name.partition("/")
    if name in SUITES:
        _refuse(name, options, {"limit", "axes", "options", "worlds"})
        make = SUITES.get(name)
        if options.worlds and "worlds" not in signature(make).parameters:
            raise ConfigError(f"--world: the suite {name} has worlds of its own; leave it out")
        known = [parameter for parameter in signature(make).parameters if parameter not in ("limit", "axes", "worlds")]
        for option in options.options:
            if option not in known:
                raise UnknownNameError.of("option", option, known)
        named = {"worlds": options.worlds} if options.worlds else {}
        return make(limit=options.limit, axes=options.axes, **named, **options.options)
    if benchmark in BENCHMARKS and not Path(name).exists():
        from palaestra.benchmarks.suites import external  # noqa: PLC0415  it starts the benchmark

        _refuse(name, options, {"split", "limit", "options"})
        return external.suite(
            benchmark, category=category or None, split=options.split, limit=options.limit, options=options.options
        )
    if Path(name).exists() or "/" in name or name.endswith(".py"):
        if len(options.worlds) > 1:
            raise ConfigError(f"{name}: task files are set in one world; give --world once, or leave it out")
        return _of_worlds([name], options, world=next(iter(options.worlds), None))
    known = [*SUITES, *BENCHMARKS, *PACKS.ids]
    raise UnknownNameError.of("suite", name, known, "(or give a folder of task files)")


def _of_worlds(targets: Sequence[str], options: SuiteOptions, *, world: str | None = None) -> Suite:
    from palaestra.benchmarks.suites.worlds import suite  # noqa: PLC0415  it loads worlds

    _refuse(", ".join(targets) or DEFAULT, options, {"split", "families", "limit", "switches", "worlds"})
    return suite(
        targets or (DEFAULT,),
        world=world,
        split=options.split,
        families=options.families,
        limit=options.limit,
        switches=options.switches,
    )


_WRITTEN = {
    "worlds": "--world",
    "families": "--family",
    "axes": "--axis",
    "limit": "--limit",
    "options": "--option",
    "split": "--split",
    "switches": "--surface, --handbook and --noise",
}


def _refuse(name: str, options: SuiteOptions, taken: set[str]) -> None:
    """Refuse given options that would have no effect."""
    for one in fields(options):
        if one.name not in taken and getattr(options, one.name) not in (None, (), {}):
            raise ConfigError(f"{_WRITTEN[one.name]}: the suite {name} has no such choice; leave it out")
