"""Tokens, roles and TLS, on a server of the test's own."""
import hashlib
import json
import os
import shutil
import subprocess

import neo4j
import pytest
from neo4j.exceptions import AuthError, ClientError, Forbidden, ServiceUnavailable

TOKENS = {"ann": "writer", "reports": "reader", "leaver": "reader"}


class Server:
    def __init__(self, folder):
        self.folder = folder
        self.write_tokens(TOKENS)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
        listeners = [arg for name in ("http", "grpc", "admin", "bolt") for arg in (f"--{name}", "127.0.0.1:0")]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [os.environ["HOPGATE"], "serve", "--data-dir", folder / "data", "--tokens-file", folder / "tokens.yaml", "--tls-cert", folder / "cert.pem",
                 "--tls-key", folder / "key.pem", "--ready-file", folder / "ready", *listeners], stdout=log, stderr=log)
        ready = folder / "ready"
        while not (ready.exists() and ready.read_text()):
            assert self.process.poll() is None, (folder / "log").read_text()
        self.address = json.loads(ready.read_text())["bolt"]

    def write_tokens(self, tokens):
        """Gives each user a token that is the name with -token behind it."""
        lines = [f"  - {{name: {u}, sha256: {hashlib.sha256(f'{u}-token'.encode()).hexdigest()}, role: {r}}}\n" for u, r in tokens.items()]
        new = self.folder / "tokens.new"
        new.write_text("tokens:\n" + "".join(lines))
        new.rename(self.folder / "tokens.yaml")

    def driver(self, auth, scheme="neo4j+ssc"):
        return neo4j.GraphDatabase.driver(f"{scheme}://{self.address}", auth=auth)


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl")
    server = Server(tmp_path_factory.mktemp("secured"))
    yield server
    server.process.terminate()
    assert server.process.wait() == 0


@pytest.mark.parametrize("scheme", ["bolt+ssc", "neo4j+ssc"])
@pytest.mark.parametrize("auth", [("neo4j", "ann-token"), ("ann", "ann-token"), neo4j.bearer_auth("ann-token")], ids=["neo4j", "name", "bearer"])
def test_token(secured, scheme, auth):
    with secured.driver(auth, scheme) as driver:
        driver.verify_connectivity()
        assert driver.encrypted and driver.execute_query("SHOW CURRENT USER").records[0]["user"] == "ann"


@pytest.mark.parametrize("auth", [None, ("neo4j", "wrong"), ("reports", "ann-token"), neo4j.bearer_auth("wrong"), neo4j.kerberos_auth("x")],
                         ids=["none", "password", "name", "bearer", "kerberos"])
def test_no_token(secured, auth):
    with secured.driver(auth) as driver:
        with pytest.raises(AuthError) as failure:
            driver.execute_query("RETURN 1")
        assert failure.value.code == "Neo.ClientError.Security.Unauthorized"
    with secured.driver(("ann", "ann-token")) as driver:  # One that succeeds starts the count of failures again.
        driver.verify_connectivity()


def test_plain_connection(secured):
    with secured.driver(("ann", "ann-token"), "bolt") as driver, pytest.raises(ServiceUnavailable):
        driver.verify_connectivity()


def test_role(secured):
    with secured.driver(("reports", "reports-token")) as driver:
        driver.execute_query("MATCH (n) RETURN count(n)")
        with pytest.raises(Forbidden) as failure:
            driver.execute_query("CREATE (:Refused)")
        assert failure.value.code == "Neo.ClientError.Security.Forbidden"


def test_users_of_one_driver(secured):
    """Sessions of several users take turns on a connection, which logs one off and the next one on."""
    with secured.driver(("ann", "ann-token")) as driver:
        for user in ("reports", "ann", "reports"):
            with driver.session(auth=(user, f"{user}-token")) as session:
                assert session.run("SHOW CURRENT USER").single(strict=True)["user"] == user
        assert driver.verify_authentication(("reports", "reports-token")) and not driver.verify_authentication(("reports", "wrong"))


def test_impersonation(secured):
    with secured.driver(("ann", "ann-token")) as driver:
        with driver.session(impersonated_user="reports") as session, pytest.raises(ClientError):
            session.run("RETURN 1").consume()
        with driver.session(impersonated_user="ann") as session:
            assert session.run("RETURN 1").single(strict=True)[0] == 1


def test_token_taken_out(secured):
    with secured.driver(("leaver", "leaver-token")) as driver, driver.session() as session:
        session.run("RETURN 1").consume()
        secured.write_tokens({u: r for u, r in TOKENS.items() if u != "leaver"})
        with pytest.raises(AuthError):
            while True:
                session.run("RETURN 1").consume()
