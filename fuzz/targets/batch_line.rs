//! A line of `prun --batch`: a job with a program, or a refusal, never a panic.
#![no_main]

use ferrite_cli::args::Environment;
use ferrite_cli::batch::line::LineParser;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut parser = LineParser::new(Environment::new());
    for line in text.lines() {
        if let Ok(Some(job)) = parser.parse(line) {
            assert!(job.run.spec.apps.iter().all(|app| app.argv.first().is_some_and(|program| !program.is_empty())));
        }
    }
});
