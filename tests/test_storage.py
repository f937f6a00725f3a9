import os

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from kernode import storage
from kernode.errors import FileError, InputError

TENSORS = {"b": torch.arange(6).view(2, 3).T, "a": torch.tensor([1.5, -2.0]), "empty": torch.empty(0, 3)}
FACTS = {"name": "ω", "list": [1, 2], "nested": {"z": None, "a": 0.1}}


def test_what_is_written_is_read(tmp_path):
    path = storage.write_tensors(tmp_path / "x.safetensors", "model", TENSORS, FACTS)
    tensors, facts = storage.read_tensors(path, "model")
    assert {name: value.tolist() for name, value in tensors.items()} == {
        name: value.tolist() for name, value in TENSORS.items()
    }
    assert {name: facts[name] for name in FACTS} == FACTS


def test_same_content_gives_the_same_bytes(tmp_path):
    one = storage.write_tensors(tmp_path / "1", "model", TENSORS, FACTS)
    turned = dict(reversed(TENSORS.items()))
    other = storage.write_tensors(tmp_path / "2", "model", turned, dict(reversed(FACTS.items())))
    assert one.read_bytes() == other.read_bytes()


def test_every_truncation_and_every_changed_byte_is_one_sentence(tmp_path):
    path = storage.write_tensors(tmp_path / "x.safetensors", "model", TENSORS, FACTS)
    content = path.read_bytes()
    wrong = [content[:length] for length in [*range(0, len(content), 37), len(content) - 1]]
    for at in range(8, len(content)):
        wrong.append(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    for one in wrong:
        path.write_bytes(one)
        with pytest.raises((FileError, InputError)) as caught:
            storage.read_tensors(path, "model")
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_other_files_are_told_apart(tmp_path):
    checkpoint = storage.write_tensors(tmp_path / "c", "checkpoint", TENSORS, FACTS)
    with pytest.raises(InputError, match="is not a kernode model file but a checkpoint"):
        storage.read_tensors(checkpoint, "model")
    foreign = tmp_path / "foreign.safetensors"
    save_file({"a": TENSORS["a"]}, foreign)
    with pytest.raises(InputError, match="is not a kernode model file"):
        storage.read_tensors(foreign, "model")
    with pytest.raises(FileError, match="does not exist"):
        storage.read_tensors(tmp_path / "nothing", "model")


def test_a_pipe_is_not_replaced(tmp_path):
    """As root a rename would put a file in the place of /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileError, match=r"pipe cannot be written .it is no ordinary file"):
        storage.write_whole(pipe, b"content")
    assert pipe.is_fifo()
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]


def test_a_link_is_replaced_and_what_it_led_to_stays(tmp_path):
    (tmp_path / "model").write_bytes(b"of last year")
    (tmp_path / "newest").symlink_to("model")
    storage.write_whole(tmp_path / "newest", b"of this year")
    assert (tmp_path / "model").read_bytes() == b"of last year"
    assert (tmp_path / "newest").read_bytes() == b"of this year"
    assert not (tmp_path / "newest").is_symlink()


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = storage.write_tensors(tmp_path / "x", "model", TENSORS, FACTS)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileError, match="No space left on device"):
        storage.write_tensors(path, "model", {"t": torch.tensor(np.zeros(9))}, FACTS)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_what_a_killed_writer_left_goes_with_a_write_an_hour_later(tmp_path):
    """A writer at work keeps its own, and other files stay."""
    path, hexadecimal = tmp_path / "model", "0123456789abcdef"
    others = [f".model2.{hexadecimal}", ".model.notes", f".model.{hexadecimal}.bak", f"model.{hexadecimal}"]
    for name in [f".model.{hexadecimal}", *others]:
        (tmp_path / name).write_bytes(b"half a mod")
        os.utime(tmp_path / name, (0, 0))
    with storage.writing_whole(path) as file:
        file.write(b"slow")
        file.flush()
        storage.write_whole(path, b"fast")
        assert path.read_bytes() == b"fast"
    assert path.read_bytes() == b"slow"
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(["model", *others])
    assert path in storage.written_files()
