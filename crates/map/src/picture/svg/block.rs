//! Rectangles of a drawing that are placed beside and below each other.

use std::fmt::Write as _;

use crate::display::escape;

/// A piece of drawing and its size (pixels).
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) w: u32,
    pub(super) h: u32,
    pub(super) body: String,
}

impl Block {
    /// Returns the drawing, moved to a position.
    pub(super) fn at(&self, x: u32, y: u32) -> String {
        match (x, y) {
            (0, 0) => self.body.clone(),
            _ => format!("<g transform=\"translate({x} {y})\">{}</g>\n", self.body),
        }
    }
}

/// Puts blocks below each other.
pub(super) fn column(blocks: Vec<Block>, gap: u32) -> Block {
    let mut all = Block::default();
    for block in blocks {
        let y = if all.h == 0 { 0 } else { all.h + gap };
        all.body.push_str(&block.at(0, y));
        all.h = y + block.h;
        all.w = all.w.max(block.w);
    }
    all
}

/// Puts blocks beside each other, in as many rows as the width needs.
pub(super) fn flow(blocks: Vec<Block>, width: u32, gap: u32) -> Block {
    let mut all = Block::default();
    let (mut x, mut y) = (0, 0);
    for block in blocks {
        if x > 0 && x + block.w > width {
            (x, y) = (0, all.h + gap);
        }
        all.body.push_str(&block.at(x, y));
        all.w = all.w.max(x + block.w);
        all.h = all.h.max(y + block.h);
        x += block.w + gap;
    }
    all
}

/// Returns a width in which blocks of one size fill their rows evenly, at most the given one.
pub(super) fn evenly(blocks: &[Block], width: u32, gap: u32) -> u32 {
    let Some(first) = blocks.first().filter(|first| blocks.iter().all(|block| block.w == first.w)) else {
        return width;
    };
    let fit = ((width + gap) / (first.w + gap)).max(1) as usize;
    let even = (fit.div_ceil(2)..=fit).rev().find(|n| blocks.len().is_multiple_of(*n));
    even.filter(|n| *n < blocks.len()).map_or(width, |n| n as u32 * (first.w + gap) - gap)
}

/// Makes a block with one line of text.
pub(super) fn plain(class: &str, size: u32, text: &str) -> Block {
    Block { w: width_of(text, size), h: size + 4, body: styled(0, size, class, text) }
}

/// Returns a text at a position.
pub(super) fn styled(x: u32, y: u32, class: &str, text: &str) -> String {
    let mut out = String::new();
    let _ = write!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escape(text));
    out
}

/// Estimates the width of a text (pixels), a little too large, because the typeface is not known.
pub(super) fn width_of(text: &str, size: u32) -> u32 {
    let hundredths: u32 = text.chars().map(hundredths).sum();
    (hundredths * size).div_ceil(100)
}

/// Returns the width of a character in hundredths of the type size.
const fn hundredths(c: char) -> u32 {
    match c {
        ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '(' | ')' | '[' | ']' | '/' | 'f' | 'i' | 'j' | 'l' | 't' => {
            40
        }
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 98,
        'A'..='Z' => 70,
        '0'..='9' => 64,
        c if c.is_ascii() || c == '·' => 61,
        _ => 100,
    }
}

/// Cuts a text to a width.
pub(super) fn fitted(text: &str, size: u32, width: u32) -> String {
    if width_of(text, size) <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if width_of(&cut, size) + size > width {
            break;
        }
    }
    cut.pop();
    cut + "…"
}
