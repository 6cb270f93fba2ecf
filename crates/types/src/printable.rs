//! Foreign text in messages for people: names of programs, words of ssh or of an abort. A terminal obeys control
//! characters, so they are escaped before printing. Output of processes is not affected.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes each control character except line breaks and tabs. Idempotent.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    // ssh ends its lines like a terminal in raw mode.
    let text = if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    escape(text, |c| is_command(c) && c != '\n' && c != '\t')
}

/// Escapes line breaks and tabs as well, for text within one line: a cell of a table, a name within a sentence.
#[must_use]
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escape(Cow::Borrowed(text), is_command)
}

/// Wraps the lines of a message for people at blanks; lines that fit stay as they are, and a word that is longer than
/// the width stays whole. What follows a wrapped line is indented as it is.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.chars().count() <= width {
            lines.push(line.to_owned());
            continue;
        }
        let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
        let mut used = 0;
        for word in line.split_whitespace() {
            let length = word.chars().count();
            if used > 0 && used + 1 + length <= width {
                used += 1 + length;
                if let Some(last) = lines.last_mut() {
                    *last += " ";
                    *last += word;
                }
            } else {
                used = indent.len() + length;
                lines.push(format!("{indent}{word}"));
            }
        }
    }
    lines.join("\n")
}

/// True for control characters, and for those that change the direction of writing, by which a name can imitate
/// another.
fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape(text: Cow<'_, str>, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_escaped) {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        let _ = match c {
            c if !is_escaped(c) => shown.write_char(c),
            '\n' => shown.write_str("\\n"),
            '\r' => shown.write_str("\\r"),
            '\t' => shown.write_str("\\t"),
            c if c < '\u{100}' => write!(shown, "\\x{:02x}", u32::from(c)),
            c => write!(shown, "\\u{{{:x}}}", u32::from(c)),
        };
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_command_the_terminal_or_show_itself_as_another() {
        assert_eq!(printable("a\x1b]0;owned\x07\x1b[2J b\u{9b}31m\x7f"), "a\\x1b]0;owned\\x07\\x1b[2J b\\x9b31m\\x7f");
        assert_eq!(printable("no\rway"), "no\\rway");
        assert_eq!(printable("safe\u{202e}txt"), "safe\\u{202e}txt");
    }

    #[test]
    fn lines_tabs_and_letters_of_any_script_stay() {
        let text = "eins\n\tzwei: \u{e4}\u{3b1}\u{4e2d} \\x1b\n";
        assert!(matches!(printable(text), Cow::Borrowed(same) if same == text));
        assert_eq!(printable("ssh says\r\nno\r\n"), "ssh says\nno\n");
        assert_eq!(printable(&printable("\x1b")), "\\x1b");
    }

    #[test]
    fn a_long_line_is_wrapped_at_blanks_with_its_indent() {
        assert_eq!(wrapped("ab cd ef\n  cause:   it is long\nshort", 12), "ab cd ef\n  cause: it\n  is long\nshort");
        assert_eq!(wrapped("abcdefgh ij", 4), "abcdefgh\nij");
        assert_eq!(wrapped("  a  b", 6), "  a  b");
    }

    #[test]
    fn a_line_stays_one() {
        assert_eq!(printable_line("a\n\tb\r\n"), "a\\n\\tb\\r\\n");
        assert!(matches!(printable_line("plain"), Cow::Borrowed("plain")));
    }
}
