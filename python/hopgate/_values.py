"""Values of Python as parameters, and columns of Arrow as values of Python."""
from __future__ import annotations

import base64
import datetime
import json
import math
import re
import zoneinfo
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from ._types import Duration, NanoDateTime, NanoTime, Node, Path, Point, Relationship, Vector

_EPOCH = datetime.datetime(1970, 1, 1)
_KIND = b"hopgate.json"


def encode(v: Any) -> Any:
    """A parameter as JSON that may have types: scalars, and lists of them, as they are, everything else with its type."""
    if v is None or isinstance(v, (bool, str)):
        return v
    if isinstance(v, int):
        if not -(1 << 63) <= v < 1 << 63:
            raise ValueError(f"{v} is out of the range of 64-bit integers")
        return int(v)
    if isinstance(v, float):
        if math.isfinite(v):
            return float(v)
        return {"$type": "Float", "_value": {math.inf: "Infinity", -math.inf: "-Infinity"}.get(v, "NaN")}
    if isinstance(v, Mapping):
        return {"$type": "Map", "_value": {str(k): encode(x) for k, x in v.items()}}
    if isinstance(v, (list, tuple, set, frozenset)):
        items = [encode(x) for x in v]
        return {"$type": "List", "_value": items} if any(isinstance(x, dict) for x in items) else items
    if isinstance(v, (bytes, bytearray, memoryview)):
        return {"$type": "Base64", "_value": base64.b64encode(v).decode()}
    kind = type(v).__name__
    if kind in ("NaTType", "NAType"):
        return None
    if isinstance(v, datetime.datetime):
        text = v.replace(tzinfo=None).isoformat(timespec="microseconds")[:26] + f"{getattr(v, 'nanosecond', 0):03}"
        if v.tzinfo is None:
            return {"$type": "LocalDateTime", "_value": text}
        name = getattr(v.tzinfo, "key", None) or getattr(v.tzinfo, "zone", None)
        if name and name != "UTC":
            return {"$type": "ZonedDateTime", "_value": f"{text}{_offset(v)}[{name}]"}
        return {"$type": "OffsetDateTime", "_value": text + _offset(v)}
    if isinstance(v, datetime.date):
        return {"$type": "Date", "_value": v.isoformat()}
    if isinstance(v, datetime.time):
        text = v.replace(tzinfo=None).isoformat(timespec="microseconds") + f"{getattr(v, 'nanosecond', 0):03}"
        return {"$type": "LocalTime", "_value": text} if v.tzinfo is None else {"$type": "Time", "_value": text + _offset(v)}
    if isinstance(v, datetime.timedelta):
        v = Duration(days=v.days, seconds=v.seconds, nanoseconds=v.microseconds * 1000 + getattr(v, "nanoseconds", 0) % 1000)
    if isinstance(v, Duration):
        return {"$type": "Duration", "_value": _duration(v)}
    if isinstance(v, Point):
        numbers = [v.x, v.y] + ([] if v.z is None else [v.z])
        return {"$type": "Point", "_value": f"SRID={v.srid};POINT {'Z ' * (len(numbers) == 3)}({' '.join(map(repr, map(float, numbers)))})"}
    if isinstance(v, Vector):
        return {"$type": "Vector", "_value": {"coordinatesType": v.type, "coordinates": [str(x) for x in v.coordinates]}}
    return _foreign(v, kind)


