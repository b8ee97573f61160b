"use strict";
document.documentElement.classList.add("js");
for (const form of document.querySelectorAll("form[data-filter]")) {
  const items = [...form.parentElement.querySelectorAll("." + form.dataset.filter)];
  const texts = items.map((item) => item.textContent.toLowerCase());
  const field = form.querySelector("input[type=search]");
  const ticks = [...form.querySelectorAll("input[type=checkbox]")];
  const told = form.querySelector("output");
  const apply = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(ticks.filter((tick) => tick.checked).map((tick) => tick.value));
    let shown = 0;
    items.forEach((item, at) => {
      const fits = words.every((word) => texts[at].includes(word));
      item.hidden = !fits || (ticks.length > 0 && !wanted.has(item.dataset.status));
      shown += item.hidden ? 0 : 1;
    });
    told.textContent = shown === items.length ? "" : shown + " of " + items.length;
    if (words.length) {
      for (const item of items) {
        const around = item.parentElement.closest("details");
        if (!item.hidden && around) around.open = true;
      }
    }
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
}
