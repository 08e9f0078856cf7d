"""Writes with managed transactions until its input ends: writers.py ADDRESS,… PREFIX

Each of four threads writes keys of its own and counts them in a vertex. A line for each key goes to the output: the key, what
came of it, and how often the driver ran the transaction.
"""
import sys
import threading

import neo4j
from neo4j.exceptions import ConstraintError

addresses, prefix = sys.argv[1].split(","), sys.argv[2]
stop = threading.Event()


def write(driver, worker, key):
    tries = 0

    def work(tx):
        nonlocal tries
        tries += 1
        tx.run("CREATE (:Written {key: $key, worker: $worker})", key=key, worker=worker).consume()
        tx.run("MERGE (w:Worker {name: $worker}) SET w.n = coalesce(w.n, 0) + 1", worker=worker).consume()

    try:
        with driver.session() as session:
            session.execute_write(work)
        outcome = "written"
    except ConstraintError:
        outcome = "found"  # The commit of an earlier try went through before its answer was lost.
    except neo4j.exceptions.IncompleteCommit:
        outcome = "unknown"  # The driver leaves it to the program to look.
    except Exception as e:
        outcome = f"{type(e).__name__}:{e}".replace(" ", "_").replace("\n", "_")
    sys.stdout.write(f"{key} {outcome} {tries}\n")
    sys.stdout.flush()


def run(driver, worker):
    n = 0
    while not stop.is_set():
        write(driver, worker, f"{worker}-{n}")
        n += 1


# The driver asks the resolver when all gateways that it knows are gone; as a name of several hosts in DNS does, it names them all.
resolver = lambda _: [neo4j.Address.parse(a) for a in addresses]
with neo4j.GraphDatabase.driver("neo4j://gateways", auth=None, resolver=resolver, max_transaction_retry_time=120) as driver:
    threads = [threading.Thread(target=run, args=[driver, f"{prefix}-{i}"]) for i in range(4)]
    for t in threads:
        t.start()
    sys.stdin.read()
    stop.set()
    for t in threads:
        t.join()
