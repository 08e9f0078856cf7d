"""The values of a graph that Python has no type of its own for."""
from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class _Element(Mapping[str, Any]):
    """A node or a relationship: a mapping of its properties. Two are equal if they are the same element of the graph."""

    element_id: str
    properties: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Any:
        return self.properties[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.properties)

    def __len__(self) -> int:
        return len(self.properties)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.element_id == other.element_id

    def __hash__(self) -> int:
        return hash(self.element_id)


@dataclass(frozen=True, eq=False)
class Node(_Element):
    """A vertex with its labels."""

    labels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Relationship(_Element):
    """An edge from the node ``start`` to the node ``end``, both named by their element ids."""

    type: str = ""
    start: str = ""
    end: str = ""


@dataclass(frozen=True)
class Path:
    """A walk: ``relationships[i]`` joins ``nodes[i]`` and ``nodes[i + 1]``, in either direction."""

    nodes: tuple[Node, ...]
    relationships: tuple[Relationship, ...]

    def __len__(self) -> int:
        return len(self.relationships)


@dataclass(frozen=True)
class Point:
    """A point in the reference system ``srid``: x is the longitude and y the latitude in 4326 and 4979. z is None in two dimensions."""

    srid: int
    x: float
    y: float
    z: float | None = None


@dataclass(frozen=True)
class Duration:
    """A duration as openCypher has it: months and days have no fixed number of seconds."""

    months: int = 0
    days: int = 0
    seconds: int = 0
    nanoseconds: int = 0


@dataclass(frozen=True)
class Vector:
    """A vector as a parameter. ``type`` is the type of its coordinates: INT8 to INT64, FLOAT32 or FLOAT64. Results hold vectors as lists."""

    coordinates: list[float] | list[int]
    type: str = "FLOAT32"


class NanoDateTime(datetime.datetime):
    """A date and time with ``nanosecond``, from 0 to 999: what Python's microseconds leave out. Only instants that need it have this type."""

    nanosecond: int = 0


class NanoTime(datetime.time):
    """A time of day with ``nanosecond``, from 0 to 999, as NanoDateTime."""

    nanosecond: int = 0


def quoted(name: str) -> str:
    """A name of a label, a type or a property in a statement."""
    return "`" + name.replace("`", "``") + "`"
