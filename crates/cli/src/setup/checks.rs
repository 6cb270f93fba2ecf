//! Checks of parameters that only this machine can make: what they name is there, or a message says that it is not
//! (spec L94).

use std::path::Path;

use ferrite_rm::Params;
use ferrite_rm::params::Networks;

use super::SetupError;

/// Checks `prte_if_include` and `prte_if_exclude` on this machine, and returns remarks about names that mean nothing
/// here. Other nodes may have what this one lacks, so one network that is left is enough (spec L94).
///
/// # Errors
/// No network is left.
pub(super) fn networks(params: &Params) -> Result<Vec<String>, SetupError> {
    let mut remarks = Vec::new();
    for (name, includes) in [("prte_if_include", true), ("prte_if_exclude", false)] {
        let Some(networks) = params.text(name)?.and_then(Networks::parse) else { continue };
        // Without a list of addresses the daemons find out.
        let Ok(found) = ferrite_driver::interface_addresses() else { continue };
        let here: Vec<String> = found.iter().map(|(interface, ip)| format!("{interface} {ip}")).collect();
        let here = here.join(", ");
        if !found.iter().any(|(interface, ip)| networks.have(interface, *ip) == includes) {
            let allowed = format!("a list that leaves a network of this host, which has {here}");
            return Err(params.refuse(name, allowed).into());
        }
        let missing = networks.missing_from(&found);
        if !missing.is_empty() && params.flag("ferrite_param_warnings")? {
            let missing = missing.join(", ");
            remarks.push(format!("{}: this host has no network {missing}; it has {here}", params.label(name)));
        }
    }
    Ok(remarks)
}

/// Checks the directory below which the head makes its session directory (spec L94).
///
/// # Errors
/// It does not exist, or nobody may make a directory there.
pub(super) fn base(params: &Params) -> Result<(), SetupError> {
    let names = ["prte_local_tmpdir_base", "prte_tmpdir_base"];
    let Some(name) = names.into_iter().find(|name| params.is_set(name)) else { return Ok(()) };
    let dir = params.text(name)?.unwrap_or_default();
    let Some(cause) = ferrite_driver::flaw_of_directory(Path::new(dir)) else { return Ok(()) };
    let next = "Make the directory, or name another. For nodes that have other directories than this host there are \
                prte_local_tmpdir_base (this host) and prte_remote_tmpdir_base (the others).";
    Err(SetupError::Directory { label: params.label(name), cause: format!("{dir}: {cause}"), next: next.to_owned() })
}

/// Checks the name of the file of libpmix, which each daemon looks for on its own node.
///
/// # Errors
/// It is no full path.
pub(super) fn libpmix(params: &Params) -> Result<(), SetupError> {
    const NAME: &str = "ferrite_libpmix";
    let Some(file) = params.text(NAME)?.filter(|file| !file.starts_with('/')) else { return Ok(()) };
    let next = "Give the whole path of the file: it is looked for on every node.".to_owned();
    Err(SetupError::Directory { label: params.label(NAME), cause: format!("{file} is no full path"), next })
}
