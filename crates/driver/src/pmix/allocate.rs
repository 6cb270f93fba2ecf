//! `PMIx_Allocation_request`: what it asks of the DVM's size, the answer of the first phase and the event of the second (seed 3,
//! asynchronous size-change completion). Pure; only [`super::PmixBridge`] and what it is made of use it.

use std::ffi::CStr;
use std::fmt;

use ferrite_pmix::{Audience, Info, Notice, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_rm::hostlist::{self, HostItem, ItemSlots};
use ferrite_types::{HostEntry, HostRef};
use ferrite_wire::{
    Activation, AddedHost, GrowRequest, Resize, ResizeOutcome, ResizeRequest, ShrinkRequest, SlotChange,
};

/// What is understood; everything else is passed over, unless the requester insists on it.
const KNOWN: [&CStr; 4] =
    [sys::PMIX_ALLOC_ID, sys::PMIX_ALLOC_REQ_ID, sys::PMIX_ALLOC_NODE_LIST, sys::PMIX_ALLOC_NUM_NODES];
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
        sys::PMIX_ALLOC_NEW => wish.grow(None).map(ResizeRequest::Grow),
        sys::PMIX_ALLOC_EXTEND => {
            let named = wish.id.clone().or_else(|| wish.req_id.clone());
            let named = named.ok_or_else(|| Refusal::bad("no allocation is named that is to be extended"))?;
            wish.grow(Some(named)).map(ResizeRequest::Grow)
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
                let count = info.value.as_i64().and_then(|count| u32::try_from(count).ok());
                wish.count = count.ok_or_else(|| Refusal::bad(format!("{} is no number of nodes", info.key)))?;
            }
        }
        Ok(wish)
    }

    fn grow(self, alloc_id: Option<String>) -> Result<GrowRequest, Refusal> {
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
        Ok(GrowRequest { hosts, activate, count, alloc_id, req_id, reserve: true, wait: false })
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
    Ok(list.strip_prefix("raw:").map(str::to_owned).unwrap_or(list))
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
        ResizeOutcome::Unchanged | ResizeOutcome::Begun | ResizeOutcome::Done => Ok(identity(resize)),
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
        ResizeOutcome::Refused { .. } | ResizeOutcome::Unchanged | ResizeOutcome::Begun => return None,
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
