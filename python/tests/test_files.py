"""Files that other programs write, read by graphctl: each value is what pyarrow reads."""
import datetime
import decimal
import json
import math
import os
import shutil
import subprocess
import tarfile
import uuid
from pathlib import Path

import duckdb
import igraph
import networkx
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from hopgate import Duration, Vertices

PROGRAM = os.environ.get("GRAPHCTL") or str(Path(os.environ.get("PYTHON_HOPGATE_BINARY", "graphctl")).with_name("graphctl"))
pytestmark = pytest.mark.skipif(not Path(PROGRAM).is_file(), reason="GRAPHCTL names no graphctl")

NASTY = [
    "", " ", " lead", "trail ", "\t", "a\tb", "\n", "a\nb\n", "\r", "a\r\nb", '"', '""quoted""', "'", "it\\'s \\n \\\\", "\\", "\ufeffbom", "😀👩‍👩‍👧",
    "\u202eRTL עברית", "e\u0301 \u2028 \u2029", "null", "true", "007", "1e5", "NaN", "2020-02-29", "a,b;c|d", "]]>", "&lt;<a>&amp;", '[1, "x"]',
    '{"a": 1}', ":A:B", "`tick`", "$x", "-", "#", "\\N", "\\u0041",
]
UNPRINTED = ["\x00", "a\x00b", "\x01\x1f\x7f", "\ufffe"]  # which XML cannot carry


