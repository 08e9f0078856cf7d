"""Measures work over a whole graph beside other engines, in turns, on one network with equal answers: see bench/README.md."""
import argparse
import importlib.util
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import engines
import rows


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bin", default="bin", help="directory of hopgate and graphctl (default bin)")
    options.add_argument("--persons", type=int, default=100_000, help="people of the network (default 100000)")
    options.add_argument("--comment-bytes", default="500..1500", help="length of a text, A..B (default 500..1500, 1 KB on average)")
    options.add_argument("--runs", type=int, default=5, help="runs of each statement, of which the least time counts (default 5)")
    options.add_argument("--hops", type=int, default=1000, help="people whose two hops are counted right after the load (default 1000)")
    options.add_argument("--settle", type=float, default=0, help="seconds between the load and the size on disk (default 0)")
    options.add_argument("--beside", default="duckdb,ladybug", help="other engines, of duckdb, ladybug, and kuzu, which cannot share a process with "
                         "ladybug; those that are not installed are skipped (default duckdb,ladybug)")
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="hopgate-analytic-") as work:
        return measure(options, pathlib.Path(work))


def measure(options, work):
    files = network(options, work / "network")
    opened = [engines.Hopgate(options.bin, work)]
    try:
        for module in filter(None, options.beside.split(",")):
            if importlib.util.find_spec(module) is None:
                print(f"skipped: {module} is not installed (pip install {module})")
                continue
            opened.append(engines.OTHERS[module](work))
        return table(options, opened, files)
    finally:
        for e in opened:
            e.close()


def network(options, path):
    """Makes the files of the network: people, texts, and edges between people."""
    subprocess.run([pathlib.Path(options.bin) / "graphctl", "generate", "social", "--persons", str(options.persons),
                    "--comment-bytes", options.comment_bytes, "-d", path], check=True, stdout=subprocess.DEVNULL)
    return {"Person": path / "person.csv", "Comment": path / "comment.csv", "KNOWS": path / "person_knows_person.csv"}


def table(options, opened, files):
    edges = sum(1 for _ in open(files["KNOWS"], "rb")) - 1
    print(f"{options.persons} people, {edges} edges, {files['Comment'].stat().st_size / 1e6:.0f} MB of texts; ms, least of {options.runs}\n")
    print("| | " + " | ".join(f"{e.name} {e.version}" for e in opened) + " |")
    print("|---" * (len(opened) + 1) + "|")
    people = random.Random(1).choices(range(1, options.persons + 1), k=options.hops)
    loads, times, counts = [], [], []
    for e in opened:
        loads.append(seconds(e.load, files)[0])
        found = [seconds(e.two_hops, p) for p in people]
        times.append(sorted(t for t, _ in found))
        counts.append([n for _, n in found])
    line("load of all, s", loads)
    line("load, 1000 edges/s", [edges / s / 1000 for s in loads])
    line("first two-hop counts, p50", [1e3 * t[len(t) // 2] for t in times])
    line("first two-hop counts, p99", [1e3 * t[len(t) * 99 // 100] for t in times])
    wrong = [(rows.TWO_HOPS[0], e, c) for e, c in zip(opened, counts) if c != counts[0]]
    time.sleep(options.settle)
    line("on disk, MB", [e.size() / 1e6 for e in opened])
    for row in rows.ROWS:
        least, answers = [math.inf] * len(opened), [None] * len(opened)
        for _ in range(options.runs):
            for i, e in enumerate(opened):
                took, answers[i] = seconds(e.arrow if row.arrow else e.run, row)
                least[i] = min(least[i], took)
        line(row.name, [1e3 * s if a is not None else None for s, a in zip(least, answers)])
        answers = [normal(a, row) for a in answers]
        wrong += [(row.cypher, e, a) for e, a in zip(opened, answers) if a is not None and not equal(a, answers[0])]
    for statement, e, answer in wrong:
        print(f"\n{e.name} answers something else than {opened[0].name}: {statement}\n{str(answer)[:500]}", file=sys.stderr)
    return 1 if wrong else 0


def line(name, figures):
    print(f"| {name} | " + " | ".join("–" if f is None else f"{f:.3g}" if f < 100 else f"{f:.0f}" for f in figures) + " |", flush=True)


def seconds(f, *args):
    began = time.perf_counter()
    answer = f(*args)
    return time.perf_counter() - began, answer


def normal(answer, row):
    """An answer as a list of tuples. Rows of statements that do not sort are sorted; of tables of Arrow their shape counts."""
    if answer is None:
        return None
    if row.arrow:
        return [(answer.num_rows, answer.num_columns)]
    answer = [tuple(r) for r in answer]
    return answer if "ORDER BY" in row.cypher else sorted(answer)


def equal(a, b):
    return len(a) == len(b) and all(
        math.isclose(x, y, rel_tol=1e-9) if isinstance(x, float) else x == y for r, s in zip(a, b) for x, y in zip(r, s, strict=True))


if __name__ == "__main__":
    sys.exit(main())
