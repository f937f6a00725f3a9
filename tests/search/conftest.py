import pytest

from commands import fails


@pytest.fixture
def run_command(tmp_path, monkeypatch, command):
    """Run a command in an empty folder, with an empty cache; give stdout, or the sentence where it fails."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path / "cache"))

    def run(*arguments, status=0):
        result = command(*arguments)
        if status:
            fails(result, status)
            return result[2]
        assert result[0] == 0, result[2]
        return result[1]

    return run