def graphctl(db, *args):
    done = subprocess.run([PROGRAM, "--address", db.location.removeprefix("grpc://"), "--graph", db.graph, *map(str, args)],
                          env={**os.environ, "GRAPHCTL_TOKEN": db.token}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kind(t):
    """The type of a property for a column, as a mapping names it."""
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return kind(t.value_type) + "[]"
    if pa.types.is_dictionary(t):
        return kind(t.value_type)
    if isinstance(t, pa.BaseExtensionType):
        return "string"
    for is_type, name in (
        (pa.types.is_boolean, "boolean"), (pa.types.is_integer, "any"), (pa.types.is_floating, "float"), (pa.types.is_date, "date"),
        (pa.types.is_time, "localtime"), (pa.types.is_duration, "duration"), (pa.types.is_interval, "duration"),
        (pa.types.is_binary, "bytes"), (pa.types.is_large_binary, "bytes"), (pa.types.is_binary_view, "bytes"), (pa.types.is_fixed_size_binary, "bytes"),
    ):
        if is_type(t):
            return name
    if pa.types.is_timestamp(t):
        return "datetime" if t.tz else "localdatetime"
    if pa.types.is_decimal(t):
        return "float" if t.scale > 0 else "any"
    return "string"


def leaves(table):
    """The columns of a table by their paths, without structs."""
    while any(pa.types.is_struct(f.type) for f in table.schema):
        table = table.flatten()
    return table


def expected(v, t):
    """The value of a graph for one of pyarrow."""
    if isinstance(v, list):
        return [expected(e, t.value_type) for e in v]
    if pa.types.is_float32(t) or pa.types.is_float16(t):
        return pytest.approx(v, rel=1e-6, nan_ok=True)
    if isinstance(v, float):
        return pytest.approx(v, rel=0, abs=0, nan_ok=True)
    if isinstance(v, decimal.Decimal) and t.scale > 0:
        return float(v)
    if isinstance(v, int | decimal.Decimal) and not isinstance(v, bool):
        return int(v) if -(1 << 63) <= v < 1 << 63 else str(v)
    if isinstance(v, datetime.timedelta):
        return Duration(seconds=v.days * 86_400 + v.seconds, nanoseconds=v.microseconds * 1000)
    if isinstance(v, pa.MonthDayNano):
        return Duration(v.months, v.days, v.nanoseconds // 10**9, v.nanoseconds % 10**9)
    if isinstance(v, uuid.UUID):
        return str(v)
    return v


def check(db, path, table):
    """Loads a file and compares all values with those of pyarrow's table, whose column id counts the rows."""
    table = leaves(table)
    properties = {f.name: {"type": kind(f.type)} for f in table.schema}
    label = "T" + uuid.uuid4().hex
    mapping = {"version": 1, "inputs": [{"path": path.name, "vertices": [{"label": label, "id": "id", "idType": "int", "idSpace": label, "properties": {
        name.replace(".", "_"): {"column": name, **p} for name, p in properties.items()}}]}]}
    (path.parent / "mapping.yaml").write_text(json.dumps(mapping))
    graphctl(db, "load", path.parent / "mapping.yaml")
    got = [dict(r["n"]) for r in db.query(f"MATCH (n:{label}) RETURN n ORDER BY n.id")]
    assert len(got) == table.num_rows
    for have, row in zip(got, sorted(table.to_pylist(), key=lambda r: r["id"]), strict=True):
        want = {f.name.replace(".", "_"): expected(row[f.name], f.type) for f in table.schema if row[f.name] is not None}
        for name in want.keys() | have.keys():
            assert have.get(name) == want.get(name), (path.name, row["id"], name)


def arrow_table():
    """A table of every type that a property can have, with nulls, over several row groups."""
    def cycle(values, t):
        return pa.array([values[i % len(values)] for i in range(300)], t)

    big, day, zone = 2**63 - 1, datetime.date(1969, 12, 31), datetime.timezone.utc
    at = datetime.datetime(2026, 7, 2, 3, 4, 5)
    columns = {"id": pa.array(range(300), pa.int64()), "bool": cycle([True, None, False], pa.bool_())}
    for bits in (8, 16, 32, 64):
        columns[f"i{bits}"] = cycle([-(2 ** (bits - 1)), 0, None, 2 ** (bits - 1) - 1], f"int{bits}")
        columns[f"u{bits}"] = cycle([0, None, 2**bits - 1], f"uint{bits}")
    for name, t in (("half", pa.float16()), ("float", pa.float32()), ("double", pa.float64())):
        columns[name] = cycle([0.5, -1.5, None, math.inf, -math.inf, math.nan], t)
    columns["decimal"] = cycle([decimal.Decimal("-1.25"), None, decimal.Decimal("99999999.99")], pa.decimal128(10, 2))
    columns["whole"] = cycle([decimal.Decimal(big), decimal.Decimal(-big * 10), None], pa.decimal128(38, 0))
    columns["wide"] = cycle([decimal.Decimal("1.5"), None], pa.decimal256(50, 3))
    for name, t in (("text", pa.string()), ("large", pa.large_string())):
        columns[name] = cycle([*NASTY, *UNPRINTED, None], t)
    for name, t in (("bytes", pa.binary()), ("largebytes", pa.large_binary()), ("fixed", pa.binary(2))):
        columns[name] = cycle([b"\x00\xff", None, b"ab"], t)
    columns["date"] = cycle([day, None, datetime.date(2020, 2, 29)], pa.date32())
    columns["date64"] = cycle([day, None], pa.date64())
    for unit in ("s", "ms"):
        columns["time" + unit] = cycle([datetime.time(0, 0), None, datetime.time(23, 59, 59)], pa.time32(unit))
    for unit in ("us", "ns"):
        columns["time" + unit] = cycle([datetime.time(1, 2, 3, 456789), None], pa.time64(unit))
    for unit in ("s", "ms", "us", "ns"):
        columns["local" + unit] = cycle([at, None, datetime.datetime(1960, 1, 1, 0, 0, 1)], pa.timestamp(unit))
        columns["at" + unit] = cycle([at.replace(tzinfo=zone), None], pa.timestamp(unit, "UTC"))
        columns["zoned" + unit] = cycle([at.replace(tzinfo=zone), None], pa.timestamp(unit, "Europe/Stockholm"))
    columns["ints"] = cycle([[1, 2], [], None, [3]], pa.list_(pa.int32()))
    columns["texts"] = cycle([["a;b", ""], [], None, NASTY], pa.large_list(pa.string()))
    columns["pair"] = cycle([[0.5, 1.5], None], pa.list_(pa.float64(), 2))
    columns["word"] = cycle(["x", None, "y"], pa.string()).dictionary_encode()
    columns["struct"] = cycle([{"a": 1, "b": {"c": "x"}}, {"a": None, "b": {"c": None}}], pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))]))
    columns["none"] = pa.nulls(300)
    return pa.table(columns)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_parquet_of_pyarrow(db, tmp_path, codec):
    table, path = arrow_table(), tmp_path / "t.parquet"
    pq.write_table(table, path, compression=codec, row_group_size=128, data_page_size=1024, write_page_checksum=codec != "snappy",
                   data_page_version="2.0" if codec in ("gzip", "zstd") else "1.0", use_dictionary=codec not in ("brotli", "lz4"))
    check(db, path, pq.read_table(path))


