"""A data frame of a million rows in and out of Hopgate's Python package, beside DuckDB and Ladybug in the same run.

Each engine loads a frame of pandas with three columns as vertices (or rows), a table of edges, and gives the three columns of all vertices
back as a frame, whose sums are compared. Run it where the package is installed, or with PYTHONPATH=python and PYTHON_HOPGATE_BINARY.
"""
import argparse
import importlib.util
import tempfile
import time

import pandas as pd


def frames(rows):
    people = pd.DataFrame({"id": range(rows), "name": [f"name {i}" for i in range(rows)], "score": [i / 3 for i in range(rows)]})
    knows = pd.DataFrame({"a": range(rows), "b": [(i * 7 + 1) % rows for i in range(rows)]})
    return people, knows


class Hopgate:
    def __init__(self, directory, memory):
        import hopgate

        self.db = hopgate.open(directory, **({"memory": memory} if memory else {}))

    def vertices(self, frame):
        from hopgate import Vertices

        self.db.load(frame, vertices=Vertices("Person", "id"), progress=False)

    def edges(self, frame):
        from hopgate import Edges

        self.db.load(frame, edges=Edges("KNOWS", ("a", "Person", "id"), ("b", "Person", "id")), progress=False)

    def out(self):
        return self.db.query("MATCH (p:Person) RETURN p.id AS id, p.name AS name, p.score AS score").df()

    def close(self):
        self.db.close()


class Ladybug:
    def __init__(self, directory, _):
        import ladybug

        self.connection = ladybug.Connection(ladybug.Database(directory + "/graph"))
        self.connection.execute("CREATE NODE TABLE Person(id INT64 PRIMARY KEY, name STRING, score DOUBLE)")
        self.connection.execute("CREATE REL TABLE KNOWS(FROM Person TO Person)")

    def vertices(self, frame):
        self.connection.execute("COPY Person FROM frame")

    def edges(self, frame):
        self.connection.execute("COPY KNOWS FROM frame")

    def out(self):
        return self.connection.execute("MATCH (p:Person) RETURN p.id AS id, p.name AS name, p.score AS score").get_as_df()

    def close(self):
        self.connection.close()


class DuckDB:
    def __init__(self, directory, _):
        import duckdb

        self.connection = duckdb.connect(directory + "/tables")
        self.connection.execute("CREATE TABLE person(id BIGINT PRIMARY KEY, name VARCHAR, score DOUBLE)")
        self.connection.execute("CREATE TABLE knows(a BIGINT, b BIGINT)")

    def vertices(self, frame):
        self.connection.execute("INSERT INTO person SELECT * FROM frame")

    def edges(self, frame):
        self.connection.execute("INSERT INTO knows SELECT * FROM frame")

    def out(self):
        return self.connection.execute("SELECT id, name, score FROM person").df()

    def close(self):
        self.connection.close()


def timed(work, *args):
    began = time.perf_counter()
    result = work(*args)
    return time.perf_counter() - began, result


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--runs", type=int, default=3, help="how often the frame comes out; the best counts")
    options.add_argument("--memory", help="the memory of Hopgate's server (default half of the machine's)")
    args = options.parse_args()
    people, knows = frames(args.rows)
    sums = (args.rows * (args.rows - 1) // 2, round(people["score"].sum()))
    print(f"rows a second, of {args.rows:,}\n\n| engine | vertices in | edges in | frame out |\n|---|---|---|---|")
    for engine in (Hopgate, Ladybug, DuckDB):
        if importlib.util.find_spec(engine.__name__.lower()) is None:
            print(f"| {engine.__name__} | not installed | | |")
            continue
        with tempfile.TemporaryDirectory() as directory:
            e = engine(directory, args.memory)
            times = [timed(e.vertices, people)[0], timed(e.edges, knows)[0]]
            outs = [timed(e.out) for _ in range(args.runs)]
            for _, frame in outs:
                got = (int(frame["id"].sum()), round(frame["score"].sum()))
                assert got == sums and frame["name"].nunique() == args.rows, f"{engine.__name__}: {got}, not {sums}"
            times.append(min(t for t, _ in outs))
            e.close()
        print(f"| {engine.__name__} | " + " | ".join(f"{args.rows / t:,.0f}" for t in times) + " |", flush=True)


if __name__ == "__main__":
    main()
