"""Stores finished tasks, one small file each, so that a measurement that was killed resumes after the last one."""

import zlib
from dataclasses import asdict, fields
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import orjson
import torch

from palaestra.benchmarks.credit.near_exact import TurnAdvantages
from palaestra.benchmarks.credit.sample import TaskSample
from palaestra.durable import write_file
from palaestra.errors import CheckpointError
from palaestra.trainers.data.batch import TokenBatch

_CARD = "card"


def write_sample(file: Path, sample: TaskSample) -> None:
    """Write a sample atomically."""
    card = {"task": sample.task, "family": sample.family, "exact": asdict(sample.exact)}
    out = BytesIO()
    arrays = {name: array.numpy() for name, array in sample.batch.arrays().items()}
    np.savez_compressed(out, **{_CARD: np.frombuffer(orjson.dumps(card), np.uint8)}, **arrays)  # type: ignore[arg-type]
    write_file(file, out.getvalue())


def read_sample(file: Path) -> TaskSample:
    """Read a sample that `write_sample` wrote.

    Raises:
        CheckpointError: the file is damaged.
    """
    try:
        with np.load(BytesIO(file.read_bytes()), allow_pickle=False) as found:
            arrays = {name: torch.from_numpy(found[name]) for name in found.files if name != _CARD}
            card = orjson.loads(found[_CARD].tobytes())
        known = {one.name for one in fields(TokenBatch)}
        own = {name: array for name, array in arrays.items() if name in known}
        columns = {name: array for name, array in arrays.items() if name not in known}
        exact = TurnAdvantages(**{name: tuple(values) for name, values in card["exact"].items()})
        return TaskSample(
            task=card["task"], family=card["family"], exact=exact, batch=TokenBatch(**own, columns=columns)
        )
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile, zlib.error) as error:
        raise CheckpointError(f"{file} is damaged ({error}); delete it to play the task again") from error
