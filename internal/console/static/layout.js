// A layout of a graph by forces: vertices repel each other, edges pull. Far vertices count together (Barnes and Hut).
// Knows no document.

const theta2 = 0.49; // of width to distance, squared: a square this small from afar counts as one vertex, and never the vertex's own
const repulsion = 900, spring = 85, stiffness = 0.35, gravity = 0.012, friction = 0.6;
const cooling = 0.0228, cold = 0.004;
const deepest = 40;

export class Layout {
  /** n vertices; edges are pairs of their numbers, one after the other. Places come from earlier ones where there are any. */
  constructor(n, edges, places = null) {
    this.n = n;
    this.edges = edges;
    this.x = new Float64Array(n);
    this.y = new Float64Array(n);
    this.vx = new Float64Array(n);
    this.vy = new Float64Array(n);
    this.fixed = new Uint8Array(n);
    this.heat = 1;
    this.degree = new Uint32Array(n);
    for (const v of edges) this.degree[v]++;
    for (let i = 0; i < n; i++) {
      const r = 14 * Math.sqrt(i + 0.5), a = i * 2.399963; // a sunflower
      this.x[i] = places && !Number.isNaN(places[2 * i]) ? places[2 * i] : r * Math.cos(a);
      this.y[i] = places && !Number.isNaN(places[2 * i + 1]) ? places[2 * i + 1] : r * Math.sin(a);
    }
    this.tree = new Tree(n);
  }

  get settled() { return this.heat < cold; }

  /** Moves every vertex once. */
  step() {
    const { n, x, y, vx, vy, heat, edges, degree } = this;
    this.tree.build(x, y, n);
    for (let i = 0; i < n; i++) {
      this.tree.push(i, x, y, heat * repulsion, vx, vy);
      vx[i] -= x[i] * gravity * heat;
      vy[i] -= y[i] * gravity * heat;
    }
    for (let e = 0; e < edges.length; e += 2) {
      const a = edges[e], b = edges[e + 1];
      if (a === b) continue;
      const dx = x[b] + vx[b] - x[a] - vx[a] || 1e-3, dy = y[b] + vy[b] - y[a] - vy[a] || 1e-3, d = Math.sqrt(dx * dx + dy * dy);
      const pull = ((d - spring) / d) * heat * stiffness * Math.min(1, 2 / Math.min(degree[a], degree[b]));
      const share = degree[a] / (degree[a] + degree[b]);
      vx[b] -= dx * pull * share;
      vy[b] -= dy * pull * share;
      vx[a] += dx * pull * (1 - share);
      vy[a] += dy * pull * (1 - share);
    }
    for (let i = 0; i < n; i++) {
      if (this.fixed[i]) {
        vx[i] = vy[i] = 0;
        continue;
      }
      vx[i] *= friction;
      vy[i] *= friction;
      x[i] += vx[i];
      y[i] += vy[i];
    }
    this.heat -= this.heat * cooling;
  }
}

/** A tree of squares, each divided into four, with the weight and the centre of what lies in it. */
class Tree {
  constructor(n) { this.grow(4 * n + 16); }

  grow(size) {
    this.child = new Int32Array(4 * size); // a square, or -1 less a vertex, or 0
    this.weight = new Float64Array(size);
    this.cx = new Float64Array(size);
    this.cy = new Float64Array(size);
    this.size = size;
  }

  build(x, y, n) {
    let x0 = Infinity, y0 = Infinity, x1 = -Infinity, y1 = -Infinity;
    for (let i = 0; i < n; i++) {
      if (x[i] < x0) x0 = x[i];
      if (x[i] > x1) x1 = x[i];
      if (y[i] < y0) y0 = y[i];
      if (y[i] > y1) y1 = y[i];
    }
    this.half = Math.max(x1 - x0, y1 - y0, 1) / 2;
    this.mx = (x0 + x1) / 2;
    this.my = (y0 + y1) / 2;
    this.used = 0;
    this.square();
    for (let i = 0; i < n; i++) this.insert(i, x, y);
    for (let s = 0; s < this.used; s++) {
      this.cx[s] /= this.weight[s];
      this.cy[s] /= this.weight[s];
    }
  }

  square() {
    if (this.used === this.size) {
      const { child, weight, cx, cy } = this;
      this.grow(2 * this.size);
      this.child.set(child);
      this.weight.set(weight);
      this.cx.set(cx);
      this.cy.set(cy);
    }
    const s = this.used++;
    this.child.fill(0, 4 * s, 4 * s + 4);
    this.weight[s] = this.cx[s] = this.cy[s] = 0;
    return s;
  }

  insert(i, x, y) {
    let s = 0, mx = this.mx, my = this.my, half = this.half;
    for (let depth = 0; ; depth++) {
      this.weight[s]++;
      this.cx[s] += x[i];
      this.cy[s] += y[i];
      const right = x[i] > mx, low = y[i] > my, slot = 4 * s + (right ? 1 : 0) + (low ? 2 : 0), there = this.child[slot];
      half /= 2;
      if (there === 0) {
        this.child[slot] = -1 - i;
        return;
      }
      mx += right ? half : -half;
      my += low ? half : -half;
      if (there > 0) {
        s = there;
        continue;
      }
      if (depth > deepest) return; // at the same place: it counts in the squares above
      const other = -1 - there, next = this.square();
      this.child[slot] = next;
      this.weight[next] = 1;
      this.cx[next] = x[other];
      this.cy[next] = y[other];
      this.child[4 * next + (x[other] > mx ? 1 : 0) + (y[other] > my ? 2 : 0)] = -1 - other;
      s = next;
    }
  }

  // push adds to the velocity of a vertex what all others do to it.
  push(i, x, y, strength, vx, vy) {
    const xi = x[i], yi = y[i], { child, weight, cx, cy } = this;
    const stack = this.stack ??= new Int32Array(4 * deepest + 64), halves = this.halves ??= new Float64Array(4 * deepest + 64);
    let top = 1, fx = 0, fy = 0;
    stack[0] = 0;
    halves[0] = this.half;
    while (top > 0) {
      const s = stack[--top], half = halves[top];
      let dx = cx[s] - xi, dy = cy[s] - yi, d2 = dx * dx + dy * dy;
      if (4 * half * half < theta2 * d2) {
        const f = (strength * weight[s]) / d2;
        fx -= dx * f;
        fy -= dy * f;
        continue;
      }
      for (let q = 4 * s; q < 4 * s + 4; q++) {
        const c = child[q];
        if (c > 0) {
          stack[top] = c;
          halves[top++] = half / 2;
        } else if (c < 0 && c !== -1 - i) {
          const j = -1 - c;
          dx = x[j] - xi;
          dy = y[j] - yi;
          d2 = dx * dx + dy * dy;
          if (d2 < 1e-6) { // at the same place: apart, each its own way
            dx = ((i * 7919) % 13) - 6.5;
            dy = ((i * 104729) % 11) - 5.5;
            d2 = dx * dx + dy * dy;
          }
          const f = strength / Math.max(d2, 25);
          fx -= dx * f;
          fy -= dy * f;
        }
      }
    }
    vx[i] += fx / 10;
    vy[i] += fy / 10;
  }
}
