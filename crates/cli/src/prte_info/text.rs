//! The answer as text for people.

use super::Report;
use super::shown::{Idle, Used};

/// Columns of what stands in front of a colon.
const LABEL: usize = 24;
/// Columns of a line.
const WIDTH: usize = 100;

pub(super) fn of(report: &Report) -> String {
    let mut text = String::new();
    for (_, lines) in &report.facts {
        lines.iter().for_each(|(name, value)| line(&mut text, name, value));
    }
    let Some(shown) = &report.parameters else { return text };
    for used in &shown.used {
        let framework = format!("MCA {}", used.known.framework());
        line(&mut text, &framework, &summary(used));
        line(&mut text, "", used.known.doc);
    }
    for idle in &shown.unused {
        line(&mut text, "not used", &format!("\"{}\"{}: {}", idle.name, set(idle), idle.reason));
    }
    text
}

fn summary(used: &Used) -> String {
    let value = used.value.as_deref().unwrap_or_default();
    let origin = used.origin.as_ref().map_or_else(|| "default".to_owned(), ToString::to_string);
    let mut text = format!(
        "\"{}\" (current value: \"{value}\", data source: {origin}, type: {}",
        used.known.name,
        used.type_name()
    );
    if used.origin.is_some() {
        text.push_str(&format!(", default: \"{}\"", used.known.default.unwrap_or_default()));
    }
    if !used.known.synonyms.is_empty() {
        text.push_str(&format!(", synonyms: {}", used.known.synonyms.join(", ")));
    }
    text + ")"
}

fn set(idle: &Idle) -> String {
    idle.set.as_ref().map_or_else(String::new, |(value, origin)| format!(" (set to \"{value}\" by {origin})"))
}

/// One entry, wrapped beside its label.
fn line(text: &mut String, label: &str, value: &str) {
    let mut column = 0;
    text.push_str(&format!("{label:>LABEL$}{} ", if label.is_empty() { ' ' } else { ':' }));
    for word in value.split(' ') {
        let length = word.chars().count();
        if column > 0 && LABEL + 2 + column + 1 + length > WIDTH {
            text.push_str(&format!("\n{:1$}", "", LABEL + 2));
            column = 0;
        }
        if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}
