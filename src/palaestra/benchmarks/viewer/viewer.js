// Draws the page from its JSON, with the blocks of elements.js, which stands before it in the same script.

const DATA = JSON.parse(byId("data").textContent);

// ---- reading the data --------------------------------------------------------------------------------------------

function summarise(episode, index) {
  const task = DATA.tasks[episode.task];
  const outcome = !episode.valid ? "invalid" : episode.score.passed ? "passed" : "failed";
  const words = [task.id, task.family, task.split, ...task.traits, episode.agent, episode.cell,
    episode.end ?? "unfinished"];
  return {
    ...episode, index, task, outcome, rubric: DATA.rubrics[episode.rubric],
    tools: episode.tools.map((place) => DATA.tools[place]),
    length: sum(episode.segments.map((segment) => segment.turns.length)), words: words.join(" ").toLowerCase(),
  };
}

// The turns of all segments in one row, each with what had been reached before it.
function unfold(episode) {
  const turns = [];
  let last = { points: 0, end: 0, met: [], violated: [] };
  for (const [place, segment] of episode.segments.entries()) {
    for (const [offset, turn] of segment.turns.entries()) {
      const won = sum(Object.values(turn.components));
      const time = sum(turn.events.map((event) => event.latency));
      const rewritten = place > 0 && offset === 0 ? messages(segment.prompt) : null;
      last = {
        ...turn, index: turns.length, before: last, rewritten, won,
        points: last.points + won, start: last.end, end: last.end + time,
      };
      turns.push(last);
    }
  }
  return turns;
}

const EPISODES = DATA.episodes.map(summarise);
const SORTS = {
  "page order": (episode) => episode.index,
  task: (episode) => episode.task.id,
  agent: (episode) => episode.agent,
  points: (episode) => episode.score.points / (episode.score.total || 1),
  turns: (episode) => episode.length,
};
const OUTCOMES = { passed: "✓", failed: "✗", invalid: "?" };

const state = { episode: null, turn: 0, all: false, turns: [], shown: [], descending: false };

const messages = (places) => places.map((place) => DATA.messages[place]);
const isFault = (event) => !event.schema_ok || event.error !== null || !event.executed;
const hasFault = (turn) => turn.calls.length === 0 || turn.events.some(isFault);

// ---- the list ----------------------------------------------------------------------------------------------------

function listed() {
  const words = byId("filter").value.toLowerCase().split(/\s+/);
  const chosen = { agent: byId("by-agent").value, family: byId("by-family").value, outcome: byId("by-outcome").value,
    cell: byId("by-cell").value };
  const kept = EPISODES.filter((episode) =>
    words.every((word) => episode.words.includes(word)) && (!chosen.agent || episode.agent === chosen.agent)
    && (!chosen.family || episode.task.family === chosen.family) && (!chosen.cell || episode.cell === chosen.cell)
    && (!chosen.outcome || episode.outcome === chosen.outcome));
  return kept.sort(by(SORTS[byId("sort").value], state.descending));
}

function by(read, descending) {
  const order = descending ? -1 : 1;
  return (one, other) => {
    const [left, right] = [read(one), read(other)];
    return order * (typeof left === "number" ? left - right : left.localeCompare(right, "en", { numeric: true }));
  };
}

function drawList() {
  state.shown = listed();
  byId("count").textContent = `${state.shown.length} of ${plural(EPISODES.length, "episode")}`;
  byId("direction").textContent = state.descending ? "↓" : "↑";
  byId("list").replaceChildren(...state.shown.map(listItem));
  markList();
}

function listItem(episode) {
  const { score, outcome } = episode;
  return h("li", {}, h("button", { type: "button", "data-index": episode.index, onclick: () => open(episode) },
    h("span", { class: `mark ${outcome}`, title: outcome }, OUTCOMES[outcome]),
    h("span", { class: "item-task" }, episode.task.id),
    h("span", { class: "item-agent" }, [episode.cell, episode.agent].filter(Boolean).join(" · ")),
    h("span", { class: "item-numbers" }, `${number(score.points)}/${score.total} · ${plural(episode.length, "turn")}`)));
}

function markList() {
  for (const button of byId("list").querySelectorAll("button")) {
    const current = Number(button.dataset.index) === state.episode?.index;
    button.setAttribute("aria-current", current);
    if (current) button.scrollIntoView({ block: "nearest" });
  }
  byId("overview").setAttribute("aria-current", state.episode === null);
}

