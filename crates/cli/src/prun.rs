//! `prun`: runs a job in a DVM that is running. It parses, sets up, finds the DVM, submits the job, and passes output,
//! input and signals until the job is over. `prterun --dvm` calls it as well.

use std::ffi::OsString;
use std::time::Duration;

use ferrite_client::{ClientEvent, ClientLoop, Connection, FindError, Here, Patience, Source, read_piece};
use ferrite_driver::{Dial, Directed, ToolCall};
use ferrite_types::{JobId, PictureFormat, Signal, StdinTarget};
use ferrite_wire::Stream;
use ferrite_wire::control::{ClientMessage, DvmMessage, Reply, Request, Submission};

use crate::args::{Connect, Parsed, Run, Tool};
use crate::called::Called;
use crate::command::{self, REFUSED, as_text, print};
use crate::interrupts::{PATIENCE, heard};
use crate::machine::{self, Surroundings};
use crate::pictures::{self, Pictures};
use crate::setup::{self, ClientSetup};
use crate::{batch, frame};

const NAME: &str = "prun";

/// The number of the only request.
const ID: u32 = 1;

/// Runs the command with these arguments (without its name); returns its exit code.
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    let environment = machine::environment();
    match as_text(args).and_then(|args| command::parse(Tool::Prun, &args, &environment)) {
        Ok(Parsed::Print(text)) => print(&text),
        Ok(Parsed::Run(run)) => command::with_surroundings(NAME, environment, |around| start(NAME, *run, around)),
        Err(error) => {
            frame::print(&frame::refusal(NAME, &error));
            REFUSED
        }
    }
}

/// Runs a job, or a list of them, in a DVM that is running.
pub(crate) fn start(name: &'static str, run: Run, around: &Surroundings) -> i32 {
    let leaves = if run.batch.is_some() { Some("--batch") } else { run.detach.then_some("--detach") };
    let called = match Called::of_client(name, leaves, &around.environment) {
        Ok(called) => called,
        Err((what, next)) => return command::refuse(name, &what, next),
    };
    let asked = run.clone();
    let setup = match setup::prepare_client(run, &[], around) {
        Ok(setup) => setup,
        Err(error) => return command::refuse(name, &error.to_string(), &error.next_step()),
    };
    if !setup.run.quiet {
        frame::print_warnings(name, &setup.run.warnings);
    }
    if !command::report_pid(name, setup.run.report_pid.as_ref()) {
        return REFUSED;
    }
    let connect = setup.run.connect.clone().unwrap_or_default();
    if let Some(batch) = setup.run.batch.clone() {
        return batch::start(name, &batch, &setup, around, || {
            find(name, &connect, setup.tmpdir_base.as_deref(), around)
        });
    }
    // A file of the line that cannot be written is refused before the DVM is looked for.
    if let Err(code) = pictures_of(name, &setup) {
        return code;
    }
    let base = setup.tmpdir_base.as_deref();
    let found = find_by(name, &connect, |connect| {
        let here = here(base, around);
        let key = connect.key.as_deref();
        ferrite_client::connect_and_ask(&connect.selector, key, connect.patience, &here, &Request::Defaults)
    });
    let Some((connection, reply)) = found else { return REFUSED };
    let setup = match defaults_in(name, reply) {
        Err(code) => return code,
        Ok(defaults) if defaults.is_empty() => setup,
        Ok(defaults) => match setup::prepare_client(asked, &defaults, around) {
            Ok(setup) => setup,
            Err(error) => return command::refuse(name, &error.to_string(), &error.next_step()),
        },
    };
    match pictures_of(name, &setup) {
        Ok(pictures) => {
            let call = called.map(|(caller, keepalive)| ToolCall {
                caller,
                keepalive,
                dvm: connection.dvm().to_owned(),
                dial: dial(&connect, setup.tmpdir_base.as_deref(), around),
                params: setup.params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            });
            run_one(name, connection, setup, pictures, call)
        }
        Err(code) => code,
    }
}

