"""Parameters that a release trained, its files of every kind and their answers do not change."""

import json
import re
from functools import cache

import cases
import files
import numpy as np
import pytest

import kernode as kn
from kernode.cli.settings_file import read_settings
from kernode.io import read_npz

RELEASES = tuple(cases.NODES)
SAVED = [
    (release, path.stem)
    for release in RELEASES
    for path in sorted((cases.HERE / release).glob("*.safetensors"))
    if path.stem != "kled"  # in tests/experiments
]
PRESENT = "0.2.0"


@cache
def stored(release, what):
    with np.load(cases.HERE / release / f"{what}.npz") as arrays:
        return dict(arrays)


def test_every_release_has_its_files():
    assert kn.__version__ in RELEASES
    assert {path.parent.name for path in cases.HERE.glob("*/answers.npz")} == set(RELEASES)
    assert sum(path.stat().st_size for path in cases.HERE.rglob("*") if path.is_file()) < 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize(("release", "case"), cases.CASES)
def test_in_float64_every_variant_trains_to_the_old_parameters(release, case):
    found, old = cases.trained(release, case), stored(release, "parameters")
    expected = {name.removeprefix(f"{case}/") for name in old if name.startswith(f"{case}/")}
    assert set(found) == expected
    for name, values in found.items():
        np.testing.assert_allclose(values, old[f"{case}/{name}"], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(("release", "name"), SAVED)
def test_old_model_files_load_and_answer_the_same(release, name):
    found, old = files.model_answers(cases.HERE / release, name), stored(release, "answers")[name]
    # float32: another processor may round otherwise. On the one that wrote them they are equal bit for bit.
    np.testing.assert_allclose(found, old, rtol=1e-5, atol=1e-6)
    if found.ndim == 2:
        assert (found.argmax(axis=1) == old.argmax(axis=1)).all()


def test_old_link_file_evaluates_as_what_is_trained_today():
    links = kn.load_model(cases.HERE / "0.1.0" / "links.safetensors")
    assert isinstance(links, kn.LinkPredictor)
    assert links.evaluate() == pytest.approx(cases.fit_links("kernel").evaluate(), abs=0.1)


def test_a_checkpoint_goes_on_to_the_same_model():
    folder = cases.HERE / PRESENT
    found = files.resumed(folder)
    np.testing.assert_allclose(found, stored(PRESENT, "answers")["resumed"], rtol=1e-10)
    np.testing.assert_allclose(found, files.fit_from(None).predict_proba(np.arange(240)), rtol=1e-10)


def test_a_checkpoint_of_0_1_0_does_not_go_on_and_stays_as_it_is(tmp_path):
    old = cases.HERE / "0.1.0" / "checkpoint"
    copy = tmp_path / "checkpoint"
    copy.write_bytes(old.read_bytes())
    with pytest.raises(kn.KernodeError, match=r"checkpoint of kernode 0\.1\.0, which .* cannot resume"):
        files.fit_from(kn.Checkpoint(copy, resume=True))
    assert copy.read_bytes() == old.read_bytes()


def test_an_index_gives_the_same_neighbours():
    pytest.importorskip("faiss")
    assert (files.index_answers(cases.HERE / PRESENT) == stored(PRESENT, "answers")["index"]).all()


def test_an_npz_file_holds_the_same_graph():
    found = read_npz(cases.HERE / PRESENT / "graph.npz").fingerprint
    assert {found} == set(stored(PRESENT, "answers")["fingerprints"].tolist())
    assert found == cases.graph_and_split()[0].fingerprint


def test_a_store_of_0_2_0_is_refused_with_the_command_that_makes_a_new_one():
    with pytest.raises(kn.InputError, match=r"kernode 0\.2 wrote it: .* kernode data convert"):
        kn.load(cases.HERE / PRESENT / "store")


def test_a_settings_file_says_the_same():
    variant, settings = read_settings(cases.HERE / PRESENT / "settings.toml", "fit")
    assert [variant, settings] == json.loads(str(stored(PRESENT, "answers")["settings"]))


def test_a_stored_result_is_found_by_its_settings():
    assert files.stored_result(cases.HERE / PRESENT)["accuracy"] == [80.5, 81.25]


@pytest.mark.parametrize("name", files.REPORTS)
def test_reports_still_have_every_key_with_a_value_of_its_type(name):
    folder = cases.HERE / PRESENT
    old, now = json.loads((folder / "reports.json").read_bytes())[name], files.report_shape(folder, name)
    gone = {key for key in old if re.search(r"(hops|parts)\[\]\.scores", key)}  # removed in 0.3: CHANGELOG.md
    old = {key: kind for key, kind in old.items() if key not in gone}
    assert set(old) <= set(now)
    may_be_nothing = {key for key in old if "NoneType" in (old[key], now[key])}
    assert {key: now[key] for key in old if key not in may_be_nothing} == {
        key: kind for key, kind in old.items() if key not in may_be_nothing
    }
