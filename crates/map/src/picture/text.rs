//! A picture in a line for each node: `n0  [0 1 . .] [2 3 . .]`. Brackets are packages, in them are cores:
//! `3` a rank, `3/.` hardware threads, `{0-3}` several ranks, `.` free, `-` not available; `0..7` are ranks one by one
//! at cores one by one, and `.*5` are five alike.

use super::names::{hosts, ranges};
use super::scene::{Crowd, Group, Scene};
use super::tree::Core;

/// The most cores of a package that are written one by one.
const SPELT: usize = 16;
/// The most parts of a list of names or ranks.
const PARTS: usize = 4;

pub(super) fn lines(scene: &Scene<'_>) -> Vec<String> {
    let names: Vec<String> = scene.groups.iter().map(|group| name(group)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut lines: Vec<String> = names
        .iter()
        .zip(&scene.groups)
        .map(|(name, group)| format!("{name:<width$}  {}", parts(group).join(" ")).trim_end().to_owned())
        .collect();
    if let Some(rest) = &scene.rest {
        lines.push(format!("{} more nodes: {} (ranks {})", rest.nodes, rest.names, rest.ranks));
    }
    lines
}

fn name(group: &Group<'_>) -> String {
    let safe = |text: &str| text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    match group.names.as_slice() {
        [one] => safe(one),
        many => safe(&hosts(many, PARTS)),
    }
}

fn parts(group: &Group<'_>) -> Vec<String> {
    let cores = group.tree.cores();
    let mut parts: Vec<String> = Vec::new();
    for package in cores.chunk_by(|a, b| a.package == b.package) {
        parts.push(format!("[{}]", joined(&package.iter().map(|core| mark(group, core)).collect::<Vec<_>>())));
    }
    let mut say = |what: &str, crowd: &Crowd| {
        if !crowd.is_empty() {
            parts.push(format!("{what}: {}", listed(crowd)));
        }
    };
    say("not bound", &group.unbound);
    say("bound elsewhere", &group.elsewhere);
    if group.names.len() > 1 {
        parts.push(format!("x {} nodes: ranks {}", group.names.len(), ranges(&group.ranks, PARTS)));
    }
    parts
}

fn listed(crowd: &Crowd) -> String {
    ranges(&crowd.iter().map(|rank| rank.0).collect::<Vec<_>>(), PARTS)
}

/// The occupation of a core.
#[derive(PartialEq)]
enum Mark {
    /// One rank in the whole core.
    Rank(u32),
    Other(String),
}

impl Mark {
    fn text(&self) -> String {
        match self {
            Mark::Rank(rank) => rank.to_string(),
            Mark::Other(text) => text.clone(),
        }
    }
}

fn mark(group: &Group<'_>, core: &Core) -> Mark {
    let usable: Vec<_> = core.units.iter().filter(|unit| unit.usable || !group.crowds[unit.at].is_empty()).collect();
    let Some(first) = usable.first().map(|unit| &group.crowds[unit.at]) else { return Mark::Other("-".to_owned()) };
    let alike = usable.iter().all(|unit| group.crowds[unit.at] == *first);
    match first.as_slice() {
        [one] if alike => Mark::Rank(one.0),
        _ if alike => Mark::Other(at(first)),
        _ => {
            let each = core.units.iter().map(|unit| match &group.crowds[unit.at] {
                crowd if crowd.is_empty() && !unit.usable => "-".to_owned(),
                crowd => at(crowd),
            });
            Mark::Other(each.collect::<Vec<_>>().join("/"))
        }
    }
}

fn at(crowd: &Crowd) -> String {
    match crowd.as_slice() {
        [] => ".".to_owned(),
        [one] => one.to_string(),
        _ => format!("{{{}}}", listed(crowd)),
    }
}

/// Joins the marks of a package: equal sets are joined, and with many marks also others.
fn joined(marks: &[Mark]) -> String {
    let many = marks.len() > SPELT;
    let mut texts = Vec::new();
    let mut rest = marks;
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|mark| *mark == first).count();
        let row = match first {
            Mark::Rank(rank) => rest.iter().zip(*rank..).take_while(|(mark, next)| **mark == Mark::Rank(*next)).count(),
            Mark::Other(_) => 0,
        };
        let text = first.text();
        let (text, taken) = match (alike, row) {
            (_, 3..) if many => (format!("{text}..{}", rest[row - 1].text()), row),
            (2.., _) if many || text.starts_with('{') => (format!("{text}*{alike}"), alike),
            _ => (text, 1),
        };
        texts.push(text);
        rest = &rest[taken..];
    }
    texts.join(" ")
}
