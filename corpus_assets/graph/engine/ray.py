"""The Ray engine: tasks on the nodes of a cluster, which may come and go.

Only what a task is goes through Ray, and what came of it; data goes through the store, and so do
the files that a task names (`engine.travel`). Small tasks
go in batches, so that a snapshot of 90,000 parts does not flood the cluster's control store. Ray
tries nothing again by itself: how often a task is tried is for `engine.tries` alone.

An actor beside the driver, the watch, knows which task every call is at, and whether the build's
lease still holds. It dies with the driver; a worker that cannot ask it stores nothing.
"""

import atexit
import contextlib
import importlib
import logging
import math
import os
import platform
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from catalog.stopping import SIGNALS, expect_no_stop
from corpus_assets.core.errors import EngineError, MissingExtra, NodeLost, OtherCode
from corpus_assets.core.store_s3 import forget_copies
from corpus_assets.core.task import Finished, Task, TaskContext
from corpus_assets.graph.engine.base import (
    Cleared,
    FunctionOf,
    OnDone,
    answer_of,
    left_until,
    use_one_thread,
)
from corpus_assets.graph.engine.schedule import BEGIN_PATIENCE_S, PATIENCE_S, Schedule
from corpus_assets.graph.engine.travel import Packer, code_digest, unpacked

CALLS_PER_CPU = 2  # one that runs, and one that waits for its turn
LEAST_CPU = 0.0001  # that Ray can tell apart
BATCH_S = 20.0  # of work, as far as it can be foretold
LONGEST_BATCH_S = 30.0  # then what is left of a batch comes back
LOOK_S = 1.0
ASK_NODES_S = 2.0
KNOCK_S = 10.0
ANSWER_S = 60.0  # in which the watch is expected to answer
HEAD_S = 40.0  # and the head: after 60 Ray ends the process without a word
NODE_LABEL = "ray.io/node-id"  # that Ray gives to every node

Answer = tuple[Finished | Exception, float]  # what came of a task, in how many seconds


