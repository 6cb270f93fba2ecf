//! `pdvm shrink`: makes the request for nodes to leave; `resize` sends it.

use ferrite_rm::added::parse_leaving;
use ferrite_wire::{ResizeRequest, ShrinkRequest};

use super::failure::Failure;
use super::options::ShrinkOptions;
use crate::args::{UsageError, refused_hosts};

pub(crate) fn request(options: ShrinkOptions) -> Result<ResizeRequest, Failure> {
    let ShrinkOptions { host, nodes, alloc_id, req_id, push: _, grace, force, wait } = options;
    if host.is_empty() && nodes.is_none() && alloc_id.is_none() {
        return Err(Failure::Usage(UsageError::Conflict {
            what: "shrink: by which nodes?".to_owned(),
            next: "Give --host for nodes by name, --nodes for so many that are missed least, or --alloc-id for those of an \
                allocation."
                .to_owned(),
        }));
    }
    let names = match host.is_empty() {
        true => Vec::new(),
        false => parse_leaving(&host.join(",")).map_err(|e| refused_hosts("--host", &e))?,
    };
    let count = nodes.unwrap_or(0);
    Ok(ResizeRequest::Shrink(ShrinkRequest { nodes: names, count, alloc_id, req_id, grace_s: grace, force, wait }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> ShrinkOptions {
        ShrinkOptions {
            host: Vec::new(),
            nodes: None,
            alloc_id: None,
            req_id: None,
            push: false,
            grace: None,
            force: false,
            wait: false,
        }
    }

    #[test]
    fn nodes_by_name_by_number_and_of_an_allocation_are_one_request() {
        let host = vec!["n5".to_owned(), "n6,n7".to_owned()];
        let asked = request(ShrinkOptions { host, nodes: Some(2), alloc_id: Some("a1".into()), ..options() });
        let nodes = ["n5", "n6", "n7"].map(str::to_owned).to_vec();
        let wanted = ShrinkRequest { nodes, count: 2, alloc_id: Some("a1".into()), ..ShrinkRequest::default() };
        assert_eq!(asked.unwrap(), ResizeRequest::Shrink(wanted));
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_a_dvm_is_looked_for() {
        let told = |options| {
            let failure = request(options).unwrap_err();
            crate::frame::framed("pdvm", &[&failure.to_string(), &failure.next_step()])
        };
        let host = |list: &str| ShrinkOptions { host: vec![list.to_owned()], ..options() };
        insta::assert_snapshot!([options(), host("n5:2"), host("^n5"), host("n5,")].map(told).join("\n"));
    }
}
