"""An error that is about a setting names the option of the command, where it has one."""

import pytest

from kernode.cli.app import with_option
from kernode.errors import InputError


@pytest.mark.parametrize(
    ("words", "setting", "shown"),
    [
        (["fit", "edges.csv"], "label", "Name it. (--label)"),
        (["data", "info", "edges.csv"], ("source", "target"), "Name it. (--source, --target)"),
        (["data", "info", "edges.csv"], "header", "Name it. (--header/--no-header)"),
        (["data", "list"], "label", "Name it."),  # no option of this command
        (["predict", "m.safetensors"], "data", "Name it."),  # an argument
        (["similar", "m.safetensors"], "data", "Name it. (--graph)"),
        ([], "like", "Name it."),
    ],
)
def test_an_error_names_the_option_of_its_setting(words, setting, shown):
    assert with_option(InputError("Name it.", "missing", setting=setting), words) == shown


def test_an_option_in_the_sentence_is_not_repeated():
    error = InputError("--label is for tables of edges.", "no-effect", setting="label")
    assert with_option(error, ["fit", "cora"]) == str(error)
    assert with_option(InputError("Nothing is set."), ["fit"]) == "Nothing is set."
