// The lanes: on the left each broker's state now, on the right what happens to it, event by event.

const LANES = {};  // by lane: top and height
const EPOCH_COLOURS = 6;
const CELLS_MAX = 48;
let lanesHeight = 0;

(function placeLanes() {
  const add = (lane, height) => { LANES[lane] = {top: lanesHeight, height}; lanesHeight += height; };
  add("clients", 34);
  for (const broker of history_.brokers) add(broker, 104);
  add("store", 44);
  LANES.network = {top: 0, height: lanesHeight};
})();

function replicaOf(state, broker, partition) {
  return state.get(`replica/${broker}/${partition}`);
}

// --- labels

function roleWords(replica) {
  if (!replica) return "no replica";
  if (replica.role === "leader") return `leader, epoch ${replica.epoch}, ISR ${replica.ISR.join(",")}`;
  if (replica.role !== "follower") return replica.role;
  const of = replica.leader < 0 ? "no leader" : `follower of ${replica.leader}`;
  return `${of}, epoch ${replica.epoch}` + (replica.fetcher ? ` · ${replica.fetcher}` : "");
}

function waitingWords(replica) {
  const found = [];
  if (replica["produces waiting"]) found.push(`${replica["produces waiting"]} produce`);
  if (replica["fetches waiting"]) found.push(`${replica["fetches waiting"]} fetch`);
  return found.length ? ` · waiting: ${found.join(", ")}` : "";
}

function badge(kind, words) {
  return element("span", {class: `badge ${kind}`}, words);
}

function brokerLabel(state, broker, partition, span) {
  const process = state.get(`broker/${broker}`) || {phase: "down", controller: false};
  const replica = replicaOf(state, broker, partition);
  const label = element("div", {class: `label phase-${process.phase}`});
  const head = element("div", {class: "head"}, element("b", {}, `broker ${broker}`));
  if (process.phase !== "serving") head.append(badge(process.phase === "down" ? "bad" : "warn", process.phase));
  if (process.controller && process.phase !== "down") head.append(badge("good", "controller"));
  if (isIsolated(state, broker)) head.append(badge("bad", "isolated"));
  const cut = cutFrom(state, broker);
  if (cut.length) head.append(badge("bad", `cut from ${cut.join(", ")}`));
  if (isCutFromStore(state, broker)) head.append(badge("bad", "cut from the store"));
  label.append(head);
  const isDown = process.phase === "down";
  label.append(element("div", {class: "role"}, isDown && replica ? `was ${roleWords(replica)}` : roleWords(replica)));
  if (replica) {
    const waiting = isDown ? "" : waitingWords(replica);
    label.append(element("div", {}, `LEO ${replica.LEO} · HW ${replica.HW}${waiting}`), logPicture(replica, span));
  }
  return label;
}

// The offsets that the pictures of all logs show, so that equal offsets stand below each other.
function logSpan(state, partition) {
  const replicas = history_.brokers.map(broker => replicaOf(state, broker, partition)).filter(Boolean);
  const end = Math.max(0, ...replicas.map(replica => replica.LEO));
  const committed = Math.min(end, ...replicas.map(replica => replica.HW));
  return {from: Math.max(0, end - CELLS_MAX, Math.min(end - 10, committed - 2)), end};
}

// A row of cells, one for each record, in the colour of its leader epoch; those from `gone` on are crossed out.
function logPicture(replica, span, gone = Infinity) {
  const width = 300, height = 26;
  const picture = drawn("svg", {class: "log", width, height, viewBox: `0 0 ${width} ${height}`});
  const cell = Math.min(28, (width - 12) / Math.max(1, span.end - span.from));
  const x = offset => 4 + (offset - span.from) * cell;
  for (let offset = Math.max(span.from, replica["log start"]); offset < replica.LEO; offset++) {
    const epoch = replica.epochs.filter(([, start]) => start <= offset).pop();
    const number = epoch ? epoch[0] : 0;
    const committed = offset < replica.HW ? "" : " open";
    const one = drawn("rect", {class: `cell epoch${number % EPOCH_COLOURS}${committed}`, x: x(offset) + 0.5, y: 4, width: Math.max(1, cell - 1), height: 17, rx: 2});
    one.append(drawn("title", {}, `offset ${offset}, epoch ${number}${committed ? ", not committed" : ""}`));
    picture.append(one);
    if (cell >= 20) picture.append(drawn("text", {class: `offset${committed}`, x: x(offset) + cell / 2, y: 16, "text-anchor": "middle"}, offset));
    if (offset >= gone) picture.append(drawn("path", {class: "gone", d: `M${x(offset) + 2} 6L${x(offset) + cell - 2} 20M${x(offset) + 2} 20L${x(offset) + cell - 2} 6`}));
  }
  const mark = x(Math.max(span.from, replica.HW));
  picture.append(drawn("path", {class: "hw", d: `M${mark} 1V25`}));
  return picture;
}

