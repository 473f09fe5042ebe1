"""What has to hold of the images, in the order in which it is checked; each check finds what the ones before it left.

The order is that of a life: no secret, no key, a first start, an episode, crashes, a new start, the end.
"""

import json
import os
import signal
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, TypeAlias, cast

import gymnasium as gym
import httpx
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.sync.client import connect as connect_socket

import palaestra
from image_checks.deployment import DATABASE, KEYS, PROJECT, PYTHON, SERVER, Deployment, wait_until
from palaestra.agents.rollout import rollout
from palaestra.agents.scripted import oracle
from palaestra.benchmarks.record import EMPTY
from palaestra.errors import SessionLostError
from palaestra.trajectory import Episode, read_episodes, write_episodes

Check: TypeAlias = Callable[[Deployment], None]
SEED = 3
USERS = {"server": 10_001, "dashboard": 10_001, "database": 10_002}
STOP_BOUND = 15.0
"""Seconds within which SIGTERM ends the server: requests under way may take 10."""
SHELLS = ("sh", "bash", "dash")
INSTALLERS = ("apt", "apt-get", "dpkg", "pip", "pip3")
RECORDED = "SELECT e.digest, s.points, s.solved FROM episodes e JOIN scores s ON s.episode_id = e.id"


def a_missing_secret_is_an_error_that_names_it(deployment: Deployment) -> None:
    for name in ("PALAESTRA_DATABASE_PASSWORD_FILE", "PALAESTRA_RUNS"):
        without = {key: value for key, value in deployment.variables.items() if key != name}
        refused = deployment.compose("config", check=False, variables=without)
        assert refused.returncode != 0
        assert "name the f" in refused.stderr, refused.stderr
    for image, command in ((DATABASE, []), (SERVER, ["record", "migrate"])):
        url = ["--env", "PALAESTRA_RECORD=postgresql://palaestra@database/palaestra"]
        done = deployment.docker("run", "--rm", "--network=none", *url, image, *command, check=False)
        assert done.returncode == 1, done
        assert "there is no default password" in done.stderr, done.stderr


def the_first_start_without_keys_is_closed_to_others(deployment: Deployment) -> None:
    deployment.compose("up", "--detach", "server")
    deployment.wait_until_healthy("server")
    assert "no keys in /var/lib/palaestra/keys.json" in deployment.logs("server")
    try:
        found = httpx.get(deployment.url("server") + "/v1/health")
    except httpx.TransportError:
        return
    raise AssertionError(f"a server without keys answered from outside its container: {found}")


def everything_becomes_healthy(deployment: Deployment) -> None:
    deployment.add_key("trainer", "author")
    deployment.add_key("reader", "read")
    deployment.compose("restart", "server")
    begun = time.monotonic()
    deployment.compose("up", "--detach")
    for service in USERS:
        deployment.wait_until_healthy(service)
    deployment.measured["seconds until everything is healthy"] = time.monotonic() - begun
    assert deployment.state("migrate")["ExitCode"] == 0
    assert f"from version {EMPTY} to" in deployment.logs("migrate"), deployment.logs("migrate")


def an_episode_equals_the_one_in_process(deployment: Deployment) -> None:
    served = connect(deployment)
    local = cast("Any", gym.make("palaestra/Storefront-v0").unwrapped)
    ours, theirs = play(local), play(served)
    assert theirs.score == ours.score
    assert theirs.score.passed
    assert theirs.digest() == ours.digest()
    assert served.digest() == local.digest()
    served.close()
    folder = deployment.runs / "served"
    folder.mkdir()
    write_episodes(folder / "trajectories.jsonl", [theirs])


