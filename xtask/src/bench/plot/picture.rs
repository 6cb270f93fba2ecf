//! Bars with their spread as an SVG that follows the reader's choice of light or dark.

use std::fmt::Write as _;

const WIDTH: usize = 760;
/// Where bars begin, and the most that they take.
const LEFT: usize = 290;
const SPAN: f64 = 330.0;
const ROW: usize = 26;
const MARGIN: usize = 16;

const STYLE: &str = "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;font-size:13px;\
    fill:#1b1f24}\n.bg{fill:#ffffff}\n.h{font-size:15px;font-weight:600}\n.m{font-size:12px;fill:#57606a}\n\
    .e{text-anchor:end}\n.o{fill:#0072b2}\n.p{fill:#b3bac3}\n.f{fill:#dfe3e8}\n.s{stroke:#1b1f24;stroke-opacity:.6}\n\
    @media (prefers-color-scheme:dark){\ntext{fill:#e8ecf1}\n.bg{fill:#0d1117}\n.m{fill:#9aa5b1}\n.o{fill:#56b4e9}\n\
    .p{fill:#6a737d}\n.f{fill:#3d444d}\n.s{stroke:#e8ecf1}\n}\n";

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

/// Draws panels below each other.
pub(super) fn drawn(title: &str, panels: &[Panel]) -> String {
    let height = MARGIN + panels.iter().map(|panel| 56 + ROW * panel.bars.len() + MARGIN).sum::<usize>();
    let title = escaped(title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n<rect class=\"bg\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
    );
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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

    fn roughly_well_formed(svg: &str) -> bool {
        let (open, close) = (svg.matches("<text").count(), svg.matches("</text>").count());
        open == close && svg.trim_end().ends_with("</svg>")
    }

    #[test]
    fn numbers_have_as_many_digits_as_mean_something() {
        assert_eq!([6.5, 3.0, 142.4, 1465.0].map(number), ["6.5", "3", "142", "1,465"]);
    }
}
