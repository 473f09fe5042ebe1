"""What every backend promises: calls are answered in order, errors are answers, and nothing is left of a program."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from palaestra.errors import InfrastructureError
from palaestra.records import ToolCall
from palaestra.tools.sandbox import CallAnswer, Program, Sandbox, run_program
from sandboxes import ToolHost
from sandboxes.host import TOOLS

MakeHost = Callable[..., ToolHost]
VALUES: tuple[Any, ...] = (
    None,
    True,
    -7,
    2**62,
    1.5,
    1e300,
    "",
    'a "quoted" \\ text\n\twith <marks> \u00e9\u4e2d\U0001f600\x00',
    [],
    {},
    [1, [2, {"a": None}]],
    {"k": {"l": ["m"]}, "\u00e9": 0},
)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_go_there_and_back(host: ToolHost, value: object) -> None:
    found = host.run(
        f"value = {value!r}\nassert echo(value=value) == value\nassert type(echo(value=value)) is type(value)"
    )
    assert found.error is None
    assert [call.arguments for call in host.calls] == [{"value": value}] * 2


def test_calls_are_answered_in_order(host: ToolHost) -> None:
    found = host.run("total = 0\nfor n in range(20):\n    total += echo(value=n)\nprint(total)")
    assert (found.output, found.error, found.calls, found.stopped) == ("190\n", None, 20, None)
    assert [call.arguments["value"] for call in host.calls] == list(range(20))


def test_large_answers_and_requests_pass(host: ToolHost) -> None:
    assert host.run("print(len(echo(value='x' * 200_000)))").output == "200000\n"


def test_a_refusal_raises(host: ToolHost) -> None:
    found = host.run(
        "try:\n    refuse()\nexcept ToolError as error:\n    print(error.code, '|', error.message)\nrefuse()"
    )
    assert found.output == "not_found | there is no such thing\n"
    assert found.error == "line 5, in <module>: refuse()\nToolError: not_found: there is no such thing"


def test_an_error_says_where_it_arose(host: ToolHost) -> None:
    found = host.run("def f(n):\n    return 1 // n\n\nprint('before')\nf(0)\nprint('after')")
    assert found.output == "before\n"
    assert found.error == (
        "line 5, in <module>: f(0)\nline 2, in f: return 1 // n\nZeroDivisionError: integer division or modulo by zero"
    )


def test_an_error_that_cannot_be_shown_is_an_answer(host: ToolHost) -> None:
    found = host.run("class Odd(BaseException):\n    def __str__(self): raise self\nraise Odd")
    assert found.error is not None
    assert found.error.endswith("Odd: (its message cannot be shown)")


def test_a_long_error_keeps_its_end(host: ToolHost) -> None:
    error = host.run("raise ValueError('x' * 10_000 + 'end')").error
    assert error is not None
    assert (len(error), error[-3:]) == (host.sandbox.limits.error_chars, "end")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("print('never')\nx = = 1", "SyntaxError: invalid syntax (<action>, line 2)"),
        ("  indented", "IndentationError: unexpected indent"),
        ("x = '\x00'", "null bytes"),
        ("x = '\ud800'", "surrogates not allowed"),
        ("return 1", "'return' outside function"),
        ("(" * 3000, "too many nested parentheses"),
        ("-" * 200_000 + "1", ""),
    ],
)
def test_code_that_does_not_compile_runs_in_no_part(host: ToolHost, code: str, says: str) -> None:
    found = host.run(code)
    assert (found.output, found.calls) == ("", 0)
    assert says in (found.unreadable or found.error or "")
    assert found.unreadable is not None or found.stopped == "died"


def test_the_end_of_the_episode_stops_the_program(host: ToolHost) -> None:
    found = host.run("print('one')\ntry:\n    finish()\nfinally:\n    print('two')\n    echo(value=1)")
    assert (found.output, found.error, found.stopped, found.calls) == ("one\n", None, "ended", 1)
    assert [call.tool for call in host.calls] == ["finish"]


@pytest.mark.parametrize(
    ("code", "error"), [("", None), ("0", None), ("'why'", "SystemExit: why"), ("3", "SystemExit: 3")]
)
def test_exit_ends_the_program(host: ToolHost, code: str, error: str | None) -> None:
    found = host.run(f"import sys\nprint('one')\nsys.exit({code})\nprint('two')")
    assert (found.output, found.error) == ("one\n", error)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("echo(1)", "echo() takes its arguments by name"),
        ("echo(value={1, 2})", "a set is no JSON value"),
        ("echo(value=float('nan'))", "nan is no JSON value"),
        ("echo(value={1: 2})", "the key 1 is no text"),
        ("echo(value=object())", "a object is no JSON value"),
    ],
)
def test_what_is_no_call_is_never_made(host: ToolHost, call: str, says: str) -> None:
    found = host.run(call)
    assert found.error is not None
    assert "TypeError" in found.error
    assert says in found.error
    assert host.calls == []


def test_functions_say_what_they_do(host: ToolHost) -> None:
    assert host.run("print(echo.__doc__, echo.__name__)").output == f"{TOOLS['echo']} echo\n"


def test_both_streams_are_the_output(host: ToolHost) -> None:
    code = "print('one')\nprint('two', file=sys.stderr)\nprint('three', end='', flush=True)\nos.write(2, b'four')"
    assert host.run(f"import sys, os\n{code}").output == "one\ntwo\nthreefour"


def test_there_is_nothing_to_read(host: ToolHost) -> None:
    assert host.run("import sys\nprint(repr(sys.stdin.read()))").output == "''\n"


def test_the_standard_library_is_there(host: ToolHost) -> None:
    modules = (
        "json re math datetime decimal collections itertools functools statistics random string dataclasses typing csv"
    )
    found = host.run(f"import {', '.join(modules.split())}\nprint(json.dumps(re.findall('a', 'banana')))")
    assert (found.output, found.error) == ('["a", "a", "a"]\n', None)


def test_nothing_is_left_of_a_program(host: ToolHost) -> None:
    places = "builtins.__dict__, os.__dict__, sys.modules, globals(), os.environ"
    imports = "import builtins, os, sys"
    assert host.run(f"{imports}\nfor place in ({places}): place['kept'] = '1'").error is None
    found = host.run(f"{imports}\nprint(['kept' in place for place in ({places})])")
    assert found.output == "[False, False, False, False, False]\n"


STATEFUL = """
import datetime, os, random, secrets, time, uuid
print(hash('a'), hash(b'b'), list({'x', 'y', 'z', 'w'}))
print(random.random(), random.Random().random(), random.Random(5).random())
print(os.urandom(4), secrets.token_hex(4), uuid.uuid4())
print(time.time(), time.time_ns(), time.monotonic(), time.strftime('%H:%M'), time.ctime())
print(datetime.datetime.now(), datetime.date.today())
echo(value=1)
time.sleep(1000)
print(time.time(), time.perf_counter(), time.localtime().tm_sec, datetime.datetime.utcnow())
print(random.randint(1, 10**9), sorted(vars()))
"""


def test_hashes_chance_and_time_are_the_same_in_every_run(sandbox: Sandbox) -> None:
    first, second = (ToolHost(sandbox).run(STATEFUL) for _ in range(2))
    assert first.error is None
    assert first == second
    other = ToolHost(sandbox).run(STATEFUL, seed=1)
    equal = [one == two for one, two in zip(first.output.split("\n"), other.output.split("\n"), strict=True)]
    assert equal == [True, False, False, True, True, True, False, True], "chance alone follows from the seed"


def test_the_clock_is_the_episode_s(host: ToolHost) -> None:
    show = "print(datetime.datetime.now(), time.monotonic())"
    code = f"import datetime, time\n{show}\ntime.sleep(10**9)\necho(value=1)\n{show}"
    assert host.run(code).output == "2026-06-03 09:00:00 0.0\n2026-06-03 09:00:10 10.0\n"


def test_a_fault_of_the_world_ends_the_program(sandbox: Sandbox) -> None:
    def fail(_: ToolCall) -> CallAnswer:
        raise InfrastructureError("the world failed")

    with pytest.raises(InfrastructureError, match="the world failed"):
        run_program(sandbox, Program(code="echo(value=1)\nwhile True: pass", tools=TOOLS), fail)


def test_programs_run_beside_each_other(sandbox: Sandbox) -> None:
    def play(number: int) -> tuple[str, int]:
        found = ToolHost(sandbox).run(f"print(sum(echo(value=n) for n in range({number})))")
        return found.output, found.calls

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(play, range(12)))
    assert found == [(f"{sum(range(n))}\n", n) for n in range(12)]


def test_a_program_is_stopped_at_once_and_more_than_once(sandbox: Sandbox) -> None:
    guest = sandbox.start()
    end = guest.stop()
    assert end.signal == 9
    assert guest.stop() == end
    guest.close()


def test_the_check_can_be_repeated(sandbox: Sandbox) -> None:
    sandbox.check()
    sandbox.check()
    guest = sandbox.start()  # what was checked still starts
    assert guest.stop().signal == 9
    guest.close()