def the_record_in_postgresql_holds_the_episode(deployment: Deployment) -> None:
    (episode,) = list(read_episodes(deployment.runs / "served" / "trajectories.jsonl"))
    begun = time.monotonic()
    wait_until(lambda: deployment.query(RECORDED) != "", "the record has the episode")
    deployment.measured["seconds until the record has an episode"] = time.monotonic() - begun
    assert deployment.query(RECORDED).split("|")[1:] == [str(episode.score.points), "t"]
    shown = httpx.get(f"{deployment.url('dashboard')}/episodes/1/json", headers=bearer(deployment, "reader"))
    assert shown.status_code == 200, shown.text
    stored = (deployment.runs / "served" / "trajectories.jsonl").read_bytes()
    assert json.loads(shown.content) == json.loads(stored)
    listed = deployment.compose("run", "--rm", "--no-deps", "-T", "dashboard", "record", "list").stdout
    assert "runs/served" in listed, listed


def migrations_run_once(deployment: Deployment) -> None:
    again = deployment.compose("run", "--rm", "--no-deps", "-T", "migrate").stdout
    (version,) = set(deployment.query("SELECT version_num FROM alembic_version").split())
    assert f"from version {version} to {version}" in again, again


def a_killed_server_comes_back_with_its_state(deployment: Deployment) -> None:
    env = connect(deployment)
    env.reset(seed=SEED)
    handles = deployment_handles(deployment)
    begun = time.monotonic()
    kill(deployment, "server")
    deployment.measured["seconds until a killed server is healthy"] = time.monotonic() - begun
    assert deployment_handles(deployment) == handles
    try:
        env.step({"tool": "finish", "arguments": {}})
    except SessionLostError:
        env.close()
        return
    raise AssertionError("a session outlived the process that held it")


def a_killed_database_comes_back_with_the_record(deployment: Deployment) -> None:
    before = deployment.query(RECORDED)
    begun = time.monotonic()
    kill(deployment, "database")
    deployment.measured["seconds until a killed database is healthy"] = time.monotonic() - begun
    assert deployment.query(RECORDED) == before
    shown = httpx.get(f"{deployment.url('dashboard')}/episodes/1/json", headers=bearer(deployment, "reader"))
    assert shown.status_code == 200, shown.text


def no_process_has_rights(deployment: Deployment) -> None:
    for service, user in USERS.items():
        status = read_status(deployment.state(service)["Pid"])
        assert status["Uid"].split() == [str(user)] * 4, status
        assert status["Groups"].split() in ([], [str(user)]), status
        for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(status[kind], 16) == 0, (service, kind, status[kind])
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), (service, status)
        settings = deployment.inspect(service)["HostConfig"]
        assert not settings["Privileged"]
        assert settings["CapAdd"] is None


def nothing_can_be_written_but_state_and_tmp(deployment: Deployment) -> None:
    program = "import sys; open(sys.argv[1] + '/probe', 'w').close(); print('written')"
    may = {"server": {"/tmp", "/var/lib/palaestra"}, "dashboard": {"/tmp"}}  # noqa: S108  the containers' own
    for service, allowed in may.items():
        assert deployment.inspect(service)["HostConfig"]["ReadonlyRootfs"]
        for place in ("/", "/etc", "/opt/palaestra", "/usr/lib", "/runs", "/tmp", "/var/lib/palaestra"):  # noqa: S108
            written = deployment.execute(service, [PYTHON, "-c", program, place], check=False)
            assert (written == "written\n") == (place in allowed), (service, place)
    for place, is_allowed in (("/", False), ("/usr/bin", False), ("/etc", False), ("/tmp", True)):  # noqa: S108
        written = deployment.execute("database", ["sh", "-c", f"> {place}/probe && echo written"], check=False)
        assert (written == "written\n") == is_allowed, place


def the_images_hold_no_tools_for_intruders(deployment: Deployment) -> None:
    for image, absent in ((SERVER, (*SHELLS, *INSTALLERS)), (DATABASE, INSTALLERS)):
        files = read_files(deployment, image)
        assert len(files) > 500
        rights = [file.name for file in files if file.isfile() and file.mode & 0o6000]
        assert rights == []
        found = {Path(file.name).name for file in files if "bin" in Path(file.name).parent.name}
        assert not found & set(absent), found & set(absent)