function storeLabel(state, partition) {
  const controller = state.get("controller"), stored = state.get(`stored/${partition}`);
  const words = stored
    ? `${stored.leader < 0 ? "no leader" : `leader ${stored.leader}`}, epoch ${stored.epoch}, ISR ${stored.ISR.join(",") || "none"}`
    : "no such partition";
  const head = element("div", {class: "head"}, element("b", {}, "metadata store"));
  head.append(element("span", {class: "quiet"}, controller.broker < 0 ? "no controller" : `controller ${controller.broker}, epoch ${controller.epoch}`));
  return element("div", {class: "label"}, head, element("div", {}, words));
}

function showLabels(state, partition) {
  const span = logSpan(state, partition);
  const labels = document.getElementById("labels");
  const key = element("span", {class: "quiet"}, "chart: line LEO, filled HW");
  const made = [element("div", {class: "label"}, element("div", {class: "head"}, element("b", {}, "clients"), key))];
  for (const broker of history_.brokers) made.push(brokerLabel(state, broker, partition, span));
  made.push(storeLabel(state, partition));
  const lanes = ["clients", ...history_.brokers, "store"];
  made.forEach((label, number) => { label.style.height = `${LANES[lanes[number]].height}px`; });
  labels.replaceChildren(...made, element("div", {class: "axis quiet"}, "log: colour = leader epoch, dashed = above HW"));
}

// --- the drawing

// For each event of `shown`: a copy of what the lanes show after it.
function columnsOf(shown, partition) {
  if (!shown.length) return [];
  const state = stateAfter(shown[0]);
  return shown.map((number, at) => {
    for (let i = at ? shown[at - 1] + 1 : number + 1; i <= number; i++) applied(state, events[i]);
    return history_.brokers.map(broker => {
      const process = state.get(`broker/${broker}`);
      const isCut = isIsolated(state, broker) || cutFrom(state, broker).length > 0;
      return {phase: process ? process.phase : "down", replica: replicaOf(state, broker, partition), isCut};
    });
  });
}

function bandOf(column) {
  if (column.phase === "down") return ["down", "down"];
  if (column.phase !== "serving") return ["none", column.phase];
  const replica = column.replica;
  if (!replica) return ["none", "no replica"];
  if (replica.role === "leader") return ["leader", `leader, epoch ${replica.epoch}`];
  if (replica.role === "follower") return ["follower", `${replica.leader < 0 ? "no leader" : `follower of ${replica.leader}`}, epoch ${replica.epoch}`];
  return ["none", replica.role];
}

// Calls `use` for each run of equal values: first and last column, and the value.
function runs(columns, valueOf, use) {
  let start = 0;
  for (let i = 1; i <= columns.length; i++) {
    if (i === columns.length || valueOf(columns[i]).join() !== valueOf(columns[start]).join()) {
      use(start, i, valueOf(columns[start]));
      start = i;
    }
  }
}

function drawBroker(drawing, columns, lane, dx, scale) {
  runs(columns, bandOf, (from, to, [kind, words]) => {
    const width = (to - from) * dx;
    drawing.append(drawn("rect", {class: `band ${kind}`, x: from * dx, y: lane.top + 8, width, height: 18}));
    if (width > words.length * 6.2 + 8) drawing.append(drawn("text", {class: `band-words ${kind}`, x: from * dx + 6, y: lane.top + 21}, words));
  });
  runs(columns, column => [column.isCut && column.phase !== "down"], (from, to, [isCut]) => {
    if (isCut) drawing.append(drawn("rect", {class: "cut", x: from * dx, y: lane.top + 4, width: (to - from) * dx, height: 4}));
  });
  const bottom = lane.top + lane.height - 8;
  const y = offset => bottom - (offset - scale.from) / Math.max(1, scale.end - scale.from) * 46;
  let area = "", line = "";
  columns.forEach(({replica, phase}, at) => {
    if (!replica) { area += area && !area.endsWith("Z") ? `V${bottom}Z` : ""; return; }
    const hw = y(Math.min(replica.HW, replica.LEO)), leo = y(replica.LEO);
    const isFirst = !at || !columns[at - 1].replica;
    area += isFirst ? `M${at * dx} ${bottom}V${hw}H${(at + 1) * dx}` : `V${hw}H${(at + 1) * dx}`;
    line += isFirst ? `M${at * dx} ${leo}H${(at + 1) * dx}` : `V${leo}H${(at + 1) * dx}`;
  });
  if (area && !area.endsWith("Z")) area += `V${bottom}Z`;
  if (area) drawing.append(drawn("path", {class: "committed", d: area}), drawn("path", {class: "end", d: line}));
}