/// Returns how further connections are made to the selected DVM.
fn dial(connect: &Connect, tmpdir_base: Option<&str>, around: &Surroundings) -> Dial {
    let (selector, key) = (connect.selector.clone(), connect.key.clone());
    let here = here(tmpdir_base, around);
    Box::new(move || {
        let connection = ferrite_client::connect(&selector, key.as_deref(), Patience::default(), &here);
        connection.map(Connection::into_stream).map_err(|error| error.to_string())
    })
}

fn here(tmpdir_base: Option<&str>, around: &Surroundings) -> Here {
    Here::of(around.hostname.clone(), tmpdir_base, |name| around.environment.get(name).cloned())
}

/// Checks the files of pictures and tables; an exit code when they cannot be kept, after printing the error.
fn pictures_of(name: &str, setup: &ClientSetup) -> Result<Pictures, i32> {
    if setup.run.detach && !setup.run.pictures.is_empty() {
        let what = "--display: with --detach nobody is left to write pictures into files";
        let next = "Remove one of them; prun --rtos donotlaunch draws the map without a launch.";
        return Err(command::refuse(name, what, next));
    }
    Pictures::new(setup.run.pictures.clone()).map_err(|complaint| command::refuse(name, &complaint, pictures::NEXT))
}

/// Asks the DVM for its defaults for jobs; an exit code when that fails, after printing the error.
pub(crate) fn defaults_of(name: &str, connection: &mut Connection) -> Result<Vec<(String, String)>, i32> {
    match connection.ask(Request::Defaults) {
        Ok(reply) => defaults_in(name, reply),
        Err(error) => Err(command::refuse(name, &error.to_string(), error.next_step())),
    }
}

/// The defaults in an answer; an exit code when the DVM refuses, after printing the error.
fn defaults_in(name: &str, reply: Reply) -> Result<Vec<(String, String)>, i32> {
    match reply {
        Reply::Defaults(defaults) => Ok(defaults),
        Reply::Refused(text) => {
            frame::print(&frame::framed(name, &[&text]));
            Err(REFUSED)
        }
        _ => Ok(Vec::new()),
    }
}

/// Connects to the selected DVM; `None` when that fails, after printing the error.
pub(crate) fn find(
    name: &str,
    connect: &Connect,
    tmpdir_base: Option<&str>,
    around: &Surroundings,
) -> Option<Connection> {
    find_by(name, connect, |connect| {
        let here = here(tmpdir_base, around);
        ferrite_client::connect(&connect.selector, connect.key.as_deref(), connect.patience, &here)
    })
}

/// Connects to the selected DVM in this way; `None` when that fails, after printing the error.
fn find_by<T>(name: &str, connect: &Connect, way: impl FnOnce(&Connect) -> Result<T, FindError>) -> Option<T> {
    if connect.never {
        command::refuse(name, "--do-not-connect leaves no DVM that could do it", "Remove the option.");
        return None;
    }
    match way(connect) {
        Ok(found) => Some(found),
        Err(error) => {
            command::refuse(name, &error.to_string(), error.next_step());
            None
        }
    }
}

fn run_one(
    name: &'static str,
    connection: Connection,
    setup: ClientSetup,
    pictures: Pictures,
    call: Option<ToolCall>,
) -> i32 {
    let ClientSetup { run, grow, forwarded_env, signals, .. } = setup;
    let reads = !run.detach && run.spec.stdin != Some(StdinTarget::None);
    let input = if reads { Source::stdin() } else { Source::empty() };
    let mut client = match ClientLoop::new(connection, input, &heard(&signals)) {
        Ok(client) => client,
        Err(error) => {
            return command::refuse(name, &format!("cannot watch the job: {error}"), "See `ulimit -n`, and try again.");
        }
    };
    let files = run.spec.preload.iter().map(|entry| entry.source.clone()).collect();
    let submission = Submission {
        env: forwarded_env,
        detach: run.detach,
        wait_for_slots: run.wait_for_slots,
        priority: run.priority.unwrap_or(0),
        after: run.after,
        grow,
        session: run.session,
        personality: run.personality,
        launcher: machine::launcher(name),
        ..Submission::of(run.spec)
    };
    let (submission, directed) = match call {
        None => (submission, None),
        Some(call) => match ask_tool(name, &mut client, call, submission) {
            Ok((submission, directed)) => (submission, Some(directed)),
            Err(code) => return code,
        },
    };
    let mut watch = Watch {
        name,
        client,
        directed,
        nspace: None,
        files,
        pictures,
        picture_lost: false,
        interrupts: 0,
        silent: false,
        verbose: run.verbose,
    };
    watch.report(format!("submitted to the DVM {}", watch.client.dvm()));
    watch.client.send(&ClientMessage::Open { id: ID, request: Request::Submit(Box::new(submission)) });
    loop {
        let event = watch.client.next(None);
        if let Some(code) = watch.on(event) {
            // The process ends now, and the system takes back all that it has.
            std::mem::forget(watch);
            return code;
        }
    }
}