class RayEngine:
    """Runs tasks on the cluster at `address`; without one, on that which RAY_ADDRESS or a `ray
    start` on this machine names, else on a cluster of this machine that ends with the engine.

    `workers` bounds the calls that are under way; 0: two for each CPU of the cluster.
    """

    def __init__(
        self,
        store_url: str,
        function_of: FunctionOf,
        workers: int = 0,
        address: str | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        if address is not None and address.startswith("ray://"):
            raise EngineError(
                f"{address}: a build has to run on a node of the cluster, not through Ray Client; "
                "join it with `ray start --address HOST:6379 --num-cpus 0`, then give --ray-address "
                "HOST:6379"
            )
        self.store_url = store_url
        self.function_of = function_of
        self.workers = workers
        self.address = address
        self._tell = tell
        self.patience_s = PATIENCE_S
        self._packer = Packer(store_url)
        self._ray = _ray()
        self._until = math.inf
        self._work: Any = None
        self._watch: Any = None
        self._is_own = False
        self._run_number = 0
        self._calls: dict[Any, _Call] = {}
        self._calls_of: dict[int, list[Any]] = {}  # of a task: one, or two where it is copied
        self._last_call = 0
        self._demands = 0
        self._work_made = -math.inf  # when
        self._unfit: dict[str, OtherCode] = {}  # nodes that get no more calls, and why
        self._slots = (-math.inf, 0)  # when asked, how many
        self._head_is_lost = False

    def allow_until(self, moment: float) -> None:
        self._until = moment
        if self._watch is not None:
            self._watch.allow.remote(moment)

    def run(self, tasks: Sequence[Task], on_done: OnDone) -> None:
        if not len(tasks):
            return
        self._connect()
        self._run_number += 1
        self._ask(self._watch.open.remote(self._run_number))
        try:
            self._through(Schedule(tasks, self.patience_s), on_done)
        finally:  # Ctrl-C, a catalog that cannot be written, or copies that are not needed
            self._cancel_all()

    def _through(self, run: Schedule, on_done: OnDone) -> None:
        while run.is_open:
            expect_no_stop()
            self._hand_out(run)
            if not self._calls:
                time.sleep(min(run.look_again_s, LOOK_S))
                continue
            wait = self._ray.wait
            wait(list(self._calls), timeout=min(run.look_again_s, LOOK_S))
            ready, _ = wait(list(self._calls), num_returns=len(self._calls), timeout=0)
            for reference in ready:
                if reference in self._calls:  # else a copy, cancelled as another one was faster
                    self._take(run, self._ended(reference), reference, on_done)
        run.close()

    def _take(self, run: Schedule, call: "_Call", reference: Any, on_done: OnDone) -> None:
        """Note what came of a call."""
        try:
            answers: list[Answer] | OtherCode = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            self._lost(run, call, error)
            return
        if isinstance(answers, OtherCode):
            if not self._leave_out(run, call, answers):
                self._fail(run, call, 0, answers)
            return
        for number, (answer, seconds) in zip(call.numbers, answers, strict=False):
            if run.has(number):
                continue
            if isinstance(answer, Finished):
                on_done(number, run.done(number, answer, seconds))
                self._end_copies(run, number)
            elif not self._is_running(number):
                run.failed(number, answer)
        run.put_back(self._to_do(run, call.numbers[len(answers) :]))

    def _lost(self, run: Schedule, call: "_Call", error: Exception) -> None:
        """Tell whose fault it is that a call came to nothing, and put its other tasks back."""
        kinds = self._ray.exceptions
        seen = self._seen([call]).get(call.number)
        at = seen.at if seen is not None else 0
        task = run.tasks[call.numbers[at]]
        what = f"{task.stage} ({task.label})"
        is_there = seen is not None and any(node["NodeID"] == seen.node for node in self._nodes())
        found: Exception
        cause = getattr(error, "cause", None)
        is_world = isinstance(cause, kinds.RayError) and not isinstance(cause, kinds.RaySystemError)
        if isinstance(error, kinds.RayTaskError) and not is_world:  # `work` could not be loaded
            found = OtherCode(
                f"a node of the cluster cannot run tasks: {_first_line(cause)}; install the same "
                "corpus-assets there as here"
            )
            found.node = self._node_at(getattr(error, "ip", ""))
            if self._leave_out(run, call, found):
                return
        elif isinstance(error, kinds.OutOfMemoryError):
            found = EngineError(
                f"a worker process died during {what}: Ray ended it, because the node ran out of "
                "memory; start nodes with fewer CPUs (`ray start --num-cpus`)"
            )
        elif isinstance(error, kinds.WorkerCrashedError) and is_there:
            found = EngineError(
                f"a worker process died during {what}; if it was killed for memory, start nodes "
                "with fewer CPUs (`ray start --num-cpus`)"
            )
        else:
            found = NodeLost(f"the node that ran {what} was lost: {_first_line(error)}")
        self._fail(run, call, at, found)

    def _fail(self, run: Schedule, call: "_Call", at: int, error: Exception) -> None:
        guilty = call.numbers[at]
        if not run.has(guilty) and not self._is_running(guilty):
            run.failed(guilty, error)
        rest = [number for number in call.numbers if number != guilty]
        run.put_back(self._to_do(run, rest), is_suspect=True)

    def _leave_out(self, run: Schedule, call: "_Call", error: OtherCode) -> bool:
        """Send no more calls to a node whose code is not ours, and put its tasks back; False where
        the node is not known, or no other is left."""
        nodes = {node["NodeID"] for node in self._nodes() if node["Resources"].get("CPU")}
        if not error.node or not nodes - {*self._unfit, error.node}:
            return False
        if error.node not in self._unfit:
            self._unfit[error.node] = error
            self._work = self._fresh_work()
            self._slots = (-math.inf, 0)
            self._tell(f"{error}; the build continues without that node")
        run.put_back(self._to_do(run, call.numbers))
        return True

    def _node_at(self, ip: str) -> str:
        """Return the node at an address, where it is the only one there."""
        found = [node["NodeID"] for node in self._nodes() if node["NodeManagerAddress"] == ip]
        return str(found[0]) if len(found) == 1 else ""

    def _to_do(self, run: Schedule, numbers: Sequence[int]) -> list[int]:
        return [n for n in numbers if not run.has(n) and not self._is_running(n)]

    def _hand_out(self, run: Schedule) -> None:
        """Start calls, up to what the cluster can take; at last copies of what is slow."""
        slots = self._room()
        under_way: tuple[dict[int, float], dict[int, float]] | None = None
        while len(self._calls) < slots:
            now = time.monotonic()
            numbers = run.next_batch(now, not self._calls, BATCH_S, slots)
            if not numbers:
                running, not_begun = under_way = under_way or self._under_way(now)
                straggler = run.straggler(running, now, not_begun)
                if straggler is None:
                    return
                if not_begun.get(straggler, -math.inf) > self._work_made:
                    self._work, self._work_made = self._fresh_work(), now
                numbers = [straggler]
            self._call(run, numbers)

    def _call(self, run: Schedule, numbers: list[int]) -> None:
        self._last_call += 1
        call = _Call(self._last_call, tuple(numbers), time.monotonic())
        tasks = [self._packer.packed(run.tasks[number]) for number in numbers]
        where = (self.store_url, self.function_of, self._watch, self._run_number)
        reference = self._work.remote(tasks, *where, call.number, code_digest())
        self._calls[reference] = call
        for number in numbers:
            self._calls_of.setdefault(number, []).append(reference)

    def _ended(self, reference: Any) -> "_Call":
        call = self._calls.pop(reference)
        for number in call.numbers:
            self._calls_of[number].remove(reference)
            if not self._calls_of[number]:
                del self._calls_of[number]
        return call

    def _room(self) -> int:
        """How many calls may be under way. A cluster that starts nodes on demand has to see some
        demand, so two may be even where there is no CPU."""
        asked, slots = self._slots
        if time.monotonic() - asked > ASK_NODES_S:
            fit = [node for node in self._nodes() if node["NodeID"] not in self._unfit]
            cpus = sum(node["Resources"].get("CPU", 0.0) for node in fit)
            slots = max(int(CALLS_PER_CPU * cpus), 2)
            self._slots = time.monotonic(), slots
        return min(slots, self.workers or slots)

    def _nodes(self) -> list[Any]:
        return [node for node in self._of_head(self._ray.nodes) if node["Alive"]]

    def _of_head(self, question: Callable[[], Any]) -> Any:
        """Return what the head of the cluster answers. A thread asks, which is left behind where
        none comes: Ray would wait for longer, then end the process."""
        answers = queue.SimpleQueue[tuple[Any, Exception | None]]()

        def ask() -> None:
            try:
                answers.put((question(), None))
            except Exception as error:  # whatever Ray makes of a broken connection
                answers.put((None, error))

        threading.Thread(target=ask, daemon=True).start()
        try:
            found, error = answers.get(timeout=HEAD_S)
        except queue.Empty:
            found, error = None, TimeoutError(f"no answer in {HEAD_S:.0f} seconds")
        if error is not None:
            self._head_is_lost = True
            raise EngineError(
                f"the head of the Ray cluster was lost ({_first_line(error)}): start the cluster again "
                "and run the same command, finished parts are kept"
            ) from error
        return found

    def _under_way(self, now: float) -> tuple[dict[int, float], dict[int, float]]:
        """When the task that each call is at began, those behind it wait for it just as long; and
        when calls went out that have not begun although a CPU is free: a node that fell silent
        holds their requests, and Ray waits for it for many minutes."""
        calls = list(self._calls.values())
        seen = self._seen(calls)
        running = {
            number: now - seen[call.number].seconds
            for call in calls
            if call.number in seen
            for number in call.numbers[seen[call.number].at :]
        }
        late = [c for c in calls if c.number not in seen and now - c.sent > BEGIN_PATIENCE_S]
        if late and self._of_head(self._ray.available_resources).get("CPU", 0.0) < 1:
            late = []
        return running, {number: call.sent for call in late for number in call.numbers}

    def _seen(self, calls: "Sequence[_Call]") -> "dict[int, _Seen]":
        found: dict[int, _Seen] = self._ask(self._watch.seen.remote([c.number for c in calls]))
        return found

    def _is_running(self, number: int) -> bool:
        return number in self._calls_of

    def _end_copies(self, run: Schedule, number: int) -> None:
        for reference in list(self._calls_of.get(number, ())):
            if all(run.has(n) for n in self._calls[reference].numbers):
                self._ended(reference)
                self._cancel(reference)

    def _cancel(self, reference: Any) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError, ValueError):  # it ended just now
            self._ray.cancel(reference, force=True)

    def _cancel_all(self) -> None:
        """End what runs. What takes a moment to end is not allowed to store anything by then."""
        if self._calls and not self._head_is_lost:
            with contextlib.suppress(EngineError):  # without the watch nothing is stored
                self._ask(self._watch.open.remote(0))
        for reference in () if self._head_is_lost else self._calls:
            self._cancel(reference)
        self._calls, self._calls_of = {}, {}

    def _ask(self, reference: Any) -> Any:
        """Return an answer of the watch."""
        try:
            return self._ray.get(reference, timeout=ANSWER_S)
        except self._ray.exceptions.RayError as error:
            raise EngineError(
                f"the Ray cluster is no longer usable: {_first_line(error)}; run the "
                "same command again, finished parts are kept"
            ) from error

    def _connect(self) -> None:
        if self._watch is not None:
            return
        ray = self._ray
        self._is_own = join_ray(self.address)
        beside = self._on(ray.get_runtime_context().get_node_id())
        options = {"num_cpus": 0, "max_restarts": 0, "scheduling_strategy": beside}
        self._work = self._fresh_work()
        self._watch = ray.remote(**options)(Watch).remote(self._until)

    def _fresh_work(self) -> Any:
        """Return `work` with a demand that no call had before. Ray asks for workers once for all
        calls of one demand: a silent node that holds the request would hold later calls too."""
        cpus = 1 - self._demands * LEAST_CPU
        self._demands += 1
        options = {"num_cpus": cpus, "max_retries": 0}
        if self._unfit:
            by = importlib.import_module("ray.util.scheduling_strategies")
            others = {NODE_LABEL: by.NotIn(*self._unfit)}
            options["scheduling_strategy"] = by.NodeLabelSchedulingStrategy(hard=others)
        return self._ray.remote(**options)(work)

    def forget_copies(self) -> list[Cleared]:
        self._connect()
        nodes = sorted(self._nodes(), key=lambda node: node["NodeID"])
        calls = []
        for node in nodes:
            call = self._ray.remote(forget_copies)
            options = {"num_cpus": 0, "max_retries": 0}
            where = self._on(node["NodeID"])
            calls.append(call.options(**options, scheduling_strategy=where).remote(self.store_url))
        self._ray.wait(calls, num_returns=len(calls), timeout=ANSWER_S)
        found = []
        for node, call in zip(nodes, calls, strict=True):
            files = None
            with contextlib.suppress(self._ray.exceptions.RayError):
                files = self._ray.get(call, timeout=0)
            found.append(Cleared(f"{node['NodeManagerHostname']} {node['NodeID'][:12]}", files))
        return found

    def _on(self, node_id: str) -> Any:
        """Say that something has to run on one node and no other."""
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        return strategies.NodeAffinitySchedulingStrategy(node_id, soft=False)

    def close(self) -> None:
        if self._watch is None:
            return
        if self._head_is_lost:  # whatever asks it would wait as long
            self._watch, self._is_own = None, False
            atexit.register(_end_at_once)
            return
        self._cancel_all()
        self._ray.kill(self._watch)
        self._watch = None
        if self._is_own:
            self._ray.shutdown()
            self._is_own = False