def test_parquet_encodings(db, tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"id": range(5000), "delta": [i * i % 977 for i in range(5000)], "text": [f"prefix {i // 7}" for i in range(5000)],
                      "length": [NASTY[i % len(NASTY)] for i in range(5000)], "split": [i / 7 for i in range(5000)], "rle": [i % 900 < 450 for i in range(5000)]})
    pq.write_table(table, path, use_dictionary=False, data_page_version="2.0", column_encoding={
        "delta": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "length": "DELTA_LENGTH_BYTE_ARRAY", "split": "BYTE_STREAM_SPLIT", "rle": "RLE"})
    check(db, path, table)


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("stream", [False, True])
def test_arrow_of_pyarrow(db, tmp_path, codec, stream):
    path = tmp_path / "t.arrow"
    table = arrow_table().append_column("duration", pa.array([(-1_500_000, None, 7)[i % 3] for i in range(300)], pa.duration("us")))
    table = table.append_column("interval", pa.array([pa.MonthDayNano([1, -2, 3]), None] * 150, pa.month_day_nano_interval()))
    table = table.append_column("view", pa.array(["a text longer than a view", None, ""] * 100, pa.string_view()))
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as w:
        w.write_table(table, max_chunksize=64)
    check(db, path, table)


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4_raw"])
def test_parquet_of_duckdb(db, tmp_path, codec):
    path = tmp_path / "t.parquet"
    version = "V2" if codec == "zstd" else "V1"
    duckdb.connect().execute(f"""COPY (SELECT i AS id, i % 2 = 0 AS b, (i % 100)::TINYINT AS i8, i::SMALLINT AS i16, -i::INTEGER AS i32, i::UBIGINT AS u64, i / 4::FLOAT AS f,
        i / 3::DOUBLE AS d, (i / 100)::DECIMAL(9, 2) AS dec, i::DECIMAL(38, 10) AS wide, CASE WHEN i % 3 > 0 THEN 'text ' || i END AS s, 'é"' || chr(10) AS nasty,
        encode('b' || i)::BLOB AS bin, DATE '2020-02-29' + i::INT AS day, TIME '10:11:12.5' AS t, TIMESTAMP '1969-12-31 23:59:59.5' AS us,
        TIMESTAMP_S '2020-01-01 00:00:00' AS s_, TIMESTAMP_MS '2020-01-01 00:00:00.5' AS ms, TIMESTAMP_NS '2020-01-01 00:00:00.000001' AS ns,
        TIMESTAMPTZ '2020-01-01 00:00:00+02' AS tz, uuid() AS u, (CASE i % 2 WHEN 0 THEN 'x' ELSE 'y' END)::ENUM('x', 'y') AS e,
        [i, i + 1] AS l, ['a', ''] AS texts, {{'a': i, 'b': 'x'}} AS s2, NULL::VARCHAR AS none
        FROM range(300) r(i)) TO '{path}' (FORMAT parquet, CODEC '{codec}', PARQUET_VERSION {version}, ROW_GROUP_SIZE 128)""")
    check(db, path, pq.read_table(path))


