"use strict";
(() => {
  // Rows are sorted by the numbers of a column, those without a number last; else by text.
  const sorted = (rows, column, direction) => {
    const value = (row) => row.cells[column].dataset.value;
    const text = (row) => row.cells[column].textContent.trim();
    const numeric = rows.some((row) => value(row) !== undefined);
    return [...rows].sort((a, b) => {
      if (!numeric) return direction * text(a).localeCompare(text(b), "en", { numeric: true });
      const missing = (value(a) === undefined) - (value(b) === undefined);
      if (missing || value(a) === undefined) return missing;
      return direction * (value(a) - value(b));
    });
  };

  // Ascending, descending, original order.
  const NEXT = { ascending: "descending", descending: "none", none: "ascending" };
  const DIRECTION = { ascending: 1, descending: -1 };

  const makeSortable = (table) => {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const headers = [...table.tHead.rows[0].cells];
    headers.forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      header.ariaSort = "none";
      button.addEventListener("click", () => {
        const order = NEXT[header.ariaSort];
        headers.forEach((other) => { other.ariaSort = "none"; });
        header.ariaSort = order;
        body.append(...(order === "none" ? rows : sorted(rows, column, DIRECTION[order])));
      });
    });
  };

  const select = (element) => getSelection().selectAllChildren(element);

  const addCopyButton = (command) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    const code = command.querySelector("code");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      } catch {
        select(code); // without access to the clipboard, select the text for the keyboard
      }
    });
    command.append(button);
  };

  // Open all details for printing, except the long config, which has its own file.
  const openForPrint = () => {
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not([open]):not(.source)")];
      closed.forEach((details) => { details.open = true; });
    });
    addEventListener("afterprint", () => closed.forEach((details) => { details.open = false; }));
  };

  // Mark the frame of a table that is wider than the window.
  const markOverflow = () => {
    document.querySelectorAll(".scroll").forEach((frame) => {
      frame.classList.toggle("overflows", frame.scrollWidth > frame.clientWidth + 1);
    });
  };

  document.querySelectorAll("details").forEach((one) => one.addEventListener("toggle", markOverflow));
  addEventListener("resize", markOverflow);
  document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
  document.querySelectorAll(".command").forEach(addCopyButton);
  openForPrint();
  markOverflow();
})();
