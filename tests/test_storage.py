import os

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from kernode import storage
from kernode.errors import FileError, InputError

TENSORS = {"b": torch.arange(6).view(2, 3), "a": torch.tensor([1.5, -2.0]), "empty": torch.empty(0, 3)}
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


def test_strided_tensors_are_written_as_they_read(tmp_path):
    strided = torch.arange(6.0).view(2, 3).T
    path = storage.write_tensors(tmp_path / "x", "model", {"t": strided}, {})
    assert torch.equal(storage.read_tensors(path, "model")[0]["t"], strided)


def test_every_truncation_is_one_sentence(tmp_path):
    path = storage.write_tensors(tmp_path / "x.safetensors", "model", TENSORS, FACTS)
    content = path.read_bytes()
    for length in [*range(0, len(content), 37), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises((FileError, InputError)) as caught:
            storage.read_tensors(path, "model")
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_every_changed_byte_is_noticed(tmp_path):
    path = storage.write_tensors(tmp_path / "x.safetensors", "model", TENSORS, FACTS)
    content = path.read_bytes()
    for position in range(8, len(content), 11):
        changed = bytearray(content)
        changed[position] ^= 0x01
        path.write_bytes(changed)
        with pytest.raises((FileError, InputError)):
            storage.read_tensors(path, "model")


def test_other_files_are_told_apart(tmp_path):
    checkpoint = storage.write_tensors(tmp_path / "c", "checkpoint", TENSORS, FACTS)
    with pytest.raises(InputError, match="is not a kernode model file but a checkpoint"):
        storage.read_tensors(checkpoint, "model")
    foreign = tmp_path / "foreign.safetensors"
    save_file(TENSORS, foreign)
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


def test_temporary_files_of_killed_writers_are_removed(tmp_path):
    """A writer at work keeps its own, and so do other files and people."""
    path, hexadecimal = tmp_path / "model", "0123456789abcdef"
    left = tmp_path / f".model.{hexadecimal}"
    left.write_bytes(b"half a mod")
    others = [f".model2.{hexadecimal}", ".model.notes", f".model.{hexadecimal}.bak", f"model.{hexadecimal}"]
    for name in others:
        (tmp_path / name).write_bytes(b"mine")
    with storage.writing_whole(path) as file:
        file.write(b"slow")
        file.flush()
        storage.write_whole(path, b"fast")
        assert path.read_bytes() == b"fast"
    assert path.read_bytes() == b"slow"
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(["model", *others])


def test_a_new_empty_temporary_file_of_another_writer_stays(tmp_path):
    left = tmp_path / ".model.0123456789abcdef"
    left.touch()
    storage.write_whole(tmp_path / "model", b"1")
    assert left.exists()
    os.utime(left, (0, 0))
    storage.write_whole(tmp_path / "model", b"2")
    assert not left.exists()


def test_a_file_and_then_its_folder_reach_the_disk(tmp_path, monkeypatch):
    synced, sync = [], os.fsync

    def noted(handle):
        synced.append((os.fstat(handle).st_ino, (tmp_path / "model").exists()))
        sync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    storage.write_whole(tmp_path / "model", b"1")
    written, folder = (one.stat().st_ino for one in (tmp_path / "model", tmp_path))
    assert synced == [(written, False), (folder, True)]


def test_without_locks_files_are_written_as_well(tmp_path, monkeypatch):
    """As on Windows, where nothing can be swept up and an open file cannot be renamed."""
    monkeypatch.setattr("kernode.storage.fcntl", None)
    left = tmp_path / ".model.0123456789abcdef"
    left.write_bytes(b"half a mod")
    storage.write_whole(tmp_path / "model", b"1")
    assert (tmp_path / "model").read_bytes() == b"1"
    assert left.exists()
