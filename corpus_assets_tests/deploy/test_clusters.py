"""Ray clusters that are started where people have machines: in a Slurm job, on hosts by ssh. What
they build is what one process builds."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corpus_assets_tests.demo_build import corpus_command, run_corpus, version_files
from corpus_assets_tests.deploy.services import DEPLOY
from corpus_assets_tests.tiny_corpus import make_tiny_corpus

SLURM = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={first}
SlurmdPort={second}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
KillWait=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
FAKE_SSH = '#!/bin/bash\nwhile [ "$1" = -o ]; do shift 2; done\nshift\nbash -c "$*"\n'

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(shutil.which("ray", path=Path(sys.executable).parent) is None,
                       reason="ray is absent: pip install 'corpus-assets[ray]'"),
]  # fmt: skip


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


def until(is_so: Callable[[], bool], patience_s: float, what: str) -> None:
    end = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.5)


def variables_of(home: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"CORPUS_HOME": str(home), "PATH": path}


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_corpus(tmp_path_factory.mktemp("tiny"), vocab_size=600)


@pytest.fixture(scope="module")
def alone(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of the version that one process builds."""
    home = tmp_path_factory.mktemp("alone")
    run_corpus(home, "build", str(recipe), "--version", "t1", "--workers", "1")
    return version_files(home, "t1")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """A cluster of this machine; runs its commands."""
    missing = [name for name in ("munged", "slurmctld", "slurmd") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip("Slurm is absent (Debian: slurmctld, slurmd, slurm-client, munge), or not root")
    folder = tmp_path / "slurm"
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    values = {"host": socket.gethostname(), "folder": folder, "cpus": os.cpu_count()}
    ports = {"first": free_port(), "second": free_port()}
    (folder / "slurm.conf").write_text(SLURM.format(**values, **ports))
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    munge = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log"}
    options = [f"--{option}={folder}/munge.{name}" for option, name in munge.items()]
    commands = (
        ["munged", "--foreground", "--force", f"--seed-file={folder}/munge.seed", *options],
        ["slurmctld", "-D"],
        ["slurmd", "-D"],
    )
    services = []
    with (folder / "services.log").open("w") as log:
        for command in commands:
            services.append(subprocess.Popen(command, stdout=log, stderr=log))
            time.sleep(1)

    def run(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    try:
        until(lambda: "idle" in run("sinfo", "--noheader"), 60, "a node of Slurm")
        yield run
    finally:
        subprocess.run(["scancel", "--user", "root"], check=False)
        for service in reversed(services):
            service.terminate()
            service.wait(30)


def test_a_slurm_job_whose_time_is_up_is_queued_again_and_ends_with_the_same_version(
    slurm: Callable[..., str],
    recipe: Path,
    alone: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = tmp_path / "home"
    for name, value in variables_of(home).items():
        monkeypatch.setenv(name, value)
    script = str(DEPLOY / "slurm" / "ray.sbatch")
    build = corpus_command("build", str(recipe), "--version", "t1")
    job = slurm("sbatch", "--parsable", "--cpus-per-task", "2", "--time", "30", script, *build)
    log = tmp_path / f"slurm-{job}.out"

    def said() -> str:
        return log.read_text() if log.exists() else ""

    until(lambda: "signals pages-1" in said(), 300, "the first stages")
    slurm("scancel", "--signal=USR1", "--batch", job)
    until(lambda: "queued again" in said(), 120, "the end of the first attempt")
    until(lambda: "PENDING" in slurm("squeue", "--noheader", "--format=%T"), 60, "the queue")
    slurm("scontrol", "update", f"JobId={job}", "StartTime=now")
    until(lambda: "version t1 is released" in said(), 300, "the version")
    until(lambda: not slurm("squeue", "--noheader"), 120, "the end of the job")

    assert re.search(r"signals pages-1: 1 part computed(?s:.*)queued again", said())
    assert not re.search(r"queued again(?s:.*)signals pages-1: 1 part computed", said())
    assert version_files(home, "t1") == alone
    assert not Path(f"/tmp/corpus-{job}").exists(), "the cache of the job holds text"


def test_hosts_that_ssh_reaches_build_the_same_version_and_leave_with_the_command(
    recipe: Path, alone: dict[str, str], tmp_path: Path
) -> None:
    home, ssh = tmp_path / "home", tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(FAKE_SSH)  # every host is this machine
    ssh.chmod(0o755)
    (tmp_path / "hosts.txt").write_text("# two\nfirst 1\nsecond 1")
    variables = variables_of(home) | {"RAY_HOST": "127.0.0.1", "RAY_PORT": str(free_port())}
    variables["PATH"] = f"{ssh.parent}:{variables['PATH']}"
    build = corpus_command("build", str(recipe), "--version", "t1")
    done = subprocess.run(
        [str(DEPLOY / "hosts" / "with-ray"), "hosts.txt", *build],
        env=variables, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert version_files(home, "t1") == alone
    for host in ("first", "second"):
        assert "Ray runtime started" in (tmp_path / f"ray-{host}.log").read_text()
    until(lambda: not _uses(variables["RAY_PORT"]), 60, "the end of the nodes")


def _uses(port: str) -> bool:
    """Whether a process of a cluster with this port is there."""
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return any(b"gcs_server" in line and f"={port}\0".encode() in line for line in lines)
