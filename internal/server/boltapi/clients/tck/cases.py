"""Runs files of openCypher cases over Bolt and compares columns, rows and errors: cases.py FILE…"""
import os
import pathlib
import re
import sys

import neo4j


def show(v):
    """A value as the files write it."""
    graph, time = neo4j.graph, neo4j.time
    if v is None:
        return "null"
    if isinstance(v, bool):
        return str(v).lower()
    if isinstance(v, float):
        return f"{v:.17g}" if v != v or v in (float("inf"), float("-inf")) else number(v) + "f"
    if isinstance(v, str):
        return f"'{v}'"
    if isinstance(v, list):
        return "[" + ", ".join(map(show, v)) + "]"
    if isinstance(v, dict):
        return "{" + ", ".join(f"{k}: {show(v[k])}" for k in sorted(v)) + "}"
    if isinstance(v, graph.Node):
        return "(" + ":".join(sorted(v.labels)) + show(dict(v)) + ")"
    if isinstance(v, graph.Relationship):
        return f"[:{v.type}{show(dict(v))}]"
    if isinstance(v, graph.Path):
        text = show(v.start_node)
        for node, rel, far in zip(v.nodes, v.relationships, v.nodes[1:]):
            arrow = "-" if node == far else "->" if rel.start_node == node else "<-"
            text += arrow + show(rel) + show(far)
        return f"<{text}>"
    if isinstance(v, (time.Date, time.Time, time.DateTime, time.Duration)):
        return f"'{v.iso_format()}'"
    return str(v)


def number(v):
    """A float in the shortest digits that give it back, with an exponent below 1e-4 and from 1e21 on."""
    text = repr(v)
    mantissa, _, exponent = text.partition("e")
    if exponent and -5 < int(exponent) < 21:
        text = f"{v:.0f}"
    return text.removesuffix(".0")


def cases(path):
    """The directives of a file: line, command, input, expected output."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    at = 0
    while at < len(lines):
        if not lines[at] or lines[at].startswith("#"):
            at += 1
            continue
        start, command = at, lines[at]
        end = lines.index("----", at)
        text = "\n".join(lines[at + 1 : end])
        at = end + 1
        if lines[at] == "----":  # The output has empty lines, and ends with two such lines.
            at += 1
            end = next(i for i in range(at, len(lines)) if lines[i : i + 2] == ["----", "----"])
            expected, at = lines[at:end], end + 2
        else:
            end = next((i for i in range(at, len(lines)) if not lines[i]), len(lines))
            expected, at = lines[at:end], end
        yield start + 1, command, text, expected


# What the server adds to a message, which the engine's files do not have: the place in the statement, and what has been committed.
ADDED = re.compile(r" \(line \d+, column \d+ \(offset: \d+\)\)\n.*|; what was committed before stands \(.*", re.DOTALL)


def run(session, statement):
    try:
        result = session.run(statement)
        columns = list(result.keys())
        rows = [", ".join(show(v) for v in record.values()) for record in result]
    except neo4j.exceptions.Neo4jError as e:
        return [f"{e.code.rsplit('.', 1)[1]} {ADDED.sub('', e.message)}"]
    last = statement.rfind("RETURN")
    if last < 0 or "ORDER BY" not in statement[last:]:
        rows.sort(key=lambda row: row.encode())
    # A row of a text with line ends is several lines of the file.
    return "\n".join([" | ".join(columns)] + (rows or ["no rows"])).split("\n")


def main():
    with open(os.environ["RESULTS"], "w", encoding="utf-8") as results, \
            neo4j.GraphDatabase.driver("bolt://" + os.environ["BOLT"], notifications_min_severity="OFF") as driver:
        for path in sys.argv[1:]:
            with driver.session() as session:
                session.run("MATCH (n) DETACH DELETE n").consume()
                for line, command, text, expected in cases(path):
                    if command == "graph":
                        for statement in ["MATCH (n) DETACH DELETE n", *filter(str.strip, text.split(";"))]:
                            session.run(statement).consume()
                        continue
                    # Bolt has no field for the phase and the detail of an error.
                    expected = [re.sub(r"^(\w+)/\w+/\w+ ", r"\1 ", e) for e in expected]
                    got, name = run(session, text), f"{os.path.basename(path)}:{line}"
                    if got != expected:
                        print(name, text, "wanted:", *expected, "got:", *got, "", sep="\n")
                    results.write(f"{'pass' if got == expected else 'fail'} {name}\n")


main()
