//! `cargo xtask bench plot`: pictures of the main figures, their ratios, and all tables as JSON, from the tables of
//! `docs/benchmarks.md`.
//!
//! The page is the source: a benchmark with `--write` puts its tables there, and then calls this. Nothing is measured
//! here, and a test compares the files with the page.

mod history;
mod picture;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::report;
use crate::args::Args;
use crate::workspace::root;

use picture::{Bar, Panel, Whose};
use tables::{Section, Table};

/// The benchmarks with marks on the page.
const SECTIONS: [&str; 19] = [
    "launch", "dvm", "init", "fence", "busy", "tasks", "campaign", "daemons", "counts", "elastic", "resize", "fill",
    "mpi4py", "slurm", "map", "preload", "repair", "head", "history",
];

/// A picture: file, title, and its panels.
type Plot = (&'static str, &'static str, &'static [Source]);

/// Where the bars of a panel come from.
struct Source {
    section: &'static str,
    /// The heading of the table.
    table: &'static str,
    title: &'static str,
    unit: &'static str,
    column: &'static str,
    /// The column with `low - high`, or empty.
    spread: &'static str,
}

const MS: &str = "milliseconds, median with 10th and 90th percentile: shorter is better";

const fn times(section: &'static str, table: &'static str, title: &'static str) -> Source {
    Source { section, table, title, unit: MS, column: "median ms", spread: "p10 - p90" }
}

const PLOTS: [Plot; 4] = [
    (
        "bench-launch.svg",
        "From the command to the end of a job on one node",
        &[
            times("launch", "one node, `-n 1 true`", "One process: -n 1 true"),
            times("launch", "one node, `-n 64 true`", "64 processes on two cores: -n 64 true"),
        ],
    ),
    (
        "bench-dvm.svg",
        "Jobs in a running DVM",
        &[
            times("dvm", "`prun -n 1 true`, one after another", "One job in a running DVM: prun -n 1 true"),
            Source {
                section: "dvm",
                table: "`prun -n 1 true`, 16 at a time",
                title: "16 clients at a time",
                unit: "jobs per second: longer is better",
                column: "jobs/s",
                spread: "",
            },
        ],
    ),
    (
        "bench-nodes.svg",
        "Jobs on four nodes",
        &[
            times("launch", "four nodes by ssh, `-n 4 hostname`", "Four nodes by ssh: -n 4 hostname"),
            times(
                "launch",
                "four nodes by ssh, MPI_Init to MPI_Finalize of 16 ranks",
                "Four nodes by ssh: an MPI program of 16 ranks",
            ),
        ],
    ),
    (
        "bench-elastic.svg",
        "Changes of the size of a DVM",
        &[times("elastic", "by ssh", "Grow and shrink by ssh, beside a bare ssh of true")],
    ),
];

/// `cargo xtask bench plot [--check]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let is_check = args.flag("--check");
    args.finish()?;
    if is_check { check() } else { write() }
}

/// Writes what the page says now.
pub(super) fn write() -> Result<()> {
    for (path, text) in files()? {
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        fs::write(&path, text)?;
        println!("written to {}", path.display());
    }
    Ok(())
}

/// Fails when a file says something else than the page.
fn check() -> Result<()> {
    for (path, text) in files()? {
        let there = fs::read_to_string(&path).unwrap_or_default();
        ensure!(there == text, "{} is not what docs/benchmarks.md says: cargo xtask bench plot", path.display());
    }
    Ok(())
}

/// All pictures and documents that the page gives.
fn files() -> Result<Vec<(PathBuf, String)>> {
    let docs = root().join("docs");
    let page = fs::read_to_string(docs.join("benchmarks.md")).context("cannot read docs/benchmarks.md")?;
    let ratios = report::replaced(&page, "ratios", &ratios(&page)?).context("the page has no marks for 'ratios'")?;
    let panels: Vec<(&str, Panel)> = PLOTS
        .iter()
        .flat_map(|(_, _, sources)| *sources)
        .map(|source| Ok((source.section, source.panel(&page)?)))
        .collect::<Result<_>>()?;
    let history = history::rows(&page, &panels)?;
    let page = report::replaced(&ratios, "history", &history).context("the page has no marks for 'history'")?;
    let mut files = vec![
        (docs.join("images/bench-history.svg"), history::picture(&page)?),
        (docs.join("benchmarks.md"), page.clone()),
    ];
    for name in SECTIONS {
        let section = section(&page, name)?;
        files.push((docs.join(format!("benchmarks/{name}.json")), section.json(name)));
    }
    for (file, title, sources) in PLOTS {
        let panels: Vec<Panel> = sources.iter().map(|source| source.panel(&page)).collect::<Result<_>>()?;
        files.push((docs.join("images").join(file), picture::drawn(title, &panels)));
    }
    let map = picture::drawn("The time of a map, from 80 to 80,000 processes", &[of_maps(&page)?]);
    files.push((docs.join("images/bench-map.svg"), map));
    Ok(files)
}

/// A row for each panel: how many times as long as Ferrite the others take, or how many times as many jobs it runs.
fn ratios(page: &str) -> Result<String> {
    let mut text = String::from("| what | Ferrite | the others |\n|---|---|---|\n");
    for source in PLOTS.iter().flat_map(|(_, _, sources)| *sources) {
        let panel = source.panel(page)?;
        for ours in panel.bars.iter().filter(|bar| bar.whose == Whose::Ours) {
            let kind = kind(&ours.name);
            let peers = panel.bars.iter().filter(|bar| bar.whose == Whose::Peer && self::kind(&bar.name) == kind);
            let ratio = |peer: &Bar| if source.unit == MS { peer.value / ours.value } else { ours.value / peer.value };
            let peers: Vec<String> = peers.map(|peer| format!("{} {:.1}", peer.name, ratio(peer))).collect();
            if !peers.is_empty() {
                let unit = if source.unit == MS { "ms" } else { "jobs/s" };
                let value = format!("{} {unit}", picture::number(ours.value));
                text += &format!("| {} | {value} | {} |\n", source.title, peers.join("; "));
            }
        }
    }
    Ok(text)
}