/// Calls the tool that has started this command, and waits until it lets the command go on (spec L139). An exit code
/// when it never will, after printing the error.
fn ask_tool(
    name: &str,
    client: &mut ClientLoop,
    call: ToolCall,
    submission: Submission,
) -> Result<(Submission, Directed), i32> {
    let (directed, bell) = match Directed::call(call, submission) {
        Ok(called) => called,
        Err(error) => {
            let next = "See `ulimit -u`, and try again.";
            return Err(command::refuse(name, &format!("the tool cannot be called: {error}"), next));
        }
    };
    client.wake_by(bell);
    loop {
        if let Some(answer) = directed.answer() {
            return match answer {
                Ok(submission) => {
                    // The messages about its steps are those that a tool gets.
                    client.send(&ClientMessage::Tool);
                    Ok((*submission, directed))
                }
                Err(cause) => {
                    frame::print(&frame::framed(name, &[&cause]));
                    directed.end(None);
                    Err(REFUSED)
                }
            };
        }
        match client.next(None) {
            ClientEvent::Signal(Signal::INT | Signal::TERM | Signal::HUP) => {
                directed.end(None);
                return Err(REFUSED);
            }
            ClientEvent::Gone(error) => {
                frame::print(&frame::framed(name, &[&error.to_string(), error.next_step()]));
                directed.end(None);
                return Err(REFUSED);
            }
            // Nothing was asked yet; signals for the job come before it.
            ClientEvent::Message(_)
            | ClientEvent::Signal(_)
            | ClientEvent::Input(_)
            | ClientEvent::OutputBroken(..)
            | ClientEvent::Woken
            | ClientEvent::Timeout => {}
        }
    }
}

/// One job, as its submitter sees it.
struct Watch {
    name: &'static str,
    client: ClientLoop,
    /// The tool that has started this command and directs it.
    directed: Option<Directed>,
    nspace: Option<String>,
    /// Paths of the files that the job brings along.
    files: Vec<String>,
    pictures: Pictures,
    /// True when a picture could not be written; the exit code is not 0 then.
    picture_lost: bool,
    interrupts: u32,
    /// True when standard output has no reader; `prun` then ends without a message, as the shell's tools do.
    silent: bool,
    /// `--verbose`.
    verbose: bool,
}

impl Watch {
    /// Handles an event; returns the exit code when it was the last one.
    fn on(&mut self, event: ClientEvent) -> Option<i32> {
        match event {
            ClientEvent::Message(message) => return self.on_message(message),
            ClientEvent::Signal(signal @ (Signal::INT | Signal::TERM | Signal::HUP)) => {
                return self.on_interrupt(signal);
            }
            ClientEvent::Signal(signal) => self.client.send(&ClientMessage::Signal { id: ID, signal }),
            ClientEvent::Input(data) => self.client.send(&ClientMessage::Stdin { id: ID, data }),
            ClientEvent::OutputBroken(Stream::Stdout, _) => {
                self.silent = true;
                self.interrupts += 1;
                self.client.send(&ClientMessage::Cancel { id: ID });
            }
            // Without standard error the job goes on.
            ClientEvent::OutputBroken(Stream::Stderr, _) | ClientEvent::Woken | ClientEvent::Timeout => {}
            ClientEvent::Gone(error) => {
                return Some(self.end(&frame::framed(self.name, &[&error.to_string(), error.next_step()]), REFUSED));
            }
        }
        None
    }