function setUpList() {
  const option = (value) => new Option(value, value);
  const options = (id, all, values) => byId(id).append(new Option(all, ""), ...values.map(option));
  const distinct = (read) => [...new Set(EPISODES.map(read))].sort();
  options("by-agent", "Agent", distinct((episode) => episode.agent));
  options("by-family", "Family", distinct((episode) => episode.task.family));
  options("by-outcome", "Outcome", Object.keys(OUTCOMES));
  const cells = [...new Set(EPISODES.map((episode) => episode.cell))]; // in the order of the page
  options("by-cell", "Cell", cells);
  byId("by-cell").hidden = cells.length < 2;
  byId("sort").append(...Object.keys(SORTS).map((name) => new Option(`by ${name}`, name)));
  for (const id of ["by-agent", "by-family", "by-outcome", "by-cell", "sort"]) byId(id).addEventListener("change", drawList);
  byId("filter").addEventListener("input", drawList);
  byId("direction").addEventListener("click", () => { state.descending = !state.descending; drawList(); });
  byId("overview").addEventListener("click", () => open(null));
  byId("drawer").addEventListener("click", () => drawer(!document.body.classList.contains("drawer-open")));
  byId("main").addEventListener("click", () => drawer(false));
}

function drawer(isOpen) {
  document.body.classList.toggle("drawer-open", isOpen);
  byId("drawer").setAttribute("aria-expanded", String(isOpen));
}

// ---- the overview ------------------------------------------------------------------------------------------------

function overview() {
  const count = (outcome) => EPISODES.filter((episode) => episode.outcome === outcome).length;
  const size = (read) => new Set(EPISODES.map(read)).size;
  const agents = size((episode) => episode.agent);
  const tasks = size((episode) => episode.task.id);
  return h("div", { class: "overview" }, h("h2", {}, "Overview"),
    DATA.lead.map((words) => h("p", { class: "words" }, words)), findingList(),
    h("p", { class: "lead" }, DATA.lead.length ? "To read on this page: " : "",
      `${plural(EPISODES.length, "episode")} of ${plural(agents, "agent")} on ${plural(tasks, "task")}: `,
      `${count("passed")} passed, ${count("failed")} failed, ${count("invalid")} invalid.`),
    DATA.figures.map(figureBlock), DATA.tables.map(tableBlock),
    DATA.notes.length > 0 && section("Notes", h("ul", { class: "notes" }, DATA.notes.map((words) => h("li", {}, words)))));
}

function findingList() {
  const item = ({ sentence, remedy }) => h("li", {}, sentence, remedy && h("p", { class: "note" }, remedy));
  return DATA.findings.length > 0 && h("ol", { class: "findings" }, DATA.findings.map(item));
}

function figureBlock({ source, words }) {
  return h("figure", { class: "block scroll" }, h("img", { src: source, alt: words }));
}

function tableBlock(table) {
  const numeric = table.columns.map((_, column) => table.rows.every((row) => rank(row[column]) !== null));
  const body = h("tbody");
  const heads = table.columns.map((name, column) => h("th", { class: numeric[column] && "numeric" },
    h("button", { type: "button", onclick: () => sortBy(column) }, name)));
  const cell = (text, column) => h(column === 0 ? "th" : "td", { class: numeric[column] && "numeric" }, text);
  const draw = (rows) => body.replaceChildren(...rows.map((row) => h("tr", {}, row.map(cell))));
  const sortBy = (column) => {
    const descending = heads[column].getAttribute("aria-sort") === "ascending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
    draw([...table.rows].sort(by((row) => (numeric[column] ? rank(row[column]) : row[column]), descending)));
  };
  draw(table.rows);
  const grid = h("table", { class: "grid" }, h("thead", {}, h("tr", {}, heads)), body);
  return section(table.title, h("div", { class: "scroll" }, grid),
    table.note && h("p", { class: "note" }, table.note));
}

