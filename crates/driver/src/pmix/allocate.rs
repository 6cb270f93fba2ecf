//! `PMIx_Allocation_request`: what it asks of the DVM's size, the answer of the first phase and the event of the second (seed 3,
//! asynchronous size-change completion). Pure; only [`super::PmixBridge`] and what it is made of use it.

use std::ffi::CStr;
use std::fmt;

use ferrite_pmix::{Audience, Info, Notice, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_rm::hostlist::{self, HostItem, ItemSlots};
use ferrite_rm::regex;
use ferrite_types::{HostEntry, HostRef};
use ferrite_wire::{
    Activation, AddedHost, GrowRequest, Resize, ResizeOutcome, ResizeRequest, SessionTerms, ShrinkRequest, SlotChange,
};

/// What is understood; everything else is passed over, unless the requester insists on it.
const KNOWN: [&CStr; 5] = [
    sys::PMIX_ALLOC_ID,
    sys::PMIX_ALLOC_REQ_ID,
    sys::PMIX_ALLOC_NODE_LIST,
    sys::PMIX_ALLOC_NUM_NODES,
    sys::PMIX_ALLOC_TIME,
];
/// The major release of PMIx that defines `PMIX_DVM_IS_READY` and `PMIX_ERR_DVM_MOD`.
const EVENTS_SINCE: u32 = 7;

/// Why nothing is asked of the DVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    status: Status,
    cause: String,
}

impl Refusal {
    fn bad(cause: impl Into<String>) -> Refusal {
        Refusal { status: Status::BAD_PARAM, cause: cause.into() }
    }

    fn unsupported(cause: impl Into<String>) -> Refusal {
        Refusal { status: Status::NOT_SUPPORTED, cause: cause.into() }
    }

    /// The status for the requester; the words are for the log, because PMIx has no place for them.
    pub(super) fn told(self, requester: &dyn fmt::Display) -> Status {
        tracing::info!(%requester, status = ?self.status, cause = self.cause, "an allocation request is refused");
        self.status
    }
}

/// Translates a request. `required` are the keys that must be obeyed.
///
/// # Errors
/// What cannot be understood, or is not offered.
pub(super) fn request(directive: u8, info: &[Info], required: &[String]) -> Result<ResizeRequest, Refusal> {
    if let Some(key) = required.iter().find(|key| !KNOWN.iter().any(|known| known.to_bytes() == key.as_bytes())) {
        return Err(Refusal::unsupported(format!("{key} is required, and not offered")));
    }
    let wish = Wish::read(info)?;
    match u32::from(directive) {
        sys::PMIX_ALLOC_NEW => wish.grow(None, true).map(ResizeRequest::Grow),
        sys::PMIX_ALLOC_EXTEND => {
            let named = wish.id.clone().or_else(|| wish.req_id.clone());
            let named = named.ok_or_else(|| Refusal::bad("no allocation is named that is to be extended"))?;
            wish.grow(Some(named), false).map(ResizeRequest::Grow)
        }
        sys::PMIX_ALLOC_RELEASE => wish.shrink().map(ResizeRequest::Shrink),
        other => Err(Refusal::unsupported(format!("allocation directive {other}"))),
    }
}

/// The infos of a request.
#[derive(Debug, Default)]
struct Wish {
    id: Option<String>,
    req_id: Option<String>,
    nodes: Vec<HostItem>,
    count: u32,
    time_limit_s: Option<u32>,
}

impl Wish {
    fn read(info: &[Info]) -> Result<Wish, Refusal> {
        let mut wish = Wish::default();
        for info in info {
            if info.is(sys::PMIX_ALLOC_ID) {
                wish.id = Some(text(info)?);
            } else if info.is(sys::PMIX_ALLOC_REQ_ID) {
                wish.req_id = Some(text(info)?);
            } else if info.is(sys::PMIX_ALLOC_NODE_LIST) {
                let list = node_list(info)?;
                wish.nodes = hostlist::parse(&list).map_err(|error| Refusal::bad(error.to_string()))?.items;
            } else if info.is(sys::PMIX_ALLOC_NUM_NODES) {
                wish.count = number(info)?;
            } else if info.is(sys::PMIX_ALLOC_TIME) {
                wish.time_limit_s = Some(number(info)?).filter(|seconds| *seconds > 0);
            }
        }
        Ok(wish)
    }

