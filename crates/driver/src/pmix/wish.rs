//! Reads the infos of an allocation request into one value; `allocate.rs` decides about its purpose. Pure.

use ferrite_types::{AllocId, AllocReqId};
use std::ffi::CStr;

use ferrite_pmix::{Info, Value};
use ferrite_pmix_sys as sys;
use ferrite_rm::hostlist::{self, HostItem};
use ferrite_rm::node_list;
use ferrite_wire::{Inheritance, SessionTerms};

use super::allocate::Refusal;

/// The attributes that are understood. Other attributes of allocations are refused; other keys are ignored unless they
/// are required.
const KNOWN: [&CStr; 11] = [
    sys::PMIX_ALLOC_ID,
    sys::PMIX_ALLOC_REQ_ID,
    sys::PMIX_ALLOC_NODE_LIST,
    sys::PMIX_ALLOC_NUM_NODES,
    sys::PMIX_ALLOC_NUM_CPUS,
    sys::PMIX_ALLOC_QUEUE,
    sys::PMIX_ALLOC_TIME,
    sys::PMIX_ALLOC_WARN_TIMEOUT,
    sys::PMIX_ALLOC_SHARE,
    sys::PMIX_ALLOC_INHERITANCE,
    sys::PMIX_ALLOC_CHILD_SEP,
];

/// Prefix of all attributes of allocations: each changes the request's meaning, so none can be ignored.
const OF_ALLOCATIONS: &str = "pmix.alloc.";

/// Attributes that are refused with a reason beyond "not offered".
const NOT_OFFERED: [(&CStr, &str); 6] = [
    (sys::PMIX_ALLOC_TARGET, "an allocation is for whoever names it, not for a namespace"),
    (sys::PMIX_ALLOC_EXCLUDE, "name the nodes that are wanted"),
    (sys::PMIX_ALLOC_LEND, "what is given back is not lent"),
    (sys::PMIX_ALLOC_BEGIN, "what is asked for begins at once"),
    (sys::PMIX_ALLOC_DEPENDENCY, "what is asked for begins at once"),
    (sys::PMIX_ALLOC_RES_BLOCK, "there are no resource blocks"),
];

/// Longer than the name of any queue (bytes).
const LONGEST_QUEUE: usize = 255;

/// The contents of a request.
#[derive(Debug, Default)]
pub(super) struct Wish {
    pub(super) id: Option<AllocId>,
    pub(super) req_id: Option<AllocReqId>,
    pub(super) nodes: Vec<HostItem>,
    pub(super) count: u32,
    /// Number of slots, on any nodes.
    pub(super) cpus: u32,
    /// Queue of the resource manager.
    pub(super) queue: Option<String>,
    /// Terms of the new session; `reserve` is true unless the nodes are to be shared.
    pub(super) terms: SessionTerms,
}

impl Wish {
    /// Reads the infos. `required` are the keys that must be obeyed.
    ///
    /// # Errors
    /// An info that cannot be parsed, or is not offered.
    pub(super) fn read(info: &[Info], required: &[String]) -> Result<Wish, Refusal> {
        if let Some((key, why)) = NOT_OFFERED.iter().find(|(key, _)| info.iter().any(|info| info.is(key))) {
            return Err(Refusal::unsupported(format!("{} is not offered: {why}", key.to_string_lossy())));
        }
        if let Some(key) = required.iter().find(|key| !KNOWN.iter().any(|known| known.to_bytes() == key.as_bytes())) {
            return Err(Refusal::unsupported(format!("{key} is required, and not offered")));
        }
        let is_known = |info: &Info| KNOWN.iter().any(|known| info.is(known));
        if let Some(info) = info.iter().find(|info| info.key.starts_with(OF_ALLOCATIONS) && !is_known(info)) {
            return Err(Refusal::unsupported(format!("{} is not offered", info.key)));
        }
        let mut wish = Wish { terms: SessionTerms { reserve: true, ..SessionTerms::default() }, ..Wish::default() };
        info.iter().try_for_each(|info| wish.take(info))?;
        Ok(wish)
    }

    fn take(&mut self, info: &Info) -> Result<(), Refusal> {
        if info.is(sys::PMIX_ALLOC_ID) {
            self.id = Some(text(info)?.into());
        } else if info.is(sys::PMIX_ALLOC_REQ_ID) {
            self.req_id = Some(text(info)?.into());
        } else if info.is(sys::PMIX_ALLOC_NODE_LIST) {
            let list = node_list(info)?;
            self.nodes = hostlist::parse(&list).map_err(|error| Refusal::bad(error.to_string()))?.items;
        } else if info.is(sys::PMIX_ALLOC_NUM_NODES) {
            self.count = number(info)?;
        } else if info.is(sys::PMIX_ALLOC_NUM_CPUS) {
            self.cpus = number(info)?;
        } else if info.is(sys::PMIX_ALLOC_QUEUE) {
            self.queue = Some(queue(info)?);
        } else if info.is(sys::PMIX_ALLOC_TIME) {
            self.terms.time_limit_s = Some(seconds(info)?).filter(|seconds| *seconds > 0);
        } else if info.is(sys::PMIX_ALLOC_WARN_TIMEOUT) {
            self.terms.warn_s = Some(number(info)?).filter(|seconds| *seconds > 0);
        } else if info.is(sys::PMIX_ALLOC_SHARE) {
            self.terms.reserve = !truth(info)?;
        } else if info.is(sys::PMIX_ALLOC_CHILD_SEP) {
            self.terms.separate = truth(info)?;
        } else if info.is(sys::PMIX_ALLOC_INHERITANCE) {
            self.terms.inheritance = Some(inheritance(info)?);
        }
        Ok(())
    }
}

