// The execution: a column per thread, time downwards, arrows from stores to what they did.
let rows = [];
/** For each step its row. */
let rowAt = [];

/** Stretches of steps that do not matter and are worth folding. */
const WORTH_FOLDING = 3;

/** What the rows show: a step with the flush that follows at once, or a stretch that is folded. */
function makeRows() {
  const { steps } = view.story;
  const made = [];
  for (let at = 0; at < steps.length;) {
    let end = at;
    while (view.folded && end < steps.length && !steps[end].relevant) end++;
    if (end - at >= WORTH_FOLDING) {
      made.push({ from: at, to: end, folded: true });
      at = end;
      continue;
    }
    const flushed = steps[at].commit === at + 1;
    made.push({ from: at, to: at + (flushed ? 2 : 1), step: steps[at], flushed });
    at += flushed ? 2 : 1;
  }
  return made;
}

/** One step for each row. */
const visibleSteps = () => rows.map((row) => row.from);
const rowOf = (step) => rowAt[step];

/** Many threads get less room each. */
const narrow = () => view.story.threads.length > 6;

function timeline() {
  const { threads, steps, pending } = view.story;
  rows = makeRows();
  rowAt = rows.flatMap((row) => Array(row.to - row.from).fill(row));
  const template = `--threads: ${threads.length}; --lane: ${narrow() ? 92 : 120}px`;
  const lanes = h("div", { class: "grid lanes", style: template }, h("div", { class: "head" }, "step"),
    threads.map((name, thread) => h("div", { class: "lane", style: colour(thread), title: name }, name, !narrow() && h("small", {}, ` ${thread}`))));
  const list = h("div", { class: `rows${rows.length < 30 ? " short" : ""}` },
    h("div", { class: "grid guides", style: template, "aria-hidden": "true" }, h("span"), threads.map(() => h("div"))),
    rows.map((row) => (row.element = row.folded ? foldedRow(row, template) : stepRow(row, template, steps))),
    (pending ?? []).map((wait) => pendingRow(wait, template)));
  return h("div", { class: `timeline${narrow() ? " narrow" : ""}`, tabindex: "0", "aria-label": "Execution" }, lanes, list);
}

function foldedRow(row, template) {
  const text = `⋯ ${row.to - row.from} steps that do not matter here`;
  return h("div", { class: "grid row folded", style: template, title: "Show them (f)", onclick: fold }, h("div", { class: "number" }, "⋯"), h("div", { class: "event" }, text));
}

function stepRow(row, template, steps) {
  const { step, flushed } = row;
  const original = view.sequential ? counterpart(row.from) : null;
  const differs = original && original.read !== step.read;
  const events = view.sequential ? [] : view.found.events;
  const inCycle = !view.sequential && view.found.cycle.some((edge) => edge.from === row.from || edge.to === row.from);
  const classes = ["event", step.kind, step.failure && "fail", step.buffered && !flushed && "waits", !step.relevant && "idle", differs && "differs"];
  row.event = h("div", { class: classes.filter(Boolean).join(" "), // Nothing else stands in this row, so that a narrow column may be left.
    style: `${colour(step.thread)}; grid-column: ${step.thread + 2}${narrow() ? " / -1" : ""}`,
    title: `${step.name}, line ${step.line}: ${step.text}${differs ? `; before: ${original.text}` : ""}` },
    step.kind === "flush" ? step.text.replace(/^flush /, "⇒ memory: ") : step.text,
    flushed && h("span", { class: "memory" }, " ⇒ memory"), h("span", { class: "line" }, `:${step.line}`));
  const key = events.includes(row.from);
  return h("div", { class: `grid row${key ? " key" : ""}${inCycle ? " incycle" : ""}`, style: template, "data-step": row.from, onclick: () => go(row.from) },
    h("div", { class: "number" }, key ? `▸ ${row.from + 1}` : row.from + 1), row.event);
}

function pendingRow(wait, template) {
  const what = { lock: "waits for", wake: "waits to be notified of", join: "waits for the end of", read: "spins on" }[wait.kind] ?? "cannot go on:";
  return h("div", { class: "grid row pending", style: template }, h("div", { class: "number" }, "∞"),
    h("div", { class: "event", style: `${colour(wait.thread)}; grid-column: ${wait.thread + 2}`, title: `line ${wait.line}` }, `${what} ${wait.object ?? ""}`, h("span", { class: "line" }, `:${wait.line}`)));
}

/** The same operation in the execution that went wrong: the one with the same number in its thread. */
function counterpart(at) {
  const nth = (steps, end) => steps.slice(0, end).filter((step) => step.kind !== "flush" && step.thread === steps[end].thread).length;
  const { steps } = view.story;
  const mine = view.found.steps.filter((step) => step.kind !== "flush" && step.thread === steps[at].thread);
  const found = mine[nth(steps, at)];
  return found && found.line === steps[at].line && found.kind === steps[at].kind ? found : null;
}

