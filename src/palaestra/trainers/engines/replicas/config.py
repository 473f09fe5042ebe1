"""The settings of replicas: the number of engines and their devices."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicasConfig:
    """Engines of equal size and precision, each in its own process."""

    count: int = 2
    """The number of processes. Each has the rows and the capacity of the engine's section."""
    threads: int = 1
    """Threads for arithmetic of each process, in addition to those of the run."""
    devices: tuple[str, ...] = ()
    """Torch's name of each process's device. Default: the engine's device for all."""
    silence: float = 300.0
    """Seconds without any message from a busy or starting process, after which it counts as stuck and is replaced."""

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
