"""Changes of the settings of a run that has begun: they are refused, or accepted and recorded."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

import orjson

from palaestra.durable import write_file
from palaestra.errors import CheckpointError, ReplayError
from palaestra.records import Json, JsonObject
from palaestra.trainers.lineage import LineageEntry, append_lineage, read_lineage
from palaestra.trainers.loops.config import TrainConfig
from palaestra.trainers.loops.reading import config_document
from palaestra.trainers.loops.setting_classes import SettingRule, flat_settings, is_optional_section, rule_of
from palaestra.trainers.run_folder import SETTINGS, RunFolder, read_run
from palaestra.trainers.stage_kinds import stage_names


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A setting whose value has changed."""

    setting: str
    before: Json
    after: Json

    @property
    def rule(self) -> SettingRule:
        """The rule for the change."""
        return rule_of(self.setting)

    def sentence(self) -> str:
        """The setting, both values and its class."""
        return f"{self.setting}: {self.before!r} -> {self.after!r} ({self.rule.kind})"


def compare_settings(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[SettingChange]:
    """The settings that differ, by their full names.

    A section that only one of the two has is one change. So is an optional section that the other, of another version
    of Palaestra, does not know: that run was without it. Other settings that only one of them knows are not compared.
    """
    changes = {change.setting: change for change in _differences(before, after)}
    return list(changes.values())


def _differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[SettingChange]:
    worlds = [{name.split(".")[1] for name in side if name.startswith("world.")} for side in (before, after)]
    if len(worlds[0]) != len(worlds[1]):
        yield SettingChange(setting="world", before=len(worlds[0]), after=len(worlds[1]))
    for name in dict.fromkeys((*before, *after)):
        if name in before and name in after:
            if before[name] != after[name]:
                yield SettingChange(setting=name, before=before[name], after=after[name])
        elif _is_section(name, after if name in before else before):
            yield _section_change(name, is_new=name in before)
        elif (section := _unknown_section(name, after if name in before else before)) is not None:
            yield _section_change(section, is_new=name in after)


def _section_change(name: str, *, is_new: bool) -> SettingChange:
    now = (None, "a section") if is_new else ("a section", None)
    return SettingChange(setting=name, before=now[0], after=now[1])


def _is_section(name: str, settings: Mapping[str, Json]) -> bool:
    """Whether there are settings within this name."""
    return any(one.startswith(f"{name}.") for one in settings)


def _unknown_section(name: str, other: Mapping[str, Json]) -> str | None:
    """The optional section of a setting that the other side has neither as a section nor as `None`.

    The other side has the enclosing section: a stage that only one side has is a change of the list of stages.
    """
    parts = name.split(".")
    for around, section in pairwise(".".join(parts[:length]) for length in range(1, len(parts))):
        is_known = section in other or _is_section(section, other)
        if is_optional_section(section) and _is_section(around, other) and not is_known:
            return section
    return None


def check_changes(changes: Sequence[SettingChange], *, amend: bool, where: Path) -> None:
    """Refuse changes that are not allowed.

    Args:
        changes: The changes between the settings that `where` began with and the new ones.
        amend: Whether changes of what later steps learn are allowed.
        where: The folder, for errors.

    Raises:
        CheckpointError: a change is refused; the message names every one, with its class.
    """
    refused = [change for change in changes if change.rule.kind == "identity"]
    unmeant = [change for change in changes if change.rule.kind == "trajectory" and not amend]
    if not refused and not unmeant:
        return
    parts = [f"{where} was begun with other settings, and nothing was changed in it"]
    if refused:
        parts.append(
            f"These make it another run: {_join_sentences(refused)}; give the old values, or another folder with --out"
        )
    if unmeant:
        parts.append(
            f"These change what later steps learn: {_join_sentences(unmeant)}; give --amend to go on with them, or "
            "another folder with --out"
        )
    raise CheckpointError(". ".join(parts))


def _join_sentences(changes: Sequence[SettingChange]) -> str:
    return ", ".join(change.sentence() for change in changes)


def changes_of_run(out: Path, config: TrainConfig) -> list[SettingChange]:
    """The changes since the run in `out` was last started; empty if there is no run."""
    if not (out / SETTINGS).is_file():
        return []
    found = read_run(out)
    if not any((out / stage).is_dir() for stage in {*stage_names(found.settings), *config.stages}):
        return []
    return compare_settings(flat_settings(found.settings), flat_document(config))


def flat_document(config: TrainConfig) -> dict[str, Json]:
    """Every setting of a run by its full name, in the form of its folder."""
    return flat_settings(cast("JsonObject", orjson.loads(config_document(config))))


def accept_settings(out: Path, config: TrainConfig, *, amend: bool) -> list[LineageEntry]:
    """Compare the settings with those of the run in `out`, then write them there, and the changes into its lineage.

    Returns:
        The accepted changes.

    Raises:
        CheckpointError: a change is refused; nothing was written.
        StorageError: writing to disk fails.
    """
    changes = changes_of_run(out, config)
    check_changes(changes, amend=amend, where=out)
    entries: list[LineageEntry] = []
    if changes:
        found = read_run(out)
        entries = [_entry(change, found) for change in changes]
        append_lineage(out, entries)  # first: writing a change twice does less harm than losing it
    write_file(out / SETTINGS, config_document(config))
    return entries


def _entry(change: SettingChange, run: RunFolder) -> LineageEntry:
    steps = {stage.name: stage.steps for stage in run.stages}
    own = change.setting.partition(".")[0]
    names = stage_names(run.settings)
    stage = own if own in names else next((name for name in reversed(names) if name in steps), names[0])
    return LineageEntry(
        stage=stage,
        step=steps.get(stage, 0),
        setting=change.setting,
        before=change.before,
        after=change.after,
        kind=change.rule.kind,
        ends_replay=change.rule.ends_replay,
    )


def check_replay(recorded: Path, config: TrainConfig) -> list[LineageEntry]:
    """Check a replay's settings against the replayed run's settings and lineage.

    Args:
        recorded: The folder of the replayed run.
        config: The replay's settings.

    Returns:
        The changes during the run that the replay follows: its settings are those after them.

    Raises:
        ReplayError: settings that decide the exact result differ, or were changed between two steps.
        RecordError: the folder does not hold a run.
    """
    settings = flat_settings(read_run(recorded).settings)
    differing = [change for change in compare_settings(settings, flat_document(config)) if change.rule.ends_replay]
    if differing:
        raise ReplayError(
            f"{recorded} was run with other settings: {_join_sentences(differing)}; replay with those in its {SETTINGS}"
        )
    lineage = read_lineage(recorded)
    crossed = [entry for entry in lineage if entry.ends_replay and entry.step > 0]
    if crossed:
        raise ReplayError(
            f"{recorded} was changed on its way: {', '.join(entry.sentence() for entry in crossed)}. A replay has one "
            "set of settings from its first step to its last; replay a run that was not changed"
        )
    return lineage
