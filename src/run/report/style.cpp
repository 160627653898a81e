// How a report looks: one palette, light and dark, on telephones, screens and paper.
#include "run/report/html.hpp"

namespace dpmpi::html {

// k0 to k7 are the colours of runs: told apart by the colour-blind, and on either ground.
const std::string_view style = R"(
:root { color-scheme: light dark; --ink: #1c2530; --soft: #5a6675; --line: #d5dbe3; --ground: #fff; --raised: #f4f6f9;
  --loud: #b3121d; --loud-ground: #fdecec;
  --k0: #0b62b0; --k1: #c2500a; --k2: #16805a; --k3: #8a3fa8; --k4: #a07400; --k5: #c01f62; --k6: #007f96; --k7: #5c6b1d; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #a3aebc; --line: #38424f; --ground: #14181d;
  --raised: #1e242c; --loud: #ff8a8a; --loud-ground: #3d1a1d;
  --k0: #6db3f2; --k1: #f0935a; --k2: #5cc79b; --k3: #cf97ea; --k4: #dcb74a; --k5: #f285b1; --k6: #5dc8db; --k7: #b5c468; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 62em;
  margin: 2em auto 4em; padding: 0 1em; overflow-wrap: anywhere; }
h1 { font-size: 1.7em; line-height: 1.2; margin: 0; } .under { color: var(--soft); margin: 0.3em 0 1.5em; }
h2 { font-size: 1.25em; margin: 2.2em 0 0.6em; padding-top: 0.8em; border-top: 1px solid var(--line); }
h3 { font-size: 1em; margin: 1.2em 0 0.3em; } p { margin: 0.6em 0; max-width: 46em; }
.soft, figcaption, summary { color: var(--soft); } blockquote { margin: 0.8em 0; padding-left: 1em;
  border-left: 3px solid var(--line); color: var(--soft); max-width: 46em; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(13em, 1fr)); gap: 1em; margin: 1.2em 0; }
.tile { background: var(--raised); border-radius: 8px; padding: 0.9em 1.1em; } .tile p { margin: 0; }
.tile b { font-size: 2.3em; line-height: 1.15; font-weight: 650; color: var(--k0); overflow-wrap: normal; }
.tile span { font-weight: 600; } .tile p + p { color: var(--soft); font-size: 0.9em; margin-top: 0.3em; }
.alarm { background: var(--loud-ground); border-left: 6px solid var(--loud); padding: 0.7em 1em; max-width: none; }
.alarm b { color: var(--loud); font-size: 1.4em; line-height: 1.2; }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22em), 1fr)); gap: 1em 2.5em; align-items: start; }
table { border-collapse: collapse; margin: 0.8em 0; font-size: 0.94em; }
td, th { padding: 0.25em 1.2em 0.25em 0; text-align: left; vertical-align: top; }
th { font-weight: 600; border-bottom: 1px solid var(--soft); } tr + tr td { border-top: 1px solid var(--line); }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.facts td:first-child { color: var(--soft); min-width: 8.5em; } .grid-of td, .grid-of th { padding: 0.2em 0.35em; text-align: right; font-size: 0.9em;
  font-variant-numeric: tabular-nums; white-space: nowrap; border: 1px solid var(--line); }
.bar { width: 100%; max-width: 34em; } .bar td:last-child { width: 45%; padding-right: 0; } .bar i { display: block; height: 0.8em; margin-top: 0.3em;
  border-radius: 2px; background: var(--k0); } .bar i.minus { background: var(--k1); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22em), 1fr)); gap: 1em 2em; margin: 1em 0; }
figure { margin: 0; max-width: 34em; } figcaption { font-weight: 600; font-size: 0.9em; } svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif; } .grid { stroke: var(--line); } .axis { stroke: var(--soft); }
polyline, .key line { fill: none; stroke: currentColor; stroke-width: 2.2; stroke-linejoin: round; } circle { fill: currentColor; }
.k0 { color: var(--k0); } .k1 { color: var(--k1); } .k2 { color: var(--k2); } .k3 { color: var(--k3); } .k4 { color: var(--k4); }
.k5 { color: var(--k5); } .k6 { color: var(--k6); } .k7 { color: var(--k7); } .d1 { stroke-dasharray: 7 3; } .d2 { stroke-dasharray: 2 3; }
.ref { color: var(--soft); stroke-dasharray: 5 4; } .key { display: flex; flex-wrap: wrap; gap: 0.1em 1.2em; font-size: 0.85em; }
.key svg { display: inline-block; width: 26px; height: 10px; margin-right: 0.4em; }
img { image-rendering: pixelated; max-width: 100%; width: 30em; }
.wide { overflow-x: auto; }
@media screen and (max-width: 600px) { body { margin-top: 1em; } .grid-of td, .grid-of th { padding: 0.15em 0.2em; font-size: 0.72em; }
  .stacks tr { display: block; padding: 0.5em 0; border-top: 1px solid var(--line); } .stacks tr:first-child { display: none; }
  .stacks td { display: block; border: 0 !important; padding: 0.1em 0; text-align: left !important; white-space: normal !important; }
  .stacks td:first-child { font-weight: 600; } .stacks td[data-name]::before { content: attr(data-name) ": "; color: var(--soft); } }
@media print { body { max-width: none; margin: 0; font-size: 10.5pt; } h2, h3, figcaption { break-after: avoid; }
  svg, img, tr, .tile, .alarm, .key, figure { break-inside: avoid; } .tile, .alarm { border: 1px solid var(--line); }
  .tiles { grid-template-columns: repeat(4, 1fr); gap: 0.6em; } .tile { padding: 0.6em; } .tile b { font-size: 1.7em; }
  .beside, .plots { grid-template-columns: 1fr 1fr; } .beside .plots { grid-template-columns: 1fr; } }
)";

}  // namespace dpmpi::html
