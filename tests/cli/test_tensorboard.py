"""--tensorboard: event files that TensorBoard itself reads, and a training that does not notice."""

import sys

import pytest

from commands import fails

FIT = ("fit", "--variant", "k3", "--epochs", "4", "--replicas", "2", "--split", "0.5/0.25/0.25", "--quiet")


def events(folder):
    """What TensorBoard finds in a folder: tags, each with its steps and values."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(folder))
    read.Reload()
    return {tag: [(one.step, one.value) for one in read.Scalars(tag)] for tag in read.Tags()["scalars"]}


def test_curves_of_every_replica_and_of_their_mean(kernode, graph_file):
    assert kernode(*FIT, graph_file, "--set", "run.tensorboard=board")[0] == 0
    found = events(kernode.folder / "board" / "k3")
    for name in ("loss", "validation accuracy", "validation loss"):
        mean, first, second = (dict(found[f"{name}/{of}"]) for of in ("mean", "seed 0", "seed 1"))
        assert list(mean) == [1, 2, 3, 4]
        assert all(mean[e] == pytest.approx((first[e] + second[e]) / 2, rel=1e-5) for e in mean)
    assert [step for step, _ in found["hop weights/2 hops"]] == [1, 2, 3, 4]


def test_a_second_run_does_not_mix_with_the_first(kernode, graph_file):
    for _ in range(2):
        assert kernode(*FIT, graph_file, "--set", "run.tensorboard=board")[0] == 0
    assert len(events(kernode.folder / "board" / "k3")["loss/mean"]) == 4
    assert len(events(kernode.folder / "board" / "k3-2")["loss/mean"]) == 4


@pytest.mark.parametrize("words", [FIT, ("links", "--epochs", "3", "--replicas", "2", "--quiet")])
def test_not_a_bit_of_the_model_is_another(kernode, graph_file, words):
    assert kernode(*words, graph_file, "-o", "with.safetensors", "--set", "run.tensorboard=board")[0] == 0
    assert kernode(*words, graph_file, "-o", "without.safetensors")[0] == 0
    one, other = ((kernode.folder / f"{name}.safetensors").read_bytes() for name in ("with", "without"))
    assert one == other


def test_what_cannot_be_is_said_before_anything_is_computed(kernode, graph_file, monkeypatch):
    (kernode.folder / "file").write_text("")
    fails(kernode(*FIT, graph_file, "--set", "run.tensorboard=file"), 2, "file")
    fails(kernode("compare", graph_file, "--set", "run.tensorboard=board"), 2, "no setting 'tensorboard'")
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    fails(
        kernode(*FIT, graph_file, "--set", "run.tensorboard=board"), 1, "pip install 'kernode[tensorboard]'"
    )
    assert not list(kernode.folder.glob("*.safetensors"))
