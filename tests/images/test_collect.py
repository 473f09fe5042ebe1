"""images/collect.py: what it copies is whole, with links, empty folders and libraries, and nothing else comes along."""

import subprocess
import sys
from pathlib import Path

COLLECT = Path(__file__).parents[2] / "images" / "collect.py"


def collect(target: Path, *paths: Path) -> Path:
    subprocess.run([sys.executable, COLLECT, target, *paths], check=True)
    return target


def test_a_folder_is_copied_with_what_its_links_lead_to(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    for made in (folder / "empty", folder / "tests", elsewhere):
        made.mkdir(parents=True)
    (folder / "tests" / "left_out").touch()
    (elsewhere / "file").write_text("content")
    (elsewhere / "other").touch()
    (folder / "link").symlink_to("../elsewhere/file")
    copied = collect(tmp_path / "image", folder) / tmp_path.relative_to("/")
    assert {str(path.relative_to(copied)) for path in copied.rglob("*")} == {
        *("folder", "folder/empty", "folder/link"),
        *("elsewhere", "elsewhere/file"),
    }
    assert (copied / "folder" / "link").read_text() == "content"


def test_a_program_comes_with_its_loader_and_libraries(tmp_path: Path) -> None:
    image = collect(tmp_path / "image", Path("/bin/sh"))
    names = {path.name.partition(".so")[0] for path in image.rglob("*.so*") if path.exists()}
    assert "libc" in names
    assert any(name.startswith("ld-linux") for name in names)
    shell = image / Path("/bin/sh").resolve().relative_to("/")
    assert shell.read_bytes() == Path("/bin/sh").resolve().read_bytes()
