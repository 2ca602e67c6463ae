"""What a strategy gets, what it may answer, and what happens to a hostile one."""

import os
import resource
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import psutil
import pytest

from autoquant.errors import AgentFault, CrashError, EvaluationCut, InfrastructureFault, LimitError, OutputError
from autoquant.protocol import Limits
from autoquant.sandbox import CPU_LIMIT, MEMORY_LIMIT, Answer, CallFrames, ParentPool, WarmParent, interpreter, warm
from autoquant.sandbox.server import UNSEEN
from autoquant.sandbox.warm import ENVIRONMENT
from autoquant.sealing import Level

LINUX = sys.platform == "linux"
LIMITS = Limits(cpu_seconds=1.0, memory_bytes=256 * 1024**2, wall_backstop_seconds=20.0)


def strategy(*lines: str, head: str = "import numpy as np\nimport pandas as pd\n") -> bytes:
    body = "\n".join(f"    {line}" for line in lines)
    return f"{head}\n\ndef target_weights(panel, train_end):\n{body}\n".encode()


def ask(parent: WarmParent, frames: CallFrames, *lines: str, reveal: bool = True) -> Answer:
    return parent.call(strategy(*lines), frames, int(frames.times[40]), reveal)


def fault(parent: WarmParent, frames: CallFrames, *lines: str, reveal: bool = True) -> AgentFault:
    with pytest.raises(AgentFault) as caught:
        ask(parent, frames, *lines, reveal=reveal)
    return caught.value


def told(parent: WarmParent, frames: CallFrames, expression: str) -> str:
    """Value of an expression inside a child."""
    return str(fault(parent, frames, "import os, sys", f"raise ValueError(str({expression}))").text)


def test_every_field_arrives_bit_for_bit(parent, frames) -> None:
    for k, name in enumerate(frames.fields):
        assert np.array_equal(frames.cube[k], ask(parent, frames, f"return panel.{name}").values)


def test_index_columns_tier_and_train_end_are_what_they_say(parent, frames) -> None:
    assert "UTC" == told(parent, frames, "panel.close.index.tz")
    assert str(frames.times[0]) == told(parent, frames, "int(panel.close.index[0].timestamp() * 1000)")
    assert "['A00', 'A01', 'A02']" == told(parent, frames, "panel.assets")
    assert "{'A00': 1, 'A01': 2, 'A02': 2}" == told(parent, frames, "panel.tier.to_dict()")
    assert "True" == told(parent, frames, "train_end == panel.close.index[40]")


@pytest.mark.parametrize("attempt", ["panel.close.iloc[0, 0] = 1.0", "panel.close = 1", "panel.close.values[0] = 1"])
def test_the_panel_is_read_only(parent, frames, attempt) -> None:
    assert fault(parent, frames, attempt, "return panel.close").kind in ("ValueError", "AttributeError")


def test_a_missing_column_is_zero_and_order_is_restored(parent, frames) -> None:
    values = ask(parent, frames, "return panel.close[['A02', 'A00']]").values
    assert np.array_equal(frames.cube[3][:, [0, 2]], values[:, [0, 2]])
    assert 0.0 == np.abs(values[:, 1]).max()


def test_extra_rows_are_ignored_and_missing_rows_marked(parent, frames) -> None:
    late = "later = panel.close.set_axis(panel.close.index + pd.Timedelta(hours=40))"
    answer = ask(parent, frames, late, "return later")
    assert [False] * 10 + [True] * 50 == answer.present.tolist()
    assert np.isnan(answer.values[:10]).all()
    assert np.array_equal(frames.cube[3][:50], answer.values[10:])


def test_an_index_of_another_resolution_is_understood(parent, frames) -> None:
    assert ask(parent, frames, "return panel.close.set_axis(panel.close.index.as_unit('us'))").present.all()


def test_no_compiler_is_there_where_the_extra_is_installed_either(parent, frames) -> None:
    """Else a strategy that asks pandas for numba would work on one host and crash on another."""
    line = "return panel.close.rolling(3).mean(engine='numba')"
    assert "ModuleNotFoundError" == fault(parent, frames, line).kind


def test_names_are_kept_alike_where_pyarrow_is_installed_and_where_it_is_not(parent, frames) -> None:
    """Else pandas holds texts in arrow's arrays, which answer otherwise here and there."""
    assert "python" == told(parent, frames, "panel.close.columns.dtype.storage")
    assert "ImportError" == fault(parent, frames, "return pd.Series(['a'], dtype='string[pyarrow]')").kind


