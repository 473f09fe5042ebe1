// What a page shows, and where: put into every page before its own scripts. An element keeps its number while it lives.
(() => {
  const numbers = new WeakMap();
  const elements = new Map();
  let last = 0;
  const hidden = new Set();
  const SHAPES = ["circle", "rect", "polygon", "polyline", "line", "path", "ellipse", "text", "tspan"];
  const INTERACTIVE = "a,button,input,textarea,select,summary,[onclick],[role=button],[role=link],[role=tab],[role=menuitem],[role=checkbox],[contenteditable=true]";
  const SKIPPED = ["script", "style", "option", "optgroup", "head", "noscript", "template", "defs", "br"];
  const GEOMETRY = ["fill", "stroke", "points", "x1", "y1", "x2", "y2", "cx", "cy", "r"];

  const ref = (element) => {
    if (!numbers.has(element)) {
      numbers.set(element, ++last);
      elements.set(last, new WeakRef(element));
    }
    return numbers.get(element);
  };
  const found = (number) => {
    const element = elements.get(number)?.deref();
    return element && element.isConnected ? element : null;
  };
  const plain = (text) => text.replace(/\s+/g, " ").trim();
  const own = (element) => plain([...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join(" "));
  const named = (element) => plain(element.getAttribute("class") || "") || element.id || "";

  // The part of an element that its ancestors let be seen, or null.
  const clipped = (element, box) => {
    let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom];
    for (let e = element.parentElement; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (e === document.body || e === document.documentElement || style.overflow === "visible") continue;
      const outer = e.getBoundingClientRect();
      [left, top] = [Math.max(left, outer.left), Math.max(top, outer.top)];
      [right, bottom] = [Math.min(right, outer.right), Math.min(bottom, outer.bottom)];
    }
    return right - left > 0.5 && bottom - top > 0.5 ? { left, top, right, bottom } : null;
  };

  const shown = (element) => {
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility !== "visible" || Number(style.opacity) === 0) return null;
    const box = element.getBoundingClientRect();
    if (style.display === "contents" || (box.width < 1 && box.height < 1)) return null;
    return box;
  };

  const stateOf = (element, entry) => {
    if (element.disabled) entry.state.push("disabled");
    if (element.checked) entry.state.push("checked");
    if (element === document.activeElement && element !== document.body) entry.state.push("focused");
    for (const name of ["aria-expanded", "aria-selected", "aria-checked"]) {
      if (element.hasAttribute(name)) entry.state.push(name.slice(5) + "=" + element.getAttribute(name));
    }
    const style = getComputedStyle(element);
    const scrolls = element.scrollHeight > element.clientHeight + 1 && /auto|scroll/.test(style.overflowY);
    if (scrolls) entry.state.push("scrolled " + Math.round(element.scrollTop) + " of " + (element.scrollHeight - element.clientHeight));
    return scrolls;
  };

  const described = (element, tag, leaf, text, interactive) => {
    const label = element.getAttribute("aria-label") || element.getAttribute("placeholder") || element.getAttribute("title") || element.getAttribute("alt");
    const entry = { tag, text, state: [], kind: "", name: "", value: null, options: null, look: {} };
    if (tag === "input") entry.kind = element.type;
    if (interactive || tag === "img") entry.name = label || element.id || element.name || "";
    if (!entry.name && !text) entry.name = named(element);
    if (tag === "textarea" || (tag === "input" && !["checkbox", "radio", "button", "submit"].includes(element.type))) entry.value = element.value;
    if (tag === "input" && ["button", "submit"].includes(element.type)) entry.text = element.value || entry.text;
    if (tag === "select") entry.options = [...element.options].map((o) => [plain(o.textContent), o.selected]);
    if (SHAPES.includes(tag)) {
      for (const name of GEOMETRY) if (element.hasAttribute(name)) entry.look[name] = element.getAttribute(name);
    } else if (leaf && !text && !interactive) {
      const colour = getComputedStyle(element).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") entry.look.background = colour;
    }
    return entry;
  };

  const look = (most) => {
    const entries = [];
    let more = 0;
    const visit = (element) => {
      const tag = element.tagName.toLowerCase();
      if (SKIPPED.includes(tag) || hidden.has(element.id)) return;
      const style = getComputedStyle(element);
      if (style.display === "none") return;
      const box = shown(element);
      const leaf = element.childElementCount === 0;
      const interactive = element.matches(INTERACTIVE);
      let text = interactive ? plain(element.innerText || element.textContent || "") : own(element);
      if (["select", "textarea", "input"].includes(tag)) text = "";
      const graphic = SHAPES.includes(tag) || tag === "img" || tag === "canvas";
      const coloured = style.backgroundColor !== "rgba(0, 0, 0, 0)";
      const bare = leaf && (named(element) !== "" || style.backgroundImage !== "none" || coloured);
      const entry = box && element !== document.body && described(element, tag, leaf, text, interactive);
      if (entry) {
        const scrolls = stateOf(element, entry);
        if (interactive || text || graphic || bare || scrolls) {
          if (entries.length >= most) more += 1;
          else {
            entry.ref = ref(element);
            entry.place = [box.left + box.width / 2, box.top + box.height / 2, box.width, box.height].map((n) => Math.round(n) + 0);
            if (!clipped(element, box)) entry.state.push("out of view");
            entries.push(entry);
          }
        }
      }
      if (tag === "select") return;
      for (const child of element.children) visit(child);
    };
    if (document.body) visit(document.body);
    return { entries, more };
  };

  // Where to put the mouse for an element, after it was brought into view.
  const point = (number) => {
    const element = found(number);
    if (!element) return { why: "gone" };
    let box = shown(element);
    if (!box) return { why: "hidden" };
    const part = clipped(element, box);
    const inside = (b) => b && b.left >= 0 && b.top >= 0 && b.right <= innerWidth && b.bottom <= innerHeight;
    const whole = part && Math.abs(part.right - part.left - box.width) < 1 && Math.abs(part.bottom - part.top - box.height) < 1;
    if (!inside(part) || !whole) element.scrollIntoView({ block: "nearest", inline: "nearest" });
    box = [...element.getClientRects()].find((b) => b.width > 0 && b.height > 0) || element.getBoundingClientRect();
    const seen = clipped(element, box);
    if (!seen) return { why: "hidden" };
    const x = (seen.left + seen.right) / 2;
    const y = (seen.top + seen.bottom) / 2;
    const hit = document.elementFromPoint(x, y);
    if (!hit) return { why: "hidden" };
    const same = hit === element || element.contains(hit) || hit.contains(element) || [...(element.labels || [])].some((l) => l.contains(hit));
    return same ? { x, y } : { why: "covered", by: ref(hit) };
  };

  const choose = (number, wanted) => {
    const element = found(number);
    if (!element) return "gone";
    if (element.tagName !== "SELECT") return "no select";
    const options = [...element.options];
    const indices = wanted.map((w) => options.findIndex((o) => plain(o.textContent) === plain(w) || o.value === w));
    if (indices.includes(-1)) return "no option";
    if (wanted.length !== 1 && !element.multiple) return "one option";
    options.forEach((o, index) => { o.selected = indices.includes(index); });
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
    return null;
  };

  // Fields whose keyboard entry depends on the machine's locale are set whole, as a picker would.
  const WHOLE = ["date", "time", "datetime-local", "month", "week", "color", "range"];
  const fill = (number, text) => {
    const element = found(number);
    if (!element || element.tagName !== "INPUT" || !WHOLE.includes(element.type)) return "by keys";
    const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
    const before = element.value;
    setter.call(element, text);
    if (element.value !== text) {
      setter.call(element, before);
      return "no value";
    }
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
    return null;
  };

  const writable = (number) => {
    const element = found(number);
    if (!element) return "gone";
    if (element.isContentEditable) return null;
    const kinds = ["checkbox", "radio", "button", "submit", "file", "image", "reset"];
    const field = element.tagName === "TEXTAREA" || (element.tagName === "INPUT" && !kinds.includes(element.type));
    if (!field) return "no field";
    return element.disabled ? "disabled" : null;
  };

  const scroll = (number, by) => {
    const element = number === null ? document.scrollingElement : found(number);
    if (!element) return "gone";
    let e = element;
    const room = (x) => x.scrollHeight > x.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(x).overflowY);
    while (e && e !== document.scrollingElement && !room(e) && e.tagName !== "TEXTAREA") e = e.parentElement;
    (e || document.scrollingElement).scrollTop += by;
    return null;
  };

  const selection = () => {
    const e = document.activeElement;
    if (e && ["INPUT", "TEXTAREA"].includes(e.tagName) && e.selectionStart !== null) return e.value.slice(e.selectionStart, e.selectionEnd);
    return String(getSelection());
  };

  const hide = (ids) => ids.forEach((id) => {
    hidden.add(id);
    document.getElementById(id)?.setAttribute("aria-hidden", "true");
  });

  Object.defineProperty(window, "__palaestra", {
    value: { look, point, choose, fill, writable, scroll, selection, hide, ref: (n) => ref(n.nodeType === 1 ? n : n.parentElement) },
  });
})();
