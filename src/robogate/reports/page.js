"use strict";
/* Compares two rows in the reader's own browser: contract, and outcomes on the same scenarios. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const area = document.getElementById("comparison");
  const pickers = ["a", "b"].map((name) => document.getElementById("pick-" + name));
  const rows = new Map(data.rows.map((row) => [row.bundle, row]));

  const make = (tag, content, kind) => {
    const node = document.createElement(tag);
    if (kind) node.className = kind;
    if (content !== undefined) node.textContent = content;
    return node;
  };

  /* Leaves of a JSON value by path; arrays as a whole where their lengths differ. */
  const changes = (a, b, path, found) => {
    const both = (test) => test(a) && test(b);
    const object = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
    if (both(object)) {
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
        changes(a[key], b[key], path + "." + key, found);
      }
    } else if (both(Array.isArray) && a.length === b.length) {
      a.forEach((item, i) => changes(item, b[i], path + "[" + i + "]", found));
    } else if (JSON.stringify(a) !== JSON.stringify(b)) {
      found.push([path, a, b]);
    }
    return found;
  };

  const contract = (row) => ({ ...data.arenas[row.arena].contract, adapter: row.adapter });
  /* Characters that show nothing, or turn the direction of writing, are shown as what they are. */
  const odd = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
  const escaped = (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0");
  const shown = (value) =>
    value === undefined ? "absent" : JSON.stringify(value).replace(odd, escaped);
  const apart = (path) => !path.startsWith("contract.adapter.") || data.classes.includes(path);

  /* Exact two-sided McNemar test: discordant pairs as throws of a fair coin. */
  const mcnemar = (x, y) => {
    const n = x + y;
    let term = Math.pow(0.5, n);
    let tail = 0;
    for (let i = 0; i <= Math.min(x, y); i += 1) {
      tail += term;
      term *= (n - i) / (i + 1);
    }
    return Math.min(1, 2 * tail);
  };

  const paired = (a, b) => {
    const count = { both: 0, a: 0, b: 0, neither: 0, left: 0 };
    a.outcomes.forEach((outcome, i) => {
      const other = b.outcomes[i];
      if (outcome === "error" || other === "error") count.left += 1;
      else if (outcome === "success") count[other === "success" ? "both" : "a"] += 1;
      else count[other === "success" ? "b" : "neither"] += 1;
    });
    return count;
  };

  const table = (head, body) => {
    const node = make("table", undefined, "diff");
    node.setAttribute("role", "table");
    const line = (cells, tag, kind) => {
      const row = make("tr", undefined, kind);
      row.setAttribute("role", "row");
      cells.forEach((cell, i) => {
        const one = make(tag, cell);
        one.setAttribute("role", tag === "th" ? "columnheader" : "cell");
        if (tag === "td" && i > 0) one.dataset.label = head[i];
        row.append(one);
      });
      return row;
    };
    const top = make("thead");
    const rest = make("tbody");
    for (const part of [top, rest]) part.setAttribute("role", "rowgroup");
    top.append(line(head, "th"));
    rest.append(...body.map(([cells, kind]) => line(cells, "td", kind)));
    node.append(top, rest);
    return node;
  };

  const show = () => {
    const [a, b] = pickers.map((picker) => rows.get(picker.value));
    area.replaceChildren();
    if (!a || !b) return;
    if (a === b) {
      area.append(make("p", "Choose two different rows."));
      return;
    }
    const found = changes(contract(a), contract(b), "contract", []);
    const by = found.filter(([path]) => apart(path)).map(([path]) => path);
    const same = a.arena === b.arena;
    const comparable = same && by.length === 0;
    const why = by.length ? ", by " + by.join(", ") : ": harness or image differ";
    area.append(
      make(
        "p",
        comparable ? "The scores may be compared." : "The scores may not be compared" + why + ".",
        "verdict " + (comparable ? "yes" : "no"),
      ),
    );
    if (comparable) {
      const n = paired(a, b);
      const p = mcnemar(n.a, n.b);
      area.append(make("h3", "Outcomes on the same scenarios"));
      area.append(
        make(
          "p",
          "Both succeed in " + n.both + ", only A in " + n.a + ", only B in " + n.b +
            ", neither in " + n.neither + (n.left ? "; " + n.left + " left out" : "") +
            ". Exact McNemar p = " + (p < 0.001 ? p.toExponential(1) : p.toFixed(3)) + ".",
        ),
      );
    }
    area.append(make("h3", "Contract"));
    area.append(
      found.length
        ? table(
            ["Field", "A", "B"],
            found.map(([path, x, y]) => [[path, shown(x), shown(y)], apart(path) ? "decisive" : ""]),
          )
        : make("p", "The contracts are equal."),
    );
  };

  pickers.forEach((picker) => picker.addEventListener("change", show));
  show();
})();
