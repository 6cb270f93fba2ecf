//! Decides which nodes a DVM may use. In a resource manager's job these are the job's nodes; hostfiles and `--host`
//! filter them. Otherwise the first of these sources names them: hostfiles, `--host`, rankfiles and sequences, the
//! default hostfile, this machine. `--host` filters a hostfile. The command line calls this once, before anything is
//! launched.

mod managed;

use std::collections::BTreeSet;

use ferrite_types::{HostEntry, HostRef, SlotCount};
use thiserror::Error;

use crate::added::Added;
use crate::hostfile::{Hostfile, LARGEST};
use crate::hostlist::{HostItem, HostList, ItemSlots};
use crate::managers::{ManagedAllocation, Manager};
use crate::name::{NameIndex, ThisMachine, is_loopback};

/// The origin of an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `--hostfile`, by file name; several when several apps name one each.
    Hostfile(Vec<String>),
    /// `--host`.
    Hosts,
    /// The job of a resource manager.
    Managed {
        /// The manager of the job.
        manager: Manager,
        /// Its id.
        job: String,
    },
    /// Rankfiles and sequences, by file name.
    Places(Vec<String>),
    /// `ras_simulator_num_nodes`: nodes that do not exist.
    Simulated,
    /// `prte_default_hostfile`, by file name.
    DefaultHostfile(String),
    /// No source names hosts.
    ThisMachine,
}

/// The nodes that a DVM may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// All nodes; `+nK` counts in this order.
    pub nodes: Vec<HostEntry>,
    /// Positions in `nodes` that need a daemon: those that the apps' `--host` lists allow, or all when an app has no
    /// list.
    pub needed: Vec<usize>,
    /// Position of the machine that the head runs on, if it is part of the allocation: it is
    /// never launched by ssh.
    pub head: Option<usize>,
    /// Its origin.
    pub source: Source,
}

impl Allocation {
    /// Makes an allocation of given nodes, each with a daemon.
    #[must_use]
    pub fn of(nodes: Vec<HostEntry>, head: Option<usize>) -> Allocation {
        Allocation { needed: (0..nodes.len()).collect(), nodes, head, source: Source::Hosts }
    }
}

/// The hosts of one app context, or of the DVM's own command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct AppHosts<'a> {
    /// `--hostfile`.
    pub hostfile: Option<&'a Hostfile>,
    /// `--host`.
    pub hosts: Option<&'a HostList>,
}

/// The sources of an allocation.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// One per app context; one alone for a DVM without a job.
    pub apps: &'a [AppHosts<'a>],
    /// The hosts of rankfiles and sequences.
    pub places: &'a [Hostfile],
    /// Simulated nodes; if there are any, there are no others.
    pub simulated: &'a [HostEntry],
    /// The allocation of the resource manager whose job surrounds this process: it is complete, and hostfiles filter
    /// it.
    pub managed: Option<&'a ManagedAllocation>,
    /// The default hostfile, if there is one.
    pub default_hostfile: Option<&'a Hostfile>,
    /// Nodes of `--add-host` and `--add-hostfile`, in addition to those of any source.
    pub added: &'a [Added],
    /// The head's machine.
    pub this: &'a ThisMachine,
    /// `prte_keep_fqdn_hostnames`.
    pub keep_fqdn: bool,
    /// `prte_allocation_required`: without a source that names hosts there is no allocation.
    pub required: bool,
}