function middle(lane) {
  return LANES[lane].top + (typeof lane === "number" ? 37 : LANES[lane].height / 2);
}

function drawEvent(drawing, event, x) {
  const kind = `g${event.g}${event.m ? " milestone" : ""}`;
  if (event.b !== undefined && event.b !== event.a) {
    const from = middle(event.a), to = middle(event.b), tip = to > from ? -6 : 6;
    const isFault = event.g === 0 ? " fault" : "";
    drawing.append(drawn("path", {class: `way ${kind}${isFault}${event.answer ? " answer" : ""}`, d: `M${x} ${from}V${to}`}));
    if (!isFault) drawing.append(drawn("path", {class: `tip ${kind}`, d: `M${x} ${to}l-4 ${tip}h8z`}));
    return;
  }
  if (event.a === "network") {
    drawing.append(drawn("path", {class: `way ${kind} fault`, d: `M${x} 0V${lanesHeight}`}));
    return;
  }
  const y = middle(event.a);
  if (event.cut) drawing.append(drawn("path", {class: "truncation", d: `M${x} ${y + 9}l-8 -15h16z`}));
  else if (event.g === 0) drawing.append(drawn("path", {class: "dot fault", d: `M${x} ${y - 9}l9 9l-9 9l-9 -9z`}));
  else drawing.append(drawn("circle", {class: `dot ${kind}`, cx: x, cy: y, r: event.m ? 5.5 : 3}));
}

// Times below the lanes; where there is not room for all, those of the instants with the most events.
function drawTimes(drawing, shown, dx) {
  const instants = [];
  shown.forEach((number, at) => {
    const time = events[number].t;
    if (at && events[shown[at - 1]].t === time) instants[instants.length - 1].count++;
    else instants.push({x: at * dx, words: milliseconds(time), count: 1});
  });
  const taken = [];
  for (const {x, words} of instants.sort((one, other) => other.count - one.count || one.x - other.x)) {
    drawing.append(drawn("path", {class: "instant", d: `M${x} 0V${lanesHeight + 4}`}));
    const end = x + words.length * 6.5 + 10;
    if (taken.some(([from, to]) => x < to && end > from)) continue;
    taken.push([x, end]);
    drawing.append(drawn("text", {class: "time", x: x + 2, y: lanesHeight + 15}, words));
  }
}

// `shown` are the numbers of the events in view, `current` the one that is looked at.
function drawLanes(shown, current, partition, onPick, width) {
  const drawing = document.getElementById("drawing");
  drawing.setAttribute("viewBox", `0 0 ${width} ${lanesHeight + 20}`);
  drawing.style.height = `${lanesHeight + 20}px`;
  drawing.replaceChildren();
  if (!shown.length) return;
  const dx = width / shown.length;
  const columns = columnsOf(shown, partition);
  const replicas = columns.flat().map(column => column.replica).filter(Boolean);
  const end = Math.max(1, ...replicas.map(replica => replica.LEO));
  const start = Math.min(end - 1, ...replicas.map(replica => Math.min(replica.HW, replica.LEO)));
  const scale = {from: Math.max(0, start - Math.max(1, Math.round((end - start) / 3))), end};
  const at = shown.indexOf(current);
  if (at >= 0) drawing.append(drawn("rect", {class: "current", x: at * dx, y: 0, width: dx, height: lanesHeight + 4}));
  for (const lane of Object.keys(LANES)) {
    if (lane !== "network") drawing.append(drawn("path", {class: "rule", d: `M0 ${LANES[lane].top + LANES[lane].height}H${width}`}));
  }
  history_.brokers.forEach((broker, number) => drawBroker(drawing, columns.map(column => column[number]), LANES[broker], dx, scale));
  drawTimes(drawing, shown, dx);
  shown.forEach((number, place) => {
    const event = events[number];
    const column = drawn("g", {class: `column${number === current ? " now" : ""}`});
    column.append(drawn("rect", {class: "touch", x: place * dx, y: 0, width: dx, height: lanesHeight}));
    drawEvent(column, event, (place + 0.5) * dx);
    column.append(drawn("title", {}, `${milliseconds(event.t)}  ${event.place}  ${event.words}`));
    column.addEventListener("click", () => onPick(number));
    drawing.append(column);
  });
}
