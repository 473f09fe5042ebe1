"use strict";
// Blocks that a page is built of: elements, numbers in words, JSON and long text. They know nothing of episodes.
// Data enters the document as text nodes, or as values of attributes that the code names.

const LONG = 24; // lines of text that are shown before the rest is folded away

const byId = (id) => document.getElementById(id);

function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const number = (value) => String(Math.round(value * 1000) / 1000).replace("-", "−");
const signed = (value) => (value > 0 ? "+" : "") + number(value);
const tone = (value) => (value > 0 ? "good" : value < 0 ? "bad" : "flat");

function duration(seconds) {
  const parts = [[Math.floor(seconds / 86400), "d"], [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"], [seconds % 60, "s"]];
  return parts.filter(([value]) => value).map(([value, unit]) => `${value} ${unit}`).join(" ") || "0 s";
}

// Indented JSON in which whatever fits on a line stays on one.
function pretty(value, indent = "") {
  const flat = JSON.stringify(value, null, 1).replace(/\n */g, " ");
  if (value === null || typeof value !== "object" || flat.length + indent.length <= 84) return flat;
  const inner = indent + "  ";
  const rows = Array.isArray(value)
    ? value.map((item) => inner + pretty(item, inner))
    : Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${pretty(item, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${rows.join(",\n")}\n${indent}${close}`;
}

// JSON in spans; a line's end within a string also ends the line here, so that prose can be read.
function coloured(json) {
  const tokens = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|true|false|null/g;
  const parts = [];
  let end = 0;
  for (const match of json.matchAll(tokens)) {
    const kind = match[2] ? "key" : match[1] ? "string" : "literal";
    const token = (match[1] ?? match[0]).replace(/\\(.)/g, (escape, letter) => (letter === "n" ? "\\n\n" : escape));
    parts.push(json.slice(end, match.index), h("span", { class: `json-${kind}` }, token), match[2]);
    end = match.index + match[0].length;
  }
  return [...parts, json.slice(end)];
}

function json(value) {
  const block = h("pre", { class: "data" }, coloured(pretty(value)));
  return folded(block.textContent, block);
}

// A message's content: as JSON when it is an object or a list, else as the text that it is.
function content(text) {
  try {
    const value = JSON.parse(text);
    if (value !== null && typeof value === "object") return json(value);
  } catch { /* text */ }
  return folded(text, h("pre", { class: "prose" }, text));
}

// A text in parts, each of the needles marked where it first stands.
function marked(text, needles) {
  const places = needles.map((needle) => [text.indexOf(needle), needle]).filter(([place]) => place >= 0);
  const parts = [];
  let end = 0;
  for (const [place, needle] of places.sort(([one], [other]) => one - other)) {
    if (place < end) continue; // the same element once more
    parts.push(text.slice(end, place), h("mark", {}, needle));
    end = place + needle.length;
  }
  return [...parts, text.slice(end)];
}

function folded(text, block) {
  const lines = sum(text.split("\n").map((line) => Math.max(1, Math.ceil(line.length / 100))));
  if (lines <= LONG) return block;
  const box = h("div", { class: "fold closed" }, block);
  const button = h("button", { type: "button", class: "link", onclick: () => label(box.classList.toggle("closed")) });
  const label = (closed) => { button.textContent = closed ? `Show all ${plural(lines, "line")}` : "Show less"; };
  label(true);
  box.append(button);
  return box;
}

function message(entry) {
  const name = entry.name ? `${entry.role} · ${entry.name}` : entry.role;
  return h("article", { class: `message ${entry.role}` }, h("h4", {}, name), content(entry.content), images(entry));
}

function images(entry) {
  return (entry.images ?? []).map((source) => h("img", { src: source, alt: `Image in the answer of ${entry.name ?? entry.role}` }));
}

function section(title, ...children) {
  return h("section", { class: "block" }, h("h3", {}, title), children);
}

const badge = (text, kind) => h("span", { class: `badge ${kind}` }, text);
