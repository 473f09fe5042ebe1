"""The Docker sandbox without an engine: what a container may do, whose it is, its pipes, and what refuses to start."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from palaestra.errors import CapabilityError, InfrastructureError, UnknownNameError
from palaestra.tools.sandbox import SANDBOX_VARIABLE, SANDBOXES, DockerSandbox, SandboxLimits, sandbox_name
from palaestra.tools.sandbox.docker import owners
from palaestra.tools.sandbox.docker.hardening import container_config, filter_profile, masked_paths
from palaestra.tools.sandbox.docker.pipes import NAMES, PREFIX, HostPipes
from palaestra.tools.sandbox.namespaces.seccomp import ALLOW, ALLOWED, AUDIT, REFUSE, build_filter
from sandboxes.filters import judge


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def host_config(limits: SandboxLimits | None = None) -> dict[str, Any]:
    config = container_config("image", ["-c", "pass"], folder="/pipes", limits=limits or SandboxLimits(), labels={})
    assert config["User"] == "65534:65534"
    found: dict[str, Any] = config["HostConfig"]
    return found


# What a container may do


def test_a_container_has_no_rights_no_network_and_nothing_to_write() -> None:
    config = host_config()
    assert (config["CapDrop"], config["NetworkMode"], config["IpcMode"]) == (["ALL"], "none", "none")
    assert (config["ReadonlyRootfs"], config["Privileged"], config["AutoRemove"]) == (True, False, True)
    assert config["SecurityOpt"][0] == "no-new-privileges"
    assert [(mount["Target"], mount["ReadOnly"]) for mount in config["Mounts"]] == [("/channel", True)]
    assert not {"Binds", "Devices", "CapAdd", "PidMode", "UsernsMode", "Tmpfs"} & config.keys()


def test_a_container_has_a_share_of_the_machine() -> None:
    config = host_config(SandboxLimits(memory_mib=64))
    assert config["Memory"] == config["MemorySwap"] == (64 + 128) * 2**20
    assert (config["PidsLimit"], config["NanoCpus"]) == (16, 10**9)
    assert {limit["Name"] for limit in config["Ulimits"]} == {"core", "fsize", "memlock", "msgqueue"}


def test_the_container_s_filter_refuses_what_nobody_in_it_needs() -> None:
    profile: dict[str, Any] = filter_profile()
    (rule,) = profile["syscalls"]
    assert (profile["defaultAction"], rule["action"]) == ("SCMP_ACT_ERRNO", "SCMP_ACT_ALLOW")
    dangerous = (
        "mount umount2 pivot_root unshare setns ptrace bpf perf_event_open keyctl add_key init_module finit_module "
        "delete_module kexec_load kexec_file_load reboot socket connect bind mknod mknodat userfaultfd io_uring_setup "
        "open_tree move_mount fsopen name_to_handle_at open_by_handle_at process_vm_readv process_vm_writev swapon "
        "settimeofday clock_settime adjtimex iopl ioperm acct quotactl personality memfd_create chroot syslog"
    )
    assert set(rule["names"]).isdisjoint(dangerous.split())
    assert set(ALLOWED["x86_64"]) <= set(rule["names"])


def test_the_kernel_s_entries_are_masked_and_processes_are_not() -> None:
    masked = masked_paths(["1", "42", "self", "thread-self", "net", "mounts", "kcore", "sys", "new-in-some-kernel"])
    assert {"/proc/kcore", "/proc/sys", "/proc/new-in-some-kernel", "/sys", "/etc"} <= set(masked)
    assert not {path for path in masked if path.startswith(("/proc/1", "/proc/42", "/proc/self", "/proc/net"))}


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_a_filter_can_refuse_more(name: str) -> None:
    number = ALLOWED[name]["tgkill"]
    usual, stricter = build_filter(name), build_filter(name, refused=("tgkill",))
    assert judge(usual, architecture=AUDIT[name], number=number) == ALLOW
    for other in range(500):
        expected = REFUSE if other == number else judge(usual, architecture=AUDIT[name], number=other)
        assert judge(stricter, architecture=AUDIT[name], number=other) == expected


# What refuses to start


def refuse(monkeypatch: pytest.MonkeyPatch, address: str) -> str:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(InfrastructureError, match="could not be started"):
        DockerSandbox().start()
    with pytest.raises(CapabilityError, match="'docker' misses") as error:
        DockerSandbox().check()
    return str(error.value)


def test_without_an_engine_code_is_refused_and_the_way_out_is_named(
    monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    said = refuse(monkeypatch, f"unix://{temporary}/no.sock")
    assert "a Docker Engine that answers at unix://" in said
    assert "start dockerd" in said
    assert "docs/sandbox.md" in said
    assert list(temporary.iterdir()) == []


def test_an_engine_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    said = refuse(monkeypatch, "tcp://192.0.2.1:2375")
    assert "a Docker Engine on this machine (DOCKER_HOST is tcp://192.0.2.1:2375)" in said
    assert list(temporary.iterdir()) == []


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    monkeypatch.delitem(sys.modules, "palaestra.tools.sandbox.docker.engine", raising=False)
    monkeypatch.setitem(sys.modules, "docker", None)
    said = refuse(monkeypatch, f"unix://{temporary}/no.sock")
    assert "the Python package 'docker'; pip install 'palaestra[docker]'" in said


def test_the_sdk_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, palaestra.tools.sandbox; sys.exit('docker' in sys.modules or 'requests' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Whose a container is


def test_a_process_that_runs_has_no_orphans() -> None:
    assert not owners.is_orphaned(owners.own_name())


def test_a_process_that_ended_has() -> None:
    code = "from palaestra.tools.sandbox.docker.owners import own_name; print(own_name())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert owners.is_orphaned(done.stdout.strip())


def test_a_later_process_of_the_same_number_is_another() -> None:
    place, number, began = owners.own_name().split(".")
    assert owners.is_orphaned(f"{place}.{number}.{int(began) + 1}")


@pytest.mark.parametrize("owner", ["", "elsewhere.1.1", "garbage", "a.b.c"])
def test_whoever_cannot_be_seen_from_here_is_left_alone(owner: str) -> None:
    assert not owners.is_orphaned(owner)


# Its pipes


def test_pipes_are_private_and_leave_nothing(temporary: Path) -> None:
    pipes = HostPipes("somebody")
    (parent,) = temporary.iterdir()
    assert parent.stat().st_mode & 0o077 == 0
    assert {pipe.name for pipe in Path(pipes.folder).iterdir()} == set(NAMES)
    pipes.unlink()
    assert list(temporary.iterdir()) == []
    pipes.close()
    pipes.close()


def test_a_pipe_ends_with_its_other_end(temporary: Path) -> None:
    pipes = HostPipes("somebody")
    assert list(temporary.iterdir())
    inner = os.open(f"{pipes.folder}/requests", os.O_WRONLY)
    life = os.open(f"{pipes.folder}/life", os.O_RDONLY)
    os.write(inner, b"x")
    os.close(inner)
    pipes.become_blocking()
    assert (os.read(pipes.requests, 9), os.read(pipes.requests, 9)) == (b"x", b"")
    pipes.end_life()
    assert os.read(life, 1) == b""
    os.close(life)
    pipes.close()


def test_folders_of_dead_processes_are_removed_and_others_are_not(temporary: Path) -> None:
    place, number, began = owners.own_name().split(".")
    mine, dead = HostPipes(f"{place}.{number}.{began}"), temporary / f"{PREFIX}{place}.{number}.{int(began) + 1}-abc"
    dead.mkdir()
    other = temporary / f"{PREFIX}elsewhere.1.1-abc"
    other.mkdir()
    owners.remove_orphaned_folders()
    assert not dead.exists()
    assert other.exists()
    assert Path(mine.folder).exists()
    mine.close()


# Which one is used


def test_the_environment_names_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SANDBOX_VARIABLE, raising=False)
    assert sandbox_name() == "namespaces"
    monkeypatch.setenv(SANDBOX_VARIABLE, "docker")
    assert sandbox_name() == "docker"
    monkeypatch.setenv(SANDBOX_VARIABLE, "")
    assert sandbox_name("other") == "other"


def test_a_world_of_code_refuses_where_its_sandbox_is_missing(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{temporary}/no.sock")
    monkeypatch.setenv(SANDBOX_VARIABLE, "docker")
    monkeypatch.setattr(SANDBOXES.get("docker"), "_checked", False)  # as in a new process
    with pytest.raises(CapabilityError, match="start dockerd"):
        gym.make("palaestra/Storefront-v0", action_format="python")
    monkeypatch.setenv(SANDBOX_VARIABLE, "doker")
    with pytest.raises(UnknownNameError, match="did you mean 'docker'"):
        gym.make("palaestra/Storefront-v0", action_format="python")
