"""Starts two shards and two gateways, and kills the gateways in turn while drivers write through both.

Each driver's writers are a program that takes the addresses and a prefix for its keys: see writers.py. In the end all that was
acknowledged is there, once, and each driver has repeated transactions.
"""
import atexit
import collections
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading

import neo4j

WRITERS = {
    "python": [sys.executable, "-B", "writers.py"],
    "javascript": ["node", "writers.mjs"],
    "go": [os.environ["CACHE"] + "/writers"],
    "java": ["java", "-cp", "{0}/java/classes:{0}/java/*".format(os.environ["CACHE"]), "Writers"],
}
ROUNDS = 20  # A kill may hit a moment in which a driver has nothing at that gateway.
work = pathlib.Path(os.environ["WORK"])


def free(n):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    addresses = ["127.0.0.1:%d" % s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return addresses


class Process:
    def __init__(self, name, *args):
        self.name, self.args, self.ready = name, args, work / f"{name}.ready"
        self.start()
        atexit.register(self.kill)

    def start(self):
        with (work / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen([os.environ["HOPGATE"], *self.args, "--admin", "127.0.0.1:0", "--memory", "64MiB", "--ready-file", self.ready],
                                            stdout=log, stderr=log)

    def wait_ready(self):
        while not (self.ready.exists() and self.ready.read_text()):
            try:
                self.process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
            raise SystemExit(f"{self.name} has ended:\n" + (work / f"{self.name}.log").read_text()[-2000:])
        return json.loads(self.ready.read_text())

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.ready.unlink(missing_ok=True)


class Writers:
    """A driver's program; done is notified of each line that it prints."""

    def __init__(self, name, addresses, done):
        self.name, self.lines, self.done = name, [], done
        self.process = subprocess.Popen([*WRITERS[name], ",".join(addresses), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.done:
                key, outcome, tries = line.split()
                self.lines.append((key, outcome, int(tries)))
                self.done.notify_all()
        with self.done:
            self.done.notify_all()

    def progress(self, n):
        """Waits for n more keys."""
        with self.done:
            wanted = len(self.lines) + n
            self.done.wait_for(lambda: len(self.lines) >= wanted or not self.reader.is_alive(), 200)
            if len(self.lines) < wanted:
                raise SystemExit(f"{self.name}: no more keys are written: {self.lines[-3:]}")

    def repeated(self):
        return any(tries > 1 for _, _, tries in self.lines)

    def end(self):
        self.process.stdin.close()
        self.reader.join()
        return self.process.wait()


shards = free(2)
bolts = free(2)
for i, address in enumerate(shards):
    Process(f"shard{i}", "shard", "--data-dir", work / f"s{i}", "--join", ",".join(shards), "--grpc", address)
gateways = [Process(f"gateway{i}", "gateway", "--join", ",".join(shards), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--bolt", bolt,
                    "--bolt-gateways", ",".join(bolts)) for i, bolt in enumerate(bolts)]
for g in gateways:
    g.wait_ready()

with open(os.environ["RESULTS"], "w", encoding="utf-8") as results, neo4j.GraphDatabase.driver(f"neo4j://{bolts[0]}", auth=None) as driver:
    driver.verify_connectivity()
    for label, key in (("Written", "key"), ("Worker", "name")):
        driver.execute_query(f"CREATE CONSTRAINT {label} FOR (n:{label}) REQUIRE n.{key} IS UNIQUE")
    writers = [Writers(name, bolts, threading.Condition()) for name in WRITERS]
    for round in range(ROUNDS):
        for w in writers:
            w.progress(10)
        if round >= 4 and all(w.repeated() for w in writers):
            break
        g = gateways[round % 2]
        g.kill()
        for w in writers:
            w.progress(10)
        g.start()
        g.wait_ready()

    statuses = {w.name: w.end() for w in writers}
    found = collections.Counter(r["key"] for r in driver.execute_query("MATCH (n:Written) RETURN n.key AS key").records)
    counted = {r["name"]: r["n"] for r in driver.execute_query("MATCH (w:Worker) RETURN w.name AS name, w.n AS n").records}
    for w in writers:
        workers = collections.Counter(key.rsplit("-", 1)[0] for key in found if key.startswith(w.name + "-"))
        odd = [line for line in w.lines if line[1] not in ("written", "found", "unknown")]
        checks = {
            "writers end": statuses[w.name] == 0,
            "no transaction fails": not odd,
            "transactions are repeated": w.repeated(),
            "nothing is lost": all(found[key] == 1 for key, outcome, _ in w.lines if outcome in ("written", "found")),
            "nothing is doubled": max(found.values()) == 1 and all(counted[name] == n for name, n in workers.items()),
        }
        print(w.name, len(w.lines), "keys", collections.Counter(outcome for _, outcome, _ in w.lines), odd[:5], "repeated:", sum(t > 1 for _, _, t in w.lines), "rounds:", round)
        for name, passed in checks.items():
            results.write(f"{'pass' if passed else 'fail'} {w.name}: {name}\n")
