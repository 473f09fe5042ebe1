import asyncio
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from decoders import tiny
from engines.plain import telling
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.engines.native.kernels import build
from palaestra.trainers.engines.native.kernels.build import compiler, kernels, library
from palaestra.trainers.engines.noise import noise_key

SHAPE = tiny(head_dim=16)


@pytest.fixture
def anew() -> Iterator[None]:
    """The kernels are looked for again, now and behind the test."""
    kernels.cache_clear()
    yield
    kernels.cache_clear()


def script(folder: Path, text: str) -> str:
    path = folder / "cxx"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_library_is_compiled_once(tmp_path: Path) -> None:
    first = library(compiler(), tmp_path)
    made = first.stat().st_mtime_ns
    assert library(compiler(), tmp_path) == first
    assert first.stat().st_mtime_ns == made
    assert list(tmp_path.iterdir()) == [first]


def test_another_source_compiler_or_processor_has_a_library_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "other.cpp"
    source.write_text("int main() { return 0; }\n")
    wrapped = script(tmp_path, f'[ "$1" = --version ] && echo mine || exec {compiler()} "$@"')
    folder = tmp_path / "made"
    paths = {library(compiler(), folder, source=source), library(wrapped, folder, source=source)}
    monkeypatch.setattr(build, "_processor", lambda: "another")
    paths.add(library(compiler(), folder, source=source))
    source.write_text("int main() { return 1; }\n")
    paths.add(library(compiler(), folder, source=source))
    assert len(paths) == 4
    assert set(folder.iterdir()) == paths


def test_a_compiler_that_fails_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "broken.cpp"
    source.write_text("this is no program\n")
    folder = tmp_path / "made"
    with pytest.raises(subprocess.CalledProcessError, match="non-zero"):
        library(compiler(), folder, source=source)
    assert list(folder.iterdir()) == []


def told(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said where the compiler is this script."""
    monkeypatch.setenv("CXX", script(folder, text))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    with pytest.warns(RuntimeWarning) as found:
        assert kernels() is None
    assert kernels() is None  # and is not said again
    (one,) = found
    return str(one.message)


@pytest.mark.usefixtures("anew")
def test_where_there_is_no_compiler_the_warning_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.warns(RuntimeWarning, match=r"half the speed: there is no C\+\+ compiler called no-such-compiler"):
        assert kernels() is None


@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize(
    ("compiles", "says"),
    [
        ('{ echo "fopenmp: unknown flag" >&2; exit 1; }', "fopenmp: unknown flag"),
        ('while [ "$1" != -o ]; do shift; done; echo nothing > "$2"', "draws without its kernels"),
    ],
    ids=["fails", "makes no library"],
)
def test_where_the_compiler_fails_or_makes_no_library_the_warning_says_so(
    compiles: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert says in told(f'[ "$1" = --version ] && echo 1 && exit; {compiles}', tmp_path, monkeypatch)


@pytest.mark.usefixtures("anew")
def test_where_the_cache_cannot_be_written_the_warning_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    with pytest.warns(RuntimeWarning, match="Not a directory"):
        assert kernels() is None


def drawn(engine: NativeEngine) -> list[Completion]:
    """Turns of several lengths side by side, and a second turn behind each."""

    async def play() -> list[Completion]:
        async def one(number: int) -> list[Completion]:
            context = tuple((5 * i + number) % 48 for i in range(3 + 17 * number))
            sampling = Sampling(limit=20, stop=(), temperature=0.7 if number % 2 else 1.0)
            found: list[Completion] = []
            for _ in range(2):
                request = TurnRequest(
                    trajectory=f"t{number}", context=context, sampling=sampling, noise=noise_key(number)
                )
                found.append(await engine.generate(request))
                context = (*context, *found[-1].ids, 3, 1, 4)
            return found

        turns = await asyncio.gather(*(one(number) for number in range(6)))
        await engine.close()
        return [turn for both in turns for turn in both]

    return asyncio.run(play())


@pytest.mark.usefixtures("anew")
def test_an_engine_draws_the_same_with_kernels_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    config = NativeConfig(rows=4, capacity=4000, prefill=32)
    quick = drawn(NativeEngine(telling(SHAPE, seed=0), config))
    assert kernels() is not None
    kernels.cache_clear()
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.warns(RuntimeWarning, match="without its kernels"):
        plain = NativeEngine(telling(SHAPE, seed=0), config)
    for one, other in zip(quick, drawn(plain), strict=True):
        assert one.ids == other.ids
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
