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
  const page = location.pathname.slice(root.pathname.length);
  menu.addEventListener("change", async () => {
    const other = new URL(`../${menu.value}/`, root);
    const same = await fetch(new URL(page, other), { method: "HEAD" }).catch(() => null);
    location.href = same && same.ok ? new URL(page, other) : other; // a page may be newer than that version
  });
  box.hidden = false;
});
