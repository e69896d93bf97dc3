// The menu of versions: shown only where a list of them lies beside this version's folder.
document.addEventListener("DOMContentLoaded", async () => {
  const box = document.querySelector(".versions");
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  if (!box || !root.protocol.startsWith("http")) return;
  const listed = await fetch(new URL("../versions.json", root)).catch(() => null);
  if (!listed || !listed.ok) return;
  const own = root.pathname.replace(/\/$/, "").split("/").pop();
  const menu = box.querySelector("select");
  for (const version of await listed.json()) {
    menu.add(new Option(version, version, version === own, version === own));
  }
  menu.addEventListener("change", () => { location.href = new URL(`../${menu.value}/`, root); });
  box.hidden = false;
});