// The number that a cell begins with ("83 %", "0.4 ± 0.1", "7/10"); empty cells and dashes come first; else null.
function rank(cell) {
  if (/^[-–—]?$/.test(cell.trim())) return -Infinity;
  const found = /^([-+−]?[\d,]*\.?\d+)(?:\s*(?:%|±.*|\/.*|\(.*|\[.*|[a-z]+))?$/i.exec(cell.trim());
  return found ? Number(found[1].replace("−", "-").replaceAll(",", "")) : null;
}

// ---- an episode --------------------------------------------------------------------------------------------------

function episodeView(episode) {
  return h("div", { class: "episode" }, episodeHead(episode),
    section("Prompt", messages(episode.segments[0]?.prompt ?? []).map(message)),
    h("details", { class: "tools" }, h("summary", {}, plural(episode.tools.length, "tool")), episode.tools.map(toolView)),
    h("div", { id: "bar" }), h("div", { id: "turns" }));
}

function episodeHead(episode) {
  const { task } = episode;
  const facts = { ...(episode.cell && { cell: episode.cell }), agent: episode.agent, family: task.family, level: task.level, traits: task.traits.join(", ") || "none",
    split: task.split, seed: episode.seed, "world seed": task.world_seed, end: episode.end ?? "stopped before its end",
    turns: `${episode.length} of at most ${task.max_turns}`, "oracle calls": task.oracle_calls, environment: episode.env_id };
  const fact = ([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value)));
  return h("header", { class: "episode-head" },
    h("div", {}, h("h2", {}, task.id), h("dl", { class: "facts" }, Object.entries(facts).map(fact))),
    scoreView(episode));
}

function scoreView({ score, rubric, outcome }) {
  const layers = Object.entries(score.components).map(([layer, points]) => {
    const total = sum(rubric.filter((line) => line.layer === layer && line.kind === "expect").map((line) => line.points));
    const meter = h("span", { class: `meter ${tone(points)}` }, h("i"));
    meter.firstChild.style.width = `${total ? Math.min(100, 100 * Math.max(0, points / total)) : 0}%`;
    return h("li", {}, h("span", {}, layer), meter, h("span", {}, `${number(points)} / ${total}`));
  });
  return h("div", { class: "score" },
    h("p", {}, h("strong", {}, number(score.points)), ` / ${score.total} points `, badge(outcome, outcome)),
    h("ul", {}, layers));
}

function toolView(tool) {
  const schema = tool.function ?? tool;
  return h("details", {}, h("summary", {}, h("code", {}, schema.name ?? "tool"), " ", h("span", {}, schema.description ?? "")),
    json(schema.parameters ?? schema.input_schema ?? schema));
}

function drawTurns() {
  if (state.turns.length === 0) {
    byId("bar").replaceChildren(h("p", { class: "note" }, "This episode has no turns."));
    return;
  }
  drawBar();
  const shown = state.all ? state.turns : [state.turns[state.turn]];
  byId("turns").replaceChildren(...shown.map(turnView));
}

const drawBar = () => byId("bar").replaceChildren(stepper(), timeline());

function stepper() {
  const button = (text, title, disabled, act) => h("button", { type: "button", title, disabled, onclick: act }, text);
  const turn = state.turns[state.turn];
  return h("div", { class: "stepper" },
    button("‹", "Previous turn (k)", state.turn === 0, () => step(-1)),
    button("›", "Next turn (j)", state.turn === state.turns.length - 1, () => step(1)),
    h("strong", {}, `Turn ${state.turn + 1} of ${state.turns.length}`),
    h("span", { class: "muted" }, `${number(turn.points)} of ${state.episode.score.total} points · ${duration(turn.end)}`),
    button(state.all ? "One turn" : "All turns", "Switch (a)", false, toggleAll));
}

function timeline() {
  return h("div", { class: "timeline", role: "group", "aria-label": "Turns" }, state.turns.map((turn) => h("button", {
    type: "button", class: `${tone(turn.reward)}${hasFault(turn) ? " fault" : ""}${turn.rewritten ? " rewritten" : ""}`,
    "aria-current": turn.index === state.turn ? "step" : null, onclick: () => goTo(turn.index),
    "aria-label": `Turn ${turn.index + 1}`,
    title: `Turn ${turn.index + 1}: reward ${signed(turn.reward)}${hasFault(turn) ? ", with an error" : ""}`,
  })));
}

// ---- a turn ------------------------------------------------------------------------------------------------------

function turnView(turn) {
  const time = `${duration(turn.start)} → ${duration(turn.end)}`;
  return h("article", { class: "turn", id: `turn-${turn.index}` },
    turn.rewritten && section("The context was rewritten before this turn", turn.rewritten.map(message)),
    h("header", { class: "turn-head" }, h("h3", {}, `Turn ${turn.index + 1}`),
      h("span", { class: `reward ${tone(turn.reward)}` }, `reward ${signed(turn.reward)}`),
      h("span", { title: "Virtual time since the start: the sum of what calls took" }, time),
      h("code", { title: `State hash ${turn.state_hash}` }, turn.state_hash.slice(0, 10))),
    h("div", { class: "columns" },
      h("div", {}, turn.text !== null && section("Agent", folded(turn.text, h("pre", { class: "prose" }, turn.text))),
        pageActedOn(turn), calls(turn), changes(turn)),
      h("aside", {}, progress(turn), checklist(turn))));
}

function calls(turn) {
  const entries = messages(turn.observation);
  const answer = (event) => entries.find((entry) => entry.role === "tool" && entry.tool_call_id === event.call_id);
  // What the world did by itself answers no call; its writes are among the turn's changes.
  const events = turn.events.filter((event) => event.tool !== "(world)");
  const answers = events.map(answer);
  const others = entries.filter((entry) => !answers.includes(entry));
  const list = turn.calls.map((call, place) => callView(call, events[place], answers[place]));
  return [section(turn.calls.length === 1 ? "Call" : "Calls",
    list.length ? list : h("p", { class: "note bad-text" }, "No call could be read from this turn.")),
    others.length > 0 && section("Then the agent was told", others.map(message))];
}

function callView(call, event, answer) {
  return h("article", { class: `call${event && !isFault(event) ? "" : " refused"}` },
    h("h4", {}, h("code", {}, call.tool),
      h("span", { class: "event" }, event ? eventFacts(event) : badge("not run", "warn"))),
    json(call.arguments),
    answer && h("div", { class: "result" }, content(answer.content), images(answer)));
}

// On the surface of pages: what stood before the agent, with the elements that the turn's calls name.
function pageActedOn(turn) {
  const named = turn.calls.map((call) => call.arguments.element ?? call.arguments.ref).filter((id) => typeof id === "string");
  const last = turn.index === 0 ? state.episode.segments[0].prompt : state.turns[turn.index - 1].observation;
  const entry = messages(last).findLast((one) => named.some((id) => one.content.includes(`[${id}]`)));
  if (!entry) return null;
  return section("The page acted on", h("div", { class: "page-before" },
    folded(entry.content, h("pre", { class: "prose" }, marked(entry.content, named.map((id) => `[${id}]`)))), images(entry)));
}

function eventFacts(event) {
  const code = event.error === null ? "" : `: ${event.error}`;
  const verdict = !event.schema_ok ? badge(`schema error${code}`, "failed")
    : isFault(event) ? badge(`${event.semantic_ok ? "failed" : "refused"}${code}`, "failed") : badge("ok", "passed");
  return [verdict, event.duplicate_of !== null && badge(`repeats ${event.duplicate_of}`, "warn"),
    event.written > 0 && h("span", {}, `wrote ${plural(event.written, "row")}`),
    h("span", {}, duration(event.latency)), event.cost !== 0 && h("span", {}, `cost ${number(event.cost)}`),
    h("code", {}, event.call_id)];
}

function changes(turn) {
  if (turn.changes.length === 0) return section("State", h("p", { class: "note" }, "No row changed."));
  return section(`State: ${plural(turn.changes.length, "change")}`, turn.changes.map(changeView));
}

function changeView({ table, key, before, after }) {
  const [verb, kind] = before === null ? ["created", "passed"] : after === null ? ["deleted", "failed"] : ["changed", "info"];
  const columns = Object.keys({ ...before, ...after }).filter((name) => name !== "id"
    && JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]));
  const show = (value) => (typeof value === "string" && value !== "" ? value : JSON.stringify(value) ?? "");
  const side = (row, kind, name) => row && h("td", { class: kind }, show(row[name]));
  const line = (name) => h("tr", {}, h("th", {}, name), side(before, "before", name), side(after, "after", name));
  return h("div", { class: "change" },
    h("h4", {}, h("code", {}, `${table} / ${key}`), badge(verb, kind)),
    h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, columns.map(line)))));
}

