"""How benchmarks are installed: really, in a folder of their own, and told plainly where something lacks."""

import shutil
import subprocess
from pathlib import Path

import orjson
import pytest

from palaestra.benchmarks.external import (
    BENCHMARKS,
    Benchmark,
    Installation,
    Packages,
    SourceCheckout,
    find_installed,
    install,
)
from palaestra.benchmarks.external.catalogue import benchmark_of
from palaestra.benchmarks.external.installation import home, require_installed
from palaestra.errors import ConfigError, InfrastructureError, UnknownNameError

BARE = Installation()


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALAESTRA_BENCHMARKS", str(tmp_path / "home"))
    return tmp_path / "home"


def test_home_is_where_the_variable_says_or_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert home() == tmp_path / "home"
    monkeypatch.delenv("PALAESTRA_BENCHMARKS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert home() == tmp_path / "palaestra" / "benchmarks"


def test_what_is_not_installed_says_how_it_is() -> None:
    assert find_installed("bare", BARE) is None
    with pytest.raises(ConfigError, match=r"run `palaestra suites install bare`"):
        require_installed("bare", BARE)
    with pytest.raises(ConfigError, match=r"install bare --from FOLDER"):
        require_installed("bare", Installation(checkout=SourceCheckout(repository="somewhere", shown_by="x")))


def test_installing_makes_an_environment_and_again_does_nothing(own_home: Path) -> None:
    said = list[str]()
    found = install("bare", BARE, say=said.append)
    assert subprocess.run([found.python, "-c", "pass"], check=True).returncode == 0
    assert said == ["bare: a virtual environment"]
    assert install("bare", BARE, say=said.append) == found == find_installed("bare", BARE)
    assert len(said) == 1
    # Other rules, a stamp that was cut off, and an interpreter that is gone: not installed.
    assert find_installed("bare", Installation(packages=(Packages(names=("x==1",)),))) is None
    stamp = own_home / "bare" / "installed.json"
    whole = stamp.read_bytes()
    for broken in (whole[:9], b"[]", b"{}", b"3", b'{"digest": 1}'):
        stamp.write_bytes(broken)
        assert find_installed("bare", BARE) is None
    stamp.write_bytes(whole)
    shutil.rmtree(own_home / "bare" / "venv")
    assert find_installed("bare", BARE) is None


def test_a_failing_pip_is_told_in_its_own_words_and_leaves_nothing_installed(tmp_path: Path) -> None:
    broken = Installation(packages=(Packages(names=(str(tmp_path / "no-such-folder"),), dependencies=False),))
    with pytest.raises(InfrastructureError, match="no-such-folder"):
        install("bare", broken)
    assert find_installed("bare", broken) is None


def test_a_program_that_is_missing_is_named_with_the_way_to_it() -> None:
    lacking = Installation(programs={"no-such-program": "apt-get install no-such-program"})
    with pytest.raises(ConfigError, match=r"needs 'no-such-program'.*apt-get install"):
        install("bare", lacking)


def test_an_interpreter_that_is_missing_is_named() -> None:
    with pytest.raises(ConfigError, match=r"needs Python 3\.90 or newer"):
        install("bare", Installation(python=(3, 90)))


def test_a_checkout_is_the_users_own_and_looked_at(tmp_path: Path, own_home: Path) -> None:
    needs = Installation(checkout=SourceCheckout(repository="github.com/a/b at 1a2b3c", shown_by="data/tasks.json"))
    with pytest.raises(ConfigError, match=r"needs a checkout of github.com/a/b.*--from FOLDER"):
        install("bare", needs)
    with pytest.raises(ConfigError, match=r"holds no data/tasks.json"):
        install("bare", needs, source=tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tasks.json").write_text("[]")
    found = install("bare", needs, source=tmp_path)
    assert found.checkout == tmp_path
    assert install("bare", needs) == found  # what stands is not asked for again
    assert orjson.loads((own_home / "bare" / "installed.json").read_bytes())["checkout"] == str(tmp_path)
    with pytest.raises(ConfigError, match="made of packages alone"):
        install("bare", BARE, source=tmp_path)


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_every_benchmark_says_what_a_reader_must_know(name: str) -> None:
    benchmark: Benchmark = BENCHMARKS.get(name)
    assert benchmark.name == name
    assert benchmark_of(benchmark.env_id) is benchmark
    assert benchmark.title
    assert benchmark.version
    assert benchmark.licence
    assert benchmark.source
    assert benchmark.splits
    assert set(benchmark.trainable) <= set(benchmark.splits)
    assert next(iter(benchmark.splits)) not in benchmark.trainable, "reports are about what nobody trains on"
    pinned = [item for packages in benchmark.installation.packages for item in packages.names]
    assert all("==" in item or "{checkout}" in item for item in pinned), f"not pinned: {pinned}"


def test_an_unknown_benchmark_is_told_with_near_ones() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'palaestra/BabyAI-v0'"):
        benchmark_of("palaestra/BabyAi-v0")
