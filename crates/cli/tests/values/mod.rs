//! The values that shell completions offer. Options with lists of directives are parsed by the project, so that clap
//! does not know their words; completions get them here, and a test proves that each is accepted.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, ValueHint};

/// Words of options that take directives. A list of several is typed by the user.
const WORDS: &[(&str, &[&str])] = &[
    (
        "map-by",
        &[
            "slot",
            "node",
            "core",
            "hwthread",
            "l1cache",
            "l2cache",
            "l3cache",
            "numa",
            "package",
            "seq",
            "ppr:1:node",
            "slot:PE=2",
            "slot:OVERSUBSCRIBE",
            "slot:NOOVERSUBSCRIBE",
            "slot:NOLOCAL",
            "core:SPAN",
            "core:HWTCPUS",
        ],
    ),
    ("rank-by", &["slot", "node", "fill", "span"]),
    (
        "bind-to",
        &[
            "none",
            "core",
            "hwthread",
            "l1cache",
            "l2cache",
            "l3cache",
            "numa",
            "package",
            "core:overload-allowed",
            "core:if-supported",
            "core:REPORT",
        ],
    ),
    ("output", &["tag", "timestamp", "xml", "rank", "merge", "raw", "file=", "dir="]),
    ("display", &["map", "map-devel", "allocation", "bind", "topo", "cpus", "map:parseable", "svg=", "html="]),
    (
        "runtime-options",
        &[
            "donotlaunch",
            "recoverable",
            "continuous",
            "error-nonzero-status",
            "show-progress",
            "notifyerrors",
            "report-state-on-timeout",
            "fwd-environment",
        ],
    ),
    ("personality", &["prte", "ompi"]),
];

/// Returns the definitions with the words, and with a hint where the value is a file or a directory.
pub(crate) fn offered(command: Command) -> Command {
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| {
        let words = WORDS.iter().find(|(name, _)| arg.get_long() == Some(name));
        match words {
            Some((_, words)) => arg.value_parser(PossibleValuesParser::new(*words)).hide_possible_values(true),
            None => hinted(arg),
        }
    });
    verbs.into_iter().fold(command, |command, verb| command.mut_subcommand(verb, offered))
}

fn hinted(arg: Arg) -> Arg {
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let form = arg.get_value_names().unwrap_or_default().first().map(ToString::to_string).unwrap_or_default();
    match form.as_str() {
        _ if !takes_value || arg.get_possible_values().len() > 1 => arg,
        "DIR" | "DIRS" => arg.value_hint(ValueHint::DirPath),
        form if form.contains("FILE") || form.contains("PATH") => arg.value_hint(ValueHint::FilePath),
        "COMMAND" => arg.value_hint(ValueHint::CommandString),
        "HOSTS" | "HOST" => arg.value_hint(ValueHint::Hostname),
        form if form.starts_with("HOST[") || form.starts_with("HOST,") => arg.value_hint(ValueHint::Hostname),
        _ => arg,
    }
}

#[test]
fn each_word_that_is_offered_is_accepted() {
    use ferrite_cli::args::{Environment, parse};
    for (option, words) in WORDS {
        for word in *words {
            // The user completes a word that ends with `=`.
            let value = if word.ends_with('=') { format!("{word}x") } else { (*word).to_owned() };
            let line = [format!("--{option}"), value, "./a".to_owned()];
            if let Err(error) = parse(&line, &Environment::new()) {
                panic!("--{option} {word}: {error}");
            }
        }
    }
}
