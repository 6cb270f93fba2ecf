//! `PMIx_Allocation_request`: its translation into a change of the DVM's size, the answer of the first phase and the
//! event of the second (docs/spec/elastic.md, two answers). Pure; only [`super::PmixBridge`] and its parts use it.

use std::fmt;

use ferrite_pmix::{Audience, Info, Notice, Proc, Status};
use ferrite_pmix_sys::{self as sys, PMIX_ALLOC_REQ_CANCEL};
use ferrite_rm::hostlist::{HostItem, ItemSlots};
use ferrite_types::{AllocId, AllocReqId, HostEntry, HostRef};
use ferrite_wire::{
    Activation, AddedHost, CancelRequest, ExtendRequest, GrowRequest, Resize, ResizeOutcome, ResizeRequest,
    SessionTerms, ShrinkRequest, SlotChange, TimeWarning,
};

use super::wish::Wish;

/// The major release of PMIx that defines `PMIX_DVM_IS_READY` and `PMIX_ERR_DVM_MOD`.
const EVENTS_SINCE: u32 = 7;

/// The reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: Status,
    pub(super) cause: String,
}

impl Refusal {
    pub(super) fn bad(cause: impl Into<String>) -> Refusal {
        Refusal { status: Status::BAD_PARAM, cause: cause.into() }
    }

    pub(super) fn unsupported(cause: impl Into<String>) -> Refusal {
        Refusal { status: Status::NOT_SUPPORTED, cause: cause.into() }
    }

    /// Logs the reason, which PMIx cannot carry, and returns the status for the requester.
    pub(super) fn told(self, requester: &dyn fmt::Display) -> Status {
        tracing::info!(%requester, status = ?self.status, cause = self.cause, "an allocation request is refused");
        self.status
    }
}

/// Translates a request. `required` are the keys that must be obeyed (spec S11).
///
/// # Errors
/// A request that cannot be understood, or is not offered.
pub(super) fn request(directive: u8, info: &[Info], required: &[String]) -> Result<ResizeRequest, Refusal> {
    let wish = Wish::read(info, required)?;
    match u32::from(directive) {
        sys::PMIX_ALLOC_NEW => wish.grow(None).map(ResizeRequest::Grow),
        sys::PMIX_ALLOC_EXTEND => {
            let named = wish.id.clone().or_else(|| wish.req_id.as_ref().map(AllocReqId::in_place_of_id));
            if let Some(seconds) = wish.time_alone() {
                let extend = ExtendRequest { alloc_id: named, req_id: wish.req_id, seconds };
                return Ok(ResizeRequest::Extend(extend));
            }
            let named = named.ok_or_else(|| Refusal::bad("no allocation is named that is to be extended"))?;
            wish.grow(Some(named)).map(ResizeRequest::Grow)
        }
        sys::PMIX_ALLOC_RELEASE => wish.shrink().map(ResizeRequest::Shrink),
        PMIX_ALLOC_REQ_CANCEL => wish.cancel().map(ResizeRequest::Cancel),
        sys::PMIX_ALLOC_REAQUIRE => Err(Refusal::unsupported("nothing is lent that could be acquired again")),
        other => Err(Refusal::unsupported(format!("allocation directive {other}"))),
    }
}

impl Wish {
    /// Nodes of a new allocation are reserved for jobs that name it; those that extend an allocation have its terms
    /// (spec S11).
    pub(super) fn grow(self, alloc_id: Option<AllocId>) -> Result<GrowRequest, Refusal> {
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
        if self.cpus > 0 && (self.count > 0 || !hosts.is_empty() || !activate.is_empty()) {
            return Err(Refusal::unsupported(
                "PMIX_ALLOC_NUM_CPUS beside nodes, or a number of them: name one of the two",
            ));
        }
        let (count, slots, queue, req_id) = (self.count, self.cpus, self.queue, self.req_id);
        let reserve = alloc_id.is_none() && self.terms.reserve;
        let terms = SessionTerms { reserve, ..self.terms };
        Ok(GrowRequest { hosts, activate, count, slots, queue, rm_job: None, alloc_id, req_id, terms, wait: false })
    }

    /// Returns the requested seconds when the request asks for nothing else (spec S12).
    fn time_alone(&self) -> Option<u32> {
        let seconds = self.terms.time_limit_s?;
        let said = SessionTerms { reserve: true, time_limit_s: Some(seconds), ..SessionTerms::default() };
        let alone = self.nodes.is_empty() && self.count == 0 && self.cpus == 0 && self.queue.is_none();
        (alone && self.terms == said).then_some(seconds)
    }

