"""The description of an external benchmark: facts for reports, installation, and the module that serves it."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from palaestra.benchmarks.external.installation import Installation
from palaestra.errors import UnknownNameError
from palaestra.record import record
from palaestra.records import Json


@record
class Benchmark:
    """An external benchmark."""

    name: str
    """The name in commands: "bfcl"."""
    env_id: str
    """The id for `gymnasium.make`: "palaestra/BFCL-v0"."""
    title: str
    """The name that its authors use."""
    version: str
    """The version that the adapter was proved with."""
    licence: str
    """The SPDX licence of its code and data."""
    source: str
    """Its package or repository, and its paper."""
    installation: Installation
    splits: Mapping[str, str]
    """Its own splits with the purpose of each; reports use the first by default."""
    trainable: tuple[str, ...] = ()
    """The splits that its authors intend for training; trainers refuse all others."""
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Further arguments of `gymnasium.make`, with their defaults."""
    versions: str = ""
    """A pattern of ids whose joined groups name the task that a task is a version of; "" if there are no versions."""
    known_bad: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tasks that are known to be broken, and according to whom."""
    opening_tells: bool = False
    """Whether the user's words are known only once a task has begun; `WireTask.prompt` is then a label."""
    notes: str = ""
    """Notes for readers of its scores."""
    module: str = ""
    """The module that runs under its own interpreter. Default: `served` beside the facts."""
    root: Path = Path(__file__).resolve().parents[3]
    """The folder below which the module's full name begins."""

    def check_options(self, names: Iterable[str]) -> None:
        """Check that options exist.

        Args:
            names: The names of options that a user gave.

        Raises:
            UnknownNameError: one of them is not in `options`.
        """
        for option in names:
            if option not in self.options:
                raise UnknownNameError.of(f"option of {self.name}", option, self.options)

    @property
    def served_module(self) -> str:
        """The module that runs under its own interpreter."""
        return self.module or f"palaestra.benchmarks.external.{self.name.replace('-', '_')}.served"
