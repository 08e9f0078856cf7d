import os
import uuid

import neo4j
import pytest

URIS = ["bolt://" + os.environ["BOLT"], "neo4j://" + os.environ["BOLT"]]


@pytest.fixture(scope="session", params=URIS, ids=["bolt", "neo4j"])
def driver(request):
    with neo4j.GraphDatabase.driver(request.param, auth=("neo4j", "any")) as d:
        yield d


@pytest.fixture
def session(driver):
    with driver.session() as s:
        yield s


@pytest.fixture
def label():
    """A label that no other test uses."""
    return "L" + uuid.uuid4().hex
