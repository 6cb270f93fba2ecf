//! The parts of man pages that no definition of an option has: examples, exit status, environment, files, help topics
//! and other pages. Written for `man`, checked by `mandoc -T lint` (`cargo xtask tidy`, where mandoc is installed).

use ferrite_cli::args::{Tool, help_topics};

/// The month of the pages. A date that changes by itself would make them differ from one build to the next.
const DATE: &str = "November 1, 2026";

/// Widest line of a page (bytes).
const WIDTH: usize = 78;

/// Completes the page of a command that clap_mangen has made.
pub(crate) fn completed(name: &str, generated: &str) -> String {
    let mut page = format!(
        ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH {} 1 \"{DATE}\" \"Ferrite {}\"\n",
        name.to_uppercase().replace('-', "\\-"),
        env!("CARGO_PKG_VERSION")
    );
    let body = generated.split_once(".SH NAME").map_or(generated, |(_, body)| body);
    let body = body.split_once(".SH VERSION").map_or(body, |(body, _)| body);
    page.push_str(".SH NAME");
    page.push_str(&body.replace(".SH EXTRA", ".SH NOTES"));
    let mut section = |title: &str, text: String| {
        if !text.is_empty() {
            page.push_str(&format!(".SH \"{title}\"\n{text}"));
        }
    };
    section("EXAMPLES", examples(name));
    section("EXIT STATUS", literal(&exit_status(name)));
    section("ENVIRONMENT", literal(&environment(name)));
    section("FILES", items(&files(name)));
    section("HELP TOPICS", topics(name));
    section("SEE ALSO", see_also(name));
    broken(&page)
}

fn tool(name: &str) -> Option<Tool> {
    Tool::ALL.into_iter().find(|tool| tool.name() == name)
}

/// The text of a help topic of a command; empty = it has none of that name.
fn topic(name: &str, wanted: &str) -> String {
    let topics = tool(name).map(help_topics).unwrap_or_default();
    topics.into_iter().find(|(topic, _)| *topic == wanted).map(|(_, text)| text.to_owned()).unwrap_or_default()
}

fn topics(name: &str) -> String {
    let topics = tool(name).map(help_topics).unwrap_or_default();
    let own = topics.into_iter().filter(|(topic, _)| !matches!(*topic, "exit-codes" | "environment"));
    own.map(|(topic, text)| format!(".SS {}\n{}", escaped(topic), literal(text))).collect()
}

