"""hopgate.open: the server's life, and processes that share one."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import hopgate
import hopgate._server

OPEN = """
import hopgate, sys
db = hopgate.open(sys.argv[1], memory="256MiB")
print(db.location, flush=True)
sys.stdin.readline()
db.query("CREATE (:Left)")
print("done", flush=True)
sys.stdin.readline()
"""


def start(directory):
    p = subprocess.Popen([sys.executable, "-c", OPEN, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return p, p.stdout.readline().strip()


def gone(location, token):
    for _ in range(200):
        try:
            with hopgate.connect(location, token) as db:
                db.query("RETURN 1")
        except hopgate.UnavailableError:
            return True
        time.sleep(0.1)
    return False


def test_open_keeps_graphs(tmp_path):
    with hopgate.open(tmp_path / "new" / "graphs", memory="256MiB") as db:
        db.query("CREATE (:N {id: 1})")
        location, token = db.location, db.token
    assert gone(location, token)
    with hopgate.open(tmp_path / "new" / "graphs", memory="256MiB") as db:
        assert db.query("MATCH (n:N) RETURN n.id").value() == 1
        assert oct(os.stat(tmp_path / "new" / "graphs" / "python" / "token").st_mode & 0o777) == "0o600"
        with pytest.raises(hopgate.AccessError), hopgate.connect(db.location) as other:
            other.query("RETURN 1")


def test_open_shares_a_server(tmp_path):
    p, location = start(tmp_path)
    db = hopgate.open(tmp_path)
    assert db.location == location
    p.send_signal(signal.SIGKILL)  # the one that has started it
    p.wait()
    time.sleep(1)
    db.query("CREATE (:N)")
    token = db.token
    with hopgate.open(tmp_path) as second:
        assert second.location == location
    assert db.query("MATCH (n:N) RETURN count(*)").value() == 1
    db.close()
    assert gone(location, token)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_with_a_killed_process(tmp_path, how):
    p, location = start(tmp_path)
    token = (tmp_path / "python" / "token").read_text()
    p.stdin.write("\n")
    p.stdin.flush()
    assert p.stdout.readline() == "done\n"
    p.send_signal(how)
    p.wait()
    assert gone(location, token)
    with hopgate.open(tmp_path, memory="256MiB") as db:
        assert db.query("MATCH (n:Left) RETURN count(*)").value() == 1


def test_a_directory_that_another_server_has(tmp_path, monkeypatch):
    monkeypatch.setattr(hopgate._server, "_END", 0.1)
    with hopgate.open(tmp_path, memory="256MiB"):
        os.unlink(tmp_path / "python" / "ready.json")  # as if it had been started otherwise
        with pytest.raises(hopgate.HopgateError, match="in use by another process"):
            hopgate.open(tmp_path)


def test_tls(tmp_path):
    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("there is no openssl")
    key, cert, ready = tmp_path / "key.pem", tmp_path / "cert.pem", tmp_path / "ready.json"
    subprocess.run([openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    server = subprocess.Popen([
        hopgate._server.binary(), "serve", "--until-stdin-ends", f"--data-dir={tmp_path / 'data'}", "--http=127.0.0.1:0", "--grpc=127.0.0.1:0",
        "--admin=127.0.0.1:0", "--bolt=", "--memory=256MiB", f"--ready-file={ready}", f"--tls-cert={cert}", f"--tls-key={key}"],
        stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if ready.exists() or server.poll() is not None:
            break
        time.sleep(0.1)
    address = json.loads(ready.read_text())["grpc"]
    with hopgate.connect(f"grpcs://{address}", tls_ca=cert.read_bytes()) as db:
        assert db.query("RETURN 1").value() == 1
        with db.dbapi() as connection, connection.cursor() as cursor:
            cursor.execute("RETURN 2")
            assert cursor.fetchall() == [(2,)]
    with pytest.raises(hopgate.UnavailableError), hopgate.connect(f"grpcs://{address}") as db:
        db.query("RETURN 1")
    server.stdin.close()
    assert server.wait(30) == 0


def test_open_says_why_it_fails(tmp_path):
    with pytest.raises(hopgate.HopgateError, match="no_such_setting|no-such-setting"):
        hopgate.open(tmp_path, no_such_setting=1)
    with pytest.raises(hopgate.HopgateError, match="memory"):
        hopgate.open(tmp_path, memory="1MiB")
