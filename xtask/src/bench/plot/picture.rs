//! Bars with their spread as an SVG that follows the reader's choice of light or dark.

use std::fmt::Write as _;

use crate::svg::escaped;

const WIDTH: usize = 760;
/// Where bars begin, and the most that they take.
const LEFT: usize = 290;
const SPAN: f64 = 330.0;
const ROW: usize = 26;
const MARGIN: usize = 16;

const STYLE: &str = "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;font-size:13px;\
    fill:#1b1f24}\n.bg{fill:#ffffff}\n.h{font-size:15px;font-weight:600}\n.m{font-size:12px;fill:#57606a}\n\
    .e{text-anchor:end}\n.o{fill:#0072b2}\n.p{fill:#b3bac3}\n.f{fill:#dfe3e8}\n.s{stroke:#1b1f24;stroke-opacity:.6}\n.g{stroke:#b3bac3;stroke-opacity:.6}\n.l{fill:none;stroke:#0072b2;stroke-width:1.5}\n\
    @media (prefers-color-scheme:dark){\ntext{fill:#e8ecf1}\n.bg{fill:#0d1117}\n.m{fill:#9aa5b1}\n.o{fill:#56b4e9}\n\
    .p{fill:#6a737d}\n.f{fill:#3d444d}\n.s{stroke:#e8ecf1}\n.g{stroke:#6a737d}\n.l{stroke:#56b4e9}\n}\n";

/// Whose bar it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Ours,
    Peer,
    Floor,
}

impl Whose {
    fn class(self) -> char {
        match self {
            Self::Ours => 'o',
            Self::Peer => 'p',
            Self::Floor => 'f',
        }
    }
}

/// One bar.
#[derive(Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) whose: Whose,
    pub(super) value: f64,
    /// The tenth and the ninetieth percentile, or smallest and largest.
    pub(super) spread: Option<(f64, f64)>,
    /// A remark beside the number, such as hangs.
    pub(super) note: String,
}

/// Bars with one scale.
#[derive(Debug)]
pub(super) struct Panel {
    pub(super) title: String,
    /// The meaning of the numbers, and which are good.
    pub(super) unit: String,
    pub(super) bars: Vec<Bar>,
}

/// A figure over time: for each measurement, the number of its date and the value.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) points: Vec<(usize, f64)>,
}

/// Draws ratios over dates on a logarithmic scale, with a mark at 1; each line has its name at its end.
pub(super) fn lines(title: &str, dates: &[&str], lines: &[Line<'_>]) -> String {
    const LEFT: f64 = 50.0;
    const RIGHT: f64 = 410.0;
    const TOP: f64 = 50.0;
    const HIGH: f64 = 300.0;
    let values = || lines.iter().flat_map(|line| line.points.iter().map(|(_, value)| value.max(0.01)));
    let (low, high) = (values().fold(0.7, f64::min) * 0.9, values().fold(2.0, f64::max) * 1.1);
    let y = |value: f64| TOP + HIGH * (1.0 - (value.max(0.01) / low).ln() / (high / low).ln());
    let last = dates.len().saturating_sub(1).max(1) as f64;
    let x = |date: usize| LEFT + date as f64 / last * (WIDTH as f64 - LEFT - RIGHT);
    let height = (TOP + HIGH) as usize + 34;
    let mut out = opened(title, height);
    let _ = writeln!(out, "<text class=\"h\" x=\"{MARGIN}\" y=\"{}\">{}</text>", MARGIN + 12, escaped(title));
    for mark in [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0] {
        if (low..=high).contains(&mark) {
            let (class, y) = (if mark == 1.0 { "s" } else { "g" }, y(mark));
            let _ = writeln!(out, "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{}\"/>", x(dates.len().max(2) - 1));
            let _ = writeln!(out, "<text class=\"m e\" x=\"{}\" y=\"{:.1}\">{mark}</text>", LEFT - 8.0, y + 4.0);
        }
    }
    for (at, date) in dates.iter().enumerate() {
        let _ = writeln!(
            out,
            "<text class=\"m\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{}\">{}</text>",
            x(at),
            TOP + HIGH + 20.0,
            escaped(date)
        );
    }
    let mut ends: Vec<(f64, &Line<'_>)> =
        lines.iter().map(|line| (line.points.last().map_or(TOP, |(_, value)| y(*value)), line)).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let names = apart(&ends.iter().map(|(end, _)| *end).collect::<Vec<_>>(), TOP + HIGH);
    for ((end, line), at) in ends.into_iter().zip(names) {
        let points: Vec<String> =
            line.points.iter().map(|(date, value)| format!("{:.1},{:.1}", x(*date), y(*value))).collect();
        let _ = writeln!(out, "<polyline class=\"l\" points=\"{}\"/>", points.join(" "));
        for point in &points {
            let (x, y) = point.split_once(',').unwrap_or_default();
            let _ = writeln!(out, "<circle class=\"o\" cx=\"{x}\" cy=\"{y}\" r=\"3\"/>");
        }
        let from = line.points.last().map_or(LEFT, |(date, _)| x(*date)) + 4.0;
        let to = WIDTH as f64 - RIGHT + 18.0;
        let _ = writeln!(out, "<path class=\"g\" d=\"M{from:.1} {end:.1}L{to} {at:.1}\"/>");
        let _ = writeln!(out, "<text x=\"{}\" y=\"{:.1}\">{}</text>", to + 4.0, at + 4.0, escaped(line.name));
    }
    out + "</svg>\n"
}

/// Moves sorted heights apart, so that a line of text fits between two of them, and up where they go beyond the end.
fn apart(heights: &[f64], end: f64) -> Vec<f64> {
    const LINE: f64 = 16.0;
    let mut apart = heights.to_vec();
    for at in 1..apart.len() {
        apart[at] = apart[at].max(apart[at - 1] + LINE);
    }
    let mut limit = end;
    for at in apart.iter_mut().rev() {
        *at = at.min(limit);
        limit = *at - LINE;
    }
    apart
}

/// The beginning of a picture.
fn opened(title: &str, height: usize) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n<rect class=\"bg\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
    )
}

