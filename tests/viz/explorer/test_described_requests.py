"""Requests made of the API's own description, sensible and not: none is the server's fault."""

import itertools
from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.generation import GenerationMode

from kernode.viz.explorer import app

# Names that a random text never hits: a hub and others, some of which are neighbours, and features.
NODES = itertools.cycle(("35", "1033", "1110563", "210871"))
CLASSES = itertools.cycle((None, "Theory", "Neural_Networks"))


def about_real_nodes(case):
    """Put names that exist where a request has any name; all else stays as it was made."""
    for name in {"name", "other"} & set(case.query or {}):
        case.query[name] = next(NODES)
    for name in {"of_class", "against"} & set(case.query or {}):
        case.query[name] = next(CLASSES)
        if case.query[name] is None:
            del case.query[name]
    if isinstance(case.body, dict):
        if case.path == "/api/what-if":
            case.body["name"] = next(NODES)
        for name in {"add", "remove", "edges"} & set(case.body):
            case.body[name] = [next(NODES) for _ in case.body[name][:2]]
        if "features" in case.body:
            values = list(case.body["features"].values())[:3]
            case.body["features"] = {f"feature {i}": value for i, value in enumerate(values)}
        if "columns" in case.body:
            case.body["columns"] = {}


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_is_a_server_error(model, mode):
    described = app(model._on(None), layout="pca", hosts=("testserver", "localhost", "127.0.0.1"))
    schema = schemathesis.openapi.from_asgi("/openapi.json", described)
    seen = set()
    for operation in schema.get_all_operations():
        asked = operation.ok()

        @given(case=asked.as_strategy(generation_mode=mode))
        @settings(
            max_examples=40,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def answered(case):
            if mode is GenerationMode.POSITIVE:
                about_real_nodes(case)
            reply = case.call()
            seen.add((case.path, reply.status_code))
            assert reply.status_code < 500, (case.as_curl_command(), reply.text)

        with suppress(Unsatisfiable):  # nothing about an address without parameters can be wrong
            answered()
    asked = {path for path, _ in seen}
    if mode is GenerationMode.POSITIVE:
        assert {path for path, status in seen if status == 200} == asked
        assert len([path for path in asked if path.startswith("/api/")]) == 12
    else:
        assert {status for _, status in seen} & {422}
        assert len(asked) >= 6