def test_nothing_is_found_that_pandas_and_scipy_take_where_it_is_installed(frames, tmp_path, monkeypatch) -> None:
    """On a host that has every one of them."""
    for name in UNSEEN:
        (tmp_path / f"{name}.py").touch()
    here = interpreter.this_interpreter()
    full = replace(here, packages=(str(tmp_path), *here.packages), libraries=(str(tmp_path), *here.libraries))
    (tmp_path / "stranger.py").touch()
    monkeypatch.setattr(warm, "this_interpreter", lambda: full)
    with WarmParent(LIMITS) as parent:
        look = "for name in names:\n     try: __import__(name)\n     except ImportError: continue\n     found += [name]"
        names = f"names, found = {[*UNSEEN, 'stranger']}, []"
        assert "['stranger']" == fault(parent, frames, names, look, "raise ValueError(str(found))").text


def test_nan_comes_back_as_nan(parent, frames) -> None:
    assert np.isnan(ask(parent, frames, "return panel.close.where(panel.close < 0)").values).all()


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("return None", "NotADataFrame"),
        ("return panel.close.to_numpy()", "NotADataFrame"),
        ("return pd.concat([panel.close, panel.close])", "DuplicateRows"),
        ("return pd.concat([panel.close, panel.close], axis=1)", "DuplicateColumns"),
        ("return panel.close.rename(columns={'A00': 'BTCUSDT'})", "UnknownColumn"),
        ("return panel.close.astype(str)+'x'", "NotNumeric"),
        ("return panel.close / 0.0", "Infinite"),
        ("return panel.close * 1j", "NotNumeric"),
        ("return panel.close.astype('timedelta64[ns]')", "NotNumeric"),
    ],
)
def test_an_answer_of_another_shape_is_refused_by_name(parent, frames, line, kind) -> None:
    error = fault(parent, frames, line)
    assert isinstance(error, OutputError)
    assert kind == error.kind


def test_a_crash_names_class_and_line_and_the_message_only_where_it_may(parent, frames) -> None:
    shown = fault(parent, frames, "x = 1", "raise KeyError(int(panel.close.iloc[0, 0]))")
    hidden = fault(parent, frames, "x = 1", "raise KeyError(int(panel.close.iloc[0, 0]))", reveal=False)
    assert ("KeyError", 7, "540") == (shown.kind, shown.line, shown.text)
    assert ("KeyError", 7, None) == (hidden.kind, hidden.line, hidden.text)
    assert "540" not in hidden.message


def test_a_class_name_of_the_strategys_own_making_carries_nothing_out(parent, frames) -> None:
    error = fault(parent, frames, "raise type('Price540', (Exception,), {})()", reveal=False)
    assert "Exception" == error.kind


def test_the_line_is_in_strategy_py_even_when_pandas_raises(parent, frames) -> None:
    assert 6 == fault(parent, frames, "return panel.close.rolling(-3).mean()").line


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("raise SystemExit(0)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("np.__loader__.path and __import__('os')._exit(0)", "Exited"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("return target_weights(panel, train_end)", "RecursionError"),
        ("import os; os._exit(97)", "Exited"),
    ],
)
def test_ending_the_process_is_a_crash(parent, frames, line, kind) -> None:
    error = fault(parent, frames, line)
    assert isinstance(error, CrashError)
    assert kind == error.kind


def test_endless_work_hits_the_cpu_limit(one_parent, frames) -> None:
    error = fault(one_parent, frames, "while True: pass")
    assert isinstance(error, LimitError)
    assert CPU_LIMIT == error.kind


def test_ignoring_the_cpu_signal_helps_nobody(one_parent, frames) -> None:
    ignore = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)"
    assert CPU_LIMIT == fault(one_parent, frames, ignore, "while True: pass").kind


@pytest.mark.skipif(not LINUX, reason="address space is not limited on this system")
@pytest.mark.parametrize("line", ["bytearray(1 << 30)", "np.ones(1 << 28)", "np.tile(panel.close, (10**6, 1))"])
def test_a_huge_allocation_hits_the_memory_limit(parent, frames, line) -> None:
    assert MEMORY_LIMIT == fault(parent, frames, line).kind


