"""The tests run against the server that the installed package has, or that PYTHON_HOPGATE_BINARY names."""
import asyncio
import inspect
import itertools

import pytest

import hopgate

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server that all tests share."""
    with hopgate.open(tmp_path_factory.mktemp("graphs"), memory="512MiB") as db:
        yield db


@pytest.fixture
def db(server):
    """An empty graph of it."""
    name = f"g{next(_numbers)}"
    server.query(f"CREATE GRAPH {name}")
    yield server.using(graph=name)
    server.query(f"DROP GRAPH {name}")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs async tests."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}))
    return True
