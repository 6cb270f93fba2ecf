//! Draws a node, or equal nodes, as a card: names, objects, and ranks that are not bound.

use std::fmt::Write as _;

use ferrite_types::Rank;

use super::area::{Pen, short};
use super::block::{Block, column, fitted, flow, plain, styled, width_of};
use super::{names, ranks, style};
use crate::display::escape;
use crate::picture::scene::{Group, Scene};

/// Space inside of a card.
const INSET: u32 = 14;
/// The least width of a card, which has room for its headline (pixels).
const NARROWEST: u32 = 250;
/// The most devices that are shown.
const MOST_DEVICES: usize = 32;

/// Returns the least width of a card (pixels).
pub(super) fn narrowest(scene: &Scene<'_>, group: &Group<'_>, unit: u32) -> u32 {
    (Pen::new(scene, group, unit).narrowest() + 2 * INSET).max(NARROWEST)
}

/// Draws the card, with processors of this width.
pub(super) fn block(scene: &Scene<'_>, group: &Group<'_>, width: u32, unit: u32) -> Block {
    let inner = width - 2 * INSET;
    let mut parts = vec![body(scene, group, inner, unit)];
    let wide = parts[0].w.max(NARROWEST - 2 * INSET);
    parts.push(strip(scene, "not bound", &group.unbound, wide));
    parts.push(strip(scene, "bound to processors that are not known", &group.elsewhere, wide));
    parts.push(devices(scene, group, wide));
    parts.retain(|part| part.h > 0);
    let content = column(parts, 10);
    let wide = content.w.max(NARROWEST - 2 * INSET);
    let head = head(group, wide);
    let all = column(vec![head, content], 10);
    let (w, h) = (wide + 2 * INSET, all.h + 2 * INSET);
    let frame =
        format!("<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"9\"/>\n", w - 1, h - 1);
    Block { w, h, body: frame + &all.at(INSET, INSET) }
}

fn body(scene: &Scene<'_>, group: &Group<'_>, width: u32, unit: u32) -> Block {
    if group.tree.units == 0 {
        return plain("g", 11, "what it is made of is not known");
    }
    Pen::new(scene, group, unit).content(&group.tree.root, width, 0)
}

/// Draws the names, slots and ranks.
fn head(group: &Group<'_>, width: u32) -> Block {
    let here = group.node.ranks.len();
    let slots = group.node.slots();
    let count = |n: u64, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let sizes = format!("{} · {}", count(u64::from(slots), "slot"), count(here as u64, "rank"));
    let (nodes, list) = (group.names.len(), ranks(&group.ranks));
    let mut lines = vec![titled("h", 14, &names(&group.names), width)];
    if nodes == 1 {
        lines.push(titled("m", 12, &format!("{sizes}: {list}"), width));
    } else {
        lines.push(titled("m", 12, &format!("{nodes} nodes like this, each {sizes}"), width));
        let drawn = group.node.name;
        lines.push(titled("m", 12, &format!("ranks {list}; the numbers below are those of {drawn}"), width));
    }
    if slots > 0 && here as u64 > u64::from(slots) {
        lines.push(plain("w", 12, "more ranks than slots"));
    }
    column(lines, 3)
}

/// Draws a text that is cut; pointing at it shows all of it.
fn titled(class: &str, size: u32, text: &str, width: u32) -> Block {
    let cut = fitted(text, size, width);
    let line = plain(class, size, &cut);
    if cut == text {
        return line;
    }
    Block { body: format!("<g><title>{}</title>{}</g>", escape(text), line.body), ..line }
}

/// Draws ranks without a processor, by app.
fn strip(scene: &Scene<'_>, what: &str, crowd: &[Rank], width: u32) -> Block {
    if crowd.is_empty() {
        return Block::default();
    }
    let chip_of = |app: usize| {
        let of_app = |rank: &&Rank| usize::from(scene.subject.map.procs[rank.0 as usize].app) == app;
        let numbers: Vec<u32> = crowd.iter().filter(of_app).map(|rank| rank.0).collect();
        (!numbers.is_empty()).then(|| chip(&short(&numbers, width.min(420) - 20), &numbers, app))
    };
    let chips: Vec<Block> = (0..scene.apps.len()).filter_map(chip_of).collect();
    column(vec![plain("g", 11, what), flow(chips, width, 6)], 3)
}

fn devices(scene: &Scene<'_>, group: &Group<'_>, width: u32) -> Block {
    let chips: Vec<Block> =
        group.devices.iter().take(MOST_DEVICES).map(|(name, crowd)| device(scene, name, crowd)).collect();
    if chips.is_empty() {
        return Block::default();
    }
    column(vec![plain("g", 11, "devices, and the ranks that were given them"), flow(chips, width, 6)], 3)
}

fn device(scene: &Scene<'_>, name: &str, crowd: &[Rank]) -> Block {
    let numbers: Vec<u32> = crowd.iter().map(|rank| rank.0).collect();
    match crowd.first() {
        None => {
            let w = width_of(name, 11) + 14;
            let body = format!(
                "<rect class=\"f\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"19\" rx=\"4\"/>{}",
                w - 1,
                styled(7, 14, "g", name)
            );
            Block { w, h: 20, body }
        }
        Some(rank) => {
            let app = usize::from(scene.subject.map.procs[rank.0 as usize].app);
            chip(&format!("{name}: {}", short(&numbers, 200)), &numbers, app)
        }
    }
}

fn chip(text: &str, numbers: &[u32], app: usize) -> Block {
    let w = width_of(text, 11) + 16;
    let list = crate::picture::names::ranges(numbers, 16);
    let mut body = format!(
        "<g class=\"p\" data-r=\"{list}\"><title>rank {list}</title><rect class=\"r {}\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"19\" rx=\"4\"/>",
        style::colour(app),
        w - 1
    );
    let _ = write!(body, "{}</g>", styled(w / 2, 14, style::label(app), text));
    Block { w, h: 20, body }
}
