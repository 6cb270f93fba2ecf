//! Finds the nodes: of a resource manager, of the line's hostfiles and host lists, of the default hostfile, or this
//! machine.

use ferrite_rm::{
    Added, Allocation, AppHosts, HostList, Hostfile, ManagedAllocation, Params, Sources, ThisMachine, allocate,
    hostfile, hostlist, simulated,
};
use ferrite_types::{HostEntry, HostRef, HostSelection, SlotCount};

use super::files::{read, read_if_there};
use super::{SetupError, managed};
use crate::args::{AppPlace, Run, UsageError};
use crate::machine::{Surroundings, addresses};

/// Reads the hostfiles of the apps and fills in which hosts each app may use.
pub(super) fn read_hosts(run: &mut Run, around: &Surroundings) -> Result<Vec<Option<Hostfile>>, SetupError> {
    let mut files = Vec::new();
    for (place, app) in run.hosts.iter().zip(&mut run.spec.apps) {
        let file = place.hostfile.as_ref().map(|name| read_hostfile(name, around)).transpose()?;
        app.hosts = HostSelection {
            hostfile: file.as_ref().map(Hostfile::refs).unwrap_or_default(),
            hosts: place.hosts.as_ref().map(HostList::refs).unwrap_or_default(),
        };
        files.push(file);
    }
    Ok(files)
}

/// Lets every app use the added hosts, also apps that have a host list.
pub(super) fn admit_added(run: &mut Run, added: &[Added]) {
    let whole = |added: &Added| HostRef::Host(HostEntry { slots: SlotCount::FromCores, ..added.host.clone() });
    for app in &mut run.spec.apps {
        for list in [&mut app.hosts.hostfile, &mut app.hosts.hosts] {
            // A list that only excludes hosts allows them already.
            if list.iter().any(|item| !matches!(item, HostRef::Exclude(_))) {
                list.extend(added.iter().map(whole));
            }
        }
    }
}

/// All sources of hosts.
pub(super) struct Places<'a> {
    pub(super) run: &'a [AppPlace],
    pub(super) hostfiles: &'a [Option<Hostfile>],
    pub(super) places: &'a [Hostfile],
    pub(super) default_hostfile: Option<&'a str>,
    pub(super) added: &'a [Added],
}

impl Places<'_> {
    /// True when the line names no hosts.
    fn silent(&self) -> bool {
        self.run.iter().all(|app| app.hostfile.is_none() && app.hosts.is_none())
    }

    /// Returns the allocation of the resource manager whose job surrounds this process, if any.
    pub(super) fn granted(
        &self,
        params: &Params,
        around: &Surroundings,
    ) -> Result<Option<ManagedAllocation>, SetupError> {
        match simulated(params)?.is_empty() {
            true => managed::granted(params, !self.silent(), around),
            false => Ok(None),
        }
    }

    pub(super) fn allocate(
        &self,
        granted: Option<&ManagedAllocation>,
        params: &Params,
        around: &Surroundings,
    ) -> Result<Allocation, SetupError> {
        let silent = self.silent();
        let default_hosts = default_dash_host(params, silent)?;
        let apps: Vec<AppHosts<'_>> = self
            .hostfiles
            .iter()
            .zip(self.run)
            .map(|(file, place)| AppHosts {
                hostfile: file.as_ref(),
                hosts: place.hosts.as_ref().or(default_hosts.as_ref()),
            })
            .collect();
        let default_hostfile = default_hostfile(self.default_hostfile, params, around)?;
        Ok(allocate(&Sources {
            apps: &apps,
            places: self.places,
            simulated: &simulated(params)?,
            managed: granted,
            default_hostfile: default_hostfile.as_ref(),
            added: self.added,
            this: &this_machine(silent, around),
            keep_fqdn: params.flag("prte_keep_fqdn_hostnames")?,
            required: params.flag("prte_allocation_required")?,
        })?)
    }
}

fn default_dash_host(params: &Params, silent: bool) -> Result<Option<HostList>, SetupError> {
    let list = params.text("prte_default_dash_host")?.filter(|l| silent && !l.is_empty());
    list.map(hostlist::parse).transpose().map_err(|e| SetupError::Usage(UsageError::foreign(&e, "")))
}

pub(super) fn read_hostfile(name: &str, around: &Surroundings) -> Result<Hostfile, SetupError> {
    let text = read("hostfile", &around.cwd.join(name))?;
    Ok(hostfile::parse(name, &text)?)
}

/// Reads the default hostfile: that of the option, else of the parameter, else of the installation, if it exists.
fn default_hostfile(
    option: Option<&str>,
    params: &Params,
    around: &Surroundings,
) -> Result<Option<Hostfile>, SetupError> {
    let set = params.text("prte_default_hostfile")?.filter(|_| params.is_set("prte_default_hostfile"));
    if let Some(name) = option.or(set) {
        return match name.eq_ignore_ascii_case("none") {
            true => Ok(None),
            false => read_hostfile(name, around).map(Some),
        };
    }
    let Some(path) = around.prefix().map(|p| p.join("etc/prte-default-hostfile")) else { return Ok(None) };
    match read_if_there("default hostfile", &path)? {
        Some(text) => Ok(Some(hostfile::parse(&path.to_string_lossy(), &text)?)),
        None => Ok(None),
    }
}

/// Returns the names of this machine; its addresses are read only when a host is named by an address.
fn this_machine(silent: bool, around: &Surroundings) -> ThisMachine {
    let mut aliases = Vec::new();
    if let Some((short, _)) = around.hostname.split_once('.') {
        aliases.push(short.to_owned());
    }
    aliases.push("localhost".to_owned());
    if !silent {
        aliases.extend(addresses());
    }
    ThisMachine { name: around.hostname.clone(), aliases }
}
