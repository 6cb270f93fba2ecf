//! No variables and no file of a resource manager make its parsers panic, and what they accept names hosts that are no
//! options and fit into the limits. The input is a byte that says which manager, `NAME=value` lines, an empty line, and
//! the file, or the output of a command.
#![no_main]

use ferrite_rm::managers::{FileText, Manager, Said, Variables};
use ferrite_rm::name::check_host;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, bool, &str)| {
    let (which, entire, text) = input;
    let manager = Manager::ALL[usize::from(which) % Manager::ALL.len()];
    let (variables, file) = text.split_once("\n\n").unwrap_or((text, ""));
    let pairs = variables.lines().filter_map(|line| line.split_once('='));
    let variables: Variables = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let Ok(wanted) = manager.file(&variables) else { return };
    let output = manager.command().map(|_| file);
    let file = wanted.map(|wanted| FileText { wanted, text: file.to_owned() });
    match manager.discover(Said { variables: &variables, file: file.as_ref(), output, entire }) {
        Ok(found) => {
            assert!(!found.nodes.is_empty() && found.nodes.len() <= 100_000);
            found.nodes.iter().for_each(|node| assert!(check_host(&node.name).is_ok(), "{:?}", node.name));
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control)),
    }
});
