// What is shown, and keys. Everything on the page is made from the data in this file; nothing is fetched.
const data = JSON.parse(document.getElementById("data").textContent);

/** An element with attributes and children; text is never read as markup. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") element.style.cssText = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Likewise for drawings. */
function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Text with `code` in it. */
function prose(text) {
  return text.split("`").map((part, at) => (at % 2 ? h("code", {}, part) : part));
}

const colour = (thread) => `--thread: var(--t${thread % 10})`;

/** The executions to look at: those that went wrong, and those that answer a question. */
const executions = (report) => [...report.violations, ...report.observations.flatMap((observation) => observation.witness ?? [])];

const view = {
  report: 0, execution: 0, step: 0, sequential: false, folded: true, arrows: true, tab: "execution",
  get data() { return data.reports[this.report]; },
  get found() { return this.data && executions(this.data)[this.execution]; },
  /** The execution that is shown: the one that went wrong, or what SC makes of it. */
  get story() { return this.sequential && this.found.sequential ? this.found.sequential : this.found; },
};

/** Where to begin: at the later of the two events, when the earlier one still shows. */
function firstStep() {
  const { events, steps } = view.found;
  return events.length ? Math.max(...events) : steps.length - 1;
}

function select(report, execution = 0) {
  Object.assign(view, { report, execution, sequential: false });
  view.tab = view.found ? "execution" : "exploration";
  view.step = view.found ? Math.max(0, firstStep()) : 0;
  draw();
}

function header() {
  const report = view.data;
  if (!report) return h("header", {}, h("h1", {}, data.title));
  const verdict = h("span", { class: `badge ${report.verdict}` }, report.verdict);
  const where = h("span", { class: "where" }, `${report.memory.toUpperCase()} · engine ${report.engine}`);
  const reports = data.reports.length > 1 && h("select", { "aria-label": "Report", onchange: (event) => select(Number(event.target.value)) },
    data.reports.map((other, at) => h("option", { value: at, selected: at === view.report }, `${other.file} · ${other.memory} · ${other.verdict}`)));
  const found = executions(report);
  const shown = found.length > 1 && h("select", { "aria-label": "Execution", onchange: (event) => select(view.report, Number(event.target.value)) },
    found.map(({ kind }, at) => h("option", { value: at, selected: at === view.execution }, `${at + 1} of ${found.length}: ${kind}`)));
  const tab = (name, title, key) => h("button", { role: "tab", "aria-selected": String(view.tab === name), title: `Key ${key}`, onclick: () => show(name) }, title);
  return h("header", {}, h("h1", {}, report.file), verdict, where, reports, shown,
    h("div", { class: "tools" },
      h("div", { role: "tablist" }, view.found && tab("execution", "Execution", "1"), " ", tab("exploration", "Exploration", "2")),
      h("button", { onclick: theme, title: "Light or dark (t)", "aria-label": "Light or dark" }, "◐"),
      h("button", { onclick: help, title: "Keys (?)", "aria-label": "Keys" }, "?")));
}

const RELATIONS = { po: "then", rf: "is seen by", co: "is overwritten by", fr: "did not see", sync: "lets go on", sw: "synchronises with" };

function why() {
  const found = view.found;
  if (view.sequential && found.sequential) {
    return h("section", { class: "why sequential" }, h("p", { class: "what" }, "The same order of operations, each store in memory at once"),
      h("p", { class: "sentence", id: "sentence" }, prose(found.sequential.outcome)),
      h("p", { class: "meaning" }, "Reads that see something else than before are outlined."));
  }
  const event = (at) => h("button", { style: colour(found.steps[at].thread), title: `${found.steps[at].name}, line ${found.steps[at].line}`, onclick: () => go(at) },
    h("b", {}, `${found.steps[at].thread}`), ` ${found.steps[at].text}`);
  const machines = Object.entries(found.machines ?? {});
  const named = (shows) => machines.filter((one) => one[1] === shows).map((one) => one[0]).join(", ");
  const elsewhere = machines.length > 0 && h("p", { class: "meaning", id: "machines" },
    [named(true) && `also under ${named(true)}`, named(false) && `not under ${named(false)}`].filter(Boolean).join("; "));
  const cycle = found.cycle.length > 0 && h("ol", { class: "cycle", id: "cycle" },
    h("span", {}, "No interleaving explains this:"),
    found.cycle.flatMap((edge) => [
      h("li", {}, event(edge.from)),
      h("li", { class: "edge" }, `→ ${RELATIONS[edge.relation]} →`)]),
    h("li", { class: "edge" }, "the first again"));
  return h("section", { class: "why" }, h("p", { class: "what" }, `${found.kind}: ${found.message}`.replaceAll("`", "")),
    h("p", { class: "sentence", id: "sentence" }, prose(found.sentence)), elsewhere, cycle);
}

