"""Press Ctrl-C in real commands, at real moments: processes that are forked where all imports are done.

Run as a program it forks one command for each line of JSON on stdin, and answers with a line about its end.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PRELOAD = (
    "torch", "scipy.sparse", "sklearn.linear_model", "pyarrow", "joblib", "matplotlib.figure", "openTSNE",
    "plotly", "optuna", "fastapi", "uvicorn", "faiss", "kernode.cli", "kernode.show.report.page",
    "kernode.show.plots.pictures", "kernode.show.explorer", "kernode.node_classification.experiment",
    "kernode.link_prediction.experiment", "kernode.studies.tune.search", "kernode.studies.reproduce.run",
    "kernode.studies.compare.matches",
)  # fmt: skip


def environment(**more):
    """Of processes that see what this one imports, wherever they run."""
    paths = os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path)
    return os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"} | more


class Presser:
    """Starts commands and presses Ctrl-C in them."""

    def __init__(self, folder, **more):
        self.folder = Path(folder)
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=folder, env=environment(**more),
        )  # fmt: skip

    def press(self, *words, after=0.0, at=None, group=True, limit=60.0):
        """Ctrl-C in a command: so many seconds after its log has an event, or after its start.

        ``group``: as a terminal does it, in all processes of the command. Gives its status, what it said,
        how many seconds it went on, and which of its processes went on after it.
        """
        case = {"words": list(map(str, words)), "after": after, "at": at, "group": group, "limit": limit}
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def _run(words):
    """The command, in the forked process."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test that runs in the background ignores it
    for number, name in ((1, "out.txt"), (2, "err.txt")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["kernode", *words]
    status = 0
    try:
        from kernode.__main__ import main

        main()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    import atexit
    from multiprocessing import util

    util._exit_function()  # as at the end of any process, where it was imported after the command had begun
    atexit._run_exitfuncs()
    os._exit(status)


def _events():
    path = Path("log.jsonl")
    return path.read_text().splitlines() if path.exists() else []


def _await(case, pid):
    """Until the moment has come; False where the process ended before it."""
    end = time.monotonic() + case["limit"]
    while case["at"] is not None and not any(case["at"] in line for line in _events()):
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) or time.monotonic() > end:
            return False
        time.sleep(0.005)
    time.sleep(case["after"])
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _in_session(leader):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def _case(case):
    Path("log.jsonl").unlink(missing_ok=True)
    words = case["words"] + (["--log-file", "log.jsonl"] if case["at"] is not None else [])
    pid = os.fork()
    if pid == 0:
        _run(words)
    alive = _await(case, pid)
    started = time.monotonic()
    if alive:
        (os.killpg if case["group"] else os.kill)(pid, signal.SIGINT)
    status, limit = None, started + case["limit"]
    while status is None and time.monotonic() < limit:
        done, found = os.waitpid(pid, os.WNOHANG)
        status = os.waitstatus_to_exitcode(found) if done else None
        time.sleep(0.002)
    seconds = time.monotonic() - started
    left = time.monotonic() + 3.0
    while (orphans := _in_session(pid)) and time.monotonic() < left and status is not None:
        time.sleep(0.05)
    for one in orphans:
        os.kill(one, signal.SIGKILL)
    if status is None:
        os.waitpid(pid, 0)
    return {
        "alive": alive,
        "status": status,
        "seconds": round(seconds, 3),
        "out": Path("out.txt").read_text(),
        "err": Path("err.txt").read_text(),
        "orphans": len(orphans),
    }


if __name__ == "__main__":
    from importlib import import_module

    for _name in PRELOAD:
        import_module(_name)
    for _line in sys.stdin:
        sys.stdout.write(json.dumps(_case(json.loads(_line))) + "\n")
        sys.stdout.flush()