    /// Nodes of a new allocation are for whoever names it; those that extend one are what the others of it are.
    fn grow(self, alloc_id: Option<String>, reserve: bool) -> Result<GrowRequest, Refusal> {
        let (mut hosts, mut refs) = (Vec::new(), Vec::new());
        for item in self.nodes {
            match item {
                HostItem::Host { user, name, slots } => {
                    let host = HostEntry { user, ..HostEntry::named(&name) };
                    hosts.push(AddedHost { host, slots: slot_change(slots) });
                }
                HostItem::Relative(at, slots) => refs.push(HostRef::Relative(at, slots)),
                HostItem::Empty(_) | HostItem::Exclude(_) => {
                    return Err(Refusal::bad("only names and +nK say which nodes are to come"));
                }
            }
        }
        let activate = if refs.is_empty() { Vec::new() } else { vec![Activation::Nodes(refs)] };
        let (count, req_id) = (self.count, self.req_id);
        let terms = SessionTerms { reserve, time_limit_s: self.time_limit_s, ..SessionTerms::default() };
        Ok(GrowRequest { hosts, activate, count, alloc_id, req_id, terms, wait: false })
    }

    fn shrink(self) -> Result<ShrinkRequest, Refusal> {
        let name = |item| match item {
            // A node leaves with all of its slots, so that the list with which it came will do.
            HostItem::Host { name, slots: ItemSlots::Unstated | ItemSlots::All | ItemSlots::Given(_), .. } => Ok(name),
            HostItem::Host { .. } => Err(Refusal::bad("a node leaves with all of its slots")),
            HostItem::Relative(..) | HostItem::Empty(_) | HostItem::Exclude(_) => {
                Err(Refusal::bad("only names say which nodes are to leave"))
            }
        };
        let nodes: Vec<String> = self.nodes.into_iter().map(name).collect::<Result<_, _>>()?;
        // When nothing else says what is to go, the requester's own name for an allocation does.
        let says_what = self.id.is_some() || !nodes.is_empty() || self.count > 0;
        let alloc_id = if says_what { self.id } else { self.req_id.clone() };
        Ok(ShrinkRequest { nodes, count: self.count, alloc_id, req_id: self.req_id, wait: false })
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

/// A list with commas, or one that `PMIx_generate_regex` has made of it, as far as that is text.
fn node_list(info: &Info) -> Result<String, Refusal> {
    let list = match &info.value {
        Value::Regex(bytes) => String::from_utf8(bytes.iter().copied().take_while(|byte| *byte != 0).collect()).ok(),
        value => value.as_str().map(str::to_owned),
    };
    let list = list.ok_or_else(|| Refusal::bad(format!("{} is no text", info.key)))?;
    regex::expand(&list).ok_or_else(|| Refusal::bad(format!("{list:?} is no list of nodes")))
}

fn slot_change(slots: ItemSlots) -> SlotChange {
    match slots {
        ItemSlots::Unstated | ItemSlots::All => SlotChange::Unstated,
        ItemSlots::Given(slots) => SlotChange::Set(slots),
        ItemSlots::Adjust(by) => SlotChange::Adjust(by),
    }
}

/// The answer of the first phase: the identity of the allocation, or why nothing was done.
pub(super) fn answer(resize: &Resize) -> Result<Vec<Info>, Status> {
    match &resize.outcome {
        ResizeOutcome::Refused { status, cause } | ResizeOutcome::Failed { status, cause } => {
            tracing::info!(status, cause, "an allocation request is refused");
            Err(Status(*status))
        }
        ResizeOutcome::Unchanged | ResizeOutcome::Begun | ResizeOutcome::Requested { .. } | ResizeOutcome::Done => {
            // By its number `PMIx_Session_control` names it.
            let session = resize.session.map(|id| Info::new(sys::PMIX_SESSION_ID, id));
            Ok(identity(resize).into_iter().chain(session).collect())
        }
    }
}

/// The event of the second phase. `None` for what is no end.
pub(super) fn event(server: Proc, to: Proc, resize: &Resize) -> Option<Notice> {
    // Not for handlers of everything: those of MPI libraries take what they do not know for the end of the world.
    let mut info = vec![Info::new(sys::PMIX_EVENT_NON_DEFAULT, true)];
    info.extend(identity(resize));
    let code = match &resize.outcome {
        ResizeOutcome::Done => Status::DVM_IS_READY,
        ResizeOutcome::Failed { status, cause } => {
            info.push(Info::new(sys::PMIX_JOB_TERM_STATUS, Status(*status)));
            info.push(Info::new(sys::PMIX_EVENT_TEXT_MESSAGE, cause.as_str()));
            Status::DVM_MOD
        }
        ResizeOutcome::Refused { .. }
        | ResizeOutcome::Unchanged
        | ResizeOutcome::Begun
        | ResizeOutcome::Requested { .. } => return None,
    };
    Some(Notice { code, source: server, to: Audience::Procs(vec![to]), info })
}

fn identity(resize: &Resize) -> Vec<Info> {
    let mut info = vec![Info::new(sys::PMIX_ALLOC_ID, resize.alloc_id.as_str())];
    info.extend(resize.req_id.as_deref().map(|id| Info::new(sys::PMIX_ALLOC_REQ_ID, id)));
    info
}

/// Whether events are sent that only newer releases of PMIx have names for (`prte_dvm_events`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SizeEvents {
    /// When the library knows them.
    #[default]
    Auto,
    Always,
    Never,
}

impl SizeEvents {
    /// By the parameter's value; the machine has complained of a wrong one.
    pub(super) fn of(value: Option<&str>) -> SizeEvents {
        match value {
            Some("always") => SizeEvents::Always,
            Some("never") => SizeEvents::Never,
            _ => SizeEvents::Auto,
        }
    }

