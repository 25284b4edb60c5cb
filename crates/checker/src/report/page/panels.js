// Beside the execution: the source with the present lines, and memory and buffers at the present step.
const WORDS = /\b(const|shared|plain|mutex|rwlock|condvar|struct|thread|fn|main|finally|exists|forbidden|always|let|if|else|while|for|in|loop|break|continue|return|fork|join|yield|fence|new|assert|true|false|null|move|mut|pub|use|impl|match|unsafe)\b/;

/** A line of source with comments and keywords set apart. */
function coloured(text) {
  const comment = text.indexOf("//");
  const [code, rest] = comment < 0 ? [text, ""] : [text.slice(0, comment), text.slice(comment)];
  const parts = code.split(new RegExp(WORDS.source, "g")).map((part, at) => (at % 2 ? h("span", { class: "word" }, part) : part));
  return [...parts, rest && h("span", { class: "comment" }, rest)].filter(Boolean);
}

const fileOf = (step) => step?.file ?? view.data.file;
let shownFile = null;

function sourcePanel() {
  shownFile = null;
  return h("section", { class: "panel", id: "source", tabindex: "0", "aria-label": "Source" });
}

function fillSource(file) {
  const panel = document.getElementById("source");
  const source = data.sources.find((source) => source.file === file);
  const keys = new Set(view.found.events.map((at) => view.found.steps[at]).filter((step) => fileOf(step) === file).map((step) => step.line));
  const lines = (source?.text ?? "").replace(/\n$/, "").split("\n").map((text, at) =>
    h("div", { class: `text${keys.has(at + 1) ? " key" : ""}`, "data-line": at + 1 }, h("span", {}, `${at + 1}`), h("span", { class: "marks" }), h("span", {}, coloured(text) )));
  panel.replaceChildren(h("h2", {}, source ? file : `${file}: its text is not part of this report`), h("div", { class: "source", style: `--marks: ${Math.max(52, 17 * Math.min(view.story.threads.length, 11))}px` }, lines));
  shownFile = file;
}

function updateSource() {
  const { steps } = view.story;
  const current = steps[view.step];
  if (shownFile !== fileOf(current)) fillSource(fileOf(current));
  const panel = document.getElementById("source");
  panel.querySelectorAll(".now").forEach((line) => line.classList.remove("now"));
  panel.querySelectorAll(".marks").forEach((marks) => marks.replaceChildren());
  const at = new Map();
  for (const step of steps.slice(0, view.step + 1)) if (step.kind !== "flush" || step === current) at.set(step.thread, step);
  for (const [thread, step] of [...at].sort((a, b) => a[0] - b[0])) {
    if (fileOf(step) !== shownFile) continue;
    const marks = panel.querySelector(`[data-line="${step.line}"] .marks`);
    marks?.append(h("i", { style: colour(thread), class: step === current ? "acts" : "", title: `${step.name} was here last` }, `${thread}`));
  }
  const line = current && panel.querySelector(`[data-line="${current.line}"]`);
  if (!line) return;
  line.classList.add("now");
  reveal(panel, line, 70);
}

function statePanel() {
  return h("section", { class: "panel", id: "state", tabindex: "0", "aria-label": "Memory and store buffers" });
}

const written = (step) => step.written_as ?? String(step.written);

/** Memory and buffers after the first steps. */
function stateAfter(count) {
  const { steps, initial } = view.story;
  const memory = new Map(initial.map((cell) => [cell.cell, cell.value_as ?? String(cell.value)]));
  const buffers = new Map();
  for (const step of steps.slice(0, count)) {
    const arrives = step.written !== null && step.written !== undefined && !step.buffered && !step.failure;
    if (arrives) memory.set(step.cell, written(step));
    buffers.set(step.thread, step.buffer);
  }
  return { memory, buffers };
}

function updateState() {
  const { steps, threads, graph } = view.story;
  const row = rowOf(view.step);
  const count = row && !row.folded ? row.to : view.step + 1;
  const { memory, buffers } = stateAfter(count);
  const before = stateAfter(view.step).memory;
  const current = steps[view.step];
  const cells = [...memory].map(([cell, value]) => {
    const kind = before.get(cell) !== value ? "changed" : current?.cell === cell && current.read !== null ? "read" : "";
    return h("tr", { class: kind }, h("td", {}, cell), h("td", {}, value));
  });
  if (graph && !view.sequential) {
    document.getElementById("state").replaceChildren(h("h2", {}, "Modification orders, and what is read"), h("div", { class: "state" }, modificationOrders(graph)));
    return;
  }
  const anyBuffered = steps.some((step) => step.buffer.length);
  const queues = threads.map((name, thread) => {
    const stores = (buffers.get(thread) ?? []).map((store) => h("span", { class: "store" }, `${store.cell} = ${store.value_as ?? store.value}`));
    return h("div", { class: "buffer", style: colour(thread) }, h("b", {}, name), stores.length ? stores : h("span", { class: "none" }, "empty"));
  });
  document.getElementById("state").replaceChildren(h("h2", {}, `Memory and store buffers after step ${count}`),
    h("div", { class: "state" }, h("div", {}, h("h3", {}, "memory"), h("table", { id: "memory" }, cells)),
      h("div", {}, h("h3", {}, anyBuffered ? "store buffers, oldest first" : "store buffers: none is used"), anyBuffered && h("div", { class: "buffers", id: "buffers" }, queues))));
}

/** Each location's writes, first to last. What the present step reads is marked; what comes later is faint. */
function modificationOrders({ modification_order }) {
  const { steps, initial } = view.story;
  const current = steps[view.step];
  const reads = current && current.read !== null && current.read !== undefined;
  const first = (cell) => initial.find((one) => one.cell === cell);
  const orders = modification_order.map(({ cell, writes }) => {
    const start = first(cell);
    const seen = (write) => reads && current.cell === cell && (current.reads_from ?? null) === write;
    const at = (write) => h("span", { class: ["write", seen(write) && "seen", write > view.step && "later"].filter(Boolean).join(" "), style: colour(steps[write].thread), title: `step ${write + 1}, line ${steps[write].line}` }, written(steps[write]));
    const parts = [h("span", { class: `write${seen(null) ? " seen" : ""}`, title: "before everything" }, start ? start.value_as ?? `${start.value}` : "0"), ...writes.map(at)];
    return h("div", { class: "order" }, h("b", {}, cell), parts.flatMap((part, index) => (index ? ["→", part] : [part])));
  });
  return h("div", { class: "orders", id: "orders" }, orders.length ? orders : "nothing is written");
}
