"""Who may ask, under which name, with how much; and what every answer carries."""

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
    """A server that any name reaches, and that asks for a token."""
    return app(model._on(None), plane="pca", hosts=None, token=TOKEN)


def visitor(guarded):
    return TestClient(guarded, base_url="http://explorer.example")


def test_another_sites_name_for_this_machine_gets_no_answer(client):
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        reply = client.get("/api/model", headers={"host": host})
        assert reply.status_code == 421
        assert "error" in reply.json()
    for host in ("localhost:9", "127.0.0.1", "[::1]:8765", "LOCALHOST"):
        assert client.get("/health", headers={"host": host}).status_code == 200


def test_without_a_token_only_health_is_told(guarded):
    with visitor(guarded) as client:
        assert client.get("/health").json() == {"status": "ok"}
        for path in (
            "/",
            "/api/model",
            "/metrics",
            "/static/js/main.js",
            "/docs",
            "/openapi.json",
            "/nothing",
        ):
            reply = client.get(path)
            assert reply.status_code == 401
            assert "token" in reply.json()["error"]
            assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "sent", ["Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer", f"Bearer {TOKEN[:-1]}", "Bearer ä"]
)
def test_a_wrong_token_is_none(guarded, sent):
    with visitor(guarded) as client:
        assert client.get("/api/model", headers={"authorization": sent.encode()}).status_code == 401
        assert client.get("/api/model", params={"token": f"{sent} "}).status_code == 401


def test_programs_send_the_token_as_a_header(guarded):
    with visitor(guarded) as client:
        assert client.get("/api/model", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_browser_opens_the_address_with_the_token_once(guarded):
    with visitor(guarded) as client:
        first = client.get("/", params={"token": TOKEN, "x": "1"}, follow_redirects=False)
        assert (first.status_code, first.headers["location"]) == (303, "./?x=1")
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert TOKEN not in first.headers["location"]
        assert client.get("/").status_code == 200
        assert client.get("/api/model").status_code == 200


def test_servers_beside_each_other_do_not_take_each_others_cookies(guarded, model):
    other = app(model._on(None), plane="pca", hosts=None, token="another-token")
    with visitor(guarded) as one, visitor(other) as two:
        first, second = (
            client.get("/", params={"token": token}, follow_redirects=False).headers["set-cookie"]
            for client, token in ((one, TOKEN), (two, "another-token"))
        )
        assert first.split("=")[0] != second.split("=")[0]


def test_an_address_with_a_token_leads_to_the_same_path_whatever_its_signs(guarded):
    with visitor(guarded) as client:
        reply = client.get("/na%C3%AFve%3Fx%23y", params={"token": TOKEN}, follow_redirects=False)
        assert reply.headers["location"] == "./na%C3%AFve%3Fx%23y"


@pytest.mark.parametrize("token", ["", "short", "with a space in it", "schlüsselwort", "semi;colon;token"])
def test_a_token_that_cannot_be_sent_is_refused(model, token):
    with refused("setting", setting="token"):
        app(model._on(None), plane="pca", token=token)


def test_pages_of_other_sites_get_no_answer(client):
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        reply = client.get("/api/model", headers={"sec-fetch-site": site})
        assert reply.status_code == status
        assert client.get("/", headers={"sec-fetch-site": site}).status_code == 200


def test_what_nobody_expected_is_json_with_the_usual_headers_and_logged(model, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(ExplorerState, "find", broken)
    with TestClient(app(model._on(None), plane="pca"), base_url="http://127.0.0.1") as client:
        reply = client.get("/api/node", params={"name": "35"})
        assert (reply.status_code, list(reply.json())) == (500, ["error"])
        assert "secret" not in reply.text
        assert reply.headers["content-type"] == "application/json"
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert 'kernode_requests_total{path="/api/node",status="500"} 1.0' in client.get("/metrics").text
    assert "a secret of the inside" in caplog.text


def test_any_name_needs_a_token(model):
    with refused("missing", setting="token"):
        app(model._on(None), plane="pca", hosts=None)


def test_bodies_are_limited_announced_or_not(client):
    large = json.dumps({"name": "x" * LARGEST_BODY})
    reply = client.post("/api/what-if", content=large, headers={"content-type": "application/json"})
    assert (reply.status_code, "error" in reply.json()) == (413, True)
    pieces = (b"x" * 100_000 for _ in range(11))
    assert client.post("/api/what-if", content=pieces).status_code == 413


@pytest.mark.parametrize(
    "path",
    ["/", "/api/model", "/api/nothing", "/static/js/main.js", "/docs", "/api/node?name=nobody", "/metrics"],
)
def test_every_answer_carries_the_policy(client, path):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] in ("no-store", "no-cache")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../application.py",
        "/static/..%2fapplication.py",
        "/static/%2e%2e/%2e%2e/layout.py",
        "/static//etc/passwd",
        "/static/js/../../middleware.py",
        "/static/nothing.js",
        "/static/",
    ],
)
def test_nothing_but_the_pages_own_files_is_served(client, path):
    reply = client.get(path)
    assert (reply.status_code, list(reply.json())) == (404, ["error"])


