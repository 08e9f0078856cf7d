"""The engines: each loads the files of a network, and runs the statements of rows.py."""
import http.client
import importlib.util
import json
import pathlib
import subprocess
import time

import rows


def size(path):
    """The bytes that a file or a directory takes on disk."""
    path = pathlib.Path(path)
    files = path.rglob("*") if path.is_dir() else path.parent.glob(path.name + "*")
    return sum(f.stat().st_blocks * 512 for f in files if f.is_file())


class Hopgate:
    """A server process, over HTTP."""
    name = "Hopgate"

    def __init__(self, bin, work):
        self.bin, self.data, ready = pathlib.Path(bin), work / "hopgate", work / "ready.json"
        self.log = open(work / "hopgate.log", "wb")
        self.process = subprocess.Popen(
            [self.bin / "hopgate", "serve", "--data-dir", self.data, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--admin", "127.0.0.1:0",
             "--bolt", "", "--ready-file", ready], stderr=self.log)
        deadline = time.monotonic() + 60
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise RuntimeError("the server does not start:\n" + (work / "hopgate.log").read_text())
            time.sleep(0.02)
        self.addresses = json.loads(ready.read_text())
        self.client = http.client.HTTPConnection(self.addresses["http"])
        self.arrow_reader = importlib.util.find_spec("pyarrow") and importlib.import_module("pyarrow.ipc")
        self.version = subprocess.run([self.bin / "hopgate", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]

    def load(self, files):
        subprocess.run([self.bin / "graphctl", "load", "--progress", "none", "--address", self.addresses["grpc"], *files.values()],
                       check=True, stdout=subprocess.DEVNULL)

    def ask(self, statement, accept, parameters=None):
        self.client.request("POST", "/v1/query", json.dumps({"statement": statement, "parameters": parameters or {}}),
                            {"Content-Type": "application/json", "Accept": accept})
        response = self.client.getresponse()
        if response.status != 200:
            raise RuntimeError(response.read().decode())
        return response

    def run(self, row):
        return json.load(self.ask(row.cypher, "application/json"))["data"]["values"]

    def arrow(self, row):
        if not self.arrow_reader:
            return None
        answer = self.ask(row.cypher, "application/vnd.apache.arrow.stream")
        table = self.arrow_reader.open_stream(answer).read_all()
        answer.read()  # the end of HTTP's chunks
        return table

    def two_hops(self, person):
        return json.load(self.ask(rows.TWO_HOPS[0], "application/json", {"id": person}))["data"]["values"][0][0]

    def size(self):
        return size(self.data)

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class DuckDB:
    """DuckDB in this process, with tables in a file."""

    def __init__(self, work):
        import duckdb
        self.name, self.version, self.path = "DuckDB", duckdb.__version__, work / "duck.db"
        self.db = duckdb.connect(str(self.path))

    def load(self, files):
        typed = "columns('^{0}')::BIGINT AS {1}".format
        person = [typed(c, c) if c in rows.INTEGERS else c for c in rows.COLUMNS]
        for table, columns in {
            "Person": person,
            "Comment": [typed("id", "id"), typed("creationDate", "creationDate"), "content"],
            "KNOWS": [typed(":START", "src"), typed(":END", "dst"), typed("creationDate", "creationDate")],
        }.items():
            self.db.execute(f"CREATE TABLE {table} AS SELECT {', '.join(columns)} FROM read_csv('{files[table]}', header = true, all_varchar = true)")
        self.db.execute("CHECKPOINT")

    def run(self, row):
        return self.db.execute(row.sql).fetchall()

    def arrow(self, row):
        return self.db.sql(row.sql).to_arrow_table()

    def two_hops(self, person):
        return self.db.execute(rows.TWO_HOPS[1], {"id": person}).fetchone()[0]

    def size(self):
        return size(self.path)

    def close(self):
        self.db.close()


class Kuzu:
    """Kuzu or its successor Ladybug in this process. Both have the same interface."""

    def __init__(self, module, name, work):
        library = importlib.import_module(module)
        self.name, self.version, self.path = name, library.__version__, work / (module + ".db")
        self.db = library.Database(str(self.path))
        self.connection = library.Connection(self.db)

    def load(self, files):
        # The constant last column of the files is a property; it takes next to no space.
        person = ", ".join(f"{c} {'INT64' if c in rows.INTEGERS else 'STRING'}" for c in rows.COLUMNS)
        for statement in (
            f"CREATE NODE TABLE Person({person}, label STRING, PRIMARY KEY (id))",
            "CREATE NODE TABLE Comment(id INT64, creationDate INT64, content STRING, label STRING, PRIMARY KEY (id))",
            "CREATE REL TABLE KNOWS(FROM Person TO Person, creationDate INT64, label STRING)",
            *(f"COPY {table} FROM '{files[table]}' (HEADER = true)" for table in ("Person", "Comment", "KNOWS")),
            "CHECKPOINT",
        ):
            self.connection.execute(statement)

    def run(self, row):
        return self.connection.execute(row.cypher).get_all()

    def arrow(self, row):
        return self.connection.execute(row.cypher).get_as_arrow()

    def two_hops(self, person):
        return self.connection.execute(rows.TWO_HOPS[0], {"id": person}).get_next()[0]

    def size(self):
        return size(self.path)

    def close(self):
        self.connection.close()
        self.db.close()


OTHERS = {
    "duckdb": DuckDB,
    "ladybug": lambda work: Kuzu("ladybug", "Ladybug", work),
    "kuzu": lambda work: Kuzu("kuzu", "Kuzu", work),
}
