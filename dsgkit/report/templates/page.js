"use strict";
// Clicking a header sorts a table by the column: ascending, descending, original order.
// Rows are sorted by numbers, those without a number last; else by text.
const NEXT = { ascending: "descending", descending: "none", none: "ascending" };
const sorted = (rows, column, sign) => {
  const value = (row) => row.cells[column].dataset.value;
  const text = (row) => row.cells[column].textContent.trim();
  const numeric = rows.some((row) => value(row) !== undefined);
  return [...rows].sort((a, b) => {
    if (!numeric) return sign * text(a).localeCompare(text(b), "en", { numeric: true });
    const missing = (value(a) === undefined) - (value(b) === undefined);
    return missing || value(a) === undefined ? missing : sign * (value(a) - value(b));
  });
};
document.querySelectorAll("table[data-sortable]").forEach((table) => {
  const rows = [...table.tBodies[0].rows];
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
      const sign = order === "ascending" ? 1 : -1;
      table.tBodies[0].append(...(order === "none" ? rows : sorted(rows, column, sign)));
    });
  });
});