def polars_frame():
    at = datetime.datetime(2026, 7, 2, 3, 4, 5, 678)
    n = 60
    return pl.DataFrame({
        "id": range(n), "text": (NASTY * 2)[:n], "word": pl.Series(["x", None, "y"] * 20, dtype=pl.Categorical), "enum": pl.Series(["x", "y"] * 30, dtype=pl.Enum(["x", "y"])),
        "day": [datetime.date(2020, 2, 29), None] * 30, "time": [datetime.time(1, 2, 3, 4)] * n, "at": [at, None] * 30, "i8": pl.Series([-128, None] * 30, dtype=pl.Int8),
        "u64": pl.Series([2**64 - 1, 0] * 30, dtype=pl.UInt64), "f32": pl.Series([0.25, None] * 30, dtype=pl.Float32), "nan": [math.nan, None, 1.5] * 20,
        "utc": pl.Series([at] * n, dtype=pl.Datetime("us", "UTC")), "ms": pl.Series([at] * n, dtype=pl.Datetime("ms")), "dec": [decimal.Decimal("1.25"), None] * 30,
        "list": [[1, 2], [], None] * 20, "array": pl.Series([[1.5, 2.5]] * n, dtype=pl.Array(pl.Float64, 2)), "bytes": [b"\x00\xff", None] * 30,
        "struct": [{"a": 1, "b": "x"}, {"a": None, "b": "y"}] * 30, "bool": [True, None, False] * 20,
    })


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_parquet_of_polars(db, tmp_path, codec):
    path = tmp_path / "t.parquet"
    polars_frame().write_parquet(path, compression=codec, row_group_size=32)
    check(db, path, pq.read_table(path))


@pytest.mark.parametrize("codec", ["uncompressed", "lz4", "zstd"])
def test_arrow_of_polars(db, tmp_path, codec):
    path = tmp_path / "t.arrow"
    polars_frame().with_columns(span=pl.lit(datetime.timedelta(days=-1, microseconds=5))).write_ipc(path, compression=codec)
    check(db, path, pa.ipc.open_file(path).read_all())


