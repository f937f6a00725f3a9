"""Requests made of the API's own description, sensible and not: none is the server's fault."""

from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.generation import GenerationMode

from kernode.show.explorer import app


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_is_a_server_error(model, mode):
    described = app(model._on(None), plane="pca", hosts=("testserver", "localhost", "127.0.0.1"))
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
            reply = case.call()
            seen.add((case.path, reply.status_code))
            assert reply.status_code < 500, (case.as_curl_command(), reply.text)

        with suppress(Unsatisfiable):  # nothing about an address without parameters can be wrong
            answered()
    statuses = {status for _, status in seen}
    assert statuses & ({200} if mode is GenerationMode.POSITIVE else {422})
    assert len({path for path, _ in seen}) >= (10 if mode is GenerationMode.POSITIVE else 6)
