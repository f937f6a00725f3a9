"""What every command does with wrong input."""


def fails(result, status, *words):
    """One sentence on stderr with these words, the right status, nothing on stdout."""
    code, out, err = result
    assert code == status, err
    assert out == ""
    assert err.startswith("kernode: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    for word in words:
        assert word in err