function progress(turn) {
  const { total } = state.episode.score;
  const layers = Object.entries(turn.components).filter(([, points]) => points !== 0);
  const won = layers.map(([layer, points]) => `${signed(points)} ${layer}`).join(", ");
  return section("Score so far",
    h("p", { class: "so-far" }, h("strong", {}, number(turn.points)), ` / ${total}`,
      h("span", { class: tone(turn.won) }, won || "unchanged")),
    sparkline(turn, total));
}

function sparkline(turn, total) {
  const [width, height, pad] = [300, 44, 4];
  const values = [0, ...state.turns.map((other) => other.points)];
  const [low, high] = [Math.min(0, ...values), Math.max(1, total, ...values)];
  const x = (index) => pad + ((width - 2 * pad) * index) / (values.length - 1);
  const y = (value) => pad + ((height - 2 * pad) * (high - value)) / (high - low);
  const path = values.map((value, index) => (index ? `H${x(index)}V${y(value)}` : `M${x(0)},${y(value)}`)).join("");
  const line = (value) => svg("line", { x1: 0, x2: width, y1: y(value), y2: y(value) });
  const label = `Points by turn, of ${total}`;
  return svg("svg", { class: "sparkline", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    line(0), line(total), svg("path", { d: path }), svg("circle", { cx: x(turn.index + 1), cy: y(turn.points), r: 3.5 }));
}

// Reading all turns in one go, only the last turn shows what did not change.
function checklist(turn) {
  const { rubric, score } = state.episode;
  const isLast = turn.index === state.turns.length - 1;
  const lines = state.all && !isLast ? rubric.filter((line) => holds(line, turn) !== holds(line, turn.before)) : rubric;
  const reached = rubric.filter((line) => line.kind === "expect" && holds(line, turn)).length;
  const wanted = rubric.filter((line) => line.kind === "expect").length;
  return section(`Checklist: ${reached} of ${wanted} met`, h("ul", { class: "checklist" },
    lines.map((line) => criterion(line, turn, isLast ? score.verdicts[line.id]?.reason : ""))));
}

const holds = (line, turn) => (line.kind === "expect" ? turn.met : turn.violated).includes(line.id);

function criterion(line, turn, reason) {
  const expected = line.kind === "expect";
  const [now, then] = [holds(line, turn), holds(line, turn.before)];
  const status = expected ? (now ? "met" : "unmet") : now ? "violated" : "respected";
  const news = now === then ? null : expected ? (now ? "now met" : "no longer met") : now ? "now violated" : "put right";
  const facts = [status, line.kind, line.layer, line.after.length > 0 && `after ${line.after.join(", ")}`];
  const icon = { met: "✓", unmet: "○", violated: "✗", respected: "–" }[status];
  return h("li", { class: `${status}${news ? " news" : ""}` },
    h("span", { class: "icon", title: status }, icon),
    h("div", {}, h("p", {}, line.text, news && badge(news, now === expected ? "passed" : "failed")),
      h("small", {}, h("code", {}, line.id), ` ${facts.filter(Boolean).join(" · ")}`),
      reason && h("small", { class: "reason" }, reason)),
    h("span", { class: "points" }, signed(expected ? line.points : -Math.abs(line.points))));
}

// ---- going about -------------------------------------------------------------------------------------------------

function open(episode, turn = 0, { remember = true } = {}) {
  Object.assign(state, { episode, turns: episode ? unfold(episode) : [] });
  state.turn = Math.max(0, Math.min(turn, state.turns.length - 1));
  byId("main").replaceChildren(episode ? episodeView(episode) : overview());
  if (episode) drawTurns();
  drawer(false);
  markList();
  window.scrollTo(0, 0);
  if (remember) writeHash("pushState");
}

function goTo(turn) {
  state.turn = turn;
  if (state.all) drawBar();
  else drawTurns();
  clearTimeout(state.pending);
  state.pending = setTimeout(() => writeHash("replaceState"), 200); // a held key steps faster than browsers allow
  byId(`turn-${turn}`).scrollIntoView({ block: "start" });
}

function step(by) {
  const turn = state.turn + by;
  if (state.episode && turn >= 0 && turn < state.turns.length) goTo(turn);
}

function toggleAll() {
  state.all = !state.all;
  if (state.turns.length === 0) return;
  drawTurns();
  goTo(state.turn);
}

function neighbour(by) {
  const place = state.shown.indexOf(state.episode);
  const next = place < 0 ? state.shown[0] : state.shown[place + by];
  if (next) open(next);
}

function writeHash(how) {
  const { episode, turn, all } = state;
  const hash = episode ? new URLSearchParams({ episode: episode.key, turn: turn + 1, ...(all && { all: 1 }) }) : "overview";
  history[how](null, "", `#${hash}`);
}

function readHash() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const turn = Number.parseInt(asked.get("turn"), 10) - 1;
  const episode = EPISODES.find((other) => other.key === asked.get("episode"));
  state.all = asked.has("all");
  const first = location.hash || DATA.tables.length + DATA.figures.length > 0 ? null : EPISODES[0];
  open(episode ?? first ?? null, turn || 0, { remember: false });
  if (episode && turn > 0) goTo(state.turn);
}

const KEYS = {
  j: () => step(1), ArrowRight: () => step(1), k: () => step(-1), ArrowLeft: () => step(-1),
  "[": () => neighbour(-1), "]": () => neighbour(1), "/": () => { drawer(true); byId("filter").focus(); },
  a: toggleAll, o: () => open(null), Escape: () => { drawer(false); document.activeElement.blur(); },
};

function onKey(event) {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.key !== "Escape";
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
}

setUpList();
drawList();
readHash();
document.addEventListener("keydown", onKey);
window.addEventListener("popstate", readHash);
