//! A command line, one argument a line: parsed or refused, never a panic.
#![no_main]

use ferrite_cli::args::{self, Environment};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let words: Vec<String> = text.lines().map(str::to_owned).collect();
    let _ = args::parse(&words, &Environment::new());
});