function controls() {
  const steps = view.story.steps.length;
  const toggle = (id, name, title, pressed, click) => h("button", { id, "aria-pressed": String(pressed), title, onclick: click }, name);
  return h("footer", {},
    h("button", { onclick: () => go(0), title: "First step (Home)", "aria-label": "First step" }, "«"),
    h("button", { onclick: () => move(-1), title: "Step back (↑ or k)", "aria-label": "Step back" }, "◀"),
    h("button", { onclick: () => move(1), title: "Step on (↓ or j)", "aria-label": "Step on" }, "▶"),
    h("button", { onclick: () => go(steps - 1), title: "Last step (End)", "aria-label": "Last step" }, "»"),
    h("input", { type: "range", id: "slider", "aria-label": "Step", min: 0, max: Math.max(0, steps - 1), value: view.step, oninput: (event) => go(Number(event.target.value)) }),
    h("output", { id: "position" }),
    h("button", { onclick: nextEvent, title: "Go to the events that matter (n)" }, "events ", h("kbd", {}, "n")),
    toggle("fold", "fold", "Fold what does not matter (f)", view.folded, fold),
    toggle("arrows", "arrows", "All arrows, or those of this step (a)", view.arrows, arrows),
    view.found.sequential && toggle("sc", "what SC would have done", "The same order under sequential consistency (s)", view.sequential, sequential));
}

/** Draws everything anew. */
function draw() {
  const parts = [header()];
  if (view.tab === "execution" && view.found) {
    parts.push(why(), h("main", { class: narrow() ? "wide" : "" }, timeline(), h("div", { class: "side" }, sourcePanel(), statePanel())), controls());
  } else {
    parts.push(exploration());
  }
  document.querySelectorAll("body > header, body > section, body > main, body > footer, body > .exploration").forEach((old) => old.remove());
  document.body.append(...parts);
  if (view.tab === "execution" && view.found) { layout(); update(); }
}

/** Shows the present step in what is already drawn. */
function update() {
  updateTimeline();
  updateSource();
  updateState();
  const steps = view.story.steps;
  document.getElementById("slider").value = view.step;
  document.getElementById("position").textContent = steps.length ? `step ${view.step + 1} of ${steps.length}` : "no steps";
}

function go(step) {
  view.step = Math.max(0, Math.min(view.story.steps.length - 1, step));
  update();
}
/** Steps over what is folded, in either direction. */
function move(by) {
  const shown = visibleSteps();
  const at = shown.findIndex((step) => step >= view.step);
  const next = shown[Math.max(0, Math.min(shown.length - 1, (at < 0 ? shown.length - 1 : at) + by))];
  if (next !== undefined) go(next);
}
function nextEvent() {
  const events = [...view.story.events ?? view.found.events].sort((a, b) => a - b);
  if (events.length) go(events.find((event) => event > view.step) ?? events[0]);
}
function fold() { view.folded = !view.folded; draw(); }
function arrows() { view.arrows = !view.arrows; draw(); }
function sequential() {
  if (!view.found.sequential) return;
  view.sequential = !view.sequential;
  // Where the two first differ.
  const differs = (step, at) => { const before = counterpart(at); return before && before.read !== step.read; };
  const first = view.sequential ? view.story.steps.findIndex(differs) : firstStep();
  view.step = first < 0 ? view.story.steps.length - 1 : first;
  draw();
}
function show(tab) { view.tab = tab === "execution" && !view.found ? "exploration" : tab; draw(); }
function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}
function other(by) {
  const all = data.reports.flatMap((report, at) => (executions(report).length ? executions(report).map((_, execution) => [at, execution]) : [[at, 0]]));
  const now = all.findIndex(([report, execution]) => report === view.report && execution === view.execution);
  select(...all[(now + by + all.length) % all.length]);
}

const KEYS = [
  ["↓ j →", "next step"], ["↑ k ←", "previous step"], ["Page Down, Page Up", "ten steps"], ["Home, End", "first and last step"],
  ["n", "the events that matter"], ["f", "fold what does not matter"], ["a", "all arrows, or those of this step"], ["s", "what sequential consistency would have done"],
  ["1, 2", "execution, exploration"], ["[, ]", "previous and next execution"], ["t", "light or dark"], ["?", "this list"]];

function help() {
  const dialog = h("dialog", { onclose: (event) => event.target.remove() }, h("h2", {}, "Keys"),
    h("table", {}, KEYS.map(([key, what]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, what)))),
    h("p", {}, h("button", { onclick: () => dialog.close() }, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}

const ACTIONS = {
  ArrowDown: () => move(1), ArrowRight: () => move(1), j: () => move(1), ArrowUp: () => move(-1), ArrowLeft: () => move(-1), k: () => move(-1),
  PageDown: () => move(10), PageUp: () => move(-10), Home: () => go(0), End: () => go(view.story.steps.length - 1),
  n: nextEvent, f: fold, a: arrows, s: sequential,
};
const ANYWHERE = { 1: () => show("execution"), 2: () => show("exploration"), "[": () => other(-1), "]": () => other(1), t: theme, "?": help };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.tagName === "SELECT") return;
  const action = ANYWHERE[event.key] ?? (view.tab === "execution" && view.found ? ACTIONS[event.key] : undefined);
  if (!action) return;
  event.preventDefault();
  action();
});
addEventListener("resize", () => { if (view.tab === "execution" && view.found) { layout(); updateTimeline(); } });
matchMedia("print").addEventListener("change", () => { if (view.tab === "execution" && view.found) layout(); });
const wrong = data.reports.findIndex((report) => report.violations.length);
const first = wrong < 0 ? data.reports.findIndex((report) => executions(report).length) : wrong;
select(Math.max(0, first));