/** Places the arrows, once everything else has its place. */
function layout() {
  document.querySelector("svg.arrows")?.remove();
  const list = document.querySelector(".rows");
  const colours = { rf: "--from", late: "--late", hb: "--bad", sw: "--sync", mo: "--soft", nosw: "--bad" };
  const heads = Object.entries(colours).map(([kind, name]) =>
    s("marker", { id: `head-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" },
      s("path", { d: "M0 0 L8 4 L0 8 Z", style: `fill: var(${name})` })));
  const drawing = s("svg", { class: "arrows", width: list.scrollWidth, height: list.scrollHeight, "aria-hidden": "true" }, s("defs", {}, ...heads));
  const many = rows.length > 80;
  const origin = list.getBoundingClientRect();
  const place = (step) => {
    const box = rowOf(step)?.event?.getBoundingClientRect();
    return box && { left: box.left - origin.left, right: box.right - origin.left, middle: (box.top + box.bottom) / 2 - origin.top };
  };
  const lines = [];
  view.story.steps.forEach((step, at) => {
    if (step.reads_from !== undefined && step.reads_from !== null) {
      const source = view.story.steps[step.reads_from];
      const arrived = source.commit !== undefined && source.thread !== step.thread ? source.commit : step.reads_from;
      if (source.thread !== step.thread) lines.push({ kind: "rf", from: arrived, to: at, of: [step.reads_from, arrived, at] });
    }
    if (step.commit !== undefined && step.commit !== at + 1) lines.push({ kind: "late", from: at, to: step.commit, of: [at, step.commit] });
  });
  lines.push(...graphLines());
  const cycle = view.sequential || view.story.graph ? [] : view.found.cycle.filter((edge) => edge.relation !== "po");
  lines.push(...cycle.map((edge) => ({ kind: "hb", from: edge.from, to: edge.to, of: [edge.from, edge.to], name: RELATIONS[edge.relation] })));
  const key = new Set(view.sequential ? [] : view.found.events);
  for (const line of lines) {
    const [a, b] = [place(line.from), place(line.to)];
    if (!a || !b || (many && line.kind === "rf" && !line.of.some((step) => key.has(step)))) { line.far = true; }
    if (!a || !b) continue;
    const path = s("path", { class: line.kind, d: curve(a, b), "marker-end": `url(#head-${line.kind})` });
    path.of = line.of;
    path.far = line.far && line.kind === "rf";
    drawing.append(path);
    if (line.name) drawing.append(label(a, b, line.name));
  }
  list.append(drawing);
}

/** What relates the events of an execution graph: modification order, what synchronises, and what is too weak to. */
function graphLines() {
  const graph = view.sequential ? null : view.story.graph;
  if (!graph) return [];
  const { steps } = view.story;
  const pair = (kind, from, to, name) => ({ kind, from, to, of: [from, to], name });
  const orders = graph.modification_order.flatMap(({ writes }) => writes.slice(1).map((to, at) => pair("mo", writes[at], to)));
  const weak = (step) => graph.too_weak.some((change) => change.step === step);
  const seen = steps.map((step, to) => [step.reads_from, to]).filter(([from, to]) => from !== undefined && from !== null && (weak(from) || weak(to)));
  const missing = seen.filter(([from, to]) => steps[from].thread !== steps[to].thread).map(([from, to]) => pair("nosw", from, to, "does not synchronise"));
  return [...orders, ...graph.synchronises.map(([from, to]) => pair("sw", from, to)), ...missing];
}

function curve(a, b) {
  const overlap = a.left < b.right && b.left < a.right;
  if (overlap) {
    const bulge = 14 + Math.min(46, Math.abs(b.middle - a.middle) / 9);
    return `M${a.left} ${a.middle} C${a.left - bulge} ${a.middle}, ${b.left - bulge} ${b.middle}, ${b.left - 1} ${b.middle}`;
  }
  const rightwards = a.right <= b.left;
  const [x1, x2] = rightwards ? [a.right, b.left - 1] : [a.left, b.right + 1];
  const bend = Math.max(18, Math.abs(x2 - x1) / 2) * (rightwards ? 1 : -1);
  return `M${x1} ${a.middle} C${x1 + bend} ${a.middle}, ${x2 - bend} ${b.middle}, ${x2} ${b.middle}`;
}

function label(a, b, name) {
  const overlap = a.left < b.right && b.left < a.right;
  if (overlap) return s("text", { x: Math.max(a.right, b.right) + 8, y: (a.middle + b.middle) / 2 }, name);
  // Beside where it starts: arrows that cross do so further on.
  const rightwards = a.right <= b.left;
  return s("text", { x: rightwards ? a.right + 8 : a.left - 8, y: a.middle - 4, "text-anchor": rightwards ? "start" : "end" }, name);
}

function updateTimeline() {
  const now = rowOf(view.step);
  for (const row of rows) {
    row.element.classList.toggle("now", row === now);
    row.element.classList.toggle("later", row.from > view.step && row !== now);
    if (row === now) row.element.setAttribute("aria-current", "step"); else row.element.removeAttribute("aria-current");
  }
  const inNow = (step) => now && now.from <= step && step < now.to;
  document.querySelectorAll("svg.arrows > path").forEach((path) => {
    const on = path.of.some(inNow);
    path.classList.toggle("on", on);
    path.style.display = on || (view.arrows && !path.far) || path.matches(".hb, .nosw") ? "" : "none";
  });
  if (!now) return;
  reveal(document.querySelector(".timeline"), now.element, 60);
  if (now.event) revealColumn(document.querySelector(".timeline"), now.event);
}

/** Scrolls a box, and nothing else, so that something in it shows. */
function reveal(box, element, margin) {
  const outer = box.getBoundingClientRect();
  const inner = element.getBoundingClientRect();
  if (inner.top < outer.top + margin) box.scrollTop -= outer.top + margin - inner.top;
  else if (inner.bottom > outer.bottom - margin) box.scrollTop += inner.bottom - outer.bottom + margin;
}

/** Likewise sideways. */
function revealColumn(box, element) {
  const outer = box.getBoundingClientRect();
  const inner = element.getBoundingClientRect();
  if (inner.left < outer.left) box.scrollLeft -= outer.left - inner.left + 20;
  else if (inner.right > outer.right) box.scrollLeft += inner.right - outer.right + 20;
}
