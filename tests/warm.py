"""Commands in processes of their own that begin at once: a warm one that has imported all forks each.

Run as a program, this is the warm one.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path

PRELOAD = (
    "torch", "scipy.sparse", "sklearn.linear_model", "duckdb", "joblib", "matplotlib.figure", "openTSNE",
    "plotly", "optuna", "fastapi", "uvicorn", "faiss", "kernode.cli", "kernode.estimators.load",
    "kernode.viz.report", "kernode.plots", "kernode.viz.explorer",
    "kernode.tasks.classes.evaluation", "kernode.tasks.links.evaluation",
    "kernode.search.tune", "kernode.search.compare",
)  # fmt: skip


def environment(**more):
    """Of processes that see what this one imports, wherever they run."""
    paths = os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path)
    return os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"} | more


class Warm:
    """A process that waits for commands: it takes words and a folder, and gives the id of a new process."""

    def __init__(self, **more):
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment(**more),
        )  # fmt: skip
        assert self._answer() == "ready"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def start(self, folder, *words, before=""):
        """Begin a command, as the leader of its session; ``before`` is Python that its process runs first.

        The command has begun when this returns.
        """
        return self._ask(folder=str(folder), words=[str(word) for word in words], before=before)

    def end(self, process):
        """Wait for it: its status (negative for a signal), and its stdout and stderr."""
        return tuple(self._ask(wait=process))

    def run(self, folder, *words, before=""):
        """Both."""
        return self.end(self.start(folder, *words, before=before))

    def _ask(self, **what):
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self):
        return json.loads(self._process.stdout.readline())


def _become(begun, folder, words, before):
    """In the new process: the command."""
    os.chdir(folder)
    sys.argv = ["kernode", *words]
    status = 0
    try:
        exec(before, {})
        from kernode.__main__ import main

        os.close(begun)
        main()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
        status = 99
    sys.stdout.flush()
    sys.stderr.flush()
    from multiprocessing import util

    util._exit_function()  # as at the end of any process, where it was imported after the command had begun
    atexit._run_exitfuncs()
    os._exit(status)


def _forked(request, streams):
    begins, begun = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(begins)
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
        for number, file in enumerate(streams):
            os.dup2(file.fileno(), number)
        _become(begun, **request)
    os.close(begun)
    os.read(begins, 1)  # nothing, when the other end is closed
    os.close(begins)
    return process


def _serve():
    running = {}

    def answer(what):
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()

    answer("ready")
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            ended = [os.waitstatus_to_exitcode(status)]
            for file in running.pop(request["wait"]):
                with file:
                    file.seek(0)
                    ended.append(file.read().decode())
            answer(ended)
        else:
            streams = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
            with Path(os.devnull).open("rb") as nothing:
                process = _forked(request, (nothing, *streams))
            running[process] = streams
            answer(process)


if __name__ == "__main__":
    for _name in PRELOAD:
        import_module(_name)
    _serve()
