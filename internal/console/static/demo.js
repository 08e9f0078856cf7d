// Loads the example network into an empty graph, with ordinary statements, and shows what can be asked of it.
import { ask, send } from "./api.js";
import { overview, rowsOf, steps } from "./demodata.js";
import { button, count, el, fill } from "./dom.js";

const persons = 500, batch = 1000;
const label = (name) => `CREATE CONSTRAINT IF NOT EXISTS FOR (n:${name}) REQUIRE n.id IS UNIQUE`;

/** Loads the network; progress is told how many of how many rows are in. */
export async function loadDemo(progress) {
  for (const name of ["Person", "City", "Tag"]) await ask(label(name));
  const files = await Promise.all(steps.map(async (s) => rowsOf(await (await send(`/v1/demo/${s.file}?persons=${persons}`, { accept: "text/csv" })).text())));
  const total = files.reduce((n, f) => n + f.length, 0);
  let done = 0;
  for (const [i, rows] of files.entries()) {
    for (let from = 0; from < rows.length; from += batch) {
      const part = rows.slice(from, from + batch);
      await ask(steps[i].statement, { parameters: { rows: part } });
      done += part.length;
      progress(done, total);
    }
  }
}

/** Offers the network where the graph is empty. */
export function offerDemo(app) {
  const box = app.tour;
  if (!app.schema || app.schema.vertices) return;
  const close = () => { box.hidden = true; };
  box.hidden = false;
  fill(box, el("p", {}, `This graph is empty. Load a demo network of ${count(persons)} people, their cities and interests?`),
    button("Load demo data", "Load demo data", async () => {
      const bar = el("progress", { "aria-label": "Load of the demo data", max: 1, value: 0 }), text = el("span", { class: "quiet" });
      fill(box, el("p", {}, "Loading the demo network ", text), bar);
      try {
        await loadDemo((done, total) => { bar.value = done / total; text.textContent = `${count(done)} of ${count(total)} rows`; });
        await app.refresh();
        tour(app, overview);
      } catch (e) {
        fill(box, el("p", { class: "problem" }, e.message), button("Close", "Close", close));
      }
    }, { class: "primary" }), button("No", "Do not load demo data", close));
}

/** Goes through steps, each a text and what it runs. */
export function tour(app, list, i = 0) {
  const [text, query, page = "query"] = list[i];
  app.tour.hidden = false;
  fill(app.tour, el("p", {}, el("b", {}, `${i + 1} of ${list.length} `), text),
    i > 0 ? button("Back", "Back", () => tour(app, list, i - 1)) : null,
    i + 1 < list.length ? button("Next", "Next", () => tour(app, list, i + 1), { class: "primary" }) : null,
    button(i + 1 < list.length ? "End the tour" : "Done", "End the tour", () => { app.tour.hidden = true; }));
  app.query(query, page);
}