/// Draws panels below each other.
pub(super) fn drawn(title: &str, panels: &[Panel]) -> String {
    let height = MARGIN + panels.iter().map(|panel| 56 + ROW * panel.bars.len() + MARGIN).sum::<usize>();
    let mut out = opened(title, height);
    let mut top = MARGIN;
    for panel in panels {
        top = panel.draw(top, &mut out);
    }
    out + "</svg>\n"
}

impl Panel {
    fn draw(&self, top: usize, out: &mut String) -> usize {
        let _ = writeln!(out, "<text class=\"h\" x=\"{MARGIN}\" y=\"{}\">{}</text>", top + 18, escaped(&self.title));
        let _ = writeln!(out, "<text class=\"m\" x=\"{MARGIN}\" y=\"{}\">{}</text>", top + 38, escaped(&self.unit));
        let ends = self.bars.iter().map(|bar| bar.spread.map_or(bar.value, |(_, high)| high.max(bar.value)));
        let most = ends.fold(f64::MIN_POSITIVE, f64::max);
        let scale = |value: f64| value / most * SPAN;
        let mut y = top + 50;
        for bar in &self.bars {
            let (length, class) = (scale(bar.value).max(1.0), bar.whose.class());
            let (text, name) = (y + 17, escaped(&bar.name));
            let _ = writeln!(out, "<text class=\"e\" x=\"{}\" y=\"{text}\">{name}</text>", LEFT - 10);
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{}\" width=\"{length:.1}\" height=\"18\" rx=\"2\"/>",
                y + 4
            );
            let mut end = length;
            if let Some((low, high)) = bar.spread {
                let (from, to, middle) = (scale(low), scale(high), y + 13);
                let (from, to) = (LEFT as f64 + from, LEFT as f64 + to);
                let _ = writeln!(
                    out,
                    "<path class=\"s\" fill=\"none\" d=\"M{from:.1} {middle}H{to:.1}M{from:.1} {0}v8M{to:.1} {0}v8\"/>",
                    middle - 4
                );
                end = end.max(to - LEFT as f64);
            }
            let at = LEFT as f64 + end + 8.0;
            let _ =
                writeln!(out, "<text x=\"{at:.1}\" y=\"{text}\">{}{}</text>", number(bar.value), escaped(&bar.note));
            y += ROW;
        }
        y + 6 + MARGIN
    }
}

/// As many digits as mean something: 6.5, 144, 1,465.
pub(super) fn number(value: f64) -> String {
    if value < 100.0 {
        return format!("{value:.1}").trim_end_matches(".0").to_owned();
    }
    let digits = format!("{value:.0}");
    let (head, tail) = digits.split_at(digits.len().saturating_sub(3));
    if head.is_empty() { digits } else { format!("{head},{tail}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_takes_the_span_and_the_others_their_part_of_it() {
        let bar = |name: &str, whose, value| Bar {
            name: name.into(),
            whose,
            value,
            spread: Some((value / 2.0, value)),
            note: String::new(),
        };
        let bars = vec![bar("a<b", Whose::Ours, 5.0), bar("c", Whose::Peer, 20.0)];
        let svg = drawn("t", &[Panel { title: "p".into(), unit: "ms".into(), bars }]);
        assert!(svg.contains("class=\"o\" x=\"290\" y=\"70\" width=\"82.5\""), "{svg}");
        assert!(svg.contains("class=\"p\" x=\"290\" y=\"96\" width=\"330.0\""), "{svg}");
        assert!(svg.contains(">a&lt;b</text>") && svg.contains("prefers-color-scheme:dark"), "{svg}");
        assert!(roughly_well_formed(&svg));
    }

    #[test]
    fn names_that_would_cover_each_other_are_moved_apart() {
        assert_eq!(apart(&[0.0, 50.0, 50.0, 95.0], 100.0), [0.0, 50.0, 66.0, 95.0]);
        assert_eq!(apart(&[90.0, 95.0, 99.0], 100.0), [68.0, 84.0, 100.0]);
    }

    fn roughly_well_formed(svg: &str) -> bool {
        let (open, close) = (svg.matches("<text").count(), svg.matches("</text>").count());
        open == close && svg.trim_end().ends_with("</svg>")
    }

    #[test]
    fn numbers_have_as_many_digits_as_mean_something() {
        assert_eq!([6.5, 3.0, 142.4, 1465.0].map(number), ["6.5", "3", "142", "1,465"]);
    }
}
