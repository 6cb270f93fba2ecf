//! Values that shells offer and that only a run knows: hosts, jobs, sessions, and the names of parameters. The
//! completion scripts call `pdvm --candidates KIND CURRENT WORDS...` each time the user asks for completions. So an
//! answer comes at once or not at all, and nothing but candidates is ever written.

use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Parser;
use ferrite_rm::hostfile;
use ferrite_rm::params::KNOWN;

use super::dvm::Dvm;
use crate::args::ConnectionOptions;

/// The first argument of such a call.
pub(super) const OPTION: &str = "--candidates";

/// Time for the answer of a DVM; a user who waits longer has typed the value.
const LIMIT: Duration = Duration::from_millis(40);

/// Larger than any hostfile of a user who waits (bytes).
const LARGEST_FILE: u64 = 1 << 20;

/// Options that select a DVM and have a value.
const WITH_VALUE: [&str; 4] = ["--dvm-uri", "--dvm-key", "--pid", "--namespace"];
const FLAGS: [&str; 2] = ["--system-server-first", "--system-server-only"];

/// The selection of a DVM on the line that is being typed.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Selection {
    #[command(flatten)]
    which: ConnectionOptions,
}

/// Prints the candidates of a kind, one a line.
pub(super) fn print(args: &[String]) {
    let [kind, current, words @ ..] = args else { return };
    let (kind, words, current) = (kind.clone(), words.to_vec(), current.clone());
    let (tell, told) = mpsc::channel();
    // A DVM that does not answer in time is left behind with this thread when the process ends.
    thread::spawn(move || tell.send(candidates(&kind, &current, &words)));
    let found = told.recv_timeout(LIMIT).unwrap_or_default();
    let text: String = found.iter().map(|name| format!("{name}\n")).collect();
    // A shell that does not read wants no candidates.
    let _ = io::stdout().write_all(text.as_bytes());
}

fn candidates(kind: &str, current: &str, words: &[String]) -> Vec<String> {
    match kind {
        "hosts" => listed(current, hosts(words)),
        "jobs" => jobs(words),
        "sessions" => sessions(words),
        "parameters" => parameters(words),
        _ => Vec::new(),
    }
}

/// The names behind the items of a list that are there already.
fn listed(current: &str, names: Vec<String>) -> Vec<String> {
    let value = match current.starts_with("--") {
        true => current.split_once('=').map_or("", |(_, value)| value),
        false => current,
    };
    let done = value.rfind(',').map_or("", |comma| &value[..=comma]);
    let is_new = |name: &&String| !done.split(',').any(|item| item.split(':').next() == Some(name));
    names.iter().filter(is_new).map(|name| format!("{done}{name}")).collect()
}

/// The hosts of the line's hostfile, else those of the DVM.
fn hosts(words: &[String]) -> Vec<String> {
    if let Some(file) = ["--hostfile", "--machinefile"].iter().find_map(|option| value_of(option, words)) {
        return hosts_of(Path::new(&file)).unwrap_or_default();
    }
    let nodes = dvm(words).and_then(|mut dvm| dvm.nodes().ok());
    nodes.unwrap_or_default().into_iter().map(|node| node.name).collect()
}

fn hosts_of(file: &Path) -> Option<Vec<String>> {
    let about = std::fs::metadata(file).ok().filter(|about| about.is_file() && about.len() <= LARGEST_FILE);
    about?;
    let hosts = hostfile::parse("", &std::fs::read_to_string(file).ok()?).ok()?;
    Some(hosts.hosts().map(|host| host.name.clone()).collect())
}

/// The jobs of the DVM; for an order only those that are not over.
fn jobs(words: &[String]) -> Vec<String> {
    let is_order = words.iter().any(|word| ["kill", "signal", "release"].contains(&word.as_str()));
    let jobs = dvm(words).and_then(|mut dvm| dvm.jobs().ok()).unwrap_or_default();
    let meant = jobs.iter().filter(|job| !is_order || job.ended_us.is_none());
    meant.map(|job| job.job.to_string()).collect()
}

fn sessions(words: &[String]) -> Vec<String> {
    let sessions = dvm(words).and_then(|mut dvm| dvm.sessions().ok()).unwrap_or_default();
    sessions.iter().map(|session| session.session.to_string()).collect()
}

/// The names of parameters, behind their option and not behind a name.
fn parameters(words: &[String]) -> Vec<String> {
    match words.last() {
        Some(option) if option == "--prtemca" => KNOWN.iter().map(|known| known.name.to_owned()).collect(),
        _ => Vec::new(),
    }
}

/// The selected DVM.
fn dvm(words: &[String]) -> Option<Dvm> {
    // `--dvm` names a DVM in words of its own.
    if value_of("--dvm", words).is_some() {
        return None;
    }
    let mut line: Vec<String> =
        FLAGS.iter().filter(|flag| words.iter().any(|w| w == *flag)).map(ToString::to_string).collect();
    for option in WITH_VALUE {
        line.extend(value_of(option, words).map(|value| format!("{option}={value}")));
    }
    Dvm::find(Selection::try_parse_from(line).ok()?.which).ok()
}

/// The value of an option, `--option value` or `--option=value`.
fn value_of(option: &str, words: &[String]) -> Option<String> {
    let behind = |at: usize| words.get(at + 1).cloned();
    words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(option)? {
        // bash splits a word at `=`.
        "" if behind(at).as_deref() == Some("=") => behind(at + 1),
        "" => behind(at),
        rest => rest.strip_prefix('=').map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_list_of_hosts_is_continued_and_names_each_host_once() {
        let names = || ["n0", "n1", "n10"].map(str::to_owned).to_vec();
        assert_eq!(listed("", names()), ["n0", "n1", "n10"]);
        assert_eq!(listed("n1:4,n", names()), ["n1:4,n0", "n1:4,n10"]);
        assert_eq!(listed("--host=n0,", names()), ["n0,n1", "n0,n10"]);
    }

    #[test]
    fn hosts_come_from_the_hostfile_of_the_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("hosts");
        std::fs::write(&file, "a slots=2\nb # two\n^c\n").unwrap();
        let name = file.display();
        assert_eq!(hosts(&words(&format!("prterun --hostfile {name} --host"))), ["a", "b"]);
        assert_eq!(hosts(&words(&format!("prterun --hostfile={name} --host"))), ["a", "b"]);
        assert_eq!(hosts(&words(&format!("prterun --hostfile = {name} --host"))), ["a", "b"]);
        assert!(hosts(&words("prterun --hostfile /no/such/file --host")).is_empty());
    }

    #[test]
    fn parameters_are_offered_behind_their_option_alone() {
        assert!(parameters(&words("prun --prtemca")).contains(&"rml_base_radix".to_owned()));
        assert!(parameters(&words("prun --prtemca rml_base_radix")).is_empty());
    }
}
