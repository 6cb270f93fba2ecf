//! A table that fits a width. A cell that is cut ends with `…`; columns for which there is no room are left out, and
//! named. Pure.

use ratatui::text::Span;

use crate::pdvm::text::Side;

/// The blanks between two columns.
const GAP: usize = 2;

/// A column of a [`Grid`].
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) head: &'static str,
    pub(super) side: Side,
    /// The width to which its cells may be cut; `None` = they are never cut.
    pub(super) least: Option<usize>,
    /// The column with the lowest number is left out first; the highest stays always.
    pub(super) worth: u8,
}

/// Makes a column whose cells are never cut.
pub(super) const fn whole(head: &'static str, side: Side, worth: u8) -> Column {
    Column { head, side, least: None, worth }
}

/// Makes a column of texts that may be cut to this width.
pub(super) const fn texts(head: &'static str, least: usize, worth: u8) -> Column {
    Column { head, side: Side::Left, least: Some(least), worth }
}

/// The columns that fit, and their widths.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Grid {
    /// The columns, by their index, with their widths.
    pub(super) columns: Vec<(usize, usize)>,
    /// Heads of the columns that are left out.
    pub(super) left_out: Vec<&'static str>,
}

impl Grid {
    /// Chooses the columns for these rows.
    pub(super) fn fit(columns: &[Column], rows: &[Vec<String>], width: usize) -> Grid {
        let natural: Vec<usize> = (0..columns.len())
            .map(|at| rows.iter().map(|row| columns_of(&row[at])).fold(columns[at].head.len(), usize::max))
            .collect();
        let least = |at: usize| columns[at].least.map_or(natural[at], |least| least.min(natural[at]));
        let mut kept: Vec<usize> = (0..columns.len()).collect();
        let mut left_out = Vec::new();
        while kept.iter().map(|at| least(*at) + GAP).sum::<usize>() > width + GAP && kept.len() > 1 {
            let dropped = kept.iter().copied().min_by_key(|at| columns[*at].worth).unwrap_or_default();
            kept.retain(|at| *at != dropped);
            left_out.push(dropped);
        }
        left_out.sort_unstable();
        let mut free = (width + GAP).saturating_sub(kept.iter().map(|at| least(*at) + GAP).sum());
        let mut by_worth = kept.clone();
        by_worth.sort_by_key(|at| std::cmp::Reverse(columns[*at].worth));
        let mut widths: Vec<usize> = (0..columns.len()).map(least).collect();
        for at in by_worth {
            let more = (natural[at] - widths[at]).min(free);
            widths[at] += more;
            free -= more;
        }
        Grid {
            columns: kept.iter().map(|at| (*at, widths[*at].min(width))).collect(),
            left_out: left_out.into_iter().map(|at| columns[at].head).collect(),
        }
    }

    /// Returns the heads.
    pub(super) fn heads(&self, columns: &[Column]) -> Vec<String> {
        self.columns.iter().map(|(at, width)| padded(columns[*at].head, *width, columns[*at].side)).collect()
    }

    /// Returns the cells of a row, cut and padded, each with the index of its column.
    pub(super) fn cells(&self, columns: &[Column], row: &[String]) -> Vec<(usize, String)> {
        self.columns.iter().map(|(at, width)| (*at, padded(&row[*at], *width, columns[*at].side))).collect()
    }
}

/// Returns the number of terminal columns that a text takes.
pub(super) fn columns_of(text: &str) -> usize {
    Span::raw(text).width()
}

/// Cuts a text to a number of terminal columns; the mark `…` shows it.
pub(super) fn fitted(text: &str, width: usize) -> String {
    if columns_of(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut free = width.saturating_sub(1);
    for c in text.chars() {
        let own = columns_of(c.encode_utf8(&mut [0; 4]));
        if own > free {
            break;
        }
        free -= own;
        kept.push(c);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// Breaks a text into lines of at most this width; nothing is lost. A line is broken at a blank if it has one.
pub(super) fn broken(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        while columns_of(rest) > width {
            let fits = length_of(rest, width);
            // The first blanks of a line are its place in a table.
            let blank = rest[..fits].rfind(' ').filter(|at| !rest[..*at].trim().is_empty());
            let at = if rest[fits..].starts_with(' ') { fits } else { blank.unwrap_or(fits) };
            lines.push(rest[..at].trim_end().to_owned());
            rest = rest[at..].trim_start();
        }
        lines.push(rest.to_owned());
    }
    lines
}

/// Returns the number of bytes of the first characters that fit; at least one character.
fn length_of(text: &str, width: usize) -> usize {
    let mut used = 0;
    let mut length = 0;
    for c in text.chars() {
        used += columns_of(c.encode_utf8(&mut [0; 4]));
        if used > width && length > 0 {
            break;
        }
        length += c.len_utf8();
    }
    length
}

fn padded(text: &str, width: usize, side: Side) -> String {
    let text = fitted(text, width);
    let blanks = " ".repeat(width.saturating_sub(columns_of(&text)));
    match side {
        Side::Left => text + &blanks,
        Side::Right => blanks + &text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] =
        [whole("N", Side::Right, 9), texts("NAME", 5, 8), whole("SIZE", Side::Right, 1), texts("WHY", 4, 2)];

    fn row(cells: [&str; 4]) -> Vec<String> {
        cells.map(str::to_owned).into()
    }

    fn shown(width: usize) -> (String, Vec<&'static str>) {
        let rows = [row(["1", "a-long-name", "7", "it waits for long"]), row(["10", "b", "8", ""])];
        let grid = Grid::fit(&COLUMNS, &rows, width);
        let cells: Vec<String> = grid.cells(&COLUMNS, &rows[0]).into_iter().map(|(_, cell)| cell).collect();
        (cells.join("  "), grid.left_out)
    }

    #[test]
    fn a_wide_table_shows_all_and_a_narrow_one_says_what_is_missing() {
        assert_eq!(shown(80), (" 1  a-long-name     7  it waits for long".to_owned(), vec![]));
        assert_eq!(shown(30), (" 1  a-long-name     7  it wai…".to_owned(), vec![]));
        assert_eq!(shown(21), (" 1  a-lo…     7  it …".to_owned(), vec![]));
        assert_eq!(shown(20), (" 1  a-long-na…  it …".to_owned(), vec!["SIZE"]));
        assert_eq!(shown(10), (" 1  a-lon…".to_owned(), vec!["SIZE", "WHY"]));
        assert_eq!(shown(1).0.chars().count(), 1);
    }

    #[test]
    fn a_text_is_broken_at_blanks_and_keeps_all_words() {
        assert_eq!(broken("  ab cd ef\ngh", 7), ["  ab cd", "ef", "gh"]);
        assert_eq!(broken("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(broken("日本語", 4), ["日本", "語"]);
        assert_eq!((fitted("日本語", 5), fitted("ab", 2)), ("日本…".to_owned(), "ab".to_owned()));
    }
}
