// What unit tests need, in Node and in a browser.

/** Throws unless two values have the same JSON. */
export function same(got, want, about = "") {
  const a = JSON.stringify(got), b = JSON.stringify(want);
  if (a !== b) throw new Error(`${about}\n got ${a}\nwant ${b}`);
}

/** Throws unless a condition holds. */
export function holds(condition, about) {
  if (!condition) throw new Error(about);
}
