"use strict";
// The history, and the state of the cluster after each event.

const history_ = JSON.parse(document.getElementById("history").textContent);
const events = history_.events;
const KEYFRAME_EVERY = 256;
const keyframes = [];  // the state before event 0, 256, 512, ...

function applied(state, event) {
  for (const [key, value] of Object.entries(event.x || {})) {
    if (value === null) state.delete(key); else state.set(key, value);
  }
  return state;
}

(function makeKeyframes() {
  let state = new Map(Object.entries(history_.base));
  events.forEach((event, number) => {
    if (number % KEYFRAME_EVERY === 0) keyframes.push(new Map(state));
    applied(state, event);
  });
  if (!keyframes.length) keyframes.push(state);
})();

// The state after event `number`; -1: before all of them.
function stateAfter(number) {
  const frame = Math.floor(Math.max(0, number) / KEYFRAME_EVERY);
  const state = new Map(keyframes[frame]);
  for (let i = frame * KEYFRAME_EVERY; i <= number; i++) applied(state, events[i]);
  return state;
}

function isIsolated(state, broker) {
  const network = state.get("network");
  return network.isolated.includes(broker);
}

// The places to or from which nothing passes, as seen from a broker.
function cutFrom(state, broker) {
  const found = new Set();
  for (const [a, b] of state.get("network").cuts) {
    if (a === broker) found.add(b);
    if (b === broker) found.add(a);
  }
  return [...found].sort();
}

function isCutFromStore(state, broker) {
  return state.get("network")["cut from the store"].includes(broker);
}

function milliseconds(ms) {
  return ms.toString().replace(/\B(?=(\d{3})+$)/g, ",") + " ms";
}

function element(name, attributes, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

function drawn(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}