    /// Translates a cancellation, which names the requester's own id of the request or the allocation that was to come
    /// of it (spec S14).
    fn cancel(self) -> Result<CancelRequest, Refusal> {
        match self {
            Wish { queue: Some(_), .. } => Err(Refusal::unsupported("PMIX_ALLOC_QUEUE beside what is to be cancelled")),
            Wish { id: None, req_id: None, .. } => Err(Refusal::bad("no request is named that is to be cancelled")),
            Wish { id: alloc_id, req_id, .. } => Ok(CancelRequest { alloc_id, req_id }),
        }
    }

    /// A release names nodes, a number of nodes, or an allocation (spec S13).
    fn shrink(self) -> Result<ShrinkRequest, Refusal> {
        if self.cpus > 0 || self.queue.is_some() {
            let cause =
                "PMIX_ALLOC_NUM_CPUS and PMIX_ALLOC_QUEUE do not go with a release: name nodes, or a number of them";
            return Err(Refusal::unsupported(cause));
        }
        let name = |item| match item {
            // A node leaves with all of its slots, so the list with which it came is valid here too.
            HostItem::Host { name, slots: ItemSlots::Unstated | ItemSlots::All | ItemSlots::Given(_), .. } => Ok(name),
            HostItem::Host { .. } => Err(Refusal::bad("a node leaves with all of its slots")),
            HostItem::Relative(..) | HostItem::Empty(_) | HostItem::Exclude(_) => {
                Err(Refusal::bad("only names say which nodes are to leave"))
            }
        };
        let nodes: Vec<String> = self.nodes.into_iter().map(name).collect::<Result<_, _>>()?;
        // Without other words, the requester's own name for an allocation says which nodes leave.
        let says_what = self.id.is_some() || !nodes.is_empty() || self.count > 0;
        let alloc_id = if says_what { self.id } else { self.req_id.as_ref().map(AllocReqId::in_place_of_id) };
        Ok(ShrinkRequest {
            nodes,
            count: self.count,
            alloc_id,
            req_id: self.req_id,
            grace_s: None,
            force: false,
            wait: false,
        })
    }
}

pub(super) fn slot_change(slots: ItemSlots) -> SlotChange {
    match slots {
        ItemSlots::Unstated | ItemSlots::All => SlotChange::Unstated,
        ItemSlots::Given(slots) => SlotChange::Set(slots),
        ItemSlots::Adjust(by) => SlotChange::Adjust(by),
    }
}

/// Returns the answer of the first phase: the identity of the allocation, or the reason of the refusal.
pub(super) fn answer(resize: &Resize) -> Result<Vec<Info>, Status> {
    match &resize.outcome {
        ResizeOutcome::Refused { status, cause } | ResizeOutcome::Failed { status, cause } => {
            tracing::info!(status = status.0, cause, "an allocation request is refused");
            Err(Status(status.0))
        }
        ResizeOutcome::Unchanged | ResizeOutcome::Begun | ResizeOutcome::Requested { .. } | ResizeOutcome::Done => {
            // `PMIx_Session_control` names the session by this number.
            let session = resize.session.map(|id| Info::new(sys::PMIX_SESSION_ID, id.0));
            Ok(identity(resize).into_iter().chain(session).collect())
        }
    }
}