    /// The first major release of the library with which they are sent.
    pub(super) fn since(self) -> Option<u32> {
        match self {
            SizeEvents::Auto => Some(EVENTS_SINCE),
            SizeEvents::Always => Some(0),
            SizeEvents::Never => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::SlotCount;

    use super::*;

    const NEW: u8 = sys::PMIX_ALLOC_NEW as u8;
    const EXTEND: u8 = sys::PMIX_ALLOC_EXTEND as u8;
    const RELEASE: u8 = sys::PMIX_ALLOC_RELEASE as u8;

    fn id(text: &str) -> Info {
        Info::new(sys::PMIX_ALLOC_ID, text)
    }
    fn req_id(text: &str) -> Info {
        Info::new(sys::PMIX_ALLOC_REQ_ID, text)
    }
    fn nodes(list: &str) -> Info {
        Info::new(sys::PMIX_ALLOC_NODE_LIST, list)
    }
    fn count(number: u64) -> Info {
        Info::new(sys::PMIX_ALLOC_NUM_NODES, number)
    }

    fn grow(directive: u8, info: &[Info]) -> GrowRequest {
        match request(directive, info, &[]) {
            Ok(ResizeRequest::Grow(grow)) => grow,
            other => panic!("no grow: {other:?}"),
        }
    }
    fn shrink(info: &[Info]) -> ShrinkRequest {
        match request(RELEASE, info, &[]) {
            Ok(ResizeRequest::Shrink(shrink)) => shrink,
            other => panic!("no shrink: {other:?}"),
        }
    }
    fn refused(directive: u8, info: &[Info]) -> Status {
        request(directive, info, &[]).unwrap_err().status
    }
    fn added(name: &str, slots: SlotChange) -> AddedHost {
        AddedHost { host: HostEntry::named(name), slots }
    }

    #[test]
    fn a_new_allocation_has_nodes_by_name_with_slots_and_nodes_by_number() {
        let asked =
            grow(NEW, &[nodes("n5:4, n6,n7:+2"), count(3), req_id("mine"), Info::new(sys::PMIX_ALLOC_TIME, 60u32)]);
        let hosts =
            [added("n5", SlotChange::Set(4)), added("n6", SlotChange::Unstated), added("n7", SlotChange::Adjust(2))];
        let expected = GrowRequest {
            hosts: hosts.into(),
            count: 3,
            req_id: Some("mine".to_owned()),
            terms: SessionTerms { reserve: true, time_limit_s: Some(60), ..SessionTerms::default() },
            ..GrowRequest::default()
        };
        assert_eq!(asked, expected);
        let asked = grow(NEW, &[nodes("+n1,me@n2")]);
        assert_eq!(asked.activate, [Activation::Nodes(vec![HostRef::Relative(1, SlotCount::FromCores)])]);
        assert_eq!(asked.hosts[0].host.user.as_deref(), Some("me"));
        let short = Info::new(sys::PMIX_ALLOC_NODE_LIST, Value::Regex(b"pmix[n[1:1-3]]\0".to_vec()));
        assert_eq!(grow(NEW, &[short]).hosts.len(), 3, "as PMIx_generate_regex writes it");
        assert_eq!(grow(NEW, &[id("a1"), count(1)]).alloc_id, None, "a new one has an id of its own");
    }

    #[test]
    fn an_extension_names_its_allocation_by_id_or_by_the_requesters_own_name() {
        assert_eq!(grow(EXTEND, &[id("a1"), count(1), req_id("more")]).alloc_id.as_deref(), Some("a1"));
        let mine = grow(EXTEND, &[count(1), req_id("mine")]);
        assert_eq!((mine.alloc_id.as_deref(), mine.req_id.as_deref()), (Some("mine"), Some("mine")));
        assert_eq!(mine.terms, SessionTerms::default(), "its nodes are what the others are");
        assert_eq!(refused(EXTEND, &[count(1)]), Status::BAD_PARAM);
    }

    #[test]
    fn a_release_names_nodes_a_number_or_an_allocation() {
        let asked = shrink(&[nodes("n1,n2:4"), req_id("r")]);
        let names = ["n1", "n2"].map(String::from);
        let expected = ShrinkRequest { nodes: names.into(), req_id: Some("r".to_owned()), ..ShrinkRequest::default() };
        assert_eq!(asked, expected);
        let asked = shrink(&[count(2), id("a1")]);
        assert_eq!((asked.count, asked.alloc_id.as_deref()), (2, Some("a1")));
        assert_eq!(shrink(&[req_id("mine")]).alloc_id.as_deref(), Some("mine"), "nothing else says what is to go");
        assert_eq!(shrink(&[req_id("mine"), count(1)]).alloc_id, None);
        for list in ["n1:+2", "+n1", "^n1", "+e"] {
            assert_eq!(refused(RELEASE, &[nodes(list)]), Status::BAD_PARAM, "{list}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for list in [
            "n1;reboot",
            "$(reboot)",
            "`x`",
            "n1,,n2",
            "",
            "-oProxyCommand=x",
            "n1:many",
            "+e",
            "^n1",
            "n1 n2",
            "pmix[n[1:1]",
        ] {
            assert_eq!(refused(NEW, &[nodes(list)]), Status::BAD_PARAM, "{list}");
        }
        let wrong = |key, value: Value| refused(NEW, &[count(1), Info::new(key, value)]);
        assert_eq!(wrong(sys::PMIX_ALLOC_NUM_NODES, Value::I64(-1)), Status::BAD_PARAM);
        assert_eq!(wrong(sys::PMIX_ALLOC_NUM_NODES, Value::U64(u64::MAX)), Status::BAD_PARAM);
        assert_eq!(wrong(sys::PMIX_ALLOC_NUM_NODES, Value::from("2")), Status::BAD_PARAM);
        assert_eq!(wrong(sys::PMIX_ALLOC_NODE_LIST, Value::Bool(true)), Status::BAD_PARAM);
        assert_eq!(wrong(sys::PMIX_ALLOC_REQ_ID, Value::U32(7)), Status::BAD_PARAM);
        assert_eq!(wrong(sys::PMIX_ALLOC_ID, Value::from("")), Status::BAD_PARAM);
    }

    #[test]
    fn what_is_not_offered_is_refused_and_what_nobody_insists_on_is_passed_over() {
        for directive in [0, sys::PMIX_ALLOC_REAQUIRE as u8, sys::PMIX_ALLOC_EXTERNAL as u8, 255] {
            assert_eq!(refused(directive, &[count(1)]), Status::NOT_SUPPORTED, "{directive}");
        }
        let info = [count(1), Info::new(sys::PMIX_ALLOC_QUEUE, "fast")];
        assert_eq!(grow(NEW, &info).count, 1);
        let key = |key: &CStr| key.to_str().unwrap().to_owned();
        assert!(request(NEW, &info, &[key(sys::PMIX_ALLOC_NUM_NODES)]).is_ok());
        let refusal = request(NEW, &info, &[key(sys::PMIX_ALLOC_NUM_NODES), key(sys::PMIX_ALLOC_QUEUE)]).unwrap_err();
        assert_eq!(refusal.status, Status::NOT_SUPPORTED);
        assert!(refusal.cause.contains("pmix.alloc.queue"), "{}", refusal.cause);
    }

    fn resize(req_id: Option<&str>, outcome: ResizeOutcome) -> Resize {
        let req_id = req_id.map(str::to_owned);
        Resize { alloc_id: "a1".to_owned(), req_id, session: Some(1), nodes: vec!["n1".to_owned()], outcome }
    }
    fn happened(req_id: Option<&str>, outcome: ResizeOutcome) -> Option<Notice> {
        event(Proc::new("d@0", 2), Proc::new("d@1", 3), &resize(req_id, outcome))
    }

    #[test]
    fn the_answer_is_the_identity_of_the_allocation_or_the_status_of_the_refusal() {
        let session = Info::new(sys::PMIX_SESSION_ID, 1u32);
        let all = vec![id("a1"), req_id("mine"), session.clone()];
        assert_eq!(answer(&resize(Some("mine"), ResizeOutcome::Begun)), Ok(all));
        assert_eq!(answer(&resize(None, ResizeOutcome::Unchanged)), Ok(vec![id("a1"), session]));
        let outcome = ResizeOutcome::Refused { status: -46, cause: "no".to_owned() };
        assert_eq!(answer(&resize(Some("mine"), outcome)), Err(Status::NOT_FOUND));
    }

    #[test]
    fn the_event_goes_to_the_requester_alone_with_both_names_and_the_cause() {
        let quietly = Info::new(sys::PMIX_EVENT_NON_DEFAULT, true);
        let done = happened(Some("mine"), ResizeOutcome::Done).unwrap();
        assert_eq!((done.code.0, &done.source), (-195, &Proc::new("d@0", 2)));
        assert_eq!(done.to, Audience::Procs(vec![Proc::new("d@1", 3)]));
        assert_eq!(done.info, [quietly.clone(), id("a1"), req_id("mine")]);
        let failed = happened(None, ResizeOutcome::Failed { status: -181, cause: "why".to_owned() }).unwrap();
        assert_eq!(failed.code.0, -196);
        let cause = Info::new(sys::PMIX_JOB_TERM_STATUS, Value::Status(Status(-181)));
        let words = Info::new(sys::PMIX_EVENT_TEXT_MESSAGE, "why");
        assert_eq!(failed.info, [quietly, id("a1"), cause, words]);
    }

    #[test]
    fn what_has_not_ended_and_what_has_not_begun_make_no_event() {
        let refused = ResizeOutcome::Refused { status: -46, cause: String::new() };
        for outcome in [ResizeOutcome::Begun, ResizeOutcome::Unchanged, refused] {
            assert_eq!(happened(None, outcome), None);
        }
    }

    #[test]
    fn events_that_pmix_has_no_name_for_are_sent_only_on_demand() {
        let since = |value| SizeEvents::of(value).since();
        assert_eq!((since(None), since(Some("auto"))), (Some(7), Some(7)));
        assert_eq!((since(Some("always")), since(Some("never"))), (Some(0), None));
    }
}
