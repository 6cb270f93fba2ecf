//! Sequence diagrams of Mermaid as SVG, for the book: mdBook knows no Mermaid, and shows its text. `book` calls it.
//!
//! It knows what the book uses: participants, messages (`A->>B: text`) and notes (`Note over A,B: text`). Another line
//! is an error, so that no picture leaves something out.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

use crate::svg::escaped;

/// Estimated width of a letter, height of a step, and the room at the sides.
const LETTER: usize = 7;
const STEP: usize = 36;
const MARGIN: usize = 16;
/// The least distance between two participants.
const GAP: usize = 130;
const BOX: usize = 34;

const STYLE: &str = "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;font-size:13px;\
    fill:#1b1f24;text-anchor:middle}\n.bg{fill:#ffffff}\n.h{font-weight:600}\n.who{fill:#cfe5f3;stroke:#0072b2}\n\
    .note{fill:#fbf3d9;stroke:#c9a400}\n.life{stroke:#d0d7de}\n.m{stroke:#1b1f24;stroke-width:1.4;fill:none}\n\
    .tip{fill:#1b1f24}\n@media (prefers-color-scheme:dark){\ntext{fill:#e8ecf1}\n.bg{fill:#0d1117}\n\
    .who{fill:#123a55;stroke:#56b4e9}\n.note{fill:#3a3000;stroke:#c9a400}\n.life{stroke:#3d444d}\n.m{stroke:#e8ecf1}\n\
    .tip{fill:#e8ecf1}\n}\n";

/// Whether a block of Mermaid is a sequence diagram.
pub(crate) fn is_one(block: &str) -> bool {
    block.trim_start().starts_with("sequenceDiagram")
}

/// Draws a sequence diagram.
pub(crate) fn drawn(block: &str) -> Result<String> {
    let diagram = Diagram::read(block)?;
    Ok(diagram.svg())
}

#[derive(Debug, Default)]
struct Diagram {
    /// Short name and what is shown.
    who: Vec<(String, String)>,
    steps: Vec<Step>,
}

/// A step between two participants (indices), which are the same in a note over one.
#[derive(Debug)]
struct Step {
    from: usize,
    to: usize,
    text: String,
    is_note: bool,
}

