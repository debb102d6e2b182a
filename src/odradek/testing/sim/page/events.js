// The list of events, of which only the rows in sight exist, and the details of one of them.

const ROW = 23;
const PRINTED_MAX = 600;

function row(number, current, top) {
  const event = events[number];
  const made = element(
    "div", {class: `event g${event.g}${event.m ? " milestone" : ""}${event.cut ? " truncated" : ""}${number === current ? " now" : ""}`, style: `top:${top}px`, "data-number": number},
    element("span", {class: "at"}, milliseconds(event.t)), element("span", {class: "dot"}),
    element("span", {class: "place"}, event.place), element("span", {class: "words"}, event.words));
  made.title = event.words;
  return made;
}

// `isPrinted`: not only the rows in sight.
function showRows(visible, current, isPrinted) {
  const box = document.getElementById("events"), rows = document.getElementById("rows");
  const place = visible.indexOf(current);
  let from = Math.floor(box.scrollTop / ROW) - 5, to = from + Math.ceil(box.clientHeight / ROW) + 10;
  if (isPrinted) { from = Math.max(0, place - PRINTED_MAX / 2); to = from + PRINTED_MAX; }
  from = Math.max(0, from);
  const found = visible.slice(from, to).map((number, at) => row(number, current, (from + at) * ROW));
  rows.style.height = `${visible.length * ROW}px`;
  rows.replaceChildren(...found);
}

function scrollToRow(place) {
  const box = document.getElementById("events");
  const top = place * ROW;
  if (top < box.scrollTop + ROW || top > box.scrollTop + box.clientHeight - 2 * ROW) {
    box.scrollTop = top - box.clientHeight / 2;
  }
}

function keyWords(key) {
  const [kind, broker, partition] = key.split("/");
  if (kind === "replica") return `${history_.partitions[partition]} on broker ${broker}`;
  if (kind === "stored") return `${history_.partitions[broker]} in the metadata store`;
  return broker === undefined ? kind : `${kind} ${broker}`;
}

function shownValue(name, value) {
  if (name === "epochs") return value.map(([epoch, start]) => `${epoch} from ${start}`).join(", ") || "none";
  if (name === "cuts") return value.map(([a, b]) => `${a} → ${b}`).join(", ") || "none";
  if (Array.isArray(value)) return value.join(",") || "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === "" ? "none" : String(value);
}

// What an event changes: each field with its value before and after.
function changeTable(number) {
  const event = events[number];
  const before = stateAfter(number - 1);
  const table = element("table", {});
  for (const [key, after] of Object.entries(event.x || {})) {
    const was = before.get(key) || {};
    const fields = Object.keys(after || was);
    const changed = fields.filter(name => JSON.stringify(was[name]) !== JSON.stringify((after || {})[name]));
    if (!changed.length) continue;
    table.append(element("tr", {}, element("th", {colspan: 3}, keyWords(key))));
    for (const name of changed) {
      const old = was[name] === undefined ? "" : shownValue(name, was[name]);
      const now = after === null ? "gone" : shownValue(name, after[name]);
      table.append(element("tr", {}, element("td", {}, name), element("td", {class: "old"}, old), element("td", {}, now)));
    }
  }
  return table;
}

// Of a truncation: the two logs just before it, with the records that go.
function truncationPicture(number) {
  const [key, after] = Object.entries(events[number].x)[0];
  const [, broker, partition] = key.split("/").map(Number);
  const state = stateAfter(number - 1);
  const span = logSpan(state, partition);
  const box = element("div", {class: "logs"});
  const show = (other, words, gone) => {
    const replica = replicaOf(state, other, partition);
    if (replica) box.append(element("span", {}, `broker ${other}, ${words}`), logPicture(replica, span, gone));
  };
  show(broker, "before it", after.LEO);
  if (after.leader >= 0) show(after.leader, `leader in epoch ${after.epoch}`, Infinity);
  const seen = new Set([broker, after.leader].flatMap(other => (replicaOf(state, other, partition) || {epochs: []}).epochs.map(([epoch]) => epoch)));
  const legend = element("div", {class: "key"});
  for (const epoch of [...seen].sort((one, other) => one - other)) {
    const swatch = drawn("svg", {width: 12, height: 12});
    swatch.append(drawn("rect", {class: `epoch${epoch % EPOCH_COLOURS}`, width: 12, height: 12, rx: 2}));
    legend.append(swatch, `epoch ${epoch}`);
  }
  return element("div", {}, box, legend);
}

function showDetails(number, onPick) {
  const box = document.getElementById("details");
  box.replaceChildren();
  if (number < 0) return;
  const event = events[number];
  box.append(element("p", {class: "quiet"}, `${milliseconds(event.t)} · ${event.place} · ${history_.groups[event.g]}`));
  box.append(element("h2", {}, event.words));
  const details = (event.details || []).filter(line => !event.words.includes(line));
  if (details.length) box.append(element("ul", {}, ...details.map(line => element("li", {}, line))));
  if (event.cut) box.append(truncationPicture(number));
  box.append(changeTable(number));
  for (const [words, other] of event.links || []) {
    const link = element("button", {type: "button", class: "link"}, `${words}: ${events[other].place}, ${events[other].words}`);
    link.addEventListener("click", () => onPick(other));
    box.append(link);
  }
}