def test_a_table_from_a_query_loads(db, tmp_path):
    """Structs of times, points and durations come in as they went out, by DoPut and from files."""
    db.query("""CREATE ({id: 1, p: point({x: 1, y: 2}), t: time('10:00+02:00'), d: duration('P1M2DT-3.5S'), z: datetime('2020-07-01T10:00[Europe/Stockholm]'),
        l: [point({longitude: 1, latitude: 2})]}), ({id: 2, z: datetime('2020-01-01T00:00+01:00')})""")
    want = [r["p"] for r in db.query("MATCH (n) RETURN properties(n) AS p ORDER BY n.id")]
    table = db.query("MATCH (n) RETURN n.id AS id, n.p AS p, n.t AS t, n.d AS d, n.z AS z, n.l AS l").table()
    db.load(table, vertices=Vertices("Put", "id"))
    pq.write_table(table, tmp_path / "table.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "table.arrow")
    db.load(tmp_path / "table.parquet", vertices=Vertices("File", "id"))
    for name in ("table.parquet", "table.arrow"):
        label = name.replace(".", "")
        (tmp_path / "m.yaml").write_text(json.dumps({"version": 1, "inputs": [{"path": name, "vertices": [{"label": label, "id": "id", "idType": "int", "idSpace": label, "properties": {
            c: {"type": "any"} for c in table.column_names}}]}]}))
        graphctl(db, "load", tmp_path / "m.yaml")
    for label in ("Put", "File", "tableparquet", "tablearrow"):
        assert [r["p"] for r in db.query(f"MATCH (n:{label}) RETURN properties(n) AS p ORDER BY n.id")] == want, label


@pytest.fixture(scope="session")
def spectrum(tmp_path_factory):
    """The package csv-spectrum of npm."""
    folder, npm = tmp_path_factory.mktemp("spectrum"), shutil.which("npm")
    fetch = [npm, "pack", "--silent", "--fetch-timeout=20000", "--fetch-retries=1", "csv-spectrum@2.0.0"]
    if npm is None or subprocess.run(fetch, cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip("csv-spectrum cannot be fetched by npm")
    with tarfile.open(folder / "csv-spectrum-2.0.0.tgz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "package"


def test_csv_spectrum(db, tmp_path, spectrum):
    names = {p.stem for p in (spectrum / "csvs").iterdir()} - {"location_coordinates"}  # whose file and rows differ
    assert len(names) >= 11
    for name in sorted(names):
        rows = json.loads((spectrum / "json" / f"{name}.json").read_text())
        key = next(iter(rows[0]))
        (tmp_path / "m.yaml").write_text(json.dumps({"version": 1, "inputs": [{"path": str(spectrum / "csvs" / f"{name}.csv"), "vertices": [{
            "label": name, "id": key, "idSpace": name, "properties": {c: {"type": "string"} for c in rows[0]}}]}]}))
        graphctl(db, "load", tmp_path / "m.yaml")
        assert sorted((r["p"] for r in db.query(f"MATCH (n:{name}) RETURN properties(n) AS p")), key=lambda p: p[key]) == sorted(rows, key=lambda p: p[key]), name


def nasty_graph(kind):
    """A graph with a nasty text on each node and edge."""
    g = kind()
    for i, s in enumerate(NASTY):
        g.add_node(str(i), s=s, i=i, f=i / 4, b=i % 2 == 0)
    for i, s in enumerate(NASTY):
        g.add_edge(str(i), str((i + 1) % len(NASTY)), s=s, w=i)
    return g


def loaded(db):
    nodes = {r["n"]["i"]: dict(r["n"]) for r in db.query("MATCH (n:Node) RETURN n")}
    edges = {r["r"]["w"]: (r["i"], r["r"]["s"], r["k"]) for r in db.query("MATCH (a)-[r:EDGE]->(b) RETURN a.i AS i, r, b.i AS k")}
    return nodes, edges


def crlf(s):
    """A text as XML brings it back: writers leave ends of lines as they are, and readers make them line feeds."""
    return s.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize("form", ["graphml", "gexf", "igraph"])
def test_graph_files(db, tmp_path, form):
    g, path = nasty_graph(networkx.DiGraph), tmp_path / ("g.gexf" if form == "gexf" else "g.graphml")
    if form == "graphml":
        networkx.write_graphml(g, path)
        back = networkx.read_graphml(path)
    elif form == "gexf":
        networkx.write_gexf(g, path)
        back = networkx.read_gexf(path)
    else:
        igraph.Graph.from_networkx(g).write_graphml(str(path))
        back = None
    graphctl(db, "load", path)
    nodes, edges = loaded(db)
    for i, s in enumerate(NASTY):
        have = nodes[i]
        want = s if form == "gexf" else crlf(s)  # attributes have it as a reference
        assert (have["s"], have["f"], have["b"]) == (want, i / 4, i % 2 == 0)
        if back is not None:
            assert have["s"] == (back.nodes[str(i)].get("s") or ""), "as its writer reads it"
        assert edges[i] == (i, want, (i + 1) % len(NASTY))
    assert len(nodes) == len(edges) == len(NASTY)


def test_exported_graphml(db, tmp_path):
    """Others read what an export writes."""
    db.query("UNWIND $s AS s CREATE (:A:B {s: s, i: 1, f: 0.5, d: date('2020-02-29'), l: [1, 2]})-[:R {s: s}]->(:C)", s=NASTY)
    graphctl(db, "export", tmp_path / "e", "--format", "graphml")
    g = networkx.read_graphml(tmp_path / "e/graph.graphml")
    a = [d for _, d in g.nodes(data=True) if d["labels"] == ":A:B"]
    assert sorted(d.get("s") or "" for d in a) == sorted(NASTY)
    assert {(d["i"], d["f"], d["d"], d["l"]) for d in a} == {(1, 0.5, "2020-02-29", "[1,2]")}
    assert sorted(d.get("s") or "" for _, _, d in g.edges(data=True)) == sorted(NASTY)
    assert {d["label"] for _, _, d in g.edges(data=True)} == {"R"}
    read = igraph.Graph.Read_GraphML(str(tmp_path / "e/graph.graphml"))
    assert (read.vcount(), read.ecount()) == (2 * len(NASTY), len(NASTY))
    assert sorted(v["s"] for v in read.vs if v["labels"] == ":A:B") == sorted(NASTY)
