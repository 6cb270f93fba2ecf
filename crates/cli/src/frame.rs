//! Prints messages on standard error: a rule of 74 dashes above and below, and no control characters. No other module
//! prints them.

use std::io::Write;

use ferrite_types::{printable, wrapped};

use crate::args::UsageError;

const RULE: &str = "--------------------------------------------------------------------------";
const WIDTH: usize = 74;

/// Formats a message between rules. Each paragraph is wrapped at the width of the terminal on standard error, or at 74
/// columns where there is none; there lines that begin with a space stay as they are.
#[must_use]
pub fn framed(command: &str, paragraphs: &[&str]) -> String {
    framed_at(ferrite_driver::message_width(), command, paragraphs)
}

fn framed_at(terminal: Option<usize>, command: &str, paragraphs: &[&str]) -> String {
    let mut text = format!("{RULE}\n");
    let mut prefix = format!("{command}: ");
    let mut first = true;
    for paragraph in paragraphs.iter().filter(|p| !p.is_empty()) {
        if !std::mem::take(&mut first) {
            text.push('\n');
        }
        let whole = std::mem::take(&mut prefix) + &printable(paragraph);
        whole.lines().for_each(|line| wrap(line, terminal, &mut text));
    }
    text + RULE + "\n"
}

fn wrap(line: &str, terminal: Option<usize>, text: &mut String) {
    if line.starts_with(' ') {
        text.push_str(&terminal.map_or_else(|| line.to_owned(), |width| wrapped(line, width)));
        text.push('\n');
        return;
    }
    let most = terminal.unwrap_or(WIDTH);
    let mut width = 0;
    for word in line.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > most {
            text.push('\n');
            width = 0;
        }
        if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += length;
    }
    text.push('\n');
}

/// Formats a refusal. Advice that names a command names the one that was called.
#[must_use]
pub fn refusal(command: &str, error: &UsageError) -> String {
    let next = error.next_step();
    let next = ["`prterun --help", "prterun -n 4"]
        .iter()
        .fold(next, |next, form| next.replace(form, &form.replace("prterun", command)));
    framed(command, &[&error.to_string(), &next])
}

/// Formats a finished message of the DVM between rules, wrapped at the width of a terminal on standard error.
#[must_use]
pub fn notice(text: &str) -> String {
    notice_at(ferrite_driver::message_width(), text)
}

fn notice_at(terminal: Option<usize>, text: &str) -> String {
    let text = printable(text);
    let text = text.trim_end();
    match terminal {
        Some(width) => format!("{RULE}\n{}\n{RULE}\n", wrapped(text, width)),
        None => format!("{RULE}\n{text}\n{RULE}\n"),
    }
}

/// Writes to standard error; errors are ignored, because nothing can report them.
pub fn print(text: &str) {
    let _ = std::io::stderr().lock().write_all(printable(text).as_bytes());
}

/// Writes a line of JSON to standard error; errors are ignored, as by [`print()`]. JSON has escapes of its own.
pub fn print_json(line: &str) {
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Prints remarks: one line each, without rules, so that they do not look like a failure.
pub fn print_warnings(command: &str, warnings: &[String]) {
    for warning in warnings {
        print(&format!("{command}: warning: {warning}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_messages_in_its_width_and_a_file_those_of_the_dvm_as_they_are() {
        let long = "The daemon on node n1 could not be started.\n  cause:   no route to host n1 from here at all";
        assert_eq!(notice_at(None, long), format!("{RULE}\n{long}\n{RULE}\n"));
        for text in
            [notice_at(Some(30), long), framed_at(Some(30), "prun", &[long, "Check that it is up and running."])]
        {
            let lines: Vec<&str> = text.lines().filter(|line| *line != RULE).collect();
            assert!(lines.iter().all(|line| line.chars().count() <= 30), "{text}");
            assert!(lines.iter().any(|line| line.starts_with("  cause: no")), "{text}");
        }
    }

    #[test]
    fn no_message_commands_the_terminal() {
        let dirty = "cannot start 'a\x1b[2Jb'\x07";
        let texts = [
            framed("prun", &[dirty, dirty]),
            notice(dirty),
            refusal("prun", &UsageError::NotText { index: 1, shown: dirty.to_owned() }),
        ];
        for text in texts {
            assert!(!text.contains(['\x1b', '\x07']) && text.contains("\\x1b[2J"), "{text}");
        }
    }
}
