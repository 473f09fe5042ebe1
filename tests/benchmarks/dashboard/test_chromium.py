"""The dashboard in a real browser: at two widths, light and dark, by keyboard, with hostile texts, from `palaestra`."""

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from shutil import which
from typing import Any

import pytest

from palaestra.browser.driver import Browser
from palaestra.trajectory import Episode
from recorded import write_episode_file, write_made_evaluation, write_training

EpisodeFactory = Callable[..., Episode]
HOSTILE = "</pre><script>document.title='taken'</script><img src=//evil.example/x onerror=alert(1)>\u202eabc"
PAGES = ("/", "/runs/1", "/runs/3", "/episodes", "/episodes/9", "/compare?first=1&second=2")
CONTRAST = """() => {
  const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (rgb) => rgb.slice(0, 3).map(channel).reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const parse = (text) => {
    const n = text.match(/[\\d.]+/g).map(Number);
    return text.startsWith('color(') ? n.map((c, i) => (i < 3 ? c * 255 : c)) : n;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor);
      if ((color[3] ?? 1) === 1) return color;
    }
    return [255, 255, 255];
  };
  let least = 99;
  for (const element of document.querySelectorAll('main *, header *')) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || element.closest('svg, .skip, datalist') || !element.getClientRects().length) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    least = Math.min(least, (a + 0.05) / (b + 0.05));
  }
  return least;
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """`palaestra dashboard`, which imports a folder and follows it."""
    folder = tmp_path_factory.mktemp("record")
    write_made_evaluation(folder / "runs" / "a", "first")
    write_made_evaluation(folder / "runs" / "b", "second")
    write_training(folder / "runs" / "train", [])
    arguments = ["-m", "palaestra", "dashboard", "runs", "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    imported = [process.stderr.readline() for _ in range(3)]
    assert [line.split(":")[0] for line in imported] == ["runs/a", "runs/b", "runs/train"]
    yield process.stdout.readline().strip()
    process.terminate()
    assert process.wait(timeout=60) == 0
    process.stdout.close()
    process.stderr.close()


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    opened = Browser(which("chromium") or "/usr/bin/chromium")
    yield opened
    opened.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_every_page_fits_and_can_be_read(address: str, browser: Browser, width: int, *, dark: bool) -> None:
    context: Any = browser.open_context(size=(width, 844), dark=dark)
    page = context.new_page()
    colours: set[str] = set()
    for path in PAGES:
        answer = page.goto(address + path)
        assert answer.status == 200, path
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, path
        hidden = page.evaluate("[...document.querySelectorAll('.scroll')].some((e) => e.scrollWidth > e.clientWidth)")
        assert not hidden, f"{path}: a column lies outside the view"
        assert page.evaluate(CONTRAST) >= 4.5, path
        colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == {"rgb(20, 23, 28)" if dark else "rgb(255, 255, 255)"}
    context.close()


def test_a_stacked_table_is_still_a_table_with_named_figures(address: str, browser: Browser) -> None:
    context: Any = browser.open_context(size=(390, 844))
    page = context.new_page()
    page.goto(f"{address}/")
    row = page.get_by_role("table").first.get_by_role("row").filter(has_text="runs/a")
    assert row.get_by_role("rowheader").count() == 1
    assert row.get_by_role("cell").count() == 7
    labels = row.get_by_role("cell").evaluate_all("(all) => all.map((e) => getComputedStyle(e, '::before').content)")
    assert [one for one in labels if one in ('"solved, %"', '"points"')] == ['"solved, %"', '"points"']
    context.close()


def test_the_keyboard_reaches_content_links_and_tables(address: str, browser: Browser) -> None:
    context: Any = browser.open_context(size=(1280, 844))
    page = context.new_page()
    page.goto(f"{address}/")
    reached: list[str] = []
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.slice(0, 30)"))
    assert reached[:4] == ["Skip to the content", "Runs", "Episodes", "Compare"]
    assert "runs/b" in reached
    page.keyboard.press("Enter")
    context.close()


def test_a_new_file_with_hostile_text_comes_up_by_itself_as_text(
    address: str, browser: Browser, make_episode: EpisodeFactory, tmp_path_factory: pytest.TempPathFactory
) -> None:
    runs = tmp_path_factory.getbasetemp() / "record0" / "runs"
    write_episode_file(runs / "late" / "trajectories.jsonl", [make_episode(text=HOSTILE)])
    context: Any = browser.open_context(size=(1280, 844))
    page = context.new_page()
    asked: list[str] = []
    dialogs: list[str] = []

    def note_request(request: Any) -> None:
        asked.append(request.url)

    def note_dialog(dialog: Any) -> None:
        dialogs.append(dialog.message)

    page.on("request", note_request)
    page.on("dialog", note_dialog)
    for _ in range(600):
        page.goto(f"{address}/episodes?family=refund-damaged")
        if page.locator("tbody th a").count():
            break
        page.wait_for_timeout(100)
    page.locator("tbody th a").first.click()
    shown = page.locator("pre").all_inner_texts()
    assert any("</pre><script>document.title='taken'</script><img src=//evil.example/x" in one for one in shown)
    assert "taken" not in page.title()
    assert dialogs == []
    assert page.locator("main script, main img").count() == 0
    assert all(url.startswith(address) for url in asked)
    context.close()