def _foreign(v: Any, kind: str) -> Any:
    """A value of NumPy, Arrow, pandas or Polars."""
    if getattr(getattr(v, "dtype", None), "kind", "") in ("M", "m") and hasattr(v, "astype"):
        if getattr(v, "shape", None):
            return encode(list(v))
        plain = v.item()
        if isinstance(plain, int):  # nanoseconds, which Python's types lack
            return encode(pa.scalar(v, pa.timestamp("ns") if kind == "datetime64" else pa.duration("ns")))
        return encode(plain)
    if isinstance(v, pa.Scalar):
        if not v.is_valid:
            return None
        if pa.types.is_timestamp(v.type) or pa.types.is_time(v.type):
            return encode(column(pa.field("", v.type), pa.array([v], v.type))[0])
        if pa.types.is_duration(v.type):
            seconds, nanoseconds = divmod(v.cast(pa.duration("ns")).value, 10**9)
            return encode(Duration(seconds=seconds, nanoseconds=nanoseconds))
        return encode(v.as_py())
    if hasattr(v, "to_dicts"):  # a frame of Polars
        return encode(v.to_dicts())
    if hasattr(v, "to_dict") and hasattr(v, "columns"):  # one of pandas
        return encode(v.to_dict("records"))
    if hasattr(v, "item") and not getattr(v, "shape", None):
        return encode(v.item())
    for method in ("tolist", "to_pylist", "to_list"):
        if hasattr(v, method):
            return encode(getattr(v, method)())
    raise TypeError(f"a parameter cannot be a {kind}")


