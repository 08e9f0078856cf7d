"""Runs a statement over Flight SQL by ADBC and prints each row as plain JSON: adbc.py ADDRESS STATEMENT."""
import sys

from adbc_driver_flightsql import dbapi

from query import show


def query(address, statement):
    with dbapi.connect(f"grpc://{address}", autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetch_arrow_table()


if __name__ == "__main__":
    show(query(*sys.argv[1:]))
