"""Runs a statement over Arrow Flight and prints each row as plain JSON: flight.py ADDRESS STATEMENT."""
import sys

import pyarrow.flight

from query import show


def query(address, statement):
    with pyarrow.flight.connect(f"grpc://{address}") as client:
        return client.do_get(pyarrow.flight.Ticket(statement)).read_all()


if __name__ == "__main__":
    show(query(*sys.argv[1:]))
