"""Runs the texts and queries of BenchmarkText in SQLite's FTS5 and in tantivy, in one thread, and prints a table in Markdown.

    pip install tantivy
    HOPGATE_BENCH_TEXTS=100000 python bench/search/beside.py

The words are four letters of ASCII in lower case, so all analyzers make the same terms and the numbers of hits must be equal: the program
ends with an error if those of the engines differ, and BenchmarkText reports its own as "hits".
"""

import os
import resource
import shutil
import sqlite3
import sys
import tempfile
import time

MASK = (1 << 64) - 1
KINDS = ["term", "phrase", "prefix"]


class Draw:
    """splitmix64, as in text_bench_test.go."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return z ^ z >> 31

    def word(self):
        letters = "bcdfghjklmnprstv"
        size = 1 << self.next() % 16
        w = (size + self.next() % size) * 40503 % (1 << 16)
        return letters[w >> 12] + letters[w >> 8 & 15] + letters[w >> 4 & 15] + letters[w & 15]


def make_texts(n):
    d = Draw(26)
    return [" ".join([d.word() for _ in range(8 + d.next() % 8)]) for _ in range(n)]


def make_queries(texts):
    """Lists of words by kind: one word, two words, three letters."""
    d = Draw(62)
    out = {kind: [] for kind in KINDS}
    for _ in range(200):
        words = texts[d.next() % len(texts)].split()
        k = d.next() % (len(words) - 1)
        out["term"].append([words[k]])
        out["phrase"].append(words[k : k + 2])
        out["prefix"].append([words[k][:3]])
    return out


def disk(path):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files)


class SQLite:
    name = "SQLite FTS5 " + sqlite3.sqlite_version

    def __init__(self, path):
        self.db = sqlite3.connect(os.path.join(path, "texts.db"))
        self.db.execute("CREATE VIRTUAL TABLE texts USING fts5(t, content='')")

    def index(self, texts):
        with self.db:
            self.db.executemany("INSERT INTO texts (rowid, t) VALUES (?, ?)", enumerate(texts, 1))

    def query(self, kind, words):
        return '"' + " ".join(words) + '"' + ("*" if kind == "prefix" else "")

    def best(self, q):
        return self.db.execute("SELECT rowid, rank FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10", (q,)).fetchall()

    def count(self, q):
        return self.db.execute("SELECT count(*) FROM texts WHERE texts MATCH ?", (q,)).fetchone()[0]


class Tantivy:
    def __init__(self, path):
        import tantivy

        self.t = tantivy
        self.name = tantivy.__version__.split(",")[0].replace(" v", " ")
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("t")
        self.schema = schema.build()
        self.at = tantivy.Index(self.schema, path=path)

    def index(self, texts):
        writer = self.at.writer(heap_size=128 << 20, num_threads=1)
        for text in texts:
            writer.add_document(self.t.Document(t=text))
        writer.commit()
        writer.wait_merging_threads()
        self.at.reload()
        self.searcher = self.at.searcher()

    def query(self, kind, words):
        if kind == "prefix":
            return self.t.Query.regex_query(self.schema, "t", words[0] + ".*")
        if kind == "phrase":
            return self.t.Query.phrase_query(self.schema, "t", words)
        return self.t.Query.term_query(self.schema, "t", words[0])

    def best(self, q):
        return self.searcher.search(q, 10, count=False).hits

    def count(self, q):
        return self.searcher.search(q, 1, count=True).count


def main():
    texts = make_texts(int(os.environ.get("HOPGATE_BENCH_TEXTS", 100_000)))
    queries = make_queries(texts)
    print("| engine | texts/s | disk MB | process peak MB |" + "".join(f" {k} p50 µs | p99 µs | hits |" for k in KINDS))
    print("|---|" + "--:|" * (3 + 3 * len(KINDS)))
    found = {}
    for engine in [SQLite, Tantivy]:
        path = tempfile.mkdtemp(prefix="beside")
        try:
            e = engine(path)
        except (ImportError, sqlite3.OperationalError) as err:
            print(f"{engine.__name__} is skipped: {err}", file=sys.stderr)
            shutil.rmtree(path)
            continue
        begin = time.perf_counter()
        e.index(texts)
        rate = len(texts) / (time.perf_counter() - begin)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        row = f"| {e.name} | {rate:,.0f} | {disk(path) / 2**20:.1f} | {peak:.0f} |"
        for kind in KINDS:
            qs = [e.query(kind, words) for words in queries[kind]]
            counts = [e.count(q) for q in qs]
            if found.setdefault(kind, counts) != counts:
                sys.exit(f"{e.name}: the numbers of hits of {kind} queries differ from those of the engine before")
            times = []
            for i in range(1000):
                begin = time.perf_counter()
                e.best(qs[i % len(qs)])
                times.append(time.perf_counter() - begin)
            times.sort()
            row += f" {times[500] * 1e6:.0f} | {times[990] * 1e6:.0f} | {sum(counts):,} |"
        print(row)
        shutil.rmtree(path)


main()
