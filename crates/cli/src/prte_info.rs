//! `prte_info`: versions, paths, build, and all parameters with their values. `options` is the command line, `facts` is
//! the installation, `shown` are the parameters that were asked for; `text`, `parsable`, `json` and `manual` are ways
//! to write them. The parameters come from the table that their readers use. Nothing is started but the PMIx server
//! program, which says what libpmix it finds.

mod facts;
mod json;
mod manual;
mod options;
mod parsable;
mod shown;
mod text;

use std::ffi::OsString;

pub use manual::manual;
pub use options::{InfoOptions, definitions};

use ferrite_rm::Params;

use crate::args::UsageError;
use crate::command::{self, REFUSED, as_text, print};
use crate::frame;
use crate::machine::{self, Surroundings};
use crate::setup;
use facts::Facts;
use options::{Form, InfoParsed};
use shown::Shown;

const NAME: &str = "prte_info";

/// The answer to a command line, ready to be written.
struct Report {
    /// Blocks of facts, each with its heading.
    facts: Vec<(&'static str, Vec<(String, String)>)>,
    /// The parameters, if they were asked for.
    parameters: Option<Shown>,
}

/// Runs the command with these arguments (without its name); returns its exit code.
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    match as_text(args).and_then(|args| options::parse(&args)) {
        Ok(InfoParsed::Print(text)) => print(&text),
        Ok(InfoParsed::Show(options)) => {
            command::with_surroundings(NAME, machine::environment(), |around| show(&options, around))
        }
        Err(error) => {
            frame::print(&frame::refusal(NAME, &error));
            REFUSED
        }
    }
}

fn show(options: &InfoOptions, around: &Surroundings) -> i32 {
    match report(options, around, facts::libpmix) {
        Ok(text) => print(&text),
        Err((what, next)) => command::refuse(NAME, &what, &next),
    }
}

/// The text of an answer; an obstacle and the next step otherwise. `libpmix` tells the library in use.
///
/// # Errors
/// A type, a path or a part that does not exist, and parameters that cannot be read.
pub fn report(
    options: &InfoOptions,
    around: &Surroundings,
    libpmix: impl FnOnce(&Surroundings, &Params) -> String,
) -> Result<String, (String, String)> {
    let of_usage = |error: UsageError| (error.to_string(), error.next_step());
    let given = options.parameters();
    let params = setup::load_params(&given, options.personality.as_deref(), around);
    let params = params.map_err(|error| (error.to_string(), error.next_step()))?;
    if let Some(asked) = &options.show_version {
        return facts::version(asked).map_err(of_usage);
    }
    if options.types {
        return Ok(shown::types().join("\n") + "\n");
    }
    let facts = Facts::of(around, || libpmix(around, &params));
    let report = Report {
        facts: facts.blocks(options).map_err(of_usage)?,
        parameters: Shown::asked_for(options, &params).map_err(of_usage)?,
    };
    Ok(match options.form() {
        Form::Text => text::of(&report),
        Form::Parsable => parsable::of(&report),
        Form::Json => json::of(&report),
    })
}
