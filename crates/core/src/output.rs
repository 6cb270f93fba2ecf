//! The text of output: tags, dates and XML around lines, and the names of output files. The head writes it for
//! submitters, each daemon for the files of its own processes.

use std::collections::BTreeMap;
use std::fmt::Write;

use bytes::{BufMut, Bytes, BytesMut};
use ferrite_types::{JobId, JobMap, JobSpec, OutputOptions, ProcId};
use ferrite_wire::Stream;

use crate::LogForm;

/// One output stream of a process, with all that tags and names of files tell of it.
pub(crate) struct Author<'a> {
    /// Name of the DVM.
    pub(crate) dvm: &'a str,
    pub(crate) spec: &'a JobSpec,
    pub(crate) map: &'a JobMap,
    pub(crate) proc: ProcId,
    /// Its pid; 0 = unknown yet.
    pub(crate) pid: u32,
    pub(crate) stream: Stream,
    /// Local time, in seconds since 1970.
    pub(crate) now_s: i64,
}

/// The marks of an author in its output.
pub(crate) struct Marks {
    proc: ProcId,
    stream: Stream,
    form: Form,
}

enum Form {
    Plain,
    /// With this in front of each line.
    Tagged {
        prefix: String,
    },
    /// Each line as an element with these attributes.
    Xml {
        attributes: String,
    },
}

/// The unfinished line of each sink, so that no line is broken by another writer.
#[derive(Debug)]
pub(crate) struct Lines<S> {
    open: BTreeMap<S, (ProcId, Stream)>,
}

impl<S> Default for Lines<S> {
    fn default() -> Self {
        Lines { open: BTreeMap::new() }
    }
}

impl<S: Ord + Clone> Lines<S> {
    /// Returns what is to be written to the sink for a piece of output.
    pub(crate) fn write(&mut self, sink: &S, marks: &Marks, data: Bytes) -> Bytes {
        let Marks { proc, stream, form } = marks;
        match form {
            Form::Plain => data,
            Form::Tagged { prefix } => self.tag(sink, *proc, *stream, prefix, &data),
            Form::Xml { attributes } => xml(attributes, *stream, &data).into(),
        }
    }

    /// Forgets the unfinished lines of a process that has ended. Returns their sinks, which need an end of line.
    pub(crate) fn end_lines_of(&mut self, proc: ProcId) -> Vec<S> {
        self.open.extract_if(.., |_, (of, _)| *of == proc).map(|(sink, _)| sink).collect()
    }

    /// Forgets a job that is over.
    pub(crate) fn forget(&mut self, job: JobId) {
        self.open.retain(|_, (proc, _)| proc.job != job);
    }

    /// Puts the prefix in front of each line. An unfinished line of another process is ended first.
    fn tag(&mut self, sink: &S, proc: ProcId, stream: Stream, prefix: &str, data: &Bytes) -> Bytes {
        let mut out = BytesMut::with_capacity(data.len() + prefix.len() * 2);
        let mut continues = false;
        match self.open.remove(sink) {
            Some(owner) if owner == (proc, stream) => continues = true,
            Some(_) => out.put_u8(b'\n'),
            None => {}
        }
        for line in data.split_inclusive(|b| *b == b'\n') {
            if !std::mem::take(&mut continues) {
                out.put_slice(prefix.as_bytes());
            }
            out.put_slice(line);
        }
        if data.last() != Some(&b'\n') {
            self.open.insert(sink.clone(), (proc, stream));
        }
        out.freeze()
    }
}

