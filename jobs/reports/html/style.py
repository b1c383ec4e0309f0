"""The looks of a report's page, beside `jobs.pages.STYLE`, and its only script: finding,
unfolding, and unfolding for paper.

Without the script everything can be read.
"""

STYLE = """
.skip{position:absolute;left:-99em}.skip:focus{left:1rem;top:.5rem;background:var(--card);padding:.4em .8em;z-index:9}
header{border-top:6px solid var(--tone);background:var(--tone-ground);padding:2rem 0 1.6rem}
.good-tone{--tone:var(--good);--tone-ground:var(--good-ground)} .bad-tone{--tone:var(--bad);--tone-ground:var(--bad-ground)}
.open-tone{--tone:var(--open);--tone-ground:var(--open-ground)}
.verdict{display:inline-flex;align-items:center;gap:.45em;font-weight:700;color:var(--tone);letter-spacing:.02em;margin:0}
.verdict svg{width:1.5em;height:1.5em;flex:none}
h1{font-size:clamp(1.5rem,4.5vw,2.1rem);margin:.35em 0 .3em} .lead{font-size:1.1em;margin:.2em 0 0;max-width:68ch}
.figures{display:flex;flex-wrap:wrap;gap:.6rem 2.4rem;margin:1.3rem 0 0}
.figures div{display:flex;flex-direction:column-reverse} .figures dt{color:var(--soft);font-size:.9em}
.figures dd{margin:0;font-size:1.55rem;font-weight:650;line-height:1.2;font-variant-numeric:tabular-nums}
nav{border-bottom:1px solid var(--line);background:var(--card);position:sticky;top:0;z-index:5;overflow-x:auto}
nav ul{display:flex;gap:1.4rem;list-style:none;margin:0 auto;padding:.6rem 1.25rem;max-width:1020px;white-space:nowrap}
nav a{text-decoration:none} nav a:hover{text-decoration:underline}
section{margin:2.2rem 0;scroll-margin-top:3.2rem} h2{font-size:1.35rem;margin:0 0 .6rem} h3{font-size:1.08rem;margin:0}
[id]{scroll-margin-top:3.2rem}
.steps{padding-left:1.4em} .steps li{margin:.5em 0}
.card,.cause{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1rem 1.2rem;margin:.9rem 0}
pre{background:var(--code);border-radius:7px;padding:.55em .8em;margin:.4em 0;overflow-x:auto;white-space:pre-wrap;
overflow-wrap:anywhere}
pre code{font-size:.85em} .option{white-space:nowrap}
.causes td,.causes th,.amounts td{vertical-align:middle} .causes .share{width:22%;min-width:6rem}
.bar{display:block;height:.6em;border-radius:3px;background:var(--tone-bar,var(--bad));min-width:3px}
.chip{display:inline-block;font-size:.8em;padding:.05em .6em;border-radius:1em;border:1px solid var(--line);color:var(--soft);
white-space:nowrap;background:var(--ground)}
.cause>summary{display:flex;gap:.5rem .8rem;align-items:baseline;list-style:none;flex-wrap:wrap}
.cause>summary::-webkit-details-marker{display:none}
.cause>summary h3{flex:1 1 18rem}
.cause>summary::before{content:"\\25B8";color:var(--soft);width:.8em;display:inline-block;flex:none}
.cause[open]>summary::before{content:"\\25BE"}
.meaning{margin:.7em 0 .3em;font-size:1.04em}
.conflict{border-top:1px solid var(--line);margin-top:1.1rem;padding-top:.9rem}
.conflict h4{margin:0;font-size:.95em;color:var(--soft);font-weight:600} .sentence{margin:.3em 0 .7em}
.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,17rem),1fr));gap:.7rem}
.side{border-left:4px solid var(--c);background:var(--g);border-radius:0 7px 7px 0;padding:.55rem .8rem;min-width:0}
.side h5{margin:0 0 .3rem;font-size:.84em;color:var(--c);font-weight:650}
.new{--c:var(--new);--g:var(--new-ground)} .old{--c:var(--old);--g:var(--old-ground)}
.rule{--c:var(--rule);--g:var(--rule-ground)}
.side ul{list-style:none;margin:0;padding:0} .side li{margin:.3em 0;overflow-wrap:anywhere}
.where{display:inline-block;font-size:.8em;color:var(--soft);overflow-wrap:anywhere}
.remark{margin:.7rem 0 0;padding:.35rem .8rem;border-left:4px solid var(--open);background:var(--open-ground)}
.written{margin-top:.5rem;font-size:.92em;color:var(--soft)} .written pre{color:var(--ink);white-space:pre-wrap}
b.term{font-weight:600} .by{color:var(--soft)} q{quotes:none}
.more{color:var(--soft);border-top:1px dashed var(--line);padding-top:.7rem;margin:1rem 0 0}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:.9rem}
.grid .card{margin:0;min-width:0} .grid h3{margin-bottom:.5rem}
dl.pairs{display:grid;grid-template-columns:auto 1fr;gap:.2rem 1rem;margin:0;font-size:.94em}
.pairs dt{color:var(--soft)} .pairs dd{margin:0;overflow-wrap:anywhere}
tbody tr:last-child td{border-bottom:0} td{overflow-wrap:anywhere} .narrow{white-space:nowrap;width:1%}
.tools{display:none;gap:.6rem;flex-wrap:wrap;margin:.5rem 0} .scripted .tools{display:flex}
.tools input{flex:1 1 14rem;font:inherit;padding:.4em .7em;border:1px solid var(--line);border-radius:7px;background:var(--card);
color:inherit;min-width:0}
.tools button{font:inherit;padding:.4em .9em;border:1px solid var(--line);border-radius:7px;background:var(--card);color:inherit;
cursor:pointer}
footer{border-top:1px solid var(--line);padding:1.2rem 0 2.5rem;color:var(--soft);font-size:.9em;margin-top:2.5rem}
[hidden]{display:none!important}
@media(max-width:560px){header{padding:1.3rem 0 1.1rem}.figures{gap:.5rem 1.4rem}.figures dd{font-size:1.25rem}
.card,.cause{padding:.8rem .9rem}.stack thead{position:absolute;left:-99em}.stack tr{display:block;padding:.5em 0;
border-bottom:1px solid var(--line)}.stack td{display:block;border:0;padding:.12em 0;width:auto!important;text-align:left}
.stack td[data-title]:not(:empty)::before{content:attr(data-title) ": ";color:var(--soft)}}
@media print{nav,.tools,.skip{display:none!important}.cause,.card,.conflict,.side{break-inside:avoid}
header{padding:.5rem 0}.cause[open]{break-inside:auto}}
"""

