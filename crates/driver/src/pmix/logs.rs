//! Translates `PMIx_Log`: the channels that are offered, and the form in which a text is to appear. Pure.

use std::collections::VecDeque;

use bytes::Bytes;
use ferrite_core::{LogCall, LogForm, LogStep};
use ferrite_pmix::{Info, LogChannel, LogEntry, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::pmix_status::PMIX_ERR_NOT_SUPPORTED;
use ferrite_wire::{self as wire, EventSource, Mail, Stream};

use crate::local_time;

/// The longest text (bytes).
const LONGEST: usize = 64 * 1024;
/// The longest subject of an e-mail (bytes): a line of a message has at most 998 (RFC 5322, section 2.1.1).
const LONGEST_HEADER: usize = 900;
/// The longest address of an e-mail (bytes; RFC 5321, section 4.5.3.1.3).
const LONGEST_ADDRESS: usize = 254;
/// The most addressees of an e-mail.
const MOST_ADDRESSEES: usize = 20;
/// Priority of a text in the system's log when the call gives none: an error.
const USUAL_PRIORITY: u8 = 3;

/// Directives that are obeyed when they are required. `PMIX_LOG_AGG` is none of them: each text appears once for each
/// call.
const OBEYED: [&std::ffi::CStr; 8] = [
    sys::PMIX_LOG_SOURCE,
    sys::PMIX_LOG_SYSLOG_PRI,
    sys::PMIX_LOG_TIMESTAMP,
    sys::PMIX_LOG_GENERATE_TIMESTAMP,
    sys::PMIX_LOG_TAG_OUTPUT,
    sys::PMIX_LOG_TIMESTAMP_OUTPUT,
    sys::PMIX_LOG_XML_OUTPUT,
    sys::PMIX_LOG_ONCE,
];

/// A call, as the library passes it.
pub(super) struct Call<'a> {
    pub(super) caller: &'a Proc,
    /// The caller in the machine's terms.
    pub(super) source: EventSource,
    pub(super) entries: Vec<LogEntry>,
    /// Keys of channels that nobody here knows.
    pub(super) others: &'a [String],
    pub(super) directives: &'a [Info],
    pub(super) required: &'a [String],
    /// Local time, in seconds since 1970, and its offset from UTC.
    pub(super) now_s: i64,
    pub(super) zone_s: i64,
}

impl<'a> Call<'a> {
    /// A call of this moment.
    pub(super) fn new(
        caller: &'a Proc,
        source: EventSource,
        entries: Vec<LogEntry>,
        others: &'a [String],
        directives: &'a [Info],
        required: &'a [String],
    ) -> Call<'a> {
        let (now_s, zone_s) = (local_time::now_s(), local_time::zone_s());
        Call { caller, source, entries, others, directives, required, now_s, zone_s }
    }
}

/// Translates a call (spec L100). The machine gives its channels their texts in their order.
///
/// # Errors
/// A directive that cannot be obeyed, a text that is too long, an e-mail that cannot be sent as it is wished, or no
/// channel that is known.
pub(super) fn logged(call: Call) -> Result<LogCall, Status> {
    let given = |key| call.directives.iter().filter(move |info| info.is(key));
    let says = |key| given(key).any(|info| info.value != Value::Bool(false));
    let is_obeyed = |key: &String| OBEYED.iter().any(|known| known.to_bytes() == key.as_bytes());
    if !call.required.iter().all(is_obeyed) {
        return Err(Status::NOT_SUPPORTED);
    }
    // The library adds the caller; a process that names another one would write in its name.
    if given(sys::PMIX_LOG_SOURCE).any(|info| info.value != Value::Proc(call.caller.clone())) {
        return Err(Status::NO_PERMISSIONS);
    }
    if call.entries.iter().any(|entry| entry.text.len() > LONGEST) {
        return Err(Status::BAD_PARAM);
    }
    let priority = match given(sys::PMIX_LOG_SYSLOG_PRI).next().map(|info| info.value.as_i64()) {
        None => USUAL_PRIORITY,
        Some(Some(number @ 0..=7)) => number as u8,
        Some(_) => return Err(Status::BAD_PARAM),
    };
    let time_s = match given(sys::PMIX_LOG_TIMESTAMP).next().map(|info| &info.value) {
        None => call.now_s,
        Some(&Value::Plain(type_, seconds, _)) if u32::from(type_) == sys::PMIX_TIME => {
            // Dates have years of four digits.
            i64::try_from(seconds).ok().filter(|s| *s < 253_000_000_000).ok_or(Status::BAD_PARAM)? + call.zone_s
        }
        Some(_) => return Err(Status::BAD_PARAM),
    };
    let form = LogForm {
        tag: says(sys::PMIX_LOG_TAG_OUTPUT),
        time_s: says(sys::PMIX_LOG_TIMESTAMP_OUTPUT).then_some(time_s),
        xml: says(sys::PMIX_LOG_XML_OUTPUT),
    };
    let steps: VecDeque<_> = call.entries.into_iter().map(|entry| step(entry, priority)).collect::<Result<_, _>>()?;
    let refused = (!call.others.is_empty()).then_some(PMIX_ERR_NOT_SUPPORTED);
    if steps.is_empty() {
        return Err(Status::NOT_SUPPORTED);
    }
    Ok(LogCall { source: call.source, time_s, form, once: says(sys::PMIX_LOG_ONCE), refused, steps })
}

