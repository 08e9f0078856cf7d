// Queries and mutations of the example project over HTTP. Writes "pass NAME" or "fail NAME" for each test.
import assert from "node:assert/strict";

const url = process.argv[2];
for (let left = 100; ; left--) { // until it listens
  try {
    await fetch(url);
    break;
  } catch (e) {
    if (!left) throw e;
    await new Promise((done) => setTimeout(done, 100));
  }
}

async function ask(query, variables) {
  const answer = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query, variables }) });
  const { data, errors } = await answer.json();
  assert.ok(!errors, JSON.stringify(errors));
  return data;
}

const tests = {
  async "create nested"() {
    const { createMovies } = await ask(`mutation($input: [MovieCreateInput!]!) {
      createMovies(input: $input) { movies { title actors { name } } info { nodesCreated relationshipsCreated } } }`, { input: [
      {
        title: "The Matrix", released: 1999, rating: 8.7, genres: ["action", "science"], directors: { create: [{ node: { name: "Lana Wachowski" } }] },
        actors: { create: [{ node: { name: "Keanu Reeves", born: "1964-09-02", home: { longitude: 1, latitude: 2 } }, edge: { roles: ["Neo"], pay: 10 } }] },
      },
      { title: "Speed", released: 1994 },
      { title: "Heat", released: 1995, rating: 8.3 },
    ] });
    assert.deepEqual(createMovies.info, { nodesCreated: 5, relationshipsCreated: 2 });
    assert.deepEqual(createMovies.movies.map((m) => [m.title, m.actors.length]), [["The Matrix", 1], ["Speed", 0], ["Heat", 0]]);
  },
  async "connect with properties"() {
    const { updateMovies } = await ask(`mutation {
      updateMovies(where: {title: {eq: "Speed"}}, update: {rating: {set: 7.2}, actors: [{connect: [{where: {node: {name: {eq: "Keanu Reeves"}}}, edge: {roles: ["Jack"]}}]}]}) {
        movies { rating actorsConnection { totalCount edges { properties { roles pay } node { name } } } } } }`);
    assert.deepEqual(updateMovies.movies, [{ rating: 7.2, actorsConnection: { totalCount: 1, edges: [{ properties: { roles: ["Jack"], pay: null }, node: { name: "Keanu Reeves" } }] } }]);
  },
  async "filter, sort, page"() {
    const { movies } = await ask(`{ movies(where: {OR: [{released: {gte: 1999}}, {title: {startsWith: "S"}}], NOT: {title: {eq: "Heat"}}}, sort: [{released: DESC}], limit: 1, offset: 1) { title } }`);
    assert.deepEqual(movies, [{ title: "Speed" }]);
    const page = `query($after: String) { moviesConnection(first: 2, after: $after, sort: [{title: ASC}]) { totalCount pageInfo { hasNextPage endCursor } edges { node { title } } } }`;
    const first = (await ask(page)).moviesConnection, second = (await ask(page, { after: first.pageInfo.endCursor })).moviesConnection;
    assert.deepEqual([...first.edges, ...second.edges].map((e) => e.node.title), ["Heat", "Speed", "The Matrix"]);
    assert.deepEqual([first.totalCount, first.pageInfo.hasNextPage, second.pageInfo.hasNextPage], [3, true, false]);
  },
  async "filter by relationships"() {
    const names = async (where) => (await ask(`{ people(where: ${where}, sort: [{name: ASC}]) { name } }`)).people.map((p) => p.name);
    assert.deepEqual(await names(`{moviesConnection: {some: {node: {title: {contains: "Mat"}}}}}`), ["Keanu Reeves"]);
    assert.deepEqual(await names(`{moviesConnection: {some: {edge: {pay: {gt: 5}}}}}`), ["Keanu Reeves"]);
    assert.deepEqual(await names(`{directedConnection: {none: {node: {released: {gt: 1900}}}}}`), ["Keanu Reeves"]);
    assert.deepEqual(await names(`{moviesConnection: {aggregate: {count: {nodes: {eq: 2}}}}}`), ["Keanu Reeves"]);
  },
  async "types"() {
    const { people: [keanu] } = await ask(`{ people(where: {name: {eq: "Keanu Reeves"}}) { born created home { longitude latitude srid } movies(sort: [{title: ASC}]) { id title genres } } }`);
    assert.equal(keanu.born, "1964-09-02");
    assert.ok(Math.abs(new Date(keanu.created) - Date.now()) < 3600e3);
    assert.deepEqual(keanu.home, { longitude: 1, latitude: 2, srid: 4326 });
    assert.deepEqual(keanu.movies.map((m) => [m.title, m.genres]), [["Speed", null], ["The Matrix", ["action", "science"]]]);
    assert.match(keanu.movies[0].id, /^[0-9a-f-]{36}$/);
  },
  async "aggregate"() {
    const { moviesConnection: { aggregate } } = await ask(`{ moviesConnection { aggregate { count { nodes } node { released { min max average sum } title { longest shortest } } } } }`);
    assert.deepEqual(aggregate, { count: { nodes: 3 }, node: { released: { min: 1994, max: 1999, average: 1996, sum: 5988 }, title: { longest: "The Matrix", shortest: "Heat" } } });
    const { movies } = await ask(`{ movies(where: {title: {eq: "The Matrix"}}) { actorsConnection { aggregate { count { nodes edges } node { name { shortest } } edge { pay { max } } } } } }`);
    assert.deepEqual(movies[0].actorsConnection.aggregate, { count: { nodes: 1, edges: 1 }, node: { name: { shortest: "Keanu Reeves" } }, edge: { pay: { max: 10 } } });
  },
  async "Cypher of a field"() {
    const { movies } = await ask(`{ movies(where: {title: {eq: "Speed"}}) { similar(limit: 1) { title } } }`);
    assert.deepEqual(movies, [{ similar: [{ title: "The Matrix" }] }]);
  },
  async "full text"() {
    const { moviesByTitle } = await ask(`{ moviesByTitle(phrase: "matrix") { edges { score node { title } } } }`);
    assert.deepEqual(moviesByTitle.edges.map((e) => e.node.title), ["The Matrix"]);
    assert.ok(moviesByTitle.edges[0].score > 0);
  },
  async "disconnect"() {
    const { updateMovies } = await ask(`mutation { updateMovies(where: {title: {eq: "Speed"}}, update: {actors: [{disconnect: [{where: {node: {name: {eq: "Keanu Reeves"}}}}]}]}) { info { relationshipsDeleted } movies { actors { name } } } }`);
    assert.deepEqual(updateMovies, { info: { relationshipsDeleted: 1 }, movies: [{ actors: [] }] });
  },
  async "delete nested"() {
    const { deleteMovies } = await ask(`mutation { deleteMovies(where: {title: {eq: "The Matrix"}}, delete: {actors: [{where: {node: {name: {eq: "Keanu Reeves"}}}}]}) { nodesDeleted relationshipsDeleted } }`);
    assert.deepEqual(deleteMovies, { nodesDeleted: 2, relationshipsDeleted: 2 });
    assert.deepEqual(await ask(`{ people { name } }`), { people: [{ name: "Lana Wachowski" }] });
  },
};
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`pass ${name}`);
  } catch (e) {
    console.error(`${name}: ${e.stack}`);
    console.log(`fail ${name}`);
  }
}