def the_database_is_reached_by_the_record_alone(deployment: Deployment) -> None:
    assert deployment.docker("port", deployment.container("database")).stdout == ""
    network = json.loads(deployment.docker("network", "inspect", f"{PROJECT}_record").stdout)[0]
    assert network["Internal"]
    assert set(deployment.inspect("server")["NetworkSettings"]["Networks"]) == {f"{PROJECT}_published"}
    for user, why in (("palaestra", "password authentication failed"), ("postgres", "no pg_hba.conf entry")):
        assert why in try_password(deployment, "wrong", user=user)


def no_secret_is_in_a_log_or_a_description(deployment: Deployment) -> None:
    kept = json.loads(deployment.execute("server", [PYTHON, "-c", f"print(open({KEYS!r}).read())"]))
    secrets = {**deployment.secrets, "secret of handles": kept["handle_secret"]}
    assert len(secrets) == 4
    texts = {f"log of {service}": deployment.logs(service) for service in (*USERS, "migrate")}
    texts |= {f"description of {service}": json.dumps(deployment.inspect(service)) for service in (*USERS, "migrate")}
    for image in (SERVER, DATABASE):
        texts[f"history of {image}"] = deployment.docker("history", "--no-trunc", image).stdout
        texts[f"description of {image}"] = deployment.docker("image", "inspect", image).stdout
    assert all(texts.values())
    for what, text in texts.items():
        held = [name for name, secret in secrets.items() if secret in text or json.dumps(secret)[1:-1] in text]
        assert held == [], f"{what} holds: {held}"


def new_containers_have_the_old_state_and_a_new_password(deployment: Deployment) -> None:
    handles, recorded = deployment_handles(deployment), deployment.query(RECORDED)
    former = deployment.secrets["password"]
    deployment.remove(volumes=False)
    deployment.change_password()
    deployment.compose("up", "--detach")
    for service in USERS:
        deployment.wait_until_healthy(service)
    assert deployment_handles(deployment) == handles
    assert deployment.query(RECORDED) == recorded != ""
    shown = httpx.get(f"{deployment.url('dashboard')}/episodes/1/json", headers=bearer(deployment, "reader"))
    assert shown.status_code == 200, shown.text
    for password, accepted in ((former, False), (deployment.secrets["password"], True)):
        assert (try_password(deployment, password) == "") == accepted


def sigterm_ends_sessions_and_the_server(deployment: Deployment) -> None:
    env = connect(deployment)
    env.reset(seed=SEED)
    address = deployment.url("server").replace("http", "ws", 1) + "/v1/socket"
    with connect_socket(address, additional_headers=bearer(deployment, "trainer"), proxy=None) as opened:
        begun = time.monotonic()
        deployment.docker("stop", "--time", "60", deployment.container("server"))
        took = time.monotonic() - begun
        try:
            opened.recv(timeout=10)
        except ConnectionClosed as closed:
            code = None if closed.rcvd is None else closed.rcvd.code
        else:
            raise AssertionError("nothing was asked")
    assert code == CloseCode.SERVICE_RESTART
    deployment.measured["seconds from SIGTERM to the end of the server, one session open"] = took
    assert took < STOP_BOUND
    assert deployment.state("server")["ExitCode"] == 0
    stopped = [json.loads(line) for line in deployment.logs("server").splitlines() if '"event":"stopped"' in line]
    assert stopped[-1]["count"] == 1, stopped
    env.connection.close()


def sigterm_ends_a_server_that_is_starting(deployment: Deployment) -> None:
    container = deployment.docker("run", "--detach", "--network=none", "--read-only", SERVER).stdout.strip()
    wait_until(lambda: "no keys" in deployment.docker("logs", container).stderr, "the server begins to start")
    begun = time.monotonic()
    deployment.docker("stop", "--time", "60", container)
    deployment.measured["seconds from SIGTERM to the end of a server that is starting"] = time.monotonic() - begun
    state = json.loads(deployment.docker("inspect", container).stdout)[0]["State"]
    deployment.docker("rm", "--volumes", container)
    assert state["ExitCode"] == 0, state


