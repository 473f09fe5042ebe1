"""The distance between two checkpoints, against norms that are known."""

import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from palaestra.errors import CheckpointError
from palaestra.trainers.model.distance import weight_distance


def save(directory: Path, **weights: list[float]) -> Path:
    directory.mkdir()
    save_file({name: torch.tensor(values) for name, values in weights.items()}, directory / "model.safetensors")
    return directory


def test_the_distance_is_euclidean_over_all_common_weights(tmp_path: Path) -> None:
    before = save(tmp_path / "a", one=[3.0, 0.0], other=[4.0], left=[9.0])
    after = save(tmp_path / "b", one=[3.0, 2.0], other=[6.0], new=[7.0])
    found = weight_distance(before, after)
    assert found.moved == pytest.approx(math.sqrt(8))
    assert found.norm == 5.0
    assert found.relative == pytest.approx(math.sqrt(8) / 5)
    assert weight_distance(before, before).moved == 0.0


def test_weights_of_another_shape_or_name_are_refused(tmp_path: Path) -> None:
    before = save(tmp_path / "a", one=[3.0, 0.0])
    with pytest.raises(CheckpointError, match=r"one is \[1\], and \[2\]"):
        weight_distance(before, save(tmp_path / "b", one=[3.0]))
    with pytest.raises(CheckpointError, match="no weight in common"):
        weight_distance(before, save(tmp_path / "c", other=[3.0]))


def test_a_folder_without_weights_and_a_damaged_file_are_refused(tmp_path: Path) -> None:
    before = save(tmp_path / "a", one=[3.0])
    with pytest.raises(CheckpointError, match="weights cannot be read"):
        weight_distance(before, tmp_path)
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "model.safetensors").write_bytes(b"\x00" * 9)
    with pytest.raises(CheckpointError, match="weights cannot be read"):
        weight_distance(tmp_path / "torn", before)
