// The theme's toggles of the sidebar are an arrow alone: give each a name for those who hear the page.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("nav summary:not([aria-label])")) {
    const link = summary.closest("li")?.querySelector("a");
    if (link) summary.setAttribute("aria-label", `Pages under ${link.textContent.trim()}`);
  }
});
