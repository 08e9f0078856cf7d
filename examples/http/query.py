"""Runs a statement over HTTP and prints its rows: query.py [ADDRESS]."""
import json
import sys
import urllib.request


def query(address, statement, parameters):
    request = urllib.request.Request(
        f"http://{address}/v1/query",
        data=json.dumps({"statement": statement, "parameters": parameters}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        data = json.load(response)["data"]
    return [dict(zip(data["fields"], row)) for row in data["values"]]


address = sys.argv[1] if len(sys.argv) > 1 else "localhost:8080"
for row in query(address, "MATCH (:Person {id: $id})-[:KNOWS]->(f) RETURN f.id AS id, f.firstName AS name ORDER BY id LIMIT 3", {"id": 42}):
    print(row["id"], row["name"])
