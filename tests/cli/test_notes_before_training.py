"""What was assumed about tables is said before training starts: on stderr, in the log, and in JSON."""

import json

import pytest

from pressing import press

FITS = {
    "fit": "fit --label group --variant k3 --epochs 900 --replicas 1",
    "links": "links --epochs 900 --replicas 1",
    "tune": "tune --label group --epochs 900",
    "compare": "compare --label group --variants k3,n1",
}
SHORT = {
    "fit": "fit --label group --variant n1 --epochs 2 --replicas 1",
    "links": "links --epochs 2 --replicas 1",
    "tune": "tune --label group --variant n1 --epochs 2 --trials 1",
    "compare": "compare --label group --variants label-propagation,smoother --splits 2",
}
NOTES = ["clusters.csv: took 'one' as source and 'other' as target", "x0: number, standardised (mean "]


@pytest.mark.slow
@pytest.mark.parametrize("words", FITS.values(), ids=FITS)
def test_a_person_reads_them_while_the_first_epochs_run(warm, tmp_path, tables, words):
    """Ctrl-C after an epoch: they are there, and the report is not."""
    ended = press(warm, tmp_path, *words.split(), *tables[:3], at='"event": "epoch"')
    assert ended.alive
    assert (ended.status, ended.out) == (130, "")
    for note in NOTES:
        assert f"kernode: input: {note}" in ended.err
    events = [json.loads(line)["event"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert events.index("input") < events.index("epoch")


@pytest.mark.parametrize("words", SHORT.values(), ids=SHORT)
def test_they_are_on_stderr_once_and_not_in_the_report(kernode, tables, words):
    status, out, err = kernode(*words.split(), *tables[:3])
    assert status == 0, err
    assert err.count(f"kernode: input: {NOTES[0]}") == 1
    assert "input:" not in out


@pytest.mark.parametrize("words", SHORT.values(), ids=SHORT)
def test_quiet_says_nothing_and_json_has_them(kernode, tables, words):
    assert "input:" not in kernode(*words.split(), *tables[:3], "--quiet")[2]
    status, out, err = kernode(*words.split(), *tables[:3], "--json")
    assert (status, err) == (0, "")
    notes = json.loads(out)["notes"]
    notes = notes["clusters"] if isinstance(notes, dict) else notes
    assert NOTES[0] in notes