fn step(entry: LogEntry, priority: u8) -> Result<LogStep, Status> {
    let show = |stream, text: String| {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        LogStep::Show(stream, Bytes::from(text + end))
    };
    let text = entry.text;
    Ok(match entry.channel {
        LogChannel::Stdout => show(Stream::Stdout, text),
        LogChannel::Stderr => show(Stream::Stderr, text),
        LogChannel::Syslog => LogStep::Here(wire::LogEntry::System { priority, text }),
        LogChannel::GlobalSyslog => LogStep::AtHead(wire::LogEntry::System { priority, text }),
        LogChannel::JobRecord => LogStep::AtHead(wire::LogEntry::JobLog(text)),
        LogChannel::Email => LogStep::AtHead(wire::LogEntry::Mail(Box::new(mail(&entry.mail)?))),
    })
}

/// Translates an e-mail (spec L136). The site's mail program knows its server: another one is refused.
fn mail(infos: &[Info]) -> Result<Mail, Status> {
    let known = [
        sys::PMIX_LOG_EMAIL_ADDR,
        sys::PMIX_LOG_EMAIL_SENDER_ADDR,
        sys::PMIX_LOG_EMAIL_SUBJECT,
        sys::PMIX_LOG_EMAIL_MSG,
    ];
    if let Some(other) = infos.iter().find(|info| !known.iter().any(|key| info.is(key))) {
        tracing::warn!(key = other.key, "an attribute of an e-mail is not obeyed");
        return Err(Status::NOT_SUPPORTED);
    }
    let given = |key| match infos.iter().find(|info| info.is(key)).map(|info| &info.value) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Status::BAD_PARAM),
    };
    let text = given(sys::PMIX_LOG_EMAIL_MSG)?.filter(|text| text.len() <= LONGEST).ok_or(Status::BAD_PARAM)?;
    let to = given(sys::PMIX_LOG_EMAIL_ADDR)?.ok_or(Status::BAD_PARAM)?;
    let from = given(sys::PMIX_LOG_EMAIL_SENDER_ADDR)?;
    let subject = given(sys::PMIX_LOG_EMAIL_SUBJECT)?.unwrap_or_default();
    let addressees: Vec<&str> = to.split(',').map(str::trim).collect();
    let are_good =
        addressees.len() <= MOST_ADDRESSEES && addressees.iter().copied().chain(from.as_deref()).all(is_address);
    // An end of a line would begin another header.
    if !are_good || subject.len() > LONGEST_HEADER || subject.chars().any(char::is_control) {
        return Err(Status::BAD_PARAM);
    }
    Ok(Mail { to: addressees.join(", "), from: from.unwrap_or_default(), subject, text })
}

/// True for one address in the characters that headers may have. Mail programs take `|` and `/` at its begin for a
/// program and a file.
fn is_address(text: &str) -> bool {
    let length = 1..=LONGEST_ADDRESS;
    length.contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_graphic() && !",;:()<>\"\\|".contains(c))
}

