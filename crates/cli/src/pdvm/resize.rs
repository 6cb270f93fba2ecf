//! The common part of `grow` and `shrink`: sends the request, and prints its one answer. A user who waits for the new
//! size may stop waiting; a change that the DVM has begun continues.

use ferrite_client::Source;
use ferrite_types::CampaignKind;
use ferrite_wire::control::{Reply, Request};
use ferrite_wire::{Resize, ResizeOutcome, ResizeRequest};

use super::dvm::{Dvm, WaitingDvm};
use super::failure::Failure;
use super::json;
use super::moment::Moment;
use super::text::plain;

pub(super) fn answer(dvm: Dvm, request: ResizeRequest, pushed: bool, json: bool) -> Result<String, Failure> {
    let change = match &request {
        ResizeRequest::Grow(_) | ResizeRequest::Extend(_) => CampaignKind::Grow,
        ResizeRequest::Shrink(_) | ResizeRequest::Cancel(_) => CampaignKind::Shrink,
    };
    let reserves = matches!(&request, ResizeRequest::Grow(grow) if grow.terms.reserve);
    let mut dvm = WaitingDvm::of(dvm, Source::empty())?;
    let request = Box::new(request);
    let request = if pushed { Request::Push(request) } else { Request::Resize(request) };
    let resize = match dvm.ask(request)? {
        Reply::Resize(resize) => *resize,
        _ => return Err(dvm.astray()),
    };
    let how_far = how_far(&resize, reserves)?;
    if !json {
        return Ok(render(change, &how_far, &resize));
    }
    match dvm.ask(Request::Status)? {
        Reply::Status(status) => Ok(to_json(change, &how_far, &resize, &Moment::now(&status))),
        _ => Err(dvm.astray()),
    }
}

/// The progress of a request that was neither refused nor failed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HowFar {
    Unchanged,
    /// No node had to come; the named nodes are reserved from now on.
    Reserved,
    Begun,
    /// It begins when the resource manager has granted more nodes.
    Requested(String),
    Done,
}

fn how_far(resize: &Resize, reserves: bool) -> Result<HowFar, Failure> {
    match &resize.outcome {
        ResizeOutcome::Unchanged if reserves => Ok(HowFar::Reserved),
        ResizeOutcome::Unchanged => Ok(HowFar::Unchanged),
        ResizeOutcome::Begun => Ok(HowFar::Begun),
        ResizeOutcome::Requested { what } => Ok(HowFar::Requested(plain(what))),
        ResizeOutcome::Done => Ok(HowFar::Done),
        ResizeOutcome::Refused { cause, .. } => Err(Failure::NotResized(cause.clone())),
        ResizeOutcome::Failed { cause, .. } => Err(Failure::RolledBack(cause.clone())),
    }
}

/// Formats the answer as one line: the result, the allocation, the nodes.
fn render(change: CampaignKind, how_far: &HowFar, resize: &Resize) -> String {
    let what = match (how_far, change) {
        (HowFar::Unchanged, CampaignKind::Grow) => {
            return "Unchanged: these nodes are there, or on their way; what was said of slots holds.\n".to_owned();
        }
        (HowFar::Unchanged, CampaignKind::Shrink) => {
            return "Unchanged: these nodes are gone, or on their way.\n".to_owned();
        }
        (HowFar::Reserved, _) => {
            let request = request_of(resize);
            return format!("Reserved: allocation {}{request}, whose nodes are there\n", allocation_of(resize));
        }
        (HowFar::Requested(what), _) => {
            let request = request_of(resize);
            let others = match resize.nodes.is_empty() {
                true => String::new(),
                false => format!(" besides {}", plain(&resize.nodes.join(", "))),
            };
            let id = allocation_of(resize);
            return format!("Requested: allocation {id}{request}, {what}{others}\n");
        }
        (HowFar::Begun, CampaignKind::Grow) => "Growing",
        (HowFar::Begun, CampaignKind::Shrink) => "Shrinking",
        (HowFar::Done, CampaignKind::Grow) => "Grown",
        (HowFar::Done, CampaignKind::Shrink) => "Shrunk",
    };
    let request = request_of(resize);
    let nodes = if resize.nodes.len() == 1 { "node" } else { "nodes" };
    format!("{what}: allocation {}{request}, {nodes} {}\n", allocation_of(resize), plain(&resize.nodes.join(", ")))
}

fn allocation_of(resize: &Resize) -> String {
    resize.alloc_id.as_deref().map_or_else(String::new, plain)
}

fn request_of(resize: &Resize) -> String {
    resize.req_id.as_ref().map_or_else(String::new, |id| format!(", request {}", plain(id)))
}

fn to_json(change: CampaignKind, how_far: &HowFar, resize: &Resize, moment: &Moment) -> String {
    json::document("resized", moment, resized(change, how_far, resize))
}

/// Returns the answer to a request for JSON.
///
/// # Errors
/// It was refused, or has failed.
pub(crate) fn body(change: CampaignKind, resize: &Resize, reserves: bool) -> Result<json::Resized, Failure> {
    Ok(resized(change, &how_far(resize, reserves)?, resize))
}

fn resized(change: CampaignKind, how_far: &HowFar, resize: &Resize) -> json::Resized {
    json::Resized {
        change: json::change(change),
        outcome: match how_far {
            HowFar::Unchanged => "unchanged",
            HowFar::Reserved => "reserved",
            HowFar::Begun => "begun",
            HowFar::Requested(_) => "requested",
            HowFar::Done => "done",
        },
        // An unchanged request has no result.
        allocation: resize.alloc_id.clone().filter(|_| *how_far != HowFar::Unchanged),
        request: resize.req_id.clone(),
        nodes: resize.nodes.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn each_end_that_is_not_a_failure_is_a_line() {
        let ends = [HowFar::Begun, HowFar::Done, HowFar::Unchanged];
        let lines = ends.map(|end| {
            [CampaignKind::Grow, CampaignKind::Shrink].map(|c| render(c, &end, &samples::resize())).concat()
        });
        let requested = HowFar::Requested("2 more nodes of Slurm".to_owned());
        let of_manager = [samples::resize(), Resize { nodes: Vec::new(), req_id: None, ..samples::resize() }]
            .map(|resize| render(CampaignKind::Grow, &requested, &resize));
        let reserved = Resize { nodes: Vec::new(), ..samples::resize() };
        let reserved = render(CampaignKind::Grow, &HowFar::Reserved, &reserved);
        insta::assert_snapshot!(lines.concat() + &reserved + &of_manager.concat());
        insta::assert_snapshot!(to_json(CampaignKind::Grow, &HowFar::Begun, &samples::resize(), &samples::moment()));
        insta::assert_snapshot!(to_json(
            CampaignKind::Shrink,
            &HowFar::Unchanged,
            &samples::resize(),
            &samples::moment()
        ));
    }
}
