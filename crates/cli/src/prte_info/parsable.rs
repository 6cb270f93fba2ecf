//! The answer as lines of fields with colons between them, in the form of the field's `*_info --parsable`.

use super::Report;
use super::shown::{Idle, Used};

pub(super) fn of(report: &Report) -> String {
    let mut text = String::new();
    for (block, lines) in &report.facts {
        for (name, value) in lines {
            let name = name.to_lowercase().replace(' ', "-");
            text.push_str(&format!("{block}:{name}:{value}\n"));
        }
    }
    let Some(shown) = &report.parameters else { return text };
    shown.used.iter().for_each(|used| parameter(&mut text, used));
    shown.unused.iter().for_each(|unused| idle(&mut text, unused));
    text
}

/// The first two fields of a line: framework and component.
fn place(name: &str) -> String {
    let mut words = name.split('_');
    let (framework, component) = (words.next().unwrap_or_default(), words.next().unwrap_or("base"));
    format!("mca:{framework}:{component}:param:{name}")
}

fn parameter(text: &mut String, used: &Used) {
    let place = place(used.known.name);
    let source = used.origin.as_ref().map_or_else(|| "default".to_owned(), ToString::to_string);
    let mut put = |field: &str, value: &str| text.push_str(&format!("{place}:{field}:{value}\n"));
    put("value", used.value.as_deref().unwrap_or_default());
    put("source", &source);
    put("default", used.known.default.unwrap_or_default());
    put("type", used.type_name());
    put("status", "used");
    put("help", used.known.doc);
    used.known.synonyms.iter().for_each(|synonym| put("synonym", synonym));
}

fn idle(text: &mut String, unused: &Idle) {
    let place = place(unused.name);
    let mut put = |field: &str, value: &str| text.push_str(&format!("{place}:{field}:{value}\n"));
    if let Some((value, origin)) = &unused.set {
        put("value", value);
        put("source", &origin.to_string());
    }
    put("status", "unused");
    put("help", unused.reason);
}
