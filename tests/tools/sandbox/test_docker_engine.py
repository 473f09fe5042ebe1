"""The Docker sandbox on an engine: what the kernel says of its process, and that nothing outlives whoever started it.

`make docker-test` runs this file.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker  # type: ignore[import-untyped]  # the SDK has no types
import pytest
from docker.errors import NotFound  # type: ignore[import-untyped]

from palaestra.errors import CapabilityError, InfrastructureError
from palaestra.tools.sandbox import DockerSandbox, Guest, Program, SandboxLimits, run_program
from palaestra.tools.sandbox.docker import owners
from palaestra.tools.sandbox.docker.backend import IMAGE, remove_orphans
from palaestra.tools.sandbox.docker.pipes import PREFIX
from sandboxes import ToolHost

PATIENCE = 60


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """The engine, asked directly. Any: the SDK has no types."""
    made = docker.APIClient(base_url=os.environ["DOCKER_HOST"], version="auto")
    yield made
    made.close()


@pytest.fixture
def guest() -> Iterator[Guest]:
    """A program that has not been sent yet: its process waits, shut in."""
    made = DockerSandbox().start()
    yield made
    made.close()


def container_of(guest: Guest) -> str:
    return str(vars(guest)["_container"])


def processes_of(client: Any, container: str) -> list[int]:
    """The guard and the program, as the host numbers them."""
    guard = int(client.inspect_container(container)["State"]["Pid"])
    children = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
    return [guard, *map(int, children)]


def wait_until_gone(client: Any, container: str) -> None:
    for _ in range(PATIENCE * 10):
        try:
            client.inspect_container(container)
        except NotFound:
            return
        time.sleep(0.1)
    pytest.fail(f"container {container} is still there")


def test_the_kernel_says_that_guard_and_program_have_no_rights(client: Any, guest: Guest) -> None:
    guard, program = processes_of(client, container_of(guest))
    for process in (guard, program):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
        assert status["Uid"] == status["Gid"] == ["65534"] * 4
        assert {status[f"Cap{kind}"][0] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
        assert (status["NoNewPrivs"], status["Seccomp"], status["Threads"]) == (["1"], ["2"], ["1"])
    assert int(status["Seccomp_filters"][0]) >= 2, "the container's filter, and the program's own"
    for kind in ("mnt", "net", "ipc", "uts", "pid"):
        assert Path(f"/proc/{program}/ns/{kind}").readlink() != Path(f"/proc/self/ns/{kind}").readlink()
    guest.stop()


def test_the_engine_has_set_the_limits(client: Any, guest: Guest) -> None:
    config = client.inspect_container(container_of(guest))["HostConfig"]
    assert (config["NetworkMode"], config["ReadonlyRootfs"], config["CapDrop"]) == ("none", True, ["ALL"])
    assert config["Memory"] == config["MemorySwap"] == (512 + 128) * 2**20
    assert (config["PidsLimit"], config["NanoCpus"], config["Privileged"]) == (16, 10**9, False)
    _, program = processes_of(client, container_of(guest))
    limits = Path(f"/proc/{program}/limits").read_text()
    assert {line.split()[-3] for line in limits.splitlines() if line.startswith("Max file size")} == {"0"}
    guest.stop()


def test_nothing_is_left_of_a_program_that_ended(client: Any) -> None:
    before = set(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"))
    guest = DockerSandbox().start()
    container = container_of(guest)
    guest.stop()
    guest.close()
    wait_until_gone(client, container)
    assert set(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")) <= before


START = """
import sys
from palaestra.tools.sandbox import DockerSandbox
guest = DockerSandbox().start()
print(guest._container, flush=True)
sys.stdin.read()
"""


def test_the_container_ends_with_whoever_started_it(client: Any) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        container = parent.stdout.readline().strip()
        assert len(processes_of(client, container)) == 2
        parent.kill()
        wait_until_gone(client, container)


def test_orphans_are_removed_and_others_are_not(client: Any, guest: Guest) -> None:
    place, number, began = owners.own_name().split(".")
    made: dict[str, str] = {}
    for name, owner in (("dead", f"{place}.{number}.{int(began) + 1}"), ("unseen", "elsewhere.1.1")):
        # One that never opens its pipes, as where its owner was killed while it started.
        made[name] = client.create_container_from_config(
            {"Image": IMAGE, "Entrypoint": ["/lib/interpreter"], "Cmd": ["-c", "pass"], "Labels": {owners.OWNER: owner}}
        )["Id"]
    remove_orphans()
    wait_until_gone(client, made["dead"])
    assert client.inspect_container(made["unseen"])["Id"] == made["unseen"]
    client.remove_container(made["unseen"], force=True)
    assert client.inspect_container(container_of(guest))["State"]["Running"]
    guest.stop()


def test_a_container_that_is_killed_is_no_answer(client: Any) -> None:
    guest = DockerSandbox().start()
    client.kill(container_of(guest))
    with pytest.raises(InfrastructureError, match="the container of the code was killed"):
        guest.stop()
    guest.close()


def test_a_kill_from_outside_is_no_answer(client: Any) -> None:
    class Watched(DockerSandbox):
        def start(self) -> Guest:
            guest = super().start()
            os.kill(processes_of(client, container_of(guest))[1], signal.SIGKILL)
            return guest

    with pytest.raises(InfrastructureError, match="killed the code"):
        run_program(Watched(), Program(code="pass"), lambda _: pytest.fail("it calls nothing"))


@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(137)",
        "import ctypes, os\nlibc = ctypes.CDLL(None)\nlibc.syscall(234, os.getpid(), os.getpid(), 9)\nos._exit(137)",
        "import signal\ntry: signal.raise_signal(9)\nfinally:\n    import os; os._exit(137)",
    ],
)
def test_a_program_cannot_end_as_if_it_had_been_killed(code: str) -> None:
    found = ToolHost(DockerSandbox()).run(code)
    assert found.stopped == "died"
    assert found.error is not None


def test_a_missing_image_is_named_with_the_command_that_makes_it() -> None:
    sandbox = DockerSandbox(image="palaestra-sandbox:none")
    with pytest.raises(CapabilityError, match="misses the image 'palaestra-sandbox:none'; build it: docker build -t"):
        sandbox.check()
    with pytest.raises(InfrastructureError, match="No such image"):
        sandbox.start()


def test_an_image_without_an_interpreter_is_refused(client: Any) -> None:
    archive = subprocess.run(["tar", "-c", "--files-from", "/dev/null"], capture_output=True, check=True).stdout
    client.import_image_from_data(archive, repository="palaestra-empty", tag="1")
    with pytest.raises(CapabilityError, match="/lib/interpreter"):
        DockerSandbox(image="palaestra-empty:1").check()
    client.remove_image("palaestra-empty:1")


def test_programs_of_a_forked_process_run() -> None:
    code = """
        import os
        from palaestra.tools.sandbox import DockerSandbox, Program, run_program
        sandbox = DockerSandbox()
        sandbox.check()
        child = os.fork()
        found = run_program(sandbox, Program(code="print(1 + 1)"), None)
        assert found.output == "2\\n", found
        if child == 0:
            os._exit(0)
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False).returncode == 0


def test_the_example_of_the_document_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(block, {})  # noqa: S102  the page is our own
    assert capsys.readouterr().out == "42\n\n"


def test_memory_beyond_the_limit_is_an_error_of_the_program() -> None:
    found = ToolHost(DockerSandbox(SandboxLimits(memory_mib=128))).run("print('tries')\nx = bytearray(2**28)")
    assert (found.output, found.error) == ("tries\n", "line 2, in <module>: x = bytearray(2**28)\nMemoryError: ")