def the_others_end_cleanly(deployment: Deployment) -> None:
    for service in ("dashboard", "database"):
        begun = time.monotonic()
        deployment.docker("stop", "--time", "60", deployment.container(service))
        took = time.monotonic() - begun
        deployment.measured[f"seconds from the signal to the end of the {service}"] = took
        assert took < STOP_BOUND
        assert deployment.state(service)["ExitCode"] == 0, deployment.logs(service)[-2_000:]
    assert "database system is shut down" in deployment.logs("database")


CHECKS: tuple[Check, ...] = (
    a_missing_secret_is_an_error_that_names_it,
    the_first_start_without_keys_is_closed_to_others,
    everything_becomes_healthy,
    an_episode_equals_the_one_in_process,
    the_record_in_postgresql_holds_the_episode,
    migrations_run_once,
    a_killed_server_comes_back_with_its_state,
    a_killed_database_comes_back_with_the_record,
    no_process_has_rights,
    nothing_can_be_written_but_state_and_tmp,
    the_images_hold_no_tools_for_intruders,
    the_database_is_reached_by_the_record_alone,
    no_secret_is_in_a_log_or_a_description,
    new_containers_have_the_old_state_and_a_new_password,
    sigterm_ends_sessions_and_the_server,
    sigterm_ends_a_server_that_is_starting,
    the_others_end_cleanly,
)


def connect(deployment: Deployment) -> Any:
    """The served world, with the key of an author."""
    return palaestra.connect(deployment.url("server"), key=deployment.secrets["key of trainer"])


def play(env: Any) -> Episode:
    """The episode of the solution."""
    return rollout(env, oracle(env.oracle), name="oracle", seed=SEED)


def bearer(deployment: Deployment, owner: str) -> dict[str, str]:
    """The header of a request with a key."""
    return {"Authorization": f"Bearer {deployment.secrets[f'key of {owner}']}"}


def deployment_handles(deployment: Deployment) -> list[str]:
    """The first handles of tasks; they follow from the secret in the state."""
    body = {"items": [{"world": "storefront"}]}
    url = deployment.url("server") + "/v1/tasks"
    answer = httpx.post(url, json=body, headers=bearer(deployment, "trainer"), timeout=60)
    assert answer.status_code == 200, answer.text
    return [str(task) for task in answer.json()["results"][0]["ok"]["tasks"][:3]]


def try_password(deployment: Deployment, password: str, *, user: str = "palaestra") -> str:
    """Why the database refuses a client of the dashboard's container; empty where it does not."""
    program = (
        "import psycopg, sys\n"
        "try: psycopg.connect(f'postgresql://{sys.argv[1]}@database/palaestra', password=sys.argv[2]).close()\n"
        "except psycopg.OperationalError as error: print(error)"
    )
    return deployment.execute("dashboard", [PYTHON, "-c", program, user, password])


def kill(deployment: Deployment, service: str) -> None:
    """End a container's first process as a crash does, and wait until Docker has started it again."""
    process: int = deployment.state(service)["Pid"]
    os.kill(process, signal.SIGKILL)
    deployment.wait_until_healthy(service, process=process)
    assert deployment.inspect(service)["RestartCount"] == 1


def read_status(process: int) -> dict[str, str]:
    """What the kernel says of a process."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def read_files(deployment: Deployment, image: str) -> list[tarfile.TarInfo]:
    """The files of an image."""
    container = deployment.docker("create", image).stdout.strip()
    try:
        with (
            Popen(["docker", "--host", deployment.address, "export", container], stdout=PIPE) as exported,
            tarfile.open(fileobj=exported.stdout, mode="r|") as archive,
        ):
            return list(archive)
    finally:
        deployment.docker("rm", container)
