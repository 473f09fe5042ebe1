"""The bare products are those of the model, and the machine is told as it is."""

from dataclasses import replace

import pytest
import torch

from palaestra.benchmarks.speed.training import device_of
from palaestra.benchmarks.speed.training.limits import Products, time_median
from palaestra.benchmarks.speed.training.machine import machine, precisions
from palaestra.errors import ConfigError
from palaestra.trainers.model.shape import DecoderShape
from palaestra.version import __version__

CPU = torch.device("cpu")
SHAPE = DecoderShape(vocabulary=50, hidden=32, layers=3, heads=4, kv_heads=2, head_dim=16, mlp=40, context=64)


@pytest.mark.parametrize("shape", [SHAPE, replace(SHAPE, tied=False), replace(SHAPE, kv_heads=4, qk_norm=False)])
def test_products_hold_every_weight_of_a_decoder_that_is_multiplied_with(shape: DecoderShape) -> None:
    """All but norms, and the embedding where it is not the output layer too."""
    products = Products(shape, dtype=torch.float32, device=CPU)
    norms = (2 * shape.layers + 1) * shape.hidden + 2 * shape.layers * shape.head_dim * shape.qk_norm
    embedding = 0 if shape.tied else shape.vocabulary * shape.hidden
    assert products.parameters == shape.parameters - norms - embedding


def test_more_tokens_take_no_less_work() -> None:
    products = Products(SHAPE, dtype=torch.bfloat16, device=CPU)
    assert products.seconds(1, scored=1) > 0
    assert products.seconds(4, scored=2) > 0


def test_work_is_done_once_more_than_it_is_timed() -> None:
    done: list[int] = []
    assert time_median(lambda: done.append(1), CPU) >= 0
    assert len(done) == 8


def test_the_machine_is_described_with_what_decides_figures() -> None:
    found = machine(CPU)
    assert found["threads"] == torch.get_num_threads()
    assert found["torch"] == torch.__version__
    assert found["palaestra"] == __version__
    assert found["processor"]
    assert "accelerator" not in found


def test_single_precision_is_measured_on_processors_alone() -> None:
    assert precisions(CPU) == ("fp32", "bf16")
    assert precisions(torch.device("cuda")) == ("bf16",)


def test_a_device_that_is_not_here_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_of("cpu") == CPU
    with pytest.raises(ConfigError, match="sees no CUDA device here"):
        device_of("cuda")
    with pytest.raises(ConfigError, match="device 'tpu'"):
        device_of("tpu")
