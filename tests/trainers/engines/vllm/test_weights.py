import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from decoders import tiny
from palaestra.errors import CheckpointError
from palaestra.trainers.engines.vllm.weights import ModelFolder
from palaestra.trainers.model.checkpoint import fresh, load_decoder, save_decoder

NAME = "model.layers.0.mlp.up_proj.weight"


@pytest.fixture(params=[True, False], ids=["tied", "untied"])
def tied(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def folder(tmp_path: Path, tied: bool) -> Path:
    save_decoder(fresh(dataclasses.replace(tiny(), tied=tied), seed=0), tmp_path / "model")
    return tmp_path / "model"


def trained(folder: Path) -> dict[str, Tensor]:
    return dict(fresh(load_decoder(folder).shape, seed=1).state_dict())


def test_it_knows_what_the_model_is(folder: Path) -> None:
    model, shape = ModelFolder(folder), load_decoder(folder).shape
    assert (model.context, model.vocabulary, model.dtype) == (shape.context, shape.vocabulary, "float32")
    assert model.bytes == (folder / "model.safetensors").stat().st_size


def test_weights_of_the_same_shape_fit(folder: Path) -> None:
    ModelFolder(folder).check(trained(folder))


def test_only_a_tied_output_layer_may_be_left_out(folder: Path, tied: bool) -> None:
    weights = trained(folder)
    del weights["lm_head.weight"]
    if tied:
        ModelFolder(folder).check(weights)
    else:
        with pytest.raises(CheckpointError, match=r"lack lm_head\.weight"):
            ModelFolder(folder).check(weights)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({NAME: None}, f"lack {NAME}"),
        ({"visual.weight": torch.zeros(1)}, r"unknown visual\.weight"),
        ({NAME: torch.zeros(2, 3)}, f"another shape in {NAME}"),
    ],
)
def test_weights_that_do_not_fit_are_refused_by_name(
    folder: Path, changes: Mapping[str, Tensor | None], says: str
) -> None:
    spoilt = {**trained(folder), **changes}
    with pytest.raises(CheckpointError, match=says):
        ModelFolder(folder).check({name: weight for name, weight in spoilt.items() if weight is not None})


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_written_is_the_model_with_the_new_weights(folder: Path, tmp_path: Path, dtype: torch.dtype) -> None:
    weights = trained(folder)
    ModelFolder(folder).write(weights, tmp_path / "new", dtype=dtype)
    written = load_decoder(tmp_path / "new")
    assert written.shape == load_decoder(folder).shape
    for name, weight in written.state_dict().items():
        assert torch.equal(weight, weights[name].to(dtype).float()), name
    ModelFolder(tmp_path / "new").check(weights)


def test_weights_may_lie_in_several_files(folder: Path, tmp_path: Path) -> None:
    whole = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(whole)
    files = {name: f"model-{n % 2 + 1}-of-2.safetensors" for n, name in enumerate(names)}
    for file in set(files.values()):
        save_file({name: whole[name] for name in names if files[name] == file}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
    model, weights = ModelFolder(folder), trained(folder)
    model.check(weights)
    model.write(weights, tmp_path / "new", dtype=torch.float32)
    assert torch.equal(load_decoder(tmp_path / "new").state_dict()[NAME], weights[NAME])


def test_what_is_no_model_is_told_so(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"nowhere.*config\.json"):
        ModelFolder(tmp_path / "nowhere")
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match="cannot be read"):
        ModelFolder(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="no safetensors"):
        ModelFolder(folder)
    (folder / "config.json").write_text('{"vocab_size": 5}')
    with pytest.raises(CheckpointError, match="max_position_embeddings"):
        ModelFolder(folder)