/// The library with which a contender was measured, where a table has several.
fn kind(name: &str) -> Option<&str> {
    name.split_once(", ").map(|(_, kind)| kind)
}

fn section(page: &str, name: &str) -> Result<Section> {
    Section::of(page, name).with_context(|| format!("docs/benchmarks.md has no marks for '{name}'"))
}

impl Source {
    fn panel(&self, page: &str) -> Result<Panel> {
        let section = section(page, self.section)?;
        let table = section.table(self.table).with_context(|| format!("there is no table {:?}", self.table))?;
        let (value, spread) = (column(table, self.column)?, column(table, self.spread).ok());
        let mut bars = Vec::new();
        for row in &table.rows {
            let name = row.first().map(|name| name.replace('`', "")).unwrap_or_default();
            // A contender that has only hung has no time.
            let Ok(value) = row[value].parse() else { continue };
            let spread = spread.and_then(|at| range(&row[at]));
            bars.push(Bar { whose: whose(&name), name: shown(&name), value, spread, note: bad_runs(table, row) });
        }
        ensure!(!bars.is_empty(), "the table {:?} has no numbers", self.table);
        Ok(Panel { title: self.title.into(), unit: self.unit.into(), bars })
    }
}

/// Two bars for each number of nodes: the table has a column for each contender.
fn of_maps(page: &str) -> Result<Panel> {
    let section = section(page, "map")?;
    let table = section.table("PRRTE").context("there is no table with the peer's maps")?;
    let (nodes, ours, peer) = (column(table, "nodes")?, column(table, "prterun")?, column(table, "PRRTE")?);
    let mut bars = Vec::new();
    for row in &table.rows {
        let count: f64 = row[nodes].parse().context("a number of nodes")?;
        for (at, whose, name) in [(ours, Whose::Ours, "Ferrite"), (peer, Whose::Peer, "PRRTE")] {
            let Some((value, spread)) = row[at].split_once(" (") else { continue };
            let name = format!("{} nodes, {name}", picture::number(count));
            let (value, spread) = (value.parse().context("the time of a map")?, range(spread.trim_end_matches(')')));
            bars.push(Bar { name, whose, value, spread, note: String::new() });
        }
    }
    let unit = "milliseconds, median with smallest and largest: shorter is better".into();
    Ok(Panel { title: "The map of 8 processes on each node: prterun --rtos donotlaunch".into(), unit, bars })
}

fn column(table: &Table, name: &str) -> Result<usize> {
    match table.columns.iter().position(|column| !name.is_empty() && column == name) {
        Some(at) if table.rows.iter().all(|row| row.len() == table.columns.len()) => Ok(at),
        Some(_) => bail!("a row of {:?} has too few or too many cells", table.title),
        None => bail!("the table {:?} has no column {name:?}", table.title),
    }
}

fn range(cell: &str) -> Option<(f64, f64)> {
    let (low, high) = cell.split_once(" - ")?;
    Some((low.parse().ok()?, high.parse().ok()?))
}

/// Runs that have hung or failed, which the times leave out.
fn bad_runs(table: &Table, row: &[String]) -> String {
    let count = |name| column(table, name).ok().and_then(|at| row[at].parse::<u32>().ok()).filter(|count| *count > 0);
    let kinds = [("hangs", "hung"), ("failures", "failed"), ("failed or hung", "failed or hung")];
    let notes = kinds.iter().filter_map(|(column, word)| count(*column).map(|count| format!(", {count} {word}")));
    notes.collect()
}

/// Names of the table begin with what they are: ours, a floor, or a peer.
fn whose(name: &str) -> Whose {
    match name.split([' ', ',', ':']).next() {
        Some("ours" | "grow" | "shrink") => Whose::Ours,
        Some("floor" | "bare") => Whose::Floor,
        _ => Whose::Peer,
    }
}

fn shown(name: &str) -> String {
    let name = name.strip_prefix("ours").map_or(name.to_owned(), |rest| format!("Ferrite{rest}"));
    name.replace(" (a node that had left)", "").replace(" (nodes that had left)", "").replace(" of Debian 13", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_and_json_say_what_the_page_says() {
        check().unwrap();
    }

    #[test]
    fn a_table_without_numbers_or_without_the_column_is_no_picture() {
        let source = times("x", "t", "t");
        let page = |table: &str| format!("<!-- x: begin -->\n### t\n\n{table}\n<!-- x: end -->");
        let good = source.panel(&page(
            "| | median ms | p10 - p90 | hangs |\n|---|---|---|---|\n| ours | 2 | 1 - 3 | 3 |\n| P | - | - | 3 |",
        ));
        let bars = good.unwrap().bars;
        assert_eq!(
            bars,
            [Bar {
                name: "Ferrite".into(),
                whose: Whose::Ours,
                value: 2.0,
                spread: Some((1.0, 3.0)),
                note: ", 3 hung".into()
            }]
        );
        assert!(source.panel(&page("| | median ms |\n|---|---|\n| P | - |")).is_err());
        assert!(source.panel(&page("| | seconds |\n|---|---|\n| P | 1 |")).is_err());
    }
}
