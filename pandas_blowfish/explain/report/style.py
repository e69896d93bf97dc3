"""How a report looks: on a screen, light or dark, wide or narrow, and on paper. Only text."""

from __future__ import annotations

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
COLOURS = (  # of lines: 3:1 or more on light and on dark
    *("#3584d6", "#c96f14", "#2f9e5b", "#cf4b57", "#8b6bd6"),
    *("#9c7350", "#c760a8", "#75818d", "#97921c", "#1496a8"),
)

CSS = """
:root { color-scheme: light dark; --page: #ffffff; --text: #1c2126; --faint: #525c66; --line: #c4ccd4;
  --soft: #f2f5f7; --link: #0b57a4; --good: #166534; --bad: #b3150f; }
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #14181c; --text: #e4e8ec; --faint: #a9b4be; --line: #46505a; --soft: #1e242a;
    --link: #8dc1ff; --good: #7ee2a0; --bad: #ff9c92; }
  img.paper { background: #ffffff; } }
* { box-sizing: border-box; }
html { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
body { margin: 0 auto; padding: 1.5rem 1.25rem 3rem; max-width: 62rem; background: var(--page);
  color: var(--text); overflow-wrap: break-word; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; padding-top: .5rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 0 0 .25rem; }
p, ul, ol { margin: .5rem 0; max-width: 46rem; }
li { margin: .3rem 0; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { position: static; }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; max-width: none; }
.faint, footer { color: var(--faint); }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.alarm { border: 2px solid var(--bad); border-radius: .4rem; padding: .6rem .9rem; margin: .8rem 0; }
.alarm p { max-width: none; }
code, pre { font: .875em/1.45 ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; }
code { overflow-wrap: anywhere; }
pre { background: var(--soft); padding: .7rem .9rem; border-radius: .4rem; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; }
time { white-space: nowrap; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .6rem 0; font-size: .925rem; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .9rem .25rem 0; min-width: 3.5rem;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.number { white-space: normal; }
th { font-weight: 600; }
.facts th { white-space: nowrap; padding-right: 1.4rem; }
.facts td { overflow-wrap: anywhere; }
.bar { height: 1rem; max-width: 46rem; border: 1px solid var(--faint); border-radius: .25rem;
  overflow: hidden; }
.bar > div { height: 100%; background: var(--link); }
.bar.over > div { background: repeating-linear-gradient(45deg, var(--bad) 0 6px, transparent 6px 12px); }
article { margin: 1.2rem 0; padding: .9rem 1.1rem; border: 1px solid var(--line); border-radius: .5rem; }
figure { margin: .6rem 0; }
svg.chart, img.paper { display: block; width: 100%; max-width: 46rem; height: auto; }
svg.chart * { stroke-linejoin: round; stroke-linecap: butt; }
details { margin: .4rem 0; }
summary { cursor: pointer; color: var(--link); width: fit-content; }
footer { margin-top: 3rem; border-top: 2px solid var(--line); font-size: .9rem; }
@media print {
  @page { margin: 16mm 14mm; }
  html { font-size: 10pt; }
  pre { font-size: 7.5pt; line-height: 1.3; padding: .3rem .5rem; }
  body { max-width: none; padding: 0; }
  nav, .skip, .screen { display: none; }
  a { color: inherit; text-decoration: none; }
  article { border: 0; border-top: 1px solid var(--line); border-radius: 0; padding: .6rem 0; }
  h2, h3, caption, summary { break-after: avoid; }
  figure, svg.chart, img.paper, tr, .alarm { break-inside: avoid; }
  thead { display: table-header-group; }
  details::details-content { content-visibility: visible; block-size: auto; }
  summary { color: inherit; list-style: none; font-weight: 600; }
  .wide { overflow: visible; }
  th, td { padding-top: .12rem; padding-bottom: .12rem; }
}
"""