fn number(info: &Info) -> Result<u32, Refusal> {
    let number = info.value.as_i64().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| Refusal::bad(format!("{} is no number, or too large a one", info.key)))
}

fn text(info: &Info) -> Result<String, Refusal> {
    let text = info.value.as_str().filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| Refusal::bad(format!("{} is no text", info.key)))
}

/// Reads the name of a queue, which becomes a word of a command.
fn queue(info: &Info) -> Result<String, Refusal> {
    let name = text(info)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    match name.len() <= LONGEST_QUEUE && name.chars().all(fits) && !name.starts_with('-') {
        true => Ok(name),
        false => Err(Refusal::bad(format!("{}: {name:?} is no name of a queue", info.key))),
    }
}

fn truth(info: &Info) -> Result<bool, Refusal> {
    match info.value {
        Value::Bool(is) => Ok(is),
        _ => Err(Refusal::bad(format!("{} is neither true nor false", info.key))),
    }
}

/// Reads a number of seconds (PMIx 4), or `months:days:hours:minutes:seconds` (PMIx 5); leading fields may be
/// missing.
pub(super) fn seconds(info: &Info) -> Result<u32, Refusal> {
    let Some(text) = info.value.as_str() else { return number(info) };
    let bad = || Refusal::bad(format!("{}: {text:?} is no time, or too long a one", info.key));
    const UNITS: [u64; 5] = [1, 60, 3_600, 86_400, 30 * 86_400];
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > UNITS.len() {
        return Err(bad());
    }
    let mut seconds = 0u64;
    for (part, unit) in parts.iter().rev().zip(UNITS) {
        let part: u32 = part.trim().parse().map_err(|_| bad())?;
        seconds += u64::from(part) * unit;
    }
    u32::try_from(seconds).map_err(|_| bad())
}

fn inheritance(info: &Info) -> Result<Inheritance, Refusal> {
    match info.value.as_i64() {
        Some(sys::PMIX_ALLOC_INHERIT_NONE) => Ok(Inheritance::None),
        Some(sys::PMIX_ALLOC_INHERIT_CHILD) => Ok(Inheritance::Child),
        Some(sys::PMIX_ALLOC_INHERIT_DEFAULT) => Ok(Inheritance::Default),
        Some(sys::PMIX_ALLOC_INHERIT_CHILD_DEFAULT) => Ok(Inheritance::ChildDefault),
        Some(_) => Err(Refusal::unsupported(format!("{}: there is no such way to inherit", info.key))),
        None => Err(Refusal::bad(format!("{} is no number", info.key))),
    }
}

/// Reads a list with commas, or the output of `PMIx_generate_regex` if it is text.
fn node_list(info: &Info) -> Result<String, Refusal> {
    let list = match &info.value {
        Value::Regex(bytes) => String::from_utf8(bytes.iter().copied().take_while(|byte| *byte != 0).collect()).ok(),
        value => value.as_str().map(str::to_owned),
    };
    let list = list.ok_or_else(|| Refusal::bad(format!("{} is no text", info.key)))?;
    node_list::expand(&list).ok_or_else(|| Refusal::bad(format!("{list:?} is no list of nodes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(key: &CStr, value: impl Into<Value>) -> Result<SessionTerms, Refusal> {
        Wish::read(&[Info::new(key, value)], &[]).map(|wish| wish.terms)
    }
    fn lasts(value: impl Into<Value>) -> Option<u32> {
        terms(sys::PMIX_ALLOC_TIME, value).ok().and_then(|terms| terms.time_limit_s)
    }

    #[test]
    fn a_time_is_a_number_of_seconds_or_has_minutes_hours_days_and_months_before_them() {
        assert_eq!((lasts(60u32), lasts("2"), lasts("1:30")), (Some(60), Some(2), Some(90)));
        assert_eq!(
            (lasts("1:0:0"), lasts("1:00:00:01"), lasts("1:0:0:0:0")),
            (Some(3600), Some(86_401), Some(2_592_000))
        );
        for wrong in ["", ":", "soon", "-1", "1:2:3:4:5:6", "4294967295:0"] {
            assert!(terms(sys::PMIX_ALLOC_TIME, wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_is_wanted_of_the_session_is_read() {
        assert!(terms(sys::PMIX_ALLOC_SHARE, false).unwrap().reserve);
        assert!(!terms(sys::PMIX_ALLOC_SHARE, true).unwrap().reserve);
        assert!(terms(sys::PMIX_ALLOC_CHILD_SEP, true).unwrap().separate);
        assert_eq!(terms(sys::PMIX_ALLOC_WARN_TIMEOUT, 5u32).unwrap().warn_s, Some(5));
        let inherits = |number| terms(sys::PMIX_ALLOC_INHERITANCE, Value::U8(number)).map(|terms| terms.inheritance);
        let all = [Inheritance::None, Inheritance::Child, Inheritance::Default, Inheritance::ChildDefault];
        for (number, way) in (1..).zip(all) {
            assert_eq!(inherits(number), Ok(Some(way)));
        }
        assert!(inherits(9).is_err());
        assert!(terms(sys::PMIX_ALLOC_SHARE, "yes").is_err());
    }

    #[test]
    fn what_would_make_another_thing_of_the_request_is_refused_even_if_nobody_insists() {
        for (key, why) in NOT_OFFERED {
            let refusal = terms(key, "x").unwrap_err();
            assert_eq!(refusal, Refusal::unsupported(format!("{} is not offered: {why}", key.to_string_lossy())));
        }
    }
}
