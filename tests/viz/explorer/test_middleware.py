"""Access: hosts, token, size of requests; headers, metrics and errors of all answers."""

import json

import pytest
from fastapi.testclient import TestClient

from kernode.viz.explorer import app
from kernode.viz.explorer.middleware import LARGEST_BODY
from kernode.viz.explorer.state import ExplorerState
from refusals import refused

TOKEN = "a-token-nobody-guesses"


@pytest.fixture(scope="module")
def guarded(model):
    """A server that any name reaches, with a token."""
    return app(model._on(None), layout="pca", hosts=None, token=TOKEN)


@pytest.fixture
def visitor(guarded):
    with TestClient(guarded, base_url="http://explorer.example") as client:
        yield client


def test_only_own_host_names_are_answered(client):
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        assert client.get("/api/model", headers={"host": host}).status_code == 421
    for host in ("localhost:9", "127.0.0.1", "[::1]:8765", "LOCALHOST"):
        assert client.get("/health", headers={"host": host}).status_code == 200


def test_without_a_token_only_health_is_answered(visitor):
    assert visitor.get("/health").json() == {"status": "ok"}
    for path in ("/", "/api/model", "/metrics", "/static/js/main.js", "/docs", "/openapi.json", "/nothing"):
        reply = visitor.get(path)
        assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    "sent", ["Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer", f"Bearer {TOKEN[:-1]}", "Bearer ä"]
)
def test_a_wrong_token_is_refused(visitor, sent):
    assert visitor.get("/api/model", headers={"authorization": sent.encode()}).status_code == 401
    assert visitor.get("/api/model", params={"token": f"{sent} "}).status_code == 401


def test_programs_send_the_token_as_a_header(visitor):
    assert visitor.get("/api/model", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_browser_opens_the_address_with_the_token_once(visitor, model):
    first = visitor.get("/na%C3%AFve%3Fx", params={"token": TOKEN, "x": "1"}, follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "./na%C3%AFve%3Fx?x=1")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert visitor.get("/api/model").status_code == 200
    # Cookies belong to a host, not to a port: another server's has another name.
    other = app(model._on(None), layout="pca", hosts=None, token="another-token")
    with TestClient(other) as client:
        reply = client.get("/", params={"token": "another-token"}, follow_redirects=False)
    assert reply.headers["set-cookie"].split("=")[0] != cookie.split("=")[0]


@pytest.mark.parametrize("token", ["", "short", "with a space in it", "schlüsselwort", "semi;colon;token"])
def test_a_token_that_cannot_be_sent_is_refused(model, token):
    with refused("setting", setting="token"):
        app(model._on(None), layout="pca", token=token)
    with refused("missing", setting="token"):
        app(model._on(None), layout="pca", hosts=None)


def test_pages_of_other_sites_get_no_answer(client):
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert client.get("/api/model", headers={"sec-fetch-site": site}).status_code == status
        assert client.get("/", headers={"sec-fetch-site": site}).status_code == 200


def test_a_failure_is_json_with_the_usual_headers_and_logged(model, served, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(ExplorerState, "find", broken)
    with served(model) as client:
        reply = client.get("/api/node", params={"name": "35"})
        assert (reply.status_code, list(reply.json())) == (500, ["error"])
        assert "secret" not in reply.text
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert 'kernode_requests_total{path="/api/node",status="500"} 1.0' in client.get("/metrics").text
    assert "a secret of the inside" in caplog.text


def test_bodies_are_limited_announced_or_not(client):
    large = json.dumps({"name": "x" * LARGEST_BODY})
    reply = client.post("/api/what-if", content=large, headers={"content-type": "application/json"})
    assert (reply.status_code, "error" in reply.json()) == (413, True)
    pieces = (b"x" * 100_000 for _ in range(11))
    assert client.post("/api/what-if", content=pieces).status_code == 413


@pytest.mark.parametrize("path", ["/", "/api/nothing", "/static/js/main.js", "/api/node?name=no", "/metrics"])
def test_every_answer_carries_the_policy(client, path):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] in ("no-store", "no-cache")


@pytest.mark.parametrize("path", ["/../state.py", "/%2e%2e/%2e%2e/layout.py", "//etc/passwd", "/no.js", "/"])
def test_nothing_but_the_pages_own_files_is_served(client, path):
    reply = client.get(f"/static{path}")
    assert (reply.status_code, list(reply.json())) == (404, ["error"])


def test_files_are_compressed_and_cached(client):
    first = client.get("/static/js/main.js")
    assert first.headers["content-encoding"] == "gzip"
    again = client.get("/static/js/main.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/api/node?name=nobody", 404, "'nobody'"),
        ("/api/node", 422, "name"),
        ("/api/node?name=" + "x" * 1001, 422, "at most 1000"),
        ("/api/node?name=%ff%fe", 404, "no node"),
        ("/api/similar?name=35&k=1001", 422, "1000"),
        ("/api/similar?name=35&k=many", 422, "integer"),
        ("/api/similar?name=35&of_class=Poetry", 400, "Poetry"),
        ("/api/explain?name=35&top=0", 422, "1"),
        ("/api/explain?name=35&of_class=Poetry", 400, "Poetry"),
        ("/api/explain?name=35&of_class=Theory&against=Theory", 400, "Theory"),
        ("/api/pair?name=35", 422, "other"),
        ("/api/nodes?limit=51", 422, "50"),
        ("/api/similar?name=35&K=3", 422, "K:"),
        ("/api/model?name=35", 422, "name"),
        ("/nowhere", 404, "nothing"),
    ],
)
def test_an_error_is_one_sentence(client, path, status, said):
    reply = client.get(path)
    assert reply.status_code == status, reply.text
    assert list(reply.json()) == ["error"]
    assert said in reply.json()["error"]
    assert reply.json()["error"].endswith((".", "?"))


def test_other_methods_and_bodies_are_refused(client):
    assert client.post("/api/model").status_code == 405
    reply = client.post("/api/what-if?k=3", json={"name": "35", "add": ["1033"]})
    assert (reply.status_code, "k: extra" in reply.json()["error"]) == (422, True)
    for content in (b"{", b"\xff", b'{"name": "\\ud800", "add": ["x"]}', b"[" * 10_000, b"NaN"):
        reply = client.post("/api/what-if", content=content, headers={"content-type": "application/json"})
        assert 400 <= reply.status_code < 500, (content[:20], reply.text)
        assert list(reply.json()) == ["error"]


def test_metrics_count_requests_by_path_and_status(client):
    def count(text, line):
        return next((float(one.split()[-1]) for one in text.splitlines() if one.startswith(line)), 0)

    before = client.get("/metrics").text
    client.get("/api/similar", params={"name": "35"})
    client.get("/anything/at/all")
    after = client.get("/metrics").text
    for line in (
        'kernode_requests_total{path="/api/similar",status="200"}',
        'kernode_request_seconds_bucket{le="+Inf",path="/api/similar"}',
        'kernode_requests_total{path="other",status="404"}',
    ):
        assert count(after, line) == count(before, line) + 1
    assert count(after, "process_resident_memory_bytes") > 1e7
