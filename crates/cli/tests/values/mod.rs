//! The values that shell completions offer. Options with lists of directives are parsed by the project, so that clap
//! does not know their words; completions get them here, and a test proves that each is accepted.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, ValueHint};
use clap_complete::Shell;

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
            "donotspawn",
            "output-proctable",
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

/// Options whose values only a run knows, and the kind of these values.
const ASKED: &[(&str, &str)] = &[("host", "hosts"), ("session-id", "sessions"), ("prtemca", "parameters")];

/// The kind of the values of an argument that `pdvm --candidates` knows.
fn asked(command: &str, arg: &Arg) -> Option<&'static str> {
    let is_job = |name: &clap::builder::Str| name.as_str() == "JOB";
    if arg.is_positional() && arg.get_value_names().is_some_and(|names| names.iter().any(is_job)) {
        return Some("jobs");
    }
    // A grow brings hosts that nobody knows yet.
    let known = ASKED.iter().filter(|(option, _)| command != "grow" || *option != "host");
    known.into_iter().find(|(option, _)| arg.get_long() == Some(option)).map(|(_, kind)| *kind)
}

/// The word that stands for the values of a kind until the script is complete.
fn mark(kind: &str) -> String {
    format!("@{kind}@")
}

/// Replaces the marks in a script by calls.
pub(crate) fn calling(shell: Shell, script: &str) -> String {
    let mut script = script.to_owned();
    let kinds = ["hosts", "jobs", "sessions", "parameters"];
    for kind in kinds {
        let mark = mark(kind);
        script = match shell {
            Shell::Bash => {
                let call =
                    format!("$(pdvm --candidates {kind} \"${{cur}}\" \"${{COMP_WORDS[@]:0:COMP_CWORD}}\" 2>/dev/null)");
                script.replace(&mark, &call)
            }
            Shell::Zsh => script.replace(&format!("({mark})"), &format!("_ferrite_values {kind}")),
            Shell::Fish => {
                let call = format!("(pdvm --candidates {kind} (commandline -ct) (commandline -opc) 2>/dev/null)");
                script.replace(&format!("{mark}\\t''"), &call)
            }
            _ => script,
        };
        assert!(!script.contains(&mark), "a mark stays: {kind}");
    }
    match shell {
        Shell::Zsh if script.contains("_ferrite_values") => {
            script.replacen("autoload -U is-at-least\n", &format!("autoload -U is-at-least\n\n{ZSH_VALUES}"), 1)
        }
        _ => script,
    }
}

/// Escapes the colons of value names, which clap leaves as they are: zsh would take what follows one for a command.
pub(crate) fn escaped_in_zsh(command: &Command, script: String) -> String {
    let names = command.get_arguments().filter_map(Arg::get_value_names).flatten().map(ToString::to_string);
    let with_colon = names.filter(|name| name.contains(':'));
    let script = with_colon
        .fold(script, |script, name| script.replace(&format!(":{name}:"), &format!(":{}:", name.replace(':', "\\:"))));
    command.get_subcommands().fold(script, |script, verb| escaped_in_zsh(verb, script))
}

/// Lines for the verbs that take a job: clap writes none for arguments without an option.
pub(crate) fn jobs_in_fish(command: &Command) -> String {
    let name = command.get_name();
    let takes_job = |verb: &&Command| verb.get_positionals().any(|arg| asked(verb.get_name(), arg) == Some("jobs"));
    let line = |verb: &Command| {
        let call = "pdvm --candidates jobs (commandline -ct) (commandline -opc) 2>/dev/null";
        format!("complete -c {name} -n \"__fish_{name}_using_subcommand {}\" -f -a \"({call})\"\n", verb.get_name())
    };
    command.get_subcommands().filter(takes_job).map(line).collect()
}

/// The function of zsh scripts that asks for values.
const ZSH_VALUES: &str = "\
(( $+functions[_ferrite_values] )) ||
_ferrite_values() {
    local -a values
    values=(${(f)\"$(pdvm --candidates $@[-1] \"$PREFIX\" ${(Q)words[1,CURRENT-1]} 2>/dev/null)\"})
    compadd -a values
}
";

/// Returns the definitions with the words, and with a hint where the value is a file or a directory.
pub(crate) fn offered(command: Command) -> Command {
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let name = command.get_name().to_owned();
    let command = command.mut_args(|arg| {
        if let Some(kind) = asked(&name, &arg) {
            return arg.value_parser(PossibleValuesParser::new([mark(kind)])).hide_possible_values(true);
        }
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