impl Author<'_> {
    /// The stream to which its output goes.
    pub(crate) fn shown_stream(&self) -> Stream {
        if self.spec.output.merge_stderr { Stream::Stdout } else { self.stream }
    }

    /// The marks that the job's options ask for.
    pub(crate) fn marks(&self) -> Marks {
        self.marks_of(&self.spec.output)
    }

    fn marks_of(&self, options: &OutputOptions) -> Marks {
        let form = match is_tagged(options) || options.timestamp {
            _ if options.xml => Form::Xml { attributes: self.attributes(options) },
            true => Form::Tagged { prefix: self.prefix(options) },
            false => Form::Plain,
        };
        Marks { proc: self.proc, stream: self.shown_stream(), form }
    }

    /// Returns whole lines that the process logs, in the form that it asks for, without what the job's options show.
    pub(crate) fn logged(&self, form: LogForm, text: Bytes) -> Bytes {
        let job = &self.spec.output;
        let options = OutputOptions {
            tag: form.tag && !is_tagged(job) && !job.xml,
            timestamp: form.time_s.is_some() && !job.timestamp,
            xml: form.xml && !job.xml,
            ..OutputOptions::default()
        };
        let author = Author { now_s: form.time_s.unwrap_or(self.now_s), ..*self };
        Lines::default().write(&(), &author.marks_of(&options), text)
    }

    /// The file of the stream, as an absolute path; `None` without `--output dir=` or `file=`. Its name has the
    /// namespace, so that no two jobs write to one file, and the rank with as many digits as the job's size, so that
    /// names are in the order of ranks.
    pub(crate) fn file(&self) -> Option<String> {
        let options = &self.spec.output;
        let digits = self.map.procs.len().to_string().len();
        let (nspace, rank) = (self.nspace(), format!("{:0digits$}", self.proc.rank.0));
        let stream = self.shown_stream();
        let end = if stream == Stream::Stderr { "err" } else { "out" };
        let file = match (&options.dir, &options.file) {
            (Some(dir), _) => format!("{dir}/{nspace}/rank.{rank}/{}", stream.name()),
            (None, Some(file)) if options.pattern => {
                format!("{}.{end}", expanded(file, &nspace, &self.proc.rank.to_string(), &rank, self.node()))
            }
            (None, Some(file)) => format!("{file}.{nspace}.{rank}.{end}"),
            (None, None) => return None,
        };
        Some(if file.starts_with('/') { file } else { format!("{}/{file}", self.spec.apps[0].submit_dir) })
    }

    /// `[date][job,rank]<stream>: `, as scripts of the field parse it (output-formats page).
    fn prefix(&self, options: &OutputOptions) -> String {
        let mut text = String::new();
        if options.timestamp {
            let _ = write!(text, "[{}]", date_of(self.now_s));
        }
        let (proc, stream) = (self.proc, self.shown_stream().name());
        let _ = if options.tag_detailed {
            write!(text, "[{},{}][{}:{}]<{stream}>: ", self.nspace(), proc.rank, self.node(), self.pid)
        } else if options.tag_fullname {
            write!(text, "[{},{}]<{stream}>: ", self.nspace(), proc.rank)
        } else if options.tag {
            write!(text, "[{},{}]<{stream}>: ", proc.job, proc.rank)
        } else if options.rank {
            write!(text, "[{}]<{stream}>: ", proc.rank)
        } else {
            write!(text, "<{stream}>: ")
        };
        text
    }

    /// The attributes that tell one writer from another in XML.
    fn attributes(&self, options: &OutputOptions) -> String {
        let mut text = format!(" nspace=\"{}\" rank=\"{}\"", self.nspace(), self.proc.rank);
        if options.tag_detailed {
            let _ = write!(text, " host=\"{}\" pid=\"{}\"", self.node(), self.pid);
        }
        if options.timestamp {
            let _ = write!(text, " timestamp=\"{}\"", date_of(self.now_s));
        }
        text
    }

    fn nspace(&self) -> String {
        self.proc.job.nspace(self.dvm)
    }

    fn node(&self) -> &str {
        self.map.node_of(self.proc.rank).map_or("", |node| node.name.as_str())
    }
}

/// True when lines name their process.
fn is_tagged(options: &OutputOptions) -> bool {
    options.tag || options.tag_detailed || options.tag_fullname || options.rank
}

