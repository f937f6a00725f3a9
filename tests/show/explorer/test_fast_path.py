"""Plain questions are answered past FastAPI, and nobody can tell."""

from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernode.show.explorer import fast_path
from kernode.show.explorer.fast_path import FastPath

PLAIN = (
    "/api/model",
    "/api/nodes?search=10&limit=3",
    "/api/nodes?search=",
    "/api/features?search=feature+1",
    "/api/node?name=35",
    "/api/similar?name=35",
    "/api/similar?name=35&k=%203%20&of_class=Theory",
    "/api/similar?name=35&k=3.0",
    "/api/explain?top=5&name=35",
    "/api/explain?name=35&of_class=Theory&against=Neural_Networks",
    "/api/pair?name=35&other=1033&top=2",
    "/api/kernel?name=35&other=1033",
)
NOT_PLAIN = (
    "/api/similar",
    "/api/similar?k=3",
    "/api/similar?name=nobody",
    "/api/similar?name=35&k=1001",
    "/api/similar?name=35&k=",
    "/api/similar?name=1033&name=35",
    "/api/similar?name=35&k=3.5",
    "/api/similar?name=35&of_class=",
    "/api/explain?name=35&top=many",
    "/api/explain?name=%ff",
    "/api/explain?name=" + "x" * 1001,
    "/api/explain?name=35&of_class=Theory&against=Theory",
    "/api/layout",
    "/api/names",
    "/api/nothing?name=35",
)


@pytest.fixture
def slow_path(client, monkeypatch):
    """Asks FastAPI, for nothing is plain."""

    def ask(path):
        with monkeypatch.context() as patch:
            patch.setattr(fast_path._Question, "answered", never)
            return client.get(path)

    async def never(*_):
        return None

    return ask


@pytest.fixture
def reached(client, monkeypatch):
    """Paths that were handed on to FastAPI."""
    layer, paths = client.app.middleware_stack, []
    while not isinstance(layer, FastPath):
        layer = layer.app
    behind = layer.app

    async def handed_on(scope, receive, send):
        paths.append(scope["path"])
        await behind(scope, receive, send)

    monkeypatch.setattr(layer, "app", handed_on)
    return paths


def same(one, other):
    assert (one.status_code, one.content) == (other.status_code, other.content)
    assert one.headers.multi_items() == other.headers.multi_items()


@pytest.mark.parametrize("path", PLAIN)
def test_a_plain_question_gets_the_same_answer_without_fastapi(client, slow_path, reached, path):
    client.get(path)  # what is computed once is computed
    reached.clear()
    fast = client.get(path)
    assert fast.status_code == 200
    assert reached == []
    same(fast, slow_path(path))
    assert len(reached) == 1


@pytest.mark.parametrize("path", NOT_PLAIN)
def test_any_other_is_left_to_fastapi(client, slow_path, reached, path):
    found = client.get(path)
    assert len(reached) == 1
    same(found, slow_path(path))


@pytest.mark.parametrize("method", ["HEAD", "POST", "OPTIONS"])
def test_other_methods_are_left_to_fastapi(client, reached, method):
    assert client.request(method, "/api/similar?name=35").status_code == 405
    assert reached == ["/api/similar"]


VALUES = st.sampled_from(["35", "1033", "", "0", "1", "7", "-3", "1e2", "0x7", "1_0", "٣", "Theory"])
WORDS = st.sampled_from(["name", "other", "k", "top", "of_class", "against", "search", "limit", "x"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(["/api/similar", "/api/explain", "/api/nodes", "/api/kernel"]),
    query=st.lists(st.tuples(WORDS, VALUES), max_size=4),
    named=st.booleans(),
)
def test_both_ways_agree_whatever_is_asked(client, slow_path, path, query, named):
    asked = f"{path}?{urlencode([('name', '35')] * named + query)}"
    same(client.get(asked), slow_path(asked))
