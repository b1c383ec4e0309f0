document.documentElement.classList.add("scripted");
const at=id=>document.getElementById(id),all=[...document.querySelectorAll("details.cause")];
const find=at("find"),fold=at("fold"),said=at("found");
if(find){let timer;find.addEventListener("input",()=>{clearTimeout(timer);timer=setTimeout(()=>{
const words=find.value.toLowerCase().split(/\s+/).filter(Boolean);let n=0;
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
