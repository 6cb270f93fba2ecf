//! Draws the nodes of a large picture as small tiles above the cards: name, ranks, and how full each node is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::block::{Block, column, fitted, flow, plain, styled};
use super::{names, ranks, style};
use crate::display::escape;
use crate::picture::scene::{Group, Scene};

/// A picture with more nodes than this begins with an overview.
const FEW: usize = 8;
/// Size of a tile, and the height of its bar (pixels).
const TILE_W: u32 = 148;
const TILE_H: u32 = 46;
const BAR_H: u32 = 8;
/// Space inside of a tile.
const INSET: u32 = 8;

/// Draws the overview; `None` when all cards are seen at a glance.
pub(super) fn block(scene: &Scene<'_>, width: u32) -> Option<Block> {
    if scene.subject.map.nodes.len() <= FEW {
        return None;
    }
    let tiles = scene.groups.iter().map(|group| tile(scene, group)).collect();
    let text = "Overview: the ranks of each node, and how many of its slots they use. Details follow.";
    Some(column(vec![plain("m", 12, &fitted(text, 12, width)), flow(tiles, width, 8)], 8))
}

fn tile(scene: &Scene<'_>, group: &Group<'_>) -> Block {
    let (nodes, inner) = (group.names.len(), TILE_W - 2 * INSET);
    let slots = group.node.slots() as usize * nodes;
    let list = ranks(&group.ranks);
    let each = if nodes > 1 { format!("{nodes} nodes, ") } else { String::new() };
    let about = format!("{}: {each}{} ranks ({list}), {slots} slots", names(&group.names), group.ranks.len());
    let mut body = format!(
        "<g><title>{}</title><rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"5\"/>",
        escape(&about),
        TILE_W - 1,
        TILE_H - 1
    );
    let name = if nodes > 1 { format!("{} ×{nodes}", names(&group.names)) } else { names(&group.names) };
    body.push_str(&styled(INSET, 17, "n", &fitted(&name, 13, inner)));
    let line = format!("{}/{slots}: {list}", group.ranks.len());
    body.push_str(&styled(INSET, 31, "g", &fitted(&line, 11, inner)));
    bar(&mut body, scene, group, slots);
    body.push_str("</g>\n");
    Block { w: TILE_W, h: TILE_H, body }
}

/// Draws a part for each app, as long as its part of the slots.
fn bar(body: &mut String, scene: &Scene<'_>, group: &Group<'_>, slots: usize) {
    let (inner, y) = (f64::from(TILE_W - 2 * INSET), TILE_H - BAR_H - 3);
    let _ = write!(body, "<rect class=\"f\" x=\"{INSET}\" y=\"{y}\" width=\"{inner}\" height=\"{BAR_H}\"/>");
    let whole = slots.max(group.ranks.len()).max(1) as f64;
    let mut x = f64::from(INSET);
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    for rank in &group.ranks {
        *counts.entry(scene.subject.map.procs[*rank as usize].app).or_default() += 1;
    }
    for (app, count) in counts {
        let (colour, length) = (style::colour(usize::from(app)), count as f64 / whole * inner);
        let _ =
            write!(body, "<rect class=\"{colour}\" x=\"{x:.1}\" y=\"{y}\" width=\"{length:.1}\" height=\"{BAR_H}\"/>");
        x += length;
    }
}
