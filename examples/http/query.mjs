// Runs a statement over HTTP and prints its rows: node query.mjs [ADDRESS]
async function query(address, statement, parameters) {
  const response = await fetch(`http://${address}/v1/query`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ statement, parameters }),
  });
  const { data, errors } = await response.json();
  if (errors) throw new Error(`${errors[0].code}: ${errors[0].message}`);
  return data.values.map((row) => Object.fromEntries(data.fields.map((field, i) => [field, row[i]])));
}

const address = process.argv[2] ?? "localhost:8080";
const statement = "MATCH (:Person {id: $id})-[:KNOWS]->(f) RETURN f.id AS id, f.firstName AS name ORDER BY id LIMIT 3";
for (const row of await query(address, statement, { id: 42 })) console.log(row.id, row.name);