/// Why there is no allocation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AllocationError {
    /// `--host` names a machine that the hostfile does not have.
    #[error("host {host} of --host is not in {place}; add it there, or leave out --host {host} ({place} has: {known})")]
    NotInHostfile {
        /// The host.
        host: String,
        /// `hostfile x`.
        place: String,
        /// The known names.
        known: String,
    },
    /// `^x` removed everything.
    #[error("no host is left of {place}: every host is excluded by ^name")]
    AllExcluded {
        /// `hostfile x` or `--host`.
        place: String,
    },
    /// `+nK` beyond the end of the allocation.
    #[error("+n{index} names a node beyond the end of the allocation, which has {count} (+n0 to +n{})", count.saturating_sub(1))]
    RelativeBeyondEnd {
        /// K.
        index: u32,
        /// Nodes in the allocation.
        count: usize,
    },
    /// `n0:+2` on a host without stated slots, or below zero.
    #[error("{option} {host}:{adjust:+} changes the slots of {host}, but {why}; write {host}:N instead")]
    CannotAdjust {
        /// `--host` or `--add-host`.
        option: &'static str,
        /// The host.
        host: String,
        /// The change of the number of slots.
        adjust: i32,
        /// The obstacle.
        why: &'static str,
    },
    /// A host that the manager's job does not have.
    #[error(
        "host {host} of {by} is not in the allocation of {place}, which has: {known}; leave it out, or ask {manager} for a job that has it"
    )]
    BeyondManaged {
        /// The host.
        host: String,
        /// `--host`, or the file.
        by: String,
        /// `Slurm job 7`.
        place: String,
        /// The known names.
        known: String,
        /// The manager that could grant more.
        manager: Manager,
    },
    /// Lists that have no node in common, or exclude all.
    #[error("no node of {place}, which has: {known}, is left by --hostfile and --host; name some that both lists have")]
    NoneLeftOfManaged {
        /// `Slurm job 7`.
        place: String,
        /// The known names.
        known: String,
    },
    /// `--add-host` in a manager's job (`add-host-managed`).
    #[error(
        "host {host} cannot be added: the nodes are those of {place}, and only {manager} can give more; leave out --add-host and \
         --add-hostfile, or do not look for a manager (--prtemca ras hosts)"
    )]
    AddedToManaged {
        /// The host.
        host: String,
        /// `Slurm job 7`.
        place: String,
        /// The manager that could grant more.
        manager: Manager,
    },
    /// `prte_allocation_required` is set, and no source names hosts.
    #[error("an allocation is required (prte_allocation_required), but no hosts are given; use --hostfile or --host")]
    Required,
}

/// Decides the allocation.
///
/// # Errors
/// A requested host is not there, or no node is left.
pub fn allocate(from: &Sources<'_>) -> Result<Allocation, AllocationError> {
    if let Some(granted) = from.managed.filter(|_| from.simulated.is_empty()) {
        return managed::allocate(granted, from);
    }
    let (mut pool, source) = define(from)?;
    for hosts in from.apps.iter().filter_map(|app| app.hosts) {
        pool.adjust(hosts)?;
    }
    let mut needed = needed(&pool, from, &source)?;
    for added in from.added {
        let at = pool.add(added)?;
        if !needed.contains(&at) {
            needed.push(at);
        }
    }
    needed.sort_unstable();
    Ok(Allocation { nodes: pool.nodes, needed, head: pool.head, source })
}

/// Takes the nodes of the first source that names hosts.
fn define<'a>(from: &Sources<'a>) -> Result<(Pool<'a>, Source), AllocationError> {
    let mut pool = Pool::new(from);
    if !from.simulated.is_empty() {
        // No simulated node is this machine, whatever its name is.
        pool.is_made_up = true;
        from.simulated.iter().for_each(|node| pool.push(node.clone()));
        return Ok((pool, Source::Simulated));
    }
    let mut files: Vec<&Hostfile> = Vec::new();
    for file in from.apps.iter().filter_map(|app| app.hostfile) {
        // A file that several apps name counts once.
        if file.defines_hosts() && !files.contains(&file) {
            files.push(file);
        }
    }
    if !files.is_empty() {
        for file in &files {
            pool.add_hostfile(file)?;
        }
        return Ok((pool, Source::Hostfile(files.iter().map(|f| f.file.clone()).collect())));
    }
    let lists = || from.apps.iter().filter_map(|app| app.hosts);
    if lists().any(HostList::defines_hosts) {
        lists().for_each(|list| pool.add_hosts(list));
        return Ok((pool, Source::Hosts));
    }
    if !from.places.is_empty() {
        for file in from.places {
            pool.add_hostfile(file)?;
        }
        return Ok((pool, Source::Places(from.places.iter().map(|f| f.file.clone()).collect())));
    }
    if let Some(file) = from.default_hostfile.filter(|f| f.defines_hosts()) {
        pool.add_hostfile(file)?;
        return Ok((pool, Source::DefaultHostfile(file.file.clone())));
    }
    if from.required {
        return Err(AllocationError::Required);
    }
    pool.push(HostEntry::named(&from.this.name));
    Ok((pool, Source::ThisMachine))
}