@pytest.mark.parametrize("line", ["import os; os.fork()", "import threading; threading.Thread(target=print).start()"])
def test_no_process_and_no_thread_can_be_started(parent, frames, line) -> None:
    assert fault(parent, frames, line).kind in ("BlockingIOError", "RuntimeError")


def test_endless_output_goes_nowhere_and_costs_only_cpu(one_parent, frames) -> None:
    assert CPU_LIMIT == fault(one_parent, frames, "while True: print('x' * 10000)").kind


def test_closing_every_descriptor_does_not_hurt(parent, frames) -> None:
    answer = ask(parent, frames, "import os", "os.closerange(0, 4096)", "return panel.close")
    assert np.array_equal(frames.cube[3], answer.values)


def test_a_sleeping_strategy_meets_the_wall_backstop_as_an_infrastructure_matter(frames) -> None:
    limits = Limits(cpu_seconds=1.0, wall_backstop_seconds=0.5)
    with WarmParent(limits) as parent:
        _ = parent.isolation
        with pytest.raises(InfrastructureFault, match="wall time"):
            ask(parent, frames, "import time; time.sleep(60)")
        assert [] == eventually_no_children(parent)
        assert ask(parent, frames, "return panel.close").present.all()


@pytest.mark.skipif(not LINUX, reason="address space is not limited on this system")
def test_a_child_that_cannot_be_shut_in_never_runs_and_nobody_is_blamed(frames) -> None:
    with WarmParent(Limits(memory_bytes=1 << 70)) as parent, pytest.raises(InfrastructureFault, match="limits"):
        ask(parent, frames, "return panel.close")


def test_the_environment_is_fixed(parent, frames, monkeypatch) -> None:
    assert str(dict(sorted(ENVIRONMENT.items()))) == told(parent, frames, "dict(sorted(os.environ.items()))")


def test_hashes_are_the_same_in_every_parent(parent, frames) -> None:
    with WarmParent(LIMITS) as other:
        assert told(parent, frames, "hash('autoquant')") == told(other, frames, "hash('autoquant')")


def test_random_numbers_differ_from_call_to_call(parent, frames) -> None:
    for draw in ("np.random.random()", "__import__('random').random()"):
        assert told(parent, frames, draw) != told(parent, frames, draw)


def test_no_descriptor_and_no_path_of_ours_is_there(parent, frames) -> None:
    count = "sum(is_open(n) for n in range(3, 200))"
    head = (
        "import os\n\n\ndef is_open(n):\n    try:\n        os.fstat(n)\n        return True\n"
        "    except OSError:\n        return False\n"
    )
    with pytest.raises(CrashError) as caught:
        parent.call(strategy(f"raise ValueError({count})", head=head), frames, 0, True)
    assert caught.value.text in ("0", "1", "2")  # at most the two maps' own duplicates
    assert "False" == told(parent, frames, "any('work' in p and 'site-packages' not in p for p in sys.path)")


@pytest.mark.skipif(not LINUX, reason="needs Landlock")
@pytest.mark.parametrize(
    "line", ["open('/tmp/aq-mark', 'w')", "open('/etc/hostname')", "open('/proc/self/maps')", "os.listdir('/')"]
)
def test_no_file_but_the_interpreters(parent, frames, line) -> None:
    if "read-only-files" not in parent.isolation:
        pytest.skip("this kernel has no Landlock")
    kinds = (
        {"PermissionError"} if parent.level is Level.EVIDENT else {"PermissionError", "FileNotFoundError", "OSError"}
    )
    assert fault(parent, frames, "import os", line).kind in kinds


@pytest.mark.skipif(not LINUX, reason="needs Landlock")
@pytest.mark.parametrize(
    "line",
    [
        "os.kill(os.getppid(), 9)",
        "open(f'/proc/{os.getppid()}/mem', 'r+b')",
        "import ctypes; r = ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0); assert r == 0",
    ],
)
def test_the_warm_parent_is_out_of_reach(parent, frames, line) -> None:
    if "read-only-files" not in parent.isolation:
        pytest.skip("this kernel has no Landlock")
    assert fault(parent, frames, "import os", line).kind in ("PermissionError", "AssertionError")
    assert ask(parent, frames, "return panel.close").present.all()


