//! Areas of a node with their cores, and the ranks as bars over the processors that they are bound to.

use std::fmt::Write as _;

use ferrite_types::Rank;

use super::block::{Block, column, evenly, fitted, flow, styled, width_of};
use super::style;
use crate::display::escape;
use crate::picture::names::ranges;
use crate::picture::scene::{Group, Scene};
use crate::picture::tree::{Area, Core, Unit};

/// Height of a processor, or of each app's part of a shared one.
const CELL: u32 = 24;
const LANE: u32 = 19;
/// Space between the processors of a core.
const GAP: u32 = 2;
/// Space around the processors of a core, and its label above them.
const PAD: u32 = 3;
const CAPTION: u32 = 13;
/// Space between cores.
const SPACE: u32 = 5;
/// Space inside of an area, and between areas.
const INSET: u32 = 9;
const BETWEEN: u32 = 10;
/// The greatest width of an area on account of its label.
const CAPTIONED: u32 = 260;
/// Size of labels on bars.
const LABEL: u32 = 11;
/// The most ranges of ranks in a text on pointing.
const POINTED: usize = 16;
/// The most apps with a lane at one place; more are drawn as one.
const MOST_APPS: usize = 4;

/// Draws the areas of one group's node.
pub(super) struct Pen<'a> {
    scene: &'a Scene<'a>,
    group: &'a Group<'a>,
    /// Width and height of a processor.
    unit: u32,
    cell: u32,
}

