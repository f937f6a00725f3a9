"""Commands in processes of their own that begin at once: a warm one that has imported all forks each."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


class Warm:
    """A process that waits for commands: it takes words and a folder, and gives the id of a new process."""

    def __init__(self, **environment):
        path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | environment,
        )
        assert self._told() == "ready"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def start(self, folder, *words, before=""):
        """Begin a command; ``before`` is Python that its process runs first."""
        self._ask({"folder": str(folder), "words": [str(word) for word in words], "before": before})
        return self._told()

    def end(self, process):
        """Wait for it: its status (negative for a signal), and what it said on stdout and stderr."""
        self._ask({"wait": process})
        return tuple(self._told())

    def run(self, folder, *words, before=""):
        """Both."""
        return self.end(self.start(folder, *words, before=before))

    def _ask(self, what):
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def _told(self):
        return json.loads(self._process.stdout.readline())


def _become(asked, folder):
    """In the new process: the command."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream, name in ((0, os.devnull), (1, "out"), (2, "err")):
        kind = os.O_RDONLY if stream == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(folder / name if stream else name, kind, 0o600), stream)
    os.chdir(asked["folder"])
    sys.argv = ["kernode", *asked["words"]]
    status = 0
    try:
        exec(asked["before"], {})
        from kernode.cli import main

        main()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 99
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _answer(what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _serve(folder):
    import kernode.loading
    import kernode.node_classification.choosing
    import kernode.node_classification.experiment
    import kernode.node_classification.report
    import kernode.studies.compare.contest  # noqa: F401
    from kernode.cli import main  # noqa: F401

    _answer("ready")
    for line in sys.stdin:
        asked = json.loads(line)
        if "wait" in asked:
            _, status = os.waitpid(asked["wait"], 0)
            said = [(folder / str(asked["wait"]) / name).read_text() for name in ("out", "err")]
            answer = [os.waitstatus_to_exitcode(status), *said]
        else:
            begin, ready = os.pipe()
            answer = os.fork()
            if answer == 0:
                os.close(ready)
                os.read(begin, 1)  # until its folder is there
                _become(asked, folder / str(os.getpid()))
            (folder / str(answer)).mkdir()
            os.close(begin)
            os.close(ready)
        _answer(answer)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as own:
        _serve(Path(own))
