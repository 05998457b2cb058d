// One key for each control that names it in `aria-keyshortcuts`; what is typed into a field stays there.
// A key counts once for a page: what follows quickly is not meant for the record that comes next.
let pressed = false;
addEventListener("pageshow", () => { pressed = false; });
addEventListener("keydown", (event) => {
  const field = event.target.closest("input, select, textarea");
  if (field && event.key === "Escape") field.blur();
  if (field || event.ctrlKey || event.altKey || event.metaKey || event.repeat || pressed) return;
  // Of a keyboard without Latin letters, the key in the same place.
  const key = /^[\x21-\x7e]$/.test(event.key) ? event.key.toLowerCase() : event.code.replace(/^Key/, "").toLowerCase();
  const control = document.querySelector(`[aria-keyshortcuts="${CSS.escape(key)}"]`);
  if (!control) return;
  event.preventDefault();
  pressed = true;
  control.click();
});