/// Returns the event of the second phase. `None` for an outcome that is not the end (spec G9, E50).
pub(super) fn event(server: Proc, to: Proc, resize: &Resize) -> Option<Notice> {
    // Default handlers do not get it: those of MPI libraries abort on unknown events.
    let mut info = vec![Info::new(sys::PMIX_EVENT_NON_DEFAULT, true)];
    info.extend(identity(resize));
    // A requester that asked for a number of nodes does not know which ones come or go.
    info.extend(node_list(&resize.nodes));
    let code = match &resize.outcome {
        ResizeOutcome::Done => Status::DVM_IS_READY,
        ResizeOutcome::Failed { status, cause } => {
            info.push(Info::new(sys::PMIX_JOB_TERM_STATUS, Status(status.0)));
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

/// Returns the event that the end of a session is near, for the requester that asked for a warning (spec E50).
pub(super) fn warning(server: Proc, to: Proc, warning: &TimeWarning) -> Notice {
    let mut info = vec![Info::new(sys::PMIX_EVENT_NON_DEFAULT, true)];
    info.extend(names(Some(&warning.alloc_id), warning.req_id.as_ref()));
    info.extend(node_list(&warning.nodes));
    info.push(Info::new(sys::PMIX_SESSION_ID, warning.session.0));
    info.push(Info::new(sys::PMIX_TIME_REMAINING, warning.seconds_left));
    Notice { code: Status::ALLOC_TIMEOUT_WARNING, source: server, to: Audience::Procs(vec![to]), info }
}

/// The nodes of an event; it has none when a resource manager has granted none.
fn node_list(nodes: &[String]) -> Option<Info> {
    (!nodes.is_empty()).then(|| Info::new(sys::PMIX_ALLOC_NODE_LIST, nodes.join(",").as_str()))
}

fn identity(resize: &Resize) -> Vec<Info> {
    names(resize.alloc_id.as_ref(), resize.req_id.as_ref())
}

fn names(alloc_id: Option<&AllocId>, req_id: Option<&AllocReqId>) -> Vec<Info> {
    let alloc_id = alloc_id.map(|id| Info::new(sys::PMIX_ALLOC_ID, &**id));
    let req_id = req_id.map(|name| Info::new(sys::PMIX_ALLOC_REQ_ID, &**name));
    alloc_id.into_iter().chain(req_id).collect()
}

/// The rule by which events are sent that only newer releases of PMIx define (`prte_dvm_events`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SizeEvents {
    /// They are sent when the library defines them.
    #[default]
    Auto,
    Always,
    Never,
}

impl SizeEvents {
    /// Reads the parameter's value; the machine has already reported a wrong one.
    pub(super) fn of(value: Option<&str>) -> SizeEvents {
        match value {
            Some("always") => SizeEvents::Always,
            Some("never") => SizeEvents::Never,
            _ => SizeEvents::Auto,
        }
    }

    /// Returns the first major release of the library with which they are sent (spec G9).
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
    use ferrite_types::pmix_status::{PMIX_ERR_JOB_FAILED_TO_LAUNCH, PMIX_ERR_NOT_FOUND};
    use std::ffi::CStr;

    use ferrite_pmix::Value;
    use ferrite_types::{SessionId, SlotCount};

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

    /// `PMIX_ALLOC_NEW` (spec S11).
    #[test]
    fn a_new_allocation_has_nodes_by_name_with_slots_and_nodes_by_number() {
        let asked =
            grow(NEW, &[nodes("n5:4, n6,n7:+2"), count(3), req_id("mine"), Info::new(sys::PMIX_ALLOC_TIME, 60u32)]);
        let hosts =
            [added("n5", SlotChange::Set(4)), added("n6", SlotChange::Unstated), added("n7", SlotChange::Adjust(2))];
        let expected = GrowRequest {
            hosts: hosts.into(),
            count: 3,
            req_id: Some("mine".into()),
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

    /// `PMIX_ALLOC_EXTEND` (spec S12).
    #[test]
    fn an_extension_names_its_allocation_by_id_or_by_the_requesters_own_name() {
        assert_eq!(grow(EXTEND, &[id("a1"), count(1), req_id("more")]).alloc_id.as_deref(), Some("a1"));
        let mine = grow(EXTEND, &[count(1), req_id("mine")]);
        assert_eq!((mine.alloc_id.as_deref(), mine.req_id.as_deref()), (Some("mine"), Some("mine")));
        assert_eq!(mine.terms, SessionTerms::default(), "its nodes are what the others are");
        assert_eq!(refused(EXTEND, &[count(1)]), Status::BAD_PARAM);
    }

    /// `PMIX_ALLOC_EXTEND` (spec S12).
    #[test]
    fn an_extension_by_time_alone_changes_no_size() {
        let time = Info::new(sys::PMIX_ALLOC_TIME, "1:30");
        let extend = |info: &[Info]| match request(EXTEND, info, &[]) {
            Ok(ResizeRequest::Extend(extend)) => extend,
            other => panic!("no extension: {other:?}"),
        };
        let of = |alloc_id: Option<&str>, req_id: Option<&str>| {
            let (alloc_id, req_id) = (alloc_id.map(Into::into), req_id.map(Into::into));
            ExtendRequest { alloc_id, req_id, seconds: 90 }
        };
        assert_eq!(extend(&[time.clone(), id("a1"), req_id("more")]), of(Some("a1"), Some("more")));
        assert_eq!(extend(&[time.clone(), req_id("mine")]), of(Some("mine"), Some("mine")));
        assert_eq!(extend(std::slice::from_ref(&time)), of(None, None), "the session of who asks");
        assert_eq!(grow(EXTEND, &[time.clone(), id("a1"), count(1)]).count, 1, "with nodes it is a grow");
        let warned = Info::new(sys::PMIX_ALLOC_WARN_TIMEOUT, 5u32);
        assert!(matches!(request(EXTEND, &[time, id("a1"), warned], &[]), Ok(ResizeRequest::Grow(_))));
        assert_eq!(refused(EXTEND, &[Info::new(sys::PMIX_ALLOC_TIME, 0u32)]), Status::BAD_PARAM);
    }

    /// `PMIX_ALLOC_RELEASE` (spec S13).
    #[test]
    fn a_release_names_nodes_a_number_or_an_allocation() {
        let asked = shrink(&[nodes("n1,n2:4"), req_id("r")]);
        let names = ["n1", "n2"].map(String::from);
        let expected = ShrinkRequest { nodes: names.into(), req_id: Some("r".into()), ..ShrinkRequest::default() };
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
        let unheard = Info::new(c"pmix.unheard.of", "x");
        let info = [count(1), unheard];
        assert_eq!(grow(NEW, &info).count, 1);
        let key = |key: &CStr| key.to_str().unwrap().to_owned();
        assert!(request(NEW, &info, &[key(sys::PMIX_ALLOC_NUM_NODES)]).is_ok());
        let required = [key(sys::PMIX_ALLOC_NUM_NODES), "pmix.unheard.of".to_owned()];
        let refusal = request(NEW, &info, &required).unwrap_err();
        assert_eq!(refusal.status, Status::NOT_SUPPORTED);
        assert!(refusal.cause.contains("pmix.unheard.of"), "{}", refusal.cause);
    }

    #[test]
    fn attributes_of_allocations_that_are_not_offered_are_refused_by_name_whatever_else_is_asked_for() {
        let keys = [
            sys::PMIX_ALLOC_NUM_CPU_LIST,
            sys::PMIX_ALLOC_CPU_LIST,
            sys::PMIX_ALLOC_MEM_SIZE,
            sys::PMIX_ALLOC_FABRIC,
            sys::PMIX_ALLOC_BANDWIDTH,
            sys::PMIX_ALLOC_LEND,
            sys::PMIX_ALLOC_TARGET,
            c"pmix.alloc.tomorrow",
        ];
        for key in keys {
            for directive in [NEW, EXTEND, RELEASE, PMIX_ALLOC_REQ_CANCEL as u8] {
                let refusal = request(directive, &[count(1), id("a1"), Info::new(key, "x")], &[]).unwrap_err();
                assert_eq!(refusal.status, Status::NOT_SUPPORTED);
                assert!(refusal.cause.contains(key.to_str().unwrap()), "{}", refusal.cause);
            }
        }
    }

    #[test]
    fn a_number_of_cpus_is_a_request_and_a_queue_goes_with_it() {
        let cpus = Info::new(sys::PMIX_ALLOC_NUM_CPUS, 6u64);
        let queue = |name: &str| Info::new(sys::PMIX_ALLOC_QUEUE, name);
        let asked = grow(NEW, &[cpus.clone(), queue("fast")]);
        assert_eq!((asked.slots, asked.count, asked.queue.as_deref()), (6, 0, Some("fast")));
        assert_eq!(grow(EXTEND, &[cpus.clone(), id("a1")]).slots, 6);
        assert_eq!(refused(NEW, &[cpus.clone(), count(1)]), Status::NOT_SUPPORTED);
        assert_eq!(refused(NEW, &[cpus.clone(), nodes("n1")]), Status::NOT_SUPPORTED);
        assert_eq!(refused(RELEASE, &[cpus, id("a1")]), Status::NOT_SUPPORTED);
        assert_eq!(refused(RELEASE, &[count(1), queue("fast")]), Status::NOT_SUPPORTED);
        for wrong in ["-x", "a b", "", "a,b", "$(x)"] {
            assert_eq!(refused(NEW, &[count(1), queue(wrong)]), Status::BAD_PARAM, "{wrong:?}");
        }
    }

    fn resize(req_id: Option<&str>, outcome: ResizeOutcome) -> Resize {
        let req_id = req_id.map(Into::into);
        Resize {
            alloc_id: Some("a1".into()),
            req_id,
            session: Some(SessionId(1)),
            nodes: ["n1", "n2"].map(String::from).into(),
            outcome,
        }
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
        let outcome = ResizeOutcome::Refused { status: PMIX_ERR_NOT_FOUND, cause: "no".to_owned() };
        assert_eq!(answer(&resize(Some("mine"), outcome)), Err(Status::NOT_FOUND));
    }

    /// An event names nodes, allocation and request (spec E50).
    #[test]
    fn the_event_goes_to_the_requester_alone_with_both_names_and_the_cause() {
        let quietly = Info::new(sys::PMIX_EVENT_NON_DEFAULT, true);
        let done = happened(Some("mine"), ResizeOutcome::Done).unwrap();
        assert_eq!((done.code, &done.source), (Status::DVM_IS_READY, &Proc::new("d@0", 2)));
        assert_eq!(done.to, Audience::Procs(vec![Proc::new("d@1", 3)]));
        let nodes = Info::new(sys::PMIX_ALLOC_NODE_LIST, "n1,n2");
        assert_eq!(done.info, [quietly.clone(), id("a1"), req_id("mine"), nodes.clone()]);
        let failed =
            happened(None, ResizeOutcome::Failed { status: PMIX_ERR_JOB_FAILED_TO_LAUNCH, cause: "why".to_owned() })
                .unwrap();
        assert_eq!(failed.code, Status::DVM_MOD);
        let cause = Info::new(sys::PMIX_JOB_TERM_STATUS, Value::Status(Status(PMIX_ERR_JOB_FAILED_TO_LAUNCH.0)));
        let words = Info::new(sys::PMIX_EVENT_TEXT_MESSAGE, "why");
        assert_eq!(failed.info, [quietly, id("a1"), nodes, cause, words]);
    }

    /// `PMIX_ALLOC_REQ_CANCEL` (spec S14).
    #[test]
    fn a_cancellation_names_the_request_or_what_was_to_come_of_it() {
        let cancel = |info: &[Info]| request(PMIX_ALLOC_REQ_CANCEL as u8, info, &[]);
        let named = |alloc_id: Option<&str>, req_id: Option<&str>| {
            let (alloc_id, req_id) = (alloc_id.map(Into::into), req_id.map(Into::into));
            Ok(ResizeRequest::Cancel(CancelRequest { alloc_id, req_id }))
        };
        assert_eq!(cancel(&[req_id("mine")]), named(None, Some("mine")));
        assert_eq!(cancel(&[id("a1")]), named(Some("a1"), None));
        assert_eq!(cancel(&[]).unwrap_err().status, Status::BAD_PARAM);
    }

    /// An event names nodes, allocation and request (spec E50).
    #[test]
    fn a_warning_says_which_session_and_how_long_it_has() {
        let (alloc_id, req_id_of, nodes) = ("a1".into(), Some("mine".into()), vec!["n1".to_owned(), "n2".to_owned()]);
        let of = TimeWarning { alloc_id, req_id: req_id_of, session: SessionId(7), nodes, seconds_left: 30 };
        let notice = warning(Proc::new("d@0", 2), Proc::new("d@1", 3), &of);
        assert_eq!(
            (notice.code, &notice.to),
            (Status::ALLOC_TIMEOUT_WARNING, &Audience::Procs(vec![Proc::new("d@1", 3)]))
        );
        let quietly = Info::new(sys::PMIX_EVENT_NON_DEFAULT, true);
        let (session, left) = (Info::new(sys::PMIX_SESSION_ID, 7u32), Info::new(sys::PMIX_TIME_REMAINING, 30u32));
        let nodes = Info::new(sys::PMIX_ALLOC_NODE_LIST, "n1,n2");
        assert_eq!(notice.info, [quietly, id("a1"), req_id("mine"), nodes, session, left]);
    }

    #[test]
    fn what_has_not_ended_and_what_has_not_begun_make_no_event() {
        let refused = ResizeOutcome::Refused { status: PMIX_ERR_NOT_FOUND, cause: String::new() };
        for outcome in [ResizeOutcome::Begun, ResizeOutcome::Unchanged, refused] {
            assert_eq!(happened(None, outcome), None);
        }
    }

    /// The events of the second answer are optional (spec G9).
    #[test]
    fn events_that_pmix_has_no_name_for_are_sent_only_on_demand() {
        let since = |value| SizeEvents::of(value).since();
        assert_eq!((since(None), since(Some("auto"))), (Some(7), Some(7)));
        assert_eq!((since(Some("always")), since(Some("never"))), (Some(0), None));
    }
}