def test_pages_load_nothing_from_elsewhere_and_run_nothing_inline(client):
    for page in ("/", "/docs"):
        text = client.get(page).text
        assert "http://" not in text
        assert "https://" not in text
        assert "<script>" not in text
        assert "style=" not in text
        assert "onclick" not in text


def test_files_are_known_again(client):
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
        ("/api/node?name=35&colour=red", 422, "colour"),
        ("/api/similar?name=35&K=3", 422, "K:"),
        ("/api/model?name=35", 422, "name"),
        ("/api/layout?x=1", 422, "x:"),
        ("/nowhere", 404, "nothing"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(client, path, status, said):
    reply = client.get(path)
    assert reply.status_code == status, reply.text
    assert list(reply.json()) == ["error"]
    assert said in reply.json()["error"]
    assert reply.json()["error"].endswith((".", "?"))


def test_other_methods_and_bodies_that_are_no_json_are_refused(client):
    assert client.post("/api/model").status_code == 405
    reply = client.post("/api/what-if?k=3", json={"name": "35", "add": ["1033"]})
    assert (reply.status_code, "k: extra" in reply.json()["error"]) == (422, True)
    assert client.delete("/").status_code == 405
    for content in (b"{", b"\xff", b'{"name": "\\ud800", "add": ["x"]}', b"[" * 10_000, b"NaN"):
        reply = client.post("/api/what-if", content=content, headers={"content-type": "application/json"})
        assert 400 <= reply.status_code < 500, (content[:20], reply.text)
        assert list(reply.json()) == ["error"]


def test_metrics_count_requests_by_path_and_status(client):
    def count(text, line):
        return next((float(one.split()[-1]) for one in text.splitlines() if one.startswith(line)), 0)

    before = client.get("/metrics")
    assert before.headers["content-type"].startswith("text/plain; version=0.0.4")
    client.get("/api/similar", params={"name": "35"})
    client.get("/anything/at/all")
    after = client.get("/metrics").text
    for line in (
        'kernode_requests_total{path="/api/similar",status="200"}',
        'kernode_request_seconds_count{path="/api/similar"}',
        'kernode_request_seconds_bucket{le="+Inf",path="/api/similar"}',
        'kernode_requests_total{path="other",status="404"}',
    ):
        assert count(after, line) == count(before.text, line) + 1
    assert count(after, "process_resident_memory_bytes") > 1e7


def test_the_description_of_the_api_is_whole(client):
    described = client.get("/openapi.json").json()
    assert described["openapi"].startswith("3.")
    asked = {
        f"/api/{one}"
        for one in ("model", "layout", "nodes", "names", "features", "node", "similar", "explain")
    }
    assert asked | {"/api/pair", "/api/kernel", "/api/what-if", "/api/new-node"} <= set(described["paths"])
    for methods in described["paths"].values():
        for about in methods.values():
            assert about["summary"]
            assert about["operationId"]
