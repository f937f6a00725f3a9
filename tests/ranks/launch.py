"""Several processes of one job, real ones: begun as torchrun begins them, or by torchrun itself."""

import os
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def free_port():
    """One that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def environment(**more):
    """Of one thread each: there are as many processes as cores, or more."""
    paths = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": paths} | more


def together(size, *command, timeout=120):
    """Run a Python command in so many processes; all must end well."""
    port, processes = str(free_port()), []
    for rank in range(size):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        processes.append(
            subprocess.Popen([sys.executable, *map(str, command)], env=environment(**own, **place))
        )
    try:
        assert [process.wait(timeout) for process in processes] == [0] * size
    finally:
        for process in processes:
            process.kill()


def torchrun(size, *words, cwd, restarts=0, preexec_fn=None):
    """``torchrun -m kernode …``: what it did."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(size)]
    port = ["--master-port", str(free_port()), "--max-restarts", str(restarts)]
    command = [*launcher, *port, "-m", "kernode", *map(str, words)]
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment(),
        preexec_fn=preexec_fn,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