impl Diagram {
    fn read(block: &str) -> Result<Self> {
        let mut diagram = Self::default();
        for line in block.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "sequenceDiagram") {
            if let Some(who) = line.strip_prefix("participant ") {
                let (name, shown) = who.split_once(" as ").unwrap_or((who, who));
                diagram.who.push((name.to_owned(), shown.to_owned()));
                continue;
            }
            let (head, text) = line.split_once(": ").with_context(|| format!("{line:?} has no text"))?;
            let (ends, is_note) = match head.strip_prefix("Note over ") {
                Some(over) => (over.split_once(',').unwrap_or((over, over)), true),
                None => (head.split_once("->>").with_context(|| format!("{line:?} is no message and no note"))?, false),
            };
            let (from, to) = (diagram.index(ends.0)?, diagram.index(ends.1)?);
            if from == to && !is_note {
                bail!("{line:?} is a message to oneself: make it a note");
            }
            diagram.steps.push(Step { from, to, text: text.to_owned(), is_note });
        }
        Ok(diagram)
    }

    fn index(&self, name: &str) -> Result<usize> {
        let found = self.who.iter().position(|(short, _)| short == name.trim());
        found.with_context(|| format!("{name:?} is no participant"))
    }

    /// The middle of each participant, and the width of the picture.
    fn columns(&self) -> (Vec<usize>, usize) {
        let mut gap = self.who.iter().map(|(_, shown)| name_width(shown) + 12).max().unwrap_or(0).max(GAP);
        let mut side = gap / 2;
        for step in &self.steps {
            let span = step.from.abs_diff(step.to);
            match span {
                // A note over one participant may reach under the others, but not out of the picture.
                0 => side = side.max(width(&step.text) / 2 + 10),
                _ => gap = gap.max((width(&step.text) + 20) / span),
            }
        }
        let columns: Vec<usize> = (0..self.who.len()).map(|at| MARGIN + side + at * gap).collect();
        let end = columns.last().map_or(0, |last| last + side) + MARGIN;
        (columns, end)
    }

    fn svg(&self) -> String {
        let (columns, width_of_all) = self.columns();
        let height = MARGIN + BOX + STEP * (self.steps.len() + 1) + MARGIN;
        let names: Vec<&str> = self.who.iter().map(|(_, shown)| shown.as_str()).collect();
        let title = escaped(&format!("Sequence: {}", names.join(", ")));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width_of_all}\" height=\"{height}\" \
             viewBox=\"0 0 {width_of_all} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n<rect class=\"bg\" width=\"{width_of_all}\" height=\"{height}\"/>\n"
        );
        for (x, name) in columns.iter().zip(&names) {
            let _ = writeln!(out, "<path class=\"life\" d=\"M{x} {}V{}\"/>", MARGIN + BOX, height - MARGIN);
            boxed(&mut out, "who", *x, MARGIN, name_width(name), name);
        }
        let mut y = MARGIN + BOX + STEP;
        for step in &self.steps {
            let (from, to) = (columns[step.from], columns[step.to]);
            if step.is_note {
                boxed(
                    &mut out,
                    "note",
                    from.midpoint(to),
                    y - 22,
                    (width(&step.text) + 16).max(from.abs_diff(to)),
                    &step.text,
                );
            } else {
                // The tip ends at the line of the other one.
                let back = if to > from { to - 8 } else { to + 8 };
                let (middle, text) = (from.midpoint(to), escaped(&step.text));
                let _ = writeln!(out, "<path class=\"m\" d=\"M{from} {y}H{back}\"/>");
                let _ = writeln!(out, "<path class=\"tip\" d=\"M{to} {y}L{back} {}V{}Z\"/>", y - 4, y + 4);
                let _ = writeln!(out, "<text x=\"{middle}\" y=\"{}\">{text}</text>", y - 6);
            }
            y += STEP;
        }
        out + "</svg>\n"
    }
}

/// A box with a text around a middle.
fn boxed(out: &mut String, class: &str, middle: usize, top: usize, width: usize, text: &str) {
    let (left, bold) = (middle.saturating_sub(width / 2), if class == "who" { " class=\"h\"" } else { "" });
    let height = if class == "who" { BOX } else { 28 };
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"4\"/>"
    );
    let _ = writeln!(out, "<text{bold} x=\"{middle}\" y=\"{}\">{}</text>", top + height / 2 + 5, escaped(text));
}

fn width(text: &str) -> usize {
    text.chars().count() * LETTER
}

/// The box of a name, whose letters are bold.
fn name_width(name: &str) -> usize {
    name.chars().count() * (LETTER + 1) + 24
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "sequenceDiagram\n  participant A\n  participant B as Bee\n  A->>B: go & see\n  Note over B: done\n  \
                         B->>A: yes\n";

    #[test]
    fn a_message_is_an_arrow_and_a_note_a_box() {
        assert!(is_one(BLOCK));
        let svg = drawn(BLOCK).unwrap();
        for part in [
            "<path class=\"m\" d=\"M81 86H203\"/>\n<path class=\"tip\" d=\"M211 86L203 82V90Z\"/>",
            ">go &amp; see</text>",
            "<rect class=\"note\" x=\"189\" y=\"100\" width=\"44\"",
            "<path class=\"m\" d=\"M211 158H89\"/>",
            ">Bee</text>",
        ] {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_an_error() {
        for line in ["A->>C: x", "A->>A: x", "loop x: y", "A->>B"] {
            assert!(drawn(&format!("{BLOCK}  {line}\n")).is_err(), "{line}");
        }
    }
}
