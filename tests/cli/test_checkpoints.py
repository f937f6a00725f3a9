"""Long runs: what was computed is never lost by a key, and what is said to go on does go on."""

import os
import signal

import pytest

from kernode.tasks.classes.task import NodeLearner

RUN = "fit edges.csv --nodes people.csv --label taste --epochs 8 --replicas 1 --split 0.5/0.25/0.25"


@pytest.fixture
def workspace(workspace, shop):
    """The shop's tables lie on it; every customer's taste is known."""
    workspace.table("edges.csv", ("source", "target"), shop.bought_together)
    rows = zip(shop.ids, shop.age, shop.spent, shop.taste, strict=True)
    workspace.table("people.csv", ("id", "age", "spent", "taste"), rows)
    return workspace


@pytest.fixture
def pressing(monkeypatch):
    """Ctrl-C in the middle of some epoch of some method, counted over all that are trained."""
    step, seen = NodeLearner.step, []

    def at(count):
        def pressed(self, epoch):
            seen.append(epoch)
            if len(seen) == count:
                os.kill(os.getpid(), signal.SIGINT)
            return step(self, epoch)

        monkeypatch.setattr(NodeLearner, "step", pressed)

    return at


def test_arrow_up_and_enter_loses_nothing(workspace):
    """The run of a night was done; arrow-up and Enter typed the same line again."""
    line = f"{RUN} --variant n1 --checkpoint run.safetensors --quiet"
    assert workspace.kernode(line).status == 0
    before = (workspace.folder / "run.safetensors").read_bytes()
    said = workspace.kernode(line).refusal
    assert "run.safetensors holds 8 epochs of a run" in said
    assert "(--resume)" in said
    assert (workspace.folder / "run.safetensors").read_bytes() == before
    assert "belongs to another run: its " in workspace.kernode(f"{line} --seed 3 --resume").refusal


def test_a_file_of_hers_that_is_no_checkpoint_stays(workspace):
    """The name of the model was typed after --checkpoint."""
    assert workspace.kernode(f"{RUN} -o shop.safetensors").status == 0
    said = workspace.kernode(f"{RUN} --checkpoint shop.safetensors").refusal
    assert "shop.safetensors is not a kernode checkpoint file but a model" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "at"), [("fast", 3), ("fast", 22), ("fast", 26), ("auto", 3), ("auto", 30), ("auto", 34)]
)
def test_ctrl_c_and_resume_give_what_one_run_gives(workspace, pressing, variant, at):
    """Ctrl-C in the first method, in the last, and while all labels train."""
    run = f"{RUN.replace('--epochs 8', '--epochs 4')} --variant {variant}"
    line = f"{run} --all-labels --checkpoint run.safetensors -o model.safetensors"
    assert workspace.kernode(f"{run} --all-labels --quiet -o whole.safetensors").status == 0
    pressing(at)
    stopped = workspace.kernode(line)
    assert stopped.status == 130
    assert "\nkernode: interrupted. run-diffusion.safetensors holds " in stopped.err
    assert stopped.err.endswith("repeat the command with --resume to continue.\n")
    assert workspace.kernode(line).refusal  # and without --resume nothing is lost
    for _ in range(2):  # once more when it is done: its result is there at once
        assert workspace.kernode(f"{line} --resume --quiet").status == 0
        written = [(workspace.folder / f"{name}.safetensors").read_bytes() for name in ("whole", "model")]
        assert written[0] == written[1]


def test_ctrl_c_without_a_checkpoint_says_what_would_have_helped(workspace, pressing):
    """A run was stopped, and what it had done was looked for."""
    pressing(4)
    stopped = workspace.kernode(RUN)
    assert stopped.status == 130
    *notes, last = stopped.err.splitlines()
    assert all(note.startswith(("kernode: input: ", "instant: ")) for note in notes)
    assert last == "kernode: interrupted. Nothing was saved. To save training, use --checkpoint FILE."


def test_ctrl_c_says_how_many_epochs_the_file_holds(workspace, pressing):
    """Whole ones: the one that was running is finished first."""
    pressing(5)
    stopped = workspace.kernode(f"{RUN} --variant k3 --checkpoint run.safetensors")
    sentence = "interrupted. run.safetensors holds 5 epochs: repeat the command with --resume to continue.\n"
    assert stopped.err.endswith(sentence)