struct Pool<'a> {
    nodes: Vec<HostEntry>,
    index: NameIndex,
    /// Position of the head's machine.
    head: Option<usize>,
    this: &'a ThisMachine,
    keep_fqdn: bool,
    is_made_up: bool,
}

impl Pool<'_> {
    fn new<'a>(from: &Sources<'a>) -> Pool<'a> {
        Pool {
            nodes: Vec::new(),
            index: NameIndex::new(from.keep_fqdn),
            head: None,
            this: from.this,
            keep_fqdn: from.keep_fqdn,
            is_made_up: false,
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        let head = || self.head.filter(|_| self.this.is(name, self.keep_fqdn));
        self.index.find(name).or_else(head)
    }

    fn push(&mut self, entry: HostEntry) {
        let at = self.nodes.len();
        self.index.add(&entry.name, at);
        if self.head.is_none() && !self.is_made_up && self.this.is(&entry.name, self.keep_fqdn) {
            self.head = Some(at);
        }
        self.nodes.push(entry);
    }

    /// Removes the nodes at these positions; earlier positions are invalid afterwards.
    fn remove(&mut self, gone: &BTreeSet<usize>) {
        self.index = NameIndex::new(self.keep_fqdn);
        self.head = None;
        for (at, entry) in std::mem::take(&mut self.nodes).into_iter().enumerate() {
            if !gone.contains(&at) {
                self.push(entry);
            }
        }
    }

    /// Replaces `localhost` and the like by the machine's own name, which job maps show.
    fn own_name(&self, name: &str) -> String {
        if is_loopback(name) { self.this.name.clone() } else { name.to_owned() }
    }

    fn add_hostfile(&mut self, file: &Hostfile) -> Result<(), AllocationError> {
        for entry in file.hosts() {
            match self.position(&entry.name) {
                // When two hostfiles, or two names of one machine, differ, the larger number counts.
                Some(at) => self.nodes[at].slots = larger(self.nodes[at].slots, entry.slots),
                None => {
                    let name = self.own_name(&entry.name);
                    self.push(HostEntry { name, ..entry.clone() });
                }
            }
        }
        let excluded = |item: &HostRef| match item {
            HostRef::Exclude(name) => self.position(name),
            HostRef::Host(_) | HostRef::Relative(..) | HostRef::Empty(_) => None,
        };
        let gone: BTreeSet<usize> = file.items.iter().filter_map(excluded).collect();
        if !gone.is_empty() {
            self.remove(&gone);
        }
        if self.nodes.is_empty() {
            return Err(AllocationError::AllExcluded { place: format!("hostfile {}", file.file) });
        }
        Ok(())
    }

    /// Adds the hosts of a `--host` that defines the allocation: a bare name is one slot, and the apps' lists add up.
    fn add_hosts(&mut self, list: &HostList) {
        for item in &list.items {
            let HostItem::Host { user, name, slots } = item else {
                continue;
            };
            let slots = match slots {
                ItemSlots::Unstated => SlotCount::Given(1),
                ItemSlots::All => SlotCount::FromCores,
                ItemSlots::Given(n) => SlotCount::Given(*n),
                // `adjust` handles this later; it finds the host with 0 slots.
                ItemSlots::Adjust(_) => SlotCount::Given(0),
            };
            match self.position(name) {
                Some(at) => self.nodes[at].slots = added(self.nodes[at].slots, slots),
                None => {
                    let name = self.own_name(name);
                    self.push(HostEntry { slots, user: user.clone(), ..HostEntry::named(&name) });
                }
            }
        }
    }

    fn adjust(&mut self, list: &HostList) -> Result<(), AllocationError> {
        for item in &list.items {
            let HostItem::Host { name, slots: ItemSlots::Adjust(by), .. } = item else {
                continue;
            };
            let Some(at) = self.position(name) else {
                continue;
            };
            self.nodes[at].slots = adjusted("--host", name, self.nodes[at].slots, *by)?;
        }
        Ok(())
    }

    /// Adds a host, or changes its slots; returns its position.
    fn add(&mut self, added: &Added) -> Result<usize, AllocationError> {
        let Added { host, slots } = added;
        let known = self.position(&host.name);
        let at = known.unwrap_or(self.nodes.len());
        if known.is_none() {
            self.push(HostEntry { name: self.own_name(&host.name), slots: SlotCount::FromCores, ..host.clone() });
        }
        let has = known.map_or(SlotCount::Given(0), |at| self.nodes[at].slots);
        self.nodes[at].slots = match slots {
            ItemSlots::Unstated => self.nodes[at].slots,
            ItemSlots::All => SlotCount::FromCores,
            ItemSlots::Given(n) => SlotCount::Given(*n),
            ItemSlots::Adjust(by) => adjusted("--add-host", &host.name, has, *by)?,
        };
        Ok(at)
    }

    fn names(&self) -> String {
        let mut names: Vec<&str> = self.nodes.iter().take(8).map(|n| n.name.as_str()).collect();
        if self.nodes.len() > names.len() {
            names.push("...");
        }
        names.join(", ")
    }
}

