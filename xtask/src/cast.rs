//! A terminal as a picture: a command and its output, line by line at the times at which they came. Called by
//! `cargo xtask demo --record`.
//!
//! The SVG has no script. It plays once by CSS; where styles are not played, or motion is unwanted, it shows the last
//! screen. Escape sequences of terminals are not read: the demo writes none.

use std::fmt::Write as _;
use std::time::Duration;

use crate::svg::{self, BAR, MARGIN, escaped};

/// Height of a line (pixels).
const LINE: usize = 18;
/// The least number of columns.
const COLUMNS: usize = 80;
/// A reader needs this time for the command before its output comes.
const READING: Duration = Duration::from_millis(1200);

const STYLE: &str = "text{font:13px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre;fill:#1b1f24}\n\
    .bg{fill:#f6f8fa;stroke:#d0d7de}\n.bar{fill:#57606a}\n.dot{fill:#d0d7de}\n.c{font-weight:700}\n.p{fill:#0a7f5a}\n\
    .l{animation:show 1ms both}\n@keyframes show{from{opacity:0}to{opacity:1}}\n\
    @media (prefers-reduced-motion:reduce){.l{animation:none}}\n\
    @media (prefers-color-scheme:dark){\ntext{fill:#e8ecf1}\n.bg{fill:#0d1117;stroke:#3d444d}\n.bar{fill:#9aa5b1}\n\
    .dot{fill:#3d444d}\n.p{fill:#3fd29b}\n}\n";

/// The output of a terminal, with its times.
#[derive(Debug, Default)]
pub(crate) struct Cast {
    /// The command, as a user would type it.
    pub(crate) command: String,
    /// Lines of output, with the time since the command.
    pub(crate) lines: Vec<(Duration, String)>,
    /// The time until the prompt was back.
    pub(crate) end: Duration,
}

impl Cast {
    /// The picture.
    pub(crate) fn svg(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(|(_, line)| without_tabs(line)).collect();
        let columns = lines.iter().map(|line| line.chars().count()).chain([COLUMNS, self.command.chars().count() + 2]);
        let width = svg::width(columns.max().unwrap_or(COLUMNS));
        let height = BAR + (lines.len() + 2) * LINE + MARGIN;
        let title = escaped(&self.command);
        let mut out = svg::window(&self.command, width, height, STYLE);
        let prompt = "<tspan class=\"p\">$</tspan>";
        let mut y = BAR + LINE - 4;
        let _ = writeln!(out, "<text class=\"c\" x=\"{MARGIN}\" y=\"{y}\">{prompt} {title}</text>");
        let times = self.lines.iter().map(|(time, _)| *time).chain([self.end]);
        for (time, line) in times.zip(lines.iter().map(|line| escaped(line)).chain([prompt.to_owned()])) {
            y += LINE;
            // Nothing to show is nothing to animate.
            if !line.is_empty() {
                let delay = (READING + time).as_secs_f64();
                let _ = writeln!(
                    out,
                    "<text class=\"l\" style=\"animation-delay:{delay:.2}s\" x=\"{MARGIN}\" y=\"{y}\">{line}</text>"
                );
            }
        }
        out + "</svg>\n"
    }
}

/// A tab leads to the next column that is a multiple of eight.
fn without_tabs(line: &str) -> String {
    let mut out = String::new();
    for letter in line.chars().filter(|letter| *letter == '\t' || !letter.is_control()) {
        match letter {
            '\t' => {
                let column = out.chars().count();
                out.extend(std::iter::repeat_n(' ', 8 - column % 8));
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_screen_is_the_known_picture() {
        let at = Duration::from_millis;
        let lines =
            vec![(at(20), "a\tb".to_owned()), (at(20), String::new()), (at(310), "[1,0]<stdout>: x & y".into())];
        let svg = Cast { command: "run -n 1 x".into(), lines, end: at(400) }.svg();
        let (head, body) = svg.split_once("</style>\n").unwrap();
        assert!(head.starts_with(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"663\" height=\"142\" viewBox=\"0 0 663 142\" \
             xml:space=\"preserve\" role=\"img\" aria-label=\"run -n 1 x\">\n<title>run -n 1 x</title>\n<style>\n"
        ));
        let expected = "\
<rect class=\"bg\" x=\".5\" y=\".5\" width=\"662\" height=\"141\" rx=\"8\"/>
<circle class=\"dot\" cx=\"20\" cy=\"17\" r=\"5\"/>
<circle class=\"dot\" cx=\"38\" cy=\"17\" r=\"5\"/>
<circle class=\"dot\" cx=\"56\" cy=\"17\" r=\"5\"/>
<text class=\"c\" x=\"18\" y=\"48\"><tspan class=\"p\">$</tspan> run -n 1 x</text>
<text class=\"l\" style=\"animation-delay:1.22s\" x=\"18\" y=\"66\">a       b</text>
<text class=\"l\" style=\"animation-delay:1.51s\" x=\"18\" y=\"102\">[1,0]&lt;stdout&gt;: x &amp; y</text>
<text class=\"l\" style=\"animation-delay:1.60s\" x=\"18\" y=\"120\"><tspan class=\"p\">$</tspan></text>
</svg>
";
        assert_eq!(body, expected);
    }
}
