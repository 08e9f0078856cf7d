// Computes a layout beside the page. The page asks for each picture, so that none waits in a queue.
import { Layout } from "./layout.js";

let layout = null, generation = 0;

onmessage = ({ data }) => {
  switch (data.do) {
    case "begin":
      layout = new Layout(data.n, data.edges, data.places);
      layout.fixed.set(data.fixed);
      layout.heat = data.heat;
      generation = data.generation;
      break;
    case "move":
      if (data.generation !== generation) return;
      layout.x[data.vertex] = data.x;
      layout.y[data.vertex] = data.y;
      layout.fixed[data.vertex] = data.fixed;
      layout.heat = Math.max(layout.heat, data.heat);
      return;
  }
  const end = performance.now() + 12;
  let steps = 0;
  while (!layout.settled && (steps === 0 || performance.now() < end)) {
    layout.step();
    steps++;
  }
  const places = new Float64Array(2 * layout.n);
  for (let i = 0; i < layout.n; i++) {
    places[2 * i] = layout.x[i];
    places[2 * i + 1] = layout.y[i];
  }
  postMessage({ places, generation, steps, settled: layout.settled }, [places.buffer]);
};