    fn on_message(&mut self, message: DvmMessage) -> Option<i32> {
        match message {
            DvmMessage::Accepted { id: ID, job, nspace } => {
                self.report(format!("the job is {nspace}"));
                self.directed.iter().for_each(|tool| tool.accepted(job));
                self.nspace = Some(nspace);
            }
            DvmMessage::Output { id: ID, stream, data, .. } => self.client.write(stream, &data),
            DvmMessage::Notice { id: ID, text } => self.tell(&frame::notice(&text)),
            DvmMessage::Picture { id: ID, format, data, last } => self.on_picture(format, &data, last),
            DvmMessage::ReadStdin { id: ID, limit } => self.client.read_input(limit as usize),
            DvmMessage::ReadFile { id: ID, entry, offset, length } => {
                if let Some(path) = self.files.get(entry as usize) {
                    let piece = read_piece(entry, path, offset, length);
                    self.client.send(&ClientMessage::File { id: ID, piece });
                }
            }
            DvmMessage::Launched { id: ID, result: Ok(()) } => self.directed.iter().for_each(Directed::runs),
            DvmMessage::ReadyForDebug { id: ID } => self.directed.iter().for_each(Directed::waits),
            DvmMessage::Reply { id: ID, reply } => return Some(self.on_reply(reply)),
            // Other messages belong to no request of this client.
            _ => {}
        }
        None
    }

    fn on_picture(&mut self, format: PictureFormat, piece: &[u8], last: bool) {
        if let Err(complaint) = self.pictures.take(format, piece, last) {
            self.picture_lost = true;
            self.tell(&frame::framed(self.name, &[&complaint, pictures::NEXT]));
        }
    }

    fn on_reply(&mut self, reply: Reply) -> i32 {
        match reply {
            Reply::Done(done) => {
                self.report(format!("the job has ended with exit code {}", done.exit_code));
                self.end("", i32::from(done.exit_code).max(i32::from(self.picture_lost)))
            }
            Reply::Detached(job) => self.detached(job),
            Reply::Refused(text) => self.end(&frame::framed(self.name, &[&text]), REFUSED),
            other => self.end(
                &frame::framed(self.name, &[&format!("the DVM gave an answer that does not fit: {other:?}")]),
                REFUSED,
            ),
        }
    }

    fn detached(&mut self, job: JobId) -> i32 {
        let nspace = self.nspace.take().unwrap_or_else(|| job.nspace(self.client.dvm()));
        self.client.write(Stream::Stdout, format!("{nspace}\n").as_bytes());
        self.end("", 0)
    }

    /// Handles an interrupt: the first ends the job in order, the second prints an explanation, the third ends `prun`
    /// at once. A second SIGTERM ends it at once too.
    fn on_interrupt(&mut self, signal: Signal) -> Option<i32> {
        self.interrupts += 1;
        match self.interrupts {
            1 => self.client.send(&ClientMessage::Cancel { id: ID }),
            2 if signal == Signal::INT => self.tell(&frame::notice(PATIENCE)),
            _ => {
                // The DVM ends the job of a client that is gone; nothing else needs to be done.
                self.client.send_all(Duration::from_millis(100));
                self.directed.take().into_iter().for_each(|tool| tool.end(None));
                return Some(REFUSED);
            }
        }
        None
    }

    /// Prints a line of `--verbose`.
    fn report(&mut self, line: String) {
        if self.verbose {
            self.tell(&format!("{}: {line}\n", self.name));
        }
    }

    fn tell(&mut self, text: &str) {
        if !self.silent {
            self.client.write(Stream::Stderr, text.as_bytes());
        }
    }

    /// Prints a last message and the remaining output; returns the exit code.
    fn end(&mut self, text: &str, code: i32) -> i32 {
        self.tell(text);
        self.client.finish();
        if let Some(tool) = self.directed.take() {
            tool.end(Some(u8::try_from(code).unwrap_or(u8::MAX)));
        }
        code
    }
}