#[cfg(test)]
mod tests {
    use ferrite_types::{JobId, ProcId, Rank};

    use super::*;

    fn entry(channel: LogChannel, text: &str) -> LogEntry {
        LogEntry { channel, text: text.to_owned(), mail: Vec::new() }
    }

    /// A call by rank 0.
    fn log(
        entries: Vec<LogEntry>,
        others: &[String],
        directives: &[Info],
        required: &[String],
    ) -> Result<LogCall, Status> {
        let caller = Proc::new("d@1", 0);
        let source = EventSource::Proc(ProcId { job: JobId(1), rank: Rank(0) });
        let (now_s, zone_s) = (1_000, 100);
        logged(Call { caller: &caller, source, entries, others, directives, required, now_s, zone_s })
    }

    fn stamp(seconds: u64) -> Info {
        Info::new(sys::PMIX_LOG_TIMESTAMP, Value::Plain(sys::PMIX_TIME as u16, seconds, 0))
    }

    fn system(priority: u8) -> wire::LogEntry {
        wire::LogEntry::System { priority, text: "a".to_owned() }
    }

    #[test]
    fn texts_keep_their_order_and_output_is_whole_lines() {
        let entries = || {
            vec![entry(LogChannel::Stderr, "a"), entry(LogChannel::JobRecord, "c"), entry(LogChannel::Stdout, "b\n")]
        };
        let call = log(entries(), &[], &[], &[]).expect("it is translated");
        let record = LogStep::AtHead(wire::LogEntry::JobLog("c".to_owned()));
        let line = |stream, text: &'static str| LogStep::Show(stream, Bytes::from(text));
        assert_eq!(call.steps, [line(Stream::Stderr, "a\n"), record, line(Stream::Stdout, "b\n")]);
        assert_eq!((call.once, call.refused, call.time_s), (false, None, 1_000));
        let others = ["pmix.log.gstore".to_owned()];
        let call = log(entries(), &others, &[Info::new(sys::PMIX_LOG_ONCE, true)], &[]).expect("it is translated");
        assert_eq!((call.once, call.refused), (true, Some(PMIX_ERR_NOT_SUPPORTED)));
        assert_eq!(log(Vec::new(), &others, &[], &[]), Err(Status::NOT_SUPPORTED));
    }

    #[test]
    fn a_form_is_passed_on_and_a_date_is_that_of_the_call() {
        let one = || vec![entry(LogChannel::Stdout, "a")];
        let form = |directives: &[Info]| log(one(), &[], directives, &[]).map(|logged| logged.form);
        let dated = Info::new(sys::PMIX_LOG_TIMESTAMP_OUTPUT, true);
        let plain = LogForm::default();
        assert_eq!(form(&[stamp(50)]), Ok(plain), "a stamp that is not to be shown");
        assert_eq!(form(&[stamp(50), dated.clone()]), Ok(LogForm { time_s: Some(150), ..plain }));
        assert_eq!(form(std::slice::from_ref(&dated)), Ok(LogForm { time_s: Some(1_000), ..plain }));
        assert_eq!(form(&[stamp(u64::MAX), dated]), Err(Status::BAD_PARAM));
        assert_eq!(form(&[Info::new(sys::PMIX_LOG_TIMESTAMP, true)]), Err(Status::BAD_PARAM));
        assert_eq!(form(&[Info::new(sys::PMIX_LOG_TAG_OUTPUT, true)]), Ok(LogForm { tag: true, ..plain }));
        assert_eq!(form(&[Info::new(sys::PMIX_LOG_XML_OUTPUT, true)]), Ok(LogForm { xml: true, ..plain }));
        assert_eq!(form(&[Info::new(sys::PMIX_LOG_XML_OUTPUT, false)]), Ok(plain));
    }