fn adjusted(option: &'static str, host: &str, has: SlotCount, by: i32) -> Result<SlotCount, AllocationError> {
    let refuse = |why| AllocationError::CannotAdjust { option, host: host.to_owned(), adjust: by, why };
    let SlotCount::Given(has) = has else {
        return Err(refuse("its slots are not stated"));
    };
    let slots = has.checked_add_signed(by).ok_or_else(|| refuse("it has not so many"))?;
    Ok(SlotCount::Given(slots.min(LARGEST)))
}

fn larger(a: SlotCount, b: SlotCount) -> SlotCount {
    match (a, b) {
        (SlotCount::Given(x), SlotCount::Given(y)) => SlotCount::Given(x.max(y)),
        (SlotCount::FromCores, stated) | (stated, SlotCount::FromCores) => stated,
    }
}

fn added(a: SlotCount, b: SlotCount) -> SlotCount {
    match (a, b) {
        (SlotCount::Given(x), SlotCount::Given(y)) => SlotCount::Given(x.saturating_add(y).min(LARGEST)),
        _ => SlotCount::FromCores,
    }
}

/// Returns the nodes that the apps' `--host` lists allow. Checks every name on the way.
fn needed(pool: &Pool<'_>, from: &Sources<'_>, source: &Source) -> Result<Vec<usize>, AllocationError> {
    let place = match source {
        Source::Hostfile(files) => format!("hostfile {}", files.join(", ")),
        Source::Hosts => "--host".to_owned(),
        Source::Places(files) => files.join(", "),
        Source::DefaultHostfile(file) => format!("the default hostfile {file}"),
        Source::Simulated => "the simulated allocation".to_owned(),
        Source::Managed { .. } | Source::ThisMachine => "the allocation".to_owned(),
    };
    let mut wanted = vec![false; pool.nodes.len()];
    let mut everything = from.apps.is_empty();
    for app in from.apps {
        match app.hosts {
            Some(list) => everything |= !mark(pool, list, &place, &mut wanted)?,
            None => everything = true,
        }
    }
    let needed: Vec<usize> = (0..wanted.len()).filter(|&i| everything || wanted[i]).collect();
    if needed.is_empty() {
        return Err(AllocationError::AllExcluded { place });
    }
    Ok(needed)
}

