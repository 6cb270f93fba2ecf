//! The format of messages: a rule of 74 dashes above and below, on standard error, without control characters from any
//! source. No other module prints them.

use std::io::Write;

use ferrite_types::printable;

use crate::args::UsageError;

const RULE: &str = "--------------------------------------------------------------------------";
const WIDTH: usize = 74;

/// A message between rules; each paragraph is wrapped, lines that begin with a space are left as they are.
#[must_use]
pub fn framed(command: &str, paragraphs: &[&str]) -> String {
    let mut text = format!("{RULE}\n");
    let mut prefix = format!("{command}: ");
    let mut first = true;
    for paragraph in paragraphs.iter().filter(|p| !p.is_empty()) {
        if !std::mem::take(&mut first) {
            text.push('\n');
        }
        let whole = std::mem::take(&mut prefix) + &printable(paragraph);
        whole.lines().for_each(|line| wrap(line, &mut text));
    }
    text + RULE + "\n"
}

fn wrap(line: &str, text: &mut String) {
    if line.starts_with(' ') {
        text.push_str(line);
        text.push('\n');
        return;
    }
    let mut width = 0;
    for word in line.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
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

/// The text of a refusal. Advice that names a command is about the one that was called.
#[must_use]
pub fn refusal(command: &str, error: &UsageError) -> String {
    let next = error.next_step();
    let next = ["`prterun --help", "prterun -n 4"]
        .iter()
        .fold(next, |next, form| next.replace(form, &form.replace("prterun", command)));
    framed(command, &[&error.to_string(), &next])
}

/// A message of the DVM, already worded, between rules.
#[must_use]
pub fn notice(text: &str) -> String {
    format!("{RULE}\n{}\n{RULE}\n", printable(text).trim_end())
}

/// Writes to standard error; a reader that went away is no reason to fail.
pub fn print(text: &str) {
    let _ = std::io::stderr().lock().write_all(printable(text).as_bytes());
}

/// Remarks: one line each, without a frame, so that they do not look like a failure.
pub fn print_warnings(command: &str, warnings: &[String]) {
    for warning in warnings {
        print(&format!("{command}: warning: {warning}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
