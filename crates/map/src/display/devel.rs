//! `--display map-devel`: the job map with all details of each node and process.

use std::fmt::Write as _;

use ferrite_types::{JobId, PlacementTexts, Rank};

use super::{Node, Shown, by_node, devices};

/// The field's number of a node that is up.
const NODE_UP: u32 = 3;

impl Shown<'_> {
    /// `--display map-devel`, with the empty line in front. `dvm` is the DVM's name; each process's state is that
    /// before its start.
    #[must_use]
    pub fn devel(&self, dvm: &str) -> String {
        let Shown { job, map, .. } = *self;
        let mut text = format!(
            "\n=================================   JOB MAP   =================================\n\
             Data for JOB {job} offset 0 Total slots allocated {}\n",
            map.total_slots,
        );
        match map.policies.as_slice() {
            [_, _, ..] => {
                self.app_lines(&mut text, "");
                let _ = writeln!(text, "{}", self.processors());
            }
            one => {
                let PlacementTexts { mapper, map_by, rank_by, bind_to, .. } = one.first().cloned().unwrap_or_default();
                let _ = writeln!(
                    text,
                    "Mapper: {mapper}  Mapping policy: {map_by}  Ranking policy: {rank_by}\nBinding policy: {bind_to}  {}",
                    self.processors()
                );
            }
        }
        // A map never starts daemons: a job gets its nodes before it is mapped.
        let _ = writeln!(text, "Num new daemons: 0\tNew daemon starting vpid INVALID\nNum nodes: {}", map.nodes.len());
        let daemons = JobId::DAEMONS.nspace(dvm);
        let first_ranks = self.first_ranks();
        for (node, host) in by_node(map, self.nodes).iter().zip(&map.nodes) {
            self.devel_node(&mut text, node, &format!("[{daemons},{}]", host.daemon));
            for rank in &node.ranks {
                self.devel_process(&mut text, node, *rank, &first_ranks);
            }
        }
        self.warning(&mut text);
        text.push_str("\n=============================================================\n");
        text
    }

    fn devel_node(&self, text: &mut String, node: &Node<'_>, daemon: &str) {
        let launched = !self.not_launched && node.record.is_some_and(|record| record.daemon.is_some());
        let given = node.record.is_some_and(|record| record.slots_given);
        let in_use = node.record.map_or(0, |record| record.slots_inuse);
        let over = in_use > node.slots();
        let flags = [
            (launched, "DAEMON_LAUNCHED:LOCATION_VERIFIED"),
            (over, "OVERSUBSCRIBED"),
            (true, "MAPPED"),
            (given, "SLOTS_GIVEN"),
        ];
        let flags: Vec<&str> = flags.into_iter().filter(|(is_so, _)| *is_so).map(|(_, name)| name).collect();
        let _ = writeln!(text, "\nData for node: {}\tState: {NODE_UP}\tFlags: {}", node.name, flags.join(":"));
        for alias in node.record.iter().flat_map(|record| &record.aliases) {
            let _ = writeln!(text, "                resolved from {alias}");
        }
        let _ = writeln!(
            text,
            "        Daemon: {daemon}\tDaemon launched: {}\n            \
             Num slots: {}\tSlots in use: {in_use}\tOversubscribed: {}\n            \
             Num slots allocated: {}\tMax slots: {}\tNum procs: {}",
            if launched { "True" } else { "False" },
            node.slots(),
            if over { "TRUE" } else { "FALSE" },
            node.slots(),
            node.max_slots(),
            node.ranks.len(),
        );
    }

    fn devel_process(&self, text: &mut String, node: &Node<'_>, rank: Rank, first_ranks: &[u32]) {
        let placement = self.placement(rank);
        let app_rank = rank.0 - first_ranks[usize::from(placement.app)];
        let binding = match placement.cpus {
            Some(_) => self.bound(node, placement),
            None => "UNBOUND".to_owned(),
        };
        let _ = writeln!(
            text,
            "        Data for proc: [{},{rank}]\n                \
             Pid: 0\tLocal rank: {}\tNode rank: {}\tApp rank: {app_rank}\n                \
             State: INITIALIZED\tApp_context: {}\n        \tBinding: {binding}",
            self.job, placement.local_rank.0, placement.node_rank.0, placement.app,
        );
        if let Some(names) = devices(node.topology(), placement) {
            let _ = writeln!(text, "        \tDevice: {names}");
        }
    }

    /// Returns the first rank of each app.
    fn first_ranks(&self) -> Vec<u32> {
        let mut first: Vec<u32> = Vec::new();
        for (rank, placement) in self.map.ranks() {
            while first.len() <= usize::from(placement.app) {
                first.push(rank.0);
            }
        }
        first
    }
}
