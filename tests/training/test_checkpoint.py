"""Training that is interrupted goes on as if nothing had happened, and nothing else goes on from its file."""

import os
import signal
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from test_loop import same

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.training.checkpoint import Checkpoint
from kernode.training.loop import STACK_NUMBERS
from parts import LINK_METHODS, METHODS
from refusals import refused
from tasks import SHORT, CutAt, PowerCutError, labelled_nodes, link_task, run_loop, trained

JOINT = METHODS["joint"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "c.safetensors"


def resumed(path, method=JOINT, training=SHORT, resume=True, **task):
    return trained(method, training, **task, callbacks=(Checkpoint(path, resume=resume),))


@pytest.mark.parametrize(("name", "averaging", "at"), [("joint", 0, 7), ("rbf", 0, 7), ("joint", 0.7, 4)])
def test_interrupted_training_goes_on_bit_for_bit(name, averaging, at, path):
    method, task = METHODS[name], {"seeds": (0, 1), "training": replace(SHORT, averaging=averaging)}
    whole = trained(method, **task)
    with pytest.raises(PowerCutError):
        trained(method, **task, callbacks=(Checkpoint(path, every=3), CutAt(at)))
    for _ in range(2):  # and once more when it is done
        assert same(resumed(path, method, **task), whole)


@pytest.mark.parametrize("name", ["kernel", "vgae"])
def test_interrupted_training_of_links_goes_on_bit_for_bit(name, path):
    method, seeds = LINK_METHODS[name], (0, 1)
    with pytest.raises(PowerCutError):
        run_loop(link_task(seeds=seeds, callbacks=(Checkpoint(path, every=3), CutAt(7))), method)
    on = {"callbacks": (Checkpoint(path, resume=True),)}
    assert same(run_loop(link_task(seeds=seeds, **on), method), run_loop(link_task(seeds=seeds), method))
    for task in (
        link_task(seeds=(1, 2), **on),
        link_task(seeds=seeds, split=kn.split_edges(CLUSTERS, 1), **on),
        link_task(seeds=seeds, others=np.array([(0, 1)]), **on),
    ):
        with refused("wrong-file", path=path):
            run_loop(task, method)


def test_resume_without_a_file_is_refused_unless_it_may_be_missing(path):
    with refused("no-file", setting="resume", path=path):
        resumed(path)
    for _ in range(2):
        assert same(resumed(path, resume="if there"), trained(JOINT))


def test_a_file_that_is_not_to_be_resumed_is_never_overwritten(path):
    trained(JOINT, seeds=(4,), callbacks=(Checkpoint(path),))
    before = path.read_bytes()
    with refused("conflict", setting="resume"):
        trained(JOINT, callbacks=(Checkpoint(path),))
    assert path.read_bytes() == before
    path.write_bytes(b"my thesis")
    with refused("damaged-file", path=str(path)):
        trained(JOINT, callbacks=(Checkpoint(path),))
    assert path.read_bytes() == b"my thesis"
    with pytest.raises(kn.FileError):
        resumed(path)


@dataclass(frozen=True)
class PressingLoss(kn.losses.Softmax):
    """L_Y with Ctrl-C pressed in the middle of an epoch."""

    presses: ClassVar[dict[int, int]] = {}  # by epoch, how often

    def __call__(self, prepared, kernel, parameters, g, draws):
        for _ in range(self.presses.pop(draws.epoch, 0)):
            os.kill(os.getpid(), signal.SIGINT)
        return super().__call__(prepared, kernel, parameters, g, draws)


@pytest.mark.parametrize(("times", "written"), [(1, 8), (2, 5)])
def test_ctrl_c_in_an_epoch_waits_for_its_end_and_a_second_one_does_not(path, times, written):
    method = replace(METHODS["softmax"], loss=PressingLoss())
    PressingLoss.presses[8] = times
    with pytest.raises(KeyboardInterrupt):
        trained(method, callbacks=(Checkpoint(path, every=5),))
    assert Checkpoint(path).epochs() == written  # of an epoch that is not whole nothing is written
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert same(resumed(path, method), trained(method))


OTHER_LOSS = replace(JOINT, loss=replace(JOINT.loss, kernel_weight=0.3))
OTHERS = [
    (OTHER_LOSS, SHORT, {}, ["method"]),
    (OTHER_LOSS, replace(SHORT, dropout=0.1), {}, ["method", "training"]),
    (JOINT, SHORT, {"seeds": (0, 1)}, ["seeds"]),
    (JOINT, SHORT, {"nodes": labelled_nodes(split_seeds=(3,))}, ["data"]),
    (JOINT, SHORT, {"graph": clustered_graph(n=120, seed=1)}, ["graph"]),
]


def test_resume_may_train_longer_but_not_something_else(path):
    trained(JOINT, callbacks=(Checkpoint(path),))
    for method, training, more, differing in OTHERS:
        with refused("wrong-file", path=path, differing=differing, seeds=[0]):
            resumed(path, method, training, **more)
    longer = replace(SHORT, epochs=20)
    assert same(resumed(path, training=longer), trained(JOINT, longer))
    with refused("conflict", setting="epochs"):
        resumed(path, training=replace(SHORT, epochs=4))


def test_checkpoints_by_time_are_not_written_for_what_is_done(path):
    for seconds, written in ((3600.0, None), (1e-9, 3), (0.0, 5)):
        resume = {"resume": "if there", "every": 3, "seconds": seconds}
        trained(JOINT, replace(SHORT, epochs=5), callbacks=(Checkpoint(path, **resume),))
        assert Checkpoint(path).epochs() == written


def test_wrong_settings_are_refused(path):
    with refused("setting", setting="resume"):
        Checkpoint(path, resume="maybe")
    with pytest.raises(kn.InputError):
        Checkpoint(path, every=0)
    with refused("no-effect", setting="checkpoint"):
        model = kn.NodeKernelClassifier("label-propagation", callbacks=[Checkpoint(path)])
        model.fit(graph=CLUSTERS, split="0.5/0.25/0.25")


def test_replicas_go_on_in_other_stacks(path, monkeypatch):
    """As on a CPU after a GPU, which trains more of them as one; the tenth stack is not the second."""
    seeds = tuple(range(12))
    whole = trained(JOINT, seeds=seeds)
    for epochs, numbers in zip((4, 8, 12), [2**22, 1, 5 * 120 * 8], strict=True):
        monkeypatch.setitem(STACK_NUMBERS, "cpu", numbers)
        found = resumed(path, training=replace(SHORT, epochs=epochs), resume="if there", seeds=seeds)
    assert same(found, whole, 1e-9)


def test_a_fresh_random_seed_is_in_the_file(path):
    """random_state=None takes another one each time: to go on, the first is needed."""
    nodes, file = np.arange(60), str(path)

    def fit(random_state, resume):
        callbacks = [kn.Checkpoint(file, resume=resume)]
        model = kn.NodeKernelClassifier("n1", epochs=3, random_state=random_state, callbacks=callbacks)
        return model.fit(nodes, CLUSTERS.labels[nodes], graph=CLUSTERS, validation=np.arange(60, 90))

    seed = fit(None, False).seeds_[0]
    with refused("wrong-file", differing=["seeds"], seeds=[seed]):
        fit(None, True)
    assert fit(seed, True).seeds_ == (seed,)
