//! The tables of `docs/benchmarks.md` as values, and as JSON for programs.

use std::fmt::Write as _;

/// The text of one benchmark between its marks.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Section {
    /// The text before the first table: machine, load, runs, commit.
    pub(super) about: String,
    pub(super) tables: Vec<Table>,
}

/// A table with the heading above it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Table {
    /// Empty where the section has no headings.
    pub(super) title: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Section {
    /// Reads a section of the page; `None` without its marks.
    pub(super) fn of(page: &str, name: &str) -> Option<Self> {
        let (_, rest) = page.split_once(&format!("<!-- {name}: begin -->\n"))?;
        let (text, _) = rest.split_once(&format!("<!-- {name}: end -->"))?;
        let (mut section, mut title, mut is_table) = (Self::default(), String::new(), false);
        for line in text.lines() {
            let Some(cells) = cells(line) else {
                is_table = false;
                match line.strip_prefix("### ") {
                    Some(heading) => title = heading.to_owned(),
                    None if section.tables.is_empty() => section.about += &format!("{line} "),
                    None => {}
                }
                continue;
            };
            match section.tables.last_mut().filter(|_| is_table) {
                Some(_) if cells.iter().all(|cell| cell.trim_matches([':', '-']).is_empty() && cell.contains("--")) => {
                }
                Some(table) => table.rows.push(cells),
                None => section.tables.push(Table { title: title.clone(), columns: cells, rows: Vec::new() }),
            }
            is_table = true;
        }
        section.about = section.about.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(section)
    }

    /// Finds a table by its heading, or the one that has a column of this name.
    pub(super) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.title == name || table.columns.iter().any(|column| column == name))
    }

    /// What the text before the tables says after this mark, up to the end of its sentence.
    pub(super) fn word(&self, mark: &str) -> Option<&str> {
        let (_, rest) = self.about.split_once(mark)?;
        rest.split_once(". ").map(|(word, _)| word).or_else(|| rest.strip_suffix('.'))
    }

    /// The section as a JSON document. Cells that are numbers are numbers there.
    pub(super) fn json(&self, benchmark: &str) -> String {
        let word = |mark| self.word(mark);
        let text = |word: Option<&str>| word.map_or("null".to_owned(), quoted);
        let mut out = format!("{{\n  \"schema\": 1,\n  \"benchmark\": {},\n", quoted(benchmark));
        let _ = writeln!(out, "  \"machine\": {},", text(word("Machine: ").or_else(|| word("Counted on: "))));
        let _ = writeln!(out, "  \"commit\": {},\n  \"about\": {},", text(word("Commit: ")), quoted(&self.about));
        let tables: Vec<String> = self.tables.iter().map(Table::json).collect();
        let _ = writeln!(out, "  \"tables\": [\n{}\n  ]\n}}", tables.join(",\n"));
        out
    }
}

impl Table {
    fn json(&self) -> String {
        let list = |cells: &[String], each: fn(&str) -> String| {
            format!("[{}]", cells.iter().map(|cell| each(cell)).collect::<Vec<_>>().join(", "))
        };
        let rows: Vec<String> = self.rows.iter().map(|row| format!("        {}", list(row, value))).collect();
        let (title, columns) = (quoted(&self.title), list(&self.columns, quoted));
        let rows = rows.join(",\n");
        format!(
            "    {{\n      \"title\": {title},\n      \"columns\": {columns},\n      \"rows\": [\n{rows}\n      ]\n    }}"
        )
    }
}

/// The cells of a line of a table, without what makes letters bold. A bar behind a backslash parts no cells.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?.replace("\\|", "\u{1}");
    Some(inner.split('|').map(|cell| cell.trim().replace("**", "").replace('\u{1}', "|")).collect())
}

/// A number is one in JSON too when its digits say the same there.
fn value(cell: &str) -> String {
    let is_number = !cell.starts_with(['+', '.']) && cell.parse::<f64>().is_ok_and(f64::is_finite);
    if is_number { cell.to_owned() } else { quoted(cell) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            letter => out.push(letter),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "x\n<!-- a: begin -->\n\nMachine: 2 x A, 1 GB. Load before: 1. Commit: abc12.\nRuns: 3.\n\n### t `x`\n\n\
        | | ms |\n|---|--:|\n| **ours** | 6.5 |\n| `a \\| b` | 1 - 2 |\n\n<!-- a: end -->\n";

    #[test]
    fn a_section_is_read_with_its_headings_and_cells() {
        let section = Section::of(PAGE, "a").unwrap();
        assert_eq!(section.about, "Machine: 2 x A, 1 GB. Load before: 1. Commit: abc12. Runs: 3.");
        let table = section.table("t `x`").unwrap();
        assert_eq!(table.columns, ["", "ms"]);
        assert_eq!(table.rows, [["ours", "6.5"], ["`a | b`", "1 - 2"]]);
        assert!(Section::of(PAGE, "b").is_none());
    }

    #[test]
    fn json_names_machine_and_commit_and_has_numbers_where_the_page_has_them() {
        let json = Section::of(PAGE, "a").unwrap().json("a");
        for part in ["\"machine\": \"2 x A, 1 GB\"", "\"commit\": \"abc12\"", "[\"ours\", 6.5]", "\"1 - 2\""] {
            assert!(json.contains(part), "{part} is not in {json}");
        }
        assert_eq!(quoted("a\"\\\n"), "\"a\\\"\\\\\\u000a\"");
    }
}
