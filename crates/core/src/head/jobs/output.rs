//! Output of processes at the head: tags, dates, sinks, and protection of lines against mixing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use bytes::{BufMut, Bytes, BytesMut};
use ferrite_types::{DaemonRank, JobId, OutputOptions, ProcId, Timestamp};
use ferrite_wire::{DaemonMessage, Stream};

use super::record::Job;
use super::registry::Jobs;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::counters::{Counted, Late};
use crate::{Account, Effect, Sink};

/// The state of the sinks: open lines and files.
#[derive(Debug, Default)]
pub(super) struct Mux {
    /// The writer of the unfinished line in each sink.
    open: BTreeMap<Sink, (ProcId, Stream)>,
    /// The output files of each job.
    files: BTreeSet<(JobId, String)>,
}

impl Mux {
    /// Forgets a job that is over. Returns its files, which are complete.
    pub(super) fn forget(&mut self, job: JobId) -> Vec<String> {
        self.open.retain(|_, (proc, _)| proc.job != job);
        let later = self.files.split_off(&(JobId(job.0 + 1), String::new()));
        let files = self.files.split_off(&(job, String::new()));
        self.files.extend(later);
        files.into_iter().map(|(_, file)| file).collect()
    }
}

impl Jobs {
    /// Notes a file into which output of a job goes.
    pub(super) fn note_file(&mut self, job: JobId, file: &str) {
        self.output.files.insert((job, file.to_owned()));
    }
}

impl Head {
    pub(in crate::head) fn on_output(
        &mut self,
        daemon: DaemonRank,
        proc: ProcId,
        stream: Stream,
        data: Bytes,
        cx: &mut Cx,
    ) {
        self.counters.count(Counted::Output(data.len()));
        let Some(job) = self.jobs.get(proc.job) else {
            return self.counters.count(Counted::Late(Late::Output));
        };
        let stream = if job.spec.output.merge_stderr { Stream::Stdout } else { stream };
        let xml = job.spec.output.xml.then(|| Bytes::from(xml(&attributes(self, job, proc, cx.now), stream, &data)));
        let tagged = is_tagged(&job.spec.output) && xml.is_none();
        let prefix = if tagged { prefix(self, job, proc, stream, cx.now) } else { String::new() };
        let sinks = sinks(job, &self.config.dvm, proc, stream);
        let account = Account { daemon, job: proc.job, bytes: data.len() as u64 };
        let data = xml.unwrap_or(data);
        if sinks.is_empty() {
            return self.on_output_written(account, cx);
        }
        let mut account = Some(account);
        for sink in sinks {
            if let Sink::File(file) = &sink {
                self.jobs.output.files.insert((proc.job, file.clone()));
            }
            let data = if tagged { self.jobs.output.tag(&sink, proc, stream, &prefix, &data) } else { data.clone() };
            cx.effect(Effect::WriteOutput { sink, data, account: account.take() });
        }
    }

    /// The sinks of a process's stream.
    pub(super) fn sinks_of(&self, proc: ProcId, stream: Stream) -> Vec<Sink> {
        self.jobs.get(proc.job).map(|job| sinks(job, &self.config.dvm, proc, stream)).unwrap_or_default()
    }

    /// Gives credit back for output that was written or dropped: its writer may write more.
    pub(in crate::head) fn on_output_written(&mut self, account: Account, cx: &mut Cx) {
        let Account { daemon, job, bytes } = account;
        if self.jobs.get(job).is_some() {
            cx.send(daemon, DaemonMessage::OutputCredit { job, bytes });
        }
    }

    /// Closes the unfinished tagged line of a process that has ended.
    pub(super) fn close_lines(&mut self, proc: ProcId, cx: &mut Cx) {
        let open: Vec<Sink> =
            self.jobs.output.open.iter().filter(|(_, (of, _))| *of == proc).map(|(s, _)| s.clone()).collect();
        for sink in open {
            self.jobs.output.open.remove(&sink);
            cx.effect(Effect::WriteOutput { sink, data: Bytes::from_static(b"\n"), account: None });
        }
    }
}