def test_a_mark_of_one_call_is_not_found_by_the_next(parent, frames) -> None:
    mark = (
        "import sys, builtins, os, tempfile",
        "found = [hasattr(pd, 'mark'), hasattr(builtins, 'mark'), 'mark' in sys.modules, 'AQ' in os.environ]",
        "found += [os.path.exists(p) for p in ('/tmp/aq-mark', '/dev/shm/aq-mark')]",
        "pd.mark = builtins.mark = True; sys.modules['mark'] = sys; os.environ['AQ'] = '1'",
        "np.random.seed(1)",
        "for place in ('/tmp/aq-mark', '/dev/shm/aq-mark'):",
        "    try: os.close(os.open(place, os.O_CREAT | os.O_WRONLY))",
        "    except OSError: pass",
        "raise ValueError(str(any(found)))",
    )
    assert ["False", "False"] == [fault(parent, frames, *mark).text for _ in range(2)]


KERNEL = {
    "shared memory": ("l.shmget(7, 64, 0)", "l.shmget(7, 64, 0o1666)"),
    "messages": ("l.msgget(7, 0)", "l.msgget(7, 0o1666)"),
    "semaphores": ("l.semget(7, 1, 0)", "l.semget(7, 1, 0o1666)"),
    "queue": ("l.mq_open(b'/aq', 0, 0, None)", "l.mq_open(b'/aq', 0o100, 0o666, None)"),
    "session keys": ("l.syscall(250, 10, -3, b'user', b'aq', 0)", "l.syscall(248, b'user', b'aq', b'x', 1, -3)"),
    "user keys": ("l.syscall(250, 10, -4, b'user', b'aq', 0)", "l.syscall(248, b'user', b'aq', b'x', 1, -4)"),
}


@pytest.mark.skipif(not LINUX or os.uname().machine != "x86_64", reason="speaks to this kernel by number")
@pytest.mark.parametrize("name", KERNEL)
def test_the_kernel_keeps_no_mark_of_one_call_for_the_next(parent, frames, name) -> None:
    look, leave = KERNEL[name]
    body = ("import ctypes", "l = ctypes.CDLL(None)", f"found = {look} >= 0", leave, "raise ValueError(str(found))")
    assert ["False", "False"] == [fault(parent, frames, *body).text for _ in range(2)]


@pytest.mark.skipif(not LINUX, reason="needs seccomp")
@pytest.mark.parametrize(
    "line",
    [
        "os.utime(os.__file__)",
        "os.chmod(os.__file__, 0o755)",
        "os.setxattr(os.__file__, 'user.aq', b'1')",
        "os.execv(sys.executable, [sys.executable])",
        "os.setpgid(0, os.getpgid(os.getppid()))",
        "import resource; resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
        "import socket; socket.socket(socket.AF_UNIX)",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "os.sched_setaffinity(os.getppid(), {0})",
    ],
)
def test_calls_that_leave_a_mark_or_reach_a_stranger_are_refused(parent, frames, line) -> None:
    if "few-system-calls" not in parent.isolation:
        pytest.skip("this kernel has no seccomp")
    assert "PermissionError" == fault(parent, frames, "import os, sys", line).kind
    assert ask(parent, frames, "return panel.close").present.all()


def test_nothing_of_a_call_stays_in_the_parent(parent, frames) -> None:
    server = server_of(parent)
    try:
        before = server.num_fds()
    except psutil.AccessDenied:
        pytest.skip("not even the same user may look into a process that is not dumpable")
    for _ in range(5):
        ask(parent, frames, "return panel.close")
    wait = time.monotonic() + 2.0
    while server.num_fds() > before and time.monotonic() < wait:
        time.sleep(0.01)
    assert before >= server.num_fds()
    assert [] == server.children(recursive=True)


@pytest.mark.skipif(not LINUX, reason="names what Linux gives")
def test_isolation_says_what_this_machine_gives(parent) -> None:
    assert parent.level == parent.isolation[0]
    assert {"limits", "not-dumpable"} <= set(parent.isolation)


def test_calls_from_many_threads_get_their_own_answers(parent, frames) -> None:
    def call(number: int) -> float:
        return float(ask(parent, frames, f"return panel.close * 0 + {number}").values[0, 0])

    with ThreadPoolExecutor(4) as pool:
        assert [float(n) for n in range(12)] == list(pool.map(call, range(12)))


def test_a_call_that_dies_does_not_disturb_another(parent, frames) -> None:
    with ThreadPoolExecutor(2) as pool:
        bad = pool.submit(fault, parent, frames, "import os, time; time.sleep(0.2); os._exit(3)")
        good = pool.submit(ask, parent, frames, "import time; time.sleep(0.4)", "return panel.close")
        assert "Exited" == bad.result().kind
        assert good.result().present.all()


