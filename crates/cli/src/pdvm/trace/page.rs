//! The page of a trace (`pdvm trace --html`): one file of HTML without scripts, with facts, charts and tables. Pure.
//!
//! A chart is an SVG with its own style, so that it can also be taken out of the page.

use std::fmt::Write as _;

use super::super::text::{duration, plain};

/// Width of a chart, and where its bars begin (pixels).
const WIDTH: usize = 960;
const LEFT: usize = 190;
/// The width in which time is drawn (pixels).
pub(super) const SPAN: usize = WIDTH - LEFT - 20;
/// The part of a chart below its rows: the axis.
const AXIS: usize = 24;
/// Labels of the axis have at least this room (pixels).
const LABEL: f64 = 90.0;

const STYLE: &str = "text{font:12px system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#1d2126}\
    .back{fill:#fff}.soft{fill:#626a73}.end{text-anchor:end}.mid{text-anchor:middle}.grid{stroke:#d9dcdf}\
    .runs{fill:#2f7fd6}.waits{fill:#b3bac3}.done{fill:#3c9a5f}.failed{fill:#c8442e}\
    @media(prefers-color-scheme:dark){text{fill:#e6e8ea}.back{fill:#1d2126}.soft{fill:#98a1aa}.grid{stroke:#323840}\
    .runs{fill:#4a9bf0}.waits{fill:#626a73}.done{fill:#4fb477}.failed{fill:#e5654f}}";

const PAGE_STYLE: &str = ":root{color-scheme:light dark}\
    body{max-width:62rem;margin:0 auto;padding:1rem;font:15px/1.5 system-ui,'Segoe UI',Helvetica,Arial,sans-serif;\
    background:#fbfbfa;color:#1d2126}h1{font-size:1.4rem}h2{font-size:1.05rem;margin:1.6rem 0 .4rem}\
    dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dt{opacity:.7}\
    dd{margin:0;overflow-wrap:anywhere}section{overflow-x:auto}svg{display:block;max-width:100%;min-width:40rem;height:auto}\
    table{border-collapse:collapse}td,th{text-align:left;padding:.2rem 1rem .2rem 0;border-bottom:1px solid #8884;\
    font-variant-numeric:tabular-nums}@media(prefers-color-scheme:dark){body{background:#15181c;color:#e6e8ea}}";

/// The meaning of a bar, by which it has its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Waits,
    Runs,
    Done,
    Failed,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Runs => "runs",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// A bar; its times are microseconds since the start of the chart.
#[derive(Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) from_us: u64,
    pub(super) to_us: u64,
    pub(super) class: Class,
    /// The text that appears when a reader points at it.
    pub(super) title: String,
}

/// Bars side by side, behind their common name.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) bars: Vec<Bar>,
}

/// Draws rows over one axis of time; each has this height (pixels).
pub(super) fn chart(title: &str, rows: &[Row], whole_us: u64, row: usize) -> String {
    let body = rows.len() * row;
    let mut out = opened(title, body, whole_us);
    for (index, Row { name, bars }) in rows.iter().enumerate() {
        let top = 8 + index * row;
        let _ = writeln!(
            out,
            "<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>",
            LEFT - 8,
            top + row / 2 + 4,
            escaped(&plain(name))
        );
        for bar in bars {
            let (from, to) = (x(bar.from_us, whole_us), x(bar.to_us, whole_us));
            let _ = writeln!(
                out,
                "<rect class=\"{}\" x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{}\"><title>{}</title></rect>",
                bar.class.name(),
                top + 1,
                (to - from).max(0.8),
                row - 2,
                escaped(&plain(&bar.title))
            );
        }
    }
    out + "</svg>\n"
}

