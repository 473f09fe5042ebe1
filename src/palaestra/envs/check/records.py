"""The typed record beside Gymnasium's `info`."""

from typing import Any

from palaestra.envs.check.subject import Subject, describe_operation


def check_records(subject: Subject) -> None:
    """`info["record"]` is the typed record, and each other key of `info` that it knows shows one of its fields."""
    for walk in subject.walks:
        env = subject.make()
        for operation in walk.operations:
            returned: tuple[Any, ...] = env.reset(seed=operation) if isinstance(operation, int) else env.step(operation)
            info: dict[str, Any] = returned[-1]
            for key, value in info["record"].info().items():
                if key not in info or info[key] != value:
                    raise subject.fault(
                        f"after {describe_operation(operation)} info[{key!r}] is {info.get(key)!r:.200}, "
                        f"and the record says {value!r:.200}",
                        "info is a view of the record, which is what trainers and recorders read",
                        "Return what `to_gymnasium` of a ResetRecord or StepRecord gives",
                    )
