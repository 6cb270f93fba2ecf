//! A picture as a page: the image, details on pointing, and a table with the same content for screen readers. The page
//! works without its script, with the titles of the image.

use std::fmt::Write as _;

use ferrite_types::{JobMap, NodeRecord, Rank, Topology};

use super::scene::Scene;
use super::svg;
use crate::display::{self, escape};

/// The most ranks in the table.
const MOST_ROWS: usize = 4096;

const SHEET: &str = "\
:root{color-scheme:light dark;--bg:#fff;--text:#1b1f24;--muted:#57606a;--line:#d0d7de;--band:#f6f8fa;--mark:#fff3c4}
@media (prefers-color-scheme:dark){:root{--bg:#0d1117;--text:#e8ecf1;--muted:#9aa5b1;--line:#3d444d;--band:#151b23;--mark:#3b3310}}
body{margin:0;background:var(--bg);color:var(--text);font:14px/1.45 system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif}
main{overflow-x:auto}
section{padding:0 24px 40px;max-width:1280px}
h2{font-size:16px;margin:0 0 8px}
p{color:var(--muted);margin:0 0 8px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:3px 18px 3px 6px;border-bottom:1px solid var(--line)}
th{position:sticky;top:0;background:var(--band)}
td:first-child,th:first-child{text-align:right}
tr.on{background:var(--mark)}
#about{position:fixed;right:16px;bottom:16px;max-width:36em;padding:8px 12px;border:1px solid var(--line);border-radius:8px;\
background:var(--band);box-shadow:0 2px 12px #0003;white-space:pre-line}
#about:empty{display:none}
svg .p{cursor:pointer}
svg.ask .p{opacity:.3}
svg.ask .p.on{opacity:1}
";

/// Highlights the other places of the ranks that are pointed at, and their lines of the table.
const SCRIPT: &str = "\
const svg=document.querySelector('svg'),about=document.getElementById('about'),rows=new Map();
document.querySelectorAll('tr[data-rank]').forEach(r=>rows.set(+r.dataset.rank,r));
const spans=g=>(g.dataset.r.match(/^[\\d,-]+/)||[''])[0].split(',').map(p=>p.split('-').map(Number)).map(([a,b])=>[a,b??a]);
const bars=[...document.querySelectorAll('.p')].map(g=>({g,s:spans(g)}));
const has=(s,r)=>s.some(([a,b])=>a<=r&&r<=b);
let lit=[];
function off(){svg.classList.remove('ask');lit.forEach(e=>e.classList.remove('on'));lit=[];about.textContent=''}
function on(s,text){off();svg.classList.add('ask');about.textContent=text;
for(const b of bars)if(b.s.some(([a,z])=>s.some(([c,d])=>a<=d&&c<=z)))lit.push(b.g);
let n=0;for(const[a,b]of s)for(let r=a;r<=b&&n<200;r++,n++){const row=rows.get(r);if(row)lit.push(row)}
lit.forEach(e=>e.classList.add('on'))}
function tell(row){return[...row.cells].map((c,i)=>row.closest('table').rows[0].cells[i].textContent+': '+c.textContent).join('\\n')}
for(const{g,s}of bars){g.addEventListener('mouseenter',()=>{const one=s.length==1&&s[0][0]==s[0][1]&&rows.get(s[0][0]);
on(s,one?tell(one):g.querySelector('title').textContent)});g.addEventListener('mouseleave',off)}
document.querySelectorAll('svg g:not(.p)>title').forEach(t=>{const g=t.parentNode;
g.addEventListener('mouseenter',()=>{about.textContent=t.textContent});g.addEventListener('mouseleave',()=>{about.textContent=''})});
for(const[r,row]of rows){row.addEventListener('mouseenter',()=>on([[r,r]],''));row.addEventListener('mouseleave',off)}
";

/// Returns the whole page.
pub(super) fn document(scene: &Scene<'_>) -> String {
    let title = escape(&svg::title(scene));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{title}</title>\n\
         <style>\n{SHEET}</style>\n</head>\n<body>\n<main>\n{}</main>\n{}<output id=\"about\" aria-live=\"polite\"></output>\n\
         <script>\n//<![CDATA[\n{SCRIPT}//]]>\n</script>\n</body>\n</html>\n",
        svg::element(scene),
        table(scene),
    )
}

fn table(scene: &Scene<'_>) -> String {
    let map = scene.subject.map;
    let given = map.procs.iter().any(|placement| !placement.devices.is_empty());
    let mut text = String::from("<section>\n<h2>Ranks</h2>\n");
    if let Some(more @ 1..) = map.procs.len().checked_sub(MOST_ROWS) {
        let _ = writeln!(
            text,
            "<p>The first {MOST_ROWS} of {}; --display map lists the other {more} too.</p>",
            map.procs.len()
        );
    }
    let _ = writeln!(
        text,
        "<table>\n<tr><th>Rank</th><th>Node</th><th>App</th><th>Program</th><th>Bound to</th>{}</tr>",
        if given { "<th>Devices</th>" } else { "" }
    );
    let topologies = Topologies::of(map, scene.subject.nodes);
    for (rank, _) in map.ranks().take(MOST_ROWS) {
        row(&mut text, scene, &topologies, rank, given);
    }
    text + "</table>\n</section>\n"
}

fn row(text: &mut String, scene: &Scene<'_>, topologies: &Topologies<'_>, rank: Rank, given: bool) {
    let map = scene.subject.map;
    let placement = &map.procs[rank.0 as usize];
    let topology = topologies.0[placement.node as usize];
    let threads = map.policy(placement.app).is_some_and(|policy| policy.hwthreads);
    let bound = match (&placement.cpus, topology) {
        (None, _) => "not bound".to_owned(),
        (cpus, Some(topology)) => display::binding(topology, cpus.as_ref(), threads),
        (Some(cpus), None) => format!("processors {cpus}"),
    };
    let _ = write!(
        text,
        "<tr data-rank=\"{rank}\"><td>{rank}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
        escape(map.node_of(rank).map_or("", |node| node.name.as_str())),
        placement.app,
        escape(&scene.apps[usize::from(placement.app)].program),
        escape(&bound),
    );
    if given {
        let names = topology.and_then(|topology| display::devices(topology, placement)).unwrap_or_default();
        let _ = write!(text, "<td>{}</td>", escape(&names));
    }
    text.push_str("</tr>\n");
}

/// The topology of each node of the map.
struct Topologies<'a>(Vec<Option<&'a Topology>>);

impl<'a> Topologies<'a> {
    fn of(map: &'a JobMap, nodes: &'a [NodeRecord]) -> Topologies<'a> {
        let list = display::by_node(map, nodes);
        Topologies(list.into_iter().map(|node| node.record.map(|record| &*record.topology)).collect())
    }
}