    #[test]
    fn the_system_log_gets_priority_and_time_here_or_at_the_head() {
        let one = |channel, directives: &[Info]| log(vec![entry(channel, "a")], &[], directives, &[]);
        let call =
            one(LogChannel::Syslog, &[stamp(50), Info::new(sys::PMIX_LOG_SYSLOG_PRI, 5u32)]).expect("it is good");
        assert_eq!((call.time_s, &call.steps[0]), (150, &LogStep::Here(system(5))));
        let call = one(LogChannel::GlobalSyslog, &[]).expect("it is good");
        assert_eq!(call.steps[0], LogStep::AtHead(system(3)));
        assert_eq!(one(LogChannel::Syslog, &[Info::new(sys::PMIX_LOG_SYSLOG_PRI, 8u32)]), Err(Status::BAD_PARAM));
    }

    /// Refusals (spec L100).
    #[test]
    fn another_source_unknown_demands_and_long_texts_are_refused() {
        let one = || vec![entry(LogChannel::Stdout, "a")];
        let source = |rank| [Info::new(sys::PMIX_LOG_SOURCE, Proc::new("d@1", rank))];
        assert!(log(one(), &[], &source(0), &[]).is_ok());
        assert_eq!(log(one(), &[], &source(1), &[]), Err(Status::NO_PERMISSIONS));
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(log(vec![entry(LogChannel::Stdout, &long)], &[], &[], &[]), Err(Status::BAD_PARAM));
        assert!(log(one(), &[], &[], &["pmix.log.once".to_owned()]).is_ok());
        assert_eq!(log(one(), &[], &[], &["pmix.log.agg".to_owned()]), Err(Status::NOT_SUPPORTED));
    }

    /// E-mail (spec L136).
    #[test]
    fn an_email_has_addresses_and_a_text_and_no_header_of_its_own() {
        let good = || {
            vec![
                Info::new(sys::PMIX_LOG_EMAIL_ADDR, "a@b,c@d"),
                Info::new(sys::PMIX_LOG_EMAIL_SENDER_ADDR, "e@f"),
                Info::new(sys::PMIX_LOG_EMAIL_SUBJECT, "s"),
                Info::new(sys::PMIX_LOG_EMAIL_MSG, "t"),
            ]
        };
        let text = |text: &str| text.to_owned();
        let expected = Mail { to: text("a@b, c@d"), from: text("e@f"), subject: text("s"), text: text("t") };
        assert_eq!(mail(&good()), Ok(expected));
        let with = |key, value: Value| {
            let infos: Vec<_> =
                good().into_iter().filter(|info| !info.is(key)).chain([Info::new(key, value)]).collect();
            mail(&infos).map(drop)
        };
        for key in [sys::PMIX_LOG_EMAIL_ADDR, sys::PMIX_LOG_EMAIL_SENDER_ADDR, sys::PMIX_LOG_EMAIL_SUBJECT] {
            for bad in ["a@b\nBcc: c@d", "a@b\rBcc: c@d", "\u{85}"] {
                assert_eq!(with(key, bad.into()), Err(Status::BAD_PARAM), "{bad:?}");
            }
        }
        for bad in ["", "a@b,,c@d", "a b@c", "a: b@c;", "|cat", "/etc/x", "-f", "a@b,".repeat(40).as_str()] {
            assert_eq!(with(sys::PMIX_LOG_EMAIL_ADDR, bad.into()), Err(Status::BAD_PARAM), "{bad:?}");
        }
        assert_eq!(with(sys::PMIX_LOG_EMAIL_SUBJECT, "x".repeat(999).as_str().into()), Err(Status::BAD_PARAM));
        assert_eq!(with(sys::PMIX_LOG_EMAIL_MSG, Value::U32(1)), Err(Status::BAD_PARAM));
        assert_eq!(with(sys::PMIX_LOG_EMAIL_SERVER, "host".into()), Err(Status::NOT_SUPPORTED));
        assert_eq!(with(sys::PMIX_LOG_EMAIL_SRVR_PORT, Value::U32(25)), Err(Status::NOT_SUPPORTED));
        assert_eq!(mail(&good()[..3]), Err(Status::BAD_PARAM), "no text");
        assert_eq!(log(vec![entry(LogChannel::Email, "t")], &[], &[], &[]), Err(Status::BAD_PARAM), "no address");
    }
}