fn examples(name: &str) -> String {
    let all: &[(&str, &str)] = match name {
        "prterun" => &[
            ("prterun -n 4 ./a.out", "Four processes on this machine, or in the batch job."),
            ("prterun --hostfile hosts --map-by node ./a.out", "A process per slot, dealt out node by node."),
            ("prterun -n 1 ./master : -n 8 --host n1,n2 ./worker", "One job of two programs."),
            ("prterun --display map --rtos donotlaunch -n 8 ./a.out", "Where processes would run, and nothing else."),
        ],
        "prun" => &[
            ("prun -n 4 ./a.out", "A job in the running DVM."),
            ("prun --wait-for-slots --detach -n 16 ./a.out", "A job that waits for slots, and goes on without prun."),
            (
                "prun --priority 10 -n 4 ./a.out",
                "A job that waits for slots, and has them before jobs of lower priorities.",
            ),
            ("prun --batch jobs.txt --results results.jsonl", "Many jobs over one connection."),
        ],
        "prte" => &[
            ("prte --daemonize --hostfile hosts", "A DVM that stays; the command returns when it is ready."),
            ("prte --daemonize --listen 0 --report-uri FILE", "A DVM that serves clients of other hosts as well."),
        ],
        "pterm" => {
            &[("pterm", "Ends the DVM of this batch job, or the only one."), ("pterm --pid 4711", "Ends this one.")]
        }
        "prted" => &[("ssh n1 prted", "What the head does for each node; no user calls it.")],
        "prte_info" => &[
            ("prte_info --all", "All parameters with their values and origins."),
            ("prte_info --all --json", "The same for programs."),
        ],
        "pdvm" => &[
            ("pdvm status", "What the DVM does and waits for."),
            ("pdvm top", "Jobs and nodes, refreshed; ? lists the keys."),
            ("pdvm jobs --json | jq '.jobs[] | select(.ending == \"failed\")'", "The jobs that have failed."),
        ],
        "pdvm-web" => &[
            ("pdvm web", "Prints an address for a browser on this machine."),
            ("pdvm web --port 8080", "The same at this port, for a tunnel: ssh -L 8080:127.0.0.1:8080 login"),
        ],
        "pdvm-status" => &[("pdvm status --json | jq .slots_in_use", "The number of slots in use.")],
        "pdvm-nodes" => &[("pdvm nodes", "The nodes, and how full they are.")],
        "pdvm-jobs" => &[
            ("pdvm jobs", "All jobs, with their ends."),
            ("pdvm jobs --tree", "The same; what a job has spawned is below it."),
        ],
        "pdvm-job" => &[("pdvm job 7", "All about job 7."), ("pdvm job 7 --json | jq .cause", "Why it has failed.")],
        "pdvm-wait" => &[
            ("pdvm wait 7", "Returns when job 7 is over, with its exit code."),
            ("pdvm wait $(prun --detach ./a.out) fit", "The same for a detached job, and for the task named fit."),
        ],
        "pdvm-batch" => &[
            ("pdvm batch list", "The batches, and how far they are."),
            ("pdvm batch attach b1", "The records of batch b1 as they come; returns when it is over."),
        ],
        "pdvm-batch-list" => &[("pdvm batch list --json", "The same for programs.")],
        "pdvm-batch-attach" => &[(
            "pdvm batch attach b1 | jq 'select(.record == \"ended\" and .exit_code != 0)'",
            "The tasks that have failed, as they come.",
        )],
        "pdvm-batch-cancel" => &[("pdvm batch cancel b1", "Ends batch b1; each of its tasks gets its record.")],
        "pdvm-batch-results" => {
            &[("pdvm batch results b1 > results", "The records so far, for prun --resume results.")]
        }
        "pdvm-feed" => &[(
            "prun --detach --stdin 0 ./solver && pdvm feed 1 < case.in",
            "Give the file to rank 0 of the job as its standard input.",
        )],
        "pdvm-kill" => {
            &[("pdvm kill 7", "Ends job 7."), ("pdvm kill 7 --tree", "Ends job 7 and all jobs that descend from it.")]
        }
        "pdvm-release" => {
            &[("pdvm release 7 --ranks 0,4-7", "Lets five processes of job 7 go on; the others wait for a debugger.")]
        }
        "pdvm-signal" => &[("pdvm signal 7 USR1", "SIGUSR1 for each process of job 7.")],
        "pdvm-grow" => &[
            ("pdvm grow --host n5,n6:4 --wait", "Two nodes more; returns when they are there."),
            ("pdvm grow --nodes 2 --reserve --req-id weekend", "Two nodes for jobs of prun --alloc-refid weekend."),
        ],
        "pdvm-resize" => &[
            (
                "pdvm resize 3 +2 --wait",
                "Two more processes are offered to job 3; the answer says whether it has taken them.",
            ),
            ("pdvm resize 3 =4 --grace 60", "Job 3 is to have four processes. Those that are to end have a minute."),
        ],
        "pdvm-shrink" => &[("pdvm shrink --nodes 2 --wait", "Two nodes less, idle ones first.")],
        "pdvm-service" => &[
            ("ssh login pdvm service", "The service of the DVM of another machine, for a program on this one."),
            ("pdvm service --dvm-uri file:FILE --dvm-key KEY", "The same for a DVM of prte --listen."),
            (
                "echo '{\"schema\":1,\"kind\":\"status\"}' | pdvm service | head -1 | jq .slots",
                "One question. The second line, closed, is the last one.",
            ),
        ],
        "pdvm-session" => &[("pdvm session list", "The sessions, their nodes and jobs.")],
        "pdvm-session-list" => &[("pdvm session list", "The sessions, their nodes and jobs.")],
        "pdvm-session-instantiate" => {
            &[("pdvm session instantiate 5 --alloc-id a1", "Session 5 on the nodes of allocation a1.")]
        }
        "pdvm-session-pause" => &[("pdvm session pause --session-id 5", "Stops its processes.")],
        "pdvm-session-resume" => &[("pdvm session resume --session-id 5", "Continues them.")],
        "pdvm-session-signal" => &[("pdvm session signal USR1 --session-id 5", "SIGUSR1 for each of its processes.")],
        "pdvm-session-extend" => &[("pdvm session extend 600 --session-id 5", "Ten minutes more.")],
        "pdvm-session-separate" => &[("pdvm session separate --session-id 5", "It outlives its parent and owner.")],
        "pdvm-session-terminate" => &[("pdvm session terminate --session-id 5", "Ends it with its jobs.")],
        "pdvm-events" => &[("pdvm events --follow --json", "The steps of jobs as they happen, one object a line.")],
        "pdvm-top" => &[("pdvm top --interval 0.5", "Two pictures a second."), ("NO_COLOR=1 pdvm top", "No colours.")],
        "pdvm-trace" => &[
            ("pdvm trace 7 --html trace.html", "A page for a browser: the states of job 7 over time."),
            ("pdvm trace --batch b1 --html batch.html", "The tasks of a batch: when and where each ran."),
            ("pdvm trace 7 --chrome trace.json", "A file for Perfetto or chrome://tracing."),
        ],
        "pdvm-metrics" => &[("pdvm metrics", "The counters of the DVM.")],
        _ => &[],
    };
    all.iter().map(|(line, what)| format!(".TP\n.B {}\n{}\n", escaped(line), escaped(what))).collect()
}

