//! Puts the files that a job brings along into the job's directory: `<session directory>/<job>/files`. One thread for
//! each job writes them in order; what it did comes back as inputs. And reads the files of jobs that are requested on
//! this node: one thread, whose answers come in the order of the questions.

mod unpack;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use ferrite_client::read_piece;
use ferrite_core::{DaemonInput, Input, StageEffect};
use ferrite_types::{JobId, PreloadEntry, PreloadKind};
use ferrite_wire::FilePiece;

use crate::Inbox;
use crate::session_dir::SessionDir;

pub(crate) use unpack::unpack;

/// The directory of a job's files, below the job's directory.
pub(crate) const FILES: &str = "files";

/// The files of jobs on this node.
pub(crate) struct Stages {
    inbox: Inbox,
    session_dir: SessionDir,
    writers: BTreeMap<JobId, Sender<StageEffect>>,
}

/// The failure of one entry.
type Failure = (u32, String);

impl Stages {
    pub(crate) fn new(inbox: Inbox, session_dir: &SessionDir) -> Stages {
        Stages { inbox, session_dir: session_dir.clone(), writers: BTreeMap::new() }
    }

    /// Carries out a step after all earlier ones of the job.
    pub(crate) fn take(&mut self, job: JobId, step: StageEffect) {
        if matches!(step, StageEffect::Begin(_))
            && let Err(error) = self.begin(job)
        {
            let result = Err((0, format!("no thread can be started to write it: {error}")));
            let _ = self.inbox.send(Input::Daemon(DaemonInput::StageEnded { job, result }));
        }
        if let Some(writer) = self.writers.get(&job) {
            // The thread ends before its sender only after a failure, which it has reported.
            let _ = writer.send(step);
        }
    }

    fn begin(&mut self, job: JobId) -> io::Result<()> {
        let (steps, queue) = channel();
        let (inbox, session_dir) = (self.inbox.clone(), self.session_dir.clone());
        thread::Builder::new()
            .name(format!("files-{job}"))
            .spawn(move || write_all(job, &session_dir, &queue, &inbox))?;
        self.writers.insert(job, steps);
        Ok(())
    }

    /// Ends the writing for a job. A thread in the middle of a step removes the directory itself.
    pub(crate) fn clean(&mut self, job: JobId) {
        self.writers.remove(&job);
    }
}

/// Writes until the job is cleaned or something fails.
fn write_all(job: JobId, session_dir: &SessionDir, queue: &Receiver<StageEffect>, inbox: &Inbox) {
    let tell = |input| {
        // The machine is gone only while this process is ending.
        let _ = inbox.send(Input::Daemon(input));
    };
    let job_dir = session_dir.path().join(job.to_string());
    let mut stage = Stage { root: job_dir.join(FILES), entries: Vec::new(), open: None };
    let mut failed = false;
    for step in queue {
        if failed {
            continue;
        }
        let (bytes, is_last) = match &step {
            StageEffect::Begin(_) => (0, false),
            StageEffect::Write { data, .. } => (data.len() as u64, false),
            StageEffect::Finish => (0, true),
        };
        let result = session_dir.dir().map_err(|error| (0, error.to_string())).and_then(|_| stage.carry_out(step));
        failed = result.is_err();
        if failed || is_last {
            tell(DaemonInput::StageEnded { job, result });
        } else if bytes > 0 {
            tell(DaemonInput::Staged { job, bytes });
        }
    }
    // The job is over; its directory was removed, perhaps while a file was being made there.
    drop(stage.open.take());
    let _ = fs::remove_dir_all(&job_dir);
}

/// The files of one job.
struct Stage {
    root: PathBuf,
    entries: Vec<PreloadEntry>,
    /// The file that is being written.
    open: Option<(u32, File)>,
}

impl Stage {
    fn carry_out(&mut self, step: StageEffect) -> Result<(), Failure> {
        match step {
            StageEffect::Begin(entries) => {
                self.entries = entries;
                DirBuilder::new().recursive(true).mode(0o700).create(&self.root).map_err(|e| (0, words(&e)))?;
                self.each(|stage, at, entry| match entry.kind {
                    PreloadKind::Directory => fs::create_dir(stage.root.join(&entry.name)),
                    PreloadKind::File { size: 0, .. } | PreloadKind::Archive { size: 0, .. } => {
                        stage.make(at).map(drop)
                    }
                    PreloadKind::File { .. } | PreloadKind::Archive { .. } | PreloadKind::Link { .. } => Ok(()),
                })
            }
            StageEffect::Write { entry, data } => {
                if self.open.as_ref().is_none_or(|(at, _)| *at != entry) {
                    let file = self.make(entry).map_err(|error| (entry, words(&error)))?;
                    self.open = Some((entry, file));
                }
                let (_, file) = self.open.as_mut().expect("it was opened above");
                file.write_all(&data).map_err(|error| (entry, words(&error)))
            }
            StageEffect::Finish => self.finish(),
        }
    }

