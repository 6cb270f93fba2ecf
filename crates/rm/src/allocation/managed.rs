//! The allocation in a job of a resource manager: the nodes of the job. Hostfiles and `--host` choose among them and
//! add none. A default hostfile is not read.

use ferrite_types::{HostEntry, HostRef};

use super::{Allocation, AllocationError, AppHosts, Pool, Source, Sources, added};
use crate::hostfile::Hostfile;
use crate::hostlist::{HostItem, HostList, ItemSlots};
use crate::managers::ManagedAllocation;
use crate::name::numbered;

pub(super) fn allocate(granted: &ManagedAllocation, from: &Sources<'_>) -> Result<Allocation, AllocationError> {
    let manager = granted.manager;
    let place = format!("{manager} job {}", granted.job);
    if let Some(first) = from.added.first() {
        return Err(AllocationError::AddedToManaged { host: first.host.name.clone(), place, manager });
    }
    let mut pool = Pool::new(from);
    for node in &granted.nodes {
        // Two names of one machine are one node.
        match pool.position(&node.name) {
            Some(at) => pool.nodes[at].slots = added(pool.nodes[at].slots, node.slots),
            None => pool.push(HostEntry { rm_job: Some(granted.job.clone()), ..node.clone() }),
        }
    }
    let filter = Filter { granted, place, pool: &pool };
    filter.check_places(from.places)?;
    let needed = filter.needed(from.apps)?;
    let source = Source::Managed { manager, job: granted.job.clone() };
    Ok(Allocation { needed, head: pool.head, source, nodes: pool.nodes })
}

struct Filter<'a> {
    granted: &'a ManagedAllocation,
    place: String,
    pool: &'a Pool<'a>,
}

impl Filter<'_> {
    /// Returns the nodes that the apps may use.
    fn needed(&self, apps: &[AppHosts<'_>]) -> Result<Vec<usize>, AllocationError> {
        let mut wanted = vec![apps.is_empty(); self.pool.nodes.len()];
        for app in apps {
            let left = self.left_by(app)?;
            wanted.iter_mut().zip(left).for_each(|(all, this)| *all |= this);
        }
        let needed: Vec<usize> = (0..wanted.len()).filter(|at| wanted[*at]).collect();
        match needed.is_empty() {
            true => Err(AllocationError::NoneLeftOfManaged { place: self.place.clone(), known: self.pool.names() }),
            false => Ok(needed),
        }
    }

    /// Returns the nodes that both lists of one app allow.
    fn left_by(&self, app: &AppHosts<'_>) -> Result<Vec<bool>, AllocationError> {
        let mut left = vec![true; self.pool.nodes.len()];
        let hostfile = app.hostfile.map(|file| (file_name(file), file.refs()));
        let hosts = app.hosts.map(|list| ("--host".to_owned(), list.refs()));
        app.hosts.map_or(Ok(()), refuse_adjusted)?;
        for (by, refs) in hostfile.into_iter().chain(hosts) {
            let marked = self.marked(&by, &refs)?;
            left.iter_mut().zip(marked).for_each(|(all, this)| *all &= this);
        }
        Ok(left)
    }

    /// Returns the nodes that one list allows; all nodes when the list depends on their state (`+e`).
    fn marked(&self, by: &str, refs: &[HostRef]) -> Result<Vec<bool>, AllocationError> {
        let only_excludes = refs.iter().all(|item| matches!(item, HostRef::Exclude(_)));
        let count = self.pool.nodes.len();
        let mut named = vec![only_excludes; count];
        for item in refs {
            match item {
                HostRef::Host(host) => named[self.position(by, &host.name)?] = true,
                HostRef::Relative(index, _) => {
                    let beyond = AllocationError::RelativeBeyondEnd { index: *index, count };
                    *named.get_mut(*index as usize).ok_or(beyond)? = true;
                }
                HostRef::Empty(_) => named.fill(true),
                HostRef::Exclude(_) => {}
            }
        }
        for item in refs {
            if let HostRef::Exclude(name) = item
                && let Some(at) = self.found(name)
            {
                named[at] = false;
            }
        }
        Ok(named)
    }

    fn check_places(&self, files: &[Hostfile]) -> Result<(), AllocationError> {
        for file in files {
            for host in file.hosts() {
                self.position(&file.file, &host.name)?;
            }
        }
        Ok(())
    }

    /// Returns the node of that name, or of that number in the allocation.
    fn found(&self, host: &str) -> Option<usize> {
        self.pool.position(host).or_else(|| numbered(host, self.pool.nodes.len()))
    }

    fn position(&self, by: &str, host: &str) -> Result<usize, AllocationError> {
        self.found(host).ok_or_else(|| AllocationError::BeyondManaged {
            host: host.to_owned(),
            by: by.to_owned(),
            place: self.place.clone(),
            known: self.pool.names(),
            manager: self.granted.manager,
        })
    }
}

