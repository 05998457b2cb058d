"""Which processes are surely gone: never one of another container."""

import os
import shutil
import subprocess
import sys

import pytest

from catalog.db.processes import is_gone, process_name, shown

NAME = "from catalog.db.processes import process_name; print(process_name())"


def _name_in(*wrapper: str) -> str:
    """The name that a process has which ended since."""
    command = [*wrapper, sys.executable, "-c", NAME]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and wrapper:
        pytest.skip(f"no container can be made here: {done.stderr.strip()}")
    return done.stdout.strip()


def test_a_process_of_this_machine_that_ended_is_gone_and_one_that_runs_is_not() -> None:
    assert is_gone(_name_in())
    assert is_gone(_name_in() + ":turn")
    assert not is_gone(process_name())
    assert not is_gone(process_name() + ":turn")


def test_a_process_id_that_another_process_has_now_is_not_the_old_one() -> None:
    host, pid, place, start = process_name().split(":")
    assert is_gone(f"{host}:{pid}:{place}:{int(start) - 1}")


def test_a_process_that_waits_to_be_reaped_is_gone() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", NAME + "; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        name = child.stdout.readline().strip()
        assert not is_gone(name)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert is_gone(name)


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs the `unshare` command")
@pytest.mark.parametrize("options", [("--mount-proc",), ()], ids=["own-proc", "foreign-proc"])
def test_of_a_container_with_this_host_name_nothing_is_assumed(options: tuple[str, ...]) -> None:
    inside = _name_in("unshare", "--pid", "--fork", *options)
    assert inside.split(":")[0] == process_name().split(":")[0], "one host name"
    assert not is_gone(inside)


@pytest.mark.parametrize(
    "change", [{2: "another-boot.4026531836"}, {2: "-", 3: "-"}, {1: "none"}, {1: "9" * 40}]
)
def test_of_names_from_elsewhere_nothing_is_assumed(change: dict[int, str]) -> None:
    fields = process_name().split(":")
    for place, value in change.items():
        fields[place] = value
    assert is_gone(":".join(fields)) is (change == {1: "9" * 40})
    assert not is_gone("")
    assert not is_gone("host:1:x")


def test_people_read_process_and_host() -> None:
    assert shown("vm:12:boot.1:99:turn") == "process 12 on vm"
    assert shown("run-1") == "run-1"