impl<'a> Pen<'a> {
    /// Chooses processors as wide as [`wanted`], within limits.
    pub(super) fn new(scene: &'a Scene<'a>, group: &'a Group<'a>, wanted: u32) -> Pen<'a> {
        let single = group.tree.cores().iter().all(|core| core.units.len() == 1);
        let lanes = group.crowds.iter().map(|crowd| by_app(scene, crowd).len()).max().unwrap_or(1);
        let cell = if (2..=MOST_APPS).contains(&lanes) { LANE * lanes as u32 } else { CELL };
        Pen { scene, group, unit: wanted.clamp(if single { 28 } else { 17 }, 64), cell }
    }

    /// Returns the least width of the drawing.
    pub(super) fn narrowest(&self) -> u32 {
        let widest = self.group.tree.cores().iter().map(|core| self.core_width(core)).max().unwrap_or(0);
        let mut depth = 0;
        let mut area = &self.group.tree.root;
        while let Some(first) = area.areas.first() {
            (area, depth) = (first, depth + 1);
        }
        widest + 2 * INSET * depth
    }

    /// Draws the content of an area.
    pub(super) fn content(&self, area: &Area, width: u32, depth: u32) -> Block {
        let mut parts = Vec::new();
        if !area.cores.is_empty() {
            parts.push(self.grid(&area.cores, width));
        }
        if !area.areas.is_empty() {
            let inner = width.saturating_sub(2 * INSET);
            let areas: Vec<Block> = area.areas.iter().map(|area| self.boxed(area, inner, depth)).collect();
            let wide = evenly(&areas, width, BETWEEN);
            parts.push(flow(areas, wide, BETWEEN));
        }
        column(parts, 10)
    }

    fn boxed(&self, area: &Area, width: u32, depth: u32) -> Block {
        let content = self.content(area, width, depth + 1);
        let wanted = width_of(&area.label, LABEL).min(CAPTIONED).min(width);
        let w = content.w.max(wanted) + 2 * INSET;
        let h = content.h + INSET + 24;
        let mut body = String::new();
        let _ = write!(
            body,
            "<rect class=\"k{}\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\"/><g>",
            depth % 2,
            w - 1,
            h - 1
        );
        let label = fitted(&area.label, LABEL, w - 2 * INSET);
        if label != area.label {
            let _ = write!(body, "<title>{}</title>", escape(&area.label));
        }
        let _ = write!(body, "{}</g>{}", styled(INSET, 16, "g", &label), content.at(INSET, 24));
        Block { w, h, body }
    }

    fn core_width(&self, core: &Core) -> u32 {
        let units = core.units.len() as u32;
        units * self.unit + (units - 1) * GAP + 2 * PAD
    }

    fn grid(&self, cores: &[Core], width: u32) -> Block {
        let core_width = cores.iter().map(|core| self.core_width(core)).max().unwrap_or(1);
        let most = ((width + SPACE) / (core_width + SPACE)).max(1) as usize;
        let rows = cores.chunks(columns(cores.len(), most)).map(|row| self.row(row, core_width));
        column(rows.collect(), SPACE)
    }

    fn row(&self, cores: &[Core], core_width: u32) -> Block {
        let height = CAPTION + self.cell + PAD;
        let mut body = String::new();
        let mut runs: Vec<Run<'_>> = Vec::new();
        for (index, core) in cores.iter().enumerate() {
            let x = index as u32 * (core_width + SPACE);
            self.core(&mut body, core, x, &mut runs);
        }
        for run in &runs {
            self.run(&mut body, run);
        }
        Block { w: cores.len() as u32 * (core_width + SPACE) - SPACE, h: height, body }
    }

    fn core(&self, body: &mut String, core: &Core, x: u32, runs: &mut Vec<Run<'a>>) {
        let w = self.core_width(core);
        let usable = core.units.iter().any(|unit| unit.usable);
        let state = if usable { "" } else { ", not available" };
        let _ = write!(
            body,
            "<g><title>{}{state}</title><rect class=\"core\" x=\"{x}\" width=\"{w}\" height=\"{}\" rx=\"4\"/>{}",
            escape(&core.about),
            CAPTION + self.cell + PAD,
            styled(x + w / 2, 10, "c", &fitted(&core.label, 10, w)),
        );
        for (index, unit) in core.units.iter().enumerate() {
            let x = x + PAD + index as u32 * (self.unit + GAP);
            let crowd = self.group.crowds[unit.at].as_slice();
            if crowd.is_empty() {
                self.idle(body, x, unit.usable);
                // The next run does not continue the one before this unit.
                runs.push(Run { x, w: 0, crowd });
                continue;
            }
            match runs.last_mut() {
                Some(run) if run.crowd == crowd => run.w = x + self.unit - run.x,
                _ => runs.push(Run { x, w: self.unit, crowd }),
            }
        }
        body.push_str("</g>\n");
    }

    fn idle(&self, body: &mut String, x: u32, usable: bool) {
        let class = if usable { "f" } else { "x" };
        let (w, y) = (self.unit, CAPTION);
        let _ = write!(
            body,
            "<rect class=\"{class}\" x=\"{x}.5\" y=\"{y}.5\" width=\"{}\" height=\"{}\" rx=\"3\"/>",
            w - 1,
            self.cell - 1
        );
        if !usable {
            let _ = write!(body, "<path class=\"xx\" d=\"M{} {}L{} {}\"/>", x + 3, y + self.cell - 4, x + w - 3, y + 4);
        }
    }

    /// Draws a bar with a lane for each app.
    fn run(&self, body: &mut String, run: &Run<'_>) {
        if run.crowd.is_empty() {
            return;
        }
        let shared = if run.crowd.len() > 1 { " s" } else { "" };
        let parts = by_app(self.scene, run.crowd);
        if parts.len() > MOST_APPS {
            let bar = Bar { x: run.x, w: run.w, y: CAPTION, h: self.cell, class: format!("a8{shared}"), label: "l" };
            return bar.draw(body, run.crowd, "");
        }
        let count = parts.len() as u32;
        for ((app, ranks), lane) in parts.iter().zip(0..) {
            let (from, to) = (self.cell * lane / count, self.cell * (lane + 1) / count);
            let class = style::colour(*app) + shared;
            let bar = Bar { x: run.x, w: run.w, y: CAPTION + from, h: to - from, class, label: style::label(*app) };
            bar.draw(body, ranks, &self.scene.apps[*app].program);
        }
    }
}