def _offset(v: datetime.datetime | datetime.time) -> str:
    delta = v.utcoffset()
    if delta is None:
        raise ValueError(f"{v!r} has a time zone without an offset")
    seconds = int(delta.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("+", seconds)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return text + (f":{seconds % 60:02}" if seconds % 60 else "")


def _duration(d: Duration) -> str:
    nanos = d.seconds * 10**9 + d.nanoseconds
    sign = "-" if nanos < 0 else ""
    seconds, rest = divmod(abs(nanos), 10**9)
    return f"P{d.months}M{d.days}DT{sign}{seconds}.{rest:09}S"


def column(field: pa.Field, data: pa.Array) -> list[Any]:
    """The values of a column."""
    return _converter(field)(data)


def plain(field: pa.Field) -> bool:
    """Whether data frames hold the column as Arrow has it: it needs no type of this package."""
    if field.metadata and _KIND in field.metadata or isinstance(field.type, pa.BaseExtensionType):
        return False
    if pa.types.is_list(field.type):
        return plain(field.type.value_field)
    return not pa.types.is_struct(field.type) or _shape(field.type) == "map" and all(plain(f) for f in field.type)


_SHAPES = {
    ("elementId", "labels", "properties"): "node", ("elementId", "labels", "properties", "more"): "node",
    ("elementId", "startNodeElementId", "endNodeElementId", "type", "properties"): "relationship",
    ("elementId", "startNodeElementId", "endNodeElementId", "type", "properties", "more"): "relationship",
    ("vertices", "edges"): "path", ("time", "offset"): "time", ("instant", "zone"): "instant",
    ("months", "days", "seconds", "nanoseconds"): "duration", ("srid", "x", "y", "z"): "point",
}


def _shape(t: pa.StructType) -> str:
    """What a struct stands for. A map of a statement may have the keys of another shape, but not its types."""
    shape = _SHAPES.get(tuple(f.name for f in t), "map")
    first = t.field(0).type if t.num_fields else pa.null()
    if shape in ("node", "relationship"):
        last = t.field(t.num_fields - 1)
        return shape if last.metadata and _KIND in last.metadata else "map"
    if shape == "path":
        return shape if pa.types.is_list(first) and pa.types.is_struct(first.value_type) and _shape(first.value_type) == "node" else "map"
    number = {"time": t.num_fields > 1 and t.field(1).type == pa.int32(), "instant": pa.types.is_timestamp(first),
              "duration": t.num_fields > 3 and t.field(3).type == pa.int32(), "point": first == pa.int32()}
    return shape if number.get(shape) else "map"


def _converter(field: pa.Field) -> Callable[[pa.Array], list[Any]]:
    t = field.type
    if field.metadata and _KIND in field.metadata:
        typed = field.metadata[_KIND] == b"typed"
        return lambda a: [_json(x, typed) for x in _storage(a).to_pylist()]
    if pa.types.is_list(t) or pa.types.is_fixed_size_list(t):
        items = _converter(t.value_field)
        return lambda a: _lists(a, items)
    if pa.types.is_struct(t):
        return _structs(t)
    if pa.types.is_timestamp(t):
        return _timestamps(t)
    if pa.types.is_time(t):
        return lambda a: [None if n is None else _clock(n) for n in _numbers(a)]
    return lambda a: a.to_pylist()


def _storage(a: pa.Array) -> pa.Array:
    return a.storage if isinstance(a, pa.ExtensionArray) else a


def _numbers(a: pa.Array) -> list[int | None]:
    """The numbers of an array of times or instants."""
    out: list[int | None] = a.view(pa.int64()).to_pylist()
    return out


def _lists(a: pa.Array, items: Callable[[pa.Array], list[Any]]) -> list[Any]:
    if pa.types.is_fixed_size_list(a.type):
        out: list[Any] = a.to_pylist()
        return out
    values, ends = items(a.values), a.offsets.to_pylist()
    return [values[ends[i]:ends[i + 1]] if valid else None for i, valid in enumerate(a.is_valid().to_pylist())]


def _clock(nanos: int, tz: datetime.tzinfo | None = None) -> datetime.time:
    micros, rest = divmod(nanos, 1000)
    seconds, micros = divmod(micros, 10**6)
    make = NanoTime if rest else datetime.time
    v = make(seconds // 3600, seconds // 60 % 60, seconds % 60, micros, tz)
    if rest:
        v.nanosecond = rest  # type: ignore[attr-defined]
    return v


def _instant(nanos: int, tz: datetime.tzinfo | None) -> datetime.datetime:
    micros, rest = divmod(nanos, 1000)
    v = _EPOCH + datetime.timedelta(microseconds=micros)
    if tz is not None:
        v = v.replace(tzinfo=datetime.timezone.utc).astimezone(tz)
    if rest:
        v = NanoDateTime(v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond, v.tzinfo, fold=v.fold)
        v.nanosecond = rest
    return v


def _in_zone(v: datetime.datetime, tz: datetime.tzinfo) -> datetime.datetime:
    out = v.astimezone(tz)
    if isinstance(v, NanoDateTime):
        out.nanosecond = v.nanosecond  # type: ignore[attr-defined]
    return out


def zone(name: str) -> datetime.tzinfo:
    """The time zone of a name or an offset."""
    if name in ("UTC", "Z"):
        return datetime.timezone.utc
    m = re.fullmatch(r"([+-])(\d\d):(\d\d)(?::(\d\d))?", name)
    if m:
        delta = datetime.timedelta(hours=int(m[2]), minutes=int(m[3]), seconds=int(m[4] or 0))
        return datetime.timezone(-delta if m[1] == "-" else delta)
    return zoneinfo.ZoneInfo(name)


def _timestamps(t: pa.TimestampType) -> Callable[[pa.Array], list[Any]]:
    tz, scale = zone(t.tz) if t.tz else None, {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}[t.unit]

    def convert(a: pa.Array) -> list[Any]:
        return [None if n is None else _instant(n * scale, tz) for n in _numbers(a)]

    return convert


def _structs(t: pa.StructType) -> Callable[[pa.Array], list[Any]]:
    shape = _shape(t)
    fields = [t.field(i) for i in range(t.num_fields)]
    parts = [_converter(f) for f in fields]

    def columns(a: pa.Array) -> list[list[Any]]:
        return [convert(child) for convert, child in zip(parts, a.flatten())]

    def make(build: Callable[..., Any]) -> Callable[[pa.Array], list[Any]]:
        def convert(a: pa.Array) -> list[Any]:
            valid = a.is_valid().to_pylist()
            return [build(*cells) if ok else None for ok, cells in zip(valid, zip(*columns(a)))]
        return convert

    if shape == "node":
        return make(lambda id, labels, properties, more=None: Node(id, _properties(properties, more), tuple(labels)))
    if shape == "relationship":
        return make(lambda id, start, end, type, properties, more=None: Relationship(id, _properties(properties, more), type, start, end))
    if shape == "path":
        return make(lambda nodes, relationships: Path(tuple(nodes), tuple(relationships)))
    if shape == "time":
        return make(lambda clock, offset: clock.replace(tzinfo=_fixed(offset)))
    if shape == "instant":
        return make(lambda v, name: _in_zone(v, zone(name)))
    if shape == "duration":
        return make(Duration)
    if shape == "point":
        return make(Point)
    names = [f.name for f in fields]
    if not names:
        return lambda a: [{} if ok else None for ok in a.is_valid().to_pylist()]
    return make(lambda *cells: dict(zip(names, cells)))


def _fixed(seconds: int) -> datetime.tzinfo:
    return datetime.timezone.utc if seconds == 0 else datetime.timezone(datetime.timedelta(seconds=seconds))


def _properties(properties: dict[str, Any] | None, more: dict[str, Any] | None) -> dict[str, Any]:
    """The properties of an element: those with a value, and those that its column has no field for."""
    out = {k: v for k, v in (properties or {}).items() if v is not None}
    return out | more if more else out


def _json(text: str | None, typed: bool) -> Any:
    if text is None:
        return None
    v = json.loads(text)
    return _typed(v) if typed else v


def _typed(v: dict[str, Any]) -> Any:
    """A value with its type, as application/vnd.neo4j.query has it."""
    kind: str = v["$type"]
    x: Any = v.get("_value")
    if kind == "Integer":
        return int(x)
    if kind == "Float":
        return float(x)
    if kind == "List":
        return [_typed(e) for e in x]
    if kind == "Map":
        return {k: _typed(e) for k, e in x.items()}
    if kind == "Base64":
        return base64.b64decode(x)
    if kind == "Vector":
        number = float if x["coordinatesType"].startswith("FLOAT") else int
        return [number(c) for c in x["coordinates"]]
    if kind == "Point":
        srid, numbers = re.fullmatch(r"SRID=(\d+);POINT (?:Z )?\((.*)\)", x).groups()  # type: ignore[union-attr]
        return Point(int(srid), *map(float, numbers.split()))
    if kind == "Node":
        return Node(x["_element_id"], {k: _typed(e) for k, e in x["_properties"].items()}, tuple(x["_labels"]))
    if kind == "Relationship":
        properties = {k: _typed(e) for k, e in x["_properties"].items()}
        return Relationship(x["_element_id"], properties, x["_type"], x["_start_node_element_id"], x["_end_node_element_id"])
    if kind == "Path":
        steps = [_typed(e) for e in x]
        return Path(tuple(steps[::2]), tuple(steps[1::2]))
    if kind in ("Date", "Time", "LocalTime", "LocalDateTime", "OffsetDateTime", "ZonedDateTime", "Duration"):
        return _temporal(kind, x)
    return x  # Boolean, String, Null


def _temporal(kind: str, text: str) -> Any:
    if kind == "Duration":
        m = re.fullmatch(r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?)?", text)
        if not m:
            return text
        years, months, weeks, days, hours, minutes = (int(g or 0) for g in m.groups()[:6])
        whole, _, part = (m[7] or "0").partition(".")
        nanos = int(part.ljust(9, "0")[:9] or 0) * (-1 if whole.startswith("-") else 1)
        return Duration(12 * years + months, 7 * weeks + days, 3600 * hours + 60 * minutes + int(whole or 0), nanos)
    if kind == "Date":
        try:
            return datetime.date.fromisoformat(text)
        except ValueError:
            return text  # a year that Python has not
    m = re.fullmatch(r"(?:(.+)T)?(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-][\d:]+)?(?:\[(.*)\])?", text)
    if not m:
        return text
    nanos = (int(m[2]) * 3600 + int(m[3]) * 60 + int(m[4] or 0)) * 10**9 + int((m[5] or "0").ljust(9, "0")[:9])
    tz = zone(m[7]) if m[7] else zone(m[6]) if m[6] else None
    if m[1] is None:
        return _clock(nanos, tz)
    try:
        day = datetime.date.fromisoformat(m[1])
    except ValueError:
        return text
    nanos += (day.toordinal() - _EPOCH.toordinal()) * 86400 * 10**9
    if tz is None:
        return _instant(nanos, None)
    fixed = zone(m[6]) if m[6] else tz
    shift = datetime.datetime(1970, 1, 1, tzinfo=fixed).utcoffset() if not m[6] else fixed.utcoffset(None)
    local = _instant(nanos - int((shift or datetime.timedelta()).total_seconds()) * 10**9, datetime.timezone.utc)
    return _in_zone(local, tz)