/// Marks the nodes that a list names; false when they are not known yet and may be all.
fn mark(pool: &Pool<'_>, list: &HostList, place: &str, wanted: &mut [bool]) -> Result<bool, AllocationError> {
    let mut known = true;
    let mut named = vec![false; wanted.len()];
    let positive = list.items.iter().any(|i| !matches!(i, HostItem::Exclude(_)));
    named.fill(!positive);
    for item in &list.items {
        match item {
            HostItem::Host { name, .. } => match pool.position(name) {
                Some(at) => named[at] = true,
                None => {
                    return Err(AllocationError::NotInHostfile {
                        host: name.clone(),
                        place: place.to_owned(),
                        known: pool.names(),
                    });
                }
            },
            HostItem::Relative(index, _) => {
                let count = wanted.len();
                *named.get_mut(*index as usize).ok_or(AllocationError::RelativeBeyondEnd { index: *index, count })? =
                    true;
            }
            HostItem::Empty(_) => known = false,
            HostItem::Exclude(_) => {}
        }
    }
    for item in &list.items {
        if let HostItem::Exclude(name) = item
            && let Some(at) = pool.position(name)
        {
            named[at] = false;
        }
    }
    wanted.iter_mut().zip(named).for_each(|(all, this)| *all |= this);
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::added::parse_list;
    use crate::{hostfile, hostlist};

    fn this() -> ThisMachine {
        ThisMachine { name: "n0".into(), aliases: vec!["10.1.0.1".into()] }
    }

    #[test]
    fn hosts_of_a_rankfile_are_the_allocation_when_nobody_names_others() {
        let places = [hostfile::parse("ranks", "n1\nn0\nn1").unwrap()];
        let default = hostfile::parse("default", "n9").unwrap();
        let list = hostlist::parse("n7").unwrap();
        let named = |app: AppHosts<'_>| {
            let sources = Sources {
                apps: &[app],
                simulated: &[],
                managed: None,
                places: &places,
                default_hostfile: Some(&default),
                added: &[],
                this: &this(),
                keep_fqdn: false,
                required: true,
            };
            allocate(&sources).unwrap()
        };
        let from_file = named(AppHosts::default());
        let nodes: Vec<_> = from_file.nodes.iter().map(|n| (n.name.as_str(), n.slots)).collect();
        assert_eq!(nodes, [("n1", SlotCount::Given(2)), ("n0", SlotCount::FromCores)]);
        assert_eq!((from_file.source, from_file.head), (Source::Places(vec!["ranks".to_owned()]), Some(1)));
        assert_eq!(named(AppHosts { hosts: Some(&list), hostfile: None }).source, Source::Hosts);
    }

    /// One app with this hostfile and this `--host`.
    fn one(file: Option<&str>, hosts: Option<&str>, default: Option<&str>) -> Result<Allocation, AllocationError> {
        let parse = |name, text: &str| hostfile::parse(name, text).unwrap();
        let file = file.map(|t| parse("hosts", t));
        let default = default.map(|t| parse("default", t));
        let hosts = hosts.map(|t| hostlist::parse(t).unwrap());
        let apps = [AppHosts { hostfile: file.as_ref(), hosts: hosts.as_ref() }];
        allocate(&Sources {
            apps: &apps,
            places: &[],
            simulated: &[],
            managed: None,
            default_hostfile: default.as_ref(),
            added: &[],
            this: &this(),
            keep_fqdn: false,
            required: false,
        })
    }

    fn show(allocation: &Allocation) -> String {
        let slots = |s| match s {
            SlotCount::FromCores => "cores".to_owned(),
            SlotCount::Given(n) => n.to_string(),
        };
        allocation.nodes.iter().map(|n| format!("{}:{}", n.name, slots(n.slots))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_first_source_that_names_hosts_wins() {
        let all = one(Some("n1 slots=2"), None, Some("n9")).unwrap();
        assert_eq!((show(&all).as_str(), all.source), ("n1:2", Source::Hostfile(vec!["hosts".into()])));
        let all = one(None, Some("n1,n2:3,n3:*"), Some("n9")).unwrap();
        assert_eq!((show(&all).as_str(), all.source), ("n1:1 n2:3 n3:cores", Source::Hosts));
        let all = one(None, None, Some("n9")).unwrap();
        assert_eq!((show(&all).as_str(), all.source), ("n9:cores", Source::DefaultHostfile("default".into())));
        let all = one(None, None, None).unwrap();
        assert_eq!((show(&all).as_str(), all.source), ("n0:cores", Source::ThisMachine));
        assert_eq!(all.head, Some(0));
    }

    #[test]
    fn a_hostfile_defines_and_host_filters() {
        let all = one(Some("n0 slots=4\nn1 slots=4\nn2 slots=4"), Some("n2,n0:2"), None).unwrap();
        assert_eq!(show(&all), "n0:4 n1:4 n2:4");
        assert_eq!(all.needed, [0, 2]);
        let error = one(Some("n0\nn1"), Some("n7"), None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "host n7 of --host is not in hostfile hosts; add it there, or leave out --host n7 (hostfile hosts has: n0, n1)"
        );
    }

    #[test]
    fn relative_nodes_count_in_the_allocation_from_zero() {
        let file = Some("n0\nn1\nn2");
        assert_eq!(one(file, Some("+n2"), None).unwrap().needed, [2]);
        assert_eq!(one(file, Some("+e:1"), None).unwrap().needed, [0, 1, 2]);
        assert_eq!(one(file, Some("^n1"), None).unwrap().needed, [0, 2]);
        let error = one(file, Some("+n3"), None).unwrap_err();
        assert_eq!(error.to_string(), "+n3 names a node beyond the end of the allocation, which has 3 (+n0 to +n2)");
    }

    #[test]
    fn excluded_hosts_are_gone_and_an_empty_rest_is_refused() {
        assert_eq!(show(&one(Some("n0\nn1\n^n0"), None, None).unwrap()), "n1:cores");
        assert!(matches!(one(Some("n0\n^n0"), None, None), Err(AllocationError::AllExcluded { .. })));
        assert!(matches!(one(Some("n0\nn1"), Some("^n0,^n1"), None), Err(AllocationError::AllExcluded { .. })));
    }

    #[test]
    fn this_machine_is_found_under_each_of_its_names_and_only_once() {
        let all = one(Some("n3\nlocalhost slots=4"), None, None).unwrap();
        assert_eq!((show(&all).as_str(), all.head), ("n3:cores n0:4", Some(1)));
        assert_eq!(one(Some("10.1.0.1"), None, None).unwrap().head, Some(0));
        assert_eq!(one(Some("n0.x.org\nlocalhost"), None, None).unwrap().nodes.len(), 1);
        assert_eq!(one(Some("n1"), None, None).unwrap().head, None);
    }

    #[test]
    fn slots_of_the_hostfile_can_be_adjusted_where_they_are_stated() {
        assert_eq!(show(&one(Some("n0 slots=4"), Some("n0:-3"), None).unwrap()), "n0:1");
        assert_eq!(show(&one(None, Some("n0:+2"), None).unwrap()), "n0:2");
        assert!(one(Some("n0"), Some("n0:+2"), None).is_err());
        assert!(one(Some("n0 slots=1"), Some("n0:-2"), None).is_err());
    }

    #[test]
    fn host_lists_of_several_apps_add_up() {
        let (a, b) = (hostlist::parse("n1").unwrap(), hostlist::parse("n1,n2:3").unwrap());
        let apps = [a, b];
        let apps: Vec<_> = apps.iter().map(|l| AppHosts { hostfile: None, hosts: Some(l) }).collect();
        assert_eq!(show(&allocate(&sources(&apps, &[])).unwrap()), "n1:2 n2:3");
    }

    fn sources<'a>(apps: &'a [AppHosts<'a>], added: &'a [Added]) -> Sources<'a> {
        static THIS: std::sync::LazyLock<ThisMachine> = std::sync::LazyLock::new(this);
        Sources {
            apps,
            places: &[],
            simulated: &[],
            managed: None,
            default_hostfile: None,
            added,
            this: &THIS,
            keep_fqdn: false,
            required: false,
        }
    }

    #[test]
    fn hosts_that_are_added_come_on_top_wherever_the_others_come_from() {
        let told = |hosts: Option<&str>, added: &str| {
            let (hosts, added) = (hosts.map(|t| hostlist::parse(t).unwrap()), parse_list(added).unwrap());
            let apps = [AppHosts { hostfile: None, hosts: hosts.as_ref() }];
            allocate(&sources(&apps, &added)).map(|all| (show(&all), all.needed, all.head)).map_err(|e| e.to_string())
        };
        let is = |text: &str, needed: &[usize], head| Ok((text.to_owned(), needed.to_vec(), head));
        assert_eq!(told(None, "n5,n6:4"), is("n0:cores n5:cores n6:4", &[0, 1, 2], Some(0)));
        assert_eq!(told(Some("n1:2,n2"), "n1:+2,n2:3,n5:+1"), is("n1:4 n2:3 n5:1", &[0, 1, 2], None));
        assert_eq!(told(Some("n1"), "localhost"), is("n1:1 n0:cores", &[0, 1], Some(1)));
        let refused = "--add-host n0:+2 changes the slots of n0, but its slots are not stated; write n0:N instead";
        assert_eq!(told(None, "n0:+2"), Err(refused.to_owned()));
        assert!(told(None, "n5:-1").is_err());
    }
}