    /// Checks the sizes, unpacks the archives, and makes the links: nothing is written after that.
    fn finish(&mut self) -> Result<(), Failure> {
        self.open = None;
        self.each(|stage, _, entry| {
            let path = stage.root.join(&entry.name);
            match entry.kind {
                PreloadKind::File { size, .. } | PreloadKind::Archive { size, .. }
                    if path.metadata()?.len() != size =>
                {
                    Err(io::Error::other("its size is not the one that was announced"))
                }
                PreloadKind::Archive { gzip, .. } => {
                    let parent = path.parent().unwrap_or(&stage.root);
                    let depth = entry.name.rsplit_once('/').map_or("", |(above, _)| above);
                    let archive = File::open(&path)?;
                    // Its name may be that of something in it.
                    fs::remove_file(&path)?;
                    unpack(archive, gzip, parent, depth)
                }
                PreloadKind::File { .. } | PreloadKind::Directory | PreloadKind::Link { .. } => Ok(()),
            }
        })?;
        self.each(|stage, _, entry| match &entry.kind {
            PreloadKind::Link { target } => symlink(target, stage.root.join(&entry.name)),
            PreloadKind::File { .. } | PreloadKind::Archive { .. } | PreloadKind::Directory => Ok(()),
        })
    }

    fn each(&self, mut act: impl FnMut(&Stage, u32, &PreloadEntry) -> io::Result<()>) -> Result<(), Failure> {
        (0u32..)
            .zip(&self.entries)
            .try_for_each(|(at, entry)| act(self, at, entry).map_err(|error| (at, words(&error))))
    }

    /// Makes the file of an entry; nothing may be in its place.
    fn make(&self, at: u32) -> io::Result<File> {
        let entry = &self.entries[at as usize];
        let is_program = matches!(entry.kind, PreloadKind::File { executable: true, .. });
        let mode = if is_program { 0o700 } else { 0o600 };
        OpenOptions::new().write(true).create_new(true).mode(mode).open(self.root.join(&entry.name))
    }
}

/// The system's words without their number.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Links the files of a job into the directory of a process.
pub(crate) fn link_into(own: &Path, files: &Path) -> io::Result<()> {
    for entry in fs::read_dir(files)? {
        let entry = entry?;
        symlink(entry.path(), own.join(entry.file_name()))?;
    }
    Ok(())
}

/// Reads pieces of files, one after the other.
pub(crate) struct FileReader {
    inbox: Inbox,
    questions: Option<Sender<Question>>,
}

/// A piece that is wanted, and the input that carries it.
pub(crate) struct Question {
    pub(crate) entry: u32,
    pub(crate) path: String,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) answer: Box<dyn FnOnce(Result<FilePiece, String>) -> Input + Send>,
}

impl FileReader {
    pub(crate) fn new(inbox: Inbox) -> FileReader {
        FileReader { inbox, questions: None }
    }

    /// Reads a piece after all earlier ones.
    pub(crate) fn read(&mut self, question: Question) {
        if self.questions.is_none() {
            self.questions = self.begin();
        }
        let sent = match &self.questions {
            Some(questions) => questions.send(question).map_err(|lost| lost.0),
            None => Err(question),
        };
        if let Err(question) = sent {
            let cause = format!("{}: no thread can be started to read it", question.path);
            let _ = self.inbox.send((question.answer)(Err(cause)));
        }
    }

    fn begin(&self) -> Option<Sender<Question>> {
        let (questions, queue) = channel::<Question>();
        let inbox = self.inbox.clone();
        let run = move || {
            for Question { entry, path, offset, length, answer } in queue {
                let _ = inbox.send(answer(read_piece(entry, &path, offset, length)));
            }
        };
        thread::Builder::new().name("files-read".to_owned()).spawn(run).ok().map(|_| questions)
    }
}

#[cfg(test)]
mod tests;
