//! Layout of text for people: durations, tables, bars. Pure.

use ferrite_types::printable_line;

/// Formats a duration (microseconds) with two or three significant digits.
pub(crate) fn duration(us: u64) -> String {
    let seconds = us / 1_000_000;
    match us {
        0..1_000 => format!("{us} us"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        1_000_000..120_000_000 => format!("{:.1} s", us as f64 / 1e6),
        _ if seconds < 7_200 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ if seconds < 172_800 => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// The text for a missing value.
pub(crate) const NONE: &str = "-";

/// Returns a value as text, or [`NONE`].
pub(crate) fn or_none(value: Option<impl ToString>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| value.to_string())
}

/// Makes one line without control characters of a foreign text: a terminal obeys some of them.
pub(crate) fn plain(text: &str) -> String {
    printable_line(text).into_owned()
}

/// Does what [`plain`] does, and cuts the text to this number of characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let text = plain(text);
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Cuts a text at its beginning, where a path says least; otherwise as [`cut`].
pub(crate) fn cut_front(text: &str, most: usize) -> String {
    let text = plain(text);
    let length = text.chars().count();
    if length <= most {
        return text;
    }
    ['…'].into_iter().chain(text.chars().skip(length + 1 - most)).collect()
}

/// Formats a number with its noun: `1 job`, `2 jobs`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The side of its column that a cell is aligned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// Rows under a head, in columns as wide as their widest cell.
pub(crate) struct Table {
    columns: Vec<(&'static str, Side)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Makes a table without rows.
    pub(crate) fn new(columns: &[(&'static str, Side)]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns the lines; none ends with a space. A table without rows is its head.
    pub(crate) fn render(&self) -> String {
        let cell_width = |cell: &str| cell.chars().count();
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(i, (head, _))| self.rows.iter().map(|row| cell_width(&row[i])).fold(head.len(), usize::max))
            .collect();
        let line = |cells: Vec<&str>| {
            let padded = cells.iter().zip(&widths).zip(&self.columns).map(|((cell, width), (_, side))| match side {
                Side::Left => format!("{cell:<width$}"),
                Side::Right => format!("{cell:>width$}"),
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        let head = line(self.columns.iter().map(|(head, _)| *head).collect());
        self.rows.iter().fold(head, |text, row| text + &line(row.iter().map(String::as_str).collect()))
    }
}

/// Draws a part of a whole as a bar: blanks before the part, then at least one mark.
pub(crate) fn bar(begin: u64, length: u64, whole: u64, width: usize) -> String {
    let at = |value: u64| (value as f64 / whole.max(1) as f64 * width as f64) as usize;
    let from = at(begin).min(width.saturating_sub(1));
    let to = at(begin + length).clamp(from + 1, width.max(from + 1));
    " ".repeat(from) + &"#".repeat(to - from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_the_digits_that_matter() {
        let texts = [
            (0, "0 us"),
            (999, "999 us"),
            (1_250, "1.2 ms"),
            (61_000_000, "61.0 s"),
            (125_000_000, "2 min 05 s"),
            (7_260_000_000, "2 h 01 min"),
            (200_000_000_000, "2 d 07 h"),
        ];
        for (us, text) in texts {
            assert_eq!(duration(us), text);
        }
    }

    #[test]
    fn a_name_cannot_move_the_cursor_or_break_a_line() {
        assert_eq!(plain("a\x1b[2J\nb"), "a\\x1b[2J\\nb");
        assert_eq!((cut("abcdef", 6), cut("abcdefg", 6)), ("abcdef".to_owned(), "abcde…".to_owned()));
        assert_eq!((cut_front("abcdef", 6), cut_front("abcdefg", 6)), ("abcdef".to_owned(), "…cdefg".to_owned()));
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&[("N", Side::Right), ("NAME", Side::Left), ("X", Side::Left)]);
        assert_eq!(table.render(), "N  NAME  X\n");
        table.row(vec!["10".to_owned(), "ä".to_owned(), String::new()]);
        assert_eq!(table.render(), " N  NAME  X\n10  ä\n");
    }

    #[test]
    fn a_bar_stays_within_its_width_and_is_never_empty() {
        assert_eq!(bar(0, 50, 100, 10), "#####");
        assert_eq!(bar(50, 50, 100, 10), "     #####");
        assert_eq!(bar(100, 0, 100, 10), "         #");
        assert_eq!(bar(0, 0, 0, 10), "#");
    }
}
