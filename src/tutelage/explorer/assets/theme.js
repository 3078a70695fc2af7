// Light or dark: as the system says, until someone chooses; and buttons that copy.
{
  const root = document.documentElement;
  const remembered = () => {
    try {
      return localStorage.getItem("tutelage-theme");
    } catch {
      return null; // a browser that keeps nothing for pages on disk
    }
  };
  if (remembered()) root.dataset.theme = remembered();

  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

  function label(button) {
    button.textContent = isDark() ? "Light" : "Dark";
    button.title = `Show this page ${isDark() ? "light" : "dark"}`;
  }

  function copy(text) {
    const byHand = () => {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    };
    // Pages on disk may not be allowed to use the clipboard.
    return navigator.clipboard ? navigator.clipboard.writeText(text).catch(byHand) : Promise.resolve(byHand());
  }

  // Shows on a button, for a moment, that it has copied.
  async function copyFrom(button, text) {
    await copy(text);
    button.dataset.label ??= button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = button.dataset.label), 1200);
  }

  addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("button.theme")) {
      label(button);
      button.addEventListener("click", () => {
        root.dataset.theme = isDark() ? "light" : "dark";
        try {
          localStorage.setItem("tutelage-theme", root.dataset.theme);
        } catch {
          // chosen for this page only
        }
        label(button);
        dispatchEvent(new Event("themechange"));
      });
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
  globalThis.tutelageTheme = { copyFrom };
}
