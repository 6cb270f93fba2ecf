//! `pdvm grow`: makes the request for more nodes; `resize` sends it.

use std::path::Path;

use ferrite_wire::{GrowRequest, ResizeRequest, SessionTerms};

use super::failure::Failure;
use super::options::GrowOptions;
use crate::args::{GrowAsk, UsageError};
use crate::setup::grow_request;

pub(crate) fn request(options: GrowOptions) -> Result<ResizeRequest, Failure> {
    let terms = terms(&options)?;
    let GrowOptions { host, hostfile, activate, nodes, queue, rm_job, alloc_id, req_id, wait, .. } = options;
    let mut ask = GrowAsk::default();
    ask.add_hosts("--host", &host)?;
    ask.add_hostfile("--hostfile", hostfile)?;
    ask.add_activate(&activate)?;
    // The names of files are relative to the current directory.
    let named = grow_request(&ask, Path::new(""))?;
    if named.is_none() && nodes.is_none() && rm_job.is_none() {
        return Err(Failure::Usage(UsageError::Conflict {
            what: "grow: by which nodes?".to_owned(),
            next: "Give --host or --hostfile for more hosts, --activate or --nodes for nodes that the DVM's allocation has \
                and that have no daemon; in a job of Slurm, --nodes also for more of Slurm's, and --rm-job for those of another job."
                .to_owned(),
        }));
    }
    let count = nodes.unwrap_or(0);
    let named = named.unwrap_or_default();
    Ok(ResizeRequest::Grow(GrowRequest { count, queue, rm_job, alloc_id, req_id, terms, wait, ..named }))
}

/// Makes the request for nodes that come for an offer (`pdvm resize`); `None` = none are named.
///
/// # Errors
/// A host that is none.
pub(crate) fn for_offer(
    hosts: &[String],
    nodes: Option<u32>,
    queue: Option<String>,
) -> Result<Option<Box<GrowRequest>>, Failure> {
    let mut ask = GrowAsk::default();
    ask.add_hosts("--host", hosts)?;
    let named = grow_request(&ask, Path::new(""))?;
    if named.is_none() && nodes.is_none() {
        return Ok(None);
    }
    let count = nodes.unwrap_or(0);
    Ok(Some(Box::new(GrowRequest { count, queue, ..named.unwrap_or_default() })))
}

/// Reads the terms of the session.
fn terms(options: &GrowOptions) -> Result<SessionTerms, UsageError> {
    if let (Some(limit), Some(warn)) = (options.time_limit, options.warn)
        && warn >= limit
    {
        return Err(UsageError::Conflict {
            what: format!("grow: --warn {warn} is before the session begins, which lasts {limit} seconds"),
            next: "Give --warn fewer seconds than --time-limit: so long before the end jobs are told.".to_owned(),
        });
    }
    Ok(SessionTerms {
        reserve: options.reserve,
        inheritance: options.inherit,
        separate: options.separate,
        time_limit_s: options.time_limit,
        warn_s: options.warn,
    })
}

#[cfg(test)]
mod tests {
    use ferrite_types::{HostEntry, HostRef, SlotCount};
    use ferrite_wire::{Activation, AddedHost, SlotChange};

    use super::*;

    fn options() -> GrowOptions {
        GrowOptions {
            host: Vec::new(),
            hostfile: None,
            activate: Vec::new(),
            nodes: None,
            queue: None,
            rm_job: None,
            alloc_id: None,
            req_id: None,
            reserve: false,
            time_limit: None,
            warn: None,
            inherit: None,
            separate: false,
            push: false,
            wait: false,
        }
    }

    #[test]
    fn hosts_of_the_line_and_of_a_file_and_nodes_of_the_pool_are_one_request() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("more");
        std::fs::write(&file, "n7 slots=-1 port=22\n").unwrap();
        let asked = request(GrowOptions {
            host: vec!["n5".to_owned(), "me@n6:4".to_owned()],
            hostfile: Some(file.display().to_string()),
            activate: vec!["+all,+n2".to_owned()],
            nodes: Some(3),
            ..options()
        });
        let host = |host, slots| AddedHost { host, slots };
        let hosts = vec![
            host(HostEntry::named("n5"), SlotChange::Unstated),
            host(HostEntry { user: Some("me".to_owned()), ..HostEntry::named("n6") }, SlotChange::Set(4)),
            host(HostEntry { port: Some(22), ..HostEntry::named("n7") }, SlotChange::Adjust(-1)),
        ];
        let activate = vec![Activation::All, Activation::Nodes(vec![HostRef::Relative(2, SlotCount::FromCores)])];
        let wanted = GrowRequest { hosts, activate, count: 3, ..GrowRequest::default() };
        assert_eq!(asked.unwrap(), ResizeRequest::Grow(wanted));
    }

    #[test]
    fn a_number_of_nodes_may_come_from_a_queue() {
        let asked = request(GrowOptions { nodes: Some(2), queue: Some("fast".to_owned()), ..options() });
        let wanted = GrowRequest { count: 2, queue: Some("fast".to_owned()), ..GrowRequest::default() };
        assert_eq!(asked.unwrap(), ResizeRequest::Grow(wanted));
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_a_dvm_is_looked_for() {
        let told = |options| {
            let failure = request(options).unwrap_err();
            crate::frame::framed("pdvm", &[&failure.to_string(), &failure.next_step()])
        };
        let host = |list: &str| GrowOptions { host: vec![list.to_owned()], ..options() };
        let activate = |spec: &str| GrowOptions { activate: vec![spec.to_owned()], ..options() };
        let all = [
            options(),
            GrowOptions { alloc_id: Some("a1".into()), ..options() },
            host("^n5"),
            host("+e"),
            host("n5:x"),
            host("n5:0"),
            GrowOptions { host: vec!["n5:2".to_owned()], hostfile: Some("/no/such/file".to_owned()), ..options() },
            activate("n1:4"),
            activate("+e"),
            GrowOptions { nodes: Some(1), time_limit: Some(60), warn: Some(60), ..options() },
        ];
        insta::assert_snapshot!(all.map(told).join("\n"));
    }
}
