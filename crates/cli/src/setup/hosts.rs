//! Finds the nodes: of a resource manager, of the line's hostfiles and host lists, of the default hostfile, or this
//! machine.

use std::net::ToSocketAddrs;

use ferrite_rm::{
    Added, Allocation, AppHosts, HostList, Hostfile, ManagedAllocation, Params, Sources, ThisMachine, allocate,
    hostfile, hostlist, simulated,
};
use ferrite_types::{HostEntry, HostRef, HostSelection, SlotCount};

use super::files::{read, read_if_there};
use super::{SetupError, managed};
use crate::args::{AppPlace, Run, UsageError};
use crate::frame;
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
        let mut allocation = allocate(&Sources {
            apps: &apps,
            places: self.places,
            simulated: &simulated(params)?,
            managed: granted,
            default_hostfile: default_hostfile.as_ref(),
            added: self.added,
            this: &self.this_machine(silent, params, around)?,
            keep_fqdn: params.flag("prte_keep_fqdn_hostnames")?,
            required: params.flag("prte_allocation_required")?,
        })?;
        if let Some(most) = usize::try_from(params.signed("prte_max_vm_size")?).ok().filter(|most| *most > 0) {
            keep_first(&mut allocation, most);
        }
        tell(&allocation, params)?;
        Ok(allocation)
    }

    /// Returns the names of this machine; its addresses are read only when a host is named.
    fn this_machine(&self, silent: bool, params: &Params, around: &Surroundings) -> Result<ThisMachine, SetupError> {
        let mut aliases = Vec::new();
        if let Some((short, _)) = around.hostname.split_once('.') {
            aliases.push(short.to_owned());
        }
        aliases.push("localhost".to_owned());
        aliases.extend(stripped(&around.hostname, params.text("prte_strip_prefix")?.unwrap_or_default()));
        if !silent {
            let own = addresses();
            if !params.flag("prte_do_not_resolve")? {
                aliases.extend(self.names().filter(|name| is_at(name, &own)));
            }
            aliases.extend(own);
        }
        Ok(ThisMachine { name: around.hostname.clone(), aliases })
    }

    /// All names of hosts on the command line and in its files.
    fn names(&self) -> impl Iterator<Item = String> {
        let lists = self.run.iter().filter_map(|place| place.hosts.as_ref()).flat_map(HostList::refs);
        let files = self.hostfiles.iter().flatten().chain(self.places).flat_map(|file| file.items.iter().cloned());
        lists.chain(files).filter_map(|host| match host {
            HostRef::Host(entry) => Some(entry.name),
            _ => None,
        })
    }
}

/// Leaves daemons on this many nodes, the head's among them.
fn keep_first(allocation: &mut Allocation, most: usize) {
    let head = allocation.head;
    allocation.needed.sort_by_key(|at| Some(*at) != head);
    allocation.needed.truncate(most);
    allocation.needed.sort_unstable();
}

/// Says what was found, as parameter `ras_base_verbose` asks.
fn tell(allocation: &Allocation, params: &Params) -> Result<(), SetupError> {
    let level = params.number("ras_base_verbose")?;
    if level >= 1 {
        let (nodes, daemons) = (allocation.nodes.len(), allocation.needed.len());
        frame::print(&format!("ras: {nodes} nodes, daemons on {daemons}, from {:?}\n", allocation.source));
    }
    if level >= 5 {
        for (at, node) in allocation.nodes.iter().enumerate() {
            let here = if allocation.head == Some(at) { ", this host" } else { "" };
            frame::print(&format!("ras: node {at}: {} (slots: {:?}{here})\n", node.name, node.slots));
        }
    }
    Ok(())
}

/// The host's name without a prefix of the list and without the zeros behind it.
fn stripped(hostname: &str, prefixes: &str) -> Option<String> {
    let short = hostname.split('.').next().unwrap_or(hostname);
    let rest = prefixes.split(',').map(str::trim).filter(|p| !p.is_empty()).find_map(|p| short.strip_prefix(p))?;
    let rest = rest.trim_start_matches('0');
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// True when a name has one of these addresses.
fn is_at(name: &str, addresses: &[String]) -> bool {
    let found = (name, 0).to_socket_addrs().into_iter().flatten();
    found.map(|found| found.ip().to_string()).any(|ip| addresses.contains(&ip))
}

fn default_dash_host(params: &Params, silent: bool) -> Result<Option<HostList>, SetupError> {
    let list = params.text("prte_default_dash_host")?.filter(|l| silent && !l.is_empty());
    let failed = |e| SetupError::Usage(UsageError::foreign(&e, "")).of_parameter("prte_default_dash_host", params);
    list.map(hostlist::parse).transpose().map_err(failed)
}

pub(super) fn read_hostfile(name: &str, around: &Surroundings) -> Result<Hostfile, SetupError> {
    let text = read("hostfile", &around.cwd.join(name))?;
    let file = hostfile::parse(name, &text)?;
    if file.items.is_empty() { Err(no_hosts(name)) } else { Ok(file) }
}

/// The error for a file without a host: a job would run on other nodes than its user believes.
pub(super) fn no_hosts(name: &str) -> SetupError {
    SetupError::Usage(UsageError::Conflict {
        what: format!("hostfile {name} names no host: it is empty, or has only comments"),
        next: "Write one host a line, as: node1 slots=4. Or leave the option out.".to_owned(),
    })
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
            false if option.is_none() => read_hostfile(name, around)
                .map(Some)
                .map_err(|error| error.of_parameter("prte_default_hostfile", params)),
            false => read_hostfile(name, around).map(Some),
        };
    }
    let Some(path) = around.prefix().map(|p| p.join("etc/prte-default-hostfile")) else { return Ok(None) };
    match read_if_there("default hostfile", &path)? {
        Some(text) => Ok(Some(hostfile::parse(&path.to_string_lossy(), &text)?)),
        None => Ok(None),
    }
}
