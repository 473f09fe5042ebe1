"""What is known of a benchmark that somebody else wrote: facts for reports, how it is installed, who serves it."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from palaestra.benchmarks.external.installation import Installation
from palaestra.errors import UnknownNameError
from palaestra.record import record
from palaestra.records import Json


@record
class Benchmark:
    """A benchmark from outside, as Palaestra plays it."""

    name: str
    """In commands: "bfcl"."""
    env_id: str
    """For `gymnasium.make`: "palaestra/BFCL-v0"."""
    title: str
    """As its authors call it."""
    version: str
    """The version that the adapter was proved with."""
    licence: str
    """Of its code and its data, as SPDX names it."""
    source: str
    """Where it comes from: a package or repository, and its paper."""
    installation: Installation
    splits: Mapping[str, str]
    """Its own division of tasks, and what each part is for; the first is the one that reports are about."""
    trainable: tuple[str, ...] = ()
    """The splits that its authors give for training; a trainer refuses every other."""
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What may be said to `gymnasium.make` besides, and what holds where it is not said."""
    versions: str = ""
    """A pattern of ids whose groups, joined, name the task that a task is a version of; "" where each is its own."""
    known_bad: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tasks that are held to be broken, and by whom."""
    opening_tells: bool = False
    """Whether what the user says is known only once a task has begun; `WireTask.prompt` is a label then."""
    notes: str = ""
    """What an honest reader of its scores must know."""
    module: str = ""
    """The module that runs under its own interpreter; `served` beside the facts, if not said."""
    root: Path = Path(__file__).resolve().parents[3]
    """The folder that this module's full name begins below."""

    def check_options(self, names: Iterable[str]) -> None:
        """Refuse what is no option of this benchmark.

        Args:
            names: Of options, as a user gave them.

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
