"""docs/numbers.md: its Python runs and shows what comes out, and its sizes are those of the code."""

import doctest
import re
from pathlib import Path

import pytest

from kernode.estimators.regressor import USUAL_SPLIT, NodeKernelRegressor
from kernode.hops import spectral
from kernode.tasks.numbers import hyperparameters, inputs, posterior, process

PAGE = (Path(__file__).parents[2] / "docs" / "numbers.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FIGURE = r"[+\-]?\d+\.?\d*"


class Checker(doctest.OutputChecker):
    """Compare figures up to 2 %, or one: an optimiser's last digits depend on the machine."""

    def check_output(self, want, got, optionflags):
        if re.sub(FIGURE, "#", want).split() != re.sub(FIGURE, "#", got).split():
            return False
        pairs = zip(*(map(float, re.findall(FIGURE, text)) for text in (want, got)), strict=True)
        return all(one == pytest.approx(other, rel=0.02, abs=1) for one, other in pairs)


def test_python_of_the_page_shows_what_comes_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest("".join(BLOCKS), {}, "numbers.md", None, 0)
    assert len(test.examples) > 12
    failures = []
    doctest.DocTestRunner(Checker(), verbose=False).run(test, out=failures.append)
    assert not failures, "".join(failures)


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [("-1.5 x", "-1.51 x", True), ("9 x", "9 y", False), ("100 x", "140 x", False), ("1 2", "1", False)],
)
def test_figures_may_differ_a_little_and_words_may_not(want, got, same):
    assert Checker().check_output(want, got, 0) == same


def test_sizes_on_the_page_are_those_of_the_code():
    assert USUAL_SPLIT == "0.64/0.16/0.2"  # a fifth tests, 16 % calibrate
    usual = NodeKernelRegressor().get_params()
    for sentence in (
        f"up to {usual['exact']:,} known numbers",
        f"at most {process._EXACT_ENTRIES // 10**6} million",
        f"more than {spectral._EXACT:,}\nnodes",
        f"become {inputs.COMPONENTS} main components",
        f"at most {usual['nodes']} random known numbers",
        f"by {process._FEWEST} to {process._MOST:,} inducing nodes",
        f"from {process._LIKELIHOOD}, half",
        f"partly by {posterior._PROBES} samples",
        f"never below {hyperparameters._BOUNDS['noise'][0]}",
        f"α = {process._RANGES[0].alpha} or {process._RANGES[1].alpha}",
    ):
        assert sentence in PAGE, sentence