fn file_name(file: &Hostfile) -> String {
    format!("hostfile {}", file.file)
}

/// Refuses `--host n0:+2`: the manager decides the number of slots.
fn refuse_adjusted(list: &HostList) -> Result<(), AllocationError> {
    for item in &list.items {
        if let HostItem::Host { name, slots: ItemSlots::Adjust(by), .. } = item {
            let why = "they are what the resource manager granted";
            return Err(AllocationError::CannotAdjust { option: "--host", host: name.clone(), adjust: *by, why });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::added::parse_list;
    use crate::managers::{Manager, Said, Variables};
    use crate::name::ThisMachine;
    use crate::{hostfile, hostlist};

    fn granted() -> ManagedAllocation {
        let variables = [("SLURM_JOB_ID", "7"), ("SLURM_NODELIST", "n[1-4]"), ("SLURM_TASKS_PER_NODE", "2(x3),8")];
        let variables: Variables = variables.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
        Manager::Slurm.discover(Said { variables: &variables, file: None, output: None, entire: false }).unwrap()
    }

    fn told(file: Option<&str>, hosts: Option<&str>, more: Option<&str>) -> String {
        let file = file.map(|text| hostfile::parse("hosts", text).unwrap());
        let hosts = hosts.map(|text| hostlist::parse(text).unwrap());
        let default = hostfile::parse("default", "n9").unwrap();
        let sources = Sources {
            apps: &[AppHosts { hostfile: file.as_ref(), hosts: hosts.as_ref() }],
            places: &[],
            simulated: &[],
            managed: Some(&granted()),
            default_hostfile: Some(&default),
            added: &more.map(|text| parse_list(text).unwrap()).unwrap_or_default(),
            this: &ThisMachine { name: "n2.cluster".to_owned(), aliases: Vec::new() },
            keep_fqdn: false,
            required: true,
        };
        match super::super::allocate(&sources) {
            Ok(all) => format!("{} nodes, needed {:?}, head {:?}", all.nodes.len(), all.needed, all.head),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_managers_nodes_are_the_allocation_and_lists_filter_them() {
        insta::assert_snapshot!(
            [
                told(None, None, None),
                told(None, Some("n3,n1:1"), None),
                told(Some("n2\nn4 slots=3\n"), None, None),
                told(Some("n2\nn4\n"), Some("n4,localhost"), None),
                told(Some("^n2\n"), Some("+n0,+n1"), None),
                told(None, Some("+e:1"), None),
                told(None, Some("3,0:1"), None),
                told(Some("n1\nn2\nn3\n^2\n"), Some("^0"), None),
            ]
            .join("\n")
        );
    }

    #[test]
    fn nothing_goes_beyond_the_managers_nodes() {
        insta::assert_snapshot!(
            [
                told(None, Some("n9"), None),
                told(None, Some("4"), None),
                told(Some("n1\nn5\n"), None, None),
                told(None, Some("+n4"), None),
                told(None, Some("n1:+2"), None),
                told(None, None, Some("n9:4")),
                told(Some("n1"), Some("n2"), None),
                told(None, Some("^n1,^n2,^n3,^n4"), None),
            ]
            .join("\n")
        );
    }
}
