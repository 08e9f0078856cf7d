"""Runs Neo4j's connector for Kafka, which reads changes over Bolt, in Kafka Connect beside a broker of Kafka.

A writer creates, updates and deletes nodes and relationships meanwhile. The connector is stopped and started again, twice. In the end its topic
holds what the writer did to each of them, once and in order.
"""
import atexit
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import threading
import time
import urllib.request

STARTS = 3
PATIENCE = 100  # seconds
failed = []  # what ended the writer
work = pathlib.Path(os.environ["WORK"])
cache = os.environ["CACHE"]


def free():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def java(name, main, *args, wait=False):
    """Starts a program of Java, or waits until it has ended and returns what it writes."""
    command = ["java", "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{cache}/build/classes:{cache}/lib/*", main, *map(str, args)]
    with (work / f"{name}.log").open("ab") as log:
        if wait:
            return subprocess.run(command, stdout=subprocess.PIPE, stderr=log, timeout=PATIENCE, text=True).stdout
        process = subprocess.Popen(command, stdout=log, stderr=log)
    atexit.register(process.kill)
    return process


def settings(name, values):
    path = work / f"{name}.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()), encoding="utf-8")
    return path


def until(what, process, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if failed:
            raise failed[0]
        if process.poll() is not None or time.monotonic() > end:
            logs = "\n".join((work / f"{name}.log").read_text(errors="replace")[-3000:] for name in ("broker", "connect") if (work / f"{name}.log").exists())
            raise SystemExit(f"{what} does not come, or the process ended with {process.poll()}\n{logs}")
        time.sleep(0.1)


def listening(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def query(statement, **parameters):
    body = json.dumps({"statement": statement, "parameters": parameters}).encode()
    request = urllib.request.Request(f"http://{os.environ['HTTP']}/v1/query", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        answer = json.load(answer)
    if answer.get("errors"):
        raise SystemExit(f"{statement}: {answer['errors']}")


class Writer:
    """Writes, and notes for each transaction the events that are to come of it, as (type, operation, before, after)."""

    def __init__(self):
        self.people, self.known, self.expected = {}, {}, []  # nodes by their id, relationships by theirs with their ends
        self.random = random.Random(40)

    def write(self, i):
        r, kind = self.random, self.random.randrange(10)
        if kind < 3 or len(self.people) < 5:
            self.people[i] = {"id": i, "name": f"n{i}", "tags": ["a", "ü"]}
            query("CREATE (p:Person) SET p = $p", p=self.people[i])
            events = [("NODE", "CREATE", None, self.people[i])]
        elif kind < 5:
            person = r.choice(list(self.people))
            before, self.people[person] = self.people[person], {**self.people[person], "n": i}
            query("MATCH (p:Person {id: $id}) SET p.n = $n", id=person, n=i)
            events = [("NODE", "UPDATE", before, self.people[person])]
        elif kind < 7 or not self.known:
            a, b = r.choice(list(self.people)), r.choice(list(self.people))
            self.known[i] = (a, b, {"id": i, "w": 0.5})
            query("MATCH (a:Person {id: $a}), (b:Person {id: $b}) CREATE (a)-[k:KNOWS]->(b) SET k = $k", a=a, b=b, k=self.known[i][2])
            events = [("RELATIONSHIP", "CREATE", None, self.known[i][2])]
        elif kind == 7:
            known = r.choice(list(self.known))
            a, b, before = self.known[known]
            self.known[known] = (a, b, {**before, "n": i})
            query("MATCH (:Person {id: $a})-[k:KNOWS {id: $id}]->() SET k.n = $n", a=a, id=known, n=i)
            events = [("RELATIONSHIP", "UPDATE", before, self.known[known][2])]
        elif kind == 8:
            known = r.choice(list(self.known))
            a, _, before = self.known.pop(known)
            query("MATCH (:Person {id: $a})-[k:KNOWS {id: $id}]->() DELETE k", a=a, id=known)
            events = [("RELATIONSHIP", "DELETE", before, None)]
        else:
            person = r.choice(list(self.people))
            gone = [known for known, (a, b, _) in self.known.items() if person in (a, b)]
            query("MATCH (p:Person {id: $id}) DETACH DELETE p CREATE (:Other {id: $id})", id=person)  # no pattern takes the other
            events = [("RELATIONSHIP", "DELETE", self.known.pop(known)[2], None) for known in gone]
            events.append(("NODE", "DELETE", self.people.pop(person), None))
        self.expected.append(events)


def transactions(text):
    """Returns the transactions of the topic, in its order, each with its events."""
    out, last = [], None
    for line in text.splitlines():
        value = json.loads(line)
        event, state = value["event"], value["event"]["state"]
        if value["txId"] != last:
            last, seq = value["txId"], -1
            out.append([])
        if value["seq"] <= seq:
            raise SystemExit(f"event {value['seq']} of transaction {last} follows {seq}")
        seq = value["seq"]
        properties = [state[side] and {k: v for k, v in state[side]["properties"].items() if v is not None} for side in ("before", "after")]
        out[-1].append((event["eventType"], event["operation"], *properties))
    return out


def form(transaction):
    """Is a transaction but for the order of the relationships that it deletes, before their node."""
    return sorted(json.dumps(e, sort_keys=True) for e in transaction[:-1]), json.dumps(transaction[-1], sort_keys=True)


def compare(expected, got):
    """Writes the outcome, and where the topic is not what was expected."""
    at = next((i for i, (a, b) in enumerate(zip(expected, got)) if form(a) != form(b)), min(len(expected), len(got)))
    right = at == len(expected) == len(got)
    if not right:
        print(f"transaction {at} of {len(expected)}, of {len(got)} in the topic:\nexpected {expected[at:at + 1]}\ngot      {got[at:at + 1]}")
    name = f"each event is there once and in order, over {STARTS} starts"
    print(f"{len(expected)} transactions, {sum(map(len, expected))} events expected, {sum(map(len, got))} there, {STARTS} starts")
    pathlib.Path(os.environ["RESULTS"]).write_text(f"{'pass' if right else 'fail'} {name}\n", encoding="utf-8")


def main():
    port, control, rest = free(), free(), free()
    broker = settings("broker", {
        "process.roles": "broker,controller", "node.id": 1, "controller.quorum.voters": f"1@127.0.0.1:{control}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}", "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER", "log.dirs": work / "kafka", "num.partitions": 1, "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 1, "transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0})
    worker = settings("worker", {
        "bootstrap.servers": f"127.0.0.1:{port}", "offset.storage.file.filename": work / "offsets", "listeners": f"http://127.0.0.1:{rest}",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false"})
    connector = settings("connector", {
        "name": "changes", "connector.class": "org.neo4j.connectors.kafka.source.Neo4jConnector", "tasks.max": 1,
        "neo4j.uri": f"bolt://{os.environ['BOLT']}", "neo4j.authentication.type": "NONE", "neo4j.database": "neo4j",
        "neo4j.source-strategy": "CDC", "neo4j.start-from": "EARLIEST", "neo4j.cdc.poll-interval": "100ms", "neo4j.cdc.poll-duration": "1s",
        "neo4j.payload-mode": "COMPACT", "neo4j.cdc.topic.changes.patterns": "(:Person),()-[:KNOWS]-()"})
    java("format", "kafka.tools.StorageTool", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", "--config", broker, wait=True)
    kafka = java("broker", "kafka.Kafka", broker)
    until("the broker", kafka, lambda: listening(port))
    query("ALTER DATABASE neo4j SET OPTION txLogEnrichment 'FULL'")

    writer, ending = Writer(), threading.Event()

    def write():
        try:
            i = 0
            while not ending.is_set():
                writer.write(i)
                i += 1
                time.sleep(0.02)
        except BaseException as e:  # pylint: disable=broad-except
            failed.append(e)

    writing = threading.Thread(target=write, daemon=True)
    writing.start()

    def size():
        offsets = java("offsets", "org.apache.kafka.tools.GetOffsetShell", "--bootstrap-server", f"127.0.0.1:{port}", "--topic", "changes", wait=True)
        return int(offsets.strip().rpartition(":")[2] or 0)  # there is no topic before its first record

    reached = 0
    for start in range(STARTS):
        connect = java("connect", "org.apache.kafka.connect.cli.ConnectStandalone", worker, connector)
        until(f"what start {start} of the connector sends", connect, lambda: size() > reached)
        if start == STARTS - 1:
            ending.set()
            writing.join()
            if failed:
                raise failed[0]
            until("the last event", connect, lambda: size() >= sum(map(len, writer.expected)))
        connect.send_signal(signal.SIGTERM)
        connect.wait(PATIENCE)
        reached = size()
    topic = java("consumer", "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", f"127.0.0.1:{port}", "--topic", "changes",
                 "--from-beginning", "--timeout-ms", 5000, wait=True)
    compare(writer.expected, transactions(topic))


if __name__ == "__main__":
    main()