impl Mux {
    /// Puts the prefix in front of each line. An unfinished line of another process is ended first.
    fn tag(&mut self, sink: &Sink, proc: ProcId, stream: Stream, prefix: &str, data: &Bytes) -> Bytes {
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

fn is_tagged(options: &OutputOptions) -> bool {
    options.tag || options.tag_detailed || options.tag_fullname || options.rank || options.timestamp
}

/// `[date][job,rank]<stream>: `, as scripts of the field parse it (output-formats page).
fn prefix(head: &Head, job: &Job, proc: ProcId, stream: Stream, now: Timestamp) -> String {
    let options = &job.spec.output;
    let mut text = String::new();
    if options.timestamp {
        let seconds = head.config.local_time_at_zero_s + (now.0 / 1_000_000) as i64;
        let _ = write!(text, "[{}]", date(seconds));
    }
    let nspace = || proc.job.nspace(&head.config.dvm);
    if options.tag_detailed {
        let node = job.map().node_of(proc.rank).map_or("", |n| n.name.as_str());
        let pid = job.proc(proc.rank).and_then(|p| p.pid).unwrap_or(0);
        let _ = write!(text, "[{},{}][{node}:{pid}]<{}>: ", nspace(), proc.rank, stream.name());
    } else if options.tag_fullname {
        let _ = write!(text, "[{},{}]<{}>: ", nspace(), proc.rank, stream.name());
    } else if options.tag {
        let _ = write!(text, "[{},{}]<{}>: ", proc.job, proc.rank, stream.name());
    } else if options.rank {
        let _ = write!(text, "[{}]<{}>: ", proc.rank, stream.name());
    } else {
        let _ = write!(text, "<{}>: ", stream.name());
    }
    text
}

/// The attributes that tell one writer from another in XML.
fn attributes(head: &Head, job: &Job, proc: ProcId, now: Timestamp) -> String {
    let options = &job.spec.output;
    let mut text = format!(" nspace=\"{}\" rank=\"{}\"", proc.job.nspace(&head.config.dvm), proc.rank);
    if options.tag_detailed {
        let pid = job.proc(proc.rank).and_then(|p| p.pid).unwrap_or(0);
        let _ = write!(text, " host=\"{}\" pid=\"{pid}\"", node_name(job, proc));
    }
    if options.timestamp {
        let _ = write!(text, " timestamp=\"{}\"", date(head.config.local_time_at_zero_s + (now.0 / 1_000_000) as i64));
    }
    text
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

fn node_name(job: &Job, proc: ProcId) -> &str {
    job.map().node_of(proc.rank).map_or("", |node| node.name.as_str())
}

/// The file of a stream. Its name has the namespace, so that no two jobs write to one file, and the rank with as many
/// digits as the job's size, so that names are in the order of ranks.
fn file_of(job: &Job, dvm: &str, proc: ProcId, stream: Stream) -> Option<String> {
    let options = &job.spec.output;
    let digits = job.map().procs.len().to_string().len();
    let (nspace, rank) = (proc.job.nspace(dvm), format!("{:0digits$}", proc.rank.0));
    if let Some(dir) = &options.dir {
        return Some(format!("{dir}/{nspace}/rank.{rank}/{}", stream.name()));
    }
    let file = options.file.as_ref()?;
    let end = if stream == Stream::Stderr { "err" } else { "out" };
    Some(match options.pattern {
        true => format!("{}.{end}", expanded(file, &nspace, &proc.rank.to_string(), &rank, node_name(job, proc))),
        false => format!("{file}.{nspace}.{rank}.{end}"),
    })
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

fn sinks(job: &Job, dvm: &str, proc: ProcId, stream: Stream) -> Vec<Sink> {
    let options = &job.spec.output;
    let file = file_of(job, dvm, proc, stream);
    let client = job.request.map(|request| Sink::Client(request, stream));
    match file {
        None => client.into_iter().collect(),
        Some(file) if options.copy => client.into_iter().chain([Sink::File(absolute(job, file))]).collect(),
        Some(file) => vec![Sink::File(absolute(job, file))],
    }
}

fn absolute(job: &Job, file: String) -> String {
    if file.starts_with('/') { file } else { format!("{}/{file}", job.spec.apps[0].submit_dir) }
}

/// `Fri Nov 20 23:24:51 2026`, from seconds since 1970 in local time.
fn date(seconds: i64) -> String {
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

    const OUT: Sink = Sink::Client(crate::RequestId::OWN, Stream::Stdout);

    fn proc(rank: u32) -> ProcId {
        ProcId { job: JobId(1), rank: Rank(rank) }
    }

    #[test]
    fn dates_look_like_those_of_the_field() {
        assert_eq!(date(1_795_217_091), "Fri Nov 20 23:24:51 2026");
        assert_eq!(date(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(date(951_782_400), "Tue Feb 29 00:00:00 2000");
    }

    #[test]
    fn a_line_that_another_rank_interrupts_is_ended_first() {
        let mut mux = Mux::default();
        let first = mux.tag(&OUT, proc(0), Stream::Stdout, "[0] ", &Bytes::from_static(b"a\nb"));
        let second = mux.tag(&OUT, proc(1), Stream::Stdout, "[1] ", &Bytes::from_static(b"c\n"));
        let third = mux.tag(&OUT, proc(0), Stream::Stdout, "[0] ", &Bytes::from_static(b"d\n"));
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
        let mut mux = Mux::default();
        let first = mux.tag(&OUT, proc(0), Stream::Stdout, "[0] ", &Bytes::from_static(b"half"));
        let second = mux.tag(&OUT, proc(0), Stream::Stdout, "[0] ", &Bytes::from_static(b" a line\n"));
        assert_eq!([first, second].concat(), b"[0] half a line\n");
    }
}
