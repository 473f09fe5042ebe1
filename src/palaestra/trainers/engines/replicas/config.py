"""How many engines there are, and where each works."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicasConfig:
    """Engines of one size and precision, each in a process of its own."""

    count: int = 2
    """Processes. Each has the rows and the capacity of the engine's section."""
    threads: int = 1
    """Of the arithmetic of each, beside those of the run."""
    devices: tuple[str, ...] = ()
    """Where each works, in torch's words, in place of the engine's device; all on that one, if left out."""
    silence: float = 300.0
    """Seconds without a word from a process that has something to do, its start included, after which it is stuck and
    is replaced."""

    def __post_init__(self) -> None:
        for name in ("count", "threads"):
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"replicas.{name}={value}: give at least 1")
        if self.devices and len(self.devices) != self.count:
            raise ValueError(
                f"replicas.devices={list(self.devices)}, replicas.count={self.count}: name a device for each replica, "
                "or leave the devices out"
            )
        if len({device.partition(":")[0] for device in self.devices}) > 1:
            raise ValueError(
                f"replicas.devices={list(self.devices)}: replicas have one precision and one size; name devices of one "
                "kind"
            )
        if self.silence <= 0:
            raise ValueError(f"replicas.silence={self.silence:g}: it must be above 0")