fn exit_status(name: &str) -> String {
    match name {
        "prterun" | "prun" => topic(name, "exit-codes"),
        "prte" => "0 when the DVM was ended by request; with --daemonize, when it is ready. 1 when it could not\n\
                   be started, was interrupted, or the command line is wrong.\n"
            .to_owned(),
        "prted" => {
            "0 when the head has sent it away; 1 when it could not be started or has lost the head.\n".to_owned()
        }
        "pterm" => "0 when the DVM has ended; 1 when there is none, or the command line is wrong.\n".to_owned(),
        "prte_info" => "0; 1 when the command line or a file of parameters is wrong.\n".to_owned(),
        "pdvm-batch-attach" => {
            "That of the batch: 0 when all of its tasks have ended well, else 1. 1 as well when there is no such\n\
              batch or no DVM, and standard error says so; 128 and the number of the signal that ended the wait.\n"
                .to_owned()
        }
        "pdvm-wait" => {
            "That of the job; of several jobs, that of the first one, in the order of the line, that has not ended\n\
              with 0. 1 as well when there is no such job or no DVM, and standard error says so; 128 and the number\n\
              of the signal that ended the wait.\n"
                .to_owned()
        }
        _ => "0 done; 1 not done (no DVM, refused, failed), and standard error says why, as a line of JSON\n\
              with --json; 128 and the number of the signal that ended a wait.\n"
            .to_owned(),
    }
}

fn environment(name: &str) -> String {
    let own = topic(name, "environment");
    let parameters = "PRTE_MCA_NAME=VALUE           sets the parameter NAME; see prte-parameters(7)\n";
    let places = "TMPDIR, XDG_RUNTIME_DIR       where session directories are made, and a DVM is looked for\n";
    let batch = "SLURM_JOB_ID, PBS_JOBID, ...  the batch job whose DVM or nodes are meant\n";
    let colours = "NO_COLOR                      when it is set and not empty, pdvm top has no colours\n";
    let more = if name.starts_with("pdvm") { colours } else { "" };
    let gap = if own.is_empty() { "" } else { "\n" };
    format!("{own}{gap}{parameters}{places}{batch}{more}")
}

fn files(name: &str) -> Vec<(&'static str, &'static str)> {
    let parameters = [
        ("PREFIX/etc/prte-mca-params.conf", "The site's parameters."),
        ("~/.prte/mca-params.conf", "The user's parameters."),
    ];
    let session = [("TMPDIR/prte.PID.*", "The session directory of a DVM, with its control socket and contact file.")];
    let hosts = [("PREFIX/etc/prte-default-hostfile", "The nodes of lines that name none, outside of a batch job.")];
    match name {
        "prterun" | "prte" => parameters.into_iter().chain(hosts).chain(session).collect(),
        "prted" => vec![("TMPDIR/prted.PID.*", "The session directory of a daemon.")],
        "prte_info" => parameters.into(),
        _ => parameters.into_iter().chain(session).collect(),
    }
}

fn items(items: &[(&str, &str)]) -> String {
    items.iter().map(|(name, text)| format!(".TP\n.I {}\n{}\n", escaped(name), escaped(text))).collect()
}

fn see_also(name: &str) -> String {
    let others: Vec<&str> = match name {
        "pdvm" => vec!["pdvm-status", "pdvm-top", "pdvm-jobs", "pdvm-grow", "pdvm-session", "prte", "prun", "pterm"],
        "pdvm-session" => vec!["pdvm", "pdvm-session-list", "pdvm-grow"],
        verb if verb.starts_with("pdvm-session-") => vec!["pdvm", "pdvm-session", "pdvm-grow"],
        verb if verb.starts_with("pdvm-") => vec!["pdvm", "prun", "prte"],
        "prted" => vec!["prte", "prterun"],
        one => ["prterun", "prte", "prun", "pterm", "pdvm", "prte_info"]
            .into_iter()
            .filter(|other| *other != one)
            .collect(),
    };
    let pages = others.into_iter().map(|other| (other, 1)).chain([("prte-parameters", 7)]);
    let lines: Vec<String> = pages.map(|(page, section)| format!(".BR {} ({section})", escaped(page))).collect();
    lines.join(",\n") + "\n"
}

/// Text as it stands.
fn literal(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(escaped).collect();
    format!(".nf\n{}\n.fi\n", lines.join("\n").trim_end())
}

/// Text that means nothing to the formatter.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('~', "\\(ti").replace('^', "\\(ha");
    let text = text.replace('\'', "\\(aq").replace('`', "\\(ga").replace('"', "\\(dq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

/// Breaks long lines of text, outside of blocks that stand as they are, and removes blanks at ends of lines.
pub(crate) fn broken(page: &str) -> String {
    let mut out = String::new();
    let mut stands = false;
    for line in page.lines().map(str::trim_end) {
        match line {
            ".nf" => stands = true,
            ".fi" => stands = false,
            _ => {}
        }
        if stands || line.starts_with('.') || line.len() <= WIDTH {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let mut used = 0;
        for word in line.split(' ').filter(|word| !word.is_empty()) {
            if used > 0 && used + 1 + word.len() > WIDTH {
                out.push('\n');
                used = 0;
            }
            if used > 0 {
                out.push(' ');
                used += 1;
            } else if word.starts_with(['.', '\'']) {
                out.push_str("\\&");
            }
            out.push_str(word);
            used += word.len();
        }
        out.push('\n');
    }
    out
}
