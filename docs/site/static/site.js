// A button that copies an example: of a console only what was typed, not what it answered.
"use strict";

function typed(block) {
  const text = block.querySelector("pre").innerText;
  if (!block.closest(".highlight-console")) return text;
  const lines = text.split("\n").filter((line) => line.startsWith("$ "));
  return lines.map((line) => line.slice(2)).join("\n");
}

function addCopyButton(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(typed(block));
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.append(button);
}

document.addEventListener("DOMContentLoaded", () => {
  if (!navigator.clipboard) return;  // a page that was opened over plain HTTP from elsewhere
  for (const block of document.querySelectorAll("article [class*=highlight-] .highlight")) {
    addCopyButton(block);
  }
});
