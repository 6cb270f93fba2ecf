//! Questions of processes and tools about the DVM (`PMIx_Query_info`): the head answers by what it shows to clients.

use ferrite_types::{DaemonRank, JobId, Rank};
use ferrite_wire::{DaemonMessage, Fact, Members, ProcessSet, Subject};

use crate::cx::Cx;
use crate::head::Head;

impl Head {
    /// Answers questions. A question about a job that is over has the answer that there is no such job.
    pub(in crate::head) fn on_query(&mut self, daemon: DaemonRank, id: u64, about: &[Subject], cx: &mut Cx) {
        let facts = self.facts(about, cx);
        cx.send(daemon, DaemonMessage::QueryReply { id, facts });
    }

    /// What the head knows of each subject, for a daemon or for a client that a tool directs (spec L139).
    pub(in crate::head) fn facts(&self, about: &[Subject], cx: &Cx) -> Vec<Fact> {
        about.iter().map(|subject| self.fact(*subject, cx)).collect()
    }

    fn fact(&self, subject: Subject, cx: &Cx) -> Fact {
        match subject {
            Subject::Campaigns => Fact::Campaigns(self.campaign_statuses()),
            Subject::Nodes => Fact::Nodes(self.node_statuses()),
            Subject::Jobs => Fact::Jobs(self.all_job_statuses().collect()),
            Subject::Job(id) => Fact::Job(self.job_detail(id).map(Box::new)),
            Subject::Sessions => Fact::Sessions(self.session_statuses(cx.now)),
            Subject::Sets => Fact::Sets(self.process_sets()),
            Subject::Groups => Fact::Groups(self.pmix.groups.all().map(|(name, of)| self.group(name, of)).collect()),
        }
    }

    /// A group with the ranks of all its members that are in jobs that run.
    fn group(&self, name: &str, members: &Members) -> ProcessSet {
        let ranks = |(id, ranks): (JobId, &[Rank])| {
            let job = self.jobs.get(id)?;
            let all = || (0..job.map().procs.len() as u32).map(Rank).collect();
            Some((id, if ranks.is_empty() { all() } else { ranks.to_vec() }))
        };
        ProcessSet { name: name.to_owned(), members: members.jobs().filter_map(ranks).collect() }
    }
}
