"""Files of the page: read once, served from memory, known again by their digest."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

_FOLDER = Path(__file__).parent / "static"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """Content of one kind, packed as well."""

    content: bytes
    packed: bytes
    etag: str
    kind: str

    @classmethod
    def of(cls, content: bytes, kind: str) -> Asset:
        """Its digest is its name in a browser's cache."""
        return cls(
            content, gzip.compress(content, 6, mtime=0), f'"{hashlib.sha256(content).hexdigest()[:20]}"', kind
        )

    def reply(self, request: Request) -> Response:
        """The content, or that the browser has it already."""
        headers = {"etag": self.etag, "cache-control": "no-cache", "vary": "accept-encoding"}
        known = [
            one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")
        ]
        if self.etag in known:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(self.packed, media_type=self.kind, headers=headers)
        return Response(self.content, media_type=self.kind, headers=headers)


def assets() -> dict[str, Asset]:
    """Every file of the page, by its path: what is not among them cannot be asked for."""
    return {
        file.relative_to(_FOLDER).as_posix(): Asset.of(file.read_bytes(), _TYPES[file.suffix])
        for file in sorted(_FOLDER.rglob("*"))
        if file.suffix in _TYPES
    }
