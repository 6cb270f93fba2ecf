//! Translates `PMIx_Log`: the channels that are offered, and the form in which a text is to appear. Pure.

use bytes::Bytes;
use ferrite_core::LogForm;
use ferrite_pmix::{Info, LogChannel, LogEntry, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_wire::Stream;

use super::syslog::Message;

/// The longest text (bytes).
const LONGEST: usize = 64 * 1024;
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
    pub(super) entries: Vec<LogEntry>,
    /// Keys of channels that nobody here knows.
    pub(super) others: &'a [String],
    pub(super) directives: &'a [Info],
    pub(super) required: &'a [String],
    /// True at the head, whose system's log is that of the DVM.
    pub(super) is_head: bool,
    /// Local time, in seconds since 1970, and its offset from UTC.
    pub(super) now_s: i64,
    pub(super) zone_s: i64,
}

/// A call in our terms.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Logged {
    /// The texts, each whole lines.
    pub(super) texts: Vec<(Stream, Bytes)>,
    /// Their form.
    pub(super) form: LogForm,
    /// True when channels were named that are not offered, or that did not take the text.
    pub(super) is_partial: bool,
}

/// Translates a call (spec L100). `system` hands a message to the system's log of this node. With `PMIX_LOG_ONCE` the
/// first channel that takes the text suffices.
///
/// # Errors
/// A directive that cannot be obeyed, a text that is too long, or no channel that takes it.
pub(super) fn logged(call: Call, system: &mut dyn FnMut(&Message) -> Result<(), Status>) -> Result<Logged, Status> {
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
    let stamp = match given(sys::PMIX_LOG_TIMESTAMP).next().map(|info| &info.value) {
        None => call.now_s,
        Some(&Value::Plain(type_, seconds, _)) if u32::from(type_) == sys::PMIX_TIME => {
            // Dates have years of four digits.
            i64::try_from(seconds).ok().filter(|s| *s < 253_000_000_000).ok_or(Status::BAD_PARAM)? + call.zone_s
        }
        Some(_) => return Err(Status::BAD_PARAM),
    };
    let form = LogForm {
        tag: says(sys::PMIX_LOG_TAG_OUTPUT),
        time_s: says(sys::PMIX_LOG_TIMESTAMP_OUTPUT).then_some(stamp),
        xml: says(sys::PMIX_LOG_XML_OUTPUT),
    };
    let once = says(sys::PMIX_LOG_ONCE);
    let (mut texts, mut is_taken, mut refusal) = (Vec::new(), false, None);
    for entry in call.entries {
        if once && is_taken {
            break;
        }
        let result = match entry.channel {
            LogChannel::Stdout => Ok(Some(Stream::Stdout)),
            LogChannel::Stderr => Ok(Some(Stream::Stderr)),
            LogChannel::GlobalSyslog if !call.is_head => Err(Status::NOT_SUPPORTED),
            LogChannel::Syslog | LogChannel::GlobalSyslog => {
                system(&Message { priority, time_s: stamp, source: call.caller, text: &entry.text }).map(|()| None)
            }
        };
        match result {
            Ok(None) => is_taken = true,
            Ok(Some(stream)) => {
                is_taken = true;
                let end = if entry.text.ends_with('\n') { "" } else { "\n" };
                texts.push((stream, Bytes::from(entry.text + end)));
            }
            Err(status) => refusal = Some(status),
        }
    }
    let is_partial = !once && (refusal.is_some() || !call.others.is_empty());
    match is_taken {
        true => Ok(Logged { texts, form, is_partial }),
        false => Err(refusal.unwrap_or(Status::NOT_SUPPORTED)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(channel: LogChannel, text: &str) -> LogEntry {
        LogEntry { channel, text: text.to_owned() }
    }

    /// A call at the head by rank 0, with the messages for the system's log; `fails` is what that log says.
    fn log(
        entries: Vec<LogEntry>,
        others: &[String],
        directives: &[Info],
        fails: Option<Status>,
    ) -> (Result<Logged, Status>, Vec<String>) {
        let caller = Proc::new("d@1", 0);
        let (required, now_s, zone_s) = (&[] as &[String], 1_000, 100);
        let call = Call { caller: &caller, entries, others, directives, required, is_head: true, now_s, zone_s };
        let mut messages = Vec::new();
        let mut system = |message: &Message| match fails {
            Some(status) => Err(status),
            None => {
                messages.push(format!("{} {} {}", message.priority, message.time_s, message.text));
                Ok(())
            }
        };
        let logged = logged(call, &mut system);
        (logged, messages)
    }

    fn stamp(seconds: u64) -> Info {
        Info::new(sys::PMIX_LOG_TIMESTAMP, Value::Plain(sys::PMIX_TIME as u16, seconds, 0))
    }

    #[test]
    fn texts_are_whole_lines_and_once_means_the_first_channel() {
        let both = || vec![entry(LogChannel::Stderr, "a"), entry(LogChannel::Stdout, "b\n")];
        let lines = [(Stream::Stderr, Bytes::from("a\n")), (Stream::Stdout, Bytes::from("b\n"))];
        let all = Logged { texts: lines.to_vec(), form: LogForm::default(), is_partial: false };
        assert_eq!(log(both(), &[], &[], None).0, Ok(all));
        let others = ["pmix.log.jrec".to_owned()];
        assert!(log(both(), &others, &[], None).0.is_ok_and(|logged| logged.is_partial));
        let once = [Info::new(sys::PMIX_LOG_ONCE, true)];
        let first = Logged { texts: lines[..1].to_vec(), form: LogForm::default(), is_partial: false };
        assert_eq!(log(both(), &others, &once, None).0, Ok(first));
        assert_eq!(log(Vec::new(), &others, &once, None).0, Err(Status::NOT_SUPPORTED));
    }

    #[test]
    fn a_form_is_passed_on_and_a_date_is_that_of_the_call() {
        let one = || vec![entry(LogChannel::Stdout, "a")];
        let form = |directives: &[Info]| log(one(), &[], directives, None).0.map(|logged| logged.form);
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
    fn the_system_log_gets_priority_and_time_and_its_failure_is_the_answer() {
        let one = || vec![entry(LogChannel::Syslog, "a")];
        let (logged, messages) = log(one(), &[], &[stamp(50), Info::new(sys::PMIX_LOG_SYSLOG_PRI, 5u32)], None);
        assert_eq!((logged.map(|logged| logged.texts.len()), messages), (Ok(0), vec!["5 150 a".to_owned()]));
        assert_eq!(log(one(), &[], &[], None).1, ["3 1000 a"]);
        let full = Some(Status::OUT_OF_RESOURCE);
        assert_eq!(log(one(), &[], &[], full).0, Err(Status::OUT_OF_RESOURCE));
        let two = || vec![entry(LogChannel::Syslog, "a"), entry(LogChannel::Stdout, "b")];
        assert!(log(two(), &[], &[], full).0.is_ok_and(|logged| logged.is_partial));
        let once = [Info::new(sys::PMIX_LOG_ONCE, true)];
        let second = log(two(), &[], &once, full).0.expect("the second takes it");
        assert!(second.texts.len() == 1 && !second.is_partial);
        assert_eq!(log(one(), &[], &[Info::new(sys::PMIX_LOG_SYSLOG_PRI, 8u32)], None).0, Err(Status::BAD_PARAM));
    }

    /// Refusals (spec L100).
    #[test]
    fn another_source_unknown_demands_and_long_texts_are_refused() {
        let one = || vec![entry(LogChannel::Stdout, "a")];
        let source = |rank| [Info::new(sys::PMIX_LOG_SOURCE, Proc::new("d@1", rank))];
        assert!(log(one(), &[], &source(0), None).0.is_ok());
        assert_eq!(log(one(), &[], &source(1), None).0, Err(Status::NO_PERMISSIONS));
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(log(vec![entry(LogChannel::Stdout, &long)], &[], &[], None).0, Err(Status::BAD_PARAM));
        let caller = Proc::new("d@1", 0);
        let demand = |key: &str, is_head| {
            let (required, directives) = ([key.to_owned()], [Info::new(sys::PMIX_LOG_ONCE, true)]);
            let entries = vec![entry(if is_head { LogChannel::Stdout } else { LogChannel::GlobalSyslog }, "a")];
            let (caller, others) = (&caller, &[] as &[String]);
            let (directives, required, now_s, zone_s) = (&directives, &required, 0, 0);
            let call = Call { caller, entries, others, directives, required, is_head, now_s, zone_s };
            logged(call, &mut |_| Ok(())).map(drop)
        };
        assert_eq!(demand("pmix.log.once", true), Ok(()));
        assert_eq!(demand("pmix.log.agg", true), Err(Status::NOT_SUPPORTED));
        assert_eq!(demand("pmix.log.once", false), Err(Status::NOT_SUPPORTED), "the log of the DVM is elsewhere");
    }
}
