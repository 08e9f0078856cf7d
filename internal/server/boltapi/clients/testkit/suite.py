"""Runs testkit's server tests through the backend of the Python driver, and writes the outcome of each test into $RESULTS."""
import os
import subprocess
import sys
import unittest

testkit, driver = os.environ["NEO4J_TESTKIT"], os.environ["NEO4J_DRIVER_PYTHON"]
sys.path.insert(0, testkit)

# The backend prints its port, and writes its log elsewhere, for nobody reads it.
BACKEND = """
import os
from testkitbackend.server import Server
server = Server(("127.0.0.1", 0))
print(server.server_address[1], flush=True)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
server.serve_forever()
"""


class Result(unittest.TextTestResult):
    """Keeps the outcome of each test; a test fails if one of its subtests does."""

    def startTestRun(self):
        super().startTestRun()
        self.outcomes = {}

    def addSuccess(self, test):
        super().addSuccess(test)
        self.outcomes.setdefault(test.id(), "pass")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.outcomes[test.id()] = "fail"

    def addError(self, test, err):
        super().addError(test, err)
        self.outcomes[test.id()] = "fail"

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.outcomes[test.id()] = "fail"


with subprocess.Popen(
    [sys.executable, "-B", "-W", "error", "-c", BACKEND],
    cwd=driver, env={**os.environ, "PYTHONPATH": os.path.join(driver, "src")}, stdout=subprocess.PIPE, text=True,
) as backend:
    try:
        backend_port = backend.stdout.readline().strip() or sys.exit("the backend has ended")
        host, port = os.environ["BOLT"].rsplit(":", 1)
        os.environ.update({
            "TEST_BACKEND_HOST": "127.0.0.1", "TEST_BACKEND_PORT": backend_port, "TEST_DRIVER_NAME": "python",
            "TEST_NEO4J_HOST": host, "TEST_NEO4J_PORT": port, "TEST_NEO4J_USER": "neo4j", "TEST_NEO4J_PASS": "password",
            "TEST_NEO4J_VERSION": "5.26", "TEST_NEO4J_EDITION": "enterprise",
        })
        suite = unittest.TestLoader().discover(os.path.join(testkit, "tests", "neo4j"), top_level_dir=testkit)
        result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    finally:
        backend.kill()
with open(os.environ["RESULTS"], "w", encoding="utf-8") as f:
    f.writelines(f"{outcome} {name}\n" for name, outcome in result.outcomes.items())
