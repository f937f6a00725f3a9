"""Build the sdist and the wheel of a release and check what is in them: `make dist`.

Both hold exactly what the repository tracks, no path of the machine that built them, and the wheel that
is built from the sdist has the bytes of the one that is built from the repository.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_MB = {"wheel": 3, "sdist": 8}
NOT_IN_SDIST = (".ci/", ".github/")  # what only the repository's own machines need


def tracked(root: Path = ROOT) -> set[str]:
    """Files of the repository, as paths from its top."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    return {name for name in listed.decode().split("\0") if name and (root / name).exists()}


def build(out: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that comes out of it, which must be the one that the repository gives."""
    command = [sys.executable, "-m", "build", "--no-isolation"]
    with tempfile.TemporaryDirectory() as folder:
        for more in (["-o", str(out)], ["-o", folder, "--wheel"]):
            subprocess.run([*command, *more, str(ROOT)], check=True, stdout=subprocess.DEVNULL)
        (wheel,), (sdist,), (direct,) = out.glob("*.whl"), out.glob("*.tar.gz"), Path(folder).glob("*.whl")
        if direct.read_bytes() != wheel.read_bytes():
            raise SystemExit("The wheel from the sdist is not the wheel from the repository.")
    return sdist, wheel


def content(path: Path) -> dict[str, bytes]:
    """Files of a wheel or an sdist by their paths; an sdist's top folder is left out of them."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as zipped:
            return {name: zipped.read(name) for name in zipped.namelist()}
    with tarfile.open(path) as tar:
        members = [member for member in tar.getmembers() if member.isfile()]
        return {member.name.partition("/")[2]: tar.extractfile(member).read() for member in members}


def faults(sdist: Path, wheel: Path, files: set[str]) -> list[str]:
    """What is wrong with two archives of a repository with these files; nothing, if all is well."""
    in_wheel, in_sdist = content(wheel), content(sdist)
    package = {name.removeprefix("src/") for name in files if name.startswith("src/")}
    source = {name for name in files if not name.startswith(NOT_IN_SDIST)}
    found = _differing("wheel", {name for name in in_wheel if ".dist-info/" not in name}, package)
    found += _differing("sdist", set(in_sdist) - {"PKG-INFO"}, source)
    for kind, path, held in (("wheel", wheel, in_wheel), ("sdist", sdist, in_sdist)):
        if path.stat().st_size > MOST_MB[kind] * 10**6:
            found.append(f"the {kind} has {path.stat().st_size / 1e6:.1f} MB, more than {MOST_MB[kind]}")
        for place in {str(ROOT), str(Path.home())}:
            found += [f"the {kind} names {place} in {name}" for name in held if place.encode() in held[name]]
    return found


def _differing(kind: str, there: set[str], wanted: set[str]) -> list[str]:
    missing = [f"the {kind} lacks {name}" for name in sorted(wanted - there)]
    return missing + [f"the {kind} has {name}, which is not tracked" for name in sorted(there - wanted)]


def main(out: Path) -> None:
    """Build into a folder, check, and say how large they are."""
    for old in [*out.glob("kernode-*.whl"), *out.glob("kernode-*.tar.gz")]:
        old.unlink()
    sdist, wheel = build(out)
    if found := faults(sdist, wheel, tracked()):
        raise SystemExit("\n".join(found))
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel], check=True)
    for path in (sdist, wheel):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {len(content(path))} files")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