/// Makes each line an element. The end of a line is a reference in the element, as the field's readers expect it.
fn xml(attributes: &str, stream: Stream, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 64);
    for line in data.split_inclusive(|b| *b == b'\n') {
        out.extend_from_slice(format!("<{}{attributes}>", stream.name()).as_bytes());
        for byte in line {
            match byte {
                b'<' => out.extend_from_slice(b"&lt;"),
                b'>' => out.extend_from_slice(b"&gt;"),
                b'&' => out.extend_from_slice(b"&amp;"),
                b'\t' | b' '..=b'~' | 128.. => out.push(*byte),
                control => out.extend_from_slice(format!("&#{control:03};").as_bytes()),
            }
        }
        out.extend_from_slice(format!("</{}>\n", stream.name()).as_bytes());
    }
    out
}

/// Fills in a pattern, which the command line has checked; an unknown letter stays as it is.
fn expanded(pattern: &str, nspace: &str, rank: &str, padded: &str, node: &str) -> String {
    let mut text = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => text.push_str(nspace),
            Some('r') => text.push_str(rank),
            Some('R') => text.push_str(padded),
            Some('h') => text.push_str(node),
            Some('%') | None => text.push('%'),
            Some(other) => text.extend(['%', other]),
        }
    }
    text
}

/// `Fri Nov 20 23:24:51 2026`, from seconds since 1970 in local time.
pub fn date_of(seconds: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let weekday = DAYS[days.rem_euclid(7) as usize];
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday} {} {day:2} {hour:02}:{minute:02}:{second:02} {year}", MONTHS[month])
}

/// Year, month (from 0) and day of a day number, counting from 1970, by 400-year cycles that begin in March.
fn civil(days: i64) -> (i64, usize, i64) {
    let days = days + 719_468;
    let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let from_january = (month + 2) % 12;
    (cycle * 400 + year + i64::from(from_january < 2), from_january as usize, day_of_month)
}

#[cfg(test)]
mod tests {
    use ferrite_types::Rank;

    use super::*;

    const OUT: &str = "out";

    fn proc(rank: u32) -> ProcId {
        ProcId { job: JobId(1), rank: Rank(rank) }
    }

    #[test]
    fn dates_look_like_those_of_the_field() {
        assert_eq!(date_of(1_795_217_091), "Fri Nov 20 23:24:51 2026");
        assert_eq!(date_of(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(date_of(951_782_400), "Tue Feb 29 00:00:00 2000");
    }

    #[test]
    fn a_line_that_another_rank_interrupts_is_ended_first() {
        let mut lines = Lines::default();
        let first = lines.tag(&OUT, proc(0), Stream::Stdout, "[0] ", &Bytes::from_static(b"a\nb"));
        let second = lines.tag(&OUT, proc(1), Stream::Stdout, "[1] ", &Bytes::from_static(b"c\n"));
        let third = lines.tag(&OUT, proc(0), Stream::Stdout, "[0] ", &Bytes::from_static(b"d\n"));
        assert_eq!([first, second, third].concat(), b"[0] a\n[0] b\n[1] c\n[0] d\n");
    }

    #[test]
    fn xml_has_an_element_for_each_line_and_references_for_what_xml_does_not_allow() {
        let told = String::from_utf8(xml(" rank=\"0\"", Stream::Stdout, b"a<b>&c\x07\nrest")).unwrap();
        let first = "<stdout rank=\"0\">a&lt;b&gt;&amp;c&#007;&#010;</stdout>\n";
        assert_eq!(told, format!("{first}<stdout rank=\"0\">rest</stdout>\n"));
    }

    #[test]
    fn a_pattern_is_filled_in() {
        assert_eq!(expanded("%n/%h-%r-%R%%%", "d@1", "7", "007", "n3"), "d@1/n3-7-007%%");
    }

    #[test]
    fn a_line_in_two_pieces_is_tagged_once() {
        let mut lines = Lines::default();
        let first = lines.tag(&OUT, proc(0), Stream::Stdout, "[0] ", &Bytes::from_static(b"half"));
        let second = lines.tag(&OUT, proc(0), Stream::Stdout, "[0] ", &Bytes::from_static(b" a line\n"));
        assert_eq!([first, second].concat(), b"[0] half a line\n");
    }
}
