"""The style sheet of the report: light or dark as the reader's system is, for phones, large screens and paper."""

from __future__ import annotations

from importlib.resources import files

_PICTURES = files("leaguekit.web").joinpath("static", "pictures.css").read_text("utf-8")
STYLE = (
    """
:root{color-scheme:light dark;--paper:#fff;--sheet:#f5f6f8;--ink:#1c2128;--soft:#57606a;--rule:#d8dee4;--link:#0a5fb4;
--won:#d9f2e1;--drew:#eceff3;--lost:#fbe3e0;--mark:#fff3c4;--other:#c3cad2;
--c1:#0a6fb8;--c2:#b84a08;--c3:#0a7a57;--c4:#a8457e;--c5:#8a5f00;--c6:#5b52b5}
@media (prefers-color-scheme:dark){:root{--paper:#12161b;--sheet:#1a2027;--ink:#e4e9ee;--soft:#9aa6b2;--rule:#303943;
--link:#76b7f5;--won:#153d28;--drew:#27303a;--lost:#4a2320;--mark:#4a4010;--other:#46515d;
--c1:#5cb2f0;--c2:#f0915a;--c3:#4ccfa2;--c4:#e58bc0;--c5:#e0b34a;--c6:#a9a1f5}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0 auto;max-width:72rem;padding:1.5rem 1rem 4rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
h1{font-size:1.7rem;line-height:1.2;margin:.2rem 0;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2.6rem 0 .6rem;padding-top:.2rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.4rem 0 .3rem}
p{margin:.5rem 0;max-width:48rem}
a{color:var(--link)}
.soft,caption{color:var(--soft)}
.small{font-size:.85rem}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:.8rem 0}
.champion{font-size:1.25rem;margin:1rem 0 .2rem}
.meaning{background:var(--sheet);border-left:4px solid var(--c1);border-radius:.3rem;padding:.5rem 1rem;margin:1rem 0}
.wide{overflow-x:auto;-webkit-overflow-scrolling:touch}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
caption{text-align:left;font-size:.85rem;padding:.3rem 0}
th,td{padding:.28rem .55rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}
thead th{color:var(--soft);font-weight:600;font-size:.85rem;white-space:nowrap;vertical-align:bottom}
.n{text-align:right}
.who{max-width:22rem;min-width:6.5rem;overflow-wrap:anywhere}
.id{color:var(--soft);font-size:.85em;white-space:nowrap}
.up{color:var(--c3)}.down{color:var(--c2)}
s{text-decoration:none}
.points{font-weight:700}
.standings{width:100%}
.scale{min-width:9rem;width:22%}
.scale span{display:flex;justify-content:space-between;font-weight:400}
svg.bar{display:block;width:100%;height:1.5em}
svg path{fill:none;stroke:currentColor}
.bar path{vector-effect:non-scaling-stroke}
.bar .zero{stroke:var(--rule);stroke-width:1.5px}.bar .interval{stroke:var(--c1);stroke-width:4px;opacity:.45}
.bar .at{stroke:var(--c1);stroke-width:4px}
svg.chart{display:block;width:100%;min-width:22rem;height:auto}
.chart .grid{stroke:var(--rule)}
.chart .tick{fill:var(--soft);font-size:12px}
.chart .line{fill:none;stroke-width:2.5px;stroke-linejoin:round}
.chart .other{stroke:var(--other);stroke-width:1px}
.chart .label{font-size:13px;font-weight:600}
.line.c1{stroke:var(--c1)}.line.c2{stroke:var(--c2)}.line.c3{stroke:var(--c3)}
.line.c4{stroke:var(--c4)}.line.c5{stroke:var(--c5)}.line.c6{stroke:var(--c6)}
.label.c1{fill:var(--c1)}.label.c2{fill:var(--c2)}.label.c3{fill:var(--c3)}
.label.c4{fill:var(--c4)}.label.c5{fill:var(--c5)}.label.c6{fill:var(--c6)}
.cross{font-size:.85rem}
.cross th,.cross td{padding:.12rem .3rem;text-align:center;border:1px solid var(--rule);white-space:nowrap}
.cross tbody th{position:sticky;left:0;background:var(--paper);text-align:left;z-index:1}
.cross tbody th bdi{display:inline-block;max-width:9rem;overflow:hidden;text-overflow:ellipsis;vertical-align:bottom}
.cross td a{color:inherit;text-decoration:none;padding:0 .15rem}
.cross td a:hover,.cross td a:focus{text-decoration:underline}
.w{background:var(--won)}.d{background:var(--drew)}.l{background:var(--lost)}.self{background:var(--sheet)}
.matches{width:100%;table-layout:fixed}
.matches td:nth-child(1),.matches th:nth-child(1){width:5.5rem}
.matches td:nth-child(2),.matches th:nth-child(2){width:34%}
.matches td:nth-child(3),.matches th:nth-child(3){width:4rem}
.matches td{overflow-wrap:anywhere}
.matches tr:target td{background:var(--mark)}
.matches .winner{font-weight:700}
summary{cursor:pointer;color:var(--link);font-size:.85rem;width:max-content;max-width:100%}
.round{border-bottom:1px solid var(--rule);padding:.3rem 0}
.round>summary{font-size:1rem;width:auto}
.round h3{display:inline;margin:0 .6rem 0 0}
pre{margin:.3rem 0;padding:.5rem .7rem;background:var(--sheet);border-radius:.3rem;overflow-x:auto;
font:.78rem/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.drawn{display:flex;gap:.7rem;align-items:flex-start}
.drawn>div{flex:1;min-width:0}
.drawn .picture{width:min-content;min-width:6rem;font-size:.8rem}.drawn .picture svg{max-width:12rem}
.stages{display:grid;grid-auto-flow:column;grid-auto-columns:minmax(11rem,1fr);gap:1rem}
.stages section{display:flex;flex-direction:column}
.stages ol{flex:1;display:flex;flex-direction:column;justify-content:space-around;list-style:none;margin:0;padding:0}
.stages li{border:1px solid var(--rule);border-radius:.3rem;padding:.15rem .5rem;margin:.2rem 0}
.stages li p{margin:0;display:flex;gap:.4rem}
.stages li span:first-child{flex:1;min-width:0;overflow-wrap:anywhere}
.stages li a{text-decoration:none;color:inherit}
.opponents{list-style:none;margin:.5rem 0;padding:0;columns:14rem;column-gap:1.5rem}
.opponents li{display:flex;gap:.6rem;break-inside:avoid}
.opponents span:first-child{flex:1;min-width:0;overflow-wrap:anywhere}
.stages .winner{font-weight:700;background:var(--won)}
footer{margin-top:3rem;border-top:1px solid var(--rule);color:var(--soft);font-size:.85rem}
footer h2{border:0;margin-top:1rem;color:var(--ink)}
@media (max-width:40rem){body{padding:1rem .7rem 3rem;font-size:15px}h1{font-size:1.3rem}.less,s{display:none}
.chart .tick,.chart .label{font-size:20px}
th,td{padding:.25rem .22rem}.standings td:nth-child(2){font-size:.75rem;padding:.4rem 0 0}
.matches,.matches tbody,.matches tr,.matches td{display:block;width:auto!important;border:0;padding:.1rem 0}
.stages,.stages ol{display:block}
.matches thead{position:absolute;left:-99rem}
.matches tr{border-bottom:1px solid var(--rule);padding:.5rem 0}
.drawn{flex-wrap:wrap}.drawn>div{flex:1 1 11rem}.drawn .picture{flex:none;max-width:100%;overflow-x:auto}}
@media print{:root{--paper:#fff;--sheet:#f5f6f8;--ink:#000;--soft:#444;--rule:#ccc;--link:#000}
body{max-width:none;font-size:10pt;padding:0}nav,details:not(.round){display:none}.round::details-content{display:block;content-visibility:visible}
.drawn .picture{width:4rem;min-width:0}.drawn figcaption{display:none}
h2{break-after:avoid}tr{break-inside:avoid}
.wide{overflow:visible}.cross{font-size:6pt}.cross th,.cross td{padding:0 .1rem}a{text-decoration:none}}
"""
    + _PICTURES
)
