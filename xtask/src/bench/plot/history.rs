//! The history of the main figures: a row for each measurement, which `cargo xtask bench plot` adds to the page, and
//! its picture.
//!
//! Times of different machines cannot be compared. The picture shows ratios to the fastest other launcher of the same
//! run.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::picture::{Bar, Line, Panel, Whose, lines, number};
use super::{MS, column, kind, section};

const HEAD: &str = "| date | commit | what | Ferrite | fastest other | times as fast |\n|---|---|---|---|---|---|\n";

/// A measurement of a figure.
#[derive(Debug, PartialEq)]
struct Row {
    date: String,
    commit: String,
    what: String,
    ours: f64,
    /// The fastest other launcher with its figure.
    other: String,
    /// The speed of Ferrite, as a multiple of the other's.
    ratio: f64,
}

impl Row {
    fn text(&self) -> String {
        let Row { date, commit, what, ours, other, ratio } = self;
        format!("| {date} | {commit} | {what} | {} | {other} | {ratio:.2} |\n", number(*ours))
    }

    /// The same figures; a table may be written again, or name its commit later.
    fn is_again(&self, other: &Row) -> bool {
        self.what == other.what && self.other == other.other && number(self.ours) == number(other.ours)
    }
}

/// The rows of the page and those that its tables add, as a table.
pub(super) fn rows(page: &str, panels: &[(&'static str, Panel)]) -> Result<String> {
    let mut rows = read(page)?;
    for (section_name, panel) in panels {
        let commit = section(page, section_name)?.word("Commit: ").unwrap_or("-").trim_end_matches('.').to_owned();
        for row in measured(panel, &commit) {
            let last = rows.iter().rev().find(|old| old.what == row.what);
            if !last.is_some_and(|last| last.is_again(&row)) {
                rows.push(Row { date: today()?, ..row });
            }
        }
    }
    Ok(rows.iter().fold(HEAD.to_owned(), |text, row| text + &row.text()))
}

/// The figures of a panel, without a date.
fn measured(panel: &Panel, commit: &str) -> Vec<Row> {
    let is_time = panel.unit == MS;
    let fastest = |ours: &Bar| {
        let peers = panel.bars.iter().filter(|bar| bar.whose == Whose::Peer && kind(&bar.name) == kind(&ours.name));
        peers.min_by(|a, b| if is_time { a.value.total_cmp(&b.value) } else { b.value.total_cmp(&a.value) })
    };
    let row = |ours: &Bar| {
        let peer = fastest(ours)?;
        let what = kind(&ours.name).map_or(panel.title.clone(), |kind| format!("{}, {kind}", panel.title));
        let ratio = if is_time { peer.value / ours.value } else { ours.value / peer.value };
        let other = format!("{} {}", peer.name, number(peer.value));
        Some(Row { date: String::new(), commit: commit.to_owned(), what, ours: ours.value, other, ratio })
    };
    panel.bars.iter().filter(|bar| bar.whose == Whose::Ours).filter_map(row).collect()
}

/// The picture of the rows of a page.
pub(super) fn picture(page: &str) -> Result<String> {
    let rows = read(page)?;
    let mut dates: Vec<&str> = rows.iter().map(|row| row.date.as_str()).collect();
    dates.sort_unstable();
    dates.dedup();
    let mut of: BTreeMap<&str, Vec<(usize, f64)>> = BTreeMap::new();
    for row in &rows {
        let at = dates.binary_search(&row.date.as_str()).unwrap_or(0);
        let points = of.entry(&row.what).or_default();
        // The last measurement of a day counts.
        points.retain(|(day, _)| *day != at);
        points.push((at, row.ratio));
    }
    let series: Vec<Line<'_>> = of.into_iter().map(|(name, points)| Line { name, points }).collect();
    Ok(lines("How many times as fast as the fastest other launcher of the same run", &dates, &series))
}

/// The rows between the marks.
fn read(page: &str) -> Result<Vec<Row>> {
    let section = section(page, "history")?;
    let Some(table) = section.tables.first() else { return Ok(Vec::new()) };
    let names = ["date", "commit", "what", "Ferrite", "fastest other", "times as fast"];
    let at: Vec<usize> = names.iter().map(|name| column(table, name)).collect::<Result<_>>()?;
    let row = |cells: &Vec<String>| -> Result<Row> {
        let cell = |index: usize| cells[at[index]].clone();
        let value = |index: usize| -> Result<f64> {
            let text = cell(index).replace(',', "");
            text.parse().with_context(|| format!("the history has the figure {text:?}"))
        };
        Ok(Row { date: cell(0), commit: cell(1), what: cell(2), ours: value(3)?, other: cell(4), ratio: value(5)? })
    };
    table.rows.iter().map(row).collect()
}

/// The date (UTC), as in 2026-11-28.
fn today() -> Result<String> {
    let outcome = Command::new("date").args(["-u", "+%F"]).output().context("date")?;
    ensure!(outcome.status.success(), "date: {}", outcome.status);
    Ok(String::from_utf8_lossy(&outcome.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: &str, figure: &str) -> String {
        format!(
            "<!-- x: begin -->\nMachine: m. Commit: {figure}. Runs: 2.\n<!-- x: end -->\n\
             <!-- history: begin -->\n{HEAD}{rows}<!-- history: end -->\n"
        )
    }

    fn panel(ours: f64) -> Panel {
        let bar = |name: &str, whose, value| Bar { name: name.into(), whose, value, spread: None, note: String::new() };
        let bars = vec![
            bar("Ferrite", Whose::Ours, ours),
            bar("floor", Whose::Floor, 1.0),
            bar("slow", Whose::Peer, 9.0),
            bar("fast", Whose::Peer, 4.0),
        ];
        Panel { title: "one".into(), unit: MS.into(), bars }
    }

    #[test]
    fn a_new_measurement_is_a_new_row_and_an_old_one_is_not() {
        let old = "| 2026-11-21 | abc | one | 2 | fast 4 | 2.00 |\n";
        assert_eq!(rows(&page(old, "other"), &[("x", panel(2.0))]).unwrap(), format!("{HEAD}{old}"));
        let more = rows(&page(old, "def"), &[("x", panel(2.5))]).unwrap();
        let new = format!("| {} | def | one | 2.5 | fast 4 | 1.60 |\n", today().unwrap());
        assert_eq!(more, format!("{HEAD}{old}{new}"));
        let picture = picture(&page(&format!("{old}{new}"), "def")).unwrap();
        assert!(picture.contains("2026-11-21") && picture.contains(">one</text>"), "{picture}");
    }

    #[test]
    fn a_figure_that_is_no_number_is_named() {
        let bad = page("| 2026-11-21 | abc | one | two | fast 4 | 2.00 |\n", "abc");
        assert!(format!("{:#}", picture(&bad).unwrap_err()).contains("\"two\""));
    }
}
