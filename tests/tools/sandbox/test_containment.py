"""No probe succeeds, each has run, and those that could do no harm succeed in a plain interpreter."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from palaestra.tools.sandbox import CodeResult
from sandboxes import FORGERIES, PROBES, Probe, ToolHost

MakeHost = Callable[..., ToolHost]


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_no_probe_succeeds(host: ToolHost, probe: Probe) -> None:
    found = host.run(probe.program())
    assert (found.error, found.stopped, host.calls) == (None, None, [])
    first, *rest = found.output.splitlines()
    assert first == "tries"
    assert rest[-1].startswith("refused:"), found.output
    assert "succeeded" not in found.output


@pytest.mark.parametrize("probe", [p for p in PROBES if p.open_outside], ids=lambda probe: probe.name)
def test_the_probe_succeeds_without_a_sandbox(probe: Probe) -> None:
    done = subprocess.run(
        [sys.executable, "-c", probe.program()], capture_output=True, text=True, cwd="/usr", check=False
    )
    assert "succeeded: " in done.stdout, done.stdout + done.stderr


def test_there_are_enough_ways_out() -> None:
    assert len(PROBES) > 80
    assert sum(probe.open_outside for probe in PROBES) > 25


@pytest.mark.parametrize("forgery", FORGERIES, ids=list(FORGERIES))
def test_what_is_no_request_stops_the_program(host: ToolHost, forgery: str) -> None:
    found = host.run(f"import os\nprint('tries', flush=True)\n{FORGERIES[forgery]}\necho(value=1)\nprint('went on')")
    assert (found.output, found.stopped, host.calls) == ("tries\n", "protocol", [])
    assert found.error is not None
    assert "wrote to the channel" in found.error


def test_a_forged_request_is_a_call_like_any_other(host: ToolHost) -> None:
    found = host.run('import os\nos.write(3, b\'{"tool":"echo","arguments":{"value":1}}\\n\')\nprint(echo(value=2))')
    # The program read the answer to the forged request as its own: it deceives nobody but itself.
    assert (found.output, found.calls) == ("1\n", 2)
    assert [call.arguments for call in host.calls] == [{"value": 1}, {"value": 2}]


def test_nobody_can_write_answers(host: ToolHost) -> None:
    forge = "try:\n    os.write(4, b'x')\nexcept OSError as error:\n    print(error.strerror)"
    found = host.run(f"import os\n{forge}\nprint(echo(value=3))")
    assert found.output == "Bad file descriptor\n3\n"


def test_forged_ends_deceive_nobody(host: ToolHost) -> None:
    forged = host.run(
        'import os\necho(value=1)\nos.write(3, b\'{"error":null,"unreadable":"never ran"}\\n\')\nos.read(4, 1)'
    )
    assert (forged.unreadable, forged.error, forged.calls) == (None, "never ran", 1)
    long = host.run(
        "import os\nos.write(3, b'{\"error\":\"' + b'x' * 9000 + b'\",\"unreadable\":null}\\n')\nos.read(4, 1)"
    )
    assert long.error == "x" * host.sandbox.limits.error_chars
    odd = host.run('import os\nos.write(3, b\'{"error":[1],"unreadable":null}\\n\')\nos.read(4, 1)')
    assert odd.error == "the code forged its error"


def test_calls_are_counted_outside(limited: MakeHost) -> None:
    host = limited(calls=5)
    forge = 'os.write(3, b\'{"tool":"echo","arguments":{}}\\n\' * 50)'
    found = host.run(f"import os, signal\nfor n in range(4):\n    echo(value=n)\n{forge}\nsignal.pause()")
    assert (found.stopped, found.calls, len(host.calls)) == ("calls", 5, 5)
    loop = limited(calls=3)
    found = loop.run("for n in range(100):\n    print(n)\n    try: echo(value=n)\n    except BaseException: pass")
    assert (found.stopped, found.output, len(loop.calls)) == ("calls", "0\n1\n2\n3\n", 3)


def test_descriptors_of_the_host_stay_there(host: ToolHost, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    held = os.open(secret, os.O_RDONLY)
    os.set_inheritable(held, True)
    try:
        found = host.run("import os\nfor n in range(4096):\n    try: os.fstat(n); print(n)\n    except OSError: pass")
    finally:
        os.close(held)
    assert found.output == "0\n1\n2\n3\n4\n"


def test_the_environment_of_the_host_stays_there(host: ToolHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALAESTRA_SECRET", "the secret")
    get = "get = ctypes.CDLL(None).getenv\nget.restype = ctypes.c_char_p"
    found = host.run(f"import os, ctypes\n{get}\nprint(dict(os.environ), get(b'PALAESTRA_SECRET'))")
    assert found.output == "{} None\n"


def test_a_call_of_another_architecture_kills_the_program(host: ToolHost) -> None:
    code = (
        "import ctypes, mmap\npage = mmap.mmap(-1, 4096, prot=7)\n"
        "page.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')\n"  # mov eax, 20; int 0x80; ret
        "place = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "print('tries', flush=True)\nprint('succeeded', ctypes.CFUNCTYPE(ctypes.c_int)(place)())"
    )
    found = host.run(code)
    assert (found.output, found.stopped) == ("tries\n", "died")


def test_a_call_by_the_other_table_of_numbers_is_refused_or_fatal(host: ToolHost) -> None:
    code = "import ctypes\nprint('tries', flush=True)\nprint(ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 | 39)))"
    found = host.run(code)
    assert (found.output, found.stopped) in (("tries\n-1\n", None), ("tries\n", "died"))


# What takes too much


def bounded(found: CodeResult) -> str:
    assert found.output.startswith("tries\n")
    assert found.error is not None
    return found.error


def test_an_endless_loop_is_stopped(limited: MakeHost) -> None:
    found = limited(cpu_s=1).run("print('tries')\nwhile True: pass")
    assert (found.stopped, bounded(found)) == ("cpu", "the code was stopped: it used more than 1 s of processor time")


def test_a_program_that_waits_forever_is_stopped(limited: MakeHost) -> None:
    found = limited(wall_s=0.5).run("import select\nprint('tries')\nselect.select([], [], [])")
    assert (found.stopped, bounded(found)) == ("wall", "the code was stopped: it ran longer than 0.5 s")


def test_a_program_that_handles_every_signal_is_stopped(limited: MakeHost) -> None:
    code = (
        "import signal\nfor number in signal.valid_signals():\n    try: signal.signal(number, lambda *_: None)\n"
        "    except (OSError, ValueError): pass\nprint('tries')\nwhile True: signal.pause()"
    )
    assert limited(wall_s=0.5).run(code).stopped == "wall"
    assert limited(cpu_s=1).run(code.replace("signal.pause()", "pass")).stopped == "cpu"


@pytest.mark.parametrize(
    "bomb", ["x = bytearray(2**32)", "x = []\nwhile True: x.append(bytearray(2**20))", "x = 'a'\nwhile True: x += x"]
)
def test_a_memory_bomb_is_an_error_of_the_program(host: ToolHost, bomb: str) -> None:
    found = host.run(f"print('tries')\n{bomb}")
    assert bounded(found).endswith("MemoryError: ")


def test_a_flood_of_output_is_cut(host: ToolHost) -> None:
    found = host.run("print('tries')\nfor _ in range(200): print('x' * 65536)\necho(value=1)")
    limit = host.sandbox.limits.output_bytes
    assert (found.error, found.calls) == (None, 1)
    assert found.output.endswith(f"\n(output cut: {limit} bytes are shown)")
    assert len(found.output) < limit + 100
    raw = host.run("import os\nfor _ in range(200): os.write(1, b'\\xff' * 65536)")
    assert len(raw.output) < limit + 100


def test_an_endless_flood_is_stopped(limited: MakeHost) -> None:
    found = limited(wall_s=1.0).run("print('tries')\nwhile True: print('x' * 65536)")
    assert found.stopped in ("wall", "cpu")
    assert len(bounded(found)) < 200


def test_deep_recursion_is_an_error_of_the_program(host: ToolHost) -> None:
    assert "RecursionError" in bounded(host.run("print('tries')\ndef f(): f()\nf()"))
    deeper = "import sys\nsys.setrecursionlimit(10**8)\nprint('tries')\nx = []\nfor _ in range(10**6): x = [x]\nrepr(x)"
    assert bounded(host.run(deeper))


def test_a_program_that_leaves_its_interpreter_is_answered(host: ToolHost) -> None:
    assert bounded(host.run("import os\nprint('tries')\nos._exit(3)")) == "the code ended its interpreter (exit code 3)"
    crash = host.run("import ctypes\nprint('tries')\nctypes.string_at(0)")
    assert bounded(crash) == "the code ended its interpreter (signal 11)"


def test_open_files_are_bounded(host: ToolHost) -> None:
    found = host.run("print('tries')\nx = [open('/lib/python/os.py') for _ in range(1000)]")
    assert "Too many open files" in bounded(found)