/// Draws numbers over time as an area: one for each pixel of [`SPAN`].
pub(super) fn area(title: &str, class: Class, values: &[u64], whole_us: u64, height: usize) -> String {
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let mut out = opened(title, height, whole_us);
    let base = 8 + height;
    let y = |value: u64| base as f64 - value as f64 / most as f64 * height as f64;
    let mut path = format!("M{LEFT} {base}");
    let mut last = None;
    for (pixel, value) in values.iter().enumerate() {
        if last != Some(*value) {
            let _ = write!(path, "H{}V{:.1}", LEFT + pixel, y(*value));
            last = Some(*value);
        }
    }
    let _ = writeln!(out, "<path class=\"{}\" d=\"{path}H{}V{base}Z\"/>", class.name(), LEFT + values.len());
    for (value, at) in [(most, 16), (0, base)] {
        let _ = writeln!(out, "<text class=\"end soft\" x=\"{}\" y=\"{at}\">{value}</text>", LEFT - 8);
    }
    out + "</svg>\n"
}

/// The beginning of a chart: its frame and its axis.
fn opened(title: &str, body: usize, whole_us: u64) -> String {
    let (height, title) = (8 + body + AXIS, escaped(&plain(title)));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
    );
    let step = tick(whole_us);
    for at in (0..=whole_us).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let x = x(at, whole_us);
        let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} 8v{body}\"/>");
        let label = if at == 0 { "0".to_owned() } else { duration(at).replace(".0 ", " ") };
        let _ = writeln!(out, "<text class=\"mid soft\" x=\"{x:.1}\" y=\"{}\">{label}</text>", 8 + body + 16);
    }
    out
}

fn x(at_us: u64, whole_us: u64) -> f64 {
    LEFT as f64 + at_us.min(whole_us) as f64 / whole_us.max(1) as f64 * SPAN as f64
}

/// The distance of labels on the axis: the least of 1, 2, 5, 10, ... that leaves them room.
fn tick(whole_us: u64) -> u64 {
    let least = whole_us as f64 * LABEL / SPAN as f64;
    let mut decade = 1_u64;
    loop {
        for factor in [1, 2, 5] {
            if (decade * factor) as f64 >= least {
                return decade * factor;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

/// Puts a page together: its title, facts in pairs, and parts with their headings.
pub(super) fn page(title: &str, facts: &[(&str, String)], parts: &[(&str, String)]) -> String {
    let title = escaped(&plain(title));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{PAGE_STYLE}</style>\n<h1>{title}</h1>\n<dl>\n"
    );
    for (name, value) in facts {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escaped(&plain(value)));
    }
    out += "</dl>\n";
    for (heading, part) in parts {
        let _ = write!(out, "<section>\n<h2>{heading}</h2>\n{part}</section>\n");
    }
    out + "</html>\n"
}

/// Lays cells as a table of HTML.
pub(super) fn table(columns: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = "<table>\n<tr>".to_owned();
    out.extend(columns.iter().map(|column| format!("<th>{column}</th>")));
    for row in rows {
        out += "</tr>\n<tr>";
        out.extend(row.iter().map(|cell| format!("<td>{}</td>", escaped(&plain(cell)))));
    }
    out + "</tr>\n</table>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_the_axis_have_room() {
        for whole in [1, 7, 1_234, 5_000_000, 86_400_000_000, u64::from(u32::MAX) * 1_000_000] {
            let step = tick(whole);
            assert!(step as f64 / whole as f64 * SPAN as f64 >= LABEL, "{whole}: {step}");
            assert!(whole / step <= 9, "{whole}: {step}");
        }
    }

    #[test]
    fn foreign_texts_are_no_html() {
        let bar = Bar { from_us: 0, to_us: 1, class: Class::Done, title: "<script>\x1b[2J".into() };
        let chart = chart("a\"b", &[Row { name: "<b>".into(), bars: vec![bar] }], 1, 10);
        let page =
            page("<i>", &[("Command", "a & <b>".into())], &[("x", chart + &table(&["y"], &[vec!["<u>".into()]]))]);
        for bad in ["<script", "<b>", "<i>", "<u>", "a\"b", "\x1b"] {
            assert!(!page.contains(bad), "{bad}: {page}");
        }
        assert!(page.contains("a &amp; &lt;b&gt;"), "{page}");
    }

    #[test]
    fn an_area_has_a_corner_only_where_the_number_changes() {
        let area = area("running", Class::Runs, &[0, 2, 2, 2, 1], 5, 10);
        assert!(area.contains("d=\"M190 18H190V18.0H191V8.0H194V13.0H195V18Z\""), "{area}");
    }
}