def join_ray(address: str | None) -> bool:
    """Connect this process to the cluster at `address`, as `RayEngine` finds one; return whether it
    was not connected before."""
    ray = _ray()
    if ray.is_initialized():
        return False
    try:
        _knock(address)
        _use_token(address)
        with _handlers_kept():
            ray.init(
                address=address,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except EngineError:
        raise
    except Exception as error:  # Ray raises that itself where it waited in vain
        raise EngineError(
            f"cannot use the Ray cluster at {address or 'this machine'}: "
            f"{_first_line(error)}; start one with `ray start --head`, or correct "
            "--ray-address"
        ) from error
    # Whatever the level of logs, Ray prints what its raylets say about workers that ended.
    inside: Any = importlib.import_module("ray._private.worker")
    inside.print_to_stdstream = _silent
    return True


@dataclass(frozen=True)
class _Call:
    """Tasks that went out together."""

    number: int
    numbers: tuple[int, ...]
    sent: float


class _Seen(NamedTuple):
    """Where a call is: at which of its tasks, for how long, on which node."""

    at: int
    seconds: float
    node: str


class Watch:
    """What the driver knows and workers ask, on the driver's own machine and clock."""

    def __init__(self, until: float) -> None:
        self._until = until
        self._run = 0
        self._at: dict[int, tuple[int, float, str]] = {}

    def allow(self, until: float) -> None:
        self._until = until

    def open(self, run: int) -> None:
        """Let calls of this run store results, and of no other."""
        self._run = run
        self._at = {}

    def began(self, call: int, index: int, node: str) -> None:
        self._at[call] = index, time.monotonic(), node

    def seen(self, calls: Sequence[int]) -> dict[int, _Seen]:
        now = time.monotonic()
        found = {call: self._at[call] for call in calls if call in self._at}
        return {call: _Seen(at, now - since, node) for call, (at, since, node) in found.items()}

    def left_s(self, run: int) -> float:
        return left_until(self._until) if run == self._run else -math.inf


def work(
    tasks: Sequence[Task],
    store_url: str,
    function_of: FunctionOf,
    watch: Any,
    run: int,
    call: int,
    code: str,
) -> "list[Answer] | OtherCode":
    """Run tasks one after the other; the last ones are left when time is up.

    Nothing here waits in `ray.get`: Ray gives the CPU of a task that does to the next call, and
    then both run.
    """
    ray = _ray()
    node = ray.get_runtime_context().get_node_id()
    if code != code_digest():
        error = OtherCode(
            f"node {platform.node()} runs different code of corpus-assets ({code_digest()[:12]}) than "
            f"the machine that builds ({code[:12]}), or different library versions; install the "
            "same on both"
        )
        error.node = node
        return error
    use_one_thread()

    def left_s() -> float:
        try:
            left: float = watch.left_s.remote(run).future().result(timeout=ANSWER_S)
        except (ray.exceptions.RayError, TimeoutError):  # the driver is gone
            return -math.inf
        return left

    def here(stage: str) -> Callable[[TaskContext], None]:
        function = function_of(stage)

        def with_local_paths(context: TaskContext) -> None:
            context.task = unpacked(context.task, context.store)
            function(context)

        return with_local_paths

    began = now = time.monotonic()
    answers: list[Answer] = []
    for index, task in enumerate(tasks):
        if index and now - began > LONGEST_BATCH_S:
            break
        watch.began.remote(call, index, node).future().result(timeout=ANSWER_S)
        answer = answer_of(task, store_url, here, left_s)
        answers.append((answer, time.monotonic() - now))
        now = time.monotonic()
    return answers


def _use_token(address: str | None) -> None:
    """Have Ray send this user's token where the cluster asks for one.

    A process that starts a cluster of its own writes a token, and from then on `ray start` asks
    for it, but `ray.init` does not send it. To a cluster that asks for none it must not be sent:
    its workers could not answer.
    """
    place = address or os.environ.get("RAY_ADDRESS") or _started_here()
    if "RAY_AUTH_MODE" in os.environ or not place or not _asks_for_token(place):
        return
    inside = importlib.import_module("ray._private.authentication.authentication_token_setup")
    inside.logger.setLevel(logging.ERROR)  # that tokens are used is nothing to warn of
    if not inside.maybe_enable_token_auth_if_token_available(warn_if_disabled=False):
        raise EngineError(
            f"the Ray cluster at {place} asks for a token: copy ~/.ray/auth_token of its head to "
            "this machine, or set RAY_AUTH_TOKEN"
        )


def _started_here() -> str:
    """Return the cluster that `ray start` noted on this machine, to which Ray connects by itself."""
    with contextlib.suppress(OSError):
        return Path("/tmp/ray/ray_current_cluster").read_text().strip()  # noqa: S108 - Ray's own
    return ""


def _asks_for_token(address: str) -> bool:
    import grpc  # type: ignore[import-untyped]

    with grpc.insecure_channel(address) as channel:
        try:
            channel.unary_unary("/ray.rpc.NodeInfoGcsService/CheckAlive")(b"", timeout=KNOCK_S)
        except grpc.RpcError as error:
            return bool(error.code() == grpc.StatusCode.UNAUTHENTICATED)
    return False


def _knock(address: str | None) -> None:
    """Raise OSError where nothing listens at HOST:PORT: Ray would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), KNOCK_S).close()


def _end_at_once() -> None:
    """End the process before Python's own end: a thread that waits for the head would crash it, and
    Ray would wait there too."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(1)


def _silent(*_: object, **__: object) -> None:
    return


def _first_line(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}".strip().partition("\n")[0]


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise MissingExtra(
            "the engine `ray` needs the package ray: pip install 'corpus-assets[ray]'"
        ) from error


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    """Keep the handlers of Ctrl-C and SIGTERM: Ray's own end the process past all cleaning up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
