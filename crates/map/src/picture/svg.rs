//! A picture as SVG. It uses shapes, text and classes only, which every viewer knows. A viewer may ask for a dark
//! background (`prefers-color-scheme`); otherwise the picture has a light one.

mod area;
mod block;
mod card;
mod overview;
mod style;

use std::fmt::Write as _;

use ferrite_types::PlacementTexts;

use super::Subject;
use super::names::{hosts, ranges};
use super::scene::{App, SPELT, Scene};
use crate::display::escape;
use block::{Block, column, fitted, flow, plain, styled, width_of};

/// Width of the page (pixels) unless one node needs more.
const PAGE: u32 = 1280;
/// The margin of the page.
const MARGIN: u32 = 24;
/// Horizontal start of the text beside a swatch.
const SWATCH: u32 = 34;
/// The most apps with a line of their own.
const MOST_APPS: usize = 16;

/// Returns the whole file.
pub(super) fn document(scene: &Scene<'_>) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", element(scene))
}

/// Returns the image alone, for a page.
pub(super) fn element(scene: &Scene<'_>) -> String {
    let unit = area::wanted(scene);
    let width = cards_width(scene, unit);
    let overview = overview::block(scene, width);
    let parts = [head(scene, width), legend(scene, width), overview, nodes(scene, width, unit), rest(scene, width)];
    let all = column(parts.into_iter().flatten().collect(), 18);
    let (w, h) = (all.w + 2 * MARGIN, all.h + 2 * MARGIN);
    let title = escape(&title(scene));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\" \
         aria-label=\"{title}\">\n<title>{title}</title>\n<style>\n{}</style>\n\
         <rect class=\"bg\" width=\"{w}\" height=\"{h}\"/>\n{}</svg>\n",
        style::SHEET,
        all.at(MARGIN, MARGIN),
    )
}

/// Returns the title, such as `Job prterun-n0-42@1: 96 ranks on 12 nodes`.
pub(super) fn title(scene: &Scene<'_>) -> String {
    let Subject { job, map, .. } = scene.subject;
    let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    format!("Job {job}: {} on {}", count(map.procs.len(), "rank"), count(map.nodes.len(), "node"))
}

/// Note below the title when no process was started.
const NOT_LAUNCHED: &str = "Not launched: this is where the processes would run.";

/// Returns the width of the page, or of the widest node.
fn cards_width(scene: &Scene<'_>, unit: u32) -> u32 {
    scene.groups.iter().map(|group| card::narrowest(scene, group, unit)).max().unwrap_or(0).max(PAGE)
}

fn head(scene: &Scene<'_>, width: u32) -> Option<Block> {
    let Subject { map, not_launched, .. } = scene.subject;
    let slots = format!("{} slots in the allocation", map.total_slots);
    let about = match map.policies.as_slice() {
        [one] => format!("{} · {slots}", placed(one)),
        _ => slots,
    };
    let mut lines = vec![plain("t", 20, &fitted(&title(scene), 20, width)), plain("m", 12, &fitted(&about, 12, width))];
    if not_launched {
        lines.push(plain("w", 12, NOT_LAUNCHED));
    }
    Some(column(lines, 6))
}

/// Returns the policies of an app, such as `mapped BYCORE · ranked FILL · bound CORE`.
fn placed(policy: &PlacementTexts) -> String {
    let how = [("mapped", &policy.map_by), ("ranked", &policy.rank_by), ("bound", &policy.bind_to)];
    let said = how.iter().filter(|(_, by)| !by.is_empty()).map(|(word, by)| format!("{word} {by}"));
    said.collect::<Vec<_>>().join(" · ")
}

/// Draws a line for each app, and the meaning of the marks.
fn legend(scene: &Scene<'_>, width: u32) -> Option<Block> {
    let apps = scene.apps.iter().enumerate().take(MOST_APPS);
    let mut lines: Vec<Block> = apps.map(|(index, app)| entry(scene, index, app, width)).collect();
    if let Some(more @ 1..) = scene.apps.len().checked_sub(MOST_APPS) {
        lines.push(plain("m", 12, &format!("and {more} more apps, in the same colours again")));
    }
    lines.push(flow(style::marks(), width, 12));
    Some(column(lines, 8))
}

fn entry(scene: &Scene<'_>, index: usize, app: &App, width: u32) -> Block {
    let ranks = format!("{} rank{}", app.ranks, if app.ranks == 1 { "" } else { "s" });
    let about = match scene.subject.map.policies.as_slice() {
        [] | [_] => ranks,
        _ => format!("{ranks} · {}", placed(&app.policy)),
    };
    let name = fitted(&format!("app {index} · {}", app.program), 13, width / 2);
    let at = SWATCH + width_of(&name, 13) + 8;
    let about = fitted(&about, 12, width - at);
    let mut body = style::swatch(index).at(0, 0);
    let _ = write!(body, "{}{}", styled(SWATCH, 14, "n", &name), styled(at, 14, "m", &about));
    Block { w: at + width_of(&about, 12), h: 18, body }
}

fn nodes(scene: &Scene<'_>, width: u32, unit: u32) -> Option<Block> {
    let cards: Vec<Block> = scene.groups.iter().map(|group| card::block(scene, group, width, unit)).collect();
    (!cards.is_empty()).then(|| flow(cards, width, 16))
}

/// Describes the groups that did not fit.
fn rest(scene: &Scene<'_>, width: u32) -> Option<Block> {
    let rest = scene.rest.as_ref()?;
    let nodes = format!("{} more nodes that are not drawn: {}", rest.nodes, rest.names);
    let ranks = format!("their ranks: {}", rest.ranks);
    Some(column(vec![plain("n", 13, &fitted(&nodes, 13, width)), plain("m", 12, &fitted(&ranks, 12, width))], 6))
}

/// Names of a group's nodes.
fn names(list: &[&str]) -> String {
    hosts(list, SPELT)
}

/// Ranks of a group.
fn ranks(list: &[u32]) -> String {
    ranges(list, SPELT)
}