/// Returns the width of a processor that has room for all labels; one width for all nodes, so that equal ones look
/// equal.
pub(super) fn wanted(scene: &Scene<'_>) -> u32 {
    let of_group = |group: &Group<'_>| group.tree.cores().iter().map(|core| wish(scene, group, core)).max();
    scene.groups.iter().filter_map(of_group).max().unwrap_or(0)
}

/// Neighbours in a row with the same ranks.
struct Run<'a> {
    x: u32,
    w: u32,
    crowd: &'a [Rank],
}

/// Ranks of one app at the same processors.
struct Bar {
    x: u32,
    y: u32,
    w: u32,
    h: u32,
    class: String,
    label: &'static str,
}

impl Bar {
    fn draw(&self, body: &mut String, ranks: &[Rank], program: &str) {
        let Bar { x, y, w, h, class, label } = self;
        let numbers: Vec<u32> = ranks.iter().map(|rank| rank.0).collect();
        let list = ranges(&numbers, POINTED);
        let word = if ranks.len() == 1 { "rank" } else { "ranks" };
        let program = if program.is_empty() { String::new() } else { format!(" · {}", escape(program)) };
        let _ = writeln!(
            body,
            "<g class=\"p\" data-r=\"{list}\"><title>{word} {list}{program}</title>\
             <rect class=\"r {class}\" x=\"{x}.5\" y=\"{y}.5\" width=\"{}\" height=\"{}\" rx=\"3\"/>{}</g>",
            w - 1,
            h - 1,
            styled(x + w / 2, y + h / 2 + 4, label, &short(&numbers, w - 4)),
        );
    }
}

/// Returns the longest text for ranks that fits.
pub(super) fn short(numbers: &[u32], width: u32) -> String {
    let count = numbers.len();
    let texts = [ranges(numbers, 99), format!("{count} ranks"), format!("×{count}")];
    texts.into_iter().find(|text| width_of(text, LABEL) <= width).unwrap_or_default()
}

/// Returns the width of a core's processors at which the labels of its ranks fit.
fn wish(scene: &Scene<'_>, group: &Group<'_>, core: &Core) -> u32 {
    let same = |a: &Unit, b: &Unit| group.crowds[a.at] == group.crowds[b.at];
    let runs = core.units.chunk_by(same);
    runs.map(|run| label_width(scene, &group.crowds[run[0].at]) / run.len() as u32).max().unwrap_or(0)
}

fn label_width(scene: &Scene<'_>, crowd: &[Rank]) -> u32 {
    let part = |(_, ranks): &(usize, Vec<Rank>)| match ranks.as_slice() {
        [] => 0,
        [one] => width_of(&one.to_string(), LABEL) + 6,
        [one, two] => width_of(&format!("{one},{two}"), LABEL) + 6,
        [first, .., last] => (width_of(&format!("{first}-{last}"), LABEL) + 6).min(40),
    };
    by_app(scene, crowd).iter().map(part).max().unwrap_or(0)
}

fn by_app(scene: &Scene<'_>, crowd: &[Rank]) -> Vec<(usize, Vec<Rank>)> {
    let mut parts: Vec<(usize, Vec<Rank>)> = Vec::new();
    for rank in crowd {
        let app = usize::from(scene.subject.map.procs[rank.0 as usize].app);
        match parts.iter_mut().find(|(known, _)| *known == app) {
            Some((_, ranks)) => ranks.push(*rank),
            None => parts.push((app, vec![*rank])),
        }
    }
    parts
}

/// Returns the number of cores in a row; if possible one that leaves no row unfilled.
fn columns(cores: usize, most: usize) -> usize {
    if cores <= 8.min(most) {
        return cores.max(1);
    }
    [8, 12, 10, 6, 9, 7].into_iter().find(|n| *n <= most && cores.is_multiple_of(*n)).unwrap_or(8.min(most))
}