def test_running_out_of_descriptors_is_nobodys_fault(frames) -> None:
    with WarmParent(LIMITS) as parent:
        ask(parent, frames, "return panel.close")
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limit[1]))
        try:
            with pytest.raises(InfrastructureFault, match="handed over"):
                ask(parent, frames, "return panel.close")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        assert ask(parent, frames, "return panel.close").present.all()


def test_a_killed_parent_is_an_infrastructure_fault(frames, seal) -> None:
    with WarmParent(LIMITS, seal=seal) as parent:
        ask(parent, frames, "return panel.close")
        killer = threading.Timer(0.3, os.kill, (parent.pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(InfrastructureFault) as caught:
            ask(parent, frames, "import time; time.sleep(10)")
        assert "cut from outside" in caught.value.hint
        with pytest.raises(InfrastructureFault):
            ask(parent, frames, "return panel.close")


def test_a_killed_child_is_an_infrastructure_fault(frames, seal) -> None:
    with WarmParent(LIMITS, seal=seal) as parent, ThreadPoolExecutor(1) as pool:
        _ = parent.isolation
        waiting = pool.submit(ask, parent, frames, "import time; time.sleep(10)")
        while not (children := server_of(parent).children()):
            time.sleep(0.02)
        time.sleep(0.2)
        children[0].kill()
        with pytest.raises(InfrastructureFault, match="killed from outside"):
            waiting.result()


def test_no_child_outlives_its_parent(frames, seal) -> None:
    parent = WarmParent(LIMITS, seal=seal)
    _ = parent.isolation
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, parent, frames, "import time; time.sleep(60)")
        while not server_of(parent).children():
            time.sleep(0.02)
        time.sleep(0.2)
        children = psutil.Process(parent.pid).children(recursive=True)
        os.kill(parent.pid, signal.SIGKILL)
        assert isinstance(waiting.exception(), InfrastructureFault)
    parent.close()
    _, alive = psutil.wait_procs(children, timeout=5.0)
    assert [] == alive


def test_nothing_of_a_closed_parent_goes_on(frames, seal) -> None:
    with ThreadPoolExecutor(1) as pool:
        with WarmParent(LIMITS, seal=seal) as parent:
            _ = parent.isolation
            waiting = pool.submit(ask, parent, frames, "import time; time.sleep(60)")
            while not server_of(parent).children():
                time.sleep(0.02)
            outermost = psutil.Process(parent.pid)
            family = [outermost, *outermost.children(recursive=True)]
        assert isinstance(waiting.exception(), EvaluationCut)
    _, alive = psutil.wait_procs(family, timeout=5.0)
    assert [] == alive


def test_a_parent_outlives_the_thread_that_started_it(frames, seal) -> None:
    with ThreadPoolExecutor(1) as pool:
        parent = pool.submit(WarmParent, LIMITS, seal=seal).result()
    with parent:
        _ = parent.isolation
        time.sleep(0.05)
        assert ask(parent, frames, "return panel.close").present.all()


def test_a_parent_that_is_killed_before_it_is_ready_was_cut_from_outside(frames, seal) -> None:
    for victim in (server_of, lambda parent: psutil.Process(parent.pid)):
        with WarmParent(LIMITS, seal=seal) as parent:
            while parent.level is Level.SEALED and not psutil.Process(parent.pid).children():
                time.sleep(0.01)
            victim(parent).kill()
            with pytest.raises(EvaluationCut):
                ask(parent, frames, "return panel.close")


def test_a_pool_hands_out_parents_that_were_started_ahead_and_never_one_twice(frames) -> None:
    with ParentPool(1, LIMITS) as pool, pool.take() as first, pool.take(["scipy.special"]) as second:
        assert first.pid != second.pid
        assert "True" == told(second, frames, "'scipy.special' in sys.modules")
        assert "False" == told(first, frames, "'scipy.special' in sys.modules")


def server_of(parent: WarmParent) -> psutil.Process:
    """The process that forks the calls: behind bubblewrap when sealed."""
    outermost = psutil.Process(parent.pid)
    return outermost.children()[0] if parent.level is Level.SEALED else outermost


def eventually_no_children(parent: WarmParent) -> list[psutil.Process]:
    for _ in range(100):
        if not (children := server_of(parent).children()):
            return []
        time.sleep(0.02)
    return children
