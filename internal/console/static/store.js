// Keeps settings, history and saved queries in the browser. A browser that refuses to keep anything is no fault.

import { giveColours } from "./scene.js";

const prefix = "hopgate.";

export function read(key, fallback) {
  try {
    const text = localStorage.getItem(prefix + key);
    return text === null ? fallback : JSON.parse(text);
  } catch {
    return fallback;
  }
}

export function write(key, value) {
  try {
    localStorage.setItem(prefix + key, JSON.stringify(value));
  } catch { /* full, or forbidden */ }
}

/** Gives a map of the colours of a graph's labels. Labels keep theirs while others come and go, in this browser. */
export function coloursOf(graph, labels) {
  const kept = new Map(read("colours." + graph, []));
  if (giveColours(labels, kept)) write("colours." + graph, [...kept]);
  return kept;
}

const mostHistory = 200;

/** Adds a statement to a history, the latest first; the same one again only moves up. */
export function remember(list, entry) {
  return [entry, ...list.filter((h) => h.text !== entry.text)].slice(0, mostHistory);
}

/** Adds or replaces a saved query. */
export function save(list, entry) {
  return [...list.filter((s) => s.name !== entry.name), entry].sort((a, b) => a.name.localeCompare(b.name));
}
