"""Requests made of the API's own description, sensible and not: none is the server's fault."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def described(model):
    from kernode.show.explorer import app

    return app(model._on(None), plane="pca", hosts=("testserver", "127.0.0.1", "localhost"))


api = schemathesis.pytest.from_fixture("schema")


@pytest.fixture(scope="module")
def schema(described):
    return schemathesis.openapi.from_asgi("/openapi.json", described)


@api.parametrize()
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_is_a_server_error(case):
    case.call_and_validate(checks=[not_a_server_error])