SCRIPT = """
document.documentElement.classList.add("scripted");
const at=id=>document.getElementById(id),all=[...document.querySelectorAll("details.cause")];
const find=at("find"),fold=at("fold"),said=at("found");
if(find){let timer;find.addEventListener("input",()=>{clearTimeout(timer);timer=setTimeout(()=>{
const words=find.value.toLowerCase().split(/\\s+/).filter(Boolean);let n=0;
for(const cause of all){const text=cause.textContent.toLowerCase(),hit=words.every(w=>text.includes(w));cause.hidden=!hit;
if(hit)n++;if(hit&&words.length)cause.open=true}
said.textContent=words.length?n+" of "+all.length+" shown":""},120)})}
if(fold)fold.addEventListener("click",()=>{const open=all.some(c=>!c.open);for(const c of all)c.open=open;
fold.textContent=open?"Fold all":"Unfold all"});
const every=what=>document.querySelectorAll(what);
addEventListener("beforeprint",()=>{for(const d of every("details:not([open])")){d.open=true;d.dataset.paper=1}});
addEventListener("afterprint",()=>{for(const d of every("details[data-paper]")){d.open=false;delete d.dataset.paper}});
addEventListener("hashchange",show);
function show(){const one=at(decodeURIComponent(location.hash.slice(1)));if(!one)return;
const d=one.closest("details.cause");if(d)d.open=true;one.scrollIntoView()}
if(location.hash)show();
"""
